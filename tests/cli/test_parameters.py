"""What is typed, as domains, opponents and a clock."""

import pytest

from negzoo.cli.parameters import clock_of, scenarios_of, split_names
from negzoo.errors import NegzooError
from negzoo.scenario import names


@pytest.mark.parametrize(
    ("given", "split"),
    [
        (None, []),
        (["a,b", " c "], ["a", "b", "c"]),
        (["a,,b,", "a"], ["a", "b"]),
        (["Linear,TimeDependent(e=2, noise=0.1),x"], ["Linear", "TimeDependent(e=2, noise=0.1)", "x"]),
        (["TimeDependent(e=2"], ["TimeDependent(e=2"]),
        (["a),b"], ["a)", "b"]),
    ],
)
def test_names_are_split_at_commas_outside_parentheses(given, split):
    assert split_names(given) == split


def test_without_names_all_shipped_domains_are_meant():
    assert [scenario.name for scenario in scenarios_of(None)] == names()
    assert [scenario.name for scenario in scenarios_of(["thompson,laptop"])] == ["thompson", "laptop"]


def test_the_clock_goes_with_the_lineage_unless_it_is_named():
    assert (clock_of(None, "genius"), clock_of("paper", "genius")) == ("genius", "paper")
    with pytest.raises(NegzooError, match="unknown clock"):
        clock_of("wall", "paper")

"""Opponents by name: what can be written, what comes of it, and what is said when it cannot be read."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from negzoo.errors import OpponentError
from negzoo.opponents import LINEAGES, Offer, PythonOpponent, TimeDependent, TitForTat, register, registry, resolve


@pytest.fixture
def own_registry(monkeypatch):
    """A registry of the shipped opponents that forgets, after the test, what the test registers."""
    monkeypatch.setattr(registry, "_ENTRIES", dict(registry._ENTRIES))


@dataclass(frozen=True)
class Patient(PythonOpponent):
    """Waits, then offers.

    More than this line is not a summary.
    """

    patience: int = 3

    def respond(self, view):
        return Offer(view.best)


# Reading


@pytest.mark.parametrize(
    ("text", "opponent"),
    [
        ("Boulware1", TimeDependent(0.1)),
        (" Linear ", TimeDependent(1.0)),
        ("Linear()", TimeDependent(1.0)),
        ("Conceder3", TimeDependent(10.0)),
        ("TimeDependent(e=0.3)", TimeDependent(0.3)),
        ('TimeDependent(e=2, lineage="genius")', TimeDependent(2.0, "genius")),
        ("Linear(lineage='genius')", TimeDependent(1.0, "genius")),
    ],
)
def test_a_name_with_its_parameters_makes_the_opponent(text, opponent):
    assert resolve(text) == opponent


def test_the_lineage_asked_for_is_that_of_opponents_that_do_not_name_theirs():
    assert resolve("Linear", "genius") == TimeDependent(1.0, "genius")
    assert resolve('Linear(lineage="paper")', "genius") == TimeDependent(1.0, "paper")
    assert resolve("Hardliner", "genius") == resolve("Hardliner")


lineages = st.sampled_from(LINEAGES)
thousandths = st.integers(0, 5000).map(lambda number: number / 1000)


@pytest.mark.parametrize(
    ("opponent", "name"),
    [
        (TimeDependent(0.1, noise=0.005), "Boulware1(noise=0.005)"),
        (TimeDependent(0.3, noise=0.005), "TimeDependent(e=0.3, noise=0.005)"),
        (TimeDependent(0.3), "TimeDependent(e=0.3)"),
        (TitForTat(2, noise=0.01), "TitForTat2(noise=0.01)"),
        (TitForTat(3, noise=0.01), "TitForTat(gamma=3, noise=0.01)"),
    ],
)
def test_a_name_tells_the_noise_and_can_be_read_back(opponent, name):
    assert opponent.name == name
    assert resolve(name) == opponent


@given(
    st.builds(TimeDependent, e=thousandths.filter(bool), lineage=lineages, noise=thousandths)
    | st.builds(TitForTat, gamma=st.integers(1, 50), lineage=lineages, noise=thousandths)
)
def test_every_name_can_be_read_back(opponent):
    assert resolve(opponent.name, opponent.lineage) == opponent


@pytest.mark.parametrize("opponent", [TimeDependent(1 / 3), TimeDependent(1.0, noise=1 / 3), TitForTat(1, noise=1 / 3)])
def test_a_name_with_a_long_number_can_be_read_back(opponent):
    assert resolve(opponent.name) == opponent


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Boulwar1", 'unknown opponent "Boulwar1" (did you mean "Boulware1"?)'),
        ("boulware1", '(did you mean "Boulware1"?)'),
        ("HARDLINER", '(did you mean "Hardliner"?)'),
        ("Xyzzy", "known: AcceptFirst"),
        ("TimeDependent(f=1)", 'unknown parameter "f"; it takes e, lineage, noise'),
        ("Linear(e=2)", 'unknown parameter "e"; it takes lineage, noise'),
        ("Hardliner(script='Random')", 'unknown parameter "script"; it takes none'),
        ("TimeDependent", "give its parameters as in TimeDependent(name=value)"),
        ("TimeDependent(e=-1)", "e = -1: give a number above 0"),
        ("TimeDependent(e=0)", "e = 0: give a number above 0"),
        ("TimeDependent(e=1e400)", "e = inf: give a number above 0"),
        ("TimeDependent(e='much')", "e = 'much': give a number above 0"),
        ("TimeDependent(e=None)", "e = None: give a number above 0"),
        ("Linear(noise=-0.1)", "noise = -0.1: give a number of at least 0"),
        ("Linear(lineage='genus')", 'unknown lineage "genus" (did you mean "genius"?)'),
    ],
)
def test_what_is_wrong_with_a_name_or_parameter_is_said(text, message):
    with pytest.raises(OpponentError) as error:
        resolve(text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Linear(",
        "Linear; Linear",
        "Linear\nLinear",
        "TimeDependent(0.3)",
        "TimeDependent(e=x)",
        "TimeDependent(e=1 + 1)",
        "Linear(**{'lineage': 'paper'})",
        "negzoo.Linear",
        "'Linear'",
        "Linear\0",
        "(" * 5000,
        "__import__('os')",
    ],
)
def test_nonsense_is_refused_in_words(text):
    with pytest.raises(OpponentError, match="cannot read opponent"):
        resolve(text)


def test_a_lineage_that_is_no_text_is_refused():
    with pytest.raises(OpponentError, match="unknown lineage"):
        resolve("Linear(lineage=3)")


def test_a_parameter_given_twice_is_refused():
    with pytest.raises(OpponentError):
        resolve("TimeDependent(e=1, e=2)")


# Registering


@pytest.mark.usefixtures("own_registry")
class TestRegistering:
    def test_a_registered_class_is_made_by_its_name_and_parameters(self):
        assert register("Patient")(Patient) is Patient
        assert resolve("Patient(patience=7)") == Patient(7)
        assert resolve("Patient") == Patient()

    def test_a_name_can_stand_for_parameters(self):
        register("Saint", patience=100)(Patient)
        assert resolve("Saint") == Patient(100)
        with pytest.raises(OpponentError, match="it takes none"):
            resolve("Saint(patience=1)")

    def test_its_summary_is_what_was_given_or_the_first_line_of_its_docstring(self):
        register("Patient")(Patient)
        register("Saint", "waits longest", patience=100)(Patient)
        summaries = {name: entry.summary for name, entry in registry.entries()}
        assert summaries["Patient"] == "Waits, then offers."
        assert summaries["Saint"] == "waits longest"

    def test_a_class_that_is_no_dataclass_takes_no_parameters(self):
        class Plain(PythonOpponent):
            def respond(self, view):
                return Offer(view.best)

        register("Plain")(Plain)
        assert isinstance(resolve("Plain"), Plain)
        with pytest.raises(OpponentError, match="it takes none"):
            resolve("Plain(patience=1)")

    def test_a_taken_name_is_refused_to_another_class(self):
        with pytest.raises(OpponentError, match='"Linear" is already registered'):
            register("Linear")(Patient)

    def test_a_taken_name_is_refused_to_other_parameters(self):
        with pytest.raises(OpponentError, match='"Linear" is already registered'):
            register("Linear", e=3.0)(TimeDependent)

    def test_registering_the_same_again_changes_nothing(self):
        """A module that is loaded a second time defines its class anew."""
        register("Patient")(Patient)
        register("Patient")(Patient)
        assert resolve("Patient") == Patient()

    @pytest.mark.parametrize("name", ["", "two words", "1st", "a-b", "Linear(e=1)"])
    def test_a_name_that_could_not_be_read_back_is_refused(self, name):
        with pytest.raises(OpponentError, match="cannot name an opponent"):
            register(name)(Patient)


def test_every_shipped_opponent_has_a_summary():
    assert all(entry.summary for _, entry in registry.entries())


def test_the_seven_time_dependent_opponents_are_the_papers():
    names = ("Boulware1", "Boulware2", "Boulware3", "Linear", "Conceder1", "Conceder2", "Conceder3")
    assert [resolve(name).e for name in names] == [0.1, 0.2, 0.5, 1, 2, 5, 10]
    assert [resolve(name).name for name in names] == list(names)

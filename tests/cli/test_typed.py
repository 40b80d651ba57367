"""What a person types at the table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from negzoo.cli.typed import Help, ListOffers, ShowOptions, outcome, understood
from negzoo.errors import MoveError
from negzoo.opponents import Accept, Offer, Walk
from negzoo.scenario import Issue, Profile, Scenario, load, names

LAPTOP, THOMPSON = load("laptop"), load("thompson")


def scenario_of(*issues):
    profiles = tuple(
        Profile(name, (1.0,) * len(issues), tuple((1.0,) * len(issue.options) for issue in issues)) for name in "ab"
    )
    return Scenario("made", issues, profiles)


@st.composite
def outcomes(draw):
    """A shipped domain and one of its outcomes."""
    scenario = load(draw(st.sampled_from(names())))
    return scenario, draw(st.integers(0, scenario.size - 1))


@given(outcomes())
def test_an_outcome_is_understood_by_its_names_and_numbers(pair):
    scenario, wanted = pair
    picks = scenario.options[wanted].tolist()
    options = [issue.options[pick] for issue, pick in zip(scenario.issues, picks, strict=True)]
    named = [f"{issue.name}={option}" for issue, option in zip(scenario.issues, options, strict=True)]
    numbers = [str(pick + 1) for pick in picks]
    for line in ("; ".join(options), ";".join(named), "; ".join(options).upper(), " ".join(numbers), ",".join(numbers)):
        assert understood(line, scenario) == Offer(wanted)


@given(outcomes())
def test_an_outcome_is_understood_as_it_is_described(pair):
    scenario, wanted = pair
    if scenario.name != "is_bt_acquisition":  # an option there has a comma in it
        assert outcome(scenario.describe(wanted), scenario) == wanted


@pytest.mark.parametrize(
    ("line", "picks"),
    [
        ("Dell, 60 Gb, 19'' LCD", (0, 0, 0)),
        ("mac 60 23", (1, 0, 2)),
        ("  hp ;120; 2 ", (2, 2, 1)),
        ("Laptop=Dell, 80, external  monitor = 3", (0, 1, 2)),
    ],
)
def test_beginnings_numbers_and_separators(line, picks):
    assert outcome(line, LAPTOP) == LAPTOP.index(picks)


def test_options_with_commas_in_them():
    wanted = THOMPSON.index((0, 1, 2, 3, 4))
    assert outcome("10%, Division B, 80%, 20%, $32,000", THOMPSON) == wanted
    assert outcome("10%; Division B; 80%; 20%; $32,000", THOMPSON) == wanted


def test_a_name_comes_before_a_number_and_a_number_before_a_beginning():
    scenario = scenario_of(Issue("days", ("10", "2", "1")))
    assert [outcome(text, scenario) for text in ("2", "3", "10", "1")] == [1, 2, 0, 2]


def test_one_issue_takes_the_whole_line():
    scenario = scenario_of(Issue("colour", ("dark blue", "red, or so")))
    assert (outcome("dark blue", scenario), outcome("red, or so", scenario)) == (0, 1)


@pytest.mark.parametrize(
    ("line", "typed"),
    [
        ("accept", Accept()),
        (" Accept ", Accept()),
        ("quit", Walk()),
        ("exit", Walk()),
        ("help", Help()),
        ("?", Help()),
        ("options", ShowOptions()),
        ("list", ListOffers(1.0)),
        ("list 0.75", ListOffers(0.75)),
    ],
)
def test_commands(line, typed):
    assert understood(line, LAPTOP) == typed


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "give an option for each of: Laptop, Harddisk, External Monitor"),
        ("1 2", "give an option for each of"),
        ("1 2 3 1", "give an option for each of"),
        ("accept it", "give an option for each of"),
        ("Dill, 1, 1", 'Laptop: no option "Dill" (did you mean "Dell"?)'),
        ("1, 4, 1", 'Harddisk: no option "4"'),
        ("1, 0, 1", 'Harddisk: no option "0"'),
        ("list much", 'list "much": give a utility'),
    ],
)
def test_what_is_not_understood_is_said(line, message):
    with pytest.raises(MoveError) as error:
        understood(line, LAPTOP)
    assert message in str(error.value)


def test_a_beginning_of_several_options_is_not_guessed():
    with pytest.raises(MoveError, match='Job assignment: "div" may be Division A, Division B'):
        outcome("1, div, 1, 1, 1", THOMPSON)


def test_an_empty_line_is_no_offer():
    with pytest.raises(MoveError, match="no option"):
        understood("", scenario_of(Issue("all", ("or nothing",))))

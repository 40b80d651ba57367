"""Issues, profiles and scenarios: what is refused, how outcomes are numbered, and what they are worth."""

import copy
import gzip
import itertools
import json
import math
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from negzoo.errors import ScenarioError
from negzoo.scenario import MAX_OUTCOMES, Issue, Profile, Scenario, load

ORDERS = Path(__file__).resolve().parents[1] / "opponents" / "tables"
FILE_NAMES = {
    "Laptop": "laptop",
    "IS_BT_Acquisition": "is_bt_acquisition",
    "ItexvsCypress": "itex_vs_cypress",
    "Grocery": "grocery",
    "thompson": "thompson",
}

COLOUR = Issue("Colour", ("red", "green"))
SIZE = Issue("Size", ("S", "M", "L"))
ANN = Profile("Ann", (0.4, 0.6), ((1, 2), (5, 0, 10)))
BOB = Profile("Bob", (0.5, 0.5), ((4, 1), (1, 2, 3)), reservation=0.25, discount=0.9)
SHIRT = Scenario("shirt", (COLOUR, SIZE), (ANN, BOB))

figures = st.floats(0, 1e6)


@st.composite
def scenarios(draw):
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    issues = tuple(Issue(f"issue {i}", tuple(f"option {o}" for o in range(n))) for i, n in enumerate(shape))

    def profile(name):
        evaluations = tuple(draw(st.tuples(*[figures] * n)) for n in shape)
        return Profile(name, draw(st.tuples(*[figures] * len(shape))), evaluations)

    return Scenario("any", issues, (profile("one"), profile("two")))


def single_issue(options: int) -> Scenario:
    profiles = tuple(Profile(name, (1,), ((1,) * options,)) for name in ("Ann", "Bob"))
    return Scenario("single", (Issue("number", tuple(map(str, range(options)))),), profiles)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Issue(" ", ("a",)), "an issue has a blank name"),
        (lambda: Issue("Harddisk", ()), 'issue "Harddisk": no options'),
        (lambda: Issue("Harddisk", ("60 Gb", "")), 'issue "Harddisk": an option has a blank name'),
        (
            lambda: Issue("Harddisk", ("60 Gb", "80 Gb", "60 Gb")),
            'issue "Harddisk": duplicate option "60 Gb"',
        ),
        (lambda: replace(ANN, name=""), "a profile has a blank name"),
        (lambda: replace(ANN, weights=(0.4,)), 'profile "Ann": 1 weights, but 2 evaluation lists'),
        (lambda: replace(ANN, weights=(0.4, -0.1)), 'profile "Ann": weight 2 is -0.1; give a finite number'),
        (lambda: replace(ANN, weights=(math.nan, 1)), 'profile "Ann": weight 1 is nan'),
        (lambda: replace(ANN, weights=(10**400, 1)), 'profile "Ann": weight 1 is inf'),
        (lambda: replace(ANN, weights=(True, 1)), 'profile "Ann": weight 1 is True; give a number'),
        (lambda: replace(ANN, weights=("1", 1)), "profile \"Ann\": weight 1 is '1'; give a number"),
        (lambda: replace(ANN, evaluations=((1, 2), (5, math.inf, 1))), "issue 2, evaluation 2 is inf"),
        (
            lambda: replace(ANN, reservation=1.5),
            'profile "Ann": reservation is 1.5; it is a utility',
        ),
        (lambda: replace(ANN, reservation=-0.5), 'profile "Ann": reservation is -0.5'),
        (lambda: replace(ANN, discount=0), 'profile "Ann": discount is 0.0; give a factor above 0'),
        (lambda: replace(ANN, discount=1.01), 'profile "Ann": discount is 1.01'),
        (lambda: replace(SHIRT, name=""), "the scenario has a blank name"),
        (lambda: replace(SHIRT, issues=()), "no issues"),
        (lambda: replace(SHIRT, issues=(COLOUR, COLOUR)), 'duplicate issue "Colour"'),
        (lambda: replace(SHIRT, profiles=(ANN,)), "1 profiles; a negotiation has two"),
        (lambda: replace(SHIRT, profiles=(ANN, ANN)), 'both profiles are called "Ann"'),
        (lambda: replace(SHIRT, issues=(COLOUR,)), 'profile "Ann": figures for 2 issues, not 1'),
        (
            lambda: replace(SHIRT, issues=(SIZE, COLOUR)),
            'profile "Ann", issue "Size": 2 evaluations for 3 options; give one for each',
        ),
        (lambda: single_issue(MAX_OUTCOMES + 1), "1,000,001 outcomes; use fewer issues or options"),
    ],
)
def test_what_makes_no_scenario_is_refused(make, message):
    with pytest.raises(ScenarioError) as error:
        make()
    assert message in str(error.value)


def test_names_are_kept_to_the_letter():
    assert Issue(" a", ("x", "x ")).options == ("x", "x ")


def test_lists_and_whole_numbers_make_the_same_scenario():
    ann = Profile("Ann", [0.4, 0.6], [[1, 2], [5, -0.0, 10]])
    issues = [Issue("Colour", ["red", "green"]), Issue("Size", ["S", "M", "L"])]
    same = Scenario("shirt", issues, [ann, BOB])
    assert (same, hash(same), same.hash) == (SHIRT, hash(SHIRT), SHIRT.hash)


def test_an_outcome_is_its_index_in_product_order():
    assert (SHIRT.shape, SHIRT.size) == ((2, 3), 6)
    assert SHIRT.options.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    assert SHIRT.options.dtype == np.int32


def test_utilities_are_weighted_shares_of_each_issues_best():
    np.testing.assert_allclose(SHIRT.utilities[0], [0.5, 0.2, 0.8, 0.7, 0.4, 1.0])


@given(scenarios())
def test_options_are_those_of_itertools(scenario):
    expected = list(itertools.product(*map(range, scenario.shape)))
    assert list(map(tuple, scenario.options.tolist())) == expected


@given(scenarios())
def test_raw_utilities_are_summed_from_left_to_right_to_the_last_bit(scenario):
    for profile, utilities in zip(scenario.profiles, scenario.raw_utilities, strict=True):
        assert utilities.tolist() == [by_hand(profile, outcome) for outcome in scenario.options.tolist()]


def by_hand(profile, outcome):
    total = 0.0
    for weight, evaluations, option in zip(profile.weights, profile.evaluations, outcome, strict=True):
        greatest = max(evaluations)
        total += weight * (0.0 if greatest < 1e-5 else evaluations[option] / greatest)
    return total


@given(scenarios())
def test_utilities_are_clipped_at_one(scenario):
    assert scenario.utilities.tolist() == np.minimum(scenario.raw_utilities, 1).tolist()


@given(scenarios(), st.data())
def test_index_is_the_inverse_of_options_and_names(scenario, data):
    outcome = data.draw(st.integers(0, scenario.size - 1))
    options = scenario.options[outcome]
    names = [issue.options[option] for issue, option in zip(scenario.issues, options, strict=True)]
    assert scenario.index(options) == outcome
    assert scenario.index_of(names) == outcome


def test_an_issue_whose_best_is_negligible_counts_nothing():
    nothing = replace(SHIRT, profiles=(replace(ANN, evaluations=((0, 9e-6), (5, 0, 10))), BOB))
    assert nothing.raw_utilities[0].tolist() == [0.3, 0, 0.6, 0.3, 0, 0.6]


def test_a_million_outcomes_are_numbered_and_valued():
    digits = tuple(map(str, range(10)))
    issues = tuple(Issue(f"digit {i}", digits) for i in range(6))
    ann = Profile("Ann", (1 / 6,) * 6, (tuple(range(10)),) * 6)
    million = Scenario("million", issues, (ann, replace(ann, name="Bob")))
    assert million.options[123_456].tolist() == [1, 2, 3, 4, 5, 6]
    assert million.raw_utilities[0, 123_456] == by_hand(ann, [1, 2, 3, 4, 5, 6])


@pytest.mark.parametrize("table", ["options", "raw_utilities", "utilities"])
def test_tables_are_computed_once_and_read_only(table):
    values = getattr(SHIRT, table)
    assert values is getattr(SHIRT, table)
    with pytest.raises(ValueError, match="read-only"):
        values[0, 0] = 1


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda scenario: pickle.loads(pickle.dumps(scenario))])
def test_a_copy_is_equal_and_its_tables_are_read_only_too(duplicate):
    assert SHIRT.utilities.size
    other = duplicate(SHIRT)
    assert other == SHIRT
    assert not other.utilities.flags.writeable


def test_describe_names_issues_and_options():
    assert SHIRT.describe(5) == "Colour=green, Size=L"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: SHIRT.describe(6), "no outcome 6; they run from 0 to 5"),
        (lambda: SHIRT.describe(-1), "no outcome -1"),
        (lambda: SHIRT.index([0]), "1 options for 2 issues; pick one for each"),
        (lambda: SHIRT.index([0, 3]), 'issue "Size": no option 3; they run from 0 to 2'),
        (lambda: SHIRT.index([-1, 0]), 'issue "Colour": no option -1'),
        (lambda: SHIRT.index_of(["gren", "L"]), 'issue "Colour": no option "gren" (did you mean "green"?)'),
    ],
)
def test_what_is_no_outcome_is_refused(ask, message):
    with pytest.raises(ScenarioError) as error:
        ask()
    assert message in str(error.value)


def test_the_hash_is_the_same_in_every_process():
    assert load("laptop").hash == "008b4b6fadeb4b25"


@pytest.mark.parametrize(
    "renamed",
    [
        replace(SHIRT, name="other"),
        replace(SHIRT, source="elsewhere"),
        replace(SHIRT, profiles=(replace(ANN, name="Amy"), BOB)),
    ],
)
def test_the_hash_ignores_what_things_are_called(renamed):
    assert renamed.hash == SHIRT.hash


@pytest.mark.parametrize(
    "changed",
    [
        replace(SHIRT, issues=(replace(COLOUR, name="Hue"), SIZE)),
        replace(SHIRT, issues=(replace(COLOUR, options=("red", "blue")), SIZE)),
        replace(SHIRT, profiles=(BOB, ANN)),
        replace(SHIRT, profiles=(replace(ANN, weights=(0.4, math.nextafter(0.6, 1))), BOB)),
        replace(SHIRT, profiles=(replace(ANN, evaluations=((1, 2), (5, 1, 10))), BOB)),
        replace(SHIRT, profiles=(replace(ANN, reservation=0.1), BOB)),
        replace(SHIRT, profiles=(replace(ANN, discount=1), BOB)),
    ],
)
def test_the_hash_covers_everything_that_is_negotiated(changed):
    assert changed.hash != SHIRT.hash


def test_laptop_has_the_recorded_utilities():
    laptop = load("laptop")
    assert laptop.raw_utilities[1, laptop.index([1, 1, 0])] == 1.000051804171754
    assert laptop.raw_utilities[1, laptop.index([2, 0, 0])] == 0.8151053951696905
    assert laptop.utilities[1, laptop.index([1, 1, 0])] == 1


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("domain", FILE_NAMES)
def test_every_utility_equals_the_one_recorded_from_genius(domain, player):
    scenario = load(FILE_NAMES[domain])
    with gzip.open(ORDERS / f"order_{domain}_utility{player + 1}.json.gz") as file:
        recorded = json.load(file)
    outcomes = [scenario.index(entry["bid"]) for entry in recorded]
    assert sorted(outcomes) == list(range(scenario.size))
    assert scenario.utilities[player, outcomes].tolist() == [entry["u"] for entry in recorded]

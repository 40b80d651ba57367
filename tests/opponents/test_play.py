"""Playing opponents against each other; and what must hold of every opponent there is, whoever wrote it."""

from dataclasses import MISSING, fields, is_dataclass, replace

import numpy as np
import pytest

from negzoo.engine import ACCEPT, Ending
from negzoo.errors import SettingsError
from negzoo.opponents import LINEAGES, TimeDependent, play, registry, resolve
from negzoo.scenario import Issue, Profile, Scenario, load
from tests.opponents.conftest import Tables

LAPTOP, GROCERY = load("laptop"), load("grocery")
HARDLINER, ACCEPT_FIRST, RANDOM, LINEAR = map(resolve, ("Hardliner", "AcceptFirst", "Random", "Linear"))

PRICE = Scenario(
    "price",
    (Issue("price", ("low", "middle", "high")),),
    (Profile("buyer", (1.0,), ((4, 3, 0),)), Profile("seller", (1.0,), ((0, 1, 2),))),
)
LOW, MIDDLE, HIGH = range(3)


# Games and their utilities


def test_the_first_player_opens_with_the_first_profile():
    games = play(PRICE, HARDLINER, ACCEPT_FIRST)
    assert games.negotiations.history(0).tolist() == [LOW, ACCEPT]
    assert games.utilities.tolist() == [[1.0], [0.0]]


def test_utilities_are_in_the_order_of_the_players_whatever_profiles_they_hold():
    games = play(PRICE, HARDLINER, ACCEPT_FIRST, sides=(1, 0))
    assert games.negotiations.history(0).tolist() == [HIGH, ACCEPT]
    assert games.utilities.tolist() == [[1.0], [0.0]]
    games = play(PRICE, ACCEPT_FIRST, HARDLINER, sides=(1, 0))
    assert games.negotiations.history(0).tolist() == [HIGH, LOW, ACCEPT]
    assert games.utilities.tolist() == [[0.0], [1.0]]


def test_a_hand_played_game():
    """Four rounds. Both ask for 1 - t: the buyer for 1, 0.75, 0.5, the seller for 0.875, 0.625, 0.375."""
    games = play(PRICE, LINEAR, LINEAR, rounds=4)
    assert games.negotiations.history(0).tolist() == [LOW, HIGH, MIDDLE, HIGH, MIDDLE, ACCEPT]
    assert games.utilities.tolist() == [[0.75], [0.5]]


def test_without_agreement_both_get_nothing():
    games = play(PRICE, HARDLINER, HARDLINER, rounds=5)
    assert games.negotiations.ending[0] == Ending.DEADLINE
    assert games.negotiations.step[0] == 10
    assert games.utilities.tolist() == [[0.0], [0.0]]


def test_utilities_are_clipped_at_1():
    assert LAPTOP.raw_utilities[0].max() > 1
    assert play(LAPTOP, HARDLINER, ACCEPT_FIRST).utilities[0] == [1.0]


def test_the_agreement_rate_counts_agreements():
    assert play(PRICE, HARDLINER, ACCEPT_FIRST, games=3).agreement_rate == 1
    assert play(PRICE, HARDLINER, HARDLINER, games=3).agreement_rate == 0
    some = play(LAPTOP, RANDOM, HARDLINER, games=200, rounds=20)
    assert 0 < some.agreement_rate < 1
    assert some.agreement_rate == (some.utilities[1] > 0).mean()


def test_the_players_see_the_clock_of_the_table():
    """One round: the seller's only turn comes at 1/2 on both clocks; the buyer's at 0, or at 1/2."""
    conceder = TimeDependent(10.0)
    by_clock = {clock: play(PRICE, conceder, HARDLINER, rounds=1, clock=clock) for clock in ("paper", "genius")}
    assert by_clock["paper"].negotiations.history(0)[0] == LOW
    assert by_clock["genius"].negotiations.history(0)[0] == MIDDLE


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"games": 0}, "at least one negotiation"),
        ({"rounds": 0}, "rounds = 0: give a whole number from 1 to 100,000"),
        ({"clock": "wall"}, 'clock = "wall": unknown clock'),
        ({"seed": -1}, "seed = -1: give a whole number of at least 0"),
        ({"sides": (0, 0)}, r"sides = \(0, 0\): one player holds profile 0 and the other profile 1"),
    ],
)
def test_what_cannot_be_played_is_refused(wrong, message):
    with pytest.raises(SettingsError, match=message):
        play(PRICE, HARDLINER, HARDLINER, **wrong)


# Every opponent

REQUIRED = {"TimeDependent": "TimeDependent(e=0.3)", "TitForTat": "TitForTat(gamma=3)"}
"""How to write the opponents that have parameters which must be given."""


def complete(entry):
    """Whether an opponent can be made by its name alone."""
    parameters = fields(entry.factory) if is_dataclass(entry.factory) else ()
    return all(field.name in entry.fixed or field.default is not MISSING for field in parameters)


OPPONENTS = [
    pytest.param(resolve(REQUIRED.get(name, name), lineage), id=f"{name}-{lineage}")
    for name, entry in registry.entries()
    if complete(entry) or name in REQUIRED
    for lineage in (LINEAGES if "lineage" in entry.parameters else ("paper",))
]
OPPONENTS += [pytest.param(resolve(text), id=text) for text in ("Linear(noise=0.05)", "TitForTat1(noise=0.05)")]
every_opponent = pytest.mark.parametrize("opponent", OPPONENTS)
either_seat = pytest.mark.parametrize("seat", [0, 1])


def games_of(opponent, seat, scenario=LAPTOP, games=12, seed=2, rounds=40):
    """`opponent` in a seat, with that profile, against one that draws its moves whatever they are worth."""
    players = (opponent, RANDOM) if seat == 0 else (RANDOM, opponent)
    return play(scenario, *players, games=games, seed=seed, rounds=rounds)


def as_lists(games):
    """What happened in each negotiation."""
    negotiations = games.negotiations
    endings = negotiations.ending.tolist()
    return [(negotiations.history(row).tolist(), endings[row]) for row in range(len(negotiations))]


@every_opponent
@either_seat
def test_the_same_seed_gives_the_same_games(opponent, seat):
    assert as_lists(games_of(opponent, seat)) == as_lists(games_of(opponent, seat))


@every_opponent
@either_seat
def test_a_game_is_the_same_however_many_are_played_with_it(opponent, seat):
    assert as_lists(games_of(opponent, seat, games=5)) == as_lists(games_of(opponent, seat, games=12))[:5]


@every_opponent
@either_seat
def test_what_the_other_side_wants_makes_no_difference(opponent, seat):
    poisoned = with_other_figures(GROCERY, 1 - seat)
    assert not np.array_equal(poisoned.utilities[1 - seat], GROCERY.utilities[1 - seat])
    assert as_lists(games_of(opponent, seat, GROCERY)) == as_lists(games_of(opponent, seat, poisoned))


def test_an_opponent_that_looks_at_the_other_side_would_be_found_out():
    class Spy(TimeDependent):
        def seat(self, scenario, side, size):
            return super().seat(scenario, 1 - side, size)

    games = [games_of(Spy(1.0), 1, scenario) for scenario in (GROCERY, with_other_figures(GROCERY, 0))]
    assert as_lists(games[0]) != as_lists(games[1])


def with_other_figures(scenario, side):
    """The scenario, but one profile's weights, evaluations and reservation value are others."""
    profile = scenario.profiles[side]
    evaluations = tuple(tuple(reversed(row)) for row in profile.evaluations)
    other = replace(profile, weights=profile.weights[::-1], evaluations=evaluations, reservation=0.9)
    profiles = [other if number == side else kept for number, kept in enumerate(scenario.profiles)]
    return replace(scenario, profiles=tuple(profiles))


@every_opponent
@either_seat
def test_no_negotiation_leaves_anything_behind_for_the_next_at_its_table(opponent, seat):
    table = opponent.seat(LAPTOP, seat, 3)
    first = moves_at(table, opens=seat == 0, indices=(0, 1, 2))
    moves_at(table, opens=seat == 0, indices=(7, 8, 9))
    assert np.array_equal(moves_at(table, opens=seat == 0, indices=(0, 1, 2)), first)


@every_opponent
def test_tables_do_not_see_each_other(opponent):
    together = moves_at(opponent.seat(LAPTOP, 1, 3), opens=False, indices=(0, 1, 2))
    alone = moves_at(opponent.seat(LAPTOP, 1, 1), opens=False, indices=(1,))
    assert np.array_equal(together[:, 1:2], alone)


def moves_at(seat, opens, indices, rounds=12):
    """int32 [rounds, tables]: a seat's moves in new negotiations, OVER behind their ends.

    The partner at the table of negotiation i makes the offers of column i of a random script.
    """
    script = np.random.default_rng(1).integers(0, LAPTOP.size, (rounds, 10))[:, list(indices)]
    return Tables(seat, indices, rounds).play(script, opens)

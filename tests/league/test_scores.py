"""Scores, against a few negotiations counted by hand."""

import numpy as np
import pytest

from negzoo.engine import ACCEPT, FAULT, NOTHING, WALK, Negotiations
from negzoo.league.scores import score
from negzoo.opponents import Games, play, resolve
from tests.learn.bargains import TOY

HARDLINER = resolve("Hardliner")
ROUNDS = 3


def games(*negotiations, sides=(0, 1)):
    """Finished negotiations with these moves."""
    table = Negotiations(len(negotiations), ROUNDS)
    for row, moves in enumerate(negotiations):
        for move in moves:
            table.apply(np.array([row]), np.full(len(negotiations), move, np.int32))
    assert not table.running.size
    return Games(TOY, (HARDLINER, HARDLINER), sides, 0, table, np.zeros((2, len(negotiations)), np.int32))


FOUR = games([0, ACCEPT], [1, 5, 1, ACCEPT], [2, WALK], [0, 1, 2, 3, 4, 5])
FIRST, SECOND = TOY.utilities


def test_utilities_are_means_in_which_a_failure_counts_0():
    own = score(FOUR, 0)
    assert own.utility == pytest.approx((FIRST[0] + FIRST[1]) / 4)
    assert own.opponent_utility == pytest.approx((SECOND[0] + SECOND[1]) / 4)
    assert own.spread == pytest.approx(np.std([FIRST[0], FIRST[1], 0, 0]))


def test_the_other_player_sees_the_same_from_the_other_side():
    own, other = score(FOUR, 0), score(FOUR, 1)
    assert (other.utility, other.opponent_utility) == (own.opponent_utility, own.utility)


def test_endings_rounds_and_agreements_are_counted():
    own = score(FOUR, 0)
    assert own.endings == {"agreement": 2, "deadline": 1, "walked": 1}
    assert own.agreement_rate == 0.5
    assert own.rounds == (1 + 2 + 1 + 3) / 4
    assert own.games == 4


def test_breakdowns_and_errors_are_failures():
    own = score(games([0, NOTHING], [0, FAULT], [ACCEPT]), 0)
    assert own.endings == {"breakdown": 2, "error": 1}
    assert (own.utility, own.opponent_utility, own.agreement_rate) == (0, 0, 0)


def test_swapped_sides_swap_what_an_agreement_is_worth():
    straight, swapped = (score(games([0, ACCEPT], sides=sides), 0) for sides in ((0, 1), (1, 0)))
    assert straight.utility == FIRST[0] == swapped.opponent_utility
    assert swapped.utility == SECOND[0] == straight.opponent_utility


def test_a_score_of_played_games_is_plain_data():
    own = score(play(TOY, HARDLINER, resolve("AcceptFirst"), games=3), 0)
    assert own.as_json() == {
        "utility": pytest.approx(1.0),
        "spread": pytest.approx(0.0),
        "opponent_utility": pytest.approx(float(SECOND[int(FIRST.argmax())])),
        "agreement_rate": 1.0,
        "rounds": 1.0,
        "endings": {"agreement": 3},
        "games": 3,
    }

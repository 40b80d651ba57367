"""The trivial policies, and what they earn from the time-dependent opponents."""

import numpy as np
import pytest

from negzoo.engine import ACCEPT, Ending
from negzoo.errors import OpponentError
from negzoo.opponents import Scripted, TimeDependent, play, resolve
from negzoo.opponents.timed import EXPONENTS
from negzoo.scenario import load

LAPTOP = load("laptop")
BEST = [int(utility.argmax()) for utility in LAPTOP.utilities]
HARDLINER, ACCEPT_FIRST, LATE_HARDLINER, RANDOM = map(resolve, ("Hardliner", "AcceptFirst", "LateHardliner", "Random"))


def moves(first, second, **settings):
    return play(LAPTOP, first, second, **settings).negotiations.history(0).tolist()


@pytest.mark.parametrize(
    ("domain", "mean"),
    [("laptop", 1), ("is_bt_acquisition", 1), ("itex_vs_cypress", 1), ("grocery", 1), ("thompson", 6 / 7)],
)
def test_what_a_hardliner_earns_from_the_seven_time_dependent_opponents(domain, mean):
    """All give in to it before the deadline, but in Thompson: its best outcome is worth nothing to them."""
    earned = [play(load(domain), HARDLINER, resolve(name)).utilities[0, 0] for name in EXPONENTS]
    assert np.mean(earned) == pytest.approx(mean, abs=1e-12)


def test_a_hardliner_offers_its_best_outcome_to_the_end():
    assert moves(HARDLINER, HARDLINER, rounds=3) == [BEST[0], BEST[1]] * 3


def test_accept_first_opens_with_its_best_outcome_and_takes_what_comes():
    assert moves(ACCEPT_FIRST, HARDLINER) == [BEST[0], BEST[1], ACCEPT]
    assert moves(HARDLINER, ACCEPT_FIRST) == [BEST[0], ACCEPT]


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_a_late_hardliner_gives_in_at_its_last_turn(rounds):
    assert moves(HARDLINER, LATE_HARDLINER, rounds=rounds) == [*[BEST[0], BEST[1]] * (rounds - 1), BEST[0], ACCEPT]


def test_a_late_hardliner_who_opens_the_only_round_has_nothing_to_take():
    assert moves(LATE_HARDLINER, HARDLINER, rounds=1) == BEST
    assert moves(LATE_HARDLINER, HARDLINER, rounds=2) == [*BEST, ACCEPT]


def test_random_makes_each_legal_move_equally_often():
    """27 offers as it opens; 27 offers and acceptance as it answers."""
    opened = play(LAPTOP, RANDOM, HARDLINER, games=27_000, rounds=1).negotiations.moves[:, 0]
    answered = play(LAPTOP, HARDLINER, RANDOM, games=28_000, rounds=1).negotiations.moves[:, 1]
    for drawn, least in ((opened, 0), (answered, ACCEPT)):
        counts = np.bincount(drawn - least)
        assert len(counts) == 27 - least
        assert ((counts - 1000) ** 2 / 1000).sum() < 56  # chi-square, 27 degrees of freedom: 0.1 %


def test_a_random_player_ends_by_agreement_or_at_the_deadline():
    endings = play(LAPTOP, RANDOM, RANDOM, games=100, rounds=10).negotiations.ending
    assert set(endings.tolist()) == {Ending.AGREEMENT, Ending.DEADLINE}


def test_the_first_of_equally_good_outcomes_is_offered():
    thompson = load("thompson")
    best = np.flatnonzero(thompson.utilities[0] == thompson.utilities[0].max())
    assert play(thompson, HARDLINER, TimeDependent(1.0)).negotiations.history(0)[0] == best[0]


def test_an_unknown_script_is_refused():
    with pytest.raises(OpponentError, match='did you mean "Hardliner"'):
        Scripted("Hardlner")

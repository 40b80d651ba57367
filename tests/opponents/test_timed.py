"""Time-dependent concession: each rule by hand, and its noise."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from negzoo.engine import ACCEPT
from negzoo.errors import OpponentError
from negzoo.opponents import LINEAGES, TimeDependent, play, resolve
from negzoo.opponents.kernel import own_side
from negzoo.opponents.timed import target_at
from negzoo.scenario import load
from tests.opponents.conftest import Tables, ladder, scenarios

every_lineage = pytest.mark.parametrize("lineage", LINEAGES)


def replies(opponent, scenario, offers, opens=False, clock="paper"):
    """What it answers, with the second profile, to one offer after the other, until it accepts."""
    return Tables(opponent.seat(scenario, 1, 1), rounds=len(offers), clock=clock).answers(offers, opens)


def target(opponent, scenario, t):
    """What it aspires to at time t, with the second profile."""
    return target_at(opponent.seat(scenario, 1, 1).initial, own_side(scenario, 1, opponent.lineage), t)


# What it aspires to


@every_lineage
@pytest.mark.parametrize(
    ("e", "t", "expected"),
    [
        (0.5, 0.5, 3 / 4),
        (1.0, 0.5, 1 / 2),
        (2.0, 0.5, 1 - math.sqrt(1 / 2)),
        (2.0, 0.25, 1 / 2),
        (0.1, 0.9, 1 - 0.9**10),
        (10.0, 0.001, 1 - 0.001**0.1),
    ],
)
def test_the_target_falls_from_the_best_to_the_worst_by_equation_1(e, t, expected, lineage):
    assert target(TimeDependent(e, lineage), ladder(), t) == pytest.approx(expected)
    assert target(TimeDependent(e, lineage), ladder(reservation=0.6), t) == pytest.approx(0.6 + 0.4 * expected)


@given(
    scenario=scenarios(),
    e=st.floats(0.05, 20),
    lineage=st.sampled_from(LINEAGES),
    times=st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted),
)
def test_the_target_never_rises_and_stays_between_the_worst_and_the_best(scenario, e, lineage, times):
    own = own_side(scenario, 1, lineage)
    floor = max(own.ranked[-1], own.reservation)
    lowest, highest = sorted((floor, own.ranked[0]))
    earlier, later = (target(TimeDependent(e, lineage), scenario, t) for t in times)
    assert lowest - 1e-12 <= earlier <= highest + 1e-12
    if floor <= own.ranked[0]:
        assert later <= earlier + 1e-12


# What it offers and accepts


@every_lineage
def test_a_linear_one_comes_down_in_equal_steps(lineage):
    linear = TimeDependent(1.0, lineage)
    assert replies(linear, ladder(8), [0] * 4, opens=True) == [8, 6, 4, 2]
    assert replies(linear, ladder(8), [0] * 4) == [7, 5, 3, 1]
    assert replies(linear, ladder(8), [0] * 3, clock="genius") == [6, 4, 2]


@pytest.mark.parametrize(("lineage", "planned"), [("paper", [4, 3, 2, 2, 1]), ("genius", [4, 3, 2, 1, ACCEPT])])
def test_paper_rounds_up_and_genius_to_the_nearest(lineage, planned):
    """The targets are 0.9, 0.7, 0.5, 0.3 and 0.1, the outcomes quarters."""
    assert replies(TimeDependent(1.0, lineage), ladder(4), [0] * 5) == planned


@every_lineage
def test_accepts_what_is_worth_as_much_as_the_offer_it_would_make(lineage):
    assert replies(TimeDependent(1.0, lineage), ladder(8), [6, 5, 0, 0]) == [7, ACCEPT]
    assert replies(TimeDependent(1.0, lineage), ladder(8), [6, 4, 7, 0]) == [7, 5, ACCEPT]


@every_lineage
def test_opening_the_negotiation_it_compares_with_the_latest_offer(lineage):
    assert replies(TimeDependent(1.0, lineage), ladder(8), [5, 4, 3, 2], opens=True) == [8, 6, ACCEPT]


@pytest.mark.parametrize(("lineage", "answer"), [("paper", 10), ("genius", ACCEPT)])
def test_only_paper_turns_down_what_is_worth_no_more_than_no_agreement(lineage, answer):
    assert replies(TimeDependent(1.0, lineage), ladder(reservation=1.0), [10]) == [answer]


# Noise


@every_lineage
def test_without_noise_it_draws_nothing(lineage):
    tables = Tables(TimeDependent(0.5, lineage).seat(ladder(), 1, 3), range(3), rounds=6)
    moves = tables.play([0] * 6)
    assert (moves == moves[:, :1]).all()
    assert tables.draws.tolist() == [0, 0, 0]


@every_lineage
def test_each_turn_takes_one_draw_that_moves_the_target_by_up_to_the_noise(lineage):
    """Four turns at t = 1/8, 3/8, 5/8 and 7/8; a draw of 0 takes the whole noise off, one of nearly 1 adds it."""
    tables = Tables(TimeDependent(1.0, lineage, noise=0.05).seat(ladder(1000), 1, 1), rounds=4)
    tables.use_tape([0.0, 0.5, 0.75, 1 - 2**-53])
    assert tables.answers([0] * 4) == pytest.approx([825, 625, 400, 175], abs=1)
    assert tables.draws.tolist() == [4]


@every_lineage
def test_noise_is_spread_evenly_within_its_bounds(lineage):
    tables = Tables(TimeDependent(1.0, lineage, noise=0.05).seat(ladder(1000), 1, 2000), range(2000), rounds=4)
    moves = tables.play([0] * 4)
    for offered, expected in zip(moves, (875, 625, 375, 125), strict=True):
        assert np.abs(offered - expected).max() <= 51
        tenths = np.bincount(np.clip((offered - expected + 50) // 10, 0, 9), minlength=10)
        assert ((tenths - 200) ** 2 / 200).sum() < 28  # chi-square, 9 degrees of freedom: 0.1 %
    assert abs(np.corrcoef(moves)[0, 1]) < 0.1


@every_lineage
def test_noise_beyond_the_best_and_the_worst_leaves_it_at_them(lineage):
    tables = Tables(TimeDependent(1.0, lineage, noise=3.0).seat(ladder(), 1, 200), range(200), rounds=1)
    moves = tables.move()
    assert set(moves.tolist()) <= set(range(11))
    assert {0, 10} <= set(moves.tolist())


def test_the_seed_decides_what_the_noise_is():
    noisy, hardliner = TimeDependent(1.0, noise=0.1), resolve("Hardliner")
    first, again, other = (
        play(load("grocery"), hardliner, noisy, games=5, seed=seed).negotiations.moves.tolist() for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other
    assert first[0] != first[1]


# What is refused


@pytest.mark.parametrize("e", [0, -1.0, math.nan, math.inf, True, "1", None])
def test_e_is_a_number_above_0(e):
    with pytest.raises(OpponentError, match=r"^TimeDependent: e = .*: give a number above 0$"):
        TimeDependent(e)


@pytest.mark.parametrize("noise", [-0.1, math.nan, math.inf, True, "0.1", None])
def test_noise_is_a_number_of_at_least_0(noise):
    with pytest.raises(OpponentError, match=r"^TimeDependent: noise = .*: give a number of at least 0$"):
        TimeDependent(1.0, noise=noise)


def test_refuses_an_unknown_lineage():
    with pytest.raises(OpponentError, match='unknown lineage "papers"'):
        TimeDependent(1.0, "papers")

"""Time as the players see it: golden values at the first and last move, and what holds for any deadline."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from negzoo.engine import CLOCKS, Negotiations

ROW = np.zeros(1, np.int64)


def times(clock, rounds=40):
    """float [2, rounds]: the time that each player sees at each of its moves."""
    negotiations, seen = Negotiations(1, rounds, clock), []
    for _ in range(2 * rounds):
        seen.append(negotiations.time(0))
        negotiations.apply(ROW, np.zeros(1, np.int32))
    return seen[::2], seen[1::2]


@pytest.mark.parametrize(
    ("clock", "player", "first", "second", "last"),
    [
        ("paper", 0, 0 / 80, 2 / 80, 78 / 80),
        ("paper", 1, 1 / 80, 3 / 80, 79 / 80),
        ("genius", 0, 1 / 41, 2 / 41, 40 / 41),
        ("genius", 1, 1 / 41, 2 / 41, 40 / 41),
    ],
)
def test_time_over_forty_rounds(clock, player, first, second, last):
    seen = times(clock)[player]
    assert (seen[0], seen[1], seen[-1], len(seen)) == (first, second, last, 40)


@given(st.integers(1, 60))
def test_the_papers_clock_moves_on_with_every_move(rounds):
    first, second = times("paper", rounds)
    assert first == [2 * (k - 1) / (2 * rounds) for k in range(1, rounds + 1)]
    assert second == [(2 * (k - 1) + 1) / (2 * rounds) for k in range(1, rounds + 1)]


@given(st.integers(1, 60))
def test_the_clock_of_genius_moves_on_with_every_round(rounds):
    first, second = times("genius", rounds)
    assert first == second == [k / (rounds + 1) for k in range(1, rounds + 1)]


@pytest.mark.parametrize("clock", CLOCKS)
@given(rounds=st.integers(1, 60))
def test_time_is_below_1_while_it_runs_and_1_at_the_deadline(clock, rounds):
    negotiations = Negotiations(1, rounds, clock)
    for _ in range(2 * rounds):
        assert 0 <= negotiations.time(0) < 1
        negotiations.apply(ROW, np.zeros(1, np.int32))
    assert negotiations.time(0) == 1

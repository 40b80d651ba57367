"""The rules of alternating offers: who moves when, and what every move leads to."""

from itertools import zip_longest

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from negzoo.engine import ACCEPT, FAULT, NOTHING, WALK, Ending, Negotiations

ROW = np.zeros(1, np.int64)
CLOSING = (ACCEPT, WALK, NOTHING, FAULT)
some_rounds = st.integers(1, 50)
some_moves = st.lists(st.integers(0, 8) | st.sampled_from(CLOSING), max_size=30)


def played(moves, rounds=40):
    """One negotiation in which `moves` are made, for as long as it runs or not."""
    negotiations = Negotiations(1, rounds)
    for move in moves:
        negotiations.apply(ROW, np.array([move], np.int32))
    return negotiations


def ending(moves, rounds=40):
    return Ending(int(played(moves, rounds).ending[0]))


# Endings


@pytest.mark.parametrize("before", [[7], [7, 5], [7, 5, 3]])
@pytest.mark.parametrize(
    ("move", "expected"),
    [
        (2, Ending.RUNNING),
        (ACCEPT, Ending.AGREEMENT),
        (WALK, Ending.WALKED),
        (NOTHING, Ending.BREAKDOWN),
        (FAULT, Ending.ERROR),
    ],
)
def test_what_a_move_leads_to(before, move, expected):
    assert ending([*before, move]) == expected


@pytest.mark.parametrize(
    ("move", "expected"),
    [
        (2, Ending.RUNNING),
        (ACCEPT, Ending.BREAKDOWN),
        (WALK, Ending.WALKED),
        (NOTHING, Ending.BREAKDOWN),
        (FAULT, Ending.ERROR),
    ],
)
def test_the_opening_move_differs_in_that_there_is_nothing_to_accept(move, expected):
    assert ending([move]) == expected
    assert played([move]).agreement[0] == -1


@given(some_moves, st.sampled_from(CLOSING), some_moves)
def test_an_ended_negotiation_stays_as_it_is(before, closing, after):
    once, more = played([*before, closing]), played([*before, closing, *after])
    assert once.ending[0] != Ending.RUNNING
    assert (once.ending, once.step, once.agreement) == (more.ending, more.step, more.agreement)
    assert once.history(0).tolist() == more.history(0).tolist()


# Rounds


@given(some_rounds)
@example(40)
def test_a_round_is_one_move_of_each_side_and_the_deadline_falls_after_player_1s_last(rounds):
    """40 rounds are 40 moves of each."""
    offers = [3] * (2 * rounds)
    assert ending(offers[:-1], rounds) == Ending.RUNNING
    negotiations = played(offers, rounds)
    assert negotiations.ending[0] == Ending.DEADLINE
    assert negotiations.step[0] == 2 * rounds
    by_player = [negotiations.history(0)[player::2].size for player in (0, 1)]
    assert by_player == [rounds, rounds]


@given(some_rounds)
@example(40)
def test_player_1_may_accept_at_its_last_move(rounds):
    negotiations = played([*range(2 * rounds - 1), ACCEPT], rounds)
    assert negotiations.ending[0] == Ending.AGREEMENT
    assert negotiations.agreement[0] == 2 * rounds - 2


@given(st.integers(2, 50))
def test_player_0_may_accept_at_its_last_move(rounds):
    negotiations = played([*range(2 * rounds - 2), ACCEPT], rounds)
    assert negotiations.ending[0] == Ending.AGREEMENT
    assert negotiations.agreement[0] == 2 * rounds - 3


@given(some_rounds)
def test_whoever_walks_away_at_the_last_move_walked_away(rounds):
    assert ending([0] * (2 * rounds - 1) + [WALK], rounds) == Ending.WALKED


# Agreements


@given(some_moves, some_rounds)
def test_the_acceptor_is_never_the_proposer(moves, rounds):
    negotiations = played(moves, rounds)
    history, outcome = negotiations.history(0).tolist(), int(negotiations.agreement[0])
    if negotiations.ending[0] != Ending.AGREEMENT:
        assert outcome == -1
        return
    acceptor, proposer = (len(history) - 1) % 2, (len(history) - 2) % 2
    assert acceptor != proposer
    assert history[-1] == ACCEPT
    assert outcome == history[-2] >= 0


@given(some_moves, some_rounds)
def test_all_moves_before_the_last_are_offers(moves, rounds):
    history = played(moves, rounds).history(0)
    assert history.tolist() == moves[: history.size]
    assert (history[:-1] >= 0).all()


# Batches


@given(st.lists(some_moves, min_size=1, max_size=6), some_rounds)
def test_negotiations_in_a_batch_go_as_each_does_alone(scripts, rounds):
    batch = Negotiations(len(scripts), rounds)
    for moves in zip_longest(*scripts):
        rows = np.flatnonzero([move is not None for move in moves])
        batch.apply(rows, np.array([0 if move is None else move for move in moves], np.int32))
    for row, alone in enumerate(played(script, rounds) for script in scripts):
        assert batch.history(row).tolist() == alone.history(0).tolist()
        assert batch.ending[row] == alone.ending[0]
        assert batch.agreement[row] == alone.agreement[0]


def test_only_the_rows_asked_for_move():
    negotiations = Negotiations(4)
    negotiations.apply(np.array([3, 1]), np.array([10, 11, 12, 13], np.int32))
    assert negotiations.step.tolist() == [0, 1, 0, 1]
    assert [negotiations.history(row).tolist() for row in range(4)] == [[], [11], [], [13]]

"""The state of N negotiations: what is refused, what is derived, and how a row starts again."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from negzoo.engine import ACCEPT, FAULT, NOTHING, WALK, Ending, Negotiations
from negzoo.errors import SettingsError

scripts = st.lists(st.integers(0, 5) | st.sampled_from((ACCEPT, WALK, NOTHING, FAULT)), max_size=8)


def apply(negotiations, *moves, rows=None):
    rows = np.arange(len(negotiations)) if rows is None else np.array(rows)
    negotiations.apply(rows, np.array(moves, np.int32))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": 0}, "size = 0: at least one negotiation"),
        ({"size": 1, "rounds": 0}, "rounds = 0: give a whole number from 1 to 100,000"),
        ({"size": 1, "rounds": -3}, "rounds = -3: give a whole number from 1 to 100,000"),
        ({"size": 1, "rounds": 100_001}, "rounds = 100001: give a whole number from 1 to 100,000"),
        ({"size": 1, "clock": "genus"}, r'clock = "genus": unknown clock \(did you mean "genius"\?\)'),
        ({"size": 1, "clock": "sundial"}, r'clock = "sundial": unknown clock \(known: genius, paper\)'),
    ],
)
def test_what_cannot_be_is_refused(arguments, message):
    with pytest.raises(SettingsError, match=message):
        Negotiations(**arguments)


def test_forty_rounds_on_the_papers_clock_unless_said_otherwise():
    negotiations = Negotiations(3)
    assert (len(negotiations), negotiations.rounds, negotiations.clock) == (3, 40, "paper")
    assert negotiations.moves.shape == (3, 80)


def test_nothing_has_happened_at_first():
    negotiations = Negotiations(2)
    assert negotiations.step.tolist() == [0, 0]
    assert negotiations.ending.tolist() == [Ending.RUNNING] * 2
    assert negotiations.agreement.tolist() == [-1, -1]
    assert negotiations.running.tolist() == [0, 1]
    assert negotiations.history(1).tolist() == []


def test_every_row_is_a_negotiation_of_its_own():
    negotiations = Negotiations(6, rounds=1)
    apply(negotiations, 0, 1, 2, WALK, ACCEPT, FAULT)
    assert negotiations.running.tolist() == [0, 1, 2]
    apply(negotiations, ACCEPT, 4, NOTHING, ACCEPT, ACCEPT, ACCEPT)
    assert [Ending(ending).name for ending in negotiations.ending] == [
        "AGREEMENT",
        "DEADLINE",
        "BREAKDOWN",
        "WALKED",
        "BREAKDOWN",
        "ERROR",
    ]
    assert negotiations.agreement.tolist() == [0, -1, -1, -1, -1, -1]
    assert negotiations.step.tolist() == [2, 2, 2, 1, 1, 1]
    assert negotiations.running.size == 0


def test_history_holds_the_moves_in_order():
    negotiations = Negotiations(1)
    for move in (5, 3, 5, ACCEPT):
        apply(negotiations, move)
    assert negotiations.history(0).tolist() == [5, 3, 5, ACCEPT]


@given(scripts, scripts)
def test_a_row_that_starts_again_remembers_nothing(before, after):
    used, fresh = Negotiations(1, rounds=4), Negotiations(1, rounds=4)
    for move in before:
        apply(used, move)
    used.start(np.array([0]))
    for move in after:
        apply(used, move)
        apply(fresh, move)
    assert used.history(0).tolist() == fresh.history(0).tolist()
    assert (used.ending, used.agreement, used.time(0)) == (fresh.ending, fresh.agreement, fresh.time(0))


def test_the_rows_beside_it_go_on():
    negotiations = Negotiations(3)
    apply(negotiations, 7, 8, 9)
    negotiations.start(np.array([1]))
    apply(negotiations, ACCEPT, 6, ACCEPT)
    assert negotiations.agreement.tolist() == [7, -1, 9]
    assert negotiations.history(1).tolist() == [6]

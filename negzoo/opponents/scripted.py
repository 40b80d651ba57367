"""Trivial policies, as yardsticks: what they earn is printed beside everything that is learned.

- AcceptFirst takes whatever is offered; opening, it offers its best outcome.
- Hardliner always offers its best outcome and never accepts.
- LateHardliner is a hardliner that accepts any standing offer at its last turn.
- Random draws uniformly from all offers and, once there is one to take, acceptance.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from negzoo.engine.protocol import ACCEPT
from negzoo.engine.rng import Draws, Record, below
from negzoo.errors import OpponentError, did_you_mean
from negzoo.opponents.base import Moves, Opponent, Rows
from negzoo.opponents.kernel import KernelSeat, Minds, Own, Table, View, own_side, view_of
from negzoo.opponents.registry import register
from negzoo.scenario import Scenario

SCRIPTS = ("AcceptFirst", "Hardliner", "LateHardliner", "Random")
_ACCEPT_FIRST, _, _LATE_HARDLINER, _RANDOM = range(len(SCRIPTS))

MEMORY = np.dtype([("script", np.int32)])
"""Which of SCRIPTS is played."""


@njit(cache=True)
def random_move(draws: Draws, own: Own, view: View) -> int:
    """Any legal move but walking away, each with the same probability."""
    outcomes = own.utility.size
    drawn = below(draws, outcomes + (1 if view.received >= 0 else 0))
    return drawn if drawn < outcomes else ACCEPT


@njit(cache=True)
def respond(memory: Record, draws: Draws, own: Own, view: View) -> int:
    """The move of a trivial policy."""
    if memory.script == _RANDOM:
        return random_move(draws, own, view)
    last_turn = view.turn == view.rounds
    takes = memory.script == _ACCEPT_FIRST or (memory.script == _LATE_HARDLINER and last_turn)
    return ACCEPT if takes and view.received >= 0 else own.order[0]


@njit(cache=True)
def respond_rows(rows: Rows, minds: Minds, own: Own, table: Table, out: Moves) -> None:
    for row in rows:
        out[row] = respond(minds.memory[row], Draws(minds.streams[row], minds.tape), own, view_of(table, row))


@dataclass(frozen=True)
class Scripted(Opponent):
    """A trivial policy.

    Raises:
        OpponentError: `script` is not one of SCRIPTS.
    """

    script: str

    def __post_init__(self) -> None:
        if self.script not in SCRIPTS:
            raise OpponentError(f'unknown script "{self.script}"{did_you_mean(self.script, SCRIPTS)}')

    @property
    def name(self) -> str:
        return self.script

    def seat(self, scenario: Scenario, side: int, size: int) -> KernelSeat:
        memory = np.array((SCRIPTS.index(self.script),), MEMORY)
        return KernelSeat(respond_rows, own_side(scenario, side, "paper"), memory, size)


_SUMMARIES = {
    "AcceptFirst": "accepts whatever is offered",
    "Hardliner": "offers its best outcome, never accepts",
    "LateHardliner": "a hardliner that accepts at its last turn",
    "Random": "any legal move",
}
for _script, _summary in _SUMMARIES.items():
    register(_script, f"yardstick: {_summary}", script=_script)(Scripted)

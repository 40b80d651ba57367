"""Averaged tit-for-tat: concession in proportion to the other side's (Faratin, Sierra & Jennings,
"Negotiation decision functions for autonomous agents", Robotics and Autonomous Systems 24, 1998).

The offers received are worth v_1 .. v_n to this side, its own last offer y. The window gamma says how many of
the other side's moves back that side's concession is measured.

1. While n <= gamma, plan the own outcomes from the best down: the next one after every own offer, the worst
   once there are no more.
2. Then demand (v_{n-gamma} / v_n) y, not below u_min or the reservation value, and not above u_max. Plan an
   outcome. Lineage `paper`: the one of least own utility that is not below the demand. Lineage `genius`
   (AverageTitForTat of GENIUS): the one of own utility nearest to it.
3. Where v_n = 0, demand u_max. But lineage `genius` computes NaN from 0/0, and its search for the nearest
   utility then stays where it begins, in the middle of the outcomes.
4. With noise, the demand is moved by a uniform draw from [-noise, noise].
5. Accept an offer worth at least the planned outcome (lineage `paper`: and more than the reservation value);
   else offer it.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from negzoo.engine.protocol import ACCEPT
from negzoo.engine.rng import Draws, Record, uniform
from negzoo.errors import OpponentError
from negzoo.opponents.base import LINEAGES, Lineage, Moves, Opponent, Rows, check_lineage, check_number, with_noise
from negzoo.opponents.kernel import KernelSeat, Minds, Own, Table, View, own_side, view_of
from negzoo.opponents.orders import at_least, nearest
from negzoo.opponents.registry import register
from negzoo.scenario import Scenario

MEMORY = np.dtype([("gamma", np.int64), ("noise", np.float64), ("lineage", np.int32)])
"""What is fixed for the negotiation: gamma, the noise, and the lineage as an index into LINEAGES."""

_PAPER = LINEAGES.index("paper")
_LONGEST = np.iinfo(np.int64).max


@njit(cache=True)
def demand(memory: Record, own: Own, view: View) -> float:
    """The utility demanded once n > gamma (steps 2 and 3)."""
    latest, mine = own.utility[view.history[-1]], own.utility[view.history[-2]]
    earlier = own.utility[view.history[-1 - 2 * memory.gamma]]
    top, bottom = own.ranked[0], max(own.ranked[-1], own.reservation)
    if latest == 0:
        return np.nan if earlier == 0 and memory.lineage != _PAPER else float(top)
    return float(min(max(earlier / latest * mine, bottom), top))


@njit(cache=True)
def plan(memory: Record, draws: Draws, own: Own, view: View) -> int:
    """The planned outcome's position in the own order."""
    received, offered = (view.history.size + 1) // 2, view.turn - 1
    if received <= memory.gamma:
        return min(offered, own.order.size - 1)
    demanded = demand(memory, own, view)
    if memory.noise > 0:
        demanded += memory.noise * (2 * uniform(draws) - 1)
    return at_least(own.ranked, demanded) if memory.lineage == _PAPER else nearest(own.ranked, demanded)


@njit(cache=True)
def respond(memory: Record, draws: Draws, own: Own, view: View) -> int:
    """The move of a tit-for-tat strategy."""
    planned = own.order[plan(memory, draws, own, view)]
    if view.received < 0:
        return int(planned)
    offered = own.utility[view.received]
    acceptable = offered >= own.utility[planned] and (offered > own.reservation or memory.lineage != _PAPER)
    return ACCEPT if acceptable else int(planned)


@njit(cache=True)
def respond_rows(rows: Rows, minds: Minds, own: Own, table: Table, out: Moves) -> None:
    for row in rows:
        out[row] = respond(minds.memory[row], Draws(minds.streams[row], minds.tape), own, view_of(table, row))


@dataclass(frozen=True)
class TitForTat(Opponent):
    """Concedes in proportion to the other side's concessions.

    Attributes:
        gamma: how many of the other side's moves back its concession is measured, at least 1.
        lineage: which code it is exact to, see docs/opponents.md.
        noise: how far a random draw may move the demanded utility, off by default.

    Raises:
        OpponentError: gamma is not a whole number of at least 1, noise is negative, or the lineage is unknown.
    """

    gamma: int
    lineage: Lineage = "paper"
    noise: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.gamma, bool) or not isinstance(self.gamma, int | np.integer) or self.gamma < 1:
            raise OpponentError(f"TitForTat: gamma = {self.gamma!r} must be a whole number of at least 1")
        object.__setattr__(self, "gamma", int(self.gamma))
        check_lineage(self.lineage)
        check_number("TitForTat: noise", self.noise, 0)
        object.__setattr__(self, "noise", float(self.noise))

    @property
    def name(self) -> str:
        return with_noise(NAMES.get(self.gamma, f"TitForTat(gamma={self.gamma})"), self.noise)

    def seat(self, scenario: Scenario, side: int, size: int) -> KernelSeat:
        memory = np.array((min(self.gamma, _LONGEST), self.noise, LINEAGES.index(self.lineage)), MEMORY)
        return KernelSeat(respond_rows, own_side(scenario, side, self.lineage), memory, size)


NAMES = {1: "TitForTat1", 2: "TitForTat2"}
"""The two of the paper (section 5.1), by window."""

register("TitForTat", "concedes in proportion to the other side's last gamma moves")(TitForTat)
for _gamma, _name in NAMES.items():
    register(_name, f"averaged tit-for-tat over a window of {_gamma}", gamma=_gamma)(TitForTat)

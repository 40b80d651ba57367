"""Time-dependent concession (Faratin, Sierra & Jennings, "Negotiation decision functions for autonomous agents", 1998).

1. Target: T(t) = u_min + (u_max - u_min)(1 - t^(1/e)), u_min not below the reservation value. e < 1 holds out
   (Boulware), e = 1 is linear, e > 1 concedes early.
2. With noise, T is moved by a uniform draw from [-noise, noise].
3. Plan an outcome. Lineage `paper`: the one of least own utility that is not below T(t). Lineage `genius`
   (TimeDependentAgent of GENIUS): the one of own utility nearest to T(t).
4. Accept an offer worth at least the planned outcome (lineage `paper`: and more than the reservation value); else
   offer it.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from negzoo.engine.protocol import ACCEPT
from negzoo.engine.rng import Draws, Record, uniform
from negzoo.opponents.base import LINEAGES, Lineage, Moves, Opponent, Rows, check_lineage, check_number, with_noise
from negzoo.opponents.kernel import KernelSeat, Minds, Own, Table, View, own_side, view_of
from negzoo.opponents.orders import at_least, nearest
from negzoo.opponents.registry import register
from negzoo.scenario import Scenario

MEMORY = np.dtype([("exponent", np.float64), ("noise", np.float64), ("lineage", np.int32)])
"""What is fixed for the negotiation: 1/e, the noise, and the lineage as an index into LINEAGES."""

_PAPER = LINEAGES.index("paper")


@njit(cache=True)
def target_at(memory: Record, own: Own, t: float) -> float:
    """T(t), with each lineage's order of operations."""
    top, bottom = own.ranked[0], max(own.ranked[-1], own.reservation)
    conceded = t**memory.exponent
    if memory.lineage == _PAPER:
        return float((1 - conceded) * (top - bottom) + bottom)
    return float(bottom + (top - bottom) * (1 - conceded))


@njit(cache=True)
def respond(memory: Record, draws: Draws, own: Own, view: View) -> int:
    """The move of a time-dependent strategy."""
    target = target_at(memory, own, view.time)
    if memory.noise > 0:
        target += memory.noise * (2 * uniform(draws) - 1)
    paper = memory.lineage == _PAPER
    planned = own.order[at_least(own.ranked, target) if paper else nearest(own.ranked, target)]
    if view.received < 0:
        return int(planned)
    offered = own.utility[view.received]
    acceptable = offered >= own.utility[planned] and (offered > own.reservation or not paper)
    return ACCEPT if acceptable else int(planned)


@njit(cache=True)
def respond_rows(rows: Rows, minds: Minds, own: Own, table: Table, out: Moves) -> None:
    for row in rows:
        out[row] = respond(minds.memory[row], Draws(minds.streams[row], minds.tape), own, view_of(table, row))


@dataclass(frozen=True)
class TimeDependent(Opponent):
    """A strategy that concedes with time alone.

    Attributes:
        e: the concession exponent of eq. 1, > 0.
        lineage: which code it is exact to, see docs/opponents.md.
        noise: how far a random draw may move the target utility, off by default.

    Raises:
        OpponentError: e is not a positive number, noise is negative, or the lineage is unknown.
    """

    e: float
    lineage: Lineage = "paper"
    noise: float = 0.0

    def __post_init__(self) -> None:
        check_number("TimeDependent: e", self.e, 0, above=True)
        check_number("TimeDependent: noise", self.noise, 0)
        object.__setattr__(self, "e", float(self.e))
        object.__setattr__(self, "noise", float(self.noise))
        check_lineage(self.lineage)

    @property
    def name(self) -> str:
        return with_noise(NAMES.get(self.e, f"TimeDependent(e={self.e!r})"), self.noise)

    def seat(self, scenario: Scenario, side: int, size: int) -> KernelSeat:
        memory = np.array((1 / self.e, self.noise, LINEAGES.index(self.lineage)), MEMORY)
        return KernelSeat(respond_rows, own_side(scenario, side, self.lineage), memory, size)


EXPONENTS = {
    "Boulware1": 0.1,
    "Boulware2": 0.2,
    "Boulware3": 0.5,
    "Linear": 1.0,
    "Conceder1": 2.0,
    "Conceder2": 5.0,
    "Conceder3": 10.0,
}
"""The seven of the paper (section 5.1), by name."""

NAMES = {e: name for name, e in EXPONENTS.items()}

register("TimeDependent", "concedes with time, T(t) = u_min + (u_max - u_min)(1 - t^(1/e))")(TimeDependent)
for _name, _e in EXPONENTS.items():
    register(_name, f"time-dependent concession, e = {_e:g}", e=_e)(TimeDependent)

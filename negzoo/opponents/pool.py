"""A pool: an opponent that is another one of its members in each negotiation."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from negzoo.engine import Negotiations
from negzoo.engine.rng import uniforms
from negzoo.errors import OpponentError, did_you_mean
from negzoo.opponents.base import Keys, Moves, Opponent, Rows, Seat, check_number
from negzoo.scenario import Scenario

Schedule = Literal["episode", "stratified"]
SCHEDULES: tuple[Schedule, ...] = get_args(Schedule)

_DRAW_LANE = np.uint64(0x9D001)


@dataclass(frozen=True)
class Pool(Opponent):
    """A mixture of opponents.

    Attributes:
        label: the pool's name.
        strategies: its members.
        weights: how likely each is, any positive scale; empty means equally.
        schedule: `episode` draws a member for each negotiation (the paper's "randomly selected"); `stratified` deals
            the n members out in turn, negotiation i meets member i mod n.

    Raises:
        OpponentError: no members, two of one name, a pool among them, weights that do not fit, or an unknown schedule.
    """

    label: str
    strategies: tuple[Opponent, ...]
    weights: tuple[float, ...] = ()
    schedule: Schedule = "episode"

    def __post_init__(self) -> None:
        names = [strategy.name for strategy in self.strategies]
        if not names:
            raise OpponentError(f'pool "{self.label}" has no members')
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise OpponentError(f'pool "{self.label}": {twice} is in it twice; use weights to favour a member')
        if self.weights and len(self.weights) != len(names):
            raise OpponentError(f'pool "{self.label}": {len(self.weights)} weights for {len(names)} members')
        for weight in self.weights:
            check_number(f'pool "{self.label}": weight', weight, 0, above=True)
        if nested := [strategy.name for strategy in self.strategies if isinstance(strategy, Pool)]:
            raise OpponentError(f'pool "{self.label}": {nested[0]} is a pool itself; list its members instead')
        if self.schedule not in SCHEDULES:
            raise OpponentError(
                f'pool "{self.label}": unknown schedule "{self.schedule}"{did_you_mean(self.schedule, SCHEDULES)}'
            )

    @property
    def name(self) -> str:
        return self.label

    @property
    def members(self) -> tuple[Opponent, ...]:
        return self.strategies

    @property
    def identity(self) -> str:
        parts = ", ".join(strategy.identity for strategy in self.strategies)
        return f"Pool([{parts}], weights={list(self.weights)}, schedule={self.schedule})"

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """float64 [members]: how likely each member is."""
        weights: NDArray[np.float64] = np.array(self.weights or [1.0] * len(self.strategies))
        share: NDArray[np.float64] = weights / weights.sum()
        return share

    def seat(self, scenario: Scenario, side: int, size: int) -> "PoolSeat":
        return PoolSeat(self, scenario, side, size)


class PoolSeat(Seat):
    """All members of a pool seated at the same N tables, one of them playing at each."""

    def __init__(self, pool: Pool, scenario: Scenario, side: int, size: int) -> None:
        self.seats = tuple(strategy.seat(scenario, side, size) for strategy in pool.strategies)
        self.thresholds = np.cumsum(pool.probabilities)[:-1]
        self.stratified = pool.schedule == "stratified"
        self.members = np.zeros(size, np.int32)

    def start(self, rows: Rows, keys: Keys, indices: Keys) -> None:
        self.members[rows] = self._draw(keys, indices)
        for i, seat in enumerate(self.seats):
            chosen = self.members[rows] == i
            if chosen.any():
                seat.start(rows[chosen], keys[chosen], indices[chosen])

    def _draw(self, keys: Keys, indices: Keys) -> NDArray[np.int32]:
        if self.stratified:
            return (indices % np.uint64(len(self.seats))).astype(np.int32)
        drawn = uniforms(keys ^ _DRAW_LANE, indices)
        return np.searchsorted(self.thresholds, drawn, side="right").astype(np.int32)

    def reply(self, rows: Rows, negotiations: Negotiations, out: Moves) -> None:
        members = self.members[rows]
        for i, seat in enumerate(self.seats):
            theirs = rows[members == i]
            if theirs.size:
                seat.reply(theirs, negotiations, out)

    def member(self, rows: Rows) -> NDArray[np.int32]:
        return self.members[rows]

"""N negotiations at once: a negotiation is its list of moves, and everything else is derived from it."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from negzoo.engine.clock import CLOCKS, Clock, time_at
from negzoo.engine.protocol import Ending, transition
from negzoo.errors import SettingsError, did_you_mean

Rows: TypeAlias = NDArray[np.int64]

MOST_ROUNDS = 100_000
"""The longest deadline; each negotiation keeps room for all its moves."""


class Negotiations:
    """The state of N negotiations under one clock and one deadline.

    Attributes:
        moves: int32 [N, 2 * rounds], the moves made, in order; what lies at or beyond `step` means nothing.
        step: int32 [N], how many moves were made.
        ending: int8 [N], an `Ending`.
        clock_index: the clock as compiled code wants it, an index into `CLOCKS`.

    Raises:
        SettingsError: fewer than one negotiation or round, or an unknown clock.
    """

    def __init__(self, size: int, rounds: int = 40, clock: Clock = "paper") -> None:
        if size < 1:
            raise SettingsError(f"size = {size}: at least one negotiation is needed")
        if not 1 <= rounds <= MOST_ROUNDS:
            raise SettingsError(f"rounds = {rounds}: give a whole number from 1 to {MOST_ROUNDS:,}")
        if clock not in CLOCKS:
            raise SettingsError(f'clock = "{clock}": unknown clock{did_you_mean(str(clock), CLOCKS)}')
        self.rounds = rounds
        self.clock: Clock = clock
        self.clock_index = CLOCKS.index(clock)
        self.moves = np.zeros((size, 2 * rounds), np.int32)
        self.step = np.zeros(size, np.int32)
        self.ending = np.zeros(size, np.int8)

    def __len__(self) -> int:
        return len(self.step)

    def start(self, rows: Rows) -> None:
        """Begin a new negotiation in each of `rows`."""
        self.step[rows] = 0
        self.ending[rows] = Ending.RUNNING

    def apply(self, rows: Rows, move: NDArray[np.int32]) -> None:
        """Make the moves `move` [N], at `rows`, by whoever's turn it is there; ended negotiations stay as they are."""
        transition(rows, move, self.moves, self.step, self.ending)

    @property
    def running(self) -> Rows:
        """The rows whose negotiation has not ended."""
        return np.flatnonzero(self.ending == Ending.RUNNING)

    @property
    def agreement(self) -> NDArray[np.int32]:
        """int32 [N]: the outcome agreed on, -1 where there is no agreement (yet)."""
        accepted = np.maximum(self.step - 2, 0)
        standing = self.moves[np.arange(len(self)), accepted]
        return np.where(self.ending == Ending.AGREEMENT, standing, np.int32(-1))

    def time(self, row: int) -> float:
        """The time that the player to move sees."""
        return float(time_at(self.clock_index, int(self.step[row]), self.rounds))

    def history(self, row: int) -> NDArray[np.int32]:
        """The moves made in one negotiation, in order."""
        return self.moves[row, : self.step[row]]

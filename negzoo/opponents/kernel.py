"""What compiled strategies share: what they know (Own), what they see (View), and their seat.

A compiled strategy is one file with

1. MEMORY, a structured dtype: what it remembers, one row per negotiation;
2. `respond(memory, draws, own, view) -> move`, its algorithm, compiled;
3. `respond_rows(rows, minds, own, table, out)`, the loop over tables. Each strategy writes this loop out, because numba
   recompiles a function that is passed as an argument in every process.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numba import njit
from numpy.typing import NDArray

from negzoo.engine import Negotiations
from negzoo.engine.clock import time_at
from negzoo.engine.rng import NO_TAPE, STREAM
from negzoo.opponents.base import Keys, Lineage, Moves, Rows, Seat
from negzoo.opponents.orders import genius_order, stable_order
from negzoo.scenario import Scenario


class Own(NamedTuple):
    """What a strategy knows of the scenario: its own side."""

    utility: NDArray[np.float64]
    """[Ω] own utility of each outcome: as summed in lineage `paper`, clipped at 1 in lineage `genius`."""
    order: NDArray[np.int32]
    """[Ω] the outcomes, best first, ties as the lineage breaks them."""
    ranked: NDArray[np.float64]
    """[Ω] utility[order], descending."""
    options: NDArray[np.int32]
    """[Ω, I] the option of each issue in each outcome."""
    sizes: NDArray[np.int64]
    """[I] how many options each issue has."""
    strides: NDArray[np.int64]
    """[I] how far apart in outcome index two neighbouring options of each issue are."""
    reservation: float
    """The utility of no agreement."""


class View(NamedTuple):
    """What a strategy sees at its turn."""

    history: NDArray[np.int32]
    """[moves made] all offers so far, in order; the last one is the other side's."""
    received: int
    """The standing offer, -1 on the opening move."""
    turn: int
    """Own turn number, from 1."""
    time: float
    """The time on the table's clock, in [0, 1)."""
    rounds: int
    """Turns that each side has at most."""


class Minds(NamedTuple):
    """The state of a strategy at N tables."""

    memory: NDArray[np.void]
    """[N] of the strategy's MEMORY."""
    notes: NDArray[np.float64]
    """[N, width] memory whose width depends on the scenario; width 1 where a strategy needs none."""
    streams: NDArray[np.void]
    """[N] of STREAM."""
    tape: NDArray[np.float64]
    """Recorded draws for a replay, else empty."""


class Table(NamedTuple):
    """The negotiations as compiled code reads them."""

    moves: NDArray[np.int32]
    step: NDArray[np.int32]
    clock: int


class RespondRows(Protocol):
    """A strategy's compiled loop over tables."""

    def __call__(self, rows: Rows, minds: Minds, own: Any, table: Table, out: Moves) -> None: ...


@njit(cache=True)
def view_of(table: Table, row: int) -> View:
    """What the player to move at table `row` sees."""
    step, rounds = table.step[row], table.moves.shape[1] // 2
    history = table.moves[row, :step]
    received = history[step - 1] if step > 0 else -1
    return View(history, received, step // 2 + 1, time_at(table.clock, step, rounds), rounds)


def own_side(scenario: Scenario, side: int, lineage: Lineage) -> Own:
    """What a strategy of this lineage knows when it holds profile `side` (0 or 1) of the scenario."""
    clipped = lineage == "genius"
    utility = (scenario.utilities if clipped else scenario.raw_utilities)[side].copy()
    order = genius_order(scenario, utility) if clipped else stable_order(utility)
    sizes = np.array(scenario.shape, np.int64)
    strides = np.append(np.cumprod(sizes[:0:-1])[::-1], 1).astype(np.int64)
    reservation = float(scenario.profiles[side].reservation)
    return Own(utility, order, utility[order], scenario.options.copy(), sizes, strides, reservation)


class KernelSeat(Seat):
    """A compiled strategy at N tables."""

    def __init__(
        self,
        respond_rows: RespondRows,
        own: NamedTuple,
        initial: NDArray[np.void],
        size: int,
        initial_notes: NDArray[np.float64] | None = None,
        tape: NDArray[np.float64] = NO_TAPE,
    ) -> None:
        """Seat it.

        Args:
            respond_rows: the strategy's compiled loop.
            own: what it knows: `Own`, or a named tuple of its own.
            initial: a 0-d record of its MEMORY, the memory a negotiation begins with.
            size: the number of tables.
            initial_notes: float64 [width], the notes a negotiation begins with.
            tape: recorded draws, for replaying one negotiation.
        """
        self.respond_rows, self.own, self.initial = respond_rows, own, initial
        self.initial_notes = np.zeros(1) if initial_notes is None else initial_notes
        notes = np.zeros((size, self.initial_notes.size))
        self.minds = Minds(np.zeros(size, initial.dtype), notes, np.zeros(size, STREAM), tape)

    def start(self, rows: Rows, keys: Keys, indices: Keys) -> None:
        self.minds.memory[rows] = self.initial
        self.minds.notes[rows] = self.initial_notes
        streams = np.zeros(len(rows), STREAM)
        streams["key"], streams["index"] = keys, indices
        self.minds.streams[rows] = streams

    def reply(self, rows: Rows, negotiations: Negotiations, out: Moves) -> None:
        table = Table(negotiations.moves, negotiations.step, negotiations.clock_index)
        self.respond_rows(rows, self.minds, self.own, table, out)

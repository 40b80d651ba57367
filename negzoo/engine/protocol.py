"""The alternating-offers protocol as one compiled transition, batch axis first.

Player 0 moves at even steps, player 1 at odd steps, 2R moves at most. A move is an int32:

- an outcome index (>= 0) offers that outcome;
- ACCEPT ends the negotiation with the standing offer, the other player's last one; on the opening move there is
  nothing to accept and the negotiation breaks down;
- WALK ends it without agreement;
- NOTHING, from a strategy that returned no move, breaks it down; FAULT, from one that raised, ends it as an error.
"""

from enum import IntEnum

import numpy as np
from numba import njit
from numpy.typing import NDArray

ACCEPT = -1
WALK = -2
NOTHING = -3
FAULT = -4


class Ending(IntEnum):
    """How a negotiation ended."""

    RUNNING = 0
    AGREEMENT = 1
    WALKED = 2
    BREAKDOWN = 3
    DEADLINE = 4
    ERROR = 5


_RUNNING, _AGREEMENT, _WALKED, _BREAKDOWN, _DEADLINE, _ERROR = map(int, Ending)


@njit(cache=True)
def ending_after(move: int, step: int, limit: int) -> int:
    """The state of a negotiation of at most `limit` moves once `move` is made as its move number `step`, from 0."""
    if move >= 0:
        return _DEADLINE if step + 1 == limit else _RUNNING
    if move == ACCEPT:
        return _AGREEMENT if step > 0 else _BREAKDOWN
    if move == WALK:
        return _WALKED
    return _ERROR if move == FAULT else _BREAKDOWN


@njit(cache=True)
def transition(
    rows: NDArray[np.int64],
    move: NDArray[np.int32],
    moves: NDArray[np.int32],
    step: NDArray[np.int32],
    ending: NDArray[np.int8],
) -> None:
    """Make move[row] in every negotiation of `rows` that still runs.

    `move`, `step`, `ending` are [N] and `moves` is [N, 2R]; the last three are changed in place.
    """
    limit = moves.shape[1]
    for row in rows:
        if ending[row] == _RUNNING:
            moves[row, step[row]] = move[row]
            ending[row] = ending_after(move[row], step[row], limit)
            step[row] += 1

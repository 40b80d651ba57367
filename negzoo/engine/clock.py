"""Time as the players see it: from the number of moves made to a number in [0, 1].

With R rounds and s moves made before the turn:

- `paper`: s / 2R, so the two players of a round see different times, from 0 to 1 - 1/2R;
- `genius`: (s // 2 + 1) / (R + 1), so both players of a round see the same time, from 1/(R+1) to R/(R+1).
"""

from typing import Literal, get_args

from numba import njit

Clock = Literal["paper", "genius"]
CLOCKS: tuple[Clock, ...] = get_args(Clock)
GENIUS = CLOCKS.index("genius")


@njit(cache=True)
def time_at(clock: int, step: int, rounds: int) -> float:
    """The time seen after `step` moves; `clock` is an index into `CLOCKS`. At step 2R both clocks read 1."""
    if clock == GENIUS:
        return (step // 2 + 1) / (rounds + 1)
    return step / (2 * rounds)

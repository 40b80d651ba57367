"""Random streams that belong to negotiations.

Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).

A draw is a pure function of (key, negotiation index, number of the draw). So a negotiation draws the same whatever the
batch size, the number of workers or the order of play. Keys come from NumPy's SeedSequence.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

Record: TypeAlias = Any
"""A row of a structured array; in compiled code its fields are attributes."""

STREAM = np.dtype([("key", np.uint64), ("index", np.uint64), ("count", np.uint64)])
"""One stream: whose it is (key), which negotiation's (index), and how many draws it has made (count)."""

NO_TAPE = np.empty(0, np.float64)

_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_ONE, _ELEVEN = np.uint64(1), np.uint64(11)


class Draws(NamedTuple):
    """Where a strategy's randomness comes from: its stream, or, if given, a tape of recorded draws that wraps round."""

    stream: Record
    tape: NDArray[np.float64]


def derive_key(seed: int, *lane: int) -> np.uint64:
    """The key of a purpose, e.g. `derive_key(seed, 4)`; different lanes of one seed are independent.

    Raises:
        ValueError: a negative seed or lane.
    """
    return np.uint64(np.random.SeedSequence(seed, spawn_key=lane).generate_state(1, np.uint64)[0])


def player_key(seed: int, player: int) -> np.uint64:
    """The key of whoever sits as player 0 or player 1 in the negotiations of a seed; index i is negotiation number i.

    Raises:
        ValueError: a negative seed.
    """
    return derive_key(seed, player)


@njit(cache=True)
def philox(key: np.uint64, index: np.uint64, count: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Four random 32-bit words (as uint64) of the counter (count, index) under `key`."""
    c0, c1, c2, c3 = count & _LOW, count >> _HALF, index & _LOW, index >> _HALF
    k0, k1 = key & _LOW, key >> _HALF
    for _ in range(10):
        p0, p1 = _M0 * c0, _M1 * c2
        c0, c1, c2, c3 = (p1 >> _HALF) ^ c1 ^ k0, p1 & _LOW, (p0 >> _HALF) ^ c3 ^ k1, p0 & _LOW
        k0, k1 = (k0 + _W0) & _LOW, (k1 + _W1) & _LOW
    return c0, c1, c2, c3


@njit(cache=True)
def uniform_at(key: np.uint64, index: np.uint64, count: np.uint64) -> float:
    """The draw number `count` of a stream, uniform on [0, 1) with 53 random bits."""
    low, high, _, _ = philox(key, index, count)
    return float(np.float64(((high << _HALF) | low) >> _ELEVEN) * 2.0**-53)


@njit(cache=True)
def uniform(draws: Draws) -> float:
    """The next draw, uniform on [0, 1)."""
    stream = draws.stream
    count = stream.count
    stream.count = count + _ONE
    if draws.tape.size:
        return float(draws.tape[count % np.uint64(draws.tape.size)])
    return float(uniform_at(stream.key, stream.index, count))


@njit(cache=True)
def below(draws: Draws, n: int) -> int:
    """The next draw, uniform on 0 .. n-1 (a tape holds the integer itself; one that is too large counts as n-1)."""
    u = uniform(draws)
    if draws.tape.size:
        return min(int(u), n - 1)
    return int(u * n)


@njit(cache=True)
def shuffle(values: NDArray[np.int64], draws: Draws) -> None:
    """Shuffle in place, last element first (Fisher-Yates as java.util.Collections.shuffle draws it: n-1 draws)."""
    for last in range(values.size - 1, 0, -1):
        other = below(draws, last + 1)
        values[last], values[other] = values[other], values[last]


@njit(cache=True)
def uniforms(keys: NDArray[np.uint64], indices: NDArray[np.uint64]) -> NDArray[np.float64]:
    """The first draw of each of the streams (keys[i], indices[i]), float64 [n]."""
    drawn = np.empty(indices.size, np.float64)
    for i in range(indices.size):
        drawn[i] = uniform_at(keys[i], indices[i], np.uint64(0))
    return drawn

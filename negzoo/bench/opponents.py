"""How fast opponents play: learner steps per second, on one core, in one batch of negotiations.

A learner step is one decision of a learner who moves first, and all that follows from it: its move is made, the
opponent replies, the reply is made, and where that ends a negotiation, the next one starts at that table. All of it
is measured; the learner's decisions are not. They are uniformly random offers, drawn beforehand.
"""

import time

import numpy as np
from numpy.typing import NDArray

from negzoo.bench.measure import Speed
from negzoo.engine import Ending, Negotiations
from negzoo.engine.rng import player_key
from negzoo.opponents import Opponent, Seat
from negzoo.scenario import Scenario

ROUNDS = 40
TURNS = 2 * ROUNDS
"""Learner steps at each table in one repeat: two negotiations, if they last to the deadline."""


def speed(
    label: str, opponent: Opponent, scenario: Scenario, batch: int = 1024, repeats: int = 5, seed: int = 0
) -> Speed:
    """Measure an opponent that holds profile 2; compilation and seating are not part of it."""
    offers = np.random.default_rng(seed).integers(0, scenario.size, (TURNS, batch), dtype=np.int32)
    seat = opponent.seat(scenario, 1, batch)
    _seconds(seat, offers[:1], seed)
    rates = tuple(offers.size / _seconds(seat, offers, seed + repeat) for repeat in range(repeats))
    return Speed(scenario.name, label, rates)


def _seconds(seat: Seat, offers: NDArray[np.int32], seed: int) -> float:
    """How long it takes to answer `offers`, int32 [turns, batch]."""
    batch = offers.shape[1]
    tables, negotiations = np.arange(batch), Negotiations(batch, ROUNDS)
    keys, indices = np.full(batch, player_key(seed, 1)), np.arange(batch, dtype=np.uint64)
    moves = np.zeros(batch, np.int32)
    seat.start(tables, keys, indices)
    began = time.perf_counter()
    for offered in offers:
        negotiations.apply(tables, offered)
        seat.reply(tables, negotiations, moves)
        negotiations.apply(tables, moves)
        ended = np.flatnonzero(negotiations.ending != Ending.RUNNING)
        if ended.size:
            indices[ended] += np.uint64(batch)
            negotiations.start(ended)
            seat.start(ended, keys[ended], indices[ended])
    return time.perf_counter() - began

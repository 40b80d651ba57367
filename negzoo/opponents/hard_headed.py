"""HardHeaded (van Krimpen, Looije & Hajizadeh, "HardHeaded", in: Complex Automated Negotiations, 2013): ANAC 2011's winner.

It comes down a ladder of its own outcomes, one rung at a time, and of nearly equal rungs offers first what it believes
the other side to like best.

1. Ladder: outcomes by ascending key. Lineage `paper`: one per distinct utility, the first in product order; the key is
   the utility. Lineage `genius`: all outcomes, each utility lowered by some multiple of 1e-8 that makes it unique.
2. Listen: remember the received offer that is best for oneself (of equals the first), and learn. In the model of the
   other side every issue i has a weight w_i, 1/I at first, and every option v of it a count c_i(v), 1 at first. An
   offer adds 1 to the count of each of its options and g = 0.2/I to the weight of some issues, where it is below
   1 - I g / s; then all weights are divided by s = 1 + g (number of these issues).
   Lineage `paper`: to the issues whose option *differs* from the offer before. Lineage `genius`: to those whose option
   is the same; it ignores the first offer altogether, and re-balances all weights after setting each.
3. Own offers wait in a queue, at first the top of the ladder. When the queue is empty:
   - the next rung below the last own offer is a candidate, and with it all further rungs within 0.01 of its key, as long
     as they reach p(t) = u_min + (1 - F)(u_max - u_min), F = 0.05 + 0.95 t^20. Lineage `paper`: u_min is the reservation
     value. Lineage `genius`: u_min = 0.585, whatever the reservation value;
   - if the next rung itself is below p(t), an own earlier offer, drawn uniformly, is the only candidate;
   - up to 4 candidates are queued, in lineage `paper` from the best down, in lineage `genius` from the worst up. Of
     more, 5 are queued by the model's Σ_i w_i c_i(v_i) / max_v c_i(v), in lineage `genius` at most 1. Lineage `paper`
     strikes out the last candidate after each pick instead of the picked one, so one may be queued repeatedly;
   - the best received offer goes first if its key is above that of the first in the queue.
4. Accept an offer worth more than the least that was offered so far (1 at first), or at least the head of the queue;
   else offer the head of the queue.

On the lowest rung both originals fail; here the lowest rung is repeated. An outcome that lost its place on the `genius`
ladder to another of the very same key is placed by its utility.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from negzoo.engine.protocol import ACCEPT
from negzoo.engine.rng import Draws, below, uniform
from negzoo.opponents.base import Lineage, Moves, Opponent, Rows, check_lineage
from negzoo.opponents.kernel import KernelSeat, Minds, Own, Table, View, own_side, view_of
from negzoo.opponents.registry import register
from negzoo.scenario import Scenario

AT_ONCE = 0.05  # the share of its range that p(t) concedes at t = 0
EXPONENT = 20.0
GENIUS_FLOOR = 0.585
TOLERANCE = 0.01
QUEUED_AS_THEY_ARE = 4
FAVOURITES = 5
LEARNING = 0.2
KEY_STEP = 1e-8

MEMORY = np.dtype(
    [
        ("queue", np.int32, (1 + FAVOURITES,)),
        ("head", np.int32),
        ("tail", np.int32),
        ("best_received", np.int32),
        ("least_offered", np.float64),
    ]
)
"""The offers in waiting are queue[head:tail]; slot 0 is kept for the best received offer, -1 before the first one."""


class Ladder(NamedTuple):
    """The outcomes that it comes down through, worst first."""

    outcome: NDArray[np.int32]
    """[rungs] what it offers on each rung."""
    key: NDArray[np.float64]
    """[rungs] strictly ascending."""
    key_of: NDArray[np.float64]
    """[Ω] the key of each outcome, be it on a rung or not."""
    rung_of: NDArray[np.int64]
    """[Ω] the lowest rung whose key is not below that of the outcome."""


class Known(NamedTuple):
    """What it knows of the scenario."""

    own: Own
    ladder: Ladder
    slots: NDArray[np.int64]
    """[Ω, I] where the options of each outcome stand in a table over the options of all issues."""
    starts: NDArray[np.int64]
    """[I + 1] where the options of each issue begin in such a table."""
    floor: float
    """u_min."""
    genius: bool
    """Whether this is lineage `genius`."""


def utility_levels(utility: NDArray[np.float64]) -> Ladder:
    """Lineage `paper`: a rung for each distinct utility."""
    key, first = np.unique(utility, return_index=True)
    return ladder_of(first, key, utility)


def genius_bid_list(scenario: Scenario, utility: NDArray[np.float64]) -> Ladder:
    """Lineage `genius`: a rung for each outcome, as its BidSelector fills its TreeMap.

    The outcomes grow issue by issue. Each time, the partial outcomes (all later issues at their first option) are
    visited in ascending order, and the k-th one inserted gets the key u - 1e-8 - ... - 1e-8, k times; of equal keys the
    last one stays.
    """
    outcome = np.zeros(1, np.int64)
    strides = np.append(np.cumprod(scenario.shape[:0:-1])[::-1], 1).astype(np.int64)
    for stride, options in zip(strides, scenario.shape, strict=True):
        grown = (outcome[:, None] + stride * np.arange(options)).ravel()
        keys = utility[grown] + np.cumsum(np.full(grown.size, -KEY_STEP))
        ascending = np.argsort(keys, kind="stable")
        key = keys[ascending]
        last_of_equals = np.append(key[1:] != key[:-1], True)
        outcome, key = grown[ascending][last_of_equals], key[last_of_equals]
    key_of = utility.copy()
    key_of[outcome] = key
    return ladder_of(outcome, key, key_of)


def ladder_of(outcome: NDArray[np.int64], key: NDArray[np.float64], key_of: NDArray[np.float64]) -> Ladder:
    return Ladder(outcome.astype(np.int32), key, key_of, np.searchsorted(key, key_of).astype(np.int64))


def known_side(scenario: Scenario, side: int, lineage: Lineage) -> Known:
    """What HardHeaded knows when it holds profile `side` of the scenario."""
    own, genius = own_side(scenario, side, lineage), lineage == "genius"
    ladder = genius_bid_list(scenario, own.utility) if genius else utility_levels(own.utility)
    starts = np.append(0, np.cumsum(own.sizes))
    floor = GENIUS_FLOOR if genius else own.reservation
    return Known(own, ladder, own.options + starts[:-1], starts, floor, genius)


@njit(cache=True)
def demand(known: Known, t: float) -> float:
    """p(t), below which no rung is offered."""
    conceded = AT_ONCE + (1 - AT_ONCE) * t**EXPONENT
    return known.floor + (1 - conceded) * (known.own.ranked[0] - known.floor)


@njit(cache=True)
def listen(memory: np.void, notes: NDArray[np.float64], known: Known, view: View) -> None:
    """Take in the received offer."""
    utility, best = known.own.utility, memory.best_received
    if best < 0 or utility[view.received] > utility[best]:
        memory.best_received = view.received
    issues = known.slots.shape[1]
    weights, counts = notes[:issues], notes[issues:]
    slots = known.slots[view.received]
    if view.history.size > 2:
        learn_weights(weights, slots == known.slots[view.history[-3]], known.genius)
    elif known.genius:
        return
    for slot in slots:
        counts[slot] += 1


@njit(cache=True)
def learn_weights(weights: NDArray[np.float64], kept: NDArray[np.bool_], genius: bool) -> None:
    """Raise the weights of the issues that kept their option (lineage `paper`: of those that did not)."""
    raised = kept if genius else ~kept
    issues = weights.size
    gain = LEARNING / issues
    total = 1 + gain * raised.sum()
    limit = 1 - issues * gain / total
    for i in range(issues):
        grown = weights[i] + gain if raised[i] and weights[i] < limit else weights[i]
        if genius:
            set_balanced(weights, i, grown / total)
        else:
            weights[i] = grown / total


@njit(cache=True)
def set_balanced(weights: NDArray[np.float64], i: int, weight: float) -> None:
    """Set weight i as GENIUS's sliders do: all weights share in bringing the sum back to 1."""
    old = weights[i]
    weights[i] = weight
    total = sum_in_order(weights)
    excess = total - 1
    for j in range(weights.size):
        weights[j] = max(0.0, weights[j] - excess * (weights[j] + 0.05) / (total + 0.05 * weights.size))
    if not 0.98 < sum_in_order(weights) < 1.02:
        weights[i] = old


@njit(cache=True)
def sum_in_order(values: NDArray[np.float64]) -> float:
    total = 0.0
    for value in values:
        total += value
    return total


@njit(cache=True)
def refill(memory: np.void, notes: NDArray[np.float64], draws: Draws, known: Known, view: View) -> None:
    """Queue what to offer next."""
    lowest, highest = next_rungs(known, view)
    if known.ladder.key[highest] < demand(known, view.time):
        enqueue(memory, earlier_offer(draws, known, view))
    else:
        candidates = known.ladder.outcome[lowest : highest + 1].copy()
        if not known.genius:
            candidates = candidates[::-1].copy()
        enqueue_candidates(memory, candidates, notes, known)
    key_of = known.ladder.key_of
    if memory.best_received >= 0 and key_of[memory.queue[1]] < key_of[memory.best_received]:
        memory.head = 0
        memory.queue[0] = memory.best_received


@njit(cache=True)
def next_rungs(known: Known, view: View) -> tuple[int, int]:
    """The lowest and the highest rung to choose from: the next one below the last own offer, and those near it."""
    key, p = known.ladder.key, demand(known, view.time)
    highest = max(known.ladder.rung_of[view.history[-2]] - 1, 0)
    lowest = highest
    while lowest > 0 and key[highest] - key[lowest - 1] < TOLERANCE and key[lowest - 1] >= p:
        lowest -= 1
    return lowest, highest


@njit(cache=True)
def earlier_offer(draws: Draws, known: Known, view: View) -> int:
    """Any own offer so far, each time it was made with the same probability."""
    made = view.turn - 1
    drawn = int(made * uniform(draws)) if known.genius else below(draws, made)
    return view.history[view.history.size % 2 + 2 * drawn]


@njit(cache=True)
def enqueue(memory: np.void, outcome: int) -> None:
    """Put one outcome into the empty queue."""
    memory.queue[1] = outcome
    memory.head, memory.tail = 1, 2


@njit(cache=True)
def enqueue_candidates(memory: np.void, candidates: NDArray[np.int32], notes: NDArray[np.float64], known: Known) -> None:
    """Put the candidates into the empty queue, or where they are many those that the other side may like best."""
    queue = memory.queue[1:]
    if candidates.size <= QUEUED_AS_THEY_ARE:
        queue[: candidates.size] = candidates
    else:
        pick_favourites(queue, candidates, liking(candidates, notes, known), known.genius)
    memory.head, memory.tail = 1, 1 + min(candidates.size, FAVOURITES)
    


@njit(cache=True)
def liking(candidates: NDArray[np.int32], notes: NDArray[np.float64], known: Known) -> NDArray[np.float64]:
    """What the other side's model says each candidate is worth to it."""
    issues = known.slots.shape[1]
    weights, counts = notes[:issues], notes[issues:]
    parts = np.empty(counts.size)
    for i in range(issues):
        of_issue = slice(known.starts[i], known.starts[i + 1])
        parts[of_issue] = weights[i] * counts[of_issue] / counts[of_issue].max()
    values = np.empty(candidates.size)
    for k, outcome in enumerate(candidates):
        values[k] = sum_in_order(parts[known.slots[outcome]])
    return np.minimum(values, 1.0) if known.genius else values


@njit(cache=True)
def pick_favourites(queue: NDArray[np.int32], candidates: NDArray[np.int32], values: NDArray[np.float64], genius: bool) -> None:
    """Queue FAVOURITES of the candidates, the most valuable first; of equals the last one if it is among them, else the first."""
    left = candidates.size
    for place in range(FAVOURITES):
        best = left - 1
        for k in range(left):
            if values[k] > values[best]:
                best = k
        queue[place] = candidates[best]
        left -= 1
        if genius:
            for k in range(best, left):
                candidates[k], values[k] = candidates[k + 1], values[k + 1]


@njit(cache=True)
def acceptable(memory: np.void, own: Own, received: int) -> bool:
    offered = own.utility[received]
    return offered > memory.least_offered or own.utility[memory.queue[memory.head]] <= offered


@njit(cache=True)
def offer(memory: np.void, known: Known) -> int:
    """Take the head of the queue."""
    outcome = memory.queue[memory.head]
    memory.head += 1
    if known.ladder.key_of[outcome] < memory.least_offered:
        memory.least_offered = known.own.utility[outcome]
    return outcome


@njit(cache=True)
def respond(memory: np.void, notes: NDArray[np.float64], draws: Draws, known: Known, view: View) -> int:
    """The move of HardHeaded."""
    if view.received >= 0:
        listen(memory, notes, known, view)
    if view.turn == 1:
        enqueue(memory, known.ladder.outcome[-1])
    elif memory.head == memory.tail:
        refill(memory, notes, draws, known, view)
    if view.received >= 0 and acceptable(memory, known.own, view.received):
        return ACCEPT
    return offer(memory, known)


@njit(cache=True)
def respond_rows(rows: Rows, minds: Minds, known: Known, table: Table, out: Moves) -> None:
    for row in rows:
        draws = Draws(minds.streams[row], minds.tape)
        out[row] = respond(minds.memory[row], minds.notes[row], draws, known, view_of(table, row))


@register("HardHeaded")
@dataclass(frozen=True)
class HardHeaded(Opponent):
    """Comes down its own outcomes rung by rung, and late (ANAC 2011's winner).

    Attributes:
        lineage: which code it is exact to, see docs/opponents.md.

    Raises:
        OpponentError: the lineage is unknown.
    """

    lineage: Lineage = "paper"

    def __post_init__(self) -> None:
        check_lineage(self.lineage)

    @property
    def name(self) -> str:
        return "HardHeaded"

    def seat(self, scenario: Scenario, side: int, size: int) -> KernelSeat:
        known = known_side(scenario, side, self.lineage)
        memory = np.zeros((), MEMORY)
        memory["best_received"], memory["least_offered"] = -1, 1.0
        issues, options = len(known.own.sizes), int(known.starts[-1])
        notes = np.concatenate([np.full(issues, 1 / issues), np.ones(options)])
        return KernelSeat(respond_rows, known, memory, size, notes)

"""HardHeaded, the winner of ANAC 2011 (van Krimpen, Looije & Hajizadeh, "HardHeaded", in: Complex Automated
Negotiations: Theories, Models, and Software Competitions, 2013).

It comes down a ladder of its own outcomes, and among nearly equal rungs prefers what it believes the other
side to like.

1. Ladder: outcomes by ascending key. Lineage `paper`: one per distinct utility, the first in product order,
   with its utility for a key. Lineage `genius`: all outcomes; the key is the utility less a small multiple
   of 1e-8.
2. Listen: remember the received offer that is best for oneself (of equals the first), and update the model
   of the other side. There, issue i has a weight w_i, at first 1/I, and each of its options v a count
   c_i(v), at first 1. An offer adds 1 to the counts of its options. Before, it adds g = 0.2/I to the weights
   of some k issues, where they are below 1 - Ig/(1 + gk), and divides all weights by 1 + gk.
   Lineage `paper`: the k issues are those whose option *differs* from that in the offer before.
   Lineage `genius`: those whose option is the same; all weights are balanced after each is set; and the
   first offer changes nothing.
3. What is to be offered waits in a queue, at first the top of the ladder alone. An empty queue is refilled:
   a. Candidates are the next rung below the last own offer, and the rungs below that whose keys are within
      0.01 of it and not below p(t) = u_min + (1 - F)(u_max - u_min), F = 0.05 + 0.95 t^20. Lineage `paper`:
      u_min is the reservation value. Lineage `genius`: u_min is 0.585, whatever the reservation value.
   b. If the next rung itself is below p(t), the one candidate is an own earlier offer, drawn uniformly.
   c. Up to 4 candidates are all queued. Lineage `paper`: from the highest down. Lineage `genius`: from the
      lowest up.
   d. From more, 5 picks are queued, each of the greatest worth to the other side by the model, which is
      Σ_i w_i c_i(v_i) / max_v c_i(v). Lineage `paper` strikes out the last candidate after each pick, not the
      picked one, which may be picked again. Lineage `genius` counts a worth above 1 as 1.
   e. The best received offer goes first if its key is above that of the first in the queue.
4. Accept an offer worth more than the least that was offered so far (1 at first), or no less than the first
   in the queue; else offer the first in the queue.

The originals fail when they look for a rung below the lowest; here the lowest is the last candidate there is.
Where two outcomes got the very same key in lineage `genius`, one has no rung; its key is then its utility.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from negzoo.engine.protocol import ACCEPT
from negzoo.engine.rng import Draws, Record, below, uniform
from negzoo.opponents.base import Champion, Lineage, Moves, Rows
from negzoo.opponents.kernel import KernelSeat, Minds, Table, View, own_side, view_of
from negzoo.opponents.registry import register
from negzoo.scenario import Scenario

KEY_STEP = 1e-8
AT_ONCE = 0.05  # the share of its range that p(t) concedes at t = 0
EXPONENT = 20.0
GENIUS_FLOOR = 0.585
NEAR = 0.01
QUEUED_UNPICKED = 4
PICKS = 5
LEARNING = 0.2
BALANCE_OFFSET = 0.05

MEMORY = np.dtype(
    [
        ("queue", np.int32, (1 + PICKS,)),
        ("head", np.int32),
        ("tail", np.int32),
        ("best_received", np.int32),
        ("least_offered", np.float64),
    ]
)
"""queue[head:tail] waits to be offered; slot 0 is for a received offer that goes first. best_received is at
first -1."""


class Ladder(NamedTuple):
    """The outcomes that it comes down, lowest rung first."""

    outcome: NDArray[np.int32]
    """[rungs] what it offers on each rung."""
    key: NDArray[np.float64]
    """[rungs] what the rungs are ordered by, strictly ascending."""
    key_of: NDArray[np.float64]
    """[Ω] the key of each outcome, on a rung or not."""
    rung_of: NDArray[np.int64]
    """[Ω] the lowest rung whose key is not below the outcome's."""


class OwnSide(NamedTuple):
    """What it knows of the scenario: its own side."""

    utility: NDArray[np.float64]
    """[Ω] own utility of each outcome."""
    ladder: Ladder
    slots: NDArray[np.int32]
    """[Ω, I] where the options of each outcome stand in a list of the options of all issues."""
    starts: NDArray[np.int64]
    """[I + 1] where the options of each issue begin in that list."""
    top: float
    """u_max."""
    floor: float
    """u_min."""
    genius: bool
    """Whether the lineage is `genius`."""


def utility_levels(utility: NDArray[np.float64]) -> Ladder:
    """The ladder of lineage `paper`."""
    key, first = np.unique(utility, return_index=True)
    return ladder_of(first, key, utility)


def genius_bid_list(scenario: Scenario, utility: NDArray[np.float64]) -> Ladder:
    """The ladder of lineage `genius`.

    It grows issue by issue, from the outcome of all first options. The rungs so far are taken in ascending
    order, and each is replaced by itself with every option of the issue. The n-th of these has for a key its
    utility less n times 1e-8, summed up in double precision; of equal keys the last one stays.
    """
    outcome, key = np.zeros(1, np.int64), utility[:1]
    stride = scenario.size
    for options in scenario.shape:
        stride //= options
        outcome = np.add.outer(outcome, stride * np.arange(options)).ravel()
        inserted = utility[outcome] + np.cumsum(np.full(outcome.size, -KEY_STEP))
        ascending = np.argsort(inserted, kind="stable")
        key = inserted[ascending]
        stays = np.append(key[1:] > key[:-1], True)
        outcome, key = outcome[ascending][stays], key[stays]
    key_of = utility.copy()
    key_of[outcome] = key
    return ladder_of(outcome, key, key_of)


def ladder_of(outcome: NDArray[np.int64], key: NDArray[np.float64], key_of: NDArray[np.float64]) -> Ladder:
    """The ladder whose rungs are the outcomes `outcome` with the ascending keys `key`."""
    return Ladder(outcome.astype(np.int32), key, key_of, np.searchsorted(key, key_of).astype(np.int64))


def hard_headed_side(scenario: Scenario, side: int, lineage: Lineage) -> OwnSide:
    """What HardHeaded knows when it holds profile `side` of the scenario."""
    own, genius = own_side(scenario, side, lineage), lineage == "genius"
    ladder = genius_bid_list(scenario, own.utility) if genius else utility_levels(own.utility)
    starts = np.append(0, np.cumsum(own.sizes)).astype(np.int64)
    floor = GENIUS_FLOOR if genius else own.reservation
    slots, top = own.options + starts[:-1].astype(np.int32), float(own.ranked[0])
    return OwnSide(own.utility, ladder, slots, starts, top, floor, genius)


@njit(cache=True)
def listen(memory: Record, notes: NDArray[np.float64], own: OwnSide, view: View) -> None:
    """Remember the received offer if it is the best, and learn from it."""
    best = memory.best_received
    if best < 0 or own.utility[view.received] > own.utility[best]:
        memory.best_received = view.received
    issues = own.slots.shape[1]
    slots = own.slots[view.received]
    if view.history.size > 2:
        learn_weights(notes[:issues], slots, own.slots[view.history[-3]], own.genius)
    elif own.genius:
        return
    for slot in slots:
        notes[issues + slot] += 1


@njit(cache=True)
def learn_weights(
    weights: NDArray[np.float64], slots: NDArray[np.int32], before: NDArray[np.int32], genius: bool
) -> None:
    """Raise the weights of the issues that changed their option (`paper`) or that kept it (`genius`)."""
    issues = weights.size
    raised = 0
    for i in range(issues):
        raised += (slots[i] == before[i]) == genius
    gain = LEARNING / issues
    total = 1 + gain * raised
    limit = 1 - issues * gain / total
    for i in range(issues):
        raise_it = (slots[i] == before[i]) == genius and weights[i] < limit
        weight = (weights[i] + (gain if raise_it else 0.0)) / total
        if genius:
            set_balanced(weights, i, weight)
        else:
            weights[i] = weight


@njit(cache=True)
def set_balanced(weights: NDArray[np.float64], i: int, weight: float) -> None:
    """Set weight i as a slider of GENIUS: all weights give way so that they sum to 1 again."""
    old = weights[i]
    weights[i] = weight
    total = sum_in_order(weights)
    for j in range(weights.size):
        share = (total - 1) * (weights[j] + BALANCE_OFFSET) / (total + BALANCE_OFFSET * weights.size)
        weights[j] = max(0.0, weights[j] - share)
    if not 0.98 < sum_in_order(weights) < 1.02:
        weights[i] = old


@njit(cache=True)
def sum_in_order(values: NDArray[np.float64]) -> float:
    """The sum from left to right."""
    total = 0.0
    for value in values:
        total += value
    return total


@njit(cache=True)
def demand(own: OwnSide, t: float) -> float:
    """p(t), the key below which no rung is a candidate."""
    conceded: float = AT_ONCE + (1 - AT_ONCE) * t**EXPONENT
    return own.floor + (1 - conceded) * (own.top - own.floor)


@njit(cache=True)
def refill(memory: Record, notes: NDArray[np.float64], draws: Draws, own: OwnSide, view: View) -> None:
    """Fill the empty queue again."""
    p = demand(own, view.time)
    key, key_of = own.ladder.key, own.ladder.key_of
    next_rung = max(own.ladder.rung_of[view.history[-2]] - 1, 0)
    if key[next_rung] >= p:
        queue_rungs(memory, notes, own, lowest_near(key, next_rung, p), next_rung)
    else:
        queue_one(memory, earlier_offer(draws, own.genius, view))
    if key_of[memory.queue[1]] < key_of[memory.best_received]:
        memory.queue[0] = memory.best_received
        memory.head = 0


@njit(cache=True)
def lowest_near(key: NDArray[np.float64], rung: int, p: float) -> int:
    """The lowest rung that is near `rung` and not below p."""
    lowest = rung
    while lowest > 0 and key[rung] - key[lowest - 1] < NEAR and key[lowest - 1] >= p:
        lowest -= 1
    return lowest


@njit(cache=True)
def earlier_offer(draws: Draws, genius: bool, view: View) -> int:
    """One of the own offers so far; lineage `genius` records the draw as a fraction, not as an index."""
    made = view.turn - 1
    drawn = int(made * uniform(draws)) if genius else below(draws, made)
    offer: int = view.history[view.history.size % 2 + 2 * drawn]
    return offer


@njit(cache=True)
def queue_one(memory: Record, outcome: int) -> None:
    """Let one outcome wait in the empty queue."""
    memory.queue[1] = outcome
    memory.head, memory.tail = 1, 2


@njit(cache=True)
def queue_rungs(memory: Record, notes: NDArray[np.float64], own: OwnSide, lowest: int, highest: int) -> None:
    """Let the rungs from `lowest` to `highest` wait in the empty queue, or some of them if they are many."""
    rungs = own.ladder.outcome[lowest : highest + 1]
    candidates = rungs.copy() if own.genius else rungs[::-1].copy()
    queue = memory.queue[1:]
    if candidates.size <= QUEUED_UNPICKED:
        queue[: candidates.size] = candidates
    else:
        pick(queue, candidates, worth(candidates, notes, own), own.genius)
    memory.head, memory.tail = 1, 1 + min(candidates.size, PICKS)


@njit(cache=True)
def worth(candidates: NDArray[np.int32], notes: NDArray[np.float64], own: OwnSide) -> NDArray[np.float64]:
    """[candidates] what each of them is worth to the other side by the model."""
    issues = own.slots.shape[1]
    counts = notes[issues:]
    parts = np.empty(counts.size)
    for i in range(issues):
        first, end = own.starts[i], own.starts[i + 1]
        parts[first:end] = notes[i] * counts[first:end] / counts[first:end].max()
    worths = np.zeros(candidates.size)
    for k, candidate in enumerate(candidates):
        for slot in own.slots[candidate]:
            worths[k] += parts[slot]
    return np.minimum(worths, 1.0) if own.genius else worths


@njit(cache=True)
def pick(queue: NDArray[np.int32], candidates: NDArray[np.int32], worths: NDArray[np.float64], genius: bool) -> None:
    """Pick the greatest worth PICKS times; of equals the last candidate if it is one, else the first."""
    left = candidates.size
    for place in range(PICKS):
        picked = left - 1
        for k in range(left):
            if worths[k] > worths[picked]:
                picked = k
        queue[place] = candidates[picked]
        left -= 1
        if genius:
            for k in range(picked, left):
                candidates[k], worths[k] = candidates[k + 1], worths[k + 1]


@njit(cache=True)
def acceptable(memory: Record, received: float, planned: float) -> bool:
    """Whether an offer of utility `received` is accepted when one of utility `planned` is up to be made."""
    return bool(received > memory.least_offered or planned <= received)


@njit(cache=True)
def respond(memory: Record, notes: NDArray[np.float64], draws: Draws, own: OwnSide, view: View) -> int:
    """The move of HardHeaded."""
    if view.received >= 0:
        listen(memory, notes, own, view)
    if view.turn == 1:
        queue_one(memory, own.ladder.outcome[-1])
    elif memory.head == memory.tail:
        refill(memory, notes, draws, own, view)
    planned: int = memory.queue[memory.head]
    if view.received >= 0 and acceptable(memory, own.utility[view.received], own.utility[planned]):
        return ACCEPT
    memory.head += 1
    if own.ladder.key_of[planned] < memory.least_offered:
        memory.least_offered = own.utility[planned]
    return planned


@njit(cache=True)
def respond_rows(rows: Rows, minds: Minds, own: OwnSide, table: Table, out: Moves) -> None:
    for row in rows:
        draws = Draws(minds.streams[row], minds.tape)
        out[row] = respond(minds.memory[row], minds.notes[row], draws, own, view_of(table, row))


@register("HardHeaded", "winner of ANAC 2011: holds out, then offers what the other side seems to want")
class HardHeaded(Champion):
    """The winner of ANAC 2011: comes down its own outcomes late, in the order the other side may like."""

    def seat(self, scenario: Scenario, side: int, size: int) -> KernelSeat:
        own = hard_headed_side(scenario, side, self.lineage)
        memory = np.zeros((), MEMORY)
        memory["best_received"], memory["least_offered"] = -1, 1.0
        issues, options = own.slots.shape[1], int(own.starts[-1])
        notes = np.concatenate([np.full(issues, 1 / issues), np.ones(options)])
        return KernelSeat(respond_rows, own, memory, size, notes)

"""AgentK, winner of ANAC 2010 (Kawaguchi, Fujita & Ito, "AgentK: compromising strategy based on estimated
maximum utility for automated negotiating agents", 2012): concedes towards the best offer it expects to get.

1. Of the utilities received, take the mean m and the width d = sqrt(12 variance), that of the uniform
   distribution of the same variance. The best offer to come is estimated to be worth E = m + (1 - m) d.
2. Two exponents: alpha = 3 + 6 m, and beta, drawn uniformly from [alpha - 1, alpha + 1).
3. Each gives a target, 1 - min(2 c, d + 0.1) with c = t^exponent (1 - E), which then gives way to E: from a
   distance r above, by r min(1/r^2, M) / M, where M = 400 - 300 t^3; from below, all the way.
4. Accept an offer worth v with probability p = t^alpha / 5 + (v - E) + (v - target of alpha), where v counts
   as 1 at most, and a p below 0.1 as 0.
5. Else offer any of the offers received that are worth more than the target of alpha, all equally likely.
   Lineage `paper` keeps them in a list, where repeated ones weigh more; lineage `genius` in a set.
6. If there are none, draw outcomes, option by option, until one reaches the target of beta, which is lowered
   by 0.01 after every 501 failures. An opening is drawn the same way, with target 1.

The reservation value plays no part. A replay takes step 6 draw by draw. In play it is sampled exactly: one
draw decides whether any of 501 outcomes reaches the target, another which one.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from negzoo.engine.protocol import ACCEPT
from negzoo.engine.rng import Draws, Record, below, uniform
from negzoo.opponents.base import LINEAGES, Champion, Moves, Rows
from negzoo.opponents.kernel import KernelSeat, Minds, Own, Table, View, own_side, view_of
from negzoo.opponents.orders import count_at_least, name_hashes
from negzoo.opponents.registry import register
from negzoo.scenario import Scenario

MEMORY = np.dtype([("lineage", np.int32), ("received", np.int32), ("total", np.float64), ("squares", np.float64)])
"""The lineage, as an index into LINEAGES; the number, sum and sum of squares of the utilities received."""

TRIES = 501
"""How many outcomes the search draws before it lowers its target."""
REDUCTION = 0.01
"""By how much it is lowered."""
REDUCTIONS = 1000
"""How often at most. Utilities up to 1 need fewer than 150; among huge ones the target might never come down."""

_PAPER = LINEAGES.index("paper")


class Knowledge(NamedTuple):
    """What AgentK knows of the scenario."""

    own: Own
    hashes: NDArray[np.int64]
    """[Ω] each outcome's hash in a java.util.HashMap, which orders what lineage `genius` keeps."""


class Estimate(NamedTuple):
    """What the utilities received tell (step 1)."""

    mean: float
    width: float
    best: float


@njit(cache=True)
def remember(memory: Record, utility: float) -> None:
    memory.received += 1
    memory.total += utility
    memory.squares += utility * utility


@njit(cache=True)
def estimate(memory: Record) -> Estimate:
    mean = memory.total / memory.received
    variance = memory.squares / memory.received - mean * mean
    width = np.sqrt(12 * variance) if variance > 0 else 0.0
    return Estimate(mean, width, mean + (1 - mean) * width)


@njit(cache=True)
def target_at(t: float, exponent: float, seen: Estimate, lineage: int) -> float:
    """The target of an exponent (step 3), with the order of operations that both lineages share."""
    held = 1 - t**exponent * (1 - seen.best)
    if lineage == _PAPER:
        held = min(held, 1 - 1e-12)
    ratio = min((seen.width + 0.1) / (1 - held), 2.0) if held != 1 else 2.0
    return giving_way(ratio * held + 1 - ratio, t, seen.best)


@njit(cache=True)
def giving_way(target: float, t: float, best: float) -> float:
    """The target once it has given way to the estimated best offer."""
    if target <= best:
        return best
    distance, limit = target - best, 400 - 300 * t**3
    return target - distance * min(1 / (distance * distance), limit) / limit


@njit(cache=True)
def acceptance(t: float, alpha: float, utility: float, target: float, best: float) -> float:
    """The probability p of step 4; it may exceed 1."""
    counted = min(utility, 1.0)
    p = t**alpha / 5 + (counted - best) + (counted - target)
    return 0.0 if p < 0.1 else p


@njit(cache=True)
def without_repeats(outcomes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Each outcome once, in order of first appearance."""
    order = np.argsort(outcomes, kind="mergesort")
    first = np.ones(outcomes.size, np.bool_)
    for i in range(1, order.size):
        first[order[i]] = outcomes[order[i]] != outcomes[order[i - 1]]
    return outcomes[first]


@njit(cache=True)
def in_hash_order(outcomes: NDArray[np.int32], hashes: NDArray[np.int64]) -> NDArray[np.int32]:
    """The outcomes as a java.util.HashMap keeps them: each once, by bucket, and in a bucket as they came.

    Its 16 buckets double whenever it holds more than three quarters as many outcomes.
    """
    distinct = without_repeats(outcomes)
    buckets = 16
    while distinct.size > 0.75 * buckets:
        buckets *= 2
    return distinct[np.argsort(hashes[distinct] & (buckets - 1), kind="mergesort")]


@njit(cache=True)
def search_by_draws(draws: Draws, own: Own, target: float) -> int:
    """The first of TRIES random outcomes that reaches the target, else -1."""
    for _ in range(TRIES):
        outcome = 0
        for issue in range(own.sizes.size):
            outcome += below(draws, own.sizes[issue]) * own.strides[issue]
        if own.utility[outcome] >= target:
            return outcome
    return -1


@njit(cache=True)
def search_exactly(draws: Draws, own: Own, target: float) -> int:
    """An outcome distributed as `search_by_draws`: all that reach the target are equally likely."""
    reaching = count_at_least(own.ranked, target)
    missed = (1 - reaching / own.ranked.size) ** TRIES
    if uniform(draws) < missed:
        return -1
    return int(own.order[below(draws, reaching)])


@njit(cache=True)
def search(draws: Draws, own: Own, target: float) -> int:
    """Step 6."""
    for _ in range(REDUCTIONS):
        exactly = draws.tape.size == 0
        outcome = search_exactly(draws, own, target) if exactly else search_by_draws(draws, own, target)
        if outcome >= 0:
            return outcome
        target -= REDUCTION
    return int(own.order[0])


@njit(cache=True)
def worth_repeating(memory: Record, knows: Knowledge, view: View, target: float) -> NDArray[np.int32]:
    """The offers received that are worth more than the target, in the order in which they are kept."""
    received = view.history[(view.history.size - 1) % 2 :: 2]
    better = received[knows.own.utility[received] > target]
    if better.size == 0 or memory.lineage == _PAPER:
        return better
    kept = in_hash_order(received, knows.hashes)
    return kept[knows.own.utility[kept] > target]


@njit(cache=True)
def pick(memory: Record, draws: Draws, outcomes: NDArray[np.int32]) -> int:
    """Any of the outcomes. A tape holds its index in lineage `paper`, a uniform draw in lineage `genius`."""
    if memory.lineage == _PAPER:
        drawn = below(draws, outcomes.size)
    else:
        drawn = min(int(uniform(draws) * outcomes.size), outcomes.size - 1)
    return int(outcomes[drawn])


@njit(cache=True)
def respond(memory: Record, draws: Draws, knows: Knowledge, view: View) -> int:
    """The move of AgentK."""
    if view.received < 0:
        return search(draws, knows.own, 1.0)
    utility = knows.own.utility[view.received]
    remember(memory, utility)
    seen = estimate(memory)
    alpha = 1 + 2 + 10 * seen.mean - 4 * seen.mean
    beta = alpha + 2 * uniform(draws) - 1
    target = target_at(view.time, alpha, seen, memory.lineage)
    search_target = target_at(view.time, beta, seen, memory.lineage)
    if acceptance(view.time, alpha, utility, target, seen.best) > uniform(draws):
        return ACCEPT
    repeatable = worth_repeating(memory, knows, view, target)
    return pick(memory, draws, repeatable) if repeatable.size else search(draws, knows.own, search_target)


@njit(cache=True)
def respond_rows(rows: Rows, minds: Minds, own: Knowledge, table: Table, out: Moves) -> None:
    for row in rows:
        draws = Draws(minds.streams[row], minds.tape)
        out[row] = respond(minds.memory[row], draws, own, view_of(table, row))


def java_hashes(scenario: Scenario) -> NDArray[np.int64]:
    """int64 [Ω]: each outcome's hash in GENIUS, the sum over its options, spread as HashMap spreads it."""
    total = name_hashes(scenario)
    return (total ^ (total >> np.uint32(16))).astype(np.int64)


@register("AgentK", "winner of ANAC 2010: concedes towards the best offer it expects")
class AgentK(Champion):
    """The winner of ANAC 2010: concedes towards the best offer it expects to get."""

    def seat(self, scenario: Scenario, side: int, size: int) -> KernelSeat:
        memory = np.array((LINEAGES.index(self.lineage), 0, 0.0, 0.0), MEMORY)
        knows = Knowledge(own_side(scenario, side, self.lineage), java_hashes(scenario))
        return KernelSeat(respond_rows, knows, memory, size)

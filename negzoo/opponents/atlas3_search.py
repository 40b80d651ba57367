"""How Atlas3 finds an offer that reaches a threshold.

1. Base: a random outcome.
2. Neighbours: of the outcomes that differ from the base in one issue at most, one of those of least utility that reach the
   threshold. Lineage `paper` finds the issue that way, but then takes its last option.
3. If that falls short, trade off: from the best outcome, go through the issues in random order and take in each the first
   option, in random order, that the threshold leaves room for, as if utilities added up over issues. Lineage
   `paper` draws issues and options with replacement. If the result falls short, lineage `paper` goes back to
   the base; lineage `genius` takes utilities not to add up from now on and anneals, from this result now and
   in place of the trade-off later.
4. If that falls short too, the best outcome.
5. Concede: in each issue, in random order, take the option that was received most often, unless that lowers the utility.

Annealing is towards the threshold, for 9,206 steps: a random change of one issue, taken if it is nearer to the
threshold, or with a probability that falls with time. The answer is one of the visited outcomes of least utility that
reached the threshold.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from negzoo.engine.rng import Draws, below, shuffle, uniform
from negzoo.opponents.base import LINEAGES
from negzoo.opponents.kernel import Own

_PAPER = LINEAGES.index("paper")

HOTTEST, COLDEST, COOLING = 1.0, 1e-4, 0.999
COOLINGS = 9206
"""How often HOTTEST is multiplied by COOLING until it is not above COLDEST."""


class Searcher(NamedTuple):
    """What a search uses and changes."""

    memory: np.void
    """Of atlas3.MEMORY."""
    order: NDArray[np.float64]
    """[I] the issues, in the order in which they are searched."""
    counts: NDArray[np.float64]
    """[I, most options] how often each option was received."""
    draws: Draws


@njit(cache=True)
def changed(own: Own, outcome: int, issue: int, option: int) -> int:
    """The outcome with another option in one issue."""
    return outcome + (option - own.options[outcome, issue]) * own.strides[issue]


@njit(cache=True)
def mix(values: NDArray[np.float64], searcher: Searcher) -> None:
    """Shuffle the values 0 .. n-1; lineage `paper`: draw n of them with replacement."""
    if searcher.memory.lineage == _PAPER:
        for k in range(values.size):
            values[k] = below(searcher.draws, values.size)
    else:
        shuffle(values, searcher.draws)


@njit(cache=True)
def mixed(count: int, searcher: Searcher) -> NDArray[np.float64]:
    values = np.arange(count).astype(np.float64)
    mix(values, searcher)
    return values


@njit(cache=True)
def random_base(searcher: Searcher, own: Own) -> int:
    if searcher.memory.lineage == _PAPER:
        return below(searcher.draws, own.utility.size)
    base = 0
    for issue in range(own.sizes.size):
        base += below(searcher.draws, own.sizes[issue]) * own.strides[issue]
    return base


@njit(cache=True)
def notice(memory: np.void, own: Own, outcome: int) -> None:
    """Keep the best outcome seen, the latest of equals (lineage `genius`; the other knows it from the start)."""
    if memory.lineage != _PAPER and own.utility[outcome] >= own.utility[memory.max_bid]:
        memory.max_bid = outcome


@njit(cache=True)
def neighbour(searcher: Searcher, own: Own, base: int, threshold: float) -> int:
    """Step 2; the base where no neighbour reaches the threshold."""
    found, count, least = np.empty(own.sizes.sum(), np.int64), 0, np.inf
    for k in range(searcher.order.size):
        issue = int(searcher.order[k])
        last = changed(own, base, issue, own.sizes[issue] - 1)
        for option in range(own.sizes[issue]):
            outcome = changed(own, base, issue, option)
            notice(searcher.memory, own, outcome)
            utility = own.utility[outcome]
            if threshold <= utility <= least:
                count = 0 if utility < least else count
                found[count] = last if searcher.memory.lineage == _PAPER else outcome
                count, least = count + 1, utility
    return found[below(searcher.draws, count)] if count else base


@njit(cache=True)
def relative(searcher: Searcher, own: Own, issue: int, option: int) -> float:
    """What an option costs against the best outcome as it was known at the start."""
    reference = searcher.memory.first_max_bid
    return own.utility[changed(own, reference, issue, option)] - own.utility[reference]


@njit(cache=True)
def traded_off(searcher: Searcher, own: Own, threshold: float) -> int:
    """Step 3's trade-off; lineage `genius` keeps the new order of issues."""
    outcome, room, spent = searcher.memory.max_bid, threshold - 1, 0.0
    issues = searcher.order.copy()
    mix(issues, searcher)
    if searcher.memory.lineage != _PAPER:
        searcher.order[:] = issues
    for issue in issues:
        for option in mixed(own.sizes[int(issue)], searcher):
            change = relative(searcher, own, int(issue), int(option))
            if room <= spent + change:
                outcome, spent = changed(own, outcome, int(issue), int(option)), spent + change
                break
    return outcome


@njit(cache=True)
def annealed(searcher: Searcher, own: Own, start: int, threshold: float) -> int:
    memory, draws = searcher.memory, searcher.draws
    found, count, least = np.empty(COOLINGS, np.int32), 0, np.inf
    current, temperature = start, HOTTEST
    while temperature > COLDEST:
        issue = int(searcher.order[below(draws, searcher.order.size)])
        following = changed(own, current, issue, below(draws, own.sizes[issue]))
        notice(memory, own, following)
        miss, next_miss = abs(threshold - own.utility[current]), abs(threshold - own.utility[following])
        if next_miss < miss or math.exp(-abs(next_miss - miss) / temperature) > uniform(draws):
            current = following
        utility = own.utility[current]
        if threshold <= utility <= least:
            count = 0 if utility < least else count
            found[count] = current
            count, least = count + 1, utility
        temperature *= COOLING
    return found[below(draws, count)] if count else start


@njit(cache=True)
def compensated(searcher: Searcher, own: Own, base: int, threshold: float) -> int:
    """Step 3."""
    memory, outcome = searcher.memory, base
    if memory.additive:
        outcome = traded_off(searcher, own, threshold)
        if own.utility[outcome] >= threshold:
            return outcome
        if memory.lineage == _PAPER:
            return base
        memory.additive = False
    return annealed(searcher, own, outcome, threshold)


@njit(cache=True)
def most_received(searcher: Searcher, own: Own, issue: int) -> int:
    """The option received most often, the first drawn of equals; lineage `paper`: of those drawn."""
    options = mixed(own.sizes[issue], searcher)
    best = int(options[0])
    for option in options:
        if searcher.counts[issue, int(option)] > searcher.counts[issue, best]:
            best = int(option)
    return best


@njit(cache=True)
def conceded(searcher: Searcher, own: Own, outcome: int) -> int:
    """Step 5."""
    for issue in mixed(own.sizes.size, searcher):
        candidate = changed(own, outcome, int(issue), most_received(searcher, own, int(issue)))
        if own.utility[candidate] >= own.utility[outcome]:
            outcome = candidate
    return outcome


@njit(cache=True)
def searched(searcher: Searcher, own: Own, threshold: float) -> int:
    """An offer for the threshold."""
    base = random_base(searcher, own)
    outcome = neighbour(searcher, own, base, threshold)
    if own.utility[outcome] < threshold:
        outcome = compensated(searcher, own, base, threshold)
    if own.utility[outcome] < threshold:
        outcome = searcher.memory.max_bid
    return conceded(searcher, own, outcome)

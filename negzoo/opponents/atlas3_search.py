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

Annealing changes one issue at random 9,206 times, and keeps the change if that is nearer to the threshold, or with a
probability that falls from step to step. Its answer is one of the outcomes of least utility that reached the
threshold on the way, as likely as it was often there. It runs in a replay. Otherwise the answer is drawn uniformly from
all outcomes of least utility that reach the threshold: those that annealing finds, save that it weighs equals unevenly.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from negzoo.engine.rng import Draws, below, shuffle, uniform
from negzoo.opponents.base import LINEAGES
from negzoo.opponents.kernel import Own
from negzoo.opponents.orders import at_least

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
def mix(values: NDArray[np.generic], searcher: Searcher) -> None:
    """Shuffle the n values; lineage `paper`: replace them by n draws from 0 .. n-1."""
    if searcher.memory.lineage == _PAPER:
        for k in range(values.size):
            values[k] = below(searcher.draws, values.size)
    else:
        shuffle(values, searcher.draws)


@njit(cache=True)
def mixed(count: int, searcher: Searcher) -> NDArray[np.int64]:
    """0 .. count-1, mixed."""
    values = np.arange(count)
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
def next_issues(searcher: Searcher) -> NDArray[np.float64]:
    """The issues in the order of a trade-off; lineage `genius` goes on from the last order, and keeps the new one."""
    issues = searcher.order.copy()
    mix(issues, searcher)
    if searcher.memory.lineage != _PAPER:
        searcher.order[:] = issues
    return issues


@njit(cache=True)
def traded_off(searcher: Searcher, own: Own, threshold: float) -> int:
    """The trade-off of step 3. The costs add up to no less than threshold − 1; an issue without a match stays."""
    outcome, limit, spent = searcher.memory.max_bid, threshold - 1, 0.0
    for issue in next_issues(searcher).astype(np.int64):
        for option in mixed(own.sizes[issue], searcher):
            change = relative(searcher, own, issue, option)
            if limit <= spent + change:
                outcome, spent = changed(own, outcome, issue, option), spent + change
                break
    return outcome


@njit(cache=True)
def is_warmer(draws: Draws, miss: float, next_miss: float, temperature: float) -> bool:
    """Whether annealing takes the next outcome, `next_miss` away from the threshold; draws only if that is not nearer."""
    return next_miss < miss or math.exp(-abs(next_miss - miss) / temperature) > uniform(draws)


@njit(cache=True)
def annealed(searcher: Searcher, own: Own, start: int, threshold: float) -> int:
    """Annealing from `start`, step by step; `start` where nothing on the way reaches the threshold."""
    draws = searcher.draws
    found, count, least = np.empty(COOLINGS, np.int64), 0, np.inf
    current, temperature = start, HOTTEST
    while temperature > COLDEST:
        issue = int(searcher.order[below(draws, searcher.order.size)])
        following = changed(own, current, issue, below(draws, own.sizes[issue]))
        notice(searcher.memory, own, following)
        miss, next_miss = abs(threshold - own.utility[current]), abs(threshold - own.utility[following])
        if is_warmer(draws, miss, next_miss, temperature):
            current = following
        utility = own.utility[current]
        if threshold <= utility <= least:
            count = 0 if utility < least else count
            found[count] = current
            count, least = count + 1, utility
        temperature *= COOLING
    return found[below(draws, count)] if count else start


@njit(cache=True)
def any_least(draws: Draws, own: Own, start: int, threshold: float) -> int:
    """Any of the outcomes of least utility that reach the threshold; `start` where none does."""
    last = at_least(own.ranked, threshold)
    if own.ranked[last] < threshold:
        return start
    first = last
    while first > 0 and own.ranked[first - 1] == own.ranked[last]:
        first -= 1
    return own.order[first + below(draws, last - first + 1)]


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
    if searcher.draws.tape.size:
        return annealed(searcher, own, outcome, threshold)
    return any_least(searcher.draws, own, outcome, threshold)


@njit(cache=True)
def most_received(searcher: Searcher, own: Own, issue: int) -> int:
    """The option received most often, the first drawn of equals; lineage `paper`: of those drawn."""
    options = mixed(own.sizes[issue], searcher)
    best = options[0]
    for option in options:
        if searcher.counts[issue, option] > searcher.counts[issue, best]:
            best = option
    return best


@njit(cache=True)
def conceded(searcher: Searcher, own: Own, outcome: int) -> int:
    """Step 5."""
    for issue in mixed(own.sizes.size, searcher):
        candidate = changed(own, outcome, issue, most_received(searcher, own, issue))
        if own.utility[candidate] >= own.utility[outcome]:
            outcome = candidate
    return outcome


@njit(cache=True)
def searched(searcher: Searcher, own: Own, threshold: float) -> int:
    """An offer for the threshold: steps 1 to 5."""
    base = random_base(searcher, own)
    outcome = neighbour(searcher, own, base, threshold)
    if own.utility[outcome] < threshold:
        outcome = compensated(searcher, own, base, threshold)
    if own.utility[outcome] < threshold:
        outcome = searcher.memory.max_bid
    return conceded(searcher, own, outcome)

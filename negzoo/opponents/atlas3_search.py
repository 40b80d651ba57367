"""How Atlas3 finds an offer that reaches a threshold.

1. Base: a random outcome.
2. Neighbours: of the outcomes that differ from the base in one issue at most, one of the least utility that
   reaches the threshold. Lineage `paper` finds the issue in that way, but then takes the issue's last option.
3. If that falls short, trade off: from the best outcome, go through the issues in random order and take in
   each the first option, in random order, that the threshold leaves room for, as if utilities added up over
   issues. Lineage `paper` draws issues and options with replacement, so it may miss some.
   If the result falls short, lineage `paper` goes back to the base. Lineage `genius` takes utilities not to
   add up from now on, and anneals: from this result now, from the base and without a trade-off later.
4. If that falls short too, the best outcome.
5. Concede: in each issue, in random order (as in 3), take the option received most often, unless that lowers
   the utility.

Annealing changes one issue at random 9,206 times. It keeps a change that comes nearer to the threshold, and
any other with a probability that falls from step to step. Its answer is one of the outcomes of least utility
that reached the threshold on the way, as likely as it was often there. It is run in a replay. Otherwise the
answer is one of all the outcomes of least utility that reach the threshold: annealing finds the same, but
weighs equals by its path, where here they are equally likely.

GENIUS's best outcome is what another annealing finds before the first turn; here it is the first in order.
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
STEPS = 9206
"""The steps of an annealing, until HOTTEST × COOLING × COOLING × ... is not above COLDEST."""


class Searcher(NamedTuple):
    """What a search uses and changes."""

    memory: np.record
    """Of atlas3.MEMORY."""
    order: NDArray[np.float64]
    """[I] the issues, in the order in which they are searched."""
    counts: NDArray[np.float64]
    """[I, most options] how often each option was received."""
    draws: Draws


@njit(cache=True)
def changed(own: Own, outcome: int, issue: int, option: int) -> int:
    """The outcome with another option in one issue."""
    return int(outcome + (option - own.options[outcome, issue]) * own.strides[issue])


@njit(cache=True)
def mix(values: NDArray[np.int64], searcher: Searcher) -> None:
    """Shuffle the n values; lineage `paper`: put n draws from 0 .. n-1 in their place."""
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
    """Step 1: lineage `paper` draws an outcome, lineage `genius` its options."""
    if searcher.memory.lineage == _PAPER:
        return below(searcher.draws, own.utility.size)
    base = 0
    for issue in range(own.sizes.size):
        base += below(searcher.draws, own.sizes[issue]) * own.strides[issue]
    return base


@njit(cache=True)
def notice(memory: np.record, own: Own, outcome: int) -> None:
    """Keep the best outcome seen, the latest of equals; lineage `paper` keeps the first in order."""
    if memory.lineage != _PAPER and own.utility[outcome] >= own.utility[memory.max_bid]:
        memory.max_bid = outcome


@njit(cache=True)
def neighbour(searcher: Searcher, own: Own, base: int, threshold: float) -> int:
    """Step 2; the base where no neighbour reaches the threshold."""
    found, count, least = np.empty(own.sizes.sum(), np.int64), 0, np.inf
    for issue in searcher.order.astype(np.int64):
        last = changed(own, base, issue, own.sizes[issue] - 1)
        for option in range(own.sizes[issue]):
            outcome = changed(own, base, issue, option)
            notice(searcher.memory, own, outcome)
            utility = own.utility[outcome]
            if threshold <= utility <= least:
                count = 0 if utility < least else count
                found[count] = last if searcher.memory.lineage == _PAPER else outcome
                count, least = count + 1, utility
    return int(found[below(searcher.draws, count)]) if count else base


@njit(cache=True)
def issues_to_trade(searcher: Searcher) -> NDArray[np.int64]:
    """The issues, mixed; lineage `genius` mixes the order that it searches in, and keeps the new one."""
    issues = searcher.order.astype(np.int64)
    mix(issues, searcher)
    if searcher.memory.lineage != _PAPER:
        searcher.order[:] = issues
    return issues


@njit(cache=True)
def gain(searcher: Searcher, own: Own, issue: int, option: int) -> float:
    """What an option adds to the best outcome as it was known at the first turn."""
    reference = searcher.memory.first_max_bid
    return float(own.utility[changed(own, reference, issue, option)] - own.utility[reference])


@njit(cache=True)
def traded_off(searcher: Searcher, own: Own, threshold: float) -> int:
    """The trade-off of step 3: the gains (at most 0) may add up to threshold − 1."""
    outcome, gained = searcher.memory.max_bid, 0.0
    for issue in issues_to_trade(searcher):
        for option in mixed(own.sizes[issue], searcher):
            following = gained + gain(searcher, own, issue, option)
            if threshold - 1.0 <= following:
                outcome, gained = changed(own, outcome, issue, option), following
                break
    return int(outcome)


@njit(cache=True)
def is_taken(draws: Draws, distance: float, following: float, temperature: float) -> bool:
    """Whether annealing takes a step between two distances to the threshold; draws if it comes no nearer."""
    return following < distance or math.exp(-abs(following - distance) / temperature) > uniform(draws)


@njit(cache=True)
def annealed(searcher: Searcher, own: Own, start: int, threshold: float) -> int:
    """Annealing, step by step; `start` where nothing on the way reaches the threshold."""
    draws, utility = searcher.draws, own.utility
    found, count, least = np.empty(STEPS, np.int64), 0, np.inf
    outcome, temperature = start, HOTTEST
    while temperature > COLDEST:
        issue = int(searcher.order[below(draws, searcher.order.size)])
        following = changed(own, outcome, issue, below(draws, own.sizes[issue]))
        notice(searcher.memory, own, following)
        distances = abs(threshold - utility[outcome]), abs(threshold - utility[following])
        if is_taken(draws, distances[0], distances[1], temperature):
            outcome = following
        if threshold <= utility[outcome] <= least:
            count = 0 if utility[outcome] < least else count
            found[count] = outcome
            count, least = count + 1, utility[outcome]
        temperature *= COOLING
    return int(found[below(draws, count)]) if count else start


@njit(cache=True)
def any_least(draws: Draws, own: Own, threshold: float) -> int:
    """Any of the outcomes of least utility that reach the threshold; the first in order where none does."""
    first = last = at_least(own.ranked, threshold)
    while first > 0 and own.ranked[first - 1] == own.ranked[last]:
        first -= 1
    return int(own.order[first + below(draws, last - first + 1)])


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
    return any_least(searcher.draws, own, threshold)


@njit(cache=True)
def most_received(searcher: Searcher, own: Own, issue: int) -> int:
    """The option received most often, the first drawn of equals; lineage `paper`: of those drawn."""
    options = mixed(own.sizes[issue], searcher)
    best = options[0]
    for option in options:
        if searcher.counts[issue, option] > searcher.counts[issue, best]:
            best = option
    return int(best)


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
    """An offer for the threshold."""
    base = random_base(searcher, own)
    outcome = neighbour(searcher, own, base, threshold)
    if own.utility[outcome] < threshold:
        outcome = compensated(searcher, own, base, threshold)
    if own.utility[outcome] < threshold:
        outcome = searcher.memory.max_bid
    return conceded(searcher, own, outcome)

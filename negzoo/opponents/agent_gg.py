"""AgentGG, winner of ANAC 2019 (Aydoğan et al., "Challenges and main results of ANAC 2019", EUMAS 2020).

It needs no more than the order of its outcomes, and negotiates over importance in place of utility.

1. Importance. Rank the N outcomes from worst to best, 1 to N, equals in reverse product order. An option's
   weight is the mean rank of the outcomes that have it, less the smallest such mean of all options. imp(ω)
   is the sum of its options' weights, and R(ω) = (imp(ω) − imp_min) / (imp_max − imp_min), 1 where all are
   equal.
2. Opening, offer the outcome that has every issue's weightiest option.
3. Accept an offer with R not below the lower limit of the previous turn (1 at the first).
4. Nash point. Let m be the greatest R received until an offer comes more than 0.003 after the first one (in
   40 rounds: of the first two offers). The estimate is n = m + (1 − m)/1.7 from then on, 0 before.
5. Until t = 0.3, count how often each option was received. appeal(ω) is the sum of its options' counts.
6. The lower limit falls with t, piece by piece, towards n (`lower_limit`). From t = 0.9 on it stays above
   the reservation ratio (the reservation value times R of the median outcome, over 0.5) by a margin, as far
   as 1 allows. The upper limit is 0.1 higher.
7. From t = 0.9989 on, accept an offer with R above the reservation ratio + 0.2.
8. Draw outcomes, with replacement, in at most three passes, each of N draws (lineage `paper`) or 2N
   (`genius`). One between the limits qualifies. Offer the first that qualifies; but from the first turn in
   [0.2, 0.5) on, the one of greatest appeal in the pass, if that is positive.
9. If no pass yields an offer, ignore the upper limit. Lineage `genius`: draw until an outcome qualifies.
   Lineage `paper`: draw one more pass and offer the first that qualifies; if none does, return no move,
   which breaks the negotiation down.

A replay takes steps 8 and 9 draw by draw. In play they are sampled exactly: one draw decides whether any
outcome of a set turns up in a pass, another which one.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from negzoo.engine.protocol import ACCEPT, NOTHING
from negzoo.engine.rng import Draws, Record, below, uniform
from negzoo.opponents.base import LINEAGES, Champion, Moves, Rows
from negzoo.opponents.kernel import KernelSeat, Minds, Own, Table, View, own_side, view_of
from negzoo.opponents.orders import count_at_least, stable_order
from negzoo.opponents.registry import register
from negzoo.scenario import Scenario

MEMORY = np.dtype(
    [
        ("lineage", np.int32),
        ("lower", np.float64),
        ("impartial", np.bool_),
        ("met", np.float64),
        ("most_important", np.float64),
        ("nash", np.float64),
        ("nash_known", np.bool_),
    ]
)
"""The lineage (an index into LINEAGES); the lower limit; whether appeal is still disregarded; when the first
offer came (-1 before); the greatest importance received; the Nash estimate, and whether it is made.

The notes hold the count of each option, issue after issue."""

PASSES = 3
WIDTH = 0.1  # of the band between the limits

_PAPER = LINEAGES.index("paper")


class Importances(NamedTuple):
    """What AgentGG knows: the outcomes' importances."""

    importance: NDArray[np.float64]
    """[Ω] the importance of each outcome."""
    order: NDArray[np.int32]
    """[Ω] the outcomes, most important first."""
    ranked: NDArray[np.float64]
    """[Ω] importance[order], descending."""
    best: int
    """The outcome of every issue's weightiest option."""
    columns: NDArray[np.int32]
    """[Ω, I] where in the notes each outcome's options are counted."""
    sizes: NDArray[np.int64]
    """[I] how many options each issue has."""
    strides: NDArray[np.int64]
    """[I] how far apart in outcome index two neighbouring options of each issue are."""
    reservation: float
    """The reservation ratio."""


@njit(cache=True)
def ratio(ranked: NDArray[np.float64], importance: float) -> float:
    """R of an outcome of that importance; 1 where all are equally important."""
    top, bottom = ranked[0], ranked[-1]
    return (importance - bottom) / (top - bottom) if top > bottom else 1.0


@njit(cache=True)
def importance_at(own: Importances, limit: float) -> float:
    """The importance of which `limit` is the ratio."""
    top, bottom = own.ranked[0], own.ranked[-1]
    return float(limit * (top - bottom) + bottom)


@njit(cache=True)
def estimate_nash(memory: Record, own: Importances, view: View) -> None:
    """Step 4, until the estimate is made."""
    if memory.nash_known:
        return
    memory.most_important = max(memory.most_important, own.importance[view.received])
    if memory.met < 0:
        memory.met = view.time
    elif view.time - memory.met > 0.003:
        m = ratio(own.ranked, memory.most_important)
        memory.nash = (1 - m) / 1.7 + m
        memory.nash_known = True


@njit(cache=True)
def above_nash(n: float, share: float) -> float:
    """The ratio that lies `share` of the way from the Nash point up to the best."""
    return share * (1 - n) + n


@njit(cache=True)
def fall(start: float, end: float, since: float, until: float, t: float) -> float:
    """The straight line from `start` at time `since` to `end` at time `until`."""
    return start - (start - end) / (until - since) * (t - since)


@njit(cache=True)
def lower_limit(n: float, reservation: float, t: float) -> float:
    """Step 6."""
    if t < 0.01:
        return 0.9999
    if t < 0.02:
        return 0.99
    if t < 0.2:
        return 0.99 - 0.5 * (t - 0.02)
    if t < 0.5:
        return fall(0.9, above_nash(n, 0.3), 0.2, 0.5, t)
    if t < 0.9:
        return fall(above_nash(n, 0.3), above_nash(n, 0.15), 0.5, 0.9, t)
    if t < 0.98:
        return max(fall(above_nash(n, 0.15), above_nash(n, 0.05), 0.9, 0.98, t), reservation + 0.3)
    if t < 0.995:
        return max(fall(above_nash(n, 0.05), n, 0.98, 0.995, t), reservation + 0.25)
    if t < 0.999:
        return max(fall(n, above_nash(n, -0.35), 0.995, 0.9989, t), reservation + 0.25)
    return max(above_nash(n, -0.4), reservation + 0.2)


@njit(cache=True)
def appeal(counts: NDArray[np.float64], own: Importances, outcome: int) -> float:
    """How often the other side has asked for the options of `outcome`, together."""
    total = 0.0
    for issue in range(own.sizes.size):
        total += counts[own.columns[outcome, issue]]
    return total


@njit(cache=True)
def samples_per_pass(memory: Record, own: Importances) -> int:
    """How many outcomes a pass draws."""
    return own.order.size if memory.lineage == _PAPER else 2 * own.order.size


@njit(cache=True)
def draw_outcome(memory: Record, draws: Draws, own: Importances) -> int:
    """Any outcome: by its index (`paper`), or option by option (`genius`)."""
    if memory.lineage == _PAPER:
        return below(draws, own.order.size)
    outcome = 0
    for issue in range(own.sizes.size):
        outcome += below(draws, own.sizes[issue]) * own.strides[issue]
    return outcome


@njit(cache=True)
def first_in_pass(memory: Record, draws: Draws, own: Importances, low: float, high: float) -> int:
    """The first draw of a pass in [low, high], or NOTHING; lineage `paper` makes the draws behind it too."""
    found = NOTHING
    for _ in range(samples_per_pass(memory, own)):
        outcome = draw_outcome(memory, draws, own)
        if found == NOTHING and low <= own.importance[outcome] <= high:
            found = outcome
            if memory.lineage != _PAPER:
                break
    return found


@njit(cache=True)
def most_appealing_in_pass(
    memory: Record, counts: NDArray[np.float64], draws: Draws, own: Importances, low: float, high: float
) -> int:
    """The draw of a pass in [low, high] of greatest positive appeal, of equals the first, or NOTHING."""
    found, greatest = NOTHING, 0.0
    for _ in range(samples_per_pass(memory, own)):
        outcome = draw_outcome(memory, draws, own)
        if low <= own.importance[outcome] <= high and appeal(counts, own, outcome) > greatest:
            found, greatest = outcome, appeal(counts, own, outcome)
    return found


@njit(cache=True)
def offer_by_draws(
    memory: Record, counts: NDArray[np.float64], draws: Draws, own: Importances, low: float, high: float
) -> int:
    """Steps 8 and 9 as they are written, for a replay."""
    for _ in range(PASSES):
        if memory.impartial:
            found = first_in_pass(memory, draws, own, low, high)
        else:
            found = most_appealing_in_pass(memory, counts, draws, own, low, high)
        if found != NOTHING:
            return found
    once_round_the_tape = 1 + draws.tape.size // samples_per_pass(memory, own)
    for _ in range(1 if memory.lineage == _PAPER else once_round_the_tape):
        found = first_in_pass(memory, draws, own, low, np.inf)
        if found != NOTHING:
            return found
    return NOTHING


@njit(cache=True)
def turns_up(draws: Draws, wanted: int, among: int, samples: int) -> bool:
    """Whether any of `wanted` outcomes is among `samples` draws, with replacement, from `among`."""
    return uniform(draws) < 1.0 - (1.0 - wanted / among) ** samples


@njit(cache=True)
def greatest_below(values: NDArray[np.float64], ceiling: float) -> tuple[float, int]:
    """The greatest positive value below `ceiling` (0 where there is none), and how many there are of it."""
    greatest, count = 0.0, 0
    for value in values:
        if greatest < value < ceiling:
            greatest, count = value, 1
        elif value == greatest:
            count += 1
    return greatest, count


@njit(cache=True)
def position_of(values: NDArray[np.float64], wanted: float, skipped: int) -> int:
    """The position of `wanted` in `values` after `skipped` others of it."""
    for position in range(values.size):
        if values[position] == wanted:
            if skipped == 0:
                return position
            skipped -= 1
    return -1


@njit(cache=True)
def most_appealing(draws: Draws, appeals: NDArray[np.float64], outcomes: int, samples: int) -> int:
    """The position in `appeals` that the passes yield, or -1; groups of equals are tried greatest first."""
    for _ in range(PASSES):
        remaining = outcomes
        greatest, count = greatest_below(appeals, np.inf)
        while greatest > 0:
            if turns_up(draws, count, remaining, samples):
                return position_of(appeals, greatest, below(draws, count))
            remaining -= count
            greatest, count = greatest_below(appeals, greatest)
    return -1


@njit(cache=True)
def appeals_of(counts: NDArray[np.float64], own: Importances, start: int, stop: int) -> NDArray[np.float64]:
    """The appeals of the outcomes at the positions start .. stop-1 of the order."""
    appeals = np.empty(stop - start)
    for position in range(start, stop):
        appeals[position - start] = appeal(counts, own, own.order[position])
    return appeals


@njit(cache=True)
def offer_exactly(
    memory: Record, counts: NDArray[np.float64], draws: Draws, own: Importances, low: float, high: float
) -> int:
    """Steps 8 and 9, distributed as `offer_by_draws`; outcomes in [low, high] are a stretch of the order."""
    outcomes, samples = own.order.size, samples_per_pass(memory, own)
    stop = count_at_least(own.ranked, low)
    start = count_at_least(own.ranked, np.nextafter(high, np.inf))
    if memory.impartial:
        if turns_up(draws, stop - start, outcomes, PASSES * samples):
            return int(own.order[start + below(draws, stop - start)])
    else:
        found = most_appealing(draws, appeals_of(counts, own, start, stop), outcomes, samples)
        if found >= 0:
            return int(own.order[start + found])
    if memory.lineage == _PAPER and not turns_up(draws, stop, outcomes, samples):
        return NOTHING
    return int(own.order[below(draws, stop)])


@njit(cache=True)
def offer(memory: Record, counts: NDArray[np.float64], draws: Draws, own: Importances) -> int:
    """Steps 8 and 9. A lower limit that rounding has put above every outcome is lowered to the greatest."""
    low = min(importance_at(own, memory.lower), own.ranked[0])
    high = importance_at(own, memory.lower + WIDTH)
    if draws.tape.size:
        return offer_by_draws(memory, counts, draws, own, low, high)
    return offer_exactly(memory, counts, draws, own, low, high)


@njit(cache=True)
def respond(memory: Record, counts: NDArray[np.float64], draws: Draws, own: Importances, view: View) -> int:
    """The move of AgentGG."""
    if view.received < 0:
        return own.best
    received = ratio(own.ranked, own.importance[view.received])
    if received >= memory.lower:
        return ACCEPT
    estimate_nash(memory, own, view)
    if view.time < 0.3:
        for column in own.columns[view.received]:
            counts[column] += 1
    memory.lower = min(lower_limit(memory.nash, own.reservation, view.time), 1.0)
    if 0.2 <= view.time < 0.5:
        memory.impartial = False
    if view.time >= 0.9989 and received > own.reservation + 0.2:
        return ACCEPT
    return offer(memory, counts, draws, own)


@njit(cache=True)
def respond_rows(rows: Rows, minds: Minds, own: Importances, table: Table, out: Moves) -> None:
    for row in rows:
        draws = Draws(minds.streams[row], minds.tape)
        out[row] = respond(minds.memory[row], minds.notes[row], draws, own, view_of(table, row))


def importances(own: Own) -> Importances:
    """Step 1: what follows from the order of one's outcomes."""
    ascending = stable_order(own.utility)[::-1]
    weights = _option_weights(_ranks(ascending), own)
    importance = np.zeros(ascending.size)
    for issue, weight in enumerate(weights):
        importance += weight[own.options[:, issue]]
    order = stable_order(importance)
    best = sum(int(weight.argmax() * stride) for weight, stride in zip(weights, own.strides, strict=True))
    columns = (own.options + np.append(0, np.cumsum(own.sizes)[:-1])).astype(np.int32)
    ranked = importance[order]
    median = ascending[(ascending.size - 1) // 2]
    reservation = own.reservation * ratio(ranked, importance[median]) / 0.5
    return Importances(importance, order, ranked, best, columns, own.sizes, own.strides, reservation)


def _ranks(ascending: NDArray[np.int32]) -> NDArray[np.float64]:
    """float64 [Ω]: the rank of each outcome, 1 for the worst."""
    ranks = np.empty(ascending.size)
    ranks[ascending] = np.arange(1, ascending.size + 1)
    return ranks


def _option_weights(ranks: NDArray[np.float64], own: Own) -> list[NDArray[np.float64]]:
    """The weight of each option, issue by issue."""
    means = [
        np.bincount(column, ranks, minlength=size) / (ranks.size // size)
        for column, size in zip(own.options.T, own.sizes, strict=True)
    ]
    least = min(mean.min() for mean in means)
    return [mean - least for mean in means]


@register("AgentGG", "winner of ANAC 2019: trades in the importance of options, and favours those it was asked for")
class AgentGG(Champion):
    """The winner of ANAC 2019."""

    def seat(self, scenario: Scenario, side: int, size: int) -> KernelSeat:
        own = importances(own_side(scenario, side, self.lineage))
        memory = np.array((LINEAGES.index(self.lineage), 1.0, True, -1.0, 0.0, 0.0, False), MEMORY)
        return KernelSeat(respond_rows, own, memory, size, np.zeros(own.sizes.sum()))

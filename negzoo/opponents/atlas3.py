"""Atlas3, winner of ANAC 2015 (Mori & Ito, "Atlas3: a negotiating agent based on expecting lower limit of
concession function", 2017): it concedes with time towards what the best offer received promises, and at last
falls back on the offers received.

1. Remember the distinct outcomes received, the utility c of the best, and how often each option was received.
2. Last phase, once no more turns are left than distinct outcomes were received. Lineage `genius` offers these
   back, best first, as long as the next one beats the standing offer; then it accepts that. Lineage `paper`
   means to, but sorts them worst first, so it accepts at once.
3. Threshold. The target is the value of a game in which each side holds out or gives in (`game_value`), and
   threshold(t) = target + (1 − target)(1 − t).
4. Accept an offer that reaches the threshold; walk away if no agreement reaches it too; else search for an
   offer that does (`negzoo.opponents.atlas3_search`).

The original knows no reservation value above 0. Here the reservation value is the payoff of no agreement, and
what an offer has to be worth more than in the last phase.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from negzoo.engine.protocol import ACCEPT, NOTHING, WALK
from negzoo.engine.rng import Draws
from negzoo.opponents.atlas3_search import Searcher, searched
from negzoo.opponents.base import LINEAGES, Champion, Moves, Rows
from negzoo.opponents.kernel import KernelSeat, Minds, Own, Table, View, own_side, view_of
from negzoo.opponents.registry import register
from negzoo.scenario import Scenario

MEMORY = np.dtype(
    [
        ("lineage", np.int32),
        ("max_bid", np.int32),
        ("first_max_bid", np.int32),
        ("additive", np.bool_),
        ("best_received", np.float64),
        ("distinct", np.int32),
        ("returned", np.int32),
    ]
)
"""The lineage (an index into LINEAGES); the best outcome, as seen last and at the first turn; whether
utilities seem to add up over issues; c; how many distinct outcomes were received, how many were offered back.

The notes hold the order in which issues are searched [I], then how often each option was received
[I, most options]."""

_PAPER = LINEAGES.index("paper")


@njit(cache=True)
def offers_received(view: View) -> NDArray[np.int32]:
    """The offers received, in order of arrival."""
    return view.history[(view.history.size - 1) % 2 :: 2]


@njit(cache=True)
def remember(memory: np.record, counts: NDArray[np.float64], own: Own, view: View) -> None:
    """Step 1, for the standing offer."""
    earlier = offers_received(view)[:-1]
    if not np.any(earlier == view.received):
        memory.distinct += 1
    memory.best_received = max(memory.best_received, own.utility[view.received])
    for issue in range(own.sizes.size):
        counts[issue, own.options[view.received, issue]] += 1


@njit(cache=True)
def in_last_phase(memory: np.record, view: View) -> bool:
    """Whether no more turns are left than distinct outcomes were received."""
    per_turn = view.time / view.turn
    return bool(view.time > 1.0 - per_turn * (memory.distinct + 1))


@njit(cache=True)
def distinct_received(view: View) -> NDArray[np.int32]:
    """The distinct outcomes received, in order of arrival."""
    received = offers_received(view)
    grouped = np.argsort(received, kind="mergesort")
    is_first = np.ones(received.size, np.bool_)
    for k in range(1, received.size):
        is_first[grouped[k]] = received[grouped[k]] != received[grouped[k - 1]]
    return received[is_first]


@njit(cache=True)
def next_to_return(memory: np.record, own: Own, view: View) -> int:
    """The outcome to offer back next: of those received the best first, of equals the earlier.

    There always is one, because each that was offered back beat one received.
    """
    distinct = distinct_received(view)
    best_first = np.argsort(-own.utility[distinct], kind="mergesort")
    return int(distinct[best_first[memory.returned]])


@njit(cache=True)
def last_phase_move(memory: np.record, own: Own, view: View) -> int:
    """Step 2; NOTHING where there is no outcome to offer back and the standing one is not worth accepting."""
    standing = own.utility[view.received]
    if memory.lineage != _PAPER:
        outcome = next_to_return(memory, own, view)
        if own.utility[outcome] > max(standing, own.reservation):
            memory.returned += 1
            return outcome
    return ACCEPT if standing > own.reservation else NOTHING


@njit(cache=True)
def game_value(paper: bool, best_received: float, reservation: float) -> float:
    """What the mixed strategy is worth in the game of step 3.

    If both sides hold out, there is no agreement; if only the other one does, its best offer so far; if only
    this one does, 1; if neither does, the middle of the latter two. Lineage `paper` has the last payoff in
    place of the second, and 0 as the last.
    """
    both_hold, other_gives, this_gives = reservation, 1.0, max(best_received, reservation)
    both_give = 0.5 * this_gives + 0.5
    if paper:
        this_gives, both_give = both_give, 0.0
    if other_gives == both_give:
        return this_gives
    q = 1 / (1 - (both_hold - this_gives) / (other_gives - both_give))
    return q * this_gives + (1 - q) * both_give


@njit(cache=True)
def threshold_at(memory: np.record, own: Own, t: float) -> float:
    """The least utility to accept or to offer at time t."""
    target = game_value(memory.lineage == _PAPER, memory.best_received, own.reservation)
    return float(target + (1 - target) * (1 - t))


@njit(cache=True)
def answer(memory: np.record, own: Own, view: View, threshold: float) -> int:
    """The move that needs no search (steps 2 and 4), or NOTHING."""
    if view.received >= 0:
        move = last_phase_move(memory, own, view) if in_last_phase(memory, view) else NOTHING
        if move != NOTHING:
            return move
        if own.utility[view.received] >= threshold:
            return ACCEPT
    return WALK if own.reservation >= threshold else NOTHING


@njit(cache=True)
def respond(searcher: Searcher, own: Own, view: View) -> int:
    """The move of Atlas3."""
    memory = searcher.memory
    if view.turn == 1:
        memory.first_max_bid = memory.max_bid
    if view.received >= 0:
        remember(memory, searcher.counts, own, view)
    threshold = threshold_at(memory, own, view.time)
    move = answer(memory, own, view, threshold)
    return searched(searcher, own, threshold) if move == NOTHING else move


@njit(cache=True)
def respond_rows(rows: Rows, minds: Minds, own: Own, table: Table, out: Moves) -> None:
    issues = own.sizes.size
    for row in rows:
        order, counts = minds.notes[row, :issues], minds.notes[row, issues:].reshape(issues, -1)
        draws = Draws(minds.streams[row], minds.tape)
        searcher = Searcher(minds.memory[row], order, counts, draws)
        out[row] = respond(searcher, own, view_of(table, row))


@register("Atlas3", "winner of ANAC 2015: concedes towards the value of a game, ends on offers received")
class Atlas3(Champion):
    """The winner of ANAC 2015."""

    def seat(self, scenario: Scenario, side: int, size: int) -> KernelSeat:
        own = own_side(scenario, side, self.lineage)
        memory = np.zeros((), MEMORY)
        memory["lineage"], memory["max_bid"] = LINEAGES.index(self.lineage), own.order[0]
        memory["additive"] = True
        issues, most_options = len(own.sizes), own.sizes.max()
        notes = np.append(np.arange(issues), np.zeros(issues * most_options))
        return KernelSeat(respond_rows, own, memory, size, notes)

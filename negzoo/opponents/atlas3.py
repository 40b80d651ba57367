"""Atlas3, winner of ANAC 2015 (Mori & Ito, "Atlas3: a negotiating agent based on expecting lower limit of concession
function", 2017): it concedes towards what its best received offer promises, and ends on the other side's own offers.

1. Remember every distinct outcome received, the utility c of the best one, and how often each option was received.
2. Last phase: once the turns left are as many as the distinct outcomes received. Lineage `genius` offers these back, best
   first, as long as each beats the standing offer, which it then accepts. Lineage `paper` sorts them the wrong way
   round: the first one never beats the standing offer, and so it accepts that at once.
3. Threshold. Both sides may hold out or give in, for payoffs (see `target_after`); the target is what the mixed strategy
   of that game is worth, and threshold(t) = target + (1 − target)(1 − t).
4. Accept an offer that reaches the threshold; walk away if no agreement does too; else search for an offer.
5. Search (`negzoo.opponents.atlas3_search`): the least of a random outcome's neighbours that reaches the threshold,
   moved towards the options that were received most often.

The original is for a reservation value of 0. Here the reservation value stands wherever that 0 stands for no
agreement: in the payoffs, and in what is worth accepting or offering back.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from negzoo.engine.protocol import ACCEPT, NOTHING, WALK
from negzoo.engine.rng import Draws
from negzoo.opponents.atlas3_search import Searcher, searched
from negzoo.opponents.base import LINEAGES, Lineage, Moves, Opponent, Rows, check_lineage
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
"""The lineage (an index into LINEAGES); the best outcome seen, now and at the first turn; whether utilities still seem
to add up over issues; c; how many distinct outcomes were received, and how many of them were offered back.

The notes hold the order in which issues are searched [I], then how often each option was received [I × most options].
"""

_PAPER = LINEAGES.index("paper")


@njit(cache=True)
def is_new(view: View) -> bool:
    """Whether the standing offer is received for the first time."""
    for earlier in range(view.history.size - 3, -1, -2):
        if view.history[earlier] == view.received:
            return False
    return True


@njit(cache=True)
def remember(memory: np.void, counts: NDArray[np.float64], own: Own, view: View) -> None:
    """Step 1."""
    if view.received >= 0:
        memory.distinct += is_new(view)
        memory.best_received = max(memory.best_received, own.utility[view.received])
        for issue in range(own.sizes.size):
            counts[issue, own.options[view.received, issue]] += 1


@njit(cache=True)
def in_last_phase(memory: np.void, view: View) -> bool:
    """Whether only as many turns are left as there are distinct outcomes to offer back."""
    per_turn = view.time / view.turn
    return view.received >= 0 and view.time > 1.0 - per_turn * (memory.distinct + 1)


@njit(cache=True)
def distinct_received(view: View) -> NDArray[np.int32]:
    """The distinct outcomes received, in order of arrival."""
    received = view.history[(view.history.size - 1) % 2 :: 2]
    grouped = np.argsort(received, kind="mergesort")
    is_first = np.ones(received.size, np.bool_)
    for k in range(1, received.size):
        is_first[grouped[k]] = received[grouped[k]] != received[grouped[k - 1]]
    return received[is_first]


@njit(cache=True)
def offered_back(memory: np.void, own: Own, view: View) -> int:
    """The outcome to offer back now: the next best one received, the earlier of equals."""
    distinct = distinct_received(view)
    return distinct[np.argsort(-own.utility[distinct], kind="mergesort")[memory.returned]]


@njit(cache=True)
def finishes_with(memory: np.void, own: Own, view: View) -> int:
    """The move of the last phase (step 2); NOTHING where it has none."""
    standing = own.utility[view.received]
    if memory.lineage != _PAPER:
        if memory.returned >= memory.distinct:
            return ACCEPT if standing >= own.reservation else NOTHING
        candidate = offered_back(memory, own, view)
        if own.utility[candidate] > max(standing, own.reservation):
            memory.returned += 1
            return candidate
    return ACCEPT if standing > own.reservation else NOTHING


@njit(cache=True)
def target_after(paper: bool, best_received: float, reservation: float) -> float:
    """The value of the game between holding out and giving in (step 3).

    If the other side holds out: no agreement, or its best offer so far. If it gives in: the whole, or half of what is
    between. Lineage `paper` puts the last payoff in place of the second, and 0 in its own.
    """
    hold_hold, hold_give, give_hold = reservation, 1.0, max(best_received, reservation)
    give_give = 0.5 * give_hold + 0.5
    if paper:
        give_hold, give_give = give_give, 0.0
    if hold_give == give_give:
        return give_hold
    mixed = 1 / (1 - (hold_hold - give_hold) / (hold_give - give_give))
    return mixed * give_hold + (1 - mixed) * give_give


@njit(cache=True)
def threshold_at(memory: np.void, own: Own, t: float) -> float:
    """The least utility to accept or to offer at time t."""
    target = target_after(memory.lineage == _PAPER, memory.best_received, own.reservation)
    return target + (1 - target) * (1 - t)


@njit(cache=True)
def respond(searcher: Searcher, own: Own, view: View) -> int:
    """The move of Atlas3."""
    memory = searcher.memory
    if view.turn == 1:
        memory.first_max_bid = memory.max_bid
    remember(memory, searcher.counts, own, view)
    if in_last_phase(memory, view):
        move = finishes_with(memory, own, view)
        if move != NOTHING:
            return move
    threshold = threshold_at(memory, own, view.time)
    if view.received >= 0 and own.utility[view.received] >= threshold:
        return ACCEPT
    return WALK if own.reservation >= threshold else searched(searcher, own, threshold)


@njit(cache=True)
def respond_rows(rows: Rows, minds: Minds, own: Own, table: Table, out: Moves) -> None:
    issues = own.sizes.size
    for row in rows:
        order, counts = minds.notes[row, :issues], minds.notes[row, issues:].reshape(issues, -1)
        draws = Draws(minds.streams[row], minds.tape)
        searcher = Searcher(minds.memory[row], order, counts, draws)
        out[row] = respond(searcher, own, view_of(table, row))


@register("Atlas3", "winner of ANAC 2015")
@dataclass(frozen=True)
class Atlas3(Opponent):
    """Atlas3 of ANAC 2015."""

    lineage: Lineage = "paper"

    def __post_init__(self) -> None:
        check_lineage(self.lineage)

    @property
    def name(self) -> str:
        return "Atlas3"

    def seat(self, scenario: Scenario, side: int, size: int) -> KernelSeat:
        own = own_side(scenario, side, self.lineage)
        memory = np.zeros((), MEMORY)
        memory["lineage"], memory["max_bid"], memory["additive"] = LINEAGES.index(self.lineage), own.order[0], True
        counts = np.zeros(own.sizes.size * own.sizes.max())
        return KernelSeat(respond_rows, own, memory, size, np.append(np.arange(own.sizes.size), counts))

"""How an opponent concedes: what its own offers are worth to it, turn by turn.

1. The opponent moves second. Its partner never accepts, and keeps offering the outcome that is best for itself.
2. The turn at which the opponent would accept that is noted. Then the negotiation is played again, from the same
   random streams; from that turn on the partner offers the outcome worth least to the opponent, so that the
   opponent goes on making offers, and its curve runs on to the deadline.
3. A strategy that draws at random plays many negotiations; the curve is the mean over those in which it still makes
   offers.

For time-dependent strategies this is Fig. 3 of Kobayashi & Fujita (2025), played.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from negzoo.engine import CLOCKS, Clock, Ending, Negotiations
from negzoo.engine.clock import time_at
from negzoo.engine.rng import player_key
from negzoo.opponents import Opponent
from negzoo.scenario import Scenario

Floats = NDArray[np.float64]
Outcomes = NDArray[np.int32]

BAND = (0.1, 0.9)
"""The quantiles between which most of what a random strategy offers lies."""


@dataclass(frozen=True)
class Concession:
    """What an opponent offered.

    Attributes:
        label: whose curve it is.
        scenario: what was negotiated.
        side: the profile (0 or 1) that it held.
        time: float64 [rounds], the time it saw at each of its turns.
        offers: int32 [games, rounds], the outcome that it offered at each turn; -1 where it offered none.
        accepts: int64 [games], its turn, from 1, at which it would accept its partner's best outcome; 0 never.
    """

    label: str
    scenario: Scenario
    side: int
    time: Floats
    offers: Outcomes
    accepts: NDArray[np.int64]

    @cached_property
    def utility(self) -> Floats:
        """float64 [games, rounds], what its offers are worth to it; NaN where it offers nothing."""
        return np.where(self.offers >= 0, self.scenario.utilities[self.side][self.offers], np.nan)

    @cached_property
    def mean(self) -> Floats:
        """float64 [rounds], the mean of `utility` over the negotiations with an offer at that turn; NaN if none."""
        made = (self.offers >= 0).sum(axis=0)
        total = np.nansum(self.utility, axis=0)
        mean: Floats = np.divide(total, made, out=np.full(made.size, np.nan), where=made > 0)
        return mean

    def quantile(self, share: float) -> Floats:
        """float64 [rounds], the utility below which this share of a turn's offers lies; NaN where there are none."""
        lowest_first = np.sort(self.utility, axis=0)
        made = (self.offers >= 0).sum(axis=0)
        rank = np.floor(share * np.maximum(made - 1, 0)).astype(np.int64)
        ranked: Floats = lowest_first[rank, np.arange(made.size)]
        return ranked

    @property
    def varies(self) -> bool:
        """Whether its offers differ from one negotiation to the next."""
        return bool((self.offers != self.offers[0]).any())

    @property
    def accept_rate(self) -> float:
        """The share of negotiations in which it would accept its partner's best outcome."""
        return float((self.accepts > 0).mean())

    @property
    def accept_turn(self) -> int | None:
        """The turn, from 1, by which it would do so in half of these; None if it never would."""
        turns = np.sort(self.accepts[self.accepts > 0])
        return int(turns[(turns.size - 1) // 2]) if turns.size else None

    @property
    def partner_offer(self) -> int:
        """The partner's best outcome."""
        return _best(self.scenario, 1 - self.side)


def concession(
    label: str,
    opponent: Opponent,
    scenario: Scenario,
    side: int = 1,
    games: int = 100,
    seed: int = 0,
    rounds: int = 40,
    clock: Clock = "paper",
) -> Concession:
    """The concession of an opponent that holds profile `side` (0 or 1) of the scenario.

    Raises:
        SettingsError: games or rounds below 1, or an unknown clock.
    """
    script = np.full((games, rounds), _best(scenario, 1 - side), np.int32)
    accepts = _accepted_turn(_negotiate(opponent, scenario, side, script, seed, clock))
    turn = np.arange(1, rounds + 1)
    script[(accepts[:, None] > 0) & (turn >= accepts[:, None])] = scenario.utilities[side].argmin()
    negotiations = _negotiate(opponent, scenario, side, script, seed, clock)
    times = np.array([time_at(CLOCKS.index(clock), step, rounds) for step in range(1, 2 * rounds, 2)])
    return Concession(label, scenario, side, times, _own_offers(negotiations), accepts)


def _best(scenario: Scenario, side: int) -> int:
    return int(scenario.raw_utilities[side].argmax())


def _negotiate(
    opponent: Opponent, scenario: Scenario, side: int, script: Outcomes, seed: int, clock: Clock
) -> Negotiations:
    """Play the opponent, as player 1, against the offers of `script`, int32 [games, rounds]."""
    games, rounds = script.shape
    negotiations, everyone = Negotiations(games, rounds, clock), np.arange(games)
    seat = opponent.seat(scenario, side, games)
    seat.start(everyone, np.full(games, player_key(seed, 1)), everyone.astype(np.uint64))
    moves = np.zeros(games, np.int32)
    for turn in range(rounds):
        negotiations.apply(everyone, script[:, turn])
        running = negotiations.running
        seat.reply(running, negotiations, moves)
        negotiations.apply(running, moves)
    return negotiations


def _accepted_turn(negotiations: Negotiations) -> NDArray[np.int64]:
    return np.where(negotiations.ending == Ending.AGREEMENT, negotiations.step // 2, 0).astype(np.int64)


def _own_offers(negotiations: Negotiations) -> Outcomes:
    """int32 [games, rounds], what player 1 offered; -1 where it made no offer."""
    own = negotiations.moves[:, 1::2]
    made = 2 * np.arange(own.shape[1]) + 1 < negotiations.step[:, None]
    return np.where(made & (own >= 0), own, np.int32(-1))

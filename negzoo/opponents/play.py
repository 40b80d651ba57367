"""Two opponents negotiate with each other, n times."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from negzoo.engine import Clock, Ending, Negotiations
from negzoo.engine.rng import player_key
from negzoo.errors import SettingsError
from negzoo.opponents.base import Opponent
from negzoo.opponents.registry import as_opponent
from negzoo.scenario import Scenario, load


@dataclass(frozen=True)
class Games:
    """Finished negotiations between two opponents.

    Attributes:
        scenario: what was negotiated.
        players: player 0, who moves first, and player 1.
        sides: the profile (0 or 1) that each player held.
        seed: what the random streams are derived from.
        negotiations: the moves and endings.
        member: int32 [2, games], which member of each player's pool played (0 for a single strategy).
    """

    scenario: Scenario
    players: tuple[Opponent, Opponent]
    sides: tuple[int, int]
    seed: int
    negotiations: Negotiations
    member: NDArray[np.int32]

    @cached_property
    def utilities(self) -> NDArray[np.float64]:
        """float64 [2, games]: each player's utility of the agreement, 0 without one, NaN where a strategy failed."""
        agreement = self.negotiations.agreement
        own = self.scenario.utilities[list(self.sides)][:, agreement]
        return np.where(self.negotiations.ending == Ending.ERROR, np.nan, np.where(agreement >= 0, own, 0.0))

    @property
    def agreement_rate(self) -> float:
        """The share of negotiations that ended in agreement."""
        return float((self.negotiations.ending == Ending.AGREEMENT).mean())


def play(
    domain: str | Path | Scenario,
    first: str | Opponent,
    second: str | Opponent,
    games: int = 1,
    seed: int = 0,
    rounds: int = 40,
    clock: Clock = "paper",
    sides: tuple[int, int] = (0, 1),
) -> Games:
    """Let `first` (player 0, who opens) and `second` negotiate `games` times.

    The negotiations are numbered 0 .. games-1 and each draws from its own stream, so any number of games begins with
    the same ones. Names do for the domain and the opponents.

    Raises:
        SettingsError: games or rounds below 1, a negative seed, an unknown clock, or sides that are not 0 and 1.
    """
    if seed < 0:
        raise SettingsError(f"seed = {seed}: give a whole number of at least 0")
    if sorted(sides) != [0, 1]:
        raise SettingsError(f"sides = {sides}: one player holds profile 0 and the other profile 1")
    scenario = domain if isinstance(domain, Scenario) else load(domain)
    players = (as_opponent(first), as_opponent(second))
    negotiations = Negotiations(games, rounds, clock)
    seats = [player.seat(scenario, side, games) for player, side in zip(players, sides, strict=True)]
    rows, indices = np.arange(games), np.arange(games, dtype=np.uint64)
    for player, seat in enumerate(seats):
        seat.start(rows, np.full(games, player_key(seed, player)), indices)
    moves = np.zeros(games, np.int32)
    for step in range(2 * rounds):
        rows = negotiations.running
        if not rows.size:
            break
        seats[step % 2].reply(rows, negotiations, moves)
        negotiations.apply(rows, moves)
    member = np.stack([seat.member(np.arange(games)) for seat in seats])
    return Games(scenario, players, sides, seed, negotiations, member)

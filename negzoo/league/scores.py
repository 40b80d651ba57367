"""What a player earned in a set of negotiations."""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from negzoo.engine import Ending
from negzoo.opponents import Games


@dataclass(frozen=True)
class Score:
    """A player's result against one opponent.

    Attributes:
        utility: mean own utility, a failure counting 0 (the paper's "individual utility").
        spread: standard deviation of it over the negotiations.
        opponent_utility: the opponent's mean utility, counted alike.
        agreement_rate: the share of negotiations that ended in agreement.
        rounds: mean number of rounds played.
        endings: how many negotiations ended in which way, by the ending's name.
        games: how many negotiations there were.
    """

    utility: float
    spread: float
    opponent_utility: float
    agreement_rate: float
    rounds: float
    endings: dict[str, int]
    games: int

    def as_json(self) -> dict[str, Any]:
        """The score as plain data."""
        return asdict(self)


def score(games: Games, player: int) -> Score:
    """The score of `player` (0 or 1)."""
    own, other = games.utilities[player], games.utilities[1 - player]
    endings = Counter(Ending(ending).name.lower() for ending in games.negotiations.ending.tolist())
    return Score(
        utility=float(own.mean()),
        spread=float(own.std()),
        opponent_utility=float(other.mean()),
        agreement_rate=games.agreement_rate,
        rounds=float(np.mean((games.negotiations.step + 1) // 2)),
        endings=dict(sorted(endings.items())),
        games=len(games.negotiations),
    )

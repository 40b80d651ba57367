"""What a player earned in a set of negotiations."""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from negzoo.engine import Ending
from negzoo.opponents import Games


@dataclass(frozen=True)
class Score:
    """A player's result against one opponent.

    Attributes:
        utility: mean own utility, no agreement counting 0 (the paper's "individual utility"). Negotiations in which a
            strategy failed are no result: they are left out of all means. NaN if there is no other.
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
    counted = games.negotiations.ending != Ending.ERROR
    own, other = games.utilities[player][counted], games.utilities[1 - player][counted]
    rounds = (games.negotiations.step[counted] + 1) // 2
    agreed = games.negotiations.ending[counted] == Ending.AGREEMENT
    endings = Counter(Ending(ending).name.lower() for ending in games.negotiations.ending.tolist())
    return Score(
        utility=_mean(own),
        spread=float(own.std()) if own.size else np.nan,
        opponent_utility=_mean(other),
        agreement_rate=_mean(agreed),
        rounds=_mean(rounds),
        endings=dict(sorted(endings.items())),
        games=len(games.negotiations),
    )


def _mean(values: NDArray[Any]) -> float:
    return float(np.mean(values)) if values.size else np.nan

"""The folder of a cell: the files that are in it, and the result that it found.

A finished cell has `policy.safetensors`, `games.h5` (the negotiations that scored it) and, written last, `result.json`.
One in training has `checkpoint.safetensors`, one that failed when it was last tried `error.txt`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from negzoo.errors import LeagueError
from negzoo.files import read_json
from negzoo.league.scores import Score

RESULT, POLICY, GAMES, CHECKPOINT = "result.json", "policy.safetensors", "games.h5", "checkpoint.safetensors"
ERROR = "error.txt"


@dataclass(frozen=True)
class CellResult:
    """What a finished cell found.

    Attributes:
        id: the cell's.
        scores: by opponent.
        steps: learner steps trained.
        seconds: its share of the time that training took.
        started_from: the id of the cell whose model it was fine-tuned from, else None.
    """

    id: str
    scores: dict[str, Score]
    steps: int
    seconds: float
    started_from: str | None

    def mean_utility(self, opponents: Sequence[str]) -> float:
        """The mean individual utility over some of the opponents it was scored on."""
        return float(np.mean([self.scores[name].utility for name in opponents]))


def read_result(folder: Path) -> CellResult | None:
    """The result in a cell's folder, None where there is none yet.

    Raises:
        LeagueError: the file is there but is not a result.
    """
    path = folder / RESULT
    if not path.exists():
        return None
    try:
        content = read_json(path)
        scores = {name: Score(**fields) for name, fields in content.pop("scores").items()}
        return CellResult(scores=scores, **content)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise LeagueError(f"{path}: not a result ({error}); delete the folder {folder} to train it again") from None

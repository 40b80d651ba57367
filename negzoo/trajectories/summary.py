"""What a log holds, in numbers: counts, endings, and mean utilities by domain, stage and opponent."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from negzoo.engine import Ending
from negzoo.trajectories.batch import Rows
from negzoo.trajectories.part import Part
from negzoo.trajectories.schema import NONE


@dataclass(frozen=True)
class Encounters:
    """The negotiations of one domain, stage and opponent.

    Attributes:
        domain, stage: their names; "" no stage.
        opponent: who sits across from the learner. Where nobody learns it is "A vs B", the names of players 0
            and 1, and player 0 takes the learner's place below.
        episodes, agreements, errors: how many there are, and how many ended so.
        utility: the learner's mean utility, errors left out; NaN where nothing else is there.
        opponent_utility: the same for the opponent.
    """

    domain: str
    stage: str
    opponent: str
    episodes: int
    agreements: int
    errors: int
    utility: float
    opponent_utility: float


@dataclass(frozen=True)
class Summary:
    """What a log, or a filtered view of it, holds.

    Attributes:
        files, unfinished: of the whole log, how many, and how many of them `.tmp`.
        bytes_per_step: of the whole log.
        episodes, steps: of the view.
        endings: the episodes by how they ended, all five endings by name.
        agreement_rate: the part that ended with agreement; NaN of no episodes.
        encounters: by domain, stage and opponent, sorted by these.
    """

    files: int
    unfinished: int
    bytes_per_step: float
    episodes: int
    steps: int
    endings: dict[str, int]
    agreement_rate: float
    encounters: tuple[Encounters, ...]


def summarise(parts: Sequence[Part], episodes: Rows, names: Mapping[str, NDArray[np.str_]]) -> Summary:
    """Sum up `episodes`, rows of the log that `parts` make up, whose ids stand for `names`."""
    endings = np.bincount(episodes["ending"], minlength=len(Ending))
    return Summary(
        files=len(parts),
        unfinished=sum(part.unfinished for part in parts),
        bytes_per_step=sum(part.bytes for part in parts) / max(1, sum(part.steps for part in parts)),
        episodes=len(episodes),
        steps=int(episodes["steps"].sum()),
        endings={ending.name.lower(): int(endings[ending]) for ending in Ending if ending != Ending.RUNNING},
        agreement_rate=float(endings[Ending.AGREEMENT] / len(episodes)) if len(episodes) else nan,
        encounters=tuple(sorted(_encounters(episodes, names), key=lambda e: (e.domain, e.stage, e.opponent))),
    )


def _encounters(rows: Rows, names: Mapping[str, NDArray[np.str_]]) -> Iterator[Encounters]:
    seat = np.maximum(rows["learner"], 0)
    named_too = np.where(rows["learner"] == NONE, rows["player_0"], NONE)
    key = np.stack([rows["domain"], rows["stage"], named_too, _at(1 - seat, "player", rows)], axis=1)
    keys, which = np.unique(key, axis=0, return_inverse=True)
    columns = zip(
        keys,
        _counts(which, len(keys)),
        _counts(which[rows["ending"] == Ending.AGREEMENT], len(keys)),
        _counts(which[rows["ending"] == Ending.ERROR], len(keys)),
        _means(which, _at(seat, "utility", rows), len(keys)),
        _means(which, _at(1 - seat, "utility", rows), len(keys)),
        strict=True,
    )
    for (domain, stage, *players), episodes, agreements, errors, utility, opponent_utility in columns:
        yield Encounters(
            domain=str(names["domains"][domain]),
            stage=str(names["stages"][stage]),
            opponent=" vs ".join(names["players"][player] for player in players if player != NONE),
            episodes=int(episodes),
            agreements=int(agreements),
            errors=int(errors),
            utility=float(utility),
            opponent_utility=float(opponent_utility),
        )


def _at(seat: NDArray[Any], column: str, rows: Rows) -> NDArray[Any]:
    """The values of `column`_0 or `column`_1, by the seat."""
    return np.where(seat == 0, rows[f"{column}_0"], rows[f"{column}_1"])


def _counts(which: NDArray[Any], size: int) -> NDArray[Any]:
    return np.bincount(which, minlength=size)


def _means(which: NDArray[Any], values: NDArray[Any], size: int) -> NDArray[Any]:
    """[size], the mean of the values of each group but NaN (errors); NaN where nothing is left."""
    there = ~np.isnan(values)
    sums = np.bincount(which[there], weights=values[there], minlength=size)
    counts = _counts(which[there], size)
    return np.where(counts > 0, sums / np.maximum(counts, 1), nan)

"""Reading trajectories: one file, or a folder of them, finished or still being written.

Opening checks every file and reads two columns of it; episodes are read when first asked for, steps one
negotiation at a time. The views that `filter` returns share all of it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from negzoo.engine import Ending
from negzoo.errors import TrajectoryError, did_you_mean
from negzoo.trajectories.batch import Rows
from negzoo.trajectories.part import Part
from negzoo.trajectories.schema import EPISODES, SUFFIX, TABLES, UNFINISHED, Kind
from negzoo.trajectories.summary import Summary, summarise

Key: TypeAlias = tuple[str, ...]
"""A row of a table: (name,) or, for a domain, (name, hash)."""


@dataclass(frozen=True, eq=False)
class Episode:
    """One negotiation of S moves.

    Attributes:
        domain, domain_hash: what was negotiated.
        players: who sat at seat 0 and at seat 1.
        learner: the learner's seat; -1 none.
        seed, index: what its random draws came from.
        stage, model: what it was played for, and with which policy; "" none.
        clock, rounds: the time that the players saw, and how often each could move.
        swapped: player 0 held profile 2 of the domain.
        ending: how it ended.
        agreement: the outcome agreed on; -1 none.
        utilities: what each player got; 0 without agreement, NaN after an error.
        steps: [S] rows of `steps/`, a structured array.
    """

    domain: str
    domain_hash: str
    players: tuple[str, str]
    learner: int
    seed: int
    index: int
    stage: str
    model: str
    clock: str
    rounds: int
    swapped: bool
    ending: Ending
    agreement: int
    utilities: tuple[float, float]
    steps: Rows

    @property
    def moves(self) -> NDArray[np.int32]:
        """int32 [S], the engine's moves: an outcome offered, or ACCEPT, WALK, NOTHING, FAULT."""
        kind = self.steps["kind"].astype(np.int32)
        return np.where(kind == Kind.OFFER, self.steps["outcome"], -kind)


class Trajectories:
    """Negotiations from a log, sorted by the names of its files and then as they were written.

    `open_trajectories` makes it. Length, iteration and `filter` are over negotiations.
    """

    def __init__(self, log: "_Log", rows: NDArray[np.int64]) -> None:
        self._log = log
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Episode]:
        return map(self.episode, range(len(self)))

    def __repr__(self) -> str:
        return f"<Trajectories: {len(self)} negotiations from {len(self.files)} files>"

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of the log."""
        return tuple(part.path for part in self._log.parts)

    @property
    def episodes(self) -> Rows:
        """[len(self)], the rows of `episodes/` as a structured array.

        Its ids are places in `names`. `first_step` counts in the file that holds the episode.
        """
        return self._log.episodes[self._rows]

    @property
    def names(self) -> dict[str, NDArray[np.str_]]:
        """Names by id, of "domains", "players", "stages", "models", "clocks".

        So `names["players"][episodes["player_0"]]` is [len(self)] names.
        """
        return self._log.names

    def episode(self, number: int) -> Episode:
        """One negotiation, from 0; negative numbers count from the end.

        Raises:
            TrajectoryError: there is no such negotiation, or its steps are damaged.
        """
        if not -len(self) <= number < len(self):
            raise TrajectoryError(f"there is no episode {number}; the {len(self)} here are numbered from 0")
        return self._log.episode(int(self._rows[number]))

    def filter(
        self,
        *,
        domain: str | None = None,
        opponent: str | None = None,
        stage: str | None = None,
        model: str | None = None,
        agreement: bool | None = None,
    ) -> "Trajectories":
        """The negotiations that meet every condition given, perhaps none.

        Args:
            domain, stage, model: named so.
            opponent: sits across from the learner, or in either seat where nobody learns.
            agreement: ended with agreement, or without.

        Raises:
            TrajectoryError: a name that is nowhere in the log.
        """
        rows = self.episodes
        keep = np.ones(len(rows), bool)
        for column, name in (("domain", domain), ("stage", stage), ("model", model)):
            if name is not None:
                keep &= np.isin(rows[column], self._log.ids(f"{column}s", name))
        if opponent is not None:
            keep &= _faced(rows, self._log.ids("players", opponent))
        if agreement is not None:
            keep &= (rows["ending"] == Ending.AGREEMENT) == agreement
        return Trajectories(self._log, self._rows[keep])

    def summary(self) -> Summary:
        """Counts and means, by domain, stage and opponent."""
        return summarise(self._log.parts, self.episodes, self.names)

    def close(self) -> None:
        """Let go of the file that is open; reading on opens it again."""
        self._log.close()

    def __enter__(self) -> "Trajectories":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def open_trajectories(path: str | Path) -> Trajectories:
    """The negotiations in a file, or in every `.h5` and `.h5.tmp` in a folder and the folders inside.

    A file that another process is writing is seen as it was when opened. One that this process writes can be
    read once it is closed.

    Raises:
        TrajectoryError: no such file, no complete negotiation, a file that is damaged or of another version.
    """
    parts = [Part(file) for file in _files(Path(path))]
    size = sum(part.episodes for part in parts)
    if size == 0:
        raise TrajectoryError(f"{path}: no complete negotiation; if it is being written try again later")
    return Trajectories(_Log(parts), np.arange(size))


class _Log:
    """The files of a log, their ids brought together. One file is open at a time."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts
        self._ends = np.cumsum([part.episodes for part in parts])
        self._current = parts[0]

    def close(self) -> None:
        self._current.close()

    def _turn_to(self, part: Part) -> Part:
        if part is not self._current:
            self._current.close()
        self._current = part
        return part

    @cached_property
    def _merged(self) -> tuple[dict[str, list[Key]], Rows]:
        ids: dict[str, dict[Key, int]] = {table: {} for table in TABLES}
        blocks = [_renumbered(self._turn_to(part), ids) for part in self.parts]
        return {table: list(known) for table, known in ids.items()}, np.concatenate(blocks)

    @property
    def tables(self) -> dict[str, list[Key]]:
        return self._merged[0]

    @property
    def episodes(self) -> Rows:
        return self._merged[1]

    @cached_property
    def names(self) -> dict[str, NDArray[np.str_]]:
        return {table: np.array([key[0] for key in keys], np.str_) for table, keys in self.tables.items()}

    def ids(self, table: str, name: str) -> NDArray[np.intp]:
        found = np.flatnonzero(self.names[table] == name)
        if not found.size:
            known = did_you_mean(name, map(str, self.names[table]))
            raise TrajectoryError(f'no "{name}" among the {table} of this log{known}')
        return found

    def episode(self, number: int) -> Episode:
        which = int(np.searchsorted(self._ends, number, side="right"))
        row, part = self.episodes[number], self._turn_to(self.parts[which])
        steps = part.read_steps(int(row["first_step"]), int(row["steps"]))
        if (steps["episode"] != number - self._ends[which] + part.episodes).any():
            raise TrajectoryError(f"{part.path}: steps and episodes do not fit; it is damaged, write it anew")
        return self._named(row, steps)

    def _named(self, row: Any, steps: Rows) -> Episode:
        columns = [column for column in EPISODES.columns if column.table]
        keys = {column.name: self.tables[str(column.table)][row[column.name]] for column in columns}
        return Episode(
            domain=keys["domain"][0],
            domain_hash=keys["domain"][1],
            players=(keys["player_0"][0], keys["player_1"][0]),
            learner=int(row["learner"]),
            seed=int(row["seed"]),
            index=int(row["index"]),
            stage=keys["stage"][0],
            model=keys["model"][0],
            clock=keys["clock"][0],
            rounds=int(row["rounds"]),
            swapped=bool(row["swapped"]),
            ending=Ending(int(row["ending"])),
            agreement=int(row["agreement"]),
            utilities=(float(row["utility_0"]), float(row["utility_1"])),
            steps=steps,
        )


def _files(path: Path) -> list[Path]:
    """The finished files, and the unfinished ones that are not about to replace one of them."""
    if not path.is_dir():
        return [path]
    finished = set(path.rglob(f"*{SUFFIX}"))
    unfinished = set(path.rglob(f"*{SUFFIX}{UNFINISHED}"))
    files = finished | {file for file in unfinished if file.with_suffix("") not in finished}
    if not files:
        raise TrajectoryError(f"{path}: no {SUFFIX} or {SUFFIX}{UNFINISHED} file in this folder")
    return sorted(files)


def _renumbered(part: Part, ids: dict[str, dict[Key, int]]) -> Rows:
    """The episodes of a part with the ids of the whole log, which grow by the part's new names."""
    rows = part.read_episodes()
    for table, known in ids.items():
        renumber = np.array([known.setdefault(key, len(known)) for key in part.read_table(table)], np.int32)
        for column in EPISODES.columns:
            if column.table == table and len(rows):
                rows[column.name] = renumber[rows[column.name]]
    return rows


def _faced(rows: Rows, players: NDArray[np.intp]) -> NDArray[np.bool_]:
    at_0 = np.isin(rows["player_0"], players) & (rows["learner"] != 0)
    at_1 = np.isin(rows["player_1"], players) & (rows["learner"] != 1)
    return np.asarray(at_0 | at_1)

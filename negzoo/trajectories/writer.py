"""Writing trajectory files that survive a crash.

1. Rows wait in memory until they fill whole chunks. A chunk on the disk is never written again: a compressed chunk
   that grows moves, and a process killed meanwhile would lose rows that were safe before.
2. A chunk is compressed here and written past the end of what the file's index knows; only then is the index brought
   up to date. So a full disk is noticed before anything depends on the chunk.
3. Steps and names reach the disk before the episodes that refer to them, and the reader counts complete episodes.
4. The file is `NAME.h5.tmp` until it is whole; closing writes the rest, syncs and renames. A block that is left by an
   exception keeps the `.tmp`, which holds everything written.

What a kill can lose is what still waits: at most a chunk of episodes and a chunk of steps (see `schema`).
"""

import os
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from negzoo import __version__
from negzoo.errors import TrajectoryError
from negzoo.scenario import Scenario
from negzoo.trajectories.batch import Labels, Names, Played, Rows, episode_rows, step_rows
from negzoo.trajectories.schema import (
    DESCRIPTION,
    EPISODES,
    NAME_BYTES,
    SCHEMA_VERSION,
    STEPS,
    SUFFIX,
    TABLES,
    UNFINISHED,
    Column,
    Group,
)

GZIP_LEVEL = 4


class TrajectoryWriter:
    """Writes one trajectory file, inside a `with` block.

    Args:
        path: `NAME.h5`; missing folders are made.
        overwrite: replace what is there, a finished file when this one is finished. A file that another process is
            writing is never replaced.

    Raises:
        TrajectoryError: on entering, where the file exists or cannot be made.
    """

    def __init__(self, path: str | Path, *, overwrite: bool = False) -> None:
        self.path = Path(path)
        self.unfinished_path = self.path.with_name(self.path.name + UNFINISHED)
        self._overwrite = overwrite
        self._file: Any = None
        self._kept = 0

    @property
    def durable(self) -> int:
        """How many negotiations are on the disk, readable whatever happens to this process."""
        return self._kept

    def __enter__(self) -> "TrajectoryWriter":
        if self.path.suffix != SUFFIX:
            raise TrajectoryError(f"{self.path}: the name of a trajectory file ends in {SUFFIX}")
        try:
            self._make_room()
            self._create()
        except OSError as error:
            raise TrajectoryError(f"{self.path}: cannot be written ({_reason(error)}); choose another place") from error
        return self

    def _make_room(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.unfinished_path.exists():
            _refuse_if_open(self.unfinished_path)
        for path in (self.path, self.unfinished_path):
            if path.exists() and not self._overwrite:
                raise TrajectoryError(f"{path}: already exists; give another name, or overwrite=True to replace it")
        self.unfinished_path.unlink(missing_ok=True)

    def _create(self) -> None:
        self._file = h5py.File(self.unfinished_path, "x")
        self._file.attrs["schema_version"] = SCHEMA_VERSION
        self._file.attrs["negzoo_version"] = __version__
        self._file.attrs["created"] = datetime.now(UTC).isoformat(timespec="seconds")
        self._file.attrs["description"] = DESCRIPTION
        self._tables = {name: _Table(self._file, group) for name, group in TABLES.items()}
        self._steps = _Columns(self._file, STEPS)
        self._episodes = _Columns(self._file, EPISODES)
        self._file.flush()

    def write(self, scenario: Scenario, played: Played, labels: Labels) -> None:
        """Log finished negotiations of one scenario. Takes them all or, where it raises, none.

        Raises:
            TrajectoryError: moves that are none in this scenario, a name that is too long, or a disk that is full;
                what was `durable` before stays readable. After a full disk the writer takes nothing more.
        """
        if self._file is None:
            raise TrajectoryError(f'{self.path}: write inside "with TrajectoryWriter(...) as writer:"')
        utilities = scenario.utilities[::-1] if labels.swapped else scenario.utilities
        steps = step_rows(played, utilities)
        episodes = episode_rows(played, steps, utilities)
        self._label(episodes, scenario, played.clock, labels)
        steps["episode"] += self._episodes.rows
        episodes["first_step"] += self._steps.rows
        self._steps.append(steps)
        self._episodes.append(episodes)
        if self._steps.chunks_waiting and self._episodes.chunks_waiting:
            self._store(everything=False)

    def _label(self, rows: Rows, scenario: Scenario, clock: str, labels: Labels) -> None:
        tables = self._tables
        rows["domain"] = tables["domains"].id(scenario.name, scenario.hash)
        for column, names in zip(("player_0", "player_1"), labels.players, strict=True):
            rows[column] = tables["players"].ids(names, len(rows))
        rows["stage"] = tables["stages"].id(labels.stage)
        rows["model"] = tables["models"].id(labels.model)
        rows["clock"] = tables["clocks"].id(clock)
        rows["learner"], rows["seed"], rows["swapped"] = labels.learner, labels.seed, labels.swapped

    def _store(self, *, everything: bool) -> None:
        """Bring whole chunks, or everything, to the disk: steps and names first, then the episodes they complete."""
        try:
            self._steps.store(everything)
            self._file.flush()
            self._episodes.store(everything, complete=self._complete_episodes())
            self._file.flush()
        except (OSError, RuntimeError) as error:
            self._abandon()
            raise TrajectoryError(
                f"{self.unfinished_path}: cannot be written ({_reason(error)}); "
                f"the first {self._kept} negotiations can be read there"
            ) from error
        self._steps.keep()
        self._kept = self._episodes.keep()

    def _complete_episodes(self) -> int:
        waiting = self._episodes.waiting
        ends = waiting["first_step"] + waiting["steps"]
        return int(np.searchsorted(ends, self._steps.stored, side="right"))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is None:
            return
        self._store(everything=True)
        self._file.close()
        self._file = None
        _sync(self.unfinished_path)
        if kind is None:
            os.replace(self.unfinished_path, self.path)
            _sync(self.path.parent)

    def _abandon(self) -> None:
        """Close the file as it was when last kept."""
        file, self._file = self._file, None
        try:
            self._steps.roll_back()
            self._episodes.roll_back()
            file.close()
        except (OSError, RuntimeError):
            pass  # the disk takes nothing more; what was kept is there


class _Columns:
    """The compressed columns of one group, and the rows that wait for a whole chunk."""

    def __init__(self, file: Any, group: Group) -> None:
        self._chunk = group.chunk
        self._datasets = {column.name: _create_dataset(file, group, column) for column in group.columns}
        self._waiting = [np.empty(0, group.dtype)]
        self._kept = 0
        self.rows = 0
        self.stored = 0

    @property
    def waiting(self) -> Rows:
        """The rows that are not stored yet."""
        if len(self._waiting) > 1:
            self._waiting = [np.concatenate(self._waiting)]
        return self._waiting[0]

    @property
    def chunks_waiting(self) -> int:
        return (self.rows - self.stored) // self._chunk

    def append(self, rows: Rows) -> None:
        self._waiting.append(rows)
        self.rows += len(rows)

    def store(self, everything: bool, complete: int | None = None) -> None:
        """Write the rows that wait, only the first `complete` of them and only whole chunks unless `everything`."""
        waiting = self.waiting
        count = len(waiting) if complete is None else complete
        if not everything:
            count -= count % self._chunk
        for name, dataset in self._datasets.items():
            self._extend(dataset, np.ascontiguousarray(waiting[name][:count]))
        self._waiting = [waiting[count:].copy()]
        self.stored += count

    def _extend(self, dataset: Any, values: NDArray[Any]) -> None:
        dataset.resize((self.stored + len(values),))
        for start in range(0, len(values), self._chunk):
            packed = _pack(values[start : start + self._chunk], self._chunk)
            dataset.id.write_direct_chunk((self.stored + start,), packed)

    def keep(self) -> int:
        """What is stored has been flushed; how many rows that is."""
        self._kept = self.stored
        return self._kept

    def roll_back(self) -> None:
        for dataset in self._datasets.values():
            dataset.resize((self._kept,))


class _Table:
    """Names and their ids. Uncompressed, so that a chunk never moves as names are added to it."""

    def __init__(self, file: Any, group: Group) -> None:
        self._path = f"{file.filename}: {group.path}"
        self._datasets = [_create_dataset(file, group, column) for column in group.columns]
        self._ids: dict[tuple[str, ...], int] = {}

    def id(self, *key: str) -> int:
        """The id of a row, which is added if it is new."""
        if key not in self._ids:
            self._add(key)
        return self._ids[key]

    def ids(self, names: Names, size: int) -> NDArray[np.int32]:
        """int32 [size]: the ids of `names`, or of the one name repeated."""
        if isinstance(names, str):
            return np.full(size, self.id(names), np.int32)
        if len(names) != size:
            raise TrajectoryError(f"{len(names)} player names for {size} negotiations; give one, or one for each")
        distinct, which = np.unique(np.asarray(names, object), return_inverse=True)
        return np.array([self.id(str(name)) for name in distinct], np.int32)[which]

    def _add(self, key: Sequence[str]) -> None:
        row = [_encoded(self._path, name) for name in key]
        size = len(self._ids)
        for dataset, value in zip(self._datasets, row, strict=True):
            dataset.resize((size + 1,))
            dataset[size] = value
        self._ids[tuple(key)] = size


def _create_dataset(file: Any, group: Group, column: Column) -> Any:
    dtype = h5py.string_dtype("utf-8", NAME_BYTES) if column.dtype.startswith("S") else column.dtype
    filters = {"compression": "gzip", "compression_opts": GZIP_LEVEL, "shuffle": True} if group.compressed else {}
    name = f"{group.path}/{column.name}"
    return file.create_dataset(name, (0,), dtype, maxshape=(None,), chunks=(group.chunk,), **filters)


def _pack(values: NDArray[Any], chunk: int) -> bytes:
    """One chunk as HDF5 stores it: filled up with zeros, first all first bytes, then all second bytes, deflated."""
    full = np.zeros(chunk, values.dtype)
    full[: len(values)] = values
    return zlib.compress(full.view(np.uint8).reshape(chunk, -1).T.tobytes(), GZIP_LEVEL)


def _encoded(where: str, name: str) -> bytes:
    encoded = name.encode("utf-8", "surrogateescape")
    if len(encoded) > NAME_BYTES or b"\0" in encoded:
        raise TrajectoryError(f'{where}: "{name[:40]}" cannot be logged; a name has at most {NAME_BYTES} bytes, no NUL')
    return encoded


def _refuse_if_open(path: Path) -> None:
    """HDF5 locks a file that it writes, where the file system can."""
    try:
        h5py.File(path, "r", locking=True).close()
    except BlockingIOError as error:
        raise TrajectoryError(f"{path}: another process is writing it; give each writer its own file") from error
    except OSError:
        pass  # damaged, so nobody's


def _reason(error: Exception) -> str:
    number = getattr(error, "errno", None)
    return os.strerror(number).lower() if number else str(error).splitlines()[0]


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Writing trajectory files that survive a crash and a full disk.

1. Rows wait in memory until they fill whole chunks. A chunk on the disk is never written again: a compressed
   chunk that grows moves, and a process killed meanwhile would lose rows that were safe before.
2. Room on the disk is taken before HDF5 writes to it: of a write that fails, HDF5 does not recover.
3. Steps and names reach the disk before the episodes that refer to them; a reader counts complete episodes.
4. The file is `NAME.h5.tmp` until it is whole. Closing writes the rest, syncs and renames; when an exception
   leaves the block, the rest is written and the `.tmp` stays.

A kill can lose what waits: less than a chunk of episodes, or those that belong to less than a chunk of steps.
"""

import os
import zlib
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
INDEX_ROOM = 1 << 18
"""Bytes: more than HDF5 adds to its index of the chunks in one go."""


class TrajectoryWriter:
    """Writes one trajectory file, inside a `with` block.

    Args:
        path: `NAME.h5`; missing folders are made.
        overwrite: replace what is there, a finished file not before this one is finished. A file that is
            being written is never replaced.

    Raises:
        TrajectoryError: on entering, it exists or cannot be made; on leaving, the rest cannot be written.
    """

    def __init__(self, path: str | Path, *, overwrite: bool = False) -> None:
        self.path = Path(path)
        self.unfinished_path = self.path.with_name(self.path.name + UNFINISHED)
        self._overwrite = overwrite
        self._file: Any = None
        self._durable = 0

    @property
    def durable(self) -> int:
        """How many negotiations are on the disk, readable whatever happens to this process."""
        return self._durable

    def __enter__(self) -> "TrajectoryWriter":
        if self.path.suffix != SUFFIX:
            raise TrajectoryError(f"{self.path}: the name of a trajectory file ends in {SUFFIX}")
        try:
            self._make_way()
            self._create()
        except (OSError, RuntimeError) as error:
            reason = f"cannot be written ({_reason(error)}); choose another place"
            raise TrajectoryError(f"{self.path}: {reason}") from error
        return self

    def _make_way(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.unfinished_path.exists():
            _refuse_if_open(self.unfinished_path)
        for path in (self.path, self.unfinished_path):
            if path.exists() and not self._overwrite:
                raise TrajectoryError(f"{path}: exists; give another name, or remove it first")
        self.unfinished_path.unlink(missing_ok=True)
        with self.unfinished_path.open("xb") as probe:
            _take_room(probe.fileno(), INDEX_ROOM)
        self.unfinished_path.unlink()

    def _create(self) -> None:
        self._file = h5py.File(self.unfinished_path, "x", locking="best-effort")
        self._file.attrs["schema_version"] = SCHEMA_VERSION
        self._file.attrs["negzoo_version"] = __version__
        self._file.attrs["created"] = datetime.now(UTC).isoformat(timespec="seconds")
        self._file.attrs["description"] = DESCRIPTION
        self._tables = {name: _Table(self._file, group) for name, group in TABLES.items()}
        self._steps = _Columns(self._file, STEPS)
        self._episodes = _Columns(self._file, EPISODES)
        self._file.flush()

    def write(self, scenario: Scenario, played: Played, labels: Labels) -> None:
        """Log finished negotiations of one scenario.

        Raises:
            TrajectoryError: moves that are none in this scenario, or a name that is too long: nothing of the
                batch is logged. A full disk: what is `durable` stays readable; the next write tries again.
        """
        if self._file is None:
            raise TrajectoryError(f"{self.path}: not open; write inside `with TrajectoryWriter(...)`")
        utilities = scenario.utilities[::-1] if labels.swapped else scenario.utilities
        steps = step_rows(played, utilities)
        episodes = episode_rows(played, steps, utilities)
        self._label(episodes, scenario, played.clock, labels)
        steps["episode"] += self._episodes.rows
        episodes["first_step"] += self._steps.rows
        self._steps.append(steps)
        self._episodes.append(episodes)
        if self._steps.has_whole_chunk and self._episodes.has_whole_chunk:
            self._store(everything=False)

    def _label(self, rows: Rows, scenario: Scenario, clock: str, labels: Labels) -> None:
        tables = self._tables
        rows["domain"] = tables["domains"].id(scenario.name, scenario.hash)
        rows["player_0"] = tables["players"].ids(labels.players[0], len(rows))
        rows["player_1"] = tables["players"].ids(labels.players[1], len(rows))
        rows["stage"] = tables["stages"].id(labels.stage)
        rows["model"] = tables["models"].id(labels.model)
        rows["clock"] = tables["clocks"].id(clock)
        rows["learner"], rows["seed"], rows["swapped"] = labels.learner, labels.seed, labels.swapped

    def _store(self, *, everything: bool) -> None:
        """Bring whole chunks, or everything, to the disk."""
        try:
            _take_room(self._file.id.get_vfd_handle(), self._room_needed())
            self._store_in_order(everything)
            os.ftruncate(self._file.id.get_vfd_handle(), self._file.id.get_filesize())
        except (OSError, RuntimeError) as error:
            raise self._unwritable(error) from error

    def _room_needed(self) -> int:
        columns: list[_Columns | _Table] = [self._steps, self._episodes, *self._tables.values()]
        return INDEX_ROOM + sum(waiting.bytes_waiting for waiting in columns)

    def _store_in_order(self, everything: bool) -> None:
        for table in self._tables.values():
            table.store()
        self._steps.store(len(self._steps.waiting), everything)
        self._file.flush()
        self._episodes.store(self._complete_episodes(), everything)
        self._file.flush()
        self._durable = self._episodes.stored

    def _complete_episodes(self) -> int:
        """How many of the waiting episodes have all their steps on the disk."""
        waiting = self._episodes.waiting
        ends = waiting["first_step"] + waiting["steps"]
        return int(np.searchsorted(ends, self._steps.stored, side="right"))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._store(everything=True)
        finally:
            self._close()
        if kind is None:
            self.unfinished_path.replace(self.path)

    def _close(self) -> None:
        file, self._file = self._file, None
        try:
            file.close()
            _sync(self.unfinished_path)
        except (OSError, RuntimeError) as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: Exception) -> TrajectoryError:
        readable = f"its first {self._durable} negotiations can be read"
        return TrajectoryError(f"{self.unfinished_path}: cannot be written ({_reason(error)}); {readable}")


class _Columns:
    """The compressed columns of a group, and the rows that wait for a whole chunk.

    Attributes:
        rows: how many there are, waiting or stored.
        stored: how many of them are in the file.
    """

    def __init__(self, file: Any, group: Group) -> None:
        self._group = group
        self._datasets = {column.name: _create_dataset(file, group, column) for column in group.columns}
        self._waiting = [np.empty(0, group.dtype)]
        self.rows = 0
        self.stored = 0

    @property
    def waiting(self) -> Rows:
        """The rows that are not stored yet."""
        if len(self._waiting) > 1:
            self._waiting = [np.concatenate(self._waiting)]
        return self._waiting[0]

    @property
    def has_whole_chunk(self) -> bool:
        return self.rows - self.stored >= self._group.chunk

    @property
    def bytes_waiting(self) -> int:
        """At most so many bytes will be added to the file, if all chunks are filled up and none deflates."""
        chunks = -(-(self.rows - self.stored) // self._group.chunk)
        return chunks * self._group.chunk * self._group.dtype.itemsize

    def append(self, rows: Rows) -> None:
        self._waiting.append(rows)
        self.rows += len(rows)

    def store(self, count: int, everything: bool) -> None:
        """Write the first `count` rows that wait, or as many of them as fill whole chunks."""
        if not everything:
            count -= count % self._group.chunk
        rows = self.waiting[:count]
        for name, dataset in self._datasets.items():
            self._extend(dataset, rows[name])
        self._waiting = [self.waiting[count:].copy()]
        self.stored += count

    def _extend(self, dataset: Any, values: NDArray[Any]) -> None:
        chunk = self._group.chunk
        dataset.resize((self.stored + len(values),))
        for start in range(0, len(values), chunk):
            packed = _pack(values[start : start + chunk], chunk)
            dataset.id.write_direct_chunk((self.stored + start,), packed)


class _Table:
    """Names and their ids. Uncompressed, so that no chunk moves when a name is added to it."""

    def __init__(self, file: Any, group: Group) -> None:
        self._path = f"{file.filename}: {group.path}"
        self._datasets = [_create_dataset(file, group, column) for column in group.columns]
        self._ids: dict[tuple[str, ...], int] = {}
        self._waiting: list[list[bytes]] = []

    @property
    def bytes_waiting(self) -> int:
        return NAME_BYTES * len(self._datasets) * len(self._waiting)

    def id(self, *key: str) -> int:
        """The id of a row, which is added if it is new."""
        if key not in self._ids:
            self._waiting.append([_encode(self._path, name) for name in key])
            self._ids[key] = len(self._ids)
        return self._ids[key]

    def ids(self, names: Names, size: int) -> NDArray[np.int32]:
        """int32 [size], the ids of `names`, or of the one name throughout."""
        if isinstance(names, str):
            return np.full(size, self.id(names), np.int32)
        if len(names) != size:
            raise TrajectoryError(f"{len(names)} player names for {size} negotiations; give one, or one each")
        distinct, which = np.unique(np.asarray(names, object), return_inverse=True)
        return np.array([self.id(str(name)) for name in distinct], np.int32)[which]

    def store(self) -> None:
        if not self._waiting:
            return
        size = len(self._ids)
        for dataset, names in zip(self._datasets, zip(*self._waiting, strict=True), strict=True):
            dataset.resize((size,))
            dataset[size - len(names) :] = np.array(names, dataset.dtype)
        self._waiting = []


def _create_dataset(file: Any, group: Group, column: Column) -> Any:
    dtype = h5py.string_dtype("utf-8", NAME_BYTES) if column.dtype.startswith("S") else column.dtype
    gzip = {"compression": "gzip", "compression_opts": GZIP_LEVEL, "shuffle": True}
    filters = gzip if group.compressed else {}
    name = f"{group.path}/{column.name}"
    return file.create_dataset(name, (0,), dtype, maxshape=(None,), chunks=(group.chunk,), **filters)


def _pack(values: NDArray[Any], chunk: int) -> bytes:
    """A chunk as HDF5 stores it: filled up with zeros, all first bytes before all second bytes, deflated."""
    full = np.zeros(chunk, values.dtype)
    full[: len(values)] = values
    return zlib.compress(full.view(np.uint8).reshape(chunk, -1).T.tobytes(), GZIP_LEVEL)


def _encode(where: str, name: str) -> bytes:
    encoded = name.encode("utf-8", "replace")
    if len(encoded) > NAME_BYTES or "\0" in name or encoded.decode() != name:
        limits = f"a name is text of at most {NAME_BYTES} bytes without NUL"
        raise TrajectoryError(f"{where}: {name[:40]!r} cannot be logged; {limits}")
    return encoded


def _take_room(descriptor: int, size: int) -> None:
    """Lengthen a file by `size` bytes that the disk really has, where the system can."""
    if not hasattr(os, "posix_fallocate"):
        return
    end = os.fstat(descriptor).st_size
    try:
        os.posix_fallocate(descriptor, end, size)
    except OSError:
        os.ftruncate(descriptor, end)
        raise


def _refuse_if_open(path: Path) -> None:
    """HDF5 locks what another process writes, and opens as writable what this process writes."""
    in_use = False
    try:
        with h5py.File(path, "r", locking="best-effort") as file:
            in_use = file.mode != "r"
    except BlockingIOError:
        in_use = True
    except OSError:
        pass  # damaged: nobody writes it
    if in_use:
        raise TrajectoryError(f"{path}: is being written; give every writer a file of its own")


def _reason(error: Exception) -> str:
    number = getattr(error, "errno", None)
    return os.strerror(number).lower() if number else str(error).splitlines()[0]


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())

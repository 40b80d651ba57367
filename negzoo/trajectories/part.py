"""One trajectory file, read-only and on guard: what a file says of itself is checked before it is believed.

An unfinished file is opened without HDF5's lock, so that it can be read while it is written. Nothing is
followed out of a file, and no more is read at once than its bytes can hold.
"""

import stat
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import h5py
import numpy as np
from numpy.typing import NDArray

from negzoo.errors import TrajectoryError
from negzoo.trajectories.batch import Rows
from negzoo.trajectories.schema import (
    EPISODES,
    GROUPS,
    MAX_CHUNK,
    SCHEMA_VERSION,
    STEPS,
    TABLES,
    UNFINISHED,
    Column,
    Group,
)

Result = TypeVar("Result")

PATIENCE = (0.01, 0.02, 0.04, 0.08, 0.16)
"""Seconds to wait before a file that may be being written is read again."""

MAX_COMPRESSION = 1032
"""No deflated byte stands for more bytes."""

_FAILURES = (OSError, RuntimeError, ValueError, KeyError, TypeError, MemoryError, OverflowError)


class Part:
    """One file, finished or not.

    Attributes:
        path: where it is.
        unfinished: it is a `.tmp`: being written, or left by a process that was stopped.
        bytes: its size when it was opened.
        steps, episodes: how many rows of each are complete.

    Raises:
        TrajectoryError: here or from any `read_...`, a file that is damaged or none of this version.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unfinished = path.suffix == UNFINISHED
        self._open: Any = None
        self._datasets: dict[str, Any] = {}
        self._try(self._inspect)
        self.close()

    def close(self) -> None:
        """Let go of the file; the next read opens it again."""
        self._datasets.clear()
        if self._open is not None:
            self._open.close()
            self._open = None

    def read_steps(self, first: int, count: int) -> Rows:
        """`count` rows of `steps/`."""
        return self._try(lambda: self._read_checked(STEPS, slice(first, first + count)))

    def read_episodes(self) -> Rows:
        """All complete rows of `episodes/`."""
        return self._try(self._read_all_episodes)

    def read_table(self, name: str) -> list[tuple[str, ...]]:
        """The rows of a table, by id."""
        rows = self._try(lambda: self._read(TABLES[name], slice(0, self._rows[TABLES[name].path])))
        try:
            return [tuple(value.decode() for value in row) for row in rows.tolist()]
        except UnicodeDecodeError as error:
            raise self._damaged(f"{TABLES[name].path} holds names that are no UTF-8") from error

    def _try(self, read: Callable[[], Result]) -> Result:
        """Read; where a writer may be at work on the file, try again, for most of the time it is whole."""
        for wait in PATIENCE if self.unfinished else ():
            with suppress(TrajectoryError, *_FAILURES):
                return read()
            self.close()
            time.sleep(wait)
        try:
            return read()
        except _FAILURES as error:
            self.close()
            raise TrajectoryError(f"{self.path}: {self._diagnosis(error)}") from error

    def _diagnosis(self, error: Exception) -> str:
        if isinstance(error, FileNotFoundError):
            return "no such file"
        if isinstance(error, PermissionError):
            return "may not be read; check its permissions"
        if self.unfinished:
            return "cannot be read; if it is being written, try again"
        return "is damaged, or no trajectory file at all"

    def _damaged(self, what: str) -> TrajectoryError:
        self.close()
        return TrajectoryError(f"{self.path}: {what}; it is damaged or no trajectory file, write it anew")

    def _inspect(self) -> None:
        """Everything that is checked when a file is opened."""
        self.bytes = self._file_size()
        self._check_version()
        self._rows = {group.path: self._count_rows(group) for group in GROUPS}
        self.steps = self._rows[STEPS.path]
        self.episodes = self._count_episodes()

    @property
    def _file(self) -> Any:
        if self._open is None:
            self._file_size()
            self._open = h5py.File(self._current_path, "r", locking=False if self.unfinished else None)
        return self._open

    @property
    def _current_path(self) -> Path:
        """Where the file is by now: a `.tmp` is renamed when it is finished."""
        finished = self.path.with_suffix("") if self.unfinished else self.path
        return finished if finished.exists() and not self.path.exists() else self.path

    def _file_size(self) -> int:
        status = self._current_path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise self._damaged("is no regular file")
        return status.st_size

    def _check_version(self) -> None:
        version = self._file.attrs.get("schema_version")
        if not np.issubdtype(np.asarray(version).dtype, np.integer) or np.ndim(version):
            raise self._damaged("has no schema_version")
        if version != SCHEMA_VERSION:
            self.close()
            advice = f"this negzoo reads {SCHEMA_VERSION}; read it with the negzoo that wrote it"
            raise TrajectoryError(f"{self.path}: has schema version {version}, {advice}")

    def _count_rows(self, group: Group) -> int:
        """The rows that every column holds. A writer may be between two columns of an unfinished file."""
        held = {self._count_held(group, column) for column in group.columns}
        if len(held) > 1 and not self.unfinished:
            raise self._damaged(f"the columns of {group.path} differ in length")
        return min(held)

    def _count_held(self, group: Group, column: Column) -> int:
        """The rows that a column declares; of an unfinished file, as far as it has chunks that hold them."""
        dataset = self._dataset(group, column)
        declared, chunk = int(dataset.shape[0]), int(dataset.chunks[0])
        if declared * dataset.dtype.itemsize > MAX_COMPRESSION * self.bytes:
            raise self._damaged(f"{group.path}/{column.name} declares {declared} rows, more than it can hold")
        if declared == 0 or _has_chunk(dataset, (declared - 1) // chunk):
            return declared
        if not self.unfinished:
            raise self._damaged(f"{group.path}/{column.name} declares {declared} rows and has fewer")
        return min(declared, int(dataset.id.get_num_chunks()) * chunk)

    def _dataset(self, group: Group, column: Column) -> Any:
        """A column; it stays open with the file, for HDF5 keeps the chunk last read of an open dataset."""
        name = f"{group.path}/{column.name}"
        if name not in self._datasets:
            self._datasets[name] = self._find(name, column)
        return self._datasets[name]

    def _find(self, name: str, column: Column) -> Any:
        """The dataset of this name, which has to be as the schema says and to lie in this file."""
        node = self._file
        for key in name.split("/"):
            if not isinstance(node, h5py.Group) or not isinstance(node.get(key, getlink=True), h5py.HardLink):
                raise self._damaged(f"has no column {name}")
            node = node[key]
        if not isinstance(node, h5py.Dataset) or node.dtype != np.dtype(column.dtype) or node.ndim != 1:
            raise self._damaged(f"{name} is no column of type {column.dtype}")
        if node.chunks is None or node.chunks[0] > MAX_CHUNK:
            raise self._damaged(f"{name} is not stored in chunks of at most {MAX_CHUNK} rows")
        return node

    def _count_episodes(self) -> int:
        """The episodes whose steps are all there. Steps are stored first, so the last one speaks for all."""
        count = self._rows[EPISODES.path]
        if count == 0 or self._ends(slice(count - 1, count))[0] <= self.steps:
            return count
        if not self.unfinished:
            raise self._damaged("its episodes have more steps than there are")
        return int(np.searchsorted(self._ends(slice(0, count)), self.steps, side="right"))

    def _ends(self, part: slice) -> NDArray[np.float64]:
        """The step at which each episode ends, as a float, which no value can make overflow."""
        rows = self._read(EPISODES, part, ("first_step", "steps"))
        return np.asarray(rows["first_step"] + rows["steps"].astype(np.float64))

    def _read_all_episodes(self) -> Rows:
        rows = self._read_checked(EPISODES, slice(0, self.episodes))
        first, ends = rows["first_step"], self._ends(slice(0, self.episodes))
        if (first[1:] < ends[:-1]).any():
            raise self._damaged("its episodes do not follow each other")
        return rows

    def _read_checked(self, group: Group, part: slice) -> Rows:
        rows = self._read(group, part)
        for column in group.columns:
            high = self._rows[TABLES[column.table].path] - 1 if column.table else column.high
            if ((rows[column.name] < column.low) | (rows[column.name] > high)).any():
                raise self._damaged(f"{group.path}/{column.name} holds a value that cannot be")
        return rows

    def _read(self, group: Group, part: slice, names: Sequence[str] = ()) -> Rows:
        columns = [column for column in group.columns if not names or column.name in names]
        rows = np.empty(part.stop - part.start, [(column.name, column.dtype) for column in columns])
        for column in columns:
            rows[column.name] = self._dataset(group, column)[part]
        return rows


def _has_chunk(dataset: Any, number: int) -> bool:
    """Looks up this one chunk; counting all of them takes long in a long file."""
    try:
        dataset.id.read_direct_chunk((number * dataset.chunks[0],))
    except (OSError, RuntimeError):
        return False
    return True

"""The folder of a run: what it holds, and what of it is done.

runs/<name>-<id>/
  league.json     the league as it was run, overrides included
  run.json        command, machine, versions
  cells/<id>/     one folder per model, see `cells`
  table.md, results.json
"""

import fcntl
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TextIO

from negzoo.errors import LeagueError
from negzoo.files import write_json
from negzoo.league.plan import Cell, Plan
from negzoo.league.results import CHECKPOINT, ERROR, CellResult, read_result

_PACKAGES = ("negzoo", "numpy", "numba", "torch", "tianshou", "pettingzoo", "gymnasium", "h5py")


class State(StrEnum):
    """How far a cell is: scored, failed when it was last tried, with a checkpoint to go on from, or none of these."""

    DONE = "done"
    FAILED = "failed"
    BEGUN = "begun"
    MISSING = "missing"


@dataclass(frozen=True)
class Run:
    """A plan and the folder in which it is carried out."""

    plan: Plan
    folder: Path

    @classmethod
    def under(cls, plan: Plan, out: Path) -> "Run":
        """The run of a plan under a folder of runs; the same plan has the same folder."""
        return cls(plan, out / f"{plan.league.file.name}-{plan.id}")

    @contextmanager
    def prepared(self) -> Iterator[None]:
        """The folder made, what is run noted in it, and other processes kept out while the block runs.

        Raises:
            LeagueError: the folder cannot be written, or another process is in it.
        """
        try:
            (self.folder / "cells").mkdir(parents=True, exist_ok=True)
            lock = (self.folder / "lock").open("w")
        except OSError as error:
            reason = error.strerror or error
            raise LeagueError(
                f"{self.folder}: cannot be written ({reason}); choose another folder with --out"
            ) from None
        with lock:
            self._lock(lock)
            write_json(self.folder / "league.json", self.plan.league.file.model_dump(by_alias=True, mode="json"))
            write_json(self.folder / "run.json", _circumstances())
            yield

    def _lock(self, file: TextIO) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LeagueError(
                f"{self.folder}: another process is running this league; wait for it, or choose another --out"
            ) from None

    def cell_folder(self, cell_id: str) -> Path:
        """Where a cell leaves its files."""
        return self.folder / "cells" / cell_id

    def result(self, cell: Cell) -> CellResult | None:
        """What a cell found, None if it is not done."""
        return read_result(self.cell_folder(cell.id))

    def state(self, cell: Cell) -> State:
        """How far a cell is."""
        folder = self.cell_folder(cell.id)
        if self.result(cell):
            return State.DONE
        if (folder / ERROR).exists():
            return State.FAILED
        return State.BEGUN if (folder / CHECKPOINT).exists() else State.MISSING

    def failure(self, cell: Cell) -> str:
        """Why a cell failed, in one line."""
        return (self.cell_folder(cell.id) / ERROR).read_text(encoding="utf-8").strip().splitlines()[-1]

    @cached_property
    def results(self) -> dict[str, CellResult]:
        """The results of all cells that are done when first asked, by id."""
        found = {cell.id: self.result(cell) for cell in self.plan.cells}
        return {cell_id: result for cell_id, result in found.items() if result is not None}


def _circumstances() -> dict[str, object]:
    return {
        "command": ["negzoo", *sys.argv[1:]],
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {package: version(package) for package in _PACKAGES},
    }

"""How a run gets on: a bar on a terminal, a plain line now and then elsewhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from negzoo.cli.console import err
from negzoo.league.plan import Cell, Plan
from negzoo.league.results import CellResult

_SECONDS_BETWEEN_LINES = 10.0


class Tally:
    """Counts what has been trained since the run began.

    Attributes:
        total: learner steps still to train when the run began.
        models: how many models are done, of `of`.
    """

    def __init__(self, plan: Plan, results: dict[str, CellResult]) -> None:
        self.total = sum(cell.steps for cell in plan.cells if cell.id not in results)
        self.models, self.of = len(results), len(plan.cells)
        self._steps: dict[str, int] = {}
        self._began = time.monotonic()

    def advanced(self, cell: Cell, steps: int) -> None:
        self._steps[cell.id] = min(steps, cell.steps)

    def finished(self, cell: Cell, result: CellResult) -> None:
        self._steps[cell.id] = cell.steps
        self.models += 1

    def note(self, message: str) -> None:
        err.print(escape(message), soft_wrap=True)

    def failed(self, cell: Cell, reason: str) -> None:
        self._steps[cell.id] = cell.steps
        err.print(escape(f"failed: {cell.label}: {reason}"), soft_wrap=True)

    @property
    def steps(self) -> int:
        """Learner steps trained since the run began."""
        return sum(self._steps.values())

    @property
    def rate(self) -> float:
        """Learner steps per second since the run began."""
        return self.steps / max(time.monotonic() - self._began, 1e-9)


class Lines(Tally):
    """Plain lines for logs."""

    def __init__(self, plan: Plan, results: dict[str, CellResult]) -> None:
        super().__init__(plan, results)
        self._next_line = time.monotonic() + _SECONDS_BETWEEN_LINES

    def advanced(self, cell: Cell, steps: int) -> None:
        super().advanced(cell, steps)
        if time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + _SECONDS_BETWEEN_LINES
            remaining = (self.total - self.steps) / max(self.rate, 1e-9)
            share = f"{self.steps:,} of {self.total:,} learner steps"
            err.print(f"{share}, {self.rate:,.0f} steps/s, about {remaining:.0f} s left", soft_wrap=True)

    def finished(self, cell: Cell, result: CellResult) -> None:
        super().finished(cell, result)
        means = f"utility {result.mean_utility(list(result.scores)):.3f}"
        trained = f"{result.steps:,} steps in {result.seconds:.0f} s"
        err.print(escape(f"{self.models}/{self.of} {cell.label}: {means}, {trained}"), soft_wrap=True)


class Bar(Tally):
    """A progress bar."""

    def __init__(self, plan: Plan, results: dict[str, CellResult], progress: Progress) -> None:
        super().__init__(plan, results)
        self._progress = progress
        self._models = progress.add_task("models", total=self.of, completed=self.models, rate="")
        self._task = progress.add_task("steps", total=self.total, rate="")

    def _show(self, latest: str) -> None:
        self._progress.update(self._task, completed=self.steps, rate=f"{self.rate:,.0f} steps/s")
        self._progress.update(self._models, completed=self.models, rate=latest)

    def advanced(self, cell: Cell, steps: int) -> None:
        super().advanced(cell, steps)
        self._show(cell.label)

    def finished(self, cell: Cell, result: CellResult) -> None:
        super().finished(cell, result)
        self._show(cell.label)


@contextmanager
def show_progress(plan: Plan, results: dict[str, CellResult]) -> Iterator[Tally]:
    """What shows the progress of a run on this terminal."""
    if not err.is_terminal or err.is_dumb_terminal:
        yield Lines(plan, results)
        return
    columns = (
        TextColumn("{task.description:6}"),
        BarColumn(24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[rate]}", markup=False),
    )
    with Progress(*columns, console=err, transient=True) as progress:
        yield Bar(plan, results, progress)

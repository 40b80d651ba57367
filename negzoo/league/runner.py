"""Carrying out a plan: its cells on worker processes, one thread each, as soon as what they start from is done.

What a cell becomes depends on the cell alone, not on the number of workers or the order.
"""

import multiprocessing
import traceback
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from negzoo.errors import LeagueError
from negzoo.league.cells import CellResult, run_cell
from negzoo.league.plan import Cell
from negzoo.league.run import Run
from negzoo.league.selection import selected_start

_POLL_SECONDS = 0.5


class Progress(Protocol):
    """Whoever shows how a run gets on."""

    def advanced(self, cell: Cell, steps: int) -> None:
        """A cell has trained for so many learner steps so far."""

    def finished(self, cell: Cell, result: CellResult) -> None:
        """A cell is done."""

    def failed(self, cell: Cell, reason: str) -> None:
        """A cell raised; the rest goes on."""


@dataclass(frozen=True)
class Outcome:
    """How a run ended: all results by cell id, and why cells failed."""

    results: dict[str, CellResult]
    failures: dict[str, str] = field(default_factory=dict)


def run_plan(run: Run, workers: int, progress: Progress, log_training: bool = False) -> Outcome:
    """Train every cell that is not done yet.

    Args:
        run: the plan and its folder, prepared.
        workers: how many processes.
        progress: told about everything.
        log_training: also log every negotiation of training.

    Raises:
        LeagueError: fewer than one worker, or a worker process died.
    """
    if workers < 1:
        raise LeagueError(f"--workers {workers}: give a whole number of at least 1")
    results = dict(run.results)
    waiting = [cell for cell in run.plan.cells if cell.id not in results]
    if not waiting:
        return Outcome(results)
    return _Workshop(run, progress, log_training, results, waiting).work(min(workers, len(waiting)))


class _Workshop:
    """The state of a run in progress."""

    def __init__(
        self,
        run: Run,
        progress: Progress,
        log_training: bool,
        results: dict[str, CellResult],
        waiting: list[Cell],
    ) -> None:
        self.run, self.progress, self.log_training = run, progress, log_training
        self.results, self.waiting = results, waiting
        self.failures: dict[str, str] = {}
        self.working: dict[Future[None], Cell] = {}

    def work(self, workers: int) -> Outcome:
        context = multiprocessing.get_context("spawn")
        news = context.SimpleQueue()
        executor = ProcessPoolExecutor(workers, context, _join, (news,))
        try:
            self._work_with(executor, news)
        except BaseException:
            _stop(executor)
            raise
        executor.shutdown()
        return Outcome(self.results, self.failures)

    def _work_with(self, executor: ProcessPoolExecutor, news: Any) -> None:
        while self.waiting or self.working:
            self._hand_out(executor)
            done, _ = wait(self.working, _POLL_SECONDS, FIRST_COMPLETED)
            self._read(news)
            for future in done:
                self._take_back(future)

    def _hand_out(self, executor: ProcessPoolExecutor) -> None:
        for cell in self._ready():
            self.waiting.remove(cell)
            start = selected_start(self.run.plan, cell, self.results)
            folder = self.run.cell_folder(cell.id)
            source = self.run.cell_folder(start.id) if start else None
            self.working[executor.submit(_run, cell, folder, source, self.log_training)] = cell

    def _ready(self) -> list[Cell]:
        """Cells whose candidates are all done; a cell with a failed candidate fails as well."""
        ready = []
        for cell in list(self.waiting):
            if any(candidate in self.failures for candidate in cell.candidates):
                self.waiting.remove(cell)
                self._fail(cell, "a pre-trained model that it could start from failed")
            elif all(candidate in self.results for candidate in cell.candidates):
                ready.append(cell)
        return ready

    def _read(self, news: Any) -> None:
        while not news.empty():
            cell_id, steps = news.get()
            self.progress.advanced(self.run.plan.by_id[cell_id], steps)

    def _take_back(self, future: Future[None]) -> None:
        cell = self.working.pop(future)
        try:
            future.result()
        except BrokenProcessPool:
            raise LeagueError(
                f"a worker process died (out of memory, or killed) at: {cell.label}; "
                "what is done is kept, the same command goes on from there"
            ) from None
        except Exception as error:  # one cell's failure must not lose the others' work
            trace = "".join(traceback.format_exception(error))
            (self.run.cell_folder(cell.id) / "error.txt").write_text(trace, encoding="utf-8")
            self._fail(cell, f"{type(error).__name__}: {error}")
        else:
            self._finish(cell)

    def _finish(self, cell: Cell) -> None:
        result = self.run.result(cell)
        if result is None:
            self._fail(cell, "it left no result")
            return
        self.results[cell.id] = result
        self.progress.finished(cell, result)

    def _fail(self, cell: Cell, reason: str) -> None:
        self.failures[cell.id] = reason
        self.progress.failed(cell, reason)


_news: Any = None


def _join(news: Any) -> None:
    """A worker begins: it reports to `news`, and leaves Ctrl-C to its parent."""
    import signal

    import torch

    global _news
    _news = news
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)


def _run(cell: Cell, folder: Path, start: Path | None, log_training: bool) -> None:
    run_cell(cell, folder, start, log_training, lambda steps: _news.put((cell.id, steps)))


def _stop(executor: ProcessPoolExecutor) -> None:
    """End the workers at once, in the middle of what they do."""
    processes: Iterable[Any] = list((executor._processes or {}).values())
    executor.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
    for process in processes:
        process.join()

"""Carrying out a plan: jobs on worker processes, one thread each, as soon as what they start from is done.

What a cell becomes depends on the cell alone, not on the number of workers, its company or the order. A worker that
dies is reported and what it was doing is tried once more; Ctrl-C lets every worker checkpoint first.
"""

import multiprocessing
import os
import signal
import threading
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from negzoo.errors import LeagueError
from negzoo.files import write_text
from negzoo.league.jobs import Job, Task, make_jobs
from negzoo.league.plan import Cell
from negzoo.league.results import ERROR, CellResult
from negzoo.league.run import Run
from negzoo.league.selection import selected_start
from negzoo.opponents.plugins import load_file, loaded_files

_POLL_SECONDS = 0.5
_RETRIES = 1


class Progress(Protocol):
    """Whoever shows how a run gets on."""

    def advanced(self, cell: Cell, steps: int) -> None:
        """A cell has trained for so many learner steps so far."""

    def finished(self, cell: Cell, result: CellResult) -> None:
        """A cell is done."""

    def failed(self, cell: Cell, reason: str) -> None:
        """A cell raised; the rest goes on."""

    def note(self, message: str) -> None:
        """Something worth telling."""


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
        LeagueError: fewer than one worker.
        NegzooError: the run's folder cannot be written any more.
        KeyboardInterrupt: Ctrl-C; what was in training is checkpointed.
    """
    if workers < 1:
        raise LeagueError(f"--workers {workers}: give a whole number of at least 1")
    results = dict(run.results)
    waiting = [cell for cell in run.plan.cells if cell.id not in results]
    log = run.folder / "training" if log_training else None
    return _Workshop(run, workers, progress, log, results, waiting).work() if waiting else Outcome(results)


class _Workshop:
    """The state of a run in progress.

    Attributes:
        waiting: cells that nobody has begun.
        queue: jobs to hand out.
        working: jobs that workers are at, as many as there are workers at most.
        suspects: jobs that were worked at when a worker died; each is tried again alone.
    """

    def __init__(
        self,
        run: Run,
        workers: int,
        progress: Progress,
        log: Path | None,
        results: dict[str, CellResult],
        waiting: list[Cell],
    ) -> None:
        self.run, self.workers, self.progress, self.log = run, workers, progress, log
        self.results, self.waiting = results, waiting
        self.failures: dict[str, str] = {}
        self.queue: list[Job] = []
        self.working: dict[Future[None], Job] = {}
        self.suspects: list[Job] = []
        self.deaths: Counter[str] = Counter()
        self.context = multiprocessing.get_context("spawn")
        self.stop = self.context.Event()
        self.news = self.context.SimpleQueue()

    def work(self) -> Outcome:
        executor = self._hire()
        try:
            while self.waiting or self.queue or self.working or self.suspects:
                executor = self._round(executor)
        except KeyboardInterrupt:
            self._wind_up()
            raise
        finally:
            _end(executor)
        return Outcome(self.results, self.failures)

    def _hire(self) -> ProcessPoolExecutor:
        files = loaded_files()
        return ProcessPoolExecutor(self.workers, self.context, _join, (self.news, self.stop, files))

    def _round(self, executor: ProcessPoolExecutor) -> ProcessPoolExecutor:
        """Hand out what is ready, wait a little, take back what is done; the executor to go on with."""
        try:
            self._hand_out(executor)
            done, _ = wait(self.working, _POLL_SECONDS, FIRST_COMPLETED)
            self._read_news()
            for future in done:
                self._take_back(future)
        except BrokenProcessPool:
            self._mourn()
            _end(executor)
            return self._hire()
        return executor

    def _hand_out(self, executor: ProcessPoolExecutor) -> None:
        """Give every free worker a job; a suspect only when all are free."""
        self.queue += make_jobs(self._ready(), self.workers, self.log)
        if self.suspects and not self.working:
            self._give(executor, self.suspects)
        alone = any(self.deaths[job.cells[0].id] for job in self.working.values())
        while self.queue and not self.suspects and not alone and len(self.working) < self.workers:
            self._give(executor, self.queue)

    def _give(self, executor: ProcessPoolExecutor, jobs: list[Job]) -> None:
        with _interrupts_ignored():  # by the processes that this may start, until they ignore them themselves
            self.working[executor.submit(_run, jobs[0])] = jobs[0]
        del jobs[0]

    def _ready(self) -> list[Task]:
        """Cells whose candidates are all done; a cell with a failed candidate fails as well."""
        ready = []
        for cell in list(self.waiting):
            if any(candidate in self.failures for candidate in cell.candidates):
                self.waiting.remove(cell)
                self._fail(cell, "a pre-trained model that it could start from failed")
            elif all(candidate in self.results for candidate in cell.candidates):
                self.waiting.remove(cell)
                ready.append(self._task(cell))
        return ready

    def _task(self, cell: Cell) -> Task:
        start = selected_start(self.run.plan, cell, self.results)
        return Task(cell, self.run.cell_folder(cell.id), self.run.cell_folder(start.id) if start else None)

    def _read_news(self) -> None:
        while not self.news.empty():
            cell_ids, steps = self.news.get()
            for cell_id in cell_ids:
                self.progress.advanced(self.run.plan.by_id[cell_id], steps)

    def _take_back(self, future: Future[None]) -> None:
        error = future.exception()
        if isinstance(error, BrokenProcessPool):
            raise error
        job = self.working.pop(future)
        unfinished = self._finish(job)
        reason = f"{type(error).__name__}: {error}" if error else "it left no result"
        trace = "".join(traceback.format_exception(error)) if error else reason
        for task in unfinished:
            self._fail(task.cell, reason, trace)

    def _mourn(self) -> None:
        """A worker has died, and the others are stopped with it: each of their jobs is tried once more, alone."""
        jobs, self.working = list(self.working.values()), {}
        for job in jobs:
            unfinished = self._finish(job)
            if not unfinished:
                continue
            self.deaths[job.cells[0].id] += 1
            if self.deaths[job.cells[0].id] <= _RETRIES:
                self.progress.note(f"a worker died; trying {job.label} again from the last checkpoint")
                self.suspects += make_jobs(unfinished, 1, self.log)
            else:
                for task in unfinished:
                    self._fail(
                        task.cell, "its worker died twice (out of memory, killed, or a script without a main guard)"
                    )

    def _wind_up(self) -> None:
        """Ask the workers to checkpoint and stop."""
        self.progress.note("stopping: waiting for the workers to save; the same command goes on from there")
        self.stop.set()
        wait(self.working)

    def _finish(self, job: Job) -> tuple[Task, ...]:
        """Take over the results there are; the tasks that have none."""
        unfinished = []
        for task in job.tasks:
            result = self.run.result(task.cell)
            if result is None:
                unfinished.append(task)
            else:
                self.results[task.cell.id] = result
                self.progress.finished(task.cell, result)
        return tuple(unfinished)

    def _fail(self, cell: Cell, reason: str, trace: str = "") -> None:
        write_text(self.run.cell_folder(cell.id) / ERROR, trace or reason)
        self.failures[cell.id] = reason
        self.progress.failed(cell, reason)


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Processes that start while the block runs ignore Ctrl-C from their first moment."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


_news: Any = None
_stop: Any = None
_orphaned = threading.Event()
_idle = threading.Event()


def _join(news: Any, stop: Any, opponent_files: tuple[Path, ...]) -> None:
    """A worker begins: it reports to `news`, heeds `stop`, and leaves Ctrl-C to its parent."""
    import torch

    from negzoo.engine.compiling import be_quiet

    be_quiet()
    for path in opponent_files:
        load_file(path)
    global _news, _stop
    _news, _stop = news, stop
    _idle.set()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    threading.Thread(target=_outlive_nobody, daemon=True).start()


def _outlive_nobody() -> None:
    """When the parent is gone, let the job save and then end this process, which would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        _orphaned.set()
        _idle.wait()
        os._exit(1)


def _run(job: Job) -> None:
    from negzoo.league.training import run_job

    ids = [cell.id for cell in job.cells]
    _idle.clear()
    try:
        run_job(job, lambda steps: _news.put((ids, steps)), lambda: _stop.is_set() or _orphaned.is_set())
    finally:
        _idle.set()


def _end(executor: ProcessPoolExecutor) -> None:
    """Let idle workers go; end those that still work."""
    processes: Iterable[Any] = list((executor._processes or {}).values())
    idle = not executor._pending_work_items
    executor.shutdown(wait=idle, cancel_futures=True)
    for process in processes:
        if not idle:
            process.terminate()
        process.join()

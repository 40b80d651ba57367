"""Jobs: cells that one worker trains together. A cell's model does not depend on which job it is in."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from safetensors import SafetensorError, safe_open

from negzoo.envs.codec import Codec
from negzoo.league.plan import Cell
from negzoo.league.results import CHECKPOINT
from negzoo.learn.network import Interface
from negzoo.learn.policy import chunk_size

MOST_MODELS = 64
"""Models in a job at most, which bounds a worker's memory."""


@dataclass(frozen=True)
class Task:
    """A cell with where its files go and where its start comes from, a folder of another cell or None."""

    cell: Cell
    folder: Path
    start: Path | None


@dataclass(frozen=True)
class Job:
    """Tasks of the same scenario and settings that are equally far.

    Attributes:
        tasks: what is trained together.
        log: where to log every negotiation of training, or None.
    """

    tasks: tuple[Task, ...]
    log: Path | None

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells of the tasks."""
        return tuple(task.cell for task in self.tasks)

    @property
    def label(self) -> str:
        """A line for errors."""
        first = self.tasks[0].cell.label
        return first if len(self.tasks) == 1 else f"{first} and {len(self.tasks) - 1} more"


def make_jobs(tasks: Iterable[Task], workers: int, log: Path | None) -> list[Job]:
    """Share tasks out into jobs, the longest first, for every worker about the same number of models at a time."""
    alike: dict[object, list[Task]] = {}
    for task in tasks:
        alike.setdefault(_company(task), []).append(task)
    jobs = [Job(tuple(part), log) for group in alike.values() for part in _parts(group, workers)]
    return sorted(jobs, key=lambda job: job.cells[0].steps, reverse=True)


def _company(task: Task) -> object:
    """What tasks that are trained together have in common."""
    cell = task.cell
    if cell.trainer == "manager":
        return cell.id
    settings = repr((cell.game, cell.ppo, cell.seat, cell.steps))
    return cell.stage, cell.scenario.hash, settings, saved_updates(task.folder)


def _parts(tasks: list[Task], workers: int) -> list[list[Task]]:
    """Equal shares, of whole chunks, for the workers, and no larger than MOST_MODELS."""
    cell = tasks[0].cell
    chunk = chunk_size(Interface.of(Codec(cell.scenario, cell.game)), cell.ppo)
    chunks = ceil(len(tasks) / chunk)
    rounds = ceil(chunks / (workers * max(MOST_MODELS // chunk, 1)))
    size = ceil(chunks / (workers * rounds)) * chunk
    return [tasks[i : i + size] for i in range(0, len(tasks), size)]


def saved_updates(folder: Path) -> int:
    """How many updates the checkpoint in a cell's folder holds; 0 where there is none that can be read."""
    try:
        with safe_open(folder / CHECKPOINT, "pt") as file:
            return int((file.metadata() or {}).get("updates", 0))
    except (OSError, SafetensorError, ValueError):
        return 0

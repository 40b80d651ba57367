"""What a worker does with a job: train its models together, checkpoint them now and then, finish each cell."""

import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file

from negzoo.engine import Negotiations
from negzoo.envs import NegotiationEnv
from negzoo.files import replacing
from negzoo.league.cells import finish_cell, labels
from negzoo.league.jobs import Job, Task, saved_updates
from negzoo.league.plan import Cell
from negzoo.league.results import CHECKPOINT, ERROR, POLICY
from negzoo.learn.checkpoint import load_policy
from negzoo.learn.manager import ManagerTraining
from negzoo.learn.policy import Learner
from negzoo.learn.population import PopulationTraining
from negzoo.trajectories import Played, TrajectoryWriter

CHECKPOINT_SECONDS = 60.0

_LOG_BATCH = 65_536


class Stopped(Exception):
    """The run was asked to stop; everything is checkpointed."""


class Training(Protocol):
    """What trains the models of a job."""

    @property
    def steps(self) -> int:
        """Learner steps that each model has learned from so far."""

    def run(self, steps: int) -> Iterator[int]:
        """Learn for at least `steps` learner steps per model; yields how many there have been."""

    def weights_of(self, model: int) -> dict[str, torch.Tensor]:
        """One model's weights."""


def run_job(job: Job, progress: Callable[[int], None], should_stop: Callable[[], bool]) -> None:
    """Train a job's models and finish its cells.

    Args:
        job: what to train.
        progress: called after each update with the learner steps that each model has had.
        should_stop: asked after each update.

    Raises:
        Stopped: it was asked to stop.
        CheckpointError, TrajectoryError: files that cannot be read or written.
    """
    for task in job.tasks:
        task.folder.mkdir(parents=True, exist_ok=True)
        (task.folder / ERROR).unlink(missing_ok=True)
    log = TrajectoryWriter(_log_path(job), overwrite=True) if job.log else nullcontext()
    began = time.monotonic()
    with log as writer:
        recorder = TrainingLog(writer, job.cells) if writer else None
        training = _training(job, recorder)
        _train(job, training, recorder, progress, should_stop)
        if recorder:
            recorder.flush()
    seconds = (time.monotonic() - began) / len(job.tasks)
    for model, task in enumerate(job.tasks):
        start = task.start.name if task.start else None
        finish_cell(task.cell, task.folder, training.weights_of(model), training.steps, seconds, start)


def _log_path(job: Job) -> Path:
    assert job.log is not None
    first = job.tasks[0]
    return job.log / f"{first.cell.id}-{saved_updates(first.folder):06d}.h5"


def _train(
    job: Job,
    training: Training,
    recorder: "TrainingLog | None",
    progress: Callable[[int], None],
    should_stop: Callable[[], bool],
) -> None:
    saved = time.monotonic()
    for steps in training.run(job.cells[0].steps):
        progress(steps)
        stop = should_stop()
        if stop or time.monotonic() - saved > CHECKPOINT_SECONDS or (recorder and recorder.is_due):
            _save(job, training)
            if recorder:
                recorder.flush()
            saved = time.monotonic()
        if stop:
            raise Stopped


def _save(job: Job, training: Training) -> None:
    if not isinstance(training, PopulationTraining):
        return  # a job of the manager begins anew
    for model, task in enumerate(job.tasks):
        path = task.folder / CHECKPOINT
        state = training.state(model)
        with replacing(path) as place:
            save_file(state, place, metadata={"updates": str(int(state["updates"]))})


def _training(job: Job, recorder: "TrainingLog | None") -> Training:
    cell = job.cells[0]
    if cell.trainer == "manager":
        on_finish = recorder.add_env if recorder else None
        return ManagerTraining(
            cell.scenario, cell.opponent, cell.game, cell.ppo, cell.seed, cell.seat, _initial(job.tasks[0]), on_finish
        )
    learners = [Learner(task.cell.opponent, task.cell.seed, _initial(task)) for task in job.tasks]
    training = PopulationTraining(cell.scenario, learners, cell.game, cell.ppo, cell.seat)
    if recorder:
        recorder.watch(training)
    if saved_updates(job.tasks[0].folder):
        training.restore([load_file(task.folder / CHECKPOINT) for task in job.tasks])
    return training


def _initial(task: Task) -> dict[str, torch.Tensor] | None:
    return load_policy(task.start / POLICY)[1] if task.start else None


@dataclass(frozen=True)
class _Finished:
    """Negotiations that have ended: which model played each, under which seed, against whom."""

    models: NDArray[np.int64]
    seed: int
    played: Played
    names: list[str]


class TrainingLog:
    """Gathers the negotiations of training and writes them model by model.

    They are written when the models are checkpointed and at the end, so none is logged twice after an interruption. An
    opponent draws from the stream (player_key(seed, player), index) of the logged seed and index, as in `play`: so the
    learner's logged moves are all it takes to play a negotiation again.
    """

    def __init__(self, writer: TrajectoryWriter, cells: tuple[Cell, ...]) -> None:
        self.writer, self.cells = writer, cells
        self._waiting: list[_Finished] = []

    @property
    def is_due(self) -> bool:
        """Whether so much is waiting that it should be written."""
        return sum(len(finished.models) for finished in self._waiting) >= _LOG_BATCH

    def watch(self, training: PopulationTraining) -> None:
        """Take over every negotiation that ends in a population."""
        batch, envs = training.envs.batch, training.ppo.envs

        def take(rows: NDArray[np.int64]) -> None:
            played = _played(batch.negotiations, rows, batch.indices[rows])
            models, names = rows // envs, batch.opponent_names(rows)
            for model in np.unique(models).tolist():
                own = np.flatnonzero(models == model)
                seed = self.cells[model].seed
                self._waiting.append(_Finished(models[own], seed, _part(played, own), [names[i] for i in own]))

        batch.on_finish = take

    def add_env(self, env: NegotiationEnv) -> None:
        """Take over a negotiation that has just ended in an environment."""
        row = np.zeros(1, np.int64)
        played = _played(env.negotiations, row, np.array([env.episode], np.uint64))
        self._waiting.append(_Finished(row, env.seed, played, [env.opponent_name]))

    def flush(self) -> None:
        """Write what is waiting."""
        groups: dict[tuple[int, int], list[_Finished]] = {}
        for finished in self._waiting:
            groups.setdefault((int(finished.models[0]), finished.seed), []).append(finished)
        for (model, seed), group in groups.items():
            cell, names = self.cells[model], [name for finished in group for name in finished.names]
            played = _joined([finished.played for finished in group])
            self.writer.write(cell.scenario, played, labels(cell, names, seed, "train"))
        self._waiting = []


def _played(table: Negotiations, rows: NDArray[np.int64], indices: NDArray[np.uint64]) -> Played:
    return Played(table.moves[rows], table.step[rows], table.ending[rows], indices, table.clock)


def _part(played: Played, rows: NDArray[np.int64]) -> Played:
    return Played(played.moves[rows], played.step[rows], played.ending[rows], played.index[rows], played.clock)


def _joined(parts: list[Played]) -> Played:
    moves, step, ending, index = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("moves", "step", "ending", "index")
    )
    return Played(moves, step, ending, index, parts[0].clock)

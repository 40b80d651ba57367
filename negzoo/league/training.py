"""What a worker does with a job: train its models together, checkpoint them now and then, finish each cell."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file

from negzoo.engine import Negotiations
from negzoo.envs import NegotiationEnv
from negzoo.league.cells import CHECKPOINT, POLICY, finish_cell, labels
from negzoo.league.jobs import Job, Task, saved_updates
from negzoo.league.plan import Cell
from negzoo.learn.checkpoint import load_policy
from negzoo.learn.manager import ManagerTraining
from negzoo.learn.population import Learner, PopulationTraining
from negzoo.trajectories import Played, TrajectoryWriter

CHECKPOINT_SECONDS = 60.0

_LOG_BATCH = 4096


class Stopped(Exception):
    """The run was asked to stop; everything is checkpointed."""


class Training(Protocol):
    """What trains the models of a job."""

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
    log = TrajectoryWriter(_log_path(job), overwrite=True) if job.log else nullcontext()
    began = time.monotonic()
    with log as writer:
        recorder = TrainingLog(writer, job.cells) if writer else None
        training = _training(job, recorder)
        steps = _train(job, training, progress, should_stop)
        if recorder:
            recorder.flush()
    seconds = (time.monotonic() - began) / len(job.tasks)
    for model, task in enumerate(job.tasks):
        start = task.start.name if task.start else None
        finish_cell(task.cell, task.folder, training.weights_of(model), steps, seconds, start)


def _log_path(job: Job) -> Path:
    assert job.log is not None
    first = job.tasks[0]
    return job.log / f"{first.cell.id}-{saved_updates(first.folder):06d}.h5"


def _train(job: Job, training: Training, progress: Callable[[int], None], should_stop: Callable[[], bool]) -> int:
    """Run the training; the learner steps that each model has had."""
    steps, saved = 0, time.monotonic()
    for steps in training.run(job.cells[0].steps):
        progress(steps)
        stop = should_stop()
        if stop or time.monotonic() - saved > CHECKPOINT_SECONDS:
            _save(job, training)
            saved = time.monotonic()
        if stop:
            raise Stopped
    return steps


def _save(job: Job, training: Training) -> None:
    if not isinstance(training, PopulationTraining):
        return
    for model, task in enumerate(job.tasks):
        path = task.folder / CHECKPOINT
        partial = path.with_name(path.name + ".tmp")
        state = training.state(model)
        save_file(state, partial, metadata={"updates": str(int(state["updates"]))})
        os.replace(partial, path)


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


class TrainingLog:
    """Gathers the negotiations of training and writes them model by model."""

    def __init__(self, writer: TrajectoryWriter, cells: tuple[Cell, ...]) -> None:
        self.writer, self.cells = writer, cells
        self._waiting: list[tuple[NDArray[np.int64], Played, list[str]]] = []
        self._count = 0

    def watch(self, training: PopulationTraining) -> None:
        """Take over every negotiation that ends in a population."""
        batch, envs = training.envs.batch, training.ppo.envs

        def take(rows: NDArray[np.int64]) -> None:
            self._add(rows // envs, batch.negotiations, rows, batch.indices[rows], batch.opponent_names(rows))

        batch.on_finish = take

    def add_env(self, env: NegotiationEnv) -> None:
        """Take over a negotiation that has just ended in an environment."""
        row, index = np.zeros(1, np.int64), np.array([env.episode], np.uint64)
        self._add(row, env.negotiations, row, index, [env.opponent_name])

    def _add(
        self,
        models: NDArray[np.int64],
        table: Negotiations,
        rows: NDArray[np.int64],
        indices: NDArray[np.uint64],
        names: list[str],
    ) -> None:
        played = Played(table.moves[rows], table.step[rows], table.ending[rows], indices.copy(), table.clock)
        self._waiting.append((models, played, names))
        self._count += len(rows)
        if self._count >= _LOG_BATCH:
            self.flush()

    def flush(self) -> None:
        """Write what is waiting."""
        if not self._waiting:
            return
        models = np.concatenate([part[0] for part in self._waiting])
        parts = [part[1] for part in self._waiting]
        names = [name for part in self._waiting for name in part[2]]
        moves, step, ending, index = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("moves", "step", "ending", "index")
        )
        for model in np.unique(models).tolist():
            own = np.flatnonzero(models == model)
            played = Played(moves[own], step[own], ending[own], index[own], parts[0].clock)
            cell = self.cells[model]
            self.writer.write(cell.scenario, played, labels(cell, [names[i] for i in own], cell.seed, "train"))
        self._waiting, self._count = [], 0

"""What a worker does with a job: its models depend on their cells alone, and a stop loses nothing."""

from dataclasses import replace

import numpy as np
import pytest

from negzoo.league import training
from negzoo.league.cells import CHECKPOINT, GAMES, POLICY, RESULT, read_result
from negzoo.league.jobs import Job, Task, saved_updates
from negzoo.league.training import Stopped, run_job
from negzoo.learn.checkpoint import digest_of, load_policy
from negzoo.learn.manager import ManagerTraining
from negzoo.opponents import Pool, resolve
from negzoo.trajectories import open_trajectories
from tests.league.leagues import toy_plan
from tests.learn.bargains import TOY

TRAINERS = pytest.mark.parametrize("trainer", ["population", "manager"])


@pytest.fixture
def cells(tmp_path):
    """`cells(stage, trainer)` are the cells of a stage."""

    def of(stage, trainer="population", old="", new=""):
        plan = toy_plan(tmp_path, old, new)
        return [replace(cell, trainer=trainer) for cell in plan.cells if cell.stage == stage]

    return of


def job_of(cells, folder, start=None, log=None):
    return Job(tuple(Task(cell, folder / cell.id, start) for cell in cells), log)


def carry_out(job, stop_after=None):
    """Run a job, or until some updates have been made; the steps that were reported."""
    steps = []
    run_job(job, steps.append, lambda: len(steps) == stop_after)
    return steps


def digests(job):
    return [digest_of(load_policy(task.folder / POLICY)[1]) for task in job.tasks]


@TRAINERS
def test_a_job_leaves_every_cell_finished(cells, tmp_path, trainer):
    job = job_of(cells("pretrain", trainer)[: 1 if trainer == "manager" else 2], tmp_path / trainer)
    steps = carry_out(job)
    assert steps == sorted(steps)
    assert steps[-2] < 600 <= steps[-1]
    for task in job.tasks:
        assert {path.name for path in task.folder.iterdir()} == {POLICY, GAMES, RESULT}
        result = read_result(task.folder)
        assert (result.id, result.steps, result.started_from) == (task.cell.id, steps[-1], None)
        assert result.seconds > 0
    assert len(set(digests(job))) == len(job.tasks)


def test_a_model_does_not_depend_on_its_company(cells, tmp_path):
    models = cells("baseline", old="models = 2", new="models = 10")
    together = job_of(models, tmp_path / "together")
    carry_out(together)
    alone = job_of(models[9:], tmp_path / "alone")
    carry_out(alone)
    assert digests(alone) == digests(together)[9:]


@TRAINERS
def test_logging_the_training_changes_nothing_and_misses_nothing(cells, tmp_path, trainer):
    models = cells("pretrain", trainer)[:1]
    quiet, logged = (job_of(models, tmp_path / name, log=log) for name, log in (("q", None), ("l", tmp_path / "log")))
    carry_out(quiet)
    *_, steps = carried_out = carry_out(logged)
    assert digests(logged) == digests(quiet)
    with open_trajectories(tmp_path / "log") as log:
        assert {(game.stage, game.model, game.learner) for game in log} == {("train", models[0].id, 0)}
        assert {game.players[1] for game in log} == {"Boulware2", "Linear"}
        moves = sum(np.count_nonzero(game.steps["actor"] == 0) for game in log)
    unfinished, cut = 4 * 40, 4 * len(carried_out)  # in each environment, of 40 moves at most and at each update
    assert steps - unfinished <= moves <= steps + cut


def test_a_stopped_job_goes_on_to_the_same_bits(cells, tmp_path):
    models = cells("pretrain")
    whole, halves = job_of(models, tmp_path / "whole"), job_of(models, tmp_path / "halves")
    carry_out(whole)
    with pytest.raises(Stopped):
        carry_out(halves, stop_after=5)
    for task in halves.tasks:
        assert [path.name for path in task.folder.iterdir()] == [CHECKPOINT]
        assert saved_updates(task.folder) == 5
    assert carry_out(halves)[0] == 6 * 32
    assert digests(halves) == digests(whole)
    assert not any((task.folder / CHECKPOINT).exists() for task in halves.tasks)


def test_checkpoints_are_made_now_and_then(cells, tmp_path, monkeypatch):
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", 0.0)
    job = job_of(cells("baseline")[:1], tmp_path)
    seen = []
    run_job(job, lambda _: seen.append(saved_updates(job.tasks[0].folder)), lambda: False)
    assert seen == list(range(len(seen)))


def test_fine_tuning_starts_from_the_model_of_another_cell(cells, tmp_path):
    (start,) = job_of(cells("pretrain")[:1], tmp_path).tasks
    carry_out(Job((start,), None))
    tuned = job_of(cells("finetune")[:1], tmp_path / "tuned", start.folder)
    afresh = job_of(cells("finetune")[:1], tmp_path / "afresh")
    carry_out(tuned)
    carry_out(afresh)
    assert read_result(tuned.tasks[0].folder).started_from == start.cell.id
    before, after, other = (
        load_policy(task.folder / POLICY)[1]["actor.body.0.weight"] for task in (start, *tuned.tasks, *afresh.tasks)
    )
    assert (after - before).abs().max() < 0.05
    assert (after - other).abs().max() > 0.2


@pytest.mark.parametrize("seat", [0, 1])
def test_the_learner_sits_where_the_league_says(cells, tmp_path, seat):
    models = cells("baseline", old="models = 2", new=f"learner_seat = {seat}\nmodels = 2")
    job = job_of(models, tmp_path, log=tmp_path / "log")
    carry_out(job)
    with open_trajectories(tmp_path / "log") as log:
        assert {game.players[seat] for game in log} == {"learner"}
        assert {game.players[1 - seat] for game in log} == {"Conceder1"}
    assert all(load_policy(task.folder / POLICY)[0].side == seat for task in job.tasks)


def test_what_the_manager_logs_is_what_it_was_taught_on(cells, tmp_path):
    """Training again from the same seed meets the same negotiations, in the same order."""
    (cell,) = cells("baseline", "manager")[:1]
    seen = []
    again = ManagerTraining(
        TOY,
        cell.opponent,
        cell.game,
        cell.ppo,
        cell.seed,
        on_finish=lambda env: seen.append(env.negotiations.history(0).tolist()),
    )
    for _ in again.run(cell.steps):
        pass
    carry_out(job_of([cell], tmp_path, log=tmp_path / "log"))
    with open_trajectories(tmp_path / "log") as log:
        assert [game.moves.tolist() for game in log] == seen


def test_a_pool_may_be_weighted(cells, tmp_path):
    pool = Pool("known", (resolve("Hardliner"), resolve("AcceptFirst")), (1.0, 9.0))
    (cell,) = cells("pretrain")[:1]
    carry_out(job_of([replace(cell, opponent=pool, scored_on=pool.members)], tmp_path, log=tmp_path / "log"))
    with open_trajectories(tmp_path / "log") as log:
        assert len(log.filter(opponent="AcceptFirst")) > 5 * len(log.filter(opponent="Hardliner")) > 0

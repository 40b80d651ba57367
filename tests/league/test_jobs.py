"""Jobs: every task in exactly one, in the company of its like, and no worker with more than its share."""

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

from negzoo.envs import Codec
from negzoo.league.cells import CHECKPOINT
from negzoo.league.jobs import MOST_MODELS, Task, make_jobs, saved_updates
from negzoo.league.plan import make_plan
from negzoo.league.spec import read_league
from negzoo.learn.network import Interface
from negzoo.learn.population import chunk_size
from tests.league.leagues import toy_plan

T7 = Path(__file__).resolve().parents[2] / "leagues" / "t7.toml"


def tasks_of(plan, stage=None):
    return [Task(cell, Path("cells") / cell.id, None) for cell in plan.cells if stage in (None, cell.stage)]


def chunk_of(task):
    """How many models like this one are updated together."""
    cell = task.cell
    return chunk_size(Interface.of(Codec(cell.scenario, cell.game)), cell.ppo)


ALL = tasks_of(make_plan(read_league(T7, ["laptop"], models=43)), "baseline")
CHUNK = chunk_of(ALL[0])


@given(count=st.integers(1, 300), workers=st.integers(1, 9))
def test_tasks_are_shared_out_evenly_in_whole_chunks(count, workers):
    tasks = ALL[:count]
    jobs = make_jobs(tasks, workers, None)
    assert [task for job in jobs for task in job.tasks] == tasks
    *full, last = [len(job.tasks) for job in jobs]
    assert last <= max([*full, last]) <= MOST_MODELS
    assert len(set(full)) <= 1
    assert all(size % CHUNK == 0 for size in full)
    needed = -(-count // CHUNK)
    assert len(jobs) >= min(workers, needed) / 2


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_every_worker_gets_its_share_of_many_chunks(workers):
    sizes = [len(job.tasks) for job in make_jobs(ALL[: workers * CHUNK * 2], workers, None)]
    assert sizes == [2 * CHUNK] * workers


def test_less_than_a_chunk_is_one_job():
    assert [len(job.tasks) for job in make_jobs(ALL[: CHUNK - 1], 4, None)] == [CHUNK - 1]


def test_only_what_is_alike_is_trained_together(tmp_path):
    plan = toy_plan(tmp_path, "steps = 100", "steps = 500", domains=["laptop", str(tmp_path / "toy.toml")])
    jobs = make_jobs(tasks_of(plan), 1, None)
    kinds = [{(cell.stage, cell.scenario.name) for cell in job.cells} for job in jobs]
    assert all(len(kind) == 1 for kind in kinds)
    assert len(kinds) == 6


def test_models_of_different_opponents_are_trained_together():
    (job,) = make_jobs(ALL[::43], 1, None)
    assert len({cell.opponent.name for cell in job.cells}) == 7


def test_the_manager_trains_one_model_at_a_time(tmp_path):
    plan = toy_plan(tmp_path, "models = 2", 'trainer = "manager"\nmodels = 2')
    assert [len(job.tasks) for job in make_jobs(tasks_of(plan), 1, None)] == [1] * 6


def test_models_that_are_not_equally_far_are_not_trained_together(tmp_path):
    tasks = [Task(task.cell, tmp_path / task.cell.id, None) for task in ALL[:3]]
    tasks[1].folder.mkdir()
    save_file({"updates": torch.tensor([4])}, tasks[1].folder / CHECKPOINT, metadata={"updates": "4"})
    assert [saved_updates(task.folder) for task in tasks] == [0, 4, 0]
    assert [job.tasks for job in make_jobs(tasks, 1, None)] == [(tasks[0], tasks[2]), (tasks[1],)]


@pytest.mark.parametrize("content", [b"", b"not a checkpoint at all", b"\x00" * 64])
def test_a_damaged_checkpoint_counts_as_none(tmp_path, content):
    (tmp_path / CHECKPOINT).write_bytes(content)
    assert saved_updates(tmp_path) == 0


def test_a_label_names_the_first_and_counts_the_rest():
    (one,), (three,) = (make_jobs(ALL[:count], 1, None) for count in (1, 3))
    assert one.label == "laptop · baseline · Boulware1 · model 1"
    assert three.label == "laptop · baseline · Boulware1 · model 1 and 2 more"

"""Sharing out cells: nothing is lost or doubled, only like trains with like, and every worker gets its share."""

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

from negzoo.envs import NegotiationSettings
from negzoo.league.jobs import MOST_MODELS, make_jobs, saved_updates
from negzoo.league.results import CHECKPOINT
from negzoo.learn.settings import PPOSettings
from negzoo.opponents import resolve
from negzoo.scenario import load
from tests.league.tasks import tasks_of

LAPTOP = load("laptop")


def checkpointed(task, updates):
    """The task, so far."""
    task.folder.mkdir(parents=True, exist_ok=True)
    save_file({"updates": torch.tensor([updates])}, task.folder / CHECKPOINT, {"updates": str(updates)})
    return task


def sizes(jobs):
    return [len(job.tasks) for job in jobs]


def ids(tasks):
    return sorted(task.cell.id for task in tasks)


# Shares


@pytest.mark.parametrize(
    ("models", "chunk", "workers", "expected"),
    [
        (1, 5, 2, [1]),
        (10, 5, 1, [10]),
        (10, 5, 2, [5, 5]),
        (11, 5, 2, [10, 1]),
        (70, 5, 2, [35, 35]),
        (70, 5, 1, [35, 35]),
        (130, 5, 2, [35, 35, 35, 25]),
        (9, 2, 4, [4, 4, 1]),
        (3, 1, 8, [1, 1, 1]),
        (65, 1, 1, [33, 32]),
        (200, 100, 1, [100, 100]),
    ],
)
def test_workers_get_equal_shares_of_whole_chunks(models, chunk, workers, expected):
    tasks = tasks_of(models, ppo=PPOSettings(chunk=chunk))
    assert sizes(make_jobs(tasks, workers, None)) == expected


def test_the_chunk_is_that_of_the_network_where_the_settings_leave_it_open():
    """Five of a small one."""
    assert sizes(make_jobs(tasks_of(12), 3, None)) == [5, 5, 2]


def test_the_longest_jobs_come_first():
    tasks = [*tasks_of(2, steps=100), *tasks_of(2, steps=10_000), *tasks_of(2, steps=1000)]
    assert [job.cells[0].steps for job in make_jobs(tasks, 1, None)] == [10_000, 1000, 100]


def test_tasks_keep_their_order():
    tasks = tasks_of(10)
    (job,) = make_jobs(tasks, 1, None)
    assert list(job.tasks) == tasks
    assert job.cells == tuple(task.cell for task in tasks)


# Company


@pytest.mark.parametrize(
    "change",
    [
        {"stage": "finetune"},
        {"scenario": LAPTOP},
        {"seat": 1},
        {"steps": 97},
        {"game": NegotiationSettings(rounds=39)},
        {"ppo": PPOSettings(gamma=0.5)},
        {"trainer": "manager"},
    ],
    ids=str,
)
def test_only_like_trains_with_like(change):
    jobs = make_jobs([*tasks_of(1), *tasks_of(1, **change)], 1, None)
    assert sizes(jobs) == [1, 1]


@pytest.mark.parametrize(
    "change", [{"opponent": resolve("Hardliner")}, {"league_seed": 1}, {"scored_on": ()}, {"games": 3}], ids=str
)
def test_opponents_and_seeds_may_differ(change):
    assert sizes(make_jobs([*tasks_of(1), *tasks_of(1, **change)], 1, None)) == [2]


def test_the_manager_trains_one_at_a_time():
    assert sizes(make_jobs(tasks_of(3, trainer="manager"), 1, None)) == [1, 1, 1]


def test_checkpointed_cells_train_with_those_that_are_as_far(tmp_path):
    tasks = tasks_of(6, tmp_path)
    for task, updates in zip(tasks, (3, 0, 7, 3, 0, 3), strict=True):
        if updates:
            checkpointed(task, updates)
    grouped = [[task.cell.model for task in job.tasks] for job in make_jobs(tasks, 1, None)]
    assert sorted(grouped) == [[0, 3, 5], [1, 4], [2]]


# Whatever there is to do


@st.composite
def workloads(draw):
    """Kinds of tasks: (what they differ in, how many there are, how many of these are checkpointed)."""
    kinds = st.fixed_dictionaries(
        {},
        optional={
            "steps": st.sampled_from([100, 1000]),
            "seat": st.just(1),
            "stage": st.just("pretrain"),
            "trainer": st.sampled_from(["manager", "population"]),
            "scenario": st.just(LAPTOP),
            "ppo": st.builds(PPOSettings, chunk=st.sampled_from([0, 1, 3, 64, 100])),
        },
    )
    unlike = st.lists(kinds, max_size=4, unique_by=repr)
    return [(kind, draw(st.integers(1, 150)), draw(st.integers(0, 3))) for kind in draw(unlike)]


@given(workload=workloads(), workers=st.integers(1, 9))
def test_every_task_is_in_one_job_with_its_like(workload, workers):
    with tempfile.TemporaryDirectory() as folder:
        tasks = {}
        for kind, models, saved in workload:
            alike = tasks_of(models, Path(folder), **kind)
            tasks |= {task.cell.id: task for task in alike}
            for task in alike[:saved]:
                checkpointed(task, updates=9)
        jobs = make_jobs(tasks.values(), workers, None)
        assert ids(task for job in jobs for task in job.tasks) == sorted(tasks)
        steps = [job.cells[0].steps for job in jobs]
        assert steps == sorted(steps, reverse=True)
        for job in jobs:
            assert_alike(job)


def assert_alike(job):
    first = job.cells[0]
    assert len(job.tasks) <= max(MOST_MODELS, first.ppo.chunk)
    assert len(job.tasks) == 1 or first.trainer == "population"
    for cell in job.cells:
        assert replace(cell, model=0) == replace(first, model=0)
    assert len({saved_updates(task.folder) for task in job.tasks}) == 1


def test_there_may_be_nothing_to_do():
    assert make_jobs([], 2, None) == []


# A job


def test_a_job_is_called_after_its_first_cell():
    (job,) = make_jobs(tasks_of(3), 1, Path("log"))
    assert job.label == "toy · baseline · Linear · model 1 and 2 more"
    assert make_jobs(tasks_of(1), 1, None)[0].label == "toy · baseline · Linear · model 1"
    assert job.log == Path("log")


# Checkpoints


def test_a_checkpoint_says_how_far_it_is(tmp_path):
    (task,) = tasks_of(1, tmp_path)
    assert saved_updates(task.folder) == 0
    assert saved_updates(checkpointed(task, 12).folder) == 12


@pytest.mark.parametrize("content", [b"", b"nothing", json.dumps({}).encode(), b"\xff" * 100])
def test_a_damaged_checkpoint_is_as_good_as_none(tmp_path, content):
    (tmp_path / CHECKPOINT).write_bytes(content)
    assert saved_updates(tmp_path) == 0


@pytest.mark.parametrize("header", [None, {"format": "pt"}, {"updates": "many"}])
def test_a_file_that_does_not_say_how_far_it_is_counts_as_none(tmp_path, header):
    save_file({"updates": torch.tensor([3])}, tmp_path / CHECKPOINT, header)
    assert saved_updates(tmp_path) == 0


def test_a_truncated_checkpoint_is_as_good_as_none(tmp_path):
    (task,) = tasks_of(1, tmp_path)
    path = checkpointed(task, 12).folder / CHECKPOINT
    path.write_bytes(path.read_bytes()[:-1])
    assert saved_updates(task.folder) == 0

"""Carrying out a plan: what is handed out when, and that a failure, a death or an interrupt loses nobody else's work.

Jobs are carried out in this process, one at a time, by a pool that breaks as a pool of processes does.
"""

import signal
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict

import pytest

from negzoo.errors import LeagueError
from negzoo.files import write_json
from negzoo.league import runner
from negzoo.league.results import RESULT, read_result
from negzoo.league.run import Run
from negzoo.league.runner import run_plan
from tests.league.leagues import result_of, toy_plan

EVERYONE = ("baseline", "baseline", "finetune", "finetune", "pretrain", "pretrain")


class Dies(Exception):
    """A job raises it to take its worker with it."""


class Pool:
    """Whenever somebody waits, it does the next job that it was handed; all jobs that it was handed break with it.

    Attributes:
        most: how many jobs it had at once.
        handlers: what Ctrl-C did while jobs were handed over.
    """

    def __init__(self, _workers, _context, _initialiser, arguments):
        self.news = arguments[0]
        self.queue, self.broken, self.ended, self.idle = [], False, False, 0
        self.most, self.handlers = 0, set()
        self._processes, self._pending_work_items = {}, {}

    def submit(self, run, job):
        self.handlers.add(signal.getsignal(signal.SIGINT))
        if self.broken:
            raise BrokenProcessPool
        future = Future()
        self.queue.append((future, run, job))
        self.most = max(self.most, len(self.queue))
        return future

    def next(self):
        return self.queue.pop(0)

    def work(self):
        if not self.queue:
            self.idle += 1
            assert self.idle < 5, "the run waits for jobs that nobody was given"
            return
        future, run, job = self.next()
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(run(job))
        except Dies:
            self.broken = True
            for lost, *_ in [(future,), *self.queue]:
                lost.set_exception(BrokenProcessPool())
        except Exception as error:
            future.set_exception(error)

    def shutdown(self, **_):
        self.ended = True


class Workshop:
    """What the jobs of a run do, and what was done.

    Attributes:
        raises: what makes the error that a job raises, by the stage or the id of its first cell.
        beside: how many other jobs were worked at, for each of `jobs`.
    """

    def __init__(self):
        self.pools, self.jobs, self.raises, self.beside = [], [], {}, []

    def hire(self, *arguments):
        self.pools.append(Pool(*arguments))
        return self.pools[-1]

    def wait(self, futures, *_):
        self.pools[-1].work()
        return wait_for(futures, 0)

    def run(self, job):
        """Raise what is to be raised, else leave results: model 1 earns more than model 0."""
        self.jobs.append(job)
        self.beside.append(len(self.pools[-1].queue))
        for task in job.tasks:
            task.folder.mkdir(parents=True, exist_ok=True)
        cell = job.cells[0]
        if error := self.raises.get(cell.id, self.raises.get(cell.stage, lambda: None))():
            raise error
        self.pools[-1].news.put(([cell.id for cell in job.cells], 96))
        for task in job.tasks:
            leave_result(task)

    @property
    def stages(self):
        return [cell.stage for job in self.jobs for cell in job.cells]


def leave_result(task):
    utilities = {opponent.name: 0.5 + task.cell.model / 10 for opponent in task.cell.scored_on}
    write_json(task.folder / RESULT, asdict(result_of(task.cell.id, **utilities)))


class Told:
    """Whoever follows a run."""

    def __init__(self):
        self.steps, self.done, self.failures, self.notes = {}, [], {}, []

    def advanced(self, cell, steps):
        self.steps[cell.id] = steps

    def finished(self, cell, result):
        self.done.append(cell.stage)

    def failed(self, cell, reason):
        self.failures[cell.id] = reason

    def note(self, message):
        self.notes.append(message)


@pytest.fixture
def workshop(monkeypatch):
    workshop = Workshop()
    monkeypatch.setattr(runner, "ProcessPoolExecutor", workshop.hire)
    monkeypatch.setattr(runner, "wait", workshop.wait)
    monkeypatch.setattr(runner, "_run", workshop.run)
    return workshop


@pytest.fixture
def run(tmp_path):
    return fresh(Run.under(toy_plan(tmp_path), tmp_path / "runs"))


@pytest.fixture
def single(tmp_path):
    """A run in which every model is a job of its own."""
    plan = toy_plan(tmp_path, "models = 2", 'models = 2\ntrainer = "manager"')
    return fresh(Run.under(plan, tmp_path / "runs"))


def fresh(run):
    """The run as the next command finds it."""
    again = Run(run.plan, run.folder)
    with again.prepared():
        pass
    return again


def model(run, stage, number):
    return next(cell for cell in run.plan.cells if (cell.stage, cell.model) == (stage, number))


def folders_with_a_result(run):
    return sorted(cell.stage for cell in run.plan.cells if read_result(run.cell_folder(cell.id)))


def once(error):
    """What to raise the first time, and nothing after that."""
    first = [error]
    return lambda: first.pop()() if first else None


def test_every_cell_is_trained_and_reported(run, workshop):
    told = Told()
    outcome = run_plan(run, 2, told)
    assert outcome.results.keys() == told.steps.keys() == run.plan.by_id.keys()
    assert (outcome.failures, told.failures, told.notes) == ({}, {}, [])
    assert sorted(told.done) == sorted(workshop.stages) == list(EVERYONE)
    assert set(told.steps.values()) == {96}
    assert all(pool.ended for pool in workshop.pools)


@pytest.mark.parametrize(("workers", "most"), [(1, 1), (2, 2), (3, 3), (9, 4)])
def test_jobs_are_handed_to_free_workers_only(single, workshop, workers, most):
    """At the beginning four models are ready."""
    run_plan(single, workers, Told())
    assert [pool.most for pool in workshop.pools] == [most]
    assert sorted(workshop.stages) == list(EVERYONE)


def test_fine_tuning_begins_once_it_is_known_from_which_model(run, workshop):
    run_plan(run, 2, Told())
    assert workshop.stages[-2:] == ["finetune", "finetune"]
    best = model(run, "pretrain", 1)
    starts = {cell.stage: task.start for job in workshop.jobs for cell, task in zip(job.cells, job.tasks, strict=True)}
    assert starts == {"baseline": None, "pretrain": None, "finetune": run.cell_folder(best.id)}


def test_what_is_done_is_not_done_again(run, workshop):
    workshop.raises["pretrain"] = once(lambda: OSError("disk full"))
    run_plan(run, 2, Told())
    workshop.jobs.clear()
    outcome = run_plan(fresh(run), 2, Told())
    assert sorted(workshop.stages) == ["finetune", "finetune", "pretrain", "pretrain"]
    assert outcome.results.keys() == run.plan.by_id.keys()


@pytest.mark.usefixtures("workshop")
def test_a_finished_run_hires_nobody(run, monkeypatch):
    expected = run_plan(run, 1, Told()).results
    monkeypatch.setattr(runner, "ProcessPoolExecutor", None)
    assert run_plan(fresh(run), 1, Told()).results == expected


def test_a_failed_job_leaves_its_traceback_and_the_others_go_on(run, workshop):
    workshop.raises["baseline"] = lambda: ZeroDivisionError("by zero")
    told = Told()
    outcome = run_plan(run, 2, told)
    failed = [cell for cell in run.plan.cells if cell.id in outcome.failures]
    assert [cell.stage for cell in failed] == ["baseline", "baseline"]
    assert set(outcome.failures.values()) == {"ZeroDivisionError: by zero"}
    assert told.failures == outcome.failures
    assert "ZeroDivisionError: by zero" in (run.cell_folder(failed[0].id) / "error.txt").read_text("utf-8")
    assert folders_with_a_result(run) == list(EVERYONE[2:])


def test_what_a_failed_job_had_finished_is_kept(run, workshop):
    def first_one_done():
        leave_result(workshop.jobs[-1].tasks[0])
        return OSError("disk full")

    workshop.raises["baseline"] = first_one_done
    told = Told()
    outcome = run_plan(run, 2, told)
    first, second = model(run, "baseline", 0), model(run, "baseline", 1)
    assert outcome.failures == told.failures == {second.id: "OSError: disk full"}
    assert outcome.results.keys() == run.plan.by_id.keys() - {second.id}
    assert not (run.cell_folder(first.id) / "error.txt").exists()
    assert Counter(told.done) == Counter(EVERYONE) - Counter(["baseline"])


def test_what_would_start_from_a_failed_model_fails_with_it(run, workshop):
    workshop.raises["pretrain"] = lambda: OSError("disk full")
    outcome = run_plan(run, 2, Told())
    reasons = {run.plan.by_id[cell].stage: reason for cell, reason in outcome.failures.items()}
    assert reasons == {
        "pretrain": "OSError: disk full",
        "finetune": "a pre-trained model that it could start from failed",
    }
    assert folders_with_a_result(run) == ["baseline", "baseline"]


@pytest.mark.usefixtures("workshop")
def test_a_job_that_fails_before_its_folder_is_made_is_reported_too(run, monkeypatch):
    def refuse(_):
        raise TypeError("cannot be sent to another process")

    monkeypatch.setattr(runner, "_run", refuse)
    assert "TypeError: cannot be sent to another process" in run_plan(run, 2, Told()).failures.values()


@pytest.mark.usefixtures("workshop")
def test_a_job_that_leaves_no_result_has_failed(run, monkeypatch):
    monkeypatch.setattr(runner, "_run", lambda _: None)
    outcome = run_plan(run, 1, Told())
    assert outcome.results == {}
    assert set(outcome.failures.values()) == {
        "it left no result",
        "a pre-trained model that it could start from failed",
    }


def test_what_a_dead_worker_did_is_tried_again(run, workshop):
    workshop.raises["pretrain"] = once(Dies)
    told = Told()
    outcome = run_plan(run, 2, told)
    assert outcome.failures == {}
    assert outcome.results.keys() == run.plan.by_id.keys()
    again = "trying toy · pre-train · known · model 1 and 1 more again from the last checkpoint"
    assert f"a worker died; {again}" in told.notes
    assert len(workshop.pools) == 2


def test_what_was_done_when_a_worker_died_is_kept(run, workshop):
    """The first of two models has its result when the worker dies: only the second one is trained again."""

    def first_one_done():
        leave_result(workshop.jobs[-1].tasks[0])
        return Dies()

    workshop.raises["pretrain"] = once(first_one_done)
    outcome = run_plan(run, 2, Told())
    assert outcome.results.keys() == run.plan.by_id.keys()
    trained = [[cell.model for cell in job.cells] for job in workshop.jobs if job.cells[0].stage == "pretrain"]
    assert trained == [[0, 1], [1]]


def test_who_kills_its_worker_twice_is_given_up(run, workshop):
    workshop.raises["baseline"] = Dies
    outcome = run_plan(run, 1, Told())
    baselines = {cell.id for cell in run.plan.cells if cell.stage == "baseline"}
    assert baselines <= outcome.failures.keys()
    assert {outcome.failures[cell] for cell in baselines} == {
        "its worker died twice (out of memory, killed, or a script without a main guard)"
    }


@pytest.mark.parametrize("workers", [1, 2, 3, 9])
@pytest.mark.parametrize("number", [0, 1])
def test_nobody_else_is_given_up_with_it(single, workshop, workers, number):
    killer = model(single, "baseline", number)
    workshop.raises[killer.id] = Dies
    told = Told()
    outcome = run_plan(single, workers, told)
    assert (
        outcome.failures
        == told.failures
        == {killer.id: "its worker died twice (out of memory, killed, or a script without a main guard)"}
    )
    assert outcome.results.keys() == single.plan.by_id.keys() - {killer.id}
    assert sorted(told.done) == list(EVERYONE[1:])
    assert len(workshop.pools) == 3


LAST_SUSPECT = "once the last suspect is handed over, others are handed over beside it"


@pytest.mark.parametrize("workers", [2, 3])
def test_whoever_was_worked_at_when_a_worker_died_is_tried_again_alone(single, workshop, workers):
    """Pre-training takes longest, so it is handed out first."""
    killer = model(single, "pretrain", 0)
    workshop.raises[killer.id] = Dies
    told = Told()
    run_plan(single, workers, told)
    assert len(told.notes) == workers
    tried = list(zip([job.cells[0].id for job in workshop.jobs], workshop.beside, strict=True))
    assert tried[0] == (killer.id, workers - 1)
    assert tried[1] == (killer.id, 0)
    assert [beside for _, beside in tried[1 : workers + 1]] == [0] * workers
    assert max(Counter(cell for cell, _ in tried if cell != killer.id).values()) == 1
    assert [pool.most for pool in workshop.pools[:2]] == [workers, 1]


def test_two_who_kill_their_workers_are_both_found_out(single, workshop):
    killers = {model(single, "baseline", number).id for number in (0, 1)}
    workshop.raises |= dict.fromkeys(killers, Dies)
    outcome = run_plan(single, 2, Told())
    assert outcome.failures.keys() == killers
    assert outcome.results.keys() == single.plan.by_id.keys() - killers


def test_whoever_is_beside_two_who_kill_their_workers_is_not_given_up(single, workshop, monkeypatch):
    """First beside the one, then beside the other, which each time is quicker."""
    monkeypatch.setattr(Pool, "next", lambda pool: pool.queue.pop(-1 if workshop.pools[1:] else 0))
    killers = {model(single, stage, 0).id for stage in ("pretrain", "baseline")}
    workshop.raises |= dict.fromkeys(killers, Dies)
    outcome = run_plan(single, 2, Told())
    assert model(single, "pretrain", 1).id in outcome.results


@pytest.mark.parametrize("at", range(1, 7))
def test_a_pool_that_breaks_before_a_job_is_handed_over_loses_no_job(single, workshop, monkeypatch, at):
    """The pool is found broken when the first, second, ... job is handed over; nobody is to blame for that."""
    submit, handed_over = Pool.submit, []

    def broken_once(pool, run, job):
        handed_over.append(job)
        pool.broken = len(handed_over) == at
        return submit(pool, run, job)

    monkeypatch.setattr(Pool, "submit", broken_once)
    outcome = run_plan(single, 2, Told())
    assert (outcome.results.keys(), outcome.failures) == (single.plan.by_id.keys(), {})
    assert sorted(workshop.stages) == list(EVERYONE)
    assert len(workshop.pools) == 2


def test_an_interrupt_lets_the_workers_save_and_the_next_run_goes_on(run, workshop):
    class Impatient(Told):
        def finished(self, cell, result):
            super().finished(cell, result)
            raise KeyboardInterrupt

    told = Impatient()
    with pytest.raises(KeyboardInterrupt):
        run_plan(run, 1, told)
    assert told.notes == ["stopping: waiting for the workers to save; the same command goes on from there"]
    assert workshop.pools[-1].ended
    assert run_plan(fresh(run), 1, Told()).results.keys() == run.plan.by_id.keys()


@pytest.mark.parametrize("breaks", [False, True])
def test_ctrl_c_is_deaf_only_while_workers_may_be_starting(run, workshop, monkeypatch, breaks):
    heard = []

    def wait(*arguments):
        heard.append(signal.getsignal(signal.SIGINT))
        return workshop.wait(*arguments)

    monkeypatch.setattr(runner, "wait", wait)
    if breaks:
        workshop.raises["baseline"] = once(Dies)
    before = signal.getsignal(signal.SIGINT)
    run_plan(run, 2, Told())
    assert set(heard) == {before}
    assert signal.getsignal(signal.SIGINT) == before
    assert {handler for pool in workshop.pools for handler in pool.handlers} == {signal.SIG_IGN}


def test_ctrl_c_is_heard_again_when_a_job_cannot_be_handed_over(run, workshop, monkeypatch):
    def refuse(*_):
        raise OSError("no more processes")

    monkeypatch.setattr(Pool, "submit", refuse)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(OSError, match="no more processes"):
        run_plan(run, 2, Told())
    assert signal.getsignal(signal.SIGINT) == before
    assert workshop.pools[-1].ended


def test_a_run_may_be_carried_out_off_the_main_thread(run, workshop):
    """Where Python lets nobody set what Ctrl-C does."""
    before = signal.getsignal(signal.SIGINT)
    with ThreadPoolExecutor(1) as thread:
        outcome = thread.submit(run_plan, run, 2, Told()).result()
    assert outcome.results.keys() == run.plan.by_id.keys()
    assert workshop.pools[0].handlers == {before}


@pytest.mark.parametrize("log_training", [False, True])
def test_training_is_logged_if_asked_for(run, workshop, log_training):
    run_plan(run, 1, Told(), log_training)
    assert {job.log for job in workshop.jobs} == {run.folder / "training" if log_training else None}


@pytest.mark.parametrize("workers", [0, -1])
def test_at_least_one_worker_is_needed(run, workers):
    with pytest.raises(LeagueError) as error:
        run_plan(run, workers, Told())
    assert str(error.value) == f"--workers {workers}: give a whole number of at least 1"

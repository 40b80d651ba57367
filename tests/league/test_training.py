"""What a worker does with a job: a cell's model depends on the cell alone, however it is grouped, stopped or logged."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from negzoo.engine import Negotiations
from negzoo.engine.rng import player_key
from negzoo.envs import NegotiationSettings
from negzoo.files import write_text
from negzoo.league import training as league_training
from negzoo.league.jobs import Job, Task, make_jobs, saved_updates
from negzoo.league.results import CHECKPOINT, ERROR, POLICY, read_result
from negzoo.league.training import Stopped, TrainingLog, run_job
from negzoo.learn.checkpoint import digest_of, load_policy
from negzoo.learn.manager import ManagerTraining
from negzoo.learn.policy import Learner
from negzoo.learn.population import PopulationTraining
from negzoo.opponents import Pool, resolve
from negzoo.trajectories import TrajectoryWriter, open_trajectories
from tests.league.tasks import CELL, task_of, tasks_of
from tests.learn.bargains import TOY, Erratic

SEATS = pytest.mark.parametrize("seat", [0, 1])
POOL = Pool("pool", (resolve("Random"), resolve("TitForTat1"), resolve("Hardliner"), Erratic()))
OPPONENTS = (resolve("Linear"), POOL, Erratic(), resolve("HardHeaded"), resolve("Random"))
ANNEALED = replace(CELL.ppo, learning_rate_end=0.001, entropy_coefficient=0.05, entropy_coefficient_end=0.0)

pytestmark = pytest.mark.filterwarnings("ignore::negzoo.opponents.python.OpponentFault")


def everyone(folder, **changes):
    """A task for each opponent."""
    return [task_of(folder, opponent=opponent, model=model, **changes) for model, opponent in enumerate(OPPONENTS)]


def carry_out(tasks, log=None, stop_after=None):
    """Run a job, and stop it after so many updates; the progress that it reports."""
    told = []
    job = Job(tuple(tasks), log)
    stop = lambda: len(told) == stop_after  # noqa: E731
    if stop_after is None:
        run_job(job, told.append, stop)
    else:
        with pytest.raises(Stopped):
            run_job(job, told.append, stop)
    return told


def policies(tasks):
    return [digest_of(load_policy(task.folder / POLICY)[1]) for task in tasks]


# Finishing


def test_a_finished_job_leaves_the_results_of_its_cells(tmp_path):
    tasks = everyone(tmp_path)
    assert carry_out(tasks) == [32, 64, 96]
    for task in tasks:
        result = read_result(task.folder)
        assert (result.id, result.steps, result.started_from) == (task.cell.id, 96, None)
        assert load_policy(task.folder / POLICY)[0].training["opponent"] == task.cell.opponent.name
        assert not (task.folder / CHECKPOINT).exists()
    assert len(set(policies(tasks))) == len(tasks)


@SEATS
def test_a_cells_model_does_not_depend_on_its_job(tmp_path, seat):
    together, apart = (everyone(tmp_path / name, seat=seat) for name in ("together", "apart"))
    carry_out(together)
    for job in ([4, 1], [2], [3, 0]):
        carry_out([apart[i] for i in job])
    assert policies(apart) == policies(together)


def test_training_starts_from_the_model_that_was_selected(tmp_path):
    (source,) = tasks_of(1, tmp_path)
    carry_out([source])
    cell = replace(CELL, stage="finetune", pool="known", candidates=(source.cell.id,))
    task = Task(cell, tmp_path / cell.id, source.folder)
    carry_out([task])
    assert read_result(task.folder).started_from == source.cell.id
    start = load_policy(source.folder / POLICY)[1]
    training = PopulationTraining(TOY, [Learner(cell.opponent, cell.seed, start)], cell.game, cell.ppo)
    for _ in training.run(cell.steps):
        pass
    assert policies([task]) == [digest_of(training.weights_of(0))]


# Stopping and going on


@SEATS
@pytest.mark.parametrize("ppo", [CELL.ppo, ANNEALED], ids=["constant", "annealed"])
@pytest.mark.parametrize("encoding", ["outcome", "issues"])
def test_stopped_cells_go_on_in_other_jobs_to_the_same_bits(tmp_path, seat, ppo, encoding):
    game = replace(CELL.game, action_encoding=encoding)
    undisturbed, tasks = (
        everyone(tmp_path / name, seat=seat, ppo=ppo, game=game) for name in ("undisturbed", "stopped")
    )
    carry_out(undisturbed)
    carry_out(tasks, stop_after=1)
    carry_out(tasks[1:4], stop_after=1)
    assert [saved_updates(task.folder) for task in tasks] == [1, 2, 2, 2, 1]
    assert not any(read_result(task.folder) for task in tasks)
    jobs = make_jobs(tasks[::-1], 1, None)
    assert [len(job.tasks) for job in jobs] == [2, 3]
    for job in jobs:
        carry_out(job.tasks)
    assert policies(tasks) == policies(undisturbed)
    assert [read_result(task.folder).steps for task in tasks] == [96] * 5


def test_a_cell_that_is_tried_again_has_not_failed_yet(tmp_path):
    (task,) = tasks_of(1, tmp_path)
    write_text(task.folder / ERROR, "OSError: disk full")
    carry_out([task], stop_after=1)
    assert {path.name for path in task.folder.iterdir()} == {CHECKPOINT}


def test_progress_goes_on_where_it_was(tmp_path):
    tasks = tasks_of(2, tmp_path)
    assert carry_out(tasks, stop_after=1) == [32]
    assert carry_out(tasks) == [64, 96]


def test_a_cell_that_was_stopped_after_its_last_update_has_all_its_steps(tmp_path):
    tasks = tasks_of(2, tmp_path)
    carry_out(tasks, stop_after=3)
    carry_out(tasks)
    assert [read_result(task.folder).steps for task in tasks] == [96, 96]


def test_models_are_checkpointed_now_and_then(tmp_path, monkeypatch):
    monkeypatch.setattr(league_training, "CHECKPOINT_SECONDS", -1.0)
    (task,) = tasks_of(1, tmp_path)
    saved = []
    run_job(Job((task,), None), lambda _: saved.append(saved_updates(task.folder)), lambda: False)
    assert saved == [0, 1, 2]
    assert [path.name for path in task.folder.iterdir() if "checkpoint" in path.name] == []


def test_checkpoints_are_not_made_all_the_time(tmp_path):
    (task,) = tasks_of(1, tmp_path)
    saved = []
    run_job(Job((task,), None), lambda _: saved.append((task.folder / CHECKPOINT).exists()), lambda: False)
    assert not any(saved)


@SEATS
def test_the_manager_begins_anew_and_comes_to_the_same_bits(tmp_path, seat):
    (task,) = tasks_of(1, tmp_path, trainer="manager", opponent=POOL, seat=seat)
    carry_out([task], stop_after=1)
    assert saved_updates(task.folder) == 0
    carry_out([task])
    cell = task.cell
    training = ManagerTraining(TOY, POOL, cell.game, cell.ppo, cell.seed, seat)
    steps = list(training.run(cell.steps))[-1]
    assert policies([task]) == [digest_of(training.weights_of())]
    assert read_result(task.folder).steps == steps


# Logging


def logged_training(path, seat, opponents=OPPONENTS, steps=96, game=CELL.game):
    """Train a population and log it; the cells, the training and its negotiations."""
    cells = tuple(replace(CELL, opponent=who, model=i, seat=seat, game=game) for i, who in enumerate(opponents))
    with TrajectoryWriter(path) as writer:
        log = TrainingLog(writer, cells)
        learners = [Learner(cell.opponent, cell.seed) for cell in cells]
        training = PopulationTraining(TOY, learners, game, CELL.ppo, seat)
        log.watch(training)
        for _ in training.run(steps):
            pass
        log.flush()
    with open_trajectories(path) as games:
        return cells, training, list(games)


def numbers_of(games):
    """By model, the numbers of its negotiations in the order in which they were logged."""
    numbers = {}
    for game in games:
        numbers.setdefault(game.model, []).append(game.index)
    return numbers


def begun_before(training, model):
    """The numbers of all negotiations of a model that came before those now at its tables."""
    envs = training.ppo.envs
    now = training.envs.batch.indices[model * envs : (model + 1) * envs]
    return sorted(number for table, last in enumerate(now.tolist()) for number in range(table, last, envs))


@SEATS
@pytest.mark.parametrize("batch", [1, 7, 4096])
def test_every_negotiation_that_ended_is_logged_once(tmp_path, seat, batch, monkeypatch):
    monkeypatch.setattr(league_training, "_LOG_BATCH", batch)
    cells, training, games = logged_training(tmp_path / "log.h5", seat)
    logged = numbers_of(games)
    for model, cell in enumerate(cells):
        assert sorted(logged[cell.id]) == begun_before(training, model)
        assert len(logged[cell.id]) > 5


@SEATS
def test_negotiations_are_logged_with_what_they_were(tmp_path, seat):
    game = replace(CELL.game, swap_profiles=True, clock="genius")
    cells, _, games = logged_training(tmp_path / "log.h5", seat, game=game)
    by_id = {cell.id: cell for cell in cells}
    met = {cell.id: set() for cell in cells}
    for game in games:
        assert (game.stage, game.learner, game.seed) == ("train", seat, by_id[game.model].seed)
        assert (game.clock, game.rounds, game.swapped, game.domain_hash) == ("genius", 4, True, TOY.hash)
        assert game.players[seat] == "learner"
        met[game.model].add(game.players[1 - seat])
    for cell in cells:
        assert met[cell.id] == {member.name for member in cell.opponent.members}


def replies(opponent, game):
    """What an opponent answers in a logged negotiation where `play` would seat it, and what it answered then."""
    table, rows, move = Negotiations(1, game.rounds, game.clock), np.zeros(1, np.int64), np.zeros(1, np.int32)
    seat = opponent.seat(TOY, 1 - game.learner, 1)
    key = player_key(game.seed, 1 - game.learner)
    seat.start(rows, np.array([key]), np.array([game.index], np.uint64))
    answers = []
    for step, made in enumerate(game.moves.tolist()):
        if step % 2 != game.learner:
            seat.reply(rows, table, move)
            answers.append(int(move[0]))
        table.apply(rows, np.array([made], np.int32))
    return answers, game.moves[1 - game.learner :: 2].tolist()


@SEATS
def test_the_opponent_plays_a_logged_negotiation_again_from_its_seed_and_number(tmp_path, seat):
    cells, _, games = logged_training(tmp_path / "log.h5", seat)
    by_id = {cell.id: cell for cell in cells}
    for game in games:
        cell = by_id[game.model]
        who = next(member for member in cell.opponent.members if member.name == game.players[1 - seat])
        for opponent in (who, cell.opponent):
            again, then = replies(opponent, game)
            assert again == then


def test_logging_changes_nothing(tmp_path):
    without, logged = (everyone(tmp_path / name) for name in ("without", "logged"))
    carry_out(without)
    carry_out(logged, tmp_path / "training")
    assert policies(logged) == policies(without)
    with open_trajectories(tmp_path / "training") as games:
        assert set(numbers_of(games)) == {task.cell.id for task in logged}


@SEATS
def test_logging_changes_nothing_for_the_manager_either(tmp_path, seat):
    options = {"trainer": "manager", "opponent": POOL, "seat": seat}
    without, logged = (tasks_of(1, tmp_path / name, **options) for name in ("without", "logged"))
    carry_out(without)
    carry_out(logged, tmp_path / "training")
    assert policies(logged) == policies(without)


def manager_log(folder):
    tasks = tasks_of(1, folder, trainer="manager", opponent=POOL)
    carry_out(tasks, folder / "training")
    with open_trajectories(folder / "training") as games:
        return tasks[0].cell, list(games)


def test_the_manager_logs_every_negotiation_that_ended(tmp_path):
    cell, games = manager_log(tmp_path)
    ended = []
    training = ManagerTraining(
        TOY,
        POOL,
        cell.game,
        cell.ppo,
        cell.seed,
        on_finish=lambda env: ended.append((env.opponent_name, env.negotiations.history(0).tolist())),
    )
    for _ in training.run(cell.steps):
        pass
    assert sorted((game.players[1], game.moves.tolist()) for game in games) == sorted(ended)
    assert {(game.model, game.stage, game.learner) for game in games} == {(cell.id, "train", 0)}


def test_the_managers_negotiations_are_numbered_apart(tmp_path):
    _, games = manager_log(tmp_path)
    assert len({(game.seed, game.index) for game in games}) == len(games)


def moves_logged(folder):
    with open_trajectories(folder) as games:
        return sorted((game.model, game.index, game.players, game.moves.tolist()) for game in games)


@pytest.mark.parametrize("batch", [1, 4096])
def test_the_log_of_a_stopped_job_is_complete(tmp_path, batch, monkeypatch):
    monkeypatch.setattr(league_training, "_LOG_BATCH", batch)
    undisturbed, stopped = (everyone(tmp_path / name) for name in ("undisturbed", "stopped"))
    carry_out(undisturbed, tmp_path / "undisturbed log")
    carry_out(stopped, tmp_path / "stopped log", stop_after=2)
    for tasks in ([stopped[1]], [stopped[0], stopped[4]], stopped[2:4]):
        carry_out(tasks, tmp_path / "stopped log")
    assert moves_logged(tmp_path / "stopped log") == moves_logged(tmp_path / "undisturbed log")


def test_the_log_of_a_stopped_job_holds_nothing_twice(tmp_path):
    tasks = everyone(tmp_path)
    carry_out(tasks, tmp_path / "log", stop_after=2)
    for job in ([tasks[1]], [tasks[0], tasks[4]], tasks[2:4]):
        carry_out(job, tmp_path / "log")
    logged = moves_logged(tmp_path / "log")
    assert logged
    assert all(before[:2] != after[:2] for before, after in pairwise(logged))


def test_the_log_of_a_job_that_died_holds_nothing_twice(tmp_path, monkeypatch):
    monkeypatch.setattr(league_training, "CHECKPOINT_SECONDS", -1.0)
    monkeypatch.setattr(league_training, "_LOG_BATCH", 1)
    tasks = everyone(tmp_path)

    def die(steps):
        if steps == 64:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_job(Job(tuple(tasks), tmp_path / "log"), die, lambda: False)
    assert {saved_updates(task.folder) for task in tasks} == {1}
    carry_out(tasks, tmp_path / "log")
    logged = moves_logged(tmp_path / "log")
    assert all(before[:2] != after[:2] for before, after in pairwise(logged))


def test_a_job_that_is_tried_again_replaces_its_log(tmp_path):
    tasks = everyone(tmp_path)
    carry_out(tasks, tmp_path / "log")
    first = moves_logged(tmp_path / "log")
    carry_out(tasks, tmp_path / "log")
    assert moves_logged(tmp_path / "log") == first


def test_long_negotiations_are_logged_too(tmp_path):
    """Of 40 rounds, most of which run beyond a rollout."""
    game = NegotiationSettings(rounds=40)
    cells, training, games = logged_training(tmp_path / "log.h5", 0, [resolve("Hardliner")], 320, game)
    assert sorted(numbers_of(games)[cells[0].id]) == begun_before(training, 0)
    assert max(len(game.moves) for game in games) > 2 * CELL.ppo.horizon / CELL.ppo.envs

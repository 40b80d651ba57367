"""The vector environment: table by table the AEC environment, and a well-behaved Gymnasium VectorEnv."""

from collections import defaultdict
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from hypothesis import given, settings
from hypothesis import strategies as st

import negzoo
from negzoo.engine import Ending
from negzoo.envs import AGENTS, NegotiationSettings, NegotiationVectorEnv, vector
from negzoo.errors import MoveError, NegzooError, OpponentError, ScenarioError, SettingsError
from negzoo.opponents import Offer, Pool, PythonOpponent, Walk, resolve
from negzoo.opponents.registry import entries
from negzoo.scenario import load
from tests.envs.conftest import scenarios, settings_of

LAPTOP = load("laptop")
SHORT = NegotiationSettings(rounds=4)
SEED = 3
SEATS = pytest.mark.parametrize("seat", [0, 1])
ENCODINGS = pytest.mark.parametrize("encoding", ["outcome", "issues"])


class Fickle(PythonOpponent):
    """Walks away now and then, on the opening move too."""

    def respond(self, view):
        return Walk() if view.rng.random() < 0.3 else Offer(view.best)


POOL = Pool("pool", (resolve("Random"), resolve("AcceptFirst"), Fickle()))
PARAMETERS = {"TimeDependent": "(e=0.3, noise=0.1)", "TitForTat": "(gamma=3)"}
SHIPPED = [
    name + PARAMETERS.get(name, "") for name, entry in entries() if entry.factory.__module__.startswith("negzoo.")
]


# Table by table the AEC environment


class Turn(NamedTuple):
    """What the learner is shown at its turn."""

    observation: list[float]
    mask: list[list[int]]
    member: int


class End(NamedTuple):
    """What it is told at the end."""

    observation: list[float]
    reward: float
    ending: int
    agreement: int
    utility: float


def heads(mask):
    """A mask as a list of lists, one per head."""
    return [head.tolist() for head in (mask if isinstance(mask, tuple) else (mask,))]


def mask_of(info, table):
    mask = info["action_mask"]
    return heads(tuple(head[table] for head in mask) if isinstance(mask, tuple) else mask[table])


def chosen(mask, number, turn):
    """What the learner does at a turn of negotiation `number`: anything legal."""
    rng = np.random.default_rng((number, turn))
    picked = [int(rng.choice(np.flatnonzero(head))) for head in mask]
    return picked if len(picked) > 1 else picked[0]


def negotiated_together(env, seed, steps):
    """By number, the turns and the end of each negotiation that ended."""
    observation, info = env.reset(seed=seed)
    numbers = env.batch.indices.tolist()
    told, finished = defaultdict(list), {}
    for _ in range(steps):
        actions = []
        for i, number in enumerate(numbers):
            mask = mask_of(info, i)
            actions.append(chosen(mask, number, len(told[number])))
            told[number].append(Turn(observation[i].tolist(), mask, int(info["member"][i])))
        observation, rewards, terminations, _, info = env.step(np.array(actions))
        for i in np.flatnonzero(terminations).tolist():
            last = info["final_obs"][i].tolist()
            end = End(last, rewards[i], *(info[key][i].item() for key in ("ending", "agreement", "utility")))
            finished[numbers[i]] = (told[numbers[i]], end)
        numbers = env.batch.indices.tolist()
    return finished


def negotiated_alone(numbers, seat, opponent, scenario, game):
    """The same of the AEC environment: its n-th reset is negotiation n."""
    env = negzoo.env(scenario, opponents={AGENTS[1 - seat]: opponent}, settings=replace(game, mask_in="info"))
    finished = {}
    for number in range(max(numbers) + 1):
        env.reset(seed=SEED if number == 0 else None)
        finished[number] = learner_negotiates(env, AGENTS[seat], number)
    return {number: finished[number] for number in numbers}


def learner_negotiates(env, learner, number):
    turns = []
    while not env.terminations[learner]:
        observation, *_, info = env.last()
        action = info["reply"]
        if env.agent_selection == learner:
            mask = heads(info["action_mask"])
            action = chosen(mask, number, len(turns))
            turns.append(Turn(observation.tolist(), mask, info_of_opponent(env, learner)["member"]))
        env.step(action)
    told = env.infos[learner]
    end = End(env.observe(learner).tolist(), env.rewards[learner], told["ending"], told["agreement"], told["utility"])
    return turns, end


def info_of_opponent(env, learner):
    return env.infos[AGENTS[1 - AGENTS.index(learner)]]


def assert_same_negotiations(seat, opponent, scenario=LAPTOP, game=SHORT, size=3, steps=10):
    env = vector(scenario, opponent, size, learner_seat=seat, settings=game)
    together = negotiated_together(env, SEED, steps)
    assert together == negotiated_alone(together, seat, opponent, scenario, game)
    return together


@SEATS
@ENCODINGS
@pytest.mark.parametrize("opponent", SHIPPED)
def test_every_opponent_plays_as_in_the_aec_environment(opponent, encoding, seat):
    together = assert_same_negotiations(seat, resolve(opponent), game=replace(SHORT, action_encoding=encoding))
    assert together.keys() >= {0, 1, 2}


@SEATS
@ENCODINGS
@pytest.mark.parametrize("opponent", [POOL, Fickle()], ids=["pool", "Python"])
def test_pools_and_python_strategies_play_as_in_the_aec_environment(opponent, encoding, seat):
    together = assert_same_negotiations(seat, opponent, game=replace(SHORT, action_encoding=encoding), steps=15)
    assert len(together) > 6


@SEATS
@given(scenario=scenarios(), game=settings_of(), opponent=st.sampled_from([POOL, resolve("Linear"), Fickle()]))
@settings(max_examples=25)
def test_any_settings_are_those_of_the_aec_environment(seat, scenario, game, opponent):
    assert assert_same_negotiations(seat, opponent, scenario, game, size=2)


# As Gymnasium wants it


def random_steps(env, steps=30, seed=0):
    """What each of some random steps returns."""
    env.action_space.seed(seed)
    for _ in range(steps):
        yield env.step(env.action_space.sample())


@ENCODINGS
def test_spaces_are_those_of_one_table_n_times(encoding):
    env = vector(LAPTOP, POOL, 5, action_encoding=encoding)
    assert isinstance(env, VectorEnv)
    assert env.num_envs == 5
    assert env.observation_space == batch_space(env.single_observation_space, 5)
    assert env.action_space == batch_space(env.single_action_space, 5)
    assert env.single_action_space == env.batch.codec.action_space()
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP


@SEATS
@ENCODINGS
def test_what_it_returns_is_in_its_spaces(encoding, seat):
    env = vector(LAPTOP, POOL, 5, learner_seat=seat, settings=replace(SHORT, action_encoding=encoding))
    observation, _ = env.reset(seed=SEED)
    assert env.observation_space.contains(observation)
    for observation, rewards, terminations, truncations, info in random_steps(env):
        assert env.observation_space.contains(observation)
        assert (rewards.shape, rewards.dtype) == ((5,), np.float64)
        assert terminations.shape == truncations.shape == (5,)
        assert terminations.dtype == truncations.dtype == np.bool_
        assert not truncations.any()
        final = info["final_obs"]
        assert [each is not None for each in final] == terminations.tolist()
        assert all(env.single_observation_space.contains(final[i]) for i in np.flatnonzero(terminations))


@SEATS
def test_infos_have_the_same_keys_and_shapes_always(seat):
    env = vector(LAPTOP, POOL, 5, learner_seat=seat, settings=SHORT)
    _, first = env.reset(seed=SEED)
    assert first.keys() == {"ending", "agreement", "utility", "final_obs", "member", "action_mask"}
    for *_, info in random_steps(env):
        assert info.keys() == first.keys()
        for key, value in info.items():
            assert (value.shape, value.dtype) == (first[key].shape, first[key].dtype), key


@SEATS
def test_what_goes_on_has_no_result_and_what_ended_has_one(seat):
    env = vector(LAPTOP, POOL, 5, learner_seat=seat, settings=SHORT)
    env.reset(seed=SEED)
    endings = set()
    for _, rewards, over, _, info in random_steps(env):
        assert (info["ending"] != Ending.RUNNING).tolist() == over.tolist()
        agreed = info["ending"] == Ending.AGREEMENT
        assert (info["agreement"] >= 0).tolist() == agreed.tolist()
        assert not info["utility"][~agreed].any()
        assert rewards.tolist() == np.where(agreed, info["utility"], np.where(over, -1.0, 0.0)).tolist()
        endings |= set(info["ending"].tolist())
    assert endings >= {Ending.RUNNING, Ending.AGREEMENT, Ending.WALKED}


@SEATS
def test_an_ended_negotiation_starts_anew_in_the_same_step(seat):
    env = vector(LAPTOP, POOL, 5, learner_seat=seat, settings=SHORT)
    env.reset(seed=SEED)
    restarted = 0
    for observation, _, over, _, info in random_steps(env):
        restarted += over.sum()
        assert (observation[over, -1] == np.float32(seat / 8)).all()
        if seat == 0:
            assert not observation[over].any()
            assert (info["action_mask"][over, -1] == 0).all()
        assert all(info["final_obs"][i][-1] > observation[i, -1] for i in np.flatnonzero(over))
    assert restarted > 10


@ENCODINGS
def test_masks_in_the_infos_are_the_legal_actions_now(encoding):
    env = vector(LAPTOP, POOL, 5, settings=replace(SHORT, action_encoding=encoding))
    for *_, info in chain([env.reset(seed=SEED)], random_steps(env, 10)):
        mask = info["action_mask"]
        shapes = [head.shape for head in (mask if encoding == "issues" else (mask,))]
        assert shapes == ([(5, 3), (5, 3), (5, 3), (5, 2)] if encoding == "issues" else [(5, 28)])
        assert str(env.action_masks()) == str(mask)
        accepting = mask[-1][:, 1] if encoding == "issues" else mask[:, -1]
        assert accepting.tolist() == (env.batch.negotiations.step > 0).tolist()


def record(env, seed):
    observation, _ = env.reset(seed=seed)
    return [observation.tolist(), *((seen.tolist(), paid.tolist()) for seen, paid, *_ in random_steps(env))]


def test_a_seed_determines_everything_and_another_one_something_else():
    env = vector(LAPTOP, "Random", 5, settings=SHORT)
    first = record(env, SEED)
    assert record(env, SEED) == first
    assert record(vector(LAPTOP, "Random", 5, settings=SHORT), SEED) == first
    assert record(env, SEED + 1) != first


def test_without_a_seed_the_streams_go_on():
    env = vector(LAPTOP, "Random", 5, settings=SHORT)
    first = record(env, SEED)
    later = record(env, None)
    assert later != first
    assert negotiated_together(env, SEED, 4).keys() <= set(range(20))
    assert min(negotiated_together(env, None, 4)) >= 5


def test_without_any_seed_two_environments_differ():
    assert record(vector(LAPTOP, "Random", 5), None) != record(vector(LAPTOP, "Random", 5), None)


@SEATS
def test_gymnasiums_statistics_wrapper_counts_what_was_paid(seat):
    inner = vector(LAPTOP, POOL, 5, learner_seat=seat, settings=SHORT)
    env, paid, lengths = RecordEpisodeStatistics(inner), [], []
    env.reset(seed=SEED)
    steps = np.zeros(5, int)
    for _, rewards, over, _, info in random_steps(env):
        steps += 1
        if over.any():
            assert info["_episode"].tolist() == over.tolist()
            assert info["episode"]["r"][over].tolist() == pytest.approx(rewards[over].tolist())
            assert info["episode"]["l"][over].tolist() == steps[over].tolist()
        paid += rewards[over].tolist()
        lengths += steps[over].tolist()
        steps[over] = 0
    assert list(env.return_queue) == pytest.approx(paid)
    assert list(env.length_queue) == lengths


def test_it_can_be_closed():
    env = vector(LAPTOP, "Linear", 2)
    env.reset(seed=0)
    env.close()


# What is refused


@pytest.fixture
def env():
    env = vector(LAPTOP, "Linear", 3, settings=SHORT)
    env.reset(seed=SEED)
    return env


@pytest.mark.parametrize(
    "actions", [[0, 1], [0, 1, 28], [-1, 0, 0], [0.0, 1.0, 2.0], [[0, 1, 2]], 0, None, "abc", [True, False, True]]
)
def test_actions_outside_of_the_space_are_refused_and_nothing_moves(env, actions):
    with pytest.raises(MoveError) as error:
        env.step(actions)
    assert str(error.value).startswith(f"laptop: actions {actions!r} are not in ")
    assert (env.batch.negotiations.step == 0).all()


def test_a_ragged_list_of_actions_is_refused(env):
    with pytest.raises(MoveError):
        env.step([[0], [1, 2], [3]])


def test_a_refusal_is_one_line_however_many_tables_there_are():
    env = vector(LAPTOP, "Linear", 100, settings=SHORT)
    env.reset(seed=SEED)
    with pytest.raises(MoveError) as error:
        env.step(np.full(100, 28))
    assert "\n" not in str(error.value)


def test_actions_of_any_integer_type_are_taken(env):
    for kind in (np.int8, np.uint16, np.int64):
        env.step(np.zeros(3, kind))
    env.step([0, 1, 2])


def test_a_step_before_the_first_reset_is_refused():
    with pytest.raises(Exception, match="reset"):
        vector(LAPTOP, "Linear", 3).step(np.zeros(3, np.int64))


@pytest.mark.parametrize("seat", [2, -1, "player_0", None])
def test_a_seat_that_is_none_is_told(seat):
    with pytest.raises(SettingsError) as error:
        vector(LAPTOP, "Linear", 3, learner_seat=seat)
    assert str(error.value) == f"learner_seat = {seat!r}: give 0 (opens) or 1"


def test_it_needs_a_table():
    with pytest.raises(SettingsError, match="give a whole number of at least 1"):
        vector(LAPTOP, "Linear", 0)


@pytest.mark.parametrize("size", [-1, 2.5, "3", None])
def test_a_number_of_tables_that_is_none_is_told(size):
    with pytest.raises(SettingsError):
        vector(LAPTOP, "Linear", size)


@pytest.mark.parametrize(
    ("arguments", "options", "error"),
    [
        (("latop",), {}, ScenarioError),
        (("laptop", "Linaer"), {}, OpponentError),
        (("laptop", "Linear", 3), {"rounds": 0}, SettingsError),
        (("laptop", "Linear", 3), {"roundz": 4}, SettingsError),
    ],
)
def test_what_cannot_be_used_is_told(arguments, options, error):
    with pytest.raises(error):
        NegotiationVectorEnv(*arguments, **options)
    assert issubclass(error, NegzooError)


@pytest.mark.parametrize("seed", [-1, 1.5, "1"])
def test_a_seed_that_is_none_is_told(env, seed):
    with pytest.raises(SettingsError):
        env.reset(seed=seed)

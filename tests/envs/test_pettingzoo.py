"""The checks that PettingZoo ships, and the wrappers of PettingZoo and SuperSuit that people put on an environment."""

import numpy as np
import pytest
import supersuit
from pettingzoo.test import api_test, parallel_api_test, render_test, seed_test
from pettingzoo.test.state_test import state_test
from pettingzoo.utils.conversions import aec_to_parallel, turn_based_aec_to_parallel
from pettingzoo.utils.wrappers import TerminateIllegalWrapper

import negzoo
from negzoo.scenario import names

ENCODINGS = ("outcome", "issues")

everywhere = pytest.mark.parametrize(
    ("domain", "encoding"), [(domain, encoding) for domain in names() for encoding in ENCODINGS]
)
mask_places = pytest.mark.parametrize("mask_in", ["observation", "info"])

# Their warnings fail these tests, but for what api_test says of every environment with a mask in a dict observation, or
# with a MultiDiscrete action space, or that opens at time 0 before any offer.
pytestmark = [
    pytest.mark.filterwarnings(filter)
    for filter in (
        "error:::pettingzoo",
        "error:::gymnasium",
        "ignore:Observation is not a NumPy array$:UserWarning",
        "ignore:Observation space for each agent probably should be gymnasium.spaces.box:UserWarning",
        "ignore:Action space for each agent probably should be gymnasium.spaces.box:UserWarning",
        "ignore:Observation numpy array is all zeros.$:UserWarning",
    )
]


def seeded(domain="laptop", **options):
    """An environment whose action spaces sample the same in every run."""
    env = negzoo.env(domain, **options)
    for number, agent in enumerate(env.possible_agents):
        env.action_space(agent).seed(number)
    return env


# What PettingZoo checks


@everywhere
def test_api(domain, encoding):
    api_test(seeded(domain, action_encoding=encoding), num_cycles=100)


@everywhere
def test_seeds(domain, encoding):
    seed_test(lambda: negzoo.env(domain, action_encoding=encoding), num_cycles=100)


@pytest.mark.parametrize("opponent", ["Random", "Linear"])
def test_seeds_of_a_seated_opponent(opponent):
    seed_test(lambda: negzoo.env(opponents={"player_1": opponent}), num_cycles=100)


@everywhere
def test_rendering(domain, encoding):
    render_test(lambda render_mode: seeded(domain, action_encoding=encoding, render_mode=render_mode))


@everywhere
def test_state(domain, encoding):
    env = seeded(domain, action_encoding=encoding)
    state_test(env, turn_based_aec_to_parallel(env), num_cycles=100)


@everywhere
def test_parallel_api_turn_by_turn(domain, encoding):
    parallel_api_test(turn_based_aec_to_parallel(seeded(domain, action_encoding=encoding)), num_cycles=100)


@mask_places
def test_api_with_opponents_in_both_seats(mask_in):
    api_test(seeded(opponents={"player_0": "Linear", "player_1": "Random"}, mask_in=mask_in), num_cycles=100)


def test_simultaneous_moves_are_refused():
    """Players take turns, so they cannot be stepped in parallel."""
    with pytest.raises(AssertionError, match="is_parallelizable"):
        aec_to_parallel(negzoo.env())


# Illegal moves


@pytest.mark.parametrize("domain", names())
@mask_places
def test_api_where_illegal_moves_terminate(domain, mask_in):
    api_test(TerminateIllegalWrapper(seeded(domain, mask_in=mask_in), illegal_reward=-1), num_cycles=100)


@mask_places
def test_accepting_on_the_opening_move_is_illegal(mask_in, caplog):
    env = TerminateIllegalWrapper(negzoo.env(mask_in=mask_in), illegal_reward=-5)
    env.reset()
    env.step(27)
    assert "Illegal move made" in caplog.text
    assert env.rewards == {"player_0": -5, "player_1": 0}
    assert all(env.terminations.values())


@mask_places
def test_accepting_an_offer_is_legal(mask_in):
    env = TerminateIllegalWrapper(negzoo.env(mask_in=mask_in), illegal_reward=-5)
    env.reset()
    for action in (3, 27):
        env.step(action)
    assert env.unwrapped.agreement == 3


# SuperSuit


WRAPPERS = {
    "frame_stack": (lambda env: supersuit.frame_stack_v1(env, 3), (111,)),
    "dtype": (lambda env: supersuit.dtype_v0(env, np.float64), (37,)),
    "normalize_obs": (lambda env: supersuit.normalize_obs_v0(env, -1, 1), (37,)),
    "agent_indicator": (supersuit.agent_indicator_v0, (39,)),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_api_with_a_wrapper_of_supersuit(wrapper, encoding):
    wrap, shape = WRAPPERS[wrapper]
    env = wrap(seeded(action_encoding=encoding, mask_in="info"))
    assert env.observation_space("player_0").shape == shape
    api_test(env, num_cycles=100)


def after_two_offers(env):
    env.reset()
    env.step(3)
    env.step(4)
    observation, _, _, _, info = env.last()
    return observation, info["action_mask"]


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_wrapper_of_supersuit_changes_observations_and_leaves_masks(wrapper):
    plain, plain_mask = after_two_offers(negzoo.env(mask_in="info"))
    seen, mask = after_two_offers(WRAPPERS[wrapper][0](negzoo.env(mask_in="info")))
    opening = np.zeros(37)
    expected = {
        "frame_stack": np.concatenate((np.zeros(37), opening, plain)),
        "dtype": plain.astype(np.float64),
        "normalize_obs": 2 * plain - 1,
        "agent_indicator": np.append(plain, [1, 0]),
    }[wrapper]
    assert np.array_equal(seen, expected)
    assert np.array_equal(mask, plain_mask)

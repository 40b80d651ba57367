"""Wherever an opponent plays, it plays the same: in the AEC environment, the vector environment and the manager."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tianshou.data import Batch

from negzoo.envs import AGENTS, NegotiationEnv, NegotiationVectorEnv
from negzoo.learn.manager import FixedPolicy, TurnBasedEnv
from negzoo.opponents import LINEAGES, resolve
from tests.envs.conftest import scenarios

THIRTEEN = (
    *(f"Boulware{i}" for i in (1, 2, 3)),
    "Linear",
    *(f"Conceder{i}" for i in (1, 2, 3)),
    *("TitForTat1", "TitForTat2", "AgentK", "HardHeaded", "Atlas3", "AgentGG"),
)
ROUNDS, SEED = 12, 5

opponents = st.builds(resolve, st.sampled_from(THIRTEEN), st.sampled_from(LINEAGES))


def in_the_aec_environment(scenario, opponent, seat, script, episode):
    """All moves of the `episode`-th negotiation after the seed, the partner offering its script."""
    env = NegotiationEnv(scenario, opponents={AGENTS[1 - seat]: opponent}, rounds=ROUNDS)
    env.reset(seed=SEED)
    for _ in range(episode):
        env.reset()
    while not env.terminations[AGENTS[0]]:
        mine = env.agent_selection == AGENTS[seat]
        env.step(script[env.round - 1] if mine else env.infos[env.agent_selection]["reply"])
    return env.negotiations.history(0).tolist()


def in_the_vector_environment(scenario, opponent, seat, script, episode):
    env = NegotiationVectorEnv(scenario, opponent, 1, learner_seat=seat, rounds=ROUNDS)
    env.reset(seed=SEED)
    finished = {}
    env.batch.on_finish = lambda _: finished.update(
        {int(env.batch.indices[0]): env.batch.negotiations.history(0).tolist()}
    )
    while episode not in finished:
        env.step(np.array([script[int(env.batch.negotiations.step[0]) // 2]]))
    return finished[episode]


def under_the_manager(scenario, opponent, seat, script):
    """The first negotiation that Tianshou sees, and its number."""
    finished = []
    inner = NegotiationEnv(scenario, opponents={AGENTS[1 - seat]: opponent}, rounds=ROUNDS, mask_in="info")
    env = TurnBasedEnv(inner, SEED, finished.append)
    policy = FixedPolicy(inner.action_space(AGENTS[0]))
    observation, info = env.reset()
    while not finished:
        mine = observation["agent_id"] == AGENTS[seat]
        action = script[inner.round - 1] if mine else policy(Batch(info=Batch([info]))).act[0]
        observation, _, _, _, info = env.step(action)
    return inner.negotiations.history(0).tolist(), inner.episode


@pytest.mark.parametrize("seat", [0, 1])
@given(
    scenario=scenarios(), opponent=opponents, draws=st.lists(st.integers(0, 2**30), min_size=ROUNDS, max_size=ROUNDS)
)
@settings(max_examples=60)
def test_an_opponent_makes_the_same_moves_everywhere(seat, scenario, opponent, draws):
    script = [draw % scenario.size for draw in draws]
    moves, episode = under_the_manager(scenario, opponent, seat, script)
    assert in_the_aec_environment(scenario, opponent, seat, script, episode) == moves
    assert in_the_vector_environment(scenario, opponent, seat, script, episode) == moves

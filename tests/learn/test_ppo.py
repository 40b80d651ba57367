"""Tianshou's PPO over our networks does what Table 2 says: one update, against the same written out by hand."""

import copy

import numpy as np
import pytest
import torch
from tianshou.data import Batch
from torch.nn.functional import mse_loss

from negzoo.envs import Codec, NegotiationSettings
from negzoo.errors import SettingsError
from negzoo.learn.manager import FoldedTurns, copy_weights
from negzoo.learn.network import action_distribution
from negzoo.learn.ppo import available_device, build_ppo
from negzoo.learn.settings import PPOSettings
from tests.learn.bargains import TOY

TURNS = 48
SETTINGS = PPOSettings(hidden=(8, 8), minibatch=TURNS, epochs=3, learning_rate=0.01, entropy_coefficient=0.02)


def learner(encoding, settings=SETTINGS):
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return build_ppo(Codec(TOY, NegotiationSettings(action_encoding=encoding)), settings)


def some_turns(ppo):
    """Turns of negotiations that end after 1 to 4 turns; the last one is cut in the middle of its negotiation."""
    rng = np.random.default_rng(0)
    shape = ppo.policy.actor.interface
    seen = rng.random((2, TURNS, shape.length), np.float32)
    done = rng.random(TURNS) < 0.4
    done[-1] = False
    acts = np.stack([rng.integers(size, size=TURNS) for size in shape.heads], axis=1)
    turns = Batch(
        obs=seen[0],
        act=acts[:, 0] if len(shape.heads) == 1 else acts,
        rew=np.where(done, rng.uniform(-1, 1, TURNS), 0.0),
        terminated=done,
        truncated=np.zeros(TURNS, bool),
        done=done,
        obs_next=seen[1],
        info=Batch(),
    )
    return FoldedTurns(turns, np.arange(TURNS) == TURNS - 1)


@torch.no_grad()
def advantages_by_hand(critic, turns, gamma, lam):
    """Generalised advantage estimation, one negotiation at a time, from its last turn."""
    value, following = critic(turns.obs)[:, 0], critic(turns.obs_next)[:, 0]
    advantages, later = torch.zeros(TURNS), 0.0
    for i in reversed(range(TURNS)):
        if turns.done[i] or i == TURNS - 1:
            later = 0.0
        bootstrap = 0.0 if turns.done[i] else gamma * following[i]
        later = turns.rew[i] + bootstrap - value[i] + gamma * lam * later
        advantages[i] = later
    return advantages, advantages + value


def update_by_hand(actor, critic, turns, settings):
    """Whole-batch PPO: clipped ratio, value and entropy terms, one clipped Adam step per epoch."""

    def distribution():
        return action_distribution(actor(turns.obs)[0], actor.interface.heads)

    acts = torch.as_tensor(turns.act)
    advantages, returns = advantages_by_hand(critic, turns, settings.gamma, settings.gae_lambda)
    normalised = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    before = distribution().log_prob(acts).detach()
    parameters = [*actor.parameters(), *critic.parameters()]
    adam = torch.optim.Adam(parameters, settings.learning_rate, eps=settings.adam_epsilon)
    for _ in range(settings.epochs):
        ratio = torch.exp(distribution().log_prob(acts) - before)
        clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
        gain = torch.minimum(ratio * normalised, clipped * normalised).mean()
        value_loss = mse_loss(critic(turns.obs)[:, 0], returns)
        entropy = distribution().entropy().mean()
        adam.zero_grad()
        (settings.value_coefficient * value_loss - gain - settings.entropy_coefficient * entropy).backward()
        torch.nn.utils.clip_grad_norm_(parameters, settings.max_gradient_norm)
        adam.step()


@pytest.mark.parametrize("encoding", ["outcome", "issues"])
def test_an_update_is_the_one_written_out_by_hand(encoding):
    ppo = learner(encoding)
    folded = some_turns(ppo)
    start = copy_weights(ppo)
    actor, critic = copy.deepcopy(ppo.policy.actor), copy.deepcopy(ppo.critic)
    update_by_hand(actor, critic, folded.batch, SETTINGS)

    prepared = ppo._preprocess_batch(copy.deepcopy(folded.batch), folded, np.arange(TURNS))
    ppo._update_with_batch(prepared, SETTINGS.minibatch, SETTINGS.epochs)

    by_hand = {f"actor.{k}": v for k, v in actor.state_dict().items()}
    by_hand |= {f"critic.{k}": v for k, v in critic.state_dict().items()}
    for key, weight in copy_weights(ppo).items():
        assert torch.allclose(weight, by_hand[key], atol=2e-6), key
        assert not torch.allclose(weight, start[key], atol=1e-3), key


def test_advantages_do_not_run_from_one_negotiation_into_the_next_nor_beyond_the_cut():
    ppo = learner("outcome")
    folded = some_turns(ppo)
    by_hand, returns = advantages_by_hand(ppo.critic, folded.batch, SETTINGS.gamma, SETTINGS.gae_lambda)
    prepared = ppo._preprocess_batch(folded.batch, folded, np.arange(TURNS))
    assert torch.allclose(prepared.adv, by_hand, atol=1e-6)
    assert torch.allclose(prepared.returns, returns, atol=1e-6)


def test_weights_come_from_torchs_generator():
    first, again = copy_weights(learner("outcome")), copy_weights(learner("outcome"))
    assert all(torch.equal(first[key], again[key]) for key in first)


def test_the_cpu_is_always_there():
    assert available_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize("name", ["cuda:99", "tpu", "", "cpu:x"])
def test_a_device_that_is_not_here_is_told_in_one_line(name):
    with pytest.raises(SettingsError) as error:
        learner("outcome", PPOSettings(device=name))
    assert str(error.value).startswith(f'device = "{name}" cannot be used here (')
    assert str(error.value).endswith('); use "cpu"')
    assert "\n" not in str(error.value)

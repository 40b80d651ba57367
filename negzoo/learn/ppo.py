"""Tianshou's PPO over our networks."""

from functools import partial
from typing import Any, cast

import torch
from tianshou.algorithm.modelfree.ppo import PPO
from tianshou.algorithm.modelfree.reinforce import ProbabilisticActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory

from negzoo.envs import Codec
from negzoo.errors import SettingsError
from negzoo.learn.network import Actor, Critic, Interface, action_distribution
from negzoo.learn.settings import PPOSettings


def build_ppo(codec: Codec, settings: PPOSettings) -> PPO:
    """A PPO learner for a codec's observations and actions, initialised from torch's global generator.

    Raises:
        SettingsError: the device does not exist here.
    """
    device = available_device(settings.device)
    interface = Interface.of(codec)
    policy = ProbabilisticActorPolicy(
        actor=cast(Any, Actor(interface, settings.hidden).to(device)),
        dist_fn=partial(action_distribution, heads=interface.heads),
        action_space=codec.action_space(),
        observation_space=codec.observation_space(),
        action_scaling=False,
        action_bound_method=None,
    )
    return PPO(
        policy=policy,
        critic=Critic(interface, settings.hidden).to(device),
        optim=AdamOptimizerFactory(lr=settings.learning_rate, eps=settings.adam_epsilon),
        eps_clip=settings.clip,
        vf_coef=settings.value_coefficient,
        ent_coef=settings.entropy_coefficient,
        max_grad_norm=settings.max_gradient_norm,
        advantage_normalization=settings.normalise_advantages,
        gae_lambda=settings.gae_lambda,
        gamma=settings.gamma,
        max_batchsize=4096,
    )


def available_device(name: str) -> torch.device:
    """The torch device of that name.

    Raises:
        SettingsError: there is no such device, or it cannot be used here.
    """
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise SettingsError(f'device = "{name}" cannot be used here ({reason}); use "cpu"') from None
    return device

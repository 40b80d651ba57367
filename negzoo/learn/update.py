"""PPO's updates of a population: epochs of minibatches over a rollout, chunk by chunk.

A chunk makes all its gradient steps before the next one begins, so that its weights and steps stay in the processor's
cache. Each model shuffles its steps from a stream of its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from tianshou.algorithm.algorithm_base import OnPolicyAlgorithm, TrainingStats
from torch import Tensor

from negzoo.learn.objective import Minibatch, logits_slope, normalised, values_slope
from negzoo.learn.policy import PopulationPolicy
from negzoo.learn.rollout import Rollout, permutations
from negzoo.learn.settings import PPOSettings
from negzoo.learn.stacked import Stack


@dataclass(frozen=True)
class Steps:
    """The steps of a rollout as PPO learns from them: tensors [C, n, ...] in the order of Minibatch."""

    normalise: bool
    observation: Tensor
    action: Tensor
    opening: Tensor
    advantage: Tensor
    target: Tensor
    log_prob: Tensor

    @classmethod
    def of(cls, rollout: Rollout, settings: PPOSettings) -> "Steps":
        advantage, target = rollout.advantages(settings.gamma, settings.gae_lambda)
        parts = (rollout.observation, rollout.action, rollout.opening, advantage, target, rollout.log_prob)
        return cls(settings.normalise_advantages, *(part.flatten(1, 2) for part in parts))

    @property
    def count(self) -> int:
        return self.advantage.shape[1]

    @cached_property
    def _parts(self) -> list[Tensor]:
        return [getattr(self, field.name) for field in fields(self)[1:]]

    def part(self, models: slice) -> "Steps":
        return Steps(self.normalise, *(part[models] for part in self._parts))

    def shuffled(self, order: Tensor) -> "Steps":
        """Each model's steps in the order int64 [C, n]."""
        models = torch.arange(len(order), device=order.device)[:, None]
        return Steps(self.normalise, *(part[models, order] for part in self._parts))

    def minibatches(self, size: int) -> Iterator[Minibatch]:
        """Slices of `size` steps; what is left over joins the last one, as Tianshou does it."""
        count = max(self.count // size, 1)
        for i in range(count):
            piece = slice(i * size, (i + 1) * size if i < count - 1 else self.count)
            observation, action, opening, advantage, target, log_prob = (part[:, piece] for part in self._parts)
            adjusted = normalised(advantage) if self.normalise else advantage
            yield Minibatch(observation, action, opening, adjusted, target, log_prob)


class PopulationPPO(OnPolicyAlgorithm[PopulationPolicy]):
    """PPO for every model of a population."""

    def __init__(self, policy: PopulationPolicy) -> None:
        super().__init__(policy=policy)
        self.settings = policy.settings
        self.updates = 0
        self.total_steps = 0
        self._keys = policy.sampling_keys

    def _update_with_batch(self, batch: Any, batch_size: int | None, repeat: int) -> TrainingStats:
        raise AssertionError("update() takes the block itself")

    @property
    def gradient_steps(self) -> int:
        """How many gradient steps each model has made."""
        return self.updates * self.settings.epochs * max(self.settings.horizon // self.settings.minibatch, 1)

    def update(self, buffer: Any, batch_size: int | None, repeat: int) -> TrainingStats:
        """Learn from a rollout: `repeat` epochs of minibatches of `batch_size` steps per model."""
        rollout = cast(Rollout, buffer)
        steps = Steps.of(rollout, self.settings)
        chunk = self.policy.chunk
        with torch.no_grad():
            for i, stack in enumerate(self.policy.stacks):
                share = slice(i * chunk, (i + 1) * chunk)
                self._update_stack(stack, steps.part(share), self._keys[share], batch_size or len(rollout), repeat)
        self.updates += 1
        return TrainingStats()

    def _update_stack(self, stack: Stack, steps: Steps, keys: NDArray[np.uint64], batch_size: int, repeat: int) -> None:
        for epoch in range(repeat):
            order = permutations(keys, self.updates * repeat + epoch, steps.count)
            shuffled = steps.shuffled(torch.as_tensor(order, device=stack.device))
            for minibatch in shuffled.minibatches(batch_size):
                self._gradient_step(stack, minibatch)

    def _gradient_step(self, stack: Stack, batch: Minibatch) -> None:
        settings, interface = self.settings, stack.interface
        progress = self.updates * settings.horizon / max(self.total_steps, 1)
        seen = stack(batch.observation)
        values = values_slope(seen.values, batch.target, settings.value_coefficient)
        entropy = settings.entropy_coefficient_at(progress)
        logits = logits_slope(seen.logits, batch, interface.heads, interface.accept, settings.clip, entropy)
        stack.backward(seen, logits, values)
        stack.clip(settings.max_gradient_norm)
        stack.adam(settings.learning_rate_at(progress), settings.adam_epsilon)

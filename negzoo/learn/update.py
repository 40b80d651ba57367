"""PPO's updates of a population: epochs of minibatches over a rollout, chunk by chunk.

A chunk makes all its gradient steps before the next one begins, so that its weights and steps stay in the processor's
cache. Each model shuffles its steps from a stream of its own.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from tianshou.algorithm.algorithm_base import OnPolicyAlgorithm, TrainingStats

from negzoo.learn.objective import Steps, logits_slope, normalised, values_slope
from negzoo.learn.policy import PopulationPolicy
from negzoo.learn.rollout import Rollout, permutations
from negzoo.learn.stacked import Stack


def steps_of(rollout: Rollout, gamma: float, gae_lambda: float) -> Steps:
    """The steps of a rollout as PPO learns from them: tensors [models, n, ...]."""
    advantage, target = rollout.advantages(gamma, gae_lambda)
    parts = (rollout.observation, rollout.action, rollout.opening, advantage, target, rollout.log_prob)
    return Steps(*(part.flatten(1, 2) for part in parts))


def minibatches(steps: Steps, size: int) -> Iterator[Steps]:
    """Slices of `size` steps; what is left over joins the last one, as Tianshou does it."""
    total = steps.advantage.shape[1]
    count = max(total // size, 1)
    for i in range(count):
        piece = slice(i * size, (i + 1) * size if i < count - 1 else total)
        yield steps[:, piece]


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
        steps = steps_of(rollout, self.settings.gamma, self.settings.gae_lambda)
        chunk = self.policy.chunk
        with torch.no_grad():
            for i, stack in enumerate(self.policy.stacks):
                share = slice(i * chunk, (i + 1) * chunk)
                self._update_stack(stack, steps[share], self._keys[share], batch_size or len(rollout), repeat)
        self.updates += 1
        return TrainingStats()

    def _update_stack(self, stack: Stack, steps: Steps, keys: NDArray[np.uint64], batch_size: int, repeat: int) -> None:
        models = torch.arange(len(keys), device=stack.device)[:, None]
        for epoch in range(repeat):
            drawn = permutations(keys, self.updates * repeat + epoch, steps.advantage.shape[1])
            order = torch.as_tensor(drawn, device=stack.device)
            for minibatch in minibatches(steps[models, order], batch_size):
                self._gradient_step(stack, minibatch)

    def _gradient_step(self, stack: Stack, batch: Steps) -> None:
        settings, interface = self.settings, stack.interface
        if settings.normalise_advantages:
            batch = replace(batch, advantage=normalised(batch.advantage))
        progress = self.updates * settings.horizon / max(self.total_steps, 1)
        seen = stack(batch.observation)
        values = values_slope(seen.values, batch.target, settings.value_coefficient)
        entropy = settings.entropy_coefficient_at(progress)
        logits = logits_slope(seen.logits, batch, interface.heads, interface.accept, settings.clip, entropy)
        stack.backward(seen, logits, values)
        stack.clip(settings.max_gradient_norm)
        stack.adam(settings.learning_rate_at(progress), settings.adam_epsilon)

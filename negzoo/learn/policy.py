"""The models of a population, and the policy of all of them, stacked in chunks of a fixed size."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, cast

import numpy as np
import torch
from tianshou.algorithm.algorithm_base import Policy
from tianshou.data import Batch
from torch import Tensor, nn

from negzoo.engine.rng import derive_key
from negzoo.envs.codec import Codec
from negzoo.learn.network import Interface
from negzoo.learn.objective import masked_, split_heads
from negzoo.learn.ppo import available_device
from negzoo.learn.settings import PPOSettings
from negzoo.learn.stacked import Activations, ModelState, Stack, fresh_weights
from negzoo.opponents import Opponent

_WEIGHTS_LANE, _SAMPLING_LANE = 2, 3
"""Lanes of a learner's seed; 0 and 1 are the players'."""


def chunk_size(interface: Interface, settings: PPOSettings) -> int:
    """How many models are updated together: as many as keep the processor's cache, or as the settings say."""
    if settings.chunk:
        return settings.chunk
    return 5 if interface.logits < 1024 else 2


@dataclass(frozen=True)
class Learner:
    """One model of a population.

    Attributes:
        opponent: who sits across; a pool draws a member per negotiation.
        seed: determines everything: weights, games and sampling.
        initial: weights to start from instead of fresh ones.
    """

    opponent: Opponent
    seed: int
    initial: dict[str, Tensor] | None = None

    @property
    def weights_key(self) -> np.uint64:
        """The key of its fresh weights."""
        return derive_key(self.seed, _WEIGHTS_LANE)

    @property
    def sampling_key(self) -> np.uint64:
        """The key of the actions that it draws and of the orders that it learns in."""
        return derive_key(self.seed, _SAMPLING_LANE)


class PopulationPolicy(Policy):
    """The stacked policies; environment i belongs to model i // envs."""

    def __init__(self, codec: Codec, settings: PPOSettings, learners: Sequence[Learner]) -> None:
        super().__init__(codec.action_space(), codec.observation_space(), False, None)
        self.interface = Interface.of(codec)
        self.settings, self.models = settings, len(learners)
        self.chunk = chunk_size(self.interface, settings)
        device = available_device(settings.device)
        count = ceil(self.models / self.chunk)
        stacks = [Stack(self.interface, settings.hidden, self.chunk, device) for _ in range(count)]
        self.stacks = cast(Sequence[Stack], nn.ModuleList(stacks))
        for i, learner in enumerate(learners):
            state = ModelState.fresh(learner.initial or self._fresh(learner))
            self.stacks[i // self.chunk].put(i % self.chunk, state)
        self.sampling_keys = np.zeros(self.padded_models, np.uint64)
        self.sampling_keys[: self.models] = [learner.sampling_key for learner in learners]

    def _fresh(self, learner: Learner) -> dict[str, Tensor]:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(learner.weights_key))
            return fresh_weights(self.interface, self.settings.hidden)

    @staticmethod
    def _compile() -> None:
        """Nothing of Tianshou's compiled code is used."""

    @property
    def padded_models(self) -> int:
        """How many models the stacks have room for."""
        return self.chunk * len(self.stacks)

    def state(self, model: int) -> ModelState:
        """A copy of one model."""
        return self.stacks[model // self.chunk].get(model % self.chunk)

    def restore(self, model: int, state: ModelState, updates: int) -> None:
        """Put a copy back; `updates` is how many gradient steps it has made."""
        stack = self.stacks[model // self.chunk]
        stack.put(model % self.chunk, state)
        stack.updates.fill_(updates)

    def look(self, observation: Tensor) -> Iterator[Activations]:
        """The forward pass of each stack on its share of padded observations [padded models, E, inputs]."""
        for stack, share in zip(self.stacks, torch.split(observation, self.chunk), strict=True):
            yield stack(share)

    def probabilities(self, logits: Tensor, opening: Tensor) -> tuple[Tensor, ...]:
        """Each head's probabilities, accepting masked where no offer stands."""
        return tuple(torch.softmax(view, -1) for view in self.masked_heads(logits, opening))

    def masked_heads(self, logits: Tensor, opening: Tensor) -> tuple[Tensor, ...]:
        """Each head's logits, accepting masked in place where no offer stands."""
        return split_heads(masked_(logits, opening, self.interface.accept), self.interface.heads)

    @torch.no_grad()
    def forward(self, batch: Any, state: Any = None, **_: Any) -> Batch:
        """Greedy actions for observations [models * envs, length], in the order of the environments."""
        observation = torch.as_tensor(np.asarray(batch.obs), device=self.stacks[0].device)
        rows = observation.reshape(self.models, -1, self.interface.length)
        room = torch.zeros((self.padded_models - self.models, *rows.shape[1:]), device=rows.device)
        everyone = torch.cat([rows, room])
        opening = self.opening(everyone)
        heads = [
            torch.stack([view.argmax(-1) for view in self.masked_heads(seen.logits, masked)], -1)
            for seen, masked in zip(
                self.look(self.stacks[0].pad(everyone)), torch.split(opening, self.chunk), strict=True
            )
        ]
        actions = torch.cat(heads)[: self.models].reshape(len(observation), -1)
        return Batch(act=(actions[:, 0] if actions.shape[1] == 1 else actions).cpu().numpy(), state=state)

    def opening(self, observation: Tensor) -> Tensor:
        """bool [...]: where accepting is masked, from observations [..., length or inputs]."""
        first, last = self.interface.received
        none_stands = observation[..., first:last].sum(-1) == 0
        return none_stands if self.interface.masks_opening else torch.zeros_like(none_stands)

"""Many models at once: a population of PPO learners under Tianshou's on-policy trainer.

Models are independent: each has its own weights, opponent, negotiations and random streams. They are stacked in chunks
of a fixed size, and a chunk makes all its gradient steps before the next one begins, so that its weights and steps stay
in the processor's cache. What becomes of a model does not depend on who is trained beside it.

1. `BlockCollector` plays all models' negotiations T steps on and keeps them as one block of arrays.
2. `PopulationPPO.update` runs over the block, chunk by chunk: epochs of minibatches, closed-form gradients, clipping by
   model, Adam.
3. Tianshou's `OnPolicyTrainer` alternates the two.

Randomness: model m samples its u-th rollout's step t from stream (key m, u·T + t) and shuffles from streams of its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from math import ceil
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from tianshou.algorithm.algorithm_base import OnPolicyAlgorithm, Policy, TrainingStats
from tianshou.data import Batch, CollectStats
from tianshou.data.collector import BaseCollector
from tianshou.trainer import OnPolicyTrainerParams
from torch import Tensor, nn

from negzoo.engine.rng import derive_key
from negzoo.envs.batch import NegotiationBatch, Streams
from negzoo.envs.codec import Codec
from negzoo.envs.settings import NegotiationSettings
from negzoo.errors import CheckpointError
from negzoo.learn.generators import one_thread
from negzoo.learn.network import Interface
from negzoo.learn.objective import Minibatch, log_prob_of, logits_slope, masked_, normalised, split_heads, values_slope
from negzoo.learn.ppo import available_device
from negzoo.learn.rollout import Rollout, draw_actions, permutations
from negzoo.learn.settings import PPOSettings
from negzoo.learn.stacked import Activations, ModelState, Stack, fresh_weights
from negzoo.opponents import Opponent
from negzoo.scenario import Scenario

_WEIGHTS_LANE, _SAMPLING_LANE, _OPPONENTS_LANE = range(3)


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

    def key(self, lane: int) -> np.uint64:
        """The key of one of its purposes."""
        return derive_key(self.seed, lane)


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

    def _fresh(self, learner: Learner) -> dict[str, Tensor]:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(learner.key(_WEIGHTS_LANE)))
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


class PopulationEnvs:
    """All models' negotiations, as the collector asks for them."""

    def __init__(
        self, scenario: Scenario, game: NegotiationSettings, seat: int, envs: int, learners: Sequence[Learner]
    ) -> None:
        opponents = list({learner.opponent.identity: learner.opponent for learner in learners}.values())
        places = {opponent.identity: i for i, opponent in enumerate(opponents)}
        which = np.repeat([places[learner.opponent.identity] for learner in learners], envs)
        keys = np.repeat([learner.key(_OPPONENTS_LANE) for learner in learners], envs).astype(np.uint64)
        first = np.tile(np.arange(envs, dtype=np.uint64), len(learners))
        self.batch = NegotiationBatch(scenario, opponents, which, game, Streams(keys, first, envs), seat)
        self.action_space = self.batch.codec.action_space()

    def __len__(self) -> int:
        return len(self.batch)

    def reset(self, **_: Any) -> tuple[NDArray[np.float32], NDArray[np.object_]]:
        """Begin anew."""
        self.batch.reset()
        return self.batch.observe(), np.full(len(self), None)

    def close(self) -> None:
        """Nothing is held open."""


class BlockCollector(BaseCollector[CollectStats]):
    """Plays a population's negotiations on and keeps the steps as one block."""

    def __init__(self, policy: PopulationPolicy, envs: PopulationEnvs, learners: Sequence[Learner]) -> None:
        settings = policy.settings
        steps = settings.horizon // settings.envs
        stack = policy.stacks[0]
        heads = len(policy.interface.heads)
        self.block = Rollout.empty(policy.padded_models, steps, settings.envs, stack.inputs, heads, stack.device)
        self.block.observation[..., policy.interface.length] = 1
        self.rollouts = 0
        self.population, self.envs = policy, envs
        unused = [np.uint64(0)] * (policy.padded_models - policy.models)
        self._keys = np.array([*(learner.key(_SAMPLING_LANE) for learner in learners), *unused], np.uint64)
        super().__init__(policy, cast(Any, envs), cast(Any, self.block), raise_on_nan_in_buffer=False)

    def _validate_buffer(self) -> None:
        """The block is as large as it has to be."""

    def reset_buffer(self, keep_statistics: bool = False) -> None:
        """The next rollout overwrites the block."""

    @torch.no_grad()
    def _collect(self, n_step: int | None = None, *_: Any, **__: Any) -> CollectStats:
        finished = []
        steps = self.block.reward.shape[1]
        for step in range(steps):
            self._act(step)
            finished.append(self._play(step))
        self._see(None)
        self.rollouts += 1
        returns, lengths = np.concatenate(finished, axis=1)
        gathered = len(self.envs) * steps
        self.collect_step += gathered
        self.collect_episode += len(returns)
        return CollectStats.with_autogenerated_stats(returns, lengths, len(returns), gathered)

    def _see(self, step: int | None) -> list[tuple[Activations, Tensor]]:
        """Observe, as step number `step` of the block; with None only for the values of what would come next."""
        length, models = self.population.interface.length, self.population.models
        seen = torch.as_tensor(self.envs.batch.observe()).to(self.block.value.device)
        place = self.block.observation[:, step] if step is not None else self.block.observation[:, 0].clone()
        place[:models, :, :length] = seen.view(models, -1, length)
        opening = self.population.opening(place)
        passes = list(zip(self.population.look(place), torch.split(opening, self.population.chunk), strict=True))
        values = torch.cat([activations.values for activations, _ in passes])
        if step is None:
            self.block.last_value.copy_(values)
        else:
            self.block.value[:, step], self.block.opening[:, step] = values, opening
        return passes

    def _act(self, step: int) -> None:
        """Observe, and draw an action for every negotiation."""
        number = self.rollouts * self.block.reward.shape[1] + step
        passes = self._see(step)
        by_stack = [self.population.probabilities(activations.logits, opening) for activations, opening in passes]
        heads = tuple(torch.cat(parts) for parts in zip(*by_stack, strict=True))
        action = np.zeros((len(self._keys), self.population.settings.envs, len(heads)), np.int64)
        for i, head in enumerate(heads):
            draw_actions(head.cpu().numpy(), self._keys, number, i, action)
        chosen = torch.as_tensor(action, device=heads[0].device)
        self.block.action[:, step] = chosen
        self.block.log_prob[:, step] = log_prob_of(heads, chosen)

    def _play(self, step: int) -> NDArray[np.float64]:
        """Play the drawn actions; rewards and rounds of the negotiations that ended, [2, n]."""
        models, batch = self.population.models, self.envs.batch
        actions = self.block.action[:models, step].reshape(len(self.envs), -1).cpu().numpy()
        ended = batch.step(batch.codec.to_moves(actions[:, 0] if batch.codec.by_outcome else actions))
        rows = np.flatnonzero(ended)
        paid, rounds = batch.rewards(rows), (batch.negotiations.step[rows] + 1) // 2
        reward = np.zeros(len(self.envs))
        reward[rows] = paid
        self.block.reward[:models, step] = torch.as_tensor(reward.reshape(models, -1)).float()
        self.block.ended[:models, step] = torch.as_tensor(ended.reshape(models, -1))
        batch.restart(rows)
        return np.stack([paid, rounds])


class PopulationPPO(OnPolicyAlgorithm[PopulationPolicy]):
    """PPO for every model of a population."""

    def __init__(self, policy: PopulationPolicy, learners: Sequence[Learner]) -> None:
        super().__init__(policy=policy)
        self.settings = policy.settings
        self.updates = 0
        self.total_steps = 0
        unused = [np.uint64(0)] * (policy.padded_models - policy.models)
        self._keys = np.array([*(learner.key(_SAMPLING_LANE) for learner in learners), *unused], np.uint64)

    def _update_with_batch(self, batch: Any, batch_size: int | None, repeat: int) -> TrainingStats:
        raise AssertionError("update() takes the block itself")

    @property
    def gradient_steps(self) -> int:
        """How many gradient steps each model has made."""
        return self.updates * self.settings.epochs * max(self.settings.horizon // self.settings.minibatch, 1)

    def update(self, buffer: Any, batch_size: int | None, repeat: int) -> TrainingStats:
        """Learn from a rollout: `repeat` epochs of minibatches of `batch_size` steps per model."""
        rollout = cast(Rollout, buffer)
        steps = _Steps.of(rollout, self.settings)
        chunk = self.policy.chunk
        with torch.no_grad():
            for i, stack in enumerate(self.policy.stacks):
                share = slice(i * chunk, (i + 1) * chunk)
                self._update_stack(stack, steps.part(share), self._keys[share], batch_size or len(rollout), repeat)
        self.updates += 1
        return TrainingStats()

    def _update_stack(
        self, stack: Stack, steps: "_Steps", keys: NDArray[np.uint64], batch_size: int, repeat: int
    ) -> None:
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


def _part(state: dict[str, Tensor], name: str) -> dict[str, Tensor]:
    """The tensors whose names begin with `name`, without it."""
    return {key.removeprefix(f"{name}."): value for key, value in state.items() if key.startswith(f"{name}.")}


_SIGNED = {
    np.dtype(unsigned): signed for unsigned, signed in ((np.uint64, np.int64), (np.int32, np.int32), (np.int8, np.int8))
}
"""How the arrays of negotiations are kept in tensors, which have no uint64."""


@dataclass(frozen=True)
class _Steps:
    """The steps of a rollout as PPO learns from them: tensors [C, n, ...] in the order of Minibatch."""

    normalise: bool
    observation: Tensor
    action: Tensor
    opening: Tensor
    advantage: Tensor
    target: Tensor
    log_prob: Tensor

    @classmethod
    def of(cls, rollout: Rollout, settings: PPOSettings) -> "_Steps":
        advantage, target = rollout.advantages(settings.gamma, settings.gae_lambda)
        parts = (rollout.observation, rollout.action, rollout.opening, advantage, target, rollout.log_prob)
        return cls(settings.normalise_advantages, *(part.flatten(1, 2) for part in parts))

    @property
    def count(self) -> int:
        return self.advantage.shape[1]

    @cached_property
    def _parts(self) -> list[Tensor]:
        return [getattr(self, field.name) for field in fields(self)[1:]]

    def part(self, models: slice) -> "_Steps":
        return _Steps(self.normalise, *(part[models] for part in self._parts))

    def shuffled(self, order: Tensor) -> "_Steps":
        """Each model's steps in the order int64 [C, n]."""
        models = torch.arange(len(order), device=order.device)[:, None]
        return _Steps(self.normalise, *(part[models, order] for part in self._parts))

    def minibatches(self, size: int) -> Iterator[Minibatch]:
        """Slices of `size` steps; what is left over joins the last one, as Tianshou does it."""
        count = max(self.count // size, 1)
        for i in range(count):
            piece = slice(i * size, (i + 1) * size if i < count - 1 else self.count)
            observation, action, opening, advantage, target, log_prob = (part[:, piece] for part in self._parts)
            adjusted = normalised(advantage) if self.normalise else advantage
            yield Minibatch(observation, action, opening, adjusted, target, log_prob)


class PopulationTraining:
    """A population of learners of one scenario.

    Args:
        scenario: what is negotiated.
        learners: the models; results come in their order.
        game: how it is negotiated.
        ppo: how it is learned.
        seat: whether the learners are player 0 or player 1.
    """

    def __init__(
        self,
        scenario: Scenario,
        learners: Sequence[Learner],
        game: NegotiationSettings,
        ppo: PPOSettings,
        seat: int = 0,
    ) -> None:
        self.ppo, self.resumed = ppo, False
        self.policy = PopulationPolicy(Codec(scenario, game), ppo, learners)
        self.algorithm = PopulationPPO(self.policy, learners)
        self.envs = PopulationEnvs(scenario, game, seat, ppo.envs, learners)
        self.collector = BlockCollector(self.policy, self.envs, learners)

    @property
    def steps(self) -> int:
        """Learner steps that each model has learned from so far."""
        return self.algorithm.updates * self.ppo.horizon

    def weights_of(self, model: int) -> dict[str, Tensor]:
        """A copy of one model's weights on the CPU, by the names of `Actor` and `Critic`."""
        return self.policy.state(model).weights

    def state(self, model: int) -> dict[str, Tensor]:
        """All that one model needs to go on as if never interrupted, in whatever population."""
        saved = asdict(self.policy.state(model))
        tensors = {f"{part}.{name}": value for part, values in saved.items() for name, value in values.items()}
        rows = slice(model * self.ppo.envs, (model + 1) * self.ppo.envs)
        for name, values in self.envs.batch.state().items():
            tensors[f"games.{name}"] = torch.as_tensor(np.ascontiguousarray(values[rows]).view(_SIGNED[values.dtype]))
        tensors["updates"] = torch.tensor([self.algorithm.updates])
        return tensors

    def restore(self, states: Sequence[dict[str, Tensor]]) -> None:
        """Take up saved states of all models, which have to be equally far.

        Raises:
            CheckpointError: they are not.
        """
        updates = {int(state["updates"]) for state in states}
        if len(updates) > 1:
            raise CheckpointError(f"models after {sorted(updates)} updates cannot go on together")
        self.algorithm.updates = self.collector.rollouts = updates.pop()
        for model, state in enumerate(states):
            parts = (_part(state, name) for name in ("weights", "mean", "square"))
            self.policy.restore(model, ModelState(*parts), self.algorithm.gradient_steps)
        games = [_part(state, "games") for state in states]
        joined = {name: np.concatenate([part[name].numpy() for part in games]) for name in games[0]}
        joined["indices"] = joined["indices"].view(np.uint64)
        self.envs.batch.restore(joined)
        self.resumed = True

    def run(self, steps: int) -> Iterator[int]:
        """Learn for at least `steps` learner steps per model; yields how many there have been, after each update."""
        self.algorithm.total_steps = steps
        gathered = self.ppo.horizon * self.policy.models
        trainer = self.algorithm.create_trainer(
            OnPolicyTrainerParams(
                training_collector=self.collector,
                max_epochs=ceil(steps / self.ppo.horizon) + 1,
                epoch_num_steps=gathered,
                collection_step_num_env_steps=gathered,
                update_step_num_repetitions=self.ppo.epochs,
                batch_size=self.ppo.minibatch,
                verbose=False,
                show_progress=False,
            )
        )
        trainer.reset(reset_collectors=not self.resumed)
        self.resumed = True
        while self.steps < steps:
            with one_thread():
                trainer.execute_epoch()
            yield self.steps

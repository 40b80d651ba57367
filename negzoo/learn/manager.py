"""Tianshou's multi-agent manager, corrected for games in which players take turns.

The stock manager keeps only the rows on which an agent acts: reward that is paid on the other's move is lost, the next
observation of each of its rows is the other player's, and returns run across games (thu-ml/tianshou#399, #806). Here

1. an own row is folded with the other's row behind it: rewards summed, end and next observation taken from the latter;
2. an own row whose answer the rollout no longer saw is dropped, and the last one kept is marked unfinished;
3. PPO then prepares the folded rows as if the learner had been alone with them.

A fixed opponent is a parameter-free policy: the environment seats the strategy, and the policy plays its `reply`.
This path is the readable reference for what learning is.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from math import ceil
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from tianshou.algorithm.algorithm_base import OnPolicyAlgorithm, Policy, TrainingStats
from tianshou.algorithm.modelfree.ppo import PPO
from tianshou.algorithm.multiagent.marl import MARLDispatcher, MultiAgentOnPolicyAlgorithm, MultiAgentPolicy
from tianshou.data import Batch, Collector, ReplayBuffer, VectorReplayBuffer, to_numpy
from tianshou.env import DummyVectorEnv
from tianshou.env.pettingzoo_env import PettingZooEnv
from tianshou.trainer import OnPolicyTrainer, OnPolicyTrainerParams
from torch import nn

from negzoo.engine.rng import derive_key
from negzoo.envs import AGENTS, Codec, NegotiationEnv, NegotiationSettings
from negzoo.errors import OpponentError
from negzoo.learn.generators import Generators, seeded
from negzoo.learn.ppo import build_ppo
from negzoo.learn.settings import PPOSettings
from negzoo.opponents import Opponent
from negzoo.scenario import Scenario

_WEIGHTS_LANE, _SAMPLING_LANE, _ENVS_LANE = range(3)

_MOST_IDLE = 10
"""So many updates in a row may go by without a turn of the learner."""


class TurnBasedEnv(PettingZooEnv):
    """A negotiation as Tianshou wants it: observations name the agent, infos hold what its seated opponent plays."""

    def __init__(self, env: NegotiationEnv, seed: int, on_finish: Callable[[NegotiationEnv], None] | None) -> None:
        self.on_finish = on_finish
        env.reset(seed=seed)
        super().__init__(env)

    def reset(self, *_: Any, **__: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        self.env.reset()
        observation, _reward, _terminated, _truncated, info = self._last()
        return observation, info

    def step(self, action: Any) -> tuple[dict[str, Any], list[float], bool, bool, dict[str, Any]]:  # type: ignore[override]
        self.env.step(action)
        observation, _reward, terminated, truncated, info = self._last()
        if terminated and self.on_finish is not None:
            self.on_finish(self.env)
        return observation, [self.env.rewards[agent] for agent in AGENTS], terminated, truncated, info

    def _last(self) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        seen, reward, terminated, truncated, info = self.env.last()
        observation = {"agent_id": self.env.agent_selection, "obs": seen}
        return observation, reward, terminated, truncated, {"reply": info["reply"], "member": info["member"]}


class FixedPolicy(Policy):
    """Plays what the opponent seated in the environment replies."""

    def forward(self, batch: Batch, state: Any = None, **_: Any) -> Batch:
        return Batch(act=np.asarray(batch.info.reply), state=state)


class FixedAlgorithm(OnPolicyAlgorithm[FixedPolicy]):
    """Learns nothing."""

    def _preprocess_batch(self, batch: Any, buffer: ReplayBuffer, indices: NDArray[np.int64]) -> Batch:
        return Batch()

    def _update_with_batch(self, batch: Any, batch_size: int | None, repeat: int) -> TrainingStats:
        return TrainingStats()


@dataclass(frozen=True)
class FoldedTurns:
    """A learner's own turns, each with the answer to it.

    Attributes:
        batch: obs, act, rew, terminated, truncated, done and obs_next of n turns, in order.
        unfinished: bool [n], the turns behind which the rollout was cut in the middle of a negotiation.
    """

    batch: Batch
    unfinished: NDArray[np.bool_]

    @cached_property
    def terminated(self) -> NDArray[np.bool_]:
        """bool [n]; Tianshou asks the buffer for this when it masks values."""
        return np.asarray(self.batch.terminated)

    def unfinished_index(self) -> NDArray[np.int64]:
        """The unfinished turns; Tianshou asks the buffer for them when it computes advantages."""
        return np.flatnonzero(self.unfinished)


def fold_turns(batch: Batch, is_last: NDArray[np.bool_], agent: str) -> FoldedTurns:
    """Fold the other player's turns into those of `agent`.

    Args:
        batch: the rows of a rollout, in order, environment by environment; `rew` is [n, 2].
        is_last: bool [n], whether a row is the last one that its environment gathered.
        agent: whose turns are wanted.
    """
    player = AGENTS.index(agent)
    own = np.flatnonzero((batch.obs.agent_id == agent) & (batch.done | ~is_last))
    answered = ~batch.done[own]
    answer = own + answered
    reward = batch.rew[own, player] + np.where(answered, batch.rew[answer, player], 0.0)
    environment: NDArray[np.int64] = (np.cumsum(is_last) - is_last)[own]
    cut = np.append(environment[1:] != environment[:-1], True) if own.size else np.zeros(0, bool)
    turns = Batch(
        obs=batch.obs.obs[own],
        act=batch.act[own],
        rew=reward,
        terminated=batch.terminated[answer],
        truncated=batch.truncated[answer],
        done=batch.done[answer],
        obs_next=batch.obs_next.obs[answer],
        info=Batch(),
    )
    return FoldedTurns(turns, cut & ~turns.done)


class TurnBasedPolicy(MultiAgentPolicy):
    """Lets each player's policy act where it is its turn, on plain observations."""

    def forward(self, batch: Batch, state: Any = None, **_: Any) -> Batch:
        acting = [(policy, np.flatnonzero(batch.obs.agent_id == agent)) for agent, policy in self.policies.items()]
        answers = [
            (rows, to_numpy(policy(Batch(obs=batch.obs.obs[rows], info=batch.info[rows])).act))
            for policy, rows in acting
            if rows.size
        ]
        order = np.argsort(np.concatenate([rows for rows, _ in answers]))
        return Batch(act=np.concatenate([act for _, act in answers])[order], state=None)


class TurnBasedDispatcher(MARLDispatcher[OnPolicyAlgorithm[Any]]):
    """Hands each learner its own turns, folded; counts them."""

    def __init__(self, algorithms: list[OnPolicyAlgorithm[Any]], env: PettingZooEnv) -> None:
        super().__init__(algorithms, env)
        self.turns = dict.fromkeys(AGENTS, 0)

    def create_policy(self) -> TurnBasedPolicy:
        return TurnBasedPolicy({agent: algorithm.policy for agent, algorithm in self.algorithms.items()})

    def dispatch_process_fn(self, batch: Any, buffer: ReplayBuffer, indices: NDArray[np.int64]) -> Batch:
        is_last = np.isin(indices, buffer.last_index)
        prepared: dict[str | int, Any] = {}
        for agent, algorithm in self.algorithms.items():
            folded = fold_turns(batch, is_last, str(agent))
            count = len(folded.unfinished)
            if count < 2:  # of a single turn no advantage can be normalised
                prepared[agent] = Batch()
                continue
            self.turns[str(agent)] += count
            turns, buffered = cast(Any, folded.batch), cast(Any, folded)
            prepared[agent] = algorithm._preprocess_batch(turns, buffered, np.arange(count))
        return Batch(prepared)


class TurnBasedAlgorithm(MultiAgentOnPolicyAlgorithm):
    """Tianshou's multi-agent on-policy algorithm over folded turns."""

    def __init__(self, *, algorithms: list[OnPolicyAlgorithm[Any]], env: PettingZooEnv) -> None:
        dispatcher = TurnBasedDispatcher(algorithms, env)
        OnPolicyAlgorithm.__init__(self, policy=dispatcher.create_policy())
        self._dispatcher = self.turn_based = dispatcher
        self._submodules = nn.ModuleList(algorithms)

    def turns(self, agent: str) -> int:
        """How many turns of `agent` have been learned from."""
        return self.turn_based.turns[agent]

    def _update_with_batch(self, batch: Any, batch_size: int | None, repeat: int) -> Any:
        """As Tianshou's, but a rollout in which no learner moved is no error."""
        if not any(len(batch[agent].get_keys()) for agent in AGENTS):
            return TrainingStats()
        return super()._update_with_batch(batch, batch_size, repeat)


logging.getLogger("tianshou.data.stats").addFilter(lambda record: "only 1D sequences" not in record.getMessage())


class ManagerTraining:
    """One PPO learner that bargains with one seated opponent, under Tianshou's multi-agent manager.

    Args:
        scenario: what is negotiated.
        opponent: who sits across; a pool draws a member per negotiation.
        game: how it is negotiated.
        ppo: how it is learned.
        seed: determines everything: weights, games and sampling.
        learner_seat: whether the learner is player 0 or player 1.
        initial: weights to start from, as `weights_of` returns them, instead of fresh ones.
        on_finish: called with the environment of each negotiation that ends.
    """

    def __init__(
        self,
        scenario: Scenario,
        opponent: Opponent,
        game: NegotiationSettings,
        ppo: PPOSettings,
        seed: int,
        learner_seat: int = 0,
        initial: dict[str, torch.Tensor] | None = None,
        on_finish: Callable[[NegotiationEnv], None] | None = None,
    ) -> None:
        self.codec, self.opponent, self.ppo, self.seed = Codec(scenario, game), opponent, ppo, seed
        self.agent, self.learner_seat = AGENTS[learner_seat], learner_seat
        seated = {AGENTS[1 - learner_seat]: opponent}
        with seeded(self._derive(_WEIGHTS_LANE)):
            self.learner = build_ppo(self.codec, ppo)
        if initial is not None:
            load_weights(self.learner, initial)
        self.envs = [
            TurnBasedEnv(NegotiationEnv(scenario, opponents=seated, settings=game, mask_in="info"), seed, on_finish)
            for seed in (self._derive(_ENVS_LANE, i) for i in range(ppo.envs))
        ]
        self.algorithm = TurnBasedAlgorithm(algorithms=self._algorithms(), env=self.envs[0])

    def _derive(self, *lane: int) -> int:
        return int(derive_key(self.seed, *lane))

    def _algorithms(self) -> list[OnPolicyAlgorithm[Any]]:
        fixed = FixedAlgorithm(policy=FixedPolicy(self.codec.action_space()))
        return [self.learner, fixed] if self.learner_seat == 0 else [fixed, self.learner]

    @property
    def steps(self) -> int:
        """Learner steps learned from so far."""
        return self.algorithm.turns(self.agent)

    def weights_of(self, model: int = 0) -> dict[str, torch.Tensor]:
        """A copy of the learner's weights, by name; it is the only model."""
        return copy_weights(self.learner)

    def _own_returns(self, returns: NDArray[np.float64]) -> NDArray[np.float64]:
        """[episodes] of [episodes, 2]."""
        return np.asarray(returns[:, self.learner_seat])

    def run(self, steps: int) -> Iterator[int]:
        """Learn for at least `steps` learner steps; yields how many there have been, after each update.

        An update gathers 2 * horizon moves, half of them the learner's.

        Raises:
            OpponentError: the opponent never lets the learner move.
        """
        generators = Generators(self._derive(_SAMPLING_LANE))
        with generators.running():
            trainer = self._trainer(ceil(steps / self.ppo.horizon) + 1)
            trainer.reset()
        idle = 0
        while self.steps < steps:
            before = self.steps
            self._anneal(before / steps)
            with generators.running():
                trainer.execute_epoch()
            idle = idle + 1 if self.steps == before else 0
            if idle == _MOST_IDLE:
                raise OpponentError(f"{self.opponent.name} never lets the learner move; nothing can be learned")
            if not idle:
                yield self.steps

    def _trainer(self, epochs: int) -> OnPolicyTrainer:
        moves = 2 * self.ppo.horizon
        workers = DummyVectorEnv([partial(_itself, env) for env in self.envs])
        buffer = VectorReplayBuffer(2 * moves, len(self.envs))
        collector: Collector[Any] = Collector(self.algorithm, workers, buffer)
        params = OnPolicyTrainerParams(
            training_collector=collector,
            max_epochs=epochs,
            epoch_num_steps=moves,
            collection_step_num_env_steps=moves,
            update_step_num_repetitions=self.ppo.epochs,
            batch_size=self.ppo.minibatch,
            multi_agent_return_reduction=self._own_returns,
            verbose=False,
            show_progress=False,
        )
        return self.algorithm.create_trainer(params)

    def _anneal(self, progress: float) -> None:
        """Set what changes in the course of training."""
        self.learner.ent_coef = self.ppo.entropy_coefficient_at(progress)
        for group in self.learner.optim._optim.param_groups:
            group["lr"] = self.ppo.learning_rate_at(progress)


def _itself(env: TurnBasedEnv) -> TurnBasedEnv:
    return env


def copy_weights(learner: PPO) -> dict[str, torch.Tensor]:
    """The policy's and value network's weights, detached and on the CPU."""
    networks = {"actor": learner.policy.actor, "critic": learner.critic}
    return {
        f"{name}.{key}": value.detach().cpu().clone()
        for name, network in networks.items()
        for key, value in network.state_dict().items()
    }


def load_weights(learner: PPO, weights: dict[str, torch.Tensor]) -> None:
    """Put weights from `copy_weights` into a learner of the same shape."""
    for name, network in {"actor": learner.policy.actor, "critic": learner.critic}.items():
        prefix = f"{name}."
        network.load_state_dict({k.removeprefix(prefix): v for k, v in weights.items() if k.startswith(prefix)})

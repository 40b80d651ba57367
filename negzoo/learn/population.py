"""Many models at once: a population of PPO learners under Tianshou's on-policy trainer.

Models are independent: each has its own weights, opponent, negotiations and random streams. What becomes of a model
does not depend on who is trained beside it. The trainer lets the collector gather, then the algorithm update, in turn.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import ceil

import numpy as np
import torch
from tianshou.trainer import OnPolicyTrainerParams
from torch import Tensor

from negzoo.envs.codec import Codec
from negzoo.envs.settings import NegotiationSettings
from negzoo.errors import CheckpointError
from negzoo.learn.collector import BlockCollector, PopulationEnvs
from negzoo.learn.generators import one_thread
from negzoo.learn.policy import Learner, PopulationPolicy
from negzoo.learn.settings import PPOSettings
from negzoo.learn.stacked import ModelState
from negzoo.learn.update import PopulationPPO
from negzoo.scenario import Scenario

_SIGNED = {
    np.dtype(unsigned): signed for unsigned, signed in ((np.uint64, np.int64), (np.int32, np.int32), (np.int8, np.int8))
}
"""How the arrays of negotiations are kept in tensors, which have no uint64."""


def _part(state: dict[str, Tensor], name: str) -> dict[str, Tensor]:
    """The tensors whose names begin with `name`, without it."""
    return {key.removeprefix(f"{name}."): value for key, value in state.items() if key.startswith(f"{name}.")}


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
        self.algorithm = PopulationPPO(self.policy)
        self.envs = PopulationEnvs(scenario, game, seat, ppo.envs, learners)
        self.collector = BlockCollector(self.policy, self.envs)

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

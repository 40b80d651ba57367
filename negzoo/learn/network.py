"""The policy and value networks, and the distribution of actions.

Illegal actions are masked inside the network. The one action that can be illegal is accepting on the opening move, and
an observation shows whether an offer stands; so the mask is read off the observation and nobody can forget to pass it.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Categorical, Distribution
from torch.distributions.constraints import Constraint

from negzoo.envs import Codec

_MASKED = torch.finfo(torch.float32).min
_ONE_EACH = torch.Size()


@dataclass(frozen=True)
class Interface:
    """What a network reads and answers: the shape of a scenario under given settings.

    Attributes:
        length: numbers in an observation.
        received: where in it the one-hot of the standing offer is, (first, one past the last).
        heads: sizes of the groups of logits: one group of all actions, or one per issue and then the decision.
        accept: the column of the logit of accepting.
        masks_opening: whether accepting is masked while no offer stands.
    """

    length: int
    received: tuple[int, int]
    heads: tuple[int, ...]
    accept: int
    masks_opening: bool

    @classmethod
    def of(cls, codec: Codec) -> "Interface":
        """The interface of a codec."""
        first = codec.settings.history * codec.width
        shape = codec.scenario.shape
        heads = (codec.actions,) if codec.by_outcome else (*shape, codec.decisions)
        accept = codec.scenario.size if codec.by_outcome else sum(shape) + 1
        masks = codec.settings.first_accept == "mask"
        return cls(codec.length, (first, first + codec.width), heads, accept, masks)

    @property
    def logits(self) -> int:
        """How many logits the policy network answers with."""
        return sum(self.heads)


def perceptron(inputs: int, hidden: tuple[int, ...], outputs: int, gain: float) -> nn.Sequential:
    """A tanh network, orthogonally initialised: gain √2 in the hidden layers and `gain` in the last, biases 0."""
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [_linear(inputs, width, np.sqrt(2)), nn.Tanh()]
        inputs = width
    return nn.Sequential(*layers, _linear(inputs, outputs, gain))


def _linear(inputs: int, outputs: int, gain: float) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, float(gain))
    nn.init.zeros_(layer.bias)
    return layer


class Actor(nn.Module):
    """The policy network: observations to masked logits."""

    def __init__(self, interface: Interface, hidden: tuple[int, ...]) -> None:
        super().__init__()
        self.interface = interface
        self.body = perceptron(interface.length, hidden, interface.logits, gain=0.01)

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> tuple[Tensor, Any]:
        """Logits float32 [B, logits] of observations [B, length] (or a Tianshou batch that has them as `obs`)."""
        observation = _as_tensor(obs, next(self.parameters()).device)
        return self.masked(self.body(observation), observation), state

    def masked(self, logits: Tensor, observation: Tensor) -> Tensor:
        """The logits with accepting masked wherever no offer stands."""
        if not self.interface.masks_opening:
            return logits
        first, last = self.interface.received
        opening = observation[:, first:last].sum(1) == 0
        column = torch.arange(logits.shape[1], device=logits.device) == self.interface.accept
        return logits.masked_fill(opening[:, None] & column, _MASKED)


class Critic(nn.Module):
    """The value network: observations to state values."""

    def __init__(self, interface: Interface, hidden: tuple[int, ...]) -> None:
        super().__init__()
        self.body = perceptron(interface.length, hidden, 1, gain=1.0)

    def forward(self, obs: Any, **_: Any) -> Tensor:
        """Values float32 [B, 1] of observations [B, length]."""
        values: Tensor = self.body(_as_tensor(obs, next(self.parameters()).device))
        return values


def _as_tensor(obs: Any, device: torch.device) -> Tensor:
    return torch.as_tensor(getattr(obs, "obs", obs), dtype=torch.float32, device=device)


class FactoredAction(Distribution):
    """A decision (offer, accept, walk away) and, independently, an option per issue, which only matters when offering.

    So an action that does not offer has the probability of its decision, whatever options come with it, and the
    entropy is H(decision) + P(offer) Σ_i H(option of issue i).
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {}

    def __init__(self, logits: Tensor, heads: tuple[int, ...]) -> None:
        self._logits = torch.split(logits, list(heads), dim=1)
        self.log_probs = [head.log_softmax(1) for head in self._logits]
        super().__init__(logits.shape[:1], torch.Size([len(heads)]), validate_args=False)

    @property
    def mode(self) -> Tensor:
        """The likeliest decision with the likeliest options, int64 [B, I + 1]."""
        return torch.stack([head.argmax(1) for head in self._logits], dim=1)

    @property
    def variance(self) -> Tensor:
        """Not a number, as of torch's Categorical: options have no distances. Tianshou's collector asks for it."""
        return torch.full(self._extended_shape(), torch.nan)

    def sample(self, sample_shape: Any = _ONE_EACH) -> Tensor:
        """A decision and options, int64 [B, I + 1]."""
        if sample_shape:
            raise ValueError(f"one action each is drawn, not {tuple(sample_shape)}")
        return torch.cat([torch.multinomial(head.exp(), 1) for head in self.log_probs], dim=1)

    def log_prob(self, value: Tensor) -> Tensor:
        """float32 [B], of actions [B, I + 1]."""
        chosen = value.long()
        *options, decision = [head.gather(1, chosen[:, [i]])[:, 0] for i, head in enumerate(self.log_probs)]
        return decision + torch.where(chosen[:, -1] == 0, torch.stack(options).sum(0), 0.0)

    def entropy(self) -> Tensor:
        """float32 [B]."""
        *options, decision = [-(head.exp() * head).sum(1) for head in self.log_probs]
        return decision + self.log_probs[-1][:, 0].exp() * torch.stack(options).sum(0)


def action_distribution(logits: Tensor, heads: tuple[int, ...]) -> Categorical | FactoredAction:
    """The distribution over actions that logits [B, Σ heads] describe."""
    if len(heads) == 1:
        return Categorical(logits=logits, validate_args=False)
    return FactoredAction(logits, heads)


def greedy_actions(logits: Tensor, heads: tuple[int, ...]) -> Tensor:
    """The likeliest actions, int64 [B] or [B, I + 1]; the first of equals."""
    return logits.argmax(1) if len(heads) == 1 else FactoredAction(logits, heads).mode

"""The settings of PPO, and the presets."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from negzoo.errors import SettingsError


@dataclass(frozen=True)
class PPOSettings:
    """PPO (Schulman et al. 2017) as Kobayashi & Fujita (2025) use it.

    The defaults are their Table 2 and, where it is silent, the defaults of Stable-Baselines3 1.2, which they most
    probably used.

    Raises:
        SettingsError: a value out of range; the message names the setting and what it may be.
    """

    horizon: int = 2048
    """Learner steps gathered per model before each update (Table 2)."""
    envs: int = 8
    """Negotiations that a model gathers from side by side, horizon / envs steps each; the paper does not say."""
    epochs: int = 10
    """Passes over the gathered steps in each update (Table 2)."""
    minibatch: int = 64
    """Learner steps per gradient step (Table 2)."""
    learning_rate: float = 3e-4
    """Step size of Adam (Table 2), at the beginning."""
    learning_rate_end: float | None = None
    """Step size at the end, reached linearly; None keeps it."""
    gamma: float = 0.99
    """Discount per learner step (Table 2)."""
    gae_lambda: float = 0.95
    """λ of generalised advantage estimation (Table 2)."""
    clip: float = 0.2
    """ε of the clipped objective (Table 2)."""
    hidden: tuple[int, ...] = (64, 64)
    """Widths of the hidden tanh layers, of the policy and, separately, of the value network (Table 2)."""
    value_coefficient: float = 0.5
    """Weight of the value loss."""
    entropy_coefficient: float = 0.0
    """Weight of the entropy bonus, at the beginning."""
    entropy_coefficient_end: float | None = None
    """Weight of the entropy bonus at the end, reached linearly; None keeps it."""
    max_gradient_norm: float = 0.5
    """Gradients are scaled down to this norm."""
    normalise_advantages: bool = True
    """Whether advantages are normalised in each minibatch."""
    adam_epsilon: float = 1e-5
    """ε of Adam."""
    chunk: int = 0
    """Models whose weights are updated together; 0 chooses by the size of the network. Bits depend on it."""
    device: str = "cpu"
    """Where the networks are: `cpu`, `cuda`, `cuda:0`, ..."""

    def __post_init__(self) -> None:
        if isinstance(self.hidden, str) or not isinstance(self.hidden, Sequence) or not self.hidden:
            raise SettingsError(f"hidden = {self.hidden!r}: give a list of widths, such as [64, 64]")
        for width in self.hidden:
            _whole("hidden", width, 1)
        object.__setattr__(self, "hidden", tuple(int(width) for width in self.hidden))
        if not isinstance(self.normalise_advantages, bool):
            raise SettingsError(f"normalise_advantages = {self.normalise_advantages!r}: give true or false")
        if not isinstance(self.device, str):
            raise SettingsError(f'device = {self.device!r}: give a name, such as "cpu"')
        self._check_numbers()
        if self.horizon % self.envs:
            raise SettingsError(f"horizon = {self.horizon}: give a multiple of envs = {self.envs}")

    def _check_numbers(self) -> None:
        for name in ("horizon", "envs", "epochs"):
            _whole(name, getattr(self, name), 1)
        _whole("minibatch", self.minibatch, 2 if self.normalise_advantages else 1)
        _whole("chunk", self.chunk, 0)
        for name in ("gamma", "gae_lambda"):
            self._keep(name, _number(name, getattr(self, name), 0, 1))
        for name in ("learning_rate", "clip", "max_gradient_norm", "adam_epsilon"):
            self._keep(name, _number(name, getattr(self, name), above=0))
        for name in ("value_coefficient", "entropy_coefficient"):
            self._keep(name, _number(name, getattr(self, name), 0))
        for name in ("learning_rate_end", "entropy_coefficient_end"):
            if getattr(self, name) is not None:
                self._keep(name, _number(name, getattr(self, name), 0))

    def _keep(self, name: str, value: float) -> None:
        object.__setattr__(self, name, value)

    def gradient_step_flops(self, length: int, logits: int) -> float:
        """Multiplications and additions of one gradient step of one model: the layers, forward and both ways back.

        Args:
            length: numbers in an observation.
            logits: numbers that the policy network answers with.
        """
        first = 2 * length * self.hidden[0]
        inner = 2 * sum(a * b for a, b in pairwise(self.hidden))
        last = self.hidden[-1] * (logits + 1)
        return 2.0 * self.minibatch * (2 * first + 3 * (inner + last))

    def learning_rate_at(self, progress: float) -> float:
        """The step size after a share of the training steps, from 0 to 1."""
        return _between(self.learning_rate, self.learning_rate_end, progress)

    def entropy_coefficient_at(self, progress: float) -> float:
        """The weight of the entropy bonus after a share of the training steps, from 0 to 1."""
        return _between(self.entropy_coefficient, self.entropy_coefficient_end, progress)


def _between(begin: float, end: float | None, progress: float) -> float:
    return begin if end is None else begin + (end - begin) * min(progress, 1.0)


def _whole(name: str, value: object, low: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < low:
        raise SettingsError(f"{name} = {value!r}: give a whole number of at least {low}")


def _number(name: str, value: object, low: float = -np.inf, high: float = np.inf, above: float | None = None) -> float:
    wanted = f"from {low:g} to {high:g}" if high < np.inf else f"of at least {low:g}" if above is None else "above 0"
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    try:
        figure = float(value) if number else np.nan  # type: ignore[arg-type]
    except OverflowError:
        figure = np.inf
    if not np.isfinite(figure) or not low <= figure <= high or (above is not None and figure <= above):
        raise SettingsError(f"{name} = {value!r}: give a number {wanted}")
    return figure


PRESETS: dict[str, PPOSettings] = {"paper": PPOSettings()}
"""Named settings for league files."""

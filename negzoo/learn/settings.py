"""The settings of PPO, and the presets."""

from dataclasses import dataclass

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
        object.__setattr__(self, "hidden", tuple(self.hidden))
        for name in ("horizon", "envs", "epochs", "minibatch"):
            _check(name, getattr(self, name), 1, np.inf, whole=True)
        _check("chunk", self.chunk, 0, np.inf, whole=True)
        if self.horizon % self.envs:
            raise SettingsError(f"horizon = {self.horizon}: give a multiple of envs = {self.envs}")
        if not self.hidden:
            raise SettingsError("hidden = []: give at least one width")
        for width in self.hidden:
            _check("hidden", width, 1, np.inf, whole=True)
        for name in ("gamma", "gae_lambda"):
            _check(name, getattr(self, name), 0, 1)
        for name in ("learning_rate", "clip", "max_gradient_norm", "adam_epsilon"):
            _check(name, getattr(self, name), np.nextafter(0, 1), np.inf)
        for name in ("value_coefficient", "entropy_coefficient"):
            _check(name, getattr(self, name), 0, np.inf)
        for name in ("learning_rate_end", "entropy_coefficient_end"):
            if getattr(self, name) is not None:
                _check(name, getattr(self, name), 0, np.inf)

    def learning_rate_at(self, progress: float) -> float:
        """The step size after a share of the training steps, from 0 to 1."""
        return _between(self.learning_rate, self.learning_rate_end, progress)

    def entropy_coefficient_at(self, progress: float) -> float:
        """The weight of the entropy bonus after a share of the training steps, from 0 to 1."""
        return _between(self.entropy_coefficient, self.entropy_coefficient_end, progress)


def _between(begin: float, end: float | None, progress: float) -> float:
    return begin if end is None else begin + (end - begin) * min(progress, 1.0)


def _check(name: str, value: object, low: float, high: float, whole: bool = False) -> None:
    kind = int | np.integer if whole else int | float | np.number
    if (
        isinstance(value, bool)
        or not isinstance(value, kind)
        or not low <= float(value) <= high
        or np.isinf(float(value))
    ):
        wanted = (
            "whole number of at least 1" if whole else "positive number" if high == np.inf else "number from 0 to 1"
        )
        raise SettingsError(f"{name} = {value!r}: give a {wanted}")


PRESETS: dict[str, PPOSettings] = {"paper": PPOSettings()}
"""Named settings for league files."""

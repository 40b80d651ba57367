"""What a population gathers before an update, and the compiled parts of gathering it."""

from dataclasses import dataclass

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

from negzoo.engine.rng import uniform_at

_SHUFFLE_LANE = np.uint64(0x5EED)


@dataclass(frozen=True)
class Rollout:
    """T steps of E negotiations of each of M models, on the device.

    Attributes:
        observation: [M, T, E, inputs], padded.
        action: int64 [M, T, E, heads].
        opening: bool [M, T, E], where no offer stood.
        reward, value, log_prob: [M, T, E].
        ended: bool [M, T, E], where the negotiation ended with the step.
        last_value: [M, E], of what would have come next.
    """

    observation: Tensor
    action: Tensor
    opening: Tensor
    reward: Tensor
    value: Tensor
    log_prob: Tensor
    ended: Tensor
    last_value: Tensor

    @classmethod
    def empty(cls, models: int, steps: int, envs: int, inputs: int, heads: int, device: torch.device) -> "Rollout":
        """Room for a rollout."""
        shape = (models, steps, envs)
        reward, value, log_prob = torch.zeros((3, *shape), device=device).unbind()
        opening, ended = torch.zeros((2, *shape), dtype=torch.bool, device=device).unbind()
        observation = torch.zeros((*shape, inputs), device=device)
        action = torch.zeros((*shape, heads), dtype=torch.int64, device=device)
        last_value = torch.zeros((models, envs), device=device)
        return cls(observation, action, opening, reward, value, log_prob, ended, last_value)

    def __len__(self) -> int:
        return self.reward.numel()

    def hasnull(self) -> bool:
        """Whether a reward, value or log-probability is not a number; Tianshou's trainer asks the buffer."""
        return any(bool(part.isnan().any()) for part in (self.reward, self.value, self.log_prob))

    def advantages(self, gamma: float, lam: float) -> tuple[Tensor, Tensor]:
        """Generalised advantage estimates and value targets, [M, T, E] each (Schulman et al. 2016, eq. 16)."""
        reward, value, ended, last = (
            part.cpu().numpy() for part in (self.reward, self.value, self.ended, self.last_value)
        )
        advantage = generalised_advantages(reward, value, ended, last, gamma, lam)
        estimated = torch.as_tensor(advantage, device=self.value.device)
        return estimated.float(), (estimated + self.value).float()


@njit(cache=True)
def generalised_advantages(
    reward: NDArray[np.float32],
    value: NDArray[np.float32],
    ended: NDArray[np.bool_],
    last_value: NDArray[np.float32],
    gamma: float,
    lam: float,
) -> NDArray[np.float64]:
    """The advantages [M, T, E] of a rollout; the arguments are those of Rollout."""
    models, steps, envs = reward.shape
    advantage = np.zeros((models, steps, envs))
    for model in range(models):
        for env in range(envs):
            following, carried = np.float64(last_value[model, env]), 0.0
            for step in range(steps - 1, -1, -1):
                goes_on = 0.0 if ended[model, step, env] else 1.0
                now = np.float64(value[model, step, env])
                delta = np.float64(reward[model, step, env]) + gamma * following * goes_on - now
                carried = delta + gamma * lam * goes_on * carried
                advantage[model, step, env] = carried
                following = now
    return advantage


@njit(cache=True)
def draw_actions(
    probabilities: NDArray[np.float32], keys: NDArray[np.uint64], number: int, head: int, action: NDArray[np.int64]
) -> None:
    """Draw one head's entry for each of [M, E, k] probabilities into action [M, E, heads].

    Model m draws from the stream (keys[m], number): the draw of env e and head h is number e * heads + h.
    """
    models, envs, options = probabilities.shape
    for model in range(models):
        for env in range(envs):
            count = np.uint64(env * action.shape[2] + head)
            left = uniform_at(keys[model], np.uint64(number), count) * total(probabilities[model, env])
            chosen, last = -1, 0
            for option in range(options):
                probability = probabilities[model, env, option]
                if probability > 0:
                    last = option
                    left -= probability
                    if left < 0:
                        chosen = option
                        break
            action[model, env, head] = chosen if chosen >= 0 else last


@njit(cache=True)
def total(values: NDArray[np.float32]) -> float:
    """The sum, left to right, in double precision."""
    summed = 0.0
    for value in values:
        summed += np.float64(value)
    return summed


@njit(cache=True)
def permutations(keys: NDArray[np.uint64], number: int, length: int) -> NDArray[np.int64]:
    """A random order of 0 .. length-1 for each key, int64 [M, length]: number `number` of its orders (Fisher-Yates)."""
    orders = np.empty((keys.size, length), np.int64)
    for model in range(keys.size):
        key = keys[model] ^ _SHUFFLE_LANE
        order = orders[model]
        for i in range(length):
            order[i] = i
        for last in range(length - 1, 0, -1):
            other = int(uniform_at(key, np.uint64(number), np.uint64(last)) * (last + 1))
            order[last], order[other] = order[other], order[last]
    return orders

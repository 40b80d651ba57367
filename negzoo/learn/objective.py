"""PPO's clipped objective (Schulman et al. 2017, eq. 7) in closed form: its slopes at the logits and at the values.

For one step with action a, advantage A and ratio r = π(a)/π_old(a):

1. d(-min(rA, clip(r)A))/d log π(a) = -rA where the unclipped term is the smaller one, else 0;
2. d log π(a)/dz_j = [j = a] - π_j;
3. dH/dz_j = -π_j (log π_j + H) for the entropy bonus;
4. d(R - V)²/dV = 2 (V - R).

With one head per issue, log π is that of the decision plus, when it offers, those of the options, and
H = H(decision) + P(offer) Σ H(options).
"""

from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

_TINY = 1e-38


@dataclass(frozen=True)
class Steps:
    """B steps of each of C models: a minibatch, or all that they come from.

    Attributes:
        observation: [C, B, inputs], padded.
        action: int64 [C, B, heads], the chosen entry of each head.
        opening: bool [C, B], whether no offer stood, so that accepting was masked.
        advantage, target, log_prob: [C, B]; target is what the value should be, log_prob that of the old policy.
    """

    observation: Tensor
    action: Tensor
    opening: Tensor
    advantage: Tensor
    target: Tensor
    log_prob: Tensor

    def __getitem__(self, index: Any) -> "Steps":
        """Those at an index of the first two dimensions, models and steps."""
        return Steps(*(getattr(self, field.name)[index] for field in fields(self)))


def normalised(advantage: Tensor) -> Tensor:
    """Advantages [C, B] with mean 0 and standard deviation 1 for each model."""
    if advantage.shape[1] < 2:
        return advantage
    std, mean = torch.std_mean(advantage, dim=1, keepdim=True)
    return (advantage - mean) / (std + 1e-8)


def surrogate_slope(ratio: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """The slope of the mean clipped objective at log π(a): [C, B]."""
    free = torch.where(advantage >= 0, ratio <= 1 + clip, ratio >= 1 - clip)
    return torch.where(free, ratio * advantage, 0.0).div_(-ratio.shape[1])


def masked_(logits: Tensor, opening: Tensor, accept: int) -> Tensor:
    """The logits [C, B, .] with accepting masked in place where no offer stands."""
    logits[..., accept].masked_fill_(opening, -torch.inf)
    return logits


def split_heads(logits: Tensor, heads: tuple[int, ...]) -> tuple[Tensor, ...]:
    """Views of the heads' logits without the padding; a single head keeps it, as its probability is 0."""
    if len(heads) == 1:
        return (logits,)
    return torch.split(logits[..., : sum(heads)], list(heads), dim=-1)


def log_prob_of(probabilities: tuple[Tensor, ...], action: Tensor) -> Tensor:
    """log π of actions int64 [..., heads] under the heads' probabilities [..., k]."""
    chosen = [p.gather(-1, action[..., i, None])[..., 0] for i, p in enumerate(probabilities)]
    *options, decision = [p.clamp_min(_TINY).log() for p in chosen]
    if not options:
        return decision
    return decision + torch.where(action[..., -1] == 0, torch.stack(options).sum(0), 0.0)


def logits_slope(
    logits: Tensor, batch: Steps, heads: tuple[int, ...], accept: int, clip: float, entropy: float
) -> Tensor:
    """The slope of the mean policy loss at the logits, [C, B, logits]; overwrites them.

    Args:
        logits: [C, B, logits], padded, not masked yet; replaced by the result.
        batch: the steps, advantages normalised.
        heads: sizes of the heads.
        accept: the column of accepting.
        clip: ε.
        entropy: weight of the entropy bonus.
    """
    masked_(logits, batch.opening, accept)
    views = split_heads(logits, heads)
    probabilities = tuple(torch.softmax(view, -1) for view in views)
    ratio = (log_prob_of(probabilities, batch.action) - batch.log_prob).exp_()
    slope = surrogate_slope(ratio, batch.advantage, clip)
    offering = batch.action[..., -1] == 0
    for i, (view, p) in enumerate(zip(views, probabilities, strict=True)):
        own = slope if i == len(views) - 1 else torch.where(offering, slope, 0.0)
        torch.mul(p, -own[..., None], out=view)
        view.scatter_add_(-1, batch.action[..., i, None], own[..., None])
    if len(heads) > 1:
        logits[..., sum(heads) :] = 0
    if entropy:
        _add_entropy(views, probabilities, entropy / slope.shape[1])
    return logits


def _add_entropy(views: tuple[Tensor, ...], probabilities: tuple[Tensor, ...], weight: float) -> None:
    """Subtract the slope of the mean entropy, times `weight`."""
    logs = [p.clamp_min(_TINY).log_() for p in probabilities]
    *options, decision = [-(p * log).sum(-1, keepdim=True) for p, log in zip(probabilities, logs, strict=True)]
    final = probabilities[-1]
    views[-1].add_(final * (logs[-1] + decision), alpha=weight)
    if not options:
        return
    offer, within = final[..., :1], torch.stack(options).sum(0)
    views[-1].add_(final * offer * within, alpha=weight)
    views[-1][..., :1].sub_(offer * within, alpha=weight)
    for view, p, log, own in zip(views, probabilities, logs, options, strict=False):
        view.add_(p * (log + own) * offer, alpha=weight)


def values_slope(values: Tensor, target: Tensor, coefficient: float) -> Tensor:
    """The slope of the mean squared value error, times `coefficient`, at the values: [C, B]."""
    return (values - target).mul_(2 * coefficient / values.shape[1])

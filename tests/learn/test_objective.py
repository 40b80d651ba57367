"""The closed-form slopes are those that autograd finds for PPO's loss as it is written in the paper."""

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from negzoo.learn.network import action_distribution
from negzoo.learn.objective import (
    Steps,
    log_prob_of,
    logits_slope,
    masked_,
    normalised,
    split_heads,
    surrogate_slope,
    values_slope,
)
from negzoo.learn.stacked import padded

FLAT, FACTORED = (7,), (2, 3, 3)
ACCEPT = {FLAT: 6, FACTORED: 6}
"""The column of accepting: behind the six offers, and next to the first decision, to offer."""
PADDING = -1e9
CLIP = 0.2

models = st.integers(1, 3)
sizes = st.integers(1, 6)
seeds = st.integers(0, 2**32 - 1)


def random_logits(rng, models, size, heads):
    """Padded as the networks answer them: padding is never chosen."""
    logits = torch.full((models, size, padded(sum(heads))), PADDING, dtype=torch.float64)
    logits[..., : sum(heads)] = 2 * torch.randn((models, size, sum(heads)), generator=rng, dtype=torch.float64)
    return logits


def random_minibatch(rng, logits, heads):
    """Steps of an older policy: its log-probabilities are off by up to ±0.4, so half the ratios are clipped."""
    shape = logits.shape[:2]
    opening = torch.rand(shape, generator=rng) < 0.4
    action = torch.stack([torch.randint(size, shape, generator=rng) for size in heads], -1)
    decision = action[..., -1]
    accepts = decision == (6 if heads == FLAT else 1)
    decision[opening & accepts] = 0
    advantage = torch.randn(shape, generator=rng, dtype=torch.float64)
    shift = 0.8 * torch.rand(shape, generator=rng, dtype=torch.float64) - 0.4
    log_prob = written_log_prob(log_heads(logits, opening, heads), action)
    return Steps(torch.empty(0), action, opening, advantage, torch.empty(0), log_prob + shift)


def log_heads(logits, opening, heads):
    """The log-probabilities of each head's entries, accepting masked where no offer stands."""
    column = torch.arange(logits.shape[-1]) == ACCEPT[heads]
    legal = logits.masked_fill(opening[..., None] & column, -1e30)[..., : sum(heads)]
    return [head.log_softmax(-1) for head in legal.split(list(heads), -1)]


def written_log_prob(logs, action):
    *options, decision = [log.gather(-1, action[..., i, None])[..., 0] for i, log in enumerate(logs)]
    return decision + sum(options) * (action[..., -1] == 0) if options else decision


def written_entropy(logs):
    *options, decision = [-(log.exp() * log).sum(-1) for log in logs]
    return decision + logs[-1][..., 0].exp() * sum(options) if options else decision


def written_loss(logits, batch, heads, entropy):
    """Schulman et al. 2017, eq. 7, with the entropy bonus of eq. 9; summed over models."""
    logs = log_heads(logits, batch.opening, heads)
    ratio = (written_log_prob(logs, batch.action) - batch.log_prob).exp()
    gain = torch.minimum(ratio * batch.advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * batch.advantage)
    return -(gain + entropy * written_entropy(logs)).mean(1).sum()


def slopes(logits, batch, heads, entropy):
    return logits_slope(logits.clone(), batch, heads, ACCEPT[heads], CLIP, entropy)


@pytest.mark.parametrize("heads", [FLAT, FACTORED], ids=["outcome", "issues"])
@given(models=models, size=sizes, seed=seeds, entropy=st.sampled_from([0.0, 0.05, 1.0]))
@example(models=2, size=1, seed=0, entropy=0.05)
def test_the_slope_at_the_logits_is_that_of_the_written_loss(heads, models, size, seed, entropy):
    rng = torch.Generator().manual_seed(seed)
    logits = random_logits(rng, models, size, heads).requires_grad_()
    batch = random_minibatch(rng, logits.detach(), heads)
    written_loss(logits, batch, heads, entropy).backward()
    found = slopes(logits.detach(), batch, heads, entropy)
    assert torch.allclose(found, logits.grad, rtol=1e-9, atol=1e-12)
    assert (found[..., sum(heads) :] == 0).all()


@pytest.mark.parametrize("heads", [FLAT, FACTORED], ids=["outcome", "issues"])
def test_the_slope_of_accepting_what_is_not_offered_is_0(heads):
    rng = torch.Generator().manual_seed(0)
    logits = random_logits(rng, 2, 40, heads)
    batch = random_minibatch(rng, logits, heads)
    accepting = slopes(logits, batch, heads, entropy=0.1)[..., ACCEPT[heads]]
    assert (accepting[batch.opening] == 0).all()
    assert (accepting[~batch.opening] != 0).any()


def test_options_are_not_blamed_for_what_was_not_offered():
    rng = torch.Generator().manual_seed(1)
    logits = random_logits(rng, 1, 60, FACTORED)
    batch = random_minibatch(rng, logits, FACTORED)
    offering = batch.action[..., -1] == 0
    options = slopes(logits, batch, FACTORED, entropy=0.0)[..., :5]
    assert (options[~offering] == 0).all()
    assert (options[offering] != 0).any()


@pytest.mark.parametrize("heads", [FLAT, FACTORED], ids=["outcome", "issues"])
def test_a_policy_that_is_certain_has_finite_slopes(heads):
    logits = torch.zeros((1, 2, padded(sum(heads))))
    logits[..., sum(heads) :] = PADDING
    logits[..., 0] = 300.0
    action = torch.tensor([[[0] * len(heads), [1] * len(heads)]])
    one = torch.ones((1, 2))
    batch = Steps(torch.empty(0), action, one > 0, one, torch.empty(0), -one)
    assert slopes(logits, batch, heads, entropy=0.1).isfinite().all()


# The clipped objective


@pytest.mark.parametrize(
    ("ratio", "advantage", "slope"),
    [
        (1.0, 2.0, -2.0),
        (1.1, 2.0, -2.2),
        (1.3, 2.0, 0.0),
        (0.5, 2.0, -1.0),
        (1.0, -2.0, 2.0),
        (0.9, -2.0, 1.8),
        (0.7, -2.0, 0.0),
        (1.5, -2.0, 3.0),
        (1.3, 0.0, 0.0),
    ],
)
def test_only_a_gain_that_is_too_good_to_be_true_is_clipped(ratio, advantage, slope):
    found = surrogate_slope(torch.tensor([[ratio]]), torch.tensor([[advantage]]), CLIP)
    assert found.item() == pytest.approx(slope)


def test_the_slope_is_that_of_a_mean():
    ratio, advantage = torch.ones((2, 4)), torch.tensor([[1.0, 2.0, 3.0, 4.0], [-1.0, -2.0, -3.0, -4.0]])
    assert torch.equal(surrogate_slope(ratio, advantage, CLIP), -advantage / 4)


# Values and advantages


@given(models=models, size=sizes, seed=seeds, coefficient=st.floats(0, 2))
def test_the_slope_at_the_values_is_that_of_the_mean_squared_error(models, size, seed, coefficient):
    rng = torch.Generator().manual_seed(seed)
    values, target = torch.randn((2, models, size), generator=rng, dtype=torch.float64)
    values.requires_grad_()
    (coefficient * (values - target).square().mean(1).sum()).backward()
    assert torch.allclose(values_slope(values.detach(), target, coefficient), values.grad, rtol=1e-12)


def test_advantages_are_normalised_for_each_model():
    advantage = torch.tensor([[1.0, 2.0, 3.0], [-40.0, 0.0, 40.0]])
    assert torch.allclose(normalised(advantage), torch.tensor([[-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0]]))


def test_equal_advantages_are_normalised_to_0():
    assert torch.equal(normalised(torch.full((2, 3), 0.25)), torch.zeros((2, 3)))


def test_a_single_advantage_stays_as_it_is():
    advantage = torch.tensor([[0.5], [-3.0]])
    assert torch.equal(normalised(advantage), advantage)


# Probabilities


@pytest.mark.parametrize("heads", [FLAT, FACTORED], ids=["outcome", "issues"])
@given(seed=seeds)
def test_log_probabilities_are_those_of_the_networks_distribution(heads, seed):
    rng = torch.Generator().manual_seed(seed)
    logits = random_logits(rng, 1, 5, heads)
    batch = random_minibatch(rng, logits, heads)
    masked = masked_(logits, batch.opening, ACCEPT[heads])
    probabilities = tuple(torch.softmax(view, -1) for view in split_heads(masked, heads))
    distribution = action_distribution(masked[0, :, : sum(heads)], heads)
    action = batch.action[0, :, 0] if heads == FLAT else batch.action[0]
    assert torch.allclose(log_prob_of(probabilities, batch.action)[0], distribution.log_prob(action))


def test_what_cannot_happen_has_a_finite_log_probability():
    probabilities = (torch.tensor([[[1.0, 0.0]]]),)
    assert log_prob_of(probabilities, torch.tensor([[[1]]])).item() == pytest.approx(-87.5, abs=0.1)


@pytest.mark.parametrize("heads", [FLAT, FACTORED], ids=["outcome", "issues"])
def test_padding_is_never_chosen(heads):
    logits = random_logits(torch.Generator().manual_seed(2), 2, 3, heads).float()
    probabilities = [torch.softmax(view, -1) for view in split_heads(logits, heads)]
    for probability, size in zip(probabilities, heads, strict=True):
        assert (probability[..., size:] == 0).all()
        assert torch.allclose(probability[..., :size].sum(-1), torch.ones(2, 3))

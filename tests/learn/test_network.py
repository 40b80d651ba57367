"""The networks: what they are made of, that the mask holds, and the distribution of actions."""

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tianshou.data import Batch
from torch import nn

from negzoo.engine import Negotiations
from negzoo.envs import Codec, NegotiationSettings
from negzoo.learn.network import Actor, Critic, FactoredAction, Interface, action_distribution, greedy_actions
from tests.learn.bargains import TOY

ROW = np.zeros(1, np.int64)
ENCODINGS = ("outcome", "issues")
HIDDEN = (16, 16)


def interface(**settings):
    return Interface.of(Codec(TOY, NegotiationSettings(**settings)))


def opening_and_answer(shape):
    """Two observations: no offer stands in the first, and one does in the second."""
    observations = torch.zeros(2, shape.length)
    observations[1, shape.received[0]] = 1.0
    return observations


@st.composite
def heads_and_logits(draw):
    """Sizes of some issues' heads, then of the decision's, and logits for three observations."""
    heads = (*draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)), draw(st.sampled_from([2, 3])))
    logit = st.integers(-2000, 2000).map(lambda hundredths: hundredths / 100)
    rows = st.lists(logit, min_size=sum(heads), max_size=sum(heads))
    return heads, torch.tensor(draw(st.lists(rows, min_size=3, max_size=3)))


def every_action(heads):
    """int64 [Π heads, len(heads)]."""
    return torch.tensor(list(product(*map(range, heads))))


def what_can_happen(heads, logits):
    """float64 [offers + 1 or 2]: how likely each offer and each other decision is, by the definition."""
    *options, decision = [torch.softmax(head.double(), 0) for head in torch.split(logits, list(heads))]
    offers = [decision[0] * np.prod(chosen) for chosen in product(*(head.tolist() for head in options))]
    return np.array([*map(float, offers), *decision[1:].tolist()])


# What a network reads and answers


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("allow_end", [False, True])
def test_an_interface_has_the_sizes_of_the_codec(encoding, allow_end):
    codec = Codec(TOY, NegotiationSettings(action_encoding=encoding, allow_end=allow_end, history=3))
    shape = Interface.of(codec)
    assert shape.length == codec.length
    assert shape.heads == ((7 + allow_end,) if encoding == "outcome" else (2, 3, 2 + allow_end))
    assert shape.logits == sum(shape.heads)


@pytest.mark.parametrize("encoding", ENCODINGS)
@settings(max_examples=40)
@given(
    offers=st.lists(st.integers(0, TOY.size - 1), max_size=7),
    history=st.integers(1, 3),
    observe_utilities=st.booleans(),
    first_accept=st.sampled_from(["mask", "fail"]),
)
def test_the_mask_read_off_an_observation_is_the_environments(
    encoding, offers, history, observe_utilities, first_accept
):
    game = NegotiationSettings(
        rounds=4,
        action_encoding=encoding,
        history=history,
        observe_utilities=observe_utilities,
        first_accept=first_accept,
        allow_end=True,
    )
    codec = Codec(TOY, game)
    negotiations = Negotiations(1, game.rounds)
    for offer in offers:
        negotiations.apply(ROW, np.array([offer], np.int32))
    shape = Interface.of(codec)
    seen = torch.from_numpy(codec.observe(negotiations, ROW, len(offers) % 2))
    legal = Actor(shape, HIDDEN).masked(torch.zeros(1, shape.logits), seen)[0] == 0
    mask = codec.mask(len(offers))
    assert legal.tolist() == np.concatenate(mask if encoding == "issues" else [mask]).astype(bool).tolist()


def test_an_actor_reads_arrays_and_batches_alike():
    shape = interface()
    actor = Actor(shape, HIDDEN)
    observations = opening_and_answer(shape).numpy()
    plain, state = actor(observations)
    assert plain.shape == (2, shape.logits)
    assert state is None
    assert torch.equal(plain, actor(Batch(obs=observations))[0])


def test_a_critic_answers_one_value_each():
    shape = interface()
    assert Critic(shape, HIDDEN)(opening_and_answer(shape)).shape == (2, 1)


# Initial weights


def linears(network):
    return [layer for layer in network.modules() if isinstance(layer, nn.Linear)]


@pytest.mark.parametrize(("network", "last_gain"), [(Actor, 0.01), (Critic, 1.0)])
def test_layers_are_orthogonal_with_the_gains_of_stable_baselines3_and_biases_0(network, last_gain):
    layers = linears(network(interface(), (64, 32)))
    for layer, gain in zip(layers, [2**0.5, 2**0.5, last_gain], strict=True):
        weight = layer.weight.detach()
        gram = weight @ weight.T if weight.shape[0] <= weight.shape[1] else weight.T @ weight
        assert torch.allclose(gram, gain**2 * torch.eye(len(gram)), atol=1e-5)
        assert not layer.bias.any()


def test_hidden_layers_are_tanh_and_the_two_networks_share_nothing():
    actor, critic = Actor(interface(), HIDDEN), Critic(interface(), HIDDEN)
    kinds = [type(layer) for layer in actor.body]
    assert kinds == [nn.Linear, nn.Tanh, nn.Linear, nn.Tanh, nn.Linear]
    assert {id(p) for p in actor.parameters()}.isdisjoint(id(p) for p in critic.parameters())


def test_a_fresh_actor_hardly_prefers_any_action():
    shape = interface(first_accept="fail")
    logits, _ = Actor(shape, (64, 64))(torch.rand(100, shape.length))
    assert torch.softmax(logits, 1).sub(1 / shape.logits).abs().max() < 0.01


# The mask holds


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(bias=st.sampled_from([-1e4, 0.0, 30.0, 1e4]))
def test_an_illegal_acceptance_is_never_drawn_nor_preferred_however_much_it_is_wanted(encoding, bias):
    shape = interface(action_encoding=encoding, allow_end=True)
    observations = opening_and_answer(shape)
    wanted = torch.zeros(2, shape.logits)
    wanted[:, shape.accept] = bias
    logits = Actor(shape, HIDDEN).masked(wanted, observations)
    opening = action_distribution(logits[:1].expand(2000, -1), shape.heads).sample()
    greedy = greedy_actions(logits, shape.heads)
    accepts = TOY.size if encoding == "outcome" else 1
    assert (opening if encoding == "outcome" else opening[:, -1]).ne(accepts).all()
    preferred = greedy if encoding == "outcome" else greedy[:, -1]
    assert preferred[0] != accepts
    assert (preferred[1] == accepts) == (bias > 0)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_gradients_of_a_masked_policy_are_finite(encoding, scale):
    shape = interface(action_encoding=encoding)
    actor = Actor(shape, HIDDEN)
    with torch.no_grad():
        linears(actor)[-1].weight.mul_(100 * scale)
    logits, _ = actor(opening_and_answer(shape))
    distribution = action_distribution(logits, shape.heads)
    (distribution.log_prob(distribution.sample()).sum() + distribution.entropy().sum()).backward()
    assert all(torch.isfinite(p.grad).all() for p in actor.parameters())


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_masked_logit_gets_no_gradient(encoding):
    shape = interface(action_encoding=encoding)
    raw = torch.randn(2, shape.logits, requires_grad=True)
    distribution = action_distribution(Actor(shape, HIDDEN).masked(raw, opening_and_answer(shape)), shape.heads)
    distribution.entropy().sum().backward()
    assert raw.grad[0, shape.accept] == 0
    assert raw.grad[1, shape.accept] != 0


# The factored distribution, against all its actions written out


@settings(max_examples=50)
@given(heads_and_logits())
def test_the_probability_of_a_factored_action_is_that_of_what_it_does(drawn):
    heads, (row, *_) = drawn
    actions, expected = every_action(heads), what_can_happen(heads, row)
    probability = FactoredAction(row.expand(len(actions), -1), heads).log_prob(actions).exp().numpy()
    decision = actions[:, -1].numpy()
    offers = np.count_nonzero(decision == 0)
    assert expected.sum() == pytest.approx(1)
    assert probability[decision == 0] == pytest.approx(expected[:offers], abs=1e-6)
    for other in range(1, heads[-1]):
        assert probability[decision == other] == pytest.approx(expected[offers + other - 1], abs=1e-6)


@settings(max_examples=50)
@given(heads_and_logits())
def test_the_entropy_of_a_factored_action_is_that_of_what_can_happen(drawn):
    heads, logits = drawn
    everything = [what_can_happen(heads, row) for row in logits]
    by_definition = [-np.sum(p * np.log(p, where=p > 0, out=np.zeros_like(p))) for p in everything]
    assert FactoredAction(logits, heads).entropy().numpy() == pytest.approx(np.array(by_definition), abs=1e-5)


@settings(max_examples=50)
@given(heads_and_logits())
def test_a_greedy_action_is_the_mode_of_every_head(drawn):
    heads, logits = drawn
    expected = [[int(head.argmax()) for head in torch.split(row, list(heads))] for row in logits]
    assert greedy_actions(logits, heads).tolist() == expected
    assert action_distribution(logits, heads).mode.tolist() == expected


@given(st.lists(st.integers(-3, 3), min_size=7, max_size=7))
def test_a_greedy_outcome_is_the_likeliest_and_the_first_of_equals(logits):
    (greedy,) = greedy_actions(torch.tensor([logits], dtype=torch.float32), (7,)).tolist()
    assert greedy == logits.index(max(logits))
    assert action_distribution(torch.tensor([logits], dtype=torch.float32), (7,)).mode.tolist() == [greedy]


def test_factored_actions_are_drawn_as_often_as_they_are_likely():
    heads, draws = (2, 3, 3), 40_000
    with torch.random.fork_rng():
        torch.manual_seed(0)
        logits = torch.randn(8)
        drawn = FactoredAction(logits.expand(draws, -1), heads).sample()
    offered = drawn[drawn[:, 2] == 0] @ torch.tensor([3, 1, 0])
    counts = np.concatenate([np.bincount(offered, minlength=6), np.bincount(drawn[:, 2], minlength=3)[1:]])
    expected = draws * what_can_happen(heads, logits)
    assert ((counts - expected) ** 2 / expected).sum() < 24.3  # chi-square, 7 degrees of freedom: 0.1 %


def test_a_factored_distribution_draws_one_action_each():
    with pytest.raises(ValueError, match="one action each"):
        FactoredAction(torch.zeros(1, 4), (2, 2)).sample((3,))

"""Stacked models: each is the networks of `Actor` and `Critic`, trained as torch would, wherever it lies."""

import copy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from negzoo.envs import Codec, NegotiationSettings
from negzoo.learn.network import Actor, Critic, Interface
from negzoo.learn.stacked import ModelState, Stack, fresh_weights, padded
from tests.learn.bargains import TOY

CPU = torch.device("cpu")
INTERFACES = {
    encoding: Interface.of(Codec(TOY, NegotiationSettings(action_encoding=encoding)))
    for encoding in ("outcome", "issues")
}
WIDTHS = [(8,), (5, 7), (17, 16, 3)]

networks = pytest.mark.parametrize(
    ("interface", "hidden"),
    [(interface, hidden) for interface in INTERFACES.values() for hidden in WIDTHS],
    ids=[f"{encoding}-{hidden}" for encoding in INTERFACES for hidden in WIDTHS],
)


@pytest.fixture
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def shapes_of(interface, hidden):
    with torch.random.fork_rng():
        return {name: value.shape for name, value in fresh_weights(interface, hidden).items()}


def random_weights(interface, hidden, seed):
    """Weights of about the size that training makes them, biases too."""
    rng = torch.Generator().manual_seed(seed)
    return {name: torch.randn(shape, generator=rng) / 2 for name, shape in shapes_of(interface, hidden).items()}


def random_state(interface, hidden, seed):
    """A model in the midst of training."""
    weights, mean, square = (random_weights(interface, hidden, 3 * seed + part) for part in range(3))
    return ModelState(weights, mean, {name: value.square() for name, value in square.items()})


def stack_of(interface, hidden, states):
    stack = Stack(interface, hidden, len(states), CPU)
    for model, state in enumerate(states):
        stack.put(model, state)
    return stack


def some_states(interface, hidden, size=3):
    return [random_state(interface, hidden, seed) for seed in range(size)]


def modules(interface, hidden, weights):
    """The same model as torch has it."""
    pair = Actor(interface, hidden), Critic(interface, hidden)
    for name, module in zip(("actor", "critic"), pair, strict=True):
        prefix = f"{name}."
        module.load_state_dict({k.removeprefix(prefix): v for k, v in weights.items() if k.startswith(prefix)})
    return pair


def gradient_of(stack, model):
    """A model's gradient by the names of its weights."""
    probe = copy.deepcopy(stack)
    probe.mean.copy_(stack.gradient)
    return probe.get(model).mean


def used(stack):
    """bool: which numbers of the flat buffer belong to a model, and are not padding."""
    ones = {name: torch.ones(shape) for name, shape in shapes_of(stack.interface, stack.hidden).items()}
    probe = Stack(stack.interface, stack.hidden, stack.size, CPU)
    for model in range(stack.size):
        probe.put(model, ModelState(ones, ones, ones))
    return probe.mean != 0


def observations(interface, size, steps=6, seed=0):
    return torch.rand((size, steps, interface.length), generator=torch.Generator().manual_seed(seed))


def random_slopes(interface, size, steps=6, seed=0):
    """Slopes at the logits, none at their padding, and at the values."""
    rng = torch.Generator().manual_seed(seed)
    logits = torch.zeros((size, steps, padded(interface.logits)))
    logits[..., : interface.logits] = torch.randn((size, steps, interface.logits), generator=rng)
    return logits, torch.randn((size, steps), generator=rng)


def train(stack, updates=3):
    """Some gradient steps."""
    for seed in range(updates):
        seen = stack(stack.pad(observations(stack.interface, stack.size, seed=seed)))
        stack.backward(seen, *random_slopes(stack.interface, stack.size, seed=seed))
        stack.clip(0.5)
        stack.adam(rate=0.01, epsilon=1e-5)


def assert_same(found, expected, **tolerance):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert torch.allclose(found[name], value, **tolerance), name


def assert_equal(found, expected):
    for part in ("weights", "mean", "square"):
        assert_same(getattr(found, part), getattr(expected, part), rtol=0, atol=0)


# Layout


@given(st.integers(1, 10_000))
def test_padding_is_to_the_next_multiple_of_16(width):
    assert padded(width) % 16 == 0
    assert 0 <= padded(width) - width < 16


@networks
def test_what_is_put_is_got(interface, hidden):
    states = some_states(interface, hidden)
    stack = stack_of(interface, hidden, states)
    for model, state in enumerate(states):
        assert_equal(stack.get(model), state)


@networks
def test_putting_one_model_leaves_the_others_as_they_are(interface, hidden):
    states = some_states(interface, hidden)
    stack, newcomer = stack_of(interface, hidden, states), random_state(interface, hidden, 99)
    stack.put(1, newcomer)
    for model, state in enumerate([states[0], newcomer, states[2]]):
        assert_equal(stack.get(model), state)


@networks
def test_what_is_got_is_a_copy(interface, hidden):
    stack = stack_of(interface, hidden, some_states(interface, hidden))
    before = copy.deepcopy(stack.get(0))
    got = stack.get(0)
    train(stack)
    assert_equal(got, before)


@networks
def test_every_number_of_a_model_has_a_place_of_its_own(interface, hidden):
    stack = Stack(interface, hidden, 3, CPU)
    count = sum(shape.numel() for shape in shapes_of(interface, hidden).values())
    assert used(stack).sum() == 3 * count


@networks
def test_padding_stays_0(interface, hidden):
    stack = stack_of(interface, hidden, some_states(interface, hidden))
    padding = ~used(stack)
    never = stack.theta[padding].clone()
    assert set(never.tolist()) <= {0.0, -1e9}
    train(stack)
    assert torch.equal(stack.theta[padding], never)
    assert (stack.mean[padding] == 0).all()
    assert (stack.square[padding] == 0).all()


def test_blocks_begin_at_multiples_of_64_bytes():
    stack = Stack(INTERFACES["outcome"], (5, 7), 3, CPU)
    for name, view in stack.weight.items():
        assert all((view[model].data_ptr() - stack.theta.data_ptr()) % 64 == 0 for model in range(3)), name


def test_observations_are_padded_with_a_one_behind_them():
    interface = INTERFACES["outcome"]
    stack = Stack(interface, (8,), 2, CPU)
    seen = observations(interface, 2)
    wide = stack.pad(seen)
    assert torch.equal(wide[..., : interface.length], seen)
    assert (wide[..., interface.length] == 1).all()
    assert (wide[..., interface.length + 1 :] == 0).all()


def test_new_models_are_drawn_as_the_networks_are():
    interface = INTERFACES["outcome"]
    with torch.random.fork_rng():
        torch.manual_seed(3)
        weights = fresh_weights(interface, (8, 8))
        torch.manual_seed(3)
        actor, critic = Actor(interface, (8, 8)), Critic(interface, (8, 8))
    expected = {f"actor.{name}": value for name, value in actor.state_dict().items()}
    expected |= {f"critic.{name}": value for name, value in critic.state_dict().items()}
    assert_same(weights, expected, rtol=0, atol=0)
    fresh = ModelState.fresh(weights)
    assert not any(value.any() for value in [*fresh.mean.values(), *fresh.square.values()])


# Passes, against torch


@networks
@pytest.mark.usefixtures("double")
def test_the_forward_pass_is_that_of_both_networks(interface, hidden):
    states = some_states(interface, hidden)
    stack, seen = stack_of(interface, hidden, states), observations(interface, 3)
    found = stack(stack.pad(seen))
    for model, state in enumerate(states):
        actor, critic = modules(interface, hidden, state.weights)
        assert torch.allclose(found.logits[model, :, : interface.logits], actor.body(seen[model]))
        assert torch.allclose(found.values[model], critic.body(seen[model])[:, 0])


@networks
def test_logits_of_padding_are_as_good_as_impossible(interface, hidden):
    stack = stack_of(interface, hidden, some_states(interface, hidden))
    train(stack)
    logits = stack(stack.pad(observations(interface, 3))).logits
    assert (logits[..., interface.logits :] == -1e9).all()


@networks
@pytest.mark.usefixtures("double")
def test_the_backward_pass_is_autograds(interface, hidden):
    states = some_states(interface, hidden)
    stack, seen = stack_of(interface, hidden, states), observations(interface, 3)
    slopes = random_slopes(interface, 3)
    stack.backward(stack(stack.pad(seen)), *slopes)
    for model, state in enumerate(states):
        expected = autograd_of(interface, hidden, state.weights, seen[model], [slope[model] for slope in slopes])
        assert_same(gradient_of(stack, model), expected, rtol=1e-9, atol=1e-12)


def autograd_of(interface, hidden, weights, seen, slopes):
    """The gradient of a loss that has these slopes at the logits and at the values."""
    actor, critic = modules(interface, hidden, weights)
    logits, values = actor.body(seen), critic.body(seen)[:, 0]
    ((logits * slopes[0][:, : interface.logits]).sum() + (values * slopes[1]).sum()).backward()
    named = {"actor": actor, "critic": critic}
    return {f"{key}.{name}": p.grad for key, module in named.items() for name, p in module.named_parameters()}


@networks
def test_the_backward_pass_leaves_no_slope_in_padding(interface, hidden):
    stack = stack_of(interface, hidden, some_states(interface, hidden))
    stack.gradient.fill_(torch.nan)
    stack.slope["critic.out.bias"].zero_()
    stack.backward(stack(stack.pad(observations(interface, 3))), *random_slopes(interface, 3))
    assert (stack.gradient[~used(stack)] == 0).all()
    assert stack.gradient.isfinite().all()


@networks
@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("most", [0.5, 3.0, 1e6])
def test_gradients_are_clipped_as_torch_does_it_for_each_model(interface, hidden, most):
    stack = stack_of(interface, hidden, some_states(interface, hidden))
    logits, values = random_slopes(interface, 3)
    size = torch.tensor([1e-3, 1.0, 100.0])[:, None]
    stack.backward(stack(stack.pad(observations(interface, 3))), logits * size[..., None], values * size)
    expected = [clipped(gradient_of(stack, model), most) for model in range(3)]
    stack.clip(most)
    for model in range(3):
        assert_same(gradient_of(stack, model), expected[model], rtol=1e-9)


def clipped(gradient, most):
    parameters = {name: torch.nn.Parameter(torch.zeros_like(value)) for name, value in gradient.items()}
    for name, parameter in parameters.items():
        parameter.grad = gradient[name].clone()
    torch.nn.utils.clip_grad_norm_(parameters.values(), most)
    return {name: parameter.grad for name, parameter in parameters.items()}


@networks
def test_small_gradients_stay_as_they_are_to_the_bit(interface, hidden):
    stack = stack_of(interface, hidden, some_states(interface, hidden))
    logits, values = random_slopes(interface, 3)
    stack.backward(stack(stack.pad(observations(interface, 3))), 1e-4 * logits, 1e-4 * values)
    before = stack.gradient.clone()
    stack.clip(0.5)
    assert torch.equal(stack.gradient, before)


@networks
def test_steps_are_those_of_torchs_adam(interface, hidden):
    weights = [random_weights(interface, hidden, seed) for seed in range(3)]
    stack = stack_of(interface, hidden, [ModelState.fresh(values) for values in weights])
    theirs = [{name: torch.nn.Parameter(value.clone()) for name, value in values.items()} for values in weights]
    adams = [torch.optim.Adam(parameters.values(), lr=3e-4, eps=1e-5) for parameters in theirs]
    for seed in range(5):
        logits, values = random_slopes(interface, 3, seed=seed)
        stack.backward(stack(stack.pad(observations(interface, 3, seed=seed))), logits / 9, values / 9)
        for model, (parameters, adam) in enumerate(zip(theirs, adams, strict=True)):
            for name, slope in gradient_of(stack, model).items():
                parameters[name].grad = slope
            adam.step()
        stack.adam(rate=3e-4, epsilon=1e-5)
    for model, parameters in enumerate(theirs):
        moved = stack.get(model).weights
        assert_same(moved, {name: value.detach() for name, value in parameters.items()}, rtol=0, atol=1e-7)
        assert not any(torch.equal(moved[name], weights[model][name]) for name in moved)


# Places and company


@networks
@pytest.mark.parametrize("place", [0, 1, 4])
def test_a_model_is_the_same_to_the_bit_wherever_it_lies_and_whoever_lies_beside_it(interface, hidden, place):
    state = random_state(interface, hidden, 7)
    strangers = [random_state(interface, hidden, 100 * place + i) for i in range(5)]
    found = []
    for index, others in ((2, some_states(interface, hidden, 5)), (place, strangers)):
        others[index] = state
        stack = stack_of(interface, hidden, others)
        for seed in range(3):
            step_alike(stack, index, seed)
        found.append(stack.get(index))
    assert_equal(*found)


def step_alike(stack, index, seed):
    """A gradient step in which the model at `index` sees the same, and the others something else for each index."""
    seen = observations(stack.interface, 5, seed=1000 * index + seed)
    logits, values = random_slopes(stack.interface, 5, seed=1000 * index + seed)
    seen[index] = observations(stack.interface, 1, seed=seed)[0]
    logits[index], values[index] = (slope[0] for slope in random_slopes(stack.interface, 1, seed=seed))
    stack.backward(stack(stack.pad(seen)), logits, values)
    stack.clip(0.5)
    stack.adam(rate=0.01, epsilon=1e-5)


def test_the_state_dict_is_all_that_a_stack_needs_to_go_on():
    interface, hidden = INTERFACES["issues"], (5, 7)
    stack = stack_of(interface, hidden, some_states(interface, hidden))
    train(stack)
    other = Stack(interface, hidden, 3, CPU)
    other.load_state_dict(copy.deepcopy(stack.state_dict()))
    for each in (stack, other):
        train(each)
    for model in range(3):
        assert_equal(other.get(model), stack.get(model))

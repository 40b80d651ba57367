"""Advantages, draws and shuffles: the compiled parts against slow ones, and what chance has to look like."""

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from negzoo.engine.rng import uniform_at
from negzoo.learn.rollout import Rollout, draw_actions, generalised_advantages, permutations

words = st.integers(0, 2**64 - 1)
rates = st.floats(0, 1)
figures = st.floats(-2, 2, width=32)
KEY = np.uint64(2024)


# Advantages


@st.composite
def rollouts(draw):
    """Rewards, values, ends and last values of up to 2 models, 6 steps and 3 negotiations."""
    models, steps, envs = draw(st.tuples(st.integers(1, 2), st.integers(1, 6), st.integers(1, 3)))
    shape = (models, steps, envs)
    reward, value = (draw(arrays.arrays(np.float32, shape, elements=figures)) for _ in range(2))
    ended = draw(arrays.arrays(np.bool_, shape))
    return reward, value, ended, draw(arrays.arrays(np.float32, (models, envs), elements=figures))


def advantage_by_definition(reward, value, ended, last, gamma, lam):
    """Schulman et al. 2016, eq. 16, for one negotiation's table: Σ (γλ)^k δ, up to the end or to the cut."""
    following = np.append(value[1:], last)
    delta = reward + gamma * following * ~ended - value
    summed = np.zeros(len(reward))
    for step in range(len(reward)):
        for ahead in range(step, len(reward)):
            summed[step] += (gamma * lam) ** (ahead - step) * delta[ahead]
            if ended[ahead]:
                break
    return summed


@given(rollouts(), rates, rates)
def test_advantages_are_those_of_the_definition(rollout, gamma, lam):
    reward, value, ended, last = rollout
    found = generalised_advantages(*rollout, gamma, lam)
    for model, env in np.ndindex(last.shape):
        table = (part[model, :, env].astype(float) for part in (reward, value))
        expected = advantage_by_definition(*table, ended[model, :, env], float(last[model, env]), gamma, lam)
        assert found[model, :, env] == pytest.approx(expected, abs=1e-12)


def test_what_comes_after_an_end_or_at_another_table_counts_for_nothing():
    reward, value, ended = np.zeros((1, 4, 2), np.float32), np.zeros((1, 4, 2), np.float32), np.zeros((1, 4, 2), bool)
    reward[0, 3, 0], ended[0, 1, 0] = 5.0, True
    last = np.array([[3.0, 7.0]], np.float32)
    found = generalised_advantages(reward, value, ended, last, 1.0, 1.0)
    assert found[0, :, 0].tolist() == [0.0, 0.0, 8.0, 8.0]
    assert found[0, :, 1].tolist() == [7.0] * 4


@given(rollouts())
def test_targets_are_advantages_on_top_of_values(arrays):
    reward, value, ended, last = map(torch.as_tensor, arrays)
    nothing = torch.empty(0)
    rollout = Rollout(nothing, nothing, nothing, reward, value, nothing, ended, last)
    advantage, target = rollout.advantages(0.99, 0.95)
    assert advantage.dtype == target.dtype == torch.float32
    assert torch.allclose(target, advantage + value, atol=1e-6)
    assert torch.allclose(advantage.double(), torch.as_tensor(generalised_advantages(*arrays, 0.99, 0.95)), atol=1e-6)


@pytest.mark.parametrize("part", ["reward", "value", "log_prob"])
def test_a_rollout_knows_when_it_holds_what_is_no_number(part):
    rollout = Rollout.empty(2, 3, 4, 16, 1, torch.device("cpu"))
    assert len(rollout) == 24
    assert not rollout.hasnull()
    getattr(rollout, part)[1, 2, 3] = torch.nan
    assert rollout.hasnull()


# Drawing actions


def drawn(probabilities, keys, number=0, heads=1, head=0):
    """int64 [M, E]: one head's entries, from probabilities [M, E, k]."""
    action = np.full((*probabilities.shape[:2], heads), -1)
    draw_actions(np.asarray(probabilities, np.float32), np.asarray(keys, np.uint64), number, head, action)
    untouched = np.delete(action, head, axis=2)
    assert (untouched == -1).all()
    return action[..., head]


def chi_square(counts, expected):
    return float((np.square(counts - expected) / expected).sum())


def test_actions_are_drawn_as_often_as_they_are_probable():
    probability = np.array([0.5, 0.25, 0.0, 0.125, 0.0625, 0.0625, 0.0])
    actions = drawn(np.tile(probability, (1, 20_000, 1)), [KEY])
    counts = np.bincount(actions.ravel(), minlength=7)
    possible = probability > 0
    assert counts[~possible].tolist() == [0, 0]
    assert chi_square(counts[possible], 20_000 * probability[possible]) < 18.5  # 4 degrees of freedom: 0.1 %


def test_actions_of_one_table_are_as_random_from_step_to_step():
    probability = np.full((1, 1, 4), 0.25)
    counts = np.bincount([drawn(probability, [KEY], number)[0, 0] for number in range(2000)], minlength=4)
    assert chi_square(counts, np.full(4, 500.0)) < 16.3  # 3 degrees of freedom: 0.1 %


def test_heads_models_steps_and_tables_draw_independently():
    probability = np.full((2, 5000, 2), 0.5)
    one = drawn(probability, [KEY, KEY + np.uint64(1)], 0, 2, 0)
    other_head, other_step = (drawn(probability, [KEY, KEY], *which) for which in ((0, 2, 1), (1, 2, 0)))
    pairs = [(one[0], one[1]), (one[0], other_head[0]), (one[0], other_step[0]), (one[0], np.roll(one[0], 1))]
    for first, second in pairs:
        counts = np.bincount(2 * first + second, minlength=4)
        assert chi_square(counts, np.full(4, 1250.0)) < 16.3  # 3 degrees of freedom: 0.1 %


weights = st.sampled_from([0.0, 0.0, 1e-30, 1e-6, 0.3, 1.0])


@given(st.lists(weights, min_size=1, max_size=9).filter(any), words, st.integers(0, 10**9))
def test_what_has_no_probability_is_never_drawn(probability, key, number):
    probability = np.array(probability, np.float32)
    actions = drawn(np.tile(probability, (1, 50, 1)), [key], number)
    assert (probability[actions] > 0).all()


@given(
    arrays.arrays(np.float32, (2, 3, 4), elements=st.floats(0.0625, 1, width=32)),
    st.tuples(words, words),
    st.integers(0, 10**9),
    st.integers(0, 2),
)
def test_a_draw_depends_on_its_key_its_number_its_table_and_its_head_alone(weights, keys, number, head):
    actions = drawn(weights, keys, number, 3, head)
    for model, env in np.ndindex(2, 3):
        share = np.cumsum(weights[model, env].astype(float))
        uniform = uniform_at(np.uint64(keys[model]), np.uint64(number), np.uint64(3 * env + head))
        expected = np.searchsorted(share, uniform * share[-1], side="right")
        near = np.abs(share - uniform * share[-1]).min() < 1e-9
        assert near or actions[model, env] == expected


def test_a_certain_action_is_always_drawn():
    certain = np.zeros((1, 100, 5))
    certain[..., 3] = 1.0
    assert set(drawn(certain, [KEY]).ravel().tolist()) == {3}


# Shuffling


@given(st.lists(words, min_size=1, max_size=3), st.integers(0, 10**6), st.integers(1, 40))
def test_orders_are_permutations(keys, number, length):
    orders = permutations(np.array(keys, np.uint64), number, length)
    assert orders.shape == (len(keys), length)
    assert (np.sort(orders, axis=1) == np.arange(length)).all()


@given(st.lists(words, min_size=2, max_size=4), st.integers(0, 10**6))
def test_an_order_depends_on_its_key_and_number_alone(keys, number):
    keys = np.array(keys, np.uint64)
    together = permutations(keys, number, 12)
    for i in range(len(keys)):
        assert np.array_equal(permutations(keys[i : i + 1], number, 12)[0], together[i])
    assert np.array_equal(permutations(keys[::-1].copy(), number, 12), together[::-1])


def test_other_keys_and_other_numbers_give_other_orders():
    keys = np.arange(5, dtype=np.uint64)
    orders = [tuple(order) for number in range(20) for order in permutations(keys, number, 30).tolist()]
    assert len(set(orders)) == 100


@pytest.mark.parametrize("across", ["keys", "numbers"])
def test_every_order_is_equally_likely(across):
    keys = np.arange(4800, dtype=np.uint64) if across == "keys" else np.array([KEY])
    numbers = range(1) if across == "keys" else range(4800)
    counts = Counter(tuple(order) for number in numbers for order in permutations(keys, number, 4).tolist())
    assert len(counts) == 24
    assert chi_square(np.array(list(counts.values())), np.full(24, 200.0)) < 49.7  # 23 degrees of freedom: 0.1 %

"""Global generators and threads are ours while a block runs, and the caller's before and after."""

from contextlib import contextmanager, suppress

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tianshou.algorithm import algorithm_base
from tianshou.data.buffer import manager as buffer_manager

from negzoo.learn.generators import Generators, one_thread, seeded

SEEDS = st.integers(0, 2**64 - 1)


def draw(count=3):
    """What both global generators give next."""
    return np.random.random(count).tolist(), torch.rand(count).tolist()  # noqa: NPY002 - the one to be contained


@contextmanager
def surroundings(seed=1, threads=2):
    """A caller with generators and a number of threads of its own."""
    before = np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng(), one_thread():
        np.random.seed(seed)  # noqa: NPY002
        torch.manual_seed(seed)
        torch.set_num_threads(threads)
        yield
    np.random.set_state(before)  # noqa: NPY002


def undisturbed():
    """What a caller draws who is alone."""
    with surroundings():
        return [draw() for _ in range(3)]


def contained(seed):
    return seeded(seed)


def running(seed):
    return Generators(seed).running()


either_way = pytest.mark.parametrize("ours", [contained, running])


def test_the_own_state_goes_on_from_one_block_to_the_next():
    at_once, in_parts = Generators(5), Generators(5)
    with at_once.running():
        expected = [draw() for _ in range(3)]
    parts = []
    for seed in range(3):
        with surroundings(seed), in_parts.running():
            parts.append(draw())
    assert parts == expected
    assert len({tuple(numbers) for numbers, _ in parts}) == 3


def test_two_own_states_do_not_disturb_each_other():
    one, other = Generators(5), Generators(6)
    drawn = []
    for _ in range(2):
        for generators in (one, other):
            with generators.running():
                drawn.append(draw())
    for first, seed in enumerate((5, 6)):
        with seeded(seed):
            assert drawn[first::2] == [draw(), draw()]


@given(SEEDS)
def test_one_seed_gives_the_same_numbers_whatever_is_around(seed):
    drawn = []
    for around in (1, 2):
        with surroundings(around), seeded(seed):
            drawn.append(draw())
    assert drawn[0] == drawn[1]


def test_other_seeds_give_other_numbers():
    drawn = []
    for seed in (0, 1, 2**31, 2**64 - 1):
        with seeded(seed):
            drawn.append(draw())
    for generator in zip(*drawn, strict=True):
        assert len(set(map(tuple, generator))) == 4


@either_way
def test_the_callers_generators_go_on_as_if_nothing_had_been(ours):
    seen = []
    with surroundings():
        for _ in range(3):
            with ours(7):
                draw()
            seen.append(draw())
    assert seen == undisturbed()


@either_way
def test_the_callers_generators_and_threads_come_back_after_an_error(ours):
    with surroundings():
        with suppress(ZeroDivisionError), ours(2**64 - 1):
            draw()
            raise ZeroDivisionError
        assert torch.get_num_threads() == 2
        assert draw() == undisturbed()[0]


def test_what_was_drawn_before_an_error_is_not_drawn_again():
    generators = Generators(5)
    with suppress(ZeroDivisionError), generators.running():
        first = draw()
        raise ZeroDivisionError
    with generators.running():
        assert draw() != first


@either_way
def test_a_block_computes_on_one_thread(ours):
    with surroundings(threads=2):
        with ours(0):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2


def test_one_thread_leaves_the_number_of_threads_as_it_was():
    with surroundings(threads=2):
        with suppress(ZeroDivisionError), one_thread():
            assert torch.get_num_threads() == 1
            raise ZeroDivisionError
        assert torch.get_num_threads() == 2


@pytest.mark.parametrize(
    "compiled",
    [
        algorithm_base._gae,
        algorithm_base._nstep_return,
        buffer_manager._prev_index,
        buffer_manager._next_index,
    ],
    ids=lambda compiled: compiled.__name__,
)
def test_what_tianshou_compiles_is_kept_on_disk(compiled):
    assert compiled.stats.cache_path

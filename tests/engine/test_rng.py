"""Random streams: the published test vectors, and draws that belong to their negotiation alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from negzoo.engine.rng import NO_TAPE, STREAM, Draws, below, derive_key, philox, shuffle, uniform, uniform_at, uniforms

words = st.integers(0, 2**64 - 1)
some_streams = st.lists(st.tuples(words, words), min_size=1, max_size=20).map(
    lambda pairs: np.array(pairs, np.uint64).T
)


def joined(low, high):
    """A 64-bit word of two 32-bit ones."""
    return np.uint64(high << 32 | low)


def reference(key, index, count):
    """Philox4x32-10 in Python's unbounded integers, from the paper's figure 2 and its table of constants."""
    left, right = [count & 0xFFFFFFFF, index & 0xFFFFFFFF], [count >> 32, index >> 32]
    round_keys = [key & 0xFFFFFFFF, key >> 32]
    for _ in range(10):
        first, second = left[0] * 0xD2511F53, left[1] * 0xCD9E8D57
        left = [(second >> 32) ^ right[0] ^ round_keys[0], (first >> 32) ^ right[1] ^ round_keys[1]]
        right = [second & 0xFFFFFFFF, first & 0xFFFFFFFF]
        round_keys = [(round_keys[0] + 0x9E3779B9) % 2**32, (round_keys[1] + 0xBB67AE85) % 2**32]
    return left[0], right[0], left[1], right[1]


def stream(key=0, index=0):
    """A record of STREAM that has drawn nothing yet."""
    return np.array([(key, index, 0)], STREAM)[0]


def first_draws(key, size):
    """The first draw of each of the streams 0 .. size-1 of a key."""
    return uniforms(np.full(size, key, np.uint64), np.arange(size, dtype=np.uint64))


# Philox


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_the_known_answers_of_random123(counter, key, expected):
    assert philox(joined(*key), joined(*counter[2:]), joined(*counter[:2])) == expected


@given(words, words, words)
def test_philox_anywhere(key, index, count):
    assert philox(*map(np.uint64, (key, index, count))) == reference(key, index, count)


@given(words, words, words)
def test_a_draw_is_the_first_53_of_its_bits(key, index, count):
    low, high, _, _ = reference(key, index, count)
    assert uniform_at(*map(np.uint64, (key, index, count))) == ((high << 32 | low) >> 11) / 2**53


def test_draws_are_uniform_and_those_of_neighbours_unrelated():
    drawn, other_key = (first_draws(key, 40_000) for key in (1, 2))
    assert (drawn >= 0).all()
    assert (drawn < 1).all()
    counts = np.bincount((drawn * 10).astype(int), minlength=10)
    assert ((counts - 4000) ** 2 / 4000).sum() < 28  # chi-square, 9 degrees of freedom: 0.1 %
    for other in (np.roll(drawn, 1), other_key):
        assert abs(np.corrcoef(drawn, other)[0, 1]) < 0.02


# Streams


@given(some_streams, st.randoms())
def test_a_negotiations_draw_does_not_depend_on_the_batch_it_is_in_or_its_order(streams, random):
    together, size = uniforms(*streams), streams.shape[1]
    assert [uniforms(*streams[:, [i]])[0] for i in range(size)] == together.tolist()
    order = random.sample(range(size), size)
    assert uniforms(*streams[:, order]).tolist() == together[order].tolist()


@given(words, st.lists(st.integers(0, 2), max_size=30))
def test_a_streams_draws_do_not_depend_on_when_others_draw(key, order):
    streams = np.array([(key, index, 0) for index in range(3)], STREAM)
    drawn = [[], [], []]
    for index in order:
        drawn[index].append(uniform(Draws(streams[index], NO_TAPE)))
    for index, own in enumerate(drawn):
        assert own == [uniform_at(*map(np.uint64, (key, index, count))) for count in range(len(own))]
        assert streams[index]["count"] == len(own)


def test_keys_depend_on_the_seed_and_every_lane():
    derived = {int(derive_key(seed, *lane)) for seed in range(20) for lane in [(), (0,), (1,), (0, 0), (0, 1), (1, 0)]}
    assert len(derived) == 120


def test_keys_are_the_same_for_ever():
    assert (derive_key(0), derive_key(0, 1)) == (15793235383387715774, 4881901421217228719)


def test_seeds_of_any_size_are_told_apart():
    assert len({int(derive_key(seed)) for seed in (0, 2**32, 2**64, 2**64 + 1, 2**200)}) == 5


@pytest.mark.parametrize("arguments", [(-1,), (0, -1)])
def test_a_negative_seed_or_lane_is_refused(arguments):
    with pytest.raises(ValueError, match="non-negative"):
        derive_key(*arguments)


# What is drawn


def test_below_draws_every_number_equally_often():
    draws = Draws(stream(), NO_TAPE)
    counts = np.bincount([below(draws, 7) for _ in range(7000)], minlength=7)
    assert counts.size == 7
    assert ((counts - 1000) ** 2 / 1000).sum() < 22.5  # chi-square, 6 degrees of freedom: 0.1 %


def shuffled(size, draws):
    values = np.arange(size)
    shuffle(values, draws)
    return values.tolist()


def test_shuffles_reach_every_order_equally_often():
    draws = Draws(stream(key=3), NO_TAPE)
    orders = [tuple(shuffled(3, draws)) for _ in range(6000)]
    assert len(set(orders)) == 6
    assert all(abs(orders.count(order) - 1000) < 100 for order in set(orders))


@given(st.integers(0, 12))
def test_a_shuffle_takes_a_draw_fewer_than_there_are_values(size):
    draws = Draws(stream(), NO_TAPE)
    assert sorted(shuffled(size, draws)) == list(range(size))
    assert draws.stream["count"] == max(size - 1, 0)


def test_a_shuffle_swaps_the_last_value_first():
    """[a b c d] with 0: a and d; with 2: c stays; with 0: d and b."""
    assert shuffled(4, Draws(stream(), np.array([0.0, 2.0, 0.0]))) == [1, 3, 2, 0]


# Tapes


def test_a_tape_is_read_in_order_and_wraps_round():
    draws = Draws(stream(key=9, index=9), np.array([0.25, 0.75, 0.5]))
    assert [uniform(draws) for _ in range(7)] == [0.25, 0.75, 0.5, 0.25, 0.75, 0.5, 0.25]
    assert draws.stream["count"] == 7


def test_a_tape_holds_the_integers_themselves():
    draws = Draws(stream(), np.array([0.0, 41.0, 7.0]))
    assert [below(draws, 42) for _ in range(3)] == [0, 41, 7]

"""Pools: who turns up how often, and that it depends on the negotiation's index alone."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from negzoo.engine import Negotiations
from negzoo.engine.rng import derive_key
from negzoo.errors import OpponentError
from negzoo.opponents import Pool, TimeDependent, play, resolve
from negzoo.scenario import load

LAPTOP = load("laptop")
LINEAR, HARDLINER, RANDOM = resolve("Linear"), resolve("Hardliner"), resolve("Random")


def pool(*members, **settings):
    return Pool("pool", members, **settings)


def drawn(members, size, seed=0):
    """int32 [size]: which member plays each negotiation."""
    seat = members.seat(LAPTOP, 1, size)
    rows = np.arange(size)
    seat.start(rows, np.full(size, derive_key(seed, 1)), rows.astype(np.uint64))
    return seat.member(rows)


@pytest.mark.parametrize("weights", [(), (1.0, 1.0, 2.0), (0.05, 0.9, 0.05), (30, 1, 4)])
def test_members_turn_up_as_often_as_their_weights_say(weights):
    members = pool(LINEAR, HARDLINER, RANDOM, weights=weights)
    counts = np.bincount(drawn(members, 30_000), minlength=3)
    expected = 30_000 * np.array(weights or (1, 1, 1)) / sum(weights or (1, 1, 1))
    assert ((counts - expected) ** 2 / expected).sum() < 14  # chi-square, 2 degrees of freedom: 0.1 %
    assert members.probabilities == pytest.approx(expected / 30_000)


def test_draws_depend_on_the_seed_and_are_independent_from_one_negotiation_to_the_next():
    members = pool(LINEAR, HARDLINER)
    first, second = drawn(members, 4000, seed=1), drawn(members, 4000, seed=2)
    assert abs((first == second).mean() - 0.5) < 0.04
    pairs = Counter(zip(first[:-1].tolist(), first[1:].tolist(), strict=True))
    assert all(abs(count - 1000) < 130 for count in pairs.values())


def test_the_stratified_schedule_deals_the_members_out_in_turn():
    members = pool(LINEAR, HARDLINER, RANDOM, schedule="stratified")
    assert drawn(members, 8).tolist() == [0, 1, 2, 0, 1, 2, 0, 1]


@given(st.lists(st.integers(0, 2**63), min_size=1, max_size=20), st.integers(1, 3), st.integers(0, 99))
def test_a_stratified_member_goes_by_the_negotiation_whatever_the_table_and_the_seed(indices, count, seed):
    members = pool(*(LINEAR, HARDLINER, RANDOM)[:count], schedule="stratified")
    seat, rows = members.seat(LAPTOP, 1, len(indices)), np.arange(len(indices))
    seat.start(rows, np.full(len(indices), derive_key(seed, 1)), np.array(indices, np.uint64))
    assert seat.member(rows).tolist() == [index % count for index in indices]


def test_stratified_members_that_are_not_a_multiple_of_the_tables_all_turn_up_at_each():
    """Two tables, three members: the tables' negotiations are 0, 2, 4 and 1, 3, 5."""
    members = pool(LINEAR, HARDLINER, RANDOM, schedule="stratified")
    seat, rows, met = members.seat(LAPTOP, 1, 2), np.arange(2), []
    for indices in ([0, 1], [2, 3], [4, 5]):
        seat.start(rows, np.zeros(2, np.uint64), np.array(indices, np.uint64))
        met.append(seat.member(rows).tolist())
    assert met == [[0, 1], [2, 0], [1, 2]]


@pytest.mark.parametrize("schedule", ["episode", "stratified"])
def test_a_negotiation_is_the_same_however_many_are_played_with_it(schedule):
    members = pool(LINEAR, RANDOM, HARDLINER, schedule=schedule)
    few, many = (play(LAPTOP, RANDOM, members, games=games, seed=3) for games in (7, 40))
    assert np.array_equal(few.member, many.member[:, :7])
    assert np.array_equal(few.negotiations.moves, many.negotiations.moves[:7])


def test_each_member_plays_as_it_does_alone():
    members = pool(LINEAR, RANDOM)
    mixed = play(LAPTOP, HARDLINER, members, games=50, seed=4)
    for number, member in enumerate(members.members):
        alone = play(LAPTOP, HARDLINER, member, games=50, seed=4)
        theirs = mixed.member[1] == number
        assert theirs.any()
        assert np.array_equal(mixed.negotiations.moves[theirs], alone.negotiations.moves[theirs])


def test_a_table_that_starts_again_leaves_the_others_their_members():
    members = pool(LINEAR, HARDLINER, RANDOM)
    seat, rows, keys = members.seat(LAPTOP, 1, 6), np.arange(6), np.full(6, derive_key(0, 1))
    seat.start(rows, keys, rows.astype(np.uint64))
    before = seat.member(rows).tolist()
    seat.start(np.array([2, 4]), keys[:2], np.array([100, 101], np.uint64))
    fresh = drawn(members, 102)
    assert seat.member(rows).tolist() == [*before[:2], fresh[100], before[3], fresh[101], before[5]]


def test_only_the_tables_asked_for_get_a_reply():
    seat, rows = pool(LINEAR, HARDLINER).seat(LAPTOP, 1, 6), np.arange(6)
    seat.start(rows, np.zeros(6, np.uint64), rows.astype(np.uint64))
    out = np.full(6, 99, np.int32)
    seat.reply(np.array([1, 3]), Negotiations(6), out)
    assert (out == 99).tolist() == [True, False, True, False, True, True]


def test_name_members_and_identity():
    members = Pool("three", (LINEAR, HARDLINER), (1.0, 2.0))
    assert members.name == "three"
    assert members.members == (LINEAR, HARDLINER)
    assert "TimeDependent(e=1.0" in members.identity
    others = [
        Pool("three", (LINEAR, RANDOM), (1.0, 2.0)),
        Pool("three", (LINEAR, HARDLINER), (2.0, 1.0)),
        Pool("three", (LINEAR, HARDLINER), (1.0, 2.0), "stratified"),
    ]
    assert members.identity not in {other.identity for other in others}
    assert members.identity == Pool("renamed", (LINEAR, HARDLINER), (1.0, 2.0)).identity


@pytest.mark.parametrize(
    ("members", "settings", "message"),
    [
        ((), {}, 'pool "pool" has no members'),
        ((LINEAR, TimeDependent(1.0)), {}, "Linear is in it twice; use weights"),
        ((LINEAR, HARDLINER), {"weights": (1.0,)}, "1 weights for 2 members"),
        ((LINEAR, HARDLINER), {"weights": (1.0, 0.0)}, "weight = 0.0: give a number above 0"),
        ((LINEAR, HARDLINER), {"weights": (1.0, -1.0)}, "weight = -1.0: give a number above 0"),
        ((LINEAR, HARDLINER), {"weights": (1.0, float("nan"))}, "weight = nan: give a number above 0"),
        ((LINEAR, HARDLINER), {"weights": (1.0, float("inf"))}, "weight = inf: give a number above 0"),
        ((LINEAR, HARDLINER), {"weights": (1.0, "2")}, "weight = '2': give a number above 0"),
        ((LINEAR, Pool("inner", (RANDOM,))), {}, "inner is a pool itself; list its members instead"),
        ((LINEAR,), {"schedule": "stratifed"}, 'unknown schedule "stratifed" (did you mean "stratified"?)'),
    ],
)
def test_what_is_wrong_with_a_pool_is_said(members, settings, message):
    with pytest.raises(OpponentError) as error:
        pool(*members, **settings)
    assert message in str(error.value)


def test_a_pool_of_one_is_that_one():
    pooled, alone = (play(LAPTOP, LINEAR, other, games=5, seed=9) for other in (pool(RANDOM), RANDOM))
    assert np.array_equal(pooled.negotiations.moves, alone.negotiations.moves)

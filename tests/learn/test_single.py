"""The vector environment for Tianshou's own collectors: it plays as the Gymnasium one, and PPO learns on it."""

from collections import defaultdict
from dataclasses import replace
from itertools import chain, pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.trainer import OnPolicyTrainerParams

from negzoo.engine.rng import derive_key
from negzoo.envs import vector
from negzoo.envs.batch import NegotiationBatch, Streams
from negzoo.learn.manager import copy_weights, seeded
from negzoo.learn.ppo import build_ppo
from negzoo.learn.single import TianshouVectorEnv
from negzoo.opponents import Pool, resolve
from tests.learn.bargains import SHORT, TINY, TOY

SEATS = pytest.mark.parametrize("seat", [0, 1])
ENCODINGS = pytest.mark.parametrize("encoding", ["outcome", "issues"])
SIZE = 4
POOL = Pool("pool", tuple(map(resolve, ("Random", "Linear", "AcceptFirst"))))
SEED = 5


def tables(game=SHORT, seat=0, size=SIZE):
    streams = Streams.of(derive_key(SEED, 1 - seat), size)
    return TianshouVectorEnv(NegotiationBatch(TOY, [POOL], np.zeros(size, np.int64), game, streams, seat))


@SEATS
@ENCODINGS
def test_it_plays_as_the_gymnasium_one(seat, encoding):
    game = replace(SHORT, action_encoding=encoding)
    ours, theirs = tables(game, seat), vector(TOY, POOL, SIZE, learner_seat=seat, settings=game)
    theirs.action_space.seed(1)
    seen, infos = ours.reset()
    expected, info = theirs.reset(seed=SEED)
    assert np.array_equal(seen, expected)
    assert [each["member"] for each in infos] == info["member"].tolist()
    for _ in range(30):
        actions = theirs.action_space.sample()
        seen, rewards, terminated, truncated, infos = ours.step(actions)
        expected, *judged, info = theirs.step(actions)
        for found, wanted in zip((rewards, terminated, truncated), judged, strict=True):
            assert np.array_equal(found, wanted)
        over = np.flatnonzero(terminated)
        if over.size:
            assert np.array_equal(seen[over], np.stack(list(info["final_obs"][over])))
            seen[over], infos[over] = ours.reset(over)
        assert np.array_equal(seen, expected)
        assert [each["member"] for each in infos] == info["member"].tolist()


@ENCODINGS
def test_it_has_a_space_for_every_table(encoding):
    env = tables(replace(SHORT, action_encoding=encoding))
    assert len(env) == env.env_num == len(env.observation_space) == len(env.action_space) == SIZE
    seen, infos = env.reset()
    assert all(space.contains(row) for space, row in zip(env.observation_space, seen, strict=True))
    assert [info["env_id"] for info in infos] == list(range(SIZE))
    assert env.seed(3) == env.render() == [None] * SIZE
    assert not env.is_closed
    env.close()
    assert env.is_closed


def played(orders, seat):
    """By table, what it shows and pays in the course of steps at the tables of each order."""
    env, told = tables(seat=seat), defaultdict(list)
    seen, _ = env.reset()
    for order in orders:
        ids = np.array(order)
        actions = np.array([(7 * table + 3 * len(told[table])) % TOY.size for table in order])
        seen, rewards, terminated, _, infos = env.step(actions, ids)
        assert [info["env_id"] for info in infos] == order
        for table, *what in zip(order, seen.tolist(), rewards.tolist(), terminated.tolist(), strict=True):
            told[table].append(what)
        if terminated.any():
            env.reset(ids[terminated])
    return told


@SEATS
@given(orders=st.lists(st.lists(st.integers(0, SIZE - 1), min_size=1, max_size=SIZE, unique=True), max_size=25))
def test_a_table_goes_its_own_way_whichever_others_are_played_at(seat, orders):
    together, alone = played(orders, seat), played([list(range(SIZE))] * len(orders), seat)
    for table, told in together.items():
        assert told == alone[table][: len(told)]


def test_a_step_at_some_tables_leaves_the_others_as_they_are():
    env = tables()
    env.reset()
    before = env.batch.observe()
    env.step(np.array([2, 3]), np.array([3, 1]))
    after = env.batch.observe()
    changed = (after != before).any(axis=1)
    assert changed.tolist() == [False, True, False, True]


def test_another_reset_goes_on_to_the_next_negotiations():
    env = tables()
    env.reset()
    first = env.batch.indices.tolist()
    env.reset()
    assert [env.batch.indices.tolist(), first] == [[4, 5, 6, 7], [0, 1, 2, 3]]


# Tianshou's collector and learner


@SEATS
@ENCODINGS
def test_tianshous_collector_stores_what_is_paid(seat, encoding):
    game = replace(SHORT, action_encoding=encoding)
    env, paid = tables(game, seat), defaultdict(list)
    env.batch.on_finish = lambda rows: [
        paid[row].append(reward) for row, reward in zip(rows.tolist(), env.batch.rewards(rows).tolist(), strict=True)
    ]
    with seeded(0):
        buffer = VectorReplayBuffer(200, SIZE)
        collector = Collector(build_ppo(env.batch.codec, TINY), env, buffer)
        stats = collector.collect(n_step=160, reset_before_collect=True)
    assert sorted(stats.returns.tolist()) == sorted(chain.from_iterable(paid.values()))
    for table in range(SIZE):
        rows = buffer.buffers[table]
        assert rows.rew[rows.done].tolist() == paid[table]
        assert (rows.rew[~rows.done] == 0).all()
        for now, then in pairwise(range(len(rows))):
            assert rows.done[now] or np.array_equal(rows.obs_next[now], rows.obs[then])


@SEATS
@ENCODINGS
def test_tianshous_ppo_learns_on_it(seat, encoding):
    game = replace(SHORT, action_encoding=encoding)
    env = tables(game, seat)
    with seeded(0):
        ppo = build_ppo(env.batch.codec, TINY)
        start = copy_weights(ppo)
        trainer = ppo.create_trainer(
            OnPolicyTrainerParams(
                training_collector=Collector(ppo, env, VectorReplayBuffer(64, SIZE)),
                max_epochs=2,
                epoch_num_steps=32,
                collection_step_num_env_steps=32,
                update_step_num_repetitions=2,
                batch_size=16,
                verbose=False,
                show_progress=False,
            )
        )
        result = trainer.run()
    assert (result.train_step, result.update_step) == (64, 2)
    moved = copy_weights(ppo)
    assert not any(torch.equal(moved[name], start[name]) for name in start)
    assert all(value.isfinite().all() for value in moved.values())

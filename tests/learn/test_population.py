"""Populations: each model learns as Tianshou's PPO would, and as it would alone; interrupted, it goes on to the bit."""

from dataclasses import asdict, replace
from functools import cache
from itertools import count
from typing import ClassVar

import numpy as np
import pytest
import torch
from tianshou.data import Batch

from negzoo.engine import Negotiations
from negzoo.envs import NegotiationSettings
from negzoo.errors import CheckpointError, SettingsError
from negzoo.learn.checkpoint import Card, FrozenPolicy, digest_of
from negzoo.learn.manager import FoldedTurns, ManagerTraining, copy_weights, load_weights
from negzoo.learn.network import action_distribution
from negzoo.learn.policy import Learner
from negzoo.learn.population import PopulationTraining
from negzoo.learn.ppo import build_ppo
from negzoo.learn.rollout import permutations
from negzoo.learn.settings import PPOSettings
from negzoo.opponents import Offer, Pool, PythonOpponent, resolve
from negzoo.scenario import load
from tests.learn.bargains import SHORT, TINY, TOY, Erratic

PPO = replace(TINY, hidden=(8, 8), learning_rate=0.01)
SEATS = pytest.mark.parametrize("seat", [0, 1])
ENCODINGS = pytest.mark.parametrize("encoding", ["outcome", "issues"])
NAMES = ("Boulware1", "TitForTat1", "AgentK", "Linear(noise=0.2)", "Atlas3", "AgentGG", "HardHeaded", "Random")
EVERYONE = Pool("everyone", tuple(map(resolve, NAMES)), tuple(range(1, len(NAMES) + 1)))
ROSTER = (*map(resolve, NAMES), EVERYONE, Erratic())

pytestmark = pytest.mark.filterwarnings("ignore::negzoo.opponents.python.OpponentFault")


def population(numbers, game=SHORT, ppo=PPO, seat=0, scenario=TOY):
    """The learners of these numbers: number n has seed n and meets opponent n of the roster."""
    learners = [Learner(ROSTER[number % len(ROSTER)], number) for number in numbers]
    return PopulationTraining(scenario, learners, game, ppo, seat)


def run(training, steps):
    for _ in training.run(steps):
        pass
    return training


def digests(training, numbers):
    return {number: digest_of(training.weights_of(model)) for model, number in enumerate(numbers)}


def trained(numbers, steps=96, **options):
    return digests(run(population(numbers, **options), steps), numbers)


def largest_difference(first, second):
    assert first.keys() == second.keys()
    return max(float((first[name] - second[name]).abs().max()) for name in first)


# What a rollout holds


def gathered(training, rollouts=1):
    """The negotiations that end while a population gathers: by table, (moves, pay), in order."""
    batch, finished = training.envs.batch, [[] for _ in range(len(training.envs))]

    def finish(rows):
        for row, paid in zip(rows.tolist(), batch.rewards(rows).tolist(), strict=True):
            finished[row].append((batch.negotiations.history(row).tolist(), paid))

    batch.on_finish = finish
    training.envs.reset()
    stats = [training.collector.collect(n_step=len(training.envs)) for _ in range(rollouts)]
    return finished, stats


def turns_of(training, table):
    """What the block holds of one table, split at the ends: lists of (move, reward)."""
    model, env = divmod(table, training.ppo.envs)
    block, codec = training.collector.block, training.envs.batch.codec
    actions = block.action[model, :, env].numpy()
    moves = codec.to_moves(actions[:, 0] if codec.by_outcome else actions).tolist()
    rewards, ended = block.reward[model, :, env].tolist(), block.ended[model, :, env].tolist()
    negotiations = [[]]
    for move, reward, over in zip(moves, rewards, ended, strict=True):
        negotiations[-1].append((move, reward))
        if over:
            negotiations.append([])
    return negotiations


GENEROUS = replace(SHORT, allow_end=True, first_accept="fail", no_deal_reward=-0.5)


@SEATS
@ENCODINGS
def test_a_rollout_holds_what_was_done_and_paid(seat, encoding):
    training = population([0, 9], replace(GENEROUS, action_encoding=encoding), replace(PPO, horizon=64), seat)
    finished, _ = gathered(training)
    for table, negotiations in enumerate(finished):
        *ended, _running = turns_of(training, table)
        own = [(moves[seat::2], paid) for moves, paid in negotiations if len(moves) > seat]
        assert [[move for move, _ in turns] for turns in ended] == [moves for moves, _ in own]
        rewards = [[reward for _, reward in turns] for turns in ended]
        assert rewards == [pytest.approx([0.0] * (len(moves) - 1) + [paid]) for moves, paid in own]


@SEATS
@ENCODINGS
def test_a_rollout_holds_what_the_networks_thought(seat, encoding):
    game = replace(SHORT, action_encoding=encoding)
    training = population([3, 8, 9], game, seat=seat)
    gathered(training)
    block = training.collector.block
    for model in range(3):
        ppo = build_ppo(training.envs.batch.codec, PPO)
        load_weights(ppo, training.weights_of(model))
        seen = block.observation[model, ..., : training.policy.interface.length].flatten(0, 1)
        with torch.no_grad():
            logits, values = ppo.policy.actor(seen)[0], ppo.critic(seen)[:, 0]
        distribution = action_distribution(logits, training.policy.interface.heads)
        action = block.action[model].flatten(0, 1)
        chosen = distribution.log_prob(action[:, 0] if encoding == "outcome" else action)
        assert torch.allclose(block.log_prob[model].flatten(), chosen, atol=1e-5)
        assert torch.allclose(block.value[model].flatten(), values, atol=1e-5)
        next_seen = training.envs.batch.observe().reshape(3, PPO.envs, -1)[model]
        assert torch.allclose(block.last_value[model], ppo.critic(next_seen)[:, 0], atol=1e-5)


@SEATS
def test_accepting_is_masked_where_no_offer_stands(seat):
    training = population(range(3), seat=seat)
    gathered(training)
    block, interface = training.collector.block, training.policy.interface
    first = block.observation[:3, ..., interface.length - 1] == 0
    assert torch.equal(block.opening[:3], first)
    assert first.any() == (seat == 0)
    assert (block.action[:3][first] != interface.accept).all()


def test_what_may_be_accepted_on_the_opening_is_not_masked():
    training = population([0], replace(SHORT, first_accept="fail"), replace(PPO, horizon=512))
    gathered(training)
    block, interface = training.collector.block, training.policy.interface
    opened = block.action[0][block.observation[0, ..., interface.length - 1] == 0]
    assert not block.opening.any()
    assert (opened == interface.accept).any()


@SEATS
def test_the_statistics_of_a_rollout_are_of_the_negotiations_that_ended_in_it(seat):
    training = population([0, 8], seat=seat)
    finished, (stats,) = gathered(training)
    pay = [paid for table in finished for _, paid in table]
    rounds = [(len(moves) + 1) // 2 for table in finished for moves, _ in table]
    assert stats.n_collected_episodes == len(pay)
    assert sorted(stats.returns.tolist()) == sorted(pay)
    assert sorted(stats.lens.tolist()) == sorted(rounds)
    assert stats.n_collected_steps == 2 * PPO.horizon


def blank(training, model):
    """The weights of a model that finds every action equally likely."""
    return {name: torch.zeros_like(value) for name, value in training.weights_of(model).items()}


def test_chance_is_another_one_at_every_step_of_every_rollout():
    start = blank(population([0]), 0)
    game = replace(SHORT, first_accept="fail")
    training = PopulationTraining(TOY, [Learner(resolve("Hardliner"), 0, start)], game, replace(PPO, horizon=256))
    training.envs.reset()
    drawn = []
    for _ in range(2):
        training.collector.collect(n_step=len(training.envs))
        drawn.append(training.collector.block.action[0].clone())
    first, second = drawn
    pairs = [(first, second), (first[1:], first[:-1]), (first[:, 0], first[:, 1])]
    assert all((a == b).double().mean() < 0.3 for a, b in pairs)  # 1 / 7 by chance


# Tianshou's PPO, from the same weights on the same steps


def as_tianshou_prepares_them(ppo, training, model):
    """A model's steps of the block, with advantages and probabilities that Tianshou has worked out."""
    block, length = training.collector.block, training.policy.interface.length
    seen = block.observation[model, ..., :length].numpy()
    coming = training.envs.batch.observe().reshape(training.policy.models, -1, length)[model]
    following = np.concatenate([seen[1:], coming[None]])
    tables = [block.action[model], block.reward[model], block.ended[model]]
    actions, rewards, ended = (part.numpy().swapaxes(0, 1).reshape(-1, *part.shape[2:]) for part in tables)
    seen, following = (part.swapaxes(0, 1).reshape(-1, length) for part in (seen, following))
    turns = Batch(
        obs=seen,
        act=actions[:, 0] if actions.shape[1] == 1 else actions,
        rew=rewards.astype(float),
        terminated=ended,
        truncated=np.zeros(len(ended), bool),
        done=ended,
        obs_next=following,
        info=Batch(),
    )
    steps = len(block.reward[model])
    cut = np.arange(1, len(ended) + 1) % steps == 0
    prepared = ppo._preprocess_batch(turns, FoldedTurns(turns, cut & ~ended), np.arange(len(ended)))
    by_step = np.arange(len(ended)).reshape(-1, steps).T.ravel()
    return prepared[by_step]


def updated_by_tianshou(training, model, weights, update, ppo):
    """The same update by Tianshou's PPO, with the same minibatches."""
    settings = training.ppo
    load_weights(ppo, weights)
    steps = as_tianshou_prepares_them(ppo, training, model)
    keys = training.algorithm._keys
    for epoch in range(settings.epochs):
        order = permutations(keys, update * settings.epochs + epoch, len(steps))[model]
        sizes = range(settings.minibatch, len(steps) - settings.minibatch + 1, settings.minibatch)
        for minibatch in np.split(order, list(sizes)):
            ppo._update_with_batch(steps[minibatch], None, 1)
    return copy_weights(ppo)


def assert_equal_to_tianshou(training, updates):
    """Alternate rollouts and updates: Tianshou's learners go their own way from the same beginning."""
    settings, models = training.ppo, range(training.policy.models)
    theirs = [training.weights_of(model) for model in models]
    learners = [build_ppo(training.envs.batch.codec, settings) for _ in models]
    training.envs.reset()
    for update in range(updates):
        training.collector.collect(n_step=len(training.envs))
        for model, ppo in enumerate(learners):
            theirs[model] = updated_by_tianshou(training, model, theirs[model], update, ppo)
        before = [training.weights_of(model) for model in models]
        training.algorithm.update(training.collector.block, settings.minibatch, settings.epochs)
        for model in models:
            ours = training.weights_of(model)
            assert largest_difference(ours, theirs[model]) < 1e-6
            assert largest_difference(ours, before[model]) > 1e-4


@ENCODINGS
@pytest.mark.parametrize("entropy", [0.0, 0.01])
@pytest.mark.parametrize("domain", ["laptop", "thompson"])
def test_updates_are_those_of_tianshous_ppo(domain, encoding, entropy):
    game = NegotiationSettings(rounds=5, action_encoding=encoding)
    settings = PPOSettings(horizon=64, envs=4, minibatch=20, epochs=2, entropy_coefficient=entropy)
    with torch.random.fork_rng():
        assert_equal_to_tianshou(population([3, 8], game, settings, scenario=load(domain)), updates=3)


@SEATS
def test_updates_of_other_settings_are_those_of_tianshous_ppo(seat):
    settings = PPOSettings(
        horizon=48,
        envs=3,
        minibatch=100,
        epochs=3,
        learning_rate=1e-3,
        gamma=0.9,
        gae_lambda=0.5,
        clip=0.05,
        hidden=(5, 7, 9),
        value_coefficient=1.5,
        entropy_coefficient=0.1,
        max_gradient_norm=0.1,
        normalise_advantages=False,
        adam_epsilon=1e-6,
    )
    with torch.random.fork_rng():
        assert_equal_to_tianshou(population([8, 9], GENEROUS, settings, seat), updates=3)


# Company

ALL = (5, 2, 7, 8, 1, 4, 3, 9, 0, 6)
COMPANIES = [(2,), (0, 1, 2), (9, 2, 12), (8, 18, 2, 9, 28, 3)]


@cache
def together(encoding="outcome", seat=0):
    """Everyone's weights after training in one population."""
    return trained(ALL, game=replace(SHORT, action_encoding=encoding), seat=seat)


@SEATS
@ENCODINGS
@pytest.mark.parametrize("numbers", COMPANIES, ids=str)
def test_a_model_is_the_same_to_the_bit_in_any_company(numbers, encoding, seat):
    found = trained(numbers, game=replace(SHORT, action_encoding=encoding), seat=seat)
    expected = together(encoding, seat)
    known = found.keys() & expected.keys()
    assert {number: found[number] for number in known} == {number: expected[number] for number in known}
    assert len(set(expected.values())) == len(ALL)


@pytest.mark.parametrize("number", ALL)
def test_anyone_is_the_same_to_the_bit_alone(number):
    assert trained([number])[number] == together()[number]


@pytest.mark.parametrize(("domain", "numbers"), [("laptop", [3, 8, 0, 7, 1, 4]), ("thompson", [3, 8, 0])])
def test_networks_of_the_papers_size_do_not_depend_on_company_either(domain, numbers):
    settings = PPOSettings(horizon=64, epochs=1)
    options = {"scenario": load(domain), "game": replace(SHORT, rounds=5), "ppo": settings, "steps": 128}
    expected = trained(numbers, **options)
    for company in (numbers[1:2], numbers[::-1]):
        assert trained(company, **options) == {number: expected[number] for number in company}


def test_the_same_opponent_may_face_several_models():
    both = trained([8, 18])
    assert both == trained([8]) | trained([18])
    assert both[8] != both[18]


def test_a_stratified_pool_does_not_depend_on_company_either():
    pool = Pool("in turn", tuple(map(resolve, ("Linear", "Random", "Hardliner"))), schedule="stratified")
    learners = [Learner(pool, seed) for seed in (0, 1)]
    both = run(PopulationTraining(TOY, learners, SHORT, PPO), 64)
    alone = run(PopulationTraining(TOY, learners[1:], SHORT, PPO), 64)
    assert digest_of(alone.weights_of(0)) == digest_of(both.weights_of(1))


@ENCODINGS
def test_another_chunk_size_changes_nothing_but_the_last_bits(encoding):
    game = replace(SHORT, action_encoding=encoding)
    numbers = range(4)
    by_chunk = [run(population(numbers, game, replace(PPO, chunk=chunk)), 96) for chunk in (1, 2, 5, 9)]
    for training in by_chunk[1:]:
        for model in numbers:
            assert largest_difference(training.weights_of(model), by_chunk[0].weights_of(model)) < 1e-6


def test_the_generators_around_do_not_matter_and_are_left_alone():
    expected = trained([3, 8])
    with torch.random.fork_rng():
        torch.manual_seed(123)
        np.random.seed(123)  # noqa: NPY002 - the generator that must not matter
        before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
        assert trained([3, 8]) == expected
        assert torch.equal(torch.get_rng_state(), before[0])
        assert np.array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002


class Watchful(PythonOpponent):
    """Offers the best, and notes on how many threads torch works meanwhile."""

    threads: ClassVar[set[int]] = set()

    def respond(self, view):
        self.threads.add(torch.get_num_threads())
        return Offer(view.best)


def test_the_threads_around_do_not_matter():
    Watchful.threads.clear()
    torch.set_num_threads(2)
    run(PopulationTraining(TOY, [Learner(Watchful(), 0)], SHORT, PPO), 32)
    assert Watchful.threads == {1}


# Stopping and going on


def resumed(states, numbers, steps, **options):
    training = population(numbers, **options)
    training.restore([states[number] for number in numbers])
    return digests(run(training, steps), numbers)


@SEATS
@ENCODINGS
def test_a_model_goes_on_in_another_company_as_if_never_interrupted(seat, encoding):
    options = {"game": replace(SHORT, action_encoding=encoding), "seat": seat}
    undisturbed = trained(ALL, 96, **options)
    stopped = run(population(ALL, **options), 64)
    states = {number: stopped.state(model) for model, number in enumerate(ALL)}
    for numbers in [(6, 9, 4), (8,), ALL[::-1]]:
        assert resumed(states, numbers, 96, **options) == {number: undisturbed[number] for number in numbers}


def test_a_saved_state_does_not_change_with_what_comes_after():
    training = population([1, 8])
    learning = training.run(96)
    next(learning)
    state = training.state(1)
    before = {name: value.clone() for name, value in state.items()}
    next(learning)
    learning.close()
    assert all(torch.equal(state[name], before[name]) for name in before)


def test_models_that_are_not_equally_far_cannot_go_on_together():
    near, far = run(population([0]), 32), run(population([1]), 64)
    with pytest.raises(CheckpointError) as error:
        population([0, 1]).restore([near.state(0), far.state(0)])
    assert str(error.value) == "models after [1, 2] updates cannot go on together"


def test_a_second_run_goes_on_where_the_first_one_ended():
    twice = run(run(population([0, 8]), 32), 96)
    assert digests(twice, [0, 8]) == trained([0, 8], 96)


# A run


def test_a_run_goes_on_until_there_are_as_many_steps_as_asked_for():
    training = population([0, 8])
    assert list(training.run(70)) == [32, 64, 96]
    assert training.steps == 96
    assert list(training.run(96)) == []


def test_training_starts_from_the_weights_it_is_given_and_keeps_its_own_copy():
    start = run(population([4]), 32).weights_of(0)
    before = digest_of(start)
    learners = [Learner(ROSTER[0], 1, start), Learner(ROSTER[0], 2)]
    training = PopulationTraining(TOY, learners, SHORT, PPO)
    assert digest_of(training.weights_of(0)) == before != digest_of(training.weights_of(1))
    run(training, 32)
    assert digest_of(training.weights_of(0)) != before
    assert digest_of(start) == before


def test_weights_have_the_names_and_shapes_of_the_managers():
    ours = population([0]).weights_of(0)
    theirs = ManagerTraining(TOY, ROSTER[0], SHORT, PPO, 0).weights_of()
    assert {name: value.shape for name, value in ours.items()} == {name: value.shape for name, value in theirs.items()}


def test_a_device_that_is_not_here_is_told():
    with pytest.raises(SettingsError, match='device = "tpu" cannot be used here'):
        population([0], ppo=replace(PPO, device="tpu"))


# Schedules


def rates_of(settings, progress):
    return settings.learning_rate_at(progress), settings.entropy_coefficient_at(progress)


ANNEALED = replace(PPO, learning_rate_end=0.002, entropy_coefficient=0.05, entropy_coefficient_end=0.01)


def test_rates_change_linearly_from_beginning_to_end():
    assert rates_of(ANNEALED, 0) == (0.01, 0.05)
    assert rates_of(ANNEALED, 0.25) == pytest.approx((0.008, 0.04))
    assert rates_of(ANNEALED, 1) == rates_of(ANNEALED, 1.5) == pytest.approx((0.002, 0.01))
    assert rates_of(PPO, 0.7) == (0.01, 0.0)


def test_a_population_makes_each_update_at_the_rates_of_its_time():
    """Update by update, against fixed rates from the same state."""
    training = population([3, 8], ppo=ANNEALED)
    states = [training.state(model) for model in range(2)]
    for update, _ in zip(count(), training.run(128), strict=False):
        if update:
            rate, entropy = rates_of(ANNEALED, update * 32 / 128)
            fixed = population([3, 8], ppo=replace(PPO, learning_rate=rate, entropy_coefficient=entropy))
            fixed.restore(states)
            next(fixed.run(128))
            assert digests(fixed, [3, 8]) == digests(training, [3, 8])
        states = [training.state(model) for model in range(2)]
    assert training.steps == 128


@pytest.mark.parametrize("change", [{"learning_rate_end": 0.002}, {"entropy_coefficient_end": 0.05}])
def test_a_schedule_matters_from_the_second_update_on(change):
    trainings = [population([0], ppo=ppo) for ppo in (PPO, replace(PPO, **change))]
    runs = [training.run(64) for training in trainings]
    equal = []
    for _ in range(2):
        for learning in runs:
            next(learning)
        equal.append(len({digest_of(training.weights_of(0)) for training in trainings}) == 1)
    assert equal == [True, False]


def test_the_manager_makes_each_update_at_the_rates_of_its_time():
    training = ManagerTraining(TOY, resolve("Random"), SHORT, ANNEALED, seed=0)
    learner, used = training.learner, []
    update = learner._update_with_batch

    def recorded(*arguments, **named):
        used.append((learner.optim._optim.param_groups[0]["lr"], learner.ent_coef))
        return update(*arguments, **named)

    learner._update_with_batch = recorded
    done = [0, *training.run(128)]
    assert used == [pytest.approx(rates_of(ANNEALED, steps / 128)) for steps in done[:-1]]
    assert len(used) >= 4


# Playing


@SEATS
@ENCODINGS
def test_the_likeliest_actions_are_those_that_a_frozen_policy_plays(seat, encoding):
    game = replace(SHORT, rounds=6, action_encoding=encoding, allow_end=True)
    training = run(population([3, 8, 9], game, seat=seat), 32)
    table, rows = some_tables(game, seat), np.arange(60)
    observation = training.envs.batch.codec.observe(table, rows, seat)
    actions = training.policy(Batch(obs=np.tile(observation, (3, 1)), info=Batch())).act
    ours = training.envs.batch.codec.to_moves(actions).reshape(3, 60)
    for model in range(3):
        card = Card("model", TOY.name, TOY.hash, seat, game, PPO.hidden)
        theirs = np.zeros(60, np.int32)
        FrozenPolicy.of(card, training.weights_of(model), TOY).seat(TOY, seat, 60).reply(rows, table, theirs)
        assert ours[model].tolist() == theirs.tolist()
    assert len(set(ours.ravel().tolist())) > 1


def test_the_likeliest_action_is_the_likeliest_however_little():
    weights = blank(population([0]), 0)
    weights["actor.body.4.bias"][3] = 1e-8
    training = PopulationTraining(TOY, [Learner(ROSTER[0], 0, weights)], SHORT, PPO)
    training.envs.reset()
    assert set(training.policy(Batch(obs=training.envs.batch.observe(), info=Batch())).act.tolist()) == {3}


def some_tables(game, seat):
    """60 negotiations in which player `seat` is to move, at different steps."""
    rng, table = np.random.default_rng(0), Negotiations(60, game.rounds)
    steps = seat + 2 * rng.integers(0, game.rounds - 1, 60)
    for step in range(2 * game.rounds - 2):
        table.apply(np.flatnonzero(steps > step), rng.integers(0, TOY.size, 60).astype(np.int32))
    return table


def test_the_algorithms_state_dict_holds_weights_and_optimisers():
    training, other = run(population([0, 8]), 32), population([1, 2])
    other.algorithm.load_state_dict(training.algorithm.state_dict())
    for model in range(2):
        assert digest_of(other.weights_of(model)) == digest_of(training.weights_of(model))
        ours, theirs = (asdict(each.policy.state(model)) for each in (other, training))
        assert all(digest_of(ours[part]) == digest_of(theirs[part]) for part in ("mean", "square"))

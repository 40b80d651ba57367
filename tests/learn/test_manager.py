"""The corrected manager: PPO receives what the environment pays, and one seed determines everything.

The stock manager is put to the same check, and fails it.
"""

from collections import defaultdict
from dataclasses import replace
from itertools import chain, zip_longest
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tianshou.algorithm.multiagent.marl import MultiAgentOnPolicyAlgorithm
from tianshou.data import Batch

from negzoo.engine import ACCEPT, Ending
from negzoo.envs import AGENTS, NegotiationEnv, NegotiationSettings
from negzoo.errors import OpponentError
from negzoo.learn import manager
from negzoo.learn.checkpoint import Card, FrozenPolicy, digest_of
from negzoo.learn.manager import ManagerTraining, TurnBasedPolicy, fold_turns
from negzoo.learn.settings import PPOSettings
from negzoo.opponents import Offer, Pool, PythonOpponent, Walk, play, resolve
from negzoo.scenario import load
from tests.learn.bargains import SHORT, TINY, TOY, Erratic

ROLLOUTS = 3
SEATS = pytest.mark.parametrize("seat", [0, 1])
ENCODINGS = pytest.mark.parametrize("encoding", ["outcome", "issues"])


class Move(NamedTuple):
    """What an environment did at one move: who made it, what it paid each player, and how the negotiation stood."""

    mover: int
    paid: tuple[float, float]
    ending: Ending


class Turn(NamedTuple):
    """A learner's turn: what it was paid until its next one, and whether its negotiation was over by then."""

    reward: float
    over: bool


def turns_in(rollout, player):
    """The turns of `player` in the moves of one rollout; one whose answer is not in it is left out."""
    for move, answer in zip_longest(rollout, rollout[1:]):
        if move.mover == player and move.ending:
            yield Turn(move.paid[player], True)
        elif move.mover == player and answer:
            yield Turn(move.paid[player] + answer.paid[player], bool(answer.ending))


# Folding, on rollouts written by hand


def rows(*environments):
    """A rollout: by environment, (mover, reward of player_0, reward of player_1, over) in order.

    Row i observes 10 i, acts 100 i and leads to 10 i + 5.
    """
    moves = list(chain(*environments))
    numbers = np.arange(len(moves), dtype=np.float32)
    agents = np.array([AGENTS[mover] for mover, *_ in moves])
    over = np.array([move[3] for move in moves], bool)
    batch = Batch(
        obs=Batch(agent_id=agents, obs=10 * numbers[:, None]),
        act=100 * numbers,
        rew=np.array([move[1:3] for move in moves], float),
        terminated=over,
        truncated=np.zeros(len(moves), bool),
        done=over,
        obs_next=Batch(agent_id=agents, obs=10 * numbers[:, None] + 5),
    )
    ends = np.cumsum([len(moves) for moves in environments if moves]) - 1
    return batch, np.isin(np.arange(len(moves)), ends)


def folded(agent, *environments):
    """(obs, reward, done, obs_next, unfinished) of each folded turn."""
    turns = fold_turns(*rows(*environments), agent)
    batch = turns.batch
    assert np.array_equal(batch.act, 10 * batch.obs[:, 0])
    assert np.array_equal(turns.terminated, batch.done)
    assert not batch.truncated.any()
    assert turns.unfinished_index().tolist() == np.flatnonzero(turns.unfinished).tolist()
    columns = (batch.obs[:, 0], batch.rew, batch.done, batch.obs_next[:, 0], turns.unfinished)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def quiet(mover):
    return mover, 0, 0, False


def last(mover, first=0.0, second=0.0):
    return mover, first, second, True


def test_a_turn_runs_to_ones_next_turn():
    turns = folded("player_0", [quiet(0), quiet(1), (0, 1, 2, False), (1, 4, 8, False), quiet(0), last(1)])
    assert turns == [(0, 0, False, 15, False), (20, 5, False, 35, False), (40, 0, True, 55, False)]


def test_pay_on_the_others_move_belongs_to_the_turn_before():
    assert folded("player_0", [quiet(0), last(1, 0.25, 0.75)]) == [(0, 0.25, True, 15, False)]
    assert folded("player_1", [quiet(0), quiet(1), last(0, 0.25, 0.75)]) == [(10, 0.75, True, 25, False)]


def test_pay_on_ones_own_last_move_is_kept_and_the_next_negotiation_is_another_one():
    turns = folded("player_0", [quiet(0), quiet(1), last(0, 0.5, 0.25), quiet(0), last(1, -1, -1)])
    assert turns == [(0, 0, False, 15, False), (20, 0.5, True, 25, False), (30, -1, True, 45, False)]


def test_a_turn_that_the_rollout_cuts_from_its_answer_is_dropped_and_the_one_before_is_unfinished():
    turns = folded("player_0", [quiet(0), quiet(1), quiet(0), quiet(1), quiet(0)])
    assert turns == [(0, 0, False, 15, False), (20, 0, False, 35, True)]


def test_a_rollout_cut_behind_the_answer_keeps_the_turn():
    assert folded("player_0", [quiet(0), quiet(1)]) == [(0, 0, False, 15, True)]
    assert folded("player_1", [quiet(0), quiet(1), quiet(0)]) == [(10, 0, False, 25, True)]


def test_a_turn_cut_at_the_beginning_of_a_negotiation_leaves_the_finished_one_before_it_finished():
    assert folded("player_0", [quiet(0), last(1), quiet(0)]) == [(0, 0, True, 15, False)]


def test_a_rollout_that_begins_with_an_answer_to_the_last_one_leaves_it_out():
    assert folded("player_0", [last(1, 1, 1), quiet(0), last(1)]) == [(10, 0, True, 25, False)]


def test_an_opening_that_ends_it_before_the_learner_moves_is_no_turn():
    turns = folded("player_1", [last(0, -1, -1), quiet(0), last(1, 0.5, 0.5), last(0, -1, -1)])
    assert turns == [(20, 0.5, True, 25, False)]


def test_environments_are_cut_one_by_one():
    turns = folded(
        "player_0",
        [quiet(0), quiet(1), quiet(0)],
        [quiet(1), quiet(0), last(1, 1, 0)],
        [quiet(0)],
        [quiet(0), quiet(1)],
    )
    assert turns == [(0, 0, False, 15, True), (40, 1, True, 55, False), (70, 0, False, 85, True)]


def test_a_rollout_without_a_turn_of_ones_own_folds_to_nothing():
    assert folded("player_1", [last(0), quiet(0)], [quiet(0)]) == []


@st.composite
def environments(draw):
    """Moves of one to three environments, which take turns and may begin and stop anywhere in a negotiation."""
    gathered = []
    for _ in range(draw(st.integers(1, 3))):
        mover, moves = draw(st.integers(0, 1)), []
        for over in draw(st.lists(st.booleans(), min_size=1, max_size=12)):
            moves.append((mover, *draw(st.tuples(st.integers(-3, 3), st.integers(-3, 3))), over))
            mover = 0 if over else 1 - mover
        gathered.append(moves)
    return gathered


@SEATS
@given(gathered=environments())
def test_any_rollout_folds_into_the_turns_that_there_were(seat, gathered):
    expected, cut = [], []
    for moves in gathered:
        own = list(turns_in([Move(move[0], move[1:3], Ending(int(move[3]))) for move in moves], seat))
        expected += own
        cut += [False] * (len(own) - 1) + [not own[-1].over] if own else []
    turns = folded(AGENTS[seat], *gathered)
    assert [Turn(reward, over) for _, reward, over, _, _ in turns] == expected
    assert [unfinished for *_, unfinished in turns] == cut


# What PPO receives, over whole rollouts


@pytest.fixture
def moves_made(monkeypatch):
    """The moves that every environment makes, by environment."""
    made = defaultdict(list)
    step = NegotiationEnv.step

    def recorded(env, action):
        mover = AGENTS.index(env.agent_selection)
        step(env, action)
        made[id(env)].append(Move(mover, (env.rewards["player_0"], env.rewards["player_1"]), env.ending))

    monkeypatch.setattr(NegotiationEnv, "step", recorded)
    return made


def received_by(training):
    """Train for some rollouts; the batches that PPO was handed, in order."""
    received = []
    prepare = training.learner._preprocess_batch

    def recorded(batch, buffer, indices):
        received.append((batch.obs.copy(), batch.rew.copy(), batch.done.copy(), batch.obs_next.copy()))
        return prepare(batch, buffer, indices)

    training.learner._preprocess_batch = recorded
    learning = training.run(10**9)
    for _ in range(ROLLOUTS):
        next(learning)
    learning.close()
    return received


def learner_against_erratic(seat, encoding="outcome"):
    """A learner, untrained, that may do whatever the rules allow, and so may its opponent."""
    game = replace(SHORT, allow_end=True, first_accept="fail", action_encoding=encoding)
    return ManagerTraining(TOY, Erratic(), game, TINY, seed=2, learner_seat=seat)


def rollouts_of(made):
    """By rollout, by environment: the moves gathered."""
    for rollout in range(ROLLOUTS):
        for moves in made.values():
            length = len(moves) // ROLLOUTS
            yield rollout, moves[rollout * length : (rollout + 1) * length]


erratic = pytest.mark.filterwarnings("ignore::negzoo.opponents.python.OpponentFault")


@erratic
@SEATS
@ENCODINGS
def test_the_rewards_and_ends_that_ppo_receives_are_those_that_the_environment_paid(seat, encoding, moves_made):
    received = received_by(learner_against_erratic(seat, encoding))
    for number, (_, reward, over, _) in enumerate(received):
        paid = [
            turn for rollout, moves in rollouts_of(moves_made) if rollout == number for turn in turns_in(moves, seat)
        ]
        assert [Turn(*turn) for turn in zip(reward.tolist(), over.tolist(), strict=True)] == paid


@erratic
@SEATS
def test_that_check_sees_every_ending_by_either_player(seat, moves_made):
    received_by(learner_against_erratic(seat))
    ends = {(move.mover, move.ending) for move in chain(*moves_made.values()) if move.ending}
    learners = {Ending.AGREEMENT, Ending.WALKED, *([Ending.BREAKDOWN] if seat == 0 else [])}
    opponents = {Ending.AGREEMENT, Ending.WALKED, Ending.BREAKDOWN, Ending.ERROR}
    deadline = {(1, Ending.DEADLINE)}
    assert ends == {(seat, how) for how in learners} | {(1 - seat, how) for how in opponents} | deadline


class Stock(MultiAgentOnPolicyAlgorithm):
    """Tianshou's own manager and dispatcher; only to act it needs ours, as its own policy asks for another mask.

    It does not count turns, so every update counts as one.
    """

    def __init__(self, *, algorithms, env):
        super().__init__(algorithms=algorithms, env=env)
        self.policy = TurnBasedPolicy(self.policy.policies)
        self.updates = 0

    def turns(self, agent):
        return self.updates

    def _update_with_batch(self, batch, batch_size, repeat):
        self.updates += 1
        return super()._update_with_batch(batch, batch_size, repeat)


@erratic
@SEATS
def test_the_stock_manager_loses_what_is_paid_on_the_others_move(seat, moves_made, monkeypatch):
    monkeypatch.setattr(manager, "TurnBasedAlgorithm", Stock)
    received = received_by(learner_against_erratic(seat))
    paid = [turn for _, moves in rollouts_of(moves_made) for turn in turns_in(moves, seat)]
    ends = sum(turn.over for turn in paid)
    assert 0 < sum(over.sum() for _, _, over, _ in received) < 0.7 * ends
    magnitude = sum(np.abs(reward).sum() for _, reward, _, _ in received)
    assert magnitude < 0.7 * sum(abs(turn.reward) for turn in paid)


@SEATS
def test_the_next_observation_is_the_learners_own_at_its_next_turn(seat):
    for seen, _, over, following in received_by(ManagerTraining(TOY, resolve("Random"), SHORT, TINY, 3, seat)):
        inside = ~over[:-1] & (seen[1:, -1] > seen[:-1, -1])
        assert inside.any()
        assert np.array_equal(following[:-1][inside], seen[1:][inside])
        assert following[~over, -1] - seen[~over, -1] == pytest.approx(1 / SHORT.rounds)


@SEATS
def test_steps_count_the_turns_learned_from(seat):
    training = ManagerTraining(TOY, resolve("Linear"), SHORT, TINY, 0, seat)
    received = received_by(training)
    assert training.steps == sum(len(reward) for _, reward, _, _ in received)


def test_a_run_goes_on_until_there_are_as_many_steps_as_asked_for():
    training = ManagerTraining(TOY, resolve("Linear"), SHORT, TINY, 0)
    counts = list(training.run(90))
    assert counts == sorted(counts)
    assert counts[-2] < 90 <= counts[-1] == training.steps
    assert list(training.run(90)) == []


def test_schedules_run_from_the_first_update_to_the_last():
    ppo = replace(TINY, learning_rate=0.4, learning_rate_end=0.0, entropy_coefficient=0.2, entropy_coefficient_end=0.1)
    training = ManagerTraining(TOY, resolve("Linear"), SHORT, ppo, 0)
    before, seen = 0, []
    for steps in training.run(200):
        (rate,) = {group["lr"] for group in training.learner.optim._optim.param_groups}
        seen.append((rate, training.learner.ent_coef))
        assert rate == pytest.approx(0.4 * (1 - before / 200))
        before = steps
    assert seen[0] == (0.4, 0.2)
    assert 0.1 < seen[-1][1] < seen[0][1]


def has_learned(training, steps=90):
    """Train; whether the weights are other numbers than before."""
    before = training.weights_of()
    for _ in training.run(steps):
        pass
    after = training.weights_of()
    return all(torch.isfinite(after[name]).all() and not torch.equal(after[name], before[name]) for name in before)


def test_minibatches_of_one_turn_are_learned_from():
    ppo = replace(TINY, minibatch=1, normalise_advantages=False)
    assert has_learned(ManagerTraining(TOY, resolve("Linear"), SHORT, ppo, 0))


@pytest.mark.parametrize("minibatch", [31, 15])
def test_a_turn_left_over_from_the_minibatches_is_learned_from_with_the_last_of_them(minibatch):
    assert has_learned(ManagerTraining(TOY, resolve("Linear"), SHORT, replace(TINY, minibatch=minibatch), 0))


@SEATS
def test_a_rollout_of_a_few_moves_is_learned_from(seat):
    assert has_learned(ManagerTraining(TOY, resolve("Linear"), SHORT, replace(TINY, horizon=3, envs=1), 0, seat), 9)


def test_a_rollout_of_one_turn_alone_is_not_learned_from():
    training = ManagerTraining(TOY, resolve("Linear"), SHORT, replace(TINY, horizon=1, envs=1), 0)
    with pytest.raises(OpponentError, match="nothing can be learned"):
        list(training.run(9))


class Opens(PythonOpponent):
    """Offers on the opening move of so many of `among` negotiations, and ends the others there; later it offers."""

    def __init__(self, often, among):
        self.often, self.among = often, among

    def respond(self, view):
        opens = view.received is not None or view.rng.integers(self.among) < self.often
        return Offer(view.best) if opens else Walk()


def test_who_never_lets_the_learner_move_is_told():
    training = ManagerTraining(TOY, Opens(0, 1), SHORT, TINY, 0, learner_seat=1)
    with pytest.raises(OpponentError) as error:
        next(training.run(90))
    assert str(error.value) == "Opens never lets the learner move; nothing can be learned"


def test_who_seldom_lets_the_learner_move_is_learned_from():
    training = ManagerTraining(TOY, Opens(1, 5), SHORT, TINY, 0, learner_seat=1)
    assert has_learned(training)
    assert training.steps >= 90


# Whom the learner meets


def finished_negotiations(opponent, seat=0, game=SHORT, ppo=TINY, steps=100):
    """The moves and the opponent's name of every negotiation that ended in training."""
    seen = []
    training = ManagerTraining(
        TOY,
        opponent,
        game,
        ppo,
        5,
        seat,
        on_finish=lambda env: seen.append((env.negotiations.history(0).copy(), env.opponent_name)),
    )
    for _ in training.run(steps):
        pass
    return seen


@SEATS
@ENCODINGS
def test_the_opponent_plays_as_it_does_elsewhere(seat, encoding):
    """A hardliner offers its best outcome at each of its turns."""
    best = int(TOY.utilities[1 - seat].argmax())
    negotiations = finished_negotiations(resolve("Hardliner"), seat, replace(SHORT, action_encoding=encoding))
    assert negotiations
    for moves, name in negotiations:
        assert name == "Hardliner"
        assert set(moves[1 - seat :: 2].tolist()) <= {best}


def test_a_pool_draws_another_member_from_one_negotiation_to_the_next():
    members = Pool("both", (resolve("Hardliner"), resolve("AcceptFirst")))
    negotiations = finished_negotiations(members)
    assert {name for _, name in negotiations} == {"Hardliner", "AcceptFirst"}
    for moves, name in negotiations:
        assert (moves[1] == ACCEPT) == (name == "AcceptFirst")


@ENCODINGS
def test_an_opening_learner_never_accepts_what_is_not_offered(encoding):
    game = replace(SHORT, action_encoding=encoding)
    opened = [moves[0] for moves, _ in finished_negotiations(resolve("Linear"), game=game, steps=200)]
    assert len(opened) > 20
    assert min(opened) >= 0


@erratic
@SEATS
def test_every_negotiation_that_ends_is_reported_once(seat, moves_made):
    reported = []
    training = learner_against_erratic(seat)
    for env in training.envs:
        env.on_finish = lambda env: reported.append(env.ending)
    received_by(training)
    ended = [move.ending for move in chain(*moves_made.values()) if move.ending]
    assert sorted(reported) == sorted(ended)


# One seed


def trained(seed=0, opponent=None, ppo=TINY, **options):
    training = ManagerTraining(TOY, opponent or resolve("Random"), SHORT, ppo, seed, **options)
    for _ in training.run(90):
        pass
    return training


@SEATS
def test_one_seed_gives_the_same_bits_twice_and_another_gives_others(seat):
    first, again, other = (digest_of(trained(seed, learner_seat=seat).weights_of()) for seed in (7, 7, 8))
    assert first == again != other


def test_the_global_generators_and_threads_around_do_not_matter():
    expected = digest_of(trained().weights_of())
    with torch.random.fork_rng():
        torch.manual_seed(123)
        np.random.seed(123)  # noqa: NPY002 - the generator that must not matter
        torch.set_num_threads(2)
        assert digest_of(trained().weights_of()) == expected


def test_watching_the_negotiations_changes_nothing():
    seen = []
    assert digest_of(trained(on_finish=seen.append).weights_of()) == digest_of(trained().weights_of())
    assert seen


def test_what_the_caller_draws_between_updates_does_not_matter():
    training = ManagerTraining(TOY, resolve("Random"), SHORT, TINY, 0)
    with torch.random.fork_rng():
        for _ in training.run(90):
            torch.rand(5), np.random.random(5)  # noqa: NPY002
            torch.set_num_threads(2)
    assert digest_of(training.weights_of()) == digest_of(trained().weights_of())


def global_state():
    """NumPy's and torch's global generators and the number of threads."""
    kind, words, *place = np.random.get_state()  # noqa: NPY002
    return torch.get_rng_state().tolist(), kind, words.tolist(), place, torch.get_num_threads()


def test_training_leaves_the_global_generators_and_the_threads_as_they_were_after_every_update():
    torch.set_num_threads(2)
    before = global_state()
    training = ManagerTraining(TOY, resolve("Random"), SHORT, TINY, 0)
    assert global_state() == before
    learning = training.run(90)
    for _ in range(2):
        next(learning)
        assert global_state() == before
    learning.close()
    assert global_state() == before


def test_an_opponent_that_ends_training_leaves_them_as_they_were():
    before = global_state()
    with pytest.raises(OpponentError):
        next(ManagerTraining(TOY, Opens(0, 1), SHORT, TINY, 0, learner_seat=1).run(90))
    assert global_state() == before


# Weights


def test_training_starts_from_the_weights_it_is_given_and_keeps_its_own_copy():
    start = trained(seed=1).weights_of()
    before = digest_of(start)
    training = ManagerTraining(TOY, resolve("Linear"), SHORT, TINY, 2, initial=start)
    assert digest_of(training.weights_of()) == before
    for _ in training.run(30):
        pass
    assert digest_of(training.weights_of()) != before
    assert digest_of(start) == before


def test_fresh_weights_come_from_the_seed():
    first, again, other = (
        ManagerTraining(TOY, resolve("Linear"), SHORT, TINY, seed).weights_of() for seed in (3, 3, 4)
    )
    assert digest_of(first) == digest_of(again) != digest_of(other)


def test_weights_name_both_networks():
    names = set(ManagerTraining(TOY, resolve("Linear"), SHORT, TINY, 0).weights_of())
    layers = {f"body.{number}.{what}" for number in (0, 2, 4) for what in ("weight", "bias")}
    assert names == {f"{network}.{layer}" for network in ("actor", "critic") for layer in layers}


@pytest.mark.slow
def test_a_learner_does_better_than_to_accept_the_first_offer_of_a_conceder():
    """On Laptop the first offer of Conceder1 is worth .852 and the best of its later ones 1."""
    laptop, opponent, game = load("laptop"), resolve("Conceder1"), NegotiationSettings()
    training = ManagerTraining(laptop, opponent, game, PPOSettings(envs=1), seed=3)
    reached = 0.0
    for _ in training.run(20_000):
        card = Card("learner", laptop.name, laptop.hash, 0, game, training.ppo.hidden)
        policy = FrozenPolicy.of(card, training.weights_of(), laptop)
        reached = max(reached, play(laptop, policy, opponent).utilities[0, 0])
    first_offer = play(laptop, resolve("AcceptFirst"), opponent).utilities[0, 0]
    assert first_offer == pytest.approx(0.852, abs=5e-4)
    assert reached > first_offer

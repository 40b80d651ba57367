"""Batches of negotiations: each is the one that the AEC environment holds under the same number."""

from collections import defaultdict

import numpy as np
import pytest

import negzoo
from negzoo.engine import ACCEPT
from negzoo.engine.rng import derive_key
from negzoo.envs import AGENTS, NegotiationSettings
from negzoo.envs.batch import NegotiationBatch, Streams
from negzoo.errors import OpponentError
from negzoo.opponents import Offer, Pool, PythonOpponent, Walk, resolve
from negzoo.scenario import load

LAPTOP = load("laptop")
SETTINGS = NegotiationSettings(rounds=5)
SEED = 11


class Fickle(PythonOpponent):
    """Walks away now and then, on the opening move too."""

    def respond(self, view):
        return Walk() if view.rng.random() < 0.3 else Offer(view.best)


OPPONENTS = {
    "Random": resolve("Random"),
    "Linear": resolve("Linear"),
    "pool": Pool("pool", (resolve("Random"), resolve("AcceptFirst"), resolve("Hardliner"))),
    "Python": Fickle(),
}
everyone = pytest.mark.parametrize("opponent", OPPONENTS)
either_seat = pytest.mark.parametrize("seat", [0, 1])


def learners_move(number, step):
    """What the learner plays in a negotiation after `step` moves: mostly offers, and no acceptance of nothing."""
    drawn = int(np.random.default_rng((number, step)).integers(LAPTOP.size + 5))
    return ACCEPT if drawn >= LAPTOP.size and step > 0 else drawn % LAPTOP.size


def batch_of(opponent, seat, size):
    streams = Streams.of(derive_key(SEED, 1 - seat), size)
    which = np.zeros(size, np.int64)
    return NegotiationBatch(LAPTOP, [OPPONENTS[opponent]], which, SETTINGS, streams, seat)


def step(batch):
    """The learner moves everywhere; the rows that ended."""
    moves = list(map(learners_move, batch.indices.tolist(), batch.negotiations.step.tolist()))
    return np.flatnonzero(batch.step(np.array(moves, np.int32)))


def negotiated_together(opponent, seat, size):
    """By number, the moves, pay and observations of the negotiations that 12 steps of a batch finish."""
    batch, seen, finished = batch_of(opponent, seat, size), defaultdict(list), {}

    def finish(rows):
        for row, reward in zip(rows, batch.rewards(rows), strict=True):
            number = int(batch.indices[row])
            finished[number] = (batch.negotiations.history(row).tolist(), reward, seen[number])

    batch.on_finish = finish
    batch.reset()
    for _ in range(12):
        for number, observation in zip(batch.indices.tolist(), batch.observe().tolist(), strict=True):
            seen[number].append(observation)
        batch.restart(step(batch))
    return finished


def negotiated_alone(opponent, seat, numbers):
    """The same of the AEC environment's negotiations of these numbers."""
    env = negzoo.env(LAPTOP, settings=SETTINGS, opponents={AGENTS[1 - seat]: OPPONENTS[opponent]}, mask_in="info")
    finished = {}
    for number in range(max(numbers) + 1):
        env.reset(seed=SEED if number == 0 else None)
        seen = learner_negotiates(env, AGENTS[seat], number)
        finished[number] = (env.unwrapped.negotiations.history(0).tolist(), env.rewards[AGENTS[seat]], seen)
    return {number: finished[number] for number in numbers}


def learner_negotiates(env, learner, number):
    """Play a negotiation to its end; what the learner observed at its turns."""
    codec, table, seen = env.unwrapped.codec, env.unwrapped.negotiations, []
    while not env.terminations[learner]:
        observation, *_, info = env.last()
        action = info["reply"]
        if env.agent_selection == learner:
            seen.append(observation.tolist())
            action = codec.to_action(learners_move(number, int(table.step[0])))
        env.step(action)
    return seen


@everyone
@either_seat
@pytest.mark.parametrize("size", [1, 7])
def test_negotiations_are_those_of_the_aec_environment(opponent, seat, size):
    together = negotiated_together(opponent, seat, size)
    assert len(together) >= size
    assert together == negotiated_alone(opponent, seat, together)


@everyone
@either_seat
def test_a_restored_batch_goes_on_as_if_never_interrupted(opponent, seat):
    kept, fresh = batch_of(opponent, seat, 6), batch_of(opponent, seat, 6)
    kept.reset()
    for _ in range(7):
        kept.restart(step(kept))
    fresh.restore(kept.state())
    for _ in range(15):
        assert np.array_equal(fresh.observe(), kept.observe())
        for batch in (kept, fresh):
            batch.restart(step(batch))
    assert np.array_equal(fresh.indices, kept.indices)


def test_tables_may_have_opponents_of_their_own():
    names = ["Hardliner", "AcceptFirst", "Linear"]
    which = np.array([2, 0, 1, 0])
    streams = Streams.of(derive_key(SEED, 1), 4)
    batch = NegotiationBatch(LAPTOP, [resolve(name) for name in names], which, SETTINGS, streams)
    batch.reset()
    batch.step(np.full(4, 3, np.int32))
    replies = batch.negotiations.moves[:, 1]
    best = LAPTOP.utilities[1].argmax()
    assert replies[2] == ACCEPT
    assert replies[1] == replies[3] == best


class Late(PythonOpponent):
    """Walks away on the opening of its first `walks` negotiations."""

    def __init__(self, walks):
        self.walks = walks

    def __deepcopy__(self, _):
        self.walks -= 1
        return Late(self.walks)

    def respond(self, view):
        return Walk() if self.walks >= 0 else Offer(view.best)


def batch_that_opens_late(walks):
    streams = Streams.of(derive_key(SEED, 0), 1)
    return NegotiationBatch(LAPTOP, [Late(walks)], np.zeros(1, np.int64), SETTINGS, streams, learner_seat=1)


def test_negotiations_that_the_opening_ends_are_passed_over_and_reported():
    batch, finished = batch_that_opens_late(3), []
    batch.on_finish = lambda _: finished.append(int(batch.indices[0]))
    batch.reset()
    assert finished == [0, 1, 2]
    assert batch.indices.tolist() == [3]
    assert batch.negotiations.step.tolist() == [1]


def test_who_never_lets_the_learner_move_is_told():
    with pytest.raises(OpponentError) as error:
        batch_that_opens_late(10**9).reset()
    assert str(error.value) == "Late ended 1000 negotiations in a row at the opening; nothing can be learned"


def test_the_last_try_may_succeed():
    batch = batch_that_opens_late(999)
    batch.reset()
    assert batch.indices.tolist() == [999]

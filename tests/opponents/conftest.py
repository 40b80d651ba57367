"""Recorded games, made-up scenarios, and a partner who makes the offers it is told to."""

import gzip
import json

import numpy as np
from hypothesis import strategies as st

from negzoo.engine import Negotiations
from negzoo.opponents.kernel import Minds
from negzoo.scenario import Issue, Profile, Scenario
from negzoo.scenario.catalogue import data_folder

OVER = -9
"""No move: the negotiation has ended."""


def recorded_games(agent=""):
    """The files of the recorded games, of one agent or all."""
    return sorted((data_folder() / "games").glob(f"*_{agent}*.json.gz"))


def as_recorded(path):
    """A recorded game as it is written."""
    return json.loads(gzip.decompress(path.read_bytes()))


def scenario_of(weights, *evaluations, reservation=0.0):
    """A scenario whose two profiles both have these figures."""
    options = [tuple(f"option {o}" for o in range(len(row))) for row in evaluations]
    issues = [Issue(f"issue {i}", names) for i, names in enumerate(options)]
    profiles = [Profile(name, tuple(weights), tuple(map(tuple, evaluations)), reservation) for name in "ab"]
    return Scenario("made up", tuple(issues), tuple(profiles))


def one_issue(options, evaluations=None, weight=1.0, reservation=0.0):
    """One issue with these options, worth their evaluation over the largest, times the weight, to both profiles."""
    evaluations = tuple(map(float, evaluations or range(len(options))))
    profiles = tuple(Profile(name, (weight,), (evaluations,), reservation) for name in "ab")
    return Scenario("one issue", (Issue("issue", tuple(options)),), profiles)


def ladder(steps=10, reservation=0.0):
    """One issue, where option k is worth k / steps to the second profile and 1 - k / steps to the first."""
    up = tuple(map(float, range(steps + 1)))
    profiles = Profile("down", (1.0,), (up[::-1],)), Profile("up", (1.0,), (up,), reservation)
    return Scenario("ladder", (Issue("rung", tuple(f"rung {k}" for k in range(steps + 1))),), profiles)


@st.composite
def scenarios(draw, weights=(0.0, 0.1, 0.25, 0.3, 1.0)):
    """One to six issues of one to four options, with ties, worthless issues, sums above 1 and reservation values."""
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    issues = tuple(Issue(f"issue {i}", tuple(f"option {o}" for o in range(n))) for i, n in enumerate(shape))

    def profile(name):
        drawn = tuple(draw(st.sampled_from(weights)) for _ in shape)
        evaluations = tuple(tuple(float(draw(st.integers(0, 4))) for _ in range(n)) for n in shape)
        return Profile(name, drawn, evaluations, draw(st.sampled_from([0.0, 0.2, 1.0])))

    return Scenario("drawn", issues, (profile("a"), profile("b")))


class Tables:
    """A seat at N tables, and a partner who makes the offers it is told to; the negotiations have these indices."""

    def __init__(self, seat, indices=(0,), rounds=40, clock="paper", key=0):
        self.seat, self.negotiations = seat, Negotiations(len(indices), rounds, clock)
        self.rows, self.out = np.arange(len(indices)), np.full(len(indices), OVER, np.int32)
        seat.start(self.rows, np.full(len(indices), key, np.uint64), np.array(indices, np.uint64))

    def hear(self, offer):
        """The partner offers `offer`, or offer[row] at each table."""
        offers = np.broadcast_to(np.asarray(offer, np.int32), self.rows.shape).copy()
        self.negotiations.apply(self.rows, offers)

    def move(self):
        """Its moves, int32 [N]; OVER where the negotiation has ended."""
        running = self.negotiations.running
        self.out[:] = OVER
        if running.size:
            self.seat.reply(running, self.negotiations, self.out)
        self.negotiations.apply(running, self.out)
        return self.out.copy()

    def receive(self, offer):
        """Its answers to an offer, int32 [N]."""
        self.hear(offer)
        return self.move()

    def play(self, offers, opens=False):
        """Its moves, int32 [turns, N], to one offer after the other, or each before the next offer if it opens."""
        turns = []
        for offer in offers:
            turns.append(self.move() if opens else self.receive(offer))
            if opens:
                self.hear(offer)
        return np.array(turns)

    def answers(self, offers, opens=False):
        """What it plays at the first table, as a list that ends with the negotiation."""
        return [move for move in self.play(offers, opens)[:, 0].tolist() if move != OVER]

    def use_tape(self, tape, spacing=0):
        """From now on, row i draws from `tape`, beginning at i * spacing."""
        minds = self.seat.minds
        minds.streams["count"] = self.rows * spacing
        self.seat.minds = Minds(minds.memory, minds.notes, minds.streams, np.asarray(tape, np.float64))

    @property
    def draws(self):
        """How many random numbers the strategy has drawn at each table, int [N]."""
        return self.seat.minds.streams["count"]

    @property
    def memory(self):
        """The strategy's memory at the first table."""
        return self.seat.minds.memory[0]

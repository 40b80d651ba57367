"""What the benchmark measures: that the work is the work it says, not how long it takes."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from negzoo.bench.measure import Speed, machine
from negzoo.bench.opponents import TURNS, speed
from negzoo.engine.rng import derive_key
from negzoo.opponents import Opponent, Seat
from negzoo.scenario import load

LAPTOP = load("laptop")
ACCEPT = -1


@dataclass
class WatchedSeat(Seat):
    """Offers outcome 0, but accepts at the tables with an even number; remembers what it was asked."""

    started: list = field(default_factory=list)
    replies: int = 0

    def start(self, rows, keys, indices):
        self.started.append((rows.tolist(), keys.tolist(), indices.tolist()))

    def reply(self, rows, negotiations, out):
        assert (negotiations.step[rows] % 2 == 1).all()
        self.replies += len(rows)
        out[rows] = np.where(rows % 2 == 0, ACCEPT, 0)


@dataclass(frozen=True)
class Watched(Opponent):
    table: WatchedSeat

    @property
    def name(self):
        return "watched"

    def seat(self, scenario, side, size):
        assert (scenario, side, size) == (LAPTOP, 1, 3)
        return self.table


def test_every_learner_step_is_answered_and_every_table_goes_on():
    seat = WatchedSeat()
    measured = speed("watched", Watched(seat), LAPTOP, batch=3, repeats=2)
    assert (measured.domain, measured.opponent, len(measured.rates)) == ("laptop", "watched", 2)
    assert all(rate > 0 for rate in measured.rates)
    warm_up = 3
    assert seat.replies == warm_up + 2 * 3 * TURNS


def test_a_table_whose_negotiation_ended_starts_the_next_from_streams_of_its_own():
    seat = WatchedSeat()
    speed("watched", Watched(seat), LAPTOP, batch=3, repeats=1, seed=5)
    key = int(derive_key(5, 1))
    first, second, third = seat.started[2:5]  # after those of the warm-up
    assert first == ([0, 1, 2], [key] * 3, [0, 1, 2])
    assert second == ([0, 2], [key] * 2, [3, 5])
    assert third == ([0, 2], [key] * 2, [6, 8])
    assert ([0, 1, 2], [key] * 3, [120, 4, 122]) in seat.started  # the deadline, for table 1


def test_medians_and_quartiles():
    measured = Speed("laptop", "x", (1.0, 2.0, 3.0, 4.0, 100.0))
    assert (measured.median, measured.quartiles) == (3.0, (2.0, 4.0))


@pytest.mark.parametrize("told", ["processor", "cores", "system", "python", "numpy", "numba", "negzoo"])
def test_the_machine_is_told(told):
    assert machine()[told]

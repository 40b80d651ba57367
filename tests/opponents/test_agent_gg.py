"""AgentGG: recorded states, its rules on small scenarios, its sampler against literal draws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from negzoo.engine import ACCEPT, NOTHING
from negzoo.errors import OpponentError
from negzoo.opponents.agent_gg import AgentGG, importances, lower_limit
from negzoo.opponents.kernel import own_side
from negzoo.opponents.replay import read_game
from negzoo.scenario import load
from tests.opponents.conftest import Tables, as_recorded, recorded_games, scenario_of, scenarios

LINEAGES = ("paper", "genius")


def hundredths(reservation=0.0):
    """One issue of 101 options: outcome k is worth k/100, and R of it is k/100 too."""
    return scenario_of([1.0], range(101), reservation=reservation)


class Across(Tables):
    """AgentGG in the second seat; whatever its moves are, play goes on as if it had offered 0."""

    def __init__(self, scenario, lineage="paper", rounds=40, clock=None, side=1, size=1):
        seat = AgentGG(lineage).seat(scenario, side, size)
        super().__init__(seat, range(size), rounds, clock or lineage, key=5)

    def move(self):
        self.seat.reply(self.rows, self.negotiations, self.out)
        self.hear(0)
        return self.out.copy()


# Recorded states


@pytest.mark.parametrize("path", recorded_games("AgentGG"), ids=lambda path: path.name)
def test_limits_and_nash_point_are_the_recorded_ones_to_the_last_bit(path):
    game = read_game(path)
    states = [entry["state"] for entry in as_recorded(path)["log"] if "act" in entry]
    across = Across(game.scenario, game.opponent.lineage, side=game.side)
    for offer, state in zip(game.script, states, strict=False):
        across.receive(offer)
        lower = state.get("offer_lower_ratio", state.get("offerLowerRatio"))
        assert (across.memory["lower"], across.memory["nash"]) == (lower, state["estimatedNashPoint"] or 0)


# Importance


def test_importance_is_the_sum_of_mean_ranks_above_the_least_of_all():
    """Utilities 1, 0.7, 0.3, 0 rank 4, 3, 2, 1: mean ranks 3.5 and 1.5 in one issue, 3 and 2 in the other."""
    known = importances(own_side(scenario_of([0.7, 0.3], [1, 0], [1, 0]), 0, "paper"))
    assert known.importance.tolist() == [3.5, 2.5, 1.5, 0.5]
    assert known.order.tolist() == [0, 1, 2, 3]
    assert known.best == 0


def test_equal_outcomes_rank_in_reverse_product_order():
    """All equal: ranks 4, 3, 2, 1 in product order, whatever the utility."""
    for constant in (0.0, 1.0):
        known = importances(own_side(scenario_of([0.7, 0.3], [constant] * 2, [constant] * 2), 0, "paper"))
        assert known.importance.tolist() == [3.5, 2.5, 1.5, 0.5]


def test_lineage_genius_ranks_clipped_utilities():
    """Utilities 1.2, 1.3, 0.5, 0.6: clipped, the first two are equal, and the first of them leads."""
    scenario = scenario_of([0.8, 0.5], [1, 0.125], [0.8, 1])
    assert importances(own_side(scenario, 0, "paper")).best == 1
    assert importances(own_side(scenario, 0, "genius")).best == 0


@pytest.mark.parametrize(("reservation", "expected"), [(0.0, 0.0), (0.4, 0.4), (0.1, 0.1)])
def test_reservation_ratio_is_the_reservation_value_where_the_median_ratio_is_a_half(reservation, expected):
    known = importances(own_side(hundredths(reservation), 0, "paper"))
    assert known.reservation == pytest.approx(expected)


# Turns


@pytest.mark.parametrize("lineage", LINEAGES)
@pytest.mark.parametrize("side", [0, 1])
def test_it_opens_with_the_weightiest_options(lineage, side):
    scenario = load("laptop")
    opening = Across(scenario, lineage, side=side).move()[0]
    assert opening == scenario.utilities[side].argmax()


@pytest.mark.parametrize("lineage", LINEAGES)
def test_at_its_first_turn_it_accepts_its_best_outcome_only(lineage):
    assert Across(hundredths(), lineage).receive(100)[0] == ACCEPT
    assert Across(hundredths(), lineage).receive(99)[0] != ACCEPT


def test_it_accepts_by_the_limit_of_the_turn_before():
    """At the second turn the limit is 0.98125, but that of the first, 0.99, decides."""
    across = Across(hundredths())
    assert across.receive(98)[0] != ACCEPT
    assert across.receive(98)[0] != ACCEPT
    assert across.memory["lower"] == 0.98125
    assert across.receive(98)[0] != ACCEPT
    assert across.memory["lower"] == 0.96875
    assert across.receive(97)[0] == ACCEPT


@pytest.mark.parametrize("lineage", LINEAGES)
def test_the_nash_point_is_set_by_the_better_of_the_first_two_offers(lineage):
    across = Across(hundredths(), lineage)
    across.receive(50)
    assert across.memory["nash"] == 0
    for offer in (20, 90):
        across.receive(offer)
        assert across.memory["nash"] == (1 - 0.5) / 1.7 + 0.5


def test_the_nash_point_waits_until_offers_are_more_than_0_003_apart():
    """With 400 rounds a round takes 0.0025, so the third offer still counts, and the fourth does not."""
    across = Across(hundredths(), rounds=400)
    for offer in (10, 20):
        across.receive(offer)
        assert not across.memory["nash_known"]
    across.receive(50)
    across.receive(60)
    assert across.memory["nash"] == (1 - 0.5) / 1.7 + 0.5


@pytest.mark.parametrize(("lineage", "counted"), [("paper", 12), ("genius", 12)])
def test_options_are_counted_until_t_is_0_3(lineage, counted):
    across = Across(load("laptop"), lineage)
    for _ in range(20):
        across.receive(18)
    assert across.seat.minds.notes[0].tolist() == [0, 0, counted, counted, 0, 0, counted, 0, 0]


@pytest.mark.parametrize(("lineage", "last"), [("paper", 8), ("genius", 8)])
def test_appeal_counts_from_the_first_turn_after_t_is_0_2(lineage, last):
    across = Across(load("laptop"), lineage)
    impartial = []
    for _ in range(12):
        across.receive(18)
        impartial.append(bool(across.memory["impartial"]))
    assert impartial == [True] * last + [False] * (12 - last)


@pytest.mark.parametrize(
    ("t", "limit"),
    [
        (0.005, 0.9999),
        (0.015, 0.99),
        (0.1, 0.95),
        (0.2, 0.9),
        (0.35, 0.775),
        (0.5, 0.65),
        (0.7, 0.6125),
        (0.9, 0.575),
        (0.94, 0.55),
        (0.98, 0.525),
        (0.9875, 0.5125),
        (0.995, 0.5),
        (0.997, 0.5 - 0.175 * 0.002 / 0.0039),
        (0.9995, 0.3),
    ],
)
def test_lower_limit_with_a_nash_point_of_a_half(t, limit):
    assert lower_limit(0.5, 0.0, t) == pytest.approx(limit, abs=1e-12)


@pytest.mark.parametrize(("t", "limit"), [(0.94, 0.7), (0.99, 0.65), (0.997, 0.65), (0.9995, 0.6)])
def test_lower_limit_stays_above_the_reservation_ratio_from_0_9_on(t, limit):
    assert lower_limit(0.0, 0.4, t) == pytest.approx(limit)
    assert lower_limit(0.0, 0.4, 0.89) < 0.2


def test_an_offer_that_beats_the_reservation_ratio_is_taken_at_the_very_end():
    """The last of 2,000 rounds comes at t = 0.99975. The offer is far below the limit of the turn before."""
    for reservation, expected in ((0.1, True), (0.4, False)):
        across = Across(hundredths(reservation), rounds=2000)
        across.receive(0)
        across.receive(0)
        across.negotiations.step[:] = 2 * 1999
        assert (across.receive(50) == ACCEPT).all() == expected


def test_a_limit_above_the_best_outcome_is_lowered_to_it():
    """A reservation ratio of 0.8 asks for 1.1 at t = 0.9125: the best outcome is still taken and offered."""
    across = Across(hundredths(0.8), "genius", clock="paper")
    answers = [across.receive(0)[0] for _ in range(37)]
    assert answers[-1] == 100
    assert across.receive(100)[0] == ACCEPT


def test_lineage_paper_may_find_no_offer_and_genius_always_does():
    """101 outcomes, one or two of them good enough at the first turn: a miss has a probability of 2%."""
    first = {lineage: Across(hundredths(), lineage, size=2000).receive(0) for lineage in LINEAGES}
    assert 0 < (first["paper"] == NOTHING).mean() < 0.05
    assert (first["genius"] != NOTHING).all()


def test_an_unknown_lineage_is_refused():
    with pytest.raises(OpponentError, match='did you mean "genius"'):
        AgentGG("genious")


# Any scenario


@settings(max_examples=60)
@given(
    scenario=scenarios(),
    lineage=st.sampled_from(LINEAGES),
    clock=st.sampled_from(LINEAGES),
    rounds=st.sampled_from([1, 2, 3, 5, 12, 40]),
    opens=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_moves_are_legal_and_offers_reach_the_lower_limit(scenario, lineage, clock, rounds, opens, seed):
    tables = Tables(AgentGG(lineage).seat(scenario, 0, 3), range(3), rounds, clock, key=seed)
    for offers in np.random.default_rng(seed).integers(0, scenario.size, (rounds, 3)):
        if not opens:
            tables.hear(offers)
        running = tables.negotiations.running
        _check_moves(tables.move()[running], tables.seat, running, lineage)
        if opens:
            tables.hear(offers)


def _check_moves(moves, seat, rows, lineage):
    allowed = [ACCEPT, NOTHING] if lineage == "paper" else [ACCEPT]
    assert ((moves >= 0) & (moves < seat.own.order.size) | np.isin(moves, allowed)).all()
    offered = moves >= 0
    ranked = seat.own.ranked
    lowest = seat.minds.memory["lower"][rows] * (ranked[0] - ranked[-1]) + ranked[-1]
    assert (seat.own.importance[moves[offered]] >= np.minimum(lowest, ranked[0])[offered]).all()


# The sampler against literal sampling

PROBES = [
    ("laptop", 40, 5),
    ("laptop", 40, 15),
    ("laptop", 40, 38),
    ("thompson", 40, 5),
    ("thompson", 40, 15),
    ("thompson", 40, 38),
    ("laptop", 1, 1),  # no option counted yet, so nothing has appeal, or all is beyond the limits
    ("laptop", 2, 2),
]


@pytest.mark.parametrize("lineage", LINEAGES)
@pytest.mark.parametrize(("domain", "rounds", "turn"), PROBES)
def test_offers_are_distributed_as_literal_sampling_distributes_them(domain, rounds, turn, lineage):
    sampled = exact_moves(domain, lineage, rounds, turn, 20_000)
    literal = literal_moves(domain, lineage, rounds, turn, 2000 if domain == "laptop" else 400)
    assert excess(sampled, literal) < 3


@pytest.mark.parametrize("turn", [5, 38])
def test_the_comparison_tells_the_lineages_apart(turn):
    sampled = exact_moves("laptop", "paper", 40, turn, 20_000)
    assert excess(sampled, literal_moves("laptop", "genius", 40, turn, 2000)) > 4


def exact_moves(domain, lineage, rounds, turn, size):
    """int32 [size]: moves at a turn as they are sampled in play."""
    return _at_turn(domain, lineage, rounds, turn, size).receive(0)


def literal_moves(domain, lineage, rounds, turn, size, chunk=100):
    """int32 [size]: moves at a turn, drawn literally from tapes of random draws; no two rows share any."""
    scenario, random = load(domain), np.random.default_rng(turn)
    per_row, bounds = 4 * scenario.size, [scenario.size]
    if lineage == "genius":
        per_row, bounds = 8 * scenario.size * len(scenario.shape), scenario.shape
    moves = []
    for _ in range(size // chunk):
        across = _at_turn(domain, lineage, rounds, turn, chunk)
        draws = random.integers(0, np.resize(bounds, per_row), (chunk, per_row))
        across.use_tape(draws.ravel(), per_row)
        moves.append(across.receive(0))
    return np.concatenate(moves)


def _at_turn(domain, lineage, rounds, turn, size):
    scenario = load(domain)
    across = Across(scenario, lineage, rounds, size=size)
    poor = scenario.utilities[1].argsort()[: scenario.size // 3]
    for offer in np.random.default_rng(0).choice(poor, turn - 1):
        across.receive(offer)
    return across


def excess(first, second):
    """How much more two samples differ than samples of one distribution do, in standard deviations.

    The chi-square statistic, made normal (Wilson & Hilferty 1931); moves expected under 5 times count as one.
    """
    kinds = np.union1d(first, second)
    counts = np.array([[(sample == kind).sum() for kind in kinds] for sample in (first, second)], np.float64)
    expected = counts.sum(0) * min(first.size, second.size) / (first.size + second.size)
    rare = expected < 5
    counts = np.column_stack([counts[:, ~rare], counts[:, rare].sum(1)])
    counts = counts[:, counts.sum(0) > 0]
    scale = np.sqrt(second.size / first.size)
    statistic = ((counts[0] * scale - counts[1] / scale) ** 2 / counts.sum(0)).sum()
    freedom = max(counts.shape[1] - 1, 1)
    return (np.cbrt(statistic / freedom) - 1 + 2 / (9 * freedom)) / np.sqrt(2 / (9 * freedom))

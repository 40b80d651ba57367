"""HardHeaded: recorded states, its rules by hand, and whole games as its description reads in plain Python."""

import gzip
import json
from itertools import count, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from negzoo.engine import ACCEPT, CLOCKS
from negzoo.engine.rng import uniform_at
from negzoo.errors import OpponentError
from negzoo.opponents.base import LINEAGES
from negzoo.opponents.hard_headed import (
    HardHeaded,
    demand,
    genius_bid_list,
    hard_headed_side,
    learn_weights,
    lowest_near,
    pick,
    set_balanced,
    utility_levels,
    worth,
)
from negzoo.opponents.registry import resolve
from negzoo.opponents.replay import read_game
from negzoo.scenario import load
from tests.opponents.conftest import Tables, as_recorded, recorded_games, scenario_of

EXACT = [path for path in recorded_games("HardHeaded") if not path.name.startswith("genius_HardHeaded_IS_BT_")]
TABLES = Path(__file__).parent / "tables"
DOMAINS = ("Grocery", "IS_BT_Acquisition", "ItexvsCypress", "Laptop", "thompson")


def worth_in_percent(*percent, reservation=0.0):
    """One issue; outcome k is worth percent[k] / 100, if the best is worth 100 percent."""
    return scenario_of([1.0], percent, reservation=reservation)


def seated(scenario, lineage="paper", tape=(), rounds=40, clock="paper"):
    """HardHeaded with profile 2 at one table; its draws come from the tape where there is one."""
    table = Tables(HardHeaded(lineage).seat(scenario, 1, 1), rounds=rounds, clock=clock)
    if len(tape):
        table.use_tape(tape)
    return table


def model(table):
    """The weights and counts of its model of the other side."""
    notes, issues = table.seat.minds.notes[0], table.seat.own.slots.shape[1]
    return notes[:issues].tolist(), notes[issues:].tolist()


# Recorded states


@pytest.mark.parametrize("path", EXACT, ids=lambda path: path.name)
def test_demand_queue_and_least_offer_are_the_recorded_ones_to_the_last_bit(path):
    game, log = read_game(path), as_recorded(path)["log"]
    lineage = game.opponent.lineage
    table = seated(game.scenario, lineage, game.tape, clock=lineage)
    for offer, entry in zip(game.script.tolist(), log, strict=False):
        t = table.negotiations.time(0)
        table.receive(offer)
        expected = entry["state"]
        waiting = int(table.memory["tail"] - table.memory["head"])
        if lineage == "genius":
            assert demand(table.seat.own, t) == expected["get_p()"]
            assert waiting == expected["offerQueue.size()"]
        least = expected.get("lowestYetUtility", expected.get("lowest_yet_utility"))
        assert table.memory["least_offered"] == least


@pytest.mark.parametrize(("domain", "side"), list(product(DOMAINS, (0, 1))))
def test_bid_list_is_the_recorded_one_to_the_last_bit(domain, side):
    scenario = load(domain)
    table = TABLES / f"hhlist_{domain}_utility{side + 1}.json.gz"
    recorded = json.loads(gzip.decompress(table.read_bytes()))
    ladder = genius_bid_list(scenario, scenario.utilities[side])
    assert ladder.outcome.tolist() == [scenario.index(entry["bid"]) for entry in recorded]
    assert ladder.key.tolist() == [entry["key"] for entry in recorded]


# The ladder


def test_bid_list_lowers_utilities_issue_by_issue_in_ascending_order():
    scenario = scenario_of([0.5, 0.5], [1, 2], [2, 1])
    ladder = genius_bid_list(scenario, scenario.utilities[1])
    # After the first issue there are the outcomes 0, worth 0.75, and 2, worth 1; 0 is the first to branch.
    assert ladder.outcome.tolist() == [1, 3, 0, 2]
    assert ladder.key.tolist() == pytest.approx([0.5 - 2e-8, 0.75 - 4e-8, 0.75 - 1e-8, 1 - 3e-8], abs=1e-15)
    assert ladder.rung_of.tolist() == [2, 0, 3, 1]


def test_the_later_of_two_equal_keys_stays_and_the_other_outcome_is_placed_by_its_utility():
    utility = np.array([1e-8, 2e-8, 0.25])
    ladder = genius_bid_list(worth_in_percent(1, 1, 1), utility)
    assert ladder.outcome.tolist() == [1, 2]
    assert ladder.key_of[:2].tolist() == [1e-8, 0.0]
    assert ladder.rung_of.tolist() == [1, 0, 1]


def test_utility_levels_hold_the_first_outcome_of_each_utility():
    ladder = utility_levels(np.array([0.2, 0.7, 0.2, 0.7, 0.1]))
    assert ladder.outcome.tolist() == [4, 0, 1]
    assert ladder.key.tolist() == [0.1, 0.2, 0.7]
    assert ladder.rung_of.tolist() == [1, 2, 1, 2, 0]


# What it offers


def test_paper_comes_down_one_outcome_per_utility_and_repeats_itself_below_its_demand():
    table = seated(worth_in_percent(100, 99, 99, 98.5, 50), tape=[2, 0])
    assert table.answers([4] * 7) == [0, 1, 3, 3, 0, 1, 3]
    assert table.seat.minds.streams["count"][0] == 2


def test_genius_comes_down_all_outcomes_and_offers_near_ones_from_the_lowest_up():
    table = seated(worth_in_percent(100, 99, 99, 98.5, 50), "genius", tape=[0.999, 0.0])
    assert table.answers([4] * 10) == [0, 3, 2, 1, 3, 2, 3, 3, 0, 3]
    assert table.seat.minds.streams["count"][0] == 2


@pytest.mark.parametrize("lineage", LINEAGES)
def test_opening_it_offers_the_same(lineage):
    scenario = worth_in_percent(100, 99, 99, 98.5, 50)
    opening = seated(scenario, lineage, tape=[0]).answers([4] * 6, opens=True)
    assert opening[:6] == seated(scenario, lineage, tape=[0]).answers([4] * 6)


@pytest.mark.parametrize(
    ("key", "p", "lowest"),
    [
        ([0.0, 0.005, 0.01], 0.0, 1),  # exactly 0.01 is too far
        ([0.5, 0.505], 0.5, 0),
        ([0.5, 0.505], 0.501, 1),
        ([0.5], 0.5, 0),
    ],
)
def test_candidates_are_within_one_hundredth_of_the_first_and_not_below_the_demand(key, p, lowest):
    assert lowest_near(np.array(key), len(key) - 1, p) == lowest


def test_a_rung_exactly_at_the_demand_is_offered():
    second = demand(hard_headed_side(worth_in_percent(100, 0), 1, "paper"), 3 / 80)
    table = seated(scenario_of([1.0], [1.0, second, 0.3]))
    assert table.answers([2, 2]) == [0, 1]


def test_the_best_received_offer_goes_first_at_a_refill():
    table = seated(worth_in_percent(100, 98, 96, 50), tape=[3])
    assert table.answers([1] + [3] * 6) == [0, 1, 1, 2, 1, 2, 1]


def test_genius_compares_the_best_received_offer_by_its_key():
    table = seated(worth_in_percent(100, 99.5, 99.5, 50), "genius")
    assert table.answers([1, 3, 3, 3]) == [0, 1, 2, 1]


def test_of_equally_good_received_offers_the_first_one_counts():
    table = seated(worth_in_percent(100, 99.9, 99.8, 98, 98, 96, 50))
    assert table.answers([4, 3] + [6] * 4) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("lineage", LINEAGES)
def test_any_earlier_offer_is_repeated_with_the_same_probability(lineage):
    seat = HardHeaded(lineage).seat(worth_in_percent(100, 98, 50), 1, 4000)
    _, _, third, fourth = Tables(seat, range(4000), clock=lineage, key=3).play([2] * 4)
    assert abs((third == 0).mean() - 1 / 2) < 4 * np.sqrt(1 / 4 / 4000)
    assert set(fourth[third == 0].tolist()) == {1}  # one rung below the last offer
    repeated = fourth[third == 1]  # one of the offers 0, 1, 1
    assert abs((repeated == 0).mean() - 1 / 3) < 4 * np.sqrt(2 / 9 / repeated.size)


# What it demands


@pytest.mark.parametrize("t", [0.0, 0.3, 0.9, 0.9875])
def test_paper_demands_down_to_its_reservation_value(t):
    own = hard_headed_side(worth_in_percent(100, 10, reservation=0.4), 1, "paper")
    assert demand(own, t) == 0.4 + (1 - (0.05 + 0.95 * t**20.0)) * (1 - 0.4)


@pytest.mark.parametrize("t", [0.0, 0.3, 0.9, 0.9875])
def test_genius_demands_down_to_0_585_whatever_its_reservation_value(t):
    own = hard_headed_side(worth_in_percent(100, 10, reservation=0.4), 1, "genius")
    assert demand(own, t) == 0.585 + (1 - (0.05 + 0.95 * t**20.0)) * (1 - 0.585)


def test_genius_knows_utilities_clipped_at_1():
    scenario = load("Laptop")
    assert hard_headed_side(scenario, 1, "genius").top == 1.0
    assert hard_headed_side(scenario, 1, "paper").top == scenario.raw_utilities[1].max() > 1


# What it accepts


@pytest.mark.parametrize("lineage", LINEAGES)
def test_accepts_what_is_worth_as_much_as_the_offer_it_would_make(lineage):
    table = seated(worth_in_percent(100, 98, 50, 98), lineage)
    assert table.answers([2, 3]) == [0, ACCEPT]
    assert seated(worth_in_percent(100, 98, 50), lineage).receive(0) == ACCEPT


def test_accepts_what_is_worth_more_than_its_least_offer_though_less_than_the_next():
    scenario = worth_in_percent(100, 99, 98.7, 98.6, 98.5, 50)
    table = seated(scenario, "genius")
    assert table.answers([5, 5, 5, 3]) == [0, 4, 3, ACCEPT]  # next would be outcome 2, worth 98.7
    assert seated(scenario, "genius").answers([5, 5, 5, 4]) == [0, 4, 3, 2]  # no more than the least


def test_genius_compares_the_least_offer_by_key_and_keeps_its_utility():
    table = seated(scenario_of([1.0], [1.0, 0.98 + 1e-9, 0.98, 0.5]), "genius")
    assert table.answers([3, 3, 3]) == [0, 2, 1]
    assert table.memory["least_offered"] == 0.98 + 1e-9


# What it believes of the other side

TWO_BY_TWO = scenario_of([0.7, 0.3], [2, 1], [2, 1])


def test_paper_counts_every_offer_and_raises_the_weights_of_issues_that_changed():
    table = seated(TWO_BY_TWO)
    table.answers([2])
    assert model(table) == ([0.5, 0.5], [1, 2, 2, 1])
    table.answers([3])
    assert model(table) == ([0.5 / 1.1, 0.6 / 1.1], [1, 3, 2, 2])


def test_genius_ignores_the_first_offer_and_raises_the_weights_of_issues_that_did_not_change():
    table = seated(TWO_BY_TWO, "genius")
    table.answers([2])
    assert model(table) == ([0.5, 0.5], [1, 1, 1, 1])
    table.answers([3])
    weights, counts = model(table)
    assert counts == [1, 2, 1, 2]
    assert weights == pytest.approx([0.5453529, 0.4546472], abs=1e-6)


def test_a_weight_above_the_limit_is_not_raised():
    weights = np.array([0.95, 0.05])
    learn_weights(weights, np.array([0, 2], np.int32), np.array([1, 3], np.int32), False)
    assert weights.tolist() == [0.95 / 1.2, (0.05 + 0.1) / 1.2]


def test_balancing_shares_the_excess_by_weight_plus_0_05():
    weights = np.array([0.5, 0.3, 0.2])
    set_balanced(weights, 0, 0.7)
    assert weights.tolist() == pytest.approx(
        [0.7 - 0.2 * 0.75 / 1.35, 0.3 - 0.2 * 0.35 / 1.35, 0.2 - 0.2 * 0.25 / 1.35]
    )


def test_a_weight_that_cannot_be_balanced_keeps_its_old_value():
    weights = np.array([1.0, 0.0])
    set_balanced(weights, 0, 2.0)
    assert weights.tolist() == [1.0, 0.0]


def test_worth_weighs_each_count_against_the_greatest_of_its_issue():
    own = hard_headed_side(TWO_BY_TWO, 1, "paper")
    notes = np.array([0.25, 0.5, 4.0, 1.0, 2.0, 8.0])
    assert worth(np.arange(4, dtype=np.int32), notes, own).tolist() == [0.375, 0.75, 0.1875, 0.5625]


def test_genius_counts_worths_above_1_as_1():
    notes = np.array([0.75, 0.5, 1.0, 1.0, 1.0, 1.0])
    candidates = np.zeros(1, np.int32)
    assert worth(candidates, notes, hard_headed_side(TWO_BY_TWO, 1, "paper")).tolist() == [1.25]
    assert worth(candidates, notes, hard_headed_side(TWO_BY_TWO, 1, "genius")).tolist() == [1.0]


@pytest.mark.parametrize(("lineage", "picks"), [("paper", [15, 11, 13, 11, 11]), ("genius", [15, 11, 13, 12, 14])])
def test_picks_are_the_greatest_worths_of_what_the_lineage_leaves(lineage, picks):
    queue = np.zeros(5, np.int32)
    pick(queue, np.arange(10, 16, dtype=np.int32), np.array([1.0, 3, 2, 3, 1, 3]), lineage == "genius")
    assert queue.tolist() == picks


# Whole games


class Description:
    """A seat for HardHeaded as its description reads: lists, dictionaries and searches from end to end."""

    def __init__(self, scenario, side, lineage):
        self.genius = lineage == "genius"
        self.u = (scenario.utilities if self.genius else scenario.raw_utilities)[side].tolist()
        self.options = scenario.options.tolist()
        self.key, self.entries = self.bid_list(scenario) if self.genius else (self.u, self.sorted_bids())
        self.floor = 0.585 if self.genius else scenario.profiles[side].reservation
        self.weights = [1 / len(scenario.shape)] * len(scenario.shape)
        self.counts = [[1] * size for size in scenario.shape]
        self.queue, self.offered, self.received, self.least = [], [], [], 1.0
        self.drawn = count()

    def start(self, *_):
        """Nothing: it plays one negotiation."""

    def reply(self, _, negotiations, out):
        out[0] = self.move(negotiations.time(0), *negotiations.history(0)[-1:].tolist())

    def sorted_bids(self):
        return sorted(range(len(self.u)), key=lambda b: -self.u[b])

    def bid_list(self, scenario):
        bids = {self.u[0]: (0,) * len(scenario.shape)}
        for issue, size in enumerate(scenario.shape):
            grown, lowering = {}, -1e-8
            for key, option in product(sorted(bids), range(size)):
                bid = (*bids[key][:issue], option, *bids[key][issue + 1 :])
                grown[self.u[scenario.index(bid)] + lowering] = bid
                lowering -= 1e-8
            bids = grown
        listed = {scenario.index(bid): key for key, bid in bids.items()}
        keys = [listed.get(bid, utility) for bid, utility in enumerate(self.u)]
        return keys, sorted(listed, key=lambda b: -keys[b])

    def below(self, key):
        return next((b for b in self.entries if self.key[b] < key), None)

    def move(self, t, received=None):
        if received is not None:
            self.listen(received)
        if not self.offered:
            self.queue = [self.entries[0]]
        elif not self.queue:
            self.refill(self.floor + (1 - (0.05 + 0.95 * t**20.0)) * (max(self.u) - self.floor))
        if received is not None and (self.u[received] > self.least or self.u[self.queue[0]] <= self.u[received]):
            return ACCEPT
        self.offered.append(self.queue.pop(0))
        if self.key[self.offered[-1]] < self.least:
            self.least = self.u[self.offered[-1]]
        return self.offered[-1]

    def refill(self, p):
        first = self.below(self.key[self.offered[-1]])
        first = self.lowest() if first is None else first
        candidates = [first if self.key[first] >= p else self.repeated()]
        further = self.below(self.key[first])
        while further is not None and self.key[first] - self.key[further] < 0.01 and self.key[further] >= p:
            candidates.append(further)
            further = self.below(self.key[further])
        self.queue = self.chosen(sorted(candidates, key=lambda b: self.key[b]) if self.genius else candidates)
        best = max(self.received, key=lambda b: self.u[b])
        if self.key[self.queue[0]] < self.key[best]:
            self.queue.insert(0, best)

    def lowest(self):
        return next(b for b in self.entries if self.key[b] == self.key[self.entries[-1]])

    def repeated(self):
        drawn = uniform_at(np.uint64(0), np.uint64(0), np.uint64(next(self.drawn)))
        return self.offered[int(drawn * len(self.offered))]

    def chosen(self, candidates):
        if len(candidates) <= 4:
            return candidates
        chosen = []
        for _ in range(5):
            best = candidates[-1]
            for candidate in candidates:
                best = candidate if self.value(candidate) > self.value(best) else best
            chosen.append(best)
            candidates.remove(best) if self.genius else candidates.pop()
        return chosen

    def value(self, bid):
        parts = zip(self.weights, self.counts, self.options[bid], strict=True)
        value = sum(weight * counts[option] / max(counts) for weight, counts, option in parts)
        return min(value, 1.0) if self.genius else value

    def listen(self, received):
        self.received.append(received)
        options = self.options[received]
        if len(self.received) > 1:
            before = self.options[self.received[-2]]
            self.weigh([(new == old) == self.genius for new, old in zip(options, before, strict=True)])
        if len(self.received) > 1 or not self.genius:
            for counts, option in zip(self.counts, options, strict=True):
                counts[option] += 1

    def weigh(self, raised):
        issues = len(raised)
        g = 0.2 / issues
        total = 1 + g * sum(raised)
        for i in range(issues):
            grows = raised[i] and self.weights[i] < 1 - issues * g / total
            x = (self.weights[i] + g) / total if grows else self.weights[i] / total
            old, self.weights[i] = self.weights[i], x
            if self.genius:
                s = sum(self.weights)
                d = s - 1
                self.weights = [max(0.0, w - d * (w + 0.05) / (s + 0.05 * issues)) for w in self.weights]
                if not 0.98 < sum(self.weights) < 1.02:
                    self.weights[i] = old


@st.composite
def scenarios(draw):
    """Scenarios of 1 to 4 issues, often with many outcomes of nearly or exactly the same utility."""
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    weights = draw(st.lists(st.integers(0, 5), min_size=len(sizes), max_size=len(sizes)))
    scale = draw(st.sampled_from([1.0, 1.0002])) / max(sum(weights), 1)
    least = draw(st.sampled_from([0, 0, 900, 990]))
    evaluations = [draw(st.lists(st.integers(least, 1000), min_size=size, max_size=size)) for size in sizes]
    reservation = draw(st.sampled_from([0.0, 0.0, 0.3, 0.9]))
    return scenario_of([weight * scale for weight in weights], *evaluations, reservation=reservation)


NOTHING_TO_DIVIDE = scenario_of([1.0], [7])
WORTHLESS = scenario_of([0.5, 0.5], [0, 0], [0, 0, 0])
CONSTANT = scenario_of([0.5, 0.5], [3, 3], [4, 4, 4])


@settings(max_examples=150)
@given(
    scenario=scenarios(),
    lineage=st.sampled_from(LINEAGES),
    clock=st.sampled_from(CLOCKS),
    opens=st.booleans(),
    rounds=st.integers(1, 60),
    good=st.floats(0.05, 1),
    seed=st.integers(0, 2**32),
)
@example(NOTHING_TO_DIVIDE, "paper", "paper", True, 3, 1.0, 0)
@example(NOTHING_TO_DIVIDE, "genius", "paper", True, 3, 1.0, 0)
@example(WORTHLESS, "paper", "genius", True, 5, 1.0, 0)
@example(WORTHLESS, "genius", "genius", True, 5, 1.0, 0)
@example(CONSTANT, "paper", "paper", True, 5, 1.0, 0)
@example(CONSTANT, "genius", "paper", True, 5, 1.0, 0)
def test_plays_as_its_description_reads(scenario, lineage, clock, opens, rounds, good, seed):
    """Against offers drawn from the share `good` of outcomes that is worst for it."""
    worst = np.argsort(scenario.raw_utilities[1], kind="stable")[: max(1, int(good * scenario.size))]
    script = np.random.default_rng(seed).choice(worst, rounds).tolist()
    table = seated(scenario, lineage, rounds=rounds, clock=clock)
    described = Tables(Description(scenario, 1, lineage), rounds=rounds, clock=clock)
    assert table.answers(script, opens) == described.answers(script, opens)


@pytest.mark.parametrize("lineage", LINEAGES)
def test_nothing_survives_from_one_negotiation_to_the_next(lineage):
    seat = HardHeaded(lineage).seat(load("IS_BT_Acquisition"), 1, 1)
    first = Tables(seat).answers(range(40))
    Tables(seat).answers([5, 9, 200, 31, 7])
    assert Tables(seat).answers(range(40)) == first


# Its name


@pytest.mark.parametrize("lineage", LINEAGES)
def test_is_known_by_name(lineage):
    assert resolve("HardHeaded", lineage) == HardHeaded(lineage)
    assert HardHeaded(lineage).name == "HardHeaded"


def test_refuses_an_unknown_lineage():
    with pytest.raises(OpponentError, match='unknown lineage "java"'):
        HardHeaded("java")

"""Atlas3: recorded games, its rules by hand, whole games against the rules spelled out, annealing and its sampler."""

import gzip
import json
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from negzoo.engine import ACCEPT, CLOCKS, NOTHING, WALK, Ending, Negotiations
from negzoo.engine.clock import time_at
from negzoo.engine.rng import Draws
from negzoo.errors import OpponentError
from negzoo.opponents.atlas3 import Atlas3, game_value
from negzoo.opponents.atlas3_search import STEPS, Searcher, annealed, any_least, searched, traded_off
from negzoo.opponents.base import LINEAGES
from negzoo.opponents.kernel import Minds
from negzoo.opponents.registry import resolve
from negzoo.opponents.replay import read_game, replay
from negzoo.scenario import Issue, Profile, Scenario, load
from negzoo.scenario.catalogue import data_folder

GAMES = sorted((data_folder() / "games").glob("*_Atlas3_*.json.gz"))


def scenario_of(weights, *evaluations, reservation=0.0):
    """A scenario whose two profiles both have these figures."""
    issues = [Issue(f"issue {i}", [f"option {o}" for o in range(len(row))]) for i, row in enumerate(evaluations)]
    profiles = [Profile(name, tuple(weights), tuple(map(tuple, evaluations)), reservation) for name in "ab"]
    return Scenario("made up", tuple(issues), tuple(profiles))


def ladder(reservation=0.0):
    """One issue of 101 options: outcome k is worth k / 100."""
    return scenario_of([1.0], range(101), reservation=reservation)


def searcher_on(scenario, side, lineage="genius", tape=()):
    """A search that draws from a stream of its own, and what it knows."""
    seat = Atlas3(lineage).seat(scenario, side, 1)
    seat.start(np.zeros(1, np.int64), np.uint64(7), np.zeros(1, np.uint64))
    minds, issues = seat.minds, len(scenario.issues)
    minds.memory["first_max_bid"] = minds.memory["max_bid"]
    counts = minds.notes[0, issues:].reshape(issues, -1)
    draws = Draws(minds.streams[0], np.array(tape, np.float64))
    return Searcher(minds.memory[0], minds.notes[0, :issues], counts, draws), seat.own


class Table:
    """Atlas3 with profile 2 at one table, and a partner who makes the offers it is told to."""

    def __init__(self, scenario, lineage, rounds=40, clock=None, seed=0, tape=None):
        self.seat = Atlas3(lineage).seat(scenario, 1, 1)
        if tape is not None:
            self.seat.minds = Minds(*self.seat.minds[:3], np.array(tape, np.float64))
        self.rounds, self.clock, self.seed = rounds, clock or lineage, seed
        self.row, self.out = np.zeros(1, np.int64), np.zeros(1, np.int32)
        self.start()

    def start(self):
        self.negotiations = Negotiations(1, self.rounds, self.clock)
        self.seat.start(self.row, np.uint64(self.seed), np.zeros(1, np.uint64))

    @property
    def memory(self):
        return self.seat.minds.memory[0]

    def move(self):
        """Its move."""
        self.seat.reply(self.row, self.negotiations, self.out)
        self.negotiations.apply(self.row, self.out)
        return int(self.out[0])

    def hear(self, offer):
        self.negotiations.apply(self.row, np.array([offer], np.int32))

    def receive(self, offer):
        """Its answer to an offer."""
        self.hear(offer)
        return self.move()

    def play(self, offers, opens=False):
        """Its moves against these offers, until it ends the negotiation or time is up."""
        moves = []
        for offer in offers:
            if opens:
                moves.append(self.move())
                self.hear(offer)
            else:
                moves.append(self.receive(offer))
            if self.negotiations.ending[0] != Ending.RUNNING:
                break
        return moves


# Recorded games


def test_there_are_recorded_games_of_both_lineages():
    assert {path.name.partition("_")[0] for path in GAMES} == set(LINEAGES)


@pytest.mark.parametrize("path", GAMES, ids=lambda path: path.name)
def test_every_recorded_move_and_draw_comes_again(path):
    assert replay(read_game(path)) is None


REMEMBERED = {
    "CList_index": "returned",
    "clist_index": "returned",
    "negotiatingInfo.PBList.size()": "distinct",
    "negotiatingInfo.BOU": "best_received",
    "bidSearch.maxBid": "max_bid",
}


@pytest.mark.parametrize("path", GAMES, ids=lambda path: path.name)
def test_it_remembers_what_the_recorded_agent_did(path):
    game, compared = read_game(path), 0
    table = Table(game.scenario, game.opponent.lineage, tape=game.tape)
    for entry, offer in zip(json.loads(gzip.decompress(path.read_bytes()))["log"], game.script, strict=False):
        table.receive(offer)
        for name in REMEMBERED.keys() & entry.get("state", {}).keys():
            value = entry["state"][name]
            expected = game.scenario.index(value) if isinstance(value, list) else value
            assert table.memory[REMEMBERED[name]] == expected, (entry["r"], name)
            compared += 1
    assert compared


# The threshold


@pytest.mark.parametrize(
    ("lineage", "best", "reservation", "value"),
    [
        ("genius", 0.0, 0.0, 0.0),
        ("genius", 0.5, 0.0, 2 / 3),
        ("genius", 1.0, 0.0, 1.0),
        ("genius", 0.25, 0.25, 0.25),
        ("genius", 0.0, 0.5, 0.5),
        ("genius", 0.5, 0.25, 5 / 8),
        ("genius", 0.0, 1.0, 1.0),
        ("paper", 0.0, 0.0, 1 / 3),
        ("paper", 0.5, 0.0, 3 / 7),
        ("paper", 1.0, 0.0, 1 / 2),
        ("paper", 0.5, 0.25, 1 / 2),
        ("paper", 0.0, 1.0, 1.0),
    ],
)
def test_the_value_of_the_game(lineage, best, reservation, value):
    assert game_value(lineage == "paper", best, reservation) == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize("lineage", LINEAGES)
@pytest.mark.parametrize("received", [30, 60, 85])
def test_it_offers_the_least_that_reaches_the_threshold_until_an_offer_does(lineage, received):
    table, best = Table(ladder(), lineage), received / 100
    target = 2 * best / (1 + best) if lineage == "genius" else (1 + best) / (3 + best)
    for turn in range(1, 38):
        t = turn / 41 if lineage == "genius" else (2 * turn - 1) / 80
        threshold = target + (1 - target) * (1 - t)
        move = table.receive(received)
        if best >= threshold:
            assert move == ACCEPT
            break
        # Lineage paper takes the issue's last option, the best here.
        assert move == (math.ceil(100 * threshold) if lineage == "genius" else 100)


@pytest.mark.parametrize("lineage", LINEAGES)
def test_it_accepts_the_best_at_once(lineage):
    assert Table(ladder(), lineage).receive(100) == ACCEPT
    assert Table(ladder(), lineage).receive(98) == 100


@pytest.mark.parametrize("lineage", LINEAGES)
@pytest.mark.parametrize("clock", CLOCKS)
def test_opening_it_offers_what_reaches_the_threshold(lineage, clock):
    opening = Table(ladder(), lineage, clock=clock).move()
    assert opening == (98 if (lineage, clock) == ("genius", "genius") else 100)


# The last phase


@pytest.mark.parametrize(
    ("lineage", "distinct", "first"),
    [
        ("genius", 40, 21),
        ("genius", 20, 21),
        ("genius", 13, 27),  # these three by rounding, else it would be one turn later
        ("genius", 12, 28),
        ("genius", 2, 38),
        ("genius", 14, 27),
        ("genius", 11, 30),
        ("genius", 3, 38),
        ("paper", 40, 21),
        ("paper", 2, 38),
        ("paper", 1, 39),
    ],
)
def test_when_the_last_phase_begins(lineage, distinct, first):
    offers = [100 - min(turn, distinct) for turn in range(1, 41)]
    moves = Table(scenario_of([1.0], range(1001)), lineage).play(offers)
    in_last_phase = [turn for turn, move in enumerate(moves, 1) if move < 100]
    assert in_last_phase[0] == first


def test_lineage_genius_offers_back_best_first_and_then_accepts():
    offers = [3, 9, 3, 5, 9, 7, 1, *[2] * 33]
    moves = Table(ladder(), "genius").play(offers)
    assert moves[-5:] == [9, 7, 5, 3, ACCEPT]
    assert min(moves[:-5]) > 9


def test_of_equal_offers_the_earlier_is_offered_back_first():
    equals = scenario_of([1.0], [0, 1, 1, 1, 2, 10])
    moves = Table(equals, "genius").play([3, 1, 4, 2, 3, *[0] * 35])
    assert moves[-5:-1] == [4, 3, 1, 2]


def test_while_offering_back_it_accepts_what_is_no_worse_than_the_next():
    received = [2, 3, 4, *[1] * 34]
    assert Table(ladder(), "genius").play([*received, 3])[-2:] == [4, ACCEPT]
    assert Table(ladder(), "genius").play([*received, 2])[-2:] == [4, 3]


def test_lineage_paper_accepts_as_the_last_phase_begins():
    moves = Table(ladder(), "paper").play([9, *[1] * 39])
    assert len(moves) == 38
    assert moves[-1] == ACCEPT
    assert min(moves[:-1]) > 9


@pytest.mark.parametrize("lineage", LINEAGES)
@pytest.mark.parametrize("opens", [False, True])
def test_it_offers_to_the_end_where_all_offers_are_worthless(lineage, opens):
    moves = Table(ladder(), lineage, rounds=12).play([0] * 12, opens)
    assert len(moves) == 12
    assert min(moves) > 0


@pytest.mark.parametrize("lineage", LINEAGES)
def test_in_the_last_phase_it_accepts_only_what_is_worth_more_than_no_agreement(lineage):
    assert min(Table(ladder(reservation=0.3), lineage).play([30] * 40)) > 30
    assert Table(ladder(reservation=0.3), lineage).play([31] * 40)[-1] == ACCEPT


def test_nothing_below_the_reservation_value_is_offered_back():
    moves = Table(ladder(reservation=0.3), "genius").play([25, 35, *[20] * 38])
    assert moves.count(35) == 1
    assert min(moves) == 35


@pytest.mark.parametrize("lineage", LINEAGES)
@pytest.mark.parametrize("opens", [False, True])
def test_it_walks_away_if_no_agreement_is_as_good_as_any(lineage, opens):
    assert Table(ladder(reservation=1.0), lineage).play([99], opens) == [WALK]


# The search


def test_lineage_genius_takes_the_option_that_it_receives_most_often_where_that_costs_nothing():
    indifferent = scenario_of([1.0, 0.0], [0, 3, 7, 8, 9, 10], [1, 1, 1, 1])
    for move in Table(indifferent, "genius").play([2] * 20):
        assert move % 4 == 2


@pytest.mark.parametrize("lineage", LINEAGES)
@pytest.mark.parametrize("threshold", [0.5, 0.75, 0.8])
def test_the_trade_off_comes_to_all_outcomes_that_the_threshold_leaves_room_for(lineage, threshold):
    searcher, own = searcher_on(scenario_of([0.5, 0.5], [2, 3, 4], [2, 3, 4]), 0, lineage)
    traded = {traded_off(searcher, own, threshold) for _ in range(400)}
    assert traded == set(np.flatnonzero(own.utility >= threshold).tolist())


def test_the_trade_off_counts_from_the_best_outcome_of_the_first_turn():
    # Clipped at 1, outcomes 0 and 1 are both best. From 1 the first issue seems to cost 0.4, from 0 only 0.3.
    searcher, own = searcher_on(scenario_of([1.0, 0.2], [10, 5], [10, 5]), 0)
    for first, traded in ((1, {0, 1}), (0, {0, 1, 2, 3})):
        searcher.memory["first_max_bid"] = first
        assert {traded_off(searcher, own, 0.65) for _ in range(100)} == traded


def test_lineage_paper_goes_back_to_the_base_if_the_trade_off_falls_short():
    # Base 1; its neighbour by the rule is the last option. Trade: issue 0, option 2. No concession to option 3.
    tape = [1, 0, 0, 2, 2, 2, 2, 0, 3, 3, 3, 3]
    searcher, own = searcher_on(scenario_of([0.9], [100, 96, 90, 10]), 0, "paper", tape)
    assert searched(searcher, own, 0.85) == 1
    assert searcher.draws.stream["count"] == len(tape)


# Annealing, and what stands for it


def least_reaching(utility, threshold):
    return np.flatnonzero(utility == utility[utility >= threshold].min())


def test_an_annealing_takes_its_steps_and_draws_for_those_that_come_no_nearer():
    searcher, own = searcher_on(scenario_of([1.0], [10, 5]), 0, tape=[0])
    assert annealed(searcher, own, 1, 0.8) == 0
    assert searcher.draws.stream["count"] == 2 + 3 * (STEPS - 1) + 1


def test_an_annealing_that_reaches_nothing_stays_where_it_began():
    searcher, own = searcher_on(scenario_of([0.5], [10, 5]), 0)
    assert annealed(searcher, own, 1, 0.8) == 1


@pytest.mark.parametrize(("domain", "side"), [("laptop", 0), ("laptop", 1), ("itex_vs_cypress", 1)])
@pytest.mark.parametrize("threshold", [0.95, 0.75, 0.55])
def test_without_equals_annealing_and_its_sampler_find_the_same(domain, side, threshold):
    searcher, own = searcher_on(load(domain), side)
    expected = least_reaching(own.utility, threshold)
    assert len(expected) == 1
    for _ in range(50):
        assert annealed(searcher, own, int(own.order[-1]), threshold) == expected[0]
    assert any_least(searcher.draws, own, threshold) == expected[0]


@pytest.mark.parametrize("threshold", [0.85, 0.55])
def test_with_equals_annealing_finds_all_that_its_sampler_draws(threshold):
    searcher, own = searcher_on(load("thompson"), 1)
    found = [annealed(searcher, own, int(own.order[-1]), threshold) for _ in range(400)]
    expected = least_reaching(own.utility, threshold)
    assert len(expected) > 2
    assert set(expected.tolist()) <= set(found)
    assert np.isin(found, expected).mean() > 0.99


def test_the_sampler_draws_equals_equally():
    searcher, own = searcher_on(load("thompson"), 1)
    expected = least_reaching(own.utility, 0.55)
    drawn = [any_least(searcher.draws, own, 0.55) for _ in range(200 * len(expected))]
    counts = np.array([drawn.count(outcome) for outcome in expected])
    assert counts.sum() == len(drawn)
    assert len(expected) == 16
    assert ((counts - 200) ** 2 / 200).sum() < 37.7  # chi-square, 15 degrees of freedom: 0.1 %


@pytest.mark.parametrize("tape", [None, [0]])
def test_lineage_genius_anneals_for_good_once_utilities_do_not_add_up(tape):
    table = Table(scenario_of([0.5, 0.4], [10, 5], [10, 5]), "genius", tape=tape)
    assert table.memory["additive"]
    table.play([3] * 2)
    assert not table.memory["additive"]
    table.start()
    assert table.memory["additive"]


# Against the rules, spelled out


class SpelledOut:
    """Atlas3 once more: options in tuples, lists that are sorted, and draws from a generator, kept in `drawn`."""

    def __init__(self, scenario, lineage, seed):
        self.paper = lineage == "paper"
        utilities = (scenario.raw_utilities if self.paper else scenario.utilities)[1].tolist()
        self.bids = [tuple(options) for options in scenario.options.tolist()]
        self.u = dict(zip(self.bids, utilities, strict=True))
        self.reservation = scenario.profiles[1].reservation
        self.shape = scenario.shape
        self.rng, self.drawn = np.random.default_rng(seed), []
        best = [bid for bid in self.bids if self.u[bid] == max(utilities)]
        self.first_best = best[0] if self.paper else self.bids[Atlas3("genius").seat(scenario, 1, 1).own.order[0]]
        self.best, self.order, self.additive = self.first_best, list(range(len(self.shape))), True
        self.received, self.distinct, self.returned, self.turn = [], [], 0, 0

    def below(self, n):
        self.drawn.append(int(self.rng.integers(n)))
        return self.drawn[-1]

    def mixed(self, values):
        if self.paper:
            return [values[self.below(len(values))] for _ in values]
        values = list(values)
        for k in range(len(values), 1, -1):
            other = self.below(k)
            values[k - 1], values[other] = values[other], values[k - 1]
        return values

    def move(self, bid, t):
        """Its answer to `bid` (None: it opens) at time t, as a bid or a move that ends."""
        self.turn += 1
        if bid is not None:
            self.received.append(bid)
            if bid not in self.distinct:
                self.distinct = sorted(
                    [*self.distinct, bid], key=lambda bid: self.u[bid] if self.paper else -self.u[bid]
                )
            if t > 1.0 - t / self.turn * (len(self.distinct) + 1):
                move = self.last_phase(self.u[bid])
                if move is not None:
                    return move
        threshold = self.threshold(t)
        if bid is not None and self.u[bid] >= threshold:
            return ACCEPT
        return WALK if self.reservation >= threshold else self.search(threshold)

    def last_phase(self, standing):
        if self.returned >= len(self.distinct):
            return ACCEPT if standing >= self.reservation else None
        bid = self.distinct[self.returned]
        if self.u[bid] > standing and self.u[bid] > self.reservation:
            self.returned += 1
            return bid
        return ACCEPT if standing > self.reservation else None

    def threshold(self, t):
        c = max([self.reservation, *map(self.u.get, self.received), 0.0])
        a11, a12, a21, a22 = self.reservation, 1.0, c, 0.5 * c + 0.5
        if self.paper:
            a21, a22 = a22, 0.0
        q = 1.0 if a12 == a22 else 1 / (1 - (a11 - a21) / (a12 - a22))
        target = q * a21 + (1 - q) * a22
        return target + (1 - target) * (1 - t)

    def search(self, threshold):
        base = self.bids[self.below(len(self.bids))] if self.paper else tuple(map(self.below, self.shape))
        bid = self.neighbour(base, threshold)
        if self.u[bid] < threshold:
            bid = self.further(base, threshold)
        if self.u[bid] < threshold:
            bid = self.best
        for issue in self.mixed(range(len(self.shape))):
            options = self.mixed(range(self.shape[issue]))
            counts = [sum(bid[issue] == option for bid in self.received) for option in options]
            other = (*bid[:issue], options[counts.index(max(counts))], *bid[issue + 1 :])
            bid = other if self.u[other] >= self.u[bid] else bid
        return bid

    def see(self, bid):
        if not self.paper and self.u[bid] >= self.u[self.best]:
            self.best = bid

    def neighbour(self, base, threshold):
        reaching = []
        for issue in self.order:
            for option in range(self.shape[issue]):
                bid = (*base[:issue], option, *base[issue + 1 :])
                self.see(bid)
                if self.u[bid] >= threshold:
                    last = (*base[:issue], self.shape[issue] - 1, *base[issue + 1 :])
                    reaching.append((self.u[bid], last if self.paper else bid))
        found = [bid for utility, bid in reaching if utility == min(reaching)[0]]
        return found[self.below(len(found))] if found else base

    def further(self, base, threshold):
        start = base
        if self.additive:
            start = self.trade(threshold)
            if self.u[start] >= threshold or self.paper:
                return start if self.u[start] >= threshold else base
            self.additive = False
        return self.anneal(start, threshold)

    def trade(self, threshold):
        bid, total = self.best, 0.0
        issues = self.mixed(self.order)
        if not self.paper:
            self.order = issues
        for issue in issues:
            options = self.mixed(range(self.shape[issue]))
            for option in options:
                other = (*self.first_best[:issue], option, *self.first_best[issue + 1 :])
                change = self.u[other] - self.u[self.first_best]
                if threshold - 1 <= total + change:
                    bid, total = (*bid[:issue], option, *bid[issue + 1 :]), total + change
                    break
        return bid

    def anneal(self, start, threshold):
        bid, temperature, visited = start, 1.0, []
        while temperature > 1e-4:
            issue = self.order[self.below(len(self.order))]
            other = (*bid[:issue], self.below(self.shape[issue]), *bid[issue + 1 :])
            self.see(other)
            here, there = abs(threshold - self.u[bid]), abs(threshold - self.u[other])
            if there >= here:
                self.drawn.append(self.rng.random())
            if there < here or math.exp(-abs(there - here) / temperature) > self.drawn[-1]:
                bid = other
            if self.u[bid] >= threshold:
                visited.append(bid)
            temperature *= 0.999
        least = min(map(self.u.get, visited), default=0.0)
        found = [bid for bid in visited if self.u[bid] == least]
        return found[self.below(len(found))] if found else start


@st.composite
def scenarios(draw):
    """1 to 6 issues of 1 to 4 options, with equal, worthless and unbalanced ones among them."""
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    weights = [draw(st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5])) for _ in shape]
    scale = max(sum(weights), 1e-9) / draw(st.sampled_from([1.0, 1.0, 0.9, 1.0001]))
    evaluations = [draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)) for n in shape]
    reservation = draw(st.sampled_from([0.0, 0.0, 0.35, 1.0]))
    return scenario_of([weight / scale for weight in weights], *evaluations, reservation=reservation)


@settings(max_examples=60)
@given(
    scenarios(),
    st.sampled_from(LINEAGES),
    st.sampled_from(CLOCKS),
    st.integers(1, 12),
    st.booleans(),
    st.integers(0, 99),
)
@example(scenario_of([0.9], [10, 5, 5, 1]), "genius", "genius", 12, False, 1)
@example(scenario_of([0.5, 0.4], [10, 5, 5, 1], [10, 10, 5]), "genius", "paper", 12, True, 2)
@example(scenario_of([0.5, 0.4], [10, 5, 5, 1], [10, 10, 5]), "paper", "paper", 12, True, 2)
def test_whole_negotiations_are_those_that_the_rules_make(scenario, lineage, clock, rounds, opens, seed):
    offers = np.random.default_rng(seed).choice(scenario.size, rounds) // 2
    spelled_out, bids = SpelledOut(scenario, lineage, seed), scenario.options.tolist()
    negotiations, expected = Negotiations(1, rounds, clock), []
    for step in range(2 * rounds):
        move = offers[step // 2]
        if (step % 2 == 0) == opens:
            received = None if step == 0 else tuple(bids[negotiations.history(0)[-1]])
            move = spelled_out.move(received, negotiations.time(0))
            move = scenario.index(move) if isinstance(move, tuple) else move
            expected.append(move)
        negotiations.apply(np.zeros(1, np.int64), np.array([move], np.int32))
        if move < 0:
            break
    table = Table(scenario, lineage, rounds, clock, tape=spelled_out.drawn or [NOTHING])
    assert table.play(offers, opens)[: len(expected)] == expected
    assert table.seat.minds.streams["count"][0] == len(spelled_out.drawn)


# At any table


@given(scenarios(), st.sampled_from(LINEAGES), st.integers(1, 50), st.booleans(), st.integers(0, 99))
def test_every_move_is_legal_and_every_offer_reaches_the_threshold_if_any_does(scenario, lineage, rounds, opens, seed):
    offers = np.random.default_rng(seed).choice(scenario.size, rounds)
    table = Table(scenario, lineage, rounds, seed=seed)
    own, paper = table.seat.own, lineage == "paper"
    for turn, move in enumerate(table.play(offers, opens)):
        assert move in (ACCEPT, WALK) or 0 <= move < scenario.size
        received = offers[: turn if opens else turn + 1]
        if move >= 0 and move not in received:
            target = game_value(paper, own.utility[received].max(initial=0.0), own.reservation)
            t = time_at(CLOCKS.index(lineage), 2 * turn if opens else 2 * turn + 1, rounds)
            assert own.utility[move] >= min(target + (1 - target) * (1 - t), own.ranked[0])
    assert table.negotiations.ending[0] != Ending.ERROR


@pytest.mark.parametrize("lineage", LINEAGES)
def test_nothing_of_one_negotiation_survives_in_the_next(lineage):
    table = Table(scenario_of([0.6, 0.3], [3, 2, 1], [1, 2, 3]), lineage)
    first = table.play(list(range(9)) * 5)
    table.start()
    assert table.play(list(range(9)) * 5) == first


@pytest.mark.parametrize("lineage", LINEAGES)
def test_a_negotiation_does_not_depend_on_the_tables_around_it(lineage):
    scenario, rows = load("thompson"), np.arange(5)
    seat, negotiations = Atlas3(lineage).seat(scenario, 1, 5), Negotiations(5, clock=lineage)
    seat.start(rows, np.uint64(0), np.array([4, 3, 0, 2, 1], np.uint64))
    offers, out, moves = scenario.utilities[1].argsort()[:15], np.zeros(5, np.int32), []
    for offer in offers:
        negotiations.apply(rows, np.full(5, offer, np.int32))
        seat.reply(rows, negotiations, out)
        negotiations.apply(rows, out)
        moves.append(int(out[2]))
    alone = Table(scenario, lineage).play(offers)
    assert moves[: len(alone)] == alone
    assert len(set(alone)) > 2


@pytest.mark.parametrize("lineage", LINEAGES)
def test_it_does_not_see_the_utilities_of_the_other_side(lineage):
    scenario = load("grocery")
    theirs, own = scenario.profiles
    nothing = tuple(tuple(0.0 for _ in row) for row in theirs.evaluations)
    poisoned = Scenario("poisoned", scenario.issues, (Profile("nothing", theirs.weights, nothing), own))
    offers = np.random.default_rng(1).choice(scenario.size, 40)
    assert Table(poisoned, lineage).play(offers) == Table(scenario, lineage).play(offers)


def test_it_is_found_by_name():
    assert resolve("Atlas3") == Atlas3("paper")
    assert resolve('Atlas3(lineage="genius")') == Atlas3("genius")
    with pytest.raises(OpponentError, match='unknown lineage "anac"'):
        Atlas3("anac")

"""AgentK: each rule by hand, and the exact search against the draws it stands for."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from negzoo.engine import ACCEPT, Ending
from negzoo.engine.rng import NO_TAPE, STREAM, Draws
from negzoo.errors import OpponentError
from negzoo.opponents import LINEAGES, play, resolve
from negzoo.opponents.agent_k import (
    TRIES,
    AgentK,
    Estimate,
    acceptance,
    in_hash_order,
    java_hashes,
    search,
    target_at,
)
from negzoo.opponents.kernel import own_side
from negzoo.opponents.scripted import Scripted
from negzoo.scenario import load
from tests.opponents.conftest import OVER, Tables, one_issue, scenarios

PAPER, GENIUS = range(len(LINEAGES))


def answers(opponent, scenario, offers, games=1, opens=False):
    """int32 [games, turns]: its moves, with the second profile, to the same offers in each game; OVER after the end."""
    return Tables(opponent.seat(scenario, 1, games), range(games), len(offers), key=5).play(offers, opens).T


@pytest.mark.parametrize("lineage", [PAPER, GENIUS])
@pytest.mark.parametrize(
    ("exponent", "width", "unyielding"),
    [
        (1.0, 0.0, 0.9),  # c = 0.1, and 2 c is more than d + 0.1 = 0.1
        (1.0, 0.04, 0.86),
        (2.0, 0.2, 0.9),  # c = 0.05, and 2 c is less than d + 0.1
        (3.0, 0.2, 0.95),
    ],
)
def test_targets_concede_twice_c_but_no_more_than_the_width_and_a_tenth(lineage, exponent, width, unyielding):
    target, distance = target_at(0.5, exponent, Estimate(0.7, width, 0.8), lineage), unyielding - 0.8
    assert target == pytest.approx(unyielding - 1 / distance / 362.5, abs=1e-11)  # M = 400 - 300 / 8


@pytest.mark.parametrize("lineage", [PAPER, GENIUS])
def test_near_the_estimate_the_target_gives_way_entirely(lineage):
    """0.9 is nearer to 0.86 than 1 / sqrt(362.5)."""
    assert target_at(0.5, 1.0, Estimate(0.7, 0.0, 0.86), lineage) == pytest.approx(0.86, abs=1e-11)


@pytest.mark.parametrize("lineage", [PAPER, GENIUS])
@pytest.mark.parametrize("best", [1.0, 1.0000518, 1.366])
def test_the_target_is_the_estimate_where_that_is_1_or_more(lineage, best):
    assert target_at(0.5, 1.0, Estimate(0.5, 1.7, best), lineage) == best


def test_at_first_the_target_is_1_and_in_paper_less_2e_12():
    paper, genius = (target_at(0.0125, 10.0, Estimate(0.5, 0.0, 0.5), lineage) for lineage in (PAPER, GENIUS))
    assert genius - paper == pytest.approx(2e-12, rel=0.01)
    assert genius == pytest.approx(1 - 1 / 0.5 / 400, abs=1e-8)  # it has given way by 1 / (r M)


@given(t=st.floats(0.01, 0.99), exponent=st.floats(2, 10), width=st.floats(0, 1.7), best=st.floats(0, 1.4))
def test_the_lineages_share_the_target_up_to_rounding(t, exponent, width, best):
    paper, genius = (target_at(t, exponent, Estimate(0.5, width, best), lineage) for lineage in (PAPER, GENIUS))
    assert paper == pytest.approx(genius, abs=1e-9)
    assert best - 1e-12 <= paper <= max(best, 1.0)


@pytest.mark.parametrize(
    ("utility", "p"),
    [
        (0.95, 0.1 + 0.15 + 0.05),
        (1.2, 0.1 + 0.2 + 0.1),  # counts as 1
        (0.86, 0.1 + 0.06 - 0.04),
        (0.84, 0.0),  # 0.1 + 0.04 - 0.06 is below 0.1
        (0.1, 0.0),
    ],
)
def test_the_probability_of_acceptance(utility, p):
    assert acceptance(t=0.5, alpha=1.0, utility=utility, target=0.9, best=0.8) == pytest.approx(p)


def accepting(t, utility):
    """The probability with which steps 1 to 4, written out, accept one of several equal offers."""
    alpha = 3 + 6 * utility
    c = t**alpha * (1 - utility)
    target = 1 - min(2 * c, 0.1)
    limit, distance = 400 - 300 * t**3, target - utility
    target -= distance * min(1 / distance**2, limit) / limit
    p = t**alpha / 5 - (target - utility)
    return p if p >= 0.1 else 0.0


@pytest.mark.parametrize("lineage", LINEAGES)
def test_accepts_as_often_as_it_should(lineage):
    games, offers = 4000, [8] * 40
    made = answers(AgentK(lineage), one_issue("abcdefghijk"), offers, games)
    for turn in range(40):
        playing = made[:, turn] != OVER
        p = accepting((2 * turn + 1) / 80, 0.8)
        accepted = (made[:, turn] == ACCEPT).sum()
        if p == 0:
            assert accepted == 0
        else:
            spread = math.sqrt(playing.sum() * p * (1 - p))
            assert abs(accepted - playing.sum() * p) < 4 * spread
    assert accepted  # at the last turn at least


@pytest.mark.parametrize("lineage", LINEAGES)
@pytest.mark.parametrize("opens", [False, True])
def test_begins_with_the_best(lineage, opens):
    made = answers(AgentK(lineage), one_issue("abcdefghijk"), [0] * 40, games=50, opens=opens)
    assert set(made[:, 0]) == {10}


def test_opens_with_all_that_is_worth_1():
    made = answers(AgentK(), one_issue("abcd", (3, 1, 3, 3)), [1], games=300, opens=True)
    drawn, counts = np.unique(made[:, 0], return_counts=True)
    assert drawn.tolist() == [0, 2, 3]
    assert counts.min() > 70


@pytest.mark.parametrize("lineage", LINEAGES)
def test_repeats_what_it_received_if_that_beats_the_target(lineage):
    """Two outcomes are worth 1: one was received three times, the other once, and offers worth 0.8 since."""
    scenario = one_issue("abcdefghijk", [*range(9), 10, 10])
    made = answers(AgentK(lineage), scenario, [9, 9, 9, 10, *[8] * 36], games=1000)
    assert set(made[:, -1]) == {9, 10}
    assert (made[:, -1] == 9).mean() == pytest.approx(0.75 if lineage == "paper" else 0.5, abs=0.05)


def test_a_set_is_kept_by_bucket():
    """'a' to 'p' hash to 97 to 112: in 16 buckets 'p' comes first, in 32 'a' does; 'Aa' and 'BB' both hash to 2112."""
    hashes = java_hashes(one_issue([*"abcdefghijklmnop", "Aa", "BB"]))
    assert hashes.tolist() == [*range(97, 113), 2112, 2112]
    few = np.array([1, 15, 17, 1, 16, 0, 17], np.int32)
    assert in_hash_order(few, hashes).tolist() == [15, 17, 16, 0, 1]
    twelve, thirteen = np.arange(4, 16, dtype=np.int32), np.arange(3, 16, dtype=np.int32)
    assert in_hash_order(twelve, hashes).tolist() == [15, *range(4, 15)]
    assert in_hash_order(thirteen, hashes).tolist() == [*range(3, 16)]


def test_hashes_are_spread_over_their_low_bits():
    high = "polygenelubricants"  # known to hash to -2^31
    assert java_hashes(one_issue([high, "a"])).tolist() == [2**31 + 2**15, 97]


def searches(own, target, by_draws, samples=2000):
    """How often each outcome is found, float64 [Ω]."""
    generator, streams, counts = np.random.default_rng(3), np.zeros(samples, STREAM), np.zeros(own.utility.size)
    streams["key"], streams["index"] = 11, 0 if by_draws else np.arange(samples)
    tape = NO_TAPE
    for stream in streams:
        if by_draws:
            tape = generator.integers(0, own.sizes, (4000, own.sizes.size)).ravel().astype(float)
        counts[search(Draws(stream, tape), own, target)] += 1
    return counts


def probabilities(own, target):
    """How likely the search finds each outcome, float64 [Ω], from its rules."""
    likely, left = np.zeros(own.utility.size), 1.0
    while left > 1e-12:
        reaching = own.utility >= target
        missed = (1 - reaching.mean()) ** TRIES
        if reaching.any():
            likely[reaching] += left * (1 - missed) / reaching.sum()
            left *= missed
        target -= 0.01
    return likely


@pytest.mark.parametrize("by_draws", [True, False], ids=["by draws", "exactly"])
@pytest.mark.parametrize(
    ("domain", "target"), [("laptop", 0.7), ("laptop", 0.9), ("thompson", 0.95), ("thompson", 1.02)]
)
def test_both_searches_find_outcomes_as_the_rules_say(domain, target, by_draws):
    own = own_side(load(domain), 1, "paper")
    counts, likely = searches(own, target, by_draws), probabilities(own, target)
    expected = likely * counts.sum()
    common = expected >= 5
    observed = np.append(counts[common], counts[~common].sum())
    expected = np.append(expected[common], expected[~common].sum())
    assert counts[likely == 0].sum() == 0
    statistic = np.divide((observed - expected) ** 2, expected, where=expected > 0, out=np.zeros(len(expected)))
    freedom = (expected > 0).sum() - 1
    assert freedom > 0
    assert statistic.sum() < freedom + 4 * math.sqrt(2 * freedom)


@pytest.mark.parametrize("tape", [NO_TAPE, np.zeros(1)], ids=["exactly", "by draws"])
def test_the_search_ends_whatever_the_utilities(tape):
    own = own_side(one_issue("ab", (1, 2), weight=1e17), 1, "paper")
    stream = np.zeros(1, STREAM)
    for target in (1.4, 2e17, math.inf, math.nan):
        assert search(Draws(stream[0], tape), own, target) in (0, 1)


@given(
    scenario=scenarios(weights=(0.0, 0.1, 0.25, 0.3, 1e6)),
    lineage=st.sampled_from(LINEAGES),
    opens=st.booleans(),
    clock=st.sampled_from(["paper", "genius"]),
    rounds=st.integers(1, 45),
    sides=st.sampled_from([(0, 1), (1, 0)]),
)
def test_plays_legally_and_alike_in_any_scenario(scenario, lineage, opens, clock, rounds, sides):
    players = (AgentK(lineage), Scripted("Random"))[:: 1 if opens else -1]
    games, again = (play(scenario, *players, 3, 2, rounds, clock, sides) for _ in range(2))
    made = games.negotiations
    assert set(made.ending) <= {Ending.AGREEMENT, Ending.DEADLINE}
    for row in range(3):
        history = made.history(row)
        assert history.max() < scenario.size
        assert history.tolist() == again.negotiations.history(row).tolist()


def test_names():
    assert resolve("AgentK") == AgentK()
    assert resolve("AgentK", "genius") == AgentK("genius")
    assert AgentK().name == "AgentK"


def test_refuses_an_unknown_lineage():
    with pytest.raises(OpponentError, match="lineage"):
        AgentK("papers")

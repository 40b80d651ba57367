"""Tit-for-tat: each rule by hand, noise, and drawn games against the rules written out again."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from negzoo.engine import ACCEPT, Ending
from negzoo.errors import OpponentError
from negzoo.opponents import LINEAGES, play, resolve
from negzoo.opponents.kernel import own_side
from negzoo.opponents.orders import at_least, nearest
from negzoo.opponents.scripted import Scripted
from negzoo.opponents.tit_for_tat import TitForTat
from negzoo.scenario import Issue, Profile, Scenario, load
from tests.opponents.conftest import Tables, ladder, scenarios


def replies(opponent, scenario, offers, opens=False):
    """What it answers, with the second profile, to one offer after the other, until it accepts."""
    return Tables(opponent.seat(scenario, 1, 1), rounds=len(offers)).answers(offers, opens)


@pytest.mark.parametrize("lineage", LINEAGES)
@pytest.mark.parametrize(("gamma", "opening"), [(1, [10]), (2, [10, 9]), (4, [10, 9, 8, 7])])
def test_opens_from_the_best_down(gamma, opening, lineage):
    answers = replies(TitForTat(gamma, lineage), ladder(), [1] * (gamma + 1))
    assert answers == [*opening, opening[-1]]  # the other side has not moved, so neither does it


def test_opens_with_the_worst_once_there_are_no_more():
    assert replies(TitForTat(9), ladder(2), [0] * 5) == [2, 1, 0, 0, 0]


@pytest.mark.parametrize("lineage", LINEAGES)
def test_concedes_in_proportion(lineage):
    assert replies(TitForTat(1, lineage), ladder(), [2, 4, 4, 5]) == [10, 5, 5, ACCEPT]


@pytest.mark.parametrize("lineage", LINEAGES)
def test_demands_more_of_one_who_takes_back_but_not_more_than_there_is(lineage):
    assert replies(TitForTat(1, lineage), ladder(), [2, 4, 3, 1]) == [10, 5, 7, 10]


@pytest.mark.parametrize(("lineage", "planned"), [("paper", [79, 77]), ("genius", [78, 75])])
def test_looks_gamma_moves_back(lineage, planned):
    """20/25 of 98, then 30/31 of what that was rounded to."""
    answers = replies(TitForTat(3, lineage), ladder(100), [20, 30, 40, 25, 31])
    assert answers == [100, 99, 98, *planned]


@pytest.mark.parametrize(("lineage", "planned"), [("paper", [10, 7, 6, 6]), ("genius", [10, 7, 5, 5])])
def test_paper_rounds_up_and_genius_to_the_nearest(lineage, planned):
    assert replies(TitForTat(1, lineage), ladder(), [2, 3, 4, 4]) == planned


@pytest.mark.parametrize(("lineage", "undefined"), [("paper", 10), ("genius", 5)])
def test_worthless_offers(lineage, undefined):
    answers = replies(TitForTat(1, lineage), ladder(), [2, 4, 0, 0])
    assert answers == [10, 5, 10, undefined]


@pytest.mark.parametrize(("lineage", "answers"), [("paper", [0, 1, 1]), ("genius", [ACCEPT])])
def test_only_genius_accepts_what_is_worth_nothing(lineage, answers):
    worthless = Profile("a", (1.0,), ((0.0, 0.0),)), Profile("b", (1.0,), ((0.0, 0.0),))
    scenario = Scenario("grey", (Issue("shade", ("light", "dark")),), worthless)
    assert replies(TitForTat(1, lineage), scenario, [1, 1, 1]) == answers


@pytest.mark.parametrize("lineage", LINEAGES)
def test_plans_nothing_below_the_reservation_value(lineage):
    assert replies(TitForTat(1, lineage), ladder(reservation=0.4), [1, 3, 3]) == [10, 4, 4]


@pytest.mark.parametrize(("lineage", "answer"), [("paper", 4), ("genius", ACCEPT)])
def test_only_paper_turns_down_what_is_worth_no_more_than_no_agreement(lineage, answer):
    assert replies(TitForTat(1, lineage), ladder(reservation=0.4), [1, 4]) == [10, answer]


@pytest.mark.parametrize("lineage", LINEAGES)
def test_opening_the_negotiation_it_compares_the_same_offers(lineage):
    assert replies(TitForTat(1, lineage), ladder(), [3, 4, 4, 7], opens=True) == [10, 9, 7, 7]


def in_words(opponent, own, received, mine):
    """The rules once more, over plain lists; `received` and `mine` are the offers so far."""
    gamma, paper = opponent.gamma, opponent.lineage == "paper"
    values = [float(own.utility[offer]) for offer in received]
    if len(received) <= gamma:
        planned = own.order[min(len(mine), len(own.order) - 1)]
    else:
        latest, earlier, last = values[-1], values[-1 - gamma], float(own.utility[mine[-1]])
        ratio = earlier / latest if latest else math.nan if earlier == 0 and not paper else math.inf
        target = own.ranked[0] if paper and latest == 0 else ratio * last
        if not math.isnan(target):
            target = min(max(target, own.ranked[-1], own.reservation), own.ranked[0])
        planned = own.order[(at_least if paper else nearest)(own.ranked, target)]
    if received and values[-1] >= own.utility[planned] and (values[-1] > own.reservation or not paper):
        return ACCEPT
    return int(planned)


@given(
    scenario=scenarios(),
    gamma=st.integers(1, 4),
    lineage=st.sampled_from(LINEAGES),
    opens=st.booleans(),
    offers=st.lists(st.integers(0, 10**6), min_size=1, max_size=8),
)
def test_plays_by_the_rules_in_any_scenario(scenario, gamma, lineage, opens, offers):
    opponent, own = TitForTat(gamma, lineage), own_side(scenario, 1, lineage)
    script = [offer % scenario.size for offer in offers]
    answers = replies(opponent, scenario, script, opens)
    for turn, answer in enumerate(answers):
        assert answer == in_words(opponent, own, script[: turn + (not opens)], answers[:turn])


@pytest.mark.parametrize("lineage", LINEAGES)
@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_plays_either_seat_and_either_profile_for_any_number_of_rounds(lineage, rounds):
    pair = Scripted("Random"), TitForTat(2, lineage)
    for players in (pair, pair[::-1]):
        for sides in ((0, 1), (1, 0)):
            games = play(load("laptop"), *players, games=20, rounds=rounds, sides=sides)
            assert set(games.negotiations.ending) <= {Ending.AGREEMENT, Ending.DEADLINE}


@pytest.mark.parametrize("lineage", LINEAGES)
def test_without_noise_it_draws_nothing(lineage):
    tables = Tables(TitForTat(2, lineage).seat(ladder(), 1, 3), range(3))
    tables.play([1, 2, 3, 2, 1])
    assert tables.draws.tolist() == [0, 0, 0]


@pytest.mark.parametrize("lineage", LINEAGES)
@pytest.mark.parametrize(("gamma", "opening"), [(1, [1000]), (2, [1000, 999])])
def test_each_demand_takes_one_draw_that_moves_it_by_up_to_the_noise(gamma, opening, lineage):
    """It demands what it asked for last, 5% less where a draw is 0, and 2.5% more where it is 3/4."""
    tables = Tables(TitForTat(gamma, lineage, noise=0.05).seat(ladder(1000), 1, 1))
    tables.use_tape([0.0, 0.0, 0.5, 0.75])
    demanded = [opening[-1] - 50, opening[-1] - 100, opening[-1] - 100, opening[-1] - 75]
    assert tables.answers([100] * (gamma + 4)) == pytest.approx([*opening, *demanded], abs=3)
    assert tables.draws.tolist() == [4]


@pytest.mark.parametrize("lineage", LINEAGES)
def test_noise_is_spread_evenly_within_its_bounds(lineage):
    """The other side gives 60% more, so 10/16 of the best is demanded."""
    tables = Tables(TitForTat(1, lineage, noise=0.05).seat(ladder(1000), 1, 2000), range(2000))
    opening, demanded = tables.play([100, 160])
    assert set(opening.tolist()) == {1000}
    assert np.abs(demanded - 625).max() <= 51
    tenths = np.bincount(np.clip((demanded - 575) // 10, 0, 9), minlength=10)
    assert ((tenths - 200) ** 2 / 200).sum() < 28  # chi-square, 9 degrees of freedom: 0.1 %


def test_the_seed_decides_what_the_noise_is():
    noisy, random = TitForTat(1, noise=0.1), Scripted("Random")
    first, again, other = (
        play(load("grocery"), noisy, random, games=5, seed=seed).negotiations.moves.tolist() for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize("noise", [-0.1, math.nan, math.inf, True, "0.1", None])
def test_noise_is_a_number_of_at_least_0(noise):
    with pytest.raises(OpponentError, match=r"^TitForTat: noise = .*: give a number of at least 0$"):
        TitForTat(1, noise=noise)


@pytest.mark.parametrize("gamma", [0, -1, 1.5, True, math.nan, "1"])
def test_gamma_is_a_whole_number_from_1(gamma):
    with pytest.raises(OpponentError, match="gamma"):
        TitForTat(gamma)


def test_an_endless_window_never_closes():
    assert replies(TitForTat(10**30), ladder(3), [1] * 5) == [3, 2, ACCEPT]


def test_refuses_an_unknown_lineage():
    with pytest.raises(OpponentError, match="lineage"):
        TitForTat(1, "papers")


def test_names():
    assert resolve("TitForTat1") == TitForTat(1)
    assert resolve("TitForTat2", "genius") == TitForTat(2, "genius")
    assert resolve("TitForTat(gamma=3)") == TitForTat(3)
    names = [TitForTat(gamma).name for gamma in (1, 2, 3)]
    assert names == ["TitForTat1", "TitForTat2", "TitForTat(gamma=3)"]

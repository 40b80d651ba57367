"""Tournaments: who meets whom, whose figure stands where, and that it can be read back from the log."""

import numpy as np
import pytest

from negzoo.analysis.roster import resolved
from negzoo.analysis.tournament import (
    ALL_DOMAINS,
    STAGE,
    Crosstable,
    Encounter,
    Tournament,
    crosstables,
    log,
)
from negzoo.opponents import play, resolve
from negzoo.scenario import load
from negzoo.trajectories import TrajectoryWriter, open_trajectories

LAPTOP, GROCERY = load("laptop"), load("grocery")
HARD, SOFT = "Hardliner", "AcceptFirst"
BUYERS_BEST, SELLERS_BEST = (int(own.argmax()) for own in LAPTOP.utilities)
SELLER_GETS = LAPTOP.utilities[1, BUYERS_BEST]
BUYER_GETS = LAPTOP.utilities[0, SELLERS_BEST]


def tournament(*names, scenarios=(LAPTOP,), games=2, **terms):
    return Tournament(scenarios, resolved(list(names), "paper"), games, **terms)


def tables_of(planned, workers=1):
    return crosstables([Encounter.of(fixture, games) for fixture, games in planned.played(workers)])


def test_every_ordered_pair_meets_in_every_domain():
    planned = tournament(HARD, SOFT, scenarios=(LAPTOP, GROCERY))
    pairs = [(HARD, HARD), (HARD, SOFT), (SOFT, HARD), (SOFT, SOFT)]
    assert [fixture.holders for fixture in planned.fixtures] == pairs * 2
    assert [fixture.scenario for fixture in planned.fixtures] == [LAPTOP] * 4 + [GROCERY] * 4


def test_in_both_seats_profile_2_opens_too():
    fixtures = tournament(HARD, SOFT, both_seats=True).fixtures
    assert [fixture.opener for fixture in fixtures] == [0, 1] * 4
    assert (fixtures[3].holders, fixtures[3].players, fixtures[3].sides) == ((HARD, SOFT), (SOFT, HARD), (1, 0))


def test_rows_hold_profile_1_and_columns_profile_2():
    (table,) = tables_of(tournament(HARD, SOFT))
    assert (table.title, table.profiles, table.labels) == ("laptop", ("buyer", "seller"), (HARD, SOFT))
    assert table.utility[0].tolist() == [[0, 1], [BUYER_GETS, 1]]
    assert table.utility[1].tolist() == [[0, SELLER_GETS], [1, SELLER_GETS]]
    assert table.agreement.tolist() == [[0, 1], [1, 1]]


def test_both_seats_count_alike():
    """Of two who accept anything, whoever opens gets its best."""
    (table,) = tables_of(tournament(SOFT, both_seats=True))
    assert table.utility[:, 0, 0] == pytest.approx([(1 + BUYER_GETS) / 2, (SELLER_GETS + 1) / 2])


def test_a_fixture_is_what_play_plays():
    planned = tournament("Random", "AgentK", games=5, seed=3, rounds=12, clock="genius", both_seats=True)
    fixture = planned.fixtures[3]
    games = planned.play(fixture)
    same = play(LAPTOP, resolve("AgentK"), resolve("Random"), 5, 3, 12, "genius", (1, 0))
    assert (fixture.holders, fixture.opener) == (("Random", "AgentK"), 1)
    assert np.array_equal(games.negotiations.moves, same.negotiations.moves)
    assert np.array_equal(games.utilities, same.utilities)


def test_workers_change_nothing():
    planned = tournament("Random", "Linear", "AgentK", games=3, both_seats=True)
    (alone,), (together,) = tables_of(planned), tables_of(planned, workers=2)
    assert alone.labels == together.labels
    assert np.array_equal(alone.utility, together.utility)


def test_over_all_domains_is_their_mean():
    laptop, grocery, overall = tables_of(tournament(HARD, SOFT, scenarios=(LAPTOP, GROCERY)))
    assert (overall.title, overall.labels) == (ALL_DOMAINS, laptop.labels)
    assert np.array_equal(overall.utility, (laptop.utility + grocery.utility) / 2)
    assert np.array_equal(overall.agreement, (laptop.agreement + grocery.agreement) / 2)


def test_means_and_ranking():
    utility = np.array([[[0.1, 0.2], [0.8, 1.0]], [[0.5, 0.9], [0.7, 0.3]]])
    table = Crosstable("x", ("a", "b"), ("weak", "strong"), utility, np.ones((2, 2)))
    assert table.means == pytest.approx(np.array([[0.15, 0.9], [0.6, 0.6]]))
    assert table.ranking == [1, 0]
    first = table.as_json()["ranking"][0]
    assert first == {"opponent": "strong", "utility": 0.75, "as_profile_1": 0.9, "as_profile_2": pytest.approx(0.6)}


def test_the_log_holds_every_negotiation(tmp_path):
    planned = tournament("Random", "Linear", games=3, seed=5, both_seats=True)
    with TrajectoryWriter(tmp_path / "games.h5") as writer:
        encounters = []
        for fixture, games in planned.played():
            log(writer, fixture, games)
            encounters.append(Encounter.of(fixture, games))
    with open_trajectories(tmp_path / "games.h5") as logged:
        rows = logged.episodes
        assert len(rows) == 4 * 2 * 3
        assert logged.summary().encounters[0].stage == STAGE
        assert set(rows["seed"].tolist()) == {5}
        profile_1 = np.where(rows["swapped"] == 1, rows["utility_1"], rows["utility_0"])
        by_fixture = profile_1.reshape(-1, 3).mean(axis=1)
    assert by_fixture == pytest.approx([encounter.score.utility for encounter in encounters])


def test_an_encounter_is_a_flat_row():
    planned = tournament(HARD, SOFT, both_seats=True)
    fixture = planned.fixtures[3]
    row = Encounter.of(fixture, planned.play(fixture)).as_row()
    assert row == {
        "domain": "laptop",
        "profile_1": HARD,
        "profile_2": SOFT,
        "opener": SOFT,
        "opening_profile": 2,
        "games": 2,
        "utility_1": 1.0,
        "utility_2": SELLER_GETS,
        "agreement_rate": 1.0,
        "rounds": 2.0,
    }

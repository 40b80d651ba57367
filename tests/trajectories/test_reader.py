"""One log from many files: numbering, names, filters, sums."""

from dataclasses import replace

import numpy as np
import pytest

from negzoo.errors import TrajectoryError
from negzoo.trajectories import Labels, TrajectoryWriter, open_trajectories
from tests.trajectories.logged_games import LABELS, SCENARIO, play, series


@pytest.fixture
def folder(tmp_path):
    """Two files whose tables list their names in different orders, one of them in a folder of its own."""
    with TrajectoryWriter(tmp_path / "b.h5") as writer:
        writer.write(SCENARIO, series(0, 4), LABELS)
        other = replace(SCENARIO, name="other")
        writer.write(other, series(4, 3), Labels(("Boulware", "learner"), 1, learner=1))
    with TrajectoryWriter(tmp_path / "a" / "part.h5") as writer:
        writer.write(SCENARIO, series(7, 5), Labels(("Boulware", "Linear"), 2, stage="evaluate"))
    return tmp_path


def test_a_folder_is_one_log_in_the_order_of_names(folder):
    log = open_trajectories(folder)
    assert [path.name for path in log.files] == ["part.h5", "b.h5"]
    assert len(log) == 12
    assert list(log.episodes["index"]) == [7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6]
    assert [episode.index for episode in log] == list(log.episodes["index"])
    assert [episode.domain for episode in log] == ["toy"] * 9 + ["other"] * 3
    assert [episode.players for episode in (log.episode(0), log.episode(5), log.episode(-1))] == [
        ("Boulware", "Linear"),
        ("learner", "Linear"),
        ("Boulware", "learner"),
    ]


@pytest.mark.parametrize(
    ("conditions", "indices"),
    [
        ({}, [7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6]),
        ({"domain": "other"}, [4, 5, 6]),
        ({"opponent": "Linear"}, [7, 8, 9, 10, 11, 0, 1, 2, 3]),
        ({"opponent": "Boulware"}, [7, 8, 9, 10, 11, 4, 5, 6]),
        ({"opponent": "learner"}, []),
        ({"stage": "evaluate"}, [7, 8, 9, 10, 11]),
        ({"model": "ppo-1", "domain": "toy"}, [0, 1, 2, 3]),
        ({"agreement": False}, []),
    ],
)
def test_filters(folder, conditions, indices):
    log = open_trajectories(folder).filter(**conditions)
    assert list(log.episodes["index"]) == indices
    assert [episode.index for episode in log] == indices
    assert log.summary().episodes == len(indices)


def test_filters_narrow_each_other(folder):
    log = open_trajectories(folder).filter(domain="toy").filter(stage="train")
    assert list(log.episodes["index"]) == [0, 1, 2, 3]


def test_a_name_that_is_nowhere_is_an_error_with_a_hint(folder):
    with pytest.raises(TrajectoryError, match=r'no "Bulware" among the players .*did you mean "Boulware"'):
        open_trajectories(folder).filter(opponent="Bulware")


@pytest.mark.parametrize("number", [12, -13])
def test_an_episode_that_is_not_there(folder, number):
    with pytest.raises(TrajectoryError, match="there is no episode"):
        open_trajectories(folder).episode(number)


def test_a_finished_file_hides_the_one_that_may_replace_it(folder):
    (folder / "b.h5.tmp").write_bytes(b"being written")
    assert len(open_trajectories(folder)) == 12


def test_reading_goes_on_after_a_file_was_finished_and_renamed(tmp_path, log):
    unfinished = log.rename(tmp_path / "log.h5.tmp")
    trajectories = open_trajectories(unfinished)
    unfinished.rename(log)
    assert trajectories.episode(3).index == 3


def test_a_summary_counts_and_averages(tmp_path):
    scripts = [[0, -1], [5, -1], [1, -2], [-4], [-1], [0, 0, 0, 0]]
    with TrajectoryWriter(tmp_path / "log.h5") as writer:
        writer.write(SCENARIO, play(scripts, 2), LABELS)
        writer.write(SCENARIO, play([[-4]], 2), replace(LABELS, stage="evaluate"))
    summary = open_trajectories(tmp_path).summary()
    endings = {"agreement": 2, "walked": 1, "breakdown": 1, "deadline": 1, "error": 2}
    assert (summary.episodes, summary.steps, summary.endings) == (7, 13, endings)
    assert summary.bytes_per_step == (tmp_path / "log.h5").stat().st_size / 13
    assert summary.agreement_rate == 2 / 7
    evaluated, trained = summary.encounters
    assert (evaluated.episodes, evaluated.errors) == (1, 1)
    assert np.isnan([evaluated.utility, evaluated.opponent_utility]).all()
    assert (trained.domain, trained.stage, trained.opponent) == ("toy", "train", "Linear")
    assert (trained.episodes, trained.agreements, trained.errors) == (6, 2, 1)
    own, other = SCENARIO.utilities[:, [0, 5]].sum(axis=1) / 5
    assert (trained.utility, trained.opponent_utility) == pytest.approx((own, other))


def test_the_learners_utility_is_that_of_its_seat(tmp_path):
    for name, seat in (("first", 0), ("second", 1)):
        with TrajectoryWriter(tmp_path / f"{name}.h5") as writer:
            writer.write(SCENARIO, play([[0, -1]], 2), Labels((f"A{seat}", f"B{seat}"), 0, learner=seat))
    with TrajectoryWriter(tmp_path / "third.h5") as writer:
        writer.write(SCENARIO, play([[0, -1]], 2), Labels(("A", "B"), 0))
    encounters = open_trajectories(tmp_path).summary().encounters
    found = {row.opponent: (row.utility, row.opponent_utility) for row in encounters}
    u0, u1 = SCENARIO.utilities[:, 0]
    assert found == {"B0": (u0, u1), "A1": (u1, u0), "A vs B": (u0, u1)}

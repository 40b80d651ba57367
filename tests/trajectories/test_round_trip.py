"""What is written is what is read, move by move, whatever the batches."""

from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import negzoo.trajectories.writer as writing
from negzoo.engine import Ending, Negotiations
from negzoo.errors import TrajectoryError
from negzoo.trajectories import Labels, Played, TrajectoryWriter, open_trajectories
from tests.trajectories.logged_games import LABELS, SCENARIO, expected_result, expected_steps, played, series

pytestmark = pytest.mark.usefixtures("short_chunks")


def written(path: Path, batches: list[Played], labels: Labels = LABELS) -> Path:
    with TrajectoryWriter(path) as writer:
        for batch in batches:
            writer.write(SCENARIO, batch, labels)
    return path


@given(st.lists(played(), min_size=1, max_size=6), st.booleans())
def test_every_move_and_result_comes_back(batches, swapped):
    utilities = SCENARIO.utilities[::-1] if swapped else SCENARIO.utilities
    labels = replace(LABELS, swapped=swapped)
    rows = [(batch, row) for batch in batches for row in range(len(batch))]
    with TemporaryDirectory() as folder:
        log = open_trajectories(written(Path(folder) / "log.h5", batches, labels))
        for episode, (batch, row) in zip(log, rows, strict=True):
            moves, ending = batch.moves[row, : batch.step[row]], batch.ending[row]
            agreement, scores = expected_result(moves, ending, utilities)
            np.testing.assert_array_equal(episode.moves, moves)
            np.testing.assert_array_equal(episode.utilities, scores)
            assert (episode.agreement, episode.ending) == (agreement, ending)
            assert (episode.index, episode.rounds) == (batch.index[row], batch.rounds)
            assert_steps(episode.steps, np.array(list(expected_steps(moves, utilities)), np.float32))


def assert_steps(steps, expected):
    for position, name in enumerate(("round", "actor", "kind", "outcome", "utility_0", "utility_1")):
        np.testing.assert_array_equal(steps[name], expected[:, position])


def test_every_label_comes_back(tmp_path):
    labels = Labels(("Ä", "B"), 2**64 - 1, learner=1, stage="evaluate", model="m", swapped=True)
    batch = replace(series(0, 1), clock="genius")
    (episode,) = open_trajectories(written(tmp_path / "log.h5", [batch], labels))
    assert (episode.domain, episode.domain_hash) == ("toy", SCENARIO.hash)
    assert (episode.players, episode.learner, episode.swapped) == (("Ä", "B"), 1, True)
    assert (episode.stage, episode.model, episode.clock) == ("evaluate", "m", "genius")
    assert episode.seed == 2**64 - 1


@settings(max_examples=30)
@given(st.lists(st.integers(1, 39), unique=True, max_size=8))
def test_columns_do_not_depend_on_how_they_were_batched(cuts):
    whole = series(0, 40)
    batches = [series(first, last - first) for first, last in pairwise([0, *sorted(cuts), 40])]
    with TemporaryDirectory() as folder:
        one = open_trajectories(written(Path(folder) / "one.h5", [whole]))
        many = open_trajectories(written(Path(folder) / "many.h5", batches))
        np.testing.assert_array_equal(one.episodes, many.episodes)
        for left, right in zip(one, many, strict=True):
            np.testing.assert_array_equal(left.steps, right.steps)


def test_the_same_negotiations_make_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "datetime", Mock(now=lambda _zone: datetime(2026, 1, 1)))
    files = [written(tmp_path / name, [series(0, 40), series(40, 3)]) for name in ("a.h5", "b.h5")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_an_acceptance_is_never_by_the_one_who_offered(log):
    for episode in open_trajectories(log).filter(agreement=True):
        offer, acceptance = episode.steps[-2:]
        assert acceptance["actor"] != offer["actor"]
        assert acceptance["outcome"] == offer["outcome"] == episode.agreement


def test_names_may_differ_from_negotiation_to_negotiation(tmp_path):
    drawn = ["Linear" if index % 3 else "Tit \N{EN DASH} for \N{EN DASH} Tat" for index in range(20)]
    path = written(tmp_path / "log.h5", [series(0, 20)], Labels(("learner", drawn), 0, learner=0))
    log = open_trajectories(path)
    assert [episode.players[1] for episode in log] == drawn
    assert list(log.names["players"][log.episodes["player_1"]]) == drawn


def test_running_negotiations_are_refused_and_left_out_by_finished():
    negotiations = Negotiations(2, 3)
    negotiations.apply(np.array([0]), np.array([-2, 0], np.int32))
    with pytest.raises(TrajectoryError, match="1 negotiations still run"):
        Played(negotiations.moves, negotiations.step, negotiations.ending, np.arange(2, dtype=np.uint64))
    finished = Played.finished(negotiations, [7, 8])
    assert (list(finished.index), list(finished.ending)) == ([7], [Ending.WALKED])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"moves": np.zeros((1, 3), np.int32)}, r"moves has shape \[1, 3\]"),
        ({"step": np.zeros(2, np.int32)}, r"step has shape \[2\]"),
        ({"step": np.array([0], np.int32)}, "from 1 to 4 moves"),
        ({"step": np.array([5], np.int32)}, "from 1 to 4 moves"),
        ({"ending": np.array([9], np.int8)}, "ending is unknown"),
        ({"clock": "papr"}, 'did you mean "paper"'),
    ],
)
def test_arrays_that_are_no_negotiations(change, message):
    good = {
        "moves": np.array([[0, -1, 0, 0]], np.int32),
        "step": np.array([2], np.int32),
        "ending": np.array([1], np.int8),
        "index": np.array([0], np.uint64),
    }
    Played(**good)
    with pytest.raises(TrajectoryError, match=message):
        Played(**(good | change))


@pytest.mark.parametrize(
    ("moves", "message"),
    [
        ([6, -1], "6 is no move"),
        ([-5, -1], "-5 is no move"),
        ([0, 1], "acceptance"),
        ([-1, -1], "acceptance"),
    ],
)
def test_a_batch_with_wrong_moves_is_refused_whole(tmp_path, moves, message):
    both = np.array([[0, -1], moves], np.int32)
    wrong = Played(both, np.array([2, 2]), np.array([1, 1]), np.array([0, 1], np.uint64))
    with TrajectoryWriter(tmp_path / "log.h5") as writer:
        with pytest.raises(TrajectoryError, match=message):
            writer.write(SCENARIO, wrong, LABELS)
        writer.write(SCENARIO, series(0, 3), LABELS)
    assert len(open_trajectories(tmp_path / "log.h5")) == 3


@pytest.mark.parametrize(
    "labels",
    [
        {"seed": -1},
        {"seed": 2**64},
        {"learner": 2},
        {"players": ("A",)},
        {"players": ("A", ["B", "C"])},
        {"players": ("A", "B" * 257)},
        {"players": ("A\0", "B")},
        {"stage": "\ud800"},
    ],
)
def test_labels_that_cannot_be_logged(tmp_path, labels):
    with (
        TrajectoryWriter(tmp_path / "log.h5") as writer,
        pytest.raises(TrajectoryError),
    ):
        writer.write(SCENARIO, series(0, 3), Labels(**({"players": ("A", "B"), "seed": 0} | labels)))

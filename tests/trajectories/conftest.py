"""A log of twenty negotiations, and chunks short enough for a test to fill."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import negzoo.trajectories.writer as writing
from negzoo.trajectories import TrajectoryWriter
from tests.trajectories.logged_games import LABELS, SCENARIO, series


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.h5"
    with TrajectoryWriter(path) as writer:
        writer.write(SCENARIO, series(0, 20), LABELS)
    return path


@pytest.fixture(scope="module")
def short_chunks() -> Iterator[None]:
    """Steps in chunks of 16 rows, episodes in chunks of 4."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "STEPS", replace(writing.STEPS, chunk=16))
        patch.setattr(writing, "EPISODES", replace(writing.EPISODES, chunk=4))
        yield

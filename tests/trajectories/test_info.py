"""`negzoo trajectories info`, in tables and in JSON."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from negzoo.cli.trajectories import app
from negzoo.errors import TrajectoryError
from negzoo.trajectories import TrajectoryWriter, open_trajectories
from tests.trajectories.logged_games import LABELS, SCENARIO, play


def info(*arguments):
    return CliRunner().invoke(app, ["info", *map(str, arguments)])


@pytest.fixture
def errors_only(tmp_path):
    with TrajectoryWriter(tmp_path / "log.h5") as writer:
        writer.write(SCENARIO, play([[-4]], 2), LABELS)
    return tmp_path


def test_info_says_what_the_log_holds(log):
    result = info(log)
    assert result.exit_code == 0
    summary = open_trajectories(log).summary()
    words = " ".join(result.stdout.split())
    assert "Files 1 Episodes 20" in words
    assert f"Steps {summary.steps}, {summary.bytes_per_step:.1f} bytes each" in words
    (row,) = summary.encounters
    utilities = f"{row.utility:.3f} {row.opponent_utility:.3f}"
    assert f"toy train Linear 20 {row.agreements / 20:.1%} 0 {utilities}" in words
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_info_counts_unfinished_files(log):
    log.rename(log.with_name("log.h5.tmp"))
    assert "1 (1 unfinished)" in info(log.parent).stdout


def test_json_is_the_summary(log):
    summary = open_trajectories(log).summary()
    data = json.loads(info(log, "--json").stdout)
    assert data["endings"] == summary.endings
    assert data["encounters"][0]["utility"] == summary.encounters[0].utility


def test_a_mean_over_nothing_is_a_dash_and_null(errors_only):
    assert "–" in info(errors_only).stdout
    (row,) = json.loads(info(errors_only, "--json").stdout)["encounters"]
    assert (row["utility"], row["errors"]) == (None, 1)


def test_a_mistake_reaches_the_root_command_as_an_error(tmp_path):
    assert isinstance(info(tmp_path / "missing.h5").exception, TrajectoryError)


def test_the_command_line_starts_without_h5py():
    code = "import sys, negzoo.cli.trajectories; assert 'h5py' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)

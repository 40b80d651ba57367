"""A small league from its file to its table, as a person would run it: twice, interrupted, resumed, and looked into."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from negzoo.cli.app import app
from negzoo.league.plan import make_plan
from negzoo.league.results import CHECKPOINT, GAMES, POLICY, RESULT
from negzoo.league.spec import read_league
from negzoo.learn.checkpoint import FrozenPolicy, digest_of, load_policy
from negzoo.opponents import play, resolve
from negzoo.scenario import write_toml
from negzoo.trajectories import open_trajectories
from tests.league.leagues import TEXT
from tests.learn.bargains import TOY


class Ran(NamedTuple):
    """A command, what it said, and the folder that it left."""

    arguments: list[str]
    result: Result
    folder: Path


def command(arguments):
    """`negzoo league run` with these arguments, in this process."""
    return CliRunner().invoke(app, ["league", "run", *arguments], prog_name="negzoo")


def ran(arguments, out):
    arguments = [*arguments, "--out", str(out)]
    result = command(arguments)
    (folder,) = out.iterdir()
    return Ran(arguments, result, folder)


@pytest.fixture(scope="module")
def league(tmp_path_factory):
    """Two models of each kind, on the toy bargain."""
    folder = tmp_path_factory.mktemp("league")
    write_toml(TOY, folder / "toy.toml")
    path = folder / "small.toml"
    path.write_text(TEXT.replace('"laptop"', json.dumps(str(folder / "toy.toml"))), "utf-8")
    return path


@pytest.fixture(scope="module")
def alone(league, tmp_path_factory):
    """Run by one worker."""
    return ran([str(league), "--workers", "1"], tmp_path_factory.mktemp("alone"))


@pytest.fixture(scope="module")
def shared(league, tmp_path_factory):
    """Run by two workers that log all they do."""
    return ran([str(league), "--workers", "2", "--log-training"], tmp_path_factory.mktemp("shared"))


def cells(folder):
    return sorted((folder / "cells").iterdir())


def digests(folder):
    return {cell.name: digest_of(load_policy(cell / POLICY)[1]) for cell in cells(folder)}


def results(folder):
    """What the cells found, but for how long it took."""
    found = {cell.name: json.loads((cell / RESULT).read_text("utf-8")) for cell in cells(folder)}
    return {name: result | {"seconds": None} for name, result in found.items()}


def test_the_run_ends_well_and_reports_every_model(alone):
    assert alone.result.exit_code == 0, alone.result.output
    reported = [line.split()[0] for line in alone.result.stderr.splitlines() if " steps in " in line]
    assert reported == [f"{number}/6" for number in range(1, 7)]


def test_its_folder_is_the_plans_and_holds_everything(alone, league):
    plan = make_plan(read_league(league))
    assert alone.folder.name == f"small-{plan.id}"
    assert {"league.json", "run.json", "cells", "table.md", "results.json"} <= {p.name for p in alone.folder.iterdir()}
    assert {cell.name for cell in cells(alone.folder)} == plan.by_id.keys()
    for cell in cells(alone.folder):
        assert {path.name for path in cell.iterdir()} == {POLICY, GAMES, RESULT}


def test_the_table_on_the_screen_is_the_one_in_the_folder(alone):
    rows = json.loads((alone.folder / "results.json").read_text("utf-8"))["rows"]
    (title, _, header, *_) = (alone.folder / "table.md").read_text("utf-8").splitlines()
    _, _, *columns = [heading.strip() for heading in header.strip("|").split("|")][1:]
    conceder = next(row["columns"] for row in rows if row["opponent"] == "Conceder1")
    printed = next(line.split() for line in alone.result.stdout.splitlines() if line.startswith("Conceder1"))
    assert title == "# A small league"
    assert columns[:3] == ["Baseline", "known-(Pre)", "known-(FT)"]
    assert printed[1:] == [f"{conceder[column]:.3f}" for column in columns]
    assert f"| {' | '.join(printed)} |" in (alone.folder / "table.md").read_text("utf-8")


def test_the_figures_of_the_table_are_those_of_the_selected_models(alone, league):
    found, plan = results(alone.folder), make_plan(read_league(league))
    baselines = [found[cell.id] for cell in plan.cells if cell.stage == "baseline"]
    best = max(result["scores"]["Conceder1"]["utility"] for result in baselines)
    rows = json.loads((alone.folder / "results.json").read_text("utf-8"))["rows"]
    assert rows[0]["columns"]["Baseline"] == best


def test_fine_tuned_models_start_from_the_better_pre_trained_one(alone, league):
    found, plan = results(alone.folder), make_plan(read_league(league))

    def mean(cell):
        return np.mean([found[cell.id]["scores"][name]["utility"] for name in ("Boulware2", "Linear")])

    pretrained = [cell for cell in plan.cells if cell.stage == "pretrain"]
    better = max(pretrained, key=mean)
    starts = {found[cell.id]["started_from"] for cell in plan.cells if cell.stage == "finetune"}
    assert starts == {better.id}


def test_all_its_games_can_be_read(alone, negzoo_cli):
    with open_trajectories(alone.folder) as log:
        assert len(log) == 2 * 10 + 2 * 3 * 10 + 2 * 10
        assert {game.stage for game in log} == {"baseline", "pretrain", "finetune"}
    info = negzoo_cli("trajectories", "info", alone.folder)
    assert info.exit_code == 0
    assert "Episodes   100" in info.stdout


def test_a_saved_policy_earns_again_what_it_was_scored_with(alone):
    for cell in cells(alone.folder):
        policy = FrozenPolicy.load(cell / POLICY, TOY)
        for name, score in results(alone.folder)[cell.name]["scores"].items():
            games = play(TOY, policy, resolve(name), 10, rounds=40)
            assert games.utilities[0].mean() == pytest.approx(score["utility"])


def test_two_workers_and_a_log_of_training_give_the_same_bits(alone, shared):
    assert shared.result.exit_code == 0, shared.result.output
    assert shared.folder.name == alone.folder.name
    assert digests(shared.folder) == digests(alone.folder)
    assert results(shared.folder) == results(alone.folder)
    assert len(set(digests(alone.folder).values())) == 6
    assert (shared.folder / "table.md").read_bytes() == (alone.folder / "table.md").read_bytes()


def test_the_log_of_training_holds_every_model(shared):
    with open_trajectories(shared.folder / "training") as log:
        assert {game.model for game in log} == {cell.name for cell in cells(shared.folder)}
        assert {game.stage for game in log} == {"train"}


def test_the_same_command_again_does_nothing_and_prints_the_same(alone):
    files = {path: path.stat().st_mtime_ns for cell in cells(alone.folder) for path in cell.iterdir()}
    again = command(alone.arguments)
    assert (again.exit_code, again.stderr) == (0, "")
    assert again.stdout == alone.result.stdout
    assert {path: path.stat().st_mtime_ns for path in files} == files


def press_ctrl_c(pid):
    """It reaches the workers too."""
    os.killpg(pid, signal.SIGINT)


def kill(pid):
    """It reaches nobody else."""
    os.kill(pid, signal.SIGKILL)


def stopped(arguments, out, stop):
    """Run the league and stop it once two jobs have begun; the exit code and what was said.

    Its output ends when the last worker that could write to it has.
    """
    running = subprocess.Popen(
        [sys.executable, "-c", "from negzoo.cli.app import main; main()", "league", "run", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        while len(list(out.glob("*/cells/*"))) < 4:
            assert running.poll() is None
            time.sleep(0.1)
        stop(running.pid)
        _, said = running.communicate(timeout=60)
        return running.returncode, said
    finally:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)


SAVING = "stopping: waiting for the workers to save; the same command goes on from there"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stop", "code", "told"),
    [
        (press_ctrl_c, 130, [SAVING, "negzoo: interrupted"]),
        (kill, -signal.SIGKILL, []),
    ],
    ids=["Ctrl-C", "kill -9"],
)
def test_a_stopped_run_saves_and_goes_on_to_the_same_bits(league, tmp_path, stop, code, told):
    arguments = [str(league), "--workers", "2", "--scale", "10"]
    ended, said = stopped([*arguments, "--out", str(tmp_path / "stopped")], tmp_path / "stopped", stop)
    ours = [line for line in said.splitlines() if "negzoo: " in line or line.startswith("stopping")]
    assert (ended, ours) == (code, told)
    saved = list((tmp_path / "stopped").glob(f"*/cells/*/{CHECKPOINT}"))
    assert len(saved) == 4
    resumed, whole = (ran(arguments, tmp_path / name) for name in ("stopped", "whole"))
    assert digests(resumed.folder) == digests(whole.folder)
    assert not any(path.exists() for path in saved)

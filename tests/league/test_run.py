"""The folder of a run: where it is, what it says of itself, and what in it is done."""

import json
from contextlib import suppress
from dataclasses import asdict

import pytest

from negzoo import __version__
from negzoo.errors import LeagueError
from negzoo.files import write_json, write_text
from negzoo.league.results import CHECKPOINT, ERROR, RESULT
from negzoo.league.run import Run, State
from tests.league.leagues import plan_of, result_of


def prepare(run):
    with run.prepared():
        pass


def test_a_plan_has_its_own_folder(tmp_path):
    plan = plan_of(tmp_path)
    run = Run.under(plan, tmp_path / "runs")
    assert run.folder == tmp_path / "runs" / f"small-{plan.id}"
    assert Run.under(plan_of(tmp_path), tmp_path / "runs").folder == run.folder
    assert Run.under(plan_of(tmp_path, models=3), tmp_path / "runs").folder != run.folder


def test_the_folder_says_what_is_run_and_with_what(tmp_path):
    run = Run.under(plan_of(tmp_path, models=5, scale=0.5), tmp_path / "runs")
    prepare(run)
    league = json.loads((run.folder / "league.json").read_text("utf-8"))
    assert (league["name"], league["domains"]) == ("small", ["laptop"])
    assert league["finetune"] == [{"from": "known", "opponents": "unknown", "steps": 50, "models": 5}]
    circumstances = json.loads((run.folder / "run.json").read_text("utf-8"))
    assert circumstances["versions"]["negzoo"] == __version__
    assert {"torch", "tianshou", "numpy", "h5py"} <= circumstances["versions"].keys()
    assert {"command", "started", "machine", "cores", "python"} <= circumstances.keys()


def test_preparing_twice_keeps_what_is_done(tmp_path):
    run = Run.under(plan_of(tmp_path), tmp_path / "runs")
    prepare(run)
    cell = run.plan.cells[0]
    result = result_of(cell.id, Conceder1=0.5)
    write_json(run.cell_folder(cell.id) / RESULT, asdict(result))
    prepare(run)
    assert run.results == {cell.id: result}
    assert run.result(cell) == result
    assert run.result(run.plan.cells[1]) is None


def test_a_folder_that_cannot_be_written_is_told_with_a_way_out(tmp_path):
    (tmp_path / "file").write_text("in the way", "utf-8")
    with pytest.raises(LeagueError) as error:
        prepare(Run.under(plan_of(tmp_path), tmp_path / "file"))
    assert str(error.value).startswith(f"{tmp_path / 'file'}")
    assert str(error.value).endswith("choose another folder with --out")


def test_a_folder_in_use_is_closed_to_others_until_it_is_free(tmp_path):
    run = Run.under(plan_of(tmp_path), tmp_path / "runs")
    other = Run.under(run.plan, tmp_path / "runs")
    with run.prepared(), pytest.raises(LeagueError, match="another process is running this league"), other.prepared():
        pass
    with other.prepared():
        assert run.folder.is_dir()


def test_whoever_is_kept_out_changes_nothing(tmp_path):
    run = Run.under(plan_of(tmp_path), tmp_path / "runs")
    with run.prepared():
        before = {path: path.stat().st_mtime_ns for path in run.folder.glob("*.json")}
        with pytest.raises(LeagueError):
            prepare(Run.under(run.plan, tmp_path / "runs"))
        assert len(before) == 2
        assert {path: path.stat().st_mtime_ns for path in run.folder.glob("*.json")} == before


def test_a_folder_is_free_again_after_an_error(tmp_path):
    run = Run.under(plan_of(tmp_path), tmp_path / "runs")
    with suppress(ZeroDivisionError), run.prepared():
        raise ZeroDivisionError
    prepare(run)
    assert (run.folder / "run.json").exists()


@pytest.mark.parametrize(
    ("files", "state"),
    [
        ([], State.MISSING),
        ([CHECKPOINT], State.BEGUN),
        ([ERROR], State.FAILED),
        ([CHECKPOINT, ERROR], State.FAILED),
        ([CHECKPOINT, ERROR, RESULT], State.DONE),
    ],
)
def test_how_far_a_cell_is_shows_in_its_files(tmp_path, files, state):
    run = Run.under(plan_of(tmp_path), tmp_path / "runs")
    cell = run.plan.cells[0]
    for name in files:
        write_json(run.cell_folder(cell.id) / name, asdict(result_of(cell.id, Conceder1=0.5)))
    assert run.state(cell) == state


def test_a_failure_is_told_by_the_last_line_of_its_traceback(tmp_path):
    run = Run.under(plan_of(tmp_path), tmp_path / "runs")
    cell = run.plan.cells[0]
    write_text(run.cell_folder(cell.id) / ERROR, "Traceback\n  File ...\nOSError: disk full\n")
    assert run.failure(cell) == "OSError: disk full"

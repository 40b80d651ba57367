"""The folder of a run: where it is, what it says of itself, and what in it is done."""

import json
from dataclasses import asdict

import pytest

from negzoo import __version__
from negzoo.errors import LeagueError
from negzoo.files import write_json
from negzoo.league.cells import RESULT
from negzoo.league.run import Run
from tests.league.leagues import plan_of, result_of


def test_a_plan_has_its_own_folder(tmp_path):
    plan = plan_of(tmp_path)
    run = Run.under(plan, tmp_path / "runs")
    assert run.folder == tmp_path / "runs" / f"small-{plan.id}"
    assert Run.under(plan_of(tmp_path), tmp_path / "runs").folder == run.folder
    assert Run.under(plan_of(tmp_path, models=3), tmp_path / "runs").folder != run.folder


def test_the_folder_says_what_is_run_and_with_what(tmp_path):
    run = Run.under(plan_of(tmp_path, models=5, scale=0.5), tmp_path / "runs")
    run.prepare()
    league = json.loads((run.folder / "league.json").read_text("utf-8"))
    assert (league["name"], league["domains"]) == ("small", ["laptop"])
    assert league["finetune"] == [{"from": "known", "opponents": "unknown", "steps": 50, "models": 5}]
    circumstances = json.loads((run.folder / "run.json").read_text("utf-8"))
    assert circumstances["versions"]["negzoo"] == __version__
    assert {"torch", "tianshou", "numpy", "h5py"} <= circumstances["versions"].keys()
    assert {"command", "started", "machine", "cores", "python"} <= circumstances.keys()


def test_preparing_twice_keeps_what_is_done(tmp_path):
    run = Run.under(plan_of(tmp_path), tmp_path / "runs")
    run.prepare()
    cell = run.plan.cells[0]
    result = result_of(cell.id, Conceder1=0.5)
    write_json(run.cell_folder(cell.id) / RESULT, asdict(result))
    run.prepare()
    assert run.results == {cell.id: result}
    assert run.result(cell) == result
    assert run.result(run.plan.cells[1]) is None


def test_a_folder_that_cannot_be_written_is_told_with_a_way_out(tmp_path):
    (tmp_path / "file").write_text("in the way", "utf-8")
    with pytest.raises(LeagueError) as error:
        Run.under(plan_of(tmp_path), tmp_path / "file").prepare()
    assert str(error.value).startswith(f"{tmp_path / 'file'}")
    assert str(error.value).endswith("choose another folder with --out")


def test_a_folder_in_use_is_closed_to_others_until_it_is_free(tmp_path):
    run = Run.under(plan_of(tmp_path), tmp_path / "runs")
    run.prepare()
    with run.locked(), pytest.raises(LeagueError, match="another process is running this league"), run.locked():
        pass
    with run.locked():
        assert run.folder.is_dir()

"""`negzoo league`: plans, runs, and mistakes. What a run trains is made up here; tests/journeys trains in earnest."""

import json
import re
from dataclasses import asdict, replace
from itertools import pairwise

import pytest

from negzoo.files import write_json, write_text
from negzoo.league import runner
from negzoo.league.results import CHECKPOINT, ERROR, RESULT
from negzoo.league.run import Run
from negzoo.league.runner import Outcome
from negzoo.scenario import write_toml
from tests.league.leagues import TEXT, plan_of, result_of, write_league
from tests.learn.bargains import TOY


@pytest.fixture
def league(tmp_path):
    return write_league(tmp_path / "league.toml")


def rows_of(text):
    return [line.split() for line in text.splitlines()]


def headings_of(printed):
    """The headings of a table's figures, put together again where they are folded, without spaces."""
    above, _, below = printed.partition("\nConceder1 ")
    heading_lines = above.rpartition("\n\n")[2].splitlines()
    row = f"Conceder1 {below.splitlines()[0]}"
    ends = [match.end() for match in re.finditer(r"\S+", row)]
    columns = pairwise(ends)
    return ["".join(line[first:last].replace(" ", "") for line in heading_lines) for first, last in columns]


# plan


def test_a_plan_has_a_row_for_every_stage_and_their_sum(negzoo_cli, league):
    result = negzoo_cli("league", "plan", league)
    assert result.exit_code == 0
    cells = rows_of(result.stdout)
    assert cells[0] == ["A", "small", "league"]
    assert ["baseline", "2", "1,000"] in cells
    assert ["pretrain", "2", "1,200"] in cells
    assert ["finetune", "2", "200"] in cells
    assert ["all", "6", "2,400"] in cells
    assert "Domains: laptop" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_a_plan_as_json(negzoo_cli, league, tmp_path):
    planned = json.loads(negzoo_cli("league", "plan", league, "--json").stdout)
    assert planned == {
        "name": "small",
        "id": plan_of(tmp_path).id,
        "stages": {
            "baseline": {"models": 2, "steps": 1000},
            "pretrain": {"models": 2, "steps": 1200},
            "finetune": {"models": 2, "steps": 200},
        },
        "models": 6,
        "steps": 2400,
    }


@pytest.mark.parametrize("domains", [("laptop,grocery",), ("laptop", "grocery")])
def test_a_plan_is_overridden_as_a_run_would_be(negzoo_cli, league, domains):
    options = [part for name in domains for part in ("--domains", name)]
    planned = json.loads(negzoo_cli("league", "plan", league, *options, "--models", 3, "--scale", 0.1, "--json").stdout)
    assert (planned["models"], planned["steps"]) == (18, 2 * 3 * (50 + 60 + 10))


def test_a_plan_writes_nothing(negzoo_cli, league, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    negzoo_cli("league", "plan", league)
    assert list(tmp_path.iterdir()) == [league]


@pytest.mark.parametrize("command", ["plan", "run"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--models", 0), "--models 0: give a whole number from 1 to 10,000"),
        (("--scale", 0), "--scale 0.0: give a positive number"),
        (("--scale", -1), "--scale -1.0: give a positive number"),
        (("--scale", "nan"), "--scale nan: give a positive number"),
        (("--domains", "laptp"), 'negzoo: --domains: no domain "laptp" (did you mean "laptop"?)'),
        (("--domains", "laptop,laptop"), 'domains: "laptop" is there twice'),
    ],
)
def test_an_option_that_cannot_be_is_told_in_one_line(
    negzoo_cli, league, tmp_path, monkeypatch, command, options, message
):
    monkeypatch.chdir(tmp_path)
    result = negzoo_cli("league", command, league, *options)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == [league]


@pytest.mark.parametrize("command", ["plan", "run"])
def test_a_mistake_in_the_file_is_told_in_one_line_with_its_place(negzoo_cli, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    path = write_league(tmp_path / "league.toml", '"Conceder1"', '"Concedar1"')
    result = negzoo_cli("league", command, path)
    assert result.exit_code == 2
    assert result.stderr == (
        f'negzoo: {path}: pool "unknown", entry 1: unknown opponent "Concedar1" (did you mean "Conceder1"?)\n'
    )
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("command", ["plan", "run"])
def test_a_missing_file_is_told_in_one_line(negzoo_cli, tmp_path, command):
    result = negzoo_cli("league", command, tmp_path / "none.toml")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert f"{tmp_path / 'none.toml'}: no such file" in result.stderr


@pytest.mark.parametrize("option", [("--models", "many"), ("--scale", "half"), ("--colour", "red")])
def test_bad_usage_exits_with_2(negzoo_cli, league, option):
    assert negzoo_cli("league", "plan", league, *option).exit_code == 2


# run


@pytest.fixture
def carried_out(monkeypatch):
    """How runs were asked for; they are said to have found what `results` makes of their plan."""
    asked = []

    def made_up(run, workers, _progress, log_training=False):
        asked.append((run.folder, workers, log_training))
        results = {
            cell.id: result_of(cell.id, **{opponent.name: 0.5 for opponent in cell.scored_on})
            for cell in run.plan.cells
            if cell.stage != "baseline"
        }
        failures = {cell.id: "OSError: disk full" for cell in run.plan.cells if cell.stage == "baseline"}
        return Outcome(results, failures if "fail" in run.plan.league.file.title else {})

    monkeypatch.setattr(runner, "run_plan", made_up)
    return asked


def test_a_run_ends_with_its_table_and_leaves_it_in_its_folder(negzoo_cli, league, tmp_path, carried_out):
    result = negzoo_cli("league", "run", league, "--out", tmp_path / "runs", "--workers", 3)
    assert result.exit_code == 0
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name == f"small-{plan_of(tmp_path).id}"
    assert carried_out == [(folder, 3, False)]
    assert f"Run folder: {folder}" in result.stdout
    row = next(row for row in rows_of(result.stdout) if row[:1] == ["Conceder1"])
    assert row[:4] == ["Conceder1", "–", "0.500", "0.500"]
    assert len(row) == 1 + 3 + 4
    assert (folder / "table.md").read_text("utf-8").startswith("# A small league\n")
    assert len(json.loads((folder / "results.json").read_text("utf-8"))["rows"]) == 5
    assert (folder / "table.png").read_bytes().startswith(b"\x89PNG")


def test_training_is_logged_if_asked_for(negzoo_cli, league, tmp_path, carried_out):
    negzoo_cli("league", "run", league, "--out", tmp_path / "runs", "--log-training")
    assert [log_training for *_, log_training in carried_out] == [True]


@pytest.mark.usefixtures("carried_out")
@pytest.mark.parametrize("domain", ["laptop", "is_bt_acquisition", "itex_vs_cypress"])
def test_the_table_fits_80_columns_with_every_figure_whole(negzoo_cli, league, tmp_path, domain):
    result = negzoo_cli("league", "run", league, "--out", tmp_path / "runs", "--domains", domain)
    table, _, _ = result.stdout.partition("Run folder")
    assert max(map(len, table.splitlines())) <= 80
    for row in rows_of(table):
        if row[:1] in (["Conceder1"], ["Boulware2"], ["Linear"]):
            assert len(row) == 8
            assert all(cell == "–" or len(cell) == 5 for cell in row[1:])


@pytest.mark.usefixtures("carried_out")
def test_the_table_has_every_heading_whole(negzoo_cli, league, tmp_path):
    printed = negzoo_cli("league", "run", league, "--out", tmp_path / "runs").stdout
    scripts = ["acceptfirst", "hardliner", "latehardliner", "random"]
    assert headings_of(printed) == ["Baseline", "known-(Pre)", "known-(FT)", *scripts]


@pytest.mark.usefixtures("carried_out")
def test_a_pool_with_a_long_name_leaves_every_figure_whole(negzoo_cli, tmp_path):
    path = tmp_path / "league.toml"
    path.write_text(TEXT.replace("unknown", "opponents_that_a_learner_has_never_met"), "utf-8")
    printed = negzoo_cli("league", "run", path, "--out", tmp_path / "runs").stdout
    row = next(row for row in rows_of(printed) if row[:1] == ["Conceder1"])
    assert row[1:4] == ["–", "0.500", "0.500"]


@pytest.mark.usefixtures("carried_out")
def test_failures_are_told_at_the_end_and_exit_with_1(negzoo_cli, tmp_path):
    path = write_league(tmp_path / "league.toml", "A small league", "Some fail")
    result = negzoo_cli("league", "run", path, "--out", tmp_path / "runs")
    assert result.exit_code == 1
    assert "failed: laptop · baseline · Conceder1 · model 1: OSError: disk full" in result.stdout
    assert "mean of unknown" in result.stdout


@pytest.mark.usefixtures("carried_out")
@pytest.mark.parametrize("title", ["[draft] T3", "T3 [/b]"])
def test_a_title_in_brackets_is_no_markup(negzoo_cli, tmp_path, title):
    path = write_league(tmp_path / "league.toml", "A small league", title)
    assert title in negzoo_cli("league", "run", path, "--out", tmp_path / "runs").stdout


@pytest.mark.parametrize("title", ["[draft] T3", "T3 [/b]"])
def test_a_planned_title_in_brackets_is_no_markup(negzoo_cli, tmp_path, title):
    path = write_league(tmp_path / "league.toml", "A small league", title)
    assert title in negzoo_cli("league", "plan", path).stdout


@pytest.mark.usefixtures("carried_out")
def test_a_pool_in_brackets_is_no_markup(negzoo_cli, tmp_path):
    path = write_league(tmp_path / "league.toml", "\nknown = ", '\n"[b]" = ')
    path.write_text(path.read_text("utf-8").replace('"known"', '"[b]"').replace("A small league", "Some fail"), "utf-8")
    printed = negzoo_cli("league", "run", path, "--out", tmp_path / "runs").stdout
    assert headings_of(printed)[:3] == ["Baseline", "[b]-(Pre)", "[b]-(FT)"]
    assert "mean of [b]" in printed


@pytest.mark.usefixtures("carried_out")
@pytest.mark.parametrize("command", ["plan", "run"])
def test_a_domain_in_brackets_is_no_markup(negzoo_cli, league, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    write_toml(replace(TOY, name="[draft] toy"), tmp_path / "toy.toml")
    assert "[draft] toy" in negzoo_cli("league", command, league, "--domains", tmp_path / "toy.toml").stdout


def test_a_folder_that_cannot_be_written_is_told_in_one_line(negzoo_cli, league, tmp_path):
    (tmp_path / "file").write_text("in the way", "utf-8")
    result = negzoo_cli("league", "run", league, "--out", tmp_path / "file")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert "cannot be written" in result.stderr
    assert "--out" in result.stderr


def test_at_least_one_worker_is_needed(negzoo_cli, league, tmp_path):
    result = negzoo_cli("league", "run", league, "--out", tmp_path / "runs", "--workers", 0)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--workers" in result.stderr
    assert not (tmp_path / "runs").exists()


def test_a_folder_in_use_is_told_in_one_line(negzoo_cli, league, tmp_path):
    run = Run.under(plan_of(tmp_path), tmp_path / "runs")
    with run.prepared():
        result = negzoo_cli("league", "run", league, "--out", tmp_path / "runs")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert f"{run.folder}: another process is running this league" in result.stderr


# status


def test_the_status_counts_what_is_done_failed_begun_and_missing(negzoo_cli, league, tmp_path):
    run = Run.under(plan_of(tmp_path), tmp_path / "runs")
    baseline, other, pretrained, *_ = run.plan.cells
    write_json(run.cell_folder(baseline.id) / RESULT, asdict(result_of(baseline.id, Conceder1=0.5)))
    write_text(run.cell_folder(other.id) / ERROR, "Traceback\nOSError: disk full\n")
    write_text(run.cell_folder(pretrained.id) / CHECKPOINT, "")
    result = negzoo_cli("league", "status", league, "--out", tmp_path / "runs")
    assert result.exit_code == 0
    assert [row for row in rows_of(result.stdout) if row[:1] in (["baseline"], ["pretrain"], ["finetune"])] == [
        ["baseline", "1", "1", "0", "0"],
        ["pretrain", "0", "0", "1", "1"],
        ["finetune", "0", "0", "0", "2"],
    ]
    assert f"failed: {other.label}: OSError: disk full" in result.stdout
    told = json.loads(negzoo_cli("league", "status", league, "--out", tmp_path / "runs", "--json").stdout)
    assert told["stages"]["baseline"] == {"done": 1, "failed": 1, "begun": 0, "missing": 0}
    assert told["failures"] == {other.id: "OSError: disk full"}
    assert told["folder"] == str(run.folder)


def test_the_status_of_what_was_never_run_is_missing_and_makes_no_folder(negzoo_cli, league, tmp_path):
    told = json.loads(negzoo_cli("league", "status", league, "--out", tmp_path / "runs", "--json").stdout)
    assert told["stages"]["finetune"] == {"done": 0, "failed": 0, "begun": 0, "missing": 2}
    assert not (tmp_path / "runs").exists()

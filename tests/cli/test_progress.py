"""How a run is followed: lines where nobody watches, a bar on a terminal; both count the same."""

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from negzoo.cli import progress
from negzoo.cli.progress import Bar, Lines, Tally, show_progress
from negzoo.scenario import write_toml
from tests.league.leagues import plan_of, result_of
from tests.learn.bargains import TOY


@pytest.fixture
def plan(tmp_path):
    return plan_of(tmp_path)


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass only when told to: `clock[0]`."""
    seconds = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: seconds[0])
    return seconds


@pytest.fixture
def terminal(monkeypatch):
    """What a terminal was shown."""
    monkeypatch.setenv("TERM", "xterm")
    shown = StringIO()
    monkeypatch.setattr(progress, "err", Console(file=shown, force_terminal=True, width=120, highlight=False))
    return shown


def result(cell, utility=0.75):
    return result_of(cell.id, **{opponent.name: utility for opponent in cell.scored_on})


# Counting


def test_steps_are_those_of_all_cells_at_once(plan, clock):
    tally, (first, second, *_) = Tally(plan, {}), plan.cells
    tally.advanced(first, 100)
    tally.advanced(second, 50)
    tally.advanced(first, 200)
    assert (tally.steps, tally.total) == (250, 2400)
    clock[0] += 5
    assert tally.rate == 50


def test_a_cell_that_overshoots_counts_what_was_planned(plan):
    tally, cell = Tally(plan, {}), plan.cells[0]
    tally.advanced(cell, cell.steps + 31)
    assert tally.steps == cell.steps
    tally.finished(cell, result(cell))
    assert (tally.steps, tally.models, tally.of) == (cell.steps, 1, 6)


def test_what_was_done_before_is_not_waited_for(plan):
    done = {cell.id: result(cell) for cell in plan.cells[:2]}
    tally = Tally(plan, done)
    assert (tally.models, tally.total, tally.steps) == (2, 1400, 0)


def test_a_failed_cell_is_no_longer_waited_for_and_told(plan, capsys):
    tally, cell = Tally(plan, {}), plan.cells[0]
    tally.failed(cell, "OSError: disk full")
    assert (tally.steps, tally.models) == (cell.steps, 0)
    assert capsys.readouterr().err == "failed: laptop · baseline · Conceder1 · model 1: OSError: disk full\n"


@pytest.mark.parametrize("reason", ["KeyError: [/root]", "SettingsError: [ppo]: gamma"])
def test_brackets_in_a_reason_are_no_markup(plan, capsys, reason):
    Tally(plan, {}).failed(plan.cells[0], reason)
    Tally(plan, {}).note(reason)
    failed, noted = capsys.readouterr().err.splitlines()
    assert failed == f"failed: laptop · baseline · Conceder1 · model 1: {reason}"
    assert noted == reason


def test_brackets_in_a_name_are_no_markup(tmp_path, terminal):
    """In lines, and in the bar that a terminal shows."""
    write_toml(replace(TOY, name="[draft] toy"), tmp_path / "toy.toml")
    bracketed = plan_of(tmp_path, domains=[str(tmp_path / "toy.toml")])
    cell = bracketed.cells[0]
    Tally(bracketed, {}).failed(cell, "OSError")
    assert "failed: [draft] toy · baseline" in terminal.getvalue()
    with show_progress(bracketed, {}) as bar:
        bar.advanced(cell, 10)
    assert "[draft] toy · baseline" in terminal.getvalue().partition("OSError")[2]


# Lines


def test_off_a_terminal_there_are_plain_lines(plan, capsys):
    with show_progress(plan, {}) as lines:
        assert type(lines) is Lines
        lines.finished(plan.cells[0], result(plan.cells[0]))
        lines.note("a worker died")
    first, second = capsys.readouterr().err.splitlines()
    assert first == "1/6 laptop · baseline · Conceder1 · model 1: utility 0.750, 1,000 steps in 1 s"
    assert second == "a worker died"


def test_a_line_now_and_then_says_how_fast_and_how_long(plan, clock, capsys):
    with show_progress(plan, {}) as lines:
        for seconds in range(1, 26):
            clock[0] = 100.0 + seconds
            lines.advanced(plan.cells[0], 20 * seconds)
    first, second = capsys.readouterr().err.splitlines()
    assert first == "200 of 2,400 learner steps, 20 steps/s, about 110 s left"
    assert second == "400 of 2,400 learner steps, 20 steps/s, about 100 s left"


# Bar


def test_a_bar_shows_steps_models_and_speed(plan, terminal):
    with show_progress(plan, {}) as bar:
        assert type(bar) is Bar
        bar.advanced(plan.cells[0], 250)
        bar.finished(plan.cells[2], result(plan.cells[2]))
    shown = terminal.getvalue()
    assert "850/2400" in shown
    assert "1/6" in shown
    assert "steps/s" in shown
    assert "laptop · pre-train · known · model 1" in shown


def test_a_bar_goes_on_from_what_was_done_before(plan, terminal):
    with show_progress(plan, {cell.id: result(cell) for cell in plan.cells[:2]}) as bar:
        bar.advanced(plan.cells[2], 10)
    assert "2/6" in terminal.getvalue()
    assert "10/1400" in terminal.getvalue()


def test_notes_and_failures_stand_above_the_bar(plan, terminal):
    with show_progress(plan, {}) as bar:
        bar.note("a worker died")
        bar.failed(plan.cells[0], "OSError: disk full")
    assert "a worker died" in terminal.getvalue()
    assert "failed: laptop · baseline · Conceder1 · model 1: OSError: disk full" in terminal.getvalue()


def test_nothing_is_written_where_results_go(plan, capsys):
    with show_progress(plan, {}) as lines:
        lines.finished(plan.cells[0], result(plan.cells[0]))
    assert capsys.readouterr().out == ""

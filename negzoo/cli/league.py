"""`negzoo league`: plan and run leagues."""

import os
from dataclasses import asdict
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table as RichTable

from negzoo.cli.console import out, print_json
from negzoo.cli.shown import save_figure, table

if TYPE_CHECKING:
    from negzoo.analysis.tables import Table
    from negzoo.league.plan import Plan

app = typer.Typer(no_args_is_help=True, help="Train learners on pools of opponents, as a league file says.")

_HEADING = 9
"""Characters in a line of a heading over figures."""

File = Annotated[Path, typer.Argument(metavar="FILE", help="League file, e.g. leagues/quick.toml.")]
Domains = Annotated[
    list[str] | None,
    typer.Option("--domains", metavar="NAME", help="Only this domain; may be given several times."),
]
Models = Annotated[int | None, typer.Option("--models", help="Models per domain and opponent, instead of the file's.")]
Scale = Annotated[float, typer.Option("--scale", help="Multiply all training steps by this.")]
Runs = Annotated[Path, typer.Option("--out", help="Folder of runs.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _plan(file: Path, domains: list[str] | None, models: int | None, scale: float) -> "Plan":
    from negzoo.league.plan import make_plan
    from negzoo.league.spec import read_league

    wanted = [name for entry in domains or [] for name in entry.split(",") if name]
    return make_plan(read_league(file, wanted or None, models, scale))


@app.command()
def plan(file: File, domains: Domains = None, models: Models = None, scale: Scale = 1.0, as_json: Json = False) -> None:
    """Show what a league would train, without training it."""
    from negzoo.league.estimate import estimated_seconds

    made = _plan(file, domains, models, scale)
    rows = {stage: (len(cells), sum(cell.steps for cell in cells)) for stage, cells in made.by_stage.items()}
    if as_json:
        counts = {stage: {"models": count, "steps": steps} for stage, (count, steps) in rows.items()}
        print_json(
            {
                "name": made.league.file.name,
                "id": made.id,
                "stages": counts,
                "models": len(made.cells),
                "steps": made.steps,
            }
        )
        return
    out.print(escape(made.league.file.title or made.league.file.name), style="bold")
    shown = table("stage", "models>", "learner steps>")
    for stage, (count, steps) in rows.items():
        shown.add_row(stage, f"{count:,}", f"{steps:,}")
    shown.add_row("all", f"{len(made.cells):,}", f"{made.steps:,}", style="bold")
    out.print(shown)
    cores = os.cpu_count() or 1
    out.print(escape(f"Domains: {', '.join(scenario.name for scenario in made.league.scenarios)}"))
    out.print(f"About {_duration(estimated_seconds(made) / cores)} on {cores} workers (`negzoo bench train` measures).")


@app.command()
def run(
    file: File,
    domains: Domains = None,
    models: Models = None,
    scale: Scale = 1.0,
    out_folder: Runs = Path("runs"),
    workers: Annotated[int, typer.Option("--workers", min=1, help="Processes; default one per core.")] = os.cpu_count()
    or 1,
    log_training: Annotated[
        bool, typer.Option("--log-training", help="Log every negotiation of training too.")
    ] = False,
) -> None:
    """Train and score a league; what is already done is kept, so the same command resumes."""
    from negzoo.analysis.tables import league_table
    from negzoo.cli.progress import show_progress
    from negzoo.league.run import Run
    from negzoo.league.runner import run_plan
    from negzoo.learn.ppo import available_device

    made = _plan(file, domains, models, scale)
    available_device(made.league.ppo.device)
    league_run = Run.under(made, out_folder)
    with league_run.prepared():
        with show_progress(made, league_run.results) as progress:
            outcome = run_plan(league_run, workers, progress, log_training)
        made_table = league_table(made, outcome.results)
        _save(league_run.folder, made_table)
    _print_table(made_table)
    out.print(f"Run folder: {escape(str(league_run.folder))}", soft_wrap=True)
    _print_failures(made, outcome.failures)
    if outcome.failures:
        raise typer.Exit(1)


@app.command()
def status(
    file: File,
    domains: Domains = None,
    models: Models = None,
    scale: Scale = 1.0,
    out_folder: Runs = Path("runs"),
    as_json: Json = False,
) -> None:
    """Show how far the run of a league is, given the same options: what is done, failed, begun and missing."""
    from negzoo.league.run import Run, State

    made = _plan(file, domains, models, scale)
    league_run = Run.under(made, out_folder)
    states = {cell: league_run.state(cell) for cell in made.cells}
    failures = {cell.id: league_run.failure(cell) for cell, state in states.items() if state == State.FAILED}
    counts = {
        stage: {state.value: sum(states[cell] == state for cell in cells) for state in State}
        for stage, cells in made.by_stage.items()
    }
    if as_json:
        print_json({"folder": str(league_run.folder), "stages": counts, "failures": failures})
        return
    shown = table("stage", *(f"{state.value}>" for state in State))
    for stage, row in counts.items():
        shown.add_row(stage, *(f"{count:,}" for count in row.values()))
    out.print(shown)
    _print_failures(made, failures)
    out.print(f"Run folder: {escape(str(league_run.folder))}", soft_wrap=True)


def _save(folder: Path, table: "Table") -> None:
    from negzoo.analysis.plots import league_bars
    from negzoo.analysis.tables import to_markdown
    from negzoo.files import write_json, write_text

    write_text(folder / "table.md", to_markdown(table))
    write_json(folder / "results.json", asdict(table))
    save_figure(league_bars(table), folder / "table.png")


def _print_table(table: "Table") -> None:
    out.print(f"\n[bold]{escape(table.title)}[/bold]\n")
    for domain in dict.fromkeys(row.domain for row in table.rows):
        out.print(_domain_table(table, domain))
        out.print()
    out.print(escape(table.note))


def _domain_table(table: "Table", domain: str) -> RichTable:
    from negzoo.analysis.tables import MEAN, figure

    shown = RichTable(padding=(0, 1, 0, 0), box=None, header_style="bold")
    shown.add_column(escape(domain), overflow="fold", vertical="bottom")
    for column in table.columns:
        shown.add_column(escape("\n".join(wrap(column, _HEADING))), justify="right", no_wrap=True)
    for row in (row for row in table.rows if row.domain == domain):
        mean = row.opponent == MEAN
        figures = [figure(row.columns[column]) for column in table.columns]
        shown.add_row(escape(f"mean of {row.pool}" if mean else row.opponent), *figures, style="bold" if mean else None)
    return shown


def _print_failures(made: "Plan", failures: dict[str, str]) -> None:
    for cell_id, reason in failures.items():
        out.print(escape(f"failed: {made.by_id[cell_id].label}: {reason}"), soft_wrap=True)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.0f} hours"

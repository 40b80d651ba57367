"""`negzoo domains`: what can be negotiated."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from negzoo.cli.console import out, print_json
from negzoo.cli.shown import save_figure, table
from negzoo.scenario import Geometry, Scenario, load, names

app = typer.Typer(help="List the domains, and show what is in one.")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
PlotFile = Annotated[Path | None, typer.Option(help="Draw the outcomes into this file (.png, .pdf, .svg).")]


@app.callback(invoke_without_command=True)
def list_domains(context: typer.Context, as_json: AsJson = False) -> None:
    """List the shipped domains. `negzoo domains show NAME` shows one."""
    if context.invoked_subcommand is not None:
        return
    summaries = [_summary(load(name)) for name in names()]
    if as_json:
        print_json(summaries)
    else:
        out.print(_summary_table(summaries))


@app.command()
def show(
    domain: Annotated[str, typer.Argument(help="A shipped domain's name, or a path to a .toml file.")],
    plot: PlotFile = None,
    as_json: AsJson = False,
) -> None:
    """Show a domain: its issues, what both sides want, and the outcomes of note."""
    scenario = load(domain)
    if plot is not None:
        from negzoo.scenario.drawing import outcome_space  # matplotlib is slow to import

        save_figure(outcome_space(scenario), plot)
    if as_json:
        print_json(_details(scenario))
    else:
        _print_details(scenario)


def _summary(scenario: Scenario) -> dict[str, Any]:
    return _head(scenario) | {
        "issues": len(scenario.issues),
        "profiles": [profile.name for profile in scenario.profiles],
    }


def _details(scenario: Scenario) -> dict[str, Any]:
    geometry = Geometry(scenario)
    return _head(scenario) | {
        "hash": scenario.hash,
        "issues": [asdict(issue) for issue in scenario.issues],
        "profiles": [asdict(profile) for profile in scenario.profiles],
        "frontier": geometry.frontier.tolist(),
        "solutions": {name: _point(scenario, outcome) for name, outcome in geometry.solutions.items()},
    }


def _head(scenario: Scenario) -> dict[str, Any]:
    return {
        "name": scenario.name,
        "source": scenario.source,
        "outcomes": scenario.size,
        "conflict_level": Geometry(scenario).conflict_level,
    }


def _point(scenario: Scenario, outcome: int) -> dict[str, Any]:
    return {"outcome": outcome, "utilities": scenario.utilities[:, outcome].tolist()}


def _summary_table(summaries: list[dict[str, Any]]) -> Table:
    shown = table("Domain", "Issues>", "Outcomes>", "Conflict>", "Profiles", "Source")
    for row in summaries:
        conflict = f"{row['conflict_level']:.3f}"
        figures = [str(row["issues"]), str(row["outcomes"]), conflict]
        shown.add_row(row["name"], *figures, escape(" / ".join(row["profiles"])), escape(row["source"]))
    return shown


def _print_details(scenario: Scenario) -> None:
    out.print(f"[bold]{escape(scenario.name)}[/bold]  {escape(scenario.source)}\n")
    out.print(_preference_table(scenario))
    out.print(_solution_table(scenario))
    geometry = Geometry(scenario)
    out.print(f"{scenario.size} outcomes, {len(geometry.frontier)} on the Pareto frontier.")
    out.print(f"Conflict level {geometry.conflict_level:.4f}.  Hash {scenario.hash}.")


def _preference_table(scenario: Scenario) -> Table:
    """Each issue with both weights and, under it, its options with both evaluations; the rest comes last."""
    profiles = scenario.profiles
    shown = table("Issue and options", *(f"{profile.name}>" for profile in profiles))
    for position, issue in enumerate(scenario.issues):
        weights = [f"weight {profile.weights[position]:.4f}" for profile in profiles]
        shown.add_row(f"[bold]{escape(issue.name)}[/bold]", *weights)
        for option, name in enumerate(issue.options):
            evaluations = [f"{profile.evaluations[position][option]:g}" for profile in profiles]
            shown.add_row(Padding(escape(name), (0, 0, 0, 2)), *evaluations)
        shown.add_section()
    shown.add_row("[bold]No agreement[/bold] (reservation)", *(f"{p.reservation:g}" for p in profiles))
    shown.add_row("[bold]Discount[/bold] (not applied)", *(f"{p.discount or 'none'}" for p in profiles))
    return shown


def _solution_table(scenario: Scenario) -> Table:
    shown = table("Point", *(f"{profile.name}>" for profile in scenario.profiles), "Outcome")
    for name, outcome in Geometry(scenario).solutions.items():
        utilities = [f"{utility:.4f}" for utility in scenario.utilities[:, outcome]]
        shown.add_row(name, *utilities, escape(scenario.describe(outcome)))
    return shown

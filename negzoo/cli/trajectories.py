"""`negzoo trajectories`: what is in a log of negotiations."""

from dataclasses import asdict
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from negzoo.cli.console import out, print_json
from negzoo.cli.shown import table

if TYPE_CHECKING:
    from negzoo.trajectories import Encounters, Summary

app = typer.Typer(help="Look into logged negotiations.", no_args_is_help=True)

Log = Annotated[Path, typer.Argument(help="A trajectory file, or a folder with such files.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


@app.callback()
def trajectories() -> None:
    """Look into logged negotiations."""


@app.command()
def info(path: Log, as_json: AsJson = False) -> None:
    """Sum up a log: how much there is, how it ended, and what the learner got from whom.

    It may still be growing: what is complete now is summed up.
    """
    from negzoo.trajectories import open_trajectories  # h5py is slow to import

    with open_trajectories(path) as log:
        summary = log.summary()
    if as_json:
        print_json(_without_nan(asdict(summary)))
    else:
        _print(summary)


def _print(summary: "Summary") -> None:
    unfinished = f" ({summary.unfinished} unfinished)" if summary.unfinished else ""
    out.print(f"Files      {summary.files}{unfinished}")
    out.print(f"Episodes   {summary.episodes:,}")
    out.print(f"Steps      {summary.steps:,}, {summary.bytes_per_step:.1f} bytes each")
    endings = (f"{name} {count:,}" for name, count in summary.endings.items() if count)
    out.print(f"Endings    {', '.join(endings)}")
    out.print(f"Agreement  {summary.agreement_rate:.1%}\n")
    out.print(_encounter_table(summary.encounters))


def _encounter_table(encounters: "tuple[Encounters, ...]") -> Table:
    shown = table("Domain", "Stage", "Opponent", "Episodes>", "Agreed>", "Errors>", "Utility>", "Theirs>")
    for row in encounters:
        names = [escape(name) for name in (row.domain, row.stage, row.opponent)]
        counts = [f"{row.episodes:,}", f"{row.agreements / row.episodes:.1%}", f"{row.errors:,}"]
        shown.add_row(*names, *counts, _figure(row.utility), _figure(row.opponent_utility))
    return shown


def _figure(utility: float) -> str:
    return "–" if isnan(utility) else f"{utility:.3f}"


def _without_nan(data: Any) -> Any:
    """JSON has no NaN; null stands for it."""
    if isinstance(data, dict):
        return {key: _without_nan(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_without_nan(value) for value in data]
    return None if isinstance(data, float) and isnan(data) else data

"""`negzoo tournament`: everybody against everybody."""

import csv
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from negzoo.cli.console import err, out, print_json
from negzoo.cli.parameters import (
    AsJson,
    ClockName,
    Domains,
    LineageName,
    Opponents,
    Rounds,
    Seed,
    clock_of,
    lineage_of,
    opponents_of,
    scenarios_of,
)
from negzoo.cli.shown import save_figure, table
from negzoo.errors import NegzooError, did_you_mean

if TYPE_CHECKING:
    from negzoo.analysis.tournament import Crosstable, Encounter, Fixture, Tournament
    from negzoo.opponents import Games

SEATS = ("first", "both")
CELL = 4


def tournament(
    domains: Domains = None,
    opponents: Opponents = None,
    seats: Annotated[
        str,
        typer.Option("--seats", metavar="first|both", help="first: profile 1 opens. both: and then profile 2 does."),
    ] = "first",
    games: Annotated[int, typer.Option("--games", min=1, help="Negotiations per pair and seat.")] = 100,
    rounds: Rounds = 40,
    seed: Seed = 0,
    clock: ClockName = None,
    lineage: LineageName = "paper",
    workers: Annotated[int, typer.Option("--workers", min=1, help="Processes.")] = os.cpu_count() or 1,
    log: Annotated[Path | None, typer.Option(help="Log every negotiation to this trajectory file (.h5).")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw heat maps into this file (.png, .pdf, .svg).")] = None,
    csv_file: Annotated[Path | None, typer.Option("--csv", help="Write a line per pair and seat to this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Let every opponent meet every one, itself included, in every domain.

    In the tables the row holds profile 1 and the column profile 2. A negotiation without agreement counts 0.
    """
    from negzoo.analysis.tournament import Tournament, crosstables

    if seats not in SEATS:
        raise NegzooError(f'--seats "{seats}": unknown{did_you_mean(seats, SEATS)}')
    chosen = lineage_of(lineage)
    players, time = opponents_of(opponents, chosen), clock_of(clock, chosen)
    planned = Tournament(scenarios_of(domains), players, games, seed, rounds, time, seats == "both")
    encounters = _play(planned, workers, log)
    tables = crosstables(encounters)
    if csv_file is not None:
        _write_csv(csv_file, encounters)
    if plot is not None:
        from negzoo.analysis.plots import utility_heatmaps  # matplotlib is slow to import

        save_figure(utility_heatmaps(tables), plot)
    if as_json:
        print_json({**_settings(planned, chosen), "tables": [shown.as_json() for shown in tables]})
    else:
        _print(tables, f"{games} negotiations per pair{' and seat' if seats == 'both' else ''}, {chosen} lineage")


def _play(planned: "Tournament", workers: int, path: Path | None) -> "list[Encounter]":
    from negzoo.analysis.tournament import Encounter

    with _logger(path) as record:
        encounters = []
        for fixture, games in _watched(planned, workers):
            record(fixture, games)
            encounters.append(Encounter.of(fixture, games))
    return encounters


@contextmanager
def _logger(path: Path | None) -> "Iterator[Callable[[Fixture, Games], None]]":
    from negzoo.analysis.tournament import log
    from negzoo.trajectories import TrajectoryWriter

    with TrajectoryWriter(path) if path else nullcontext() as writer:
        yield lambda fixture, games: log(writer, fixture, games) if writer else None


def _watched(planned: "Tournament", workers: int) -> "Iterator[tuple[Fixture, Games]]":
    """The fixtures as they are played, with a progress bar if somebody watches."""
    played, total = planned.played(workers), len(planned.fixtures)
    return iter(track(played, "Playing", total, console=err, transient=True, disable=not err.is_terminal))


def _settings(planned: "Tournament", lineage: str) -> dict[str, object]:
    return {
        "games": planned.games,
        "seats": SEATS[planned.both_seats],
        "rounds": planned.rounds,
        "clock": planned.clock,
        "lineage": lineage,
        "seed": planned.seed,
    }


def _write_csv(path: Path, encounters: "list[Encounter]") -> None:
    from negzoo.files import write_text

    rows = [encounter.as_row() for encounter in encounters]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())


def _print(tables: "list[Crosstable]", note: str) -> None:
    for shown in tables:
        for profile in (0, 1):
            _print_matrix(shown, profile)
    out.print(_ranking(tables[-1]))
    out.print(f"Mean utilities, a failure counts 0; {note}.")


def _print_matrix(shown: "Crosstable", profile: int) -> None:
    """Who earned what with one of the profiles, in as many blocks of columns as the width asks for."""
    name = escape(shown.profiles[profile])
    out.print(f"[bold]{escape(shown.title)}: utility of {name}[/bold]")
    players = range(len(shown.labels))
    width = max(len(label) for label in shown.labels) + 4
    fitting = max(1, (out.width - width) // (CELL + 1) - 1)
    for start in range(0, len(players), fitting):
        out.print(_block(shown, profile, players[start : start + fitting]))


def _block(shown: "Crosstable", profile: int, columns: range) -> Table:
    block = table(f"{shown.profiles[0]} \\ {shown.profiles[1]}", *(f"{column + 1}>" for column in columns), "Mean>")
    for row, label in enumerate(shown.labels):
        figures = [f"{value:.2f}" for value in shown.utility[profile, row, columns].tolist()]
        block.add_row(f"{row + 1:>2} {escape(label)}", *figures, f"{shown.utility[profile, row].mean():.2f}")
    return block


def _ranking(shown: "Crosstable") -> Table:
    ranking = table(f"Ranking, {shown.title}", f"As {shown.profiles[0]}>", f"As {shown.profiles[1]}>", "Mean>")
    for player in shown.ranking:
        first, second = shown.means[:, player].tolist()
        figures = (f"{first:.3f}", f"{second:.3f}", f"{(first + second) / 2:.3f}")
        ranking.add_row(escape(shown.labels[player]), *figures)
    return ranking

"""`negzoo tournament`: everybody against everybody."""

import csv
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from negzoo.cli.console import out, print_json
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
from negzoo.cli.shown import save_figure, table, watched
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
    workers: Annotated[int, typer.Option("--workers", min=1, help="Processes.")] = 1,
    log: Annotated[Path | None, typer.Option(help="Log every negotiation to this trajectory file (.h5).")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw heat maps into this file (.png, .pdf, .svg).")] = None,
    csv_file: Annotated[Path | None, typer.Option("--csv", help="Write a line per pair and seat to this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Let every opponent meet every one, itself included, in every domain.

    In the tables the row holds profile 1 and the column profile 2. A negotiation
    without agreement counts 0.
    """
    from negzoo.analysis.tournament import Tournament, crosstables

    if seats not in SEATS:
        raise NegzooError(f'--seats "{seats}": unknown{did_you_mean(seats, SEATS)}')
    chosen = lineage_of(lineage)
    players, time = opponents_of(opponents, chosen), clock_of(clock, chosen)
    planned = Tournament(scenarios_of(domains), players, games, seed, rounds, time, seats == "both")
    encounters = _play(planned, workers, log)
    tables = crosstables(encounters)
    if as_json:
        print_json({**_settings(planned, chosen), "tables": [shown.as_json() for shown in tables]})
    else:
        _print(tables, f"{games} negotiations per pair{' and seat' if seats == 'both' else ''}, {chosen} lineage")
    if csv_file is not None:
        _write_csv(csv_file, encounters)
    if plot is not None:
        from negzoo.analysis.plots import utility_heatmaps  # matplotlib is slow to import

        save_figure(utility_heatmaps(tables), plot)


def _play(planned: "Tournament", workers: int, path: Path | None) -> "list[Encounter]":
    from negzoo.analysis.tournament import Encounter

    with _logger(path) as record:
        encounters = []
        for fixture, games in watched(planned.played(workers), len(planned.fixtures), "Playing"):
            record(fixture, games)
            encounters.append(Encounter.of(fixture, games))
    return encounters


@contextmanager
def _logger(path: Path | None) -> "Iterator[Callable[[Fixture, Games], None]]":
    from negzoo.analysis.tournament import log
    from negzoo.trajectories import TrajectoryWriter

    with TrajectoryWriter(path) if path else nullcontext() as writer:
        yield lambda fixture, games: log(writer, fixture, games) if writer else None


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
    """What one of the profiles earned, in as many blocks of columns as the width asks for."""
    out.print(f"[bold]{escape(shown.title)}: utility of {escape(shown.profiles[profile])}[/bold]")
    players = range(len(shown.labels))
    fitting = max(1, (out.width - max(map(len, shown.labels)) - len("13 ") - 1) // CELL - 1)
    for start in range(0, len(players), fitting):
        out.print(_block(shown, profile, players[start : start + fitting]))
        out.print()


def _block(shown: "Crosstable", profile: int, columns: range) -> Table:
    """Holders of profile 1 down, some holders of profile 2 across; the earner's mean over all it met comes last."""
    block = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    block.add_column(f"{escape(shown.profiles[0])} \\ {escape(shown.profiles[1])}", overflow="fold")
    for heading in [*(str(column + 1) for column in columns), *(["mean"] if profile == 0 else [])]:
        block.add_column(heading, justify="right", no_wrap=True)
    utility, means = shown.utility[profile], shown.means[profile]
    for row, label in enumerate(shown.labels):
        last = [means[row]] if profile == 0 else []
        block.add_row(f"{row + 1:>2} {escape(label)}", *map(_short, [*utility[row, columns], *last]))
    if profile == 1:
        block.add_row("   mean", *map(_short, means[columns]), style="bold")
    return block


def _short(value: float) -> str:
    """Two decimals of a utility, in three characters."""
    return "1.0" if value >= 0.995 else f"{value:.2f}".removeprefix("0")


def _ranking(shown: "Crosstable") -> Table:
    ranking = table(f"Ranking, {shown.title}", f"As {shown.profiles[0]}>", f"As {shown.profiles[1]}>", "Mean>")
    for player in shown.ranking:
        first, second = shown.means[:, player].tolist()
        figures = (f"{first:.3f}", f"{second:.3f}", f"{(first + second) / 2:.3f}")
        ranking.add_row(escape(shown.labels[player]), *figures)
    return ranking

"""`negzoo opponents`: who there is to play, how they concede, and whether they still play as recorded."""

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    side_of,
)
from negzoo.cli.shown import reflowed, save_figure, table, watched

if TYPE_CHECKING:
    from negzoo.analysis.concession import Concession
    from negzoo.analysis.yardsticks import Yardstick
    from negzoo.opponents.registry import Entry

app = typer.Typer(help="List the opponents, show how they play, and measure them.")

SHOWN_TURNS = 8
HEADINGS = {
    "opponent": "Opponents",
    "family": "Families: give parameters, as in TimeDependent(e=0.3)",
    "yardstick": "Yardsticks: trivial on purpose",
}

Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="Opponents, e.g. Boulware1 or TitForTat(gamma=3).")]
Domain = Annotated[str, typer.Option("--domain", help="A shipped domain's name, or a path to a .toml file.")]
Side = Annotated[int, typer.Option("--side", metavar="1|2", help="The profile that the opponent holds.")]
Games = Annotated[int, typer.Option("--games", min=1, help="Negotiations behind each figure.")]


@app.callback(invoke_without_command=True)
def list_opponents(context: typer.Context, as_json: AsJson = False) -> None:
    """List the opponents. `negzoo opponents show NAME` shows one."""
    if context.invoked_subcommand is not None:
        return
    from negzoo.analysis.roster import KINDS, listed

    groups = {kind: listed(kind) for kind in KINDS}
    if as_json:
        print_json([_head(name, entry) for members in groups.values() for name, entry in members.items()])
        return
    for kind, members in groups.items():
        out.print(f"[bold]{HEADINGS[kind]}[/bold]")
        out.print(_list_table(members))


@app.command()
def show(
    names: Names,
    domain: Domain = "laptop",
    side: Side = 2,
    lineage: LineageName = "paper",
    clock: ClockName = None,
    rounds: Rounds = 40,
    games: Games = 100,
    seed: Seed = 0,
    plot: Annotated[Path | None, typer.Option(help="Draw the curves into this file (.png, .pdf, .svg).")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what opponents are and how they concede.

    The curve is what their own offers are worth to them, turn by turn, against
    a partner that opens, never accepts and keeps offering its own best outcome.
    Once they would accept that, it offers what is worth least to them, so that
    they go on.
    """
    from negzoo.analysis.concession import concession
    from negzoo.scenario import load

    scenario, seat, chosen = load(domain), side_of(side), lineage_of(lineage)
    opponents, time = opponents_of(names, chosen), clock_of(clock, chosen)
    curves = [
        concession(label, opponent, scenario, seat, games, seed, rounds, time) for label, opponent in opponents.items()
    ]
    entries = [_entry(label) for label in opponents]
    if as_json:
        pairs = zip(entries, curves, strict=True)
        print_json([_head(name, entry) | {"curve": _curve(curve)} for (name, entry), curve in pairs])
    else:
        _print_sources(dict(entries))
        _print_curves(curves, f"{chosen} lineage, {time} clock, {rounds} rounds")
    if plot is not None:
        from negzoo.analysis.plots import concession_curves  # matplotlib is slow to import

        save_figure(concession_curves(curves), plot)


@app.command()
def replay(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Recorded games, or folders of them.")],
) -> None:
    """Play recorded games again, draw for draw: does an opponent make every recorded move?

    Each game that departs is named, with the turn. The exit code is 1 if there is any.
    """
    from negzoo.opponents.replay import read_game
    from negzoo.opponents.replay import replay as played_again

    files = _game_files(paths)
    departed = 0
    for file in files:
        if mismatch := played_again(read_game(file)):
            departed += 1
            out.print(f"{escape(str(file))}: {escape(str(mismatch))}", soft_wrap=True)
    out.print(f"{len(files)} recorded games, {len(files) - departed} the same move by move, {departed} not")
    if departed:
        raise typer.Exit(1)


@app.command()
def yardsticks(
    domains: Domains = None,
    opponents: Opponents = None,
    lineage: LineageName = "paper",
    games: Games = 100,
    seed: Seed = 0,
    markdown: Annotated[Path | None, typer.Option(help="Write the table to this file, as Markdown.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure what trivial policies earn against every opponent.

    AcceptFirst takes the first offer, Hardliner keeps offering its best outcome,
    LateHardliner does the same and accepts at its last turn. They move first and
    hold profile 1. A failed negotiation counts 0.
    """
    from negzoo.analysis.yardsticks import to_markdown
    from negzoo.analysis.yardsticks import yardsticks as measured

    chosen = lineage_of(lineage)
    scenarios, players = scenarios_of(domains), opponents_of(opponents, chosen)
    work = measured(scenarios, players, games, seed, clock_of(None, chosen))
    rows = list(watched(work, len(scenarios) * len(players), "Measuring"))
    if as_json:
        print_json([_yardstick(row) for row in rows])
    else:
        _print_yardsticks(rows, f"{games} negotiations per figure, {chosen} lineage")
    if markdown is not None:
        from negzoo.files import write_text

        write_text(markdown, to_markdown(rows))


def _head(name: str, entry: "Entry") -> dict[str, Any]:
    from negzoo.analysis.roster import kind, lineages, module, parameters

    return {
        "name": name,
        "kind": kind(entry),
        "summary": entry.summary,
        "parameters": parameters(entry),
        "lineages": list(lineages(entry)),
        "module": module(entry),
    }


def _entry(label: str) -> "tuple[str, Entry]":
    """The name and entry behind what was typed."""
    from negzoo.opponents.registry import entries

    name = label.partition("(")[0].strip()
    return name, dict(entries())[name]


def _list_table(members: "dict[str, Entry]") -> Table:
    from negzoo.analysis.roster import lineages, parameters

    listed = table("Name", "Parameters", "Lineages", "What it does")
    for name, entry in members.items():
        free = ", ".join(parameter for parameter in parameters(entry) if parameter != "lineage")
        summary = entry.summary.removeprefix("yardstick: ")
        listed.add_row(name, free or "–", ", ".join(lineages(entry)) or "–", escape(summary))
    return listed


def _print_sources(entries: "dict[str, Entry]") -> None:
    """Each opponent in a few lines; the algorithm that several share is told once, after the last of them."""
    from negzoo.analysis.roster import lineages, module, parameters, source

    by_module: dict[str, list[str]] = {}
    for name, entry in entries.items():
        by_module.setdefault(module(entry), []).append(name)
    for where, names in by_module.items():
        for name in names:
            entry = entries[name]
            out.print(f"[bold]{escape(name)}[/bold]: {escape(entry.summary)}")
            free = {key: default for key, default in parameters(entry).items() if key != "lineage"}
            given = ", ".join(f"{key}={default!r}" for key, default in free.items())
            out.print(f"  lineages: {', '.join(lineages(entry)) or 'one'};  parameters: {escape(given) or 'none'}")
        out.print(f"\n[bold]How it plays[/bold] ({where})\n")
        out.print(escape(reflowed(source(entries[names[0]]), min(out.width, 100))) + "\n")


def _curve(curve: "Concession") -> dict[str, Any]:
    from negzoo.analysis.concession import BAND

    low, high = (_numbers(curve.quantile(share).tolist()) for share in BAND)
    return {
        "label": curve.label,
        "domain": curve.scenario.name,
        "profile": curve.side + 1,
        "partner_offer": float(curve.scenario.utilities[curve.side, curve.partner_offer]),
        "games": len(curve.offers),
        "time": curve.time.tolist(),
        "utility": _numbers(curve.mean.tolist()),
        "low": low,
        "high": high,
        "accept_rate": curve.accept_rate,
        "accept_turn": curve.accept_turn,
    }


def _numbers(values: list[float]) -> list[float | None]:
    """JSON has no NaN; null stands for it."""
    return [None if isnan(value) else value for value in values]


def _print_curves(curves: "list[Concession]", terms: str) -> None:
    scenario, side, time = curves[0].scenario, curves[0].side, curves[0].time
    turns = sorted({round(turn) for turn in _spread(len(time) - 1)})
    who, offered = scenario.profiles[side].name, scenario.utilities[side, curves[0].partner_offer]
    out.print(f"[bold]What its own offers are worth to it[/bold] on {escape(scenario.name)} as {escape(who)}")
    out.print(f"{terms}. Its partner opens, never accepts, and keeps offering what is worth {offered:.3f} to it.")
    shown = table("Time", *(f"{time[turn]:.2f}>" for turn in turns), "Accepts>")
    for curve in curves:
        figures = ["–" if isnan(value) else f"{value:.2f}" for value in curve.mean[turns].tolist()]
        shown.add_row(escape(curve.label), *figures, _acceptance(curve))
    out.print(shown)
    out.print("Accepts: when it would take that offer; from there on its partner offers what is worth least to it.")


def _spread(last: int) -> list[float]:
    return [last * step / (SHOWN_TURNS - 1) for step in range(SHOWN_TURNS)]


def _acceptance(curve: "Concession") -> str:
    if curve.accept_turn is None:
        return "never"
    at = f"{curve.time[curve.accept_turn - 1]:.2f}"
    return at if curve.accept_rate == 1 else f"{at} ({curve.accept_rate:.0%})"


def _game_files(paths: list[Path]) -> list[Path]:
    from negzoo.errors import OpponentError

    files: list[Path] = []
    for path in paths:
        found = sorted(path.glob("*.json.gz")) if path.is_dir() else [path]
        if not found:
            raise OpponentError(f"{path}: no recorded games there; they are called *.json.gz")
        files += found
    return files


def _yardstick(row: "Yardstick") -> dict[str, Any]:
    scores = {policy: score.as_json() for policy, score in row.scores.items()}
    return {"domain": row.domain, "opponent": row.opponent, "scores": scores}


def _print_yardsticks(rows: "list[Yardstick]", note: str) -> None:
    from negzoo.analysis.yardsticks import YARDSTICKS, mean_utility

    for domain in dict.fromkeys(row.domain for row in rows):
        shown = table(domain, *(f"{policy}>" for policy in YARDSTICKS))
        own = [row for row in rows if row.domain == domain]
        for row in own:
            shown.add_row(escape(row.opponent), *(f"{row.scores[policy].utility:.3f}" for policy in YARDSTICKS))
        shown.add_section()
        shown.add_row("[bold]mean[/bold]", *(f"{mean_utility(own, policy):.3f}" for policy in YARDSTICKS))
        out.print(shown)
    out.print(f"Mean utility of the policy, a failure counts 0; {note}.")

"""What several commands take: options, and how what is typed becomes domains, opponents and a clock."""

from typing import TYPE_CHECKING, Annotated, cast

import typer

from negzoo.errors import NegzooError, SettingsError, did_you_mean

if TYPE_CHECKING:
    from negzoo.engine import Clock
    from negzoo.opponents import Lineage, Opponent
    from negzoo.scenario import Scenario

Domains = Annotated[
    list[str] | None,
    typer.Option(
        "--domains", metavar="NAME,...", help="Domains or .toml files, separated by commas; all if none is named."
    ),
]
Opponents = Annotated[
    list[str] | None,
    typer.Option(
        "--opponents",
        metavar="NAME,...",
        help="Opponents, separated by commas; the thirteen, and any of your own, if none is named.",
    ),
]
LineageName = Annotated[str, typer.Option("--lineage", metavar="paper|genius", help="Lineage of the opponents.")]
ClockName = Annotated[
    str | None,
    typer.Option(
        "--clock", metavar="paper|genius", help="Time that the players see; that of the lineage if none is named."
    ),
]
Rounds = Annotated[int, typer.Option("--rounds", min=1, help="The deadline: moves that each side has at most.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of all random draws.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def split_names(given: list[str] | None) -> list[str]:
    """The names in options that may be repeated and hold several each: commas within parentheses separate none."""
    names: list[str] = []
    for text in given or []:
        depth, start = 0, 0
        for end, letter in enumerate(text + ","):
            depth += (letter == "(") - (letter == ")")
            if letter == "," and (depth <= 0 or end == len(text)):
                names.append(text[start:end].strip())
                start = end + 1
    return list(dict.fromkeys(filter(None, names)))


def lineage_of(name: str) -> "Lineage":
    """The lineage of that name; raises an OpponentError if there is none."""
    from negzoo.opponents.base import check_lineage

    check_lineage(name)
    return cast("Lineage", name)


def clock_of(name: str | None, lineage: "Lineage") -> "Clock":
    """The clock of that name, or the one that goes with the lineage; raises a SettingsError if there is none."""
    from negzoo.engine import CLOCKS

    if name is not None and name not in CLOCKS:
        raise SettingsError(f'--clock "{name}": unknown clock{did_you_mean(name, CLOCKS)}')
    return name or lineage


def scenarios_of(given: list[str] | None) -> "tuple[Scenario, ...]":
    """The domains asked for, or all that are shipped; raises a ScenarioError for what is none."""
    from negzoo.scenario import load, names

    return tuple(load(name) for name in split_names(given) or names())


def opponents_of(given: list[str] | None, lineage: "Lineage") -> "dict[str, Opponent]":
    """The opponents asked for by what was typed, or all standard ones; raises an OpponentError for what is none."""
    from negzoo.analysis.roster import resolved, standard

    return resolved(split_names(given) or standard(), lineage)


def side_of(number: int) -> int:
    """Profile 1 or 2, as an index."""
    if number not in (1, 2):
        raise NegzooError(f"--side {number}: a domain has two sides; give 1 or 2")
    return number - 1

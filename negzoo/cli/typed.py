"""What a person types at the negotiation table, understood.

An offer names one option per issue, in the order of the issues. Options are separated by semicolons, by commas, or,
where none of them has a blank in it, by blanks. An option is its name, its number, or the beginning of its name where
no other option begins so; whatever the case of the letters. `Issue=option` is understood as well.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from negzoo.errors import MoveError, did_you_mean
from negzoo.opponents import Accept, Offer, Walk
from negzoo.scenario import Issue, Scenario

ACCEPTS = ("accept",)
LEAVES = ("quit", "exit")
HELPS = ("help", "?")
SHOWS = ("options",)
LISTS = ("list",)

_SEPARATORS = (r";", r",\s+", r",", r"\s+")


@dataclass(frozen=True)
class Help:
    """The person asks what can be typed."""


@dataclass(frozen=True)
class ShowOptions:
    """The person asks for the issues and options again."""


@dataclass(frozen=True)
class ListOffers:
    """The person asks for outcomes worth at most `ceiling`, best first."""

    ceiling: float


Typed: TypeAlias = Offer | Accept | Walk | Help | ShowOptions | ListOffers


def understood(line: str, scenario: Scenario) -> Typed:
    """What a line means.

    Raises:
        MoveError: nothing that can be done here; the message says what could be typed.
    """
    word, _, rest = line.strip().partition(" ")
    match word.lower():
        case command if command in LISTS:
            return ListOffers(_ceiling(rest))
        case command if rest == "" and command in _COMMANDS:
            return _COMMANDS[command]
    return Offer(outcome(line, scenario))


_COMMANDS: dict[str, Typed] = {
    **dict.fromkeys(ACCEPTS, Accept()),
    **dict.fromkeys(LEAVES, Walk()),
    **dict.fromkeys(HELPS, Help()),
    **dict.fromkeys(SHOWS, ShowOptions()),
}


def _ceiling(text: str) -> float:
    if not text.strip():
        return 1.0
    try:
        return float(text)
    except ValueError:
        raise MoveError(f'list "{text.strip()}": give a utility, such as list 0.8') from None


def outcome(line: str, scenario: Scenario) -> int:
    """The outcome that a line of options names.

    Raises:
        MoveError: not one option per issue, or an option that there is not.
    """
    readings = [_pieces(line, separator, scenario.issues) for separator in _SEPARATORS]
    fitting = [pieces for pieces in readings if len(pieces) == len(scenario.issues)]
    if not fitting:
        names = ", ".join(issue.name for issue in scenario.issues)
        raise MoveError(f"give an option for each of: {names}; separate them by commas or semicolons, or type help")
    return scenario.index(_first_understood(fitting, scenario.issues))


def _pieces(line: str, separator: str, issues: Sequence[Issue]) -> list[str]:
    if len(issues) == 1:
        return [line]
    return [piece for piece in re.split(separator, line.strip()) if piece.strip()]


def _first_understood(readings: Sequence[Sequence[str]], issues: Sequence[Issue]) -> list[int]:
    errors = []
    for pieces in readings:
        try:
            return [option(piece, issue) for piece, issue in zip(pieces, issues, strict=True)]
        except MoveError as error:
            errors.append(error)
    raise errors[0]


def option(text: str, issue: Issue) -> int:
    """The option of an issue that `text` means: by its name, else its number from 1, else the beginning of its name.

    Raises:
        MoveError: none, or several.
    """
    wanted, names = _key(_without_issue(text, issue)), [_key(name) for name in issue.options]
    if wanted in names:
        return names.index(wanted)
    if wanted.isdecimal() and 1 <= int(wanted) <= len(names):
        return int(wanted) - 1
    beginning = [number for number, name in enumerate(names) if wanted and name.startswith(wanted)]
    if len(beginning) == 1:
        return beginning[0]
    if beginning:
        several = ", ".join(issue.options[number].strip() for number in beginning)
        raise MoveError(f'{issue.name}: "{text.strip()}" may be {several}; type more of it, or its number')
    raise MoveError(f'{issue.name}: no option "{text.strip()}"{did_you_mean(text.strip(), issue.options)}')


def _without_issue(text: str, issue: Issue) -> str:
    name, equals, rest = text.partition("=")
    return rest if equals and _key(name) == _key(issue.name) else text


def _key(name: str) -> str:
    return " ".join(name.casefold().split())

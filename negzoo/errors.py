"""The errors a user can cause: each says what is wrong, where, and what to do."""

from collections.abc import Iterable
from difflib import get_close_matches


class NegzooError(Exception):
    """A mistake in what negzoo was given. The command line prints it as one line and exits with code 2."""


class ScenarioError(NegzooError):
    """A domain that cannot be found, read or negotiated."""


class OpponentError(NegzooError):
    """An opponent that does not exist, has bad parameters, or cannot play here."""


class SettingsError(NegzooError):
    """A setting out of its range."""


class MoveError(NegzooError):
    """A move that the rules do not allow."""


class CheckpointError(NegzooError):
    """A saved policy that cannot be loaded, or does not belong to this scenario."""


class LeagueError(NegzooError):
    """A league file or run folder that cannot be used."""


class TrajectoryError(NegzooError):
    """A trajectory file that cannot be read or written."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """` (did you mean "X"?)` for the closest known name, or the whole list where nothing is close."""
    names = sorted(known)
    by_lower = {candidate.lower(): candidate for candidate in names}
    close = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    if close:
        return f' (did you mean "{by_lower[close[0]]}"?)'
    return f" (known: {', '.join(names)})"

"""What an opponent is: a strategy described (Opponent), and the same strategy seated at N tables (Seat)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from negzoo.engine import Negotiations
from negzoo.errors import OpponentError, did_you_mean
from negzoo.scenario import Scenario

Lineage = Literal["paper", "genius"]
LINEAGES: tuple[Lineage, ...] = get_args(Lineage)

Rows: TypeAlias = NDArray[np.int64]
Moves: TypeAlias = NDArray[np.int32]
Keys: TypeAlias = NDArray[np.uint64]


class Seat(ABC):
    """A strategy at N tables of one scenario, on one side. It knows its own side's utilities only."""

    @abstractmethod
    def start(self, rows: Rows, keys: Keys, indices: Keys) -> None:
        """Begin new negotiations at the tables `rows`; nothing of earlier ones may survive.

        Args:
            rows: int64 [n], the tables.
            keys: uint64 [n], the key of each negotiation's random stream.
            indices: uint64 [n], its index: the stream is (key, index).
        """

    @abstractmethod
    def reply(self, rows: Rows, negotiations: Negotiations, out: Moves) -> None:
        """Write the strategy's move into out[row] for every table of `rows`, all at its turn; `out` is int32 [N]."""

    def member(self, rows: Rows) -> NDArray[np.int32]:
        """Which member of a pool plays at each of `rows`, int32 [n]; all 0 for a single strategy."""
        return np.zeros(len(rows), np.int32)


class Opponent(ABC):
    """A negotiating strategy with its parameters, not yet at a table."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What people call it, e.g. `Boulware1`; unique among the members of a pool."""

    @property
    def members(self) -> tuple["Opponent", ...]:
        """The strategies that may turn up: itself, or the members of a pool."""
        return (self,)

    @property
    def identity(self) -> str:
        """Everything that makes it play as it does, in one line; runs are identified by it."""
        return repr(self)

    @abstractmethod
    def seat(self, scenario: Scenario, side: int, size: int) -> Seat:
        """Seat the strategy at `size` tables with profile `side` (0 or 1) of the scenario."""


@dataclass(frozen=True)
class Champion(Opponent):
    """A strategy with no parameter but its lineage.

    Attributes:
        lineage: which code it is exact to, see docs/opponents.md.

    Raises:
        OpponentError: the lineage is unknown.
    """

    lineage: Lineage = "paper"

    def __post_init__(self) -> None:
        check_lineage(self.lineage)

    @property
    def name(self) -> str:
        return type(self).__name__


def check_lineage(lineage: str) -> None:
    """Refuse an unknown lineage."""
    if lineage not in tuple(LINEAGES):
        raise OpponentError(f'unknown lineage "{lineage}"{did_you_mean(str(lineage), LINEAGES)}')


def with_noise(name: str, noise: float) -> str:
    """The name of a strategy that plays with noise, as the registry reads it."""
    if not noise:
        return name
    return f"{name[:-1]}, noise={noise!r})" if name.endswith(")") else f"{name}(noise={noise!r})"


def check_number(what: str, value: object, low: float, *, above: bool = False) -> None:
    """Refuse anything but a finite number of at least `low` (or above it)."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    try:
        figure = float(value) if number else np.nan  # type: ignore[arg-type]
    except OverflowError:
        figure = np.inf
    if not np.isfinite(figure) or figure < low or (above and figure == low):
        raise OpponentError(f"{what} = {value!r}: give a number {'above' if above else 'of at least'} {low:g}")

"""A strategy in ten lines of Python: subclass PythonOpponent, answer a PlayerView with Offer, Accept or Walk."""

import copy
import hashlib
import inspect
import warnings
from abc import abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from negzoo.engine import ACCEPT, FAULT, NOTHING, WALK, Negotiations
from negzoo.errors import OpponentError
from negzoo.opponents.base import Keys, Moves, Opponent, Rows, Seat
from negzoo.scenario import Issue, Scenario


@dataclass(frozen=True)
class Offer:
    """Offer an outcome, by its index."""

    outcome: int


@dataclass(frozen=True)
class Accept:
    """Accept the standing offer."""


@dataclass(frozen=True)
class Walk:
    """End the negotiation without agreement."""


Answer: TypeAlias = Offer | Accept | Walk | None
"""A strategy's answer; None is no move at all and breaks the negotiation down."""


class OpponentFault(UserWarning):
    """A Python strategy raised or answered nonsense; its negotiation ends as `ERROR`."""


@dataclass(frozen=True)
class PlayerView:
    """What a player sees at its turn: its own side and the offers so far.

    Attributes:
        issues: the issues and their options.
        utilities: float64 [Ω], own utility of each outcome, in [0, 1], read-only.
        reservation: own utility of no agreement.
        offers: the outcomes offered so far by both, in order; the last one is the other side's.
        round: the current round, from 1.
        rounds: the number of rounds; each side moves once in each.
        time: the time on the table's clock, in [0, 1).
        rng: this negotiation's own random numbers.
    """

    issues: tuple[Issue, ...]
    utilities: NDArray[np.float64]
    reservation: float
    offers: tuple[int, ...]
    round: int
    rounds: int
    time: float
    rng: np.random.Generator

    @property
    def received(self) -> int | None:
        """The standing offer, None on the opening move."""
        return self.offers[-1] if self.offers else None

    @property
    def received_utility(self) -> float:
        """Own utility of the standing offer; the reservation value where there is none."""
        return self.reservation if self.received is None else float(self.utilities[self.received])

    @property
    def mine(self) -> tuple[int, ...]:
        """Own offers so far, in order."""
        return self.offers[len(self.offers) % 2 :: 2]

    @property
    def theirs(self) -> tuple[int, ...]:
        """The other side's offers so far, in order."""
        return self.offers[1 - len(self.offers) % 2 :: 2]

    @cached_property
    def best(self) -> int:
        """The outcome of highest own utility, the first of equals."""
        return int(np.argmax(self.utilities))

    def within(self, low: float, high: float = np.inf) -> NDArray[np.int64]:
        """The outcomes whose own utility lies in [low, high], best first."""
        found = np.flatnonzero((self.utilities >= low) & (self.utilities <= high))
        return found[np.argsort(-self.utilities[found], kind="stable")]


class PythonOpponent(Opponent):
    """A strategy written in Python. Every negotiation gets a fresh copy, so attributes may hold its memory.

    ```python
    class Stubborn(PythonOpponent):
        def respond(self, view):
            if view.received_utility >= 0.9 - 0.4 * view.time:
                return Accept()
            return Offer(view.best)
    ```
    """

    @abstractmethod
    def respond(self, view: PlayerView) -> Answer:
        """The answer at one's turn."""

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def identity(self) -> str:
        """Name, attributes and a digest of the source, so that an edited strategy counts as another one."""
        settings = ", ".join(f"{key}={value!r}" for key, value in sorted(vars(self).items()))
        return f"{type(self).__name__}({settings})#{_source_digest(type(self))}"

    def seat(self, scenario: Scenario, side: int, size: int) -> "PythonSeat":
        return PythonSeat(self, scenario, side, size)


def _source_digest(strategy: type) -> str:
    try:
        source = inspect.getsource(strategy)
    except (OSError, TypeError):
        return "unknown"
    return hashlib.blake2b(source.encode(), digest_size=6).hexdigest()


class PythonSeat(Seat):
    """A Python strategy at N tables, one copy of it per table."""

    def __init__(self, prototype: PythonOpponent, scenario: Scenario, side: int, size: int) -> None:
        self.prototype, self.scenario = prototype, scenario
        self.utilities, self.reservation = scenario.utilities[side].copy(), scenario.profiles[side].reservation
        self.utilities.setflags(write=False)
        self.players: list[PythonOpponent] = [prototype] * size
        self.rngs: list[np.random.Generator] = [np.random.default_rng(0)] * size

    def start(self, rows: Rows, keys: Keys, indices: Keys) -> None:
        for row, key, number in zip(rows.tolist(), keys.tolist(), indices.tolist(), strict=True):
            self.players[row] = copy.deepcopy(self.prototype)
            self.rngs[row] = np.random.Generator(np.random.Philox(key=key, counter=[0, 0, number, 0]))

    def reply(self, rows: Rows, negotiations: Negotiations, out: Moves) -> None:
        for row in rows.tolist():
            out[row] = self._move(row, negotiations)

    def _move(self, row: int, negotiations: Negotiations) -> int:
        view = self._view(row, negotiations)
        try:
            return self._as_move(self.players[row].respond(view), view)
        except Exception as fault:  # whatever a user's strategy raises ends its negotiation, not the run
            message = f"{self.prototype.name}, round {view.round}: {type(fault).__name__}: {fault}"
            warnings.warn(message, OpponentFault, stacklevel=2)
            return FAULT

    def _view(self, row: int, negotiations: Negotiations) -> PlayerView:
        offers = tuple(negotiations.history(row).tolist())
        return PlayerView(
            self.scenario.issues,
            self.utilities,
            self.reservation,
            offers,
            len(offers) // 2 + 1,
            negotiations.rounds,
            negotiations.time(row),
            self.rngs[row],
        )

    def _as_move(self, answer: Answer, view: PlayerView) -> int:
        match answer:
            case Offer(outcome):
                return self._as_outcome(outcome)
            case Accept() if view.received is None:
                raise OpponentError("accepted on the opening move, where there is no offer to accept")
            case Accept():
                return ACCEPT
            case Walk():
                return WALK
            case None:
                return NOTHING
        raise OpponentError(f"answered {answer!r}; an answer is Offer(outcome), Accept() or Walk()")

    def _as_outcome(self, offered: int) -> int:
        size = self.scenario.size
        with suppress(TypeError):
            if 0 <= index(offered) < size:
                return index(offered)
        raise OpponentError(f"offered outcome {offered!r}; {self.scenario.name} has the whole numbers 0 to {size - 1}")

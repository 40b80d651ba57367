"""Recorded games: does an opponent make every recorded move again?

A recorded game is gzipped JSON: `lineage`, `agent` (with `e` for TimeDependent), `domain`, `agent_side` (1 or 2),
`script` (the 40 bids of its partner, who moves first) and `log`, one entry per turn of the agent: `act` (OFFER, ACCEPT,
END), `bid` (an option per issue) and `draws`, the random numbers it used. Draws are a float, `[n, k]` or `["i", n, k]`
for index k of n, `["c", n, [k, ...]]` for several. GENIUS's AgentGG draws so many that some recordings leave them out;
they come from java.util.Random(seed), an option of each issue in turn, and are drawn again here.
"""

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from negzoo.engine import ACCEPT, NOTHING, Ending, Negotiations
from negzoo.errors import NegzooError, OpponentError
from negzoo.opponents.base import Opponent, Rows
from negzoo.opponents.kernel import KernelSeat, Minds
from negzoo.opponents.registry import resolve
from negzoo.scenario import Scenario, load

_ROW: Rows = np.zeros(1, np.int64)


@dataclass(frozen=True)
class RecordedTurn:
    """One turn of the recorded agent: its move, and the draws behind it, float64 [draws]."""

    move: int
    draws: NDArray[np.float64]


@dataclass(frozen=True)
class RecordedGame:
    """A recorded negotiation.

    Attributes:
        opponent: who was recorded.
        scenario: what was negotiated.
        side: the profile (0 or 1) that the opponent held; it moved second.
        script: int32 [rounds], the outcomes that its partner offered.
        turns: what it did, turn by turn.
        tape: float64 [draws], the random numbers it used, in order; a single 0 where there are none, so that a stray
            draw shows.
        counts_draws: whether each turn's draws are recorded, so that a replay has to use as many.
        memory: values of its memory at the start that the recording fixes.
    """

    opponent: Opponent
    scenario: Scenario
    side: int
    script: NDArray[np.int32]
    turns: tuple[RecordedTurn, ...]
    tape: NDArray[np.float64]
    counts_draws: bool
    memory: dict[str, int]


def read_game(path: Path) -> RecordedGame:
    """Read a recorded game.

    Raises:
        OpponentError: the file is missing or is not a recorded game.
    """
    try:
        return _game(json.loads(gzip.decompress(path.read_bytes())))
    except NegzooError as error:
        raise OpponentError(f"{path}: {error}") from None
    except (OSError, EOFError, zlib.error, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise OpponentError(f"{path}: not a readable recorded game ({type(error).__name__}: {error})") from None


def _game(record: dict[str, Any]) -> RecordedGame:
    scenario = load(record["domain"])
    agent = f"TimeDependent(e={record['e']})" if record["agent"] == "TimeDependent" else record["agent"]
    turns = [_turn(entry, scenario) for entry in record["log"] if "act" in entry]
    memory = {field: scenario.index(bid) for field, bid in record.get("init", {}).items()}
    script = np.array([scenario.index(bid) for bid in record["script"]], np.int32)
    drawn = np.concatenate([turn.draws for turn in turns]) if turns else np.empty(0)
    regenerated = record["lineage"] == "genius" and record["agent"] == "AgentGG" and not drawn.size
    tape = java_options(record["seed"], scenario.shape) if regenerated else drawn if drawn.size else np.zeros(1)
    opponent, side = resolve(agent, record["lineage"]), record["agent_side"] - 1
    _check(side, script.size, len(turns), memory)
    return RecordedGame(opponent, scenario, side, script, tuple(turns), tape, not regenerated, memory)


def _check(side: int, offers: int, turns: int, memory: dict[str, int]) -> None:
    if side not in (0, 1):
        raise OpponentError(f'"agent_side" is {side + 1}; it is 1 or 2')
    if not 0 < turns <= offers:
        raise OpponentError(f"{turns} turns but {offers} offers in the script; every turn answers an offer")
    if unknown := set(memory) - {"max_bid"}:
        raise OpponentError(f'"init" fixes {sorted(unknown)}; only max_bid is known')


def java_options(seed: int, shape: tuple[int, ...], count: int = 400_000) -> NDArray[np.float64]:
    """What java.util.Random(seed) draws by nextInt for an option of each issue, again and again: float64 [count]."""
    bits = _java_bits(seed)
    return np.array([_java_below(bits, options) for options in islice(cycle(shape), count)], np.float64)


def _java_bits(seed: int) -> Iterator[int]:
    """31 bits at a time."""
    state = (seed ^ 0x5DEECE66D) & (2**48 - 1)
    while True:
        state = (state * 0x5DEECE66D + 0xB) & (2**48 - 1)
        yield state >> 17


def _java_below(bits: Iterator[int], n: int) -> int:
    if n & (n - 1) == 0:
        return (n * next(bits)) >> 31
    while (drawn := next(bits)) - drawn % n + n - 1 >= 2**31:
        pass
    return drawn % n


def _turn(entry: dict[str, Any], scenario: Scenario) -> RecordedTurn:
    moves = {"ACCEPT": ACCEPT, "END": NOTHING}
    move = scenario.index(entry["bid"]) if entry["act"] == "OFFER" else moves[entry["act"]]
    return RecordedTurn(move, np.array(list(_flat_draws(entry.get("draws", []))), np.float64))


def _flat_draws(draws: list[Any]) -> Iterator[float]:
    for draw in draws:
        match draw:
            case ["c", _, several]:
                yield from map(float, several)
            case [*_, index]:
                yield float(index)
            case _:
                yield float(draw)


@dataclass(frozen=True)
class Mismatch:
    """The first turn at which a replay departs from the recording."""

    turn: int
    recorded: int
    played: int
    draws: tuple[int, int]
    """How many draws the recording and the replay had used by then."""

    def __str__(self) -> str:
        draws = f"draws {self.draws[0]}, {self.draws[1]}"
        return f"turn {self.turn}: recorded move {self.recorded}, played {self.played} ({draws})"


def replay(game: RecordedGame) -> Mismatch | None:
    """Play a recorded game again, draw for draw; the first departure from it, or None."""
    seat = game.opponent.seat(game.scenario, game.side, 1)
    if not isinstance(seat, KernelSeat):
        raise OpponentError(f"{game.opponent.name} is not a compiled strategy, so it cannot be replayed draw for draw")
    seat.start(_ROW, np.zeros(1, np.uint64), np.zeros(1, np.uint64))
    minds = seat.minds
    seat.minds = Minds(minds.memory, minds.notes, minds.streams, game.tape)
    for field, value in game.memory.items():
        seat.minds.memory[field] = value
    return _first_departure(game, seat)


def _first_departure(game: RecordedGame, seat: KernelSeat) -> Mismatch | None:
    negotiations = Negotiations(1, len(game.script), "genius" if _is_genius(game.opponent) else "paper")
    move, drawn = np.zeros(1, np.int32), 0
    for number, turn in enumerate(game.turns, 1):
        negotiations.apply(_ROW, game.script[number - 1 : number])
        seat.reply(_ROW, negotiations, move)
        drawn += turn.draws.size
        used = int(seat.minds.streams["count"][0])
        if move[0] != turn.move or (game.counts_draws and used != drawn):
            return Mismatch(number, turn.move, int(move[0]), (drawn, used))
        negotiations.apply(_ROW, move)
    if negotiations.ending[0] == Ending.RUNNING:
        return Mismatch(len(game.turns) + 1, NOTHING, int(move[0]), (drawn, drawn))
    return None


def _is_genius(opponent: Opponent) -> bool:
    return getattr(opponent, "lineage", "paper") == "genius"

"""N negotiations of learners with seated opponents, stepped together on arrays."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from negzoo.engine import Ending, Negotiations
from negzoo.envs.codec import Codec, Mask
from negzoo.envs.settings import NegotiationSettings
from negzoo.errors import OpponentError
from negzoo.opponents import Opponent, Seat
from negzoo.opponents.base import Keys, Moves, Rows
from negzoo.scenario import Scenario

_MOST_OPENINGS = 1000
"""So often in a row may an opponent end the negotiation at its opening."""


@dataclass(frozen=True)
class Streams:
    """Which random streams N tables draw from: the k-th negotiation at table i is stream (key[i], first[i] + k·stride).

    Attributes:
        keys: uint64 [N].
        first: uint64 [N], the index of the first negotiation.
        stride: by how much the index grows from one negotiation to the next at the same table.
    """

    keys: Keys
    first: Keys
    stride: int

    @classmethod
    def of(cls, key: np.uint64, size: int) -> "Streams":
        """Tables that share one key and deal the negotiations out among themselves."""
        return cls(np.full(size, key), np.arange(size, dtype=np.uint64), size)


class SplitSeat(Seat):
    """Different opponents at different tables."""

    def __init__(self, opponents: Sequence[Opponent], which: NDArray[np.int64], scenario: Scenario, side: int) -> None:
        self.which = which
        self.seats = [opponent.seat(scenario, side, len(which)) for opponent in opponents]

    def _share(self, rows: Rows) -> list[tuple[Seat, Rows]]:
        if len(self.seats) == 1:
            return [(self.seats[0], rows)]
        which = self.which[rows]
        return [(seat, rows[which == i]) for i, seat in enumerate(self.seats)]

    def start(self, rows: Rows, keys: Keys, indices: Keys) -> None:
        by_table = np.zeros((2, len(self.which)), np.uint64)
        by_table[:, rows] = keys, indices
        for seat, theirs in self._share(rows):
            if theirs.size:
                seat.start(theirs, by_table[0, theirs], by_table[1, theirs])

    def reply(self, rows: Rows, negotiations: Negotiations, out: Moves) -> None:
        for seat, theirs in self._share(rows):
            if theirs.size:
                seat.reply(theirs, negotiations, out)

    def member(self, rows: Rows) -> NDArray[np.int32]:
        members = np.zeros(len(self.which), np.int32)
        for seat, theirs in self._share(rows):
            members[theirs] = seat.member(theirs)
        return members[rows]


class NegotiationBatch:
    """N negotiations in which a learner is to move, whenever anyone looks.

    Args:
        scenario: what is negotiated.
        opponents: who sits across.
        which: int64 [N], the opponent at each table, an index into `opponents`.
        settings: how it is negotiated.
        streams: where the opponents' randomness comes from.
        learner_seat: whether the learner is player 0 or player 1.

    Attributes:
        codec: between the engine and the learner.
        negotiations: the state.
        on_finish: called with the rows that have just ended, before they start anew.
    """

    def __init__(
        self,
        scenario: Scenario,
        opponents: Sequence[Opponent],
        which: NDArray[np.int64],
        settings: NegotiationSettings,
        streams: Streams,
        learner_seat: int = 0,
    ) -> None:
        self.scenario, self.settings, self.learner_seat = scenario, settings, learner_seat
        self.codec, self.opponents = Codec(scenario, settings), opponents
        self.negotiations = Negotiations(len(which), settings.rounds, settings.clock)
        self.seat = SplitSeat(opponents, which, scenario, settings.sides[1 - learner_seat])
        self.streams = streams
        self.indices = streams.first.copy()
        self.on_finish: Callable[[Rows], None] | None = None
        self._utility = scenario.utilities[settings.sides[learner_seat]]
        self._all = np.arange(len(which))
        self._moves = np.zeros(len(which), np.int32)

    def __len__(self) -> int:
        return len(self.indices)

    def reset(self) -> None:
        """Begin each table's first negotiation."""
        self.indices[:] = self.streams.first
        self._open(self._all)

    def restart(self, rows: Rows) -> None:
        """Begin the next negotiation at each of `rows`."""
        self.indices[rows] += np.uint64(self.streams.stride)
        self._open(rows)

    def _open(self, rows: Rows) -> None:
        """Begin negotiations until the learner is to move in each, passing over those that the opening ends."""
        for _ in range(_MOST_OPENINGS):
            if not rows.size:
                return
            self.negotiations.start(rows)
            self.seat.start(rows, self.streams.keys[rows], self.indices[rows])
            if self.learner_seat == 0:
                return
            self._reply(rows)
            rows = rows[self.negotiations.ending[rows] != Ending.RUNNING]
            if rows.size and self.on_finish is not None:
                self.on_finish(rows)
            self.indices[rows] += np.uint64(self.streams.stride)
        if not rows.size:
            return
        who = self.opponent_names(rows)[0]
        raise OpponentError(
            f"{who} ended {_MOST_OPENINGS} negotiations in a row at the opening; nothing can be learned"
        )

    def _reply(self, rows: Rows) -> None:
        self.seat.reply(rows, self.negotiations, self._moves)
        self.negotiations.apply(rows, self._moves)

    def step(self, moves: Moves, rows: Rows | None = None) -> NDArray[np.bool_]:
        """Make the learner's move at every table, or at `rows`, and the reply to it.

        Args:
            moves: int32 [N], moves of the engine.
            rows: the tables to play on at.

        Returns:
            bool [N], where the negotiation has ended; those rows have to be restarted before they go on.
        """
        rows = self._all if rows is None else rows
        self.negotiations.apply(rows, moves)
        self._reply(rows[self.negotiations.ending[rows] == Ending.RUNNING])
        ended: NDArray[np.bool_] = self.negotiations.ending != Ending.RUNNING
        if self.on_finish is not None and ended.any():
            self.on_finish(np.flatnonzero(ended))
        return ended

    def utilities(self, rows: Rows) -> NDArray[np.float64]:
        """float64 [n]: the learner's utility of the agreements reached at `rows`, 0 without one."""
        agreement = self.negotiations.agreement[rows]
        return np.where(agreement >= 0, self._utility[agreement], 0.0)

    def masks(self) -> Mask | tuple[Mask, ...]:
        """The learner's legal actions, int8 [N, actions], or [N, k] for each head."""
        masks = [self.codec.mask(step) for step in (0, 1)]
        answering = (self.negotiations.step > 0).astype(np.int64)
        if self.codec.by_outcome:
            return np.stack([np.asarray(mask) for mask in masks])[answering]
        return tuple(np.stack(heads)[answering] for heads in zip(*masks, strict=True))

    def rewards(self, rows: Rows) -> NDArray[np.float64]:
        """float64 [n]: what the learner is paid in the negotiations `rows`, which have ended."""
        agreement = self.negotiations.agreement[rows]
        return np.where(agreement >= 0, self._utility[agreement], self.settings.no_deal_reward)

    def opponent_names(self, rows: Rows) -> list[str]:
        """Who plays at each of `rows`; of a pool, the member drawn."""
        members = self.seat.member(rows)
        who = [self.opponents[i] for i in self.seat.which[rows]]
        return [opponent.members[member].name for opponent, member in zip(who, members.tolist(), strict=True)]

    def observe(self) -> NDArray[np.float32]:
        """What the learner observes, float32 [N, length]."""
        return self.codec.observe(self.negotiations, self._all, self.learner_seat)

    def state(self) -> dict[str, NDArray[np.generic]]:
        """What `restore` needs to go on as if never interrupted."""
        table = self.negotiations
        return {
            "moves": table.moves.copy(),
            "step": table.step.copy(),
            "ending": table.ending.copy(),
            "indices": self.indices.copy(),
        }

    def restore(self, state: dict[str, NDArray[np.generic]]) -> None:
        """Take up a saved state. Opponents are started again and reply to the same moves, so they remember the same."""
        self.indices[:] = state["indices"]
        self.seat.start(self._all, self.streams.keys, self.indices)
        past, length = np.asarray(state["moves"]), np.asarray(state["step"])
        self.negotiations.start(self._all)
        for step in range(int(length.max(initial=0))):
            rows = np.flatnonzero(length > step)
            if step % 2 != self.learner_seat:
                self.seat.reply(rows, self.negotiations, self._moves)
            self.negotiations.apply(rows, past[:, step].astype(np.int32))

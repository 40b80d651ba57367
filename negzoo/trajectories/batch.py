"""From finished negotiations, as the engine holds them, to rows of the log. All of it on whole arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from negzoo.engine import ACCEPT, CLOCKS, FAULT, Clock, Ending, Negotiations
from negzoo.errors import TrajectoryError, did_you_mean
from negzoo.trajectories.schema import EPISODES, NONE, STEPS, Kind

Rows: TypeAlias = NDArray[np.void]
Names: TypeAlias = str | Sequence[str]

_MAX_UINT64 = 2**64 - 1


@dataclass(frozen=True, eq=False)
class Played:
    """N finished negotiations under one deadline.

    Attributes:
        moves: int32 [N, 2 * rounds], the moves in order; what lies at or beyond `step` is ignored.
        step: int32 [N], how many moves were made.
        ending: int8 [N], an `Ending`, not RUNNING.
        index: uint64 [N], each negotiation's own number under its seed.
        clock: the time that the players saw.

    Raises:
        TrajectoryError: shapes that do not fit, negotiations that still run, or moves that are none.
    """

    moves: NDArray[np.int32]
    step: NDArray[np.int32]
    ending: NDArray[np.int8]
    index: NDArray[np.uint64]
    clock: Clock = "paper"

    def __post_init__(self) -> None:
        self._check_shapes()
        if self.clock not in CLOCKS:
            raise TrajectoryError(f"no clock {self.clock!r}{did_you_mean(str(self.clock), CLOCKS)}")
        if running := int(np.count_nonzero(self.ending == Ending.RUNNING)):
            raise TrajectoryError(f"{running} negotiations still run; only finished ones are logged")
        if not np.isin(self.ending, list(Ending)).all():
            raise TrajectoryError("an ending is unknown; it is one of Ending")
        if ((self.step < 1) | (self.step > self.moves.shape[1])).any():
            raise TrajectoryError(f"a finished negotiation has from 1 to {self.moves.shape[1]} moves here")

    def _check_shapes(self) -> None:
        shape = self.moves.shape
        if len(shape) != 2 or shape[1] < 2 or shape[1] % 2:
            raise TrajectoryError(f"moves has shape {list(shape)}; it is [N, 2 * rounds]")
        for name in ("step", "ending", "index"):
            if (given := getattr(self, name).shape) != shape[:1]:
                raise TrajectoryError(f"{name} has shape {list(given)}; with these moves it is [{shape[0]}]")

    @classmethod
    def finished(cls, negotiations: Negotiations, index: ArrayLike) -> "Played":
        """A copy of the negotiations that have ended; `index` [N] numbers all of them, ended or not."""
        rows = np.flatnonzero(negotiations.ending != Ending.RUNNING)
        return cls(
            negotiations.moves[rows],
            negotiations.step[rows],
            negotiations.ending[rows],
            np.asarray(index, np.uint64)[rows],
            negotiations.clock,
        )

    def __len__(self) -> int:
        return len(self.step)

    @property
    def rounds(self) -> int:
        """The deadline: how often each player may move."""
        return int(self.moves.shape[1]) // 2


@dataclass(frozen=True)
class Labels:
    """What is known of a batch of negotiations besides how they went.

    Attributes:
        players: the names of player 0 and player 1; each one name, or [N] names where they differ.
        seed: of the random streams that the negotiations drew from.
        learner: the seat of the learner, 0 or 1; -1 where nobody learns or is evaluated.
        stage: what this was played for, such as "train" or "evaluate"; "" none.
        model: the policy that learned or was evaluated; "" none.
        swapped: player 0 holds the scenario's profile 2.

    Raises:
        TrajectoryError: a value out of its range.
    """

    players: tuple[Names, Names]
    seed: int
    learner: int = NONE
    stage: str = ""
    model: str = ""
    swapped: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.seed <= _MAX_UINT64:
            raise TrajectoryError(f"seed = {self.seed}: a seed is an integer from 0 to 2^64 - 1")
        if self.learner not in (NONE, 0, 1):
            raise TrajectoryError(f"learner = {self.learner}: a seat is 0 or 1, or -1 for none")
        if len(self.players) != 2:
            raise TrajectoryError(f"{len(self.players)} players are named; a negotiation has two")


def step_rows(played: Played, utilities: NDArray[np.float64]) -> Rows:
    """The rows of `steps/`, episodes counted from 0; `utilities` [2, Ω] is by player.

    Raises:
        TrajectoryError: a move that is neither an outcome of the scenario nor one of the engine's others.
    """
    made = np.arange(played.moves.shape[1]) < played.step[:, None]
    episode, position = np.nonzero(made)
    moves = played.moves[made]
    _check_moves(moves, utilities.shape[1])
    rows = np.empty(len(moves), STEPS.dtype)
    rows["episode"] = episode
    rows["round"] = position // 2 + 1
    rows["actor"] = position % 2
    rows["kind"] = np.where(moves >= 0, Kind.OFFER, -moves)
    rows["outcome"] = _concerned(moves, position)
    rows["utility_0"], rows["utility_1"] = _worth(rows["outcome"], utilities, otherwise=np.nan)
    return rows


def episode_rows(played: Played, steps: Rows, utilities: NDArray[np.float64]) -> Rows:
    """The rows of `episodes/` without ids and labels, which are 0; `first_step` counts from 0.

    Raises:
        TrajectoryError: an agreement that no acceptance of an offer ends.
    """
    rows = np.zeros(len(played), EPISODES.dtype)
    end = np.cumsum(played.step)
    rows["first_step"] = end - played.step
    rows["steps"] = played.step
    rows["index"] = played.index
    rows["rounds"] = played.rounds
    rows["ending"] = played.ending
    rows["agreement"] = _agreements(played, steps[end - 1])
    scores = _worth(rows["agreement"], utilities, otherwise=0.0)
    rows["utility_0"], rows["utility_1"] = np.where(played.ending == Ending.ERROR, np.nan, scores)
    return rows


def _check_moves(moves: NDArray[np.int32], outcomes: int) -> None:
    strange = (moves >= outcomes) | (moves < FAULT)
    if strange.any():
        raise TrajectoryError(f"{moves[strange][0]} is no move; the outcomes here are 0 to {outcomes - 1}")


def _concerned(moves: NDArray[np.int32], position: NDArray[np.int64]) -> NDArray[np.int32]:
    """The outcome that each move offers or accepts, -1 where none; `position` counts within a negotiation."""
    standing = np.where(position > 0, np.roll(moves, 1), NONE)
    return np.maximum(np.where(moves == ACCEPT, standing, moves), NONE)


def _worth(outcomes: NDArray[Any], utilities: NDArray[Any], otherwise: float) -> NDArray[Any]:
    """float64 [2, rows], both players' utility of each outcome, and `otherwise` where there is none."""
    return np.where(outcomes >= 0, utilities[:, outcomes], otherwise)


def _agreements(played: Played, last: Rows) -> NDArray[Any]:
    agreed = played.ending == Ending.AGREEMENT
    if (agreed & ((last["kind"] != Kind.ACCEPT) | (last["outcome"] == NONE))).any():
        raise TrajectoryError("an agreement has to end with the acceptance of an offer")
    return np.where(agreed, last["outcome"], NONE)

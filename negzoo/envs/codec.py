"""Between the engine and learners: moves ↔ actions, and what a player observes.

An observation (Kobayashi & Fujita 2025, section 4) is float32 in [0, 1]: one-hot per issue, my latest offer, my
previous one (and so on for `history`), their latest, their previous; then, if asked for, my utility of each of these;
then the time. An offer not made yet is all zeros. With two offers each that is 4 Σ k_i + 1 numbers.

Actions, encoding `outcome`: 0 .. |Ω|-1 offer that outcome, |Ω| accepts, |Ω|+1 walks away where that is allowed.
Actions, encoding `issues`: an option per issue, then 0 offer, 1 accept, 2 walk away.
"""

from typing import Any, TypeAlias

import numpy as np
from gymnasium import spaces
from numba import njit
from numpy.typing import NDArray

from negzoo.engine import ACCEPT, WALK, Negotiations
from negzoo.engine.clock import time_at
from negzoo.envs.settings import NegotiationSettings
from negzoo.errors import MoveError
from negzoo.scenario import Scenario

Mask: TypeAlias = NDArray[np.int8]
Action: TypeAlias = int | NDArray[np.int64]

_DECISIONS = np.array([0, ACCEPT, WALK], np.int32)


@njit(cache=True)
def encode_offers(
    rows: NDArray[np.int64],
    player: int,
    moves: NDArray[np.int32],
    step: NDArray[np.int32],
    columns: NDArray[np.int32],
    width: int,
    window: int,
    utility: NDArray[np.float64],
    out: NDArray[np.float32],
) -> None:
    """Write what `player` sees of the offers at `rows` into out [len(rows), .], which is all zeros.

    `columns` int32 [Ω, I]: where the ones of an outcome go within an offer's `width` numbers.
    `utility` float64 [Ω], or empty if utilities are not observed: they go behind the 2 * window offers.
    """
    for i in range(rows.size):
        row = rows[i]
        for whose in range(2):
            author = player if whose == 0 else 1 - player
            at = step[row] - 1 - (step[row] - 1 - author) % 2
            if at >= 0 and moves[row, at] < 0:
                at -= 2
            for slot in range(whose * window, (whose + 1) * window):
                if at < 0:
                    break
                outcome = moves[row, at]
                for issue in range(columns.shape[1]):
                    out[i, slot * width + columns[outcome, issue]] = 1.0
                if utility.size:
                    out[i, 2 * window * width + slot] = utility[outcome]
                at -= 2


@njit(cache=True)
def encode_time(
    rows: NDArray[np.int64], step: NDArray[np.int32], clock: int, rounds: int, out: NDArray[np.float32]
) -> None:
    """Write the time at `rows` into the last column of out [len(rows), .]."""
    for i in range(rows.size):
        out[i, -1] = time_at(clock, step[rows[i]], rounds)


class Codec:
    """Observations, actions and masks of one scenario under given settings.

    Attributes:
        length: how many numbers an observation has.
        actions: how many actions `outcome` encoding has.
    """

    def __init__(self, scenario: Scenario, settings: NegotiationSettings) -> None:
        self.scenario, self.settings = scenario, settings
        self.width = sum(scenario.shape)
        offsets = np.concatenate(([0], np.cumsum(scenario.shape)[:-1]))
        self.columns = (scenario.options + offsets).astype(np.int32)
        self.strides = np.append(np.cumprod(scenario.shape[:0:-1])[::-1], 1).astype(np.int64)
        slots = 2 * settings.history
        self.length: int = slots * (self.width + settings.observe_utilities) + 1
        self.decisions = 3 if settings.allow_end else 2
        self.actions = scenario.size + self.decisions - 1
        unseen = np.empty(0)
        self._observed = [own.copy() if settings.observe_utilities else unseen for own in scenario.utilities]

    @property
    def by_outcome(self) -> bool:
        """Whether an action is one number."""
        return self.settings.action_encoding == "outcome"

    def observe(
        self, negotiations: Negotiations, rows: NDArray[np.int64], player: int, side: int | None = None
    ) -> NDArray[np.float32]:
        """What `player` (0 or 1), holding `side` or else the settings' side, observes: float32 [len(rows), length]."""
        out = np.zeros((len(rows), self.length), np.float32)
        moves, step = negotiations.moves, negotiations.step
        window, utility = self.settings.history, self._observed[self.settings.sides[player] if side is None else side]
        encode_offers(rows, player, moves, step, self.columns, self.width, window, utility, out)
        encode_time(rows, step, negotiations.clock_index, negotiations.rounds, out)
        return out

    def observation_space(self) -> spaces.Box:
        """The space of observations, without the mask."""
        return spaces.Box(0.0, 1.0, (self.length,), np.float32)

    def action_space(self) -> spaces.Discrete | spaces.MultiDiscrete:
        """The space of actions."""
        if self.by_outcome:
            return spaces.Discrete(self.actions)
        return spaces.MultiDiscrete([*self.scenario.shape, self.decisions])

    def may_accept(self, step: int) -> bool:
        """Whether accepting is a legal action after `step` moves."""
        return step > 0 or self.settings.first_accept == "fail"

    def mask(self, step: int) -> Mask | tuple[Mask, ...]:
        """The legal actions of the player to move after `step` moves, int8: [actions], or one mask per head."""
        decisions = np.ones(self.decisions, np.int8)
        decisions[1] = self.may_accept(step)
        if self.by_outcome:
            return np.concatenate((np.ones(self.scenario.size, np.int8), decisions[1:]))
        return *(np.ones(k, np.int8) for k in self.scenario.shape), decisions

    def no_mask(self) -> Mask | tuple[Mask, ...]:
        """The mask of a player who is not to move: all zeros."""
        mask = self.mask(0)
        return tuple(np.zeros_like(head) for head in mask) if isinstance(mask, tuple) else np.zeros_like(mask)

    def to_move(self, action: Any) -> int:
        """The engine's move for an action.

        Raises:
            MoveError: the action is not in the action space.
        """
        space = self.action_space()
        try:
            chosen = np.asarray(action)
        except ValueError:  # a ragged sequence
            chosen = np.empty(0)
        if chosen.dtype.kind not in "iu" or not space.contains(chosen.astype(np.int64)):
            raise MoveError(f"{self.scenario.name}: action {action!r} is not in {space}; {self._legend()}")
        return int(self.to_moves(chosen.astype(np.int64)[None])[0])

    def to_moves(self, actions: NDArray[np.int64]) -> NDArray[np.int32]:
        """The engine's moves, int32 [n], for actions of the action space, int64 [n] or [n, I + 1]."""
        if self.by_outcome:
            offered, decision = actions, np.maximum(actions - self.scenario.size + 1, 0)
        else:
            offered, decision = actions[:, :-1] @ self.strides, actions[:, -1]
        return np.where(decision == 0, offered, _DECISIONS[decision]).astype(np.int32)

    def _legend(self) -> str:
        last = ", or walk away" if self.settings.allow_end else ""
        if self.by_outcome:
            return f"0 to {self.scenario.size - 1} offer an outcome, {self.scenario.size} accepts{last}"
        return f"an option per issue, then 0 to offer it, 1 to accept{last}"

    def to_action(self, move: int) -> Action:
        """The action for a move of the engine; `passes` for a move that has none."""
        if (move == WALK and not self.settings.allow_end) or move < WALK:
            return self.passes()
        decision = max(-move, 0)
        if self.by_outcome:
            return move if move >= 0 else self.scenario.size + decision - 1
        return np.array([*self.scenario.options[max(move, 0)], decision], np.int64)

    def passes(self) -> Action:
        """What a seated player "does" when its strategy ends the negotiation as no action can: one past the last."""
        if self.by_outcome:
            return self.actions
        return np.array([*[0] * len(self.scenario.shape), self.decisions], np.int64)

    def no_action(self) -> Action:
        """The filler where it is not a seated player's turn."""
        return -1 if self.by_outcome else np.full(len(self.scenario.shape) + 1, -1, np.int64)

"""A Gymnasium vector environment: a learner at N tables at once, the opponents inside.

Ended negotiations start anew in the same step (Gymnasium's SAME_STEP autoreset): the observation returned is the new
negotiation's first, the last one of the old is in `info["final_obs"]`. Every ending is a termination.
"""

from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from negzoo.engine import Ending
from negzoo.engine.rng import player_key
from negzoo.envs.batch import NegotiationBatch, Streams
from negzoo.envs.settings import NegotiationSettings
from negzoo.errors import MoveError, SettingsError
from negzoo.opponents import Opponent, as_opponent
from negzoo.scenario import Scenario, load
from negzoo.settings import seed_or_fresh, with_overrides


class NegotiationVectorEnv(VectorEnv[Any, Any, Any]):
    """N negotiations of one learner with one opponent, or with a pool of them.

    Observations are float32 [N, length]. Legal actions are in `info["action_mask"]`, int8 [N, actions] (one array per
    head with `action_encoding="issues"`). Further infos, with the same keys always: `ending`, `agreement` and `utility`
    of negotiations that ended with this step (0, -1, 0 elsewhere), `member` (which of a pool plays), `final_obs`.

    Args:
        domain: a scenario, its name, or a path to its file.
        opponent: a name or an Opponent.
        num_envs: N.
        learner_seat: whether the learner is player 0, who opens, or player 1.
        settings: how it is negotiated; single settings may also be given as keywords.

    Raises:
        ScenarioError, OpponentError, SettingsError: what was given cannot be used.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        domain: str | Path | Scenario = "laptop",
        opponent: str | Opponent = "Linear",
        num_envs: int = 64,
        *,
        learner_seat: int = 0,
        settings: NegotiationSettings | None = None,
        **overrides: Any,
    ) -> None:
        if learner_seat not in (0, 1):
            raise SettingsError(f"learner_seat = {learner_seat!r}: give 0 (opens) or 1")
        if isinstance(num_envs, bool) or not isinstance(num_envs, int | np.integer) or num_envs < 1:
            raise SettingsError(f"num_envs = {num_envs!r}: give a whole number of at least 1")
        self.scenario = domain if isinstance(domain, Scenario) else load(domain)
        self.settings = with_overrides(settings or NegotiationSettings(), overrides)
        self.num_envs, self.learner_seat = num_envs, learner_seat
        self._opponents = (as_opponent(opponent),)
        self._seeded = False
        self._start(0)
        codec = self.batch.codec
        self.single_observation_space, self.single_action_space = codec.observation_space(), codec.action_space()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def _start(self, seed: int) -> None:
        which = np.zeros(self.num_envs, np.int64)
        streams = Streams.of(player_key(seed, 1 - self.learner_seat), self.num_envs)
        self.batch = NegotiationBatch(self.scenario, self._opponents, which, self.settings, streams, self.learner_seat)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin N negotiations; without a seed they go on in the streams of the last one, if there was one.

        Raises:
            SettingsError: the seed is not a whole number of at least 0.
        """
        if seed is None and self._seeded:
            self.batch.restart(np.arange(self.num_envs))
        else:
            self._start(seed_or_fresh(seed))
            self._seeded = True
            self.batch.reset()
        observation = self.batch.observe()
        return observation, self._info(observation, np.empty(0, np.int64))

    def step(
        self, actions: Any
    ) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Play `actions` [N] (or [N, heads]); observations, rewards, terminations, truncations (never), infos.

        Raises:
            MoveError: an action outside the action space.
        """
        if not self._seeded:
            raise SettingsError("step before reset: reset the vector environment first")
        ended = self.batch.step(self.batch.codec.to_moves(self._checked(actions)))
        rows = np.flatnonzero(ended)
        rewards = np.zeros(self.num_envs)
        rewards[rows] = self.batch.rewards(rows)
        last = self.batch.observe()
        info = self._info(last, rows)
        self.batch.restart(rows)
        info |= self._now()
        observation = self.batch.observe() if rows.size else last
        return observation, rewards, ended, np.zeros(self.num_envs, bool), info

    def _checked(self, actions: Any) -> NDArray[np.int64]:
        try:
            chosen = np.asarray(actions)
        except ValueError:  # a ragged sequence
            chosen = np.empty(0)
        if chosen.dtype.kind not in "iu" or not self.action_space.contains(chosen.astype(np.int64)):
            shown = " ".join(repr(actions).split())[:80]
            raise MoveError(
                f"{self.scenario.name}: actions {shown} are not in {self.single_action_space}, {self.num_envs} times"
            )
        return chosen.astype(np.int64)

    def _info(self, last: NDArray[np.float32], rows: NDArray[np.int64]) -> dict[str, Any]:
        """What is known of the negotiations that have just ended, at `rows`, and of those that go on."""
        table, nothing = self.batch.negotiations, np.zeros(self.num_envs)
        utility, final = nothing.copy(), np.full(self.num_envs, None)
        utility[rows] = self.batch.utilities(rows)
        for row in rows.tolist():
            final[row] = last[row]
        ending = np.where(table.ending == Ending.RUNNING, 0, table.ending)
        info = {"ending": ending, "agreement": table.agreement, "utility": utility, "final_obs": final}
        return info | self._now()

    def _now(self) -> dict[str, Any]:
        rows = np.arange(self.num_envs)
        return {"member": self.batch.seat.member(rows), "action_mask": self.batch.masks()}

    def action_masks(self) -> Any:
        """The legal actions now, as in the infos."""
        return self.batch.masks()


def vector(
    domain: str | Path | Scenario = "laptop", opponent: str | Opponent = "Linear", num_envs: int = 64, **options: Any
) -> NegotiationVectorEnv:
    """N negotiations of a learner with an opponent as a Gymnasium vector environment; options as in the class."""
    return NegotiationVectorEnv(domain, opponent, num_envs, **options)

"""A batch of negotiations as a Tianshou vector environment, for Tianshou's own collectors and learners."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from negzoo.envs.batch import NegotiationBatch

Numbers = NDArray[np.int64]


class TianshouVectorEnv:
    """The learner's side of N negotiations. Observations are float32 [n, length]; infos hold `member` and `env_id`.

    It answers what Tianshou's Collector asks of a BaseVectorEnv, whose own class would insist on one worker each.
    The networks of `negzoo.learn.network` read the mask off the observation; anyone else's find it in `batch.masks()`.
    """

    def __init__(self, batch: NegotiationBatch) -> None:
        self.batch, self.env_num, self.is_closed, self.is_async = batch, len(batch), False, False
        self.waiting_id: list[int] = []
        codec = batch.codec
        self._spaces = [codec.observation_space()] * len(batch), [codec.action_space()] * len(batch)
        self._begun = False

    def __len__(self) -> int:
        return self.env_num

    @property
    def observation_space(self) -> list[Any]:
        return self._spaces[0]

    @property
    def action_space(self) -> list[Any]:
        return self._spaces[1]

    def _rows(self, numbers: Any) -> Numbers:
        return np.arange(self.env_num) if numbers is None else np.atleast_1d(np.asarray(numbers, np.int64))

    def _infos(self, rows: Numbers) -> NDArray[np.object_]:
        members = self.batch.seat.member(rows).tolist()
        return np.array(
            [{"member": member, "env_id": row} for member, row in zip(members, rows.tolist(), strict=True)], object
        )

    def reset(self, env_id: Any = None, **_: Any) -> tuple[NDArray[np.float32], NDArray[np.object_]]:
        """Begin a new negotiation at each of the tables."""
        rows = self._rows(env_id)
        if self._begun:
            self.batch.restart(rows)
        else:
            self.batch.reset()
            self._begun = True
        return self.batch.observe()[rows], self._infos(rows)

    def step(self, action: Any, id: Any = None) -> tuple[Any, ...]:
        """Play on at the tables `id`: observations, rewards, terminated, truncated, infos."""
        rows = self._rows(id)
        moves = np.zeros(self.env_num, np.int32)
        moves[rows] = self.batch.codec.to_moves(np.asarray(action, np.int64))
        ended = self.batch.step(moves, rows)[rows]
        reward = np.zeros(len(rows))
        reward[ended] = self.batch.rewards(rows[ended])
        return self.batch.observe()[rows], reward, ended, np.zeros(len(rows), bool), self._infos(rows)

    def seed(self, seed: Any = None) -> list[None]:
        """The batch's streams decide; there is nothing to seed."""
        return [None] * self.env_num

    def render(self, **_: Any) -> list[None]:
        """There is nothing to see."""
        return [None] * self.env_num

    def close(self) -> None:
        """Nothing is held open."""
        self.is_closed = True

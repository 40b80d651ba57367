"""The negotiation as a two-player PettingZoo AEC environment: the batch engine with one row.

At the turn of `agent`, `last()` gives its observation, the reward since its previous turn, and whether the negotiation
is over. Rewards are 0 until the negotiation ends; then both players receive their own utility of the agreement, or
`no_deal_reward`. Every ending is a termination, never a truncation.

Infos have the same keys at reset and at every step:

- `round`: the current round, from 1;
- `ending`: an `Ending`, 0 while it runs;
- `agreement`: the outcome agreed on, else -1; `utility`: own utility of it, else 0;
- `reply`: the action that the opponent seated at this player plays now, if it is its turn, else -1;
- `member`: which member of a seated pool plays, else 0;
- `action_mask`: only with the mask in the infos.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from negzoo.engine import Ending, Negotiations
from negzoo.engine.rng import player_key
from negzoo.envs.codec import Codec
from negzoo.envs.settings import NegotiationSettings
from negzoo.errors import OpponentError, SettingsError, did_you_mean
from negzoo.opponents import Opponent, Seat, as_opponent
from negzoo.scenario import Scenario, load
from negzoo.settings import seed_or_fresh, with_overrides

AGENTS = ["player_0", "player_1"]
_ROW = np.zeros(1, np.int64)


def env(domain: str | Path | Scenario = "laptop", **options: Any) -> OrderEnforcingWrapper:
    """A negotiation over `domain`, wrapped so that steps before reset are refused; options as in NegotiationEnv."""
    return OrderEnforcingWrapper(raw_env(domain, **options))


def raw_env(domain: str | Path | Scenario = "laptop", **options: Any) -> "NegotiationEnv":
    """The same environment without a wrapper."""
    return NegotiationEnv(domain, **options)


class NegotiationEnv(AECEnv[str, Any, Any]):  # type: ignore[misc]
    """Two players bargain over one scenario.

    Args:
        domain: a scenario, its name, or a path to its file.
        opponents: strategies to seat, by agent: names, or Opponent objects. Their moves appear as `reply` in the infos.
        settings: how it is negotiated; single settings may also be given as keywords, e.g. `rounds=20`.
        render_mode: None, `ansi` (returns text), `human` (prints it) or `rgb_array` (its picture, uint8 [H, W, 3]).

    Raises:
        ScenarioError, OpponentError, SettingsError: what was given cannot be used.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "negzoo_v0",
        "render_modes": ["ansi", "human", "rgb_array"],
        "is_parallelizable": False,
        "render_fps": 4,
    }

    def __init__(
        self,
        domain: str | Path | Scenario = "laptop",
        *,
        opponents: Mapping[str, str | Opponent] | None = None,
        settings: NegotiationSettings | None = None,
        render_mode: str | None = None,
        **overrides: Any,
    ) -> None:
        super().__init__()
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise SettingsError(f'render_mode = "{render_mode}": unknown{did_you_mean(str(render_mode), modes)}')
        if not isinstance(settings, NegotiationSettings | None):
            raise SettingsError(f"settings = {settings!r}: give a NegotiationSettings, or single settings as keywords")
        self.scenario = domain if isinstance(domain, Scenario) else load(domain)
        self.settings = with_overrides(settings or NegotiationSettings(), overrides)
        self.render_mode = render_mode
        self.codec = Codec(self.scenario, self.settings)
        self.negotiations = Negotiations(1, self.settings.rounds, self.settings.clock)
        self.possible_agents = list(AGENTS)
        self.opponents = _seated(opponents or {})
        self.seats: dict[str, Seat] = {
            agent: opponent.seat(self.scenario, self.settings.sides[AGENTS.index(agent)], 1)
            for agent, opponent in self.opponents.items()
        }
        self._pending = np.zeros(1, np.int32)
        self._seed: int | None = None
        self.episode = 0
        self._make_spaces()

    def _make_spaces(self) -> None:
        observation: spaces.Space[Any] = self.codec.observation_space()
        if self.settings.mask_in_observation:
            mask = spaces.Box(0, 1, (self.codec.actions,), np.int8)
            observation = spaces.Dict({"observation": observation, "action_mask": mask})
        self.observation_spaces = dict.fromkeys(AGENTS, observation)
        self.action_spaces = {agent: self.codec.action_space() for agent in AGENTS}
        self.state_space = spaces.Box(0.0, 1.0, (self.codec.length + 1,), np.float32)

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin a negotiation; the n-th one after `reset(seed=s)` draws from stream n of seed s.

        Raises:
            SettingsError: a negative seed.
        """
        self._reseed(seed)
        self.agents = list(AGENTS)
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self.agent_selection = AGENTS[0]
        self.negotiations.start(_ROW)
        for agent, seat in self.seats.items():
            keys = np.array([player_key(self.seed, AGENTS.index(agent))])
            seat.start(_ROW, keys, np.array([self.episode], np.uint64))
        self._refresh_infos()

    def _reseed(self, seed: int | None) -> None:
        if seed is None and self._seed is not None:
            self.episode += 1
        else:
            self._seed, self.episode = seed_or_fresh(seed), 0

    def step(self, action: Any) -> None:
        """Play `action` for the agent whose turn it is; None for an agent whose negotiation is over.

        Raises:
            MoveError: the action is outside the action space.
        """
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        move = self._move(agent, action)
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self.negotiations.apply(_ROW, np.array([move], np.int32))
        self.agent_selection = AGENTS[1 - AGENTS.index(agent)]
        if self.ending != Ending.RUNNING:
            self._finish()
        self._refresh_infos()
        self._accumulate_rewards()
        if self.render_mode == "human":
            self.render()

    def _move(self, agent: str, action: Any) -> int:
        if agent in self.seats and np.array_equal(action, self.codec.to_action(int(self._pending[0]))):
            return int(self._pending[0])
        return self.codec.to_move(action)

    def _finish(self) -> None:
        agreement = self.agreement
        for player, agent in enumerate(AGENTS):
            self.terminations[agent] = True
            self.rewards[agent] = self._utility(player) if agreement >= 0 else float(self.settings.no_deal_reward)

    @property
    def seed(self) -> int:
        """What the negotiations' random streams are derived from, given or drawn at the first reset."""
        if self._seed is None:
            raise SettingsError("the environment has no seed before its first reset")
        return self._seed

    @property
    def opponent_name(self) -> str:
        """Who plays this negotiation on the seated side, "" if nobody is seated: of a pool, the member drawn for it."""
        names = [
            opponent.members[int(self.seats[agent].member(_ROW)[0])].name for agent, opponent in self.opponents.items()
        ]
        return " / ".join(names)

    @property
    def ending(self) -> Ending:
        """How the negotiation ended, or that it runs."""
        return Ending(int(self.negotiations.ending[0]))

    @property
    def agreement(self) -> int:
        """The outcome agreed on, -1 without one."""
        return int(self.negotiations.agreement[0])

    @property
    def round(self) -> int:
        """The round being played, or in which the negotiation ended, from 1."""
        over = self.ending != Ending.RUNNING
        return (int(self.negotiations.step[0]) - over) // 2 + 1

    def _utility(self, player: int) -> float:
        outcome = self.agreement
        return float(self.scenario.utilities[self.settings.sides[player], outcome]) if outcome >= 0 else 0.0

    def _refresh_infos(self) -> None:
        self.infos = {agent: self._info(player, agent) for player, agent in enumerate(AGENTS)}

    def _info(self, player: int, agent: str) -> dict[str, Any]:
        info = {
            "round": self.round,
            "ending": int(self.ending),
            "agreement": self.agreement,
            "utility": self._utility(player),
            "reply": self._reply(agent),
            "member": int(self.seats[agent].member(_ROW)[0]) if agent in self.seats else 0,
        }
        if not self.settings.mask_in_observation:
            info["action_mask"] = self._mask(agent)
        return info

    def _to_move(self, agent: str) -> bool:
        return self.agent_selection == agent and self.ending == Ending.RUNNING

    def _reply(self, agent: str) -> Any:
        if agent not in self.seats or not self._to_move(agent):
            return self.codec.no_action()
        self.seats[agent].reply(_ROW, self.negotiations, self._pending)
        return self.codec.to_action(int(self._pending[0]))

    def _mask(self, agent: str) -> Any:
        return self.codec.mask(int(self.negotiations.step[0])) if self._to_move(agent) else self.codec.no_mask()

    def observe(self, agent: str) -> Any:
        """What `agent` observes; the mask of a player who is not to move is all zeros."""
        observation = self.codec.observe(self.negotiations, _ROW, AGENTS.index(agent))[0]
        if self.settings.mask_in_observation:
            return {"observation": observation, "action_mask": self._mask(agent)}
        return observation

    def state(self) -> NDArray[np.float32]:
        """The public state, float32 [length + 1]: what player_0 observes, then 1 if player_1 is to move."""
        seen = self.codec.observe(self.negotiations, _ROW, 0)[0]
        return np.append(seen, np.float32(self.negotiations.step[0] % 2))

    def render(self) -> Any:
        """Show the negotiation as `render_mode` says; None, the text, or a picture."""
        from negzoo.envs.render import render

        return render(self.render_mode, self.scenario, self.settings.sides, self.negotiations)

    def close(self) -> None:
        """Nothing is held open."""


def _seated(opponents: Mapping[str, str | Opponent]) -> dict[str, Opponent]:
    if not isinstance(opponents, Mapping):
        raise OpponentError(f'opponents = {opponents!r}: give them by agent, as in {{"player_1": "Linear"}}')
    for agent in opponents:
        if agent not in AGENTS:
            raise OpponentError(f'opponents: no agent "{agent}"{did_you_mean(str(agent), AGENTS)}')
    return {agent: as_opponent(who) for agent, who in opponents.items()}

"""The settings of a negotiation environment."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from negzoo.engine import CLOCKS, MOST_ROUNDS, Clock
from negzoo.errors import SettingsError, did_you_mean

FirstAccept = Literal["mask", "fail"]
ActionEncoding = Literal["outcome", "issues"]
MaskPlace = Literal["observation", "info"]

_CHOICES: dict[str, tuple[str, ...]] = {
    "clock": CLOCKS,
    "first_accept": get_args(FirstAccept),
    "action_encoding": get_args(ActionEncoding),
    "mask_in": get_args(MaskPlace),
}


@dataclass(frozen=True)
class NegotiationSettings:
    """How a scenario is negotiated and seen. The defaults are those of Kobayashi & Fujita (2025), sections 3 to 5.

    Raises:
        SettingsError: a value out of range; the message names the setting and what it may be.
    """

    rounds: int = 40
    """Moves that each player has at most."""
    clock: Clock = "paper"
    """The time players see: `paper` moves with every action, `genius` with every round."""
    first_accept: FirstAccept = "mask"
    """Accepting on the opening move, where no offer stands, breaks the negotiation down; `fail` leaves it unmasked."""
    allow_end: bool = False
    """Whether players may walk away: one more action, after accept."""
    action_encoding: ActionEncoding = "outcome"
    """`outcome`: Discrete, each offer, then accept. `issues`: MultiDiscrete, an option per issue, then accept."""
    mask_in: MaskPlace = "observation"
    """Where the mask of legal actions is; with `issues` it is always in the infos, as no space can hold it."""
    no_deal_reward: float = -1.0
    """The reward of both players when there is no agreement (K of the paper)."""
    swap_profiles: bool = False
    """Give player_0 profile 2 and player_1 profile 1."""
    history: int = 2
    """How many of each player's latest offers are observed."""
    observe_utilities: bool = False
    """Also observe one's own utility of each of those offers."""

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            value = getattr(self, name)
            if value not in known:
                raise SettingsError(f'{name} = "{value}": unknown{did_you_mean(str(value), known)}')
        for name in ("rounds", "history"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value <= MOST_ROUNDS:
                raise SettingsError(f"{name} = {value!r}: give a whole number from 1 to {MOST_ROUNDS:,}")
            object.__setattr__(self, name, int(value))
        for name in ("allow_end", "swap_profiles", "observe_utilities"):
            if not isinstance(getattr(self, name), bool):
                raise SettingsError(f"{name} = {getattr(self, name)!r}: give true or false")
        reward = self.no_deal_reward
        if isinstance(reward, bool) or not isinstance(reward, int | float | np.number) or not np.isfinite(reward):
            raise SettingsError(f"no_deal_reward = {reward!r}: give a finite number")
        object.__setattr__(self, "no_deal_reward", float(reward))

    @property
    def sides(self) -> tuple[int, int]:
        """Which profile (0 or 1) each player holds."""
        return (1, 0) if self.swap_profiles else (0, 1)

    @property
    def mask_in_observation(self) -> bool:
        """Whether observations are dicts with the mask in them."""
        return self.mask_in == "observation" and self.action_encoding == "outcome"

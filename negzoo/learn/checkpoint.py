"""Saved policies: one safetensors file with the weights, and in its header, as JSON, all that is needed to play them.

Nothing is pickled. A policy knows the scenario and the side that it was trained for and refuses any other.
"""

import json
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from negzoo.engine import Negotiations
from negzoo.envs import Codec, NegotiationSettings
from negzoo.errors import CheckpointError, NegzooError
from negzoo.files import replacing
from negzoo.learn.network import Actor, Interface, greedy_actions
from negzoo.learn.settings import PPOSettings
from negzoo.opponents.base import Keys, Moves, Opponent, Rows, Seat
from negzoo.scenario import Scenario

FORMAT = 1
"""The version of the file format."""


@dataclass(frozen=True)
class Card:
    """What a saved policy says about itself.

    Attributes:
        name: how it is called.
        scenario: the name of the scenario it was trained on, and `scenario_hash` its content hash.
        side: the profile (0 or 1) that it holds.
        game: how it was negotiated.
        hidden: the widths of its hidden layers.
        training: anything worth knowing: stage, opponents, steps, seed, PPO settings.
        versions: of the packages it was trained with.
    """

    name: str
    scenario: str
    scenario_hash: str
    side: int
    game: NegotiationSettings
    hidden: tuple[int, ...]
    training: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=lambda: {p: version(p) for p in ("negzoo", "torch", "tianshou")})


def save_policy(path: Path, card: Card, weights: dict[str, torch.Tensor]) -> None:
    """Write a policy; the file appears whole or not at all.

    Raises:
        CheckpointError: it cannot be written there.
    """
    header = {"negzoo_format": str(FORMAT), "card": json.dumps(asdict(card), sort_keys=True, default=int)}
    try:
        with replacing(path) as place:
            save_file({key: value.contiguous() for key, value in weights.items()}, place, metadata=header)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path}: cannot be written ({error}); choose another folder") from None


def load_policy(path: Path) -> tuple[Card, dict[str, torch.Tensor]]:
    """Read a policy's card and weights.

    Raises:
        CheckpointError: there is no such file, it is not a negzoo policy, or it is of a newer format.
    """
    if not path.is_file():
        raise CheckpointError(f"{path}: no such file; give the path of a saved policy (.safetensors)")
    try:
        with safe_open(path, "pt") as file:
            header = file.metadata() or {}
            weights = {key: file.get_tensor(key) for key in list(file.keys())}
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path}: not a safetensors file ({error})") from None
    return _card(path, header), weights


def _card(path: Path, header: dict[str, str]) -> Card:
    if header.get("negzoo_format") != str(FORMAT):
        found = header.get("negzoo_format", "none")
        raise CheckpointError(
            f"{path}: not a negzoo policy of format {FORMAT} (found: {found}); save it again with this version"
        )
    try:
        fields = json.loads(header["card"])
        game = NegotiationSettings(**fields.pop("game"))
        card = Card(game=game, hidden=tuple(fields.pop("hidden")), **fields)
        _check_card(card)
        return card
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError, NegzooError) as error:
        raise CheckpointError(f"{path}: its card cannot be read ({error}); save it again with this version") from None


def _check_card(card: Card) -> None:
    PPOSettings(hidden=card.hidden)
    if card.side not in (0, 1) or isinstance(card.side, bool):
        raise ValueError(f"side = {card.side!r}: it is 0 or 1")
    if not all(isinstance(text, str) for text in (card.name, card.scenario, card.scenario_hash)):
        raise ValueError("name, scenario and scenario_hash are texts")
    if not isinstance(card.training, dict) or not isinstance(card.versions, dict):
        raise ValueError("training and versions are tables")


@dataclass(frozen=True, eq=False)
class FrozenPolicy(Opponent):
    """A saved policy as an opponent: it plays its likeliest action.

    Attributes:
        card: what it is.
        actor: its policy network.
        digest: identifies the weights.
    """

    card: Card
    actor: Actor = field(repr=False)
    digest: str

    @classmethod
    def of(cls, card: Card, weights: dict[str, torch.Tensor], scenario: Scenario) -> "FrozenPolicy":
        """The policy with these weights.

        Raises:
            CheckpointError: the scenario is not the one it was trained on, or the weights do not fit.
        """
        if scenario.hash != card.scenario_hash:
            raise CheckpointError(
                f"policy {card.name} was trained on {card.scenario} ({card.scenario_hash}), "
                f"not on {scenario.name} ({scenario.hash}); play it on the scenario it knows"
            )
        actor = Actor(Interface.of(Codec(scenario, card.game)), card.hidden)
        mine = {key.removeprefix("actor."): value for key, value in weights.items() if key.startswith("actor.")}
        if any(value.dtype != torch.float32 for value in mine.values()):
            raise CheckpointError(f"policy {card.name}: its weights are not float32")
        try:
            actor.load_state_dict(mine)
        except RuntimeError as error:
            raise CheckpointError(
                f"policy {card.name}: its weights do not fit its card ({str(error).splitlines()[-1].strip()})"
            ) from None
        return cls(card, actor.eval().requires_grad_(False), digest_of(mine))

    @classmethod
    def load(cls, path: Path, scenario: Scenario) -> "FrozenPolicy":
        """The policy saved at `path`; raises CheckpointError as `of` and `load_policy` do."""
        return cls.of(*load_policy(path), scenario)

    @property
    def name(self) -> str:
        return self.card.name

    @property
    def identity(self) -> str:
        return f"FrozenPolicy({self.digest})"

    def seat(self, scenario: Scenario, side: int, size: int) -> "FrozenSeat":
        if scenario.hash != self.card.scenario_hash or side != self.card.side:
            raise CheckpointError(
                f"policy {self.name} plays {self.card.scenario} with profile {self.card.side + 1}, "
                f"not {scenario.name} with profile {side + 1}"
            )
        return FrozenSeat(self, Codec(scenario, self.card.game))


class FrozenSeat(Seat):
    """A saved policy at N tables; it keeps nothing between moves."""

    def __init__(self, policy: FrozenPolicy, codec: Codec) -> None:
        self.actor, self.codec, self.side = policy.actor, codec, policy.card.side

    def start(self, rows: Rows, keys: Keys, indices: Keys) -> None:
        """Nothing to forget."""

    def reply(self, rows: Rows, negotiations: Negotiations, out: Moves) -> None:
        players = negotiations.step[rows] % 2
        for player in np.unique(players).tolist():
            theirs = rows[players == player]
            out[theirs] = self._moves(theirs, negotiations, player)

    @torch.no_grad()
    def _moves(self, rows: Rows, negotiations: Negotiations, player: int) -> Moves:
        logits, _ = self.actor(self.codec.observe(negotiations, rows, player, self.side))
        actions = greedy_actions(logits, self.actor.interface.heads).numpy()
        return self.codec.to_moves(actions)


def digest_of(weights: dict[str, torch.Tensor]) -> str:
    """16 hex digits that identify weights to the bit."""
    digest = blake2b(digest_size=8)
    for key in sorted(weights):
        digest.update(key.encode() + weights[key].contiguous().numpy().tobytes())
    return digest.hexdigest()

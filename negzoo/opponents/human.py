"""A person as an opponent: whoever asks the person is handed the view, and returns the person's answer.

A person leaves with `Walk()`: the negotiation ends without agreement, as for anybody else.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from negzoo.opponents.python import Answer, PlayerView, PythonOpponent

Ask: TypeAlias = Callable[[PlayerView], Answer]


@dataclass(frozen=True)
class Human(PythonOpponent):
    """A person.

    Attributes:
        ask: gets the person's answer at the person's turn.
    """

    ask: Ask

    @property
    def name(self) -> str:
        return "human"

    @property
    def identity(self) -> str:
        return self.name

    def respond(self, view: PlayerView) -> Answer:
        return self.ask(view)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Human":
        """The same person sits down at every table."""
        return self

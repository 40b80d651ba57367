"""Who sits across: strategies, pools of them, and playing them against each other."""

from negzoo.opponents.base import LINEAGES, Lineage, Opponent, Seat
from negzoo.opponents.play import Games, play
from negzoo.opponents.pool import Pool
from negzoo.opponents.python import Accept, Offer, PlayerView, PythonOpponent, Walk
from negzoo.opponents.registry import register, resolve
from negzoo.opponents.scripted import Scripted
from negzoo.opponents.timed import TimeDependent

__all__ = [
    "LINEAGES",
    "Accept",
    "Games",
    "Lineage",
    "Offer",
    "Opponent",
    "PlayerView",
    "Pool",
    "PythonOpponent",
    "Scripted",
    "Seat",
    "TimeDependent",
    "Walk",
    "play",
    "register",
    "resolve",
]

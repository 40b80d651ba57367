"""Who sits across: strategies, pools of them, and playing them against each other."""

from negzoo.opponents.agent_gg import AgentGG
from negzoo.opponents.agent_k import AgentK
from negzoo.opponents.atlas3 import Atlas3
from negzoo.opponents.base import LINEAGES, Lineage, Opponent, Seat
from negzoo.opponents.hard_headed import HardHeaded
from negzoo.opponents.play import Games, play
from negzoo.opponents.pool import Pool
from negzoo.opponents.python import Accept, Offer, PlayerView, PythonOpponent, Walk
from negzoo.opponents.registry import as_opponent, register, resolve
from negzoo.opponents.scripted import Scripted
from negzoo.opponents.timed import TimeDependent
from negzoo.opponents.tit_for_tat import TitForTat

__all__ = [
    "LINEAGES",
    "Accept",
    "AgentGG",
    "AgentK",
    "Atlas3",
    "Games",
    "HardHeaded",
    "Lineage",
    "Offer",
    "Opponent",
    "PlayerView",
    "Pool",
    "PythonOpponent",
    "Scripted",
    "Seat",
    "TimeDependent",
    "TitForTat",
    "Walk",
    "as_opponent",
    "play",
    "register",
    "resolve",
]

"""The rules of alternating-offers bargaining, N negotiations at a time, on arrays."""

from negzoo.engine.clock import CLOCKS, Clock
from negzoo.engine.negotiations import Negotiations
from negzoo.engine.protocol import ACCEPT, FAULT, NOTHING, WALK, Ending

__all__ = ["ACCEPT", "CLOCKS", "FAULT", "NOTHING", "WALK", "Clock", "Ending", "Negotiations"]

"""The rules of alternating-offers bargaining, N negotiations at a time, on arrays."""

import negzoo.engine.compiling  # noqa: F401 - begins to listen
from negzoo.engine.clock import CLOCKS, Clock
from negzoo.engine.negotiations import MOST_ROUNDS, Negotiations
from negzoo.engine.protocol import ACCEPT, FAULT, NOTHING, WALK, Ending

__all__ = ["ACCEPT", "CLOCKS", "FAULT", "MOST_ROUNDS", "NOTHING", "WALK", "Clock", "Ending", "Negotiations"]

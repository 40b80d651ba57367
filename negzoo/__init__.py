"""negzoo: a benchmark for learning to negotiate.

The names below are imported when they are first used, so `import negzoo` itself costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from negzoo.envs import env, raw_env, vector
    from negzoo.opponents import Accept, Offer, Opponent, Pool, PythonOpponent, Walk, register
    from negzoo.opponents.play import play
    from negzoo.scenario import load as load_domain

__version__ = "0.1.0"

_HOMES = {
    "Accept": "negzoo.opponents:Accept",
    "Offer": "negzoo.opponents:Offer",
    "Opponent": "negzoo.opponents:Opponent",
    "Pool": "negzoo.opponents:Pool",
    "PythonOpponent": "negzoo.opponents:PythonOpponent",
    "Walk": "negzoo.opponents:Walk",
    "env": "negzoo.envs:env",
    "load_domain": "negzoo.scenario:load",
    "play": "negzoo.opponents:play",
    "raw_env": "negzoo.envs:raw_env",
    "register": "negzoo.opponents:register",
    "vector": "negzoo.envs:vector",
}

__all__ = [
    "Accept",
    "Offer",
    "Opponent",
    "Pool",
    "PythonOpponent",
    "Walk",
    "__version__",
    "env",
    "load_domain",
    "play",
    "raw_env",
    "register",
    "vector",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Opponents that users bring: from a Python file, or from an installed package.

A package announces its opponents as entry points of the group `negzoo.opponents`; loading one registers it.
"""

import importlib.util
import sys
from functools import cache
from hashlib import blake2b
from importlib.metadata import entry_points
from pathlib import Path

from negzoo.errors import OpponentError

GROUP = "negzoo.opponents"

_loaded: list[Path] = []


def loaded_files() -> tuple[Path, ...]:
    """The files that this process has loaded; worker processes have to load them as well."""
    return tuple(_loaded)


def load_file(path: Path) -> None:
    """Run a Python file that registers opponents, once per process.

    The module's name depends on the place of the file alone, so that worker processes that have loaded it can take
    over its opponents.

    Raises:
        OpponentError: there is no such file, or it raises.
    """
    place = path.resolve()
    name = f"negzoo_plugin_{place.stem}_{blake2b(str(place).encode(), digest_size=4).hexdigest()}"
    if name in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(name, place)
    if not place.is_file() or spec is None or spec.loader is None:
        raise OpponentError(f"{path}: no such Python file; give the path of a .py file that registers opponents")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        line = _line_in(place, error)
        raise OpponentError(f"{path}{line}: {type(error).__name__}: {error}") from error
    _loaded.append(place)


def _line_in(place: Path, error: Exception) -> str:
    """`, line 3`: where in the file it went wrong, if it was there."""
    if isinstance(error, SyntaxError):
        return f", line {error.lineno}"
    trace, line = error.__traceback__, ""
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(place):
            line = f", line {trace.tb_lineno}"
        trace = trace.tb_next
    return line


@cache
def load_packages() -> None:
    """Load the opponents of installed packages, once per process.

    Raises:
        OpponentError: one of them cannot be loaded.
    """
    for entry in entry_points(group=GROUP):
        try:
            entry.load()
        except Exception as error:
            raise OpponentError(f"opponent package {entry.value}: {type(error).__name__}: {error}") from error

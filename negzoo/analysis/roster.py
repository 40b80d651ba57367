"""Who there is to play: the registered opponents, what each is for, and where its algorithm is told."""

import inspect
import sys
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, get_args

from negzoo.opponents import LINEAGES, Lineage, Opponent, Scripted, registry, resolve
from negzoo.opponents.registry import Entry

Kind = Literal["opponent", "family", "yardstick"]
KINDS: tuple[Kind, ...] = get_args(Kind)
REQUIRED = "required"


def kind(entry: Entry) -> Kind:
    """A `yardstick` is trivial on purpose, a `family` needs parameters to play, and the rest are opponents."""
    if entry.factory is Scripted:
        return "yardstick"
    return "family" if REQUIRED in parameters(entry).values() else "opponent"


def parameters(entry: Entry) -> dict[str, Any]:
    """What may be given in parentheses behind the name, with the default of each; REQUIRED where it has none."""
    if not is_dataclass(entry.factory):
        return {}
    open_fields = (field for field in fields(entry.factory) if field.name in entry.parameters)
    return {field.name: REQUIRED if field.default is MISSING else field.default for field in open_fields}


def lineages(entry: Entry) -> tuple[Lineage, ...]:
    """The lineages that it comes in; none for an opponent that knows no such difference."""
    return LINEAGES if "lineage" in entry.parameters else ()


def module(entry: Entry) -> str:
    """The module that holds its algorithm."""
    return str(entry.factory.__module__)


def source(entry: Entry) -> str:
    """Its algorithm in words: the docstring of its module, or else of its class."""
    told = getattr(sys.modules.get(module(entry)), "__doc__", None) or entry.factory.__doc__ or ""
    return inspect.cleandoc(told)


def listed(wanted: Kind) -> dict[str, Entry]:
    """The registered opponents of a kind by name; those that a family's parameters make come first."""
    chosen = [(name, entry) for name, entry in registry.entries() if kind(entry) == wanted]
    return dict(sorted(chosen, key=lambda pair: not pair[1].fixed))


def standard() -> list[str]:
    """The names of all opponents that are neither families nor yardsticks: whom tables are about."""
    return list(listed("opponent"))


def resolved(names: list[str], lineage: Lineage) -> dict[str, Opponent]:
    """The opponents that `names` stand for, by what was written.

    Raises:
        OpponentError: an unknown name or parameter.
    """
    return {name: resolve(name, lineage) for name in names}

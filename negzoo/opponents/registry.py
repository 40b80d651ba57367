"""Opponents by name: every strategy registers itself here, the shipped ones and users' own."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from keyword import iskeyword
from typing import Any, TypeVar

from negzoo.errors import OpponentError, did_you_mean
from negzoo.opponents.base import Lineage, Opponent
from negzoo.opponents.plugins import load_packages

Factory = Callable[..., Opponent]
Registered = TypeVar("Registered", bound=Callable[..., Opponent])


@dataclass(frozen=True)
class Entry:
    """A registered opponent.

    Attributes:
        factory: makes it; keyword arguments are its parameters.
        fixed: the parameters that the name stands for.
        summary: one line on what it is.
    """

    factory: Factory
    fixed: dict[str, Any]
    summary: str

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters that may be given in parentheses behind the name."""
        if not is_dataclass(self.factory):
            return ()
        return tuple(field.name for field in fields(self.factory) if field.init and field.name not in self.fixed)


_ENTRIES: dict[str, Entry] = {}


def register(name: str, summary: str = "", **fixed: Any) -> Callable[[Registered], Registered]:
    """Register an opponent class under a name, as a decorator: `@register("Stubborn")`.

    Args:
        name: how league files and commands call it.
        summary: one line on what it is; the class's first docstring line if empty.
        fixed: parameters that the name stands for.

    Raises:
        OpponentError: the name is taken by another class, or is not a plain word.
    """

    def add(factory: Registered) -> Registered:
        if not name.isidentifier() or iskeyword(name):
            raise OpponentError(f'"{name}" cannot name an opponent: use letters, digits and _, and no word of Python')
        known = _ENTRIES.get(name)
        if known is not None and (_home(known.factory), known.fixed) != (_home(factory), fixed):
            raise OpponentError(f'"{name}" is already registered for {known.factory!r}')
        _ENTRIES[name] = Entry(factory, fixed, summary or _first_line(factory))
        return factory

    return add


def _home(factory: Factory) -> tuple[str, str]:
    """Where a factory is defined; the same after its module is imported again."""
    return getattr(factory, "__module__", ""), getattr(factory, "__qualname__", "")


def _first_line(factory: Factory) -> str:
    return (factory.__doc__ or "").strip().partition("\n")[0]


def entries() -> Iterator[tuple[str, Entry]]:
    """Every registered name with its entry, in order of registration."""
    load_packages()
    return iter(_ENTRIES.items())


def resolve(text: str, lineage: Lineage = "paper") -> Opponent:
    """The opponent that `text` names: `Boulware1`, or `TimeDependent(e=0.3)`, or `Linear(lineage="genius")`.

    Args:
        text: a registered name, with keyword parameters in parentheses where it has any.
        lineage: the lineage of opponents that have one and do not name it.

    Raises:
        OpponentError: unknown name or parameter, or a parameter that is out of range.
    """
    name, given = _parse(text)
    if name not in _ENTRIES:
        load_packages()
    if name not in _ENTRIES:
        raise OpponentError(f'unknown opponent "{name}"{did_you_mean(name, _ENTRIES)}')
    entry = _ENTRIES[name]
    for key in given:
        if key not in entry.parameters:
            takes = f"it takes {', '.join(entry.parameters)}" if entry.parameters else "it takes none"
            raise OpponentError(f'opponent "{text}": unknown parameter "{key}"; {takes}')
    if "lineage" in entry.parameters:
        given.setdefault("lineage", lineage)
    try:
        return entry.factory(**entry.fixed, **given)
    except TypeError as error:
        raise OpponentError(f'opponent "{text}": {error}; give its parameters as in {name}(name=value)') from None


def as_opponent(who: object, lineage: Lineage = "paper") -> Opponent:
    """An opponent as it is, or the one that a text names.

    Raises:
        OpponentError: it is neither, or `resolve` refuses the text.
    """
    if isinstance(who, Opponent):
        return who
    if isinstance(who, str):
        return resolve(who, lineage)
    hint = f"; did you mean {who.__name__}()?" if isinstance(who, type) and issubclass(who, Opponent) else ""
    raise OpponentError(f"{who!r} is no opponent: give a name or an Opponent{hint}")


def _parse(text: str) -> tuple[str, dict[str, Any]]:
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        match tree:
            case ast.Name(name):
                return name, {}
            case ast.Call(ast.Name(name), [], keywords) if _named_once(keywords):
                return name, {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in keywords}
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        pass
    shown = text if len(text) <= 80 else text[:77] + "..."
    raise OpponentError(f'cannot read opponent "{shown}": write a name, or Name(parameter=value)')


def _named_once(keywords: list[ast.keyword]) -> bool:
    names = [keyword.arg for keyword in keywords]
    return None not in names and len(set(names)) == len(names)

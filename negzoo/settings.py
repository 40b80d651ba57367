"""What all settings share: replacing some values of a frozen dataclass that checks itself, and seeds."""

import os
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from negzoo.errors import SettingsError, did_you_mean

Settings = TypeVar("Settings")


def with_overrides(base: Settings, overrides: Mapping[str, Any]) -> Settings:
    """A copy of `base`, a dataclass, with some fields replaced.

    Raises:
        SettingsError: an override that is no field of it, or a value that it refuses.
    """
    known = [field.name for field in fields(base)]  # type: ignore[arg-type]
    for name in overrides:
        if name not in known:
            raise SettingsError(f'unknown setting "{name}"{did_you_mean(name, known)}')
    try:
        return replace(base, **overrides)  # type: ignore[type-var]
    except TypeError as error:
        raise SettingsError(f"{', '.join(overrides)}: {error}") from None


def seed_or_fresh(seed: int | None) -> int:
    """The seed, or a fresh one from the operating system where there is none.

    Raises:
        SettingsError: it is not a whole number of at least 0.
    """
    if seed is None:
        return int.from_bytes(os.urandom(8), "big")
    if isinstance(seed, bool) or not hasattr(seed, "__index__") or int(seed) < 0:
        raise SettingsError(f"seed = {seed!r}: give a whole number of at least 0")
    return int(seed)

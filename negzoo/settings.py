"""Settings are frozen dataclasses that check themselves; this replaces some of their values."""

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

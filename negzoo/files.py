"""Small files that appear whole or not at all."""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from negzoo.errors import NegzooError


def write_text(path: Path, text: str) -> None:
    """Write a text file through a temporary one beside it.

    Raises:
        NegzooError: it cannot be written there.
    """
    partial = path.with_name(path.name + ".tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise NegzooError(f"{path}: cannot be written ({error.strerror or error}); choose another place") from None


def write_json(path: Path, data: Any) -> None:
    """Write data as readable JSON; raises as `write_text` does."""
    write_text(path, json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """The data of a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))

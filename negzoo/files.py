"""Files that appear whole or not at all."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from negzoo.errors import NegzooError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Where to write what takes the place of `path` when the block ends well; after an exception nothing has changed.

    A link is followed to the file it stands for. What exists and is no file (a device, a pipe) is never replaced:
    the place to write is then `path` itself.

    Raises:
        OSError: it cannot be written there.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + ".tmp")
    try:
        yield partial
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(partial, target)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file.

    Raises:
        NegzooError: it cannot be written there.
    """
    try:
        with replacing(path) as place:
            place.write_text(text, encoding="utf-8")
    except OSError as error:
        raise NegzooError(f"{path}: cannot be written ({error.strerror or error}); choose another place") from None


def write_json(path: Path, data: Any) -> None:
    """Write data as readable JSON; raises as `write_text` does."""
    write_text(path, json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """The data of a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))

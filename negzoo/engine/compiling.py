"""Compiled code on disk: kept as long as the sources stay as they are, and announced when it is made.

numba caches a compiled function until its own file changes. Strategies call functions of other files, so here all
compiled code is discarded as soon as any file beside it changes.
"""

import sys
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

from numba.core import event

_PACKAGE = Path(__file__).parents[1]
_COMPILED = tuple(_PACKAGE / name for name in ("engine", "opponents", "envs", "learn"))
_STAMP = _PACKAGE / "engine" / "__pycache__" / "compiled-from"


def sources_digest(folders: Sequence[Path]) -> str:
    """Identifies the state of the source files in some folders, by their names, sizes and times of change."""
    digest = blake2b(digest_size=16)
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        status = path.stat()
        digest.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def discard_stale(folders: Sequence[Path], stamp: Path) -> None:
    """Remove compiled code that was made from other sources; where a folder cannot be written there is none."""
    current = sources_digest(folders)
    if stamp.exists() and stamp.read_text() == current:
        return
    with suppress(OSError):
        for path in [path for folder in folders for path in folder.rglob("*.nb[ic]")]:
            path.unlink(missing_ok=True)
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(current)


class _Announcer(event.Listener):
    """Speaks up at the first compilation of one of negzoo's functions."""

    def __init__(self) -> None:
        self.wanted = True

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        if self.wanted and function.__module__.startswith("negzoo."):
            self.wanted = False
            print("negzoo: compiling, once; later runs load it from the cache", file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        """Nothing to say."""


_announcer = _Announcer()


def be_quiet() -> None:
    """Say nothing in this process; worker processes leave it to their parent."""
    _announcer.wanted = False


discard_stale(_COMPILED, _STAMP)
event.register("numba:compile", _announcer)  # type: ignore[no-untyped-call]

"""Says, once, that compiled code is being made: it takes seconds, and is then cached on disk for later processes."""

import sys
from typing import Any

from numba.core import event


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
event.register("numba:compile", _announcer)  # type: ignore[no-untyped-call]


def be_quiet() -> None:
    """Say nothing in this process; worker processes leave it to their parent."""
    _announcer.wanted = False

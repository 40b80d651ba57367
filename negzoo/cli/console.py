"""Where the commands write: results to `out`, everything said on the way to `err`."""

from typing import Any

from rich.console import Console

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def print_json(data: Any) -> None:
    """Data for another program: one JSON document on stdout, never wrapped."""
    out.print_json(data=data, ensure_ascii=False)

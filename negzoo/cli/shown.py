"""What several commands print and draw in one way."""

import re
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from rich import box
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from negzoo.cli.console import err
from negzoo.errors import NegzooError
from negzoo.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Item = TypeVar("Item")

_ITEM = re.compile(r"\s*(?:\d+\.|[a-z]\.|-)\s+")


def table(*headings: str) -> Table:
    """An empty table; under a heading that ends with ">", cells are set to the right and never wrapped."""
    empty = Table(box=box.SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    for heading in headings:
        if heading.endswith(">"):
            empty.add_column(escape(heading.removesuffix(">")), justify="right", no_wrap=True)
        else:
            empty.add_column(escape(heading), overflow="fold")
    return empty


def watched(work: Iterable[Item], total: int, what: str) -> Iterable[Item]:
    """The items of `work` as they come, with a progress bar where somebody watches."""
    return track(work, what, total, console=err, transient=True, disable=not err.is_terminal)


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a picture to a file, in the format that its name ends with; raises a NegzooError if that fails."""
    try:
        with replacing(path) as place:
            figure.savefig(place, format=path.suffix.removeprefix(".") or "png")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise NegzooError(f"cannot write the plot to {path}: {reason}") from None


def reflowed(text: str, width: int) -> str:
    """A docstring filled anew to `width`; numbered and dashed items keep their indentation."""
    paragraphs: list[str] = []
    for line in text.splitlines():
        if not line.strip() or _ITEM.match(line) or not paragraphs or not paragraphs[-1]:
            paragraphs.append(line.rstrip())
        else:
            paragraphs[-1] += " " + line.strip()
    return "\n".join(_filled(paragraph, width) for paragraph in paragraphs)


def _filled(paragraph: str, width: int) -> str:
    item = _ITEM.match(paragraph)
    indent = item.end() if item else len(paragraph) - len(paragraph.lstrip())
    return textwrap.fill(paragraph, width, subsequent_indent=" " * indent)

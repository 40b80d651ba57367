"""The `negzoo` command: mounts the command groups and turns a user's mistake into one line on stderr."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from negzoo import __version__
from negzoo.cli import bench, domains, league, opponents, play, tournament, trajectories
from negzoo.errors import NegzooError

USAGE_ERROR = 2
INTERRUPTED = 130


class Commands(TyperGroup):
    """The root group: a user's mistake or Ctrl-C ends in one line, a bug in its traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except NegzooError as error:
            raise _stop(str(error), USAGE_ERROR) from error
        except KeyboardInterrupt as error:
            raise _stop("interrupted", INTERRUPTED) from error


def _stop(message: str, code: int) -> typer.Exit:
    typer.echo(f"negzoo: {message}", err=True)
    return typer.Exit(code)


app = typer.Typer(
    name="negzoo",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(domains.app, name="domains")
app.add_typer(opponents.app, name="opponents")
app.command("play")(play.play)
app.command("tournament")(tournament.tournament)
app.add_typer(league.app, name="league")
app.add_typer(bench.app, name="bench")
app.add_typer(trajectories.app, name="trajectories")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"negzoo {__version__}")
        raise typer.Exit


@app.callback()
def root(
    load: Annotated[
        list[Path] | None,
        typer.Option("--load", metavar="FILE.py", help="Opponents of your own, before the command; repeatable."),
    ] = None,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A benchmark for learning to negotiate."""
    if load:
        from negzoo.opponents.plugins import load_file

        for path in load:
            load_file(path)


def main() -> None:
    """Entry point of the `negzoo` command."""
    app(prog_name="negzoo")

"""The root command: help, version, and what a mistake, an interrupt, a closed pipe and a bug look like."""

import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from negzoo import __version__
from negzoo.cli.app import Commands
from negzoo.errors import ScenarioError


def raising(error: BaseException) -> typer.Typer:
    """A command line with the real root group, one of whose commands raises."""
    app = typer.Typer(cls=Commands)

    @app.command()
    def fail() -> None:
        raise error

    app.callback()(lambda: None)
    return app


def test_without_arguments_it_shows_the_help(negzoo_cli):
    result = negzoo_cli()
    assert "Usage: negzoo" in result.output
    assert "domains" in result.output


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_the_help_fits_80_columns_without_colour(negzoo_cli, flag):
    result = negzoo_cli(flag)
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_the_version(negzoo_cli):
    result = negzoo_cli("--version")
    assert (result.exit_code, result.stdout) == (0, f"negzoo {__version__}\n")


@pytest.mark.parametrize("arguments", [["leage"], ["--colour"]])
def test_bad_usage_exits_with_2(negzoo_cli, arguments):
    assert negzoo_cli(*arguments).exit_code == 2


def test_a_users_mistake_is_one_line_and_exits_with_2():
    message = "no domain called [laptpo] " + "in this very long list of domains " * 5
    result = CliRunner().invoke(raising(ScenarioError(message)), ["fail"])
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"negzoo: {message}\n")


def test_an_interrupt_is_one_line_and_exits_with_130():
    result = CliRunner().invoke(raising(KeyboardInterrupt()), ["fail"])
    assert (result.exit_code, result.stderr) == (130, "negzoo: interrupted\n")


def test_a_bug_keeps_its_traceback():
    result = CliRunner().invoke(raising(ZeroDivisionError("a bug")), ["fail"])
    assert isinstance(result.exception, ZeroDivisionError)


def test_a_closed_pipe_is_quiet():
    negzoo = subprocess.Popen(
        [sys.executable, "-c", "input(); from negzoo.cli.app import main; main()", "--help"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    negzoo.stdout.close()
    negzoo.stdout = None
    _, complaints = negzoo.communicate("go\n")
    assert complaints == ""

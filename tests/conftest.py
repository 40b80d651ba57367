"""What every test stands on: no screen, no colour, no deadline while numba compiles."""

import os
from collections.abc import Callable

import pytest
from hypothesis import settings
from typer.testing import CliRunner, Result

os.environ.update(MPLBACKEND="Agg", NO_COLOR="1", COLUMNS="80", TERM="dumb")
settings.register_profile("negzoo", deadline=None)
settings.load_profile("negzoo")


@pytest.fixture
def negzoo_cli() -> Callable[..., Result]:
    """`negzoo_cli("domains", "show", "laptop")` runs that command in this process."""
    from negzoo.cli.app import app

    runner = CliRunner()
    return lambda *arguments: runner.invoke(app, list(map(str, arguments)), prog_name="negzoo")

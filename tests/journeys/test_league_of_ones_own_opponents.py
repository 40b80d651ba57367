"""A league against opponents of one's own, of which one kills its worker and another cannot be sent to one."""

import json

import pytest

from negzoo.league.plan import make_plan
from negzoo.league.results import POLICY, RESULT
from negzoo.league.spec import read_league
from negzoo.opponents import registry
from negzoo.scenario import write_toml
from tests.learn.bargains import TOY

OPPONENTS = """
import multiprocessing
import os

from negzoo.opponents import Offer, PythonOpponent, register


@register("Gentle")
class Gentle(PythonOpponent):
    def respond(self, view):
        return Offer(view.best)


@register("Killer")
class Killer(Gentle):
    def respond(self, view):
        if multiprocessing.parent_process():
            os._exit(9)
        return super().respond(view)


@register("Unsendable")
class Unsendable(Gentle):
    def __init__(self):
        self.memory = lambda: None
"""

LEAGUE = """
name = "own"
domains = ["{folder}/toy.toml"]
models = 1
trainer = "manager"
opponent_files = ["mine.py"]

[pools]
own = ["Killer", "Gentle", "Unsendable", "Linear"]

[[baseline]]
opponents = "own"
steps = 64

[ppo]
envs = 2
horizon = 32
minibatch = 16
hidden = [8, 8]

[game]
rounds = 4
"""


@pytest.fixture
def league(tmp_path, monkeypatch):
    """The league's file; its opponents are forgotten after the test."""
    monkeypatch.setattr(registry, "_ENTRIES", dict(registry._ENTRIES))
    write_toml(TOY, tmp_path / "toy.toml")
    (tmp_path / "mine.py").write_text(OPPONENTS, "utf-8")
    path = tmp_path / "league.toml"
    path.write_text(LEAGUE.format(folder=tmp_path), "utf-8")
    return path


@pytest.mark.slow
def test_whoever_fails_is_told_and_everyone_else_is_trained(negzoo_cli, league, tmp_path):
    result = negzoo_cli("league", "run", league, "--workers", 2, "--out", tmp_path / "runs")
    assert result.exit_code == 1
    killed, unsent = sorted(line for line in result.stdout.splitlines() if line.startswith("failed: "))
    assert killed.startswith("failed: toy · baseline · Killer · model 1: its worker died twice")
    assert unsent.startswith("failed: toy · baseline · Unsendable · model 1: ")
    assert "pickle" in unsent
    (folder,) = (tmp_path / "runs").iterdir()
    left = {path.name: {file.name for file in path.iterdir()} for path in (folder / "cells").iterdir()}
    by_name = {cell.opponent.name: cell.id for cell in make_plan(read_league(league)).cells}
    for name in ("Gentle", "Linear"):
        assert {POLICY, RESULT} <= left[by_name[name]]
    rows = {row["opponent"]: row["columns"] for row in json.loads((folder / "results.json").read_text("utf-8"))["rows"]}
    learned = {name: columns["Baseline"] is not None for name, columns in rows.items()}
    assert learned == {"Killer": False, "Gentle": True, "Unsendable": False, "Linear": True, "mean": False}

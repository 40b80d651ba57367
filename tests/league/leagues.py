"""A league file, whole and small; tests change a line of it."""

from pathlib import Path

from negzoo.league.plan import Plan, make_plan
from negzoo.league.results import CellResult
from negzoo.league.scores import Score
from negzoo.league.spec import League, read_league
from negzoo.scenario import write_toml
from tests.learn.bargains import TOY

TEXT = """\
name = "small"
title = "A small league"
domains = ["laptop"]
models = 2

[pools]
known = ["Boulware2", "Linear"]
unknown = ["Conceder1"]

[[baseline]]
opponents = "unknown"
steps = 500

[[pretrain]]
pool = "known"
steps_per_opponent = 300

[[finetune]]
from = "known"
opponents = "unknown"
steps = 100

[ppo]
envs = 4
horizon = 32
minibatch = 16
epochs = 2
hidden = [8, 8]

[game]
rounds = 40

[evaluation]
games = 10
"""


def write_league(path: Path, old: str = "", new: str = "") -> Path:
    """The league with `new` in the place of `old`, as a file."""
    assert TEXT.count(old) == 1 or not old
    path.write_text(TEXT.replace(old, new) if old else TEXT, "utf-8")
    return path


def league_of(folder: Path, old: str = "", new: str = "", **overrides: object) -> League:
    """The league with `new` in the place of `old`, read."""
    return read_league(write_league(folder / "league.toml", old, new), **overrides)  # type: ignore[arg-type]


def plan_of(folder: Path, old: str = "", new: str = "", **overrides: object) -> Plan:
    """The plan of that league."""
    return make_plan(league_of(folder, old, new, **overrides))


def toy_plan(folder: Path, old: str = "", new: str = "", **overrides: object) -> Plan:
    """The plan of that league on the toy bargain: it takes a second to carry out."""
    write_toml(TOY, folder / "toy.toml")
    return plan_of(folder, old, new, **{"domains": [str(folder / "toy.toml")], **overrides})


def result_of(cell: str, **utilities: float) -> CellResult:
    """A result with these utilities by opponent."""
    scores = {name: Score(utility, 0.0, 0.5, 1.0, 3.0, {"agreement": 10}, 10) for name, utility in utilities.items()}
    return CellResult(cell, scores, steps=1000, seconds=1.0, started_from=None)

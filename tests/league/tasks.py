"""Cells of the toy bargain to share out and to train, small enough to be trained in a moment."""

from dataclasses import replace
from pathlib import Path

from negzoo.league.jobs import Task
from negzoo.league.plan import Cell
from negzoo.opponents import resolve
from tests.learn.bargains import SHORT, TINY, TOY

LINEAR = resolve("Linear")
CELL = Cell(
    stage="baseline",
    scenario=TOY,
    seat=0,
    side=0,
    opponent=LINEAR,
    scored_on=(LINEAR,),
    pool=None,
    model=0,
    steps=96,
    candidates=(),
    game=SHORT,
    ppo=replace(TINY, hidden=(8, 8), learning_rate=0.01),
    games=5,
    trainer="population",
    league_seed=0,
)


def task_of(folder: Path, **changes: object) -> Task:
    """The task of a cell that differs in `changes`, in its own folder; a learner holds the profile of its seat."""
    cell = replace(CELL, **{"side": changes.get("seat", 0), **changes})  # type: ignore[arg-type]
    return Task(cell, folder / cell.id, None)


def tasks_of(count: int, folder: Path = Path("nowhere"), **changes: object) -> list[Task]:
    """The tasks of as many models."""
    return [task_of(folder, model=model, **changes) for model in range(count)]

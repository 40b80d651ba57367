"""The table at the end of a league: what was learned, beside what needs no learning."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from negzoo.league.cells import meet
from negzoo.league.plan import Cell, Plan
from negzoo.league.results import CellResult
from negzoo.league.scores import score
from negzoo.league.selection import best
from negzoo.opponents import Opponent, Pool, resolve

MEAN = "mean"

TRIVIAL = {
    "AcceptFirst": "accept first",
    "Hardliner": "hardliner",
    "LateHardliner": "late hardliner",
    "Random": "random",
}
"""The trivial policies, and their columns."""


@dataclass(frozen=True)
class Row:
    """One opponent of a pool in one domain, or the mean over the whole pool.

    Attributes:
        domain, pool, opponent: which.
        columns: individual utility by column: what each stage's selected model earns, then each trivial policy. None
            where it is missing.
    """

    domain: str
    pool: str
    opponent: str
    columns: dict[str, float | None]


@dataclass(frozen=True)
class Table:
    """A league's table.

    Attributes:
        title: of the league.
        columns: in order, the learned ones first.
        rows: by domain and pool, each closed by its mean.
        note: what stands behind the figures.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    note: str


def league_table(plan: Plan, results: dict[str, CellResult]) -> Table:
    """The table of a league, from the results there are."""
    columns = (*_learned_columns(plan), *TRIVIAL.values())
    rows = []
    for scenario in plan.league.scenarios:
        cells = [cell for cell in plan.cells if cell.scenario == scenario]
        for pool in _pools(plan):
            own = [_row(plan, cells, results, pool.name, opponent) for opponent in pool.members]
            rows += [*own, _mean(own, columns)]
    return Table(plan.league.file.title or plan.league.file.name, columns, tuple(rows), _note(plan, results))


def _pools(plan: Plan) -> list[Pool]:
    """The pools that models are scored on: those they meet one by one, then those they are pre-trained on."""
    file = plan.league.file
    met = [stage.opponents for stage in file.finetune] + [stage.opponents for stage in file.baseline]
    names = met + [stage.pool for stage in file.pretrain]
    return [plan.league.pools[name] for name in dict.fromkeys(names)]


def _column(cell: Cell) -> str:
    """The paper's name for a column, e.g. T3-(Pre), T3-(FT)."""
    return {"baseline": "Baseline", "pretrain": f"{cell.pool}-(Pre)", "finetune": f"{cell.pool}-(FT)"}[cell.stage]


def _learned_columns(plan: Plan) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_column(cell) for cells in plan.by_stage.values() for cell in cells))


def _row(plan: Plan, cells: list[Cell], results: dict[str, CellResult], pool: str, opponent: Opponent) -> Row:
    columns: dict[str, float | None] = {}
    for column in _learned_columns(plan):
        group = [cell for cell in cells if _column(cell) == column and _meets(cell, opponent)]
        columns[column] = _selected_utility(group, results, opponent)
    for script, column in TRIVIAL.items():
        columns[column] = trivial_utility(cells[0], script, opponent)
    return Row(cells[0].scenario.name, pool, opponent.name, columns)


def _meets(cell: Cell, opponent: Opponent) -> bool:
    return opponent.name in {other.name for other in cell.scored_on}


def _selected_utility(group: list[Cell], results: dict[str, CellResult], opponent: Opponent) -> float | None:
    done = [results[cell.id] for cell in group if cell.id in results]
    if not done:
        return None
    trained_on = [member.name for member in group[0].opponent.members]
    return best(done, trained_on).scores[opponent.name].utility


def trivial_utility(cell: Cell, script: str, opponent: Opponent) -> float:
    """What a trivial policy earns in the learner's place."""
    return score(meet(cell, resolve(script), opponent, cell.league_seed), cell.seat).utility


def _mean(rows: list[Row], columns: tuple[str, ...]) -> Row:
    def mean(column: str) -> float | None:
        values = [value for row in rows if (value := row.columns[column]) is not None]
        return float(np.mean(values)) if len(values) == len(rows) else None

    return Row(rows[0].domain, rows[0].pool, MEAN, {column: mean(column) for column in columns})


def _note(plan: Plan, results: dict[str, CellResult]) -> str:
    done = [cell for cell in plan.cells if cell.id in results]
    steps = sum(results[cell.id].steps for cell in done)
    games = plan.league.file.evaluation.games
    errors = sum(score.endings.get("error", 0) for cell in done for score in results[cell.id].scores.values())
    faults = f" {errors:,} negotiations ended in an error of a strategy and are left out." if errors else ""
    return (
        f"Individual utility of the selected model, {games} negotiations per figure, a failure counts 0. "
        f"{len(done)} of {len(plan.cells)} models, {steps:,} learner steps. "
        "Baseline and FT (fine-tuned): the best model against that opponent; Pre (pre-trained): the best over its pool."
        f"{faults}"
    )


def to_markdown(table: Table) -> str:
    """The table as Markdown."""
    return "\n".join([f"# {table.title}", "", *_markdown_lines(table), "", table.note, ""])


def _markdown_lines(table: Table) -> Iterator[str]:
    yield "| domain | pool | opponent | " + " | ".join(table.columns) + " |"
    yield "|---|---|---|" + "---:|" * len(table.columns)
    for row in table.rows:
        cells = [figure(row.columns[column]) for column in table.columns]
        yield f"| {row.domain} | {row.pool} | {row.opponent} | " + " | ".join(cells) + " |"


def figure(value: float | None) -> str:
    """A utility as tables print it."""
    return "–" if value is None or np.isnan(value) else f"{value:.3f}"

"""Which of several models counts (Kobayashi & Fujita 2025, Figs. 4 and 5)."""

from collections.abc import Iterable, Sequence

from negzoo.league.plan import Cell, Plan
from negzoo.league.results import CellResult


def best(results: Iterable[CellResult], opponents: Sequence[str]) -> CellResult:
    """The result of highest mean utility over `opponents`; of equals the first."""
    return max(results, key=lambda result: result.mean_utility(opponents))


def selected_start(plan: Plan, cell: Cell, results: dict[str, CellResult]) -> CellResult | None:
    """The pre-trained model that a cell starts from, the best over its pool; None if the cell starts afresh."""
    if not cell.candidates:
        return None
    pool = plan.by_id[cell.candidates[0]].opponent
    return best([results[candidate] for candidate in cell.candidates], [member.name for member in pool.members])

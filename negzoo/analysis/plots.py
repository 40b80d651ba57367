"""Pictures of analyses. Each function returns a matplotlib figure of its own and touches no global state."""

from collections.abc import Sequence
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from negzoo.analysis.concession import BAND, Concession
from negzoo.analysis.tables import MEAN, Row, Table
from negzoo.analysis.tournament import Crosstable
from negzoo.scenario.drawing import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION

COLOURS = (BLUE, SKY, GREEN, BLACK, ORANGE, VERMILLION, PURPLE)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
MOST_FIGURES = 20
"""Players up to which a heat map has its figures written in."""


def concession_curves(curves: Sequence[Concession]) -> Figure:
    """What each opponent's own offers are worth to it over time (Fig. 3 of Kobayashi & Fujita 2025).

    A curve is solid up to the turn at which the opponent would accept its partner's best outcome, and dashed from
    there. Around the mean of a strategy that draws at random, BAND is shaded.
    """
    figure = Figure(figsize=(7.2, 4.8), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    scenario, side = curves[0].scenario, curves[0].side
    axes.set(xlim=(0, 1), ylim=(-0.03, 1.03), title=f"Concession on {scenario.name} as {scenario.profiles[side].name}")
    axes.set(xlabel="Time", ylabel="Utility of the proposed bid")
    _plain(axes)
    axes.grid(color="#EDEDED", linewidth=0.8)
    offered = scenario.utilities[side, curves[0].partner_offer]
    axes.axhline(offered, color=GREY, lw=1, ls=":", label="Partner's offer", zorder=1)
    for curve, colour, marker in zip(curves, cycle(COLOURS), cycle(MARKERS)):
        _draw_curve(axes, curve, {"color": colour, "marker": marker})
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1), frameon=False, title=_legend_title(curves))
    return figure


def _draw_curve(axes: Axes, curve: Concession, style: dict[str, Any]) -> None:
    declines = curve.time.size if curve.accept_turn is None else curve.accept_turn
    before, after = slice(declines), slice(declines - 1, None)
    small = {"lw": 1.5, "ms": 3, **style}
    axes.plot(curve.time[before], curve.mean[before], "-", label=curve.label, **small)
    axes.plot(curve.time[after], curve.mean[after], "--", alpha=0.6, **small)
    if curve.accept_turn is not None:
        turn = curve.accept_turn - 1
        axes.plot(curve.time[turn], curve.mean[turn], mfc="white", mew=1.5, ms=7, zorder=4, ls="", **style)
    if curve.varies:
        low, high = (curve.quantile(share) for share in BAND)
        axes.fill_between(curve.time, low, high, color=style["color"], alpha=0.15, lw=0)


def _legend_title(curves: Sequence[Concession]) -> str | None:
    return "hollow: would accept\nits partner's offer" if any(curve.accept_turn for curve in curves) else None


def utility_heatmaps(tables: Sequence[Crosstable]) -> Figure:
    """For each table, what profile 1 and profile 2 earn in every pair; a row of panels per table."""
    players = len(tables[0].labels)
    width = 2.2 + 0.32 * players
    figure = Figure(figsize=(2 * width + 0.6, len(tables) * (width + 0.2)), dpi=150, layout="constrained")
    grid = figure.subplots(len(tables), 2, squeeze=False)
    for panels, table in zip(grid, tables, strict=True):
        for profile, axes in enumerate(panels):
            _draw_heatmap(axes, table, profile)
    mapped = grid[0, 0].images[0]
    figure.colorbar(mapped, ax=grid, label="Mean utility", location="bottom", aspect=60, shrink=0.5, pad=0.01)
    return figure


def _draw_heatmap(axes: Axes, table: Crosstable, profile: int) -> None:
    utility = table.utility[profile]
    axes.imshow(utility, vmin=0, vmax=1, cmap="cividis")
    axes.set_title(f"{table.title}: utility of {table.profiles[profile]}", fontsize=10)
    axes.set_xlabel(f"plays {table.profiles[1]}", fontsize=9)
    axes.set_ylabel(f"plays {table.profiles[0]}", fontsize=9)
    places = range(len(table.labels))
    axes.set_xticks(places, table.labels, rotation=60, ha="right", rotation_mode="anchor", fontsize=8)
    axes.set_yticks(places, table.labels, fontsize=8)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    if len(places) <= MOST_FIGURES:
        _write_figures(axes, utility)


def _write_figures(axes: Axes, utility: NDArray[np.float64]) -> None:
    for (row, column), value in np.ndenumerate(utility):
        colour = "white" if value < 0.5 else "black"
        axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=6, color=colour)


def league_bars(table: Table) -> Figure:
    """What each column of a league's table earns on average over a pool, a panel per domain, a group per pool."""
    domains = list(dict.fromkeys(row.domain for row in table.rows))
    figure = Figure(figsize=(7.2, 0.6 + 2.4 * len(domains)), dpi=150, layout="constrained")
    panels = figure.subplots(len(domains), 1, squeeze=False, sharey=True)[:, 0]
    for axes, domain in zip(panels, domains, strict=True):
        means = [row for row in table.rows if row.domain == domain and row.opponent == MEAN]
        _draw_bars(axes, domain, means, table.columns)
    panels[0].legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    return figure


def _draw_bars(axes: Axes, domain: str, means: Sequence[Row], columns: Sequence[str]) -> None:
    width = 0.8 / len(columns)
    for number, (column, colour) in enumerate(zip(columns, cycle(COLOURS))):
        places = np.arange(len(means)) - 0.4 + (number + 0.5) * width
        utilities = [np.nan if (utility := row.columns[column]) is None else utility for row in means]
        bars = axes.bar(places, utilities, 0.92 * width, color=colour, label=column)
        axes.bar_label(bars, fmt=lambda height: "" if np.isnan(height) else f"{height:.2f}", fontsize=6, padding=1)
    axes.set(ylim=(0, 1.1), ylabel="Mean utility", title=domain)
    axes.set_xticks(range(len(means)), [f"mean of {row.pool}" for row in means])
    _plain(axes)


def _plain(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)

"""Pictures. Each function returns a matplotlib figure of its own and touches no global state."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from negzoo.scenario import Geometry, Scenario

# Okabe & Ito (2008): told apart whatever the reader's colour vision.
BLACK, GREY = "#000000", "#9A9A9A"
ORANGE, SKY, GREEN = "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILLION, PURPLE = "#0072B2", "#D55E00", "#CC79A7"

# Points of note often coincide: hollow marks of different sizes stay visible around one another.
SOLUTION_MARKS = {
    "Nash": ("o", 16, GREEN),
    "Kalai": ("s", 11, ORANGE),
    "Kalai-Smorodinsky": ("D", 8, PURPLE),
    "Welfare": ("+", 24, SKY),
}
PLAYER_MARKS = (("o", BLUE), ("^", VERMILLION))


def outcome_space(
    scenario: Scenario,
    offers: tuple[Sequence[int], Sequence[int]] = ((), ()),
    agreement: int | None = None,
) -> Figure:
    """Every outcome by what it is worth to each player, with the Pareto frontier and the points of note.

    Args:
        scenario: whose outcomes.
        offers: what each player offered, in time; drawn as a line that starts at a hollow mark.
        agreement: the outcome agreed on, if any.
    """
    figure = Figure(figsize=(7.2, 5.2), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    _draw_frame(axes, scenario)
    _draw_outcomes(axes, scenario)
    _draw_solutions(axes, scenario)
    for player, outcomes in enumerate(offers):
        if len(outcomes):
            _draw_offers(axes, scenario, player, outcomes)
    if agreement is not None:
        point = scenario.utilities[:, agreement]
        axes.plot(*point, "*", color=BLACK, mec="white", ms=17, zorder=6, label="Agreement")
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1), frameon=False, labelspacing=1.0)
    return figure


def _draw_frame(axes: Axes, scenario: Scenario) -> None:
    first, second = scenario.profiles
    axes.set(xlim=(-0.04, 1.04), ylim=(-0.04, 1.04), aspect="equal", title=scenario.name)
    axes.set(xlabel=f"Utility of {first.name}", ylabel=f"Utility of {second.name}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#EDEDED", linewidth=0.8)
    axes.set_axisbelow(True)
    if first.reservation or second.reservation:
        axes.axvline(first.reservation, color=GREY, ls=":", label="Reservation")
        axes.axhline(second.reservation, color=GREY, ls=":")


def _draw_outcomes(axes: Axes, scenario: Scenario) -> None:
    size = max(1.5, min(5.0, 120 / scenario.size**0.5))
    axes.plot(*scenario.utilities, "o", color=GREY, ms=size, mew=0, alpha=0.6, label="Outcome")
    frontier = scenario.utilities[:, Geometry(scenario).frontier]
    axes.plot(*frontier, "-o", color=BLACK, lw=1.2, ms=4, zorder=2, label="Pareto frontier")


def _draw_solutions(axes: Axes, scenario: Scenario) -> None:
    for name, outcome in Geometry(scenario).solutions.items():
        marker, size, colour = SOLUTION_MARKS[name]
        point = scenario.utilities[:, outcome]
        axes.plot(*point, marker, mfc="none", mec=colour, mew=2, ms=size, zorder=5, label=name, clip_on=False)


def _draw_offers(axes: Axes, scenario: Scenario, player: int, outcomes: Sequence[int]) -> None:
    marker, colour = PLAYER_MARKS[player]
    path = scenario.utilities[:, list(outcomes)]
    label = f"Offers of {scenario.profiles[player].name}"
    axes.plot(*path, "-" + marker, color=colour, lw=1.2, ms=5, zorder=3, label=label)
    axes.plot(*path[:, 0], marker, mfc="white", mec=colour, mew=2, ms=8, zorder=4)

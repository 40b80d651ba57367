"""`negzoo bench`: how fast it is."""

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from negzoo.cli.console import out, print_json
from negzoo.cli.parameters import (
    AsJson,
    Domains,
    LineageName,
    Opponents,
    lineage_of,
    opponents_of,
    scenarios_of,
)
from negzoo.cli.shown import table, watched

if TYPE_CHECKING:
    from negzoo.bench import Speed

app = typer.Typer(help="Measure speed on this machine.", no_args_is_help=True)


@app.callback()
def bench() -> None:
    """Measure speed on this machine."""


@app.command()
def opponents(
    domains: Domains = None,
    names: Opponents = None,
    lineage: LineageName = "paper",
    batch: Annotated[int, typer.Option("--batch", min=1, help="Negotiations at once.")] = 1024,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="How often each is measured.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Measure learner steps per second against each opponent, on one core.

    A step is one decision of the learner: its move, the opponent's reply, and a
    new negotiation where one has ended. The learner's offers are random, and
    drawn before the clock starts. Where NegMAS is installed, its own agents
    follow, one session at a time, as that is how it plays.
    """
    from negzoo.bench import machine, speed
    from negzoo.bridges import negmas

    chosen = lineage_of(lineage)
    scenarios, players = scenarios_of(domains), opponents_of(names, chosen)
    pairs = [(scenario, label) for scenario in scenarios for label in players]
    measured = (speed(label, players[label], scenario, batch, repeats) for scenario, label in pairs)
    speeds = list(watched(measured, len(pairs), "Measuring"))
    if negmas.available():
        speeds += [theirs for scenario in scenarios for theirs in negmas.speeds(scenario, repeats)]
    if as_json:
        settings = {"lineage": chosen, "batch": batch, "repeats": repeats}
        print_json({"machine": machine(), **settings, "speeds": [_plain(measured) for measured in speeds]})
        return
    _print_machine(machine())
    _print_speeds(speeds, f"one core, {batch:,} negotiations at once, {repeats} repeats, {chosen} lineage")
    if not negmas.available():
        out.print("NegMAS is not installed; with it, its own agents would stand beside.")


def _plain(measured: "Speed") -> dict[str, Any]:
    return {
        "domain": measured.domain,
        "opponent": measured.opponent,
        "median": measured.median,
        "quartiles": list(measured.quartiles),
        "rates": list(measured.rates),
    }


def _print_machine(told: dict[str, str]) -> None:
    out.print(f"{escape(told['processor'])}, {told['cores']} cores, {told['system']}")
    out.print(", ".join(f"{name} {told[name]}" for name in ("python", "numpy", "numba", "negzoo")) + "\n")


def _print_speeds(speeds: "list[Speed]", note: str) -> None:
    for domain in dict.fromkeys(measured.domain for measured in speeds):
        shown = table(domain, "Learner steps/s>", "Middle half of the repeats>")
        for measured in speeds:
            if measured.domain == domain:
                low, high = measured.quartiles
                shown.add_row(escape(measured.opponent), f"{measured.median:,.0f}", f"{low:,.0f} to {high:,.0f}")
        out.print(shown)
    out.print(f"Medians; {note}.")

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
from negzoo.errors import SettingsError

if TYPE_CHECKING:
    from negzoo.bench.measure import Speed
    from negzoo.bench.training import Timing
    from negzoo.envs import NegotiationSettings
    from negzoo.opponents import Opponent

Repeats = Annotated[int, typer.Option("--repeats", min=1, help="How often each is measured.")]
Encoding = Annotated[str, typer.Option("--encoding", metavar="NAME", help="Action encoding: outcome or issues.")]

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
    repeats: Repeats = 5,
    as_json: AsJson = False,
) -> None:
    """Measure learner steps per second against each opponent, on one core.

    A step is one decision of the learner: its move, the opponent's reply, and a
    new negotiation where one has ended. The learner's offers are random, and
    drawn before the clock starts. Where NegMAS is installed, its own agents
    follow, one session at a time, as that is how it plays.
    """
    from negzoo.bench.measure import machine
    from negzoo.bench.opponents import speed
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


@app.command()
def env(
    domains: Domains = None,
    opponent: Annotated[str, typer.Option("--opponent", metavar="NAME", help="Who sits across.")] = "Linear",
    sizes: Annotated[str, typer.Option("--batch", metavar="N,N", help="Negotiations at once.")] = "16,64,256,1024",
    encoding: Encoding = "outcome",
    repeats: Repeats = 5,
    as_json: AsJson = False,
) -> None:
    """Measure learner steps per second of the environments, on one core, with random offers and no learning."""
    from negzoo.bench.environments import aec_speed, batch_speed
    from negzoo.bench.measure import machine

    settings, who = _settings(encoding), _opponent(opponent)
    speeds = []
    for scenario in scenarios_of(domains):
        speeds.append(aec_speed(scenario, who, settings, repeats))
        speeds += [batch_speed(scenario, who, settings, size, repeats) for size in _sizes(sizes)]
    if as_json:
        print_json({"machine": machine(), "speeds": [_plain(measured) for measured in speeds]})
        return
    _print_machine(machine())
    _print_speeds(speeds, f"one core, {repeats} repeats, {who.name} across, {encoding} encoding", "Environment")


@app.command()
def train(
    domains: Domains = None,
    encodings: Annotated[
        str, typer.Option("--encodings", metavar="NAME,NAME", help="Action encodings.")
    ] = "outcome,issues",
    opponent: Annotated[str, typer.Option("--opponent", metavar="NAME", help="Who sits across.")] = "Linear",
    models: Annotated[int, typer.Option("--models", min=1, help="Models in the population.")] = 10,
    repeats: Repeats = 3,
    as_json: AsJson = False,
) -> None:
    """Measure learning three ways: Tianshou's multi-agent manager, its PPO on the vector environment, the population.

    Each with the settings of the paper, over whole updates. The population also on two workers.
    """
    from dataclasses import asdict

    from negzoo.bench.measure import machine
    from negzoo.bench.training import PATHS, Case, measure, measure_together, peak_gflops
    from negzoo.learn.settings import PPOSettings

    who, peak = _opponent(opponent), peak_gflops()
    results = []
    for scenario in scenarios_of(domains):
        for encoding in encodings.split(","):
            case = Case(scenario, who, _settings(encoding), PPOSettings(), models, repeats)
            timings = [measure(case, path) for path in PATHS] + [measure_together(case, 2)]
            results.append((scenario.name, encoding, timings))
            if not as_json:
                _print_training(scenario.name, encoding, timings, peak)
    if as_json:
        cases = [
            {"domain": domain, "encoding": encoding, "timings": [asdict(timing) for timing in timings]}
            for domain, encoding, timings in results
        ]
        print_json({"machine": machine(), "peak_gflops": peak, "models": models, "cases": cases})
        return
    _print_machine(machine())
    out.print(f"torch.mm reaches {peak:.0f} GFLOP/s on one thread. Medians of {repeats} updates; {models} models.")


def _print_training(domain: str, encoding: str, timings: "list[Timing]", peak: float) -> None:
    shown = table(
        f"{domain}, {encoding}", "Workers>", "Steps/s>", "×>", "Env>", "Collect>", "Update>", "µs>", "GFLOP/s>", "MiB>"
    )
    slowest = timings[0].median
    for timing in timings:
        shares = [f"{timing.shares[name]:.0%}" for name in ("environment", "collect", "update")]
        flops = f"{timing.gflops:.0f} ({timing.gflops / peak:.0%})"
        rate, ratio = f"{timing.median:,.0f}", f"{timing.median / slowest:.1f}"
        row = (timing.path, str(timing.workers), rate, ratio, *shares, f"{timing.minibatch:,.0f}", flops)
        shown.add_row(*row, f"{timing.memory:,.0f}")
    out.print(shown)


def _opponent(name: str) -> "Opponent":
    from negzoo.opponents import resolve

    return resolve(name)


def _settings(encoding: str) -> "NegotiationSettings":
    from negzoo.envs import NegotiationSettings

    return NegotiationSettings(action_encoding=encoding)  # type: ignore[arg-type]


def _sizes(text: str) -> list[int]:
    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError:
        sizes = [0]
    if min(sizes) < 1:
        raise SettingsError(f"--batch {text}: give whole numbers of at least 1, as in 16,1024")
    return sizes


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
    out.print(
        ", ".join(f"{name} {told[name]}" for name in ("python", "numpy", "numba", "torch", "tianshou", "negzoo")) + "\n"
    )


def _print_speeds(speeds: "list[Speed]", note: str, what: str = "Opponent") -> None:
    for domain in dict.fromkeys(measured.domain for measured in speeds):
        shown = table(f"{what}, {domain}", "Learner steps/s>", "Middle half of the repeats>")
        for measured in speeds:
            if measured.domain == domain:
                low, high = measured.quartiles
                shown.add_row(escape(measured.opponent), f"{measured.median:,.0f}", f"{low:,.0f} to {high:,.0f}")
        out.print(shown)
    out.print(f"Medians; {note}.")

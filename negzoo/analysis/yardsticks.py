"""What trivial policies earn against every opponent: the figures that anything learned has to be seen beside.

A policy moves first and holds profile 1, as the learner of Kobayashi & Fujita (2025) does.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from negzoo.engine import Clock
from negzoo.league.scores import Score, score
from negzoo.opponents import Opponent, Scripted, play
from negzoo.scenario import Scenario

YARDSTICKS = ("AcceptFirst", "Hardliner", "LateHardliner")


@dataclass(frozen=True)
class Yardstick:
    """What the trivial policies earn from one opponent in one domain; `scores` by policy."""

    domain: str
    opponent: str
    scores: dict[str, Score]


def yardsticks(
    scenarios: Sequence[Scenario], opponents: dict[str, Opponent], games: int, seed: int, clock: Clock
) -> Iterator[Yardstick]:
    """Measure every opponent in every scenario, domain by domain.

    Raises:
        SettingsError: fewer than one game, or an unknown clock.
    """
    for scenario in scenarios:
        for label, opponent in opponents.items():
            met = {name: play(scenario, Scripted(name), opponent, games, seed, clock=clock) for name in YARDSTICKS}
            scores = {name: score(negotiated, player=0) for name, negotiated in met.items()}
            yield Yardstick(scenario.name, label, scores)


def mean_utility(rows: Sequence[Yardstick], policy: str) -> float:
    """What a policy earns on the mean over some rows."""
    return float(np.mean([row.scores[policy].utility for row in rows]))


def to_markdown(rows: Sequence[Yardstick]) -> str:
    """A Markdown table, a row per opponent; each cell has the utility of each policy, in the order of YARDSTICKS."""
    domains = list(dict.fromkeys(row.domain for row in rows))
    opponents = list(dict.fromkeys(row.opponent for row in rows))
    cells = {(row.opponent, row.domain): _triple([row]) for row in rows}
    lines = [
        "| opponent | " + " | ".join(domains) + " |",
        "|---|" + "---|" * len(domains),
        *(_line(name, [cells[name, domain] for domain in domains]) for name in opponents),
        _line("**mean**", [_triple([row for row in rows if row.domain == domain]) for domain in domains]),
    ]
    return "\n".join(lines) + "\n"


def _line(name: str, cells: list[str]) -> str:
    return f"| {name} | " + " | ".join(cells) + " |"


def _triple(rows: Sequence[Yardstick]) -> str:
    return " / ".join(f"{mean_utility(rows, policy):.3f}" for policy in YARDSTICKS)

"""NegMAS (Mohammad, Nakadai & Greenwald 2021) beside negzoo: its own agents, on our utility tables."""

import time
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from itertools import cycle
from typing import Any

import numpy as np

from negzoo.bench.measure import Speed
from negzoo.bench.opponents import ROUNDS
from negzoo.scenario import Scenario

AGENTS = ("BoulwareTBNegotiator", "LinearTBNegotiator", "ConcederTBNegotiator", "NaiveTitForTatNegotiator")
SESSIONS = 3


def available() -> bool:
    """Whether NegMAS is installed."""
    return find_spec("negmas") is not None


def speeds(scenario: Scenario, repeats: int = 5, seed: int = 0) -> Iterator[Speed]:
    """Learner steps per second of NegMAS's own agents, measured as ours are, one session at a time.

    Its sessions are those of SAOMechanism, with as many rounds. Setting one up is not measured.
    """
    for agent in AGENTS:
        rates = [_rate(agent, scenario, seed + repeat) for repeat in range(repeats + 1)]
        yield Speed(scenario.name, f"NegMAS {agent}", tuple(rates[1:]))


def _rate(agent: str, scenario: Scenario, seed: int) -> float:
    """Rounds per second over some sessions; a round has one step of the learner."""
    steps, seconds = 0, 0.0
    for session in range(SESSIONS):
        mechanism = _session(agent, scenario, seed * SESSIONS + session)
        began = time.perf_counter()
        mechanism.run()
        seconds += time.perf_counter() - began
        steps += mechanism.current_step
    return steps / seconds


def _session(agent: str, scenario: Scenario, seed: int) -> Any:
    """A SAOMechanism in which a learner with prepared random offers meets one of NegMAS's agents."""
    sao, outcomes_of, preferences = (import_module(f"negmas.{part}") for part in ("sao", "outcomes", "preferences"))
    issues = [outcomes_of.make_issue(list(issue.options), issue.name) for issue in scenario.issues]
    space = outcomes_of.make_os(issues)
    outcomes = [
        tuple(issue.options[option] for issue, option in zip(scenario.issues, picks, strict=True))
        for picks in scenario.options.tolist()
    ]
    drawn = np.random.default_rng(seed).integers(0, scenario.size, ROUNDS).tolist()
    mechanism = sao.SAOMechanism(outcome_space=space, n_steps=ROUNDS)
    tables = [
        preferences.MappingUtilityFunction(dict(zip(outcomes, utility, strict=True)), outcome_space=space)
        for utility in scenario.utilities.tolist()
    ]
    mechanism.add(_learner(sao, [outcomes[outcome] for outcome in drawn]), ufun=tables[0])
    mechanism.add(getattr(sao, agent)(), ufun=tables[1])
    return mechanism


def _learner(sao: Any, offers: list[Any]) -> Any:
    """A negotiator that rejects everything and makes these offers in turn."""
    upcoming = cycle(offers)

    class Scripted(sao.SAONegotiator):  # type: ignore[misc]
        def propose(self, state: Any, dest: str | None = None) -> Any:
            return next(upcoming)

        def respond(self, state: Any, source: str | None = None) -> Any:
            return sao.ResponseType.REJECT_OFFER

    return Scripted()

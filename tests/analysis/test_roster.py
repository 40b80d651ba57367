"""Who there is to play: kinds, parameters, and where the algorithm is told."""

from dataclasses import dataclass

import pytest

from negzoo.analysis import roster
from negzoo.opponents import Offer, PythonOpponent, register, registry, resolve

PAPERS_NINE = [
    "Boulware1",
    "Boulware2",
    "Boulware3",
    "Linear",
    "Conceder1",
    "Conceder2",
    "Conceder3",
    "TitForTat1",
    "TitForTat2",
]


@pytest.fixture
def own_registry(monkeypatch):
    monkeypatch.setattr(registry, "_ENTRIES", dict(registry._ENTRIES))


def test_the_standard_opponents_are_the_papers_thirteen():
    assert roster.standard() == [*PAPERS_NINE, *sorted(["AgentK", "HardHeaded", "Atlas3", "AgentGG"])]


def test_every_registered_name_is_of_one_kind():
    by_kind = [name for kind in roster.KINDS for name in roster.listed(kind)]
    assert sorted(by_kind) == sorted(name for name, _ in registry.entries())
    assert list(roster.listed("family")) == ["TimeDependent", "TitForTat"]
    assert list(roster.listed("yardstick")) == ["AcceptFirst", "Hardliner", "LateHardliner", "Random"]


def test_opponents_and_yardsticks_can_be_made_by_name_alone():
    for kind in ("opponent", "yardstick"):
        assert all(resolve(name).name == name for name in roster.listed(kind))


def test_parameters_have_their_defaults():
    entries = dict(registry.entries())
    assert roster.parameters(entries["TimeDependent"]) == {"e": roster.REQUIRED, "lineage": "paper", "noise": 0.0}
    assert roster.parameters(entries["Linear"]) == {"lineage": "paper", "noise": 0.0}
    assert roster.parameters(entries["Hardliner"]) == {}
    assert (roster.lineages(entries["Linear"]), roster.lineages(entries["Hardliner"])) == (("paper", "genius"), ())


@pytest.mark.parametrize("name", ["Boulware1", "TitForTat2", "AgentK", "HardHeaded", "Atlas3", "AgentGG"])
def test_the_source_of_a_strategy_is_its_numbered_steps(name):
    entry = dict(registry.entries())[name]
    assert roster.module(entry).startswith("negzoo.opponents.")
    assert "\n1. " in roster.source(entry)
    assert "\n2. " in roster.source(entry)


@pytest.mark.usefixtures("own_registry")
def test_an_opponent_of_ones_own_is_one_of_the_standard_ones():
    @register("Patient", "waits")
    @dataclass(frozen=True)
    class Patient(PythonOpponent):
        """Waits.

        1. Offers the best.
        """

        patience: int = 3

        def respond(self, view):
            return Offer(view.best)

    assert "Patient" in roster.standard()
    entry = dict(registry.entries())["Patient"]
    assert roster.parameters(entry) == {"patience": 3}
    assert roster.lineages(entry) == ()


def test_names_are_resolved_by_what_was_written():
    opponents = roster.resolved(["Linear", "TitForTat(gamma=3)", 'Linear(lineage="paper")'], "genius")
    assert list(opponents) == ["Linear", "TitForTat(gamma=3)", 'Linear(lineage="paper")']
    assert [opponent.lineage for opponent in opponents.values()] == ["genius", "genius", "paper"]

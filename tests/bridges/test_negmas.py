"""NegMAS's own agents, where it is installed."""

import pytest

from negzoo.bridges import negmas
from negzoo.scenario import load

pytest.importorskip("negmas")


def test_its_agents_are_measured_on_our_utilities():
    speeds = list(negmas.speeds(load("laptop"), repeats=2))
    assert [measured.opponent for measured in speeds] == [f"NegMAS {agent}" for agent in negmas.AGENTS]
    assert all(len(measured.rates) == 2 and min(measured.rates) > 0 for measured in speeds)


def test_its_tables_are_ours():
    laptop = load("laptop")
    session = negmas._session("LinearTBNegotiator", laptop, seed=0)
    outcome = ("Macintosh", "60 Gb", "19'' LCD")
    utilities = [float(negotiator.ufun(outcome)) for negotiator in session.negotiators]
    assert utilities == pytest.approx(laptop.utilities[:, laptop.index_of(outcome)])

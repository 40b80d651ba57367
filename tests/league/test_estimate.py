"""How long a plan is said to take, against what docs/training.md says was measured."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from negzoo.envs import NegotiationSettings
from negzoo.league.estimate import estimated_seconds
from negzoo.league.plan import Plan
from negzoo.learn.settings import PPOSettings
from negzoo.scenario import load
from tests.league.leagues import plan_of
from tests.league.tasks import CELL

PAPER = replace(CELL, game=NegotiationSettings(), ppo=PPOSettings())
LAPTOP, THOMPSON = (replace(PAPER, scenario=load(name)) for name in ("laptop", "thompson"))
MANAGER = replace(LAPTOP, trainer="manager")


def seconds(*cells):
    """The estimate for these cells, whatever league they are of."""
    return estimated_seconds(Plan(None, cells))


@pytest.mark.parametrize(
    ("domain", "encoding", "microseconds"),
    [
        ("laptop", "outcome", 151),
        ("itex_vs_cypress", "outcome", 219),
        ("is_bt_acquisition", "outcome", 287),
        ("grocery", "outcome", 779),
        ("thompson", "outcome", 1361),
        ("thompson", "issues", 252),
    ],
)
def test_a_gradient_step_takes_about_what_was_measured(domain, encoding, microseconds):
    """Per model, in the chunks that are chosen; a pass over 64 steps is one gradient step."""
    cell = replace(PAPER, scenario=load(domain), game=NegotiationSettings(action_encoding=encoding), steps=64)
    once, twice = (seconds(replace(cell, ppo=replace(cell.ppo, epochs=epochs))) for epochs in (1, 2))
    assert twice - once == pytest.approx(microseconds * 1e-6, rel=0.35 if encoding == "issues" else 0.1)


def test_a_step_costs_more_than_its_learning():
    cell = replace(LAPTOP, steps=64)
    once, twice = (seconds(replace(cell, ppo=replace(cell.ppo, epochs=epochs))) for epochs in (1, 2))
    assert once > twice - once


def test_the_manager_takes_longer():
    assert seconds(replace(MANAGER, steps=1200)) == pytest.approx(1.0)
    assert seconds(MANAGER) > 5 * seconds(LAPTOP)


@given(st.lists(st.sampled_from([LAPTOP, THOMPSON, MANAGER]), max_size=5), st.integers(1, 10**7))
def test_work_adds_up_and_grows_with_the_steps(cells, steps):
    scaled = [replace(cell, steps=cell.steps * steps) for cell in cells]
    assert seconds(*scaled) == pytest.approx(steps * sum(map(seconds, cells)))


def test_a_league_takes_as_long_as_its_models(tmp_path):
    plan = plan_of(tmp_path, '["laptop"]', '["laptop", "thompson"]')
    parts = list(map(seconds, plan.cells))
    assert len(set(parts)) == 6
    assert estimated_seconds(plan) == pytest.approx(sum(parts))

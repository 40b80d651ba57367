"""The league files that come with negzoo: together the experiments of Kobayashi & Fujita (2025)."""

from collections import Counter
from pathlib import Path

import pytest

from negzoo.league.plan import make_plan
from negzoo.league.spec import read_league

LEAGUES = Path(__file__).parents[2] / "leagues"
MILLION = 1_000_000


def plan_of(name, domains=None):
    return make_plan(read_league(LEAGUES / f"{name}.toml", domains))


def test_every_experiment_of_the_paper_has_the_papers_size():
    """610 models and 323 million learner steps per domain; 3,050 and 1.615 billion in all."""
    plan = plan_of("paper")
    assert (len(plan.cells), plan.steps) == (3050, 1615 * MILLION)
    own = [cell for cell in plan.cells if cell.scenario.name == "thompson"]
    assert (len(own), sum(cell.steps for cell in own)) == (610, 323 * MILLION)
    assert Counter(cell.stage for cell in own) == {"baseline": 130, "pretrain": 50, "finetune": 430}


@pytest.mark.parametrize(
    ("league", "baselines", "pretraining", "finetuned"),
    [
        ("t7", 70, 35, 70),
        ("tb9", 90, 45, 90),
        ("tba13", 130, 65, 130),
        ("t3", 40, 15, 40),
        ("tba11", 20, 55, 20),
        ("t7_a4", 40, 35, 40),
        ("tb9_a4", 40, 45, 40),
    ],
)
def test_each_experiment_has_the_papers_models_and_steps(league, baselines, pretraining, finetuned):
    """Models from scratch and fine-tuned, and millions of steps of pre-training, per domain."""
    cells = plan_of(league, ["laptop"]).cells
    assert Counter(cell.stage for cell in cells) == {"baseline": baselines, "pretrain": 10, "finetune": finetuned}
    steps = {stage: sum(cell.steps for cell in cells if cell.stage == stage) for stage in ("baseline", "pretrain")}
    assert steps == {"baseline": baselines * 500_000, "pretrain": pretraining * MILLION}


@pytest.mark.parametrize("league", ["t7", "tb9", "tba13", "t3", "tba11", "t7_a4", "tb9_a4"])
def test_the_whole_paper_trains_the_same_baselines_and_no_more(league):
    whole = {cell.id for cell in plan_of("paper", ["laptop"]).cells if cell.stage == "baseline"}
    assert {cell.id for cell in plan_of(league, ["laptop"]).cells if cell.stage == "baseline"} <= whole


@pytest.mark.parametrize(("pool", "unknown"), [("T3", "T4"), ("TBA11", "A2"), ("T7", "A4"), ("TB9", "A4")])
def test_unknown_opponents_are_in_no_pool_that_was_trained_on(pool, unknown):
    pools = read_league(LEAGUES / "paper.toml").pools
    known = {member.name for member in pools[pool].members}
    assert known.isdisjoint(member.name for member in pools[unknown].members)

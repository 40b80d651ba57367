"""Plans: how many models, in which order, and that an id stands for all that makes a model what it is."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from negzoo.league.plan import make_plan
from negzoo.league.spec import read_league
from negzoo.scenario import dumps_toml, load
from tests.league.leagues import plan_of, write_league

LEAGUES = Path(__file__).resolve().parents[2] / "leagues"
MILLION = 10**6


def shipped(name, **overrides):
    return make_plan(read_league(LEAGUES / f"{name}.toml", **overrides))


def stages(plan):
    return Counter(cell.stage for cell in plan.cells)


def steps_by_stage(plan):
    return {stage: sum(cell.steps for cell in plan.cells if cell.stage == stage) for stage in stages(plan)}


# The paper's budgets


def test_t7_is_150_models_and_77_million_steps_in_each_domain():
    plan = shipped("t7", domains=["laptop"])
    assert stages(plan) == {"baseline": 70, "pretrain": 10, "finetune": 70}
    assert steps_by_stage(plan) == {"baseline": 35 * MILLION, "pretrain": 35 * MILLION, "finetune": 7 * MILLION}
    assert (len(shipped("t7").cells), shipped("t7").steps) == (5 * 150, 5 * 77 * MILLION)


def test_t3_is_90_models_and_39_million_steps_in_each_domain():
    plan = shipped("t3", domains=["thompson"])
    assert stages(plan) == {"baseline": 40, "pretrain": 10, "finetune": 40}
    assert steps_by_stage(plan) == {"baseline": 20 * MILLION, "pretrain": 15 * MILLION, "finetune": 4 * MILLION}
    assert (len(shipped("t3").cells), shipped("t3").steps) == (5 * 90, 5 * 39 * MILLION)


def test_models_and_scale_shrink_a_plan():
    plan = shipped("t7", domains=["laptop", "grocery"], models=1, scale=0.001)
    assert stages(plan) == {"baseline": 14, "pretrain": 2, "finetune": 14}
    assert plan.steps == 2 * (7 * 500 + 7 * 500 + 7 * 100)


# What each cell is


def test_every_opponent_gets_its_models_and_a_pool_gets_its_own(tmp_path):
    cells = plan_of(tmp_path).cells
    assert [(cell.stage, cell.opponent.name, cell.model, cell.steps) for cell in cells] == [
        ("baseline", "Conceder1", 0, 500),
        ("baseline", "Conceder1", 1, 500),
        ("pretrain", "known", 0, 600),
        ("pretrain", "known", 1, 600),
        ("finetune", "Conceder1", 0, 100),
        ("finetune", "Conceder1", 1, 100),
    ]
    assert {cell.scenario for cell in cells} == {load("laptop")}
    assert [cell.pool for cell in cells] == [None, None, "known", "known", "known", "known"]


def test_a_fine_tuned_model_chooses_among_the_models_of_its_pool_and_domain(tmp_path):
    plan = plan_of(tmp_path, '["laptop"]', '["laptop", "grocery"]')
    for cell in plan.cells:
        candidates = [plan.by_id[candidate] for candidate in cell.candidates]
        if cell.stage == "finetune":
            assert [candidate.model for candidate in candidates] == [0, 1]
            assert {(c.stage, c.scenario, c.opponent.name) for c in candidates} == {
                ("pretrain", cell.scenario, "known")
            }
        else:
            assert not candidates


def test_candidates_come_before_what_starts_from_them(tmp_path):
    position = {cell.id: i for i, cell in enumerate(plan_of(tmp_path, '["laptop"]', '["laptop", "grocery"]').cells)}
    assert len(position) == 12
    for cell in plan_of(tmp_path, '["laptop"]', '["laptop", "grocery"]').cells:
        assert all(position[candidate] < position[cell.id] for candidate in cell.candidates)


def test_a_pre_trained_model_is_also_scored_on_whom_it_will_meet(tmp_path):
    scored = {cell.stage: [opponent.name for opponent in cell.scored_on] for cell in plan_of(tmp_path).cells}
    assert scored == {
        "baseline": ["Conceder1"],
        "pretrain": ["Boulware2", "Linear", "Conceder1"],
        "finetune": ["Conceder1"],
    }


@pytest.mark.parametrize(("seat", "swap", "side"), [(0, "false", 0), (1, "false", 1), (0, "true", 1), (1, "true", 0)])
def test_the_learner_holds_the_profile_of_its_seat(tmp_path, seat, swap, side):
    path = write_league(tmp_path / "league.toml", "rounds = 40", f"swap_profiles = {swap}")
    path.write_text(f"learner_seat = {seat}\n{path.read_text('utf-8')}", "utf-8")
    assert {(cell.seat, cell.side) for cell in make_plan(read_league(path)).cells} == {(seat, side)}


def test_pools_that_overlap_share_their_baselines(tmp_path):
    table = '[[baseline]]\nopponents = "unknown"\nsteps = 500'
    both = f"{table}\n\n{table.replace('unknown', 'known')}"
    path = write_league(tmp_path / "league.toml", table, both)
    path.write_text(path.read_text("utf-8").replace('["Conceder1"]', '["Linear", "Conceder1"]'), "utf-8")
    baselines = Counter(cell.opponent.name for cell in make_plan(read_league(path)).cells if cell.stage == "baseline")
    assert baselines == {"Linear": 2, "Conceder1": 2, "Boulware2": 2}


def test_a_label_says_where_a_cell_belongs(tmp_path):
    labels = [cell.label for cell in plan_of(tmp_path).cells]
    assert labels[0] == "laptop · baseline · Conceder1 · model 1"
    assert labels[3] == "laptop · pre-train · known · model 2"
    assert labels[5] == "laptop · fine-tune known · Conceder1 · model 2"


# Ids and seeds


def ids(plan):
    return [cell.id for cell in plan.cells]


def seeds(plan):
    return [cell.seed for cell in plan.cells]


def test_every_cell_has_an_id_and_a_seed_of_its_own():
    plan = shipped("t3")
    assert len(set(ids(plan))) == len(set(seeds(plan))) == len(plan.cells)
    assert all(len(cell.id) == 16 and 0 <= cell.seed < 2**64 for cell in plan.cells)


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_ids_and_seeds_are_the_same_in_every_process(tmp_path, hash_seed):
    path = write_league(tmp_path / "league.toml")
    script = (
        "import sys; from pathlib import Path; from negzoo.league.plan import make_plan;"
        "from negzoo.league.spec import read_league; plan = make_plan(read_league(Path(sys.argv[1])));"
        "print(plan.id, *((cell.id, cell.seed) for cell in plan.cells))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", script, path], env=environment, capture_output=True, text=True, check=True
    )
    plan = plan_of(tmp_path)
    assert done.stdout.split() == " ".join([plan.id, *(str((cell.id, cell.seed)) for cell in plan.cells)]).split()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("models = 2", "models = 2\nseed = 1"),
        ("models = 2", "models = 2\nlearner_seat = 1"),
        ("models = 2", 'models = 2\nlineage = "genius"'),
        ("models = 2", 'models = 2\ntrainer = "manager"'),
        ('["laptop"]', '["grocery"]'),
        ("envs = 4", "envs = 8"),
        ("envs = 4", "envs = 4\nlearning_rate = 1e-3"),
        ("hidden = [8, 8]", "hidden = [8, 4]"),
        ("envs = 4", "envs = 4\nnormalise_advantages = false"),
        ("rounds = 40", "rounds = 41"),
        ("rounds = 40", 'clock = "genius"'),
        ("rounds = 40", "swap_profiles = true"),
        ("rounds = 40", "no_deal_reward = -0.5"),
        ("rounds = 40", "observe_utilities = true"),
        ("games = 10", "games = 11"),
    ],
)
def test_whatever_concerns_all_models_changes_every_id(tmp_path, old, new):
    before, after = plan_of(tmp_path), plan_of(tmp_path, old, new)
    assert set(ids(before)).isdisjoint(ids(after))
    assert before.id != after.id


def changed_stages(before, after):
    kept = set(ids(after))
    return {cell.stage for cell in before.cells if cell.id not in kept}


@pytest.mark.parametrize(
    ("old", "new", "concerned"),
    [
        ("steps = 500", "steps = 501", {"baseline"}),
        ("steps_per_opponent = 300", "steps_per_opponent = 301", {"pretrain", "finetune"}),
        ("steps = 100", "steps = 101", {"finetune"}),
        ('["Boulware2", "Linear"]', '["Boulware2", "Conceder2"]', {"pretrain", "finetune"}),
        ('"Linear"', '{opponent = "Linear", weight = 2}', {"pretrain", "finetune"}),
        ('["Conceder1"]', '["TimeDependent(e=2.5)"]', {"baseline", "pretrain", "finetune"}),
        ("steps_per_opponent = 300", "steps_per_opponent = 300\nmodels = 3", {"finetune"}),
    ],
)
def test_a_change_makes_other_models_of_those_that_it_concerns(tmp_path, old, new, concerned):
    assert changed_stages(plan_of(tmp_path), plan_of(tmp_path, old, new)) == concerned


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("envs = 4", 'envs = 4\ndevice = "cuda"'),
        ('title = "A small league"', 'title = "Renamed"'),
        ('name = "small"', 'name = "other"'),
        ('["laptop"]', '["laptop", "grocery"]'),
        ("models = 2", "models = 2\nseed = 0"),
        ("envs = 4", 'preset = "paper"\nenvs = 4'),
        ("rounds = 40", 'rounds = 40\nclock = "paper"'),
        ("rounds = 40", 'rounds = 40\nmask_in = "info"'),
        ('"Linear"', '"TimeDependent(e=1.0)"'),
    ],
)
def test_the_same_model_has_the_same_id_in_every_league(tmp_path, old, new):
    before, after = plan_of(tmp_path), plan_of(tmp_path, old, new)
    assert set(ids(before)) <= set(ids(after))
    assert set(seeds(before)) <= set(seeds(after))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("rounds = 40", "no_deal_reward = -%s"),
        ("envs = 4", "envs = 4\nclip = %s"),
        ("envs = 4", "envs = 4\nentropy_coefficient_end = %s"),
        ('"Linear"', '{opponent = "Linear", weight = %s}'),
        ('"Linear"', '"TimeDependent(e=%s)"'),
    ],
)
def test_a_whole_number_is_the_number_that_it_is(tmp_path, old, new):
    assert ids(plan_of(tmp_path, old, new % 2)) == ids(plan_of(tmp_path, old, new % 2.0))


def test_more_models_leave_the_first_ones_what_they_are(tmp_path):
    few, many = plan_of(tmp_path), plan_of(tmp_path, models=3)
    assert changed_stages(few, many) == {"finetune"}  # they choose among more
    assert set(seeds(few)) <= set(seeds(many))


def test_a_domain_is_known_by_its_content(tmp_path):
    (tmp_path / "copy.toml").write_text(dumps_toml(load("laptop")).replace('"laptop"', '"renamed"'), "utf-8")
    assert ids(plan_of(tmp_path)) == ids(plan_of(tmp_path, domains=[str(tmp_path / "copy.toml")]))


def test_a_run_is_known_by_its_name_and_its_models(tmp_path):
    plan = plan_of(tmp_path)
    assert len(plan.id) == 8
    assert plan.id == plan_of(tmp_path, 'title = "A small league"', 'title = "Renamed"').id
    assert plan.id != plan_of(tmp_path, 'name = "small"', 'name = "other"').id
    assert plan.id != plan_of(tmp_path, models=1).id

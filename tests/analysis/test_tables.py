"""The table of a league, against one worked out by hand, and with models missing."""

from dataclasses import asdict

import pytest

from negzoo.analysis.tables import MEAN, TRIVIAL, figure, league_table, to_markdown
from negzoo.opponents import play, resolve
from negzoo.scenario import load
from tests.league.leagues import plan_of, result_of

NAMES = ("Boulware2", "Linear", "Conceder1")
SCRIPTS = list(TRIVIAL.values())


@pytest.fixture
def plan(tmp_path):
    return plan_of(tmp_path)


def results_of(plan, baseline=(), pretrained=(), finetuned=()):
    """Results by stage: of each model on its opponent, but of a pre-trained one on Boulware2, Linear and Conceder1."""
    found = {}
    for stage, utilities in (("baseline", baseline), ("pretrain", pretrained), ("finetune", finetuned)):
        cells = [cell for cell in plan.cells if cell.stage == stage]
        for cell, earned in zip(cells, utilities, strict=False):
            names = NAMES if stage == "pretrain" else (cell.opponent.name,)
            earned = earned if stage == "pretrain" else (earned,)
            found[cell.id] = result_of(cell.id, **dict(zip(names, earned, strict=True)))
    return found


def learned(table):
    """The learned columns by (pool, opponent)."""
    return {
        (row.pool, row.opponent): tuple(row.columns[column] for column in table.columns if column not in SCRIPTS)
        for row in table.rows
    }


ALL = {"baseline": (0.5, 0.7), "pretrained": ((0.9, 0.1, 0.2), (0.5, 0.6, 0.8)), "finetuned": (0.85, 0.75)}


def test_each_figure_is_that_of_the_selected_model(plan):
    """Of the two pre-trained models the second is better over its pool (.55), and so its .8 counts for Conceder1."""
    table = league_table(plan, results_of(plan, **ALL))
    assert table.columns == ("Baseline", "known-(Pre)", "known-(FT)", *SCRIPTS)
    assert learned(table) == {
        ("unknown", "Conceder1"): (0.7, 0.8, 0.85),
        ("unknown", MEAN): (0.7, 0.8, 0.85),
        ("known", "Boulware2"): (None, 0.5, None),
        ("known", "Linear"): (None, 0.6, None),
        ("known", MEAN): (None, pytest.approx(0.55), None),
    }


def test_of_equal_models_the_first_counts(plan):
    results = results_of(plan, pretrained=((0.25, 0.75, 0.0), (0.75, 0.25, 1.0)))
    assert learned(league_table(plan, results))["unknown", "Conceder1"] == (None, 0.0, None)


def test_the_trivial_policies_stand_beside(plan):
    """On Laptop a hardliner gets everything from a time-dependent opponent, and accept-first what it opens with."""
    table = league_table(plan, {})
    row = table.rows[0]
    opening = play(load("laptop"), resolve("AcceptFirst"), resolve("Conceder1")).utilities[0, 0]
    assert row.columns["accept first"] == pytest.approx(opening)
    assert row.columns["hardliner"] == row.columns["late hardliner"] == 1
    assert 0 < row.columns["random"] < 1
    mean = next(row for row in table.rows if row.opponent == MEAN and row.pool == "known")
    members = [row for row in table.rows if row.pool == "known" and row.opponent != MEAN]
    for script in SCRIPTS:
        assert mean.columns[script] == pytest.approx(sum(row.columns[script] for row in members) / 2)


def test_a_trivial_policy_sits_where_the_learner_does(tmp_path):
    plan = plan_of(tmp_path, "models = 2", "learner_seat = 1")
    opening = play(load("laptop"), resolve("Conceder1"), resolve("AcceptFirst")).utilities[1, 0]
    assert league_table(plan, {}).rows[0].columns["accept first"] == pytest.approx(opening)


def test_what_is_missing_is_a_dash(plan):
    table = league_table(plan, results_of(plan, baseline=(0.5,)))
    assert learned(table)["unknown", "Conceder1"] == (0.5, None, None)
    assert set(learned(table)["known", MEAN]) == {None}
    line = next(line for line in to_markdown(table).splitlines() if "| Conceder1 |" in line)
    assert line.startswith("| laptop | unknown | Conceder1 | 0.500 | – | – |")


def test_a_mean_over_a_pool_of_which_a_part_is_missing_is_a_dash(tmp_path):
    plan = plan_of(tmp_path, '["Conceder1"]', '["Conceder1", "Conceder2"]')
    without = league_table(plan, results_of(plan, baseline=(0.5, 0.7)))
    assert [learned(without)["unknown", name][0] for name in ("Conceder1", "Conceder2", MEAN)] == [0.7, None, None]
    line = next(line for line in to_markdown(without).splitlines() if "| unknown | mean |" in line)
    assert line.startswith("| laptop | unknown | mean | – |")
    complete = league_table(plan, results_of(plan, baseline=(0.5, 0.7, 0.9)))
    assert learned(complete)["unknown", MEAN][0] == pytest.approx((0.7 + 0.9) / 2)


def test_every_domain_has_its_own_rows(tmp_path):
    table = league_table(plan_of(tmp_path, '["laptop"]', '["laptop", "is_bt_acquisition"]'), {})
    assert [(row.domain, row.pool, row.opponent) for row in table.rows] == [
        (domain, pool, opponent)
        for domain in ("laptop", "is_bt_acquisition")
        for pool, opponent in [
            ("unknown", "Conceder1"),
            ("unknown", MEAN),
            ("known", "Boulware2"),
            ("known", "Linear"),
            ("known", MEAN),
        ]
    ]


def test_the_note_says_how_much_stands_behind_the_figures(plan):
    note = league_table(plan, results_of(plan, **ALL)).note
    assert "10 negotiations per figure, a failure counts 0" in note
    assert "6 of 6 models, 6,000 learner steps" in note
    assert "1 of 6 models, 1,000 learner steps" in league_table(plan, results_of(plan, baseline=(0.5,))).note


def test_the_markdown_has_a_cell_for_every_figure(plan):
    table = league_table(plan, results_of(plan, **ALL))
    title, _, header, rule, *rows, _, note = to_markdown(table).splitlines()
    assert title == "# A small league"
    assert header == f"| domain | pool | opponent | {' | '.join(table.columns)} |"
    assert {line.count("|") for line in (header, rule, *rows)} == {len(table.columns) + 4}
    assert len(rows) == len(table.rows)
    assert note == table.note


def test_a_league_without_a_title_is_called_by_its_name(tmp_path):
    assert league_table(plan_of(tmp_path, 'title = "A small league"\n', ""), {}).title == "small"


def test_a_table_is_plain_data(plan):
    data = asdict(league_table(plan, results_of(plan, **ALL)))
    assert data["rows"][0]["columns"]["Baseline"] == 0.7


@pytest.mark.parametrize(("value", "text"), [(None, "–"), (0.0, "0.000"), (0.85236, "0.852"), (1.0, "1.000")])
def test_a_figure_has_three_decimals(value, text):
    assert figure(value) == text

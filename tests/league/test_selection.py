"""Selection: the best model over the opponents that count, and of equals the first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from negzoo.league.selection import best, selected_start
from tests.league.leagues import plan_of, result_of


def test_the_best_has_the_highest_mean_over_the_opponents_that_count():
    steady = result_of("steady", Linear=0.6, Boulware2=0.6, Conceder1=0.1)
    uneven = result_of("uneven", Linear=0.9, Boulware2=0.2, Conceder1=1.0)
    assert best([steady, uneven], ["Linear", "Boulware2"]) is steady
    assert best([steady, uneven], ["Linear"]) is uneven
    assert best([steady, uneven], ["Linear", "Boulware2", "Conceder1"]) is uneven


@given(st.lists(st.sampled_from([0.25, 0.5, 0.75]), min_size=1))
def test_of_equals_the_first_counts(utilities):
    results = [result_of(str(i), Linear=utility) for i, utility in enumerate(utilities)]
    assert best(results, ["Linear"]).id == str(utilities.index(max(utilities)))


@pytest.fixture
def plan(tmp_path):
    return plan_of(tmp_path)


def with_pretrained(plan, first, second):
    """Results of the two pre-trained models: (Boulware2, Linear, Conceder1)."""
    pretrained = [cell.id for cell in plan.cells if cell.stage == "pretrain"]
    names = ("Boulware2", "Linear", "Conceder1")
    return {
        cell: result_of(cell, **dict(zip(names, utilities, strict=True)))
        for cell, utilities in zip(pretrained, (first, second), strict=True)
    }


def selected(plan, results):
    starts = {selected_start(plan, cell, results).id for cell in plan.cells if cell.stage == "finetune"}
    (start,) = starts
    return plan.by_id[start].model


def test_fine_tuning_starts_from_the_best_over_the_pool_however_the_others_do_on_the_unknown(plan):
    assert selected(plan, with_pretrained(plan, (0.5, 0.6, 1.0), (0.6, 0.6, 0.0))) == 1
    assert selected(plan, with_pretrained(plan, (0.7, 0.6, 0.0), (0.6, 0.6, 1.0))) == 0


def test_of_equal_pre_trained_models_the_first_is_chosen(plan):
    assert selected(plan, with_pretrained(plan, (0.25, 0.75, 0.0), (0.75, 0.25, 1.0))) == 0


def test_models_from_scratch_start_from_none(plan):
    results = with_pretrained(plan, (0.5, 0.5, 0.5), (0.6, 0.6, 0.6))
    scratch = [cell for cell in plan.cells if cell.stage != "finetune"]
    assert [selected_start(plan, cell, results) for cell in scratch] == [None] * 4

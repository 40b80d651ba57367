"""The orders of outcomes against recorded ones, and the lookups against what they say they find."""

import gzip
import json
import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from negzoo.opponents.orders import at_least, genius_order, nearest, stable_order
from negzoo.scenario import Issue, Profile, Scenario, load
from tests.opponents.conftest import one_issue

TABLES = Path(__file__).parent / "tables"
DOMAINS = ("Grocery", "IS_BT_Acquisition", "ItexvsCypress", "Laptop", "thompson")

few_levels = st.lists(st.integers(0, 8), min_size=1, max_size=40).map(lambda eighths: np.array(eighths) / 8)
targets = st.one_of(st.integers(-1, 9).map(lambda eighth: eighth / 8), st.floats(-0.2, 1.2))


def best_first(utility):
    return np.sort(utility)[::-1].copy()


@pytest.mark.parametrize(("domain", "side"), list(product(DOMAINS, (0, 1))))
def test_genius_order_is_the_recorded_one(domain, side):
    scenario = load(domain)
    utility = scenario.utilities[side]
    table = TABLES / f"order_{domain}_utility{side + 1}.json.gz"
    recorded = json.loads(gzip.decompress(table.read_bytes()))
    order = genius_order(scenario, utility)
    assert order.tolist() == [scenario.index(entry["bid"]) for entry in recorded]
    assert utility[order].tolist() == [entry["u"] for entry in recorded]


def test_genius_breaks_ties_by_the_hash_of_the_option_names():
    # java.lang.String.hashCode: "a" 97, "b" 98, "c" 99; equal utilities shift all three alike.
    assert genius_order(one_issue("cab", (1, 1, 1)), np.ones(3)).tolist() == [1, 2, 0]


def test_genius_hashes_names_as_java_does():
    # "polygenelubricants" is known for the hash -2^31; U+1F600 is D83D DE00 in UTF-16; "Aa" and "BB" collide.
    names = {"polygenelubricants": -(2**31), "\U0001f600": 31 * 0xD83D + 0xDE00, "BB": 2112, "Aa": 2112}
    one, minus_one = 0x3FF00000, 0xBFF00000
    hashes = [31 * (31 * (31 + name) + one) + minus_one for name in names.values()]
    signed = [(value + 2**31) % 2**32 - 2**31 for value in hashes]
    scenario = one_issue(names, (1, 1, 1, 1))
    assert genius_order(scenario, np.ones(4)).tolist() == np.argsort(signed, kind="stable").tolist()


def test_genius_breaks_ties_of_the_hash_by_its_enumeration_with_the_first_issue_fastest():
    issues = (Issue("first", ("Aa", "BB")), Issue("second", ("Aa", "BB")))
    profiles = tuple(Profile(name, (0.5, 0.5), ((1, 1), (1, 1))) for name in "ab")
    assert genius_order(Scenario("ties", issues, profiles), np.ones(4)).tolist() == [0, 2, 1, 3]


@given(few_levels)
def test_stable_order_is_best_first_and_keeps_product_order_among_equals(utility):
    expected = sorted(range(utility.size), key=lambda outcome: -utility[outcome])
    assert stable_order(utility).tolist() == expected


@given(few_levels, targets)
def test_at_least_is_the_last_of_those_that_are_not_below_the_target(utility, target):
    below = int((utility < target).sum())
    assert at_least(best_first(utility), target) == max(0, utility.size - below - 1)


@given(few_levels, targets)
def test_nearest_is_nearest_and_prefers_the_better_of_two_as_near(utility, target):
    ranked = best_first(utility)
    found = ranked[nearest(ranked, target)]
    distance = np.abs(ranked - target)
    assert found == ranked[distance == distance.min()].max()


@given(few_levels, targets)
def test_nearest_is_where_the_bisection_lands(utility, target):
    ranked = best_first(utility)
    assert nearest(ranked, target) == bisection(ranked.tolist(), target)


def bisection(ranked, target):
    low, high = 0, len(ranked) - 1
    seen = None
    while (middle := (low + high) // 2) != seen:
        seen = middle
        if ranked[middle] == target:
            break
        if ranked[middle] < target:
            high = middle
        else:
            low = middle
    distance = [abs(utility - target) for utility in ranked]
    below = middle + 1
    return below if below < len(ranked) and distance[below] < distance[middle] else middle


@pytest.mark.parametrize(
    ("ranked", "target", "position"),
    [
        ([1.0, 0.5, 0.5, 0.5, 0.0], 0.5, 2),  # an exact hit: the middle, not the first or last of equals
        ([1.0, 1.0, 0.0, 0.0], 0.75, 1),  # the last of the upper run
        ([1.0, 1.0, 0.0, 0.0], 0.25, 2),  # the first of the lower run
        ([1.0, 1.0, 0.0, 0.0], 0.5, 1),  # equally far: the better one
        ([1.0, 0.5], 2.0, 0),
        ([1.0, 0.5], -1.0, 1),
        ([0.5], math.inf, 0),
    ],
)
def test_nearest_by_hand(ranked, target, position):
    assert nearest(np.array(ranked), target) == position


@pytest.mark.parametrize("size", [1, 2, 3, 4, 27])
def test_nearest_to_nan_is_the_middle(size):
    assert nearest(np.linspace(1, 0, size), math.nan) == (size - 1) // 2

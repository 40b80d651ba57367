"""The Pareto frontier and the points on it, against their definitions by brute force."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from negzoo.scenario import Geometry, Issue, Profile, Scenario, load, pareto_frontier

# Few different values, so that ties and duplicates are common.
coarse = st.integers(0, 4).map(lambda quarter: quarter / 4)
tables = st.integers(1, 30).flatmap(lambda size: arrays(float, (2, size), elements=coarse | st.floats(0, 1)))
coordinates = coarse | st.floats(-1, 2)


def scenario_of(utilities, reservations=(0, 0)):
    """A scenario of one issue with these utilities: a last option, worst for nobody, fixes the scale."""
    scaled = np.column_stack([np.array(utilities, float), np.zeros(2)])
    peaks = scaled.max(axis=1)
    issue = Issue("issue", tuple(map(str, range(scaled.shape[1]))))
    figures = zip(("Ann", "Bob"), peaks, scaled, reservations, strict=True)
    profiles = tuple(Profile(name, (peak,), (tuple(row),), share) for name, peak, row, share in figures)
    return Scenario("any", (issue,), profiles)


def geometry_of(*points, reservations=(0, 0)):
    return Geometry(scenario_of(np.array(points).T, reservations))


def beats(a, b):
    return (a >= b).all() and (a > b).any()


@given(tables)
@example(np.full((2, 5), 0.5))
@example(np.array([[0.5, 0.5, 0.5], [0.1, 0.9, 0.9]]))
@example(np.array([[0.1, 0.9, 0.9], [0.5, 0.5, 0.5]]))
def test_the_frontier_is_what_nothing_beats(utilities):
    points = utilities.T
    unbeaten = [i for i, point in enumerate(points) if not any(beats(other, point) for other in points)]
    assert sorted(pareto_frontier(utilities)) == unbeaten


@given(tables)
def test_the_frontier_runs_from_player_1s_best_to_player_2s(utilities):
    frontier = pareto_frontier(utilities)
    assert (np.diff(utilities[0, frontier]) <= 0).all()
    assert (np.diff(utilities[1, frontier]) >= 0).all()
    assert utilities[0, frontier[0]] == utilities[0].max()
    assert utilities[1, frontier[-1]] == utilities[1].max()


def test_a_frontier_of_a_million():
    part = np.linspace(0, 1, 1_000_000)
    frontier = pareto_frontier(np.stack([part, 1 - part]))
    assert frontier.tolist() == list(range(999_999, -1, -1))


@pytest.mark.parametrize(
    ("domain", "printed"),
    [
        ("laptop", 0.1782),
        ("is_bt_acquisition", 0.1239),
        ("itex_vs_cypress", 0.4433),
        ("grocery", 0.1971),
        ("thompson", 0.3253),
    ],
)
def test_conflict_levels_of_the_paper(domain, printed):
    assert round(Geometry(load(domain)).conflict_level, 4) == printed


def test_the_conflict_level_is_measured_on_the_line_between_outcomes():
    assert geometry_of((1, 0.5), (0.5, 1)).conflict_level == pytest.approx(math.dist((0.75, 0.75), (1, 1)))


@pytest.mark.parametrize("ends", [[(1, 0.5), (0.9, 0.6)], [(0.5, 1), (0.6, 0.9)]])
def test_a_frontier_beside_the_line_is_taken_at_its_nearest_end(ends):
    assert geometry_of(*ends).conflict_level == pytest.approx(math.dist(ends[1], (1, 1)))


def test_no_conflict_where_one_outcome_is_best_for_both():
    assert geometry_of((1, 1), (0.5, 0.2)).conflict_level == 0


@given(tables)
def test_conflict_levels_are_distances_in_the_unit_square(utilities):
    assert 0 <= Geometry(scenario_of(utilities)).conflict_level <= math.sqrt(2) + 1e-9


@given(tables)
def test_solutions_are_the_best_by_their_definitions(utilities):
    geometry = Geometry(scenario_of(utilities))
    points = geometry.scenario.utilities
    assert points[:, geometry.nash].prod() == points.prod(axis=0).max()
    assert points[:, geometry.kalai].min() == points.min(axis=0).max()
    assert points[:, geometry.welfare].sum() == points.sum(axis=0).max()


@given(tables, st.tuples(coarse, coarse))
def test_solutions_are_efficient_and_acceptable_where_anything_is(utilities, reservations):
    geometry = Geometry(scenario_of(utilities, reservations))
    acceptable = (geometry.scenario.utilities >= np.array(reservations)[:, None]).all(axis=0)
    assert set(geometry.solutions.values()) <= set(geometry.frontier)
    if acceptable.any():
        assert acceptable[[geometry.nash, geometry.kalai, geometry.kalai_smorodinsky]].all()


def test_the_solutions_differ_where_their_definitions_do():
    geometry = geometry_of((1, 0.1), (0.8, 0.38), (0.64, 0.47), (0.52, 0.52), (0.2, 0.6))
    assert geometry.solutions == {"Nash": 1, "Kalai": 3, "Kalai-Smorodinsky": 2, "Welfare": 1}


def test_nash_and_welfare_differ():
    geometry = geometry_of((1, 0.2), (0.5, 0.6))
    assert (geometry.nash, geometry.welfare) == (1, 0)


def test_gains_are_counted_from_the_reservation():
    points = (1, 0.1), (0.8, 0.38), (0.64, 0.47), (0.52, 0.52), (0.2, 0.6)
    geometry = geometry_of(*points, reservations=(0, 0.45))
    assert (geometry.nash, geometry.kalai, geometry.kalai_smorodinsky) == (3, 4, 3)


def test_equal_solutions_go_to_the_greater_welfare_and_then_the_first():
    assert geometry_of((0.5, 0.6), (0.9, 0.5)).kalai == 1
    assert geometry_of((0.5, 0.9), (0.9, 0.5)).kalai == 0


def test_where_nothing_is_acceptable_the_solutions_are_the_welfare_outcome():
    geometry = geometry_of((0.4, 0.1), (0.3, 0.3), reservations=(0.9, 0.9))
    assert set(geometry.solutions.values()) == {1}


def test_kalai_smorodinsky_leaves_out_who_can_gain_nothing():
    assert geometry_of((0.5, 0), (1, 0)).kalai_smorodinsky == 1


@given(tables, st.lists(st.tuples(coordinates, coordinates), min_size=1, max_size=5))
def test_the_distance_to_the_frontier_is_the_smallest(utilities, points):
    geometry = Geometry(scenario_of(utilities))
    frontier = geometry.scenario.utilities[:, geometry.frontier].T
    smallest = [min(math.dist(point, other) for other in frontier) for point in points]
    np.testing.assert_allclose(geometry.distance_to_frontier(*np.transpose(points)), smallest, atol=1e-12)


def test_distances_keep_the_shape_of_their_points():
    geometry = Geometry(load("laptop"))
    assert geometry.distance_to_frontier(0.5, 0.5).shape == ()
    assert geometry.distance_to_frontier(np.ones((2, 3)), 0.5).shape == (2, 3)
    assert geometry.distance_to_frontier([], []).shape == (0,)

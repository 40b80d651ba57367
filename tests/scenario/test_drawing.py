"""The outcome space as a picture: what is drawn, and where."""

import io

import numpy as np
import pytest

from negzoo.scenario import Geometry, Issue, Profile, Scenario, load
from negzoo.scenario.drawing import outcome_space

LAPTOP = load("laptop")


def lines_by_label(figure):
    return {line.get_label(): line for line in figure.axes[0].get_lines()}


def test_outcomes_frontier_and_solutions_are_at_their_utilities():
    lines = lines_by_label(outcome_space(LAPTOP))
    geometry = Geometry(LAPTOP)
    expected = {"Outcome": slice(None), "Pareto frontier": geometry.frontier}
    expected |= {name: [outcome] for name, outcome in geometry.solutions.items()}
    assert lines.keys() == expected.keys()
    for label, outcomes in expected.items():
        np.testing.assert_array_equal(lines[label].get_xydata().T, LAPTOP.utilities[:, outcomes])


def test_axes_are_labelled_with_the_profiles():
    (axes,) = outcome_space(LAPTOP).axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Utility of buyer", "Utility of seller")
    assert axes.get_title() == "laptop"


def test_offers_are_joined_in_time_and_the_agreement_is_marked():
    lines = lines_by_label(outcome_space(LAPTOP, offers=([5, 3, 8], [0]), agreement=8))
    np.testing.assert_array_equal(lines["Offers of buyer"].get_xydata().T, LAPTOP.utilities[:, [5, 3, 8]])
    np.testing.assert_array_equal(lines["Offers of seller"].get_xydata().T, LAPTOP.utilities[:, [0]])
    np.testing.assert_array_equal(lines["Agreement"].get_xydata()[0], LAPTOP.utilities[:, 8])


def test_a_player_without_offers_has_no_line():
    assert "Offers of seller" not in lines_by_label(outcome_space(LAPTOP, offers=([5], [])))


def test_reservations_are_drawn_where_there_are_any():
    profiles = tuple(Profile(name, (1,), ((1, 2),), reservation=r) for name, r in [("Ann", 0.3), ("Bob", 0)])
    scenario = Scenario("any", (Issue("issue", ("a", "b")),), profiles)
    assert set(lines_by_label(outcome_space(scenario))["Reservation"].get_xdata()) == {0.3}


@pytest.mark.parametrize("domain", ["laptop", "thompson"])
def test_a_picture_can_be_saved(domain):
    file = io.BytesIO()
    outcome_space(load(domain)).savefig(file, format="png")
    assert file.getvalue().startswith(b"\x89PNG")

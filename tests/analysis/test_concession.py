"""Concession curves: hand-played ones, Fig. 3 of the paper, and what acceptance and chance do to them."""

import numpy as np
import pytest

from negzoo.analysis.concession import Concession, concession
from negzoo.errors import SettingsError
from negzoo.opponents import resolve
from negzoo.opponents.timed import EXPONENTS
from negzoo.scenario import Issue, Profile, Scenario, load

LOW, MIDDLE, HIGH = range(3)
ALL_NAN = [np.nan] * 4


def price(buyer):
    """One issue; the seller's utilities are 0, 0.5 and 1."""
    issue = Issue("price", ("low", "middle", "high"))
    return Scenario("price", (issue,), (Profile("buyer", (1.0,), (buyer,)), Profile("seller", (1.0,), ((0, 1, 2),))))


def curve_of(name, scenario, **terms):
    return concession(name, resolve(name), scenario, **terms)


def test_a_hand_played_curve():
    """Four rounds: at 1/8, 3/8, 5/8 and 7/8 the seller asks for 7/8, 5/8, 3/8 and 1/8."""
    curve = curve_of("Linear", price((2, 1, 0)), games=2, rounds=4)
    assert curve.time.tolist() == [1 / 8, 3 / 8, 5 / 8, 7 / 8]
    assert curve.offers.tolist() == [[HIGH, HIGH, MIDDLE, MIDDLE]] * 2
    assert curve.mean.tolist() == [1, 1, 0.5, 0.5]
    assert (curve.accept_turn, curve.accept_rate, curve.varies) == (None, 0, False)


def test_a_curve_goes_on_where_its_owner_would_accept():
    """The buyer's best is the middle: the seller asks for no more at its third turn."""
    curve = curve_of("Linear", price((1, 2, 0)), games=2, rounds=4)
    assert curve.partner_offer == MIDDLE
    assert (curve.accept_turn, curve.accept_rate) == (3, 1)
    assert curve.mean.tolist() == [1, 1, 0.5, 0.5]


def test_the_other_side_and_the_other_clock():
    curve = curve_of("Linear", price((2, 1, 0)), side=0, rounds=4, clock="genius")
    assert curve.time.tolist() == [1 / 5, 2 / 5, 3 / 5, 4 / 5]
    assert curve.offers[0].tolist() == [LOW, LOW, MIDDLE, MIDDLE]


@pytest.mark.parametrize("domain", ["laptop", "grocery", "thompson"])
@pytest.mark.parametrize("name", EXPONENTS)
def test_the_seven_are_fig_3_of_the_paper(name, domain):
    """Each bid is worth the least that the domain has at or above T(t) = u_min + (u_max - u_min)(1 - t^(1/e))."""
    scenario = load(domain)
    curve = curve_of(name, scenario, games=1)
    own = np.sort(scenario.raw_utilities[1])
    targets = own[0] + (own[-1] - own[0]) * (1 - curve.time ** (1 / EXPONENTS[name]))
    lowest, highest = (own[np.searchsorted(own[:-1], targets + last_bits)] for last_bits in (-1e-12, 1e-12))
    assert (np.minimum(lowest, 1) - 1e-12 <= curve.mean).all()
    assert (curve.mean <= highest + 1e-12).all()


def test_who_accepts_at_once_offers_nothing():
    curve = curve_of("AcceptFirst", load("laptop"), games=3, rounds=4)
    assert (curve.accept_turn, curve.accept_rate) == (1, 1)
    assert (curve.offers == -1).all()
    assert np.array_equal(curve.mean, ALL_NAN, equal_nan=True)
    assert np.array_equal(curve.quantile(0.5), ALL_NAN, equal_nan=True)


def test_who_draws_at_random_varies_and_is_the_same_again():
    laptop = load("laptop")
    curve, again = (curve_of("Random", laptop, games=50) for _ in range(2))
    assert curve.varies
    assert np.array_equal(curve.offers, again.offers)
    assert 0 < curve.accept_rate < 1
    low, high = curve.quantile(0.1), curve.quantile(0.9)
    assert (low <= high).all()
    assert (low < high).any()


def test_means_and_quantiles_leave_out_who_offers_nothing():
    scenario = price((2, 1, 0))
    offers = np.array([[HIGH, MIDDLE, -1], [HIGH, LOW, -1], [HIGH, HIGH, -1], [LOW, -1, -1]], np.int32)
    curve = Concession("x", scenario, 1, np.arange(3) / 3, offers, np.array([0, 3, 2, 1]))
    assert np.array_equal(curve.mean, [0.75, 0.5, np.nan], equal_nan=True)
    assert np.array_equal(curve.quantile(0.0), [0, 0, np.nan], equal_nan=True)
    assert np.array_equal(curve.quantile(0.5), [1, 0.5, np.nan], equal_nan=True)
    assert np.array_equal(curve.quantile(1.0), [1, 1, np.nan], equal_nan=True)
    assert (curve.accept_turn, curve.accept_rate) == (2, 0.75)


@pytest.mark.parametrize("terms", [{"games": 0}, {"rounds": 0}, {"clock": "wall"}])
def test_terms_that_cannot_be_played_are_refused(terms):
    with pytest.raises(SettingsError):
        curve_of("Linear", load("laptop"), **terms)

"""The settings of an environment: the paper's by default, and what each may be."""

from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest

from negzoo.envs import NegotiationSettings
from negzoo.errors import SettingsError


def test_the_defaults_are_the_papers():
    settings = NegotiationSettings()
    assert {field.name: getattr(settings, field.name) for field in fields(settings)} == {
        "rounds": 40,
        "clock": "paper",
        "first_accept": "mask",
        "allow_end": False,
        "action_encoding": "outcome",
        "mask_in": "observation",
        "no_deal_reward": -1.0,
        "swap_profiles": False,
        "history": 2,
        "observe_utilities": False,
    }


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("clock", "geniu", r'clock = "geniu": unknown \(did you mean "genius"\?\)'),
        ("first_accept", "masked", r'first_accept = "masked": unknown \(did you mean "mask"\?\)'),
        ("action_encoding", "issue", r'action_encoding = "issue": unknown \(did you mean "issues"\?\)'),
        ("mask_in", "nowhere", r'mask_in = "nowhere": unknown \(known: info, observation\)'),
        ("clock", None, r'clock = "None": unknown \(known: genius, paper\)'),
        ("rounds", 0, "rounds = 0: give a whole number from 1 to 100,000"),
        ("rounds", 100_001, "rounds = 100001: give a whole number from 1 to 100,000"),
        ("rounds", 2.5, r"rounds = 2\.5: give a whole number"),
        ("rounds", "40", "rounds = '40': give a whole number"),
        ("rounds", True, "rounds = True: give a whole number"),
        ("history", -1, "history = -1: give a whole number from 1 to 100,000"),
        ("allow_end", 1, "allow_end = 1: give true or false"),
        ("swap_profiles", "no", "swap_profiles = 'no': give true or false"),
        ("observe_utilities", None, "observe_utilities = None: give true or false"),
        ("no_deal_reward", float("nan"), "no_deal_reward = nan: give a finite number"),
        ("no_deal_reward", float("-inf"), "no_deal_reward = -inf: give a finite number"),
    ],
)
def test_a_value_out_of_range_is_named_with_what_it_may_be(name, value, message):
    with pytest.raises(SettingsError, match=message):
        NegotiationSettings(**{name: value})


@pytest.mark.parametrize("value", ["much", None, True])
def test_a_reward_that_is_no_number_is_refused(value):
    with pytest.raises(SettingsError, match=r"no_deal_reward = .*: give a finite number"):
        NegotiationSettings(no_deal_reward=value)


def test_numbers_of_numpy_will_do():
    assert NegotiationSettings(rounds=np.int32(20), no_deal_reward=np.float32(0)).rounds == 20


def test_they_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        NegotiationSettings().rounds = 3


def test_player_0_holds_profile_1_unless_they_are_swapped():
    assert NegotiationSettings().sides == (0, 1)
    assert NegotiationSettings(swap_profiles=True).sides == (1, 0)


@pytest.mark.parametrize(
    ("mask_in", "action_encoding", "expected"),
    [
        ("observation", "outcome", True),
        ("info", "outcome", False),
        ("observation", "issues", False),
        ("info", "issues", False),
    ],
)
def test_only_a_flat_mask_fits_into_an_observation(mask_in, action_encoding, expected):
    settings = NegotiationSettings(mask_in=mask_in, action_encoding=action_encoding)
    assert settings.mask_in_observation is expected

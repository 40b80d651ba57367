"""The settings of PPO: the paper's values, and what is refused."""

from dataclasses import FrozenInstanceError, asdict

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from negzoo.envs import Codec, NegotiationSettings
from negzoo.errors import SettingsError
from negzoo.learn.network import Actor, Critic, Interface
from negzoo.learn.settings import PRESETS, PPOSettings
from negzoo.settings import with_overrides
from tests.learn.bargains import TOY

TABLE_2 = {
    "horizon": 2048,
    "learning_rate": 3e-4,
    "epochs": 10,
    "minibatch": 64,
    "gamma": 0.99,
    "gae_lambda": 0.95,
    "clip": 0.2,
    "hidden": (64, 64),
}
UNLISTED = {
    "value_coefficient": 0.5,
    "entropy_coefficient": 0.0,
    "max_gradient_norm": 0.5,
    "normalise_advantages": True,
    "adam_epsilon": 1e-5,
}

whole = st.integers(1, 10**6)
positive = st.floats(0, 1e6, exclude_min=True)
share = st.floats(0, 1)


def test_the_paper_preset_has_the_values_of_table_2_and_of_stable_baselines3_where_it_is_silent():
    assert PRESETS["paper"] == PPOSettings()
    assert asdict(PRESETS["paper"]).items() >= (TABLE_2 | UNLISTED).items()


NO_WHOLE_NUMBERS = [-1, 2.0, 1.5, True, "64", None, float("nan"), float("inf")]
NO_NUMBERS = [True, "1", None, float("nan"), float("inf"), 1j, [1]]


def refusal(**changes):
    """Why these settings are refused."""
    with pytest.raises(SettingsError) as error:
        PPOSettings(**changes)
    return str(error.value)


@pytest.mark.parametrize(
    ("name", "least"), [("horizon", 1), ("envs", 1), ("epochs", 1), ("minibatch", 2), ("chunk", 0)]
)
def test_counts_are_whole_numbers(name, least):
    for value in [*NO_WHOLE_NUMBERS, least - 1]:
        assert refusal(**{name: value}) == f"{name} = {value!r}: give a whole number of at least {least}"


def test_a_minibatch_of_one_has_no_spread_to_normalise_by():
    assert PPOSettings(minibatch=1, normalise_advantages=False).minibatch == 1
    assert refusal(minibatch=1) == "minibatch = 1: give a whole number of at least 2"
    assert refusal(minibatch=0, normalise_advantages=False) == "minibatch = 0: give a whole number of at least 1"


@pytest.mark.parametrize("name", ["gamma", "gae_lambda"])
@pytest.mark.parametrize("value", [-0.01, 1.01, *NO_NUMBERS])
def test_discounts_are_numbers_from_0_to_1(name, value):
    assert refusal(**{name: value}) == f"{name} = {value!r}: give a number from 0 to 1"


@pytest.mark.parametrize("name", ["learning_rate", "clip", "max_gradient_norm", "adam_epsilon"])
@pytest.mark.parametrize("value", [0, -1e-3, *NO_NUMBERS])
def test_step_sizes_are_positive_numbers(name, value):
    assert refusal(**{name: value}) == f"{name} = {value!r}: give a number above 0"


def test_a_number_too_large_to_compute_with_is_refused():
    assert refusal(clip=10**400).startswith("clip = 1000")


@pytest.mark.parametrize("name", ["value_coefficient", "entropy_coefficient"])
@pytest.mark.parametrize("value", [-1e-9, *NO_NUMBERS])
def test_coefficients_may_be_0_but_not_less(name, value):
    assert getattr(PPOSettings(**{name: 0}), name) == 0
    assert refusal(**{name: value}) == f"{name} = {value!r}: give a number of at least 0"


@pytest.mark.parametrize("width", [0, [64], *NO_WHOLE_NUMBERS])
def test_every_hidden_layer_has_a_width(width):
    assert refusal(hidden=(64, width)) == f"hidden = {width!r}: give a whole number of at least 1"


@pytest.mark.parametrize("hidden", [(), [], "64", "", 64, None, {64}, {64: 64}])
def test_hidden_layers_are_a_list_of_at_least_one(hidden):
    assert refusal(hidden=hidden) == f"hidden = {hidden!r}: give a list of widths, such as [64, 64]"


@pytest.mark.parametrize("value", [0, 1, "no", None])
def test_whether_advantages_are_normalised_is_true_or_false(value):
    assert refusal(normalise_advantages=value) == f"normalise_advantages = {value!r}: give true or false"


@pytest.mark.parametrize("value", [0, None, torch.device("cpu")])
def test_a_device_is_named(value):
    assert refusal(device=value) == f'device = {value!r}: give a name, such as "cpu"'


@pytest.mark.parametrize(("horizon", "envs"), [(2048, 3), (4, 8), (100, 64)])
def test_negotiations_side_by_side_share_the_horizon_evenly(horizon, envs):
    assert refusal(horizon=horizon, envs=envs) == f"horizon = {horizon}: give a multiple of envs = {envs}"


@pytest.mark.parametrize("name", ["learning_rate_end", "entropy_coefficient_end"])
@pytest.mark.parametrize("value", [-1e-9, *(value for value in NO_NUMBERS if value is not None)])
def test_what_a_schedule_ends_at_may_be_0_but_not_less(name, value):
    assert getattr(PPOSettings(**{name: 0.0}), name) == 0
    assert getattr(PPOSettings(), name) is None
    assert refusal(**{name: value}) == f"{name} = {value!r}: give a number of at least 0"


def test_schedules_are_linear_and_without_an_end_constant():
    falling = PPOSettings(
        learning_rate=0.4, learning_rate_end=0.0, entropy_coefficient=0.0, entropy_coefficient_end=0.2
    )
    assert [falling.learning_rate_at(share) for share in (0, 0.25, 1, 1.5)] == pytest.approx([0.4, 0.3, 0, 0])
    assert [falling.entropy_coefficient_at(share) for share in (0, 0.5, 1)] == pytest.approx([0, 0.1, 0.2])
    constant = PPOSettings()
    assert [constant.learning_rate_at(share) for share in (0, 0.5, 1)] == [3e-4] * 3
    assert constant.entropy_coefficient_at(0.5) == 0


def test_widths_from_a_toml_list_become_a_tuple():
    assert with_overrides(PPOSettings(), {"hidden": [32, 16]}).hidden == (32, 16)


NUMBERS = [name for name, value in asdict(PPOSettings()).items() if isinstance(value, float) or name.endswith("_end")]


@pytest.mark.parametrize("one", [1, np.int64(1), np.float32(1)], ids=["int", "int64", "float32"])
def test_a_number_is_the_same_however_it_is_written(one):
    """To the letter, as identifiers are made of it."""
    assert len(NUMBERS) == 10
    assert repr(PPOSettings(**dict.fromkeys(NUMBERS, one))) == repr(PPOSettings(**dict.fromkeys(NUMBERS, 1.0)))


def flops_counted(settings, interface):
    """What torch counts in the products of one gradient step, forward and backward."""
    observations = torch.zeros(settings.minibatch, interface.length)
    with FlopCounterMode(display=False) as counter:
        logits, _ = Actor(interface, settings.hidden)(observations)
        (logits.sum() + Critic(interface, settings.hidden)(observations).sum()).backward()
    return counter.get_total_flops()


@pytest.mark.parametrize("hidden", [(8,), (64, 64), (5, 7, 3)])
@pytest.mark.parametrize("encoding", ["outcome", "issues"])
def test_the_cost_of_a_gradient_step_is_what_torch_counts(hidden, encoding):
    interface = Interface.of(Codec(TOY, NegotiationSettings(action_encoding=encoding)))
    settings = PPOSettings(hidden=hidden, minibatch=6)
    assert settings.gradient_step_flops(interface.length, interface.logits) == flops_counted(settings, interface)


def test_settings_do_not_change():
    with pytest.raises(FrozenInstanceError):
        PPOSettings().gamma = 0.5


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "epochs": whole,
            "minibatch": whole.filter(lambda size: size > 1),
            "gamma": share,
            "gae_lambda": share,
            "learning_rate": positive,
            "clip": positive,
            "value_coefficient": positive,
            "entropy_coefficient": share,
            "hidden": st.lists(whole, min_size=1, max_size=4).map(tuple),
        },
    )
)
def test_what_is_in_range_is_taken_as_it_is(given_values):
    settings = asdict(PPOSettings(**given_values))
    assert settings == asdict(PPOSettings()) | given_values

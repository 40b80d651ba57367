"""The settings of PPO: the paper's values, and what is refused."""

from dataclasses import FrozenInstanceError, asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from negzoo.errors import SettingsError
from negzoo.learn.settings import PRESETS, PPOSettings
from negzoo.settings import with_overrides

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


@pytest.mark.parametrize("name", ["horizon", "envs", "epochs", "minibatch"])
@pytest.mark.parametrize("value", [0, -1, 2.0, 1.5, True, "64", None, float("nan"), float("inf")])
def test_counts_are_whole_numbers_of_at_least_1(name, value):
    with pytest.raises(SettingsError) as error:
        PPOSettings(**{name: value})
    assert str(error.value) == f"{name} = {value!r}: give a whole number of at least 1"


@pytest.mark.parametrize("name", ["gamma", "gae_lambda"])
@pytest.mark.parametrize("value", [-0.01, 1.01, True, "0.5", None, float("nan"), float("inf")])
def test_discounts_are_numbers_from_0_to_1(name, value):
    with pytest.raises(SettingsError) as error:
        PPOSettings(**{name: value})
    assert str(error.value) == f"{name} = {value!r}: give a number from 0 to 1"


@pytest.mark.parametrize("name", ["learning_rate", "clip", "max_gradient_norm", "adam_epsilon"])
@pytest.mark.parametrize("value", [0, -1e-3, True, "1", None, float("nan"), float("inf")])
def test_step_sizes_are_positive_numbers(name, value):
    with pytest.raises(SettingsError) as error:
        PPOSettings(**{name: value})
    assert str(error.value) == f"{name} = {value!r}: give a positive number"


@pytest.mark.parametrize("name", ["value_coefficient", "entropy_coefficient"])
@pytest.mark.parametrize("value", [-1e-9, True, "0", None, float("nan"), float("inf")])
def test_coefficients_may_be_0_but_not_less(name, value):
    assert getattr(PPOSettings(**{name: 0}), name) == 0
    with pytest.raises(SettingsError, match=f"^{name} = "):
        PPOSettings(**{name: value})


@pytest.mark.parametrize("width", [0, -64, 64.0, True, "64"])
def test_every_hidden_layer_has_a_width(width):
    with pytest.raises(SettingsError, match=r"^hidden = .*: give a whole number of at least 1$"):
        PPOSettings(hidden=(64, width))


def test_at_least_one_hidden_layer_is_needed():
    with pytest.raises(SettingsError, match=r"^hidden = \[\]: give at least one width$"):
        PPOSettings(hidden=())


@pytest.mark.parametrize(("horizon", "envs"), [(2048, 3), (4, 8), (100, 64)])
def test_negotiations_side_by_side_share_the_horizon_evenly(horizon, envs):
    with pytest.raises(SettingsError) as error:
        PPOSettings(horizon=horizon, envs=envs)
    assert str(error.value) == f"horizon = {horizon}: give a multiple of envs = {envs}"


@pytest.mark.parametrize("name", ["learning_rate_end", "entropy_coefficient_end"])
@pytest.mark.parametrize("value", [-1e-9, True, "0", float("nan"), float("inf")])
def test_what_a_schedule_ends_at_may_be_0_but_not_less(name, value):
    assert getattr(PPOSettings(**{name: 0.0}), name) == 0
    with pytest.raises(SettingsError, match=f"^{name} = "):
        PPOSettings(**{name: value})


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

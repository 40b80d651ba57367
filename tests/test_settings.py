"""Replacing some values of a settings dataclass."""

from dataclasses import dataclass, field

import pytest

from negzoo.errors import SettingsError
from negzoo.settings import with_overrides


@dataclass(frozen=True)
class Oven:
    """Settings that check themselves."""

    degrees: int = 200
    minutes: int = 30
    dish: dict[str, int] = field(default_factory=dict)

    def __post_init__(self):
        if self.degrees > 300:
            raise SettingsError(f"degrees = {self.degrees}: at most 300")


def test_what_is_named_is_replaced_and_the_rest_kept():
    base = Oven(minutes=45, dish={"size": 2})
    assert with_overrides(base, {"degrees": 180}) == Oven(180, 45, {"size": 2})
    assert base == Oven(200, 45, {"size": 2})


def test_without_overrides_they_are_equal():
    assert with_overrides(Oven(minutes=45), {}) == Oven(minutes=45)


def test_an_unknown_setting_is_refused_with_the_closest_known():
    with pytest.raises(SettingsError, match=r'unknown setting "degree" \(did you mean "degrees"\?\)'):
        with_overrides(Oven(), {"minutes": 10, "degree": 180})


def test_where_none_is_close_all_are_listed():
    with pytest.raises(SettingsError, match=r'unknown setting "colour" \(known: degrees, dish, minutes\)'):
        with_overrides(Oven(), {"colour": "red"})


def test_a_value_that_the_settings_refuse_is_refused():
    with pytest.raises(SettingsError, match=r"^degrees = 500: at most 300$"):
        with_overrides(Oven(), {"degrees": 500})


def test_a_value_of_the_wrong_type_is_refused_by_name():
    with pytest.raises(SettingsError, match=r"^degrees: '>' not supported"):
        with_overrides(Oven(), {"degrees": "hot"})

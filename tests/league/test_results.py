"""What a cell found, and what is made of a folder that holds no result."""

import json
from dataclasses import asdict

import pytest

from negzoo.errors import LeagueError
from negzoo.league.results import RESULT, CellResult, read_result
from tests.league.leagues import result_of


def test_the_mean_utility_is_over_the_opponents_asked_for():
    result = result_of("a", Linear=0.2, Boulware2=0.6, Conceder1=1.0)
    assert result.mean_utility(["Linear", "Boulware2"]) == pytest.approx(0.4)


def test_a_result_is_read_as_it_was_written(tmp_path):
    result = result_of("a", Linear=0.25)
    (tmp_path / RESULT).write_text(json.dumps(asdict(result)), "utf-8")
    assert read_result(tmp_path) == result
    assert isinstance(read_result(tmp_path), CellResult)


def test_a_folder_without_a_result_has_none(tmp_path):
    assert read_result(tmp_path) is None
    assert read_result(tmp_path / "nowhere") is None


@pytest.mark.parametrize("content", ["", "{", "[]", "3", "{}", '{"id": "a"}', '{"scores": {"Linear": {"utility": 1}}}'])
def test_a_damaged_result_is_told_with_a_way_out(tmp_path, content):
    (tmp_path / RESULT).write_text(content, "utf-8")
    with pytest.raises(LeagueError) as error:
        read_result(tmp_path)
    assert str(error.value).startswith(f"{tmp_path / RESULT}: not a result (")
    assert str(error.value).endswith(f"delete the folder {tmp_path} to train it again")


def test_random_bytes_are_no_result(tmp_path):
    (tmp_path / RESULT).write_bytes(b"\xff\x00\xfe")
    with pytest.raises(LeagueError, match="not a result"):
        read_result(tmp_path)

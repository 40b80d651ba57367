"""`negzoo opponents`: lists, shows, replays and measures them."""

import gzip
import json

import pytest

from negzoo.analysis.concession import concession
from negzoo.opponents import registry, resolve
from negzoo.scenario import data_folder, load

GAMES = data_folder() / "games"
LINEAR = GAMES / "paper_TimeDependent_e1_Grocery_const.json.gz"


def rows_of(text):
    return [line.split() for line in text.splitlines()]


# The list


def test_the_list_names_every_opponent(negzoo_cli):
    result = negzoo_cli("opponents")
    assert result.exit_code == 0
    listed = {row[0] for row in rows_of(result.stdout) if row}
    assert {name for name, _ in registry.entries()} <= listed
    assert ["Boulware1", "noise", "paper,", "genius", "time-dependent", "concession,", "e", "=", "0.1"] in rows_of(
        result.stdout
    )


def test_the_list_as_json(negzoo_cli):
    listed = {entry["name"]: entry for entry in json.loads(negzoo_cli("opponents", "--json").stdout)}
    assert list(listed)[:4] == ["Boulware1", "Boulware2", "Boulware3", "Linear"]
    assert listed["TimeDependent"] == {
        "name": "TimeDependent",
        "kind": "family",
        "summary": dict(registry.entries())["TimeDependent"].summary,
        "parameters": {"e": "required", "lineage": "paper", "noise": 0.0},
        "lineages": ["paper", "genius"],
        "module": "negzoo.opponents.timed",
    }
    assert (listed["Hardliner"]["kind"], listed["Hardliner"]["lineages"]) == ("yardstick", [])


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("show", "Boulware1", "TitForTat(gamma=3)", "AgentGG", "Random", "AcceptFirst", "--domain", "itex_vs_cypress"),
        ("yardsticks", "--domains", "is_bt_acquisition", "--opponents", "Linear,AgentK", "--games", "2"),
    ],
)
def test_text_fits_80_columns(negzoo_cli, arguments):
    lines = negzoo_cli("opponents", *arguments).stdout.splitlines()
    assert len(lines) > 4
    assert max(map(len, lines)) <= 80


# Showing


def test_show_tells_the_algorithm_and_the_curve(negzoo_cli):
    text = negzoo_cli("opponents", "show", "Linear", "--domain", "grocery").stdout
    assert "Linear: time-dependent concession, e = 1" in text
    assert "1. Target: T(t) = u_min" in text
    curve = concession("Linear", resolve("Linear"), load("grocery"))
    figures = [f"{curve.mean[turn]:.2f}" for turn in (0, 6, 11, 17, 22, 28, 33, 39)]
    assert ["Linear", *figures, f"{curve.time[curve.accept_turn - 1]:.2f}"] in rows_of(text)


def test_what_several_share_is_told_once(negzoo_cli):
    text = negzoo_cli("opponents", "show", "Boulware1", "Conceder3", "TitForTat1").stdout
    assert text.count("How it plays") == 2
    assert text.count("1. Target: T(t)") == 1


def test_show_as_json_has_the_whole_curve(negzoo_cli):
    arguments = ("--domain", "laptop", "--lineage", "genius", "--side", "1", "--json")
    (shown,) = json.loads(negzoo_cli("opponents", "show", "Conceder1", *arguments).stdout)
    expected = concession("", resolve("Conceder1", "genius"), load("laptop"), side=0, clock="genius")
    assert (shown["name"], shown["curve"]["profile"], shown["curve"]["games"]) == ("Conceder1", 1, 100)
    assert shown["curve"]["time"] == expected.time.tolist()
    made = [value for value in expected.mean.tolist() if value == value]
    assert [value for value in shown["curve"]["utility"] if value is not None] == made
    assert shown["curve"]["accept_turn"] == expected.accept_turn


def test_show_draws_into_a_file(negzoo_cli, tmp_path):
    path = tmp_path / "fig3.png"
    assert negzoo_cli("opponents", "show", "Linear", "AgentK", "--games", "5", "--plot", path).exit_code == 0
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("Boulwar1",), 'unknown opponent "Boulwar1" (did you mean "Boulware1"?)'),
        (("TimeDependent",), "give its parameters"),
        (("Linear", "--domain", "lapto"), 'did you mean "laptop"?'),
        (("Linear", "--side", "3"), "--side 3: a domain has two sides; give 1 or 2"),
        (("Linear", "--lineage", "genus"), 'unknown lineage "genus" (did you mean "genius"?)'),
        (("Linear", "--clock", "wall"), '--clock "wall": unknown clock'),
    ],
)
def test_a_mistake_is_told_in_one_line(negzoo_cli, arguments, message):
    result = negzoo_cli("opponents", "show", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_picture_that_cannot_be_written_is_told_after_the_curve(negzoo_cli):
    result = negzoo_cli("opponents", "show", "Linear", "--plot", LINEAR / "x.png")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert f"cannot write the plot to {LINEAR / 'x.png'}: File exists" in result.stderr
    assert "What its own offers are worth" in result.stdout


# Replaying


def test_games_that_are_played_as_recorded(negzoo_cli):
    result = negzoo_cli("opponents", "replay", LINEAR, GAMES / "paper_AgentK_Laptop_const.json.gz")
    assert result.exit_code == 0
    assert result.stdout == "2 recorded games, 2 the same move by move, 0 not\n"


def test_a_game_that_departs_is_named_with_its_turn(negzoo_cli, tmp_path):
    record = json.loads(gzip.decompress(LINEAR.read_bytes()))
    record["log"][2]["bid"] = record["log"][0]["bid"]
    (tmp_path / "forged.json.gz").write_bytes(gzip.compress(json.dumps(record).encode()))
    (tmp_path / "true.json.gz").write_bytes(LINEAR.read_bytes())
    result = negzoo_cli("opponents", "replay", tmp_path)
    departure, summary = result.stdout.splitlines()
    assert result.exit_code == 1
    assert departure.startswith(f"{tmp_path / 'forged.json.gz'}: turn 3: recorded move")
    assert summary == "2 recorded games, 1 the same move by move, 1 not"


def test_what_is_no_recorded_game_is_told_in_one_line(negzoo_cli, tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    for path, message in ((tmp_path, "no recorded games there"), (tmp_path / "notes.txt", "not a readable recorded")):
        result = negzoo_cli("opponents", "replay", path)
        assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
        assert message in result.stderr


# Yardsticks


def test_yardsticks_print_a_table_and_write_it(negzoo_cli, tmp_path):
    file = tmp_path / "table.md"
    arguments = ("--domains", "thompson", "--opponents", "Boulware1,Linear", "--games", "1", "--markdown", file)
    rows = rows_of(negzoo_cli("opponents", "yardsticks", *arguments).stdout)
    assert ["thompson", "AcceptFirst", "Hardliner", "LateHardliner"] in rows
    assert ["Linear", "0.080", "1.000", "1.000"] in rows
    assert "| Linear | 0.080 / 1.000 / 1.000 |" in file.read_text("utf-8")


def test_yardsticks_as_json(negzoo_cli):
    arguments = ("--domains", "laptop", "--opponents", "Linear", "--games", "3", "--json")
    (row,) = json.loads(negzoo_cli("opponents", "yardsticks", *arguments).stdout)
    assert (row["domain"], row["opponent"]) == ("laptop", "Linear")
    assert row["scores"]["Hardliner"]["utility"] == 1
    assert row["scores"]["Hardliner"]["games"] == 3

"""`negzoo tournament`: tables, files, and mistakes."""

import csv
import json

import pytest

from negzoo.scenario import load
from negzoo.trajectories import open_trajectories

LAPTOP = load("laptop")
SMALL = ("--domains", "laptop", "--opponents", "Hardliner,AcceptFirst", "--games", "2")
BUYER_GETS = LAPTOP.utilities[0, LAPTOP.utilities[1].argmax()]
SELLER_GETS = LAPTOP.utilities[1, LAPTOP.utilities[0].argmax()]


def rows_of(text):
    return [line.split() for line in text.splitlines()]


def short(value):
    return f"{value:.2f}".removeprefix("0")


def test_tables_of_both_profiles_and_the_ranking(negzoo_cli):
    result = negzoo_cli("tournament", *SMALL)
    assert result.exit_code == 0
    rows = rows_of(result.stdout)
    assert ["buyer", "\\", "seller", "1", "2", "mean"] in rows
    assert ["1", "Hardliner", ".00", "1.0", ".50"] in rows
    assert ["2", "AcceptFirst", short(BUYER_GETS), "1.0", short((BUYER_GETS + 1) / 2)] in rows
    assert ["1", "Hardliner", ".00", short(SELLER_GETS)] in rows
    assert ["mean", ".50", short(SELLER_GETS)] in rows
    buyer, seller = (BUYER_GETS + 1) / 2, SELLER_GETS
    assert ["AcceptFirst", f"{buyer:.3f}", f"{seller:.3f}", f"{(buyer + seller) / 2:.3f}"] in rows


def test_as_json_it_has_every_figure(negzoo_cli):
    arguments = ("--domains", "laptop,thompson", "--opponents", "Linear,AgentK", "--games", "3", "--seats", "both")
    told = json.loads(negzoo_cli("tournament", *arguments, "--seed", "4", "--lineage", "genius", "--json").stdout)
    tables = told.pop("tables")
    assert told == {"games": 3, "seats": "both", "rounds": 40, "clock": "genius", "lineage": "genius", "seed": 4}
    assert [table["title"] for table in tables] == ["laptop", "thompson", "all domains"]
    assert tables[0]["opponents"] == ["Linear", "AgentK"]
    assert len(tables[0]["utility_1"]) == len(tables[0]["utility_1"][0]) == 2
    assert tables[2]["utility_2"][1][0] == pytest.approx(
        (tables[0]["utility_2"][1][0] + tables[1]["utility_2"][1][0]) / 2
    )


def test_files_are_written(negzoo_cli, tmp_path):
    paths = {name: tmp_path / name for name in ("games.h5", "table.csv", "heat.png")}
    log, table, plot = paths.values()
    arguments = (*SMALL, "--seats", "both", "--log", log, "--csv", table, "--plot", plot)
    assert negzoo_cli("tournament", *arguments).exit_code == 0
    with table.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 * 2
    assert {row["opener"] for row in rows if row["profile_1"] != row["profile_2"]} == {"Hardliner", "AcceptFirst"}
    with open_trajectories(log) as logged:
        assert len(logged) == 4 * 2 * 2
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_many_opponents_fit_80_columns_in_blocks(negzoo_cli):
    opponents = ",".join(f"TimeDependent(e={1 + number / 10})" for number in range(18))
    text = negzoo_cli("tournament", "--domains", "laptop", "--opponents", opponents, "--games", "1").stdout
    assert max(map(len, text.splitlines())) <= 80
    heads = [row for row in rows_of(text) if row[:3] == ["buyer", "\\", "seller"]]
    assert [number for row in heads[: len(heads) // 2] for number in row[3:] if number != "mean"] == [
        str(number + 1) for number in range(18)
    ]


def test_the_thirteen_fit_80_columns(negzoo_cli):
    text = negzoo_cli("tournament", "--domains", "laptop", "--games", "1").stdout
    assert max(map(len, text.splitlines())) <= 80
    assert sum(row[:3] == ["buyer", "\\", "seller"] for row in rows_of(text)) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--seats", "two"), '--seats "two": unknown (known: both, first)'),
        (("--opponents", "Linear,Lineal"), 'unknown opponent "Lineal"'),
        (("--domains", "lapto"), 'did you mean "laptop"?'),
        (("--lineage", "genus"), 'unknown lineage "genus"'),
        ((*SMALL, "--log", "games.txt"), "the name of a trajectory file ends in .h5"),
    ],
)
def test_a_mistake_is_told_in_one_line(negzoo_cli, arguments, message):
    result = negzoo_cli("tournament", *arguments)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert message in result.stderr


def test_a_picture_that_cannot_be_written_does_not_cost_the_table(negzoo_cli, tmp_path):
    (tmp_path / "file").touch()
    result = negzoo_cli("tournament", *SMALL, "--plot", tmp_path / "file" / "x.png")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert f"cannot write the plot to {tmp_path / 'file' / 'x.png'}" in result.stderr
    assert "Ranking, laptop" in result.stdout

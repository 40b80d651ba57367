"""`negzoo domains`: lists, shows and draws them."""

import json

import pytest

from negzoo.scenario import Geometry, dumps_toml, load, names


@pytest.fixture
def edited_laptop(tmp_path):
    """`edited_laptop(old, new)` is the path of a copy of that domain in which `new` stands for `old`."""

    def write(old, new):
        text = dumps_toml(load("laptop"))
        assert old in text
        (tmp_path / "mine.toml").write_text(text.replace(old, new), "utf-8")
        return tmp_path / "mine.toml"

    return write


def test_the_list_has_a_line_for_each_domain(negzoo_cli):
    result = negzoo_cli("domains")
    assert result.exit_code == 0
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["laptop", "3", "27", "0.178", "buyer", "/", "seller", "GENIUS"] in rows
    assert set(names()) <= {row[0] for row in rows if row}


@pytest.mark.parametrize("arguments", [(), ("show", "is_bt_acquisition"), ("show", "thompson")])
def test_tables_fit_80_columns(negzoo_cli, arguments):
    lines = negzoo_cli("domains", *arguments).stdout.splitlines()
    assert max(map(len, lines)) <= 80


def test_the_list_as_json(negzoo_cli):
    listed = json.loads(negzoo_cli("domains", "--json").stdout)
    assert [entry["name"] for entry in listed] == names()
    assert listed[3] == {
        "name": "laptop",
        "source": "GENIUS",
        "outcomes": 27,
        "conflict_level": Geometry(load("laptop")).conflict_level,
        "issues": 3,
        "profiles": ["buyer", "seller"],
    }


def test_show_prints_what_both_sides_want(negzoo_cli):
    text = negzoo_cli("domains", "show", "laptop").stdout
    rows = [line.split() for line in text.splitlines()]
    assert ["Macintosh", "20", "30"] in rows
    assert ["Harddisk", "weight", "0.3781", "weight", "0.1768"] in rows
    assert ["Discount", "(not", "applied)", "0.42441038", "0.42441038"] in rows
    assert "27 outcomes, 4 on the Pareto frontier." in text


def test_show_prints_a_missing_discount_and_the_reservation(negzoo_cli, edited_laptop):
    path = edited_laptop("reservation = 0\ndiscount = 0.42441038", "reservation = 0.3")
    rows = [line.split() for line in negzoo_cli("domains", "show", path).stdout.splitlines()]
    assert ["Discount", "(not", "applied)", "none", "none"] in rows
    assert ["No", "agreement", "(reservation)", "0.3", "0.3"] in rows


def test_names_in_brackets_are_no_markup(negzoo_cli, edited_laptop):
    path = edited_laptop("Dell", "[red]Dell[/bold]")
    assert "[red]Dell[/bold]" in negzoo_cli("domains", "show", path).stdout


def test_show_as_json_has_every_figure(negzoo_cli):
    laptop = load("laptop")
    shown = json.loads(negzoo_cli("domains", "show", "laptop", "--json").stdout)
    assert shown["hash"] == laptop.hash
    assert shown["issues"][0] == {"name": "Laptop", "options": ["Dell", "Macintosh", "HP"]}
    assert tuple(shown["profiles"][0]["weights"]) == laptop.profiles[0].weights
    assert shown["frontier"] == Geometry(laptop).frontier.tolist()
    nash = Geometry(laptop).nash
    assert shown["solutions"]["Nash"] == {"outcome": nash, "utilities": laptop.utilities[:, nash].tolist()}


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_show_draws_into_a_file(negzoo_cli, tmp_path, ending, start):
    path = tmp_path / f"laptop.{ending}"
    assert negzoo_cli("domains", "show", "laptop", "--plot", path).exit_code == 0
    assert path.read_bytes().startswith(start)


def test_a_plot_makes_the_folder_it_is_put_in(negzoo_cli, tmp_path):
    path = tmp_path / "plots" / "laptop.png"
    assert negzoo_cli("domains", "show", "laptop", "--plot", path).exit_code == 0
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("file", "reason"),
    [("file/x.png", "File exists"), ("x.doc", "Format 'doc' is not")],
)
def test_a_plot_that_cannot_be_written_is_told_in_one_line(negzoo_cli, tmp_path, file, reason):
    (tmp_path / "file").touch()
    result = negzoo_cli("domains", "show", "laptop", "--plot", tmp_path / file)
    assert result.exit_code == 2
    assert f"cannot write the plot to {tmp_path / file}: {reason}" in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_unknown_domain_is_told_in_one_line(negzoo_cli):
    result = negzoo_cli("domains", "show", "lapto")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert 'did you mean "laptop"?' in result.stderr

"""The shipped domains: found by name, and with the figures of their source."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from negzoo.errors import ScenarioError
from negzoo.scenario import data_folder, load, names, write_toml

GENIUS = Path(__file__).resolve().parents[3] / "shared" / "genius" / "paper_five"
SHAPES = {
    "grocery": (4, 5, 4, 4, 5),
    "is_bt_acquisition": (4, 3, 4, 4, 2),
    "itex_vs_cypress": (5, 4, 3, 3),
    "laptop": (3, 3, 3),
    "thompson": (5, 5, 5, 5, 5),
}
SOURCES = {
    "grocery": ("Grocery", "Grocery_domain", "Grocery_domain_mary", "Grocery_domain_sam"),
    "is_bt_acquisition": (
        "IS_BT_Acquisition",
        "IS_BT_Acquisition",
        "IS_BT_Acquisition_IS_prof",
        "IS_BT_Acquisition_BT_prof",
    ),
    "itex_vs_cypress": (
        "ItexvsCypress",
        "ItexvsCypress_domain",
        "ItexvsCypress_Itex",
        "ItexvsCypress_Cypress",
    ),
    "laptop": ("Laptop", "laptop_domain", "laptop_buyer_utility", "laptop_seller_utility"),
    "thompson": (
        "thompson",
        "thompson_employment",
        "thompson_employee_utilityspace",
        "thompson_employer_utilityspace",
    ),
}


def test_the_shipped_domains():
    assert {name: load(name).shape for name in names()} == SHAPES


def test_names_are_in_order():
    assert names() == sorted(SHAPES)


@pytest.mark.parametrize("name", SHAPES)
def test_a_domain_is_called_what_it_is_found_by(name):
    assert load(name).name == name
    assert load(name).source == "GENIUS"


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("Laptop", "laptop"),
        ("IS_BT_Acquisition", "is_bt_acquisition"),
        ("ItexvsCypress", "itex_vs_cypress"),
        ("Grocery", "grocery"),
        ("thompson", "thompson"),
    ],
)
def test_the_papers_spellings_are_understood(spelling, name):
    assert load(spelling) == load(name)


@pytest.mark.parametrize("kind", [str, Path])
def test_a_path_works_where_a_name_does(tmp_path, kind):
    write_toml(load("laptop"), tmp_path / "mine.toml")
    assert load(kind(tmp_path / "mine.toml")) == load("laptop")


def test_a_file_in_the_current_folder_is_found_by_its_ending(tmp_path, monkeypatch):
    write_toml(load("grocery"), tmp_path / "laptop.toml")
    monkeypatch.chdir(tmp_path)
    assert load("laptop.toml") == load("grocery")


def test_an_unknown_name_is_told_with_the_closest():
    with pytest.raises(ScenarioError, match=r'^no domain "Lapto" \(did you mean "laptop"\?\); .*\.toml file'):
        load("Lapto")


def test_an_unknown_name_like_no_other_is_told_with_them_all():
    with pytest.raises(ScenarioError, match=r"\(known: grocery, .*, thompson\)"):
        load("zzz")


@pytest.mark.parametrize("path", ["nowhere/laptop", "nowhere.toml", Path("nowhere")])
def test_a_missing_file_is_told(path):
    with pytest.raises(ScenarioError, match=f"^{path}: no such file"):
        load(path)


def test_the_data_folder_is_beside_or_inside_the_package():
    assert (data_folder() / "domains" / "laptop.toml").is_file()


@pytest.mark.skipif(not GENIUS.is_dir(), reason="the files of GENIUS are not here")
@pytest.mark.parametrize("name", SOURCES)
def test_issues_and_options_are_those_of_genius(name):
    folder, domain, *_ = SOURCES[name]
    ours = [(issue.name, list(issue.options)) for issue in load(name).issues]
    assert ours == [(i.get("name"), options_of(i)) for i in issues_of(GENIUS / folder / f"{domain}.xml")]


@pytest.mark.skipif(not GENIUS.is_dir(), reason="the files of GENIUS are not here")
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("name", SOURCES)
def test_figures_are_those_of_genius(name, player):
    folder, _, *profiles = SOURCES[name]
    path = GENIUS / folder / f"{profiles[player]}.xml"
    scenario = load(name)
    profile = scenario.profiles[player]

    assert profile.weights == weights_of(path)
    assert (profile.reservation, profile.discount) == (0, discount_of(path))
    for issue, evaluations, theirs in zip(scenario.issues, profile.evaluations, issues_of(path), strict=True):
        ours = dict(zip(issue.options, evaluations, strict=True))
        assert ours == {item.get("value"): float(item.get("evaluation")) for item in theirs.findall("item")}


def issues_of(path):
    return sorted(ET.parse(path).iter("issue"), key=lambda issue: int(issue.get("index")))


def options_of(issue):
    return [item.get("value") for item in issue.findall("item")]


def weights_of(path):
    weights = sorted(ET.parse(path).iter("weight"), key=lambda weight: int(weight.get("index")))
    return tuple(float(weight.get("value")) for weight in weights)


def discount_of(path):
    discount = ET.parse(path).find(".//discount_factor")
    return None if discount is None else float(discount.get("value"))

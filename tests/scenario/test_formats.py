"""Scenarios as TOML files: what is written is read back, and mistakes are pointed at."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from negzoo.errors import ScenarioError
from negzoo.scenario import Issue, Profile, Scenario, dumps_toml, loads_toml, read_toml, write_toml

SHIRT = """\
name = "shirt"
source = "made up"

[[issues]]
name = "Colour"
options = ["red", "green"]

[[issues]]
name = "Size"
options = ["S", "M", "L"]

[[profiles]]
name = "Ann"
reservation = 0
discount = 0.9
[profiles.preferences]
"Colour" = { weight = 0.4, evaluations = [1, 2] }
"Size" = { weight = 0.6, evaluations = [5, 0, 10] }

[[profiles]]
name = "Bob"
reservation = 0.25
[profiles.preferences]
"Colour" = { weight = 0.5, evaluations = [4, 1.5] }
"Size" = { weight = 0.5, evaluations = [1, 2, 3] }
"""

names = st.text(min_size=1, max_size=8).filter(str.strip)
figures = st.floats(0, 1e300) | st.integers(0, 10**6)
shares = st.floats(0, 1)


@st.composite
def scenarios(draw):
    options = draw(st.lists(st.lists(names, min_size=1, max_size=4, unique=True), min_size=1, max_size=3))
    issue_names = draw(st.lists(names, min_size=len(options), max_size=len(options), unique=True))
    issues = tuple(map(Issue, issue_names, options))

    def profile(name):
        return Profile(
            name,
            weights=draw(st.tuples(*[figures] * len(issues))),
            evaluations=tuple(draw(st.tuples(*[figures] * len(issue.options))) for issue in issues),
            reservation=draw(shares),
            discount=draw(st.none() | st.floats(0, 1, exclude_min=True)),
        )

    profiles = tuple(profile(name) for name in draw(st.lists(names, min_size=2, max_size=2, unique=True)))
    return Scenario(draw(names), issues, profiles, source=draw(st.text(max_size=20)))


@given(scenarios())
def test_what_is_written_is_read_back_equal(scenario):
    assert loads_toml(dumps_toml(scenario)) == scenario


def test_a_file_is_read_as_it_was_written(tmp_path):
    scenario = loads_toml(SHIRT.replace("made up", "größer"))
    write_toml(scenario, tmp_path / "shirt.toml")
    assert read_toml(tmp_path / "shirt.toml") == scenario


def test_the_layout_is_one_that_a_person_would_write():
    assert dumps_toml(loads_toml(SHIRT)) == SHIRT


def test_what_may_be_left_out():
    text = SHIRT.replace('source = "made up"', "").replace("reservation = 0\ndiscount = 0.9\n", "")
    scenario = loads_toml(text)
    assert scenario.source == ""
    assert (scenario.profiles[0].reservation, scenario.profiles[0].discount) == (0, None)


def test_preferences_go_by_the_issues_names_not_by_their_order():
    colour, size = SHIRT.splitlines()[16:18]
    assert loads_toml(SHIRT.replace(f"{colour}\n{size}", f"{size}\n{colour}")) == loads_toml(SHIRT)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"green"', '"red"', 'issue "Colour": duplicate option "red"; rename or drop one'),
        ('name = "Size"', 'name = "Colour"', 'shirt.toml: duplicate issue "Colour"; rename'),
        ('name = "Size"\n', "", '[[issues]] 2: "name" is missing'),
        ('["red", "green"]', '"red"', "[[issues]] 1: \"options\" must be a list in [ ], not 'red'"),
        ('"green"]', "2]", "[[issues]] 1: each option must be a text in quotes, not 2"),
        ('source = "made up"', "sauce = 1", 'unknown key "sauce" (did you mean "source"?)'),
        ("reservation = 0.25", 'reservation = "low"', "profile \"Bob\": reservation is 'low'; give a number"),
        ("reservation = 0.25", "reservatoin = 0", '[[profiles]] 2: unknown key "reservatoin" (did you mean'),
        ("discount = 0.9", "discount = 0", 'profile "Ann": discount is 0.0; give a factor above 0'),
        ('"Size" = { weight = 0.6', '"Sise" = { weight = 0.6', 'unknown key "Sise" (did you mean "Size"?)'),
        (
            '"Colour" = { weight = 0.4, evaluations = [1, 2] }',
            "",
            'profile "Ann", preferences: "Colour" is missing',
        ),
        ("{ weight = 0.4, evaluations = [1, 2] }", "3", 'preferences: "Colour" must be a table, not 3'),
        ("weight = 0.4, ", "", 'profile "Ann", preferences: issue "Colour": "weight" is missing'),
        (
            "weight = 0.4",
            "weight = true",
            'profile "Ann", preferences: issue "Colour": weight is True; give a number',
        ),
        ("[1, 2] }", "[1, nan] }", 'issue "Colour": evaluation 2 is nan; give a finite number'),
        ("[1, 2] }", "[1] }", 'profile "Ann", issue "Colour": 1 evaluations for 2 options'),
        ("[1, 2] }", "1 }", 'issue "Colour": "evaluations" must be a list in [ ], not 1'),
    ],
)
def test_a_mistake_is_pointed_at(old, new, message):
    assert old in SHIRT
    with pytest.raises(ScenarioError) as error:
        loads_toml(SHIRT.replace(old, new), where="shirt.toml")
    assert str(error.value).startswith("shirt.toml: ")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (0, '"profiles" is missing'),
        (1, r"1 \[\[profiles\]\]; a negotiation has two"),
        (3, r"3 \[\[profiles\]\]"),
    ],
)
def test_there_are_two_profiles(count, message):
    issues = SHIRT[: SHIRT.index("[[profiles]]")]
    profile = SHIRT[SHIRT.rindex("[[profiles]]") :]
    text = issues + "".join(profile.replace("Bob", f"player {i}") for i in range(count))
    with pytest.raises(ScenarioError, match=message):
        loads_toml(text)


@pytest.mark.parametrize("key", ["issues", "profiles"])
def test_blocks_are_tables(key):
    blocks = {"issues": '[{ name = "Colour", options = ["red"] }]', "profiles": "[]"} | {key: "[7]"}
    text = "\n".join(['name = "x"', *(f"{name} = {block}" for name, block in blocks.items())])
    with pytest.raises(ScenarioError, match=rf"\[\[{key}\]\] 1: it must be a table, not 7"):
        loads_toml(text)


def test_a_syntax_error_is_told_with_its_line():
    with pytest.raises(ScenarioError, match=r"^shirt\.toml: not valid TOML: .*\(at line 6, "):
        loads_toml(SHIRT.replace('"green"]', '"green]'), where="shirt.toml")


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(ScenarioError, match=r"no\.toml: no such file"):
        read_toml(tmp_path / "no.toml")


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(ScenarioError, match=r"cannot be read \(Is a directory\)"):
        read_toml(tmp_path)


def test_other_encodings_are_told(tmp_path):
    (tmp_path / "latin.toml").write_bytes('name = "größer"'.encode("latin-1"))
    with pytest.raises(ScenarioError, match=r"latin\.toml: not UTF-8 text"):
        read_toml(tmp_path / "latin.toml")


def test_a_file_that_cannot_be_written_is_told(tmp_path):
    with pytest.raises(ScenarioError, match=r"shirt\.toml: cannot be written \(No such file or directory\)"):
        write_toml(loads_toml(SHIRT), tmp_path / "no folder" / "shirt.toml")

"""`negzoo play`: a person negotiates, by a script on the standard input."""

import builtins

import pytest
from typer.testing import CliRunner

from negzoo.cli.app import app
from negzoo.scenario import dumps_toml, load

LAPTOP = load("laptop")
FIRST_ROUND = "Round 1 of"
SUMMARY = "The Pareto frontier"


def play(*arguments, typed=()):
    """What is printed in a negotiation in which these lines are typed, and then no more."""
    lines = "".join(f"{line}\n" for line in typed)
    result = CliRunner().invoke(app, ["play", *map(str, arguments)], input=lines, prog_name="negzoo")
    assert "Traceback" not in result.output
    return result


def with_other_seller(tmp_path, name, old, new):
    """Laptop in a file, but with other figures of the seller."""
    text = dumps_toml(LAPTOP)
    head, _, seller = text.rpartition("[[profiles]]")
    assert old in seller
    path = tmp_path / name / "laptop.toml"
    path.parent.mkdir()
    path.write_text(f"{head}[[profiles]]{seller.replace(old, new)}", "utf-8")
    return path


def test_a_negotiation_from_offer_to_agreement():
    result = play("laptop", "--opponent", "Linear", typed=["1 1 1", "Dell, 80, 20", "accept"])
    assert result.exit_code == 0
    text = result.stdout
    assert "You are buyer, Linear is seller." in text
    assert f"You offer what is worth {LAPTOP.utilities[0, 0]:.3f} to you." in text
    assert "Round 3 of 40, 37 left" in text
    assert "Agreement in round 3: You accepted." in text
    assert text.count(SUMMARY) == 1


def test_the_opponents_offers_are_told_by_their_worth_to_the_person():
    text = play("laptop", "--opponent", "Hardliner", typed=["1 1 1"]).stdout
    best = int(LAPTOP.utilities[1].argmax())
    worth = f"{LAPTOP.utilities[0, best]:.3f}"
    assert f"Hardliner offers what is worth {worth} to you: {LAPTOP.describe(best)}" in " ".join(text.split())


def test_nothing_of_the_other_side_shows_before_the_end(tmp_path):
    """The transcript is the same whatever the seller wants; Random's moves do not depend on it."""
    files = [with_other_seller(tmp_path, "this", "20", "20"), with_other_seller(tmp_path, "that", "20", "57")]
    assert load(files[0]).raw_utilities[1].tolist() != load(files[1]).raw_utilities[1].tolist()
    typed = ["help", "options", "list 0.8", "1 1 1", "2 2 2", "3 3 3"]
    texts = [play(file, "--opponent", "Random", "--seed", "3", typed=typed).stdout for file in files]
    before = [text.partition(SUMMARY)[0] for text in texts]
    assert before[0].count("Random offers") >= 2
    assert before[0] == before[1]
    assert texts[0] != texts[1]


def test_the_options_show_what_each_adds_to_the_persons_utility():
    rows = [line.split() for line in play("laptop", "--opponent", "Linear").stdout.splitlines()]
    profile = LAPTOP.profiles[0]
    adds = profile.weights[0] * profile.evaluations[0][1] / max(profile.evaluations[0])
    assert ["2", "Macintosh", f"{adds:.3f}"] in rows


def test_the_summary_reveals_both_sides_and_marks_the_agreement():
    text = play("laptop", "--opponent", "AcceptFirst", typed=["Mac, 60, 19"]).stdout
    first, second = LAPTOP.utilities[:, LAPTOP.index((1, 0, 0))].tolist()
    assert "Agreement in round 1: AcceptFirst accepted." in text
    assert f"You (buyer) got {first:.3f}, AcceptFirst (seller) got {second:.3f}: Macintosh, 60 Gb" in text
    assert f"=>  {first:.3f}  {second:.3f}  Macintosh, 60 Gb, 19'' LCD" in text
    assert "None is better for both." in text


def test_an_inefficient_agreement_is_told():
    text = play("laptop", "--opponent", "AcceptFirst", typed=["1 3 3"]).stdout
    agreed = LAPTOP.utilities[:, [LAPTOP.index((0, 2, 2))]]
    better = int((LAPTOP.utilities > agreed).all(axis=0).sum())
    assert better > 0
    assert "=>" not in text
    assert f"{better} outcomes would have been better for both." in text


def test_the_other_profile_and_the_second_seat():
    text = play("laptop", "--opponent", "Hardliner", "--side", "2", "--second", typed=["accept"]).stdout
    assert "You are seller, Hardliner is buyer." in text
    assert text.index("Hardliner offers") < text.index("> accept")
    seller = LAPTOP.utilities[1, LAPTOP.utilities[0].argmax()]
    assert f"You (seller) got {seller:.3f}, Hardliner (buyer) got 1.000" in text


@pytest.mark.parametrize("typed", [["1 1 1", "quit"], ["1 1 1"]], ids=["quit", "end of input"])
def test_leaving_is_clean(typed):
    result = play("laptop", "--opponent", "Hardliner", typed=typed)
    assert result.exit_code == 0
    assert "No agreement: You left in round 2." in result.stdout
    assert SUMMARY in result.stdout


def test_an_interrupt_leaves_too(monkeypatch):
    def interrupted(_prompt):
        raise KeyboardInterrupt

    monkeypatch.setattr(builtins, "input", interrupted)
    result = play("laptop", "--opponent", "Hardliner")
    assert result.exit_code == 0
    assert "No agreement: You left in round 1." in result.stdout


def test_at_the_deadline_there_is_no_agreement():
    text = play("laptop", "--opponent", "Hardliner", "--rounds", "2", typed=["1 1 1", "1 1 1"]).stdout
    assert "Round 2 of 2, the last" in text
    assert "No agreement: the deadline has passed." in text


def test_what_is_not_understood_is_said_and_asked_again():
    text = play("laptop", "--opponent", "Hardliner", typed=["accept", "Dill 1 1", "1", "list 0.1", "help"]).stdout
    assert "There is no offer to accept yet: make one." in text
    assert 'Laptop: no option "Dill" (did you mean "Dell"?)' in text
    assert "give an option for each of: Laptop, Harddisk, External Monitor" in text
    assert "Nothing is worth 0.1 to you or less; the least is 0.350." in text
    assert "or by numbers alone:  1 1 1" in text
    assert text.count(FIRST_ROUND) == 1


def test_listed_outcomes_can_be_typed_as_listed():
    listed = play("laptop", "--opponent", "Hardliner", typed=["list 0.8"]).stdout
    rows = [line.split() for line in listed.partition(SUMMARY)[0].splitlines()]
    utilities, typed = zip(
        *((row[0], row[1:4]) for row in rows if len(row) > 4 and row[0].startswith("0.")), strict=True
    )
    affordable = sorted((utility for utility in LAPTOP.utilities[0] if utility <= 0.8), reverse=True)
    assert list(utilities) == [f"{utility:.3f}" for utility in affordable[:10]]
    text = play("laptop", "--opponent", "Hardliner", typed=[" ".join(typed[0])]).stdout
    assert f"You offer what is worth {utilities[0]} to you." in text


@pytest.mark.parametrize("domain", ["thompson", "is_bt_acquisition"])
def test_everything_fits_80_columns(domain):
    typed = ["help", "options", "list 0.7", *["1;1;1;1;1"] * 3, "accept"]
    lines = play(domain, "--opponent", "AgentK", typed=typed).stdout.splitlines()
    assert max(map(len, lines)) <= 80


def test_a_picture_of_the_negotiation(tmp_path):
    path = tmp_path / "game.png"
    assert play("laptop", "--opponent", "Linear", "--plot", path, typed=["1 1 1", "accept"]).exit_code == 0
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("lapto", "--opponent", "Linear"), 'did you mean "laptop"?'),
        (("laptop", "--opponent", "Lineal"), 'did you mean "Linear"?'),
        (("laptop", "--opponent", "Linear", "--side", "0"), "--side 0: a domain has two sides"),
        (("laptop", "--opponent", "Linear", "--clock", "wall"), "unknown clock"),
    ],
)
def test_a_mistake_is_told_in_one_line_before_anything_is_asked(arguments, message):
    result = play(*arguments)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert message in result.stderr

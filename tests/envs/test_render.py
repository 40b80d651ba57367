"""A negotiation shown: the text to the letter, and what the picture is drawn from."""

from itertools import pairwise

import numpy as np
import pytest

import negzoo
from negzoo.engine import ACCEPT, FAULT, NOTHING, WALK, Negotiations
from negzoo.envs.render import picture, transcript
from negzoo.errors import SettingsError
from negzoo.scenario import Issue, Profile, Scenario, drawing

ISSUES = Issue("colour", ("red", "green")), Issue("size", ("S", "M"))
SHIRT = Scenario(
    "shirt",
    ISSUES,
    (Profile("Ann", (0.5, 0.5), ((1, 0), (0, 1))), Profile("Bob", (0.25, 0.75), ((0, 1), (1, 0)))),
)


def negotiated(*moves, rounds=2):
    negotiations = Negotiations(1, rounds)
    for move in moves:
        negotiations.apply(np.array([0]), np.array([move], np.int32))
    return negotiations


# Text


def test_the_transcript_of_an_agreement():
    assert transcript(SHIRT, (0, 1), negotiated(1, 2, 3, ACCEPT)) == "\n".join(
        [
            "shirt, 2 rounds",
            "  1  player_0  offers colour=red, size=M  [1.000 | 0.000]",
            "  1  player_1  offers colour=green, size=S  [0.000 | 1.000]",
            "  2  player_0  offers colour=green, size=M  [0.500 | 0.250]",
            "  2  player_1  accepts",
            "agreement on colour=green, size=M  [0.500 | 0.250]",
        ]
    )


def test_utilities_are_in_the_order_of_the_players():
    lines = transcript(SHIRT, (1, 0), negotiated(1, ACCEPT)).splitlines()
    assert [line[-15:] for line in lines if "size" in line] == ["[0.000 | 1.000]"] * 2


@pytest.mark.parametrize(
    ("moves", "last_lines"),
    [
        ([], ["shirt, 2 rounds"]),
        ([1, WALK], ["player_1  ends the negotiation", "no agreement: a player walked away"]),
        ([ACCEPT], ["player_0  accepts", "no agreement: the negotiation broke down"]),
        ([1, NOTHING], ["player_1  ends the negotiation", "no agreement: the negotiation broke down"]),
        ([1, FAULT], ["player_1  ends the negotiation", "no agreement: a strategy failed"]),
        ([0, 0, 0, 0], ["size=S  [0.500 | 0.750]", "no agreement: the deadline has passed"]),
    ],
)
def test_how_it_ended_is_said_last(moves, last_lines):
    lines = transcript(SHIRT, (0, 1), negotiated(*moves)).splitlines()
    assert len(lines) == 1 + len(moves) + (1 if moves else 0)
    assert all(line.endswith(expected) for line, expected in zip(lines[-2:], last_lines, strict=True))


# Modes


def shirts(render_mode, *actions):
    """An environment in which `actions` have been played."""
    env = negzoo.env(SHIRT, rounds=2, render_mode=render_mode)
    env.reset()
    for action in actions:
        env.step(action)
    return env


def test_ansi_returns_the_transcript_so_far():
    assert shirts("ansi").render() == "shirt, 2 rounds"
    assert shirts("ansi", 1, 4).render() == transcript(SHIRT, (0, 1), negotiated(1, ACCEPT))


def test_human_prints_each_move_as_it_is_made(capsys):
    env = shirts("human")
    assert env.render() is None
    assert capsys.readouterr().out == "shirt, 2 rounds\n"
    env.step(1)
    assert capsys.readouterr().out == "  1  player_0  offers colour=red, size=M  [1.000 | 0.000]\n"
    env.step(4)
    agreement = "  1  player_1  accepts\nagreement on colour=red, size=M  [1.000 | 0.000]\n"
    assert capsys.readouterr().out == agreement


@pytest.mark.parametrize("render_mode", [None, "ansi", "rgb_array"])
def test_the_other_modes_print_nothing(render_mode, capsys):
    shirts(render_mode, 1, 4)
    assert capsys.readouterr().out == ""


def test_without_a_mode_nothing_is_rendered():
    assert shirts(None, 1).render() is None


def test_an_unknown_mode_is_refused():
    with pytest.raises(SettingsError, match=r'render_mode = "rgb_arr": unknown \(did you mean "rgb_array"\?\)'):
        negzoo.env(render_mode="rgb_arr")


# Pictures


def test_a_picture_changes_with_every_move():
    env, seen = shirts("rgb_array"), []
    for action in (1, 2, 4):
        seen.append(env.render())
        env.step(action)
    assert {(picture.dtype, picture.shape) for picture in seen} == {(np.dtype(np.uint8), seen[0].shape)}
    assert seen[0].shape[2] == 3
    assert not any(np.array_equal(before, after) for before, after in pairwise(seen))


@pytest.mark.parametrize(("sides", "drawn"), [((0, 1), ([1, 3], [2])), ((1, 0), ([2], [1, 3]))])
@pytest.mark.parametrize(("closing", "agreement"), [(ACCEPT, 3), (WALK, None)])
def test_offers_are_drawn_by_profile_with_the_agreement(monkeypatch, sides, drawn, closing, agreement):
    asked, draw = [], drawing.outcome_space
    monkeypatch.setattr(drawing, "outcome_space", lambda *arguments: asked.append(arguments) or draw(*arguments))
    picture(SHIRT, sides, negotiated(1, 2, 3, closing))
    assert asked == [(SHIRT, drawn, agreement)]

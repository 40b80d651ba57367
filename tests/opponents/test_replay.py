"""Recorded games: that each replays, what is read of them, and how a departure is reported."""

import gzip
import json
from dataclasses import dataclass, replace

import numpy as np
import pytest

from negzoo.engine import ACCEPT, NOTHING
from negzoo.errors import OpponentError
from negzoo.opponents import LINEAGES, HardHeaded, Offer, PythonOpponent, TimeDependent, TitForTat
from negzoo.opponents.replay import Mismatch, RecordedTurn, java_options, read_game, replay
from negzoo.scenario import load
from tests.opponents.conftest import as_recorded, recorded_games

DEPARTURES = {"genius_HardHeaded_IS_BT_Acquisition_top.json.gz": Mismatch(38, 349, 361, (7, 7))}
"""The second refill of five picks 317, 365, 361, ...; Java's TreeMap had put 349 in the place of 361."""


def game_called(start):
    """The recorded game whose file's name starts so."""
    (path,) = (path for path in recorded_games() if path.name.startswith(start))
    return read_game(path)


# Every recorded game


@pytest.mark.parametrize("path", recorded_games(), ids=lambda path: path.name.removesuffix(".json.gz"))
def test_every_recorded_move_and_draw_comes_again(path):
    assert replay(read_game(path)) == DEPARTURES.get(path.name)


@pytest.mark.parametrize("lineage", LINEAGES)
def test_there_are_recorded_games_of_every_strategy_of_the_lineage(lineage):
    agents = {path.name.split("_")[1].rstrip("12") for path in recorded_games() if path.name.startswith(lineage)}
    assert agents == {"TimeDependent", "TitForTat", "AgentK", "HardHeaded", "Atlas3", "AgentGG"}


@pytest.mark.parametrize("path", recorded_games("AgentGG"), ids=lambda path: path.name.removesuffix(".json.gz"))
def test_other_draws_would_not_do(path):
    """So the moves of AgentGG do come from the draws."""
    game = read_game(path)
    assert replay(replace(game, tape=game.tape[::-1].copy())) is not None


# Reading

GAME = {
    "lineage": "genius",
    "agent": "TitForTat2",
    "domain": "Laptop",
    "agent_side": 1,
    "seed": 5,
    "script": [[2, 1, 0], [0, 0, 1], [2, 2, 2]],
    "log": [
        {"act": "OFFER", "bid": [0, 0, 2], "draws": [0.25, [3, 1], ["i", 27, 26], ["c", 4, [3, 0, 3]]]},
        {"act": "OFFER", "bid": [1, 2, 0], "draws": []},
        {"act": "ACCEPT"},
        {"end": "agreement"},
    ],
}


def written(folder, **changes):
    """A file that records GAME, with some values replaced."""
    path = folder / "game.json.gz"
    path.write_bytes(gzip.compress(json.dumps(GAME | changes).encode(), mtime=0))
    return path


def test_what_is_read(tmp_path):
    game = read_game(written(tmp_path))
    assert game.opponent == TitForTat(2, "genius")
    assert game.scenario == load("laptop")
    assert game.side == 0
    assert game.script.tolist() == [2 * 9 + 1 * 3 + 0, 1, 26]
    assert [turn.move for turn in game.turns] == [2, 1 * 9 + 2 * 3 + 0, ACCEPT]
    assert game.memory == {}


def test_draws_are_read_turn_by_turn_each_kind_as_its_numbers(tmp_path):
    game = read_game(written(tmp_path))
    assert [turn.draws.tolist() for turn in game.turns] == [[0.25, 1, 26, 3, 0, 3], [], []]
    assert game.tape.tolist() == [0.25, 1, 26, 3, 0, 3]
    assert game.counts_draws


def test_time_dependent_is_read_with_its_exponent(tmp_path):
    game = read_game(written(tmp_path, agent="TimeDependent", e=0.2))
    assert game.opponent == TimeDependent(0.2, "genius")


def test_the_recorded_memory_at_the_start_is_read_as_outcomes(tmp_path):
    game = read_game(written(tmp_path, agent="Atlas3", init={"max_bid": [1, 0, 2]}))
    assert game.memory == {"max_bid": 11}


def test_a_strategy_that_ends_the_negotiation_made_no_move(tmp_path):
    (turn,) = read_game(written(tmp_path, log=[{"act": "END"}])).turns
    assert turn.move == NOTHING


@pytest.mark.parametrize(("lineage", "agent"), [("paper", "AgentGG"), ("genius", "AgentK")])
def test_without_draws_the_tape_is_a_single_0(lineage, agent, tmp_path):
    game = read_game(written(tmp_path, lineage=lineage, agent=agent, log=[{"act": "ACCEPT"}]))
    assert game.tape.tolist() == [0]
    assert game.counts_draws


def test_without_draws_those_of_genius_agent_gg_are_drawn_again(tmp_path):
    game = read_game(written(tmp_path, agent="AgentGG", log=[{"act": "ACCEPT"}]))
    assert game.tape.tolist() == java_options(5, (3, 3, 3)).tolist()
    assert not game.counts_draws


def test_java_util_random_gives_the_recorded_draws():
    game, (path,) = game_called("genius_AgentGG_Laptop"), [p for p in recorded_games("AgentGG_L") if "genius" in p.name]
    drawn = java_options(as_recorded(path)["seed"], game.scenario.shape, game.tape.size)
    assert game.counts_draws
    assert np.array_equal(drawn, game.tape)


def test_java_util_random_by_hand():
    """nextInt() of seed 0 gives -1155484576, -723955400, 1033096058: 31 bits are half of that, as unsigned numbers.

    A power of two takes the high bits. For 2^30 + 1 the first two are turned down: they lie beyond its last multiple.
    """
    first, second, third = (number % 2**32 for number in (-1155484576, -723955400, 1033096058))
    assert java_options(0, (100,), 4).tolist() == [60, 48, 29, 47]
    assert java_options(0, (100, 2**30), 2).tolist() == [first // 2 % 100, second // 4]
    assert java_options(0, (2**30 + 1,), 1).tolist() == [third // 2]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        gzip.compress(json.dumps(GAME).encode(), mtime=0)[:60],
        gzip.compress(b"no JSON", mtime=0),
        gzip.compress(b"\xff\xfe\xfd", mtime=0),
        gzip.compress(b"[]", mtime=0),
        gzip.compress(b"3", mtime=0),
        gzip.compress(b"{}", mtime=0),
    ],
)
def test_a_file_that_is_no_recorded_game_is_refused_by_name(content, tmp_path):
    path = tmp_path / "game.json.gz"
    path.write_bytes(content)
    with pytest.raises(OpponentError, match=r"game\.json\.gz: not a readable recorded game \(.*\)$"):
        read_game(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"script": 5},
        {"log": 5},
        {"log": ["act"]},
        {"log": [{"act": "OFFER"}]},
        {"log": [{"act": "SHOUT", "bid": [0, 0, 0]}]},
        {"log": [{"act": "ACCEPT", "draws": 3}]},
        {"log": [{"act": "ACCEPT", "draws": ["x"]}]},
        {"log": [{"act": "ACCEPT", "draws": [["c", 3, 5]]}]},
        {"agent_side": "2"},
    ],
)
def test_a_game_with_nonsense_in_it_is_refused_by_name(changes, tmp_path):
    with pytest.raises(OpponentError, match=r"game\.json\.gz: not a readable recorded game \(.*\)$"):
        read_game(written(tmp_path, **changes))


def test_a_file_that_is_not_there_is_refused_by_name(tmp_path):
    for path in (tmp_path / "missing.json.gz", tmp_path):
        with pytest.raises(OpponentError, match=f"{path.name}: not a readable recorded game"):
            read_game(path)


def test_damaged_compression_is_refused_by_name(tmp_path):
    path = written(tmp_path)
    content = bytearray(path.read_bytes())
    content[20:60] = b"\xff" * 40
    path.write_bytes(content)
    with pytest.raises(OpponentError, match="not a readable recorded game"):
        read_game(path)


@pytest.mark.parametrize("changes", [{"agent": 3}, {"init": [[0, 0, 0]]}])
def test_values_of_another_type_are_refused_by_name(changes, tmp_path):
    with pytest.raises(OpponentError, match="not a readable recorded game"):
        read_game(written(tmp_path, **changes))


@pytest.mark.parametrize("side", [0, 3])
def test_a_side_that_there_is_not_is_refused(side, tmp_path):
    with pytest.raises(OpponentError):
        replay(read_game(written(tmp_path, agent_side=side)))


# Departures


def with_turn(game, number, **changes):
    """The game, with turn `number` (from 1) recorded otherwise."""
    turns = list(game.turns)
    turns[number - 1] = replace(turns[number - 1], **changes)
    return replace(game, turns=tuple(turns))


@pytest.mark.parametrize("number", [1, 5])
def test_another_move_is_reported_with_its_turn(number):
    game = game_called("paper_TitForTat1_Grocery")
    played = game.turns[number - 1].move
    mismatch = replay(with_turn(game, number, move=played + 1))
    assert mismatch == Mismatch(number, played + 1, played, (0, 0))
    assert str(mismatch) == f"turn {number}: recorded move {played + 1}, played {played} (draws 0, 0)"


@pytest.mark.parametrize("change", [-1, 1])
def test_another_number_of_draws_is_reported_though_the_move_is_the_same(change):
    game = game_called("paper_HardHeaded_Laptop")
    number = next(number for number, turn in enumerate(game.turns, 1) if turn.draws.size)
    turn = game.turns[number - 1]
    draws = np.zeros(turn.draws.size + change)
    assert replay(with_turn(game, number, draws=draws)) == Mismatch(
        number, turn.move, turn.move, (draws.size, turn.draws.size)
    )


def test_a_draw_where_none_is_recorded_is_reported():
    game = game_called("paper_TimeDependent_e0.1_Laptop")
    noisy = replace(game, opponent=TimeDependent(0.1, noise=1e-9))
    first = game.turns[0].move
    assert replay(noisy) == Mismatch(1, first, first, (0, 1))


def test_draws_are_not_counted_where_they_were_drawn_again():
    game = game_called("genius_AgentGG_Grocery")
    assert not game.counts_draws
    assert replay(game) is None


def test_a_recording_that_stops_before_the_negotiation_ended_is_reported():
    game = game_called("paper_TitForTat1_Grocery")
    cut = replace(game, turns=game.turns[:-1])
    assert game.turns[-1].move == ACCEPT
    assert replay(cut) == Mismatch(len(game.turns), NOTHING, cut.turns[-1].move, (0, 0))


def test_a_recording_that_goes_on_after_the_agreement_is_reported():
    game = game_called("paper_TitForTat1_Grocery")
    longer = replace(game, turns=(*game.turns, RecordedTurn(ACCEPT, np.empty(0))))
    assert replay(longer).turn == len(game.turns) + 1


@pytest.mark.parametrize("other", [TitForTat(2), TitForTat(1, "genius"), TimeDependent(1.0), HardHeaded()])
def test_another_strategy_does_not_replay_the_game(other):
    game = game_called("paper_TitForTat1_IS_BT")
    assert replay(replace(game, opponent=other)) is not None


def test_the_other_profile_does_not_replay_the_game():
    game = game_called("paper_TitForTat1_Grocery")
    assert replay(replace(game, side=0)) is not None


def test_the_recorded_memory_is_where_the_strategy_begins():
    game = game_called("genius_Atlas3_thompson")
    assert game.memory == {"max_bid": game.scenario.size - 1}
    assert replay(replace(game, memory={"max_bid": 0})) is not None


@dataclass(frozen=True)
class Stubborn(PythonOpponent):
    def respond(self, view):
        return Offer(view.best)


def test_only_compiled_strategies_can_be_replayed():
    with pytest.raises(OpponentError, match="Stubborn is not a compiled strategy"):
        replay(replace(game_called("paper_TitForTat1_Grocery"), opponent=Stubborn()))

"""What a finished cell leaves behind, and what is made of a folder that holds none."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from negzoo.errors import LeagueError
from negzoo.files import write_text
from negzoo.league.cells import (
    CHECKPOINT,
    ERROR,
    GAMES,
    POLICY,
    RESULT,
    CellResult,
    finish_cell,
    labels,
    meet,
    read_result,
)
from negzoo.learn.checkpoint import FrozenPolicy, load_policy
from negzoo.learn.manager import ManagerTraining
from negzoo.opponents import play, resolve
from negzoo.trajectories import open_trajectories
from tests.league.leagues import result_of, toy_plan
from tests.learn.bargains import TOY


def cell_of(folder, stage, old="", new=""):
    return next(cell for cell in toy_plan(folder, old, new).cells if cell.stage == stage)


def untrained(cell):
    return ManagerTraining(cell.scenario, cell.opponent, cell.game, cell.ppo, cell.seed, cell.seat).weights_of()


@pytest.fixture
def pretrained(tmp_path):
    return cell_of(tmp_path, "pretrain")


@pytest.fixture
def folder(tmp_path, pretrained):
    folder = tmp_path / "cells" / pretrained.id
    finish_cell(pretrained, folder, untrained(pretrained), 96, 1.23456, "0123456789abcdef")
    return folder


def test_a_finished_cell_leaves_its_policy_its_games_and_its_result(folder):
    assert {path.name for path in folder.iterdir()} == {POLICY, GAMES, RESULT}


def test_what_was_left_of_an_earlier_try_is_gone(tmp_path, pretrained):
    for name in (CHECKPOINT, ERROR):
        write_text(tmp_path / name, "earlier")
    finish_cell(pretrained, tmp_path, untrained(pretrained), 96, 1.0, None)
    assert {path.name for path in tmp_path.iterdir()} >= {POLICY, GAMES, RESULT}
    assert not any((tmp_path / name).exists() for name in (CHECKPOINT, ERROR))


def test_the_policy_says_what_it_was_trained_for(folder, pretrained):
    card, _ = load_policy(folder / POLICY)
    assert (card.name, card.scenario_hash, card.side) == (pretrained.id, TOY.hash, 0)
    assert card.game == pretrained.game
    training = card.training
    assert training["stage"] == "pretrain"
    assert (training["opponent"], training["pool"], training["steps"]) == ("known", "known", 96)
    assert training["seed"] == pretrained.seed
    assert training["ppo"]["horizon"] == 32


def test_the_result_holds_the_score_on_every_opponent(folder, pretrained):
    result = read_result(folder)
    assert result.scores.keys() == {"Boulware2", "Linear", "Conceder1"}
    assert {score.games for score in result.scores.values()} == {10}
    assert (result.id, result.steps, result.seconds) == (pretrained.id, 96, 1.235)
    assert result.started_from == "0123456789abcdef"


def test_the_games_are_those_that_were_scored(folder, pretrained):
    result = read_result(folder)
    with open_trajectories(folder / GAMES) as log:
        assert len(log) == 30
        for opponent, score in result.scores.items():
            games = log.filter(opponent=opponent)
            assert len(games) == 10
            assert np.mean([game.utilities[0] for game in games]) == pytest.approx(score.utility)
        assert {(game.stage, game.model, game.learner) for game in log} == {("pretrain", pretrained.id, 0)}
        assert {game.players[0] for game in log} == {"learner"}


def test_a_logged_game_can_be_played_again_from_its_seed(folder):
    policy = FrozenPolicy.load(folder / POLICY, TOY)
    with open_trajectories(folder / GAMES) as log:
        for game in log:
            again = play(TOY, policy, resolve(game.players[1]), game.index + 1, game.seed, game.rounds)
            assert again.negotiations.history(game.index).tolist() == game.moves.tolist()


def test_the_policy_is_scored_in_the_learners_seat(tmp_path):
    cell = cell_of(tmp_path, "baseline", "models = 2", "learner_seat = 1")
    finish_cell(cell, tmp_path / "cell", untrained(cell), 1, 1.0, None)
    with open_trajectories(tmp_path / "cell" / GAMES) as log:
        assert {(game.players, game.learner) for game in log} == {(("Conceder1", "learner"), 1)}
        score = read_result(tmp_path / "cell").scores["Conceder1"]
        assert np.mean([game.utilities[1] for game in log]) == pytest.approx(score.utility)


def test_anyone_may_take_the_learners_place(tmp_path):
    hardliner, conceder = resolve("Hardliner"), resolve("Conceder1")
    first = cell_of(tmp_path, "baseline")
    second = cell_of(tmp_path, "baseline", "models = 2", "learner_seat = 1")
    assert meet(first, hardliner, conceder, 3).players == (hardliner, conceder)
    assert meet(second, hardliner, conceder, 3).players == (conceder, hardliner)
    assert len(meet(first, hardliner, conceder, 3).negotiations) == 10


def test_games_of_swapped_profiles_are_logged_as_such(tmp_path):
    cell = cell_of(tmp_path, "baseline", "rounds = 40", "swap_profiles = true")
    assert labels(cell, "Linear", 1, "train").swapped
    assert meet(cell, resolve("Hardliner"), resolve("Linear"), 0).sides == (1, 0)


def test_the_mean_utility_is_over_the_opponents_asked_for():
    result = result_of("a", Linear=0.2, Boulware2=0.6, Conceder1=1.0)
    assert result.mean_utility(["Linear", "Boulware2"]) == pytest.approx(0.4)


# Reading


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

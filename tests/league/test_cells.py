"""What a finished cell leaves behind, and what is made of a folder that holds none."""

import numpy as np
import pytest

from negzoo.files import write_text
from negzoo.league.cells import finish_cell, labels, meet
from negzoo.league.results import CHECKPOINT, GAMES, POLICY, RESULT, read_result
from negzoo.learn.checkpoint import FrozenPolicy, load_policy
from negzoo.learn.manager import ManagerTraining
from negzoo.opponents import play, resolve
from negzoo.trajectories import open_trajectories
from tests.league.leagues import toy_plan
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


def test_the_checkpoint_is_no_longer_there(tmp_path, pretrained):
    write_text(tmp_path / "cell" / CHECKPOINT, "earlier")
    finish_cell(pretrained, tmp_path / "cell", untrained(pretrained), 96, 1.0, None)
    assert {path.name for path in (tmp_path / "cell").iterdir()} == {POLICY, GAMES, RESULT}


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

"""Finishing a cell of a league: its model is scored, and all of it written to the cell's folder."""

from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch

from negzoo.engine.rng import derive_key
from negzoo.files import write_json
from negzoo.league.plan import Cell
from negzoo.league.results import CHECKPOINT, GAMES, POLICY, RESULT, CellResult
from negzoo.league.scores import Score, score
from negzoo.learn.checkpoint import Card, FrozenPolicy, save_policy
from negzoo.opponents import Games, Opponent, play
from negzoo.trajectories import Labels, Played, TrajectoryWriter

_EVALUATION_LANE = 1


def finish_cell(
    cell: Cell, folder: Path, weights: dict[str, torch.Tensor], steps: int, seconds: float, start: str | None
) -> None:
    """Score a trained model and leave its files; the checkpoint is no longer needed.

    Raises:
        CheckpointError, TrajectoryError, NegzooError: files that cannot be written.
    """
    card = _card(cell, steps)
    save_policy(folder / POLICY, card, weights)
    scores = _evaluate(cell, FrozenPolicy.of(card, weights, cell.scenario), folder / GAMES)
    write_json(folder / RESULT, asdict(CellResult(cell.id, scores, steps, round(seconds, 3), start)))
    (folder / CHECKPOINT).unlink(missing_ok=True)


def _card(cell: Cell, steps: int) -> Card:
    training = {
        "stage": cell.stage,
        "opponent": cell.opponent.name,
        "pool": cell.pool,
        "steps": steps,
        "seed": cell.seed,
        "ppo": asdict(cell.ppo),
    }
    scenario = cell.scenario
    return Card(cell.id, scenario.name, scenario.hash, cell.side, cell.game, cell.ppo.hidden, training)


def _evaluate(cell: Cell, policy: FrozenPolicy, path: Path) -> dict[str, Score]:
    scores = {}
    with TrajectoryWriter(path, overwrite=True) as writer:
        for number, opponent in enumerate(cell.scored_on):
            seed = int(derive_key(cell.seed, _EVALUATION_LANE, number))
            games = meet(cell, policy, opponent, seed)
            played = Played.finished(games.negotiations, np.arange(cell.games))
            writer.write(cell.scenario, played, labels(cell, opponent.name, seed, cell.stage))
            scores[opponent.name] = score(games, cell.seat)
    return scores


def meet(cell: Cell, learner: Opponent, opponent: Opponent, seed: int) -> Games:
    """Let anyone take the learner's place in a cell's evaluation against one opponent."""
    players = (learner, opponent) if cell.seat == 0 else (opponent, learner)
    return play(cell.scenario, *players, cell.games, seed, cell.game.rounds, cell.game.clock, cell.game.sides)


def labels(cell: Cell, opponents: str | list[str], seed: int, stage: str) -> Labels:
    """What the log says of a cell's negotiations; the opponent's name, or one for each negotiation."""
    players = ("learner", opponents) if cell.seat == 0 else (opponents, "learner")
    swapped = cell.game.swap_profiles
    return Labels(players=players, seed=seed, learner=cell.seat, stage=stage, model=cell.id, swapped=swapped)

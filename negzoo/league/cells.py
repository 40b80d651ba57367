"""What a cell of a league leaves behind, and how its model is scored.

A finished cell is a folder with `policy.safetensors`, `games.h5` (the negotiations that scored it) and, written last,
`result.json`. One in training has `checkpoint.safetensors`, one that failed `error.txt`.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch

from negzoo.engine.rng import derive_key
from negzoo.errors import LeagueError
from negzoo.files import read_json, write_json
from negzoo.league.plan import Cell
from negzoo.league.scores import Score, score
from negzoo.learn.checkpoint import Card, FrozenPolicy, save_policy
from negzoo.opponents import Games, Opponent, play
from negzoo.trajectories import Labels, Played, TrajectoryWriter

RESULT, POLICY, GAMES, CHECKPOINT = "result.json", "policy.safetensors", "games.h5", "checkpoint.safetensors"
ERROR = "error.txt"

_EVALUATION_LANE = 1


@dataclass(frozen=True)
class CellResult:
    """What a finished cell found.

    Attributes:
        id: the cell's.
        scores: by opponent.
        steps: learner steps trained.
        seconds: its share of the time that training took.
        started_from: the id of the cell whose model it was fine-tuned from, else None.
    """

    id: str
    scores: dict[str, Score]
    steps: int
    seconds: float
    started_from: str | None

    def mean_utility(self, opponents: Sequence[str]) -> float:
        """The mean individual utility over some of the opponents it was scored on."""
        return float(np.mean([self.scores[name].utility for name in opponents]))


def finish_cell(
    cell: Cell, folder: Path, weights: dict[str, torch.Tensor], steps: int, seconds: float, start: str | None
) -> None:
    """Score a trained model and leave its files; the checkpoint, and why it failed before, are no longer needed.

    Raises:
        CheckpointError, TrajectoryError, NegzooError: files that cannot be written.
    """
    card = _card(cell, steps)
    save_policy(folder / POLICY, card, weights)
    scores = _evaluate(cell, FrozenPolicy.of(card, weights, cell.scenario), folder / GAMES)
    write_json(folder / RESULT, asdict(CellResult(cell.id, scores, steps, round(seconds, 3), start)))
    for name in (CHECKPOINT, ERROR):
        (folder / name).unlink(missing_ok=True)


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


def read_result(folder: Path) -> CellResult | None:
    """The result in a cell's folder, None where there is none yet.

    Raises:
        LeagueError: the file is there but is not a result.
    """
    path = folder / RESULT
    if not path.exists():
        return None
    try:
        content = read_json(path)
        scores = {name: Score(**fields) for name, fields in content.pop("scores").items()}
        return CellResult(scores=scores, **content)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise LeagueError(f"{path}: not a result ({error}); delete the folder {folder} to train it again") from None

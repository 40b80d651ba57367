"""One cell of a league: train a model, score it, leave its files.

A finished cell is a folder with `policy.safetensors`, `games.h5` and, written last, `result.json`.
"""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from negzoo.engine.rng import derive_key
from negzoo.envs import NegotiationEnv
from negzoo.errors import LeagueError
from negzoo.files import read_json, write_json
from negzoo.league.plan import Cell
from negzoo.league.scores import Score, score
from negzoo.learn.checkpoint import Card, FrozenPolicy, load_policy, save_policy
from negzoo.learn.manager import ManagerTraining
from negzoo.opponents import Games, Opponent, play
from negzoo.trajectories import Labels, Played, TrajectoryWriter

RESULT, POLICY, GAMES, TRAINING = "result.json", "policy.safetensors", "games.h5", "training.h5"

_EVALUATION_LANE = 1
_TRAINING_BATCH = 512


@dataclass(frozen=True)
class CellResult:
    """What a finished cell found.

    Attributes:
        id: the cell's.
        scores: by opponent.
        steps: learner steps trained.
        seconds: how long training took.
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


def run_cell(cell: Cell, folder: Path, start: Path | None, log_training: bool, progress: Callable[[int], None]) -> None:
    """Train and score one cell, and leave its files in `folder`.

    Args:
        cell: what to do.
        folder: the cell's own.
        start: the folder of the cell whose model it is fine-tuned from.
        log_training: also log every negotiation of training.
        progress: called after each update with the learner steps so far.

    Raises:
        CheckpointError, TrajectoryError: files that cannot be read or written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    training = _train(cell, folder, start, log_training, progress)
    seconds = time.monotonic() - began
    card = _card(cell, training.steps)
    save_policy(folder / POLICY, card, training.weights)
    policy = FrozenPolicy.of(card, training.weights, cell.scenario)
    scores = _evaluate(cell, policy, folder / GAMES)
    result = CellResult(cell.id, scores, training.steps, round(seconds, 3), start.name if start else None)
    write_json(folder / RESULT, asdict(result))


def _train(
    cell: Cell, folder: Path, start: Path | None, log_training: bool, progress: Callable[[int], None]
) -> ManagerTraining:
    initial = load_policy(start / POLICY)[1] if start else None
    writer = TrajectoryWriter(folder / TRAINING, overwrite=True) if log_training else nullcontext()
    with writer as log:
        recorder = TrainingLog(log, cell) if log else None
        training = ManagerTraining(
            cell.scenario,
            cell.opponent,
            cell.game,
            cell.ppo,
            cell.seed,
            cell.seat,
            initial,
            on_finish=recorder.add if recorder else None,
        )
        for steps in training.run(cell.steps):
            progress(steps)
        if recorder:
            recorder.flush()
    return training


class TrainingLog:
    """Gathers the negotiations of training and writes them batch by batch."""

    def __init__(self, writer: TrajectoryWriter, cell: Cell) -> None:
        self.writer, self.cell = writer, cell
        self.waiting: list[tuple[Any, ...]] = []
        self.names: list[str] = []
        self.written = 0

    def add(self, env: NegotiationEnv) -> None:
        """Take over a negotiation that has just ended."""
        table = env.negotiations
        self.waiting.append((table.moves[0].copy(), int(table.step[0]), int(table.ending[0])))
        self.names.append(env.opponent_name)
        if len(self.waiting) >= _TRAINING_BATCH:
            self.flush()

    def flush(self) -> None:
        """Write what is waiting."""
        if not self.waiting:
            return
        moves, step, ending = zip(*self.waiting, strict=True)
        index = np.arange(self.written, self.written + len(moves), dtype=np.uint64)
        played = Played(
            np.stack(moves), np.array(step, np.int32), np.array(ending, np.int8), index, self.cell.game.clock
        )
        self.writer.write(self.cell.scenario, played, _labels(self.cell, self.names, self.cell.seed, "train"))
        self.written += len(moves)
        self.waiting, self.names = [], []


def _labels(cell: Cell, opponents: str | list[str], seed: int, stage: str) -> Labels:
    names: list[Any] = [opponents, opponents]
    names[cell.seat] = "learner"
    return Labels(
        players=(names[0], names[1]),
        seed=seed,
        learner=cell.seat,
        stage=stage,
        model=cell.id,
        swapped=cell.game.swap_profiles,
    )


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
            writer.write(cell.scenario, played, _labels(cell, opponent.name, seed, cell.stage))
            scores[opponent.name] = score(games, cell.seat)
    return scores


def meet(cell: Cell, learner: Opponent, opponent: Opponent, seed: int) -> Games:
    """Let anyone take the learner's place in a cell's evaluation against one opponent."""
    players = (learner, opponent) if cell.seat == 0 else (opponent, learner)
    return play(cell.scenario, *players, cell.games, seed, cell.game.rounds, cell.game.clock, cell.game.sides)


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
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise LeagueError(f"{path}: not a result ({error}); delete the folder {folder} to train it again") from None

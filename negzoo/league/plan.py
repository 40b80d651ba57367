"""What a league trains: one cell per model, identified by everything that makes it what it is.

A cell's id is a hash of its content: scenario, opponents, settings, steps, seed, and for a fine-tuned model the cells
that it was selected from. So the same cell has the same id in every league, and a changed one has another.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, Literal, get_args

from negzoo.envs import NegotiationSettings
from negzoo.league.spec import Baseline, Finetune, League, Pretrain
from negzoo.learn.settings import PPOSettings
from negzoo.opponents import Opponent, Pool
from negzoo.scenario import Scenario

Stage = Literal["baseline", "pretrain", "finetune"]
STAGES: tuple[Stage, ...] = get_args(Stage)
Trainer = Literal["population", "manager"]

CELL_VERSION = 2
"""Raised whenever the same description would train another model."""


@dataclass(frozen=True)
class Cell:
    """One model to train and score.

    Attributes:
        stage: how it comes to be.
        scenario: what it negotiates, holding profile `side` at player `seat`.
        opponent: whom it trains on, a pool when pre-training.
        scored_on: whom it is scored against.
        pool: the pool that it, or the model it starts from, was pre-trained on.
        model: its number among the models of its kind, from 0.
        steps: learner steps to train.
        candidates: ids of the pre-trained cells from which its start is selected.
        game, ppo, games: settings of the negotiation, of learning, and how many negotiations score it.
        trainer: `population`, many models at once, or `manager`, Tianshou's multi-agent manager.
        league_seed: the league's seed.
    """

    stage: Stage
    scenario: Scenario
    seat: int
    side: int
    opponent: Opponent
    scored_on: tuple[Opponent, ...]
    pool: str | None
    model: int
    steps: int
    candidates: tuple[str, ...]
    game: NegotiationSettings
    ppo: PPOSettings
    games: int
    trainer: Trainer
    league_seed: int

    @cached_property
    def seed(self) -> int:
        """What the cell's randomness derives from: the league's seed and what the cell is, not where it stands."""
        return int(_hash({"league_seed": self.league_seed, "model": self.model, **self._task}), 16)

    @cached_property
    def id(self) -> str:
        """16 hex digits that identify the cell."""
        return _hash({"version": CELL_VERSION, "seed": self.seed, **self._task, **self._how})

    @property
    def _task(self) -> dict[str, Any]:
        return {
            "stage": self.stage,
            "scenario": self.scenario.hash,
            "seat": self.seat,
            "opponent": self.opponent.identity,
            "pool": self.pool,
        }

    @property
    def _how(self) -> dict[str, Any]:
        ppo = {key: value for key, value in asdict(self.ppo).items() if key != "device"}
        return {
            "scored_on": [opponent.identity for opponent in self.scored_on],
            "steps": self.steps,
            "candidates": list(self.candidates),
            "game": {key: value for key, value in asdict(self.game).items() if key != "mask_in"},
            "ppo": ppo,
            "games": self.games,
            "trainer": self.trainer,
        }

    @property
    def label(self) -> str:
        """A line for progress and errors."""
        kind = {"baseline": "baseline", "pretrain": "pre-train", "finetune": f"fine-tune {self.pool}"}[self.stage]
        return f"{self.scenario.name} · {kind} · {self.opponent.name} · model {self.model + 1}"


def _hash(content: dict[str, Any]) -> str:
    return blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()


@dataclass(frozen=True)
class Plan:
    """All cells of a league, in an order in which candidates come before what starts from them."""

    league: League
    cells: tuple[Cell, ...]

    @property
    def steps(self) -> int:
        """Learner steps in all."""
        return sum(cell.steps for cell in self.cells)

    @property
    def id(self) -> str:
        """8 hex digits that identify the run: the same league, as overridden, has the same."""
        return _hash({"name": self.league.file.name, "cells": [cell.id for cell in self.cells]})[:8]

    @property
    def by_stage(self) -> dict[Stage, list[Cell]]:
        """The cells of each stage that has any, in the order of the stages."""
        stages = {stage: [cell for cell in self.cells if cell.stage == stage] for stage in STAGES}
        return {stage: cells for stage, cells in stages.items() if cells}

    @cached_property
    def by_id(self) -> dict[str, Cell]:
        """The cells by their ids."""
        return {cell.id: cell for cell in self.cells}


def make_plan(league: League) -> Plan:
    """The cells of a league."""
    cells: list[Cell] = []
    for scenario in league.scenarios:
        pretrained = {stage.pool: list(_pretrained(league, scenario, stage)) for stage in league.file.pretrain}
        cells += [cell for stage in league.file.baseline for cell in _baselines(league, scenario, stage)]
        cells += [cell for group in pretrained.values() for cell in group]
        for stage in league.file.finetune:
            candidates = tuple(cell.id for cell in pretrained[stage.pretrained_on])
            cells += _finetuned(league, scenario, stage, candidates)
    return Plan(league, tuple({cell.id: cell for cell in cells}.values()))


def _baselines(league: League, scenario: Scenario, stage: Baseline) -> Iterator[Cell]:
    for opponent in league.pools[stage.opponents].members:
        for model in range(league.models(stage)):
            yield _cell(league, "baseline", scenario, opponent, (opponent,), None, model, stage.steps, ())


def _pretrained(league: League, scenario: Scenario, stage: Pretrain) -> Iterator[Cell]:
    pool = league.pools[stage.pool]
    scored_on = _scored_on(league, pool)
    for model in range(league.models(stage)):
        steps = stage.steps_per_opponent * len(pool.members)
        yield _cell(league, "pretrain", scenario, pool, scored_on, stage.pool, model, steps, ())


def _scored_on(league: League, pool: Pool) -> tuple[Opponent, ...]:
    """A pre-trained model is scored on its pool, and zero-shot on whomever it will be fine-tuned on."""
    scored = {opponent.name: opponent for opponent in pool.members}
    for stage in league.file.finetune:
        if stage.pretrained_on == pool.name:
            scored |= {opponent.name: opponent for opponent in league.pools[stage.opponents].members}
    return tuple(scored.values())


def _finetuned(league: League, scenario: Scenario, stage: Finetune, candidates: tuple[str, ...]) -> Iterator[Cell]:
    for opponent in league.pools[stage.opponents].members:
        for model in range(league.models(stage)):
            pool = stage.pretrained_on
            yield _cell(league, "finetune", scenario, opponent, (opponent,), pool, model, stage.steps, candidates)


def _cell(
    league: League,
    stage: Stage,
    scenario: Scenario,
    opponent: Opponent,
    scored_on: tuple[Opponent, ...],
    pool: str | None,
    model: int,
    steps: int,
    candidates: tuple[str, ...],
) -> Cell:
    file = league.file
    return Cell(
        stage=stage,
        scenario=scenario,
        seat=file.learner_seat,
        side=league.learner_side,
        opponent=opponent,
        scored_on=scored_on,
        pool=pool,
        model=model,
        steps=steps,
        candidates=candidates,
        game=league.game,
        ppo=league.ppo,
        games=file.evaluation.games,
        trainer=file.trainer,
        league_seed=file.seed,
    )

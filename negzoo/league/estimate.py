"""How long a plan will take, from what training was measured to cost (see docs/training.md)."""

from negzoo.envs import Codec
from negzoo.league.plan import Cell, Plan

_STEP_SECONDS = 4e-6
"""Collecting one learner step in a population."""
_GRADIENT_STEP_SECONDS = 65e-6
"""What a gradient step costs besides its products."""
_FLOPS = 64e9
"""At how many FLOP/s the products run, on one thread."""
_MANAGER_STEP_SECONDS = 1 / 1200
"""One learner step of the multi-agent manager on Laptop, learning included; larger domains cost more."""


def estimated_seconds(plan: Plan) -> float:
    """The work of a plan in seconds of one worker."""
    alike = {(cell.scenario.hash, cell.trainer): cell for cell in plan.cells}
    seconds = {key: _seconds_per_step(cell) for key, cell in alike.items()}
    return sum(cell.steps * seconds[cell.scenario.hash, cell.trainer] for cell in plan.cells)


def _seconds_per_step(cell: Cell) -> float:
    if cell.trainer == "manager":
        return _MANAGER_STEP_SECONDS
    codec = Codec(cell.scenario, cell.game)
    logits = codec.actions if codec.by_outcome else sum(cell.scenario.shape) + codec.decisions
    flops = cell.ppo.gradient_step_flops(codec.length, logits)
    return _STEP_SECONDS + cell.ppo.epochs / cell.ppo.minibatch * (_GRADIENT_STEP_SECONDS + flops / _FLOPS)

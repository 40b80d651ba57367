"""Showing a negotiation: as text, move by move, or as a picture of the outcome space with both players' offers."""

from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from negzoo.engine import ACCEPT, Ending, Negotiations
from negzoo.scenario import Scenario

_ENDINGS = {
    Ending.WALKED: "no agreement: a player walked away",
    Ending.BREAKDOWN: "no agreement: the negotiation broke down",
    Ending.DEADLINE: "no agreement: the deadline has passed",
    Ending.ERROR: "no agreement: a strategy failed",
}


def render(mode: str | None, scenario: Scenario, sides: tuple[int, int], negotiations: Negotiations) -> Any:
    """Row 0 of `negotiations`: its text for `ansi`, printed for `human`, uint8 [H, W, 3] for `rgb_array`, else None."""
    if mode == "rgb_array":
        return picture(scenario, sides, negotiations)
    if mode == "ansi":
        return transcript(scenario, sides, negotiations)
    if mode == "human":
        print(latest(scenario, sides, negotiations))
    return None


def latest(scenario: Scenario, sides: tuple[int, int], negotiations: Negotiations, row: int = 0) -> str:
    """What the last move added to the transcript; before it, the heading."""
    moves = negotiations.history(row).tolist()
    if not moves:
        return _heading(scenario, negotiations)
    verdict = _verdict(scenario, sides, negotiations, row)
    return "\n".join([_line(scenario, sides, len(moves) - 1, moves[-1]), *verdict])


def transcript(scenario: Scenario, sides: tuple[int, int], negotiations: Negotiations, row: int = 0) -> str:
    """The moves so far, one a line, with both players' utilities, and how it ended."""
    moves = negotiations.history(row).tolist()
    lines = [_line(scenario, sides, step, move) for step, move in enumerate(moves)]
    return "\n".join([_heading(scenario, negotiations), *lines, *_verdict(scenario, sides, negotiations, row)])


def _heading(scenario: Scenario, negotiations: Negotiations) -> str:
    return f"{scenario.name}, {negotiations.rounds} rounds"


def _line(scenario: Scenario, sides: tuple[int, int], step: int, move: int) -> str:
    who = f"{step // 2 + 1:>3}  player_{step % 2}"
    if move >= 0:
        return f"{who}  offers {scenario.describe(move)}  {_worth(scenario, sides, move)}"
    return f"{who}  {'accepts' if move == ACCEPT else 'ends the negotiation'}"


def _worth(scenario: Scenario, sides: tuple[int, int], outcome: int) -> str:
    first, second = scenario.utilities[list(sides), outcome]
    return f"[{first:.3f} | {second:.3f}]"


def _verdict(scenario: Scenario, sides: tuple[int, int], negotiations: Negotiations, row: int) -> list[str]:
    ending = Ending(int(negotiations.ending[row]))
    if ending == Ending.RUNNING:
        return []
    if ending == Ending.AGREEMENT:
        outcome = int(negotiations.agreement[row])
        return [f"agreement on {scenario.describe(outcome)}  {_worth(scenario, sides, outcome)}"]
    return [_ENDINGS[ending]]


def picture(scenario: Scenario, sides: tuple[int, int], negotiations: Negotiations, row: int = 0) -> NDArray[np.uint8]:
    """The outcome space with both players' offers, uint8 [H, W, 3]."""
    from negzoo.scenario.drawing import outcome_space  # matplotlib is slow to import

    moves = negotiations.history(row)
    first, second = (_offers(moves[sides.index(profile) :: 2]) for profile in (0, 1))
    agreement = int(negotiations.agreement[row])
    figure = outcome_space(scenario, (first, second), agreement if agreement >= 0 else None)
    raw = BytesIO()
    figure.savefig(raw, format="rgba", dpi=figure.dpi)
    width, height = figure.canvas.get_width_height()
    return np.frombuffer(raw.getvalue(), np.uint8).reshape(height, width, 4)[..., :3].copy()


def _offers(moves: NDArray[np.int32]) -> list[int]:
    return [move for move in moves.tolist() if move >= 0]

"""Negotiations to log, random or of a fixed endless series, and the rows that they should become."""

from collections.abc import Iterator, Sequence

import numpy as np
from hypothesis import strategies as st

from negzoo.engine import ACCEPT, FAULT, Ending, Negotiations
from negzoo.scenario import Issue, Profile, Scenario
from negzoo.trajectories import Labels, Played

OUTCOMES = 6
SCENARIO = Scenario(
    "toy",
    (Issue("price", ("low", "high")), Issue("colour", ("red", "green", "blue"))),
    (
        Profile("buyer", (0.7, 0.3), ((1, 0), (0, 0.5, 1))),
        Profile("seller", (0.6, 0.4), ((0, 1), (1, 0.25, 0))),
    ),
)
LABELS = Labels(players=("learner", "Linear"), seed=3, learner=0, stage="train", model="ppo-1")


def play(scripts: Sequence[Sequence[int]], rounds: int, first_index: int = 0) -> Played:
    """Each negotiation makes the moves of its script and then offers outcome 0 until it ends."""
    negotiations = Negotiations(len(scripts), rounds)
    for step in range(2 * rounds):
        moves = [script[step] if step < len(script) else 0 for script in scripts]
        negotiations.apply(np.arange(len(scripts)), np.array(moves, np.int32))
    return Played.finished(negotiations, np.arange(first_index, first_index + len(scripts)))


@st.composite
def played(draw: st.DrawFn) -> Played:
    rounds = draw(st.integers(1, 5))
    moves = st.lists(st.integers(FAULT, OUTCOMES - 1), max_size=2 * rounds)
    return play(draw(st.lists(moves, min_size=1, max_size=12)), rounds, draw(st.integers(0, 2**62)))


def script(index: int) -> list[int]:
    """The moves of negotiation `index` of the endless series: 3 to 9 offers and, mostly, an acceptance."""
    return [(index + 5 * step) % OUTCOMES for step in range(3 + index % 7)] + [ACCEPT]


def series(first: int, size: int) -> Played:
    return play([script(index) for index in range(first, first + size)], 5, first)


def expected_steps(moves: Sequence[int], utilities: np.ndarray) -> Iterator[tuple[float, ...]]:
    """(round, actor, kind, outcome, utility_0, utility_1) of each move, as the schema defines them."""
    standing = -1
    for position, move in enumerate(moves):
        outcome = move if move >= 0 else standing if move == ACCEPT else -1
        worth = utilities[:, outcome] if outcome >= 0 else (np.nan, np.nan)
        yield position // 2 + 1, position % 2, max(0, -move), outcome, *worth
        standing = move


def expected_result(moves: Sequence[int], ending: int, utilities: np.ndarray) -> tuple[int, Sequence[float]]:
    """The agreement, and what both players get."""
    if ending == Ending.AGREEMENT:
        return moves[-2], tuple(utilities[:, moves[-2]])
    return -1, (np.nan, np.nan) if ending == Ending.ERROR else (0.0, 0.0)

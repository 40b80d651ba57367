"""How fast the environments are, without learning: a learner that makes random offers."""

import time
from collections.abc import Callable

import numpy as np

from negzoo.bench.measure import Speed
from negzoo.engine.rng import player_key
from negzoo.envs import NegotiationEnv, NegotiationSettings
from negzoo.envs.batch import NegotiationBatch, Streams
from negzoo.opponents import Opponent
from negzoo.scenario import Scenario

STEPS = 160
"""Learner steps per table in one repeat: four negotiations, if they last to the deadline."""


def aec_speed(scenario: Scenario, opponent: Opponent, settings: NegotiationSettings, repeats: int) -> Speed:
    """The AEC environment, one negotiation after another, the opponent seated in it."""
    env = NegotiationEnv(scenario, opponents={"player_1": opponent}, settings=settings)
    env.reset(seed=0)
    actions = [env.codec.to_action(move) for move in _offers(scenario, 1)[:, 0].tolist()]

    def play() -> None:
        for action in actions:
            env.step(action)
            if not env.terminations["player_0"]:
                env.step(env.infos["player_1"]["reply"])
            if env.terminations["player_0"]:
                env.reset()
            env.last()

    return Speed(scenario.name, "AEC", _rates(play, len(actions), repeats))


def batch_speed(
    scenario: Scenario, opponent: Opponent, settings: NegotiationSettings, size: int, repeats: int
) -> Speed:
    """The batch under the vector environments, with its observations and rewards."""
    streams = Streams.of(player_key(0, 1), size)
    batch = NegotiationBatch(scenario, [opponent], np.zeros(size, np.int64), settings, streams)
    batch.reset()
    offers = _offers(scenario, size)

    def play() -> None:
        for offered in offers:
            ended = np.flatnonzero(batch.step(offered))
            batch.rewards(ended)
            batch.restart(ended)
            batch.observe()

    return Speed(scenario.name, f"batch of {size:,}", _rates(play, offers.size, repeats))


def _offers(scenario: Scenario, size: int) -> "np.ndarray[tuple[int, int], np.dtype[np.int32]]":
    return np.random.default_rng(0).integers(0, scenario.size, (STEPS, size), dtype=np.int32)


def _rates(play: Callable[[], None], steps: int, repeats: int) -> tuple[float, ...]:
    """Learner steps per second, after one repeat that is not counted."""
    seconds = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        play()
        seconds.append(time.perf_counter() - began)
    return tuple(steps / lap for lap in seconds[1:])

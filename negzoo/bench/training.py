"""How fast learning is: three ways to train the same models, in one run.

(a) `manager`: one model, AEC environments, Tianshou's multi-agent manager;
(b) `stock`: one model, Tianshou's collector and PPO on the vector environment;
(c) `population`: many models at once.

Each is measured over whole updates after one that is not counted. A minibatch is one gradient step of one model. FLOPs
count the multiplications and additions of the layers, unpadded: forward, weight gradients, input gradients.
"""

import multiprocessing
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import torch
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.trainer import OnPolicyTrainerParams

from negzoo.engine.rng import player_key
from negzoo.envs import Codec, NegotiationSettings
from negzoo.envs.batch import NegotiationBatch, Streams
from negzoo.learn.generators import one_thread, seeded
from negzoo.learn.manager import ManagerTraining
from negzoo.learn.network import Interface
from negzoo.learn.policy import Learner
from negzoo.learn.population import PopulationTraining
from negzoo.learn.ppo import build_ppo
from negzoo.learn.settings import PPOSettings
from negzoo.learn.single import TianshouVectorEnv
from negzoo.opponents import Opponent
from negzoo.scenario import Scenario

STOCK_ENVS = 64
"""Negotiations side by side on path (b)."""


@dataclass(frozen=True)
class Case:
    """What is trained.

    Attributes:
        scenario, opponent, game, ppo: as everywhere.
        models: how many, on path (c).
        repeats: updates that are measured.
    """

    scenario: Scenario
    opponent: Opponent
    game: NegotiationSettings
    ppo: PPOSettings
    models: int
    repeats: int


@dataclass(frozen=True)
class Timing:
    """How fast a path was.

    Attributes:
        path: `manager`, `stock` or `population`.
        workers: processes.
        rates: learner steps per second, all models and workers together, one figure per repeat.
        shares: of the time, `environment`, `collect` (without the environment) and `update`; they sum to 1.
        minibatch: microseconds per minibatch.
        gflops: GFLOP/s within updates, per worker.
        memory: MiB, the most that a process had held by then.
    """

    path: str
    workers: int
    rates: tuple[float, ...]
    shares: dict[str, float]
    minibatch: float
    gflops: float
    memory: float

    @property
    def median(self) -> float:
        """The median rate."""
        return float(np.median(self.rates))


class Stopwatch:
    """Sums up the time within some calls."""

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Counts while the block runs."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - began

    def watch(self, owner: Any, *names: str) -> None:
        """Count the time within the owner's methods of these names from now on."""
        for name in names:
            setattr(owner, name, self._timed(getattr(owner, name)))

    def _timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            with self.running():
                return call(*args, **kwargs)

        return timed


def measure(case: Case, path: str) -> Timing:
    """Measure one path in this process, on one thread."""
    with one_thread():
        return _PATHS[path](case)


def _manager(case: Case) -> Timing:
    training = ManagerTraining(case.scenario, case.opponent, case.game, case.ppo, seed=0)
    update, environment = Stopwatch(), Stopwatch()
    update.watch(training.algorithm, "update")
    for env in training.envs:
        environment.watch(env, "step", "reset")
    return _timing("manager", case, 1, training.run(case.ppo.horizon * (case.repeats + 1)), update, environment)


def _population(case: Case) -> Timing:
    learners = [Learner(case.opponent, seed) for seed in range(case.models)]
    training = PopulationTraining(case.scenario, learners, case.game, case.ppo)
    update, environment = Stopwatch(), Stopwatch()
    update.watch(training.algorithm, "update")
    environment.watch(training.envs.batch, "step", "restart", "observe")
    steps = training.run(case.ppo.horizon * (case.repeats + 1))
    return _timing("population", case, case.models, steps, update, environment)


def _stock(case: Case) -> Timing:
    which = np.zeros(STOCK_ENVS, np.int64)
    streams = Streams.of(player_key(0, 1), STOCK_ENVS)
    batch = NegotiationBatch(case.scenario, [case.opponent], which, case.game, streams)
    update, environment = Stopwatch(), Stopwatch()
    environment.watch(batch, "step", "restart", "observe")
    with seeded(0):
        algorithm = build_ppo(batch.codec, case.ppo)
        update.watch(algorithm, "update")
        steps = ceil(case.ppo.horizon / STOCK_ENVS) * STOCK_ENVS
        buffer = VectorReplayBuffer(2 * steps, STOCK_ENVS)
        collector: Collector[Any] = Collector(algorithm, TianshouVectorEnv(batch), buffer)  # type: ignore[arg-type]
        params = OnPolicyTrainerParams(
            training_collector=collector,
            max_epochs=case.repeats + 2,
            epoch_num_steps=steps,
            collection_step_num_env_steps=steps,
            update_step_num_repetitions=case.ppo.epochs,
            batch_size=case.ppo.minibatch,
            verbose=False,
            show_progress=False,
        )
        trainer = algorithm.create_trainer(params)
        trainer.reset()
        return _timing("stock", case, 1, _epochs(trainer, collector, case.repeats + 1), update, environment)


def _epochs(trainer: Any, collector: Any, count: int) -> Iterator[int]:
    for _ in range(count):
        trainer.execute_epoch()
        yield collector.collect_step


_PATHS: dict[str, Callable[[Case], Timing]] = {"manager": _manager, "stock": _stock, "population": _population}
PATHS = tuple(_PATHS)


def _timing(
    path: str, case: Case, models: int, progress: Iterator[int], update: Stopwatch, environment: Stopwatch
) -> Timing:
    """Time a training, given as an iterator over the learner steps per model after each update."""
    before = next(progress)
    update.seconds = environment.seconds = 0.0
    laps, learned, began = [], 0, time.perf_counter()
    for steps in progress:
        now = time.perf_counter()
        laps.append(models * (steps - before) / (now - began))
        learned, before, began = learned + models * (steps - before), steps, now
    total = sum(models_steps / rate for models_steps, rate in zip([learned / len(laps)] * len(laps), laps, strict=True))
    minibatch = update.seconds / (learned * case.ppo.epochs / case.ppo.minibatch)
    shares = {"environment": environment.seconds / total, "update": update.seconds / total}
    shares["collect"] = 1 - sum(shares.values())
    codec = Codec(case.scenario, case.game)
    flops = case.ppo.gradient_step_flops(codec.length, Interface.of(codec).logits)
    return Timing(path, 1, tuple(laps), shares, minibatch * 1e6, flops / minibatch / 1e9, _memory())


def _memory() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 if sys.platform != "darwin" else 1024**2)


def measure_together(case: Case, workers: int) -> Timing:
    """The population's models shared out among worker processes that run at the same time."""
    context = multiprocessing.get_context("spawn")
    barrier, answers = context.Barrier(workers), context.SimpleQueue()
    share = Case(case.scenario, case.opponent, case.game, case.ppo, ceil(case.models / workers), case.repeats)
    processes = [context.Process(target=_worker, args=(share, barrier, answers)) for _ in range(workers)]
    for process in processes:
        process.start()
    timings: list[Timing] = [answers.get() for _ in processes]
    for process in processes:
        process.join()
    rates = tuple(float(sum(lap)) for lap in zip(*(timing.rates for timing in timings), strict=True))
    minibatch, gflops, memory = (
        float(np.mean([getattr(timing, name) for timing in timings])) for name in ("minibatch", "gflops", "memory")
    )
    shares = {name: float(np.mean([timing.shares[name] for timing in timings])) for name in timings[0].shares}
    return Timing("population", workers, rates, shares, minibatch, gflops, memory)


def _worker(case: Case, barrier: Any, answers: Any) -> None:
    from negzoo.engine.compiling import be_quiet

    be_quiet()
    warm = Case(case.scenario, case.opponent, case.game, case.ppo, case.models, 1)
    measure(warm, "population")
    barrier.wait()
    answers.put(measure(case, "population"))


def peak_gflops(repeats: int = 9, size: int = 1024) -> float:
    """What torch.mm of two float32 matrices reaches on one thread, the median of some repeats."""
    left, right = torch.ones(size, size), torch.ones(size, size)
    seconds = []
    with one_thread():
        for _ in range(repeats + 1):
            began = time.perf_counter()
            torch.mm(left, right)
            seconds.append(time.perf_counter() - began)
    return 2 * size**3 / float(np.median(seconds[1:])) / 1e9

"""Tianshou and torch draw from global generators and use as many threads as there are; here that is contained."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from tianshou.algorithm import algorithm_base
from tianshou.data.buffer import manager as buffer_manager

for _compiled in (
    algorithm_base._gae,
    algorithm_base._nstep_return,
    buffer_manager._prev_index,
    buffer_manager._next_index,
):
    _compiled.enable_caching()


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread while the block runs: with another number, the last bits are others."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class Generators:
    """NumPy's and torch's global generators in a state of one's own, whenever `running`."""

    def __init__(self, seed: int) -> None:
        self._numpy: Any = np.random.RandomState(seed % 2**32).get_state()
        self._torch = torch.Generator().manual_seed(seed).get_state()

    @contextmanager
    def running(self) -> Iterator[None]:
        """On one thread, go on in the own state while the block runs; then everything is as it was before."""
        numpy, others = np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
        np.random.set_state(self._numpy)  # noqa: NPY002
        torch.set_rng_state(self._torch)
        try:
            with one_thread():
                yield
        finally:
            self._numpy, self._torch = np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
            np.random.set_state(numpy)  # noqa: NPY002
            torch.set_rng_state(others)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """The global generators freshly seeded while the block runs."""
    with Generators(seed).running():
        yield

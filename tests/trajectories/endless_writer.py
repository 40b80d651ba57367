"""Writes the endless series of `logged_games` to a file: a batch for each line of input.

Usage: endless_writer.py PATH [LARGEST_FILE_IN_BYTES]. After each batch it prints how many are durable.
"""

import resource
import sys

from negzoo.errors import TrajectoryError
from negzoo.trajectories import TrajectoryWriter
from tests.trajectories.logged_games import LABELS, SCENARIO, series

BATCH = 840
"""A multiple of all periods in the series, so that one batch is the next but for its indices."""


def main(path: str, limit: int = resource.RLIM_INFINITY) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    batch = series(0, BATCH)
    writer = TrajectoryWriter(path, overwrite=True)
    try:
        with writer:
            for _ in sys.stdin:
                writer.write(SCENARIO, batch, LABELS)
                print(writer.durable, flush=True)
                batch.index[:] += BATCH
    except TrajectoryError as error:
        print(f"{writer.durable} {error}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))

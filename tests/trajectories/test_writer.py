"""Where a file may be written, when it is whole, and that no kill and no full disk takes what is durable."""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from negzoo.errors import TrajectoryError
from negzoo.trajectories import TrajectoryWriter, open_trajectories
from tests.trajectories import endless_writer
from tests.trajectories.logged_games import LABELS, SCENARIO, script, series


def start(path: Path, *limit: int) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-m", endless_writer.__name__, str(path), *map(str, limit)]
    root = Path(__file__).parents[2]
    pipe = subprocess.PIPE
    return subprocess.Popen(arguments, stdin=pipe, stdout=pipe, text=True, cwd=root)


def ask_for(batches: int, process: subprocess.Popen[str]) -> None:
    process.stdin.write("\n" * batches)
    process.stdin.flush()


def assert_refused(path: Path, message: str, overwrite: bool = False) -> None:
    with pytest.raises(TrajectoryError, match=message):
        TrajectoryWriter(path, overwrite=overwrite).__enter__()


def assert_is_the_series(path: Path, at_least: int) -> None:
    with open_trajectories(path) as log:
        assert len(log) >= at_least
        np.testing.assert_array_equal(log.episodes["index"], np.arange(len(log)))
        for number in [*range(0, len(log), 499), len(log) - 1]:
            moves = log.episode(number).moves
            assert list(moves) == script(number % endless_writer.BATCH)[: len(moves)]


@pytest.mark.parametrize("batches", [3, 4, 5, 8, 13, 21, 34, 55])
def test_after_kill_9_everything_durable_is_there(tmp_path, batches):
    process = start(tmp_path / "log.h5")
    ask_for(10_000, process)
    durable = [int(process.stdout.readline()) for _ in range(batches)]
    process.kill()
    durable += map(int, process.stdout.read().split("\n")[:-1])
    process.wait()
    assert durable[-1] > 0
    assert_is_the_series(tmp_path / "log.h5.tmp", durable[-1])


def test_a_file_can_be_read_while_it_is_written(tmp_path):
    process = start(tmp_path / "log.h5")
    try:
        for _ in range(10):
            ask_for(6, process)
            for _ in range(6):
                durable = int(process.stdout.readline())
                if durable:
                    assert_is_the_series(tmp_path / "log.h5.tmp", durable)
        assert_refused(tmp_path / "log.h5", "is being written", overwrite=True)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("limit", [1_500_000, 1_700_000, 2_000_000, 2_345_678])
def test_a_full_disk_is_one_sentence_and_takes_nothing_that_was_durable(tmp_path, limit):
    process = start(tmp_path / "log.h5", limit)
    output, _ = process.communicate("\n" * 10_000)
    durable, _, message = output.splitlines()[-1].partition(" ")
    assert process.returncode == 0
    assert message.startswith(f"{tmp_path / 'log.h5.tmp'}: cannot be written (file too large)")
    assert int(durable) > 0
    assert_is_the_series(tmp_path / "log.h5.tmp", int(durable))


def test_no_room_for_even_the_beginning(tmp_path):
    process = start(tmp_path / "log.h5", 10_000)
    assert "choose another place" in process.communicate()[0]
    assert process.returncode == 0


def test_the_name_is_the_final_one_when_the_file_is_whole(tmp_path):
    writer = TrajectoryWriter(tmp_path / "new" / "log.h5")
    with writer:
        writer.write(SCENARIO, series(0, 20), LABELS)
        assert [path.name for path in (tmp_path / "new").iterdir()] == ["log.h5.tmp"]
        assert writer.durable == 0
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["log.h5"]
    assert writer.durable == 20


def test_an_exception_keeps_everything_under_the_unfinished_name(tmp_path):
    with suppress(KeyboardInterrupt), TrajectoryWriter(tmp_path / "log.h5") as writer:
        writer.write(SCENARIO, series(0, 20), LABELS)
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir()] == ["log.h5.tmp"]
    assert len(open_trajectories(tmp_path)) == 20


@pytest.mark.parametrize("name", ["log.h5", "log.h5.tmp"])
def test_an_existing_file_is_replaced_only_on_request(tmp_path, log, name):
    existing = log.rename(tmp_path / name)
    before = existing.read_bytes()
    assert_refused(log, "exists")
    assert existing.read_bytes() == before
    with TrajectoryWriter(log, overwrite=True) as writer:
        writer.write(SCENARIO, series(0, 5), LABELS)
    assert [path.name for path in tmp_path.iterdir()] == ["log.h5"]
    assert len(open_trajectories(log)) == 5


def test_the_old_file_stays_until_the_new_one_is_whole(log):
    with TrajectoryWriter(log, overwrite=True) as writer:
        writer.write(SCENARIO, series(0, 5), LABELS)
        assert len(open_trajectories(log.parent)) == 20


@pytest.mark.parametrize("overwrite", [False, True])
def test_two_writers_of_one_file_in_one_process(tmp_path, overwrite):
    with TrajectoryWriter(tmp_path / "log.h5") as writer:
        assert_refused(tmp_path / "log.h5", "is being written", overwrite)
        writer.write(SCENARIO, series(0, 5), LABELS)
    assert len(open_trajectories(tmp_path / "log.h5")) == 5


def test_a_damaged_leftover_can_be_replaced(tmp_path):
    (tmp_path / "log.h5.tmp").write_bytes(b"\x89HDF\r\n\x1a\n and no more")
    with TrajectoryWriter(tmp_path / "log.h5", overwrite=True) as writer:
        writer.write(SCENARIO, series(0, 5), LABELS)
    assert len(open_trajectories(tmp_path)) == 5


def test_places_where_nothing_can_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "log.h5", Path("/proc/log.h5")):
        assert_refused(path, r"cannot be written \(.*\); choose another place")
    assert_refused(tmp_path / "log.hdf", r"ends in \.h5")


def test_nothing_is_written_outside_the_block(tmp_path):
    writer = TrajectoryWriter(tmp_path / "log.h5")
    with pytest.raises(TrajectoryError, match="not open"):
        writer.write(SCENARIO, series(0, 5), LABELS)
    assert not list(tmp_path.iterdir())

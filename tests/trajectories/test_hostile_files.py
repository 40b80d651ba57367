"""Files that are not what they say: an error that names the file, never a crash, a hang or a guess."""

import os
import random
import shutil
from contextlib import suppress

import h5py
import numpy as np
import pytest

from negzoo.errors import TrajectoryError
from negzoo.trajectories import TrajectoryWriter, open_trajectories
from negzoo.trajectories.schema import EPISODES, GROUPS, STEPS
from tests.trajectories.logged_games import LABELS, SCENARIO, series

COLUMNS = [f"{group.path}/{column.name}" for group in GROUPS for column in group.columns]


def read_all(path):
    with open_trajectories(path) as log:
        log.summary()
        return list(log)


def assert_refused(path, message=None):
    with pytest.raises(TrajectoryError, match=message) as caught:
        read_all(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def replace(file, name, data, **how):
    del file[name]
    file.create_dataset(name, data=data, **({"chunks": True, "maxshape": (None,)} | how))


def rename(file):
    file.move("steps/actor", "steps/player")


def lengthen(file):
    replace(file, "steps/round", np.ones(9999, np.int32))


def other_type(file):
    replace(file, "episodes/seed", file["episodes/seed"][:].astype(np.float64))


def two_dimensions(file):
    replace(file, "steps/kind", np.zeros((100, 2), np.int8), maxshape=(None, None))


def contiguous(file):
    replace(file, "steps/kind", file["steps/kind"][:], chunks=None, maxshape=None)


def group_for_column(file):
    del file["steps/kind"]
    file.create_group("steps/kind")


def column_for_group(file):
    del file["tables"]
    file["tables"] = np.zeros(3)


def endless(file):
    for column in STEPS.columns:
        del file[f"steps/{column.name}"]
        file.create_dataset(f"steps/{column.name}", (10**15,), column.dtype, maxshape=(None,), chunks=(1024,))


def hollow(file):
    for column in STEPS.columns:
        file[f"steps/{column.name}"].resize((50_000,))


def giant_chunks(file):
    replace(file, "steps/kind", file["steps/kind"][:], chunks=(1 << 21,))


def link_elsewhere(file):
    del file["steps/kind"]
    file["steps/kind"] = h5py.ExternalLink("elsewhere.h5", "steps/kind")


def soft_link(file):
    del file["steps/kind"]
    file["steps/kind"] = h5py.SoftLink("/steps/actor")


def in_a_circle(file):
    del file["steps/kind"]
    file["steps/kind"] = h5py.SoftLink("/steps/kind")


def overlapping(file):
    file["episodes/first_step"][5] = 0


def backwards(file):
    file["episodes/steps"][5] = -3


def overflowing(file):
    file["episodes/first_step"][-1] = np.iinfo(np.int64).max


def no_steps(file):
    for column in STEPS.columns:
        file[f"steps/{column.name}"].resize((10,))


def unknown_player(file):
    file["episodes/player_1"][3] = 77


def unknown_ending(file):
    file["episodes/ending"][3] = 0


def too_much_utility(file):
    file["episodes/utility_0"][3] = np.inf


def unknown_kind(file):
    file["steps/kind"][3] = 5


def steps_of_others(file):
    file["steps/episode"][:] = 0


def no_text(file):
    file["tables/players/name"][0] = b"\xff\xfe"


def no_version(file):
    del file.attrs["schema_version"]


def future_version(file):
    file.attrs["schema_version"] = 2


def version_of_words(file):
    file.attrs["schema_version"] = "one"


def version_of_many(file):
    file.attrs["schema_version"] = [1, 1]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (rename, "has no column steps/actor"),
        (lengthen, "the columns of steps differ in length"),
        (other_type, "episodes/seed is no column of type <u8"),
        (two_dimensions, "steps/kind is no column"),
        (contiguous, "steps/kind is not stored in chunks"),
        (group_for_column, "steps/kind is no column"),
        (column_for_group, "has no column tables/domains/name"),
        (endless, "declares 1000000000000000 rows, more than it can hold"),
        (hollow, "declares 50000 rows and has fewer"),
        (giant_chunks, "chunks of at most"),
        (link_elsewhere, "has no column steps/kind"),
        (soft_link, "has no column steps/kind"),
        (in_a_circle, "has no column steps/kind"),
        (overlapping, "do not follow each other"),
        (backwards, "episodes/steps holds a value that cannot be"),
        (overflowing, "more steps than there are"),
        (no_steps, "more steps than there are"),
        (unknown_player, "episodes/player_1 holds a value that cannot be"),
        (unknown_ending, "episodes/ending holds a value that cannot be"),
        (too_much_utility, "episodes/utility_0 holds a value that cannot be"),
        (unknown_kind, "steps/kind holds a value that cannot be"),
        (steps_of_others, "steps and episodes do not fit"),
        (no_text, "names that are no UTF-8"),
        (no_version, "has no schema_version"),
        (future_version, "schema version 2, this negzoo reads 1"),
        (version_of_words, "has no schema_version"),
        (version_of_many, "has no schema_version"),
    ],
)
def test_a_spoiled_file(log, spoil, message):
    with h5py.File(log, "r+") as file:
        spoil(file)
    assert_refused(log, message)


@pytest.mark.parametrize("column", COLUMNS)
def test_every_column_is_needed(log, column):
    with h5py.File(log, "r+") as file:
        del file[column]
    assert_refused(log, f"has no column {column}")


def test_columns_and_groups_of_others_do_no_harm(log):
    with h5py.File(log, "r+") as file:
        file["steps/logits"] = np.zeros(3)
        file["notes/mine"] = "hello"
    assert len(read_all(log)) == 20


@pytest.mark.parametrize("content", [b"", b"hello", b"\x89HDF\r\n\x1a\n", b"\x89HDF\r\n\x1a\n" + bytes(4096)])
@pytest.mark.parametrize("name", ["log.h5", "log.h5.tmp", "log.txt"])
def test_no_hdf5(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert_refused(tmp_path / name)


def test_hdf5_of_somebody_else(tmp_path):
    with h5py.File(tmp_path / "log.h5", "w") as file:
        file["data"] = np.arange(3)
    assert_refused(tmp_path / "log.h5", "no trajectory file")


def test_paths_that_are_no_log(tmp_path):
    assert_refused(tmp_path / "missing.h5", "no such file")
    assert_refused(tmp_path, "no .h5 or .h5.tmp file in this folder")
    os.mkfifo(tmp_path / "pipe.h5")
    assert_refused(tmp_path / "pipe.h5", "is no regular file")


def test_a_folder_names_the_part_that_is_damaged(log):
    shutil.copy(log, log.with_name("other.h5"))
    log.write_bytes(log.read_bytes()[:5000])
    with pytest.raises(TrajectoryError, match=str(log)):
        read_all(log.parent)


@pytest.mark.parametrize("name", ["log.h5", "log.h5.tmp"])
def test_no_episodes(tmp_path, name):
    with TrajectoryWriter(tmp_path / "log.h5"):
        pass
    (tmp_path / "log.h5").rename(tmp_path / name)
    assert_refused(tmp_path / name, "no complete negotiation")


def test_of_an_unfinished_file_what_all_columns_hold_counts(log):
    with h5py.File(log, "r+") as file:
        for column in STEPS.columns:
            file[f"steps/{column.name}"].resize((60,))
        for column in EPISODES.columns[::2]:
            file[f"episodes/{column.name}"].resize((15,))
    assert_refused(log, "differ in length")
    episodes = read_all(log.rename(log.with_name("log.h5.tmp")))
    assert 0 < len(episodes) < 15
    assert sum(len(episode.steps) for episode in episodes) <= 60


@pytest.mark.parametrize("part", np.linspace(0, 0.999, 12))
def test_a_file_that_is_cut_off(log, part):
    content = log.read_bytes()
    log.write_bytes(content[: int(part * len(content))])
    assert_refused(log)


@pytest.mark.parametrize("seed", range(8))
def test_flipped_bytes_are_harmless_or_refused(tmp_path, seed):
    path, rng = tmp_path / "log.h5", random.Random(seed)
    with TrajectoryWriter(path) as writer:
        writer.write(SCENARIO, series(0, 20), LABELS)
    content = path.read_bytes()
    for _ in range(40):
        spoiled = bytearray(content)
        for _ in range(rng.choice([1, 3, 10])):
            spoiled[rng.randrange(len(spoiled))] = rng.randrange(256)
        path.write_bytes(spoiled)
        with suppress(TrajectoryError):
            read_all(path)

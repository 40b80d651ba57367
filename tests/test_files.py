"""Small files that appear whole or not at all."""

import json
import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from negzoo.errors import NegzooError
from negzoo.files import read_json, replacing, write_json, write_text

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
json_data = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10)


def test_text_is_written_in_utf_8_whatever_was_there_before(tmp_path):
    path = tmp_path / "note.txt"
    path.write_text("a much longer text than the next one")
    write_text(path, "Ω × 2\n")
    assert path.read_bytes() == "Ω × 2\n".encode()
    assert list(tmp_path.iterdir()) == [path]


def test_folders_are_made_as_needed(tmp_path):
    write_text(tmp_path / "runs" / "first" / "note.txt", "")
    assert (tmp_path / "runs" / "first" / "note.txt").read_text() == ""


@pytest.fixture(params=["fsync", "replace"])
def interrupted(request, tmp_path, monkeypatch):
    """The path of a file whose replacement failed for want of space."""

    def full(*_):
        raise OSError(28, "No space left on device")

    path = tmp_path / "note.txt"
    write_text(path, "old")
    monkeypatch.setattr(os, request.param, full)
    with pytest.raises(NegzooError, match=r"note\.txt: cannot be written \(No space left on device\)"):
        write_text(path, "new")
    return path


def test_a_write_that_fails_leaves_the_old_file_whole(interrupted):
    assert interrupted.read_text() == "old"


def test_a_write_that_fails_leaves_nothing_else_behind(interrupted):
    assert list(interrupted.parent.iterdir()) == [interrupted]


def test_a_place_that_cannot_be_written_to_is_named_in_one_line(tmp_path):
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "note.txt"
    with pytest.raises(NegzooError) as caught:
        write_text(path, "text")
    message = str(caught.value)
    assert message.startswith(f"{path}: cannot be written (")
    assert message.endswith("; choose another place")
    assert "\n" not in message


def test_a_folder_is_not_overwritten(tmp_path):
    (tmp_path / "note.txt").mkdir()
    with pytest.raises(NegzooError, match=r"note\.txt: cannot be written \(Is a directory\)"):
        write_text(tmp_path / "note.txt", "text")


@given(json_data)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_data_comes_back_as_it_was_written(tmp_path, data):
    write_json(tmp_path / "data.json", data)
    assert read_json(tmp_path / "data.json") == data


def test_json_is_for_people_too(tmp_path):
    path = tmp_path / "data.json"
    write_json(path, {"b": "Ω", "a": [1]})
    assert path.read_text(encoding="utf-8") == '{\n  "a": [\n    1\n  ],\n  "b": "Ω"\n}\n'


def test_data_that_json_cannot_hold_leaves_the_old_file(tmp_path):
    path = tmp_path / "data.json"
    write_json(path, [1])
    with pytest.raises(TypeError):
        write_json(path, {1, 2})
    assert json.loads(path.read_text()) == [1]


@pytest.fixture
def pipe(tmp_path):
    """A named pipe, and what a reader at its other end has got."""
    path, got = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: got.append(path.read_text("utf-8")), daemon=True)
    reader.start()
    return path, reader, got


def test_a_pipe_is_written_into_and_not_replaced(pipe):
    path, reader, got = pipe
    write_text(path, "Ω\n")
    reader.join(10)
    assert got == ["Ω\n"]
    assert path.is_fifo()
    assert list(path.parent.iterdir()) == [path]


def test_so_is_what_a_link_to_a_pipe_stands_for(pipe, tmp_path):
    path, reader, got = pipe
    (tmp_path / "link").symlink_to(path)
    write_text(tmp_path / "link", "text")
    reader.join(10)
    assert got == ["text"]
    assert (tmp_path / "link").is_symlink()


def test_a_link_stays_a_link_to_the_new_file(tmp_path):
    (tmp_path / "old.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("old.txt")
    write_text(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").readlink() == Path("old.txt")
    assert (tmp_path / "old.txt").read_text() == "new"


def test_a_folder_is_not_replaced(tmp_path):
    (tmp_path / "note").mkdir()
    with pytest.raises(NegzooError, match="note: cannot be written"):
        write_text(tmp_path / "note", "text")
    assert (tmp_path / "note").is_dir()


def test_whatever_is_raised_while_writing_the_old_file_stays(tmp_path):
    path = tmp_path / "note.txt"
    write_text(path, "old")
    with suppress(ZeroDivisionError), replacing(path) as place:
        place.write_text("half of")
        raise ZeroDivisionError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]

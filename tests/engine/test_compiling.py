"""Compiled code is kept exactly as long as the sources stay as they are."""

import os
import subprocess
import sys

import pytest

from negzoo.engine.compiling import discard_stale, sources_digest


@pytest.fixture
def package(tmp_path):
    (tmp_path / "inner" / "__pycache__").mkdir(parents=True)
    (tmp_path / "inner" / "one.py").write_text("1")
    (tmp_path / "two.py").write_text("2")
    compiled = tmp_path / "inner" / "__pycache__" / "one.nbi"
    compiled.write_text("compiled")
    stamp = tmp_path / "stamp"
    stamp.write_text(sources_digest([tmp_path]))
    return tmp_path, compiled, stamp


def test_compiled_code_of_the_same_sources_stays(package):
    folder, compiled, stamp = package
    discard_stale([folder], stamp)
    assert compiled.exists()


def test_a_change_anywhere_discards_it_once(package):
    folder, compiled, stamp = package
    os.utime(folder / "two.py", (1, 1))
    discard_stale([folder], stamp)
    assert not compiled.exists()
    compiled.write_text("made anew")
    discard_stale([folder], stamp)
    assert compiled.exists()


def test_compiled_code_of_unknown_origin_is_discarded(package):
    folder, compiled, stamp = package
    stamp.unlink()
    discard_stale([folder], stamp)
    assert not compiled.exists()


def test_a_second_process_compiles_nothing():
    code = "from negzoo.engine.rng import derive_key, uniform_at; import numpy as np; "
    code += "uniform_at(derive_key(0), np.uint64(0), np.uint64(0)); print(sum(uniform_at.stats.cache_misses.values()))"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(2)]
    assert runs[1].stdout == "0\n"
    assert runs[1].stderr == ""

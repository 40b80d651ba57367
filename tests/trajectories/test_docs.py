"""The schema is documented, twice and alike, and the examples run."""

import re
from pathlib import Path

import h5py
import numpy as np
import pytest

from negzoo.trajectories import schema

PAGE = (Path(__file__).parents[2] / "docs" / "trajectories.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("group", [schema.STEPS, schema.EPISODES], ids=lambda group: group.path)
def test_every_column_is_described_with_its_type(group):
    for column in group.columns:
        kind = np.dtype(column.dtype).name
        assert re.search(rf"^    {column.name} +{kind} +\S", schema.__doc__, re.MULTILINE)
        assert re.search(rf"^\| `{column.name}` \| {kind} \| .+\|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("table", schema.TABLES)
def test_every_table_is_described(table):
    for column in schema.TABLES[table].columns:
        assert f"    {table}/{column.name}" in schema.__doc__
        assert f"| `{table}/{column.name}` |" in PAGE


def test_a_file_says_what_it_is(log):
    with h5py.File(log) as file:
        assert file.attrs["schema_version"] == schema.SCHEMA_VERSION
        assert {"negzoo_version", "created", "description"} <= set(file.attrs)
        for group in schema.GROUPS:
            assert set(file[group.path]) == {column.name for column in group.columns}


def test_the_examples_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for example in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(example, names)
    assert "of 100 agreed" in capsys.readouterr().out
    assert 0 < names["curve"][1] <= 1

"""The package as a user meets it: its public names, its README, and the wheel it is installed from."""

import os
import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

import negzoo

ROOT = Path(__file__).resolve().parents[1]
DOMAINS = ("laptop", "is_bt_acquisition", "itex_vs_cypress", "grocery", "thompson")
LEARNING = {"matplotlib", "numba", "pettingzoo", "tianshou", "torch"}
HEAVY = LEARNING | {"gymnasium", "h5py", "numpy", "pydantic", "rich", "typer"}


def run(*command: object, cwd: Path = ROOT) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def imported_by(statement: str) -> set[str]:
    return set(run(sys.executable, "-c", f"{statement}\nimport sys\nprint(*sys.modules)").split())


def readme_blocks() -> list[str]:
    return re.findall(r"(?ms)^```python\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"))


def test_importing_the_package_imports_nothing_heavy():
    assert imported_by("import negzoo").isdisjoint(HEAVY)


def test_the_help_needs_no_learning_library():
    assert imported_by("import negzoo.cli.app").isdisjoint(LEARNING)


def test_how_far_a_run_is_needs_no_learning_library_to_tell():
    assert imported_by("import negzoo.league.run").isdisjoint({"h5py", "matplotlib", "tianshou", "torch"})


@pytest.mark.parametrize("name", negzoo.__all__)
def test_a_public_name_is_listed_and_found(name):
    assert name in dir(negzoo)
    assert getattr(negzoo, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'negzoo' has no attribute 'gym'"):
        _ = negzoo.gym


def test_the_readme_has_python():
    assert readme_blocks()


@pytest.mark.parametrize("code", readme_blocks())
def test_the_python_in_the_readme_runs(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})


def test_an_installed_wheel_finds_its_own_domains(tmp_path):
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path / "dist", cwd=ROOT)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    python = empty_venv_that_sees_our_dependencies(tmp_path / "venv")
    run(python, "-m", "pip", "install", "--no-deps", "--no-index", "--quiet", wheel)

    where = run(python, "-c", "import negzoo; print(negzoo.__file__)", cwd=tmp_path)
    listing = run(python.parent / "negzoo", "domains", cwd=tmp_path)

    assert Path(where.strip()).is_relative_to(tmp_path / "venv")
    assert [name for name in DOMAINS if name not in listing] == []


def empty_venv_that_sees_our_dependencies(folder: Path) -> Path:
    """Our own editable install is not seen: a `.pth` in a folder that a `.pth` adds is not read."""
    venv.create(folder, with_pip=True)
    site_packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    return folder / "bin" / "python"

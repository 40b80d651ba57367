"""The domains that come with negzoo, by name.

Figures and names are, to the letter, those of five domains of GENIUS (Lin, Kraus, Baarslag, Tykhonov,
Hindriks & Jonker 2014). Profile 1 is the learner's and profile 2 its opponent's in Kobayashi & Fujita (2025).
"""

import os
from pathlib import Path

from negzoo.errors import ScenarioError, did_you_mean
from negzoo.scenario.domain import Scenario
from negzoo.scenario.formats import read_toml


def data_folder() -> Path:
    """The folder of shipped data: inside the package where it was installed, beside it in a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "data"
    return installed if installed.is_dir() else package.parent / "data"


def names() -> list[str]:
    """The names of the shipped domains."""
    return sorted(path.stem for path in _domains().glob("*.toml"))


def load(name_or_path: str | Path) -> Scenario:
    """The shipped domain of that name, or the one in that TOML file.

    Names are matched by their letters and digits alone, so the paper's spellings ("ItexvsCypress") work too.

    Raises:
        ScenarioError: there is no such domain or file, or the file does not describe a scenario.
    """
    if _is_path(name_or_path):
        return read_toml(name_or_path)
    by_key = {_key(name): name for name in names()}
    name = by_key.get(_key(str(name_or_path)))
    if name is None:
        raise ScenarioError(
            f'no domain "{name_or_path}"{did_you_mean(str(name_or_path), names())}; '
            "`negzoo domains` lists them, and a path to a .toml file works too"
        )
    return read_toml(_domains() / f"{name}.toml")


def _domains() -> Path:
    return data_folder() / "domains"


def _is_path(name_or_path: str | Path) -> bool:
    text = str(name_or_path)
    return isinstance(name_or_path, Path) or text.endswith(".toml") or os.sep in text


def _key(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))

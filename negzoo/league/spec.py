"""A league file: who is trained on whom. TOML in, a validated League out.

Everything that a file says is checked before anything runs, and an error names the file and the place in it.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from negzoo.envs import NegotiationSettings
from negzoo.errors import LeagueError, NegzooError, did_you_mean
from negzoo.learn.settings import PRESETS, PPOSettings
from negzoo.opponents import LINEAGES, Lineage, Opponent, Pool, resolve
from negzoo.opponents.plugins import load_file
from negzoo.scenario import Scenario, load
from negzoo.settings import with_overrides

Steps = Annotated[int, Field(ge=1)]
_MOST_MODELS = 10_000
Models = Annotated[int, Field(ge=1, le=_MOST_MODELS)]


class Section(BaseModel):
    """A table of a league file; keys that it does not know are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Member(Section):
    """A member of a pool, with the weight of its draw. A plain string is a member of weight 1."""

    opponent: str
    weight: Annotated[float, Field(gt=0)] = 1.0


def _as_member(entry: Any) -> Any:
    return {"opponent": entry} if isinstance(entry, str) else entry


Members = Annotated[list[Annotated[Member, BeforeValidator(_as_member)]], Field(min_length=1)]


class Baseline(Section):
    """Models trained from scratch on one opponent each, for every member of a pool."""

    opponents: str
    steps: Steps
    models: Models | None = None


class Pretrain(Section):
    """Models trained from scratch on a pool, a member drawn per negotiation."""

    pool: str
    steps_per_opponent: Steps
    models: Models | None = None


class Finetune(Section):
    """The selected pre-trained model of a pool, trained on with one opponent each, for every member of another pool."""

    pretrained_on: Annotated[str, Field(alias="from")]
    opponents: str
    steps: Steps
    models: Models | None = None


class Evaluation(Section):
    """How models are scored: greedy play, n negotiations against each opponent."""

    games: Annotated[int, Field(ge=1)] = 100


class LeagueFile(Section):
    """A league as it is written."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
    title: str = ""
    domains: Annotated[list[str], Field(min_length=1)]
    trainer: Literal["population", "manager"] = "population"
    seed: Annotated[int, Field(ge=0)] = 0
    models: Models = 10
    learner_seat: Annotated[int, Field(ge=0, le=1)] = 0
    lineage: Lineage = LINEAGES[0]
    opponent_files: list[str] = []
    pools: Annotated[dict[str, Members], Field(min_length=1)]
    game: dict[str, Any] = {}
    ppo: dict[str, Any] = {}
    baseline: list[Baseline] = []
    pretrain: list[Pretrain] = []
    finetune: list[Finetune] = []
    evaluation: Evaluation = Evaluation()

    @model_validator(mode="after")
    def _pools_exist(self) -> "LeagueFile":
        named = [("baseline", i, "opponents", stage.opponents) for i, stage in enumerate(self.baseline, 1)]
        named += [("pretrain", i, "pool", stage.pool) for i, stage in enumerate(self.pretrain, 1)]
        named += [("finetune", i, "opponents", stage.opponents) for i, stage in enumerate(self.finetune, 1)]
        for table, number, key, pool in named:
            if pool not in self.pools:
                raise ValueError(f'{table} {number}: {key}: unknown pool "{pool}"{did_you_mean(pool, self.pools)}')
        trained = {stage.pool for stage in self.pretrain}
        for number, stage in enumerate(self.finetune, 1):
            if stage.pretrained_on not in trained:
                hint = did_you_mean(stage.pretrained_on, trained) if trained else ""
                raise ValueError(f'finetune {number}: from: no [[pretrain]] for pool "{stage.pretrained_on}"{hint}')
        pools = [stage.pool for stage in self.pretrain]
        if twice := [pool for pool in pools if pools.count(pool) > 1]:
            raise ValueError(f'pretrain: pool: "{twice[0]}" is there twice')
        if not (self.baseline or self.pretrain):
            raise ValueError("nothing to train: add a [[baseline]] or a [[pretrain]]")
        return self


class League:
    """A validated league, its names resolved.

    Attributes:
        file: the league as written, after command-line overrides.
        scenarios: the domains.
        opponent_files: Python files with opponents of the user's own, loaded.
        pools: the opponents of each pool, by the pool's name.
        game: how it is negotiated.
        ppo: how it is learned.
    """

    def __init__(self, file: LeagueFile, folder: Path = Path()) -> None:
        self.file = file
        self.opponent_files = tuple((folder / path).resolve() for path in file.opponent_files)
        for path in self.opponent_files:
            load_file(path)
        self.scenarios: list[Scenario] = [load(domain) for domain in file.domains]
        names = [scenario.name for scenario in self.scenarios]
        if twice := [name for name in names if names.count(name) > 1]:
            raise LeagueError(f'domains: "{twice[0]}" is there twice')
        self.pools = {name: self._pool(name, members) for name, members in file.pools.items()}
        self.game: NegotiationSettings = _section("game", NegotiationSettings(), file.game)
        self.ppo = _ppo(file.ppo)

    def _pool(self, name: str, members: list[Member]) -> Pool:
        strategies = tuple(self._member(name, i, member) for i, member in enumerate(members, 1))
        weights = tuple(member.weight for member in members)
        return Pool(name, strategies, () if len(set(weights)) == 1 else weights)

    def _member(self, pool: str, number: int, member: Member) -> Opponent:
        try:
            return resolve(member.opponent, self.file.lineage)
        except NegzooError as error:
            raise LeagueError(f'pool "{pool}", entry {number}: {error}') from None

    @property
    def learner_side(self) -> int:
        """The profile (0 or 1) that the learner holds."""
        return self.game.sides[self.file.learner_seat]

    def models(self, stage: Baseline | Pretrain | Finetune) -> int:
        """How many models a stage trains per domain and opponent."""
        return stage.models or self.file.models


def _section(name: str, base: Any, overrides: Mapping[str, Any]) -> Any:
    try:
        return with_overrides(base, overrides)
    except NegzooError as error:
        raise LeagueError(f"[{name}]: {error}") from None


def _ppo(section: Mapping[str, Any]) -> PPOSettings:
    preset = section.get("preset", "paper")
    if not isinstance(preset, str) or preset not in PRESETS:
        raise LeagueError(f'[ppo]: unknown preset "{preset}"{did_you_mean(str(preset), PRESETS)}')
    overrides = {key: value for key, value in section.items() if key != "preset"}
    settings: PPOSettings = _section("ppo", PRESETS[preset], overrides)
    return settings


def read_league(path: Path, domains: list[str] | None = None, models: int | None = None, scale: float = 1.0) -> League:
    """Read and check a league file.

    Args:
        path: the TOML file.
        domains: negotiate only these instead of the file's.
        models: train this many models everywhere.
        scale: multiply all training steps by this.

    Raises:
        LeagueError: the file is missing or anything in it is wrong; the message says where.
    """
    content = _read_toml(path)
    try:
        written = LeagueFile.model_validate(content)
        League(written, path.parent)
    except ValidationError as error:
        raise LeagueError(f"{path}: {_explain(error)}") from None
    except NegzooError as error:
        raise LeagueError(f"{path}: {error}") from None
    return League(_overridden(written, domains, models, scale), path.parent)


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LeagueError(f"{path}: no such file; give the path of a league file, such as leagues/quick.toml") from None
    except (OSError, UnicodeDecodeError) as error:
        raise LeagueError(f"{path}: cannot be read ({error})") from None
    except (ValueError, RecursionError) as error:
        raise LeagueError(f"{path}: not valid TOML: {error}") from None


_MOST_SCALE = 1e6


def _overridden(file: LeagueFile, domains: list[str] | None, models: int | None, scale: float) -> LeagueFile:
    if not 0 < scale <= _MOST_SCALE:
        raise LeagueError(f"--scale {scale}: give a positive number of at most {_MOST_SCALE:,.0f}")
    if models is not None and not 1 <= models <= _MOST_MODELS:
        raise LeagueError(f"--models {models}: give a whole number from 1 to {_MOST_MODELS:,}")
    changed = file.model_dump(by_alias=True, exclude_unset=True)
    if domains:
        changed["domains"] = [_known_domain(domain) for domain in domains]
    for stage in ("baseline", "pretrain", "finetune"):
        for table in changed.get(stage, []):
            if models is not None:
                table["models"] = models
            for key in ("steps", "steps_per_opponent"):
                if key in table:
                    table[key] = max(1, round(table[key] * scale))
    return LeagueFile.model_validate(changed)


def _known_domain(domain: str) -> str:
    try:
        load(domain)
    except NegzooError as error:
        raise LeagueError(f"--domains: {error}") from None
    return domain


def _explain(error: ValidationError) -> str:
    """What pydantic found wrong, in our words: an unknown key first, as it may be another one misspelt."""
    errors = error.errors()
    first = next((each for each in errors if each["type"] == "extra_forbidden"), errors[0])
    place = _place(first["loc"])
    if first["type"] == "extra_forbidden":
        known = _known_keys(first["loc"][:-1])
        where = _place(first["loc"][:-1])
        return f'{where}unknown key "{first["loc"][-1]}"{did_you_mean(str(first["loc"][-1]), known)}'
    if first["type"] == "missing":
        return f"{place}missing; it has to be given"
    if first["type"] == "value_error":
        return place + first["msg"].removeprefix("Value error, ")
    wanted = _WANTED.get(first["type"], first["msg"]).format(**first.get("ctx", {}))
    return f"{place}{wanted} (given: {first['input']!r})"


_WANTED = {
    "int_type": "give a whole number",
    "float_type": "give a number",
    "string_type": "give a text",
    "list_type": "give a list",
    "dict_type": "give a table",
    "model_type": "give a table",
    "model_attributes_type": "give a table",
    "too_short": "give at least one",
    "greater_than": "give a number above {gt}",
    "greater_than_equal": "give a whole number of at least {ge}",
    "less_than_equal": "give a whole number of at most {le}",
    "literal_error": "give {expected}",
    "string_pattern_mismatch": "use letters, digits, - and _",
}


_SECTIONS: dict[str, type[Section]] = {
    "baseline": Baseline,
    "pretrain": Pretrain,
    "finetune": Finetune,
    "evaluation": Evaluation,
    "pools": Member,
}


def _known_keys(table: tuple[int | str, ...]) -> list[str]:
    section = _SECTIONS.get(str(table[0]), LeagueFile) if table else LeagueFile
    return [field.alias or name for name, field in section.model_fields.items()]


def _place(location: tuple[int | str, ...]) -> str:
    """Where in the file, e.g. `pool "T3", entry 2: weight: `."""
    match location:
        case ():
            return ""
        case ("pools", str(name), int(entry), *rest):
            return "".join([f'pool "{name}", entry {entry + 1}: ', *(f"{part}: " for part in rest)])
        case ("pools", str(name)):
            return f'pool "{name}": '
        case (str(table), int(entry), *rest):
            return "".join([f"{table} {entry + 1}: ", *(f"{part}: " for part in rest)])
    return ": ".join(map(str, location)) + ": "

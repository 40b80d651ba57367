"""A scenario as a TOML file that a person can write and read.

    name = "Laptop"
    source = "who measured this"                # may be left out

    [[issues]]                                  # one block per issue
    name = "Harddisk"
    options = ["60 Gb", "80 Gb", "120 Gb"]

    [[profiles]]                                # two blocks: profile 1, profile 2
    name = "buyer"
    reservation = 0.2                           # may be left out: 0
    discount = 0.9                              # may be left out: none
    [profiles.preferences]                      # one line per issue, evaluations in the order of its options
    "Harddisk" = { weight = 1, evaluations = [30, 20, 9] }

What is written is read back equal, to the last bit of every figure.
"""

import json
import tomllib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from negzoo.errors import ScenarioError, did_you_mean
from negzoo.scenario.domain import Issue, Profile, Scenario, check_issues, figure, figures

Node = dict[str, Any]
Kind = TypeVar("Kind")

KINDS: dict[type, str] = {str: "a text in quotes", list: "a list in [ ]", dict: "a table"}


def read_toml(path: Path | str) -> Scenario:
    """The scenario in the file at `path`.

    Raises:
        ScenarioError: the file cannot be read, is no TOML, or does not describe a scenario; the message
            begins with `path`.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ScenarioError(f"{path}: no such file") from None
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"{path}: not UTF-8 text; save it as UTF-8") from None
    return loads_toml(text, where=str(path))


def loads_toml(text: str, where: str = "scenario") -> Scenario:
    """The scenario that `text` describes; errors name it `where`.

    Raises:
        ScenarioError: a syntax error (with its line), a missing or unknown key, or what makes no scenario.
    """
    with _located(where):
        try:
            document = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise ScenarioError(f"not valid TOML: {error}") from None
        return _scenario(document)


def write_toml(scenario: Scenario, path: Path | str) -> None:
    """Write `scenario` to `path`.

    Raises:
        ScenarioError: the file cannot be written.
    """
    try:
        Path(path).write_text(dumps_toml(scenario), encoding="utf-8")
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be written ({error.strerror})") from None


def dumps_toml(scenario: Scenario) -> str:
    """`scenario` in the layout shown above."""
    blocks = [_heading(scenario)]
    blocks += [_issue_block(issue) for issue in scenario.issues]
    blocks += [_profile_block(profile, scenario.issues) for profile in scenario.profiles]
    return "\n".join("\n".join(lines) + "\n" for lines in blocks)


def _scenario(document: Node) -> Scenario:
    _check_keys(document, required=["name", "issues", "profiles"], optional=["source"])
    issues = tuple(_issue(node, i) for i, node in enumerate(_get(document, "issues", list), 1))
    check_issues(issues)
    profiles = [_profile(node, i, issues) for i, node in enumerate(_get(document, "profiles", list), 1)]
    if len(profiles) != 2:
        raise ScenarioError(f"{len(profiles)} [[profiles]]; a negotiation has two")
    return Scenario(
        name=_get(document, "name", str),
        issues=issues,
        profiles=(profiles[0], profiles[1]),
        source=_get(document, "source", str, default=""),
    )


def _issue(node: object, position: int) -> Issue:
    with _located(f"[[issues]] {position}"):
        node = _expect(node, "it", dict)
        _check_keys(node, required=["name", "options"])
        options = [_expect(option, "each option", str) for option in _get(node, "options", list)]
        name = _get(node, "name", str)
    return Issue(name, tuple(options))


def _profile(node: object, position: int, issues: tuple[Issue, ...]) -> Profile:
    with _located(f"[[profiles]] {position}"):
        node = _expect(node, "it", dict)
        _check_keys(node, required=["name", "preferences"], optional=["reservation", "discount"])
        name = _get(node, "name", str)
        preferences = _get(node, "preferences", dict)
    with _located(f'profile "{name}", preferences'):
        _check_keys(preferences, required=[issue.name for issue in issues])
        rows = [_preference(preferences, issue) for issue in issues]
    return Profile(
        name=name,
        weights=tuple(weight for weight, _ in rows),
        evaluations=tuple(evaluations for _, evaluations in rows),
        reservation=node.get("reservation", 0.0),
        discount=node.get("discount"),
    )


def _preference(preferences: Node, issue: Issue) -> tuple[float, tuple[float, ...]]:
    """The weight of `issue` and the evaluations of its options."""
    node = _get(preferences, issue.name, dict)
    with _located(f'issue "{issue.name}"'):
        _check_keys(node, required=["weight", "evaluations"])
        return figure("weight", node["weight"]), figures("evaluation", _get(node, "evaluations", list))


def _check_keys(node: Node, required: Collection[str], optional: Collection[str] = ()) -> None:
    known = [*required, *optional]
    for key in node:
        if key not in known:
            raise ScenarioError(f'unknown key "{key}"{did_you_mean(key, known)}')
    for key in required:
        if key not in node:
            raise ScenarioError(f'"{key}" is missing')


def _get(node: Node, key: str, kind: type[Kind], default: Kind | None = None) -> Kind:
    return _expect(node.get(key, default), f'"{key}"', kind)


def _expect(value: object, what: str, kind: type[Kind]) -> Kind:
    if not isinstance(value, kind):
        raise ScenarioError(f"{what} must be {KINDS[kind]}, not {value!r}")
    return value


@contextmanager
def _located(where: str) -> Iterator[None]:
    """Put `where` before the message of a ScenarioError."""
    try:
        yield
    except ScenarioError as error:
        raise ScenarioError(f"{where}: {error}") from None


def _heading(scenario: Scenario) -> list[str]:
    source = [f"source = {_quoted(scenario.source)}"] if scenario.source else []
    return [f"name = {_quoted(scenario.name)}", *source]


def _issue_block(issue: Issue) -> list[str]:
    options = ", ".join(map(_quoted, issue.options))
    return ["[[issues]]", f"name = {_quoted(issue.name)}", f"options = [{options}]"]


def _profile_block(profile: Profile, issues: tuple[Issue, ...]) -> list[str]:
    lines = ["[[profiles]]", f"name = {_quoted(profile.name)}"]
    lines.append(f"reservation = {_number(profile.reservation)}")
    if profile.discount is not None:
        lines.append(f"discount = {_number(profile.discount)}")
    lines.append("[profiles.preferences]")
    for issue, weight, evaluations in zip(issues, profile.weights, profile.evaluations, strict=True):
        row = ", ".join(map(_number, evaluations))
        lines.append(f"{_quoted(issue.name)} = {{ weight = {_number(weight)}, evaluations = [{row}] }}")
    return lines


def _quoted(text: str) -> str:
    """`text` as a TOML string: JSON's escapes, and the one character more that TOML wants escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _number(value: float) -> str:
    """The shortest spelling that is read back as `value`, without a needless `.0`."""
    return str(int(value)) if value.is_integer() and value < 1e15 else repr(value)

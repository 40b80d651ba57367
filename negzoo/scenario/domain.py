"""What is negotiated: issues with their options, and two profiles that value them.

An outcome picks one option per issue. It is known by its index in product order, the last issue
fastest, as `itertools.product` counts. Its utility to a profile (Kobayashi & Fujita 2025, eq. 1):

    U(ω) = Σ_i w_i · e_i(ω_i) / max_o e_i(o)

1. An issue whose greatest evaluation is below 1e-5 counts 0.
2. The sum runs over the issues in order, from 0.0, in double precision: ties between outcomes, and
   so the moves of many strategies, depend on its last bit.
3. Weights are taken as they are. Where they sum to more than 1, a player sees the sum clipped at 1.
"""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from numbers import Real
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from negzoo.errors import ScenarioError, did_you_mean

Floats = npt.NDArray[np.float64]
Table = TypeVar("Table", bound=npt.NDArray[np.generic])

MAX_OUTCOMES = 1_000_000
NEGLIGIBLE = 1e-5  # an issue whose greatest evaluation is below this counts 0


@dataclass(frozen=True)
class Issue:
    """One thing to settle, and the ways to settle it. Names are kept to the letter, blanks included.

    Raises:
        ScenarioError: a blank name, no options, or two options of one name.
    """

    name: str
    options: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", tuple(self.options))
        if not self.name.strip():
            raise ScenarioError("an issue has a blank name; every issue needs one")
        if not self.options:
            raise ScenarioError(f'issue "{self.name}": no options; give at least one')
        if any(not option.strip() for option in self.options):
            raise ScenarioError(f'issue "{self.name}": an option has a blank name; every option needs one')
        if (repeated := _repeated(self.options)) is not None:
            raise ScenarioError(f'issue "{self.name}": duplicate option "{repeated}"; rename or drop one')


@dataclass(frozen=True)
class Profile:
    """What one player wants.

    Attributes:
        name: who this is, such as "buyer".
        weights: [I], how much each issue counts; by convention they sum to 1.
        evaluations: [I][options of issue i], how good each option is; only ratios within an issue matter.
        reservation: the utility of no agreement, in [0, 1].
        discount: the factor in (0, 1] by which time shrinks utility; None where the source has none.

    Raises:
        ScenarioError: a figure out of its range, or weights and evaluations for different numbers of issues.
    """

    name: str
    weights: tuple[float, ...]
    evaluations: tuple[tuple[float, ...], ...]
    reservation: float = 0.0
    discount: float | None = None

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ScenarioError("a profile has a blank name; every profile needs one")
        where = f'profile "{self.name}"'
        weights = figures(f"{where}: weight", self.weights)
        evaluations = tuple(
            figures(f"{where}: issue {i}, evaluation", row) for i, row in enumerate(self.evaluations, 1)
        )
        if len(weights) != len(evaluations):
            counts = f"{len(weights)} weights, but {len(evaluations)} evaluation lists"
            raise ScenarioError(f"{where}: {counts}; give one of each per issue")
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "evaluations", evaluations)
        self._check_reservation(where)
        self._check_discount(where)

    def _check_reservation(self, where: str) -> None:
        reservation = figure(f"{where}: reservation", self.reservation)
        if reservation > 1:
            raise ScenarioError(f"{where}: reservation is {reservation}; it is a utility, from 0 to 1")
        object.__setattr__(self, "reservation", reservation)

    def _check_discount(self, where: str) -> None:
        if self.discount is None:
            return
        discount = figure(f"{where}: discount", self.discount)
        if not 0 < discount <= 1:
            raise ScenarioError(f"{where}: discount is {discount}; give a factor above 0 up to 1, or none")
        object.__setattr__(self, "discount", discount)


@dataclass(frozen=True)
class Scenario:
    """A domain with the two profiles that meet there; I issues, Ω outcomes.

    Immutable and hashable. Its tables are computed once, when first asked for, and are read-only.

    Attributes:
        name: how it is called in tables and logs.
        issues: [I].
        profiles: profile 1 (usually the learner's) and profile 2; arrays over players are in this order.
        source: where the figures come from.

    Raises:
        ScenarioError: names that are not unique, profiles that do not fit the issues, or more than
            MAX_OUTCOMES outcomes.
    """

    name: str
    issues: tuple[Issue, ...]
    profiles: tuple[Profile, Profile]
    source: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "issues", tuple(self.issues))
        object.__setattr__(self, "profiles", tuple(self.profiles))
        if not self.name.strip():
            raise ScenarioError("the scenario has a blank name; give it one")
        check_issues(self.issues)
        if len(self.profiles) != 2:
            raise ScenarioError(f"{len(self.profiles)} profiles; a negotiation has two")
        if self.profiles[0].name == self.profiles[1].name:
            raise ScenarioError(f'both profiles are called "{self.profiles[0].name}"; rename one')
        for profile in self.profiles:
            _check_fit(self.issues, profile)

    def __getstate__(self) -> dict[str, object]:
        """The fields alone: a copy or pickle builds its own tables, so they stay read-only there too."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """[I], the number of options of each issue."""
        return tuple(len(issue.options) for issue in self.issues)

    @cached_property
    def size(self) -> int:
        """|Ω|, the number of outcomes."""
        return math.prod(self.shape)

    @cached_property
    def options(self) -> npt.NDArray[np.int32]:
        """int32 [Ω, I], the option that each outcome picks in each issue."""
        outcomes = np.arange(self.size, dtype=np.int32)[:, None]
        strides, shape = np.array([self._strides, self.shape], dtype=np.int32)
        return _read_only(outcomes // strides % shape)

    @cached_property
    def raw_utilities(self) -> Floats:
        """float64 [2, Ω], the sum of eq. 1 as it is, which may exceed 1 where the weights do."""
        return _read_only(np.stack([_weighted_sums(profile) for profile in self.profiles]))

    @cached_property
    def utilities(self) -> Floats:
        """float64 [2, Ω] in [0, 1], what each outcome is worth to each player."""
        return _read_only(np.minimum(self.raw_utilities, 1.0))

    @cached_property
    def hash(self) -> str:
        """16 hex digits of what is negotiated: issues, options and figures, whatever scenario and profiles
        are called and wherever they come from."""
        issues = [[issue.name, issue.options] for issue in self.issues]
        figures = [[p.weights, p.evaluations, p.reservation, p.discount] for p in self.profiles]
        content = json.dumps([issues, figures], separators=(",", ":"))
        return blake2b(content.encode(), digest_size=8).hexdigest()

    def index(self, options: Sequence[int]) -> int:
        """The outcome that picks `options` [I], one option number per issue.

        Raises:
            ScenarioError: not one number per issue, or a number that is no option.
        """
        self._check_length(options)
        for issue, option in zip(self.issues, options, strict=True):
            if not 0 <= option < len(issue.options):
                raise ScenarioError(
                    f'issue "{issue.name}": no option {option}; they run from 0 to {len(issue.options) - 1}'
                )
        return sum(int(option) * stride for option, stride in zip(options, self._strides, strict=True))

    def index_of(self, names: Sequence[str]) -> int:
        """The outcome that picks the options called `names` [I], one per issue.

        Raises:
            ScenarioError: not one name per issue, or a name that is no option.
        """
        self._check_length(names)
        return self.index([_option_number(*pair) for pair in zip(self.issues, names, strict=True)])

    def describe(self, outcome: int) -> str:
        """`outcome` in words, such as `Laptop=Dell, Harddisk=60 Gb`."""
        if not 0 <= outcome < self.size:
            raise ScenarioError(f"no outcome {outcome}; they run from 0 to {self.size - 1}")
        picks = zip(self.issues, self.options[outcome], strict=True)
        return ", ".join(f"{issue.name}={issue.options[option]}" for issue, option in picks)

    @cached_property
    def _strides(self) -> tuple[int, ...]:
        """[I], by how much the outcome grows when an issue's option grows by 1."""
        return tuple(math.prod(self.shape[i + 1 :]) for i in range(len(self.shape)))

    def _check_length(self, picks: Sequence[object]) -> None:
        if len(picks) != len(self.issues):
            raise ScenarioError(f"{len(picks)} options for {len(self.issues)} issues; pick one for each")


def _weighted_sums(profile: Profile) -> Floats:
    """Eq. 1 for every outcome, [Ω]: each issue is added to all sums over the issues before it."""
    sums = np.zeros(1)
    for weight, evaluations in zip(profile.weights, profile.evaluations, strict=True):
        sums = np.add.outer(sums, weight * _relative(evaluations)).ravel()
    return sums


def _relative(evaluations: Sequence[float]) -> Floats:
    greatest = max(evaluations)
    return np.zeros(len(evaluations)) if greatest < NEGLIGIBLE else np.array(evaluations) / greatest


def figures(where: str, values: Iterable[object]) -> tuple[float, ...]:
    """Each of `values` as `figure` takes it; `where` and its position from 1 name it in errors."""
    return tuple(figure(f"{where} {position}", value) for position, value in enumerate(values, 1))


def figure(where: str, value: object) -> float:
    """`value` as a double; -0.0 becomes 0.0, so that equal figures have equal hashes.

    Raises:
        ScenarioError: it is no number, not finite, or negative; the message begins with `where`.
    """
    if not isinstance(value, Real) or isinstance(value, bool):
        raise ScenarioError(f"{where} is {value!r}; give a number")
    try:
        number = float(value) + 0.0
    except OverflowError:
        number = math.inf
    if not 0 <= number < math.inf:
        raise ScenarioError(f"{where} is {number}; give a finite number that is not negative")
    return number


def check_issues(issues: Sequence[Issue]) -> None:
    """Refuse issues that make no scenario, whatever the profiles.

    Raises:
        ScenarioError: no issues, two of one name, or more than MAX_OUTCOMES outcomes.
    """
    if not issues:
        raise ScenarioError("no issues; give at least one")
    if (repeated := _repeated(issue.name for issue in issues)) is not None:
        raise ScenarioError(f'duplicate issue "{repeated}"; rename or drop one')
    outcomes = math.prod(len(issue.options) for issue in issues)
    if outcomes > MAX_OUTCOMES:
        raise ScenarioError(
            f"{outcomes:,} outcomes; use fewer issues or options, for at most {MAX_OUTCOMES:,}: "
            "each outcome is an action of the players and a row in their tables"
        )


def _check_fit(issues: tuple[Issue, ...], profile: Profile) -> None:
    if len(profile.weights) != len(issues):
        count = len(profile.weights)
        raise ScenarioError(f'profile "{profile.name}": figures for {count} issues, not {len(issues)}')
    for issue, evaluations in zip(issues, profile.evaluations, strict=True):
        if len(evaluations) != len(issue.options):
            raise ScenarioError(
                f'profile "{profile.name}", issue "{issue.name}": {len(evaluations)} evaluations for '
                f"{len(issue.options)} options; give one for each"
            )


def _option_number(issue: Issue, name: str) -> int:
    if name not in issue.options:
        raise ScenarioError(f'issue "{issue.name}": no option "{name}"{did_you_mean(name, issue.options)}')
    return issue.options.index(name)


def _repeated(names: Iterable[str]) -> str | None:
    return next((earlier for earlier, later in pairwise(sorted(names)) if earlier == later), None)


def _read_only(array: Table) -> Table:
    array.setflags(write=False)
    return array

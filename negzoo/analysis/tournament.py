"""A tournament: every opponent meets every one, itself included, in every domain.

1. In a fixture, one opponent holds profile 1 of the domain and one holds profile 2. Every ordered pair meets, so
   everybody plays both profiles against everybody.
2. Profile 1 opens; with `both_seats`, every pair meets a second time and profile 2 opens.
3. All negotiations of a fixture are played as one batch. They are numbered from 0 and draw from the streams of the
   tournament's seed, so `play` with that seed repeats any fixture, and the number of workers changes nothing.
"""

import multiprocessing
import signal
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from negzoo.engine import Clock
from negzoo.league.scores import Score, score
from negzoo.opponents import Games, Opponent, play
from negzoo.opponents.plugins import load_file, loaded_files
from negzoo.scenario import Scenario
from negzoo.trajectories import Labels, Played, TrajectoryWriter

Floats = NDArray[np.float64]
STAGE = "tournament"
ALL_DOMAINS = "all domains"


@dataclass(frozen=True)
class Fixture:
    """A batch of negotiations of one pair.

    Attributes:
        scenario: what is negotiated.
        holders: the labels of who holds profile 1 and profile 2.
        opener: the profile (0 or 1) whose holder moves first.
    """

    scenario: Scenario
    holders: tuple[str, str]
    opener: int

    @property
    def sides(self) -> tuple[int, int]:
        """The profile that player 0 and player 1 hold."""
        return self.opener, 1 - self.opener

    @property
    def players(self) -> tuple[str, str]:
        """The labels of player 0 and player 1."""
        return self.holders[self.opener], self.holders[1 - self.opener]


@dataclass(frozen=True)
class Tournament:
    """Who meets where, and how.

    Attributes:
        scenarios: the domains.
        opponents: the players by their labels.
        games: negotiations per fixture.
        seed: of all random streams.
        rounds: the deadline.
        clock: the time that the players see.
        both_seats: whether profile 2 opens as well.
    """

    scenarios: tuple[Scenario, ...]
    opponents: dict[str, Opponent]
    games: int = 100
    seed: int = 0
    rounds: int = 40
    clock: Clock = "paper"
    both_seats: bool = False

    @property
    def fixtures(self) -> list[Fixture]:
        """Every fixture, domain by domain."""
        openers = (0, 1) if self.both_seats else (0,)
        return [
            Fixture(scenario, (first, second), opener)
            for scenario in self.scenarios
            for first in self.opponents
            for second in self.opponents
            for opener in openers
        ]

    def play(self, fixture: Fixture) -> Games:
        """The negotiations of a fixture."""
        first, second = (self.opponents[label] for label in fixture.players)
        return play(
            fixture.scenario, first, second, self.games, self.seed, self.rounds, self.clock, sides=fixture.sides
        )

    def played(self, workers: int = 1) -> Iterator[tuple[Fixture, Games]]:
        """Play every fixture on so many processes; they come out in the order of `fixtures`."""
        fixtures = self.fixtures
        workers = min(workers, -(-len(fixtures) // len(self.opponents)))
        if workers == 1:
            yield from ((fixture, self.play(fixture)) for fixture in fixtures)
            return
        executor = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _join, (loaded_files(),))
        try:
            games = executor.map(self.play, fixtures, chunksize=len(self.opponents))
            yield from zip(fixtures, games, strict=True)
        finally:
            executor.shutdown(cancel_futures=True)


def _join(opponent_files: tuple[Path, ...]) -> None:
    """A worker begins: it knows the user's own opponents, and leaves Ctrl-C to its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for path in opponent_files:
        load_file(path)


def log(writer: TrajectoryWriter, fixture: Fixture, games: Games) -> None:
    """Write the negotiations of a fixture to a trajectory file; raises as `TrajectoryWriter.write` does."""
    played = Played.finished(games.negotiations, np.arange(len(games.negotiations)))
    labels = Labels(fixture.players, games.seed, stage=STAGE, swapped=fixture.opener == 1)
    writer.write(fixture.scenario, played, labels)


@dataclass(frozen=True)
class Encounter:
    """How a fixture went.

    Attributes:
        fixture: who met, and where.
        score: of the holder of profile 1.
    """

    fixture: Fixture
    score: Score

    @classmethod
    def of(cls, fixture: Fixture, games: Games) -> "Encounter":
        return cls(fixture, score(games, player=fixture.opener))

    def as_row(self) -> dict[str, Any]:
        """A flat record of it, as for a CSV file."""
        first, second = self.fixture.holders
        return {
            "domain": self.fixture.scenario.name,
            "profile_1": first,
            "profile_2": second,
            "opener": self.fixture.players[0],
            "opening_profile": self.fixture.opener + 1,
            "games": self.score.games,
            "utility_1": self.score.utility,
            "utility_2": self.score.opponent_utility,
            "agreement_rate": self.score.agreement_rate,
            "rounds": self.score.rounds,
        }


@dataclass(frozen=True)
class Crosstable:
    """Everybody against everybody.

    Attributes:
        title: the domain, or ALL_DOMAINS.
        profiles: what profile 1 and profile 2 are called.
        labels: the n players.
        utility: float64 [2, n, n], mean utility of profile 1 and of profile 2 where player i holds profile 1 and
            player j profile 2; a negotiation without agreement counts 0.
        agreement: float64 [n, n], the share of negotiations that ended in agreement.
    """

    title: str
    profiles: tuple[str, str]
    labels: tuple[str, ...]
    utility: Floats
    agreement: Floats

    @property
    def means(self) -> Floats:
        """float64 [2, n], each player's mean utility as profile 1 and as profile 2, over all it met."""
        return np.stack([self.utility[0].mean(axis=1), self.utility[1].mean(axis=0)])

    @property
    def ranking(self) -> list[int]:
        """The players by their mean utility over both profiles, best first."""
        return [int(player) for player in np.argsort(-self.means.mean(axis=0), kind="stable")]

    def as_json(self) -> dict[str, Any]:
        """The table as plain data."""
        return {
            "title": self.title,
            "profiles": list(self.profiles),
            "opponents": list(self.labels),
            "utility_1": self.utility[0].tolist(),
            "utility_2": self.utility[1].tolist(),
            "agreement_rate": self.agreement.tolist(),
            "ranking": [{"opponent": self.labels[player], **self._standing(player)} for player in self.ranking],
        }

    def _standing(self, player: int) -> dict[str, float]:
        first, second = self.means[:, player].tolist()
        return {"utility": (first + second) / 2, "as_profile_1": first, "as_profile_2": second}


def crosstables(encounters: Sequence[Encounter]) -> list[Crosstable]:
    """A table for each domain, from all its fixtures; where there are several, the mean over them comes last."""
    domains = dict.fromkeys(encounter.fixture.scenario for encounter in encounters)
    tables = [_crosstable(scenario, [e for e in encounters if e.fixture.scenario == scenario]) for scenario in domains]
    return [*tables, _overall(tables)] if len(tables) > 1 else tables


def _crosstable(scenario: Scenario, encounters: Iterable[Encounter]) -> Crosstable:
    """The mean over the seats of each pair."""
    cells: dict[tuple[str, str], list[Score]] = {}
    for encounter in encounters:
        cells.setdefault(encounter.fixture.holders, []).append(encounter.score)
    labels = tuple(dict.fromkeys(first for first, _ in cells))
    first, second, agreement = (
        np.array(
            [[np.mean([getattr(score, field) for score in cells[row, column]]) for column in labels] for row in labels]
        )
        for field in ("utility", "opponent_utility", "agreement_rate")
    )
    profiles = scenario.profiles[0].name, scenario.profiles[1].name
    return Crosstable(scenario.name, profiles, labels, np.stack([first, second]), agreement)


def _overall(tables: Sequence[Crosstable]) -> Crosstable:
    utility = np.mean([table.utility for table in tables], axis=0)
    agreement = np.mean([table.agreement for table in tables], axis=0)
    return Crosstable(ALL_DOMAINS, ("profile 1", "profile 2"), tables[0].labels, utility, agreement)

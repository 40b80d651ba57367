"""Where outcomes lie in the plane of both players' utilities: the Pareto frontier and points of note on it.

Every point is an outcome. Where several outcomes are equally good by a definition, the one of greater
welfare is taken, and among those the first. Gains are utilities less the reservation of each player; the
bargaining solutions look only at outcomes that neither player likes less than no agreement, unless there
are none.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from negzoo.scenario.domain import Floats, Scenario

Outcomes = npt.NDArray[np.intp]


def pareto_frontier(utilities: Floats) -> Outcomes:
    """The outcomes that none beats: none is at least as good for both players and better for one.

    Sorted by both utilities, each outcome is on the frontier if it is better for player 2 than all before
    it, or has the same utilities as one that is: O(n log n). Utilities are compared to the last bit.

    Args:
        utilities: [2, Ω].

    Returns:
        [F] outcomes, from the best for player 1 to the best for player 2; those with equal utilities are all
        in, in outcome order.
    """
    order: Outcomes = np.lexsort((-utilities[1], -utilities[0]))
    first, second = utilities[:, order]
    opens_run = np.append(True, (np.diff(first) != 0) | (np.diff(second) != 0))
    best_before = np.append(-np.inf, np.maximum.accumulate(second)[:-1])
    unbeaten = (second > best_before)[opens_run]
    run = np.cumsum(opens_run) - 1
    frontier: Outcomes = order[unbeaten[run]]
    return frontier


@dataclass(frozen=True)
class Geometry:
    """The outcome space of a scenario, by the utilities that players see (clipped at 1, not discounted)."""

    scenario: Scenario

    @cached_property
    def frontier(self) -> Outcomes:
        """[F], the Pareto-efficient outcomes, as `pareto_frontier` gives them."""
        return pareto_frontier(self.scenario.utilities)

    @cached_property
    def nash(self) -> int:
        """The outcome with the greatest product of gains (Nash 1950), a loss counting as no gain."""
        return self._best(np.maximum(self._gains, 0).prod(axis=0), only_rational=True)

    @cached_property
    def kalai(self) -> int:
        """The egalitarian outcome: the greatest of the smaller gains (Kalai 1977)."""
        return self._best(self._gains.min(axis=0), only_rational=True)

    @cached_property
    def kalai_smorodinsky(self) -> int:
        """The greatest of the smaller gains, each as a share of the most its player could gain.

        With outcomes in place of a continuum, equal shares (Kalai & Smorodinsky 1975) become the greatest
        smaller share. A player who can gain nothing is left out.
        """
        most = self._gains[:, self._rational].max(axis=1, keepdims=True)
        shares = np.divide(self._gains, most, out=np.ones_like(self._gains), where=most > 0)
        return self._best(shares.min(axis=0), only_rational=True)

    @cached_property
    def welfare(self) -> int:
        """The outcome with the greatest sum of utilities."""
        return self._best(self._points.sum(axis=0))

    @cached_property
    def solutions(self) -> dict[str, int]:
        """The points of note by name."""
        return {
            "Nash": self.nash,
            "Kalai": self.kalai,
            "Kalai-Smorodinsky": self.kalai_smorodinsky,
            "Welfare": self.welfare,
        }

    @cached_property
    def conflict_level(self) -> float:
        """How far the players are from both having all they want: 0 (no conflict) to √2.

        The distance from (1, 1) of the point where the line u1 = u2 cuts the frontier, taken as a polyline
        through the Pareto outcomes (Kobayashi & Fujita 2025, Table 1). A frontier that lies wholly on one
        side of the line is taken at its end nearest to it.
        """
        lead = self._points[0] - self._points[1]
        behind = int(np.searchsorted(-lead, 0.0))  # the first point where player 1 is not ahead
        if behind in (0, len(lead)):
            return math.dist(self._points[:, min(behind, len(lead) - 1)], (1, 1))
        part = lead[behind - 1] / (lead[behind - 1] - lead[behind])
        ahead_point, behind_point = self._points[:, behind - 1], self._points[:, behind]
        return math.dist(ahead_point + part * (behind_point - ahead_point), (1, 1))

    def distance_to_frontier(self, first: npt.ArrayLike, second: npt.ArrayLike) -> Floats:
        """How far points are from efficiency: the distance to the nearest Pareto outcome; 0 on the frontier.

        Args:
            first: utilities of player 1, any shape.
            second: utilities of player 2, the same shape.

        Returns:
            float64 of that shape.
        """
        first, second = np.broadcast_arrays(np.asarray(first, float), np.asarray(second, float))
        pairs = zip(first.ravel(), second.ravel(), *self._windows(first.ravel(), second.ravel()), strict=True)
        return np.array([self._nearest(*pair) for pair in pairs], dtype=np.float64).reshape(first.shape)

    def _windows(self, first: Floats, second: Floats) -> tuple[Outcomes, Outcomes]:
        """For each point, where on the frontier its nearest outcome can be: from, and up to (exclusive).

        Along the frontier, outcomes recede once they are better for one player and worse for the other than
        the point is; so all but the next of those, on either side, can be left out.
        """
        not_worse_for_first = len(self.frontier) - np.searchsorted(self._points[0, ::-1], first)
        worse_for_second = np.searchsorted(self._points[1], second)
        start = np.minimum(not_worse_for_first, worse_for_second) - 1
        stop = np.maximum(not_worse_for_first, worse_for_second) + 1
        return np.maximum(start, 0), stop

    def _nearest(self, first: float, second: float, start: int, stop: int) -> float:
        window = self._points[:, start:stop]
        return float(np.hypot(window[0] - first, window[1] - second).min())

    @cached_property
    def _points(self) -> Floats:
        """[2, F], the utilities of the frontier: falling for player 1, rising for player 2."""
        points: Floats = self.scenario.utilities[:, self.frontier]
        return points

    @cached_property
    def _gains(self) -> Floats:
        """[2, F], what each player has over no agreement."""
        reservations = np.array([[profile.reservation] for profile in self.scenario.profiles])
        gains: Floats = self._points - reservations
        return gains

    @cached_property
    def _rational(self) -> npt.NDArray[np.bool_]:
        """[F], where nobody prefers no agreement; all of the frontier where that is nowhere."""
        rational = np.all(self._gains >= 0, axis=0)
        return rational if rational.any() else np.ones_like(rational)

    def _best(self, scores: Floats, only_rational: bool = False) -> int:
        """The frontier outcome of the greatest score [F]; ties as this module says."""
        allowed = np.where(self._rational, scores, -np.inf) if only_rational else scores
        order = np.lexsort((self.frontier, -self._points.sum(axis=0), -allowed))
        return int(self.frontier[order[0]])

"""The orders in which strategies look up outcomes by utility, and the lookups on them.

The lineages break ties differently (and a tie decides what is offered):

- `paper`: best first, ties in product order;
- `genius`: best first, ties by the ascending signed hash that GENIUS gives an outcome, then in GENIUS's own
  enumeration (first issue fastest).
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from negzoo.scenario import Scenario


def stable_order(utility: NDArray[np.float64]) -> NDArray[np.int32]:
    """The outcomes, int32 [Ω], best first, ties in product order."""
    return np.argsort(-utility, kind="stable").astype(np.int32)


def genius_order(scenario: Scenario, utility: NDArray[np.float64]) -> NDArray[np.int32]:
    """The outcomes, int32 [Ω], best first, ties as GENIUS's SortedOutcomeSpace breaks them."""
    enumeration = np.lexsort(scenario.options.T)
    hashes = _outcome_hashes(scenario, utility)
    ranked = np.lexsort((hashes[enumeration], -utility[enumeration]))
    return enumeration[ranked].astype(np.int32)


def _java_string_hash(text: str) -> int:
    """java.lang.String.hashCode, as a 32-bit pattern."""
    units = np.frombuffer(text.encode("utf-16-be"), ">u2")
    value = 0
    for unit in units.tolist():
        value = (31 * value + unit) & 0xFFFFFFFF
    return value


def _fold(value: NDArray[np.float64]) -> NDArray[np.uint32]:
    """java.lang.Double.hashCode, elementwise."""
    bits = np.ascontiguousarray(value).view(np.uint64)
    return (bits ^ (bits >> np.uint64(32))).astype(np.uint32)


def name_hashes(scenario: Scenario) -> NDArray[np.uint32]:
    """uint32 [Ω]: GENIUS's Bid.hashCode of each outcome, the sum of its options' string hashes."""
    total = np.zeros(scenario.size, np.uint32)
    for issue, picks in zip(scenario.issues, scenario.options.T, strict=True):
        total += np.array([_java_string_hash(option) for option in issue.options], np.uint32)[picks]
    return total


def _outcome_hashes(scenario: Scenario, utility: NDArray[np.float64]) -> NDArray[np.int32]:
    """GENIUS's BidDetails.hashCode with time -1 of each outcome, signed."""
    undated, prime = _fold(np.array([-1.0])), np.uint32(31)
    return (prime * (prime * (prime + name_hashes(scenario)) + _fold(utility)) + undated).view(np.int32)


@njit(cache=True)
def count_at_least(ranked: NDArray[np.float64], target: float) -> int:
    """How many of the descending `ranked` are not below `target`."""
    low, high = 0, ranked.size
    while low < high:
        middle = (low + high) // 2
        if ranked[middle] >= target:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def at_least(ranked: NDArray[np.float64], target: float) -> int:
    """The position, best first, of the least utility that is not below `target`; of equals the last; 0 if none is."""
    return max(count_at_least(ranked, target) - 1, 0)


@njit(cache=True)
def nearest(ranked: NDArray[np.float64], target: float) -> int:
    """The position of the utility nearest to `target`, as GENIUS's SortedOutcomeSpace finds it by bisection.

    The better outcome wins equal distances. An exact hit is wherever the bisection lands; NaN goes to the middle.
    """
    low, high = 0, ranked.size - 1
    last = -1
    middle = (low + high) // 2
    while middle != last and ranked[middle] != target:
        last = middle
        if ranked[middle] < target:
            high = middle
        elif ranked[middle] > target:
            low = middle
        middle = (low + high) // 2
    following = middle + 1
    if following < ranked.size and abs(ranked[following] - target) < abs(ranked[middle] - target):
        return following
    return middle

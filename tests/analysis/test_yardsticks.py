"""What trivial policies earn: figures known from elsewhere, and the table that the docs print."""

from pathlib import Path

import numpy as np
import pytest

from negzoo.analysis.roster import resolved, standard
from negzoo.analysis.yardsticks import YARDSTICKS, Yardstick, mean_utility, to_markdown, yardsticks
from negzoo.league.scores import score
from negzoo.opponents import play, resolve
from negzoo.opponents.timed import EXPONENTS
from negzoo.scenario import load, names

DOCS = Path(__file__).parents[2] / "docs" / "opponents.md"
HARDLINER_AGAINST_THE_SEVEN = {
    "laptop": 1,
    "is_bt_acquisition": 1,
    "itex_vs_cypress": 1,
    "grocery": 1,
    "thompson": 6 / 7,
}


def measured(domains, opponents, games=1):
    scenarios = [load(domain) for domain in domains]
    return list(yardsticks(scenarios, resolved(list(opponents), "paper"), games, seed=0, clock="paper"))


@pytest.mark.parametrize(("domain", "utility"), HARDLINER_AGAINST_THE_SEVEN.items())
def test_a_hardliner_gets_almost_all_from_the_seven(domain, utility):
    rows = measured([domain], EXPONENTS)
    assert len(rows) == 7
    assert mean_utility(rows, "Hardliner") == pytest.approx(utility)


def test_who_accepts_first_gets_the_first_offer():
    (row,) = measured(["laptop"], ["Hardliner"])
    laptop = load("laptop")
    assert row.scores["AcceptFirst"].utility == laptop.utilities[0, laptop.utilities[1].argmax()]
    assert row.scores["Hardliner"].utility == 0
    assert row.scores["LateHardliner"].utility == row.scores["AcceptFirst"].utility


def test_rows_come_domain_by_domain():
    rows = measured(["laptop", "grocery"], ["Linear", "AgentK"])
    pairs = [(row.domain, row.opponent) for row in rows]
    assert pairs == [("laptop", "Linear"), ("laptop", "AgentK"), ("grocery", "Linear"), ("grocery", "AgentK")]


def test_the_table_has_a_line_per_opponent_and_the_means():
    laptop = load("laptop")
    games = {name: play(laptop, resolve(name), resolve("Hardliner")) for name in YARDSTICKS}
    scores = {name: score(played, 0) for name, played in games.items()}
    rows = [Yardstick("laptop", "A", scores), Yardstick("laptop", "B", dict.fromkeys(YARDSTICKS, scores["Hardliner"]))]
    got = scores["AcceptFirst"].utility
    assert to_markdown(rows).splitlines() == [
        "| opponent | laptop |",
        "|---|---|",
        f"| A | {got:.3f} / 0.000 / {got:.3f} |",
        "| B | 0.000 / 0.000 / 0.000 |",
        f"| **mean** | {np.mean([got, 0]):.3f} / 0.000 / {np.mean([got, 0]):.3f} |",
    ]


def test_the_table_of_the_docs_is_what_the_command_makes():
    """`negzoo opponents yardsticks --markdown FILE` makes it anew."""
    assert to_markdown(measured(names(), standard(), games=100)) in DOCS.read_text("utf-8")

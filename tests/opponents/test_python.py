"""Strategies in Python: what they see, what they may answer, and what becomes of their faults."""

import importlib.util
import sys
import warnings
from dataclasses import dataclass

import numpy as np
import pytest

from negzoo.engine import Ending
from negzoo.opponents import Accept, Offer, PlayerView, PythonOpponent, Walk, play, resolve
from negzoo.opponents.python import OpponentFault
from negzoo.scenario import Issue, Profile, Scenario, load

LAPTOP = load("laptop")
HARDLINER = resolve("Hardliner")


class Watcher(PythonOpponent):
    """Keeps every view, and offers its outcomes in product order."""

    def __init__(self):
        self.views = []

    def respond(self, view):
        self.views.append(view)
        seen.append(self.views)
        return Offer(view.round - 1)


seen = []


@pytest.fixture(autouse=True)
def _nothing_seen_yet():
    seen.clear()


@dataclass(frozen=True)
class Answers(PythonOpponent):
    """Gives the same answer at each turn."""

    answer: object

    def respond(self, view):
        return self.answer


@dataclass(frozen=True)
class Raises(PythonOpponent):
    """Raises at its third turn."""

    error: Exception

    def respond(self, view):
        if view.round == 3:
            raise self.error
        return Offer(view.best)


class Gambler(PythonOpponent):
    """Offers whatever its random numbers say."""

    def respond(self, view):
        return Offer(int(view.rng.integers(len(view.utilities))))


def ending_of(opponent, opens=False):
    """How the one negotiation ends in which `opponent` meets a hardliner."""
    players = (opponent, HARDLINER) if opens else (HARDLINER, opponent)
    return Ending(int(play(LAPTOP, *players).negotiations.ending[0]))


# What a strategy sees


def test_it_sees_its_own_side_and_the_offers_so_far():
    play(LAPTOP, HARDLINER, Watcher(), rounds=4)
    view, best = seen[0][2], int(LAPTOP.utilities[0].argmax())
    assert np.array_equal(view.utilities, LAPTOP.utilities[1])
    assert view.issues == LAPTOP.issues
    assert view.offers == (best, 0, best, 1, best)
    assert (view.theirs, view.mine) == ((best, best, best), (0, 1))
    assert (view.round, view.rounds, view.time) == (3, 4, 5 / 8)
    assert view.received == best
    assert view.received_utility == LAPTOP.utilities[1][best]


def test_opening_it_sees_no_offer_and_is_worth_its_reservation():
    view = PlayerView((), np.array([0.5]), 0.25, (), 1, 40, 0.0, np.random.default_rng(0))
    assert (view.received, view.received_utility, view.mine, view.theirs) == (None, 0.25, (), ())


def test_offers_are_sorted_by_who_made_them_in_the_first_seat_too():
    play(LAPTOP, Watcher(), HARDLINER, rounds=3)
    view, best = seen[0][2], int(LAPTOP.utilities[1].argmax())
    assert (view.mine, view.theirs) == ((0, 1), (best, best))


def test_it_reads_the_time_of_the_table():
    play(LAPTOP, HARDLINER, Watcher(), rounds=4, clock="genius")
    assert [view.time for view in seen[0]] == [1 / 5, 2 / 5, 3 / 5, 4 / 5]


def test_best_and_within_look_up_its_own_utilities():
    view = PlayerView((), np.array([0.2, 0.9, 0.5, 0.9]), 0.0, (), 1, 40, 0.0, np.random.default_rng(0))
    assert view.best == 1
    assert view.within(0.5).tolist() == [1, 3, 2]
    assert view.within(0.2, 0.5).tolist() == [2, 0]
    assert view.within(0.95).tolist() == []


def test_utilities_are_clipped_at_1():
    play(LAPTOP, HARDLINER, Watcher(), rounds=1)
    assert LAPTOP.raw_utilities[1].max() > 1
    assert seen[0][0].utilities.max() == 1


def test_utilities_cannot_be_written_to_and_lead_to_no_other_figures():
    play(LAPTOP, HARDLINER, Watcher(), rounds=1)
    utilities = seen[0][0].utilities
    with pytest.raises(ValueError, match="read-only"):
        utilities[0] = 1.0
    assert utilities.base is None


# A negotiation's own copy, and its own random numbers


def test_every_negotiation_gets_a_fresh_copy():
    prototype = Watcher()
    play(LAPTOP, HARDLINER, prototype, games=3, rounds=5)
    assert prototype.views == []
    assert {len(views) for views in seen} == {5}
    assert len({id(views) for views in seen}) == 3


def test_its_random_numbers_are_the_negotiations_own():
    few, many = (play(LAPTOP, HARDLINER, Gambler(), games=games, seed=5).negotiations for games in (2, 9))
    assert np.array_equal(few.moves, many.moves[:2])
    assert len({tuple(moves) for moves in many.moves.tolist()}) == 9
    other = play(LAPTOP, HARDLINER, Gambler(), games=2, seed=6).negotiations
    assert not np.array_equal(few.moves, other.moves)


def test_the_two_sides_draw_different_random_numbers():
    moves = play(LAPTOP, Gambler(), Gambler(), rounds=40).negotiations.moves[0]
    assert not np.array_equal(moves[::2], moves[1::2])


# Answers


@pytest.mark.parametrize(
    ("answer", "ending"),
    [
        (Accept(), Ending.AGREEMENT),
        (Walk(), Ending.WALKED),
        (None, Ending.BREAKDOWN),
        (Offer(0), Ending.DEADLINE),
        (Offer(np.int64(26)), Ending.DEADLINE),
    ],
)
def test_answers_are_the_moves_they_name(answer, ending):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ending_of(Answers(answer)) == ending


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Offer(27), "OpponentError: offered outcome 27; laptop has the whole numbers 0 to 26$"),
        (Offer(-1), "OpponentError: offered outcome -1; laptop has the whole numbers 0 to 26$"),
        (Offer(2.5), "OpponentError: offered outcome 2.5; laptop has the whole numbers 0 to 26$"),
        (Offer(2.0), "OpponentError: offered outcome 2.0; laptop has the whole numbers 0 to 26$"),
        (Offer(None), "OpponentError: offered outcome None; laptop has the whole numbers 0 to 26$"),
        (Offer("3"), "OpponentError: offered outcome '3'; laptop has the whole numbers 0 to 26$"),
        (Offer(np.array([3])), r"OpponentError: offered outcome array\(\[3\]\); laptop has the whole numbers 0 to 26$"),
        (Accept, "an answer is"),
        (5, "answered 5; an answer is Offer"),
        ("accept", "answered 'accept'"),
        (True, "answered True"),
    ],
)
def test_any_other_answer_ends_the_negotiation_as_an_error_and_is_named(answer, message):
    with pytest.warns(OpponentFault, match=message):
        assert ending_of(Answers(answer)) == Ending.ERROR


def test_accepting_on_the_opening_move_is_an_error():
    with pytest.warns(OpponentFault, match="there is no offer to accept"):
        assert ending_of(Answers(Accept()), opens=True) == Ending.ERROR


def test_an_exception_ends_its_negotiation_and_says_where():
    with pytest.warns(OpponentFault, match="Raises, round 3: ZeroDivisionError: by nothing"):
        games = play(LAPTOP, HARDLINER, Raises(ZeroDivisionError("by nothing")), games=2)
    assert games.negotiations.ending.tolist() == [Ending.ERROR, Ending.ERROR]
    assert games.negotiations.step.tolist() == [6, 6]
    assert np.isnan(games.utilities).all()


def test_an_interrupt_is_not_swallowed():
    with pytest.raises(KeyboardInterrupt):
        play(LAPTOP, HARDLINER, Raises(KeyboardInterrupt()))


# Identity


def test_identity_tells_settings_apart():
    assert Answers(Walk()).identity != Answers(Accept()).identity
    assert Answers(Walk()).identity == Answers(Walk()).identity


def test_identity_tells_an_edited_strategy_from_what_it_was(tmp_path, monkeypatch):
    versions = [strategy_in(tmp_path / f"version_{last}.py", last, monkeypatch) for last in (1, 2)]
    assert [version.name for version in versions] == ["Early", "Early"]
    assert versions[0].identity != versions[1].identity
    assert versions[0].identity == strategy_in(tmp_path / "copy.py", 1, monkeypatch).identity


def strategy_in(path, last, monkeypatch):
    """The strategy in a new file at `path`, which accepts after round `last`."""
    path.write_text(
        "from negzoo.opponents import Accept, Offer, PythonOpponent\n\n"
        "class Early(PythonOpponent):\n"
        "    def respond(self, view):\n"
        f"        return Accept() if view.round > {last} else Offer(view.best)\n"
    )
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, module)
    spec.loader.exec_module(module)
    return module.Early()


def test_a_reservation_value_is_passed_on():
    profiles = tuple(Profile(name, (1.0,), ((0.0, 1.0),), reservation=0.4) for name in "ab")
    play(Scenario("reserved", (Issue("price", ("low", "high")),), profiles), HARDLINER, Watcher(), rounds=1)
    assert seen[0][0].reservation == 0.4

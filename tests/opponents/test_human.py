"""A person at the table: an opponent like any other, but never copied."""

import copy

import numpy as np
import pytest

from negzoo.engine import Ending
from negzoo.opponents import Accept, Offer, Walk, play, resolve
from negzoo.opponents.human import Human
from negzoo.scenario import load

LAPTOP = load("laptop")
HARDLINER = resolve("Hardliner")


def answering(*answers):
    """A person who gives these answers one after another, and the views that they saw."""
    upcoming, views = iter(answers), []

    def ask(view):
        views.append(view)
        return next(upcoming)

    return Human(ask), views


def test_a_person_sees_the_own_side_and_its_answers_are_played():
    person, views = answering(Offer(3), Offer(4), Accept())
    games = play(LAPTOP, HARDLINER, person)
    best = int(LAPTOP.utilities[0].argmax())
    assert [view.received for view in views] == [best] * 3
    assert all(np.array_equal(view.utilities, LAPTOP.utilities[1]) for view in views)
    assert games.negotiations.history(0)[1::2].tolist() == [3, 4, -1]
    assert games.negotiations.agreement[0] == best


def test_a_person_can_leave():
    person, _ = answering(Offer(0), Walk())
    games = play(LAPTOP, person, HARDLINER)
    assert games.negotiations.ending[0] == Ending.WALKED


def test_an_interrupt_ends_everything():
    def ask(_view):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play(LAPTOP, Human(ask), HARDLINER)


def test_the_same_person_sits_at_every_table():
    person, _ = answering()
    assert copy.deepcopy(person) is person
    assert (person.name, person.identity) == ("human", "human")

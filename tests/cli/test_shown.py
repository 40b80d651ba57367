"""Docstrings, filled anew to the width of the terminal."""

from negzoo.cli.shown import reflowed

DOCSTRING = """\
A strategy, of which
more is told below.

1. The first step is long enough to be broken.
   It goes on here.
   a. A part of it.
2. Second.

An end
in two lines."""


def test_paragraphs_are_joined_and_items_keep_their_indentation():
    assert reflowed(DOCSTRING, 34).splitlines() == [
        "A strategy, of which more is told",
        "below.",
        "",
        "1. The first step is long enough",
        "   to be broken. It goes on here.",
        "   a. A part of it.",
        "2. Second.",
        "",
        "An end in two lines.",
    ]


def test_what_fits_stays_as_it_is():
    assert reflowed("One line.\n\n- an item", 80) == "One line.\n\n- an item"

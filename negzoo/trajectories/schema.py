"""The trajectory file, schema version 1: every negotiation as flat HDF5 columns, in the order of writing.

One file per writing process, `NAME.h5`; while it is written, and after a crash, `NAME.h5.tmp`. A column is a
one-dimensional dataset. All columns of a group have the same length and row i of each belongs together. In a
`.tmp` file some columns may be ahead of others; what all of them hold is valid.

Attributes of the file
    schema_version    int    1
    negzoo_version    str    the version that wrote it
    created           str    when, UTC, ISO 8601
    description       str    what this is, for whoever opens it with another tool

`steps/`, one row per move
    episode           int32    the negotiation: a row of `episodes/` of this file
    round             int32    1-based; both players' k-th moves are in round k
    actor             int8     who moves: player 0 or 1
    kind              int8     0 offer, 1 accept, 2 walk away, 3 nothing (no move came), 4 fault (it raised)
    outcome           int32    the outcome offered or accepted, an index in product order; -1 none
    utility_0         float32  in [0, 1], what that outcome is worth to player 0; NaN where there is none
    utility_1         float32  the same for player 1

`episodes/`, one row per finished negotiation
    first_step        int64    its first row of `steps/`; its rows are consecutive
    steps             int32    how many moves it has, at least 1
    domain            int32    row of `tables/domains`
    player_0          int32    row of `tables/players`: who sat there
    player_1          int32    the same for player 1
    learner           int8     the seat of the learner, 0 or 1; -1 none
    seed              uint64   the seed of its random streams
    index             uint64   its own number under that seed; (seed, index) fixes every draw
    stage             int32    row of `tables/stages`, such as "train" or "evaluate"
    model             int32    row of `tables/models`: which policy learned or was evaluated
    clock             int32    row of `tables/clocks`: the time that the players saw
    swapped           int8     0: player 0 holds profile 1 of the domain; 1: it holds profile 2
    rounds            int32    the deadline: each player moves at most so often
    ending            int8     1 agreement, 2 walked, 3 breakdown, 4 deadline, 5 error
    agreement         int32    the outcome agreed on; -1 none
    utility_0         float64  in [0, 1], what player 0 got: 0 without agreement; NaN after an error
    utility_1         float64  the same for player 1

`tables/`, the names that the ids above stand for; UTF-8, at most 256 bytes; an empty name stands for none
    domains/name      str    the scenario's name
    domains/hash      str    the hash of what is negotiated; domains of one name and two hashes are two rows
    players/name      str
    stages/name       str
    models/name       str
    clocks/name       str

A reader leaves other columns and groups alone. Utilities are stored although a domain gives them: a file can
be read, and summed up, by whoever does not have its domains.
"""

from dataclasses import dataclass
from enum import IntEnum
from math import inf

import numpy as np

SCHEMA_VERSION = 1
SUFFIX = ".h5"
UNFINISHED = ".tmp"
NONE = -1
"""Stands for no outcome, and for no learner."""
NAME_BYTES = 256
MAX_CHUNK = 1 << 20
"""Rows of the longest chunk that a reader takes: a damaged file cannot make it allocate more at once."""
DESCRIPTION = (
    "Negotiations as flat columns, written by negzoo: steps/ has a row per move, episodes/ a row per "
    "negotiation, tables/ the names behind the ids. docs/trajectories.md of negzoo describes every column."
)


class Kind(IntEnum):
    """What a move does. A move that is no offer is `-kind` in the engine."""

    OFFER = 0
    ACCEPT = 1
    WALK = 2
    NOTHING = 3
    FAULT = 4


@dataclass(frozen=True)
class Column:
    """One dataset: its type, the values it may hold, and the table that its ids point into."""

    name: str
    dtype: str
    low: float = -inf
    high: float = inf
    table: str | None = None


@dataclass(frozen=True)
class Group:
    """Columns of one length. `chunk` is the number of rows that are stored, and compressed, together."""

    path: str
    columns: tuple[Column, ...]
    chunk: int
    compressed: bool = True

    @property
    def dtype(self) -> np.dtype[np.void]:
        """A row in memory."""
        return np.dtype([(column.name, column.dtype) for column in self.columns])


def _id(name: str, table: str) -> Column:
    return Column(name, "<i4", low=0, table=table)


def _table(name: str, *columns: str) -> Group:
    strings = tuple(Column(column, f"S{NAME_BYTES}") for column in columns)
    return Group(f"tables/{name}", strings, chunk=8, compressed=False)


STEPS = Group(
    "steps",
    (
        Column("episode", "<i4", low=0),
        Column("round", "<i4", low=1),
        Column("actor", "|i1", low=0, high=1),
        Column("kind", "|i1", low=min(Kind), high=max(Kind)),
        Column("outcome", "<i4", low=NONE),
        Column("utility_0", "<f4", low=0, high=1),
        Column("utility_1", "<f4", low=0, high=1),
    ),
    chunk=16_384,
)

EPISODES = Group(
    "episodes",
    (
        Column("first_step", "<i8", low=0),
        Column("steps", "<i4", low=1),
        _id("domain", "domains"),
        _id("player_0", "players"),
        _id("player_1", "players"),
        Column("learner", "|i1", low=NONE, high=1),
        Column("seed", "<u8"),
        Column("index", "<u8"),
        _id("stage", "stages"),
        _id("model", "models"),
        _id("clock", "clocks"),
        Column("swapped", "|i1", low=0, high=1),
        Column("rounds", "<i4", low=1),
        Column("ending", "|i1", low=1, high=5),
        Column("agreement", "<i4", low=NONE),
        Column("utility_0", "<f8", low=0, high=1),
        Column("utility_1", "<f8", low=0, high=1),
    ),
    chunk=1_024,
)

TABLES = {
    "domains": _table("domains", "name", "hash"),
    "players": _table("players", "name"),
    "stages": _table("stages", "name"),
    "models": _table("models", "name"),
    "clocks": _table("clocks", "name"),
}

GROUPS = (STEPS, EPISODES, *TABLES.values())

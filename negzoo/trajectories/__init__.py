"""The log of every negotiation: flat HDF5 columns that survive a crash (`schema` describes each of them)."""

from negzoo.trajectories.batch import Labels, Played
from negzoo.trajectories.reader import Episode, Trajectories, open_trajectories
from negzoo.trajectories.schema import SCHEMA_VERSION, Kind
from negzoo.trajectories.summary import Encounters, Summary
from negzoo.trajectories.writer import TrajectoryWriter

__all__ = [
    "SCHEMA_VERSION",
    "Encounters",
    "Episode",
    "Kind",
    "Labels",
    "Played",
    "Summary",
    "Trajectories",
    "TrajectoryWriter",
    "open_trajectories",
]

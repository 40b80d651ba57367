"""What is negotiated: domains, preferences, and the geometry of their outcomes."""

from negzoo.scenario.catalogue import data_folder, load, names
from negzoo.scenario.domain import MAX_OUTCOMES, Issue, Profile, Scenario
from negzoo.scenario.formats import dumps_toml, loads_toml, read_toml, write_toml
from negzoo.scenario.geometry import Geometry, pareto_frontier

__all__ = [
    "MAX_OUTCOMES",
    "Geometry",
    "Issue",
    "Profile",
    "Scenario",
    "data_folder",
    "dumps_toml",
    "load",
    "loads_toml",
    "names",
    "pareto_frontier",
    "read_toml",
    "write_toml",
]

"""What was measured, on what machine."""

import os
import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

from negzoo import __version__


@dataclass(frozen=True)
class Speed:
    """How fast one opponent played in one domain.

    Attributes:
        domain, opponent: which.
        rates: learner steps per second, one figure per repeat.
    """

    domain: str
    opponent: str
    rates: tuple[float, ...]

    @property
    def median(self) -> float:
        return float(np.median(self.rates))

    @property
    def quartiles(self) -> tuple[float, float]:
        """The first and the third: half of the repeats lie between."""
        low, high = np.quantile(self.rates, (0.25, 0.75)).tolist()
        return low, high


def machine() -> dict[str, str]:
    """What was measured on, and with what."""
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count() or 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{package: version(package) for package in ("numpy", "numba", "torch", "tianshou")},
        "negzoo": __version__,
    }


def _processor() -> str:
    """The processor's name, where the system tells it."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"

"""The machine of a measurement, and a yardstick loop that slows down with it.

The yardstick is a bare compiled loop with the memory behaviour of a packet crossing a link: dependent visits to
64-byte rows, two integer updates each. On a shared or slow machine it slows down with the engine, so a test can
bound the ratio of the two but not absolute figures.
"""

from __future__ import annotations

import os
import platform
import re
import resource
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numba
import numpy as np
from numpy.typing import NDArray

ROWS: Final = 1 << 15
"""2 MB of 64-byte rows: beyond the first-level cache, as the packet table of P256 is."""
STEPS: Final = 1 << 22


def conditions() -> dict[str, Any]:
    """Processor, cores, load when the measurement began, versions."""
    load = os.getloadavg()
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "load_average": [round(value, 2) for value in load],
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numba": numba.__version__,
        "numpy": np.__version__,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def _cpu_model() -> str:
    listing = Path("/proc/cpuinfo")
    if listing.is_file():
        for line in listing.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def peak_rss_bytes() -> int:
    """Largest resident size of this process so far.

    Linux: VmHWM of proc(5), because ru_maxrss survives exec and would be the parent's. Elsewhere getrusage: bytes on
    macOS, KiB on others.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        found = re.search(r"^VmHWM:\s*(\d+) kB", status.read_text(encoding="ascii"), re.MULTILINE)
        if found:
            return int(found[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def yardstick_steps_per_s(repeats: int = 3) -> float:
    """Steps of the bare loop per CPU second; the best of `repeats`."""
    table = np.zeros((ROWS, 8), np.int64)
    table[:, 0] = np.random.default_rng(1).permutation(ROWS)
    _walk(table, 1)
    return max(_timed(table) for _ in range(repeats))


def _timed(table: NDArray[np.int64]) -> float:
    began = time.process_time()
    _walk(table, STEPS)
    return STEPS / (time.process_time() - began)


@numba.njit  # type: ignore[untyped-decorator,unused-ignore]
def _walk(table: NDArray[np.int64], steps: int) -> int:
    row = 0
    for step in range(steps):
        table[row, 1] += 1
        table[row, 2] += step
        row = (table[row, 0] + step) & (ROWS - 1)
    return int(table[row, 1])


def median(values: list[float]) -> float:
    """The middle value, or the mean of the middle two."""
    return float(statistics.median(values))


def undisturbed_s(steps: Sequence[Sequence[float]]) -> float:
    """Sum over the steps of each step's second fastest wall time among the runs.

    Every run does the same work in the same step, and other load on the host comes in bursts, so this is the time of a
    quiet machine, or a little more. The fastest is left out because it may be an outlier.
    """
    return sum(sorted(times)[min(1, len(times) - 1)] for times in zip(*steps, strict=True))

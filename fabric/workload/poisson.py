"""Independent messages at Poisson arrivals: the load of data-centre traces.

The load counts payload against the sum of a host's port rates, as the HPCC repository's generator does; headers
come on top. Within the arrival window the number of messages of each host is Poisson and their times are uniform, which
is the same process drawn at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.errors import InputErrors, Problem
from fabric.reading import MIB
from fabric.units import PS_PER_S
from fabric.workload.batch import Batch, Surroundings, nothing, plain
from fabric.workload.beside import read_beside
from fabric.workload.demand import DRAWN, FLOWS, Demand, SpecField, no_demand, of_batch
from fabric.workload.spec import PoissonSpec

MAX_MESSAGES: Final = 20_000_000

_Points = tuple[tuple[float, float], ...]

DISTRIBUTIONS: Final[Mapping[str, _Points]] = {
    # (bytes, cumulative percent), linear in between: alibaba-edu/High-Precision-Congestion-Control traffic_gen/.
    # DCTCP's web search cluster (Alizadeh et al., SIGCOMM 2010):
    "websearch": (
        (0, 0),
        (10_000, 15),
        (20_000, 20),
        (30_000, 30),
        (50_000, 40),
        (80_000, 53),
        (200_000, 60),
        (1_000_000, 70),
        (2_000_000, 80),
        (5_000_000, 90),
        (10_000_000, 97),
        (30_000_000, 100),
    ),
    # Facebook's Hadoop cluster (Roy et al., SIGCOMM 2015):
    "fb-hadoop": (
        (0, 0),
        (100, 1),
        (200, 2),
        (300, 5),
        (350, 15),
        (400, 20),
        (500, 30),
        (600, 40),
        (700, 50),
        (1000, 60),
        (2000, 67),
        (7000, 70),
        (30_000, 72),
        (50_000, 82),
        (80_000, 87),
        (120_000, 90),
        (300_000, 95),
        (1_000_000, 97.5),
        (2_000_000, 99),
        (10_000_000, 100),
    ),
}


def mean_bytes(points: _Points) -> float:
    """Mean of a piecewise linear distribution."""
    return sum((b1 + b0) / 2 * (p1 - p0) for (b0, p0), (b1, p1) in pairwise(points)) / 100


def draw_sizes(points: _Points, n: int, random: np.random.Generator) -> NDArray[np.int64]:
    """n sizes by inversion, at least 1 byte."""
    size, percent = np.array(points, float).T
    sizes: NDArray[np.int64] = np.maximum(np.interp(random.random(n) * 100, percent, size).astype(np.int64), 1)
    return sizes


def _finite(word: str) -> float:
    value = float(word)
    if not isfinite(value):
        raise ValueError(f"{word} is not a finite number")
    return value


def read_cdf(file: Path, path: str, problems: list[Problem]) -> _Points:
    """A user's distribution: lines '<bytes> <percent>', ascending from 0 to 100 percent; '#' begins a comment."""
    points: list[tuple[float, float]] = []
    try:
        lines = read_beside(file, MIB, path).splitlines()
    except InputErrors as error:
        problems += error.problems
        return ()
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            size, percent = (_finite(word) for word in words)
        except ValueError:
            problems.append(
                Problem(f"{path}, {file.name} line {number}", "is not '<bytes> <percent>'", "such as '10000 15'")
            )
            return ()
        if points and (size < points[-1][0] or percent < points[-1][1]):
            problems.append(
                Problem(
                    f"{path}, {file.name} line {number}",
                    "bytes and percent must not fall from line to line",
                    "sort the lines, smallest first",
                )
            )
            return ()
        points.append((size, percent))
    if len(points) < 2 or points[0][1] != 0 or points[-1][1] != 100 or points[-1][0] <= 0:
        problems.append(
            Problem(
                path,
                f"{file.name} does not run from 0 to 100 percent",
                "the first line holds 0 percent, the last 100, and sizes end above 0 bytes",
            )
        )
        return ()
    return tuple(points)


def generate(spec: PoissonSpec, name: str, path: str, around: Surroundings) -> Batch:
    """Messages in order of time. Arrivals, sizes and destinations are drawn from separate streams."""
    hosts = around.hosts(spec.hosts, f"{path}.hosts", at_least=2)
    points = _points(spec, path, around)
    if len(hosts) < 2 or not points:
        return nothing()
    leaf = around.leaf[hosts]
    if spec.destinations == "other-leaf" and len(np.unique(leaf)) < 2:
        around.problems.append(
            Problem(
                f"{path}.destinations",
                "all of these hosts are on one leaf",
                "use destinations: any, or name hosts of several leaves",
            )
        )
        return nothing()
    expected = _expected(spec, hosts, points, around)
    if expected.sum() > MAX_MESSAGES:
        around.problems.append(
            Problem(
                path,
                f"this load means about {expected.sum():.3g} messages",
                f"shorten the window or raise the sizes; at most {MAX_MESSAGES:,} fit",
            )
        )
        return nothing()
    arrivals = around.random(name, "arrivals")
    counts = arrivals.poisson(expected)
    n = int(counts.sum())
    if n == 0:
        around.problems.append(
            Problem(
                path,
                f"no message arrives: {expected.sum():.2g} are expected in this window",
                "lengthen the window or raise the load",
            )
        )
        return nothing()
    sender = np.repeat(np.arange(len(hosts)), counts)
    start = spec.start + (arrivals.random(n) * (spec.stop - spec.start)).astype(np.int64)
    order = np.lexsort((sender, start))
    sender, start = sender[order], start[order]
    receiver = _receivers(
        sender, leaf if spec.destinations == "other-leaf" else None, len(hosts), around.random(name, "destinations")
    )
    return plain(hosts[sender], hosts[receiver], draw_sizes(points, n, around.random(name, "sizes")), start)


def _receivers(
    sender: NDArray[np.int64], leaf: NDArray[np.int64] | None, n_hosts: int, random: np.random.Generator
) -> NDArray[np.int64]:
    """Uniform over the other hosts, or over those of other leaves (a leaf's hosts are skipped as one block)."""
    if leaf is None:
        drawn = random.integers(0, n_hosts - 1, len(sender))
        return drawn + (drawn >= sender)
    by_leaf = np.argsort(leaf, kind="stable")
    ordered = leaf[by_leaf]
    first = np.searchsorted(ordered, leaf[sender], "left")
    count = np.searchsorted(ordered, leaf[sender], "right") - first
    drawn = (random.random(len(sender)) * (n_hosts - count)).astype(np.int64)
    return by_leaf[drawn + np.where(drawn >= first, count, 0)]


def _points(spec: PoissonSpec, path: str, around: Surroundings) -> _Points:
    """The distribution of sizes; () where its file is wrong."""
    if spec.cdf is not None:
        return read_cdf(around.folder / spec.cdf, f"{path}.cdf", around.problems)
    if spec.size is not None:
        return ((spec.size, 0), (spec.size, 100))
    return DISTRIBUTIONS[spec.sizes]


def _expected(
    spec: PoissonSpec, hosts: NDArray[np.int64], points: _Points, around: Surroundings
) -> NDArray[np.float64]:
    """Expected number of messages of each host."""
    window_s = (spec.stop - spec.start) / PS_PER_S
    return np.asarray(spec.load * around.rate_bps[hosts] / (8 * mean_bytes(points)) * window_s, np.float64)


_GRID: Final = 10_000
"""Quantiles that represent a distribution of sizes."""


def demand(spec: PoissonSpec, name: str, path: str, around: Surroundings) -> Demand:
    """The messages themselves where they are few, else their expectation."""
    hosts = around.hosts(spec.hosts, f"{path}.hosts", at_least=2)
    points = _points(spec, path, around)
    if len(hosts) < 2 or not points:
        return no_demand()
    expected = _expected(spec, hosts, points, around)
    n_hosts, count = len(around.fabric.hosts), float(expected.sum())
    window = SpecField("stop", spec.stop - spec.start, "time")
    # Without a value: the load is fixed, so larger messages are fewer and the traffic stays the same.
    sizes = SpecField({"fixed": "size", "file": "cdf"}.get(spec.sizes, "sizes"))
    if count <= DRAWN:
        return of_batch(window, sizes, generate(spec, name, path, around), n_hosts)
    size, percent = np.array(points, float).T
    grid = np.maximum(np.floor(np.interp((np.arange(_GRID) + 0.5) / _GRID * 100, percent, size)), 1)
    tx, rx = np.zeros(n_hosts), np.zeros(n_hosts)
    tx[hosts] = expected * grid.mean()
    rx[hosts] = tx.sum() / len(hosts)
    sender = np.linspace(0, len(hosts) - 1, FLOWS).astype(np.int64)
    leaf = around.leaf[hosts]
    other = spec.destinations == "other-leaf" and len(np.unique(leaf)) > 1
    receiver = _receivers(sender, leaf if other else None, len(hosts), around.random(name, "destinations"))
    pairs = len(hosts) * (len(hosts) - 1)
    return Demand(
        window,
        sizes,
        grid,
        np.full(_GRID, count / _GRID),
        tx,
        rx,
        hosts[sender],
        hosts[receiver],
        pairs * -np.expm1(-count / pairs),
        spec.start,
        spec.stop,
        exact=False,
    )

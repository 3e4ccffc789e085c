"""One thread and two, with both cores at hand and with one of them kept busy by somebody else."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from bench import cases
from bench.machine import conditions, median
from bench.worker import measure
from fabric.errors import FabricError, InvariantError

_RUNS = 3
"""Runs in one process: the first touches its memory for the first time."""


def threads(*, quick: bool = False, repeats: int = 3) -> dict[str, Any]:
    """P256 four ways, the ways taken in turn so that a drift of the machine meets all of them.

    Raises: FabricError on a single core or where the sources change meanwhile; InvariantError where two threads end in
    another state than one.
    """
    if conditions()["cores"] < 2:
        raise FabricError("two threads cannot be measured on one core", "leave out --only threads")
    raw = cases.named("P256", quick=quick)
    found: dict[tuple[int, bool], list[dict[str, Any]]] = {}
    for _ in range(repeats):
        for busy in (False, True):
            for count in (1, 2):
                found.setdefault((count, busy), []).append(_with_neighbour(raw, count, busy=busy))
    if len({run["source"] for runs in found.values() for run in runs}) > 1:
        raise FabricError("the engine's sources changed while it was measured", "measure a copy that nobody edits")
    if len({run["digest"] for runs in found.values() for run in runs}) > 1:
        raise InvariantError("two threads end P256 in another state than one", "please report this with the machine")
    rows = [{"threads": count, "busy": busy, "hops_per_s": median([run["hops_per_wall_s"] for run in runs]),
             "best_hops_per_s": max(run["hops_per_wall_s"] for run in runs),
             "cpu_per_wall_ratio": median([run["cpu_s"] / run["wall_s"] for run in runs])}
            for (count, busy), runs in found.items()]
    return {"rows": rows, "digest_equal": True, "repeats": repeats}


def _with_neighbour(raw: dict[str, Any], count: int, *, busy: bool) -> dict[str, Any]:
    if not busy:
        return measure("play", raw=raw, threads=count, repeats=_RUNS)
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as neighbour:
        try:
            return measure("play", raw=raw, threads=count, repeats=_RUNS)
        finally:
            neighbour.kill()

"""One thread and two, with both cores idle and with one of them kept busy by another process."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from bench import cases
from bench.machine import conditions, median, undisturbed_s
from bench.worker import measure
from fabric.errors import FabricError, InvariantError

_RUNS = 3
"""Runs in one process."""


def threads(*, quick: bool = False, repeats: int = 4) -> dict[str, Any]:
    """P256 in four variants and P1024 in two, alternating so that a drift of the machine affects all.

    Raises: FabricError on a single core or if the sources change meanwhile; InvariantError if the final states of
    one and two threads differ.
    """
    if conditions()["cores"] < 2:
        raise FabricError("two threads cannot be measured on one core", "leave out --only threads")
    found: dict[tuple[str, bool, int], list[dict[str, Any]]] = {}
    for _ in range(repeats):
        for case, busy in (("P256", False), ("P256", True), ("P1024", False)):
            raw = cases.named(case, quick=quick)
            for count in (1, 2):
                found.setdefault((case, busy, count), []).append(_with_neighbour(raw, count, busy=busy))
    if len({run["source"] for runs in found.values() for run in runs}) > 1:
        raise FabricError("the engine's sources changed while it was measured", "measure a copy that is not edited")
    for case in dict.fromkeys(case for case, _, _ in found):
        if len({run["digest"] for (its, _, _), runs in found.items() if its == case for run in runs}) > 1:
            raise InvariantError(
                f"{case}: the final states of one and two threads differ", "please report this with the machine"
            )
    rows = [
        {
            "case": case,
            "threads": count,
            "busy": busy,
            "hops_per_s": median([run["hops_per_wall_s"] for run in runs]),
            "best_hops_per_s": max(run["hops_per_wall_s"] for run in runs),
            "undisturbed_hops_per_s": runs[0]["packet_hops"]
            / undisturbed_s([steps for run in runs for steps in run["step_s"]]),
            "cpu_per_wall_ratio": median([run["cpu_s"] / run["wall_s"] for run in runs]),
        }
        for (case, busy, count), runs in found.items()
    ]
    return {"rows": rows, "digest_equal": True, "repeats": repeats}


def _with_neighbour(raw: dict[str, Any], count: int, *, busy: bool) -> dict[str, Any]:
    if not busy:
        return measure("simulate", raw=raw, threads=count, repeats=_RUNS)
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as neighbour:
        try:
            return measure("simulate", raw=raw, threads=count, repeats=_RUNS)
        finally:
            neighbour.kill()

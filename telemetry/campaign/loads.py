"""Loads at random: Poisson arrivals by three size distributions, permutations, incasts, all-to-all, computing steps.

The bytes of a run are limited (BUDGET_BYTES): on fast fabrics the load is lower, never the run shorter, because several
alerts need minutes of an operator's clock.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Final

from telemetry.campaign.fabrics import Drawn, log_uniform

BUDGET_BYTES: Final = 2.0e9
KINDS: Final = ("poisson", "permutation", "incast", "all-to-all", "steps")


@dataclass(frozen=True)
class Load:
    """The workload of a run."""

    workload: list[dict[str, Any]]
    duration_ns: int
    receiver: str
    """Host that surely receives."""
    arrival_bps: float
    """About what arrives there."""
    kind: str


def draw_load(random_: random.Random, drawn: Drawn) -> Load:
    """One load: Poisson background nearly always, and one of KINDS."""
    hosts = [it.name for it in drawn.fabric.hosts]
    ms = random_.choice((24, 30, 30, 40))
    whole_bytes = len(hosts) * drawn.host_bps / 8 * ms / 1e3
    most = min(0.9, BUDGET_BYTES / whole_bytes)
    kind = random_.choice(KINDS)
    receiver = random_.choice(hosts)
    if kind == "poisson":
        load = round(max(random_.uniform(0.1, 0.9) * most / 0.9, 0.01), 3)
        return Load([_poisson(random_, load, ms)], ms * 10**6, receiver, load * drawn.host_bps, kind)
    share = round(max(random_.uniform(0.1, 0.3) * most, 0.01), 3)
    work: list[dict[str, Any]] = [_poisson(random_, share, ms)]
    arrival = share * drawn.host_bps
    left = max(most - share, 0.05)
    if kind == "incast":
        fan = min(random_.randint(4, 64), len(hosts) - 1)
        size = round(log_uniform(random_, 16e3, 4e6))
        rounds = max(min(round(left * whole_bytes / 4 / (fan * size)), 300), 1)
        gap_us = round(ms * 1e3 * 0.9 / rounds)
        work.append({"name": "incast", "kind": "incast", "receiver": receiver, "fan_in": fan, "size": f"{size}B"}
                    | ({"repeat": rounds, "interval": f"{gap_us}us"} if rounds > 1 else {}))  # fmt: skip
        arrival = min(arrival + fan * size * 8 / (gap_us / 1e6), drawn.host_bps)
        return Load(work, ms * 10**6, receiver, arrival, kind)
    steps = max(round(ms / random_.uniform(2, 10)), 1) if kind == "steps" else random_.randint(1, 4)
    gap_us = round(ms * 1e3 * 0.95 / steps)
    total = min(left * whole_bytes * 0.7, BUDGET_BYTES / 2)
    pattern = "all-to-all" if kind == "all-to-all" or random_.random() < 0.5 else "permutation"
    parts = len(hosts) * (len(hosts) - 1 if pattern == "all-to-all" else 1)
    size = max(round(total / steps / parts), 4096)
    work.append({"name": "steps", "kind": pattern, "size": f"{size}B"}
                | ({"repeat": steps, "interval": f"{gap_us}us"} if steps > 1 else {}))  # fmt: skip
    arrival += min(total / len(hosts) * 8 / (ms / 1e3), drawn.host_bps)
    return Load(work, ms * 10**6, receiver, min(arrival, drawn.host_bps), kind)


def _poisson(random_: random.Random, load: float, ms: int) -> dict[str, Any]:
    sizes = random_.choice(("websearch", "fb-hadoop", "fixed"))
    found = {"name": "background", "kind": "poisson", "sizes": sizes, "load": load, "stop": f"{ms}ms"}
    return found | ({"size": "64KB"} if sizes == "fixed" else {})

"""NCCL's tuning model written a second time, for Hopper on Intel hosts, at systems that no recorded table has.

Source: NCCL 2.30.7, src/graph/tuning.cc (ncclTopoTuneModel, ncclTopoGetAlgoTime). Times in us, bandwidths in GB/s.
"""

from __future__ import annotations

import math

import pytest

from fabric.collectives.nccl.choice import choose
from fabric.collectives.nccl.system import Channels, System
from fabric.collectives.nccl.tables import Generation, Operation

BASE = {"LL": (6.8, 6.6), "LL128": (14.0, 14.0), "Simple": (8.4, 8.4)}
"""Protocol -> (tree, ring), as below."""
NVLINK = {"LL": (0.6, 0.6), "LL128": (1.25, 1.9), "Simple": (4.0, 3.4)}
NETWORK = {"LL": (5.0, 2.7), "LL128": (8.5, 4.0), "Simple": (14.0, 14.0)}
FACTORS = {
    "LL": [1, 1, 1, 1, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
    "LL128": [1, 1, 1, 1, 1, 0.9, 0.8, 0.8, 0.8, 0.7, *[0.6] * 6, 0.8, 0.9, 0.9, 0.9, 0.9],
    "Simple": [*[0.9] * 7, 0.8, 0.7, 0.6, 0.6, *[0.5] * 4, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9],
}
"""Of a tree's bandwidth, by log2(bytes / 64); 1 behind the end."""


def ring_us(protocol: str, nodes: int, gpus: int, count: int, speed: float, size_bytes: int) -> float:
    ranks, total = nodes * gpus, count * speed
    bandwidth = {"LL": min((141, 39, 20.4)[min(nodes, 3) - 1], total / 2), "Simple": total}
    bandwidth["LL128"] = min(0.92 * total, count * 36.7)
    steps, between = 2 * (ranks - 1), 2 * (nodes - 1)
    overhead = (3.0 if protocol == "Simple" else 1.0) if nodes > 1 else 0.0
    inside = max(NVLINK[protocol][1], overhead)
    latency = BASE[protocol][1] + (steps - between) * inside + between * NETWORK[protocol][1]
    if protocol == "Simple" and nodes > 1 and size_bytes / (count * ranks) >= 64:
        latency *= 1.4
    return latency + size_bytes / (bandwidth[protocol] * ranks / steps * 1000)


def tree_us(protocol: str, nodes: int, gpus: int, count: int, speed: float, size_bytes: int) -> float:
    column = min(nodes, 3) - 1
    total = min(0.92 * count * speed, count * (38.7, 41.4, 36.0)[column])
    bandwidth = {"LL": min(total / 3.8, (141, 39, 20.4)[column]), "Simple": total}
    bandwidth["LL128"] = min(total * (7 / 9 if nodes == 1 else 120 / 128), count * (36.7, 36.7, 29.0)[column])
    place, factors = int(math.log2(size_bytes // 64)), FACTORS[protocol]
    factor = factors[place] if place < len(factors) else 1.0
    hops = (gpus - 1) * NVLINK[protocol][0] + math.floor(math.log2(nodes)) * NETWORK[protocol][0]
    return BASE[protocol][0] + 2 * hops + size_bytes / (bandwidth[protocol] / 2 * factor * 1000)


@pytest.mark.parametrize(
    ("nodes", "gpus", "count", "speed"),
    [(1, 8, 24, 15), (2, 8, 16, 24), (3, 8, 16, 24), (6, 8, 16, 24), (64, 8, 16, 24), (5, 4, 8, 40), (128, 8, 32, 12)],
)
def test_ring_and_tree_take_the_times_of_the_formulas_at_any_number_of_nodes(
    nodes: int, gpus: int, count: int, speed: float
) -> None:
    system = System(Generation.HOPPER, nodes, gpus, Channels(count, speed, speed))
    for size_bytes in (1 << power for power in range(10, 31)):
        found = {
            (str(it.algorithm), str(it.protocol)): it.time_us
            for it in choose(system, Operation.ALL_REDUCE, size_bytes).predictions
            if it.algorithm in {"ring", "tree"}
        }
        expected = {
            (name, protocol): make(protocol, nodes, gpus, count, speed, size_bytes)
            for name, make in (("ring", ring_us), ("tree", tree_us))
            for protocol in BASE
        }
        assert found == pytest.approx(expected, rel=1e-3)

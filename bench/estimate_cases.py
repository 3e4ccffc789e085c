"""Scenarios for the estimate: random ones of every workload and size class, as mappings of scenario files."""

from __future__ import annotations

import random
from typing import Any, Final

CALIBRATION_SEED: Final = 1
"""The constants of fabric/scenario/estimate/costs.py come from these scenarios alone."""
HELD_OUT_SEED: Final = 2
"""The error of the estimates is reported for these and for the scenarios that come with the package."""

_RATES: Final = ("25G", "100G", "400G")


def random_scenarios(count: int, seed: int) -> dict[str, dict[str, Any]]:
    """Name -> scenario. The same for the same seed."""
    draw = random.Random(seed)
    return {f"random-{seed}-{number}": _scenario(draw, f"random-{seed}-{number}") for number in range(count)}


def _scenario(draw: random.Random, name: str) -> dict[str, Any]:
    topology, hosts = _topology(draw)
    load = _workload(draw, hosts, "node1-gpu1" if topology["kind"] == "rail" else "host1")
    raw: dict[str, Any] = {
        "name": name,
        "topology": topology,
        "workload": load,
        "transport": {"mtu": draw.choice(["1024B", "4096B"]), "ack_every": draw.choice([1, 1, 4])},
        "telemetry": {"interval": draw.choice(["5us", "20us", "100us", "1ms"])},
        "run": {"duration": draw.choice(["20ms", "100ms"]), "seed": draw.randrange(1000)},
    }
    if draw.random() < 0.2:
        raw["telemetry"]["events"] = []
    if draw.random() < 0.3:
        raw["transport"]["qp"] = {"per": "pair", "count": draw.choice([1, 4])}
    if draw.random() < 0.2:
        raw["vxlan"] = {}
    if draw.random() < 0.2:
        raw["transport"]["cc"] = "none"
    if draw.random() < 0.15:
        raw["routing"] = "bgp"
    return raw


def _topology(draw: random.Random) -> tuple[dict[str, Any], int]:
    rate = draw.choice(_RATES)
    rates = {"host_rate": rate, "fabric_rate": draw.choice([rate, rate, "400G"])}
    kind = draw.choice(["leaf-spine", "leaf-spine", "leaf-spine", "clos3", "rail", "dual-tor"])
    if kind == "leaf-spine":
        leaves, hosts = draw.choice([2, 4, 8, 16]), draw.choice([2, 4, 8, 16])
        return {
            "kind": kind,
            "leaves": leaves,
            "spines": draw.choice([2, 4, 8]),
            "hosts_per_leaf": hosts,
            **rates,
        }, leaves * hosts
    if kind == "clos3":
        pods, hosts = draw.choice([2, 4, 8]), draw.choice([2, 4, 8])
        return {
            "kind": kind,
            "pods": pods,
            "leaves_per_pod": 4,
            "spines_per_pod": 2,
            "super_spines": 4,
            "hosts_per_leaf": hosts,
            **rates,
        }, pods * 4 * hosts
    if kind == "rail":
        pods, nodes = draw.choice([1, 2]), draw.choice([4, 8])
        return {"kind": kind, "pods": pods, "nodes_per_pod": nodes, "rails": 4, "spines": 4, **rates}, pods * nodes * 4
    racks, hosts = draw.choice([2, 4]), draw.choice([4, 8])
    return {"kind": kind, "racks": racks, "hosts_per_rack": hosts, "spines": 4, **rates}, racks * hosts


def _workload(draw: random.Random, hosts: int, receiver: str) -> list[dict[str, Any]]:
    kind = draw.choice(["permutation", "incast", "all-to-all", "poisson", "poisson", "messages"])
    again = draw.choice([1, 1, 4, 20])
    repeat = {"repeat": again, "interval": draw.choice(["10us", "100us"])} if again > 1 else {}
    if kind == "permutation":
        return [{"kind": kind, "size": _size(draw, 2e9 / hosts / again), **repeat}]
    if kind == "incast":
        fan_in = draw.randint(1, min(hosts - 1, 32))
        return [
            {"kind": kind, "receiver": receiver, "fan_in": fan_in, "size": _size(draw, 5e8 / fan_in / again), **repeat}
        ]
    if kind == "all-to-all":
        return [
            {
                "kind": kind,
                "size": _size(draw, 1e9 / hosts / (hosts - 1) / again),
                "order": draw.choice(["together", "rounds"]),
                **repeat,
            }
        ]
    if kind == "poisson":
        return [
            {
                "kind": kind,
                "sizes": draw.choice(["websearch", "fb-hadoop"]),
                "load": draw.choice([0.1, 0.3, 0.6]),
                "stop": draw.choice(["200us", "1ms", "3ms"]),
            }
        ]
    return [
        {"kind": "poisson", "name": "short", "sizes": "fixed", "size": "2KB", "load": 0.05, "stop": "500us"},
        {"kind": "permutation", "size": _size(draw, 5e8 / hosts), "start": "50us"},
    ]


def _size(draw: random.Random, most: float) -> str:
    """Log-uniform from 100 bytes to `most`."""
    low = 100.0
    return f"{int(low * (max(most, 2 * low) / low) ** draw.random())}B"


def transfer_scenarios(*, calibration: bool) -> dict[str, dict[str, Any]]:
    """Name -> scenario of collectives: those that the costs of transfers and needs come from, or others."""
    if calibration:
        chosen = [
            (96, "all-to-all", "direct", {}), (192, "all-to-all", "direct", {}), (256, "all-to-all", "direct", {}),
            (96, "all-to-all", "pairwise", {}), (224, "all-to-all", "pairwise", {}),
            (256, "all-reduce", "ring", {"repeat": 40}),
        ]  # fmt: skip
    else:
        chosen = [
            (128, "all-to-all", "direct", {}), (224, "all-to-all", "direct", {"repeat": 2}),
            (160, "all-to-all", "pairwise", {}), (512, "all-reduce", "ring", {"repeat": 10}),
            (256, "all-reduce", "double-binary-tree", {"repeat": 20}), (256, "all-gather", "direct", {}),
        ]  # fmt: skip
    return {
        f"{algorithm}-{operation}-{ranks}": {
            "name": f"{algorithm}-{operation}-{ranks}",
            "topology": {
                "kind": "leaf-spine", "leaves": ranks // 32, "spines": 16, "hosts_per_leaf": 32, "host_rate": "400G",
                "fabric_rate": "400G",
            },
            "workload": [
                {"kind": "collective", "operation": operation, "algorithm": algorithm, "size": "1MiB", **more}
            ],
            "transport": {"qp": {"per": "pair"}},
            "run": {"duration": "1s", "stop": "done"},
        }
        for ranks, operation, algorithm, more in chosen
    }  # fmt: skip

"""A fabric of three tiers as CONFIG_DB files: pods of leaves and aggregation switches, planes of cores."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from fabrics import HOSTS, Tables, switch

PODS, LEAVES, AGGREGATIONS, CORES, PORTS, PARALLEL = 3, 32, 32, 64, 64, 16
"""256 switches; leaves and aggregation switches with 64 ports. PARALLEL: links of an aggregation switch to a core."""


def large_fabric(
    pods: int = PODS,
    leaves: int = LEAVES,
    aggregations: int = AGGREGATIONS,
    cores: int = CORES,
    ports: int = PORTS,
    parallel: int = PARALLEL,
) -> dict[str, Tables]:
    """Every leaf to every aggregation switch of its pod, aggregation switch a to the cores of plane a."""
    plane = cores // aggregations
    near: dict[str, dict[str, tuple[str, str]]] = {}
    roles: dict[str, tuple[str, str]] = {}

    def connect(a: str, b: str) -> None:
        port_a, port_b = (f"Ethernet{8 * len(near.setdefault(name, {}))}" for name in (a, b))
        near[a][port_a], near[b][port_b] = (b, port_b), (a, port_a)

    for pod in range(pods):
        for leaf in range(leaves):
            name = f"leaf{pod}-{leaf}"
            roles[name] = f"{65100 + pod * leaves + leaf}", "ToRRouter"
            for aggregation in range(aggregations):
                roles[f"agg{pod}-{aggregation}"] = f"{64900 + pod}", "LeafRouter"
                connect(name, f"agg{pod}-{aggregation}")
            for host in range(ports - aggregations):
                port = f"Ethernet{8 * len(near[name])}"
                near[name][port] = f"host{pod}-{leaf}-{host}", "eth0"
        for aggregation in range(aggregations):
            for core in range(plane):
                roles[f"core{aggregation}-{core}"] = "64800", "SpineRouter"
                for _ in range(parallel):
                    connect(f"agg{pod}-{aggregation}", f"core{aggregation}-{core}")
    return {name: switch(name, *roles[name], neighbors) for name, neighbors in near.items()}


def write(folder: Path, fabric: dict[str, Tables]) -> None:
    """One file per switch, and the hosts."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, tables in fabric.items():
        (folder / f"{name}.json").write_text(json.dumps(tables, indent=1), encoding="utf-8")
    (folder / "hosts.json").write_text(json.dumps(HOSTS), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]), large_fabric())

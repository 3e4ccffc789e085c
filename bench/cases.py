"""The measured scenarios, as mappings of scenario files; no feature is switched off.

Common to all: 100G everywhere, 1 us of propagation a cable, 1024 B of payload (the RDMA path MTU next to 1000 B), one
ACK a packet, PFC and ECN with DCQCN, buffers and headroom by the model's defaults, every category of event recorded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import yaml

from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import load_scenario

HOSTS_PER_LEAF: Final = 16
POD_HOSTS: Final = 256
CURVE_HOSTS: Final = (16, 64, 256, 1024, 4096)
NAMES: Final = ("P256", "P1024", "I64", "A64")
QUEUE_PAIRS: Final = (1, 32, 512)
_CABLES: Final = {"host_rate": "100G", "fabric_rate": "100G", "host_delay": "1us", "fabric_delay": "1us"}


def fabric_of(hosts: int) -> dict[str, Any]:
    """`topology:` for a number of hosts: one leaf, leaf-spine up to a pod of 256, then pods below 64 super-spines.

    Leaves are oversubscribed 2:1, spines too if there is a tier above them.
    """
    if hosts <= POD_HOSTS:
        leaves = max(1, hosts // HOSTS_PER_LEAF)
        return {
            "kind": "leaf-spine",
            "leaves": leaves,
            "spines": HOSTS_PER_LEAF // 2,
            "hosts_per_leaf": HOSTS_PER_LEAF,
            **_CABLES,
        }
    return {
        "kind": "clos3",
        "pods": hosts // POD_HOSTS,
        "leaves_per_pod": 16,
        "spines_per_pod": 8,
        "super_spines": 64,
        "hosts_per_leaf": HOSTS_PER_LEAF,
        **_CABLES,
    }


def scenario(name: str, hosts: int, workload: dict[str, Any]) -> dict[str, Any]:
    """Content of one scenario file."""
    return {
        "name": name.lower(),
        "topology": fabric_of(hosts),
        "transport": {"mtu": "1024B", "ack_every": 1},
        "workload": [workload],
        "run": {"duration": "1s", "seed": 1},
    }


def permutation(hosts: int, size: str, name: str = "permutation") -> dict[str, Any]:
    """Every host sends one message of `size` to another, drawn at random."""
    return scenario(name, hosts, {"kind": "permutation", "size": size})


def named(name: str, *, quick: bool = False) -> dict[str, Any]:
    """A case of NAMES; quick: with an eighth of the bytes."""
    if name == "P256":
        return permutation(256, "500KB" if quick else "4MB", name)
    if name == "P1024":
        return permutation(1024, "500KB" if quick else "4MB", name)
    if name == "I64":
        return scenario(
            name, 64, {"kind": "incast", "receiver": "host1", "fan_in": 32, "size": "125KB" if quick else "1MB"}
        )
    if name == "A64":
        return scenario(name, 64, {"kind": "all-to-all", "size": "8KB" if quick else "64KB"})
    raise KeyError(name)


def pairs(model: str, queue_pairs: int, *, quick: bool = False) -> dict[str, Any]:
    """Eight hosts of a leaf send 32 MB each to a ninth, on `queue_pairs` queue pairs each (quick: an eighth of the
    bytes).
    """
    size_bytes = (4_096_000 if quick else 32_768_000) // queue_pairs
    again = {"repeat": queue_pairs, "interval": "1ns"} if queue_pairs > 1 else {}
    topology = {"kind": "leaf-spine", "leaves": 1, "spines": 1, "hosts_per_leaf": 9, **_CABLES}
    transport = {"transport": {"mtu": "1024B", "ack_every": 1}} if model == "asic" else {}
    load = {"kind": "incast", "receiver": "host1", "senders": ["*"], "size": f"{size_bytes}B", **again}
    return {
        "name": f"{model}-{queue_pairs}",
        "model": model,
        "topology": topology,
        **transport,
        "workload": [load],
        "run": {"duration": "1s", "seed": 1},
    }


def many_messages(repeat: int = 25) -> dict[str, Any]:
    """64 hosts, 4,032 messages of one packet each, `repeat` times: 100,800 messages on as many queue pairs."""
    again = {"repeat": repeat, "interval": "20us"} if repeat > 1 else {}
    return scenario("messages", 64, {"kind": "all-to-all", "size": "1KB", **again})


def write(raw: dict[str, Any], folder: Path) -> Path:
    """Write the scenario as a user's file."""
    path = folder / f"{raw['name']}.yml"
    path.write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
    return path


def compiled(raw: dict[str, Any], folder: Path) -> CompiledScenario:
    """Compile it as `fabric run` does: file, strict schema, compiler."""
    return compile_scenario(load_scenario(write(raw, folder)))

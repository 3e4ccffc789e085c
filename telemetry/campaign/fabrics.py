"""Fabrics at random: shape, speeds, cables, chip, thresholds, marking, congestion control.

Test seeds draw from chips and shapes that tune seeds do not have, besides the ones that both have. Hosts are limited to
32 and switches to 24, so that a run takes seconds.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import TypeAdapter

from fabric.topology.model import Fabric
from fabric.topology.registry import build_topology
from fabric.topology.spec import TopologySpec
from telemetry.campaign.seeds import Side

CHIPS: Final[dict[Side, tuple[str, ...]]] = {
    "tune": ("trident3", "tomahawk2", "tomahawk3", "tomahawk4", "spectrum1", "spectrum3", "teralynx10"),
    "test": ("trident3", "tomahawk3", "spectrum1", "tomahawk5", "spectrum2", "spectrum4", "spectrum5", "jericho2c+"),
}
SHAPES: Final[dict[Side, tuple[str, ...]]] = {
    "tune": ("leaf-spine", "leaf-spine", "rail"),
    "test": ("leaf-spine", "rail", "clos3", "dual-tor"),
}
_CURVES: Final = ("hpcc", "sonic", "dctcp", "paper-2015")
_ADAPTER: Final[TypeAdapter[TopologySpec]] = TypeAdapter(TopologySpec)


@dataclass(frozen=True)
class Drawn:
    """A fabric with its settings: sections of a scenario."""

    fabric: Fabric
    sections: dict[str, Any]
    host_bps: int
    cable_ns: int
    """One-way delay of cables between switches."""
    overlay: bool
    settings: dict[str, str] = field(default_factory=dict)
    """Settings that a diagnosis may name, by kind: 'cc-off' where no host slows down, 'ecn-wrong' where none marks."""


def draw_fabric(random_: random.Random, side: Side) -> Drawn:
    """One fabric."""
    host_g = random_.choice((25, 50, 100, 100, 200, 400))
    topology, many = _shape(random_, random_.choice(SHAPES[side]), host_g)
    metres = round(log_uniform(random_, 2, 300))
    topology |= {"fabric_cable": f"{metres}m", "host_cable": f"{random_.choice((1, 3, 5))}m"}
    overlay = topology["kind"] == "leaf-spine" and random_.random() < 0.4
    settings: dict[str, str] = {}
    cc = random_.choices(("mlx5", "paper-2015", "none"), (0.6, 0.3, 0.1))[0]
    transport: dict[str, Any] = {"qp": {"per": "pair", "count": random_.choice((1, 2, 4, 8, 16))}}
    if cc == "none":
        transport["cc"] = "none"
        settings["cc-off"] = "no host has congestion control"
    else:
        transport["dcqcn"] = cc
    transport["retransmit_timeout"] = "4ms" if random_.random() < 0.5 else "67ms"
    if random_.random() < 0.5:
        transport |= {"recovery": "selective", "window": "1MB"}
    ecn = random_.choices((*_CURVES, "off"), (3, 3, 1, 1, 1))[0]
    if ecn == "off":
        settings["ecn-wrong"] = "no queue marks"
    hash_ = {"seed": 7, "algorithm": "crc32"} if random_.random() < 0.15 else {"seed": "per-switch"}
    if hash_["seed"] == 7:
        settings["polarised"] = "one hash seed for all switches"
    switches: dict[str, Any] = {
        "asic": random_.choice(CHIPS[side]),
        "ecn": ecn,
        "buffer": {"dynamic_th": random_.randint(-4, 1)},
        "hash": hash_,
        "watchdog": _watchdog(random_),
    }
    sections: dict[str, Any] = {"topology": topology, "switches": switches, "transport": transport}
    if many and overlay:
        sections["vxlan"] = {}
        if random_.random() < 0.7:
            sections |= {"routing": "bgp", "bgp": {"update_delay": "1ms", "fib_delay": "500us"}}
            if random_.random() < 0.5:
                sections["bgp"]["bfd"] = {"interval": "1ms", "multiplier": 3}
    fabric = build_topology(_ADAPTER.validate_python(topology))
    return Drawn(fabric, sections, host_g * 10**9, metres * 5, "vxlan" in sections, settings)


def log_uniform(random_: random.Random, low: float, high: float) -> float:
    """Uniform in the logarithm."""
    return math.exp(random_.uniform(math.log(low), math.log(high)))


def _shape(random_: random.Random, kind: str, host_g: int) -> tuple[dict[str, Any], bool]:
    """(topology, whether it has several leaves). Rates of cables between switches give 1:1 to 4:1."""
    over = random_.choice((1, 1, 1.5, 2, 4))
    rates = (25, 50, 100, 200, 400, 800)

    def fabric_rate(down: int, up: int) -> str:
        want = host_g * down / up / over
        return f"{next((it for it in rates if it >= want), 800)}G"

    if kind == "leaf-spine":
        leaves, spines = random_.randint(2, 6), random_.randint(2, 4)
        each = max(8 // leaves, random_.randint(2, max(32 // leaves, 3)))
        rate = fabric_rate(each, spines)
        return {"kind": kind, "leaves": leaves, "spines": spines, "hosts_per_leaf": each, "host_rate": f"{host_g}G",
                "fabric_rate": rate}, True  # fmt: skip
    if kind == "rail":
        nodes, rails, spines = random_.randint(2, 6), random_.choice((2, 4)), random_.randint(2, 4)
        rate = fabric_rate(nodes, spines)
        return {"kind": kind, "pods": random_.choice((1, 2)), "nodes_per_pod": nodes, "rails": rails, "spines": spines,
                "host_rate": f"{host_g}G", "fabric_rate": rate}, False  # fmt: skip
    if kind == "clos3":
        spines, each = 2, random_.randint(2, 4)
        rate = fabric_rate(each, spines)
        return {"kind": kind, "pods": 2, "leaves_per_pod": 2, "spines_per_pod": spines, "super_spines": 4,
                "hosts_per_leaf": each, "host_rate": f"{host_g}G", "fabric_rate": rate}, False  # fmt: skip
    racks, spines, each = random_.randint(2, 3), 2, random_.randint(3, 6)
    rate = fabric_rate(each, spines)
    return {"kind": "dual-tor", "racks": racks, "hosts_per_rack": each, "spines": spines, "host_rate": f"{host_g}G",
            "fabric_rate": rate}, False  # fmt: skip


def _watchdog(random_: random.Random) -> Any:  # noqa: ANN401  'off', or a section
    """Off, or one of the rules. Times are those of an operator (200 ms) at 15 nominal s a ms, or less."""
    if random_.random() < 0.5:
        return "off"
    poll = random_.choice((1, 2))
    return {
        "poll": f"{poll}ms",
        "detection": f"{poll * random_.choice((1, 2))}ms",
        "restoration": f"{poll * random_.choice((1, 2, 4))}ms",
        "action": random_.choice(("drop", "forward")),
    }

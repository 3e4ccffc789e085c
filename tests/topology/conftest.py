from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fabric.topology.model import Fabric
from fabric.topology.registry import build_topology, parse_topology

RATES = {"host_rate": "100G", "fabric_rate": "400G"}

SMALL: dict[str, dict[str, Any]] = {
    "leaf-spine": {"kind": "leaf-spine", "leaves": 3, "spines": 2, "hosts_per_leaf": 3, **RATES},
    "several links, breakout, mixed speeds": {
        "kind": "leaf-spine",
        "leaves": 2,
        "spines": 2,
        "hosts_per_leaf": 4,
        "host_rates": ["25G", "100G"],
        "fabric_rate": "100G",
        "links_per_pair": 2,
        "links_per_host": 2,
        "host_breakout": 4,
        "host_delay": "77ns",
    },
    "clos3 planes": {
        "kind": "clos3",
        "pods": 2,
        "leaves_per_pod": 2,
        "spines_per_pod": 2,
        "super_spines": 4,
        "hosts_per_leaf": 2,
        **RATES,
    },
    "clos3 full": {
        "kind": "clos3",
        "pods": 2,
        "leaves_per_pod": 2,
        "spines_per_pod": 2,
        "super_spines": 3,
        "hosts_per_leaf": 2,
        "core": "full",
        "core_rate": "800G",
        "core_links_per_pair": 2,
        **RATES,
    },
    "rail gpu": {"kind": "rail", "pods": 2, "nodes_per_pod": 3, "rails": 4, "spines": 2, **RATES},
    "rail only": {"kind": "rail", "nodes_per_pod": 3, "rails": 4, "spines": 0, "endpoints": "node", **RATES},
    "dual-tor": {"kind": "dual-tor", "racks": 2, "hosts_per_rack": 3, "spines": 2, **RATES},
    "dual-plane": {"kind": "dual-tor", "racks": 2, "hosts_per_rack": 3, "spines": 4, "planes": 2, **RATES},
}
"""One small fabric of every kind and wiring."""


def fabric_of(**raw: Any) -> Fabric:  # noqa: ANN401  fields of any kind of topology
    return build_topology(parse_topology(raw))


@pytest.fixture
def make() -> Callable[..., Fabric]:
    return fabric_of


@pytest.fixture(params=SMALL)
def small(request: pytest.FixtureRequest) -> Fabric:
    return fabric_of(**SMALL[request.param])


@pytest.fixture
def leaf_spine() -> Fabric:
    return fabric_of(**SMALL["leaf-spine"])

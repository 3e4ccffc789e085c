"""Height of every node above the hosts: its tier, or its distance from the nearest host where it has no tier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.topology.model import Fabric

LEVEL_NAMES: Final[Mapping[int, str]] = {0: "host", 1: "leaf", 2: "spine", 3: "super-spine"}


def levels(fabric: Fabric) -> NDArray[np.int32]:
    """(n_nodes,) 0 for hosts; tiers where every switch has one, else hops from the nearest host.

    A mixture could put a spine below its leaf, so all switches count hops if one has no tier. Switches that no host
    reaches are one above the highest.
    """
    if all(switch.tier >= 1 for switch in fabric.switches):
        return np.array([node.tier for node in fabric.nodes], np.int32)
    level = np.full(len(fabric.nodes), -1, np.int32)
    frontier = [host.id for host in fabric.hosts]
    height = 0
    while frontier:
        level[frontier] = height
        height += 1
        frontier = sorted({peer.id for node in frontier for _, peer in fabric.neighbours(node) if level[peer.id] < 0})
    level[level < 0] = height
    return level


def level_name(fabric: Fabric, level: int) -> str:
    """'leaf', 'spine', ... for tiers; 'level 2' where levels are hops."""
    if level == 0 or all(switch.tier >= 1 for switch in fabric.switches):
        return LEVEL_NAMES.get(level, f"tier {level}")
    return f"level {level}"

"""Every check, by id. A new one is a function in its family's file and an entry in that file's CHECKS."""

from __future__ import annotations

from typing import Final

from fabric.validate.checks import (
    buffers,
    classification,
    headroom,
    hosts,
    links,
    marking,
    peers,
    references,
    routing,
    tunnels,
    watchdog,
)
from fabric.validate.checks.base import Check

FAMILIES: Final = (
    ("R", "References, ranges, syntax", references.CHECKS), ("B", "Buffers, pools, thresholds", buffers.CHECKS),
    ("H", "Headroom and cables", headroom.CHECKS), ("M", "Classification and maps", classification.CHECKS),
    ("E", "ECN marking", marking.CHECKS), ("L", "Links and paths", links.CHECKS),
    ("W", "PFC watchdog", watchdog.CHECKS), ("T", "Tunnels and MTU", tunnels.CHECKS),
    ("D", "Deadlock, routing, capacity", routing.CHECKS), ("P", "Peers: addresses, BGP, twins", peers.CHECKS),
    ("N", "Hosts", hosts.CHECKS),
)
"""(letter, title, checks) in the order of every report."""

CHECKS: Final[dict[str, Check]] = {item.id: item for _, _, checks in FAMILIES for item in checks}

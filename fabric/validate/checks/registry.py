"""Every check, by id. A new one is a function in its family's file and an entry in that file's CHECKS."""

from __future__ import annotations

from typing import Final

from fabric.validate.checks import (
    admission,
    advertised,
    alphas,
    attachment,
    bgp_ends,
    buffers,
    bundles,
    classification,
    filters,
    gateways,
    headroom,
    host_classes,
    hosts,
    identity,
    interior,
    isolation,
    limits,
    links,
    loopbacks,
    mappings,
    marking,
    marking_levels,
    membership,
    open_rules,
    overlay,
    peers,
    prefixes,
    reach,
    references,
    routing,
    schedulers,
    session_routes,
    shut,
    targets,
    tunnels,
    vteps,
    watchdog,
    watchdog_timers,
    way_out,
    whole,
)
from fabric.validate.checks.base import Check

_FILES: Final = (
    ("R", "References, ranges, syntax", (*references.CHECKS, *open_rules.CHECKS, *whole.CHECKS)),
    ("B", "Buffers, pools, thresholds", (*buffers.CHECKS, *membership.CHECKS, *alphas.CHECKS)),
    ("H", "Headroom and cables", headroom.CHECKS),
    (
        "M",
        "Classification and maps",
        (*classification.CHECKS, *admission.CHECKS, *schedulers.CHECKS, *limits.MAP_CHECKS),
    ),
    ("E", "ECN marking", (*marking.CHECKS, *marking_levels.CHECKS)),
    ("L", "Links and paths", (*links.CHECKS, *bundles.CHECKS, *shut.CHECKS, *attachment.CHECKS)),
    ("W", "PFC watchdog", (*watchdog.CHECKS, *watchdog_timers.CHECKS, *limits.WATCHDOG_CHECKS)),
    ("T", "Tunnels and MTU", (*tunnels.CHECKS, *vteps.MTU_CHECKS)),
    ("D", "Deadlock, routing, capacity", (*routing.CHECKS, *reach.ROUTES)),
    (
        "P",
        "Peers: addresses, BGP, twins",
        (
            *peers.CHECKS,
            *bgp_ends.CHECKS,
            *session_routes.CHECKS,
            *isolation.CHECKS,
            *loopbacks.CHECKS,
            *way_out.CHECKS,
        ),
    ),
    ("O", "OSPF and IS-IS", interior.CHECKS),
    ("I", "Identity: addresses, router IDs, AS numbers", (*identity.CHECKS, *prefixes.CHECKS)),
    (
        "V",
        "VXLAN and EVPN",
        (
            *mappings.CHECKS,
            *overlay.CHECKS,
            *advertised.CHECKS,
            *gateways.CHECKS,
            *vteps.CHECKS,
            *reach.CHECKS,
            *targets.CHECKS,
        ),
    ),
    ("A", "Access lists", filters.CHECKS),
    ("N", "Hosts", (*hosts.CHECKS, *host_classes.CHECKS)),
)
"""(letter, title, checks of the files of the family)."""

FAMILIES: Final = tuple(
    (letter, title, tuple(sorted(checks, key=lambda it: int(it.id[1:].rstrip("b")))))
    for letter, title, checks in _FILES
)
"""(letter, title, checks) in the order of every report."""

CHECKS: Final[dict[str, Check]] = {item.id: item for _, _, checks in FAMILIES for item in checks}

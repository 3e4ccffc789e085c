"""Probes by name. An entry here is all that the schema, the reference, the checks and the runner need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from playbooks.probes import counters, hosts, pauses, roots, storms, trees
from playbooks.probes.base import Probe

PROBES: Final[Mapping[str, Probe]] = {
    "paused.hosts": pauses.HOSTS,
    "paused.switches": pauses.SWITCHES,
    "paused.time": pauses.TIME,
    "trees": trees.TREES,
    "origin": trees.ORIGIN,
    "cause": trees.CAUSE,
    "depth": trees.DEPTH,
    "victims": trees.VICTIMS,
    "storms.detected": storms.DETECTED,
    "storms.restored": storms.RESTORED,
    "lost": counters.LOST,
    "damaged": counters.DAMAGED,
    "resent": counters.RESENT,
    "marked": counters.MARKED,
    "xoffs": counters.XOFFS,
    "mac.moves": counters.MAC_MOVES,
    "bgp.sessions": counters.SESSIONS,
    "evpn.routes": counters.ROUTES,
    "root.kind": roots.KIND,
    "root.device": roots.DEVICE,
    "root.port": roots.PORT,
    "root.class": roots.CLASS,
    "roots": roots.SERIOUS,
    "arp.received": hosts.ARP_RECEIVED,
    "done": hosts.DONE,
    "slowdown": hosts.SLOWDOWN,
    "goodput": hosts.GOODPUT,
}

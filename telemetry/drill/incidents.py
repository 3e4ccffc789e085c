"""The incidents that a drill draws from: scenarios of the package whose root cause is known.

A root here is what the scenario sets or breaks, not what telemetry/diagnosis finds. Scenarios whose root no metric
shows (the crash of a leaf that carries no traffic, for example) are left out: nobody could answer them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fabric import shipped
from telemetry.diagnosis.root import Kind

NONE: Final = "none"
"""The answer where nothing is broken."""


@dataclass(frozen=True, slots=True)
class Incident:
    """One scenario with its root."""

    name: str
    """Scenario below the folder of scenarios, without '.yml'."""
    kind: str
    """Of telemetry/diagnosis/root.py; NONE where the network is healthy."""
    places: tuple[str, ...] = ()
    """'device' or 'device:port' in the scenario's names, the usual answer first: both ends of a cable are right."""
    priority: int | None = None
    """Class; None where the root concerns all of them."""
    seeds: tuple[int, ...] = ()
    """Seeds of the run with which the root is there, where a seed decides: whether large flows meet on one link. ():
    any. Names of devices follow the drill's own seed."""

    def run_seed(self, seed: int) -> int:
        """The seed of the run, for that of a drill."""
        return self.seeds[seed % len(self.seeds)] if self.seeds else seed % 1_000_000

    @property
    def file(self) -> Path:
        """Its scenario file."""
        return shipped.folder("scenarios") / f"{self.name}.yml"


_RING: Final = ("s1", "s2", "s3", "s4")
_LEAVES: Final = ("leaf1", "leaf2", "leaf3", "leaf4")
_POD_SPINES: Final = tuple(f"p{pod}-spine{number}" for pod in (1, 2) for number in (1, 2, 3, 4))
_NIC1: Final = ("host1:eth0", "leaf1:Ethernet0")
_SENDERS: Final = tuple(f"host{number}" for number in range(5, 13))

INCIDENTS: Final = (
    Incident("alerts/storm", Kind.BROKEN_NIC, _NIC1, 3),
    Incident("alerts/storm-watched", Kind.BROKEN_NIC, _NIC1, 3),
    Incident("pause-storm", Kind.BROKEN_NIC, ("host4:eth0", "leaf1:Ethernet12"), 3),
    Incident("alerts/storm-flapping", Kind.WATCHDOG_FLAPPING, _NIC1, 3),
    Incident("alerts/slow-receiver", Kind.SLOW_RECEIVER, _NIC1, 3),
    Incident("alerts/victims", Kind.SLOW_RECEIVER, _NIC1, 3),
    Incident("alerts/deadlock", Kind.DEADLOCK, _RING, 3),
    Incident("alerts/headroom-short", Kind.HEADROOM_SHORT, ("leaf1",), 3),
    Incident("alerts/ecn-off", Kind.ECN_WRONG, ("leaf1",), 3),
    Incident("alerts/ecn-late", Kind.ECN_WRONG, ("leaf1",), 3),
    Incident("ecn-drift", Kind.ECN_WRONG, ("leaf1",), 3),
    Incident("alerts/cnp-ignored", Kind.CC_OFF, ("leaf1:Ethernet0", *_SENDERS), 3),
    Incident("alerts/lost-lanes", Kind.LANES_LOST, ("leaf1:Ethernet20", "spine2:Ethernet0")),
    Incident("alerts/job-slow-link", Kind.LANES_LOST, ("host4:eth0", "leaf1:Ethernet12")),
    Incident("alerts/dirty-optics", Kind.BAD_OPTIC, ("spine2:Ethernet4", "leaf2:Ethernet20")),
    Incident("alerts/link-down", Kind.LINK_DOWN, ("leaf1:Ethernet16", "spine1:Ethernet0")),
    Incident("alerts/pfc-off", Kind.LOSSY_OVERLOAD, ("leaf1:Ethernet0",), 3),
    Incident("alerts/spine-crash", Kind.SWITCH_HANG, ("spine1",)),
    Incident("alerts/arp-flood", Kind.ARP_FLOOD, _LEAVES),
    Incident("alerts/straggler", Kind.STRAGGLER, ("train",)),
    Incident("bgp-drain", Kind.BGP_DOWN, ("spine1",)),
    Incident("drills/link-flap", Kind.LINK_FLAP, ("leaf1:Ethernet16", "spine1:Ethernet0")),
    Incident("drills/silent-loss", Kind.SILENT_LOSS, ("leaf3:Ethernet16", "spine1:Ethernet8")),
    Incident("drills/dscp-map", Kind.DSCP_MAP, ("leaf2",), 3),
    Incident("drills/pfc-missing", Kind.PFC_MISSING, ("spine1:Ethernet0",), 3),
    Incident("drills/black-hole", Kind.BLACK_HOLE, ("spine1",)),
    Incident("vxlan-mtu", Kind.MTU, ("leaf1", "leaf2")),
    Incident("tenant-leaf-crash", Kind.SWITCH_DOWN, ("leaf4",)),
    Incident("drills/evpn-loss", Kind.EVPN_LOSS, ("leaf2",)),
    Incident("drills/mac-move", Kind.MAC_MOVE, ("leaf2", "leaf1")),
    Incident("drills/oversubscription", Kind.OVERSUBSCRIPTION, (*_LEAVES, "spine1", "spine2")),
    Incident("drills/slow-link", Kind.SLOW_LINK, ("leaf3", "spine1", "spine2", "spine3", "spine4")),
    Incident("drills/polarised", Kind.POLARISED, _POD_SPINES),
    Incident("drills/incast", Kind.INCAST, ("leaf1:Ethernet0",), 3),
    Incident("drills/microburst", Kind.MICROBURST, ("leaf1:Ethernet0",), 3),
    Incident("drills/elephants", Kind.ELEPHANTS, ("leaf1",), 3, seeds=(1, 2, 5, 8, 9, 11)),
    Incident("alerts/link-flapping", Kind.LINK_FLAP, ("leaf1:Ethernet16", "spine1:Ethernet0")),
    Incident("alerts/silent-spine", Kind.SWITCH_HANG, ("spine1",)),
    Incident("alerts/mtu-small", Kind.MTU, ("leaf1",)),
    Incident("alerts/permutation", NONE),
    Incident("alerts/incast-bursts", NONE),
    Incident("alerts/websearch", NONE),
    Incident("alerts/job-even", NONE),
    Incident("alerts/arp-suppressed", NONE),
    Incident("alerts/nearly-slow-receiver", NONE),
)

KINDS: Final = tuple(dict.fromkeys(it.kind for it in INCIDENTS if it.kind != NONE))
"""Kinds that a drill can simulate."""
ANSWERS: Final = (*(kind.value for kind in Kind), NONE)
"""Kinds that an answer may name."""

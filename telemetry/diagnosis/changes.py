"""What changed in a fabric, and what changed last where a root cause began.

A change log has what a configuration archive, an orchestrator and a syslog have: configurations, endpoints that move,
acts of operators, sessions, routes and carriers. It has no fault that nobody would have written down: a NIC that
pauses, a receiver that is slow, optics that are dirty. The diagnosis does not read it (docs/decisions/0132).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, Final

from fabric.topology.model import Fabric
from fabric.units import PS_PER_NS, count, format_time_ps, listed
from telemetry.diagnosis.root import Kind, Root


class Source(StrEnum):
    """The log from which a change comes."""

    CONFIGURATION = "configuration"
    """Of a switch: queues, maps, routing, static routes."""
    ENDPOINT = "endpoint"
    """A host that moves, leaves or comes back."""
    ACT = "act"
    """What an operator did: of a playbook, or through the API of a live run."""
    SESSION = "session"
    """A BGP session went down or came up."""
    ROUTES = "routes"
    """A forwarding table changed."""
    LINK = "link"
    """Carrier or speed of a cable."""


BY_PEOPLE: Final = frozenset({Source.CONFIGURATION, Source.ENDPOINT, Source.ACT})
"""What somebody did; the others are what the network did."""
_PLACES: Final = 3
SHUT: Final = "shut"
"""The act of playbooks, and of the API of a live run, that takes cables out of service."""
_OWN: Final = {
    Kind.LINK_DOWN: {Source.LINK, Source.SESSION, Source.ROUTES},
    Kind.LINK_FLAP: {Source.LINK, Source.SESSION, Source.ROUTES},
    Kind.SWITCH_DOWN: {Source.LINK, Source.SESSION, Source.ROUTES},
    Kind.SWITCH_HANG: {Source.LINK, Source.SESSION, Source.ROUTES},
    Kind.LANES_LOST: {Source.LINK},
    Kind.BGP_DOWN: {Source.SESSION, Source.ROUTES},
    Kind.EVPN_LOSS: {Source.ROUTES},
    Kind.MAC_MOVE: {Source.ROUTES},
    Kind.BAD_OPTIC: {Source.LINK, Source.SESSION, Source.ROUTES},
    Kind.SILENT_LOSS: {Source.LINK, Source.SESSION, Source.ROUTES},
}
"""Logs in which a root itself shows: their lines are no change before it."""


@dataclass(frozen=True, slots=True)
class Change:
    """One line of the log."""

    time_ns: int
    source: Source
    text: str
    """'ECN curve: Kmin 3MB, Kmax 8MB, Pmax 0.01'."""
    places: tuple[str, ...]
    """Names of devices, ports and cables, as the change has them."""
    devices: frozenset[str]
    """Devices that it touches."""
    by: str
    """'scenario', 'playbook', 'API', or 'network'."""
    spreads: bool = False
    """It is about routes, so it moves traffic at neighbours as well."""

    @property
    def where(self) -> str:
        """At most three places, in words; many ports of one device as their number."""
        devices = {it.partition(":")[0] for it in self.places}
        if len(self.places) > _PLACES and len(devices) == 1:
            return f"{devices.pop()} ({count(len(self.places), 'port')})"
        return listed(self.places, _PLACES)

    @property
    def line(self) -> str:
        """'ECN marking off at leaf1:Ethernet0 (configuration by scenario, 2ms)'."""
        return self.told("")

    def told(self, more: str) -> str:
        """As `line`, with more words about the time."""
        where = f" at {self.where}" if self.where else ""
        return f"{self.text}{where} ({self.source.value} by {self.by}, {moment(self.time_ns)}{more})"

    def as_json(self) -> dict[str, Any]:
        """For --json."""
        return {
            "time_ns": self.time_ns,
            "source": self.source.value,
            "text": self.text,
            "places": list(self.places),
            "devices": sorted(self.devices),
            "by": self.by,
        }


def moment(time_ns: int) -> str:
    """'2ms', or 'the start of the run'."""
    return format_time_ps(time_ns * PS_PER_NS) if time_ns else "the start of the run"


def before(root: Root, log: Sequence[Change], fabric: Fabric, sample_ns: int) -> Change | None:
    """The last change that touches the devices of a root and is not later than its first sample interval.

    What people did comes first, however long before; then what the network did before that interval, unless it is the
    root itself in another log. A change of routes counts at neighbours, too. None: no such line.

    Parameters
    ----------
    sample_ns : length of a sample interval: the root began at some moment of its first one
    """
    until_ns = root.began_ns + sample_ns - 1
    done = done_before(root.devices, until_ns, log, fabric, f"{root.device}:{root.port}")
    if done is not None:
        return done
    own = _OWN.get(root.kind, set())
    seen = [
        it
        for it in log
        if it.source not in BY_PEOPLE | own and it.time_ns <= root.began_ns and it.devices & root.devices
    ]
    return max(seen, key=lambda it: it.time_ns) if seen else None


def is_act(root: Root, change: Change | None) -> bool:
    """Whether a root is an act of an operator that the log has: cables that somebody shut are down on purpose.

    change : of before(), for this root
    """
    if change is None or change.source is not Source.ACT or root.kind not in {Kind.LINK_DOWN, Kind.SWITCH_DOWN}:
        return False
    shut = change.text.partition(":")[0] == SHUT and change.time_ns >= root.began_ns
    own = f"{root.device}:{root.port}" if root.port else ""
    other_port = own and any(
        it.startswith(f"{root.device}:") and "--" not in it and not fnmatchcase(own, it) for it in change.places
    )
    return shut and change.devices <= root.devices and not other_port


def done_before(
    devices: frozenset[str], until_ns: int, log: Sequence[Change], fabric: Fabric, port: str = ""
) -> Change | None:
    """What people did last at some devices, or about routes at their neighbours, up to a time; of changes of one time
    that at the devices, and at the port.
    """
    near = _neighbours(devices, fabric)
    found = [
        it
        for it in log
        if it.source in BY_PEOPLE
        and it.time_ns <= until_ns
        and (it.devices & devices or (it.spreads and it.devices & near))
    ]
    return max(found, key=lambda it: (it.time_ns, bool(it.devices & devices), port in it.places)) if found else None


def _neighbours(devices: frozenset[str], fabric: Fabric) -> frozenset[str]:
    """Devices at the other ends of the cables of some devices."""
    nodes = [fabric.by_name[name] for name in devices if name in fabric.by_name]
    return frozenset(fabric.node_of(fabric.ports[port].peer).name for node in nodes for port in node.ports)

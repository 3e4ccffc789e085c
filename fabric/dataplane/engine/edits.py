"""Dated edits: everything that changes a running fabric from outside, applied at its exact time.

Each is a frozen record of a change and its time; dataplane/engine/apply.py carries it out between two windows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fabric.dataplane.state.params import EcnParams, PgParams, WatchdogParams
from fabric.ids import LinkId, NodeId, PortId


@dataclass(frozen=True, slots=True)
class Edit:
    """Root of all edits.

    An edit of a fault names the fault. Several faults may change the same thing at the same time: each acts from
    its beginning to its own end (dataplane/engine/holds.py). An edit without a fault is an operator's: it sets
    the value and ends the faults' changes of it.
    """

    time_ps: int
    fault: str = field(default="", kw_only=True)
    """Key of the fault; '': an operator's edit."""
    ends: bool = field(default=False, kw_only=True)
    """The fault ends here. The values are those before the fault, as if no other fault acted."""


@dataclass(frozen=True, slots=True)
class LinkState(Edit):
    """A cable goes down or comes up. Frames in flight and queued towards it are lost (DropReason.LINK_DOWN)."""

    link: LinkId
    up: bool


@dataclass(frozen=True, slots=True)
class LinkRate(Edit):
    """Both directions of a cable change speed (lost lanes). The frame being sent keeps its old end."""

    link: LinkId
    rate_bps: int


@dataclass(frozen=True, slots=True)
class LinkErrors(Edit):
    """Bit error ratio of a cable, both directions."""

    link: LinkId
    bit_error_ratio: float


@dataclass(frozen=True, slots=True)
class DropEvery(Edit):
    """Every n-th data frame arriving at a port is discarded; 0 stops it. Each fault has its own count."""

    port: PortId
    every: int
    all_kinds: bool = False
    """Acknowledgements, notifications and ARP count as well, as where a device or a cable is dead."""


@dataclass(frozen=True, slots=True)
class HostDrain(Edit):
    """A host consumes received bytes at this rate; 0: at line rate."""

    host: NodeId
    drain_bps: int


@dataclass(frozen=True, slots=True)
class PauseStorm(Edit):
    """A broken NIC sends XOFF for a bitmap of classes, one frame every gap_ps, for duration_ps, in addition to other
    storms.
    """

    host: NodeId
    classes: int
    duration_ps: int
    gap_ps: int
    """0: half of the pause time, as a healthy sender refreshes."""
    quanta: int


@dataclass(frozen=True, slots=True)
class NicReset(Edit):
    """All pause storms of a host end; classes that it has paused resume when the pause expires."""

    host: NodeId


@dataclass(frozen=True, slots=True)
class QueueEcn(Edit):
    """New WRED/ECN curve of one egress queue; None: no marking."""

    port: PortId
    queue: int
    ecn: EcnParams | None


@dataclass(frozen=True, slots=True)
class PgThreshold(Edit):
    """New buffer profile of one priority group."""

    port: PortId
    pg: int
    pg_params: PgParams
    changed: tuple[str, ...] = ()
    """The fields of pg_params that a fault sets; it leaves the others."""


@dataclass(frozen=True, slots=True)
class FlowControlClasses(Edit):
    """Another bitmap of classes under link flow control at one port; a class that loses it resumes at once."""

    port: PortId
    classes: int


@dataclass(frozen=True, slots=True)
class WatchdogSet(Edit):
    """PFC watchdog of one switch; None: off (stormed queues are restored)."""

    switch: NodeId
    watchdog: WatchdogParams | None


@dataclass(frozen=True, slots=True)
class FibRoute(Edit):
    """Next hops of one switch towards one host as routing computes them; empty: no route (a black hole).

    In use while no static route is in use (dataplane/engine/static_routes.py).
    """

    switch: NodeId
    host: NodeId
    ports: tuple[PortId, ...]


@dataclass(frozen=True, slots=True)
class StaticRoute(Edit):
    """A static route of one switch towards one host, of a fault; empty: a discard route."""

    switch: NodeId
    host: NodeId
    ports: tuple[PortId, ...]


@dataclass(frozen=True, slots=True)
class CarrierNoticed(Edit):
    """With a control plane: a switch removes a port from its static routes, or adds it again."""

    port: PortId
    up: bool


@dataclass(frozen=True, slots=True)
class TenantRoutes(Edit):
    """Routes of leaves between their tenants' subnets: host and prefix routes of EVPN (RFC 9135)."""

    routes: tuple[tuple[NodeId, NodeId, tuple[NodeId, ...]], ...]
    """(leaf, host, equal VTEPs). The leaf's own id only: locally attached. Empty: no route."""


@dataclass(frozen=True, slots=True)
class VtepRoutes(Edit):
    """Next hops of switches towards addresses of VTEPs; (): no route."""

    routes: tuple[tuple[NodeId, NodeId, tuple[PortId, ...]], ...]
    """(switch, leaf, ports)."""


@dataclass(frozen=True, slots=True)
class FloodList(Edit):
    """The leaves to which a leaf replicates the broadcasts of a segment (Type-3 routes)."""

    switch: NodeId
    segment: int
    """Position in VxlanParams.segments."""
    vteps: tuple[NodeId, ...]


@dataclass(frozen=True, slots=True)
class ArpKnown(Edit):
    """Whether a leaf knows a host's MAC and IP (Type-2 routes), and so may answer ARP for it."""

    switch: NodeId
    host: NodeId
    known: bool


@dataclass(frozen=True, slots=True)
class UnknownMac(Edit):
    """Whether a leaf floods packets for a host because it does not know the host's MAC address."""

    switch: NodeId
    host: NodeId
    unknown: bool


@dataclass(frozen=True, slots=True)
class SuppressArp(Edit):
    """Whether a leaf answers ARP requests of a segment for known targets."""

    switch: NodeId
    segment: int
    """Position in VxlanParams.segments."""
    on: bool


@dataclass(frozen=True, slots=True)
class DscpMap(Edit):
    """A switch port reads the DSCPs of what comes in by another map, which some port has from the start."""

    port: PortId
    like: PortId
    """A switch port with the map."""


@dataclass(frozen=True, slots=True)
class PortMtu(Edit):
    """IP MTU of a switch port, for packets that it sends from now on."""

    port: PortId
    mtu_bytes: int
    """As PortParams.mtu_bytes: with the Ethernet header."""


@dataclass(frozen=True, slots=True)
class HashSeed(Edit):
    """ECMP hash seed of a switch: flows that it forwards may change their next hop."""

    switch: NodeId
    seed: int

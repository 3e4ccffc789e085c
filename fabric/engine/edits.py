"""Dated edits: everything that changes a running fabric from outside, applied at its exact time.

Each is a frozen record of what and when; engine/apply.py carries it out between two windows.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabric.ids import LinkId, NodeId, PortId
from fabric.state.params import EcnParams, PgParams, WatchdogParams


@dataclass(frozen=True, slots=True)
class Edit:
    """Root of all edits."""

    time_ps: int


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
    """Every n-th data frame arriving at a port is discarded; 0 stops it."""

    port: PortId
    every: int


@dataclass(frozen=True, slots=True)
class HostDrain(Edit):
    """A host consumes received bytes at this rate; 0: at line rate."""

    host: NodeId
    drain_bps: int


@dataclass(frozen=True, slots=True)
class PauseStorm(Edit):
    """A broken NIC sends XOFF for a bitmap of classes, one frame every gap_ps, for duration_ps."""

    host: NodeId
    classes: int
    duration_ps: int
    gap_ps: int
    """0: half of the pause time, as a healthy sender refreshes."""
    quanta: int


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


@dataclass(frozen=True, slots=True)
class PfcClasses(Edit):
    """New PFC enable bitmap of one port; classes that lose PFC resume at once."""

    port: PortId
    classes: int


@dataclass(frozen=True, slots=True)
class WatchdogSet(Edit):
    """PFC watchdog of one switch; None: off (stormed queues are restored)."""

    switch: NodeId
    watchdog: WatchdogParams | None


@dataclass(frozen=True, slots=True)
class FibRoute(Edit):
    """Next hops of one switch towards one host; empty: no route (a black hole)."""

    switch: NodeId
    host: NodeId
    ports: tuple[PortId, ...]


@dataclass(frozen=True, slots=True)
class TenantRoutes(Edit):
    """Where leaves route their tenants' packets to, between subnets: host and prefix routes of EVPN (RFC 9135)."""

    routes: tuple[tuple[NodeId, NodeId, tuple[NodeId, ...]], ...]
    """(leaf, host, equal VTEPs); the leaf itself alone: the host is at a port of its own; (): no route."""


@dataclass(frozen=True, slots=True)
class VtepRoutes(Edit):
    """Next hops of switches towards addresses of VTEPs; () is no route."""

    routes: tuple[tuple[NodeId, NodeId, tuple[PortId, ...]], ...]
    """(switch, leaf, ports)."""


@dataclass(frozen=True, slots=True)
class FloodList(Edit):
    """To which leaves a leaf replicates the broadcasts of a segment from now on (Type-3 routes)."""

    switch: NodeId
    segment: int
    """Position in VxlanParams.segments."""
    vteps: tuple[NodeId, ...]


@dataclass(frozen=True, slots=True)
class ArpKnown(Edit):
    """Whether a leaf knows a host's MAC and IP (Type-2 routes), so that it may answer ARP for it."""

    switch: NodeId
    host: NodeId
    known: bool


@dataclass(frozen=True, slots=True)
class UnknownMac(Edit):
    """Whether a leaf floods what is for a host, since it does not know the host's MAC address."""

    switch: NodeId
    host: NodeId
    unknown: bool


@dataclass(frozen=True, slots=True)
class SuppressArp(Edit):
    """Whether a leaf answers ARP of a segment for known targets from now on."""

    switch: NodeId
    segment: int
    """Position in VxlanParams.segments."""
    on: bool

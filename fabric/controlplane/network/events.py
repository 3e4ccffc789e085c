"""Dated events of the control plane: changes of cables, switches, configurations and endpoints.

Frozen records with their time, in nanoseconds after the run's start. fabric/faults has the effects in the data plane;
these events are the effects on routers.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabric.controlplane.bgp.policy import Policy


@dataclass(frozen=True, slots=True)
class ControlEvent:
    """Root of all events."""

    time_ns: int


@dataclass(frozen=True, slots=True)
class CableDown(ControlEvent):
    """Both ends lose carrier: sessions end at once (RFC 4271 section 8.1.4, TcpConnectionFails)."""

    cable: int


@dataclass(frozen=True, slots=True)
class CableUp(ControlEvent):
    """Both ends gain carrier."""

    cable: int


@dataclass(frozen=True, slots=True)
class CableSilent(ControlEvent):
    """The cable carries no frames, but both ends keep carrier: only hold timers or BFD detect it."""

    cable: int


@dataclass(frozen=True, slots=True)
class CableSilenceEnded(ControlEvent):
    """A silent cable carries frames again; TCP retransmits the unacknowledged bytes."""

    cable: int


@dataclass(frozen=True, slots=True)
class RouterCrash(ControlEvent):
    """A switch stops: its sessions, tables and VTEP are lost.

    With `carrier` its ports keep carrier (a hung switch), so the neighbours wait for hold timers or BFD.
    """

    router: int
    carrier: bool


@dataclass(frozen=True, slots=True)
class RouterBoot(ControlEvent):
    """A crashed switch starts again with empty tables."""

    router: int
    down_cables: frozenset[int] = frozenset()
    """Cables that stay without carrier for another reason."""
    silent: frozenset[int] = frozenset()
    """Cables that stay silent for another reason."""


@dataclass(frozen=True, slots=True)
class DaemonCrash(ControlEvent):
    """The routing daemon dies; the kernel closes its TCP connections. Forwarding continues with the last routes."""

    router: int


@dataclass(frozen=True, slots=True)
class DaemonStart(ControlEvent):
    """The routing daemon starts again."""

    router: int


@dataclass(frozen=True, slots=True)
class Drain(ControlEvent):
    """The switch adds GRACEFUL_SHUTDOWN to all its advertisements (RFC 8326 section 4), or removes it."""

    router: int
    on: bool


@dataclass(frozen=True, slots=True)
class Shutdown(ControlEvent):
    """The switch closes its sessions with Cease / Administrative Shutdown (RFC 9003)."""

    router: int


@dataclass(frozen=True, slots=True)
class Reconfigure(ControlEvent):
    """A switch restarts BGP with another AS number, or with the configured one (None)."""

    router: int
    asn: int | None


@dataclass(frozen=True, slots=True)
class SetPolicy(ControlEvent):
    """A router gets another policy, towards one neighbour or all neighbours (None)."""

    router: int
    peer: int | None
    direction: str
    """'import' or 'export'."""
    policy: Policy | None
    """None: the configured one."""
    others: tuple[tuple[int | None, Policy], ...] = ()
    """Without a policy: (peer, policy) of other changes of this direction still in force, in order of their start."""


@dataclass(frozen=True, slots=True)
class HostSeen(ControlEvent):
    """A leaf receives a frame of an endpoint at a port; with `arp`, a gratuitous ARP with the IP address.

    A frame at another leaf, while the first leaf still has the MAC, is a move (RFC 7432 section 15).
    """

    mac: str
    ip: str
    vni: int
    router: int
    port: str
    arp: bool = True
    data_port: int = -1
    """Row of the port in the data plane; -1: no such port."""
    back: bool = False
    """Its frames arrive again where the last one did; router, port and data_port are for one that has sent none."""


@dataclass(frozen=True, slots=True)
class HostGone(ControlEvent):
    """An endpoint's port goes down or its entry ages out: the leaf withdraws its routes (RFC 7432 section 7.2)."""

    mac: str
    vni: int
    router: int | None
    """None: the leaf where the endpoint is at that time."""


@dataclass(frozen=True, slots=True)
class HostPortDown(ControlEvent):
    """A leaf's port to a host loses carrier: MACs learned there are withdrawn, a bond fails over."""

    router: int
    data_port: int
    """Row of the port in the data plane."""


@dataclass(frozen=True, slots=True)
class HostPortUp(ControlEvent):
    """The port has carrier again."""

    router: int
    data_port: int

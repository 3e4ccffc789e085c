"""Dated events of the control plane: what happens to cables, switches, configurations and endpoints.

Frozen records of what and when, in nanoseconds after the run's start. Who breaks what in the data plane at the same
moment is said by fabric/faults; here is what the routers notice, or do not.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabric.routing.bgp.policy import Policy


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
    """Carrier is back at both ends."""

    cable: int


@dataclass(frozen=True, slots=True)
class CableSilent(ControlEvent):
    """Nothing crosses the cable any more and both ends keep carrier: only hold timers or BFD find out."""

    cable: int


@dataclass(frozen=True, slots=True)
class CableHeard(ControlEvent):
    """A silent cable carries frames again; TCP retransmits what waited."""

    cable: int


@dataclass(frozen=True, slots=True)
class RouterCrash(ControlEvent):
    """A switch stops: its sessions, tables and VTEP are gone.

    With `carrier` its ports keep light (a hung switch), so the neighbours wait for hold timers or BFD.
    """

    router: int
    carrier: bool


@dataclass(frozen=True, slots=True)
class RouterBoot(ControlEvent):
    """A crashed switch starts again with empty tables."""

    router: int
    dark: frozenset[int] = frozenset()
    """Cables that stay without carrier for another reason."""
    silent: frozenset[int] = frozenset()
    """Cables that stay silent for another reason."""


@dataclass(frozen=True, slots=True)
class DaemonCrash(ControlEvent):
    """The routing daemon dies and its host closes the TCP connections; forwarding goes on with the last routes."""

    router: int


@dataclass(frozen=True, slots=True)
class DaemonStart(ControlEvent):
    """The routing daemon starts again."""

    router: int


@dataclass(frozen=True, slots=True)
class Drain(ControlEvent):
    """The switch marks all it announces with GRACEFUL_SHUTDOWN (RFC 8326 section 4), or takes the mark back."""

    router: int
    on: bool


@dataclass(frozen=True, slots=True)
class Shutdown(ControlEvent):
    """The switch closes its sessions with Cease / Administrative Shutdown (RFC 9003)."""

    router: int


@dataclass(frozen=True, slots=True)
class Reconfigure(ControlEvent):
    """A switch restarts BGP with another AS number, or its own again (None)."""

    router: int
    asn: int | None


@dataclass(frozen=True, slots=True)
class SetPolicy(ControlEvent):
    """Another policy at one router, towards one neighbour or all of them (None)."""

    router: int
    peer: int | None
    direction: str
    """'import' or 'export'."""
    policy: Policy | None
    """None: the configured one again."""
    others: tuple[tuple[int | None, Policy], ...] = ()
    """Without a policy: (peer, policy) of other changes of the direction that still hold, in the order of beginning."""


@dataclass(frozen=True, slots=True)
class HostSeen(ControlEvent):
    """A leaf hears a frame of an endpoint at a port; with `arp`, a gratuitous ARP, which teaches the IP address too.

    Heard first at one leaf, then at another while the first still knows it, this is a move (RFC 7432 section 15).
    """

    mac: str
    ip: str
    vni: int
    router: int
    port: str
    arp: bool = True
    data_port: int = -1
    """Row of the port in the data plane; -1: none leads there."""


@dataclass(frozen=True, slots=True)
class HostGone(ControlEvent):
    """An endpoint's port goes down or its entry ages out: the leaf withdraws its routes (RFC 7432 section 7.2)."""

    mac: str
    vni: int
    router: int


@dataclass(frozen=True, slots=True)
class HostPortDown(ControlEvent):
    """A leaf's port to a host loses carrier: what was learned there is withdrawn, a bond fails over."""

    router: int
    data_port: int
    """Row of the port in the data plane."""


@dataclass(frozen=True, slots=True)
class HostPortUp(ControlEvent):
    """The port has carrier again."""

    router: int
    data_port: int

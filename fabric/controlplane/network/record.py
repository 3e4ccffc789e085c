"""Record of a control plane: changes of forwarding, sessions and locations with their times, and convergence per event.

Times are nanoseconds after the epoch. Before the epoch only the time of the last change is kept: the time of
convergence.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from fabric.controlplane.bgp.cause import Cause
from fabric.controlplane.network.events import ControlEvent, HostGone, HostSeen
from fabric.controlplane.network.forwarding import Ports
from fabric.wire.iana import HEADER_BYTES, MessageType

_LENGTH: Final = slice(16, 18)
_TYPE: Final = 18


class RouteChange(NamedTuple):
    """The ports to which a switch forwards a prefix changed."""

    time_ns: int
    router: int
    key: bytes
    """forwarding.prefix_key of the prefix."""
    ports: Ports


class LocationChange(NamedTuple):
    """The location of an endpoint in the tables of a switch changed."""

    time_ns: int
    router: int
    vni: int
    mac: str
    vtep: int | None
    """Router of the VTEP (this switch: the endpoint is local); None: unknown."""
    port: int
    """Row of the data-plane port of a local endpoint; else -1."""


class FloodChange(NamedTuple):
    """The flood list of a VTEP for a VNI changed (RFC 7432 section 11, RFC 8365 section 9)."""

    time_ns: int
    router: int
    vni: int
    vteps: tuple[int, ...]
    """Routers."""


class BindingChange(NamedTuple):
    """A VTEP gained or lost the binding by which it answers ARP for a host."""

    time_ns: int
    router: int
    vni: int
    ip: str
    known: bool


class EgressChange(NamedTuple):
    """The egress VTEPs to which a leaf routes a tenant's packets for a host changed."""

    time_ns: int
    router: int
    host: int
    """Row of the host in the data plane."""
    vteps: tuple[int, ...]
    """Next-hop routers. Own row only: locally attached. Empty: no route."""


class Alarm(NamedTuple):
    """A VTEP alerts its operator about a MAC (RFC 7432 sections 15.1 and 15.2)."""

    time_ns: int
    router: int
    vni: int
    mac: str
    text: str


class SessionChange(NamedTuple):
    """A BGP session came up or went down."""

    time_ns: int
    router: int
    peer: str
    up: bool
    reason: str


@dataclass(slots=True)
class Convergence:
    """All effects of one event (fabric/controlplane/bgp/cause.py), at any time after it. An effect of two events, such
    as one batch of UPDATEs, is attributed to the later one.
    """

    event: ControlEvent
    time_ns: int
    first_reaction_ns: int | None = None
    """First lost session or first new route, at any router."""
    last_fib_ns: int | None = None
    """Last change of any forwarding table: the time of convergence."""
    last_rib_ns: int | None = None
    """Last change of any Loc-RIB."""
    sessions_lost: int = 0
    sessions_gained: int = 0
    updates: int = 0
    """UPDATE messages sent by all routers."""
    messages: int = 0
    """Messages of every type."""
    message_bytes: int = 0
    fib_changes: int = 0
    """Rows of forwarding tables (prefix or endpoint) that changed."""
    routers: set[int] = field(default_factory=set)
    """Routers whose forwarding changed."""
    times: int = 1
    """Number of events that share this record; all endpoint churn shares one."""
    slowest_ns: int | None = None
    """Of churn: longest time from an endpoint's event to the last switch that learned of it."""

    is_churn: bool = False

    @property
    def convergence_ns(self) -> int | None:
        """Time from the event to the last change of forwarding (churn: of the slowest endpoint); None: no change."""
        if self.is_churn:
            return self.slowest_ns
        return None if self.last_fib_ns is None else self.last_fib_ns - self.time_ns


class Recorder:
    """Collects the changes of all switches."""

    def __init__(self, cause: Cause, endpoints: Collection[tuple[int, str]] = ()) -> None:
        """`cause`: the current cause; `endpoints`: (VNI, MAC) of the plan; all other endpoints are churn."""
        self._cause = cause
        self._endpoints = frozenset(endpoints)
        self._latest = self._churn = 0
        """Record numbers, from 1: of the last event, and of churn."""
        self._churned_ns: dict[tuple[int, str], int] = {}
        self.epoch_ns: int | None = None
        self.last_change_ns = 0
        self.sends = 0
        """Number of transmissions since the cold start."""
        self.sent_bytes = 0
        self.routes: list[RouteChange] = []
        self.locations: list[LocationChange] = []
        self.floods: list[FloodChange] = []
        self.bindings: list[BindingChange] = []
        self.egresses: list[EgressChange] = []
        self.sessions: list[SessionChange] = []
        self.alarms: list[Alarm] = []
        self.convergence: list[Convergence] = []
        self._counted: tuple[bytes, int, int] = (b"", 0, 0)

    def begin(self, epoch_ns: int) -> None:
        """The network has converged: record from now on, with times counted from now."""
        self.epoch_ns = epoch_ns

    def begin_event(self, now_ns: int, event: ControlEvent) -> int:
        """A dated event begins; returns the cause number of its effects. Events of one time share one record, and so
        does all churn.
        """
        time_ns = now_ns - (self.epoch_ns or 0)
        if isinstance(event, HostSeen | HostGone) and (event.vni, event.mac) not in self._endpoints:
            self._churned_ns[event.vni, event.mac] = now_ns
            if not self._churn:
                self._churn = self._enter(Convergence(event, time_ns, is_churn=True))
            else:
                self.convergence[self._churn - 1].times += 1
            return self._churn
        if not self._latest or self.convergence[self._latest - 1].time_ns != time_ns:
            self._latest = self._enter(Convergence(event, time_ns))
        return self._latest

    def _enter(self, record: Convergence) -> int:
        self.convergence.append(record)
        return len(self.convergence)

    @property
    def _here(self) -> Convergence | None:
        """The record of the current cause."""
        return self.convergence[self._cause.now - 1] if self._cause.now else None

    def sent(self, now_ns: int, data: bytes) -> None:
        """Messages leave a router."""
        self.sends += 1
        self.sent_bytes += len(data)
        if self.epoch_ns is None:
            if len(data) > HEADER_BYTES:
                self.last_change_ns = now_ns
            return
        here = self._here
        if here is not None:
            if data is not self._counted[0]:
                self._counted = (data, *_count(data))
            here.messages += self._counted[1]
            here.updates += self._counted[2]
            here.message_bytes += len(data)

    def session(self, now_ns: int, router: int, peer: str, *, up: bool, reason: str) -> None:
        """A session changed."""
        self.last_change_ns = now_ns
        if self.epoch_ns is None:
            return
        self.sessions.append(SessionChange(now_ns - self.epoch_ns, router, peer, up, reason))
        here = self._here
        if here is not None:
            here.sessions_gained += up
            here.sessions_lost += not up
            if not up:
                self._reacted(now_ns)

    def loc_rib(self, now_ns: int) -> None:
        """A router selected other routes."""
        self.last_change_ns = now_ns
        if self.epoch_ns is not None and (here := self._here) is not None:
            self._reacted(now_ns)
            here.last_rib_ns = now_ns - self.epoch_ns

    def route(self, now_ns: int, router: int, key: bytes, ports: Ports) -> None:
        """A switch forwards a prefix differently."""
        self.last_change_ns = now_ns
        if self.epoch_ns is not None:
            self.routes.append(RouteChange(now_ns - self.epoch_ns, router, key, ports))
            self._forwarding(now_ns, router)

    def location(self, now_ns: int, router: int, vni: int, mac: str, vtep: int | None, port: int) -> None:
        """A switch has another location for an endpoint."""
        self.last_change_ns = now_ns
        if self.epoch_ns is None:
            return
        self.locations.append(LocationChange(now_ns - self.epoch_ns, router, vni, mac, vtep, port))
        since_ns = self._churned_ns.get((vni, mac))
        if since_ns is None:
            self._forwarding(now_ns, router)
            return
        # The location of a churning endpoint belongs to churn, even if its route shared a batch with another event.
        churn = self.convergence[self._churn - 1]
        churn.slowest_ns = max(churn.slowest_ns or 0, now_ns - since_ns)
        churn.last_fib_ns = now_ns - self.epoch_ns
        churn.fib_changes += 1
        churn.routers.add(router)

    def flood(self, now_ns: int, router: int, vni: int, vteps: tuple[int, ...]) -> None:
        """A flood list changed."""
        self.last_change_ns = now_ns
        if self.epoch_ns is not None:
            self.floods.append(FloodChange(now_ns - self.epoch_ns, router, vni, vteps))

    def binding(self, now_ns: int, router: int, vni: int, ip: str, *, known: bool) -> None:
        """A VTEP gained or lost a binding by which it answers ARP."""
        if self.epoch_ns is not None:
            self.bindings.append(BindingChange(now_ns - self.epoch_ns, router, vni, ip, known))

    def egress(self, now_ns: int, router: int, host: int, vteps: tuple[int, ...]) -> None:
        """A leaf routes packets for a host to other VTEPs than before."""
        self.last_change_ns = now_ns
        if self.epoch_ns is not None:
            self.egresses.append(EgressChange(now_ns - self.epoch_ns, router, host, vteps))
            self._forwarding(now_ns, router)

    def alarm(self, now_ns: int, router: int, vni: int, mac: str, text: str) -> None:
        """A VTEP alerts its operator."""
        if self.epoch_ns is not None:
            self.alarms.append(Alarm(now_ns - self.epoch_ns, router, vni, mac, text))

    def _forwarding(self, now_ns: int, router: int) -> None:
        here = self._here
        if here is not None:
            here.last_fib_ns = now_ns - (self.epoch_ns or 0)
            here.fib_changes += 1
            here.routers.add(router)

    def _reacted(self, now_ns: int) -> None:
        here = self._here
        if here is not None and here.first_reaction_ns is None:
            here.first_reaction_ns = now_ns - (self.epoch_ns or 0)


def _count(data: bytes) -> tuple[int, int]:
    """(messages, UPDATEs among them) in a sequence of whole messages (RFC 4271 section 4.1)."""
    messages = updates = at = 0
    while at + HEADER_BYTES <= len(data):
        messages += 1
        updates += data[at + _TYPE] == MessageType.UPDATE
        at += max(int.from_bytes(data[at + 16 : at + 18], "big"), HEADER_BYTES)
    return messages, updates

"""The ways between two hosts: every equal-cost path, the one that a flow takes, and what each switch hashed to choose.

A path is a tuple of egress ports, the sending host's first. With a FIB that is wrong a path may end at a switch without
a route, or go round; it is listed all the same, with its end. Between subnets of a tenant a leaf chooses a VTEP first,
then a way to it; the paths are those to all of its VTEPs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from fabric.engine.edits import Edit, LinkRate
from fabric.engine.holds import in_force
from fabric.report.forwarding import Forwarding
from fabric.report.walk import MAX_HOPS, VXLAN_PORT, End, Flows, entropy, walk
from fabric.state.codes import HashAlgorithm
from fabric.topology.addressing import ipv4_text
from fabric.topology.model import Node

MAX_PATHS: Final = 1024
"""Paths listed between two hosts; more are counted as 'at least'."""

ENTROPY_PORTS: Final = range(0xC000, 0x10000)
"""UDP source ports of RoCEv2 (Linux include/rdma/ib_verbs.h): 14 bits."""


@dataclass(frozen=True, slots=True)
class Path:
    """One way from a host towards another."""

    ports: tuple[int, ...]
    """PortId of every egress, the host's first."""
    end: End
    rate_bps: int
    """Of its slowest cable."""
    delay_ps: int
    """Propagation, one way."""
    dead: int | None
    """First egress port by which nothing arrives: its cable is down, or its other end loses every frame."""

    @property
    def hops(self) -> int:
        """Cables crossed."""
        return len(self.ports)


@dataclass(frozen=True, slots=True)
class Header:
    """What a switch hashes."""

    outer: bool
    """Of the VXLAN tunnel rather than of the packet itself."""
    src_ip: int
    dst_ip: int
    src_port: int
    dst_port: int

    def text(self) -> str:
        """'10.64.0.2:49153 → 10.64.1.2:4791'."""
        return f"{ipv4_text(self.src_ip)}:{self.src_port} → {ipv4_text(self.dst_ip)}:{self.dst_port}"


@dataclass(frozen=True, slots=True)
class Decision:
    """One switch's choice of an egress port."""

    switch: int
    members: tuple[int, ...]
    """Ports it chose among, in the order in which the hash counts."""
    index: int
    """Position of the chosen one."""
    header: Header
    algorithm: HashAlgorithm
    seed: int
    hashed: int | None
    """None where there was one member only: nothing is hashed."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A leaf's choice among VTEPs of equal routes, of packets between subnets of a tenant."""

    hop: int
    """Switches crossed before."""
    switch: int
    vteps: tuple[int, ...]
    """NodeIds, in the order in which the hash counts."""
    index: int
    header: Header
    """The inner one."""
    hashed: int


@dataclass(frozen=True)
class FlowPath:
    """The one path of a flow."""

    path: Path
    decisions: tuple[Decision, ...]
    entropy_port: int | None
    """Outer UDP source port between VTEPs; None where the flow stays under one leaf or there is no overlay."""
    choices: tuple[Choice, ...] = ()
    """Where a leaf had several VTEPs to choose from."""


class LinkRates:
    """Rates of cables at one moment: a fault may have lowered some."""

    def __init__(self, forwarding: Forwarding, edits: Sequence[Edit]) -> None:
        fabric = forwarding.fabric
        self._rate = [fabric.links[port.link].rate_bps for port in fabric.ports]
        for edit in in_force(edits, fabric, forwarding.params):
            if isinstance(edit, LinkRate) and edit.time_ps <= forwarding.time_ps:
                link = fabric.links[edit.link]
                self._rate[link.a] = self._rate[link.b] = edit.rate_bps

    def of(self, port: int) -> int:
        """Bits per second of a port's cable."""
        return self._rate[port]


def all_paths(at: Forwarding, rates: LinkRates, src: Node, dst: Node) -> tuple[list[Path], bool]:
    """(paths in order of VTEPs and ports, whether that is all of them), over every NIC port of the source."""
    found: dict[tuple[int, ...], Path] = {}     # two that are lost before they part are one
    for port in src.ports:
        for path in _paths_from(at, rates, port, dst, routed=_crosses(at, src.id, dst.id)):
            if len(found) == MAX_PATHS and path.ports not in found:
                return list(found.values()), False
            found.setdefault(path.ports, path)
    return list(found.values()), True


def _crosses(at: Forwarding, src: int, dst: int) -> bool:
    tenants = at.tables.tenants
    return tenants is not None and bool(tenants.crossing(np.array([src]), np.array([dst]))[0])


def _paths_from(at: Forwarding, rates: LinkRates, first: int, dst: Node, *, routed: bool) -> Iterator[Path]:
    fabric = at.fabric
    # Egress ports so far, (switch, VTEP) so far, row of the VTEP whose address the packet wears.
    stack: list[tuple[tuple[int, ...], frozenset[tuple[int, int]], int]] = [((first,), frozenset(), -1)]
    while stack:
        ports, seen, far = stack.pop()
        here = fabric.peer_of(ports[-1])
        if here.id - at.tables.n_hosts == far:      # it looks the host up, as the first leaf did
            far = -1
        if here.id == dst.id:
            yield make_path(at, rates, ports, End.ARRIVED)
        elif here.is_host or (here.id, far) in seen or len(ports) == MAX_HOPS:
            yield make_path(at, rates, ports, End.LOOP)
        else:
            onwards = _onwards(at, here.id, dst.id, far, routed=routed)
            if not onwards:
                yield make_path(at, rates, ports, End.NO_ROUTE)
            stack += [((*ports, port), seen | {(here.id, far)}, vtep) for port, vtep in reversed(onwards)]


def _onwards(at: Forwarding, switch: int, dst: int, far: int, *, routed: bool) -> list[tuple[int, int]]:
    """(egress port, row of the VTEP whose address is worn from there on, -1 for none) of every way on."""
    tables = at.tables
    row = switch - tables.n_hosts
    vteps = tables.tenants.vteps(row, dst, far) if routed and tables.tenants is not None else None
    if vteps is None or tables.tenants is None:
        return [(port, -1) for port in at.next_ports(switch, dst)]
    return [(port, vtep) for vtep in vteps for port in tables.group(int(tables.tenants.vtep_fib[row, vtep]) - 1)]


def make_path(at: Forwarding, rates: LinkRates, ports: tuple[int, ...], end: End) -> Path:
    """Sum up the cables of a path."""
    links = [at.fabric.links[at.fabric.ports[port].link] for port in ports]
    return Path(ports, end, min(rates.of(port) for port in ports), sum(link.delay_ps for link in links),
                next((port for port in ports if port in at.dead), None))


def one_flow(at: Forwarding, src: Node, dst: Node, src_port: int, dst_port: int, nic: int) -> Flows:
    """Columns of length one. nic: PortId at the source."""
    return many_flows(at, src, dst, range(src_port, src_port + 1), dst_port, nic)


def many_flows(at: Forwarding, src: Node, dst: Node, src_ports: range, dst_port: int, nic: int) -> Flows:
    """One flow per UDP source port."""
    ports = np.arange(src_ports.start, src_ports.stop, dtype=np.int64)
    same = np.ones_like(ports)
    return at.flows(src.id * same, dst.id * same, ports, dst_port * same, nic * same)


def flow_path(at: Forwarding, rates: LinkRates, flow: Flows) -> FlowPath:
    """Follow one flow; every switch on its way says how it chose."""
    steps = walk(at.tables, flow)
    ports = tuple(int(port) for port in steps.egress[0] if port >= 0)
    tables, fabric = at.tables, at.fabric
    src, dst, words = int(flow.src[0]), int(flow.dst[0]), int(flow.words[0])
    plain = Header(False, int(tables.host_ip[src]), int(tables.host_ip[dst]), words & 0xFFFF, words >> 16)
    outer_port = int(entropy(tables, flow)[0])
    worn = Header(True, int(tables.switch_ip[tables.leaf[src]]), int(tables.switch_ip[tables.leaf[dst]]), outer_port,
                  VXLAN_PORT)
    decisions = []
    for hop, port in enumerate(ports[1:], 1):
        switch = fabric.node_of(port).id
        row = switch - tables.n_hosts
        chose = steps.group[0, hop] >= 0
        decisions.append(Decision(
            switch, tables.group(int(steps.group[0, hop])) if chose else (port,),
            int(steps.index[0, hop]) if chose else 0,
            worn if steps.outer[0, hop] else plain, HashAlgorithm(int(tables.hash_algorithm[row])),
            int(tables.hash_seed[row]), int(steps.hashed[0, hop]) if chose else None))
    return FlowPath(make_path(at, rates, ports, End(int(steps.end[0]))), tuple(decisions),
                    outer_port if bool(steps.outer[0].any()) else None,
                    _choices(at, src, dst, words, plain, ports))


def _choices(at: Forwarding, src: int, dst: int, words: int, inner: Header,
             ports: tuple[int, ...]) -> tuple[Choice, ...]:
    """VTEPs that leaves on the way chose among; walk() has taken the same ones."""
    tables = at.tables
    if tables.tenants is None or not _crosses(at, src, dst):
        return ()
    hashed, far = tables.tenants.hashed(src, dst, words), -1
    found = []
    for hop, port in enumerate(ports):
        switch = int(at.fabric.peer_of(port).id)
        if switch < tables.n_hosts:
            break
        vteps = tables.tenants.vteps(switch - tables.n_hosts, dst, far)
        if vteps is not None and len(vteps) > 1:
            found.append(Choice(hop, switch, tuple(row + tables.n_hosts for row in vteps), hashed % len(vteps),
                                inner, hashed))
        far = vteps[hashed % len(vteps)] if vteps else -1
    return tuple(found)

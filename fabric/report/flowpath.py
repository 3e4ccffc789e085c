"""The ways between two hosts: every equal-cost path, the one that a flow takes, and what each switch hashed to choose.

A path is a tuple of egress ports, the sending host's first. With a FIB that is wrong a path may end at a switch without
a route, or go round; it is listed all the same, with its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from fabric.engine.edits import Edit, LinkRate
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


@dataclass(frozen=True)
class FlowPath:
    """The one path of a flow."""

    path: Path
    decisions: tuple[Decision, ...]
    entropy_port: int | None
    """Outer UDP source port between VTEPs; None where the flow stays under one leaf or there is no overlay."""


class LinkRates:
    """Rates of cables at one moment: a fault may have lowered some."""

    def __init__(self, forwarding: Forwarding, edits: Sequence[Edit]) -> None:
        fabric = forwarding.fabric
        self._rate = [fabric.links[port.link].rate_bps for port in fabric.ports]
        for edit in sorted(edits, key=lambda it: it.time_ps):
            if isinstance(edit, LinkRate) and edit.time_ps <= forwarding.time_ps:
                link = fabric.links[edit.link]
                self._rate[link.a] = self._rate[link.b] = edit.rate_bps

    def of(self, port: int) -> int:
        """Bits per second of a port's cable."""
        return self._rate[port]


def all_paths(at: Forwarding, rates: LinkRates, src: Node, dst: Node) -> tuple[list[Path], bool]:
    """(paths in order of their ports, whether that is all of them), over every NIC port of the source."""
    found: list[Path] = []
    for port in src.ports:
        for path in _paths_from(at, rates, port, dst):
            if len(found) == MAX_PATHS:
                return found, False
            found.append(path)
    return found, True


def _paths_from(at: Forwarding, rates: LinkRates, first: int, dst: Node) -> Iterator[Path]:
    fabric = at.fabric
    stack: list[tuple[tuple[int, ...], frozenset[int]]] = [((first,), frozenset())]
    while stack:
        ports, seen = stack.pop()
        here = fabric.peer_of(ports[-1])
        if here.id == dst.id:
            yield make_path(at, rates, ports, End.ARRIVED)
        elif here.is_host or here.id in seen or len(ports) == MAX_HOPS:
            yield make_path(at, rates, ports, End.LOOP)
        else:
            onwards = at.next_ports(here.id, dst.id)
            if not onwards:
                yield make_path(at, rates, ports, End.NO_ROUTE)
            stack += [((*ports, port), seen | {here.id}) for port in reversed(onwards)]


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
            switch, at.next_ports(switch, dst), int(steps.index[0, hop]) if chose else 0,
            worn if steps.outer[0, hop] else plain, HashAlgorithm(int(tables.hash_algorithm[row])),
            int(tables.hash_seed[row]), int(steps.hashed[0, hop]) if chose else None))
    return FlowPath(make_path(at, rates, ports, End(int(steps.end[0]))), tuple(decisions),
                    outer_port if bool(steps.outer[0].any()) else None)

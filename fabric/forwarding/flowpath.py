"""The paths between two hosts: all equal-cost paths, the path of a flow, and the header and hash of every choice on it.

A path is a tuple of egress ports, that of the source first. With a wrong FIB a path may end at a switch without a
route, or loop; it is listed with its end. Between subnets of a tenant a leaf chooses a VTEP first, then a path to it;
the paths to all of its VTEPs are listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from fabric.dataplane.engine.edits import Edit, LinkRate
from fabric.dataplane.engine.follow import MAX_HOPS, End
from fabric.dataplane.engine.holds import in_force
from fabric.dataplane.state.codes import FIRST_QPN, FIVE_TUPLE, HashAlgorithm, HashField
from fabric.dataplane.switch.vtep import VXLAN_PORT
from fabric.forwarding.tables import Forwarding
from fabric.forwarding.walk import Flows, Walks, walk
from fabric.topology.addressing import ipv4_text
from fabric.topology.model import Node

MAX_PATHS: Final = 1024
"""Paths listed between two hosts; more are counted as 'at least'."""

ENTROPY_PORTS: Final = range(0xC000, 0x10000)
"""UDP source ports of RoCEv2 (Linux include/rdma/ib_verbs.h): 14 bits."""


@dataclass(frozen=True, slots=True)
class Path:
    """One path from a host towards another."""

    ports: tuple[int, ...]
    """PortId of every egress, the host's first."""
    end: End
    rate_bps: int
    """Rate of the slowest cable."""
    delay_ps: int
    """Propagation, one way."""
    dead: int | None
    """First egress port that loses every packet: its cable is down, or the other end discards every frame."""

    @property
    def hops(self) -> int:
        """Cables crossed."""
        return len(self.ports)


@dataclass(frozen=True, slots=True)
class Header:
    """The header fields that a switch hashes."""

    outer: bool
    """True: of the VXLAN tunnel; False: of the packet itself."""
    src_ip: int
    dst_ip: int
    src_port: int
    dst_port: int

    def text(self, fields: int = int(FIVE_TUPLE), qp: int = 0) -> str:
        """'10.64.0.2:49153 → 10.64.1.2:4791'; '*': a field that is not hashed.

        Parameters
        ----------
        fields : bitmap of HashField
        qp : number of the queue pair, from 0; added as 'QP 2' where it is hashed, with the number of a capture
        """

        def shown(field: HashField, value: object) -> str:
            return str(value) if fields & field else "*"

        source = shown(HashField.SOURCE_IP, ipv4_text(self.src_ip)), shown(HashField.SOURCE_PORT, self.src_port)
        target = (
            shown(HashField.DESTINATION_IP, ipv4_text(self.dst_ip)),
            shown(HashField.DESTINATION_PORT, self.dst_port),
        )
        number = f" QP {qp + FIRST_QPN}" if fields & HashField.DESTINATION_QP and not self.outer else ""
        return f"{':'.join(source)} → {':'.join(target)}{number}"


@dataclass(frozen=True, slots=True)
class Decision:
    """One switch's choice of an egress port."""

    switch: int
    members: tuple[int, ...]
    """Candidate ports, in the order in which the hash counts."""
    index: int
    """Position of the chosen port."""
    header: Header
    algorithm: HashAlgorithm
    seed: int
    hashed: int | None
    """None with a single member: nothing is hashed."""
    fields: int = int(FIVE_TUPLE)
    """Bitmap of HashField."""
    qp: int = 0
    """Number of the queue pair, from 0."""


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
    """The inner header."""
    hashed: int


@dataclass(frozen=True)
class FlowPath:
    """The path of a flow."""

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
    """(paths in order of VTEPs and ports, whether that is all of them), over every port of the source that leads there:
    inside a server its scale-up link, else its NICs.
    """
    found: dict[tuple[int, ...], Path] = {}  # two paths that are lost before they part are one path
    routed = bool(walk(at.tables, one_flow(at, src, dst, 0, 0, src.first_port)).routed[0])
    for port in at.fabric.ports_towards(src.id, dst.id):
        for path in _paths_from(at, rates, port, dst, routed=routed):
            if len(found) == MAX_PATHS and path.ports not in found:
                return list(found.values()), False
            found.setdefault(path.ports, path)
    return list(found.values()), True


def _paths_from(at: Forwarding, rates: LinkRates, first: int, dst: Node, *, routed: bool) -> Iterator[Path]:
    fabric = at.fabric
    # Egress ports so far, (switch, VTEP) so far, row of the VTEP that the outer destination names.
    stack: list[tuple[tuple[int, ...], frozenset[tuple[int, int]], int]] = [((first,), frozenset(), -1)]
    while stack:
        ports, seen, remote = stack.pop()
        here = fabric.peer_of(ports[-1])
        if here.id - at.tables.n_hosts == remote:  # decapsulated: it looks the host up, as the first leaf did
            remote = -1
        if here.id == dst.id:
            yield make_path(at, rates, ports, End.ARRIVED)
        elif here.is_host or (here.id, remote) in seen or len(ports) == MAX_HOPS:
            yield make_path(at, rates, ports, End.LOOP)
        else:
            next_hops = _next_hops(at, here.id, dst.id, remote, routed=routed)
            if not next_hops:
                yield make_path(at, rates, ports, End.NO_ROUTE)
            stack += [((*ports, port), seen | {(here.id, remote)}, vtep) for port, vtep in reversed(next_hops)]


def _next_hops(at: Forwarding, switch: int, dst: int, remote: int, *, routed: bool) -> list[tuple[int, int]]:
    """(egress port, row of the VTEP that the outer destination names from there on, -1: none) of every next hop."""
    tables = at.tables
    row = switch - tables.n_hosts
    vteps = tables.vteps(row, dst, remote) if routed else None
    if vteps is None:
        return [(port, -1) for port in at.next_ports(switch, dst)]
    return [(port, vtep) for vtep in vteps for port in tables.ports_to_vtep(row, vtep)]


def make_path(at: Forwarding, rates: LinkRates, ports: tuple[int, ...], end: End) -> Path:
    """Rate, delay and dead ports over the cables of a path."""
    links = [at.fabric.links[at.fabric.ports[port].link] for port in ports]
    return Path(
        ports,
        end,
        min(rates.of(port) for port in ports),
        sum(link.delay_ps for link in links),
        next((port for port in ports if port in at.dead), None),
    )


def one_flow(at: Forwarding, src: Node, dst: Node, src_port: int, dst_port: int, nic: int, qp: int = 0) -> Flows:
    """Columns of length one. nic: PortId at the source; qp: number of its queue pair."""
    same = np.ones(1, np.int64)
    return at.flows(src.id * same, dst.id * same, src_port * same, dst_port * same, nic * same, qp * same)


def many_flows(at: Forwarding, src: Node, dst: Node, src_ports: range, dst_port: int, nic: int) -> Flows:
    """One flow and queue pair per UDP source port."""
    ports = np.arange(src_ports.start, src_ports.stop, dtype=np.int64)
    same = np.ones_like(ports)
    return at.flows(src.id * same, dst.id * same, ports, dst_port * same, nic * same)


def flow_path(at: Forwarding, rates: LinkRates, flow: Flows) -> FlowPath:
    """Follow one flow, with the decision of every switch on its path."""
    steps = walk(at.tables, flow)
    ports = tuple(int(port) for port in steps.egress[0] if port >= 0)
    tables, fabric = at.tables, at.fabric
    src, dst, words = int(flow.src[0]), int(flow.dst[0]), int(flow.words[0])
    plain = Header(False, int(tables.host_ip[src]), int(tables.host_ip[dst]), words & 0xFFFF, words >> 16)
    outer_port = int(steps.entropy[0])
    outer = Header(
        True, int(tables.switch_ip[tables.leaf[src]]), int(tables.switch_ip[tables.leaf[dst]]), outer_port, VXLAN_PORT
    )
    decisions = []
    for hop, port in enumerate(ports[1:], 1):
        switch = fabric.node_of(port).id
        row = switch - tables.n_hosts
        chose = steps.group[0, hop] >= 0
        decisions.append(
            Decision(
                switch,
                tables.group(int(steps.group[0, hop])) if chose else (port,),
                int(steps.index[0, hop]) if chose else 0,
                outer if steps.outer[0, hop] else plain,
                HashAlgorithm(int(tables.state.switches[row]["hash_algorithm"])),
                int(tables.state.switches[row]["hash_seed"]),
                int(steps.hashed[0, hop]) if chose else None,
                int(tables.state.switches[row]["hash_fields"]),
                int(flow.qp[0]),
            )
        )
    return FlowPath(
        make_path(at, rates, ports, End(int(steps.end[0]))),
        tuple(decisions),
        outer_port if bool(steps.outer[0].any()) else None,
        _choices(at, steps, dst, plain, ports),
    )


def _choices(at: Forwarding, steps: Walks, dst: int, inner: Header, ports: tuple[int, ...]) -> tuple[Choice, ...]:
    """VTEPs that the leaves on the path chose among; steps: the walk of the one flow."""
    tables, found = at.tables, []
    for hop in range(len(ports) if steps.routed[0] else 0):
        switch = int(at.fabric.peer_of(ports[hop]).id)
        if switch < tables.n_hosts:
            break
        vteps = tables.vteps(switch - tables.n_hosts, dst, int(steps.vtep[0, hop]))
        if vteps is not None and len(vteps) > 1:
            index = vteps.index(int(steps.vtep[0, hop + 1]))
            nodes = tuple(row + tables.n_hosts for row in vteps)
            found.append(Choice(hop, switch, nodes, index, inner, int(steps.inner_hash[0])))
    return tuple(found)

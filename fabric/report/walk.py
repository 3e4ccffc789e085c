"""Where flows go, switch by switch: the walk of switch/forward.py and switch/vtep.py over whole columns.

Nothing is sent and no counter moves. Every switch that has a choice is asked for its hash over the outermost header
(RFC 7348 section 5 between VTEPs), so a path comes with the numbers that chose it. Packets that are sprayed or moved by
flowlets have no one path. Whether a cable on the way is down is not looked at: a FIB does not know either.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.report.flowhash import crc32, flow_hash
from fabric.report.tenant_walk import TenantTables
from fabric.state.codes import LoadBalance

Ints = NDArray[np.int64]

MAX_HOPS: Final = 16
"""Longest path followed; more is a forwarding loop."""
VXLAN_PORT: Final = 4789

_ENTROPY_MASK: Final = 0x3FFF
_ENTROPY_BASE: Final = 0xC000
"""RFC 7348 section 5 asks for the dynamic range 49152 to 65535."""


class End(IntEnum):
    """How a walk ended."""

    ARRIVED = 0
    NO_ROUTE = 1
    """A switch has no next hop for the host."""
    SPREAD = 2
    """A switch with a choice sprays packets or moves flowlets: no one path."""
    LOOP = 3
    """More than MAX_HOPS, or handed to a host that is not the target."""


@dataclass(frozen=True)
class Tables:
    """What every switch would do with a packet, as columns. Switch rows count from 0 at the first switch's NodeId."""

    n_hosts: int
    peer_node: Ints
    """(n_ports,) device at the other end."""
    fib: Ints
    """(n_switches, n_hosts) group + 1; 0: no route."""
    group_first: Ints
    """(n_groups,) first row of `member`."""
    group_count: Ints
    member: Ints
    """(n_members,) egress port, in the order in which the hash counts."""
    hash_algorithm: Ints
    """(n_switches,) HashAlgorithm."""
    hash_seed: Ints
    load_balance: Ints
    is_vtep: NDArray[np.bool_]
    switch_ip: Ints
    host_ip: Ints
    """(n_hosts,)"""
    leaf: Ints
    """(n_hosts,) row of the switch at the host's first port: its VTEP."""
    tenants: TenantTables | None = None
    """Where leaves route between subnets."""

    def members(self, switch: int, host: int) -> tuple[int, ...]:
        """Egress ports of a switch (row) towards a host; () without a route."""
        return self.group(int(self.fib[switch, host]) - 1)

    def group(self, group: int) -> tuple[int, ...]:
        """Egress ports of a group; () for none (-1)."""
        if group < 0:
            return ()
        first = int(self.group_first[group])
        return tuple(int(port) for port in self.member[first : first + int(self.group_count[group])])


@dataclass(frozen=True)
class Flows:
    """Columns of equal length; row = flow."""

    src: Ints
    """NodeId of a host."""
    dst: Ints
    words: Ints
    """UDP source port | destination port << 16."""
    port: Ints
    """PortId at the source."""

    def __len__(self) -> int:
        return len(self.src)


@dataclass(frozen=True)
class Walks:
    """(n_flows, MAX_HOPS) columns, hop 0 the sending host; -1 where the walk has ended or nothing was chosen."""

    egress: Ints
    group: Ints
    """Group whose members the hash chose among; -1 at hosts and where there was one member only."""
    hashed: Ints
    index: Ints
    """Position of the chosen member."""
    outer: NDArray[np.bool_]
    """Whether the outer header was hashed."""
    end: Ints
    """(n_flows,) End."""


def entropy(tables: Tables, flows: Flows) -> Ints:
    """Outer UDP source port of each flow between VTEPs: a hash of the inner header (RFC 7348 section 5)."""
    zero = np.zeros_like(flows.words)
    hashed = crc32(tables.host_ip[flows.src], tables.host_ip[flows.dst], flows.words, zero)
    return hashed & _ENTROPY_MASK | _ENTROPY_BASE


def walk(tables: Tables, flows: Flows) -> Walks:
    """Follow every flow to its end."""
    shape = (len(flows), MAX_HOPS)
    egress, group, hashed, index = np.full((4, *shape), -1, np.int64)
    found = Walks(egress, group, hashed, index, np.zeros(shape, np.bool_), np.full(len(flows), End.LOOP, np.int64))
    inner = (tables.host_ip[flows.src], tables.host_ip[flows.dst], flows.words)
    outer = (tables.switch_ip[tables.leaf[flows.src]], tables.switch_ip[tables.leaf[flows.dst]],
             entropy(tables, flows) | VXLAN_PORT << 16)
    port = flows.port.copy()
    worn = np.zeros(len(flows), np.bool_)       # an outer header
    on_way = np.arange(len(flows))
    routed = None if tables.tenants is None else tables.tenants.crossing(flows.src, flows.dst)
    far = np.full(len(flows), -1, np.int64)     # VTEP to which a routed packet travels
    for hop in range(MAX_HOPS):
        found.egress[on_way, hop] = port[on_way]
        device = tables.peer_node[port[on_way]]
        there = device == flows.dst[on_way]
        found.end[on_way[there]] = End.ARRIVED
        onwards = ~there & (device >= tables.n_hosts)
        on_way, row = on_way[onwards], device[onwards] - tables.n_hosts
        if hop == MAX_HOPS - 1 or not len(on_way):
            break
        towards = tables.fib[row, flows.dst[on_way]] - 1
        if tables.tenants is not None and routed is not None and routed[on_way].any():
            its = routed[on_way]
            mine = on_way[its]
            towards[its], far[mine] = tables.tenants.towards(row[its], flows.src[mine], flows.dst[mine],
                                                             flows.words[mine], far[mine], towards[its])
        missing = towards < 0
        found.end[on_way[missing]] = End.NO_ROUTE
        single = tables.group_count[towards] == 1
        spread = ~missing & ~single & (tables.load_balance[row] != LoadBalance.ECMP)
        found.end[on_way[spread]] = End.SPREAD
        keep = ~missing & ~spread
        on_way, towards, row, single = on_way[keep], towards[keep], row[keep], single[keep]
        first = tables.group_first[towards]
        local = tables.peer_node[tables.member[first]] < tables.n_hosts
        worn[on_way] = np.where(tables.is_vtep[row] & local, False, worn[on_way] | (tables.is_vtep[row] & (hop == 0)))
        source, target, words = (np.where(worn[on_way], out[on_way], plain[on_way])
                                 for plain, out in zip(inner, outer, strict=True))
        value = flow_hash(tables.hash_algorithm[row], source, target, words, tables.hash_seed[row])
        chosen = np.where(single, 0, value % tables.group_count[towards])
        port[on_way] = tables.member[first + chosen]
        chose = on_way[~single]
        group[chose, hop + 1], hashed[chose, hop + 1] = towards[~single], value[~single]
        index[chose, hop + 1] = chosen[~single]
        found.outer[on_way, hop + 1] = worn[on_way]
    return found

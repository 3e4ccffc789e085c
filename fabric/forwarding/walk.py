"""Paths of whole columns of flows: columns in, columns out of dataplane/engine/follow.py, which has the rules."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.follow import FLOW, follow
from fabric.dataplane.state.types import BY_HOST, HERE, NOWHERE, PACKET, State, rows

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Tables:
    """Forwarding tables of every switch: columns of a State. Rows of switches count from the first switch's NodeId."""

    state: State

    @classmethod
    def of(cls, state: State) -> Tables:
        """Tables of a running engine, at this moment. Packets of the walk are not those of the engine."""
        return cls(state._replace(packets=rows(2, PACKET)))

    @property
    def n_hosts(self) -> int:
        """Hosts have the first NodeIds."""
        return int(self.state.config[0]["n_hosts"])

    @cached_property
    def fib(self) -> Ints:
        """(n_switches, n_hosts) group + 1; 0: no route."""
        return self.state.fib.reshape(-1, self.n_hosts).astype(np.int64)

    @cached_property
    def group_first(self) -> Ints:
        """(n_groups,) first row of `member`."""
        return np.array(self.state.groups["first"], np.int64)

    @cached_property
    def group_count(self) -> Ints:
        """(n_groups,) rows of `member`."""
        return np.array(self.state.groups["count"], np.int64)

    @cached_property
    def member(self) -> Ints:
        """(n_members,) egress port, in the order in which the hash counts."""
        return np.array(self.state.members["port"], np.int64)

    @cached_property
    def host_ip(self) -> Ints:
        """(n_hosts,)."""
        return np.array(self.state.addresses["ip"], np.int64)

    @cached_property
    def switch_ip(self) -> Ints:
        """(n_switches,)."""
        return np.array(self.state.switches["ip"], np.int64)

    @cached_property
    def leaf(self) -> Ints:
        """(n_hosts,) row of the switch at the host's first port: its VTEP."""
        return np.array(self.state.addresses["leaf"], np.int64) - self.n_hosts

    def members(self, switch: int, host: int) -> tuple[int, ...]:
        """Egress ports of a switch (row) towards a host; () without a route."""
        return self.group(int(self.state.fib[switch * self.n_hosts + host]) - 1)

    def group(self, group: int) -> tuple[int, ...]:
        """Egress ports of a group; () for none (-1)."""
        if group < 0:
            return ()
        first = int(self.group_first[group])
        return tuple(self.member[first : first + int(self.group_count[group])].tolist())

    def vteps(self, switch: int, host: int, vtep: int = -1) -> tuple[int, ...] | None:
        """Rows of the leaves among whose VTEPs a switch (row) chooses, for a packet between subnets.

        Parameters
        ----------
        vtep : row of the switch that the outer destination names; -1: no outer header

        Returns: () without a route; None where the switch forwards the packet to the host itself.
        """
        if vtep not in (-1, switch):
            return (vtep,)
        place = int(self.state.tenant_fib[switch * self.n_hosts + host])
        if place == NOWHERE:
            return ()
        ways = self.state.ways
        return None if place in (HERE, BY_HOST) else tuple(ways[place + 1 : place + 1 + int(ways[place])].tolist())

    def ports_to_vtep(self, switch: int, vtep: int) -> tuple[int, ...]:
        """Egress ports of a switch (row) towards the VTEP of another (row); () without a route."""
        return self.group(int(self.state.vtep_fib[switch * len(self.state.switches) + vtep]) - 1)


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
    qp: Ints
    """Number of the queue pair, from 0: where switches hash the destination QP."""

    def __len__(self) -> int:
        return len(self.src)


@dataclass(frozen=True)
class Walks:
    """The paths of flows. Columns by hop are (n_flows, MAX_HOPS), hop 0 the source; -1: path ended, or no choice."""

    egress: Ints
    group: Ints
    """Group whose members the hash chose among; -1 at hosts and where a group has one member."""
    hashed: Ints
    index: Ints
    """Position of the chosen member."""
    vtep: Ints
    """Row of the switch that the outer destination names, of a packet between subnets."""
    outer: Ints
    """1: with an outer header, which was hashed."""
    end: Ints
    """(n_flows,) End."""
    routed: Ints
    """(n_flows,) 1: between two subnets of a tenant."""
    inner_hash: Ints
    """(n_flows,) CRC-32 of the inner header: chooses one of several VTEPs."""
    entropy: Ints
    """(n_flows,) outer UDP source port between VTEPs."""


def walk(tables: Tables, flows: Flows) -> Walks:
    """Follow every flow to its end."""
    table = np.zeros(len(flows), FLOW)
    table["src"], table["dst"], table["words"], table["port"] = flows.src, flows.dst, flows.words, flows.port
    table["qp"] = flows.qp
    hops = follow(tables.state, table)
    return Walks(
        hops["egress"],
        hops["group"],
        hops["hash"],
        hops["index"],
        hops["vtep"],
        hops["outer"],
        table["end"],
        table["routed"],
        table["inner_hash"],
        table["entropy"],
    )

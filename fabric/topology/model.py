"""A fabric as facts: nodes, ports and cables, frozen and indexed. No behaviour, no parameters of any model.

Ids are rows: `fabric.nodes[i].id == i`, the ports of a node are contiguous, so every table of the engine is an
array indexed by them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import networkx as nx

from fabric.ids import LinkId, NodeId, PortId


class Role(StrEnum):
    """What a node is for. Everything but HOST forwards packets."""

    HOST = "host"
    LEAF = "leaf"
    SPINE = "spine"
    SUPER_SPINE = "super-spine"
    SWITCH = "switch"
    """A switch of a custom topology that has no tier."""


@dataclass(frozen=True, slots=True)
class Node:
    """One device."""

    id: NodeId
    name: str
    role: Role
    tier: int
    """0 for hosts, 1 leaf or ToR, 2 spine, 3 super-spine; -1 where a custom topology does not say."""
    first_port: PortId
    n_ports: int
    group: str = ""
    """Pod, rack or rail the node belongs to, for drawings and tables."""

    @property
    def is_host(self) -> bool:
        """Whether this node is an end of traffic rather than a switch."""
        return self.role is Role.HOST

    @property
    def ports(self) -> range:
        """Rows of this node's ports."""
        return range(self.first_port, self.first_port + self.n_ports)


@dataclass(frozen=True, slots=True)
class Port:
    """One end of a cable."""

    id: PortId
    node: NodeId
    index: int
    """Position among the node's ports, from 0."""
    name: str
    """As the switch would call it: 'Ethernet0', breakout 'Ethernet0/1'; hosts 'eth0'."""
    link: LinkId
    peer: PortId


@dataclass(frozen=True, slots=True)
class Link:
    """One cable: both directions alike."""

    id: LinkId
    a: PortId
    b: PortId
    rate_bps: int
    delay_ps: int
    """One-way propagation, picoseconds."""
    length_mm: int
    """Cable length; 0 where the scenario gave a delay instead."""


@dataclass(frozen=True)
class Fabric:
    """All nodes, ports and cables of one network."""

    name: str
    nodes: tuple[Node, ...]
    ports: tuple[Port, ...]
    links: tuple[Link, ...]

    @cached_property
    def by_name(self) -> Mapping[str, Node]:
        """Node by its name."""
        return {node.name: node for node in self.nodes}

    @cached_property
    def hosts(self) -> tuple[Node, ...]:
        """Hosts in id order. Workloads number hosts by their place here."""
        return tuple(node for node in self.nodes if node.is_host)

    @cached_property
    def switches(self) -> tuple[Node, ...]:
        """Switches in id order."""
        return tuple(node for node in self.nodes if not node.is_host)

    def node_of(self, port: PortId | int) -> Node:
        """The node a port belongs to."""
        return self.nodes[self.ports[port].node]

    def peer_of(self, port: PortId | int) -> Node:
        """The node at the other end of a port's cable."""
        return self.node_of(self.ports[port].peer)

    def port_name(self, port: PortId | int) -> str:
        """'leaf1:Ethernet4', the name used in every table and metric."""
        return f"{self.node_of(port).name}:{self.ports[port].name}"

    def neighbours(self, node: NodeId | int) -> Iterator[tuple[Port, Node]]:
        """(own port, neighbour) for every cable of a node, in port order."""
        for port in self.nodes[node].ports:
            yield self.ports[port], self.peer_of(port)

    def graph(self) -> nx.MultiGraph:
        """A networkx view: node attributes role, tier, group; edge attributes rate_bps, delay_ps, link, ports."""
        graph = nx.MultiGraph(name=self.name)
        for node in self.nodes:
            graph.add_node(node.name, role=node.role.value, tier=node.tier, group=node.group)
        for link in self.links:
            a, b = self.ports[link.a], self.ports[link.b]
            graph.add_edge(self.nodes[a.node].name, self.nodes[b.node].name, key=link.id, rate_bps=link.rate_bps,
                           delay_ps=link.delay_ps, length_mm=link.length_mm, a_port=a.name, b_port=b.name)
        return graph


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """What a builder says of a node before ids exist."""

    name: str
    role: Role
    tier: int
    group: str = ""


@dataclass(frozen=True, slots=True)
class LinkSpec:
    """What a builder says of a cable before ids exist. Empty port names are filled in by assemble()."""

    a: str
    b: str
    rate_bps: int
    delay_ps: int
    length_mm: int = 0
    a_port: str = ""
    b_port: str = ""
    breakout: int = 1
    """Cables per switch cage at either end; above 1 the ports are named 'Ethernet0/1', 'Ethernet0/2', ..."""

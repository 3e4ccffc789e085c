"""A fabric as facts: nodes, ports and cables, frozen and indexed. No behaviour, no parameters of any model.

Ids are rows: `fabric.nodes[i].id == i`, the ports of a node are contiguous, so every table of the engine is an
array indexed by them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final

from fabric.ids import LinkId, NodeId, PortId

if TYPE_CHECKING:
    import networkx as nx

STORAGE_GROUP: Final = "storage"
"""Group of hosts that are storage nodes: jobs write checkpoints to them and read data from them."""


class Role(StrEnum):
    """The role of a node. All roles but HOST forward packets."""

    HOST = "host"
    LEAF = "leaf"
    SPINE = "spine"
    SUPER_SPINE = "super-spine"
    SCALE_UP = "scale-up"
    """The switch of a scale-up domain: it joins the GPUs of one server and no other switch."""
    SWITCH = "switch"
    """A switch of a custom topology that has no tier."""


@dataclass(frozen=True, slots=True)
class Node:
    """One device."""

    id: NodeId
    name: str
    role: Role
    tier: int
    """0 for hosts, 1 leaf or ToR, 2 spine, 3 super-spine; -1 where a custom topology gives none."""
    first_port: PortId
    n_ports: int
    group: str = ""
    """Pod, rack or rail the node belongs to, for drawings and tables."""
    network: str = ""
    """Of a switch: the network it is part of, where hosts have ports to several; '': the only one, or the first."""

    @property
    def is_host(self) -> bool:
        """Whether this node is a host rather than a switch."""
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
    """Name on the device: 'Ethernet0', breakout 'Ethernet0/1'; hosts 'eth0'."""
    link: LinkId
    peer: PortId


@dataclass(frozen=True, slots=True)
class Link:
    """One cable; both directions are equal."""

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
        """Hosts in id order. Workloads number hosts in this order."""
        return tuple(node for node in self.nodes if node.is_host)

    @cached_property
    def storage_nodes(self) -> tuple[Node, ...]:
        """Hosts that are storage nodes, in id order."""
        return tuple(host for host in self.hosts if host.group == STORAGE_GROUP)

    @cached_property
    def networks(self) -> tuple[str, ...]:
        """Names of the networks, that of the first switch first; scale-up switches belong to none."""
        return tuple(dict.fromkeys(node.network for node in self.switches if node.role is not Role.SCALE_UP))

    @cached_property
    def switches(self) -> tuple[Node, ...]:
        """Switches in id order."""
        return tuple(node for node in self.nodes if not node.is_host)

    @cached_property
    def scale_up_ports(self) -> tuple[int, ...]:
        """(n_hosts,) PortId of each host's link to its scale-up switch, -1 where it has none."""
        found = [-1] * len(self.hosts)
        for host in self.hosts:
            for port in host.ports:
                if self.peer_of(port).role is Role.SCALE_UP:
                    found[host.id] = port
        return tuple(found)

    @cached_property
    def scale_up_domains(self) -> tuple[int, ...]:
        """(n_hosts,) NodeId of each host's scale-up switch, -1 where it has none."""
        return tuple(-1 if port < 0 else self.peer_of(port).id for port in self.scale_up_ports)

    def is_scale_up(self, port: PortId | int) -> bool:
        """Whether a port is an end of a scale-up link."""
        return Role.SCALE_UP in {self.node_of(port).role, self.peer_of(port).role}

    def network_ports(self, host: NodeId | int) -> range:
        """Ports of a host to the network: all but that to a scale-up switch, which is the last."""
        ports = self.nodes[host].ports
        return ports if self.scale_up_ports[host] < 0 else ports[:-1]

    def ports_towards(self, src: NodeId | int, dst: NodeId | int) -> range:
        """Ports that packets from one host to another may leave by: inside a server the scale-up link, else NICs.

        Where there are several networks: the NICs on the first network of `src`, by its ports, that both are on. A
        host's ports to one network follow each other (builders/assemble.py).
        """
        port = self.scale_up_ports[src]
        if port >= 0 and self.scale_up_domains[src] == self.scale_up_domains[dst]:
            return range(port, port + 1)
        own = self.network_ports(src)
        if len(self.networks) < 2:
            return own
        theirs = {self.peer_of(port).network for port in self.network_ports(dst)}
        shared = [port for port in own if self.peer_of(port).network in theirs]
        if not shared:
            return own
        first = self.peer_of(shared[0]).network
        return range(shared[0], 1 + max(port for port in shared if self.peer_of(port).network == first))

    def node_of(self, port: PortId | int) -> Node:
        """The node a port belongs to."""
        return self.nodes[self.ports[port].node]

    def peer_of(self, port: PortId | int) -> Node:
        """The node at the other end of a port's cable."""
        return self.node_of(self.ports[port].peer)

    def port_name(self, port: PortId | int) -> str:
        """'leaf1:Ethernet4', the name used in every table and metric."""
        return f"{self.node_of(port).name}:{self.ports[port].name}"

    @cached_property
    def port_called(self) -> Mapping[str, PortId]:
        """Port by its port_name: 'leaf1:Ethernet4'."""
        return {self.port_name(port.id): port.id for port in self.ports}

    def neighbours(self, node: NodeId | int) -> Iterator[tuple[Port, Node]]:
        """(own port, neighbour) for every cable of a node, in port order."""
        for port in self.nodes[node].ports:
            yield self.ports[port], self.peer_of(port)

    def graph(self) -> nx.MultiGraph:
        """A networkx view: node attributes role, tier, group; edge attributes rate_bps, delay_ps, link, ports."""
        import networkx as nx  # noqa: PLC0415  0.3 s of imports, which most commands do not need

        graph = nx.MultiGraph(name=self.name)
        for node in self.nodes:
            network = {"network": node.network} if node.network else {}
            graph.add_node(node.name, role=node.role.value, tier=node.tier, group=node.group, **network)
        for link in self.links:
            a, b = self.ports[link.a], self.ports[link.b]
            graph.add_edge(
                self.nodes[a.node].name,
                self.nodes[b.node].name,
                key=link.id,
                rate_bps=link.rate_bps,
                delay_ps=link.delay_ps,
                length_mm=link.length_mm,
                a_port=a.name,
                b_port=b.name,
            )
        return graph


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A node of a builder, before it has an id."""

    name: str
    role: Role
    tier: int
    group: str = ""
    network: str = ""
    """As of a Node."""


@dataclass(frozen=True, slots=True)
class LinkSpec:
    """A cable of a builder, before it has an id. Empty port names are filled in by assemble()."""

    a: str
    b: str
    rate_bps: int
    delay_ps: int
    length_mm: int = 0
    a_port: str = ""
    b_port: str = ""
    breakout: int = 1
    """Cables per switch cage at either end; above 1 the ports are named 'Ethernet0/1', 'Ethernet0/2', ..."""

"""Nodes and cables become a Fabric: with ids and port names; invalid networks are refused.

Ids: hosts first in the order given, then switches; the ports of a node are contiguous and in the order of its cables.
Names: hosts 'eth0', 'eth1'; switches 'Ethernet0', 'Ethernet4', ... (SONiC: four lanes a cage), and 'Ethernet8/1',
'Ethernet8/2' where cables share a cage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from fabric.errors import InputErrors, Problem
from fabric.ids import LinkId, NodeId, PortId
from fabric.topology.model import Fabric, Link, LinkSpec, Node, NodeSpec, Port, Role

LANES_PER_CAGE = 4
"""SONiC numbers ports by lane; a QSFP cage has four."""


def assemble(name: str, nodes: Sequence[NodeSpec], links: Sequence[LinkSpec]) -> Fabric:
    """Make a Fabric of nodes and cables.

    Parameters
    ----------
    name : str                   name of the fabric
    nodes : sequence of NodeSpec    in any order; hosts get the lower ids
    links : sequence of LinkSpec    their order is the order of ports at each node and of link ids

    Returns: Fabric.
    Raises: InputErrors with every problem: duplicate or unknown names, self links, host-to-host cables, rates or
    delays below 1, port names used twice, uncabled nodes, hosts that cannot reach each other.
    """
    problems = [*_node_problems(name, nodes), *_link_problems(name, nodes, links)]
    if problems:
        raise InputErrors("topology", problems)
    fabric = _build(name, nodes, links)
    problems = [*_port_problems(fabric), *_scale_up_problems(fabric), *_reach_problems(fabric)]
    if problems:
        raise InputErrors("topology", problems)
    return fabric


def _node_problems(name: str, nodes: Sequence[NodeSpec]) -> Iterable[Problem]:
    for node, count in Counter(node.name for node in nodes).items():
        if count > 1:
            yield Problem(f"{name}: nodes", f"{node!r} names {count} nodes", "give every node its own name")
    if not any(node.role is Role.HOST for node in nodes):
        yield Problem(f"{name}: nodes", "there is no host", "give at least one node the role host")


def _link_problems(name: str, nodes: Sequence[NodeSpec], links: Sequence[LinkSpec]) -> Iterable[Problem]:
    roles = {node.name: node.role for node in nodes}
    cabled = set()
    for index, link in enumerate(links):
        path = f"{name}: links[{index}] {link.a} - {link.b}"
        for end in (link.a, link.b):
            if end not in roles:
                near = get_close_matches(end, roles, 1)
                hint = f"did you mean {near[0]!r}?" if near else "add the node"
                yield Problem(path, f"there is no node {end!r}", hint)
        if link.a == link.b:
            yield Problem(path, "the cable joins a node to itself", "name two nodes")
        elif roles.get(link.a) is Role.HOST and roles.get(link.b) is Role.HOST:
            yield Problem(path, "the cable joins two hosts", "put a switch between them")
        if link.rate_bps <= 0:
            yield Problem(path, f"the rate is {link.rate_bps} bit/s", "give a rate above 0, such as '100G'")
        if link.delay_ps <= 0:
            yield Problem(path, f"the delay is {link.delay_ps} ps", "give a cable of at least 1 mm, or a delay")
        if link.breakout < 1:
            yield Problem(path, f"the breakout is {link.breakout}", "give 1, 2, 4 or 8 cables per cage")
        cabled |= {link.a, link.b}
    for node in nodes:
        if node.name not in cabled:
            yield Problem(f"{name}: nodes", f"{node.name!r} has no cable", "connect it, or remove it")


def _build(name: str, specs: Sequence[NodeSpec], links: Sequence[LinkSpec]) -> Fabric:
    ordered = sorted(specs, key=lambda spec: spec.role is not Role.HOST)  # stable: hosts first, order kept
    ends: dict[str, list[tuple[int, int]]] = {node.name: [] for node in ordered}  # (link, 0 for a or 1 for b)
    for index, link in enumerate(links):
        ends[link.a].append((index, 0))
        ends[link.b].append((index, 1))
    # The first ports of a host are its NICs, network by network, in the order in which the switches name the networks.
    place: dict[str, int] = {}
    for node in ordered:
        if node.role not in {Role.HOST, Role.SCALE_UP}:
            place.setdefault(node.network, len(place))
    rank = {
        node.name: len(place) if node.role is Role.SCALE_UP else place[node.network]
        for node in ordered
        if node.role is not Role.HOST
    }
    for node in specs:
        if node.role is Role.HOST:
            ends[node.name].sort(key=lambda end: max(rank.get(links[end[0]].a, 0), rank.get(links[end[0]].b, 0)))
    nodes: list[Node] = []
    places: list[tuple[int, int, str, int, int]] = []  # node, index at node, port name, link, side
    port_at: dict[tuple[int, int], PortId] = {}
    for spec in ordered:
        nodes.append(
            Node(
                NodeId(len(nodes)),
                spec.name,
                spec.role,
                spec.tier,
                PortId(len(places)),
                len(ends[spec.name]),
                spec.group,
                spec.network,
            )
        )
        names = _port_names(spec.role is Role.HOST, [links[link] for link, _ in ends[spec.name]])
        for index, ((row, side), filled) in enumerate(zip(ends[spec.name], names, strict=True)):
            given = (links[row].a_port, links[row].b_port)[side]
            port_at[row, side] = PortId(len(places))
            places.append((nodes[-1].id, index, given or filled, row, side))
    ports = tuple(
        Port(PortId(port), NodeId(node), index, port_name, LinkId(row), port_at[row, 1 - side])
        for port, (node, index, port_name, row, side) in enumerate(places)
    )
    cables = tuple(
        Link(LinkId(index), port_at[index, 0], port_at[index, 1], link.rate_bps, link.delay_ps, link.length_mm)
        for index, link in enumerate(links)
    )
    return Fabric(name, tuple(nodes), ports, cables)


def _port_names(is_host: bool, links: Sequence[LinkSpec]) -> list[str]:
    """Names in cable order; a run of cables of the same breakout fills cage after cage."""
    if is_host:
        return [f"eth{index}" for index in range(len(links))]
    names: list[str] = []
    cage = -1
    lane = width = 0
    for link in links:
        if lane == width or link.breakout != width:
            cage, lane, width = cage + 1, 0, link.breakout
        lane += 1
        names.append(f"Ethernet{cage * LANES_PER_CAGE}" + (f"/{lane}" if width > 1 else ""))
    return names


def _port_problems(fabric: Fabric) -> Iterable[Problem]:
    for node in fabric.nodes:
        names = Counter(fabric.ports[port].name for port in node.ports)
        for port, count in names.items():
            if count > 1:
                yield Problem(
                    f"{fabric.name}: {node.name}",
                    f"{count} ports are named {port!r}",
                    "give every port of a node its own name, or none",
                )


def _scale_up_problems(fabric: Fabric) -> Iterable[Problem]:
    """A scale-up switch joins hosts only, and each host to one domain by one link."""
    for node in fabric.nodes:
        inside = [peer for _, peer in fabric.neighbours(node.id) if peer.role is Role.SCALE_UP]
        if node.is_host and len(inside) > 1:
            yield Problem(
                f"{fabric.name}: {node.name}",
                f"has {len(inside)} links to scale-up switches",
                "give one link at the sum of their rates",
            )
        elif inside and not node.is_host:
            yield Problem(
                f"{fabric.name}: {node.name}", f"is cabled to the scale-up switch {inside[0].name}", "connect its hosts"
            )


def _reach_problems(fabric: Fabric) -> Iterable[Problem]:
    """Report hosts that cannot reach each other over switches; two hosts may share any one of their switches."""
    island = list(range(len(fabric.nodes)))

    def root(node: int) -> int:
        while island[node] != node:
            island[node] = island[island[node]]
            node = island[node]
        return node

    for link in fabric.links:
        a, b = fabric.node_of(link.a), fabric.node_of(link.b)
        if not a.is_host and not b.is_host:
            island[root(a.id)] = root(b.id)
    example: dict[frozenset[int], str] = {}  # one host for each set of islands its switches lie on
    for host in fabric.hosts:
        example.setdefault(frozenset(root(fabric.peer_of(port).id) for port in host.ports), host.name)
    seen = list(example.items())
    for i, (islands, one) in enumerate(seen):
        for others, other in seen[i + 1 :]:
            if not islands & others:
                yield Problem(
                    fabric.name,
                    f"{one} and {other} cannot reach each other over switches",
                    "connect their switches; hosts do not forward",
                )
                return

"""Servers of a fabric: the GPUs of each scale-up domain; and the fabric without the links inside servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fabric.ids import LinkId, NodeId, PortId
from fabric.topology.model import Fabric, Node, Role


@dataclass(frozen=True, slots=True)
class Servers:
    """Servers that are alike."""

    count: int
    gpus: int
    rate_bps: int
    """Of a GPU's scale-up link, each way."""
    latency_ps: int
    """From GPU to GPU, without serialisation."""
    first: str
    """Name of the first one's switch."""


def servers_of(fabric: Fabric) -> Sequence[Servers]:
    """Kinds of servers, in the order of their first switch."""
    found: dict[tuple[int, int, int], Servers] = {}
    for switch in fabric.switches:
        if switch.role is Role.SCALE_UP:
            link = fabric.links[fabric.ports[switch.first_port].link]
            key = (switch.n_ports, link.rate_bps, 2 * link.delay_ps)
            old = found.get(key)
            found[key] = Servers(1, *key, switch.name) if old is None else replace(old, count=old.count + 1)
    return list(found.values())


def network_of(fabric: Fabric) -> Fabric:
    """The fabric without scale-up switches and links; itself where there is nothing else, or nothing to leave out.

    Hosts keep their ids, and names are the same.
    """
    if all(port < 0 for port in fabric.scale_up_ports):
        return fabric
    kept = [port for port in fabric.ports if not fabric.is_scale_up(port.id)]
    nodes = [node for node in fabric.nodes if node.role is not Role.SCALE_UP]
    if not any(not node.is_host for node in nodes) or any(not fabric.network_ports(host.id) for host in fabric.hosts):
        return fabric
    port_id = {port.id: PortId(row) for row, port in enumerate(kept)}
    link_id = {link: LinkId(row) for row, link in enumerate(sorted({port.link for port in kept}))}
    node_id = {node.id: NodeId(row) for row, node in enumerate(nodes)}
    return Fabric(
        fabric.name,
        tuple(_node(fabric, node, node_id, port_id) for node in nodes),
        tuple(
            replace(
                port, id=port_id[port.id], node=node_id[port.node], link=link_id[port.link], peer=port_id[port.peer]
            )
            for port in kept
        ),
        tuple(
            replace(fabric.links[old], id=new, a=port_id[fabric.links[old].a], b=port_id[fabric.links[old].b])
            for old, new in link_id.items()
        ),
    )


def _node(fabric: Fabric, node: Node, node_id: dict[NodeId, NodeId], port_id: dict[PortId, PortId]) -> Node:
    ports = [port for port in node.ports if not fabric.is_scale_up(port)]
    return replace(node, id=node_id[node.id], first_port=port_id[PortId(ports[0])], n_ports=len(ports))

"""Which egress ports of a switch the traffic of an ingress port can leave by."""

from __future__ import annotations

from collections.abc import Iterable

from fabric.ids import NodeId, PortId
from fabric.topology.model import Fabric
from fabric.topology.paths import EcmpTable


def feeds(fabric: Fabric, routes: EcmpTable, destinations: Iterable[NodeId]) -> dict[PortId, frozenset[PortId]]:
    """Ingress port of a switch -> egress ports of it by which traffic from there can leave on a shortest path.

    Parameters
    ----------
    fabric, routes : the fabric and its equal-cost paths
    destinations : hosts that receive anything; others receive no traffic and are no cause

    Returns: a set per switch port; empty where nothing arrives there on a shortest path.
    """
    wanted: dict[int, list[NodeId]] = {}
    for host in sorted(set(destinations)):
        wanted.setdefault(int(routes.class_of_host[host]), []).append(host)
    found: dict[PortId, set[PortId]] = {}
    for class_, hosts in wanted.items():
        # A class shares every route but the last hop, which is each host's own.
        exits = {
            switch.id: set(routes.members(switch.id, class_))
            or {port for host in hosts for port in routes.delivery.get((switch.id, host), ())}
            for switch in fabric.switches
        }
        for node in fabric.nodes:
            for egress in routes.members(node.id, class_):
                ingress = fabric.ports[egress].peer
                found.setdefault(ingress, set()).update(exits.get(fabric.ports[ingress].node, ()))
    return {port: frozenset(ports - {port}) for port, ports in found.items()}

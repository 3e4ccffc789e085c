"""Control plane state behind a route to a host: its location in EVPN, and every BGP path to it."""

from __future__ import annotations

from ipaddress import IPv4Address

from fabric.controlplane.bgp.afi import IPV4_UNICAST, prefix_key
from fabric.controlplane.network.network import Network
from fabric.render.document import Block, Prose, Status
from fabric.show import bgp as frr_bgp
from fabric.show.control_tables import path_table


def behind_route(network: Network, switch_node: int, prefix: str, host: int | None) -> tuple[Block, ...]:
    """Blocks for one route of a switch.

    Parameters
    ----------
    switch_node : int       NodeId of the switch
    prefix : str            as in the forwarding table
    host : int or None      a host (NodeId) in the prefix
    """
    switch = next(it for it in network.switches if it.router.node == switch_node)
    if not switch.daemon_up:
        return (Prose(f"{switch.router.name} does not answer: its routing daemon does not run.", Status.BAD),)
    blocks: list[Block] = []
    endpoint = next((it for it in network.plan.endpoints if it.node == host), None)
    if endpoint is not None:
        found = switch.locations().get((endpoint.vni, endpoint.mac))
        name = f"{endpoint.name} ({endpoint.mac}, VNI {endpoint.vni})"
        if found is None:
            return (Prose(f"EVPN: {name} is unknown here; frames to it are flooded or dropped.", Status.WARNING),)
        router = network.plan.routers[found[0]]
        vtep = str(IPv4Address(router.loopback))
        if router.row == switch.row:
            return (Prose(f"EVPN: {name} is local."),)
        blocks.append(
            Prose(f"EVPN: {name} is behind VTEP {vtep} ({router.name}); its packets take the route to that address.")
        )
        prefix = f"{vtep}/32"
    reasons = frr_bgp.reasons(switch.speaker, IPV4_UNICAST, prefix_key(prefix))
    return (*blocks, path_table(reasons, prefix))

"""What the control plane says of a route to a host: where EVPN believes it, and every path that BGP knows to there."""

from __future__ import annotations

from ipaddress import IPv4Address

from fabric.control.network import Network
from fabric.report import frr_bgp
from fabric.report.control_tables import path_table
from fabric.report.model import Block, Prose, Status
from fabric.routing.bgp.afi import IPV4_UNICAST, prefix_key


def behind_route(network: Network, switch_node: int, prefix: str, host: int | None) -> tuple[Block, ...]:
    """Blocks for one route of a switch.

    Parameters
    ----------
    switch_node : int       NodeId of the switch
    prefix : str            as in the forwarding table
    host : int or None      a host (NodeId) that it covers
    """
    switch = next(it for it in network.switches if it.router.node == switch_node)
    if not switch.speaking:
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
        blocks.append(Prose(f"EVPN: {name} is behind VTEP {vtep} ({router.name}); its packets take the route to that "
                            "address."))
        prefix = f"{vtep}/32"
    reasons = frr_bgp.reasons(switch.speaker, IPV4_UNICAST, prefix_key(prefix))
    return (*blocks, path_table(reasons, prefix))

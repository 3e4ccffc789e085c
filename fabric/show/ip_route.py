"""Routing table of one switch of a network, in FRR's JSON format.

fabric/show/bgp.py has the BGP tables, fabric/show/evpn.py the MAC and ARP tables.
"""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any, Final

from fabric.controlplane.bgp.afi import IPV4_UNICAST, address_text
from fabric.controlplane.bgp.rib import Path, Selection
from fabric.controlplane.network.config import Design
from fabric.controlplane.network.network import Network
from fabric.controlplane.network.switch import Switch

Json = dict[str, Any]
DISTANCE_EXTERNAL: Final = 20
DISTANCE_INTERNAL: Final = 200
"""Administrative distances of eBGP and iBGP, as in FRR and other routers."""


def ip_route(network: Network, switch: Switch) -> Json:
    """`show ip route json`: connected cables with carrier, the loopback, BGP routes. Without uptimes and ids.

    Unnumbered cables have no IPv4 subnet, hence no connected route.
    """
    plan = network.plan
    found: dict[tuple[int, int], Json] = {}
    for row in switch.router.interfaces:
        interface = plan.interfaces[row]
        if network.transports[interface.cable].up and interface.prefix_len == 31 and not network.config.unnumbered:
            found[interface.address & ~1, 31] = _route(
                interface.address & ~1,
                31,
                "connected",
                0,
                [{"directlyConnected": True, "interfaceName": interface.name}],
            )
    found[switch.router.loopback, 32] = _route(
        switch.router.loopback, 32, "connected", 0, [{"directlyConnected": True, "interfaceName": "lo"}]
    )
    for keys, selection in switch.speaker.loc_rib(IPV4_UNICAST) if switch.daemon_up else ():
        if selection.best.source.local:
            continue
        distance = DISTANCE_EXTERNAL if selection.best.source.external else DISTANCE_INTERNAL
        for key in keys:
            address = int.from_bytes(key[1:].ljust(4, b"\0"), "big")
            found[address, key[0]] = _route(address, key[0], "bgp", distance, _next_hops(switch, selection))
    return {route["prefix"]: [route] for _, route in sorted(found.items())}


def _route(address: int, length: int, protocol: str, distance: int, next_hops: list[Json]) -> Json:
    prefix = f"{address_text(address.to_bytes(4, 'big'))}/{length}"
    return {
        "prefix": prefix,
        "prefixLen": length,
        "protocol": protocol,
        "vrfId": 0,
        "vrfName": "default",
        "selected": True,
        "destSelected": True,
        "distance": distance,
        "metric": 0,
        "installed": True,
        "nexthops": [{"fib": True, **it, "active": True} for it in next_hops],
    }


def _next_hops(switch: Switch, selection: Selection) -> list[Json]:
    hops = {_key(path): path for path in selection.multipath}
    return [
        {
            "ip": address_text(hops[key].next_hop),
            "afi": "ipv4" if len(hops[key].next_hop) == 4 else "ipv6",
            "interfaceName": switch.interface_of(hops[key].source.name),
        }
        for key in sorted(hops)
    ]


def _key(path: Path) -> tuple[bytes, str]:
    return path.next_hop, path.source.name


def ip_route_vrf(network: Network, switch: Switch, tenant: str) -> Json:
    """`show ip route vrf NAME json`: subnets of gateways and routed ports, and BGP's host and prefix routes.

    A connected prefix wins over the same prefix of another leaf, which is listed but not selected. `rmac` is not a
    field of FRR's table; FRR has it in `show evpn rmac vni all json`. Raises KeyError for an unknown VRF.
    """
    if switch.vtep is None:
        raise KeyError(tenant)
    vrf = switch.vtep.vrfs[tenant]
    its_ports = [
        it.interface
        for it in network.plan.routed
        if it.router == switch.row and it.tenant == tenant and (switch.row, it.port) not in network.down_ports
    ]
    distance = DISTANCE_INTERNAL if network.config.design is Design.IBGP_RR else DISTANCE_EXTERNAL
    found: dict[IPv4Network | IPv6Network, list[Json]] = {}
    for table in vrf.subnets:
        if table.gateway is not None:
            found[table.gateway.network] = [_connected(str(table.gateway.network), tenant, [table.config.bridge_name])]
    for prefix in vrf.connected:
        found[ip_network(prefix)] = [_connected(prefix, tenant, its_ports)]
    for prefix in vrf.imports:
        destination = ip_network(prefix)
        hops = [
            {
                "fib": True,
                "ip": hop.vtep,
                "afi": "ipv4",
                "interfaceName": f"br{vrf.config.l3_vni}",
                "onLink": True,
                "active": True,
                "rmac": hop.router_mac,
            }
            for hop in vrf.hops(prefix)
        ]
        selected = destination not in found
        found.setdefault(destination, []).append(
            {
                "prefix": prefix,
                "prefixLen": destination.prefixlen,
                "protocol": "bgp",
                "vrfName": tenant,
                "selected": selected,
                "destSelected": selected,
                "installed": selected,
                "distance": distance,
                "metric": 0,
                "nexthops": hops,
            }
        )
    return {
        str(it): found[it] for it in sorted(found, key=lambda it: (it.version, int(it.network_address), it.prefixlen))
    }


def _connected(prefix: str, tenant: str, interfaces: list[str]) -> Json:
    return {
        "prefix": prefix,
        "prefixLen": int(prefix.rpartition("/")[2]),
        "protocol": "connected",
        "vrfName": tenant,
        "selected": True,
        "destSelected": True,
        "installed": True,
        "distance": 0,
        "metric": 0,
        "nexthops": [
            {"fib": True, "directlyConnected": True, "interfaceName": name, "active": True} for name in interfaces
        ],
    }

"""The plan as SONiC's config_db.json: the quality of service of tests/validate/fabrics.py, BGP and VXLAN beside it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tests.mistakes import plan
from tests.mistakes.plan import Port, Switch
from tests.validate.fabrics import switch as quality_of_service

PORTS = {number: f"Ethernet{8 * number}" for number in range(1, 257)}
Tree = dict[str, Any]


def good(of: Sequence[Switch] = plan.SWITCHES, *, loopbacks: bool = False) -> dict[str, Any]:
    """{file name: text, or tree that edits apply to} of the working fabric.

    `loopbacks`: EVPN has separate sessions, between loopbacks, in the tables of frrcfgd; else bgpcfgd's templates.
    """
    files: Tree = {f"{switch.name}.json": _switch(switch, loopbacks) for switch in of}
    return {**files, "topology.json": plan.cabling(PORTS, of), "hosts.json": plan.HOSTS}


def text(tree: Tree) -> str:
    """The file."""
    return json.dumps(tree, indent=1)


def _switch(switch: Switch, loopbacks: bool) -> Tree:
    near = {PORTS[port.number]: (port.peer, PORTS.get(port.peer_number, "eth0")) for port in switch.ports}
    tables: Tree = quality_of_service(switch.name, str(switch.asn), "ToRRouter" if switch.leaf else "LeafRouter", near)
    metadata = tables["DEVICE_METADATA"]["localhost"]
    metadata.update(mac=switch.mac, bgp_router_id=switch.loopback, buffer_model="traditional")
    uplinks = [port for port in switch.ports if not port.to_host]
    tables["LOOPBACK_INTERFACE"] = {"Loopback0": {}, f"Loopback0|{switch.loopback}/32": {}}
    tables["INTERFACE"] = {
        key: {} for port in uplinks for key in (PORTS[port.number], f"{PORTS[port.number]}|{port.address}")
    }
    tables["BGP_NEIGHBOR"] = {port.peer_address: _neighbor(port) for port in uplinks}
    if loopbacks:
        tables.update(_managed(switch, uplinks))
    if switch.leaf:
        vlan = f"Vlan{plan.VLAN}"
        tables["VLAN"] = {vlan: {"vlanid": str(plan.VLAN), "mtu": "9216", "admin_status": "up"}}
        tables["VLAN_MEMBER"] = {
            f"{vlan}|{PORTS[port.number]}": {"tagging_mode": "untagged"} for port in switch.ports if port.to_host
        }
        tables["VLAN_INTERFACE"] = {vlan: {"static_anycast_gateway": "true"}, f"{vlan}|{plan.GATEWAY}": {}}
        tables["SAG"] = {"GLOBAL": {"gateway_mac": plan.GATEWAY_MAC}}
        tables["VXLAN_TUNNEL"] = {"vtep": {"src_ip": switch.loopback}}
        tables["VXLAN_TUNNEL_MAP"] = {f"vtep|map_{plan.VNI}_{vlan}": {"vlan": vlan, "vni": str(plan.VNI)}}
        tables["VXLAN_EVPN_NVO"] = {"nvo": {"source_vtep": "vtep"}}
    return tables


def _neighbor(port: Port) -> Tree:
    return {
        "asn": str(port.peer_asn),
        "name": port.peer,
        "local_addr": port.address.partition("/")[0],
        "keepalive": str(plan.KEEPALIVE_S),
        "holdtime": str(plan.HOLD_S),
        "admin_status": "up",
    }


def _managed(switch: Switch, uplinks: list[Port]) -> Tree:
    """BGP as frrcfgd has it: an instance, its address families, and a group of the sessions that carry EVPN."""
    tables: Tree = {
        "BGP_GLOBALS": {"default": {"local_asn": str(switch.asn), "router_id": switch.loopback}},
        "BGP_GLOBALS_AF": {"default|ipv4_unicast": {"max_ebgp_paths": "4"}, "default|l2vpn_evpn": {}},
        "BGP_GLOBALS_AF_NETWORK": {f"default|ipv4_unicast|{switch.loopback}/32": {}},
        "BGP_PEER_GROUP": {
            "default|OVERLAY": {
                "local_addr": switch.loopback,
                "ebgp_multihop": "true",
                "ebgp_multihop_ttl": str(plan.HOPS),
                "keepalive": str(plan.KEEPALIVE_S),
                "holdtime": str(plan.HOLD_S),
            }
        },
        "BGP_PEER_GROUP_AF": {"default|OVERLAY|l2vpn_evpn": {"admin_status": "true"}},
        "BGP_NEIGHBOR": {},
        "BGP_NEIGHBOR_AF": {},
    }
    if switch.leaf:
        tables["BGP_GLOBALS_AF"]["default|l2vpn_evpn"]["advertise-all-vni"] = "true"
    for port in uplinks:
        near = {"asn": str(port.peer_asn), "local_addr": port.address.partition("/")[0], "admin_status": "up"}
        tables["BGP_NEIGHBOR"][f"default|{port.peer_address}"] = near
        tables["BGP_NEIGHBOR_AF"][f"default|{port.peer_address}|ipv4_unicast"] = {"admin_status": "true"}
        far = {"asn": str(port.peer_asn), "peer_group_name": "OVERLAY", "admin_status": "up"}
        tables["BGP_NEIGHBOR"][f"default|{plan.LOOPBACKS[port.peer]}"] = far
    return tables

"""Tables of an overlay as plain dicts, in the JSON formats of FRR and iproute2, which operators' tools read.

Each function names the command whose output format it has. Times are relative to `now_ns` in whole seconds, as in FRR.
Interface numbers appear if the configuration has them. A switch without VNIs has empty tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fabric.controlplane.bgp.attributes import Attributes
from fabric.controlplane.bgp.errors import UpdateError
from fabric.controlplane.evpn.addresses import ZERO_MAC, ip_packed
from fabric.controlplane.evpn.evpn_attributes import INGRESS_REPLICATION, community_text, read_pmsi, target_text
from fabric.controlplane.evpn.evpn_nlri import RouteType, key_of
from fabric.controlplane.evpn.mac import MacEntry, MacKind, Neighbor, NeighborKind
from fabric.controlplane.evpn.rd import rd_text
from fabric.controlplane.evpn.vni import VniTable
from fabric.controlplane.evpn.vrf import TenantHop, VrfTable
from fabric.controlplane.evpn.vtep import Vtep

Json = dict[str, Any]
EVPN_PREFIX_LEN: Final = 352
"""FRR's length of every EVPN prefix: the size of its structure in bits."""
_TUNNEL_TYPES: Final = {INGRESS_REPLICATION: "Ingress Replication"}
_NO_GROUP: Final = "0.0.0.0"  # noqa: S104  no multicast underlay: replication is by the ingress VTEP
_NS: Final = 1_000_000_000


def uptime_text(age_ns: int) -> str:
    """'00:00:05', '1d02h03m', '01w2d03h': FRR's frrtime_to_interval."""
    seconds = max(age_ns, 0) // _NS
    minutes, hours, days = seconds // 60 % 60, seconds // 3600 % 24, seconds // 86400
    if days >= 7:
        return f"{days // 7:02d}w{days % 7}d{hours:02d}h"
    return f"{days}d{hours:02d}h{minutes:02d}m" if days else f"{hours:02d}:{minutes:02d}:{seconds % 60:02d}"


# -- zebra ------------------------------------------------------------------------------------------------------------


def evpn_vni(vtep: Vtep) -> Json:
    """`show evpn vni json`."""
    rows = {
        str(vni): {
            "vni": vni,
            "type": "L2",
            "vxlanIf": table.config.vxlan_name,
            "numMacs": _count_macs(table),
            "numArpNd": len(table.neighbors),
            "numRemoteVteps": len(table.flood_vteps()),
            "tenantVrf": table.config.tenant,
            "remoteVteps": list(table.flood_vteps()),
        }
        for vni, table in vtep.vnis.items()
    }
    return rows | {
        str(vrf.config.l3_vni): {
            "vni": vrf.config.l3_vni,
            "type": "L3",
            "vxlanIf": f"vx{vrf.config.l3_vni}",
            "numMacs": len(_router_macs(vrf)),
            "numArpNd": len(_hops(vrf)),
            "numRemoteVteps": "n/a",
            "tenantVrf": name,
        }
        for name, vrf in vtep.vrfs.items()
    }


def evpn_vni_detail(vtep: Vtep) -> list[Json]:
    """`show evpn vni detail json`; the list of VTEPs is in `numRemoteVteps`, as in FRR 8.4."""
    return [
        {
            "vni": vni,
            "type": "L2",
            "vrf": table.config.tenant,
            "vxlanInterface": table.config.vxlan_name,
            **_index("ifindex", vtep, table.config.vxlan_name),
            "sviInterface": table.config.bridge_name,
            **_index("sviIfindex", vtep, table.config.bridge_name),
            "vtepIp": vtep.config.address,
            "mcastGroup": _NO_GROUP,
            "advertiseGatewayMacip": "Yes" if table.config.advertise_gateway else "No",
            "advertiseSviMacip": "No",
            "numMacs": _count_macs(table),
            "numArpNd": len(table.neighbors),
            "numRemoteVteps": list(table.flood_vteps()),
        }
        for vni, table in vtep.vnis.items()
    ]


def evpn_mac(vtep: Vtep, now_ns: int | None = None) -> Json:
    """`show evpn mac vni all json`; with a time, `show evpn mac vni all detail json`."""
    return {
        str(vni): {
            "numMacs": _count_macs(table),
            "macs": {
                mac: _mac(vtep, table, entry, now_ns)
                for mac, entry in table.macs.items()
                if entry.kind is not MacKind.AUTO
            },
        }
        for vni, table in vtep.vnis.items()
    }


def arp_cache(vtep: Vtep, now_ns: int | None = None) -> Json:
    """`show evpn arp-cache vni all json`; with a time, `show evpn arp-cache vni all detail json`."""
    return {
        str(vni): {"numArpNd": len(table.neighbors)}
        | {ip: _neighbor(table, ip, entry, now_ns) for ip, entry in table.neighbors.items()}
        for vni, table in vtep.vnis.items()
    }


def evpn_global(vtep: Vtep) -> Json:
    """`show evpn json`, without the fields of multihoming."""
    duplicates = vtep.config.duplicates
    return {
        "advertiseGatewayMacip": "No",
        "numVnis": len(vtep.vnis) + len(vtep.vrfs),
        "numL2Vnis": len(vtep.vnis),
        "numL3Vnis": len(vtep.vrfs),
        "isDuplicateAddrDetection": duplicates.enabled,
        "maxMoves": duplicates.max_moves,
        "detectionTime": duplicates.window_ns // _NS,
        "detectionFreezeTime": duplicates.freeze_ns // _NS,
    }


def evpn_next_hops(vtep: Vtep) -> Json:
    """`show evpn next-hops vni all json`: egress VTEPs of routed packets, by L3 VNI."""
    return {
        str(vrf.config.l3_vni): {"numNextHops": len(_hops(vrf))}
        | {hop.vtep: {"nexthopIp": hop.vtep, "routerMac": hop.router_mac} for hop in _hops(vrf)}
        for vrf in vtep.vrfs.values()
    }


def evpn_rmac(vtep: Vtep) -> Json:
    """`show evpn rmac vni all json`: routers' MACs, by L3 VNI."""
    return {
        str(vrf.config.l3_vni): {"numRmacs": len(_router_macs(vrf))}
        | {mac: {"routerMac": mac, "vtepIp": address} for mac, address in _router_macs(vrf).items()}
        for vrf in vtep.vrfs.values()
    }


# -- bgpd -------------------------------------------------------------------------------------------------------------


def bgp_evpn_vni(vtep: Vtep) -> Json:
    """`show bgp l2vpn evpn vni json`."""
    head: Json = {
        "advertiseGatewayMacip": "Disabled",
        "advertiseSviMacIp": "Disabled",
        "advertiseAllVnis": "Enabled" if vtep.vnis else "Disabled",
        "flooding": "Head-end replication",
        "vxlanFlooding": "Enabled",
        "numVnis": len(vtep.vnis) + len(vtep.vrfs),
        "numL2Vnis": len(vtep.vnis),
        "numL3Vnis": len(vtep.vrfs),
    }
    for vni, table in vtep.vnis.items():
        head[str(vni)] = {
            "vni": vni,
            "type": "L2",
            "inKernel": "True",
            "rd": rd_text(table.identity.rd),
            "originatorIp": vtep.config.address,
            "mcastGroup": _NO_GROUP,
            "advertiseGatewayMacip": "Enabled" if table.config.advertise_gateway else "Disabled",
            "advertiseSviMacIp": "Disabled",
            **_targets(table),
        }
    for name, vrf in vtep.vrfs.items():
        head[str(vrf.config.l3_vni)] = {
            "vni": vrf.config.l3_vni,
            "type": "L3",
            "inKernel": "True",
            "rd": rd_text(vrf.identity.rd),
            "originatorIp": vtep.config.address,
            "tenantVrf": name,
            "routerMac": vrf.router_mac,
            **_targets(vrf),
        }
    return head


def import_rt(vtep: Vtep) -> Json:
    """`show bgp l2vpn evpn import-rt json`: VNIs that import each target; a derived target has AS 0, for any AS."""
    rows: dict[str, list[int]] = {}
    for vni, table in vtep.vnis.items():
        for wanted in table.identity.imports:
            rows.setdefault(str(wanted), []).append(vni)
    return {text: {"rt": text, "vnis": vnis} for text, vnis in rows.items()}


def vrf_import_rt(vtep: Vtep) -> Json:
    """`show bgp l2vpn evpn vrf-import-rt json`."""
    rows: dict[str, list[str]] = {}
    for name, vrf in vtep.vrfs.items():
        for wanted in vrf.identity.imports:
            rows.setdefault(str(wanted), []).append(name)
    return {text: {"rt": text, "vrfs": names} for text, names in rows.items()}


def route_fields(key: bytes) -> Json:
    """Fields of a key in `show bgp l2vpn evpn route json`: routeType, ethTag, mac, ip, ..."""
    view = key_of(key)
    fields: Json = {"routeType": view.type, "ethTag": view.ethernet_tag}
    bits = 32 if "." in view.ip else 128
    if view.type == RouteType.MAC_IP:
        fields |= {"macLen": 48, "mac": view.mac}
        return fields | ({"ipLen": bits, "ip": view.ip} if view.ip else {})
    if view.type == RouteType.INCLUSIVE_MULTICAST:
        return fields | {"ipLen": bits, "ip": view.ip}
    return fields | ({"ipLen": view.prefix_len, "ip": view.ip} if view.type == RouteType.IP_PREFIX else {})


def extended_community(attributes: Attributes) -> Json:
    """{'extendedCommunity': {'string': 'ET:8 RT:65101:10100'}}; {} for none."""
    texts = [community_text(community) for community in attributes.ext_communities]
    return {"extendedCommunity": {"string": " ".join(texts)}} if texts else {}


def pmsi(attributes: Attributes) -> Json:
    """{'pmsi': {'tunnelType': 'Ingress Replication', 'label': 10100}}; {} if absent or malformed."""
    try:
        tunnel = None if attributes.pmsi_tunnel is None else read_pmsi(attributes.pmsi_tunnel)
    except UpdateError:
        return {}
    if tunnel is None:
        return {}
    return {"pmsi": {"tunnelType": _TUNNEL_TYPES.get(tunnel.tunnel_type, "Unknown"), "label": tunnel.vni}}


# -- kernel -----------------------------------------------------------------------------------------------------------


def kernel_fdb(vtep: Vtep) -> list[Json]:
    """`bridge -j fdb`, unicast entries and flood lists, without times."""
    rows: list[Json] = []
    for table in vtep.vnis.values():
        bridge, vxlan = table.config.bridge_name, table.config.vxlan_name
        own = {bridge: table.config.bridge_mac, vxlan: table.config.vxlan_mac}
        own |= {port: vtep.config.port_macs.get(port, "") for port in table.ports}
        named: dict[str, str] = {}  # a bridge has one entry per MAC: of the first interface with it
        for interface, mac in own.items():
            named.setdefault(mac, interface)
        rows += [_fdb(mac, interface, "permanent", bridge) for mac, interface in named.items() if mac]
        rows += [
            {"mac": ZERO_MAC, "ifname": vxlan, "dst": address, "flags": ["self"], "state": "permanent"}
            for address in table.flood_vteps()
        ]
        for mac, entry in table.macs.items():
            if entry.kind is MacKind.LOCAL:
                rows.append(_fdb(mac, entry.port, "static" if entry.sticky else "", bridge))
            elif entry.kind is MacKind.REMOTE:
                flags = ["extern_learn", "sticky"] if entry.sticky else ["extern_learn"]
                rows.append(_fdb(mac, vxlan, "", bridge) | {"flags": flags})
            if entry.vtep or entry.left_in_tunnel:
                rows.append(
                    {
                        "mac": mac,
                        "ifname": vxlan,
                        "dst": entry.vtep or entry.left_in_tunnel,
                        "flags": ["self", "extern_learn"],
                        "state": "",
                    }
                )
    return rows


def kernel_neighbors(vtep: Vtep) -> list[Json]:
    """`ip -j neigh` of the bridges, without times."""
    rows: list[Json] = []
    for table in vtep.vnis.values():
        for ip, entry in table.neighbors.items():
            row: Json = {"dst": ip, "dev": table.config.bridge_name, "lladdr": entry.mac}
            if entry.kind is NeighborKind.REMOTE:
                row |= {"extern_learn": None, "state": ["NOARP"], "protocol": "zebra"}
            else:
                row["state"] = ["STALE"]
            rows.append(row | ({"router": None} if entry.router else {}))
    return rows


# -- parts ------------------------------------------------------------------------------------------------------------


def _count_macs(table: VniTable) -> int:
    return sum(entry.kind is not MacKind.AUTO for entry in table.macs.values())


def _index(name: str, vtep: Vtep, interface: str) -> Json:
    return {name: vtep.config.ifindex[interface]} if interface in vtep.config.ifindex else {}


def _mac(vtep: Vtep, table: VniTable, entry: MacEntry, now_ns: int | None) -> Json:
    row: Json = {"type": str(entry.kind)}
    if entry.kind is MacKind.LOCAL:
        row["intf"] = entry.port
        if now_ns is not None:
            row |= _index("ifindex", vtep, entry.port)
    else:
        row["remoteVtep"] = entry.vtep
    if now_ns is not None:
        row["uptime"] = uptime_text(now_ns - entry.since_ns)
    if entry.sticky:
        row["stickyMac"] = True
    row |= {
        "localSequence": entry.local_sequence,
        "remoteSequence": entry.remote_sequence,
        "detectionCount": entry.moves,
        "isDuplicate": entry.duplicate,
    }
    if now_ns is not None:
        row |= {"syncNeighCount": 0, "neighbors": _bindings(table.neighbors, entry)}
    return row


def _bindings(neighbors: Mapping[str, Neighbor], entry: MacEntry) -> Json | str:
    if not entry.neighbors:
        return "none"
    return {
        "active": [ip for ip in entry.neighbors if neighbors[ip].active],
        "inactive": [ip for ip in entry.neighbors if not neighbors[ip].active],
    }


def _neighbor(table: VniTable, ip: str, entry: Neighbor, now_ns: int | None) -> Json:
    mac = table.macs.get(entry.mac)
    row: Json = {} if now_ns is None else {"uptime": uptime_text(now_ns - entry.since_ns), "ip": ip}
    row |= {"type": str(entry.kind), "state": "active" if entry.active else "inactive", "mac": entry.mac}
    if entry.kind is NeighborKind.REMOTE:
        row["remoteVtep"] = entry.vtep
    # Only MACs can be duplicates: local ARP does not override bindings from BGP, so bindings move with their MAC.
    return row | {
        "localSequence": entry.local_sequence,
        "remoteSequence": entry.remote_sequence,
        "detectionCount": 0,
        "isDuplicate": mac is not None and mac.duplicate,
    }


def _targets(table: VniTable | VrfTable) -> Json:
    return {
        "importRTs": [target_text(wanted.target) for wanted in table.identity.imports],
        "exportRTs": [target_text(target) for target in table.identity.exports],
    }


def _hops(vrf: VrfTable) -> list[TenantHop]:
    hops = {hop for prefix in vrf.imports for hop in vrf.hops(prefix)}
    return sorted(hops, key=lambda hop: (ip_packed(hop.vtep), hop))


def _router_macs(vrf: VrfTable) -> dict[str, str]:
    return {hop.router_mac: hop.vtep for hop in _hops(vrf)}


def _fdb(mac: str, interface: str, state: str, bridge: str) -> Json:
    return {"mac": mac, "ifname": interface, "flags": [], "master": bridge, "state": state}

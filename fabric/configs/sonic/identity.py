"""CONFIG_DB tables about identity and overlay: router ID, MAC, VXLAN tunnel, its VNIs, anycast gateways.

Sources: sonic-yang-models (sonic-device_metadata, sonic-vxlan, sonic-static-anycast-gateway); SONiC HLD "EVPN VXLAN".
Route targets are derived by bgpd (ASN:VNI) where no table of frrcfgd states them (policy.py).
"""

from __future__ import annotations

import re
from typing import Final, cast

from fabric.configs.identity import Gateway, Stated, Vni, canonical_mac, cluster_of
from fabric.configs.model import Device, Where
from fabric.configs.sonic.rows import Fields, Rows
from fabric.configs.text.spelling import meant

_MAC: Final = re.compile(r"[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}")
"""Type mac-address of ietf-yang-types, which sonic-yang-models use."""


def read_identity(rows: Rows, device: Device) -> None:
    """Fill in `device.identity`; reads the tables of VXLAN, whose tunnels are known already."""
    found = device.identity
    for key, where, fields in rows.rows("DEVICE_METADATA"):
        if key == "localhost":
            found.asn_where = (*where, "bgp_asn")
            mode = str(fields.get("docker_routing_config_mode", ""))
            found.routing_mode = Stated(mode, (*where, "docker_routing_config_mode"))
            found.router_id = Stated(str(fields.get("bgp_router_id", "")), (*where, "bgp_router_id"))
            found.mac = Stated(_mac(rows, fields, where, "mac"), (*where, "mac"))
    for key, where, fields in rows.rows("BGP_GLOBALS"):
        if key == "default" and (router_id := str(fields.get("router_id", ""))):
            found.router_id = Stated(router_id, (*where, "router_id"))
        if key == "default" and (text := str(fields.get("rr_cluster_id", ""))):
            found.cluster_id = Stated(cluster_of(text), (*where, "rr_cluster_id"))
            if not found.cluster_id:
                rows.defect("R5", where, f"BGP_GLOBALS|{key}", f"rr_cluster_id '{text[:40]}' is no IPv4 address")
        if key == "default" and fields.get("ebgp_requires_policy") == "true":
            found.requires_policy = Stated("ebgp_requires_policy", (*where, "ebgp_requires_policy"))
        if key == "default" and (asn := str(fields.get("local_asn", ""))):
            device.asn, found.asn_where = asn, (*where, "local_asn")
    for _, where, fields in rows.rows("BGP_DEVICE_GLOBAL"):
        if fields.get("tsa_enabled") == "true":
            found.drained = Stated("traffic shift away (tsa_enabled)", (*where, "tsa_enabled"))
    for key, where, _ in rows.raw("MGMT_INTERFACE"):
        address = key.partition("|")[2]
        found.management[address] = Stated(address, where)
    for key, where, fields in rows.rows("VRF"):
        if fields.get("vni"):
            number = str(fields["vni"])
            maps = [row for _, _, row in rows.rows("VXLAN_TUNNEL_MAP") if str(row.get("vni", "")) == number]
            vlan = str(maps[0].get("vlan", "")).removeprefix("Vlan") if maps else ""
            at = (*where, "vni")
            found.routed_vnis.append(Vni(number, at, vlan, in_tunnel=bool(maps), targets_where=at, vrf=key))
    for _, where, fields in rows.rows("VXLAN_TUNNEL"):
        found.vtep = Stated(str(fields.get("src_ip", "")), (*where, "src_ip"))
    for key, where, fields in rows.rows("VXLAN_TUNNEL_MAP"):
        tunnel = key.partition("|")[0]
        if tunnel not in device.tunnels:
            rows.defect(
                "R1",
                where,
                f"VXLAN_TUNNEL_MAP|{key}",
                f"VXLAN_TUNNEL '{tunnel[:40]}' is not in the file{meant(tunnel, frozenset(device.tunnels))}",
            )
        vlan = str(fields.get("vlan", ""))
        if "vni" in fields and not any(it.number == str(fields["vni"]) for it in found.routed_vnis):
            found.vnis.append(Vni(str(fields["vni"]), where, vlan.removeprefix("Vlan")))
    for _, where, _ in rows.rows("VXLAN_EVPN_NVO"):
        found.evpn = Stated("on", where)
    if found.vtep and not found.evpn:
        found.evpn = Stated("off", found.vtep.where[:-1])
    for table, names in (("SAG", ("gateway_mac",)), ("SAG_GLOBAL", ("gateway_mac", "gwmac"))):
        for key, where, fields in rows.rows(table):
            for name in names:
                if mac := _mac(rows, fields, where, name):
                    found.gateway_mac = Stated(mac, (*where, name))
            for address in cast("tuple[str, ...]", fields.get("gwip", ())) if table == "SAG" else ():
                found.gateways.append(Gateway(key.partition("|")[0].removeprefix("Vlan"), address, where))
    for key, row, fields in rows.rows("VLAN_INTERFACE"):
        if fields.get("vrf_name"):
            found.vrfs[key.removeprefix("Vlan")] = Stated(str(fields["vrf_name"]), (*row, "vrf_name"))
        if fields.get("static_anycast_gateway") == "true":
            for address in device.addresses.get(key, ()):
                where = found.address_where[key, address]
                found.gateways.append(Gateway(key.removeprefix("Vlan"), address, where))
            if key not in device.addresses:
                fields.unused("static_anycast_gateway")


def _mac(rows: Rows, fields: Fields, where: Where, name: str) -> str:
    """A MAC address; what YANG does not take for one is a defect (R5): six pairs of digits with colons."""
    text = str(fields.get(name, ""))
    if text and not _MAC.fullmatch(text):
        row = "|".join(where)
        rows.defect("R5", (*where, name), row, f"{name} '{text[:40]}' is no MAC address such as 00:00:5e:00:01:01")
        return ""
    return canonical_mac(text)

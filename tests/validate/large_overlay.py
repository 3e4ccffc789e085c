"""The fabric of large.py with BGP on every cable, and VXLAN with EVPN at its leaves."""

from __future__ import annotations

import sys
from pathlib import Path

from fabrics import Tables
from large import large_fabric, write


def with_overlay(fabric: dict[str, Tables]) -> dict[str, Tables]:
    """Addresses, sessions, one tenant VLAN; the tables are changed in place."""
    number = {name: at for at, name in enumerate(fabric)}
    links = 0
    for name, tables in fabric.items():
        own = number[name]
        loopback = f"10.0.{own // 250}.{own % 250 + 1}"
        tables["DEVICE_METADATA"]["localhost"]["bgp_router_id"] = loopback
        tables["LOOPBACK_INTERFACE"] = {"Loopback0": {}, f"Loopback0|{loopback}/32": {}}
        hosts = [port for port, near in tables["DEVICE_NEIGHBOR"].items() if near["name"] not in fabric]
        if name.startswith("leaf"):
            tables["VLAN"] = {"Vlan100": {"vlanid": "100", "mtu": "9216"}}
            tables["VLAN_MEMBER"] = {f"Vlan100|{port}": {"tagging_mode": "untagged"} for port in hosts}
            tables["VXLAN_TUNNEL"] = {"vtep": {"src_ip": loopback}}
            tables["VXLAN_TUNNEL_MAP"] = {"vtep|map_10100_Vlan100": {"vlan": "Vlan100", "vni": "10100"}}
            tables["VXLAN_EVPN_NVO"] = {"nvo": {"source_vtep": "vtep"}}
        for port, near in tables["DEVICE_NEIGHBOR"].items():
            if near["name"] not in fabric or number[near["name"]] < own:
                continue
            there = fabric[near["name"]]
            subnet = f"10.{64 + links // 32768}.{links // 128 % 256}.{links % 128 * 2}"
            ends = [subnet, subnet.rpartition(".")[0] + f".{links % 128 * 2 + 1}"]
            links += 1
            for at, (mine, port_of, other, other_address) in enumerate(
                ((tables, port, there, ends[1]), (there, near["port"], tables, ends[0]))
            ):
                mine.setdefault("INTERFACE", {}).update({port_of: {}, f"{port_of}|{ends[at]}/31": {}})
                asn, peer = (other["DEVICE_METADATA"]["localhost"][key] for key in ("bgp_asn", "hostname"))
                mine.setdefault("BGP_NEIGHBOR", {})[other_address] = {
                    "asn": asn, "name": peer, "local_addr": ends[at], "keepalive": "3", "holdtime": "9",
                    "admin_status": "up",
                }  # fmt: skip
    return fabric


if __name__ == "__main__":
    write(Path(sys.argv[1]), with_overlay(large_fabric()))

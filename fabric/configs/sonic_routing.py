"""CONFIG_DB tables about addresses, BGP, static routes, MC-LAG and dual-ToR: what decides which way packets go.

Sources: sonic-yang-models (sonic-interface, sonic-bgp-neighbor, sonic-static-route, sonic-mclag, sonic-mux-cable);
SONiC HLDs "MCLAG" and "tunnel_dscp_remapping".
"""

from __future__ import annotations

from ipaddress import ip_interface, ip_network
from typing import Final, cast

from fabric.configs.model import Device, Session, StaticRoute
from fabric.configs.sonic_rows import Rows

_INTERFACES: Final = ("INTERFACE", "PORTCHANNEL_INTERFACE", "VLAN_INTERFACE", "LOOPBACK_INTERFACE")
_MAX_DISTANCE: Final = 255
_DEFAULT_VRF: Final = "default"


def read_routing(rows: Rows, device: Device) -> None:
    """Fill in the device's addresses, sessions, static routes and its twin."""
    _addresses(rows, device)
    _sessions(rows, device)
    _static(rows, device)
    for _, where, fields in rows.rows("MCLAG_DOMAIN"):
        device.peer_link, device.peer_where = str(fields.get("peer_link", "")), where
    muxed = [(key, where) for key, where, _ in rows.rows("MUX_CABLE") if key in device.ports]
    device.mux_ports = frozenset(key for key, _ in muxed)
    device.mux_where = muxed[0][1] if muxed else ()
    for key, _, fields in rows.rows("SYSTEM_DEFAULTS"):
        if key == "tunnel_qos_remap":
            device.bounce_remap = fields.get("status") == "enabled"
    for _, _, fields in rows.rows("TUNNEL"):
        device.decap_maps.update({name: str(fields[name]) for name in ("decap_tc_to_pg_map", "decap_dscp_to_tc_map")
                                  if name in fields})
    for table in ("MCLAG_INTERFACE", "PEER_SWITCH"):
        list(rows.rows(table))


def _addresses(rows: Rows, device: Device) -> None:
    for table in _INTERFACES:
        for key, where, _ in rows.rows(table):
            name, bar, text = key.partition("|")
            if not bar:
                continue
            try:
                address = str(ip_interface(text))
            except ValueError:
                rows.defect("R5", where, f"{table}|{key}"[:120], f"'{text[:60]}' is no address with its prefix length")
                continue
            device.addresses[name] = (*device.addresses.get(name, ()), address)


def _sessions(rows: Rows, device: Device) -> None:
    for key, where, fields in rows.rows("BGP_NEIGHBOR"):
        session = Session(where, str(fields.get("name", "")), str(fields.get("asn", "")), key.rpartition("|")[2],
                          str(fields.get("local_addr", "")), fields.get("admin_status") != "down")
        device.sessions.append(session)
        if session.peer and session.asn and session.up:
            device.bgp[session.peer] = session.asn


def _static(rows: Rows, device: Device) -> None:
    for key, where, fields in rows.rows("STATIC_ROUTE"):
        vrf, bar, text = key.partition("|")
        vrf, text = (vrf, text) if bar else (_DEFAULT_VRF, vrf)
        try:
            prefix = str(ip_network(text, strict=False))
        except ValueError:
            rows.defect("R5", where, f"STATIC_ROUTE|{key}"[:120], f"'{text[:60]}' is no prefix")
            continue
        if vrf != _DEFAULT_VRF:
            rows.unread(where, f"static route in VRF '{vrf[:40]}'")
            continue
        gateways, interfaces, drops, distances = (cast("tuple[str, ...]", fields.get(name, ()))
                                                  for name in ("nexthop", "ifname", "blackhole", "distance"))
        count = max(len(gateways), len(interfaces))
        hops = tuple((gateways[n] if n < len(gateways) else "", interfaces[n] if n < len(interfaces) else "")
                     for n in range(count) if not (n < len(drops) and drops[n] == "true"))
        distance = distances[0] if distances and distances[0].isascii() and distances[0].isdigit() else "1"
        device.routes.append(StaticRoute(where, prefix, hops, min(int(distance[:9]), _MAX_DISTANCE)))

"""CONFIG_DB tables about addresses, BGP, static routes, MC-LAG and dual-ToR: what decides which way packets go.

Sources: sonic-yang-models (sonic-interface, sonic-bgp-neighbor, sonic-static-route, sonic-mclag, sonic-mux-cable);
SONiC HLDs "MCLAG" and "tunnel_dscp_remapping".
"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_network
from typing import Final, cast

from fabric.configs.identity import NOTHING, Stated
from fabric.configs.model import Device, Session, StaticRoute
from fabric.configs.sonic.interior import read_interior
from fabric.configs.sonic.rows import Fields, Rows
from fabric.configs.sonic.subinterfaces import read_subinterfaces
from fabric.configs.text.spelling import is_address

_INTERFACES: Final = ("INTERFACE", "PORTCHANNEL_INTERFACE", "VLAN_INTERFACE", "LOOPBACK_INTERFACE")
_MAX_DISTANCE: Final = 255
_LISTS: Final = ("blackhole", "nexthop", "ifname", "distance", "nexthop-vrf")
"""Of one route: bgpcfgd (managers_static_rt.py, IpNextHopSet) refuses lists of different lengths."""
_DEFAULT_VRF: Final = "default"
_OF_FRRCFGD: Final = (
    *("peer_group_name", "ebgp_multihop", "ebgp_multihop_ttl", "local_asn", "ttl_security_hops"),
    *("auth_password", "bfd", "passive_mode"),
)
"""Fields of a neighbour that bgpcfgd's templates do not look at."""
_SETTINGS: Final = {
    "asn": "remote-as",
    "local_addr": "update-source",
    "ebgp_multihop": "ebgp-multihop",
    "ttl_security_hops": "ttl-security",
    "local_asn": "local-as",
    "bfd": "bfd",
    "passive_mode": "passive",
    "admin_status": "shutdown",
}
"""Field of a neighbour or a group to the word of EOS, by which a session knows it."""
_MOST_HOPS: Final = 255
"""`ebgp_multihop` without a TTL (FRR, BGP: neighbor ebgp-multihop)."""


def read_routing(rows: Rows, device: Device) -> None:
    """Fill in the device's addresses, sessions, static routes and its twin."""
    _addresses(rows, device)
    read_subinterfaces(rows, device)
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
    read_interior(rows, device)
    for _, _, fields in rows.rows("TUNNEL"):
        device.decap_maps.update(
            {name: str(fields[name]) for name in ("decap_tc_to_pg_map", "decap_dscp_to_tc_map") if name in fields}
        )
    for table in ("MCLAG_INTERFACE", "PEER_SWITCH"):
        list(rows.rows(table))


def _addresses(rows: Rows, device: Device) -> None:
    for table in _INTERFACES:
        for key, where, fields in rows.rows(table):
            name, bar, text = key.partition("|")
            if not bar:
                if vrf := str(fields.get("vrf_name", "")):
                    device.identity.interface_vrfs[name] = vrf
                continue
            try:
                device.add_address(name, text if "/" in text else "", where)  # YANG: an address with its length
            except ValueError:
                rows.defect("R5", where, f"{table}|{key}"[:120], f"'{text[:60]}' is no address with its prefix length")


def _sessions(rows: Rows, device: Device) -> None:
    """The neighbours. frrcfgd, whose instance is a row of BGP_GLOBALS, has peer groups and allows one hop by default;
    the templates of bgpcfgd decide hops and groups themselves.
    """
    managed = "BGP_GLOBALS" in rows
    off = [
        (*where, "state")
        for key, where, fields in rows.rows("FEATURE")
        if key == "bgp" and str(fields.get("state", "")) in {"disabled", "always_disabled"}
    ]
    groups = {key: fields for key, _, fields in rows.rows("BGP_PEER_GROUP")} if "BGP_PEER_GROUP" in rows else {}
    for key, where, fields in rows.rows("BGP_NEIGHBOR"):
        vrf, _, name = key.rpartition("|")
        of_group = str(fields.get("peer_group_name", ""))
        group = groups.get(f"{vrf or _DEFAULT_VRF}|{of_group}", groups.get(of_group)) if of_group else None
        if of_group and group is None and managed:
            text = f"peer_group_name names BGP_PEER_GROUP '{of_group[:60]}', which is not in the file"
            rows.defect("R1", (*where, "peer_group_name"), f"BGP_NEIGHBOR|{key}"[:120], text)
        its = [fields, *([group] if group is not None else [])]
        asn = _first(its, "asn")
        if not asn and _first(its, "peer_type") == "internal":
            asn = device.asn
        source = _first(its, "local_addr")
        if "/" in source:
            text = f"local_addr '{source[:40]}' is no address of an interface: it is written without a length"
            rows.defect("R5", (*where, "local_addr"), f"BGP_NEIGHBOR|{key}"[:120], text)
        local = device.addresses.get(source, (source,))[0].partition("/")[0]
        multihop = _first(its, "ebgp_multihop") == "true"
        ttl = next((found for it in its if (found := cast("int | None", it.get("ebgp_multihop_ttl")))), None)
        session = Session(
            where,
            str(fields.get("name", "")),
            asn,
            name if is_address(name) else "",
            local,
            all(it.get("admin_status") not in {"down", "false"} for it in its),
            keepalive_s=next((cast("int", it["keepalive"]) for it in its if "keepalive" in it), None),
            hold_s=next((cast("int", it["holdtime"]) for it in its if "holdtime" in it), None),
            vrf=vrf.replace(_DEFAULT_VRF, ""),
            interface="" if is_address(name) else name,
            external=managed and not asn and _first(its, "peer_type") == "external",
            source=source,
            password=managed and bool(_first(its, "auth_password")),
            secret=_first(its, "auth_password") if managed else "",
            bfd=managed and _first(its, "bfd") == "true",
            passive=managed and _first(its, "passive_mode") == "true",
            hops=(ttl or _MOST_HOPS if multihop else 1) if managed else None,
            states_asn=bool(asn or _first(its, "peer_type")),
            local_as=Stated(_first(its, "local_asn"), (*where, "local_asn")) if managed else NOTHING,
            ttl_security=Stated(_first(its, "ttl_security_hops"), (*where, "ttl_security_hops"))
            if managed
            else NOTHING,
        )
        if group is not None:
            named = (f"{vrf or _DEFAULT_VRF}|{of_group}", of_group)
            at = next(rows.where("BGP_PEER_GROUP", it) for it in named if it in groups)
            shut = group.get("admin_status") in {"down", "false"}  # whatever the neighbour itself says
            own = {it for it in _SETTINGS if it in fields} - ({"admin_status"} if shut else set())
            taken = tuple((word, (*at, it)) for it, word in _SETTINGS.items() if it in group and it not in own)
            session = replace(session, group_where=at, inherited_where=taken)
        if off:
            session = replace(session, up=False, where=off[0])
        if not managed:  # the templates do not look at them
            fields.unused(*_OF_FRRCFGD)
        device.sessions.append(session)
        if session.peer and session.asn and session.up:
            device.bgp[session.peer] = session.asn


def _first(rows: list[Fields], name: str) -> str:
    """A field of a neighbour, else of its group."""
    return next((str(found) for it in rows if (found := it.get(name, "")) != ""), "")


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
        gateways, interfaces, drops, distances = (
            cast("tuple[str, ...]", fields.get(name, ())) for name in ("nexthop", "ifname", "blackhole", "distance")
        )
        lists = {name: fields[name] for name in _LISTS if isinstance(fields.get(name), tuple)}
        sizes = {name: len(cast("tuple[str, ...]", it)) for name, it in lists.items()}
        if len(set(sizes.values())) > 1:
            text = ", ".join(f"{size} of {name}" for name, size in sizes.items())
            rows.defect(
                "R9", where, f"STATIC_ROUTE|{key}"[:120], f"its lists differ in length ({text}): no route is made"
            )
            continue
        count = max(len(gateways), len(interfaces))
        hops = tuple(
            (gateways[n] if n < len(gateways) else "", interfaces[n] if n < len(interfaces) else "")
            for n in range(count)
            if not (n < len(drops) and drops[n] == "true")
        )
        distance = distances[0] if distances and distances[0].isascii() and distances[0].isdigit() else "1"
        device.routes.append(StaticRoute(where, prefix, hops, min(int(distance[:9]), _MAX_DISTANCE)))

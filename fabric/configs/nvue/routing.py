"""NVUE: addresses, BGP, EVPN, VXLAN and VRR gateways of a startup file.

Source: NVIDIA Cumulus Linux 5.x user guide, "BGP", "EVPN", "VXLAN", "VRR"; the `nv set` command reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from fabric.configs.identity import NOTHING, Aggregate, Gateway, Stated, Vni, canonical_mac, cluster_of
from fabric.configs.model import Session, StaticRoute
from fabric.configs.nvue.interior import read_interior
from fabric.configs.nvue.policy import read_policies, uses_of
from fabric.configs.nvue.reader import Reader, is_word, words_of
from fabric.configs.nvue.words import is_on
from fabric.configs.policy import prefix_entry
from fabric.configs.running_config.reader import numbers
from fabric.configs.text.port_ranges import folded_ports
from fabric.configs.text.spelling import is_address, is_number, meant

_DEFAULT: Final = "default"
_BGP: Final = ("vrf", _DEFAULT, "router", "bgp")
_MAX_VNI: Final = 16_777_215
_MAX_VLAN: Final = 4094
_MOST_S: Final = 65_535
"""Of a session's timers: the field of the hold time has 16 bits (RFC 4271 section 4.2)."""
_OWN_MAC: Final = frozenset(("auto", "none"))
_MANAGEMENT: Final = "mgmt"
"""The VRF of management (Cumulus Linux user guide, "Management VRF")."""
_NO_PORT: Final = ("eth", "lo")
"""Management ports and the loopback: packets of the fabric arrive at neither, so that forwarding does not matter."""
_PEER_LINK: Final = "peerlink"
"""Its bond has this name on every switch (Cumulus Linux user guide, "MLAG")."""


def read_routing(reader: Reader) -> None:
    """Fill in addresses, sessions and identity of the device."""
    found = reader.device.identity
    for name in list(reader.at("interface")):
        _interface(reader, str(name))
    glob = reader.at("system", "global")
    found.mac = _mac(reader, "system", "global", "system-mac")
    if reader.at("mlag").get("mac-address", ""):
        found.mac = _mac(reader, "mlag", "mac-address")
    if reader.at("mlag"):
        reader.device.peer_link, reader.device.peer_where = _PEER_LINK, reader.where("mlag")
    found.shared_vtep = str(reader.at("nve", "vxlan", "mlag").get("shared-address", ""))
    anycast = "anycast-mac" if glob.get("anycast-mac") else "fabric-mac"
    found.gateway_mac = _mac(reader, "system", "global", anycast)
    vxlan = reader.at("nve", "vxlan")
    if _on(vxlan, default=bool(vxlan)):
        address = str(reader.at("nve", "vxlan", "source").get("address", ""))
        found.vtep = Stated(address, reader.where("nve", "vxlan", "source", "address"))
    elif vxlan:
        found.vtep_up = False
    if "port" in vxlan:
        port = reader.number(("nve", "vxlan", "port"), vxlan["port"], 1, 65_535)
        found.vxlan_port = Stated("" if port is None else str(port), reader.where("nve", "vxlan", "port"))
    flooding = reader.at("nve", "vxlan", "flooding")
    if flooding:
        on = _on(flooding, default=True)
        found.floods = Stated("on" if on else "off", reader.where("nve", "vxlan", "flooding", "enable"))
    _vnis(reader)
    _access(reader)
    if found.vnis and not vxlan:
        found.vtep_up = False
    if "evpn" in reader.top or found.vnis:
        on = _on(reader.at("evpn"), default=False) and found.vtep_up
        place = ("nve", "vxlan") if not found.vtep_up else ("evpn",)
        found.evpn = Stated("on" if on else "off", reader.where(*place, "enable"))
    for name in reader.at("vrf"):
        _vrf(reader, str(name))
    _hash(reader)
    read_policies(reader)
    _bgp(reader)


_HASHED: Final = {
    "ip-protocol": "IP_PROTOCOL",
    "source-ip": "SRC_IP",
    "destination-ip": "DST_IP",
    "source-port": "L4_SRC_PORT",
    "destination-port": "L4_DST_PORT",
}
"""Fields of the hash of ECMP that are on by default (Cumulus Linux user guide, "Equal Cost Multipath Load Sharing")."""


def _hash(reader: Reader) -> None:
    path = ("system", "forwarding", "ecmp-hash")
    stated = reader.at(*path)
    if stated:
        fields = (name for word, name in _HASHED.items() if is_on(stated.get(word)))
        reader.device.hash_fields = tuple(fields)
        reader.device.hash_where = reader.where(*path)


def _mac(reader: Reader, *path: str) -> Stated:
    """A MAC address; what is none is a defect (R5). 'auto' leaves it to the switch."""
    text = str(reader.at(*path[:-1]).get(path[-1], ""))
    found = canonical_mac(text)
    if text and not found and text not in _OWN_MAC:
        reader.bad(path, f"'{text[:40]}' is no MAC address")
    return Stated(found, reader.where(*path))


def _vrf(reader: Reader, name: str) -> None:
    """Loopback addresses and L3 VNI of a VRF; static routes of the default one."""
    device, path = reader.device, ("vrf", name)
    _addresses(reader, "lo" if name == _DEFAULT else name, (*path, "loopback", "ip", "address"))
    if name != _DEFAULT:
        device.identity.interface_vrfs[name] = name
    for number in reader.at(*path, "evpn", "vni"):
        at = (*path, "evpn", "vni", str(number))
        if reader.number(at, number, 1, _MAX_VNI) is not None:
            device.identity.routed_vnis.append(_vni(reader, str(number), at, at, vrf=name))
    for prefix in reader.at(*path, "router", "static") if name == _DEFAULT else ():
        at = (*path, "router", "static", str(prefix))
        via = tuple((word, "") for word in words_of(reader.at(*at).get("via", {})))
        distance = reader.number((*at, "distance"), reader.at(*at).get("distance", 1), 1, 255) or 1
        device.routes.append(StaticRoute(reader.where(*at), str(prefix), via, distance))


def _clear(password: str) -> str:
    """A password that is written in clear; '' for one that NVUE has hidden, which begins with a dollar sign."""
    return "" if password.startswith("$") else password


def _on(row: dict[str, Any], *, default: bool) -> bool:
    word = row.get("enable", row.get("state"))
    return default if word is None else word in ("on", True, "enabled", "enable")


def _interface(reader: Reader, name: str) -> None:
    found = reader.device.identity
    vrf = str(reader.at("interface", name, "ip").get("vrf", _DEFAULT))
    if vrf != _DEFAULT:
        found.interface_vrfs[name] = vrf
        if name.startswith("vlan"):
            vlan = str(reader.at("interface", name).get("vlan", name.removeprefix("vlan")))
            found.vrfs[vlan] = Stated(vrf, reader.where("interface", name, "ip", "vrf"))
        known = {str(it) for it in reader.at("vrf")}
        if vrf not in known | {_MANAGEMENT} and (known - {_DEFAULT, _MANAGEMENT} or reader.at("system")):
            text = f"VRF '{vrf[:40]}' is not in the file{meant(vrf, frozenset(known))}"
            reader.bad(("interface", name, "ip", "vrf"), text, "R1")
    _addresses(reader, name, ("interface", name, "ip", "address"))
    if name.startswith(("swp", "bond")) and "." in name:
        tag = str(reader.at("interface", name).get("vlan", name.partition(".")[2]))
        if reader.number(("interface", name, "vlan"), tag, 1, _MAX_VLAN) is not None:
            found.tags_sent[name] = Stated(tag, reader.where("interface", name, "vlan"))
    if name.startswith("eth"):
        stated = found.address_where.items()
        found.management.update((text, Stated(text, where)) for (interface, text), where in stated if interface == name)
    if name.startswith("vlan") and "mtu" in reader.at("interface", name, "link"):
        vlan = str(reader.at("interface", name).get("vlan", name.removeprefix("vlan")))
        path = ("interface", name, "link", "mtu")
        mtu = reader.number(path, reader.at(*path[:-1])["mtu"], 68, 9216)
        if mtu is not None:
            found.vlan_mtus[vlan] = Stated(str(mtu), reader.where(*path))
    state = reader.at("interface", name, "link").get("state", "up")
    if name.startswith(("vlan", "lo")) and "down" in words_of(state):
        found.shut[name] = Stated("down", reader.where("interface", name, "link", "state"))
    forwards = is_on(reader.at("interface", name, "ip", "ipv4").get("forward"))
    carries = name in reader.device.addresses and not name.startswith(_NO_PORT) and vrf != _MANAGEMENT
    if carries and not forwards:
        text = f"{name} has an address, and forward is off: it routes no packet"
        reader.bad(("interface", name, "ip", "ipv4", "forward"), text, "R9")
    vrr = reader.at("interface", name, "ip", "vrr")
    if "down" in words_of(vrr.get("state")) or not is_on(vrr.get("enable")):
        return
    mac = _mac(reader, "interface", name, "ip", "vrr", "mac-address").value
    for text in reader.at("interface", name, "ip", "vrr", "address"):
        where = reader.where("interface", name, "ip", "vrr", "address", str(text))
        vlan = str(reader.at("interface", name).get("vlan", name.removeprefix("vlan")))
        if "/" not in str(text):
            at = ("interface", name, "ip", "vrr", "address", str(text))
            reader.bad(at, f"'{str(text)[:60]}' is no address with its prefix length")
            continue
        found.gateways.append(Gateway(vlan, str(text), where, mac))


def _addresses(reader: Reader, interface: str, path: tuple[str, ...]) -> None:
    for text in words_of(reader.at(*path[:-1]).get(path[-1], {})):
        try:
            reader.device.add_address(interface, text, reader.where(*path, text))
        except ValueError:
            if text != "dhcp":
                reader.bad((*path, text), f"'{text[:60]}' is no address with its prefix length")


def _vnis(reader: Reader) -> None:
    for domain in reader.at("bridge", "domain"):
        for vlan in reader.at("bridge", "domain", domain, "vlan"):
            _check_vlan(reader, ("bridge", "domain", str(domain), "vlan", str(vlan)), str(vlan))
            at = reader.where("bridge", "domain", str(domain), "vlan", str(vlan))
            reader.device.identity.vlan_where.update((str(it), at) for it in numbers(str(vlan), _MAX_VLAN))
            for number in reader.at("bridge", "domain", domain, "vlan", str(vlan), "vni"):
                path = ("bridge", "domain", str(domain), "vlan", str(vlan), "vni", str(number))
                if str(number) == "auto":
                    reader.device.identity.vnis += _automatic(reader, str(domain), str(vlan), path)
                elif reader.number(path, number, 1, _MAX_VNI) is not None:
                    vni = _vni(reader, str(number), path, ("evpn", "vni", str(number)), vlan=str(vlan))
                    reader.device.identity.vnis.append(vni)


def _check_vlan(reader: Reader, path: tuple[str, ...], vlans: str) -> None:
    """A defect (R5) where a VLAN, or one of a list with ranges, is no number from 1 to 4094."""
    for part in (word.strip() for word in vlans.split(",")):
        for end in part.split("-", 1):
            if not (is_number(end, 4) and 1 <= int(end) <= _MAX_VLAN):
                reader.bad(path, f"'{part[:40]}' is no VLAN from 1 to {_MAX_VLAN}")
                break


def _automatic(reader: Reader, domain: str, vlans: str, path: tuple[str, ...]) -> Iterator[Vni]:
    """VNIs of `vni auto`: the number of the VLAN and the bridge's offset ("VXLAN Devices", automatic mapping)."""
    at = ("bridge", "domain", domain, "vlan-vni-offset")
    offset = reader.number(at, reader.at("bridge", "domain", domain).get("vlan-vni-offset", 0), 0, _MAX_VNI)
    for vlan in numbers(vlans, _MAX_VLAN):
        number = str(vlan + (offset or 0))
        if reader.number(at, number, 1, _MAX_VNI) is None:
            return
        yield _vni(reader, number, path, ("evpn", "vni", number), vlan=str(vlan))


def _access(reader: Reader) -> None:
    """A defect (R1) for each access VLAN that its bridge does not have, and each bridge that no line defines.

    VLANs of two bridges have nothing in common: a port whose bridge has no VNI for its VLAN, where another bridge has
    one, is a defect (R9).
    """
    bridges = {str(domain): _vlans_of(reader, str(domain)) for domain in reader.at("bridge", "domain")}
    for key in reader.at("interface"):
        for domain, row in reader.at("interface", str(key), "bridge", "domain").items():
            vlan = str(row.get("access", "")) if isinstance(row, dict) else ""
            at = ("interface", str(key), "bridge", "domain", str(domain))
            own = bridges.get(str(domain), {})
            if bridges and str(domain) not in bridges:
                reader.bad(
                    at, f"bridge '{str(domain)[:40]}' is not in the file{meant(str(domain), frozenset(bridges))}", "R1"
                )
            if vlan and any(bridges.values()) and str(domain) in bridges and vlan not in own:
                reader.bad((*at, "access"), f"VLAN {vlan[:20]} is not in the bridge", "R1")
            others = [name for name, vlans in bridges.items() if name != str(domain) and vlans.get(vlan)]
            if vlan in own and not own[vlan] and others:
                text = f"VLAN {vlan} of bridge {str(domain)[:40]} has no VNI, that of {others[0][:40]} has: the port's "
                reader.bad((*at, "access"), f"{text}frames stay on this switch", "R9")


def _vlans_of(reader: Reader, domain: str) -> dict[str, bool]:
    """VLANs of a bridge, and whether each has a VNI."""
    rows = reader.at("bridge", "domain", domain, "vlan")
    with_vni = {str(vlans): bool(reader.at("bridge", "domain", domain, "vlan", str(vlans), "vni")) for vlans in rows}
    found: dict[str, bool] = {}
    for vlans, has in with_vni.items():
        for number in numbers(vlans, _MAX_VLAN):
            found[str(number)] = found.get(str(number), False) or has
    return found


def _vni(
    reader: Reader, number: str, path: tuple[str, ...], row: tuple[str, ...], *, vlan: str = "", vrf: str = ""
) -> Vni:
    """A VNI; `row` has its route targets and its distinguisher."""
    where, target = reader.where(*path), reader.at(*row, "route-target")
    imports, exports = (
        frozenset(it for way in (side, "both") for it in words_of(target.get(way)) if it != "auto")
        for side in ("import", "export")
    )
    at = reader.where(*row, "route-target") if target else where
    distinguisher = str(reader.at(*row).get("rd", ""))
    return Vni(
        number,
        where,
        vlan,
        imports=imports,
        exports=exports,
        targets_where=at,
        distinguisher=distinguisher,
        vrf=vrf,
        distinguisher_where=reader.where(*row, "rd") if distinguisher else (),
    )


def _bgp(reader: Reader) -> None:
    device, found = reader.device, reader.device.identity
    router, instance = reader.at("router", "bgp"), reader.at(*_BGP)
    off = [at for at, row in ((("router", "bgp"), router), (_BGP, instance)) if not _on(row, default=True)]
    read_interior(reader)
    multipath = reader.at(*_BGP, "address-family", "ipv4-unicast", "multipaths")
    if "ebgp" in multipath:
        of_paths = (*_BGP, "address-family", "ipv4-unicast", "multipaths", "ebgp")
        device.multipath = reader.number(of_paths, multipath["ebgp"], 1, 256)
        device.multipath_where = reader.where(*of_paths)
    external = (*_BGP, "address-family", "ipv4-unicast", "admin-distance", "external")
    if "external" in reader.at(*external[:-1]):
        number = reader.number(external, reader.at(*external[:-1])["external"], 1, 255)
        found.distance = Stated("" if number is None else str(number), reader.where(*external))
    path = _BGP if "autonomous-system" in instance else ("router", "bgp")
    device.asn = str(reader.at(*path).get("autonomous-system", ""))
    found.asn_where = reader.where(*path, "autonomous-system")
    path = _BGP if "router-id" in instance else ("router", "bgp")
    cluster = cluster_of(str(reader.at(*_BGP, "route-reflection").get("cluster-id", "")))
    found.cluster_id = Stated(cluster, reader.where(*_BGP, "route-reflection", "cluster-id"))
    found.router_id = Stated(str(reader.at(*path).get("router-id", "")), reader.where(*path, "router-id"))
    ipv4 = (*_BGP, "address-family", "ipv4-unicast")
    found.networks = frozenset(str(it) for it in reader.at(*ipv4, "network"))
    for prefix, row in reader.at(*ipv4, "aggregate-route").items():
        where = reader.where(*ipv4, "aggregate-route", str(prefix))
        hides = is_on(row.get("summary-only") if isinstance(row, dict) else None, default=False)
        if prefix_entry(True, str(prefix), None, None, 0) is not None:
            found.aggregates.append(Aggregate(str(prefix), where, hides))
    connected = (*ipv4, "redistribute", "connected")
    found.redistributes_connected = _on(reader.at(*connected), default=False)
    if found.redistributes_connected and reader.at(*connected).get("route-map"):
        name = str(reader.at(*connected)["route-map"])
        found.policies.redistribution = name, reader.where(*connected, "route-map")
    found.defaults_of_routes += [
        Stated("network 0.0.0.0/0", reader.where(*ipv4, "network", it)) for it in found.networks if it == "0.0.0.0/0"
    ]
    if _on(reader.at(*ipv4, "redistribute", "static"), default=False):
        where = reader.where(*ipv4, "redistribute", "static")
        found.defaults_of_routes.append(Stated("redistribute static", where))
    for name in reader.at("vrf"):
        _sessions(reader, str(name))
    if is_on(router.get("graceful-shutdown"), default=False):
        found.drained = Stated("graceful-shutdown", reader.where("router", "bgp", "graceful-shutdown"))
    for unit in reader.at("maintenance", "unit"):
        if is_on(reader.at("maintenance", "unit", str(unit)).get("mode"), default=False):
            where = reader.where("maintenance", "unit", str(unit), "mode")
            found.drained = Stated(f"maintenance of {str(unit)[:40]}", where)
    if off:
        where = reader.where(*off[0], "enable")
        device.sessions[:] = [replace(it, up=False, where=where) for it in device.sessions]


def _sessions(reader: Reader, vrf: str) -> None:
    """The sessions of a VRF. A setting of the neighbour goes before that of its group."""
    bgp = ("vrf", vrf, "router", "bgp")
    evpn = _on(reader.at(*bgp, "address-family", "l2vpn-evpn"), default=False)
    ipv4 = _on(reader.at(*bgp, "address-family", "ipv4-unicast"), default=True)
    for name in reader.at(*bgp, "neighbor"):
        row = reader.at(*bgp, "neighbor", name)
        group = ("peer-group", str(row.get("peer-group", "")))
        if group[1] and group[1] not in reader.at(*bgp, "peer-group"):
            near = meant(group[1], frozenset(map(str, reader.at(*bgp, "peer-group"))))
            text = f"peer-group '{group[1][:60]}' of neighbor {name} is not in the file{near}"
            reader.bad((*bgp, "neighbor", str(name), "peer-group"), text, "R1")
        both = [(*bgp, "neighbor", str(name)), *([(*bgp, *group)] if group[1] else [])]
        merged = [reader.at(*it) for it in both]
        for it in both if vrf == _DEFAULT else ():
            of_neighbor = (*it, "address-family", "ipv4-unicast", "default-route-origination")
            if _on(reader.at(*of_neighbor), default=False):
                at = reader.where(*of_neighbor, "enable")
                reader.device.identity.defaults.append(Stated("default-route-origination", at))
        families = {
            word
            for word, key, usual in (("ipv4", "ipv4-unicast", True), ("evpn", "l2vpn-evpn", False))
            if (ipv4 if word == "ipv4" else evpn)
            and next(
                (
                    _on(reader.at(*it, "address-family", key), default=usual)
                    for it in both
                    if key in reader.at(*it, "address-family")
                ),
                usual,
            )
        }
        kind, an_address = str(row.get("type", "")), is_address(str(name))
        if (kind == "numbered" and not an_address) or (kind == "unnumbered" and an_address):
            what = "an address" if an_address else "an interface"
            reader.bad((*bgp, "neighbor", str(name), "type"), f"neighbor {name} is {what}, and its type is {kind}")
        numbered = not (str(row.get("type", "")) == "unnumbered" or str(name).startswith(("swp", "bond")))
        if not numbered:
            reader.device.identity.unnumbered = reader.where(*_BGP, "neighbor", str(name))
        source = next((str(it["update-source"]) for it in merged if "update-source" in it), "")
        hops = _in_range(reader, both, ("multihop-ttl",), 1, 255)
        local = reader.device.addresses.get(source, (source if source[:1].isdigit() else "",))[0]
        keepalive, hold = (_in_range(reader, both, ("timers", it), 0, _MOST_S) for it in ("keepalive", "hold"))
        session = Session(
            reader.where(*bgp, "neighbor", str(name)),
            "",
            _remote_as(reader, merged, (*both[0], "remote-as")),
            str(name) if numbered else "",
            local.partition("/")[0],
            all(it.get("shutdown", "off") not in ("on", True, "enabled") for it in merged) and _on(row, default=True),
            keepalive_s=int(keepalive.value) if keepalive else None,
            hold_s=int(hold.value) if hold else None,
            families=frozenset(families),
            vrf="" if vrf == _DEFAULT else vrf,
            external=next((it["remote-as"] for it in merged if "remote-as" in it), "") == "external",
            source=source,
            hops=1 if hops is NOTHING else int(hops.value) if hops else None,
            password=any("password" in it for it in merged),
            secret=_clear(next((str(it["password"]) for it in merged if "password" in it), "")),
            bfd=any(_on(it["bfd"], default=False) for it in merged if isinstance(it.get("bfd"), dict)),
            passive=any(is_on(it.get("passive-mode"), default=False) for it in merged),
            states_asn=any("remote-as" in it for it in merged),
            policies=tuple(uses_of(reader, both)),
            reflects=any(
                _on({"enable": reader.at(*it, "address-family", key).get("route-reflector-client")}, default=False)
                for it in both
                for key in ("ipv4-unicast", "l2vpn-evpn")
            ),
            local_as=_of_both(reader, both, "local-as", "asn"),
            ttl_security=_of_both(reader, both, "ttl-security", "hops"),
            max_prefixes=_max_prefixes(reader, both),
            keeps_next_hop=False if any(_next_hop_self(reader, it, "l2vpn-evpn") for it in both) else None,
            sets_next_hop=any(_next_hop_self(reader, it, "ipv4-unicast") for it in both),
        )
        session = replace(session, **_of_group(reader, (*bgp, *group), row)) if group[1] else session
        ports = ("",) if numbered else folded_ports(str(name))
        reader.device.sessions.extend(replace(session, interface=port) for port in ports)


_SETTINGS: Final = {
    "remote-as": "remote-as",
    "update-source": "update-source",
    "multihop-ttl": "ebgp-multihop",
    "passive-mode": "passive",
    "ttl-security": "ttl-security",
    "bfd": "bfd",
    "local-as": "local-as",
    "shutdown": "shutdown",
    "timers": "timers",
}
"""NVUE's key of a neighbour's setting to the word of EOS, by which a session knows it."""


def _of_group(reader: Reader, group: tuple[str, ...], row: Mapping[str, Any]) -> dict[str, Any]:
    """Where a neighbour's peer group is, and what it takes from there; `row`: what the neighbour states itself."""
    its = reader.at(*group)
    shut = {"shutdown"} if its.get("shutdown", "off") in ("on", True, "enabled") else set()  # also of one that says off
    taken = [key for key in _SETTINGS if key in its and (key not in row or key in shut)]
    return {
        "group_where": reader.where(*group),
        "inherited_where": tuple((_SETTINGS[key], reader.where(*group, key)) for key in taken),
    }


def _next_hop_self(reader: Reader, path: tuple[str, ...], family: str) -> bool:
    """Whether routes of a family get this switch as next hop, in the words of earlier and of later releases."""
    its = reader.at(*path, "address-family", family)
    word = reader.at(*path, "address-family", family, "attribute-mod").get("next-hop-self", its.get("nexthop-setting"))
    return word is True or str(word) in {"on", "force", "self", "enabled"}


def _of_both(reader: Reader, rows: Sequence[tuple[str, ...]], key: str, field: str) -> Stated:
    """A field of a feature that a neighbour or its group has on."""
    for row in rows:
        its = reader.at(*row, key)
        if field in its and _on(its, default=False):
            return Stated(str(its[field]), reader.where(*row, key, field))
    return NOTHING


def _max_prefixes(reader: Reader, rows: Sequence[tuple[str, ...]]) -> Stated:
    """The limit of received IPv4 prefixes, unless it only warns."""
    for row in rows:
        path = (*row, "address-family", "ipv4-unicast", "prefix-limits", "inbound")
        its = reader.at(*path)
        if "maximum" in its:
            number = reader.number_or_word((*path, "maximum"), its["maximum"], 1, 4_294_967_295)
            warns = str(its.get("warning-only", "off")) in {"on", "True"}
            return NOTHING if number is None or warns else Stated(str(number), reader.where(*path, "maximum"))
    return NOTHING


def _remote_as(reader: Reader, rows: list[dict[str, Any]], at: tuple[str, ...]) -> str:
    """The neighbour's AS number: 'internal' is the switch's own, 'external' any other, which states none."""
    text = next((str(it["remote-as"]) for it in rows if "remote-as" in it), "")
    if text == "internal":
        return reader.device.asn
    if text not in {"", "external", "auto"} and not re.fullmatch(r"\d+(?:\.\d+)?", text, re.ASCII):
        reader.bad(at, f"'{text[:40]}' is no AS number, nor internal, nor external")
    return text if re.fullmatch(r"[\d.]+", text, re.ASCII) else ""


def _in_range(reader: Reader, rows: Sequence[tuple[str, ...]], field: tuple[str, ...], low: int, high: int) -> Stated:
    """A number of a neighbour or of its group; empty where it is out of range, NOTHING where a word or none is."""
    for row in rows:
        its = reader.at(*row, *field[:-1])
        if field[-1] in its:
            number = reader.number_or_word((*row, *field), its[field[-1]], low, high)
            if number is None and is_word(its[field[-1]]):
                return NOTHING
            return Stated("" if number is None else str(number), reader.where(*row, *field))
    return NOTHING

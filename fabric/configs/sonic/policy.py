"""CONFIG_DB tables of frrcfgd: address families of BGP sessions, route maps, prefix and community sets, route targets.

Sources: sonic-yang-models (sonic-bgp-neighbor, sonic-route-map, sonic-routing-policy-sets, sonic-bgp-global);
sonic-frr-mgmt-framework frrcfgd (BGP_GLOBALS_EVPN_VNI, BGP_GLOBALS_EVPN_RT, BGP_GLOBALS_EVPN_VNI_RT).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, cast

from fabric.configs.identity import NOTHING, Stated, Vni
from fabric.configs.model import Device, Session
from fabric.configs.policy import Clause, Policies, Use, as_path_expression, prefix_entry
from fabric.configs.sonic.rows import Fields, Rows
from fabric.configs.text.spelling import is_number

_FAMILIES: Final = {"ipv4_unicast": "ipv4", "l2vpn_evpn": "evpn", "ipv6_unicast": "ipv6"}
_DEFAULT_VRF: Final = "default"
_Families = dict[str, tuple[tuple[str, ...], Fields]]
"""Address family to its row."""


def read_policies(rows: Rows, device: Device) -> None:
    """Fill in policies, and what the sessions say of their address families. The sessions are known already."""
    _sets(rows, device.identity.policies)
    for key, where, fields in rows.rows("ROUTE_MAP"):
        name, _, number = key.rpartition("|")
        if not name or not is_number(number):
            rows.defect("R5", where, f"ROUTE_MAP|{key}"[:120], "the key is not name|number")
            continue
        clause = Clause(int(number), fields.get("route_operation") != "deny", where)
        for field in ("match_prefix_set", "match_community"):
            if text := str(fields.get(field, "")):
                names = (text,)
                clause.prefix_lists = names if field == "match_prefix_set" else clause.prefix_lists
                clause.communities = names if field == "match_community" else clause.communities
        if path := str(fields.get("match_as_path", "")):
            clause.as_paths = (path,)
        if tag := str(fields.get("match_tag", "")):
            clause.tags = frozenset((tag,))
        unread = [it for it in fields if it.startswith(("match_", "call_")) and it not in _READ_MATCHES]
        clause.unread = unread[0] if unread else ""
        clause.sets_communities = cast("tuple[str, ...]", fields.get("set_community_inline", ()))
        preference, asn = (str(fields.get(it, "")) for it in ("set_local_pref", "set_asn"))
        clause.local_preference = int(preference) if is_number(preference, 10) else None
        clause.next_hop = str(fields.get("set_next_hop", ""))
        times = str(fields.get("set_repeat_asn", "1"))
        if "set_repeat_asn" in fields and not asn:
            text = f"set_repeat_asn {times} without set_asn: no AS number is prepended"
            rows.defect("R9", (*where, "set_repeat_asn"), f"ROUTE_MAP|{key}"[:120], text)
        clause.prepends = (int(asn),) * (int(times[:2]) if is_number(times) else 1) if is_number(asn, 10) else ()
        device.identity.policies.route_maps.setdefault(name, []).append(clause)
    _families(rows, device)
    _instance(rows, device)


def _instance(rows: Rows, device: Device) -> None:
    """What the instance of frrcfgd puts into BGP. A file without these tables leaves it to the templates of bgpcfgd."""
    found = device.identity
    tables = ("BGP_GLOBALS_AF", "BGP_GLOBALS_AF_NETWORK", "ROUTE_REDISTRIBUTE", "OSPFV2_ROUTER")  # of frrcfgd
    if not any(table in rows for table in tables):
        return
    networks, connected = set(), False
    for key, at, _ in rows.rows("BGP_GLOBALS_AF_NETWORK"):
        vrf, family, prefix = (*key.split("|"), "", "")[:3]
        if vrf == _DEFAULT_VRF and _FAMILIES.get(family.lower()) == "ipv4":
            networks.add(prefix)
            if prefix == "0.0.0.0/0":
                found.defaults_of_routes.append(Stated("network 0.0.0.0/0", at))
    for key, where, fields in rows.rows("ROUTE_REDISTRIBUTE"):
        if key.lower() == "default|connected|bgp|ipv4":
            connected = True
            for name in cast("tuple[str, ...]", fields.get("route_map", ())):
                found.policies.redistribution = name, (*where, "route_map")
        if key.lower() == "default|static|bgp|ipv4":
            found.defaults_of_routes.append(Stated("redistribute static", where))
    found.networks, found.redistributes_connected = frozenset(networks), connected
    for key, where, fields in rows.rows("BGP_GLOBALS_AF"):
        of = _FAMILIES.get(key.rpartition("|")[2].lower())
        if not key.startswith(f"{_DEFAULT_VRF}|"):
            continue
        if of == "evpn" and found.vnis and fields.get("advertise-all-vni") != "true":
            found.evpn = Stated("off", (*where, "advertise-all-vni"))
        if of == "ipv4" and "max_ebgp_paths" in fields:
            device.multipath, device.multipath_where = cast("int", fields["max_ebgp_paths"]), (*where, "max_ebgp_paths")


_READ_MATCHES: Final = frozenset(("match_prefix_set", "match_community", "match_as_path", "match_tag"))


def _sets(rows: Rows, found: Policies) -> None:
    for key, _, fields in rows.rows("PREFIX_SET"):
        if fields.get("mode", "IPv4") == "IPv4":
            found.prefix_lists.setdefault(key, [])
        else:
            found.others.add(key)
    for key, where, fields in rows.rows("PREFIX"):
        name, *words = key.split("|")
        number = words.pop(0) if len(words) == 3 else "0"
        text, lengths = (*words, "", "")[:2]
        low, dots, high = lengths.partition("..")
        entry = prefix_entry(
            fields.get("action") != "deny",
            text,
            low if dots else None,
            high or None,
            int(number) if is_number(number) else 0,
            where,
        )
        if entry is not None and is_number(number):
            found.prefix_lists.setdefault(name, []).append(entry)
        elif ":" not in text:
            rows.defect("R5", where, f"PREFIX|{key}"[:120], f"'{text[:40]}' '{lengths[:20]}' is no IPv4 prefix")
    for key, _, fields in rows.rows("COMMUNITY_SET"):
        if str(fields.get("set_type", "STANDARD")).upper() == "STANDARD":
            members = cast("tuple[str, ...]", fields.get("community_member", ()))
            whole = str(fields.get("match_action", "ANY")).upper() == "ALL"
            found.community_lists[key] = [(True, its) for its in ([members] if whole else [(it,) for it in members])]

    for key, where, fields in rows.rows("AS_PATH_SET"):
        stated = cast("tuple[str, ...]", fields.get("as_path_set_member", ()))
        expressions = [as_path_expression(it) for it in stated]
        if all(expressions):
            found.as_path_lists[key] = [(True, it) for it in expressions]
        else:
            rows.unread(where, f"AS_PATH_SET|{key}"[:80])


def _families(rows: Rows, device: Device) -> None:
    own, groups = (_by_name(rows, table) for table in ("BGP_NEIGHBOR_AF", "BGP_PEER_GROUP_AF"))
    of_group = {
        where: str(fields.get("peer_group_name", "")) for _, where, fields in rows.rows("BGP_NEIGHBOR") if groups
    }
    for number, session in enumerate(device.sessions):
        group = groups.get((session.vrf, of_group.get(session.where, "")), {})
        its = {**group, **own.get((session.vrf, session.address or session.interface), {})}
        if its or own or groups:
            device.sessions[number] = _with_families(session, its)
        if not session.vrf and "ipv4" in its and its["ipv4"][1].get("send_default_route") == "true":
            at = (*its["ipv4"][0], "send_default_route")
            device.identity.defaults.append(Stated("send_default_route", at))


def _by_name(rows: Rows, table: str) -> dict[tuple[str, str], _Families]:
    """(VRF, neighbour or group) to the rows of its address families."""
    found: dict[tuple[str, str], _Families] = {}
    for key, where, fields in rows.rows(table):
        *vrf, name, family = ("", *key.split("|"))
        vrf = [it for it in vrf if it]
        at = ("" if vrf in ([], [_DEFAULT_VRF]) else vrf[0]), name
        found.setdefault(at, {})[_FAMILIES.get(family.lower(), family)] = where, fields
    return found


def _with_families(session: Session, its: _Families) -> Session:
    """The session with its families: frrcfgd activates those that a row says, and no other."""
    families, policies = set(), session.policies
    for family, (where, fields) in its.items():
        if fields.get("admin_status") in {"true", "up"}:
            families.add(family)
        for kind, table in (("route-map", "route_map"), ("prefix-list", "prefix_list")):
            for way in ("in", "out"):
                for name in cast("tuple[str, ...]", fields.get(f"{table}_{way}", ())):
                    policies += (Use(family, way == "in", name, (*where, f"{table}_{way}"), kind),)
    flags = [fields for _, fields in its.values()]
    return replace(
        session,
        families=frozenset(families),
        policies=policies,
        reflects=any(it.get("rrclient") == "true" for it in flags),
        keeps_next_hop=False if "evpn" in its and its["evpn"][1].get("nhself") == "true" else None,
        sets_next_hop="ipv4" in its and its["ipv4"][1].get("nhself") == "true",
        allows_own_as=any(it.get("allow_as_in") == "true" for it in flags),
        max_prefixes=_limit(*its["ipv4"]) if "ipv4" in its else NOTHING,
    )


def _limit(where: tuple[str, ...], fields: Fields) -> Stated:
    """The number of prefixes that closes the session; a limit that only warns is none."""
    limit = fields.get("max_prefix_limit", "")
    return (
        NOTHING if fields.get("max_prefix_warning_only") == "true" else Stated(str(limit), (*where, "max_prefix_limit"))
    )


def read_targets(rows: Rows, device: Device) -> None:
    """Route targets and distinguishers of VNIs and VRFs, which bgpd derives where no row states them."""
    found = device.identity
    by_number = {vni.number: vni for vni in (*found.vnis, *found.routed_vnis)}
    by_vrf = {vni.vrf: vni for vni in found.routed_vnis}
    for key, where, fields in rows.rows("BGP_GLOBALS_EVPN_VNI"):
        vni = by_number.get(key.rpartition("|")[2])
        if vni is None:
            root = found.unnamed_vni({it.rpartition("|")[2] for it in rows.keys("BGP_GLOBALS_EVPN_VNI")})
            text = "names a VNI that no VLAN and no VRF has"
            rows.defect("R1", where, f"BGP_GLOBALS_EVPN_VNI|{key}"[:120], text, root)
            found.loose_where[key.rpartition("|")[2]] = where
            continue
        vni.distinguisher = str(fields.get("route-distinguisher", ""))
        vni.distinguisher_where = (*where, "route-distinguisher")
        for field, way in (("import-rts", "import"), ("export-rts", "export")):
            for target in cast("tuple[str, ...]", fields.get(field, ())):
                _add(vni, target, way, (*where, field))
    for key, where, fields in rows.rows("BGP_GLOBALS_EVPN_VNI_RT"):
        _, _, number, target = ("", "", *key.split("|"))[-4:] if key.count("|") > 2 else ("", "", "", "")
        vni = by_number.get(number)
        if vni is None:
            rows.defect("R1", where, f"BGP_GLOBALS_EVPN_VNI_RT|{key}"[:120], "names a VNI that no VLAN and no VRF has")
        else:
            _add(vni, target, str(fields.get("route-target-type", "both")), where)
    for key, where, fields in rows.rows("BGP_GLOBALS_EVPN_RT"):
        vrf, _, target = key.split("|")[0], "", key.rpartition("|")[2]
        if (vni := by_vrf.get(vrf)) is not None:
            _add(vni, target, str(fields.get("route-target-type", "both")), where)


def _add(vni: Vni, target: str, way: str, where: tuple[str, ...]) -> None:
    vni.targets_where = where
    if way != "export":
        vni.imports |= {target}
    if way != "import":
        vni.exports |= {target}

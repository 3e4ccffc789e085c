"""Tables of a control plane as text: the fields of show/bgp.py and show/evpn.py in FRR's columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from fabric.controlplane.bgp.afi import address_text
from fabric.controlplane.bgp.attributes import path_text
from fabric.controlplane.bgp.rib import Path
from fabric.controlplane.evpn.evpn_attributes import community_text
from fabric.controlplane.evpn.isolation import Isolation
from fabric.controlplane.network.tenants import Reach
from fabric.render.document import Column, Document, Fact, Facts, Prose, Section, Status, Table, Unit, Value
from fabric.render.json import to_json
from fabric.show import bgp as frr_bgp

Json = Mapping[str, Any]
ByNode = Mapping[str, Json]
"""Name of a switch -> its table."""

_FAMILIES: Final = {"ipv4Unicast": "IPv4 unicast", "l2VpnEvpn": "L2VPN EVPN"}


def _columns(*names: str) -> tuple[Column, ...]:
    """Columns by titles; '>' at the beginning marks numbers, aligned to the right."""
    return tuple(
        Column(
            name.lstrip(">").lower().replace("/", "_").replace(" ", "_"),
            name.lstrip(">"),
            Unit.COUNT if name.startswith(">") else Unit.TEXT,
        )
        for name in names
    )


def _document(
    title: str, when: str, status: Status, verdict: str, sections: Sequence[Section], reasons: tuple[Prose, ...] = ()
) -> Document:
    return Document(title, when, status, verdict, reasons, tuple(sections))


def summary(by_node: ByNode, when: str) -> Document:
    """`show bgp summary`, all sessions in one table per family."""
    columns = _columns(
        "Switch", "Neighbor", "Address", ">AS", ">MsgRcvd", ">MsgSent", "Up/Down", "State", ">PfxRcd", ">PfxSnt"
    )
    sections = []
    ends: dict[tuple[str, str], bool] = {}
    for family, title in _FAMILIES.items():
        rows: list[tuple[Value, ...]] = []
        statuses = []
        for node, table in by_node.items():
            for address, peer in table.get(family, {"peers": {}})["peers"].items():
                up = peer["state"] == "Established"
                ends[node, address] = up
                rows.append(
                    (
                        node,
                        peer.get("hostname", "-"),
                        address,
                        str(peer["remoteAs"]),
                        peer["msgRcvd"],
                        peer["msgSent"],
                        peer["peerUptime"],
                        peer["state"],
                        peer["pfxRcd"],
                        peer["pfxSnt"],
                    )
                )
                statuses.append(Status.NEUTRAL if up else Status.BAD)
        if rows:
            sections.append(Section(family, title, (Table("peers", "", columns, tuple(rows), "", tuple(statuses)),)))
    lost = sum(not up for up in ends.values())
    verdict = (
        f"{lost} of {len(ends)} neighbours are not established."
        if lost
        else f"All {len(ends)} neighbours are established."
    )
    return _document("BGP summary", when, Status.BAD if lost else Status.GOOD, verdict, sections)


_SHOWN: Final = (
    ("bgpState", "State"),
    ("bgpTimerUpString", "Up for"),
    ("remoteAs", "Remote AS"),
    ("localAs", "Local AS"),
    ("remoteRouterId", "Remote router ID"),
    ("hostname", "Hostname"),
    ("bgpTimerHoldTimeMsecs", "Hold time, ms"),
    ("bgpTimerKeepAliveIntervalMsecs", "Keepalive, ms"),
    ("bgpTimerLastRead", "Last read, ms"),
    ("connectionsEstablished", "Established"),
    ("connectionsDropped", "Dropped"),
    ("lastResetDueTo", "Last reset"),
)


def neighbors(by_node: ByNode, when: str) -> Document:
    """`show bgp neighbors`: one table per session, without the capabilities (`--json` has them)."""
    sections = []
    for node, table in by_node.items():
        rows: list[tuple[Value, ...]] = []
        for address, peer in table.items():
            rows += [(address, title, str(peer[key])) for key, title in _SHOWN if key in peer]
            stats = peer["messageStats"]
            messages = f"{stats['totalSent']}/{stats['totalRecv']}"
            updates = f"{stats['updatesSent']}/{stats['updatesRecv']}"
            rows += [(address, "Messages sent/received", messages), (address, "UPDATEs sent/received", updates)]
            for family, info in peer["addressFamilyInfo"].items():
                counts = f"accepted {info['acceptedPrefixCounter']}, sent {info.get('sentPrefixCounter', 0)}"
                rows.append((address, f"{_FAMILIES.get(family, family)} prefixes", counts))
        sections.append(
            Section(node, node, (Table("neighbors", "", _columns("Neighbor", "Fact", "Value"), tuple(rows)),))
        )
    return _document("BGP neighbours", when, Status.NEUTRAL, f"{sum(map(len, by_node.values()))} sessions.", sections)


def _mark(path: Json) -> str:
    """FRR's status codes: '*' valid, '>' best, '=' multipath."""
    best = ">" if path.get("bestpath") else "=" if path.get("multipath") else " "
    return ("*" if path.get("valid") else " ") + best


def _path_row(name: str, path: Json) -> tuple[Value, ...]:
    hop = path["nexthops"][0]
    as_path = " ".join(part for part in (path["path"], path["origin"][0].lower().replace("n", "?")) if part)
    return (
        _mark(path),
        name,
        f"{hop['ip']}({hop['hostname']})" if hop["hostname"] else hop["ip"],
        path.get("metric"),
        path.get("locPrf"),
        path["weight"],
        as_path,
        path.get("selectionReason", ""),
    )


_ROUTE_COLUMNS: Final = ("St", "Network", "Next hop", ">Metric", ">LocPrf", ">Weight", "Path", "Chosen by")
_LEGEND: Final = "* valid, > best, = multipath; path ends with its origin: i IGP, e EGP, ? incomplete."


def routes(by_node: ByNode, when: str) -> Document:
    """`show ip bgp`."""
    sections = []
    for node, table in by_node.items():
        rows = [
            _path_row(name if first else "", path)
            for name, paths in table["routes"].items()
            for first, path in _firsts(paths)
        ]
        title = f"{node}  router ID {table['routerId']}, AS {table['localAS']}, table version {table['tableVersion']}"
        sections.append(Section(node, title, (Table("routes", "", _columns(*_ROUTE_COLUMNS), tuple(rows), _LEGEND),)))
    count = sum(len(table["routes"]) for table in by_node.values())
    return _document("BGP routes, IPv4 unicast", when, Status.NEUTRAL, f"{count} routes.", sections)


def _firsts(paths: Iterable[Json]) -> Iterable[tuple[bool, Json]]:
    return ((number == 0, path) for number, path in enumerate(paths))


def evpn_routes(by_node: ByNode, when: str) -> Document:
    """`show bgp l2vpn evpn`."""
    sections = []
    columns = _columns("St", "Route", "Next hop", "Weight", "Path", "VNI", "Extended communities", "Chosen by")
    for node, table in by_node.items():
        blocks = []
        for distinguisher, by_route in frr_bgp.by_distinguisher(table).items():
            rows: list[tuple[Value, ...]] = []
            for name, route in by_route.items():
                if name == "rd":
                    continue
                for first, path in _firsts(route["paths"]):
                    status, _, hop, _, _, weight, as_path, chosen = _path_row(name, path)
                    rows.append(
                        (
                            status,
                            name if first else "",
                            hop,
                            str(weight),
                            as_path,
                            path.get("VNI", "-"),
                            path.get("extendedCommunity", {}).get("string", ""),
                            chosen,
                        )
                    )
            blocks.append(Table(distinguisher, f"Route distinguisher {distinguisher}", columns, tuple(rows)))
        sections.append(
            Section(node, f"{node}  {table['numPrefix']} routes, {table['totalPrefix']} paths", tuple(blocks))
        )
    count = sum(table["numPrefix"] for table in by_node.values())
    return _document("EVPN routes", when, Status.NEUTRAL, f"{count} routes. {_LEGEND}", sections)


_REASON_COLUMNS: Final = ("From", "Next hop", "AS path", "Attributes", "Verdict", "Rule")
Reasons = Sequence[tuple[Path, str, str]]
"""(path, why it won or lost, the rule): bgp.reasons()."""


def _reason_row(path: Path, why: str, rule: str) -> tuple[Value, ...]:
    its = path.attributes
    facts = [
        *map(community_text, its.ext_communities),
        *([] if its.local_pref is None else [f"LocPrf {its.local_pref}"]),
        *([] if its.med is None else [f"MED {its.med}"]),
        *map(frr_bgp.community_text, its.communities),
        *(["stale"] if path.stale else []),
    ]
    return (
        path.source.name or "this switch",
        address_text(path.next_hop),
        path_text(its.as_path) or "-",
        ", ".join(facts) or "-",
        why,
        rule.partition(": ")[0] if rule.startswith("RFC") else rule,
    )


def path_table(reasons: Reasons, prefix: str) -> Table:
    """Every path of one route at one switch."""
    return Table(
        "paths",
        f"BGP paths of {prefix}",
        _columns(*_REASON_COLUMNS),
        tuple(_reason_row(*it) for it in reasons),
        "" if reasons else "BGP has no path.",
    )


def evpn_reasons(by_node: Mapping[str, Mapping[str, Reasons]], match: str, when: str) -> Document:
    """Every path of some EVPN routes at several switches, why it won or lost, and the rule."""
    rows = [
        (node if number == 0 else "", name if number == 0 else "", *_reason_row(*it))
        for node, routes in by_node.items()
        for name, paths in routes.items()
        for number, it in enumerate(paths)
    ]
    found = sum(map(len, by_node.values()))
    return _document(
        f"EVPN routes with '{match}'",
        when,
        Status.NEUTRAL if found else Status.WARNING,
        f"{found} routes on {len(by_node)} switches.",
        [Section("paths", "Paths", (Table("paths", "", _columns("Switch", "Route", *_REASON_COLUMNS), tuple(rows)),))],
    )


def route_reasons(by_node: Mapping[str, Reasons], prefix: str, when: str) -> Document:
    """Every path of one route at several switches, why it won or lost, and the rule."""
    rows = [
        (node if number == 0 else "", *_reason_row(*it))
        for node, paths in by_node.items()
        for number, it in enumerate(paths)
    ]
    known = sum(bool(paths) for paths in by_node.values())
    return _document(
        f"BGP paths of {prefix}",
        when,
        Status.NEUTRAL if known else Status.WARNING,
        f"{known} of {len(by_node)} switches know a path.",
        [Section("paths", "Paths", (Table("paths", "", _columns("Switch", *_REASON_COLUMNS), tuple(rows)),))],
    )


def isolation(found: Isolation, when: str, reach: Sequence[Reach] = ()) -> Document:
    """Isolation of tenants, with the evidence of breaches; and the hosts that leaves with routing reach."""
    columns = _columns("Breach", "Tenant", "Switch", "VNI", "Other tenant", "Other switch", "Other VNI", "Evidence")
    rows = tuple(
        (
            str(it.kind),
            it.here.domain,
            it.here.switch,
            str(it.here.vni),
            it.there.domain,
            it.there.switch,
            str(it.there.vni),
            it.evidence,
        )
        for it in found.breaches
    )
    verdict = (
        f"One tenant only ({', '.join(found.domains)}): nothing to keep apart."
        if found.proved and len(found.domains) < 2
        else f"Proved apart: {', '.join(found.domains)}. They share no VNI, distinguisher, route target or route."
        if found.proved
        else f"Not apart: {len(rows)} breach{'' if len(rows) == 1 else 'es'}."
    )
    return _document(
        "Isolation of tenants",
        when,
        Status.GOOD if found.proved else Status.BAD,
        verdict,
        [
            Section(
                "scope",
                "Looked at",
                (
                    Facts(
                        (
                            Fact("tenants", "tenants", len(found.domains), Unit.COUNT),
                            Fact("tables", "tables", found.tables, Unit.COUNT),
                            Fact("routes", "imported routes", found.routes, Unit.COUNT),
                            Fact("proved", "proved", found.proved),
                        )
                    ),
                ),
            ),
            Section("breaches", "Breaches", (Table("breaches", "", columns, rows),)),
            *([_reach(reach)] if reach else []),
        ],
    )


def _reach(reach: Sequence[Reach]) -> Section:
    rows = tuple(
        (
            it.switch,
            it.tenant,
            str(it.l3_vni),
            it.hosts,
            it.hosts - len(it.missing),
            ", ".join(it.missing[:4]) + (f" and {len(it.missing) - 4} more" if len(it.missing) > 4 else "") or "-",
        )
        for it in reach
    )
    columns = _columns("Switch", "Tenant", "L3 VNI", ">Hosts", ">With a route", "Without")
    return Section("reach", "Within tenants: hosts that leaves route to", (Table("reach", "", columns, rows),))


def isolation_json(found: Isolation, when: str, reach: Sequence[Reach]) -> dict[str, Any]:
    """The same as JSON: VNIs are numbers, and all hosts without a route are listed."""
    answer = to_json(isolation(found, when, reach))
    for row, breach in zip(answer["breaches"]["breaches"], found.breaches, strict=True):
        row |= {"vni": breach.here.vni, "other_vni": breach.there.vni}
    for row, it in zip(answer["reach"]["reach"] if reach else (), reach, strict=True):
        row |= {"l3_vni": it.l3_vni, "without": list(it.missing)}
    return answer


def _entries(by_node: ByNode, rows: Sequence[object]) -> tuple[str, tuple[Prose, ...]]:
    """Verdict and reasons of a table by L3 VNI."""
    return f"{len(rows)} entries on {len(by_node)} switches.", () if any(by_node.values()) else (
        Prose("No leaf here has an L3 VNI: none routes between subnets of a tenant (l3_vni of vxlan.tenants)."),
    )


def evpn_rmacs(by_node: ByNode, when: str) -> Document:
    """`show evpn rmac vni all`."""
    rows = tuple(
        (node, vni, mac, entry["vtepIp"])
        for node, table in by_node.items()
        for vni, part in table.items()
        for mac, entry in part.items()
        if isinstance(entry, dict)
    )
    verdict, reasons = _entries(by_node, rows)
    return _document(
        "EVPN router MACs",
        when,
        Status.NEUTRAL,
        verdict,
        [
            Section(
                "rmacs",
                "Router MACs",
                (Table("rmacs", "", _columns("Switch", "L3 VNI", "Router MAC", "Remote VTEP"), rows),),
            )
        ],
        reasons,
    )


def evpn_next_hops(by_node: ByNode, when: str) -> Document:
    """`show evpn next-hops vni all`."""
    rows = tuple(
        (node, vni, entry["nexthopIp"], entry["routerMac"])
        for node, table in by_node.items()
        for vni, part in table.items()
        for entry in part.values()
        if isinstance(entry, dict)
    )
    verdict, reasons = _entries(by_node, rows)
    return _document(
        "EVPN next hops of tenants",
        when,
        Status.NEUTRAL,
        verdict,
        [
            Section(
                "next_hops",
                "Next hops",
                (Table("next_hops", "", _columns("Switch", "L3 VNI", "VTEP", "Router MAC"), rows),),
            )
        ],
        reasons,
    )


def evpn_vni(by_node: ByNode, when: str) -> Document:
    """`show evpn vni`."""
    rows = tuple(
        (
            node,
            str(vni["vni"]),
            vni["type"],
            vni["vxlanIf"],
            vni["numMacs"],
            vni["numArpNd"],
            ", ".join(vni.get("remoteVteps", ())) or "-",
            vni["tenantVrf"],
        )
        for node, table in by_node.items()
        for vni in table.values()
    )
    columns = _columns("Switch", "VNI", "Type", "VxLAN interface", ">MACs", ">ARPs", "Remote VTEPs", "Tenant")
    return _document(
        "EVPN VNIs",
        when,
        Status.NEUTRAL,
        f"{len(rows)} VNIs on {len(by_node)} switches.",
        [Section("vnis", "VNIs", (Table("vnis", "", columns, rows),))],
    )


def evpn_macs(by_node: ByNode, when: str) -> Document:
    """`show evpn mac vni all`."""
    rows = tuple(
        (
            node,
            vni,
            mac,
            entry["type"],
            entry.get("intf") or entry.get("remoteVtep", "-"),
            f"{entry['localSequence']}/{entry['remoteSequence']}",
            " ".join(
                [
                    *(["sticky"] if entry.get("stickyMac") else []),
                    *([f"moves {entry['detectionCount']}"] if entry["detectionCount"] else []),
                    *(["duplicate"] if entry["isDuplicate"] else []),
                ]
            ),
        )
        for node, table in by_node.items()
        for vni, part in table.items()
        for mac, entry in sorted(part["macs"].items())
    )
    columns = _columns("Switch", "VNI", "MAC", "Type", "Interface/Remote VTEP", "Seq local/remote", "Flags")
    return _document(
        "EVPN MAC tables",
        when,
        Status.NEUTRAL,
        f"{len(rows)} entries on {len(by_node)} switches.",
        [Section("macs", "MACs", (Table("macs", "", columns, rows),))],
    )


def evpn_arp(by_node: ByNode, when: str) -> Document:
    """`show evpn arp-cache vni all`."""
    rows = tuple(
        (
            node,
            vni,
            ip,
            entry["type"],
            entry["state"],
            entry["mac"],
            entry.get("remoteVtep", "-"),
            f"{entry['localSequence']}/{entry['remoteSequence']}",
        )
        for node, table in by_node.items()
        for vni, part in table.items()
        for ip, entry in part.items()
        if isinstance(entry, dict)
    )
    columns = _columns("Switch", "VNI", "Neighbor", "Type", "State", "MAC", "Remote VTEP", "Seq local/remote")
    return _document(
        "EVPN ARP and ND caches",
        when,
        Status.NEUTRAL,
        f"{len(rows)} entries on {len(by_node)} switches.",
        [Section("neighbors", "Neighbours", (Table("neighbors", "", columns, rows),))],
    )

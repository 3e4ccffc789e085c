"""L: settings that the two ends of a link share, and paths that are only as lossless as their worst hop."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from fabric.configs.network import End
from fabric.configs.text.spelling import meant
from fabric.validate.checks.base import Check, E, Evidence, Found, I, Root, W, check, listed, shows, whole_file
from fabric.validate.checks.classification import lacks_pfc
from fabric.validate.checks.entries import host_evidence, host_root, map_evidence, pfc_root
from fabric.validate.facts import Facts, Line, Wire
from fabric.validate.field_words import field_word
from fabric.validate.remedies import (
    Fix,
    interface_of,
    set_cable,
    set_field,
    set_host,
    set_host_pfc,
    set_pause,
    set_pfc,
    set_pfc_mode,
    set_port,
)


def _both(wire: Wire, field: str, a: object, b: object) -> tuple[Evidence, ...]:
    return tuple(
        shows(line.device, line.port.where, field, value, f"{line} {field}")
        for line, value in ((wire.a, a), (wire.b, b))
    )


_WORD: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_PAM4_MBPS: Final = 200_000
"""From this speed on, IEEE 802.3 has no coding without RS-FEC."""
_SHOWN: Final = 60
"""Characters of a description."""


@check(
    "L1",
    E,
    "PFC differs at the two ends",
    condition="pfc_enable is the same at both ends; a host's is part of it",
    consequence="one end pauses and the other ignores it: loss; or neither end pauses",
    remedy="enable the same priorities at both ends",
    source="IEEE 802.1Q clause 36; Guo et al., SIGCOMM 2016",
    leads_to="N1 N2 L9 M4 M5 M7 M8 M9 E4 W1 B7",
)
def L1(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Links between switches, then links to hosts."""
    for wire in facts.wires:
        a, b = wire.a.port.lossless, wire.b.port.lossless
        if a != b:
            odd, wanted = (wire.a, b) if b == facts.usual_pfc or (a < b and a != facts.usual_pfc) else (wire.b, a)
            other = wire.b if odd is wire.a else wire.a
            yield Found(
                odd.device.name,
                str(wire),
                f"PFC on {listed(odd.port.lossless)} here, {listed(other.port.lossless)} there",
                (_pfc(odd), _pfc(other)),
                root=pfc_root(odd),
                fix=set_pfc(odd.device, odd.port, wanted),
            )
    for line, host in facts.host_lines:
        if host.pfc_enable is not None and not host.pfc_enable <= line.port.lossless:
            usual = line.port.lossless == facts.usual_pfc
            yield Found(
                line.device.name,
                line.port.name,
                f"PFC on {listed(line.port.lossless)} here, {listed(host.pfc_enable)} at the host",
                (_pfc(line), host_evidence(host, "pfc_enable")),
                root=host_root(host, "pfc_enable") if usual else pfc_root(line),
                fix=set_host_pfc(host, line.port.lossless)
                if usual
                else set_pfc(line.device, line.port, facts.usual_pfc or host.pfc_enable),
            )


def _alike(line: Line) -> int:
    """Ports of the switch with this port's speed."""
    return sum(port.speed_mbps == line.port.speed_mbps for port in line.device.ports.values())


@check(
    "L2",
    E,
    "speed differs at the two ends",
    condition="speed is the same at both ends, and autonegotiation where one of them states it, which offers that "
    "speed",
    consequence="the link stays down, or has headroom for another speed",
    remedy="set the same speed",
    source="sonic-port.yang",
    leads_to="H3 H1 H2 D7 E5 L8 W5 D4",
)
def L2(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """At the end whose speed fewer ports of links between switches have. Also against the host's speed, if stated."""
    speeds = Counter(line.port.speed_mbps for wire in facts.wires for line in (wire.a, wire.b))
    for wire in facts.wires:
        a, b = wire.a.port, wire.b.port
        if a.speed_mbps and b.speed_mbps and a.speed_mbps != b.speed_mbps:
            mine, yours = ((speeds[line.port.speed_mbps], _alike(line)) for line in (wire.a, wire.b))
            odd, usual = (wire.a, b) if mine < yours else (wire.b, a)
            other = wire.b if odd is wire.a else wire.a
            yield Found(
                odd.device.name,
                str(wire),
                f"{odd.port.speed_mbps} Mb/s here, {other.port.speed_mbps} Mb/s there",
                tuple(
                    shows(it.device, it.port.where, "speed", it.port.speed_mbps, f"{it} speed") for it in (odd, other)
                ),
                root=(odd.device.name, (*odd.port.where, "speed")),
                fix=set_port(odd.device, odd.port, "speed", usual.speed_mbps),
            )
            continue
        yield from _not_offered(wire)
        ours, theirs = (line.port.autoneg or line.device.capabilities.autoneg for line in (wire.a, wire.b))
        if (a.autoneg or b.autoneg) and ours and theirs and ours != theirs:
            yield Found(
                wire.a.device.name,
                str(wire),
                f"autoneg {ours} here, {theirs} there",
                _both(wire, "autoneg", ours, theirs),
            )
    for line, host in facts.host_lines:
        if host.speed and line.port.speed_mbps and host.speed != line.port.speed_mbps:
            yield Found(
                line.device.name,
                line.port.name,
                f"{line.port.speed_mbps} Mb/s here, {host.speed} Mb/s at the host",
                (shows(line.device, line.port.where, "speed", line.port.speed_mbps), host_evidence(host, "speed")),
            )


def _not_offered(wire: Wire) -> Iterator[Found]:
    """Ends that negotiate and do not offer the speed that the port is meant to have."""
    for line in (wire.a, wire.b):
        port = line.port
        if port.autoneg == "on" and port.speed_mbps and port.advertised and str(port.speed_mbps) not in port.advertised:
            yield Found(
                line.device.name,
                str(wire),
                f"autoneg offers {', '.join(port.advertised)} Mb/s, and the port's speed is {port.speed_mbps}",
                (
                    shows(line.device, port.where, "adv_speeds", ",".join(port.advertised)),
                    shows(line.device, port.where, "speed", port.speed_mbps),
                ),
                fix=set_field(line.device, port.where, "adv_speeds", port.speed_mbps),
            )


@check(
    "L3",
    W,
    "cable length differs at the two ends",
    condition="both ends state the same cable length",
    consequence="one of them is wrong; H5 says whether headroom suffers",
    remedy="state the measured length",
    source="sonic-cable-length.yang",
)
def L3(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Any link."""
    for wire in facts.wires:
        a, b = wire.a.port.cable_m, wire.b.port.cable_m
        if a is not None and b is not None and a != b:
            yield Found(
                wire.a.device.name,
                str(wire),
                f"{a} m here, {b} m there",
                tuple(
                    shows(line.device, line.port.cable_where, "", f"{line.port.cable_m}m", f"{line} cable")
                    for line in (wire.a, wire.b)
                ),
                fix=_longer(wire.a, wire.b) if a < b else _longer(wire.b, wire.a),
            )


def _longer(short: Line, long: Line) -> Fix:
    """The larger length: headroom for it is enough for the other, too."""
    return set_cable(short.device, short.port, long.port.cable_m or 0)


@check(
    "L4",
    E,
    "MTU differs at the two ends",
    condition="MTU is the same at both ends, a host's not above its port's",
    consequence="jumbo frames vanish in one direction; RoCE retries for ever",
    remedy="set the same MTU (warning where every host's frame still fits, with its VXLAN header where there are "
    "tunnels)",
    source="RoCE packets cannot be fragmented; RFC 7348 section 4.3",
    leads_to="T1 O1",
)
def L4(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """A warning where the smaller end still takes the hosts' largest frame."""
    hosts = [host.mtu for host in facts.network.stated_hosts.values() if host.mtu]
    for wire in facts.wires:
        a, b = wire.a.port.mtu, wire.b.port.mtu
        if a != b:
            small = wire.a if a < b else wire.b
            other = wire.b if small is wire.a else wire.a
            yield Found(
                small.device.name,
                str(wire),
                f"MTU {small.port.mtu} here, {other.port.mtu} there",
                (
                    shows(small.device, small.port.mtu_at, "mtu", small.port.mtu, f"{small} mtu"),
                    shows(other.device, other.port.mtu_at, "mtu", other.port.mtu, f"{other} mtu"),
                ),
                W if hosts and min(a, b) >= max(hosts) + facts.tunnel_bytes else E,
                root=(small.device.name, (*small.port.mtu_at, "mtu")),
                fix=set_port(small.device, small.port, "mtu", max(a, b)),
            )
    mtus = Counter(line.port.mtu for line, _ in facts.host_lines)
    usual_mtu = mtus.most_common(1)[0][0] if mtus else 0
    for line, host in facts.host_lines:
        if host.mtu and host.mtu > line.port.mtu:
            yield Found(
                line.device.name,
                line.port.name,
                f"MTU {line.port.mtu} here, {host.mtu} at the host",
                (shows(line.device, line.port.mtu_at, "mtu", line.port.mtu), host_evidence(host, "mtu")),
                fix=set_port(line.device, line.port, "mtu", max(host.mtu, usual_mtu)),
            )


@check(
    "L5",
    E,
    "FEC differs at the two ends, or is off where the speed needs it",
    condition="fec is the same at both ends, where stated; a port of 200 Gb/s or more has rs",
    consequence="the link stays down",
    remedy="set rs at both ends",
    source="IEEE 802.3 clause 91; clause 119 (the PCS of 200 and 400 Gb/s always encodes RS(544,514)), clause 172 "
    "(800 Gb/s)",
)
def L5(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """auto agrees with anything."""
    for wire in facts.wires:
        a, b = wire.a.port.fec, wire.b.port.fec
        if a and b and a != b and "auto" not in {a, b}:
            odd = wire.a if b == "rs" else wire.b
            yield Found(
                wire.a.device.name,
                str(wire),
                f"fec {a} here, {b} there",
                _both(wire, "fec", a, b),
                root=(odd.device.name, (*odd.port.where, "fec")),
                fix=set_port(odd.device, odd.port, "fec", "rs"),
            )
    for line in facts.used:
        far = facts.line(facts.peers.get(line.end, ("", "")))
        differs = far is not None and far.port.fec not in {None, "auto", line.port.fec}
        if line.port.fec in {"none", "fc"} and (line.port.speed_mbps or 0) >= _PAM4_MBPS and not differs:
            yield Found(
                line.device.name,
                line.port.name,
                f"fec {line.port.fec} at {(line.port.speed_mbps or 0) // 1000}G, which has no coding without rs",
                (shows(line.device, line.port.where, "fec", line.port.fec),),
                fix=set_port(line.device, line.port, "fec", "rs"),
            )


@check(
    "L6",
    W,
    "asymmetric PFC at one end",
    condition="pfc_asym is the same at both ends",
    consequence="the port obeys pauses of every priority, lossy ones too, and sends those of pfc_enable only: no "
    "lossless packet is lost, but other queues stop if the peer pauses them",
    remedy="turn pfc_asym off",
    source="sonic-port.yang pfc_asym; sonic-mgmt tests/pfc_asym (receive mask of all priorities, send mask of the "
    "lossless ones)",
)
def L6(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Links between switches."""
    for wire in facts.wires:
        a, b = wire.a.port.pfc_asym, wire.b.port.pfc_asym
        if a != b:
            yield Found(
                wire.a.device.name,
                str(wire),
                f"pfc_asym {'on' if a else 'off'} here, {'on' if b else 'off'} there",
                _both(wire, "pfc_asym", a, b),
                fix=set_port(wire.a.device if a else wire.b.device, (wire.a if a else wire.b).port, "pfc_asym", "off"),
            )


@check(
    "L7",
    W,
    "cabling data does not agree",
    condition="neighbour tables point at each other and agree with the links file; the description of a port to a "
    "switch that names one switch names that at the other end of its link, or one beyond it",
    consequence="every check of links and paths judges a network that is not there; who follows the description pulls "
    "the wrong cable",
    remedy="refresh the neighbour tables, correct the description",
    source="sonic-device_neighbor.yang",
)
def L7(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Tables against each other and against the links file."""
    for device in facts.devices:
        for port in device.ports.values():
            if port.neighbor is None:
                continue
            evidence = (shows(device, ("DEVICE_NEIGHBOR", port.name), "", f"{port.neighbor[0]}:{port.neighbor[1]}"),)
            listed = facts.peers.get((device.name, port.name))
            if listed is not None and listed != port.neighbor:
                yield Found(
                    device.name,
                    port.name,
                    f"neighbour is {':'.join(port.neighbor)} here, {':'.join(listed)} in the links",
                    evidence,
                )
            if port.neighbor[0] not in facts.network.devices:
                continue
            other = facts.line(port.neighbor)
            if other is None:
                yield Found(device.name, port.name, f"neighbour {':'.join(port.neighbor)} has no such port", evidence)
            elif other.port.neighbor is not None and other.port.neighbor != (device.name, port.name):
                theirs = ":".join(other.port.neighbor)
                rests_on = ((other.device.name, ("DEVICE_NEIGHBOR", other.port.name)), (device.name, device.name_where))
                text = f"{other} names {theirs} as its neighbour"
                yield Found(device.name, port.name, text, evidence, rests_on=rests_on)
    yield from _misnamed(facts)
    serving = facts.serving
    for cable in facts.network.links:
        for end in (cable.a, cable.b):
            if end[0] in facts.network.devices and facts.line(end) is None:
                near = _near(facts, end)
                said = f"; {near} has its settings, and no link" if near else ""
                yield Found(
                    end[0],
                    end[1] or "?",
                    f"is in the links, but the switch has no such port{said}",
                    (Evidence("link", f"{':'.join(cable.a)} - {':'.join(cable.b)}", cable.place),),
                    E if near else W,
                    rests_on=(whole_file(facts.network.devices[end[0]]),),
                )
        for end, remote in ((cable.a, cable.b), (cable.b, cable.a)):
            down = facts.line(end)
            if down is None or (down.device.name in serving and facts.faces_host(down)):
                continue  # L12's
            if not down.port.admin_up and remote[0] not in facts.network.devices:
                yield Found(
                    end[0],
                    end[1],
                    f"is down, and cabled to {':'.join(remote)}",
                    (shows(down.device, down.port.where, "", ""),),
                    I,
                )


def _near(facts: Facts, end: End) -> str:
    """A port with an address or a VLAN, without a link, whose name is one slip away from that of the end; or ''."""
    device = facts.network.devices[end[0]]
    loose = frozenset(
        name
        for name, port in device.ports.items()
        if (end[0], name) not in facts.peers and (port.vlan or port.trunk or device.addresses.get(name))
    )
    close = meant(end[1] or "", loose)
    return next((name for name in sorted(loose) if f"'{name}'" in close), "")


def _misnamed(facts: Facts) -> Iterator[Found]:
    """Descriptions of links between switches with the name of exactly one other switch, which is not the far end.

    A description may say more than the far end: its name beside another one, or, in other words than the bare name,
    where the path goes beyond it.
    """
    beside: dict[str, set[str]] = {}
    for end, far in facts.peers.items():
        beside.setdefault(end[0], set()).add(far[0])
    for end, far in facts.peers.items():
        line = facts.line(end)
        if line is None or not line.port.description or far[0] not in facts.network.devices:
            continue
        text = line.port.description
        if re.search(rf"(?<![A-Za-z0-9]){re.escape(far[0])}(?![A-Za-z0-9])", text, re.IGNORECASE):
            continue
        names = {it for it in _WORD.findall(text) if it in facts.network.devices} - {end[0]}
        beyond = names & (beside[far[0]] - beside[end[0]])
        if len(names) == 1 and (not beyond or text.strip() in beyond):
            yield Found(
                line.device.name,
                line.port.name,
                f"is described as '{text[:_SHOWN]}', and its link leads to {far[0]}",
                (shows(line.device, line.port.where, "description", text[:_SHOWN]),),
            )


@dataclass(frozen=True, slots=True)
class BadEnd:
    """Why RoCE is not lossless at an end of a link."""

    evidence: tuple[Evidence, ...]
    roots: frozenset[Root]


def bad_ends(facts: Facts) -> dict[End, BadEnd]:
    """Ends of links between switches where RoCE is not lossless."""
    bad: dict[End, BadEnd] = {}
    known: dict[frozenset[Root], frozenset[Root]] = {}
    for wire in facts.wires:
        for line, other in ((wire.a, wire.b), (wire.b, wire.a)):
            found = [it for dscp in facts.roce_dscps if (it := _why_lossy(facts, line, other, dscp)) is not None]
            if found:
                roots = frozenset(root for it in found for root in it.roots)
                evidence = tuple(one for it in found for one in it.evidence)
                bad[line.end] = BadEnd(evidence, known.setdefault(roots, roots))
    return bad


def _bad(*evidence: Evidence, roots: frozenset[Root] | None = None) -> BadEnd:
    return BadEnd(evidence, roots or frozenset(one.root for one in evidence if one.root is not None))


def _why_lossy(facts: Facts, line: Line, other: Line, dscp: int) -> BadEnd | None:
    tc, priority = facts.lossless_class(line, dscp)
    if priority is None and line.port.class_by_tag and line.port.lossless:
        return None
    if priority is None:
        entries = map_evidence(line, "dscp_to_tc", dscp)
        pfc = not line.port.lossless or lacks_pfc(facts, line, dscp, tc)
        roots = (pfc_root(line),) if pfc else tuple(one.root for one in entries if one.root is not None)
        if line.port.lossless and not pfc and line.device.map_of(line.port, "tc_to_queue") is not None:
            queue = map_evidence(line, "tc_to_queue", tc or 0)
            stops = line.device.map_of(line.port, "pfc_to_queue")
            queue += () if stops is None else map_evidence(line, "pfc_to_queue", min(line.port.lossless))
            roots += tuple(one.root for one in queue if one.root is not None)
        return _bad(*entries, _pfc(line), roots=frozenset(roots))
    if priority not in other.port.lossless:
        return _bad(_pfc(line), _pfc(other))
    group = None if tc is None else facts.value(line.device, line.port, "tc_to_pg", tc)
    if group is None:
        group = facts.value(line.device, line.port, "pfc_to_pg", priority)
    bound = None if group is None else line.port.groups.get(group)
    profile = line.device.profile_of(bound)
    label = f"{line} group of priority {priority}"
    if profile is not None and bound is not None:
        if profile.lossless:
            return None
        shown = shows(line.device, bound.profile_where or bound.where, "profile", profile.name, label)
        return _bad(
            shown, *map_evidence(line, "tc_to_pg", tc or 0), shows(line.device, profile.where, "", profile.name)
        )
    if not line.device.capabilities.every_group_stated or not line.device.pools or line.port.headroom_unknown:
        return None
    # The switch makes no group here: no row of the headroom table, no cable length, or a name that leads nowhere.
    where = bound.profile_where if bound is not None and bound.profile_where else line.port.where
    return _bad(
        shows(line.device, where, "" if bound is None else "profile", "none", label),
        shows(line.device, line.port.cable_where or ("CABLE_LENGTH",), "", f"{line.port.cable_m}m", f"{line} cable"),
        *map_evidence(line, "tc_to_pg", tc or 0),
    )


def _pfc(line: Line) -> Evidence:
    field = "" if line.port.pfc_where else "pfc_enable"
    where = line.port.pfc_where or line.port.qos_where or line.port.where
    return shows(
        line.device,
        where,
        field,
        listed(line.port.lossless),
        f"{line} {field_word(line.device.language, 'pfc_enable')}",
    )


@check(
    "L9",
    E,
    "a path that is not lossless all the way",
    condition="between edge switches every hop of every equal-cost path keeps RoCE lossless",
    consequence="a fraction of the flows loses packets, those that the hash sends over the bad hop",
    remedy="repair the hops named",
    source="a path is as lossless as its worst hop",
)
def L9(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Paths between switches with hosts; one finding per pair, with the share of its paths."""
    bad = bad_ends(facts)
    if not bad:
        return
    roots = {end: one.roots for end, one in bad.items()}
    for (start, to), hurt in facts.routes.share_of_paths(roots).items():
        shown = ", ".join(f"{':'.join(hop.out)}→{':'.join(hop.into)}" for hop in hurt.hops)
        evidence = dict.fromkeys(
            one for hop in hurt.hops for end in (hop.out, hop.into) if end in bad for one in bad[end].evidence
        )
        yield Found(
            start,
            f"{start}→{to}",
            f"{hurt.bad} of {hurt.every} paths lose RoCE, first at {shown}",
            tuple(evidence),
            rests_on=hurt.roots,
            paths=hurt.bad,
        )


@check(
    "L10",
    E,
    "802.3x pause together with PFC",
    condition="no link-wide pause where PFC is on",
    consequence="the whole link stops, or both are ignored",
    remedy="turn flow control (ethtool -A) off",
    source="IEEE 802.1Q clause 36.2: PFC and 802.3x PAUSE are exclusive",
)
def L10(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Switch ports and hosts."""
    for line in facts.lossless:
        if line.port.global_pause:
            yield Found(
                line.device.name,
                line.port.name,
                "link-wide pause is on, and PFC, too",
                (shows(line.device, line.port.where, "", ""),),
                fix=set_pause(line.device, line.port),
            )
    for line, host in facts.host_lines:
        if host.global_pause and line.port.lossless:
            yield Found(
                line.device.name,
                line.port.name,
                f"host {host.name} has link-wide pause on",
                (Evidence(f"{host.name}.global_pause", "true", host.at("global_pause")),),
                fix=set_host(host, "global_pause", "false", f"ethtool -A {interface_of(host)} rx off tx off"),
            )


@check(
    "L11",
    W,
    "PFC only if the peer speaks DCBX",
    condition="PFC is on, not negotiated",
    consequence="a peer without DCBX leaves PFC off",
    remedy="priority-flow-control mode on",
    source="Cisco NX-OS QoS guide, Configuring PFC (mode auto)",
)
def L11(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Languages that can negotiate."""
    for line in facts.lossless:
        if line.port.pfc_negotiated:
            yield Found(
                line.device.name,
                line.port.name,
                "PFC mode auto",
                (shows(line.device, line.port.qos_where or line.port.where, "", ""),),
                fix=set_pfc_mode(line.device, line.port),
            )


CHECKS: Final[tuple[Check, ...]] = (L1, L2, L3, L4, L5, L6, L7, L9, L10, L11)

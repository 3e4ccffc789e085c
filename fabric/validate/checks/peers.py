"""P: neighbours as peers: addresses of a link, BGP sessions, the two switches of an MC-LAG or a dual-ToR rack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from fabric.configs.identity import NOTHING, Stated
from fabric.configs.interface_address import interface_of
from fabric.configs.model import Device, Session, Where
from fabric.validate.checks.base import Check, E, Evidence, Found, W, check, listed, named, shows
from fabric.validate.disagreement import UNDECIDED, changed
from fabric.validate.facts import Facts, Line
from fabric.validate.interfaces import interfaces_of
from fabric.validate.meant_addresses import of_two_ends
from fabric.validate.peer_groups import group_to_change
from fabric.validate.remedies import Fix
from fabric.validate.routing_fixes import add_neighbor, send_from, set_asn, set_remote_as, start_session
from fabric.validate.subinterfaces import apart_by_tags, of_two_subnets


def _networks(line: Line) -> dict[int, set[str]]:
    """IP version to the networks of a port or its LAG; link-local ones say nothing."""
    found: dict[int, set[str]] = {}
    for name in (line.port.name, line.port.lag or ""):
        for text in line.device.addresses.get(name, ()):
            address = interface_of(text)
            if not address.ip.is_link_local:
                found.setdefault(address.version, set()).add(text)
    return found


@check(
    "P1",
    E,
    "the two ends of a link are in different subnets",
    condition="where both ends have addresses of one IP version, some pair shares its network and differs; "
    "both ends have addresses of some version in common; where one end has addresses, both do (warn); sub-interfaces "
    "of one subnet have one VLAN tag",
    consequence="neighbours never resolve: no BGP session, no traffic over this link",
    remedy="number both ends out of one /31 or /127; give both sub-interfaces the tag of the plan",
    source="RFC 3021; RFC 7938 section 5.2.3; IEEE 802.1Q section 6.9 (a port takes the VLAN of the tag)",
    leads_to="P3 P9 I1 V11 P22 O1 O3",
)
def P1(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Ports, LAGs and sub-interfaces of links between switches."""
    for wire in facts.wires:
        a, b = _networks(wire.a), _networks(wire.b)
        apart = list(apart_by_tags(wire))
        for this, that in apart:
            yield Found(
                this.line.device.name,
                str(wire),
                f"{this.name} and {that.name} of {that.line.device.name} are in {this.address.network}: {this.shown} "
                f"here, {that.shown} there",
                tuple(shows(it.line.device, it.where, "", it.tag or "none", f"{it.name} tag") for it in (this, that)),
            )
        for this, that in of_two_subnets(wire):
            yield Found(
                this.line.device.name,
                str(wire),
                f"{this.name} has {this.address}, and {that.name} of {that.line.device.name} has {that.address}: two "
                f"subnets, {this.shown}",
                tuple(
                    shows(
                        it.line.device,
                        it.line.device.identity.address_where[it.name, str(it.address)],
                        "",
                        str(it.address),
                        f"{it.name} address",
                    )
                    for it in (this, that)
                ),
            )
        if apart:
            continue
        fix = of_two_ends(facts, ((wire.a.device, _addressed(wire.a)), (wire.b.device, _addressed(wire.b))))
        if bool(a) != bool(b) and all(line.device.addresses for line in (wire.a, wire.b)):
            line = wire.b if a else wire.a
            borrowed = _borrowed(line)
            if borrowed:
                text = f"{line} has the address of {borrowed.value} (unnumbered), its peer has one of its own"
            yield Found(
                line.device.name,
                str(wire),
                text if borrowed else f"{line} has no address, its peer has",
                (shows(line.device, borrowed.where or line.port.where, "", borrowed.value),),
                E if borrowed else W,
                fix=None if borrowed else fix,
            )
        elif a and b and not a.keys() & b.keys():
            line, its, far = (wire.a, a, b) if 4 not in a else (wire.b, b, a)
            yield Found(
                line.device.name,
                str(wire),
                f"{line} has IPv{min(its)} only, its peer IPv{min(far)} only",
                tuple(
                    shows(end.device, _where(end), "", ", ".join(sorted(*found.values())), f"{end} address")
                    for end, found in ((line, its), (wire.b if line is wire.a else wire.a, far))
                ),
                fix=fix,
            )
        for version in sorted(a.keys() & b.keys()):
            ours, theirs = (list(map(interface_of, sorted(it[version]))) for it in (a, b))
            if not any(x.network == y.network and x.ip != y.ip for x in ours for y in theirs):
                yield Found(
                    wire.a.device.name,
                    str(wire),
                    f"{', '.join(map(str, ours))} here, {', '.join(map(str, theirs))} there",
                    tuple(
                        shows(line.device, _where(line), "", ", ".join(map(str, found)), f"{line} address")
                        for line, found in ((wire.a, ours), (wire.b, theirs))
                    ),
                    fix=fix,
                )


def _addressed(line: Line) -> str:
    """The interface of a line's addresses: its LAG, where it is a member of one."""
    return line.port.lag or line.port.name


def _borrowed(line: Line) -> Stated:
    """The interface whose address a port or its LAG has; empty where it has none, or its own."""
    found = line.device.identity.borrowed
    return found.get(line.port.name) or found.get(line.port.lag or "") or NOTHING


def _where(line: Line) -> tuple[str, ...]:
    for name in (line.port.name, line.port.lag or ""):
        for text in line.device.addresses.get(name, ()):
            return line.device.identity.address_where[name, text]
    return line.port.where


def sessions(facts: Facts) -> tuple[tuple[Device, Session, Device], ...]:
    """Every session that is up and whose peer was given: by name, or by who owns its address; kept with the facts."""
    known: tuple[tuple[Device, Session, Device], ...] | None = facts.notes.get(_SESSIONS)
    if known is None:
        known = facts.notes[_SESSIONS] = tuple(_known_sessions(facts))
    return known


_SESSIONS: Final = "sessions whose peer was given"


def _known_sessions(facts: Facts) -> Iterator[tuple[Device, Session, Device]]:
    for device in facts.devices:
        for session in device.sessions:
            peer = _owner(facts, session, device)
            if session.up and peer is not None:
                yield device, session, peer


def same_policies(device: Device, session: Session) -> list[Where]:
    """Where a switch names the policies of a session, here and at its other sessions."""
    names = {it.name for it in session.policies}
    return [it.where for other in device.sessions for it in other.policies if it.name in names]


def _owner(facts: Facts, session: Session, device: Device) -> Device | None:
    """The other switch of a session: by its name, by its address in the session's VRF, or by the cable at its port."""
    peer = facts.network.devices.get(session.peer) or facts.owners_in(session.vrf).get(session.address)
    if peer is None and session.interface:
        peer = facts.network.devices.get(facts.across(device, session.interface)[0])
    return None if peer is device else peer


def other_end(facts: Facts, device: Device, session: Session, peer: Device) -> Session | None:
    """The peer's session to this end: at the port across an unnumbered one, else the one to the near address."""
    if session.interface:
        there = facts.across(device, session.interface)[1]
        return next((it for it in peer.sessions if it.up and there and it.interface == there), None)
    near = near_address(facts, device, session)
    back = (it for it in peer.sessions if it.up and near and it.address == near)
    return next((it for it in back if _owner(facts, it, peer) is device), None)


def _evidence(device: Device, session: Session, field: str, value: str) -> Evidence:
    return shows(device, session.where, field, value)


def _expects(device: Device, session: Session, value: str) -> Evidence:
    """The AS number that is expected of a neighbour: its own, or that of its group."""
    at = session.at("remote-as")
    return _evidence(device, session, "asn", value) if at == session.where else shows(device, at, "", value)


@check(
    "P2",
    E,
    "the neighbour has another AS number",
    condition="the AS number that is configured for a neighbour is the neighbour's own",
    consequence="the session stays down (bad peer AS): this link carries no routes",
    remedy="correct the number at one end",
    source="RFC 4271 section 6.2 (OPEN error, bad peer AS)",
    leads_to="D2 V11 P22",
)
def P2(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Where both numbers are in the files. One finding at a switch of which all neighbours expect another number."""
    yield from _not_external(facts)
    expected: dict[str, list[tuple[Device, Session]]] = {}
    showing = {device.name for device in facts.devices if any(it.local_as for it in device.sessions)}
    for device, session, peer in sessions(facts):
        back = _back(facts, device, session, peer) if peer.name in showing else None
        if back is not None and back.local_as and session.asn:
            if session.asn != back.local_as.value:
                yield Found(
                    peer.name,
                    named(back.where),
                    f"{device.name} expects AS {session.asn}, and local-as shows it {back.local_as.value}",
                    (shows(peer, back.local_as.where, "", back.local_as.value), _expects(device, session, session.asn)),
                )
        elif session.asn and peer.asn:
            expected.setdefault(peer.name, []).append((device, session))
    for name, its in expected.items():
        peer = facts.network.devices[name]
        apart = [(device, session) for device, session in its if session.asn != peer.asn]
        own = shows(peer, peer.identity.asn_where, "", peer.asn, f"{peer.name} AS number")
        is_own = _is_own(facts, peer, apart) if len(apart) == len(its) else False
        if apart and is_own:
            numbers = ", ".join(dict.fromkeys(session.asn for _, session in apart))
            others = ", ".join(dict.fromkeys(device.name for device, _ in apart))
            yield Found(
                name,
                named(peer.identity.asn_where),
                f"its own AS is {peer.asn}, {others} expect {numbers}"
                if len({device.name for device, _ in apart}) > 1
                else f"its own AS is {peer.asn}, {others} expects {numbers}",
                (own, *(_expects(it, session, session.asn) for it, session in apart[:_SHOWN])),
                rests_on=[(device.name, session.where) for device, session in apart],
                fix=set_asn(peer, numbers) if peer.capabilities.own_asn_is_a_value and "," not in numbers else None,
            )
            continue
        for device, session in apart:
            asking = _asking(facts, device, peer.asn)
            group = group_to_change(device, session, "remote-as", asking)
            text = f"AS {session.asn} is expected, {peer.name} has {peer.asn}"
            yield Found(
                device.name,
                named(session.where),
                f"{text}; {UNDECIDED}" if is_own is None else text,
                (_expects(device, session, session.asn), own),
                rests_on=facts.stated_at.get(session.address, []),
                fix=None if is_own is None else set_remote_as(device, session, peer.asn, group),
            )


def _asking(facts: Facts, device: Device, asn: str) -> list[Session]:
    """Sessions of a switch whose neighbour has this AS number, and those whose neighbour's is not known."""
    known = {id(session): peer for near, session, peer in sessions(facts) if near is device}
    return [it for it in device.sessions if id(it) not in known or known[id(it)].asn in {asn, ""}]


def _not_external(facts: Facts) -> Iterator[Found]:
    """Sessions to any AS but the own one, whose neighbour has just that."""
    for device, session, peer in sessions(facts):
        back = other_end(facts, device, session, peer)
        mine = session.local_as.value or device.asn
        theirs = (back.local_as.value if back is not None else "") or peer.asn
        if session.external and mine and mine == theirs:
            text = f"another AS than the own {mine} is expected (external), and {peer.name} has it"
            own = shows(peer, peer.identity.asn_where, "", theirs, f"{peer.name} AS number")
            evidence = (_expects(device, session, "external"), own)
            rests = [(it.name, it.identity.asn_where) for it in (device, peer)]
            yield Found(device.name, named(session.where), text, evidence, rests_on=rests)


_SHOWN: Final = 4


def _back(facts: Facts, device: Device, session: Session, peer: Device) -> Session | None:
    """The other end of a session: of several, the one to its source, or at the other end of its cable."""
    if session.interface:
        return other_end(facts, device, session, peer)
    mine = [it for it in peer.sessions if it.vrf == session.vrf and _owner(facts, it, peer) is device]
    near = [it for it in mine if it.address == near_address(facts, device, session)]
    return (near or mine)[0] if len(near or mine) == 1 else None


def near_address(facts: Facts, device: Device, session: Session) -> str:
    """The own address of a session: as stated, else that of the subnet of the neighbour."""
    if session.local_address or not session.address:
        return session.local_address
    return interfaces_of(facts, device).facing(session.address)[1]


def _is_own(facts: Facts, peer: Device, apart: list[tuple[Device, Session]]) -> bool | None:
    """Whether the switch's own AS number is the wrong one, where all its neighbours expect another; None: who knows.

    The baseline says which side has changed. Without one, two neighbours that expect one number are right.
    """
    mine = changed(facts, peer, lambda it: it.asn)
    theirs = [changed(facts, device, partial(_number_at, session)) for device, session in apart]
    if mine is not None and mine != any(theirs):
        return mine
    if mine is None or not any(theirs):
        names = Counter(number for number, _ in {(session.asn, device.name) for device, session in apart})
        if max(names.values(), default=0) > 1:
            return True
    return None


def _number_at(session: Session, device: Device) -> str:
    """The number that a switch expects of the neighbour of a session."""
    return next((it.asn for it in device.sessions if (it.neighbor, it.vrf) == (session.neighbor, session.vrf)), "")


def _alone(facts: Facts, device: Device, session: Session) -> bool:
    """Whether one interface is in the neighbour's subnet: of several, which one the session is sent from is open."""
    return len(interfaces_of(facts, device).beside(session.address)) == 1


@check(
    "P3",
    E,
    "a BGP session is configured at one end only",
    condition="a switch that is configured as a neighbour has the session, too",
    consequence="the session stays down: its link carries no routes, the others carry more than planned",
    remedy="add the neighbour at the other end",
    source="RFC 4271 section 8.2.1 (unknown peers are refused)",
    leads_to="V11 P22",
)
def P3(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """By pairs of switches, and by address where both ends have one; a warning where a peer's file has no session."""
    yield from _open_ports(facts)
    found = [row for row in sessions(facts) if not _at_port(row[0], row[1])]
    towards = {(device.name, session.address) for device, session, _ in found}
    back: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    for device, session, peer in found:
        ends = near_address(facts, device, session), session.address
        back.setdefault((device.name, peer.name, session.vrf), []).append(ends)
    pairs = {(device.name, peer.name, session.vrf) for device, session, peer in sessions(facts)}
    for device, session, peer in found:
        if peer.identity.listens:
            continue
        one_way = (peer.name, device.name, session.vrf) not in pairs
        by_address = (
            session.local_address
            and any(other.local_address or _owner(facts, other, peer) is device for other in peer.sessions)
            and (peer.name, session.local_address) not in towards
        )
        expected = {
            far
            for near, far in back.get((peer.name, device.name, session.vrf), ())
            if near in {session.address, ""} and far
        }
        near = (
            ""
            if session.local_address or session.source or not _alone(facts, device, session)
            else near_address(facts, device, session)
        )
        direct = bool(near) and (peer.name, near) not in towards and not one_way
        by_address = (
            by_address or direct or bool(session.source and expected and session.local_address not in expected | {""})
        )
        facing = interfaces_of(facts, device).facing(session.address)[0] if by_address and session.source else ""
        wanted = near_address(facts, device, replace(session, local_address=""))
        if not (one_way or by_address):
            continue
        shut = any(not it.up and it.vrf == session.vrf and _owner(facts, it, peer) is device for it in peer.sessions)
        if not shut:
            yield Found(
                device.name,
                named(session.where),
                f"{peer.name} has no session back to "
                f"{device.name}" + (f" at {session.local_address or near}" if session.local_address or direct else ""),
                (_evidence(device, session, "name", session.peer or session.address),),
                E if peer.sessions else W,
                fix=send_from(device, session, facing, wanted)
                if facing and not (device.capabilities.tables and session.local_address == wanted)
                else _added(device, session, peer, wanted)
                if one_way or direct
                else None,
                rests_on=[
                    (peer.name, it.where)
                    for it in peer.sessions
                    if facts.owners_in(it.vrf).get(it.address) in (None, peer, device)
                ]
                + [(peer.name, ("router bgp",))] * (not peer.sessions)
                + [
                    (line.device.name, _where(line))
                    for wire in facts.wires
                    if {wire.a.device.name, wire.b.device.name} == {device.name, peer.name}
                    for line in (wire.a, wire.b)
                ]
                + facts.stated_at.get(session.local_address or near, []),  # another switch has the address as well
            )


def _added(device: Device, session: Session, peer: Device, near: str) -> Fix | None:
    """The neighbour that a session lacks at its other end. Its lines are those of the neighbours beside it, which the
    search has (fix/neighbors.py).
    """
    near = session.local_address or near
    if not near or session.vrf or not device.asn or not any(it.up for it in peer.sessions):
        return None
    return add_neighbor(peer, near, device.asn, session.address, device.name)


def _at_port(device: Device, session: Session) -> bool:
    """Whether a session is unnumbered; SONiC also takes a name that is neither an address nor a port."""
    return any(session.interface in (port.name, port.lag) for port in device.ports.values() if session.interface)


def _open_ports(facts: Facts) -> Iterator[Found]:
    """Unnumbered sessions whose port leads to one without a session."""
    for device, session, peer in sessions(facts):
        there = facts.across(device, session.interface)[1] if session.interface else ""
        if not there or peer.identity.listens or any(it.interface == there for it in peer.sessions):
            continue
        yield Found(
            device.name,
            named(session.where),
            f"{peer.name} has no session at {there} back to {device.name} ({session.interface})",
            (_evidence(device, session, "", session.interface),),
            E if peer.sessions else W,
            rests_on=[(peer.name, it.where) for it in peer.sessions if _owner(facts, it, peer) in (None, device)],
        )


_OF_ALL: Final = frozenset(("shutdown", "bgp shutdown", "enable", "state"))
"""Last words of the places that shut every session of a switch."""


@check(
    "P6",
    E,
    "a BGP session is shut at one end",
    condition="a neighbour whose other end is up is up",
    consequence="the session stays down: its link carries no routes, the others carry more than planned",
    remedy="remove the shutdown, or shut the other end too",
    source="RFC 4271 section 8.1.2 (administrative stop)",
    leads_to="V8 D2 V11 P22",
)
def P6(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """At the end that is shut."""
    up = {(device.name, peer.name, session.vrf) for device, session, peer in sessions(facts)}
    ports = {(device.name, session.interface) for device, session, _ in sessions(facts) if session.interface}
    for device in facts.devices:
        for session in device.sessions:
            peer = _owner(facts, session, device)
            if session.up or peer is None or (peer.name, device.name, session.vrf) not in up:
                continue
            there = facts.across(device, session.interface)[1] if session.interface else ""
            if not there or (peer.name, there) in ports:
                at = session.at("shutdown")
                yield Found(
                    device.name,
                    named(session.where),
                    f"the session to {peer.name} ({session.neighbor}) is shut, and {peer.name} tries it",
                    (shows(device, at, "", session.neighbor),),
                    fix=None if session.where[-1] in _OF_ALL else start_session(device, session),
                )


@check(
    "P15",
    E,
    "a route reflector does not pass on what it should",
    condition="an internal neighbour that is no reflector itself is a client of every reflector it has a session to",
    consequence="two neighbours that are not clients exchange no routes through this switch: hosts are lost as soon as "
    "no other reflector joins them",
    remedy="make the neighbour a client: route-reflector-client in the address family",
    source="RFC 4456 section 6 (from a non-client to clients only)",
    leads_to="V11",
)
def P15(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """A warning while only one neighbour of the reflector is no client: it exchanges routes with all that are."""
    mine: dict[str, list[tuple[Device, Session, Device]]] = {}
    for device, session, peer in sessions(facts):
        if device.asn and device.asn == peer.asn and not session.vrf:
            mine.setdefault(device.name, []).append((device, session, peer))
    reflectors = {name for name, its in mine.items() if any(session.reflects for _, session, _ in its)}
    clients: dict[str, set[str]] = {}
    for name, its in mine.items():
        for _, session, peer in its:
            if session.reflects:
                clients.setdefault(peer.name, set()).add(name)
    for name, its in mine.items():
        left = [row for row in its if not row[1].reflects and row[2].name not in reflectors]
        elsewhere = {peer.name for _, _, peer in left if clients.get(peer.name, set()) - {name}}
        if name not in reflectors and (name in clients or len(elsewhere) < 2):
            continue
        severity = E if len({peer.name for _, _, peer in left}) > 1 else W
        for device, session, peer in left:
            others = sorted(clients.get(peer.name, set()) - {name})
            text = f"{peer.name} is no client here" + (f", and is one of {', '.join(others)}" if others else "")
            yield Found(name, named(session.where), text, (_evidence(device, session, "", session.neighbor),), severity)


@check(
    "P4",
    W,
    "the peer link of an MC-LAG is not lossless",
    condition="the members of the peer link have PFC on the priorities of the switch's other ports",
    consequence="when a host's link fails its RoCE takes the peer link, and is dropped there",
    remedy="give the peer link the same maps, PFC and headroom",
    source="SONiC HLD MCLAG (traffic over the peer link after a failure)",
)
def P4(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Against what most lossless ports of the switch have."""
    for device in facts.devices:
        members = [
            port
            for port in device.ports.values()
            if device.peer_link and device.peer_link in {port.name, port.lag or ""} and port.admin_up
        ]
        wanted = {
            priority
            for line in facts.lossless_of(device)
            for priority in line.port.lossless
            if line.port not in members
        }
        for port in members:
            missing = wanted - port.lossless
            if missing:
                yield Found(
                    device.name,
                    port.name,
                    f"peer link {device.peer_link} has no PFC on {listed(missing)}",
                    (
                        shows(device, device.peer_where, "peer_link", device.peer_link),
                        shows(device, port.qos_where or port.where, "pfc_enable", listed(port.lossless)),
                    ),
                )


@check(
    "P5",
    E,
    "what a standby ToR sends back up shares the class of what comes down",
    condition="a dual-ToR pair with lossless classes has tunnel_qos_remap enabled",
    consequence="packets for a server go down to the standby ToR, up again and down to the active one: pauses close "
    "a cycle over both ToRs and a spine, and stay",
    remedy="enable tunnel_qos_remap, with separate lossless classes",
    source="SONiC HLD tunnel_dscp_remapping; Hu et al., HotNets 2016",
)
def P5(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Once per switch with mux cables whose uplinks are lossless; a warning where the file is silent about it."""
    for device in facts.devices:
        uplinks = [
            line
            for line in facts.lossless_of(device)
            if not facts.faces_host(line) and line.port.name not in device.mux_ports
        ]
        if device.mux_ports and uplinks and not device.bounce_remap:
            yield Found(
                device.name,
                "MUX_CABLE",
                f"{len(device.mux_ports)} servers with two ToRs, and no tunnel_qos_remap",
                (shows(device, device.mux_where, "", ""),),
                W if device.bounce_remap is None else E,
            )


CHECKS: Final[tuple[Check, ...]] = (P1, P2, P3, P4, P5, P6, P15)

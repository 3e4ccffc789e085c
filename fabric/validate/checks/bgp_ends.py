"""P: what a BGP session needs at each end: a source, enough hops, an AS number, an address that exists, a family."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final

from fabric.configs.identity import NOTHING
from fabric.configs.interface_address import interface_of
from fabric.configs.model import Device, Session, Where
from fabric.configs.text.spelling import is_address
from fabric.validate.checks.base import Check, E, Found, Root, W, check, named, shows
from fabric.validate.checks.identity import is_loopback
from fabric.validate.checks.peers import near_address, other_end, sessions
from fabric.validate.disagreement import UNDECIDED
from fabric.validate.facts import Facts
from fabric.validate.interfaces import interfaces_of
from fabric.validate.peer_groups import group_to_change
from fabric.validate.remedies import Fix
from fabric.validate.routing_fixes import activate, open_session, send_from, set_asn, set_remote_as, set_session
from fabric.validate.sessions import needs_ttl

_ADJACENT_HOPS, _DISTANT_HOPS = 2, 4


def _owner(facts: Facts, device: Device, address: str) -> str:
    """The interface that has an address; '' where there is none."""
    return interfaces_of(facts, device).own.get(address, "")


def _between_loopbacks(facts: Facts) -> Iterator[tuple[Device, Session, Device]]:
    """Sessions to the loopback of another switch."""
    for device, session, peer in sessions(facts):
        if is_loopback(_owner(facts, peer, session.address)):
            yield device, session, peer


def _expected(facts: Facts, device: Device, peer: Device) -> tuple[str, str]:
    """(interface, address) of the loopback of a switch that its peer has as neighbour; ('', '') where it has none."""
    for session in peer.sessions:
        name = _owner(facts, device, session.address)
        if is_loopback(name):
            return name, session.address
    return "", ""


@check(
    "P7",
    E,
    "a session to a loopback has no source",
    condition="a session to the loopback of another switch names the own loopback as its source (update-source), and "
    "that has an address",
    consequence="the session is sent from the port's address, which the other switch does not know as a neighbour and "
    "refuses",
    remedy="add update-source with the loopback that the other switch has as neighbour",
    source="RFC 4271 section 8.2.1 (a connection is matched to a peer by its address); vendors' BGP guides",
    leads_to="P3 V8 V11",
)
def P7(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Where the other end expects a loopback; a file that states none of its sessions' sources leaves it open."""
    every = [(*row, *_expected(facts, row[0], row[2])) for row in _between_loopbacks(facts)]
    for device, session, peer, interface, address in every:
        if session.local_address:
            continue
        asking = [it for near, it, _, own, _ in every if near is device and own == interface and not it.local_address]
        group = group_to_change(device, session, "update-source", asking, missing=not session.source)
        if session.source and device.addresses:
            yield Found(
                device.name,
                named(session.where),
                f"the session to {session.address} is sent from {session.source}, which has no address",
                (shows(device, session.where, "", session.source),),
                fix=send_from(device, session, interface, address, group) if interface else None,
            )
            continue
        if session.source or not interface:
            continue
        yield Found(
            device.name,
            named(session.where),
            f"the session to {session.address} has no update-source, and {peer.name} expects {address}",
            (shows(device, session.where, "", session.address),),
            fix=send_from(device, session, interface, address, group),
        )


@check(
    "P8",
    E,
    "an external session to a loopback is limited to one hop",
    condition="an external session to the loopback of another switch allows more than one hop (ebgp-multihop)",
    consequence="the switch opens external sessions to connected addresses only: this one stays down",
    remedy="add ebgp-multihop 2, or more where the other switch is not a direct neighbour",
    source="RFC 4271 section 5.1.3 and 9.1.2.1 (external peers share a subnet); vendors' BGP guides: ebgp-multihop",
    leads_to="V8 V11",
)
def P8(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Both AS numbers are known, and they differ."""
    every = list(_between_loopbacks(facts))
    for device, session, peer in every:
        if session.hops != 1 or not session.asn or session.asn == device.asn:
            continue
        asking = [it for near, it, _ in every if near is device and it.hops == 1]
        group = group_to_change(device, session, "ebgp-multihop", asking, missing=True)
        adjacent = any(a[0] == device.name and b[0] == peer.name for a, b in facts.peers.items())
        hops = _ADJACENT_HOPS if adjacent else _DISTANT_HOPS
        lines = {
            "eos": f"ebgp-multihop {hops}",
            "nxos": f"ebgp-multihop {hops}",
            "nvue": f"multihop-ttl {hops}",
            "sonic": f"ebgp_multihop true ebgp_multihop_ttl {hops}",
        }
        yield Found(
            device.name,
            named(session.where),
            f"the session to {session.address} has no ebgp-multihop, and that address of {peer.name} is a loopback",
            (shows(device, session.where, "", session.address),),
            fix=set_session(device, session, "ebgp-multihop", str(hops), lines, group),
        )


@check(
    "P9",
    E,
    "a neighbour's address belongs to no switch",
    condition="where a switch waits for a session of a neighbour that has none to it, that neighbour has no session to "
    "an address that no switch has, or that is on the link of another switch",
    consequence="the session stays down at both ends: its link carries no routes",
    remedy="correct the neighbour's address",
    source="RFC 4271 section 8.2.1",
    leads_to="P3 V8 V11 P22",
)
def P9(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """An orphan at one end, and a session without its counterpart at the other, to one AS number."""
    for device, session, peer, address in orphans(facts):
        vrf = f" in VRF {session.vrf}" if session.vrf else ""
        owner = facts.owners_in(session.vrf).get(session.address)
        begin = f"no switch has the address {session.address}{vrf}"
        if owner is not None:
            begin = f"{session.address} is {owner.name}'s address on the link of another switch"
        yield Found(
            device.name,
            named(session.where),
            f"{begin}; {peer.name}, which waits for this one, has {address}",
            (shows(device, session.where, "", session.address),),
            rests_on=[
                *((device.name, where) for where in _places(facts, device, near_address(facts, device, session))),
                *((peer.name, where) for where in _places(facts, peer, address)),
            ],
            fix=set_session(device, session, "address", address, {}),
        )
    yield from _loose_ports(facts)


def _loose_ports(facts: Facts) -> Iterator[Found]:
    """Unnumbered sessions at ports without a cable, of switches that another one waits for at another port."""
    waiting: dict[str, list[tuple[Device, Session, str]]] = {}
    for device, session, peer in sessions(facts):
        there = facts.across(device, session.interface)[1] if session.interface else ""
        if there and not peer.identity.listens and not any(it.interface == there for it in peer.sessions):
            waiting.setdefault(peer.name, []).append((device, session, there))
    for device in facts.devices:
        loose = [it for it in device.sessions if it.up and _without_cable(facts, device, it.interface)]
        for session, (peer, its, near) in zip(loose, waiting.get(device.name, ()), strict=False):
            yield Found(
                device.name,
                named(session.where),
                f"no cable leads from {session.interface} to a switch; {peer.name}, which waits for this one, is "
                f"at {near}",
                (shows(device, session.where, "", session.interface), shows(peer, its.where, "", its.neighbor)),
                rests_on=[(peer.name, its.where)],
            )


def _without_cable(facts: Facts, device: Device, name: str) -> bool:
    """Whether no cable leads from this port; bundles and sub-interfaces have the cables of their ports."""
    lags = {port.lag for port in device.ports.values() if port.lag}
    return bool(name) and "." not in name and name not in lags and not facts.across(device, name)[0]


def _places(facts: Facts, device: Device, address: str) -> list[Where]:
    """Where a switch states an address, and where it states those of the same port."""
    stated = device.identity.address_where.items()
    name = _owner(facts, device, address)
    return [where for (interface, _), where in stated if name and interface == name]


def orphans(facts: Facts) -> Iterator[tuple[Device, Session, Device, str]]:
    """Sessions to addresses of no switch, with the switch that was meant and its address."""
    waiting: dict[str, list[tuple[Device, str]]] = {}
    for device, session, peer in sessions(facts):
        near = near_address(facts, device, session)
        own = (it.up and it.address == near and _owner(facts, device, near) for it in peer.sessions)
        if not session.interface and not any(own):
            waiting.setdefault(peer.name, []).append((device, near))
    for device in facts.devices:
        for session in device.sessions if device.name in waiting else ():
            if not session.up or session.interface:
                continue
            owner = facts.owners_in(session.vrf).get(session.address)
            if not session.address or (owner is not None and not _elsewhere(facts, device, session, owner)):
                continue
            for peer, address in waiting[device.name]:
                if owner not in (None, peer):
                    continue
                if session.peer in facts.network.devices and session.peer != peer.name:
                    continue
                if (
                    address not in {"", session.address}
                    and peer.asn == session.asn
                    and not _facing(facts, device, session)
                ):
                    yield device, session, peer, address
                    break


def _elsewhere(facts: Facts, device: Device, session: Session, owner: Device) -> bool:
    """Whether the address is a port's of its owner on a link of another switch, which one hop does not lead to."""
    near = bool(interfaces_of(facts, device).beside(session.address))
    far = _owner(facts, owner, session.address)
    single = session.hops in {None, 1} and not session.local_address and session.asn != device.asn
    return bool(device.addresses) and not near and single and not is_loopback(far) and not far.startswith("Vlan")


def _facing(facts: Facts, device: Device, session: Session) -> bool:
    """Whether the address is in a subnet of a port towards something that is no switch of the files: it is that's."""
    for name, texts in device.addresses.items() if is_address(session.address) else ():
        inside = any(
            interface_of(text).version == ip_address(session.address).version
            and ip_address(session.address) in interface_of(text).network
            for text in texts
        )
        end = facts.peers.get((device.name, name))
        if inside and not (end is not None and end[0] in facts.network.devices):
            return True
    return False


@check(
    "P10",
    E,
    "IPv4 routes are activated at one end only",
    condition="a session between ports that activates IPv4 unicast at one end does so at the other",
    consequence="the session carries no IPv4 routes: the loopbacks behind it are reached over other links, or not",
    remedy="activate the IPv4 address family at both ends",
    source="RFC 4760 section 8 (both ends announce the family)",
    leads_to="V11 P22",
)
def P10(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Sessions whose two ends are in the files; a session between loopbacks may carry EVPN alone: a warning."""
    for device, session, peer in sessions(facts):
        if session.families is None or "ipv4" in session.families or ":" in session.address:
            continue
        back = other_end(facts, device, session, peer)
        if back is None or back.families is None or "ipv4" not in back.families:
            continue
        mine = [it for near, it, _ in sessions(facts) if near is device]
        lacking = [it for it in mine if it.families is not None and "ipv4" not in it.families]
        group = group_to_change(device, session, "activate", lacking, missing=True)
        yield Found(
            device.name,
            named(session.where),
            f"IPv4 unicast is not activated towards {session.neighbor}, {peer.name} has it",
            (shows(device, session.where, "", session.neighbor), shows(peer, back.where, "", back.neighbor)),
            W if is_loopback(_owner(facts, peer, session.address)) else E,
            rests_on=[(device.name, session.group_where)] * bool(session.group_where),
            fix=activate(device, session, "ipv4", group),
        )


@check(
    "P11",
    E,
    "a neighbour has no AS number",
    condition="every neighbour, or its group, states an AS number, or internal, or external",
    consequence="the switch opens no session to it",
    remedy="add remote-as",
    source="RFC 4271 section 6.2; vendors' BGP guides: remote-as",
    leads_to="P2 P3 V8 V11 P22",
)
def P11(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """The number is that of the neighbour, where it is in the files."""
    for device, session, peer in sessions(facts):
        if session.states_asn or not device.asn:
            continue
        alike = [it for near, it, far in sessions(facts) if near is device and far.asn == peer.asn]
        asking = [it for it in alike if not it.states_asn]
        group = group_to_change(device, session, "remote-as", asking, missing=True)
        rests: list[Root] = [(peer.name, it.where) for it in peer.sessions if _owner(facts, device, it.address)]
        yield Found(
            device.name,
            named(session.where),
            f"the neighbour {session.neighbor} ({peer.name}) has no AS number",
            (shows(device, session.where, "", session.neighbor),),
            rests_on=rests,
            within=[(device.name, session.where)],
            fix=set_remote_as(device, session, peer.asn, group) if peer.asn else None,
        )


@check(
    "P12",
    E,
    "a switch with neighbours has no AS number",
    condition="a switch with BGP neighbours states its own AS number",
    consequence="BGP does not start: none of its sessions comes up",
    remedy="state the AS number that the neighbours expect",
    source="RFC 4271 section 4.2 (My Autonomous System); sonic-buildimage bgpcfgd (no bgp_asn, no BGP)",
    leads_to="P2 P3 V3 V5 V8 V11 P22",
)
def P12(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Where a neighbour that was given expects one."""
    expected: dict[str, list[tuple[Device, Session]]] = {}
    for device, session, peer in sessions(facts):
        if session.asn or session.external:
            expected.setdefault(peer.name, []).append((device, session))
    for name, its in expected.items():
        owner = facts.network.devices[name]
        withdrawn = owner.identity.bgp_withdrawn if not owner.sessions else NOTHING
        lost = _lost_bgp(owner) or _awaited(facts, owner, {device.name for device, _ in its})
        if not withdrawn and (owner.asn not in _NO_ASN or (not owner.sessions and not lost)):
            continue
        where = owner.identity.asn_where if owner.sessions else ("router bgp",)
        if withdrawn:
            yield Found(
                owner.name,
                named(withdrawn.where),
                f"the line '{withdrawn.value}' takes BGP and its AS number back, whose block stands before it",
                (shows(owner, withdrawn.where, "", ""),),
                root=(owner.name, ("router bgp",)),
                rests_on=[(device.name, session.where) for device, session in its],
                fix=Fix(owner.name, withdrawn.value, "", what=f"remove the line '{withdrawn.value}'"),
            )
            continue
        shown = f" ('{owner.asn}')" if owner.asn else ""
        who, number = next(((device.name, it.asn) for device, it in its if it.asn), (its[0][0].name, ""))
        whole = bool(owner.sessions) or owner.capabilities.own_asn_is_a_value
        begin = (
            f"no AS number is stated{shown}" if whole else "BGP is not in the file, with its neighbours and networks"
        )
        yield Found(
            owner.name,
            named(where),
            f"{begin}, and {who} expects AS {number}" if number else f"{begin}, and {who} expects one",
            (shows(owner, where, "", owner.asn or "missing"),),
            rests_on=[(device.name, session.where) for device, session in its],
            fix=set_asn(owner, number) if number and whole else None,  # a number alone brings no neighbour back
        )


def _lost_bgp(device: Device) -> bool:
    """Whether a file without any session is that of a switch that had BGP: the file is whole, and has a tunnel.

    BGP of SONiC may be in FRR's file, which is another one; so may that of NVUE, where such a file was given.
    """
    own = device.identity
    elsewhere = device.capabilities.tables or bool(own.routing_elsewhere)
    return not elsewhere and bool(device.addresses) and bool(own.vtep)


def _awaited(facts: Facts, device: Device, waiting: set[str]) -> bool:
    """Whether all switches at the links of one without a session wait for it, and nothing else routes there."""
    own = device.identity
    far = {end[0] for name in device.ports if (end := facts.peers.get((device.name, name))) is not None}
    switches = far & facts.network.devices.keys()
    elsewhere = device.capabilities.tables or bool(own.routing_elsewhere) or bool(own.igp) or bool(device.routes)
    return not elsewhere and bool(device.addresses) and len(switches) > 1 and switches <= waiting


_NO_ASN: Final = frozenset(("", "None", "none", "null", "0"))


@check(
    "P13",
    E,
    "the ends of a session are not authenticated alike",
    condition="both ends of a session have a password, or neither; passwords in clear text are equal",
    consequence="TCP segments without the right signature are dropped: the session stays down",
    remedy="configure the same password at both ends",
    source="RFC 2385 section 2; RFC 5925",
    leads_to="V8 V11 P22",
)
def P13(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Encrypted passwords are not compared: equal ones may differ in their text. No finding shows a password."""
    for device, session, peer in sessions(facts):
        back = other_end(facts, device, session, peer)
        if back is not None and session.password and not back.password:
            yield Found(
                peer.name,
                named(back.where),
                f"the session to {back.neighbor} has no password, and {device.name} has one",
                (shows(peer, back.where, "", back.neighbor), shows(device, session.where, "", session.neighbor)),
            )
        elif back is not None and device.name < peer.name and _differ(session.secret, back.secret):
            text = f"the password of the session to {session.neighbor} is not that of {peer.name}; {UNDECIDED}"
            ends = (shows(device, session.where, "", session.neighbor), shows(peer, back.where, "", back.neighbor))
            yield Found(device.name, named(session.where), text, ends)


def _differ(one: str, other: str) -> bool:
    """Whether two passwords are in clear text and not equal."""
    return one != "" != other and one != other


@check(
    "P14",
    E,
    "a neighbour is on an interface of another VRF",
    condition="the interface in whose subnet a neighbour's address is, or that the session is sent from, belongs to "
    "the VRF of the session",
    consequence="the session finds no interface to its neighbour and stays down",
    remedy="take the interface out of the VRF, or move the neighbour into it",
    source="RFC 4364 section 3.2 (an interface belongs to one VRF); vendors' VRF guides",
    leads_to="P3 P9 V8 V11 P22",
)
def P14(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Ports to other switches, where no interface of the session's own VRF is in that subnet."""
    for device in facts.devices:
        for session in device.sessions:
            if not session.up or session.interface or not session.address:
                continue
            yield from _foreign_source(device, session)
            fitting = [
                (name, text, device.identity.interface_vrfs.get(name, ""))
                for name, _, text in interfaces_of(facts, device).beside(session.address)
            ]
            if not fitting or any(vrf == session.vrf for _, _, vrf in fitting):
                continue
            name, text, vrf = fitting[0]
            end = facts.peers.get((device.name, name))
            if end is None or end[0] not in facts.network.devices:
                continue  # the other VRF may have an interface in this subnet, which a part of a file leaves out
            where = device.identity.address_where[name, text]
            of_session = f"VRF {session.vrf}" if session.vrf else "the default VRF"
            yield Found(
                device.name,
                named(session.where),
                f"{session.address} is a neighbour of {of_session}, and {name} in its subnet is in "
                f"{f'VRF {vrf}' if vrf else 'the default VRF'}",
                (shows(device, where, "", text), shows(device, session.where, "", session.address)),
                rests_on=[(device.name, device.ports[name].where)] if name in device.ports else (),
            )


def _foreign_source(device: Device, session: Session) -> Iterator[Found]:
    """A session that is sent from an interface of another VRF."""
    vrf = device.identity.interface_vrfs.get(session.source, "")
    if session.source not in device.addresses or vrf == session.vrf:
        return
    text = next(iter(device.addresses[session.source]))
    of_session = f"VRF {session.vrf}" if session.vrf else "the default VRF"
    yield Found(
        device.name,
        named(session.where),
        f"{session.address} is a neighbour of {of_session}, and its update-source {session.source} is in "
        f"{f'VRF {vrf}' if vrf else 'the default VRF'}",
        (
            shows(device, device.identity.address_where[session.source, text], "", text),
            shows(device, session.where, "", session.address),
        ),
        root=(device.name, session.where),
    )


@check(
    "P16",
    E,
    "TTL security at one end only",
    condition="both ends of an external session have TTL security, or neither",
    consequence="one end drops the other's packets, whose TTL is too small: the session stays down",
    remedy="configure TTL security at both ends, or at neither",
    source="RFC 5082 section 3 (both ends send with TTL 255)",
    leads_to="V8 V11 P22",
)
def P16(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """At the end that is unlike most sessions of the fabric."""
    found = list(sessions(facts))
    usual = 2 * sum(bool(session.ttl_security) for _, session, _ in found) > len(found)
    for device, session, peer in found:
        near = near_address(facts, device, session) or facts.across(device, session.interface)[1]
        back = other_end(facts, device, session, peer)
        if back is None or not session.ttl_security or back.ttl_security or not needs_ttl(back, peer):
            continue
        hops = session.ttl_security.value
        lines = {
            "eos": f"ttl maximum-hops {hops}",
            "nxos": f"ttl-security hops {hops}",
            "frr": f"ttl-security hops {hops}",
            "nvue": f"ttl-security enable on hops {hops}",
            "sonic": f"ttl_security_hops {hops}",
        }
        evidence = (shows(device, session.ttl_security.where, "", hops), shows(peer, back.where, "", back.neighbor))
        at = (peer, back) if usual else (device, session)
        yield Found(
            at[0].name,
            named(at[1].where),
            f"{device.name} has TTL security towards {session.neighbor}, and {peer.name} has none towards {near}",
            evidence[::-1] if usual else evidence,
            fix=set_session(peer, back, "TTL security", hops, lines) if usual else None,
        )


@check(
    "P24",
    W,
    "BFD at one end only",
    condition="BFD watches a session from both ends, or from neither",
    consequence="BFD does not come up: a failure of the path is noticed only when the hold time is over",
    remedy="turn BFD on at both ends",
    source="RFC 5880 section 6.1 and 6.8.16 (a system that does not run BFD answers no packet); RFC 5882 section 10",
)
def P24(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """At the end without it."""
    for device, session, peer in sessions(facts):
        back = other_end(facts, device, session, peer)
        if back is not None and session.bfd and not back.bfd:
            group = group_to_change(peer, back, "bfd", _without_bfd(facts, peer), missing=True)
            lines = {"eos": "bfd", "nxos": "bfd", "nvue": "bfd enable on", "sonic": "bfd true"}
            yield Found(
                peer.name,
                named(back.where),
                f"the session to {back.neighbor} has no BFD, and {device.name} has it",
                (shows(peer, back.where, "", back.neighbor), shows(device, session.where, "bfd", "on")),
                fix=set_session(peer, back, "BFD", "on", lines, group),
            )


def _without_bfd(facts: Facts, device: Device) -> list[Session]:
    """Sessions of a switch without BFD, to which the other end has it."""
    ends = (other_end(facts, far, it, device) for far, it, near in sessions(facts) if near is device and it.bfd)
    return [back for back in ends if back is not None and not back.bfd]


@check(
    "P25",
    E,
    "both ends of a BGP session wait for the other one",
    condition="at least one end of a session opens it",
    consequence="neither end sends the first packet: the session stays down, its link carries no routes",
    remedy="let one of the two ends open the session",
    source="RFC 4271 section 8.1.1 (PassiveTcpEstablishment: a peer that waits does not open the connection)",
    leads_to="V8 V11 P22",
)
def P25(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Once for a session, at the first of its ends."""
    told: set[tuple[str, str]] = set()
    found = [(device, session, peer) for device, session, peer in sessions(facts) if session.passive]
    for device, session, peer in found:
        back = other_end(facts, device, session, peer)
        if back is None or not back.passive or (device.name, session.neighbor) in told:
            continue
        told.add((peer.name, back.neighbor))
        yield Found(
            device.name,
            named(session.where),
            f"{device.name} waits for {session.neighbor}, and {peer.name} waits for {back.neighbor}",
            (shows(device, session.where, "", session.neighbor), shows(peer, back.where, "", back.neighbor)),
            fix=open_session(device, session),
        )


CHECKS: Final[tuple[Check, ...]] = (P7, P8, P9, P10, P11, P12, P13, P14, P16, P24, P25)

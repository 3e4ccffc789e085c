"""V: VXLAN and EVPN: VNIs, route targets, VTEP sources, sessions that carry EVPN, anycast gateways."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from fabric.configs.identity import Vni
from fabric.configs.model import Device, Session, Where
from fabric.validate.checks.base import Check, E, Found, W, check, named
from fabric.validate.checks.gateways import gateways_of
from fabric.validate.checks.identity import address_roots, is_loopback, paired, stated, vtep_address, vtep_at_loopback
from fabric.validate.checks.peers import other_end, same_policies, sessions
from fabric.validate.disagreement import UNDECIDED, changed, contradicts_itself, is_unusual, same_vni, told_apart
from fabric.validate.facts import Facts
from fabric.validate.interfaces import interfaces_of
from fabric.validate.peer_groups import group_to_change
from fabric.validate.routing_fixes import (
    activate,
    keep_next_hop,
    send_targets,
    set_distinguisher,
    set_vtep_source,
    start_tunnel,
)

Held = tuple[Device, Vni]
_DIGITS: Final = re.compile(r"\d+")
_TYPE_VXLAN: Final = 1 << 28
"""In the second number of an automatic route target (RFC 8365 section 5.1.2.1)."""


@check(
    "V2",
    E,
    "a VLAN has another VNI than on the other switches",
    condition="a VLAN that several VTEPs extend has one VNI on all of them, in the tunnel of each",
    consequence="its hosts on this switch are in a separate segment: they reach no host elsewhere",
    remedy="use the VNI of the other switches",
    source="RFC 8365 section 5.1.2 (VLAN-based service: VLANs may differ, the VNI may not)",
    leads_to="V11 R1",
)
def V2(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """The switch that stands alone with its number, and those that are meant as one network with the others."""
    by_vlan: dict[str, list[Held]] = {}
    for device in facts.devices:
        for vni in (*device.identity.vnis, *device.identity.routed_vnis):
            if vni.vlan or vni.vrf:
                by_vlan.setdefault(_network_of(vni), []).append((device, vni))
    for network, held in by_vlan.items():
        usual, undecided = _usual_number(facts, held)
        others = [(device, vni) for device, vni in held if vni.number != usual]
        if not others:
            continue
        with_usual = [row for row in held if row[1].number == usual]
        exports = {target for _, vni in with_usual for target in vni.exports}
        gateways = {it for device, _ in with_usual for it in gateways_of(device)}
        for device, vni in others:
            alone = all(it is device or other.number != vni.number for it, other in others)
            if alone or _meant_as_one(device, vni, exports, gateways):
                text = f"{network} has VNI {vni.number}, elsewhere {usual}" + (f"; {UNDECIDED}" if undecided else "")
                yield _apart(device, vni, text, with_usual)
    for device in facts.devices:
        for vni in (*device.identity.vnis, *device.identity.routed_vnis):
            if not vni.in_tunnel and device.identity.vtep:
                text = f"VNI {vni.number} of {_network_of(vni)} is not in the tunnel"
                yield _apart(device, vni, text, [(device, vni)])


def _meant_as_one(device: Device, vni: Vni, exports: set[str], gateways: set[tuple[str, str]]) -> bool:
    """Whether several switches with another number share targets or the gateway with those of the usual number.

    `exports`, `gateways`: of those. Without either, the VLAN may be another network in another part of the fabric
    (RFC 8365 section 5.1.2).
    """
    own = {it for it in gateways_of(device) if it[0] == vni.vlan}
    return bool(vni.imports & exports or (vni.vlan and own & gateways))


def _usual_number(facts: Facts, held: list[Held]) -> tuple[str, bool]:
    """The VNI that a network should have, and whether nothing but the order of the files says so."""
    count = Counter(vni.number for _, vni in held).most_common(2)
    if len(count) < 2 or count[0][1] > count[1][1]:
        return count[0][0], False
    numbers = {vni.number for _, vni in held}
    wrong = told_apart(
        held,
        (
            lambda row: bool(changed(facts, row[0], lambda it: _number_of(it, row[1]))),
            lambda row: any(it.rpartition(":")[2] in numbers - {row[1].number} for it in _made_of_it(row[1])),
            lambda row: _named_after_another(row[1], numbers),
            lambda row: _says_another(row[0], row[1], numbers),
            lambda row: not _made_of_vlan(row[1]),
        ),
    )
    right = next((vni.number for device, vni in held if (device, vni) not in wrong), count[0][0])
    return right, not wrong


def _named_after_another(vni: Vni, numbers: set[str]) -> bool:
    """Whether the name of a VNI's row has the number of another switch's, and not its own (map_10100_Vlan100)."""
    parts = set(_DIGITS.findall(vni.where[-1])) - {vni.vlan} if vni.where else set()
    return vni.number not in parts and bool(parts & numbers)


def _says_another(device: Device, vni: Vni, numbers: set[str]) -> bool:
    """Whether other blocks of a switch, its tunnel and EVPN, still have another switch's number, and no VLAN has it."""
    loose = {it.number for it in device.identity.vnis if not it.vlan and not it.vrf} | {*device.identity.loose_where}
    return bool(loose & (numbers - {vni.number}))


def _made_of_vlan(vni: Vni) -> bool:
    """Whether a VNI ends in the number of its VLAN, as numbers that are counted from 10,000 do."""
    return len(vni.vlan) > 1 and vni.number.endswith(vni.vlan)


def _number_of(device: Device, vni: Vni) -> str:
    its = same_vni(device.identity, vni)
    return "" if its is None else its.number


def _made_of_it(vni: Vni) -> set[str]:
    """Values that are usually made of the VNI."""
    return {*vni.imports, *vni.exports, vni.distinguisher}


def _network_of(vni: Vni) -> str:
    return f"VRF {vni.vrf}" if vni.vrf else f"VLAN {vni.vlan}"


def _apart(device: Device, vni: Vni, text: str, held: list[Held]) -> Found:
    others = [(it, other) for it, other in held if it is not device][:1]
    return Found(
        device.name,
        named(vni.where),
        text,
        tuple(
            stated(it, f"VNI {one.number}", one.where, f"{it.name} {_network_of(one)}")
            for it, one in ((device, vni), *others)
        ),
    )


@check(
    "V3",
    E,
    "route targets keep a segment's switches apart",
    condition="what one VTEP exports for a VNI, every other VTEP with that VNI imports",
    consequence="MAC and IP routes are dropped on import: hosts of the segment are not reached from there",
    remedy="export and import one target per VNI everywhere",
    source="RFC 8365 section 5.1.2.1; RFC 4364 section 4.3.1",
    leads_to="V11 V19",
)
def V3(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Pairs with targets that are written down; automatic ones agree by construction."""
    by_vni: dict[str, list[Held]] = {}
    for device in facts.devices:
        for vni in (*device.identity.vnis, *device.identity.routed_vnis):
            by_vni.setdefault(vni.number, []).append((device, vni))
    for number, held in by_vni.items():
        stated_anywhere = any(vni.imports or vni.exports for _, vni in held)
        for device, vni in held:
            if vni.in_bgp is False or (vni.instance is False and stated_anywhere):
                yield Found(
                    device.name,
                    named(vni.where),
                    f"VNI {number} has no EVPN instance, so its routes are neither sent nor taken",
                    (stated(device, f"{_network_of(vni)}, VNI {number}", vni.where),),
                    rests_on=[
                        (device.name, ("router bgp",)),
                        *((device.name, it.where) for it in device.identity.vnis if it.number == number),
                    ],
                )
        wrong, undecided = _apart_by_targets(facts, held)
        for device, vni in wrong:
            where = vni.targets_where or vni.where
            lost = [(it, other) for it, other in held if it is not device and not _reaches(other, vni)]
            names = ", ".join(sorted(it.name for it, _ in lost))
            text = f"VNI {number} {_targets(vni)}: no exchange with {names}"
            if undecided:
                text += f", which {_targets(lost[0][1])}; {UNDECIDED}"
            other = lost[0][1] if lost else vni
            yield Found(
                device.name,
                named(where),
                text,
                tuple(
                    stated(it, ", ".join(sorted(one.imports | one.exports)), line, f"{it.name} targets")
                    for it, one, line in (
                        (device, vni, _odd_line(vni, other)),
                        *((*it, it[1].targets_where) for it in lost[:1]),
                    )
                ),
                root=(device.name, vni.targets_where),
            )


def _odd_line(vni: Vni, other: Vni) -> Where:
    """The line of a target by which a VNI does not exchange routes with another one: of what it imports first."""
    way = "import" if not _passes(other, vni) else "export"
    return vni.line_of(way, other.exports if way == "import" else other.imports)


def _targets(vni: Vni) -> str:
    return (
        f"imports {_listed(vni.imports, nothing=vni.imports_nothing)}, "
        f"exports {_listed(vni.exports, nothing=vni.exports_nothing)}"
    )


def _listed(targets: frozenset[str], *, nothing: bool) -> str:
    return "nothing" if nothing else ", ".join(sorted(targets)) or "an automatic target"


def _reaches(one: Vni, other: Vni) -> bool:
    """Whether routes pass in both directions."""
    return all(_passes(exporter, importer) for exporter, importer in ((one, other), (other, one)))


def _passes(exporter: Vni, importer: Vni) -> bool:
    """Whether one switch takes what the other exports; automatic targets agree by construction.

    The second number of an automatic target is the VNI (FRR, NX-OS: AS:VNI), or has it in its low 24 bits below the
    type VXLAN (RFC 8365 section 5.1.2.1), so that a stated target with neither number meets none.
    """
    if exporter.exports_nothing or importer.imports_nothing:
        return False
    if exporter.exports and importer.imports:
        return bool(exporter.exports & importer.imports)
    automatic = {exporter.number, str(_TYPE_VXLAN | int(exporter.number))} if exporter.number.isdecimal() else set()
    stated_ = exporter.exports or importer.imports
    return not stated_ or not automatic or any(it.rpartition(":")[2] in {*automatic, "auto"} for it in stated_)


def _apart_by_targets(facts: Facts, held: list[Held]) -> tuple[list[Held], bool]:
    """The switches to correct, and whether nothing but the order of the files says so.

    Those that more of the others do not exchange routes with than others do; of equals those that told_apart names.
    Switches with equal targets are counted at once: a fabric has few kinds of them, and very many pairs of switches.
    """
    kinds = [(vni.number, _all_targets(vni)) for _, vni in held]
    kind = {key: vni for key, (_, vni) in zip(kinds, held, strict=True)}
    count = Counter(kinds)
    lost_of = {
        key: sum(count[it] for it, other in kind.items() if not _reaches(vni, other)) for key, vni in kind.items()
    }
    lost = [lost_of[key] for key in kinds]
    worst = max(lost, default=0)
    found = [row for row, count in zip(held, lost, strict=True) if count == worst > 0]
    if len(found) <= len(held) / 2 or not found:
        return found, False
    wrong = told_apart(
        found,
        (
            lambda row: bool(changed(facts, row[0], lambda it: _all_targets(same_vni(it.identity, row[1])))),
            lambda row: contradicts_itself(row[1]),
            lambda row: is_unusual(facts, *row),
        ),
    )
    return (wrong, False) if wrong else (found[len(found) // 2 :], True)


def _all_targets(vni: Vni | None) -> object:
    return None if vni is None else (vni.imports, vni.exports, vni.imports_nothing, vni.exports_nothing)


@check(
    "V4",
    E,
    "the VTEP's source has no address",
    condition="the VTEP has a source: an interface with an address, or an address of this switch",
    consequence="the tunnel stays down: no overlay traffic enters or leaves this switch",
    remedy="name the loopback that has the address",
    source="RFC 7348 section 4",
    leads_to="V7 V11",
)
def V4(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Where the file has addresses at all."""
    for device in facts.devices:
        source = device.identity.vtep
        yield from _without_source(device)
        if source and device.addresses and vtep_address(device) not in interfaces_of(facts, device).own:
            yield Found(
                device.name,
                named(source.where),
                f"{source.value} is no interface or address of this switch",
                (stated(device, source.value, source.where),),
                rests_on=address_roots(device, source.value),
                fix=vtep_at_loopback(facts, device),
            )


def _without_source(device: Device) -> Iterator[Found]:
    """A switch with VNIs whose tunnel states no source at all."""
    found = device.identity
    mapped = [it for it in found.vnis if it.vlan]
    if found.vtep or not mapped or not found.vtep_up:
        return
    tunnel = next(iter(device.tunnels.values()), None)
    where = found.evpn.where if tunnel is None else tunnel.where
    loopback = next(((name, text) for name, its in device.addresses.items() if is_loopback(name) for text in its), None)
    yield Found(
        device.name,
        named(where or mapped[0].where),
        f"the tunnel has no source address (src_ip, source-interface), and {len(mapped)} VNIs need it",
        (stated(device, "", where or mapped[0].where),),
        root=(device.name, mapped[0].where),
        rests_on=((device.name, ("tunnel",)),),
        fix=None if loopback is None else set_vtep_source(device, loopback[0], loopback[1].partition("/")[0]),
    )


@check(
    "V5",
    E,
    "VNIs without EVPN",
    condition="a switch with VNIs has a tunnel that is up and takes its routes from BGP EVPN",
    consequence="the switch does not learn remote hosts: its segments end at its own ports",
    remedy="enable EVPN for the tunnel",
    source="RFC 8365 section 5; SONiC HLD EVPN VXLAN",
    leads_to="V11",
)
def V5(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Off, shut or absent."""
    for device in facts.devices:
        found = device.identity
        if not found.vnis or (found.vtep_up and found.evpn.value != "off"):
            continue
        text = "the tunnel is shut or off" if not found.vtep_up else "the tunnel does not use BGP EVPN"
        where = found.evpn.where or found.vtep.where or found.vnis[0].where
        # No line states it where the tunnel's stands for it: it follows from the sessions, none of which has it.
        follows = found.vtep_up and found.evpn.where == found.vtep.where
        yield Found(
            device.name,
            named(where),
            f"{text}, and {len(found.vnis)} VNIs need it",
            (stated(device, "", where),),
            fix=None if found.vtep_up else start_tunnel(device),
            rests_on=[(device.name, ("router bgp",)), *((device.name, it.where) for it in device.sessions if follows)],
        )


@check(
    "V8",
    E,
    "a session does not carry EVPN",
    condition="EVPN is activated at both ends of a session or at neither, and route targets are sent with it",
    consequence="EVPN routes are not exchanged over this session, or arrive without targets and are dropped",
    remedy="activate the EVPN address family at both ends, with extended communities",
    source="RFC 4760 section 8 (both ends announce the family); RFC 7432 section 7.11",
    leads_to="V5 V11",
)
def V8(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Sessions whose two ends are in the files."""
    found = list(sessions(facts))
    between: dict[tuple[str, str], list[Session]] = {}
    for device, session, peer in found:
        between.setdefault((device.name, peer.name), []).append(session)
    for device, session, peer in found:
        if session.families is None:
            continue
        back = (
            other_end(facts, device, session, peer)
            if session.interface
            else _back(facts, between.get((peer.name, device.name), ()), device, session, peer)
        )
        if (
            back is not None
            and back.families is not None
            and "evpn" in back.families
            and "evpn" not in session.families
        ):
            mine = [it for near, it, _ in found if near is device]
            lacking = [it for it in mine if it.families is not None and "evpn" not in it.families]
            group = group_to_change(device, session, "activate", lacking, missing=True)
            yield Found(
                device.name,
                named(session.where),
                f"EVPN is not activated towards {session.neighbor}, {peer.name} has it",
                (stated(device, session.neighbor, session.where), stated(peer, back.neighbor, back.where)),
                rests_on=[(device.name, session.group_where)] * bool(session.group_where),
                fix=activate(device, session, "evpn", group),
            )
        if "evpn" in session.families and session.extended_communities is False:
            yield Found(
                device.name,
                named(session.where),
                f"no extended communities towards {session.neighbor}: route targets are not sent",
                (stated(device, session.neighbor, session.where),),
                fix=send_targets(device, session),
            )


def _back(facts: Facts, theirs: Sequence[Session], device: Device, session: Session, peer: Device) -> Session | None:
    """The peer's session to this device over the same link, of all that it has to this device."""
    own, far = interfaces_of(facts, device).networks, interfaces_of(facts, peer).networks.get(session.address, ())
    for back in theirs:
        mine = own.get(back.address, ()) if back.vrf == session.vrf else ()
        if mine and (mine[-1] in far or back.address == session.local_address):
            return back
    return None


@check(
    "V9",
    E,
    "a switch without a VTEP becomes the next hop of EVPN routes",
    condition="a switch without a VTEP leaves the next hop of EVPN routes unchanged on external sessions, and no route "
    "map there gives them an address",
    consequence="VTEPs send tunnels to this switch, which drops them",
    remedy="keep the next hop: next-hop-unchanged, or a route map with set ip next-hop unchanged",
    source="RFC 4271 section 5.1.3; RFC 8365 section 5",
    leads_to="V11",
)
def V9(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Languages that rewrite it by default."""
    for device, session, peer in sessions(facts):
        expected = session.asn or peer.asn
        external = expected and expected != device.asn
        carried = session.families is not None and "evpn" in session.families
        if device.identity.vtep or device.identity.vnis or not external or not carried:
            continue
        yield from _set_next_hops(device, session, peer)
        if session.keeps_next_hop is False:
            yield Found(
                device.name,
                named(session.where),
                f"EVPN routes towards {session.neighbor} ({peer.name}) get this switch as next hop",
                (stated(device, session.neighbor, session.where),),
                rests_on=[(device.name, where) for where in same_policies(device, session)],
                fix=keep_next_hop(device, session),
            )


def _set_next_hops(device: Device, session: Session, peer: Device) -> Iterator[Found]:
    """Route maps that give EVPN routes an address as next hop, which none of their VTEPs need have."""
    for use in session.policies:
        clauses = device.identity.policies.route_maps.get(use.name, []) if use.kind == "route-map" else []
        clause = next((it for it in clauses if it.permit and it.next_hop), None)
        if clause is not None and not use.inbound and use.family in {"", "evpn"}:
            yield Found(
                device.name,
                named(clause.where),
                f"EVPN routes towards {session.neighbor} ({peer.name}) get {clause.next_hop} as next hop by route map "
                f"{use.name}",
                (stated(device, clause.next_hop, clause.where), stated(device, use.name, use.where)),
            )


def _begins_with_own(device: Device, distinguisher: str) -> bool:
    """Whether a route distinguisher begins with an address of the switch (RFC 4364 section 4.2, type 1)."""
    begin = distinguisher.partition(":")[0]
    return any(text.partition("/")[0] == begin for its in device.addresses.values() for text in its)


@check(
    "V10",
    E,
    "a route distinguisher is used twice",
    condition="on one switch every VLAN and VRF that states a route distinguisher has its own; no other switch states "
    "the same one (warn)",
    consequence="the switch refuses the second one, or the routes of both networks replace each other; of two "
    "switches, one hides the routes of the other for a MAC address that both have",
    remedy="number it by the VNI: ROUTER-ID:NUMBER",
    source="RFC 7432 section 7.9; RFC 4364 section 4.2",
    leads_to="V11",
)
def V10(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """VLANs of one bundle are one MAC-VRF and have one together: they are not compared."""
    holders: dict[str, Held] = {}
    for device in facts.devices:
        for vni in (*device.identity.vnis, *device.identity.routed_vnis):
            text = vni.distinguisher
            other, its = holders.setdefault(text, (device, vni))
            if text not in {"", "auto"} and other is not device and not paired((other, device)):
                rows = ((device, vni), (other, its))
                if _begins_with_own(device, text) and not _begins_with_own(other, text):
                    rows = rows[::-1]
                (wrong, own), (right, first) = rows
                yield Found(
                    wrong.name,
                    named(own.where),
                    f"VNI {own.number} has the route distinguisher {text}, as VNI {first.number} of {right.name}",
                    tuple(stated(it, text, one.distinguisher_where or one.targets_where) for it, one in rows),
                    W,
                    fix=None if _begins_with_own(wrong, text) else set_distinguisher(wrong, own),
                    rests_on=[
                        (it.name, it.identity.router_id.where)
                        for it in (device, other)
                        if it.identity.router_id and text.startswith(f"{it.identity.router_id.value}:")
                    ],
                )
    for device in facts.devices:
        known: dict[str, Vni] = {}
        for vni in (*device.identity.vnis, *device.identity.routed_vnis):
            text = vni.distinguisher
            first = known.setdefault(text, vni)
            if text not in {"", "auto"} and first.number != vni.number:
                yield Found(
                    device.name,
                    named(vni.where),
                    f"VNI {vni.number} has {text}, as VNI {first.number}",
                    tuple(stated(device, text, it.targets_where, f"VNI {it.number}") for it in (vni, first)),
                )


@check(
    "V19",
    W,
    "a VRF imports another's routes, and not the reverse",
    condition="of two VRFs of which one imports a route target that the other exports, the other does so, too",
    consequence="packets pass in one direction, and no answer comes back",
    remedy="import the targets of both VRFs in each other, or remove the import",
    source="RFC 4364 section 4.3.5 (extranets)",
)
def V19(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Once for two VRFs, at the first switch that imports."""
    held: dict[str, list[Held]] = {}
    for device in facts.devices:
        for vni in device.identity.routed_vnis:
            held.setdefault(vni.vrf, []).append((device, vni))
    exported = {vrf: {it for _, vni in rows for it in vni.exports} for vrf, rows in held.items()}
    imported = {vrf: {it for _, vni in rows for it in vni.imports} for vrf, rows in held.items()}
    for one, rows in held.items():
        for other in held:
            foreign = exported[other] - exported[one]
            if one == other or not imported[one] & foreign or imported[other] & exported[one]:
                continue
            device, vni = next(row for row in rows if row[1].imports & foreign)
            there, its = held[other][0]
            targets = ", ".join(sorted(vni.imports & foreign))
            yield Found(
                device.name,
                named(vni.targets_where),
                f"VRF {one} imports {targets} of VRF {other}, which imports nothing of {one}",
                (
                    stated(device, targets, vni.targets_where, f"{device.name} VRF {one}"),
                    stated(there, ", ".join(sorted(its.imports)), its.targets_where, f"{there.name} VRF {other}"),
                ),
            )


CHECKS: Final[tuple[Check, ...]] = (V2, V3, V4, V5, V8, V9, V10, V19)

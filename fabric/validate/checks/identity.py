"""I: what must be unique in a fabric, and the AS numbers and timers of its BGP speakers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from fabric.configs.identity import Stated
from fabric.configs.interface_address import interface_of
from fabric.configs.model import Device, Where
from fabric.validate.checks.base import Check, E, Evidence, Found, Root, W, check, named, shows
from fabric.validate.checks.peers import sessions
from fabric.validate.disagreement import UNDECIDED, changed, claims, told_apart
from fabric.validate.facts import Facts
from fabric.validate.meant_addresses import claimed, own_loopback, readdressed
from fabric.validate.remedies import Fix, set_field
from fabric.validate.routing_fixes import set_asn, set_router_id, set_vtep_source

Holder = tuple[Device, Stated]


def stated(device: Device, value: str, where: Where, label: str = "") -> Evidence:
    """Evidence for a value with the line of its construct."""
    return shows(device, where, "", value, label)


def is_loopback(name: str) -> bool:
    """Whether an interface name is a loopback's, in any of the languages."""
    return name.lower().startswith("lo")


def paired(devices: Iterable[Device]) -> bool:
    """Whether switches are a multi-chassis pair, which shares a VTEP address on purpose."""
    return all(device.peer_link for device in devices)


def vtep_address(device: Device) -> str:
    """The address that the VTEP sends from; '' where the file has none."""
    source = device.identity.vtep.value
    if not source or source[0].isdigit() or ":" in source:
        return source
    found = next((texts for name, texts in device.addresses.items() if name.lower() == source.lower()), ())
    return str(interface_of(found[0]).ip) if found else ""


def _sources(device: Device) -> set[str]:
    """Addresses that the VTEP sends from: its own, and that of the pair."""
    return {vtep_address(device), device.identity.shared_vtep}


def _shared(holders: Iterable[Holder]) -> Iterator[list[Holder]]:
    """Groups of different switches that state one value."""
    by_value: dict[str, list[Holder]] = {}
    for device, item in holders:
        if item and all(other is not device for other, _ in by_value.get(item.value, ())):
            by_value.setdefault(item.value, []).append((device, item))
    yield from (found for found in by_value.values() if len(found) > 1)


def _twice(
    facts: Facts,
    group: list[Holder],
    what: str,
    value: Callable[[Device], object],
    is_rightful: Callable[[Device], bool] | None = None,
    change: Callable[[Device], Fix | None] = lambda _: None,
) -> Found:
    """One finding for all switches that share a value, at the last of those whose it is not by their other lines;
    `change`: what gives such a switch its own one.
    """
    wrong = told_apart(
        group,
        (lambda it: bool(changed(facts, it[0], value)), lambda it: is_rightful is not None and not is_rightful(it[0])),
    )
    group = [*(it for it in group if it not in wrong), *wrong]
    device, item = group[-1]
    others = ", ".join(sorted(other.name for other, _ in group[:-1]))
    return Found(
        device.name,
        named(item.where),
        f"{what} {item.value} is also that of {others}" + ("" if wrong else f"; {UNDECIDED}"),
        tuple(stated(holder, one.value, one.where, f"{holder.name} {what}") for holder, one in reversed(group)),
        fix=change(device) if wrong else None,
    )


@check(
    "I1",
    E,
    "an address is used twice",
    condition="no address of a loopback, of a routed port, or of the interface of an extended VLAN is configured on "
    "two switches; the shared VTEP address of a multi-chassis pair is none, nor is an anycast gateway",
    consequence="routes to it lead to either switch: BGP sessions, VXLAN tunnels and pings reach the wrong one",
    remedy="give every switch a different address",
    source="RFC 7938 section 5.2.3; RFC 4271 section 4.2 (the BGP identifier is such an address)",
    leads_to="I2 I3 P2 P3 V4 V7 V11 P22",
)
def I1(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Loopbacks and ports of one VRF; gateways of VLANs are shared on purpose."""
    holders: dict[str, list[Holder]] = {}
    for device in facts.devices:
        for name, texts in device.addresses.items():
            if not (is_loopback(name) or name in device.ports or _extended(device, name)):
                continue
            gateways = {(f"vlan{it.vlan}", it.address) for it in device.identity.gateways}
            of_vrf = holders.setdefault(device.identity.interface_vrfs.get(name, ""), [])
            for text in texts:
                if not interface_of(text).ip.is_link_local and (name.lower(), text) not in gateways:
                    of_vrf.append(
                        (device, Stated(str(interface_of(text).ip), device.identity.address_where[name, text]))
                    )
    for group in (group for of_vrf in holders.values() for group in _shared(of_vrf)):
        address = group[0][1].value
        if not (paired(it for it, _ in group) and all(address in _sources(it) for it, _ in group)):
            rightful, change = partial(_is_rightful, facts, address), partial(_own_address, facts, address)
            yield _twice(facts, group, "address", partial(_owns, address), rightful, change)


def _extended(device: Device, name: str) -> bool:
    """Whether an interface is that of a VLAN with a VNI. SONiC without SAG has one address on every leaf on purpose."""
    vlan = name.lower().removeprefix("vlan")
    anycast = bool(device.identity.gateways) or not device.capabilities.tables
    return anycast and vlan != name.lower() and any(it.vlan == vlan for it in device.identity.vnis)


@check(
    "I2",
    E,
    "a VTEP address is used twice",
    condition="no two switches send VXLAN from one address, a multi-chassis pair excepted",
    consequence="every other switch has one tunnel for both: frames for hosts behind one arrive at the other",
    remedy="give each VTEP the address of its switch's loopback",
    source="RFC 7348 section 4; RFC 8365 section 8.3.1 (the VTEP address names the switch)",
    leads_to="V4 V7 V11",
)
def I2(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Where the loopbacks themselves differ: otherwise I1 says it."""
    holders = [
        (device, Stated(vtep_address(device), device.identity.vtep.where))
        for device in facts.devices
        if _owns(vtep_address(device), device) or not device.identity.vtep.value[:1].isalpha()
    ]
    for group in _shared(holders):
        devices = [device for device, _ in group]
        if not paired(devices) and not all(_owns(group[0][1].value, it) for it in devices):
            owns = partial(_owns, group[0][1].value)
            yield _twice(facts, group, "VTEP address", vtep_address, owns, partial(vtep_at_loopback, facts))


def _own_address(facts: Facts, address: str, device: Device) -> Fix | None:
    """The address of a port by the other end of its link, or of a loopback by the router ID."""
    names = [name for name, its in device.addresses.items() for it in its if str(interface_of(it).ip) == address]
    if len(names) == 1 and not is_loopback(names[0]):
        return readdressed(facts, device, names[0])
    return claimed(facts, device, address)


def vtep_at_loopback(facts: Facts, device: Device) -> Fix | None:
    """The switch's own loopback as the source of its tunnel."""
    name, address = own_loopback(facts, device)
    if name and device.identity.vtep.value == device.identity.router_id.value != address:
        return claimed(facts, device, address)  # the loopback is the one that differs
    return set_vtep_source(device, name, address) if name else None


def _router_id(device: Device) -> str:
    return device.identity.router_id.value


def _id_of_loopback(facts: Facts, device: Device) -> Fix | None:
    """The address of the switch's own loopback as its router ID."""
    address = own_loopback(facts, device)[1]
    return set_router_id(device, address) if address and ":" not in address else None


def _expected_asn(facts: Facts, device: Device) -> Fix | None:
    """The AS number that all neighbours of a switch expect, where the language states it as a value."""
    numbers = {session.asn for _, session, peer in sessions(facts) if peer is device and session.asn}
    asn = numbers.pop() if len(numbers) == 1 else device.asn
    return set_asn(device, asn) if asn != device.asn and device.capabilities.own_asn_is_a_value else None


def address_places(device: Device, address: str) -> list[Root]:
    """Where a switch states an address."""
    places = device.identity.address_where.items()
    return [(device.name, where) for (_, text), where in places if str(interface_of(text).ip) == address]


def _is_rightful(facts: Facts, address: str, device: Device) -> bool:
    """Whether other lines of a switch claim an address, or a neighbour has a session to it there by its name."""
    return claims(device, address) or any(
        it.address == address and it.peer == device.name for other in facts.devices for it in other.sessions
    )


def _owns(address: str, device: Device) -> bool:
    return any(str(interface_of(text).ip) == address for texts in device.addresses.values() for text in texts)


@check(
    "I3",
    E,
    "a BGP router ID is used twice",
    condition="no two switches have the same BGP identifier",
    consequence="a speaker refuses the session of a peer with its own identifier; route reflection and best-path "
    "choice take two switches for one",
    remedy="use the switch's loopback address",
    source="RFC 6286 section 2.1; RFC 4456 section 8",
    leads_to="V10 V11",
)
def I3(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Where it is stated."""
    for group in _shared((device, device.identity.router_id) for device in facts.devices):
        address = group[0][1].value
        value, change = _router_id, partial(_id_of_loopback, facts)
        found = _twice(facts, group, "router ID", value, partial(_owns, address), change)
        yield replace(found, rests_on=tuple(place for device, _ in group for place in address_places(device, address)))


@check(
    "I4",
    E,
    "a system MAC address is used twice, or is a group's",
    condition="no two switches have the same system MAC address, a multi-chassis pair excepted; neither it nor the MAC "
    "address of the gateways is that of a group",
    consequence="LACP, spanning tree and EVPN router MACs take two switches for one: routed VXLAN traffic is lost; "
    "frames to a group's address are flooded and not routed",
    remedy="remove the line, so that the switch uses its own, or correct it",
    source="IEEE 802.1AX section 6.3.2; RFC 9135 section 4.1 (router's MAC); IEEE 802 section 8.2 (an odd first octet "
    "is a group's)",
    leads_to="V6",
)
def I4(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Where it is stated."""
    for group in _shared((device, device.identity.mac) for device in facts.devices):
        if not paired(device for device, _ in group):
            yield _twice(facts, group, "system MAC", lambda it: it.identity.mac.value)
    for device in facts.devices:
        own = [("system MAC", device.identity.mac), ("gateway MAC", device.identity.gateway_mac)]
        own += [("gateway MAC", Stated(it.mac, it.where)) for it in device.identity.gateways if it.mac]
        for what, it in own:
            if it and int(it.value[:2], 16) & 1:
                text = f"{what} {it.value} is a multicast address: its first octet is odd"
                yield Found(device.name, named(it.where), text, (stated(device, it.value, it.where),))


@check(
    "I5",
    E,
    "switches that must reach each other share an AS number",
    condition="switches with hosts or a VTEP that have an external BGP neighbour in common have different AS numbers, "
    "or accept their own number (allowas-in)",
    consequence="each drops the other's routes as a loop: their hosts do not reach each other",
    remedy="give each leaf, or each multi-chassis pair, its own AS number",
    source="RFC 4271 section 9.1.2 (AS loop); RFC 7938 section 5.2.2",
    leads_to="P2 D2 V11 P22",
)
def I5(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Spines of one pod share a number on purpose: nothing is behind them."""
    known = list(sessions(facts))
    expected = {peer.name for _, session, peer in known if session.asn == peer.asn}
    across: dict[str, set[str]] = {}
    for device, session, peer in known:
        if not session.asn and peer.asn:
            across.setdefault(device.name, set()).add(peer.asn)
    for group in _shared(
        (device, Stated(device.asn, device.identity.asn_where))
        for device in facts.devices
        if device.asn and (device.identity.vtep or device.name in facts.serving)
    ):
        devices = [device for device, _ in group]
        external = [
            ({it.asn for it in device.sessions if it.asn} | across.get(device.name, set())) - {device.asn}
            for device in devices
        ]
        internal = any(it.asn == device.asn for device in devices for it in device.sessions)
        loops = any(not any(it.allows_own_as for it in device.sessions) for device in devices)
        if set.intersection(*external) and not internal and loops and not paired(devices):
            change = partial(_expected_asn, facts)
            yield _twice(facts, group, "AS number", lambda it: it.asn, lambda it: it.name in expected, change)


@check(
    "I6",
    E,
    "hold time does not exceed keepalive",
    condition="the hold time is 0, or at least 3 s and longer than the keepalive interval",
    consequence="the session is refused, or goes down whenever one keepalive is late",
    remedy="set the hold time to three times the keepalive interval",
    source="RFC 4271 sections 4.2 and 10",
    leads_to="V11",
)
def I6(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Each session with both timers."""
    for device in facts.devices:
        for session in device.sessions:
            keepalive, hold = session.keepalive_s, session.hold_s
            if keepalive is None or hold is None or hold == 0 or (hold >= 3 and hold > keepalive):
                continue
            yield Found(
                device.name,
                named(session.where),
                f"keepalive {keepalive} s, hold time {hold} s, neighbour {session.neighbor}",
                (stated(device, f"{keepalive} s, {hold} s", session.where, "keepalive, hold time"),),
            )


@check(
    "I10",
    W,
    "a switch has the type of another tier",
    condition="where other switches with hosts have another type, none has the type of the switches without hosts; "
    "none of those that switches with hosts are cabled to has theirs",
    consequence="what follows from the type is that of the other tier: services, the ECMP hash's seed, default lengths "
    "of cables",
    remedy="state the type of the other switches of its tier",
    source="sonic-device_metadata.yang, type; sonic-buildimage switch.json.j2, buffers_config.j2",
)
def I10(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Where the type of a switch is stated and acts."""
    typed = [it for it in facts.devices if it.role and it.capabilities.hash_seed_from_role]
    serving = {it.name for it in typed if it.name in facts.serving}
    above = {it.role for it in typed if it.name not in serving}
    of_serving = Counter(it.role for it in typed if it.name in serving)
    for device in typed:
        if device.name not in serving or device.role not in above or of_serving[device.role] > 1:
            continue
        usual = Counter(it.role for it in typed if it.name in serving and it is not device)
        if usual and not above & usual.keys():
            role = usual.most_common(1)[0][0]
            where = ("DEVICE_METADATA", "localhost")
            yield Found(
                device.name,
                "type",
                f"type {device.role} is that of switches without hosts, other switches with hosts are {role}",
                (shows(device, where, "type", device.role),),
                fix=set_field(device, where, "type", role),
            )
    far_ends: dict[str, set[str]] = {}
    for (name, _), (far, _) in facts.peers.items():
        far_ends.setdefault(name, set()).add(far)
    alike = [it for it in typed if it.name not in serving and it.role in of_serving]
    for device in alike if len(alike) == 1 else ():
        beside = far_ends.get(device.name, set()) & serving
        usual = Counter(it.role for it in typed if it.name not in serving and it is not device)
        if beside and usual:
            role = usual.most_common(1)[0][0]
            where = ("DEVICE_METADATA", "localhost")
            yield Found(
                device.name,
                "type",
                f"type {device.role} is that of switches with hosts, other switches above them are {role}",
                (shows(device, where, "type", device.role),),
                fix=set_field(device, where, "type", role),
            )


def address_roots(device: Device, address: str) -> tuple[Root, ...]:
    """Where the switch states an address."""
    return tuple(
        (device.name, where)
        for (_, text), where in device.identity.address_where.items()
        if str(interface_of(text).ip) == address
    )


CHECKS: Final[tuple[Check, ...]] = (I1, I2, I3, I4, I5, I6, I10)

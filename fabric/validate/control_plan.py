"""The control plane that a set of configurations describes, as a plan of fabric/controlplane.

Routers are the switches with an AS number. A cable is a session that comes up (sessions.py); sessions between loopbacks
add their address families to the cables between the same two switches. Hosts are not in the plan: the Type-3 route of
a VNI has the route targets, the next hop and the way of the Type-2 routes of its hosts (RFC 8365 section 5.1), so a
switch learns the hosts of exactly those VTEPs to which it floods the VNI. Of VNIs that are configured alike, at the
same switches and with the same targets but for the VNI's number, one is computed and stands for all.

An internal session (iBGP) is a cable, too, with its reflection (RFC 4456); between loopbacks it needs an interior
protocol, which is taken to work, as for external sessions between loopbacks of switches that configure one.

What the plan does not have: IPv6 routes, and next hops that a spine rewrites (reachability.py looks at those after
convergence).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Network, ip_network
from typing import Final

from fabric.configs.interface_address import interface_of
from fabric.configs.model import Device
from fabric.controlplane.evpn.targets import target_packed
from fabric.controlplane.network.plan import Cable, ControlPlan, Interface, Prefix, Router, SessionEnd, VniPlan
from fabric.validate.adjacencies import interior_of
from fabric.validate.checks.identity import is_loopback, vtep_address
from fabric.validate.facts import Facts
from fabric.validate.originated import dropped_by, has_route, lets
from fabric.validate.segments import Group, not_carried
from fabric.validate.sessions import End, Peering

CABLE_NS: Final = 200
_MAX_ASN: Final = 2**32 - 1
_MAX_VNI: Final = 2**24 - 1
_UNSTATED_ADDRESS: Final = 0xC0_00_02_00
"""192.0.2.0 (RFC 5737): identifiers of switches that state none count from here."""

_NO_IMPORT: Final = ("0:1",)
_NO_EXPORT: Final = ("0:2",)
"""Targets of AS 0, which no network has (RFC 7607): a VNI that imports, or exports, none at all."""

_LINK_LOCAL: Final = 0xA9_FE_00_00
"""169.254.0.0 (RFC 3927): the ends of unnumbered and of IPv6 sessions count from here; both carry IPv4 routes with an
IPv6 next hop (RFC 8950), and which address it is does not matter on a single hop."""


@dataclass(frozen=True, slots=True)
class Described:
    """A plan, and what of the configurations is where in it."""

    plan: ControlPlan
    row_of: dict[str, int]
    """Switch to its router."""
    stands_for: dict[str, int]
    """VNI to the one that is computed in its place: itself, or one that is configured alike."""


def described(facts: Facts, groups: Sequence[Group], sessions: Iterable[Peering]) -> Described:
    """The plan of a network."""
    devices = [device for device in facts.devices if asn_of(device.asn)]
    row_of = {device.name: row for row, device in enumerate(devices)}
    sessions = list(sessions)
    interfaces, cables = _cables(row_of, sessions)
    interior = _interior(facts, sessions)
    carried = [group for group in groups if group.device.name in row_of and not_carried(group) is None]
    carried = [group for group in carried if group.vni is not None and _number(group.vni.number)]
    stands_for = _representatives(carried)
    carried = [
        group for group in carried if group.vni is not None and str(stands_for[group.vni.number]) == group.vni.number
    ]
    known = {prefix for device in devices for prefix in advertised(device)}
    routers = tuple(
        _router(
            device, row, carried, tuple(it.row for it in interfaces if it.router == row), interior[device.name], known
        )
        for row, device in enumerate(devices)
    )
    return Described(ControlPlan(routers, tuple(interfaces), tuple(cables), ()), row_of, stands_for)


def _representatives(carried: Sequence[Group]) -> dict[str, int]:
    """VNI to the first one that is configured alike."""
    alike: dict[str, set[tuple[str, frozenset[str], frozenset[str]]]] = {}
    for group in carried:
        if group.vni is not None:
            number = group.vni.number
            imports, exports = (
                frozenset(
                    text.removesuffix(f":{number}") if text.endswith(f":{number}") else f"{text}!" for text in its
                )
                for its in (
                    _NO_IMPORT if group.vni.imports_nothing else group.vni.imports,
                    _NO_EXPORT if group.vni.exports_nothing else group.vni.exports,
                )
            )
            alike.setdefault(number, set()).add((group.device.name, imports, exports))
    first: dict[frozenset[tuple[str, frozenset[str], frozenset[str]]], str] = {}
    return {number: int(first.setdefault(frozenset(its), number)) for number, its in alike.items()}


def asn_of(text: str) -> int:
    """'65000' or '1.10' (asdot, RFC 5396) as a number; 0 where it is none."""
    high, dot, low = text.partition(".")
    if not (high.isascii() and high.isdigit() and len(high) < 11 and (not dot or (low.isdigit() and len(low) < 6))):
        return 0
    number = (int(high) << 16) + int(low) if dot else int(high)
    return number if number <= _MAX_ASN else 0


def _number(vni: str) -> bool:
    return vni.isascii() and vni.isdigit() and len(vni) < 9 and 0 < int(vni) <= _MAX_VNI


def _address(text: str) -> int:
    try:
        return int(IPv4Address(text))
    except ValueError:
        return 0


def _router(
    device: Device,
    row: int,
    carried: Sequence[Group],
    interfaces: tuple[int, ...],
    interior: tuple[Prefix, ...],
    known: Iterable[Prefix],
) -> Router:
    networks = tuple(dict.fromkeys((*advertised(device), *aggregated(device, known))))
    vtep = _address(vtep_address(device))
    loopbacks = [prefix[0] for prefix in networks if prefix[1] == 32]
    own = vtep or next(iter(loopbacks), 0) or _UNSTATED_ADDRESS + row
    vnis = {
        int(group.vni.number): VniPlan(
            int(group.vni.number),
            "default",
            import_targets=_NO_IMPORT if group.vni.imports_nothing else _targets(group.vni.imports),
            export_targets=_NO_EXPORT if group.vni.exports_nothing else _targets(group.vni.exports),
        )
        for group in carried
        if group.device is device and group.vni is not None
    }
    return Router(
        row,
        device.name,
        asn_of(device.asn),
        _address(device.identity.router_id.value) or own,
        own,
        0,
        False,
        interfaces,
        networks,
        tuple(vnis.values()),
        interior=interior,
        cluster_id=_address(device.identity.cluster_id.value),
    )


def _targets(stated: frozenset[str]) -> tuple[str, ...]:
    """Route targets that can be sent; what is none is left out."""
    found = []
    for text in sorted(stated):
        try:
            target_packed(text)
        except ValueError:
            continue
        found.append(text)
    return tuple(found)


def advertised(device: Device) -> tuple[Prefix, ...]:
    """IPv4 prefixes that a switch puts into BGP.

    SONiC's templates advertise the loopbacks and the subnets of VLANs (dockers/docker-fpm-frr, bgpd.main.conf.j2);
    elsewhere it is what `network` statements and redistribution say.
    """
    found = device.identity
    prefixes: dict[Prefix, None] = {}
    for name, texts in device.addresses.items():
        if found.interface_vrfs.get(name):
            continue  # it is no route of the default VRF
        loopback = is_loopback(name)
        for text in texts:
            its = interface_of(text)
            local = loopback or name.lower().startswith("vlan")
            if its.version == 4 and local and found.redistributes_connected is not False:
                own = loopback and found.redistributes_connected is None  # bgpcfgd advertises the host route
                network = ip_network(f"{its.ip}/32" if own else its.network)
                if isinstance(network, IPv4Network) and _redistributed(
                    device, network, found.tags.get((name, text), "")
                ):
                    prefixes[int(network.network_address), network.prefixlen] = None
    for text in found.networks:
        try:
            network = ip_network(text, strict=False)
        except ValueError:
            continue
        if network.version == 4 and has_route(device, text) and dropped_by(device, text) is None:
            prefixes[int(network.network_address), network.prefixlen] = None
    return tuple(sorted(prefixes, key=lambda it: (-it[1], it[0])))


def _redistributed(device: Device, network: IPv4Network, tag: str) -> bool:
    """Whether the route map of the redistribution lets a connected prefix into BGP."""
    stated = device.identity.policies.redistribution
    return stated is None or lets(device, *stated, network, tag)


def aggregated(device: Device, known: Iterable[Prefix]) -> tuple[Prefix, ...]:
    """Aggregates that a switch announces: those in which some prefix of the fabric is (RFC 4271 section 9.2.2.2)."""
    networks = [IPv4Network(it) for it in known] if device.identity.aggregates else []
    found = []
    for it in device.identity.aggregates:
        whole = IPv4Network(it.prefix, strict=False)
        if any(network.subnet_of(whole) and network != whole for network in networks):
            found.append((int(whole.network_address), whole.prefixlen))
    return tuple(found)


def _cables(row_of: dict[str, int], sessions: Sequence[Peering]) -> tuple[list[Interface], list[Cable]]:
    interfaces: list[Interface] = []
    cables: list[Cable] = []
    taken: set[tuple[int, int]] = set()
    for peering in sessions:
        ends = (peering.a, peering.b)
        if peering.down is not None or (peering.multihop and not peering.interior):
            continue
        if any(end.device.name not in row_of for end in ends):
            continue
        own = {id(end): _address(end.address) or _LINK_LOCAL + 2 * len(cables) + side for side, end in enumerate(ends)}
        keys = [
            (row_of[end.device.name], own[id(other)]) for end, other in peering.ends
        ]  # a speaker knows its neighbours by address
        if taken & set(keys):
            continue
        taken |= set(keys)
        first = len(interfaces)
        interfaces += [
            Interface(
                first + side,
                row_of[end.device.name],
                end.interface,
                own[id(end)],
                32 if peering.multihop else 31,
                len(cables),
                first + 1 - side,
                first + side,
                session=_settings(end, internal=peering.internal),
            )
            for side, end in enumerate(ends)
        ]
        cables.append(Cable(len(cables), first, first + 1, CABLE_NS, len(cables)))
    _overlay(row_of, sessions, interfaces, cables)
    return interfaces, cables


def _settings(end: End, *, internal: bool = False) -> SessionEnd:
    its = end.session
    own_as = 3 if its is not None and its.allows_own_as else 0
    if not internal or its is None:
        return SessionEnd(end.carries("ipv4"), end.carries("evpn"), own_as)
    return SessionEnd(end.carries("ipv4"), end.carries("evpn"), own_as, its.reflects, its.sets_next_hop)


def _interior(facts: Facts, sessions: Iterable[Peering]) -> dict[str, tuple[Prefix, ...]]:
    """Switch to the loopbacks that it reaches by an interior protocol.

    An internal session between loopbacks needs one, and an external one has it where both files configure one. Where
    they state its circuits, its routes are those of adjacencies.py. Else that it works is taken to be right, for all
    switches that such sessions join, whether they come up or not.
    """
    part = {device.name: {device.name} for device in facts.devices}
    for peering in sessions:
        one, other = (part[end.device.name] for end in (peering.a, peering.b))
        if peering.interior and one is not other:
            one |= other
            part.update(dict.fromkeys(other, one))
    loopbacks = {device.name: _loopbacks(device) for device in facts.devices}
    known: dict[int, tuple[Prefix, ...]] = {}
    for names in part.values():
        if len(names) > 1 and id(names) not in known:
            known[id(names)] = tuple(sorted({it for name in names for it in loopbacks[name]}))
    found = {name: known.get(id(names), ()) for name, names in part.items()}
    routing = interior_of(facts)
    for device in facts.devices:
        if routing.judged(device):  # the others' routes are taken to be there
            found[device.name] = tuple(
                prefix
                for prefix in found[device.name]
                if routing.reaches(device, str(IPv4Address(prefix[0]))) is not False
            )
    return found


def _loopbacks(device: Device) -> list[Prefix]:
    every = [interface_of(text) for name, texts in device.addresses.items() if is_loopback(name) for text in texts]
    return [(int(its.ip), 32) for its in every if its.version == 4]


def _overlay(
    row_of: dict[str, int], sessions: Sequence[Peering], interfaces: list[Interface], cables: Sequence[Cable]
) -> None:
    """Sessions between loopbacks that are up: their families go with the first cable between the two switches."""
    for peering in sessions:
        if peering.down is not None or not peering.multihop or peering.interior:
            continue
        sides = {row_of.get(end.device.name): end for end in (peering.a, peering.b)}
        for cable in cables:
            both = [interfaces[cable.a], interfaces[cable.b]]
            if {it.router for it in both} == set(sides):
                for it in both:
                    more, had = _settings(sides[it.router]), it.session
                    interfaces[it.row] = replace(
                        it,
                        session=SessionEnd(
                            had.ipv4 or more.ipv4, had.evpn or more.evpn, max(had.allowas_in, more.allowas_in)
                        ),
                    )
                break

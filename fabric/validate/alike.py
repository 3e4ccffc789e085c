"""A large fabric, reduced to some of the switches that are configured alike, for which its routes are computed.

Two switches are alike if their configurations of BGP, EVPN and VXLAN are equal up to their own addresses, AS numbers
and names, and if they have equally many sessions, of equal settings, with switches that are alike. It is the coarsest
partition with this property (colour refinement): 256 switches of a fabric of three tiers are three classes, and one
leaf that differs is a class alone. The reduced fabric has two switches of each class, and with each of them two
neighbours of each class that it has neighbours of: a path between two switches of the full fabric then has a path of
the same classes in the reduced one.

What makes a switch differ: everything that an AS number, VTEP address or router ID has in common with other switches'
(equal ones are an AS path loop, or a mistake), what prefix lists say of its prefixes, and the part of the fabric that
it is connected to. Switches with static routes, and the owners of their next hops, are each alone.

Limit: two fabrics that no count of neighbours tells apart are one class although their shapes differ (a ring of six
switches, two rings of three); the part that a switch is connected to is compared for that reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from ipaddress import IPv4Address, IPv4Network
from typing import Final

from fabric.configs.identity import Vni
from fabric.configs.model import Device, Session
from fabric.configs.policy import PrefixEntry
from fabric.validate.adjacencies import interior_of
from fabric.validate.checks.identity import vtep_address
from fabric.validate.control_plan import advertised
from fabric.validate.facts import Facts
from fabric.validate.segments import Group, hosts_of, not_carried
from fabric.validate.sessions import End, Peering, peer_of

KEPT: Final = 2
"""Switches of a class, and neighbours of a class at each of them: a path may enter and leave a class once."""
_MAX_ENTRIES: Final = 2_000
"""Lines of prefix lists that are compared with the prefixes of each switch."""

Colour = int


@dataclass(frozen=True, slots=True)
class Reduced:
    """A part of a fabric that stands for all of it."""

    facts: Facts
    alike: Mapping[str, tuple[str, ...]]
    """Switch of the part to all switches of its class."""


def reduced(facts: Facts, sessions: Sequence[Peering]) -> Reduced:
    """The part of a fabric for which routes are computed; all of it where no two switches are alike."""
    neighbours = _neighbours(facts, sessions)
    colour = _refined(_first_colours(facts, sessions), neighbours, _sharing(facts))
    members: dict[Colour, list[str]] = {}
    for name, its in colour.items():
        members.setdefault(its, []).append(name)
    kept = _kept(members, colour, neighbours)
    return Reduced(_part(facts, kept), {name: tuple(members[colour[name]]) for name in kept})


def _neighbours(facts: Facts, sessions: Sequence[Peering]) -> dict[str, Counter[tuple[str, Hashable]]]:
    """Switch to (neighbour, settings of the session at both ends) and how many such sessions there are."""
    found: dict[str, Counter[tuple[str, Hashable]]] = {device.name: Counter() for device in facts.devices}
    known: dict[int, Hashable] = {}
    for peering in sessions:
        for end, other in peering.ends:
            label = (
                _settings(end, known),
                _settings(other, known),
                peering.multihop,
                peering.internal,
                peering.interior,
                peering.down is None,
            )
            found[end.device.name][other.device.name, label] += 1
    for wire in facts.wires:
        for line, far in ((wire.a, wire.b), (wire.b, wire.a)):
            if line.device.peer_link and line.device.peer_link in {line.port.name, line.port.lag}:
                found[line.device.name][far.device.name, "peer link"] = 1
    return found


_OWN_OR_THEIRS: Final = frozenset(
    ("where", "peer", "asn", "address", "local_address", "source", "interface", "policies")
)
"""Addresses and names, the switch's own ones and those of the neighbour, and what `_settings` looks into."""


def _settings(end: End, known: dict[int, Hashable]) -> Hashable:
    """What one end of a session is configured to, without whom it is with."""
    if end.session is None:
        return None
    if id(end.session) not in known:
        its = end.session
        known[id(its)] = (
            tuple(getattr(its, item.name) for item in fields(Session) if item.name not in _OWN_OR_THEIRS),
            bool(its.source),
            tuple((use.family, use.inbound, use.kind, _policy(end.device, use.name)) for use in its.policies),
        )
    return known[id(end.session)]


def _policy(device: Device, name: str) -> Hashable:
    """The content of a route map or prefix list, with the lists that it uses."""
    its = device.identity.policies
    clauses = its.route_maps.get(name)
    if clauses is None:
        return repr(its.prefix_lists.get(name))
    lists = [(it, repr(its.prefix_lists.get(it))) for clause in clauses for it in clause.prefix_lists]
    groups = [(it, repr(its.community_lists.get(it))) for clause in clauses for it in clause.communities]
    return repr(([replace(clause, where=()) for clause in clauses], lists, groups))


def _first_colours(facts: Facts, sessions: Sequence[Peering]) -> dict[str, Hashable]:
    """What a switch's own configuration says, without its addresses, AS number and name."""
    groups: dict[str, list[Group]] = {}
    for group in hosts_of(facts)[0]:
        groups.setdefault(group.device.name, []).append(group)
    part = _parts(facts, sessions)
    entries = _entries(facts)
    prefixes = {device.name: advertised(device) for device in facts.devices}
    count = Counter(prefix for its in prefixes.values() for prefix in its)
    verdicts = {prefix: _verdict(entries, prefix) for prefix in count}
    alone = _with_own_routes(facts)
    found: dict[str, Hashable] = {}
    for device in facts.devices:
        own = device.identity
        vtep = vtep_address(device)
        found[device.name] = (
            device.language,
            part[device.name],
            device.name if device.name in alone else "",
            bool(device.peer_link),
            _of_interior(facts, device, vtep),
            (bool(vtep), ":" in vtep, own.vtep_up, own.evpn.value, bool(own.unnumbered)),
            (bool(own.no_routing), frozenset(own.unrouted_vrfs)),
            tuple(map(_of_vni, own.vnis)),
            tuple(map(_of_vni, own.routed_vnis)),
            frozenset((vlan, stated.value) for vlan, stated in own.vrfs.items()),
            frozenset((it.vlan, it.address) for it in own.gateways),
            frozenset((it.vlan, it.segment, not_carried(it) is None) for it in groups.get(device.name, ())),
            frozenset(
                (prefix if count[prefix] > 1 else prefix[1], verdicts[prefix], bool(vtep) and _covers(prefix, vtep))
                for prefix in prefixes[device.name]
            ),
            sum(it.up and peer_of(facts, device, it) is None for it in device.sessions),
        )
    return found


def _of_interior(facts: Facts, device: Device, vtep: str) -> Hashable:
    """Whether it announces its VTEP by an interior protocol, and how many other VTEPs that leads it to."""
    routing = interior_of(facts)
    if not routing.judged(device):
        return None
    others = [routing.reaches(device, it) for other in facts.devices if (it := vtep_address(other))]
    return routing.announces(device, vtep), Counter(others)[True]


def _of_vni(vni: Vni) -> Hashable:
    return (
        *(vni.number, vni.vlan, vni.vrf, vni.in_tunnel, vni.in_bgp),
        *(vni.imports, vni.exports, vni.imports_nothing, vni.exports_nothing),
    )


def _covers(prefix: tuple[int, int], address: str) -> bool:
    return ":" not in address and IPv4Address(address) in IPv4Network(prefix)


def _entries(facts: Facts) -> tuple[PrefixEntry, ...]:
    every = {
        entry: None
        for device in facts.devices
        for entries in device.identity.policies.prefix_lists.values()
        for entry in entries
    }
    return tuple(every)


def _verdict(entries: Sequence[PrefixEntry], prefix: tuple[int, int]) -> Hashable:
    """Which lines of prefix lists match a prefix; the prefix itself where there are very many lines."""
    if len(entries) > _MAX_ENTRIES:
        return prefix
    network = IPv4Network(prefix)
    return tuple(at for at, entry in enumerate(entries) if entry.matches(network))


def _with_own_routes(facts: Facts) -> set[str]:
    """Switches with aggregates, with conditions of networks, or with static routes, and those that these lead to."""
    found = set()
    for device in facts.devices:
        if device.identity.aggregates or device.identity.network_maps:
            found.add(device.name)
        for route in device.routes:
            found.add(device.name)
            for gateway, interface in route.hops:
                owner = facts.owners.get(gateway)
                far = facts.peers.get((device.name, interface), ("", ""))[0]
                found.update(({owner.name} if owner is not None else set()) | ({far} & facts.network.devices.keys()))
    return found


def _parts(facts: Facts, sessions: Sequence[Peering]) -> dict[str, int]:
    """Switch to the part of the fabric that it is connected to by sessions."""
    part = {device.name: number for number, device in enumerate(facts.devices)}

    def root(name: str, names: tuple[str, ...] = tuple(part)) -> str:
        while names[part[name]] != name:
            part[name] = part[names[part[name]]]
            name = names[part[name]]
        return name

    for peering in sessions:
        if peering.down is None:
            part[root(peering.a.device.name)] = part[root(peering.b.device.name)]
    return {name: part[root(name)] for name in part}


def _sharing(facts: Facts) -> list[list[str]]:
    """Groups of switches with one AS number, VTEP address or router ID."""
    by_value: dict[tuple[str, str], list[str]] = {}
    for device in facts.devices:
        for what, value in (
            ("as", device.asn),
            ("cluster", device.identity.cluster_id.value),
            ("vtep", vtep_address(device)),
            ("id", device.identity.router_id.value),
        ):
            if value:
                by_value.setdefault((what, value), []).append(device.name)
    return [its for its in by_value.values() if len(its) > 1]


def _refined(
    first: Mapping[str, Hashable],
    neighbours: Mapping[str, Counter[tuple[str, Hashable]]],
    sharing: Iterable[Sequence[str]],
) -> dict[str, Colour]:
    """Colours in which two switches are equal only if their neighbours' are, too."""
    groups = list(sharing)
    colour = _numbered(first)
    number = len(set(colour.values()))
    while True:
        shared: dict[str, list[int]] = {name: [] for name in colour}
        known: dict[tuple[Colour, ...], int] = {}
        for at in groups:
            # By number: all switches may have one AS, and the hash of a tuple is computed at each use.
            key = known.setdefault(tuple(sorted(colour[name] for name in at)), len(known))
            for name in at:
                shared[name].append(key)
        colour = _numbered(
            {
                name: (
                    mine,
                    tuple(shared[name]),
                    frozenset(
                        _total((colour[other], label, times) for (other, label), times in neighbours[name].items())
                    ),
                )
                for name, mine in colour.items()
            }
        )
        if len(set(colour.values())) == number:
            return colour
        number = len(set(colour.values()))


def _total(rows: Iterable[tuple[Colour, Hashable, int]]) -> Iterable[tuple[Hashable, int]]:
    """How many neighbours there are of each colour and kind of session."""
    return Counter((colour, label, times) for colour, label, times in rows).items()


def _numbered(values: Mapping[str, Hashable]) -> dict[str, Colour]:
    known: dict[Hashable, Colour] = {}
    return {name: known.setdefault(value, len(known)) for name, value in values.items()}


def _kept(
    members: Mapping[Colour, Sequence[str]],
    colour: Mapping[str, Colour],
    neighbours: Mapping[str, Counter[tuple[str, Hashable]]],
) -> list[str]:
    """KEPT switches of each class, and the neighbours of each switch that is kept."""
    kept = dict.fromkeys(name for its in members.values() for name in its[:KEPT])
    waiting = list(kept)
    while waiting:
        by_class: dict[tuple[Colour, Hashable], dict[str, None]] = {}
        for other, label in neighbours[waiting.pop(0)]:
            by_class.setdefault((colour[other], label), {})[other] = None
        for its in by_class.values():
            missing = KEPT - sum(other in kept for other in its)
            more = [other for other in its if other not in kept][: max(0, missing)]
            kept.update(dict.fromkeys(more))
            waiting += more
    return [name for name in colour if name in kept]


def _part(facts: Facts, kept: Sequence[str]) -> Facts:
    """The switches that are kept, with the sessions and cables between them and to what is in no file."""
    names = frozenset(kept)
    every = facts.network.devices
    devices = {}
    for name in kept:
        device = every[name]
        peers = [(it, peer_of(facts, device, it)) for it in device.sessions]
        devices[name] = replace(device, sessions=[it for it, peer in peers if peer is None or peer.name in names])
    links = tuple(
        cable
        for cable in facts.network.links
        if all(end[0] in names or end[0] not in every for end in (cable.a, cable.b))
    )
    return Facts(replace(facts.network, devices=devices, links=links), before=facts.before)

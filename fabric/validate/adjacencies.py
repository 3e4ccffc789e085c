"""Which adjacencies of OSPF and IS-IS a set of configurations brings up, and which loopbacks they lead to.

An adjacency needs a circuit at both ends of a link that is active, in one area or level, with equal network type, and
with what the hellos compare (RFC 2328 section 10.5; ISO 10589 section 8.4): OSPF's timers, authentication, and MTU.
Routes between areas go through the backbone (RFC 2328 section 3.1), in IS-IS through level 2 (RFC 1195 section 1.4).

What is not computed: costs, filters between areas, and routes of other protocols; a switch that redistributes connected
routes is taken to announce all its loopbacks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from fabric.configs.identity import NOTHING, Stated
from fabric.configs.interface_address import interface_of
from fabric.configs.interior import BACKBONE, BROADCAST, Circuit, Interior, levels_of
from fabric.configs.model import Device, Where
from fabric.validate.facts import Facts, Line

Root = tuple[str, Where]
_NOTE: Final = "interior routing"
_SILENT: Final = {"instance": "down", "shut": "down", "passive": "on"}
"""Values with which an end sends no hellos."""


@dataclass(frozen=True, slots=True)
class Side:
    """One end of a link that an interior protocol could use."""

    device: Device
    interface: str
    circuit: Circuit | None
    line: Line

    @property
    def interior(self) -> Interior | None:
        """The protocol of the switch."""
        return self.device.identity.interior

    @property
    def routed(self) -> bool:
        """Whether the interface has an address, its own or that of a loopback."""
        return bool(self.device.addresses.get(self.interface)) or self.interface in self.device.identity.borrowed

    @property
    def active(self) -> bool:
        """Whether it sends hellos."""
        its = self.circuit
        return its is not None and not its.passive and not its.shut and self.interior is not None and self.interior.up

    @property
    def borrowed(self) -> bool:
        """Whether it has the address of another interface."""
        return self.interface in self.device.identity.borrowed

    @property
    def numbering(self) -> str:
        """Whether it has an address of its own, in words."""
        return "unnumbered" if self.borrowed else "numbered"

    @property
    def address_where(self) -> Where:
        """Where its address is stated, or the interface that it takes it from."""
        own = self.device.identity
        stated = (where for (name, _), where in own.address_where.items() if name == self.interface)
        return own.borrowed[self.interface].where if self.borrowed else next(stated, self.where)

    @property
    def where(self) -> Where:
        """The line that puts it into the protocol; that of the port where none does."""
        return self.line.port.where if self.circuit is None else self.circuit.where

    def __str__(self) -> str:
        return f"{self.device.name}:{self.interface}"


@dataclass(frozen=True, slots=True)
class Difference:
    """Why no adjacency forms: one value of each end."""

    what: str
    """'area', 'network', 'hello', ...: a field of Circuit, or 'missing', 'protocol', 'MTU', 'numbering'."""
    values: tuple[str, str]
    places: tuple[Where, Where]


@dataclass(frozen=True, slots=True)
class Adjacency:
    """A link on which one end at least runs the protocol."""

    a: Side
    b: Side
    zones: frozenset[str]
    """Areas, or backbone and area of the levels, in which it comes up."""
    difference: Difference | None
    up: bool
    """Whether its ports are."""

    @property
    def broken_at(self) -> Iterator[tuple[Side, Where]]:
        """The ports that are down, and the values of both ends that differ."""
        for side in (self.a, self.b):
            if not side.line.port.admin_up:
                yield side, (*side.line.port.where, "admin_status")
        if self.difference is not None:
            yield from zip((self.a, self.b), self.difference.places, strict=True)

    @property
    def sides(self) -> tuple[tuple[Side, Side], tuple[Side, Side]]:
        """Each end with the other."""
        return (self.a, self.b), (self.b, self.a)


class InteriorRouting:
    """The adjacencies of a fabric, and the loopbacks that each switch has a route to."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self.adjacencies = tuple(_adjacencies(facts))
        self._announced: dict[tuple[str, str], frozenset[str] | None] = {}

    def judged(self, device: Device) -> bool:
        """Whether the files say which routes a switch has by its interior protocol."""
        its = device.identity.interior
        return its is not None and device.name in self._facts.linked

    def reaches(self, device: Device, address: str) -> bool | None:
        """Whether a switch has an interior route to an address of a loopback; None where that is not known."""
        owner = self._facts.owners.get(address)
        if owner is None or not self.judged(device) or not self.judged(owner):
            return None
        return owner is device or self._leads(device.name, owner, address)

    def announces(self, device: Device, address: str) -> bool | None:
        """Whether a switch puts an address of its own into the protocol; None where that is not known."""
        its = device.identity.interior
        if its is None or not self.judged(device):
            return None
        holders = [name for name, texts in device.addresses.items() if _has(texts, address)]
        return any(its.announces(name) for name in holders)

    def broken(self, *devices: Device) -> tuple[Root, ...]:
        """Where links of these switches, else of any switch, keep an adjacency from forming; the loopbacks' places."""
        every = [it for it in self.adjacencies if it.difference is not None or not it.up]
        names = {device.name for device in devices}
        near = [it for it in every if {it.a.device.name, it.b.device.name} & names] or every
        found = dict.fromkeys((side.device.name, where) for it in near for side, where in it.broken_at)
        for device in devices:
            loopbacks = [name for name in device.addresses if name.lower().startswith("lo")]
            found.update(dict.fromkeys((device.name, ("interface", name)) for name in loopbacks))
            found.update(
                dict.fromkeys(
                    (device.name, where)
                    for (name, _), where in device.identity.address_where.items()
                    if name in loopbacks
                )
            )
        return tuple(found)

    def _leads(self, name: str, owner: Device, address: str) -> bool:
        """Whether a switch reaches another one in an area of the loopback, or that is attached to the backbone."""
        by = self._reach[name].get(owner.name)
        if by is None:
            return False
        key = owner.name, address
        if key not in self._announced:
            self._announced[key] = self._zones_of(owner, address) if self.announces(owner, address) else None
        zones = self._announced[key]
        return zones is not None and (not zones or bool(by & zones) or BACKBONE in self._attached[owner.name])

    @staticmethod
    def _zones_of(owner: Device, address: str) -> frozenset[str]:
        """The areas that an address is announced in; none where it is redistributed."""
        its = owner.identity.interior
        if its is None:
            return frozenset()
        found: set[str] = set()
        for name, texts in owner.addresses.items():
            if _has(texts, address) and name in its.circuits:
                found |= its.zones(its.circuits[name])
        return frozenset(found)

    @cached_property
    def _attached(self) -> dict[str, frozenset[str]]:
        """Switch to the zones that it has circuits in."""
        found = {}
        for device in self._facts.devices:
            its = device.identity.interior
            zones = [] if its is None else [its.zones(circuit) for circuit in its.circuits.values()]
            found[device.name] = frozenset(zone for each in zones for zone in each)
        return found

    @cached_property
    def _reach(self) -> dict[str, Mapping[str, frozenset[str]]]:
        """Switch to the switches that it reaches, each with the zones by which it is reached."""
        edges: dict[str, list[tuple[str, frozenset[str]]]] = {device.name: [] for device in self._facts.devices}
        zones: set[str] = set()
        for it in self.adjacencies:
            if it.up and it.difference is None and it.zones:
                edges[it.a.device.name].append((it.b.device.name, it.zones))
                edges[it.b.device.name].append((it.a.device.name, it.zones))
                zones |= it.zones
        if len(zones) <= 1:
            return _parts(edges, frozenset(zones) or frozenset((BACKBONE,)))
        return {name: self._walk(name, edges) for name in edges}

    def _walk(self, start: str, edges: dict[str, list[tuple[str, frozenset[str]]]]) -> Mapping[str, frozenset[str]]:
        """Through an area of its own, then the backbone, then one other area."""
        first = [(start, zone, 1 if zone == BACKBONE else 0) for zone in self._attached[start]]
        seen = set(first)
        waiting = list(first)
        while waiting:
            name, zone, stage = waiting.pop()
            more = [(other, zone, stage) for other, zones in edges[name] if zone in zones]
            if BACKBONE in self._attached[name]:
                more += [(name, BACKBONE, 1)] if stage == 0 else []
                more += [(name, it, 2) for it in self._attached[name] if it != BACKBONE] if stage == 1 else []
            for state in more:
                if state not in seen:
                    seen.add(state)
                    waiting.append(state)
        found: dict[str, set[str]] = {}
        for name, zone, _ in seen:
            found.setdefault(name, set()).add(zone)
        return {name: frozenset(its) for name, its in found.items()}


def interior_of(facts: Facts) -> InteriorRouting:
    """The interior routing of a network; kept with the facts."""
    if _NOTE not in facts.notes:
        facts.notes[_NOTE] = InteriorRouting(facts)
    found: InteriorRouting = facts.notes[_NOTE]
    return found


def share_interior(facts: Facts, part: Facts) -> None:
    """A part of a fabric has the interior routes of the whole one."""
    part.notes[_NOTE] = interior_of(facts)


def _parts(
    edges: dict[str, list[tuple[str, frozenset[str]]]], zones: frozenset[str]
) -> dict[str, Mapping[str, frozenset[str]]]:
    """With one zone a switch reaches all of the part that it is connected to."""
    found: dict[str, Mapping[str, frozenset[str]]] = {}
    for start in edges:
        if start in found:
            continue
        part, waiting = {start}, [start]
        while waiting:
            for other, _ in edges[waiting.pop()]:
                if other not in part:
                    part.add(other)
                    waiting.append(other)
        shared = dict.fromkeys(sorted(part), zones)
        found.update(dict.fromkeys(part, shared))
    return found


def _has(texts: tuple[str, ...], address: str) -> bool:
    return any(text.partition("/")[0] == address for text in texts)


def _adjacencies(facts: Facts) -> Iterator[Adjacency]:
    """Each pair of interfaces once, by cables; interfaces of VLANs and subinterfaces by their subnets."""
    seen = set()
    cabled: set[str] = set()
    for wire in facts.wires:
        sides = [_side(line) for line in (wire.a, wire.b)]
        key = frozenset(map(str, sides))
        if all(it.circuit is None for it in sides):
            continue
        cabled |= key
        up = wire.a.port.admin_up and wire.b.port.admin_up
        if key in seen:
            continue
        seen.add(key)
        yield _compared(sides[0], sides[1], up=up)
    yield from _over_virtual_interfaces(facts, cabled)


_TRANSFER_BITS: Final = 2
"""Host bits of a subnet of two switches, up to which one that is in no protocol there is a mistake."""


def _over_virtual_interfaces(facts: Facts, cabled: set[str]) -> Iterator[Adjacency]:
    """Interfaces of VLANs and sub-interfaces in one subnet; one outside the protocol in subnets of two switches only.

    A larger one is a VLAN of hosts, in which a leaf may be active in the protocol without a neighbour.
    """
    by_subnet: dict[str, list[Side]] = {}
    for device in facts.devices:
        its = device.identity.interior
        port = next(iter(device.ports.values()), None)
        if its is None or port is None:
            continue
        for name, texts in device.addresses.items():
            circuit = its.circuits.get(name)
            if f"{device.name}:{name}" in cabled or not _is_virtual(name):
                continue
            if circuit is None and device.identity.interface_vrfs.get(name):
                continue
            for network in (interface_of(text).network for text in texts):
                if circuit is not None or network.max_prefixlen - network.prefixlen <= _TRANSFER_BITS:
                    by_subnet.setdefault(str(network), []).append(Side(device, name, circuit, Line(device, port)))
    for found in by_subnet.values():
        inside = [it for it in found if it.circuit is not None]
        if len(inside) == len(found) == 2 or (len(found) == 2 and any(it.active for it in inside)):
            yield _compared(found[0], found[1], up=True, virtual=True)


def _is_virtual(name: str) -> bool:
    return name.lower().startswith("vlan") or "." in name


def _side(line: Line) -> Side:
    """The interface of a port: the LAG, where that is the one with an address or a circuit."""
    device, port = line.device, line.port
    its = device.identity.interior
    circuits = {} if its is None else its.circuits
    name = port.lag if port.lag and port.name not in circuits and not device.addresses.get(port.name) else port.name
    return Side(device, name, circuits.get(name), line)


def _compared(a: Side, b: Side, *, up: bool, virtual: bool = False) -> Adjacency:
    one, other = a.interior, b.interior
    if one is None or other is None or a.circuit is None or b.circuit is None:
        here, there = ("" if it.circuit is None else "here" for it in (a, b))
        return Adjacency(a, b, frozenset(), Difference("missing", (here, there), (a.where, b.where)), up)
    if one.protocol != other.protocol:
        unlike = Difference("protocol", (one.protocol, other.protocol), (a.where, b.where))
        return Adjacency(a, b, frozenset(), unlike, up)
    found = _difference(a, a.circuit, one, b, b.circuit, other, virtual=virtual)
    zones = one.zones(a.circuit) & other.zones(b.circuit)
    return Adjacency(a, b, zones, found, up)


def _difference(
    a: Side, mine: Circuit, one: Interior, b: Side, yours: Circuit, other: Interior, *, virtual: bool
) -> Difference | None:
    """The first thing on which the two ends do not agree."""

    def pair(what: str, values: tuple[str, str], places: tuple[Where, Where]) -> Difference | None:
        return (
            None
            if values[0] == values[1]
            else Difference(what, values, (places[0] or mine.where, places[1] or yours.where))
        )

    def field(what: str, default: str) -> Difference | None:
        both = getattr(mine, what), getattr(yours, what)
        return pair(what, (both[0].value or default, both[1].value or default), (both[0].where, both[1].where))

    ospf = one.protocol == "OSPF"
    found = pair("instance", ("up" if one.up else "down", "up" if other.up else "down"), (one.where, other.where))
    found = found or field("shut", "up") or field("passive", "off")
    if mine.passive or mine.shut or not one.up:
        return found or Difference("passive", ("on", "on"), (mine.passive.where, yours.passive.where))
    found = found or field("area", "")
    kinds = one.area_kinds.get(mine.area.value, NOTHING), other.area_kinds.get(yours.area.value, NOTHING)
    found = found or pair(
        "area type", (kinds[0].value or "usual", kinds[1].value or "usual"), (kinds[0].where, kinds[1].where)
    )
    if not ospf and not one.zones(mine) & other.zones(yours):
        found = found or Difference(
            "level", (_levels(one, mine), _levels(other, yours)), (_at(one, mine), _at(other, yours))
        )
    found = found or field("network", BROADCAST)
    if ospf:
        for at, what in enumerate(("hello", "dead")):
            places = getattr(mine, what).where or mine.hello.where, getattr(yours, what).where or yours.hello.where
            found = found or pair(what, (mine.timers[at], yours.timers[at]), places)
    found = found or field("authentication", "none")
    both = one.authentication, other.authentication
    found = found or pair(
        "authentication", (both[0].value or "none", both[1].value or "none"), (both[0].where, both[1].where)
    )
    borrowed = a.borrowed, b.borrowed
    places = a.address_where, b.address_where
    found = found or pair("numbering", (a.numbering, b.numbering), places)
    ports = a.line.port, b.line.port
    if found is None and not virtual and not (mine.ignores_mtu or yours.ignores_mtu):
        found = pair("MTU", (str(ports[0].mtu), str(ports[1].mtu)), (ports[0].mtu_at, ports[1].mtu_at))
    if found is None and not any(borrowed) and not _share_subnet(a, b):
        found = Difference("subnet", ("", ""), (places[0], places[1]))
    return found


def _levels(interior: Interior, circuit: Circuit) -> str:
    """The levels of a circuit in words; level 1 with the NET, whose area must be the same."""
    own, levels = interior.level.value, circuit.level.value or interior.level.value or "level-1-2"
    if own and not levels_of(own) & levels_of(levels):
        return f"{levels} on a switch of {own}"
    return f"{levels} of {interior.net.value}" if levels != "level-2" else levels


def _at(interior: Interior, circuit: Circuit) -> Where:
    if interior.level and not levels_of(interior.level.value) & levels_of(circuit.level.value):
        return interior.level.where
    return circuit.level.where or interior.level.where or interior.net.where or circuit.where


def _share_subnet(a: Side, b: Side) -> bool:
    one, other = (
        [it for it in map(interface_of, side.device.addresses.get(side.interface, ())) if it.version == 4]
        for side in (a, b)
    )
    if not one or not other:
        return True  # what a file does not state is taken to be right
    return any(x.network == y.network for x in one for y in other)


def usual(facts: Facts, adjacency: Adjacency, what: str) -> tuple[Side, Side]:
    """(the end that has to change, the other): the one that sends no hellos, else the one with the rarer value.

    A value is rarer among the circuits of its switch, then in the fabric.
    """
    difference = adjacency.difference
    values = ("", "") if difference is None else difference.values
    if what in _SILENT:
        return (adjacency.b, adjacency.a) if values[1] == _SILENT[what] else (adjacency.a, adjacency.b)
    key = f"interior values: {what}"
    if key not in facts.notes:
        found: Counter[tuple[str, str]] = Counter()
        for it in interior_of(facts).adjacencies:
            for side in (it.a, it.b):
                found[side.device.name, value_of(side, what)] += 1
                found["", value_of(side, what)] += 1
        facts.notes[key] = found
    count: Counter[tuple[str, str]] = facts.notes[key]
    ranks = [
        (count[side.device.name, value], count["", value])
        for side, value in zip((adjacency.a, adjacency.b), values, strict=True)
    ]
    return (adjacency.b, adjacency.a) if ranks[1] < ranks[0] else (adjacency.a, adjacency.b)


def value_of(side: Side, what: str) -> str:
    """A value of a side as `Difference` has it."""
    its = side.circuit
    if its is None or side.interior is None:
        return ""
    defaults: dict[str, str] = {
        "area": "",
        "network": BROADCAST,
        "passive": "off",
        "shut": "up",
        "authentication": "none",
    }
    if what == "hello":
        return its.timers[0]
    if what == "dead":
        return its.timers[1]
    if what == "protocol":
        return side.interior.protocol
    if what == "instance":
        return "up" if side.interior.up else "down"
    if what == "area type":
        return side.interior.area_kinds.get(its.area.value, NOTHING).value or "usual"
    if what == "level":
        return _levels(side.interior, its)
    if what == "MTU":
        return str(side.line.port.mtu)
    if what == "numbering":
        return side.numbering
    if what == "missing":
        return "here"
    stated: Stated = getattr(its, what) if what in defaults else NOTHING
    return stated.value or defaults.get(what, "")

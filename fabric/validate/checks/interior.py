"""O: OSPF and IS-IS of the underlay: adjacencies, names of routers, and loopbacks that they do not carry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from fabric.configs.identity import Stated
from fabric.configs.interface_address import interface_of
from fabric.configs.interior import is_net, system_id_of
from fabric.configs.model import Device, Where
from fabric.configs.text.spelling import is_address
from fabric.validate.adjacencies import Adjacency, Difference, Side, interior_of, usual
from fabric.validate.checks.base import Check, E, Found, Root, W, check, named, shows
from fabric.validate.checks.identity import is_loopback, vtep_address
from fabric.validate.control_plan import advertised
from fabric.validate.facts import Facts
from fabric.validate.interior_fixes import announce, join_instance, set_circuit

_WORDS: Final = {
    "protocol": "{} here, {} at {}",
    "instance": "the protocol is {} here, {} at {}",
    "shut": "the protocol is {} here, {} at {}",
    "passive": "passive {} here, {} at {}",
    "area": "area {} here, {} at {}",
    "area type": "a {} area here, a {} one at {}",
    "level": "{} here, {} at {}: no level is common",
    "network": "network type {} here, {} at {}",
    "hello": "hello interval {} s here, {} s at {}",
    "dead": "dead interval {} s here, {} s at {}",
    "authentication": "authentication {} here, {} at {}",
    "numbering": "{} here, {} at {}",
    "MTU": "MTU {} here, {} at {}",
}


@check(
    "O1",
    E,
    "no OSPF or IS-IS adjacency forms on a link",
    condition="both ends of a link are in the protocol, active, in one area of one type or a common level, with equal "
    "network type, authentication and numbering, and for OSPF equal hello and dead intervals and MTU",
    consequence="the two switches exchange no routes over this link: its paths are lost, and where it is the only one, "
    "sessions between loopbacks and VXLAN tunnels, too",
    remedy="give both ends the same line; the one that differs from the other links is named first",
    source="RFC 2328 section 10.5 (hello), 10.6 (MTU), 8.2 (area, authentication); ISO 10589 section 8.2, 8.4; "
    "RFC 1195",
    leads_to="O3 P22 V11",
)
def O1(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Once for each link, at the end that differs from the rest."""
    for it in interior_of(facts).adjacencies:
        if it.difference is None or not it.up or it.difference.what == "subnet":  # P1 says it
            continue
        if it.difference.what == "missing":
            yield from _missing(it)
        elif it.difference.values[0] != it.difference.values[1]:
            yield _differs(facts, it, it.difference)


def _missing(adjacency: Adjacency) -> Iterator[Found]:
    for side, other in adjacency.sides:
        interior = other.interior
        if not other.active or other.circuit is None or interior is None or side.circuit is not None:
            continue
        vrf = side.device.identity.interface_vrfs.get(side.interface, "")
        outside = side.interior is not None and side.interface in side.interior.outside
        if not side.routed or (vrf and not outside):
            continue
        if side.interior is None and side.device.identity.igp:
            continue  # two protocols, or one that is not read
        yield Found(
            side.device.name,
            side.interface,
            f"in VRF {vrf}, where no {interior.protocol} is, and its peer {other} is in that of the default VRF"
            if vrf
            else f"not in {interior.protocol}, and its peer {other} is",
            (
                shows(side.device, ("interface", side.interface), "", "", f"{side}"),
                shows(other.device, other.where, "", "", f"{other} {interior.protocol}"),
            ),
            rests_on=_ports(side, other),
            fix=None if vrf else join_instance(side.device, side.interface, other.circuit),
        )


def _differs(facts: Facts, adjacency: Adjacency, difference: Difference) -> Found:
    odd, other = usual(facts, adjacency, difference.what)
    order = (0, 1) if odd is adjacency.a else (1, 0)
    values = tuple(difference.values[at] for at in order)
    places = tuple(difference.places[at] for at in order)
    text = _WORDS[difference.what].format(values[0], values[1], other)
    protocol = odd.interior.protocol if odd.interior is not None else ""
    return Found(
        odd.device.name,
        odd.interface,
        text if difference.what == "protocol" else f"{protocol}: {text}",
        (
            shows(odd.device, places[0], "", values[0], f"{odd} {difference.what}"),
            shows(other.device, places[1], "", values[1], f"{other} {difference.what}"),
        ),
        rests_on=_ports(odd, other),
        fix=set_circuit(odd, difference.what, values[1], other),
    )


def _ports(*sides: Side) -> list[Root]:
    found: list[Root] = [(it.device.name, it.line.port.where) for it in sides]
    found += [(it.device.name, (*it.line.port.mtu_at, "mtu")) for it in sides]
    found += [(it.device.name, ("interface", it.interface)) for it in sides]
    return found + [(it.device.name, it.circuit.where) for it in sides if it.circuit is not None]


@check(
    "O2",
    E,
    "two routers of OSPF or IS-IS have one name",
    condition="the router ID (OSPF) or the system ID of the NET (IS-IS) is on one switch only",
    consequence="each of the two takes what the other floods for an outdated copy of its own link state, and floods a "
    "newer one, without end: routes come and go",
    remedy="give each router a name of its own, made from the address of its loopback",
    source="RFC 2328 section 1.2 and 13.4 (router ID); ISO 10589 section 7.1.1 (system ID)",
    leads_to="O1",
)
def O2(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """At the switch that does not have the address of the name, else at the later one."""
    seen: dict[tuple[str, str], list[tuple[Device, Stated]]] = {}
    for device in facts.devices:
        its = device.identity.interior
        if its is None:
            continue
        stated = its.router_id
        if its.protocol == "IS-IS":
            stated = Stated(system_id_of(its.net.value), its.net.where) if is_net(its.net.value) else Stated("", ())
        if stated:
            seen.setdefault((its.protocol, stated.value), []).append((device, stated))
    for (protocol, value), rows in seen.items():
        if len(rows) < 2:
            continue
        wrong = [row for row in rows if not _claims(row[0], value)]
        odd = wrong if 0 < len(wrong) < len(rows) else rows[1:]
        what = "router ID" if protocol == "OSPF" else "system ID"
        for device, stated in odd:
            others = [row for row in rows if row[0] is not device]
            yield Found(
                device.name,
                named(stated.where),
                f"{protocol} {what} {value} is also that of {', '.join(it.name for it, _ in others)}",
                tuple(shows(it, at.where, "", value) for it, at in ((device, stated), *others)),
            )


def _claims(device: Device, value: str) -> bool:
    """Whether an address of a switch is its name; of a NET, by the digits of the address (010000000011)."""
    own = [interface_of(it).ip for texts in device.addresses.values() for it in texts]
    digits = ["".join(f"{octet:03d}" for octet in it.packed) for it in own if it.version == 4]
    return any(value == str(it) for it in own) or value.replace(".", "") in digits


@check(
    "O3",
    E,
    "a loopback that sessions or tunnels end at is not in the interior protocol",
    condition="the loopback of the VTEP and those of BGP sessions are in OSPF or IS-IS, or in BGP's IPv4 routes",
    consequence="other switches have no route to it: sessions stay down, and EVPN routes with this next "
    "hop are unusable",
    remedy="put the loopback into the area or instance of the uplinks",
    source="RFC 4271 section 5.1.3 (the next hop must be reachable); RFC 8365 section 5",
    leads_to="P22 V11",
)
def O3(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Where the switch runs the protocol on its uplinks."""
    routing = interior_of(facts)
    for device in facts.devices:
        its = device.identity.interior
        if its is None or not routing.judged(device) or not any(not it.passive for it in its.circuits.values()):
            continue
        if not its.up:
            continue
        in_bgp = {prefix[0] for prefix in advertised(device) if prefix[1] == 32}
        for interface, address, why in _needed(facts, device):
            if routing.announces(device, address) or int(interface_of(address).ip) in in_bgp:
                continue
            where: Where = device.identity.address_where.get(
                (interface, device.addresses[interface][0]), ("interface", interface)
            )
            yield Found(
                device.name,
                interface,
                f"{address} is not in {its.protocol}, and {why}",
                (
                    shows(device, ("interface", interface), "", ""),
                    shows(device, where, "", address),
                    shows(device, its.where, "", ""),
                ),
                rests_on=[(device.name, where)],
                fix=announce(device, interface),
            )


def _needed(facts: Facts, device: Device) -> Iterator[tuple[str, str, str]]:
    """(loopback, its address, why others need it)."""
    vtep = vtep_address(device)
    ends = {session.address for other in facts.devices if other is not device for session in other.sessions}
    for name, texts in device.addresses.items():
        if not is_loopback(name) or device.identity.interface_vrfs.get(name):
            continue
        for text in texts:
            address = text.partition("/")[0]
            if not is_address(address) or ":" in address:
                continue
            if address == vtep:
                yield name, address, "it is the VTEP"
            elif address in ends:
                yield name, address, "BGP sessions of other switches are with it"


@check(
    "O4",
    W,
    "one of several equal uplinks has another cost",
    condition="links of a switch to neighbours of one kind and speed have one cost of OSPF or IS-IS",
    consequence="the links with the higher cost carry nothing: the flows share what is left",
    remedy="remove the line, or state the same cost at all of them",
    source="RFC 2328 section 16.8 (equal-cost multipath needs equal costs); RFC 1195 appendix C.1",
)
def O4(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """At the circuits whose cost is not that of most."""
    groups: dict[tuple[str, int | None, bool], list[tuple[Side, Side]]] = {}
    for it in interior_of(facts).adjacencies:
        for side, other in it.sides if it.up and it.difference is None else ():
            kind = bool(other.device.identity.vnis or other.device.identity.vtep)
            groups.setdefault((side.device.name, side.line.port.speed_mbps, kind), []).append((side, other))
    for rows in groups.values():
        costs = Counter(_cost(side) for side, _ in rows)
        if len(costs) < 2:
            continue
        most = max(costs.values())
        usual_cost = min((cost for cost in costs if costs[cost] == most), key=lambda it: it != "")
        for side, _ in rows:
            circuit = side.circuit
            if circuit is None or _cost(side) == usual_cost:
                continue
            shown = usual_cost or "the default"
            where = circuit.cost.where or circuit.where
            yield Found(
                side.device.name,
                side.interface,
                f"cost {_cost(side) or 'the default'} here, {shown} at its other links",
                (shows(side.device, where, "", _cost(side)),),
                fix=set_circuit(side, "cost", usual_cost, side),
            )


def _cost(side: Side) -> str:
    return "" if side.circuit is None else side.circuit.cost.value


CHECKS: Final[tuple[Check, ...]] = (O1, O2, O3, O4)

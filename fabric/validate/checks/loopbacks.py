"""P: loopbacks that sessions and tunnels end at, and that no route leads to, or only that of an aggregate."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network
from typing import Final

from fabric.configs.identity import Aggregate
from fabric.configs.interface_address import interface_of
from fabric.configs.model import Device
from fabric.units import listed
from fabric.validate.adjacencies import interior_of
from fabric.validate.checks.base import Check, E, Evidence, Found, Root, W, check, named, shows
from fabric.validate.checks.identity import is_loopback
from fabric.validate.checks.session_routes import computed
from fabric.validate.facts import Facts
from fabric.validate.originated import dropped_by, hidden
from fabric.validate.reachability import Reachability
from fabric.validate.remedies import Fix
from fabric.validate.routing_fixes import whole_aggregate
from fabric.validate.sessions import End, place, without_route

_SHOWN: Final = 4


@check(
    "P22",
    E,
    "no route leads to the other end of a session between loopbacks",
    condition="both ends of a session between loopbacks have a route to the other: connected, static, by BGP, or by an "
    "interior protocol",
    consequence="TCP of the session has no way: it stays down, and what it carries (EVPN) is missing",
    remedy="advertise the loopback, or let the policy that is named pass it",
    source="RFC 4271 section 8.2.1 (a session is a TCP connection between the two addresses)",
    leads_to="P18 V8 V11",
)
def P22(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """At the switch that keeps the route back, where its own file says so; else at the one that lacks it."""
    reach = computed(facts)
    if reach is None:
        return
    for end, other in reach.stranded:
        if end.session is None:
            continue
        begin = f"{end.device.name} has no route to {other.address} of {other.device.name}"
        why, at, evidence = _why(reach, end, other)
        down = [] if evidence else _shut(facts, end.device, other.device)
        yield Found(
            at.name,
            named(end.session.where),
            f"{begin}: {why}",
            (*evidence, shows(end.device, end.session.where, "", other.address)),
            root=(end.device.name, end.session.where),
            rests_on=[*_rests(end.device, far=other), *interior_of(facts).broken(end.device, other.device), *down],
        )


def _rests(device: Device, far: End) -> list[Root]:
    """What brings the route: the loopback and its announcement at the far end, and the sessions of both switches."""
    own = far.device.identity
    places = [own.vtep.where, own.asn_where]
    places += [where for (_, text), where in own.address_where.items() if text.partition("/")[0] == far.address]
    if own.policies.redistribution is not None:
        places.append(own.policies.redistribution[1])
    places += [it.where for it in far.device.ports.values()]
    found = [(far.device.name, where) for where in places if where]
    for it in (device, far.device):
        for session in it.sessions:
            its = (session.where, session.local_as.where, session.ttl_security.where, session.max_prefixes.where)
            found += [(it.name, where) for where in (*its, *(use.where for use in session.policies)) if where]
    return found


def _shut(facts: Facts, *devices: Device) -> list[Root]:
    """Ports that are down on links of these switches, else of any switch: no route comes over such a link."""
    down = [wire for wire in facts.wires if not (wire.a.port.admin_up and wire.b.port.admin_up)]
    names = {it.name for it in devices}
    near = [wire for wire in down if {wire.a.device.name, wire.b.device.name} & names] or down
    return [
        (side.device.name, (*side.port.where, "admin_status"))
        for wire in near
        for side in (wire.a, wire.b)
        if not side.port.admin_up
    ]


def _why(reach: Reachability, end: End, other: End) -> tuple[str, Device, tuple[Evidence, ...]]:
    """The reason, the switch that is concerned, and its lines."""
    far, address = other.device, IPv4Network(other.address)
    cause = without_route(reach.facts, end, other)
    if cause is not None:
        protocol = "" if end.device.identity.interior is None else end.device.identity.interior.protocol
        return f"no adjacency of {protocol} leads there", end.device, ()
    sent = reach.announced(far.name)
    if not any(address.subnet_of(IPv4Network(it)) for it in sent):
        text = f"{far.name} does not advertise it"
        dropped = dropped_by(far, str(address))
        if dropped is not None:
            return f"{text} (route-map {dropped[0]})", far, (place(far, dropped[1]),)
        map_ = far.identity.policies.redistribution
        if map_ is not None:
            return f"{text} (redistribution by route-map {map_[0]})", far, (place(far, map_[1]),)
        return text, far, (place(far, far.identity.asn_where),)
    policies = [
        (it.device, use) for it, use in reach.policies_at(address) if it.device in (end.device, far) or use.inbound
    ]
    if policies:
        which = listed(list(dict.fromkeys(f"{use.kind} {use.name} of {it.name}" for it, use in policies)), _SHOWN)
        by = next((it for it, _ in policies if it is end.device), policies[0][0])
        rows = [place(it, use.where) for it, use in policies if it is by]
        clauses = [
            place(by, clause.where)
            for it, use in policies
            for clause in by.identity.policies.route_maps.get(use.name, ())
            if it is by
        ]
        own = by.identity.policies
        its = [use for it, use in policies if it is by]
        lines = [place(by, at) for use in its for at in own.lines_for(own.clauses(use) or (), address)]
        return f"{which} drops it", by, (*dict.fromkeys(lines), *rows, *clauses)
    return "no neighbour announces it", end.device, ()


@check(
    "P23",
    W,
    "an aggregate hides the loopbacks of switches",
    condition="no aggregate with summary-only, or with a map that suppresses, covers the loopbacks of switches of the "
    "fabric",
    consequence="neighbours send what is for these loopbacks to this switch, even when it has lost the way: it then "
    "drops the packets (null route of the aggregate), although another path has the way",
    remedy="leave summary-only out, or aggregate the subnets of hosts only",
    source="RFC 4271 section 9.2.2.2 (aggregation); RFC 7938 section 8.2 (summaries within a Clos make black holes "
    "when a link fails)",
    leads_to="P18 P22 V11",
)
def P23(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Loopbacks of VTEPs, and of the ends of sessions; those of the switch itself among them."""
    wanted = _needed(facts)
    for device in facts.devices:
        found: dict[Aggregate, list[str]] = {}
        for name, networks in wanted.items() if device.identity.aggregates else ():
            for network in networks:
                for it in hidden(device, network):
                    found.setdefault(it, []).append(f"{network.network_address} of {name}")
        for it, its in found.items():
            rests: list[Root] = [(device.name, session.where) for session in device.sessions]
            yield Found(
                device.name,
                named(it.where),
                f"aggregate {it.prefix} hides {listed(its, _SHOWN)} from its neighbours",
                (shows(device, it.where, "", it.prefix),),
                rests_on=rests,
                fix=_fix(device, it),
            )


def _fix(device: Device, found: Aggregate) -> Fix | None:
    """The aggregate as it is, with the more specific routes beside it."""
    return None if found.hidden_by else whole_aggregate(device, found)


def _needed(facts: Facts) -> dict[str, list[IPv4Network]]:
    """Switch to its loopbacks, as host routes: where there are VTEPs or sessions between loopbacks."""
    ends = {session.address for device in facts.devices for session in device.sessions}
    overlay = any(device.identity.vtep for device in facts.devices)
    found: dict[str, list[IPv4Network]] = {}
    for device in facts.devices:
        for name, texts in device.addresses.items():
            for text in texts if is_loopback(name) and not device.identity.interface_vrfs.get(name) else ():
                its = interface_of(text).ip
                if its.version == 4 and (overlay or str(its) in ends):
                    found.setdefault(device.name, []).append(IPv4Network(str(its)))
    return found


CHECKS: Final[tuple[Check, ...]] = (P22, P23)

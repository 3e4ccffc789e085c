"""P: what keeps a whole switch, or a session, out of BGP: maintenance, policies that are required, its own address."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fabric.configs.identity import Stated
from fabric.configs.interface_address import interface_of
from fabric.configs.model import Device, Session
from fabric.configs.policy import Use
from fabric.units import listed
from fabric.validate.checks.base import Check, E, Found, W, check, named, shows
from fabric.validate.checks.peers import near_address, sessions
from fabric.validate.facts import Facts
from fabric.validate.remedies import Fix, remove_field
from fabric.validate.routing_fixes import default_distance, end_maintenance, set_session, without_policy

_SHOWN: Final = 4
_UNUSED: Final = "255"
"""Distance of a route that is not installed."""


@check(
    "P19",
    E,
    "a neighbour's address is the switch's own",
    condition="no BGP neighbour has an address of the switch itself",
    consequence="the switch refuses the neighbour, and has no session to the switch that was meant",
    remedy="give the address of the other end of the link",
    source="RFC 4271 section 8.2.1 (a peer is another speaker); FRR and vendors refuse a local address as neighbour",
    leads_to="P1 P3 P9 V8 V11 P22",
)
def P19(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Where a neighbour waits for this session, its address is proposed."""
    for device in facts.devices:
        own = _own_addresses(device)
        for session in device.sessions:
            name = own.get((session.vrf, session.address)) if session.address else None
            if name is None:
                continue
            meant = _waiting(facts, device, session)
            yield Found(
                device.name,
                named(session.where),
                f"the neighbour {session.address} is the address of {name} of {device.name} itself",
                (shows(device, session.where, "", session.address),),
                fix=set_session(device, session, "address", meant, {}) if meant else None,
            )


def _own_addresses(device: Device) -> dict[tuple[str, str], str]:
    """(VRF, address) to the interface that has it; gateways that other switches have, too, are left out."""
    shared = {it.address for it in device.identity.gateways}
    return {
        (device.identity.interface_vrfs.get(name, ""), str(interface_of(text).ip)): name
        for name, texts in device.addresses.items()
        for text in texts
        if text not in shared
    }


def _waiting(facts: Facts, device: Device, wrong: Session) -> str:
    """The address of the switch that has a session to this address and gets none back; '' where there is none."""
    for other, session, peer in sessions(facts):
        if peer is device and session.address == wrong.address:
            return near_address(facts, other, session)
    return ""


@check(
    "P20",
    W,
    "a switch is out of service for maintenance",
    condition="no switch keeps traffic away: graceful shutdown, traffic shift away, maintenance mode, longer paths "
    "towards some of the neighbours of one AS number",
    consequence="neighbours prefer every other way, or have no route through this switch at all: capacity is lost, and "
    "hosts behind it where it is their only switch",
    remedy="end the maintenance, or accept the finding with --suppress while it lasts",
    source="RFC 8326 section 4 (GRACEFUL_SHUTDOWN); SONiC HLD Traffic Shift Away; vendors' maintenance modes",
    leads_to="P22",
)
def P20(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """By the line that says so."""
    for device in facts.devices:
        drained = device.identity.drained
        if drained and (device.sessions or facts.linked):
            text = f"traffic is kept away from the switch: {drained.value}"
            yield _of_line(device, drained, text, end_maintenance(device))
    yield from _lengthened(facts)


def _lengthened(facts: Facts) -> Iterator[Found]:
    """Paths that a switch makes longer towards some of its neighbours of one AS number, and not towards the others."""
    groups: dict[tuple[str, str], list[tuple[Device, Session, Device, Use | None]]] = {}
    for device, session, peer in sessions(facts):
        if session.asn:
            uses = (it for it in session.policies if not it.inbound and it.of_ipv4 and _lengthens(device, it))
            groups.setdefault((device.name, session.asn), []).append((device, session, peer, next(uses, None)))
    for its in groups.values():
        even = sorted({peer.name for _, _, peer, use in its if use is None})
        for device, session, peer, use in its if even else ():
            if use is not None:
                text = f"{use.kind} {use.name} lengthens the path of every route towards {peer.name}"
                text += f": traffic comes over {listed(even, _SHOWN)}"
                yield _of_line(device, Stated(use.name, use.where), text, without_policy(device, session, use))


def _lengthens(device: Device, use: Use) -> bool:
    """Whether a policy puts AS numbers in front of every path: its first entry does, and has no condition."""
    clauses = device.identity.policies.clauses(use) or ()
    first = next(iter(clauses), None)
    if first is None or not first.permit or not first.prepends or first.unread:
        return False
    return not (first.prefix_lists or first.communities or first.route_types or first.as_paths or first.tags)


def _of_line(device: Device, stated: Stated, text: str, fix: Fix) -> Found:
    """A finding about one line, with what it states as the evidence."""
    return Found(device.name, named(stated.where), text, (shows(device, stated.where, "", stated.value),), fix=fix)


@check(
    "P21",
    E,
    "policies are required, and a session has none",
    condition="where a switch lets external sessions carry routes only by a policy, each of them has one in both "
    "directions",
    consequence="the session comes up and carries no route in the direction without a policy",
    remedy="apply a policy in both directions, or do not require one",
    source="RFC 8212 section 2 (external sessions without an import or export policy carry nothing)",
    leads_to="P18 V7 V11 P22",
)
def P21(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Once for a switch, with the neighbours that are concerned."""
    for device in facts.devices:
        required = device.identity.requires_policy
        bare = [
            it
            for it in device.sessions
            if required and it.up and it.asn != device.asn and {use.inbound for use in it.policies} != {True, False}
        ]
        if bare:
            names = listed([it.address or it.interface for it in bare], _SHOWN)
            yield Found(
                device.name,
                named(required.where),
                f"{required.value} is on, and {len(bare)} external sessions lack a policy in or out: {names}",
                (shows(device, required.where, "", "true"),),
                rests_on=[(device.name, it.where) for it in bare],
                fix=remove_field(device, required.where[:-1], required.where[-1]),
            )


@check(
    "P26",
    E,
    "routes of BGP are never used",
    condition="external BGP routes of a switch with sessions have a distance below 255",
    consequence="the sessions come up and bring routes, and none of them gets into the table: the switch reaches "
    "nothing by BGP",
    remedy="remove the line, or state the default of external routes, 20",
    source="Cisco NX-OS Unicast Routing guide, EOS manual, NVUE reference, FRR user guide: distance (255: not used)",
    leads_to="D7 D13 V11 P22",
)
def P26(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Of the default VRF."""
    for device in facts.devices:
        distance = device.identity.distance
        if distance.value == _UNUSED and any(it.up for it in device.sessions):
            text = "routes of external sessions have distance 255, with which no route is used"
            yield _of_line(device, distance, text, default_distance(device))


CHECKS: Final[tuple[Check, ...]] = (P19, P20, P21, P26)

"""Which BGP sessions of a set of configurations come up, and why the others stay down.

A session needs a neighbour statement at both ends, addresses of one subnet (or loopbacks), the right AS number in both
directions, and ports that are up. What a file does not state is taken to be right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from fabric.configs.interface_address import interface_of
from fabric.configs.model import Device, Session, Site, Where
from fabric.validate.adjacencies import interior_of
from fabric.validate.checks.base import Evidence, named
from fabric.validate.checks.identity import is_loopback
from fabric.validate.facts import Facts
from fabric.validate.interfaces import interfaces_of

REFUSED_HOLD_S: Final = (1, 2)
"""RFC 4271 section 4.2: a hold time is 0 or at least 3 seconds."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why something does not work, with the lines of the configurations that say so."""

    text: str
    evidence: tuple[Evidence, ...] = ()

    def __str__(self) -> str:
        places = ", ".join(dict.fromkeys(str(item.place) for item in self.evidence if item.place is not None))
        return f"{self.text} ({places})" if places else self.text


@dataclass(frozen=True, slots=True)
class End:
    """One switch's end of a session."""

    device: Device
    session: Session | None
    """None: this switch does not name the other."""
    interface: str = ""
    address: str = ""
    """Its own address, without length; '' at an unnumbered session."""

    def carries(self, family: str) -> bool:
        """Whether this end activates 'ipv4' or 'evpn'. EVPN without route targets is of no use to a VTEP."""
        if self.session is None:
            return False
        families = self.session.families
        if family == "evpn" and (self.session.extended_communities is False or drops_foreign_targets(self.device)):
            return False
        if families is None and family == "ipv4" and ":" in self.session.address:
            return False  # SONiC's templates activate IPv6 alone on an IPv6 session
        return families is None or family in families

    @property
    def rewrites_next_hop(self) -> bool:
        """Whether EVPN routes that this end passes on get its own address as next hop (RFC 4271 section 5.1.3)."""
        return self.session is not None and self.session.keeps_next_hop is False


def drops_foreign_targets(device: Device) -> bool:
    """Whether a switch between VTEPs drops EVPN routes whose targets it does not import (RFC 4364 section 4.3.2).

    A route reflector keeps them without the line that says so; one without clients passes nothing on anyway.
    """
    own = device.identity
    carrying = [it for it in device.sessions if "evpn" in (it.families or ())]
    external = any(it.asn != device.asn for it in carrying) and not any(it.reflects for it in carrying)
    return own.keeps_targets is False and not own.vnis and not own.vtep and external


@dataclass(frozen=True, slots=True)
class Peering:
    """A session between two switches of the fabric."""

    a: End
    b: End
    multihop: bool
    """Between loopbacks."""
    down: Cause | None

    @property
    def ends(self) -> tuple[tuple[End, End], tuple[End, End]]:
        """Each end with the other."""
        return (self.a, self.b), (self.b, self.a)

    @property
    def internal(self) -> bool:
        """Within one AS."""
        return bool(self.a.device.asn) and self.a.device.asn == self.b.device.asn

    @property
    def interior(self) -> bool:
        """Whether its loopbacks reach each other by an interior protocol: taken so within one AS, else configured."""
        both = all(bool(end.device.identity.igp) for end in (self.a, self.b))
        return self.multihop and (self.internal or both)

    def carries(self, family: str) -> bool:
        """Whether routes of a family pass."""
        return self.down is None and self.a.carries(family) and self.b.carries(family)

    def __str__(self) -> str:
        return f"session {self.a.device.name}-{self.b.device.name}"


def place(device: Device, where: Where, label: str = "", value: str = "") -> Evidence:
    """Evidence with the line of a construct."""
    return Evidence(label or f"{device.name} {named(where)}", value, Site(device.name, where, device))


def peerings(facts: Facts) -> list[Peering]:
    """Every session between switches that were given, each once."""
    found: dict[frozenset[int], Peering] = {}
    for device in facts.devices:
        for session in device.sessions:
            peer = peer_of(facts, device, session)
            if peer is not None and session.interface:
                found |= _unnumbered(facts, device, session, peer)
                continue
            if peer is None or not _is_address(session.address):
                continue
            near = _near_end(facts, device, session)
            back = _back(facts, near, peer, device)
            there = interfaces_of(facts, peer).own.get(session.address, "")
            far = End(peer, back, there, session.address if there else "")
            key = frozenset((id(session), id(back)) if back is not None else (id(session),))
            multihop = is_loopback(far.interface)
            if key not in found:
                found[key] = Peering(near, far, multihop, _down(facts, near, session, far, multihop=multihop))
    return list(found.values())


def outside(facts: Facts) -> Iterator[tuple[Device, Session]]:
    """Sessions that may come up and whose other end is in no file."""
    for device in facts.devices:
        for session in device.sessions:
            if session.up and peer_of(facts, device, session) is None and not _beyond_links(facts, device, session):
                yield device, session


def _beyond_links(facts: Facts, device: Device, session: Session) -> bool:
    """Whether an external session of one hop is to an address that no link of the switch has: it never comes up, and
    brings no route (RFC 4271 section 5.1.3: such peers share a subnet).
    """
    if not _is_address(session.address) or ":" in session.address or session.interface:
        return False
    external = bool(session.asn) and bool(device.asn) and session.asn != device.asn
    one_hop = session.hops == 1 and not session.ttl_security
    return (
        external and one_hop and bool(device.addresses) and not interfaces_of(facts, device).facing(session.address)[0]
    )


def peer_of(facts: Facts, device: Device, session: Session) -> Device | None:
    """The other switch: by its name, by the owner of the address, or by the cable at the interface of that subnet."""
    peer = facts.network.devices.get(session.peer) or facts.owners.get(session.address)
    if peer is None and session.interface:
        peer = facts.network.devices.get(facts.across(device, session.interface)[0])
    if peer is None and _is_address(session.address):
        interface = interfaces_of(facts, device).facing(session.address)[0]
        end = facts.peers.get((device.name, interface))
        peer = None if end is None else facts.network.devices.get(end[0])
    return None if peer is device else peer


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _unnumbered(facts: Facts, device: Device, session: Session, peer: Device) -> dict[frozenset[int], Peering]:
    """The session over the link of an interface: both ends name their own interface (RFC 4861, RFC 8950)."""
    there = facts.across(device, session.interface)[1]
    back = next((it for it in peer.sessions if it.interface == there), None)
    near, far = End(device, session, session.interface), End(peer, back, there)
    key = frozenset((id(session), id(back)) if back is not None else (id(session),))
    down = None
    if back is None:
        text = f"{peer.name} has no session at {there}"
        down = Cause(text, (place(device, session.where),))
    return {key: Peering(near, far, False, down or _misfit(facts, near, far, multihop=False))}


def _near_end(facts: Facts, device: Device, session: Session) -> End:
    interface, address = interfaces_of(facts, device).facing(session.address)
    owner = facts.owners.get(session.address)
    if not interface and owner is not None and is_loopback(interfaces_of(facts, owner).own.get(session.address, "")):
        loopbacks = [(name, texts[0]) for name, texts in device.addresses.items() if is_loopback(name)]
        for name, text in loopbacks[:1]:
            interface, address = name, str(interface_of(text).ip)
    return End(device, session, interface, address)


def _back(facts: Facts, near: End, peer: Device, device: Device) -> Session | None:
    """The peer's session to this end: to its address; where that is unknown, to any address of the switch."""
    exact = next((it for it in peer.sessions if it.address == near.address), None)
    if exact is not None:
        return exact
    own = interfaces_of(facts, device).own
    near_loopback = is_loopback(near.interface)
    some = [it for it in peer.sessions if it.address in own and (near_loopback or not near.interface)]
    return next(iter(some), None)


def _down(facts: Facts, near: End, session: Session, far: End, *, multihop: bool) -> Cause | None:
    """The first reason why a session stays down."""
    device, peer = near.device, far.device
    here = place(device, session.where)
    if not near.interface and device.addresses:
        text = f"{device.name} has no address in the subnet of its neighbour {session.address}"
        return Cause(text, (here,))
    if not far.interface and peer.addresses:
        return Cause(f"{peer.name} does not have the address {session.address}", (here,))
    if far.session is None:
        return Cause(f"{peer.name} has no neighbour {near.address or device.name}", (here,))
    return _misfit(facts, near, far, multihop=multihop)


def _misfit(facts: Facts, near: End, far: End, *, multihop: bool) -> Cause | None:
    """What the two ends do not agree on."""
    for end, its, other in ((near, near.session, far), (far, far.session, near)):
        if its is None:
            continue
        at = place(end.device, its.where)
        if end.device.identity.no_routing:
            here = place(end.device, end.device.identity.no_routing.where)
            return Cause(
                f"{end.device.name} does not route: 'ip routing' is missing, and BGP installs no route", (here,)
            )
        if not its.up:
            return Cause(f"{end.device.name} has it shut", (place(end.device, its.at("shutdown")),))
        seen = other.device.asn if other.session is None else other.session.local_as.value or other.device.asn
        number = place(end.device, its.at("remote-as"))
        if its.asn and seen and its.asn != seen:
            return Cause(
                f"{end.device.name} expects AS {its.asn}, {other.device.name} has {seen}",
                (number, place(other.device, other.device.identity.asn_where)),
            )
        if its.external and seen and seen == end.device.asn:
            text = f"{end.device.name} expects another AS than its own {seen}, which {other.device.name} has"
            return Cause(text, (number, place(other.device, other.device.identity.asn_where)))
        if (cause := _out_of_range(end, other)) is not None:
            return cause
        if multihop and its.hops == 1 and its.asn and its.asn != end.device.asn:
            text = f"{end.device.name} allows its external session one hop, and {its.address} is a loopback"
            return Cause(text, (at,))
        if other.session is not None and its.password and not other.session.password:
            text = f"{end.device.name} has a password for it, {other.device.name} has none"
            return Cause(text, (at, place(other.device, other.session.where)))
        if other.session is not None and its.passive and other.session.passive:
            text = f"{end.device.name} and {other.device.name} wait for each other: neither opens it"
            return Cause(text, (at, place(other.device, other.session.where)))
        if its.hold_s in REFUSED_HOLD_S:
            return Cause(f"{end.device.name} offers a hold time of {its.hold_s} s, which peers refuse", (at,))
        if not multihop and (cause := _cable_down(facts, end, other)) is not None:
            return cause
        if multihop and (cause := without_route(facts, end, other)) is not None:
            return cause
    return None


def without_route(facts: Facts, end: End, other: End) -> Cause | None:
    """The interior protocol does not lead from a loopback to the other end's, and this switch has no other routes."""
    routing, device, far = interior_of(facts), end.device, other.device
    if not other.address or ":" in other.address or routing.reaches(device, other.address) is not False:
        return None
    if device.routes or any(_brings_routes(facts, it) for it in device.sessions):
        return None
    protocol = "" if device.identity.interior is None else device.identity.interior.protocol
    why = "" if routing.announces(far, other.address) else f", which does not put it into {protocol}"
    text = f"{device.name} has no route of {protocol} to {other.address} of {far.name}{why}"
    return Cause(text, tuple(place(facts.network.devices[name], where) for name, where in routing.broken(device, far)))


def _brings_routes(facts: Facts, session: Session) -> bool:
    """Whether a session of the default VRF could bring routes to loopbacks: it is to an address of a link."""
    if session.vrf or not session.up or (session.families is not None and "ipv4" not in session.families):
        return False
    peer = facts.owners.get(session.address)
    return bool(session.interface) or peer is None or not is_loopback(interfaces_of(facts, peer).own[session.address])


def _out_of_range(end: End, other: End) -> Cause | None:
    """TTL security at this end of an external session, and not at the other, whose packets have a small TTL."""
    its, back = end.session, other.session
    if its is None or back is None or not its.ttl_security or back.ttl_security or not needs_ttl(back, other.device):
        return None
    text = f"{end.device.name} has TTL security for it, {other.device.name} has not"
    return Cause(text, (place(end.device, its.ttl_security.where), place(other.device, back.where)))


def needs_ttl(session: Session, device: Device) -> bool:
    """Whether packets of a session start with a TTL below 255: external ones of few hops (RFC 5082 section 2.1)."""
    return session.asn != device.asn and session.hops not in {None, MAX_TTL}


MAX_TTL: Final = 255


def _cable_down(facts: Facts, end: End, other: End) -> Cause | None:
    """Ports of an interface that are shut, or lead to another switch."""
    device = end.device
    if (shut := device.identity.shut.get(end.interface)) is not None and "." in end.interface:
        return Cause(f"{device.name}:{end.interface} is shut", (place(device, shut.where),))
    ports = [it for it in device.ports.values() if end.interface in (it.name, it.lag)]
    if ports and not any(port.admin_up for port in ports):
        return Cause(f"{device.name}:{end.interface} is shut", (place(device, ports[0].where),))
    for port in ports:
        far = facts.peers.get((device.name, port.name))
        if far is not None and far[0] != other.device.name:
            at = [place(device, port.where)]
            if other.device.name not in facts.linked and other.device.name_where:
                at.append(place(other.device, other.device.name_where))  # its links may be those of another name
            return Cause(f"the cable of {device.name}:{port.name} leads to {far[0]}", tuple(at))
    return None

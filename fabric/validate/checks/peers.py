"""P: neighbours as peers: addresses of a link, BGP sessions, the two switches of an MC-LAG or a dual-ToR rack."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_interface
from typing import Final

from fabric.configs.model import Device, Session
from fabric.validate.checks.base import Check, E, Evidence, Found, W, check, listed, shows
from fabric.validate.facts import Facts, Line


def _networks(line: Line) -> dict[int, set[str]]:
    """IP version to the networks of a port or its LAG; link-local ones say nothing."""
    found: dict[int, set[str]] = {}
    for name in (line.port.name, line.port.lag or ""):
        for text in line.device.addresses.get(name, ()):
            address = ip_interface(text)
            if not address.ip.is_link_local:
                found.setdefault(address.version, set()).add(text)
    return found


@check("P1", E, "the two ends of a link are in different subnets",
       condition="where both ends have addresses of one IP version, some pair shares its network and differs; "
       "where one end has addresses, both do (warn)",
       consequence="neighbours never resolve: no BGP session, no traffic over this link",
       remedy="number both ends out of one /31 or /127", source="RFC 3021; RFC 7938 section 5.2.3")
def P1(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Ports and LAGs of links between switches."""
    for wire in facts.wires:
        a, b = _networks(wire.a), _networks(wire.b)
        if bool(a) != bool(b) and all(line.device.addresses for line in (wire.a, wire.b)):
            line = wire.b if a else wire.a
            yield Found(line.device.name, str(wire), f"{line} has no address, its peer has", (
                shows(line.device, line.port.where, "", ""),), W)
        for version in sorted(a.keys() & b.keys()):
            ours, theirs = (list(map(ip_interface, sorted(it[version]))) for it in (a, b))
            if not any(x.network == y.network and x.ip != y.ip for x in ours for y in theirs):
                yield Found(wire.a.device.name, str(wire), f"{', '.join(map(str, ours))} here, "
                            f"{', '.join(map(str, theirs))} there", tuple(
                                shows(line.device, _where(line), "", ", ".join(map(str, found)), f"{line} address")
                                for line, found in ((wire.a, ours), (wire.b, theirs))))


def _where(line: Line) -> tuple[str, ...]:
    for name in (line.port.name, line.port.lag or ""):
        for text in line.device.addresses.get(name, ()):
            return ("PORTCHANNEL_INTERFACE" if name == line.port.lag else "INTERFACE", f"{name}|{text}")
    return line.port.where


def _sessions(facts: Facts) -> Iterator[tuple[Device, Session, Device]]:
    """Every session that is up and whose peer was given: by name, or by who owns its address."""
    owner = {str(ip_interface(text).ip): device for device in facts.devices
             for texts in device.addresses.values() for text in texts}
    for device in facts.devices:
        for session in device.sessions:
            peer = facts.network.devices.get(session.peer) or owner.get(session.address)
            if session.up and peer is not None and peer is not device:
                yield device, session, peer


def _evidence(device: Device, session: Session, field: str, value: str) -> Evidence:
    return shows(device, session.where, field, value)


@check("P2", E, "the neighbour has another AS number", condition="BGP_NEIGHBOR.asn is the peer's own bgp_asn",
       consequence="the session stays down (bad peer AS): this link carries no routes",
       remedy="correct the number at one end", source="RFC 4271 section 6.2 (OPEN error, bad peer AS)")
def P2(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Where both numbers are in the files."""
    for device, session, peer in _sessions(facts):
        if session.asn and peer.asn and session.asn != peer.asn:
            yield Found(device.name, f"BGP_NEIGHBOR|{session.address}", f"AS {session.asn} is expected, {peer.name} "
                        f"has {peer.asn}", (_evidence(device, session, "asn", session.asn),
                                        shows(peer, ("DEVICE_METADATA", "localhost"), "bgp_asn", peer.asn)))


@check("P3", E, "a BGP session is configured at one end only", condition="whoever names a neighbour is named by it",
       consequence="the session stays down: its link carries no routes, the others carry more than planned",
       remedy="add the neighbour at the other end", source="RFC 4271 section 8.2.1 (unknown peers are refused)")
def P3(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """By pairs of switches, and by address where both ends have one; a warning where a peer's file has no session."""
    found = list(_sessions(facts))
    ends = {(device.name, session.local_address, session.address) for device, session, _ in found}
    pairs = {(device.name, peer.name) for device, _, peer in found}
    for device, session, peer in found:
        one_way = (peer.name, device.name) not in pairs
        by_address = session.local_address and any(
            other.local_address for other in peer.sessions) and not any(
            name == peer.name and there == session.local_address for name, _, there in ends)
        if one_way or by_address:
            yield Found(device.name, f"BGP_NEIGHBOR|{session.address}", f"{peer.name} has no session back to "
                        f"{device.name}" + (f" at {session.local_address}" if session.local_address else ""),
                        (_evidence(device, session, "name", session.peer or session.address),),
                        E if peer.sessions else W)


@check("P4", W, "the peer link of an MC-LAG is not lossless",
       condition="the members of the peer link have PFC on the priorities of the switch's other ports",
       consequence="when a host's link fails its RoCE takes the peer link, and is dropped there",
       remedy="give the peer link the same maps, PFC and headroom",
       source="SONiC HLD MCLAG (traffic over the peer link after a failure)")
def P4(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Against what most lossless ports of the switch have."""
    for device in facts.devices:
        members = [port for port in device.ports.values() if device.peer_link and device.peer_link in {
            port.name, port.lag or ""} and port.admin_up]
        wanted = {priority for line in facts.lossless_of(device) for priority in line.port.lossless
                  if line.port not in members}
        for port in members:
            missing = wanted - port.lossless
            if missing:
                yield Found(device.name, port.name, f"peer link {device.peer_link} has no PFC on "
                            f"{listed(missing)}",
                            (shows(device, device.peer_where, "peer_link", device.peer_link),
                             shows(device, port.qos_where or port.where, "pfc_enable",
                                   listed(port.lossless))))


@check("P5", E, "what a standby ToR sends back up shares the class of what comes down",
       condition="a dual-ToR pair with lossless classes has tunnel_qos_remap enabled",
       consequence="packets for a server go down to the standby ToR, up again and down to the active one: pauses close "
       "a circle over both ToRs and a spine, and stay",
       remedy="enable tunnel_qos_remap, with lossless classes of its own",
       source="SONiC HLD tunnel_dscp_remapping; Hu et al., HotNets 2016")
def P5(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Once per switch with mux cables whose uplinks are lossless; a warning where the file is silent about it."""
    for device in facts.devices:
        uplinks = [line for line in facts.lossless_of(device) if not facts.faces_host(line)
                   and line.port.name not in device.mux_ports]
        if device.mux_ports and uplinks and not device.bounce_remap:
            yield Found(device.name, "MUX_CABLE", f"{len(device.mux_ports)} servers with two ToRs, and no "
                        "tunnel_qos_remap", (shows(device, device.mux_where, "", ""),),
                        W if device.bounce_remap is None else E)


CHECKS: Final[tuple[Check, ...]] = (P1, P2, P3, P4, P5)

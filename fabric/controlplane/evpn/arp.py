"""ARP and IPv6 neighbour discovery at a VTEP: the suppression rules of the Linux bridge.

For a frame from an access port, with suppression on (br_do_proxy_suppress_arp, br_do_suppress_nd):

1. A unicast request is forwarded even if the target is known (kernels from 6.15; older ones answer locally).
2. Gratuitous ARP, probes from 0.0.0.0, unsolicited advertisements and duplicate address detection never enter a tunnel.
3. A request for the gateway's address is answered by the gateway and enters no tunnel (RFC 9135 section 4.1).
4. A request for a known binding whose MAC is behind a tunnel is answered with that MAC and enters no tunnel. If the MAC
   is behind an access port, the host answers, and the request enters no tunnel either.
5. Everything else is flooded: RARP, unknown targets, loopback and multicast targets.

Broadcast frames always go to the other access ports too. Suppression is a property of the VXLAN port: a frame from a
tunnel goes to access ports only (split horizon), and is not answered.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from ipaddress import ip_address
from typing import Final

from fabric.controlplane.evpn.addresses import BROADCAST_MAC, is_group
from fabric.controlplane.evpn.mac import MacKind
from fabric.controlplane.evpn.vni import VniTable

VXLAN_PORT: Final = ""
"""Ingress 'port' of a frame from a tunnel."""


class Operation(IntEnum):
    """ar$op of RFC 826 and RFC 903."""

    REQUEST = 1
    REPLY = 2
    RARP_REQUEST = 3
    RARP_REPLY = 4


@dataclass(frozen=True, slots=True)
class ArpPacket:
    """An ARP packet for IPv4 over Ethernet; addresses as text."""

    operation: Operation
    sender_mac: str
    sender_ip: str
    target_mac: str
    target_ip: str
    ethernet_destination: str = BROADCAST_MAC

    @property
    def is_gratuitous(self) -> bool:
        """RFC 5227 section 3: an announcement with equal sender and target address; request or reply."""
        return self.operation in {Operation.REQUEST, Operation.REPLY} and self.sender_ip == self.target_ip


class NdType(IntEnum):
    """ICMPv6 types of RFC 4861 section 4."""

    NEIGHBOR_SOLICITATION = 135
    NEIGHBOR_ADVERTISEMENT = 136


@dataclass(frozen=True, slots=True)
class NdPacket:
    """A neighbour solicitation or advertisement (RFC 4861 sections 4.3 and 4.4)."""

    type: NdType
    source_ip: str
    destination_ip: str
    target_ip: str
    ethernet_source: str
    ethernet_destination: str
    solicited: bool = False
    """S flag of an advertisement."""
    router: bool = False
    """R flag of an advertisement."""

    @property
    def is_gratuitous(self) -> bool:
        """An unsolicited advertisement (RFC 4861 section 7.2.6)."""
        return self.type is NdType.NEIGHBOR_ADVERTISEMENT and not self.solicited


class Reason(StrEnum):
    """Reason for the treatment of a packet."""

    PROXIED = "known binding behind a tunnel: answered here"
    GATEWAY = "request for the gateway of this switch: answered here"
    LOCAL_TARGET = "known binding behind an access port: the host answers"
    GRATUITOUS = "gratuitous: never crosses"
    PROBE = "probe without a sender address: never crosses"
    UNKNOWN_TARGET = "unknown binding: flooded"
    NOT_A_REQUEST = "no request for an address: flooded"
    SPECIAL_TARGET = "loopback or multicast target: flooded"
    SUPPRESSION_OFF = "suppression is off: flooded"
    FROM_TUNNEL = "came out of a tunnel: to access ports only"
    UNICAST_KNOWN = "unicast to a known MAC: forwarded"
    UNICAST_UNKNOWN = "unicast to an unknown MAC: flooded"
    UNICAST_HAIRPIN = "unicast to where it came from: dropped"
    TO_GATEWAY = "unicast to the gateway's MAC: received by the gateway"


@dataclass(frozen=True, slots=True)
class Reply:
    """An ARP reply or neighbour advertisement that the switch sends out of the ingress port of the request."""

    ip: str
    mac: str
    """Of the binding, and Ethernet source of the reply."""
    to_mac: str
    to_ip: str
    router: bool = False
    """R flag of the advertisement."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Treatment of a packet. Without reply, ports and VTEPs: dropped."""

    reason: Reason
    reply: Reply | None = None
    ports: tuple[str, ...] = ()
    """Access ports to which the frame is sent."""
    vteps: tuple[str, ...] = ()
    """VTEPs to which a copy is sent."""


def decide(table: VniTable, packet: ArpPacket | NdPacket, port: str, *, proxy_unicast: bool = False) -> Decision:
    """Decide the treatment of `packet` from `port` (VXLAN_PORT: from a tunnel), and count it.

    proxy_unicast: answer unicast requests too (Linux before 6.15).
    """
    unicast = not is_group(packet.ethernet_destination)
    verdict = _suppress(table, packet, port, proxy_unicast=proxy_unicast)
    if verdict is not None:
        reason, reply = verdict
        if reply is not None:
            table.arp.proxied += 1
        else:
            table.arp.suppressed += 1
        # The bridge floods an answered broadcast request to the other access ports; it forwards a unicast request.
        if not unicast:
            return Decision(reason, reply, _other_ports(table, port))
        forwarded = _forward(table, packet.ethernet_destination, port)
        return Decision(reason, reply, forwarded.ports)
    if unicast:
        return _count_flood(table, _forward(table, packet.ethernet_destination, port))
    if port == VXLAN_PORT:
        return Decision(Reason.FROM_TUNNEL, None, tuple(table.ports))
    return _count_flood(
        table, Decision(_why_flooded(table, packet), None, _other_ports(table, port), table.flood_vteps())
    )


def _suppress(
    table: VniTable, packet: ArpPacket | NdPacket, port: str, *, proxy_unicast: bool
) -> tuple[Reason, Reply | None] | None:
    """None: forward the packet like any frame. Else it enters no tunnel."""
    from_tunnel = port == VXLAN_PORT
    question = _question(packet)
    if question is not None and not from_tunnel and table.gateway is not None and question == str(table.gateway.ip):
        return Reason.GATEWAY, _reply(table, packet, question, table.config.gateway_mac, router=True)  # rule 3
    if not table.suppression or from_tunnel or (isinstance(packet, ArpPacket) and _is_special(packet.target_ip)):
        return None
    if question is not None and not is_group(packet.ethernet_destination) and not proxy_unicast:
        return None  # rule 1
    if _is_rarp(packet):
        return None  # rule 5
    if packet.is_gratuitous:
        return Reason.GRATUITOUS, None  # rule 2
    if _is_probe(packet):
        return Reason.PROBE, None
    neighbor = None if question is None else table.neighbors.get(question)
    where = None if neighbor is None else table.where(neighbor.mac)
    if question is None or neighbor is None or where is None:
        return None  # rule 5
    if where.kind is MacKind.LOCAL:
        return Reason.LOCAL_TARGET, None  # rule 4
    return Reason.PROXIED, _reply(table, packet, question, neighbor.mac, router=neighbor.router)


def _question(packet: ArpPacket | NdPacket) -> str | None:
    """The target address of a request; None for other packets."""
    if isinstance(packet, ArpPacket):
        return packet.target_ip if packet.operation is Operation.REQUEST else None
    return packet.target_ip if packet.type is NdType.NEIGHBOR_SOLICITATION else None


def _is_rarp(packet: ArpPacket | NdPacket) -> bool:
    return isinstance(packet, ArpPacket) and packet.operation in {Operation.RARP_REQUEST, Operation.RARP_REPLY}


def _is_probe(packet: ArpPacket | NdPacket) -> bool:
    """RFC 5227 section 2.1.1 (sender in 0.0.0.0/8, as the kernel has it); RFC 4862 section 5.4.2."""
    if isinstance(packet, ArpPacket):
        return packet.sender_ip.startswith("0.")
    if packet.type is not NdType.NEIGHBOR_SOLICITATION:
        return False
    return packet.source_ip in {"::", packet.destination_ip}


def _is_special(ip: str) -> bool:
    address = ip_address(ip)
    return address.is_loopback or address.is_multicast


def _reply(table: VniTable, packet: ArpPacket | NdPacket, ip: str, mac: str, *, router: bool) -> Reply:
    if isinstance(packet, ArpPacket):
        return Reply(ip, mac, packet.sender_mac, packet.sender_ip)
    return Reply(ip, mac, packet.ethernet_source, packet.source_ip, router and table.suppression)


def _why_flooded(table: VniTable, packet: ArpPacket | NdPacket) -> Reason:
    if not table.suppression:
        return Reason.SUPPRESSION_OFF
    if _question(packet) is None:
        return Reason.NOT_A_REQUEST
    if isinstance(packet, ArpPacket) and _is_special(packet.target_ip):
        return Reason.SPECIAL_TARGET
    return Reason.UNKNOWN_TARGET


def _forward(table: VniTable, mac: str, port: str) -> Decision:
    """Forward a unicast frame by the MAC table; flood it if the MAC is unknown."""
    if mac == table.config.gateway_mac:
        return Decision(Reason.TO_GATEWAY)
    where = table.where(mac)
    if where is None:
        return Decision(
            Reason.UNICAST_UNKNOWN, None, _other_ports(table, port), () if port == VXLAN_PORT else table.flood_vteps()
        )
    if where.kind is MacKind.LOCAL:
        if where.port == port:
            return Decision(Reason.UNICAST_HAIRPIN)
        return Decision(Reason.UNICAST_KNOWN, None, (where.port,))
    if port == VXLAN_PORT:  # split horizon, RFC 8365 section 7.3.1 by analogy: one tunnel port
        return Decision(Reason.UNICAST_HAIRPIN)
    return Decision(Reason.UNICAST_KNOWN, None, (), (where.vtep,))


def _other_ports(table: VniTable, port: str) -> tuple[str, ...]:
    return tuple(other for other in table.ports if other != port)


def _count_flood(table: VniTable, decision: Decision) -> Decision:
    if decision.vteps and decision.reason is not Reason.UNICAST_KNOWN:
        table.arp.flooded += 1
        table.arp.flooded_copies += len(decision.vteps)
    return decision

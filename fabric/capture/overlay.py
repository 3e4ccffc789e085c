"""Frames of the overlay as bytes, made by scapy: ARP, neighbour discovery, and anything in VXLAN (RFC 7348).

What a VTEP decides is in fabric/overlay/arp.py; this is what the packets of its questions and answers look like on a
wire.
"""

from __future__ import annotations

import zlib
from typing import Final

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6NDOptDstLLAddr, ICMPv6NDOptSrcLLAddr, IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw

from fabric.overlay.arp import ArpPacket, NdPacket, NdType, Operation, Reply

VXLAN_PORT: Final = 4789
ALL_NODES: Final = "ff02::1"
_FIRST_ENTROPY_PORT: Final = 49152
_ND_HOPS: Final = 255
"""RFC 4861 section 7.1: what comes from farther away has less."""
_OUTER_TTL: Final = 64


def arp_frame(packet: ArpPacket) -> bytes:
    """An ARP or RARP packet in its Ethernet frame, without padding and FCS."""
    rarp = packet.operation in {Operation.RARP_REQUEST, Operation.RARP_REPLY}
    head = Ether(src=packet.sender_mac, dst=packet.ethernet_destination, type=0x8035 if rarp else 0x0806)
    return bytes(head / ARP(op=int(packet.operation), hwsrc=packet.sender_mac, psrc=packet.sender_ip,
                            hwdst=packet.target_mac, pdst=packet.target_ip))


def nd_frame(packet: NdPacket) -> bytes:
    """A neighbour solicitation or advertisement in its Ethernet frame. A probe carries no address option."""
    head = Ether(src=packet.ethernet_source, dst=packet.ethernet_destination)
    ip = IPv6(src=packet.source_ip, dst=packet.destination_ip, hlim=_ND_HOPS)
    message: Packet
    if packet.type is NdType.NEIGHBOR_ADVERTISEMENT:
        message = ICMPv6ND_NA(tgt=packet.target_ip, R=int(packet.router), S=int(packet.solicited), O=1) \
            / ICMPv6NDOptDstLLAddr(lladdr=packet.ethernet_source)
    else:
        message = ICMPv6ND_NS(tgt=packet.target_ip)
        if packet.source_ip != "::":             # RFC 4861 section 4.3
            message /= ICMPv6NDOptSrcLLAddr(lladdr=packet.ethernet_source)
    return bytes(head / ip / message)


def reply_frame(reply: Reply) -> bytes:
    """The switch's own answer to a suppressed question; the binding's MAC is its Ethernet source, as in Linux."""
    if ":" not in reply.ip:
        return arp_frame(ArpPacket(Operation.REPLY, reply.mac, reply.ip, reply.to_mac, reply.to_ip, reply.to_mac))
    return nd_frame(NdPacket(NdType.NEIGHBOR_ADVERTISEMENT, reply.ip, reply.to_ip, reply.ip, reply.mac, reply.to_mac,
                             solicited=True, router=reply.router))


def entropy_port(inner: bytes) -> int:
    """Outer UDP source port, 49152 to 65535, from the inner Ethernet header and what identifies a flow behind it.

    RFC 7348 section 5 leaves the hash open; this one is CRC-32 over the first 38 bytes: MACs, type, and for IPv4
    addresses and ports.
    """
    return _FIRST_ENTROPY_PORT | zlib.crc32(inner[:38]) & 0x3FFF


def vxlan_frame(inner: bytes, vni: int, ends: tuple[str, str], macs: tuple[str, str], *, source_port: int | None = None,
                dscp: int = 0, ecn: int = 0) -> bytes:
    """`inner`, an Ethernet frame, as it crosses one cable of the underlay.

    Parameters
    ----------
    vni : int                 of the outer VXLAN header
    ends : (str, str)         addresses of the ingress and the egress VTEP
    macs : (str, str)         source and destination MAC on this cable
    source_port : int         None: entropy_port(inner)
    dscp, ecn : int           of the outer IP header; RFC 6040 says what ECN they are

    Source: RFC 7348 section 5: UDP checksum zero, I flag set, and no fragments.
    """
    port = entropy_port(inner) if source_port is None else source_port
    outer = IP(src=ends[0], dst=ends[1], ttl=_OUTER_TTL, tos=dscp << 2 | ecn, flags="DF", id=0) \
        / UDP(sport=port, dport=VXLAN_PORT, chksum=0) / VXLAN(vni=vni, flags=0x08)
    return bytes(Ether(src=macs[0], dst=macs[1]) / outer / Raw(inner))

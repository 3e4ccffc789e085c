"""Frames of the overlay: ARP, neighbour discovery, and any frame in VXLAN (RFC 7348), in the format of process.py.

fabric/controlplane/evpn/arp.py has the decisions of a VTEP; this module has the frames of requests and replies.
FrameBuilder encodes them.
"""

from __future__ import annotations

import zlib
from typing import Any, Final

from fabric.capture.process import Frame
from fabric.controlplane.evpn.arp import ArpPacket, NdPacket, NdType, Operation, Reply

VXLAN_PORT: Final = 4789
ALL_NODES: Final = "ff02::1"
_FIRST_ENTROPY_PORT: Final = 49152
_ND_HOPS: Final = 255
"""RFC 4861 section 7.1: a packet from beyond the link has a lower hop limit."""
_OUTER_TTL: Final = 64
_ARP_TYPE, _RARP_TYPE = 0x0806, 0x8035
"""EtherTypes of RFC 826 and RFC 903."""


def arp_frame(packet: ArpPacket) -> Frame:
    """An ARP or RARP packet in its Ethernet frame, without padding and FCS."""
    rarp = packet.operation in {Operation.RARP_REQUEST, Operation.RARP_REPLY}
    return {
        "ethernet": {
            "source": packet.sender_mac,
            "destination": packet.ethernet_destination,
            "type": _RARP_TYPE if rarp else _ARP_TYPE,
        },
        "arp": {
            "operation": int(packet.operation),
            "sender_mac": packet.sender_mac,
            "sender_ip": packet.sender_ip,
            "target_mac": packet.target_mac,
            "target_ip": packet.target_ip,
        },
    }


def nd_frame(packet: NdPacket) -> Frame:
    """A neighbour solicitation or advertisement in its Ethernet frame. A probe carries no address option."""
    head: dict[str, Any] = {
        "ethernet": {"source": packet.ethernet_source, "destination": packet.ethernet_destination},
        "ipv6": {"source": packet.source_ip, "destination": packet.destination_ip, "hop_limit": _ND_HOPS},
    }
    if packet.type is NdType.NEIGHBOR_ADVERTISEMENT:
        return head | {
            "neighbor_advertisement": {
                "target": packet.target_ip,
                "router": packet.router,
                "solicited": packet.solicited,
                "target_mac": packet.ethernet_source,
            }
        }
    probe = packet.source_ip == "::"  # RFC 4861 section 4.3
    option = {} if probe else {"source_mac": packet.ethernet_source}
    return head | {"neighbor_solicitation": {"target": packet.target_ip, **option}}


def reply_frame(reply: Reply) -> Frame:
    """The switch's answer to a suppressed request; its Ethernet source is the binding's MAC, as in Linux."""
    if ":" not in reply.ip:
        return arp_frame(ArpPacket(Operation.REPLY, reply.mac, reply.ip, reply.to_mac, reply.to_ip, reply.to_mac))
    return nd_frame(
        NdPacket(
            NdType.NEIGHBOR_ADVERTISEMENT,
            reply.ip,
            reply.to_ip,
            reply.ip,
            reply.mac,
            reply.to_mac,
            solicited=True,
            router=reply.router,
        )
    )


def entropy_port(inner: bytes) -> int:
    """Outer UDP source port, 49152 to 65535, from the inner Ethernet header and the flow fields after it.

    RFC 7348 section 5 leaves the hash open; this one is CRC-32 over the first 38 bytes: MACs, type, and for IPv4
    addresses and ports.
    """
    return _FIRST_ENTROPY_PORT | zlib.crc32(inner[:38]) & 0x3FFF


def vxlan_frame(
    inner: bytes,
    vni: int,
    ends: tuple[str, str],
    macs: tuple[str, str],
    *,
    source_port: int | None = None,
    dscp: int = 0,
    ecn: int = 0,
) -> Frame:
    """The Ethernet frame `inner` in VXLAN, on one cable of the underlay.

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
    return {
        "ethernet": {"source": macs[0], "destination": macs[1]},
        "ipv4": {
            "source": ends[0],
            "destination": ends[1],
            "ttl": _OUTER_TTL,
            "dscp": dscp,
            "ecn": ecn,
            "dont_fragment": True,
        },
        "udp": {"source_port": port, "destination_port": VXLAN_PORT, "checksum": 0},
        "vxlan": {"vni": vni},
        "payload": inner.hex(),
    }

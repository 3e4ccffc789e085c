"""Path attributes of EVPN: extended communities and PMSI tunnel. Encoding, decoding and text.

    0x00 0x02, 0x01 0x02, 0x02 0x02   route target: 2-byte AS, IPv4 address, 4-byte AS      RFC 4360, RFC 5668
    0x03 0x0c                         encapsulation, 8 is VXLAN                             RFC 9012 section 4.1
    0x03 0x0d                         default gateway                                       RFC 7432 section 10.1
    0x06 0x00                         MAC mobility: flags (1: sticky), sequence number      RFC 7432 section 7.7
    0x06 0x03                         router's MAC                                          RFC 9135 section 8.1
    0x06 0x08                         ARP/ND: flags (1: router, 2: override)                RFC 9047 section 2

A route's communities are written in FRR's order: encapsulation, targets, mobility, router's MAC, default gateway, ND.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from fabric.controlplane.bgp.attributes import Attributes
from fabric.controlplane.bgp.errors import UpdateError
from fabric.controlplane.evpn.addresses import ip_packed, ip_text, mac_packed, mac_text
from fabric.wire.iana import UpdateErrorCode

VXLAN: Final = 8
"""Tunnel type, IANA registry "BGP Tunnel Encapsulation Attribute Tunnel Types"."""
ENCAPSULATION_VXLAN: Final = b"\x03\x0c" + bytes(4) + VXLAN.to_bytes(2, "big")
DEFAULT_GATEWAY: Final = b"\x03\x0d" + bytes(6)
INGRESS_REPLICATION: Final = 6
"""PMSI tunnel type, RFC 6514 section 5."""
MAX_SEQUENCE: Final = 0xFFFF_FFFF
"""Highest MAC mobility sequence. No standard defines a successor: it stays, and the lower VTEP address wins."""
ND_ROUTER: Final = 1
ND_OVERRIDE: Final = 2
_TARGETS: Final = frozenset({b"\x00\x02", b"\x01\x02", b"\x02\x02"})
_MOBILITY: Final = b"\x06\x00"


def mobility(sequence: int, *, sticky: bool = False) -> bytes:
    """MAC mobility community. A route without one has sequence 0 and is not sticky."""
    return _MOBILITY + bytes([int(sticky), 0]) + sequence.to_bytes(4, "big")


def router_mac(mac: str) -> bytes:
    """Router's MAC community: inner destination of packets routed through the L3 VNI."""
    return b"\x06\x03" + mac_packed(mac)


def nd_flags(flags: int) -> bytes:
    """ARP/ND community: ND_ROUTER | ND_OVERRIDE."""
    return b"\x06\x08" + bytes([flags]) + bytes(5)


def is_target(community: bytes) -> bool:
    """True for a route target of any of the three types."""
    return community[:2] in _TARGETS


@dataclass(frozen=True, slots=True)
class Facts:
    """Content of a route's extended communities."""

    targets: tuple[bytes, ...] = ()
    encapsulation: int | None = None
    sequence: int = 0
    sticky: bool = False
    router_mac: str = ""
    default_gateway: bool = False
    nd_flags: int = 0


NO_FACTS: Final = Facts()


def read(communities: tuple[bytes, ...]) -> Facts:
    """Decode a route's communities. Of several sequence numbers the highest counts, else the first community."""
    targets = tuple(community for community in communities if community[:2] in _TARGETS)
    encapsulation, sequence, sticky, mac, gateway, flags = None, 0, False, "", False, 0
    for community in communities:
        kind = community[:2]
        if kind == b"\x03\x0c" and encapsulation is None:
            encapsulation = int.from_bytes(community[6:], "big")
        elif kind == _MOBILITY:
            sequence = max(sequence, int.from_bytes(community[4:], "big"))
            sticky = sticky or bool(community[2] & 1)
        elif kind == b"\x06\x03" and not mac:
            mac = mac_text(community[2:])
        elif kind == b"\x03\x0d":
            gateway = True
        elif kind == b"\x06\x08":
            flags |= community[2]
    return Facts(targets, encapsulation, sequence, sticky, mac, gateway, flags)


def mobility_rank(attributes: Attributes) -> tuple[int, ...]:
    """Preference before weight, lower first: a sticky MAC, then the higher sequence (RFC 7432 sections 15 and 15.2)."""
    for community in attributes.ext_communities:
        if community[:2] == _MOBILITY:
            return int(not community[2] & 1), -int.from_bytes(community[4:], "big")
    return 1, 0


def communities(facts: Facts) -> tuple[bytes, ...]:
    """Extended communities of a route that this router originates, in FRR's order. The inverse of read()."""
    made = [] if facts.encapsulation is None else [b"\x03\x0c" + bytes(4) + facts.encapsulation.to_bytes(2, "big")]
    made += facts.targets
    if facts.sequence or facts.sticky:
        made.append(mobility(facts.sequence, sticky=facts.sticky))
    if facts.router_mac:
        made.append(router_mac(facts.router_mac))
    if facts.default_gateway:
        made.append(DEFAULT_GATEWAY)
    if facts.nd_flags:
        made.append(nd_flags(facts.nd_flags))
    return tuple(made)


def target_text(community: bytes) -> str:
    """'65101:10100', '10.0.0.1:5'."""
    if community[0] == 0:
        return f"{int.from_bytes(community[2:4], 'big')}:{int.from_bytes(community[4:], 'big')}"
    head = ip_text(community[2:6]) if community[0] == 1 else str(int.from_bytes(community[2:6], "big"))
    return f"{head}:{int.from_bytes(community[6:], 'big')}"


def community_text(community: bytes) -> str:
    """As FRR prints it: 'ET:8', 'RT:65101:10100', 'MM:1', 'MM:0, sticky MAC', 'Rmac:02:..', 'Default Gateway'."""
    kind = community[:2]
    if kind in _TARGETS:
        return f"RT:{target_text(community)}"
    if kind == b"\x03\x0c":
        return f"ET:{int.from_bytes(community[6:], 'big')}"
    if kind == _MOBILITY:
        sequence = int.from_bytes(community[4:], "big")
        return f"MM:{sequence}, sticky MAC" if community[2] & 1 else f"MM:{sequence}"
    if kind == b"\x06\x03":
        return f"Rmac:{mac_text(community[2:])}"
    if kind == b"\x03\x0d":
        return "Default Gateway"
    if kind == b"\x06\x08":
        names = [
            name
            for bit, name in ((ND_ROUTER, "ND:Router Flag"), (ND_OVERRIDE, "ND:Override Flag"))
            if community[2] & bit
        ]
        return ",".join(names)
    return f"UNK:{community[0]}, {community[1]}"


class PmsiTunnel(NamedTuple):
    """RFC 6514 section 5 with a VNI as label (RFC 8365 section 5.1.3)."""

    tunnel_type: int
    vni: int
    endpoint: str
    """Address of the VTEP for ingress replication; '' for other types."""
    flags: int = 0


def pmsi_ingress_replication(vni: int, vtep: str) -> bytes:
    """Value of the attribute of a Type-3 route."""
    return bytes([0, INGRESS_REPLICATION]) + vni.to_bytes(3, "big") + ip_packed(vtep)


def read_pmsi(value: bytes) -> PmsiTunnel:
    """Value of the attribute -> its fields. Raises UpdateError of severity withdraw (RFC 7606 section 2)."""
    if len(value) < 5 or (value[1] == INGRESS_REPLICATION and len(value) not in {9, 21}):
        raise UpdateError(UpdateErrorCode.OPTIONAL_ATTRIBUTE, f"PMSI tunnel of {len(value)} bytes", "withdraw", value)
    endpoint = ip_text(value[5:]) if value[1] == INGRESS_REPLICATION else ""
    return PmsiTunnel(value[1], int.from_bytes(value[2:5], "big"), endpoint, value[0])

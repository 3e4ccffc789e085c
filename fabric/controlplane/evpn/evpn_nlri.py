"""EVPN routes: key and payload, and their encoding (RFC 7432 section 7, RFC 9136).

1. An NLRI is type, length, value. A field that cannot be split, or a value with a wrong form for its known type, is
   malformed: session reset (RFC 7606 section 5.3).
2. Unknown types are skipped (RFC 7606 section 5.4). Types 1 and 4 are recognised and propagated without decoding.
3. Labels, ESI (type 2 and 5) and gateway address are not part of a route's identity (RFC 7432 sections 7.1 and 7.2, RFC
   9136 section 3.1); they form the `Payload` beside the key.
4. A label field is a VNI of 24 bits, not shifted (RFC 8365 section 5.1.3).
5. In a withdrawal the fields outside the key are zero, as FRR sends them; received values are ignored.

A key is a `bytes` object: type, then the value without rule 3's fields. Its hash is computed once, in C, and its parsed
view once, at creation. With interned keys each route of a fabric is parsed once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from enum import IntEnum
from ipaddress import ip_network
from typing import Final, NamedTuple

from fabric.controlplane.bgp.afi import AddressFamily, Block
from fabric.controlplane.bgp.errors import UpdateError
from fabric.controlplane.evpn.addresses import ip_packed, ip_text, mac_packed, mac_text
from fabric.controlplane.evpn.evpn_attributes import mobility_rank
from fabric.controlplane.evpn.rd import rd_text
from fabric.wire.iana import Afi, Safi, UpdateErrorCode

ZERO_ESI: Final = bytes(10)
_RD = slice(1, 9)


class RouteType(IntEnum):
    """RFC 7432 section 7, RFC 9136 section 3."""

    ETHERNET_AD = 1
    MAC_IP = 2
    INCLUSIVE_MULTICAST = 3
    ETHERNET_SEGMENT = 4
    IP_PREFIX = 5


class Payload(NamedTuple):
    """Fields of a route outside its key. Shared by all routes of a Block."""

    labels: tuple[int, ...] = ()
    """VNIs: L2 VNI, then with symmetric IRB the L3 VNI (RFC 9135 section 9.1.1)."""
    esi: bytes = ZERO_ESI
    gateway: bytes = b""
    """Packed gateway address of an IP prefix route, with the length of the prefix's family; all zero: none."""


class EvpnKey(bytes):
    """Key of an EVPN route, with its parsed view. Created by the functions below only.

    rd             packed, 8 bytes
    inner          the key without its route distinguisher: equal for one host seen by two VTEPs
    type           RouteType
    ethernet_tag   0 in the VLAN-based service (RFC 7432 section 6.1)
    mac, ip        text; '' if the route has none. Type 3: `ip` is the originator. Type 5: the network address
    prefix_len     of type 5; else 0
    """

    rd: bytes
    inner: bytes
    type: int
    ethernet_tag: int
    mac: str
    ip: str
    prefix_len: int

    def __new__(cls, key: bytes) -> EvpnKey:  # noqa: D102, PYI034  see the class; keys are not subclassed
        self = super().__new__(cls, key)
        self.type, self.rd, self.inner = key[0], key[_RD], key[:1] + key[9:]
        self.ethernet_tag, self.mac, self.ip, self.prefix_len = _VIEWS.get(key[0], _no_view)(key)
        return self

    @property
    def text(self) -> str:
        """As FRR writes it: '[2]:[0]:[48]:[02:00:00:65:01:01]:[32]:[172.16.101.11]'."""
        bits = 32 if "." in self.ip else 128
        if self.type == RouteType.MAC_IP:
            head = f"[2]:[{self.ethernet_tag}]:[48]:[{self.mac}]"
            return f"{head}:[{bits}]:[{self.ip}]" if self.ip else head
        if self.type == RouteType.INCLUSIVE_MULTICAST:
            return f"[3]:[{self.ethernet_tag}]:[{bits}]:[{self.ip}]"
        if self.type == RouteType.IP_PREFIX:
            return f"[5]:[{self.ethernet_tag}]:[{self.prefix_len}]:[{self.ip}]"
        return f"[{self.type}]:[{self.inner[1:].hex()}]"


def key_of(key: bytes) -> EvpnKey:
    """The same key with its view; an EvpnKey is returned unchanged."""
    return key if type(key) is EvpnKey else EvpnKey(key)


def mac_ip_key(rd: bytes, mac: str, ip: str = "", ethernet_tag: int = 0) -> EvpnKey:
    """Type 2. Raises ValueError for malformed addresses."""
    address = ip_packed(ip) if ip else b""
    return EvpnKey(
        b"\x02" + rd + ethernet_tag.to_bytes(4, "big") + b"\x30" + mac_packed(mac) + bytes([len(address) * 8]) + address
    )


def multicast_key(rd: bytes, originator: str, ethernet_tag: int = 0) -> EvpnKey:
    """Type 3: inclusive multicast, by which a VTEP joins flood lists."""
    address = ip_packed(originator)
    return EvpnKey(b"\x03" + rd + ethernet_tag.to_bytes(4, "big") + bytes([len(address) * 8]) + address)


def prefix_key(rd: bytes, network: str, prefix_len: int, ethernet_tag: int = 0) -> EvpnKey:
    """Type 5. The network address has full length, as on the wire. Raises ValueError if host bits are set."""
    address = ip_network((network, prefix_len)).network_address.packed
    return EvpnKey(b"\x05" + rd + ethernet_tag.to_bytes(4, "big") + bytes([prefix_len]) + address)


def decode_nlri(data: bytes, withdrawn: bool) -> tuple[Block, ...]:
    """Decode an NLRI field into blocks of one payload each, in order. Pure. Raises UpdateError of severity reset."""
    blocks: list[Block] = []
    keys: list[EvpnKey] = []
    payload: Payload | None = None
    at, end = 0, len(data)
    while at < end:
        after = at + 2 + data[at + 1] if at + 2 <= end else end + 1
        if after > end:
            raise _malformed("does not fit its field", data[at:])
        value = data[at + 2 : after]
        cut = _CUTTERS.get(data[at])
        if cut is not None:
            key, carried = cut(value)
            if withdrawn:
                carried = None
            if carried != payload and keys:
                blocks.append(Block(tuple(keys), payload))
                keys = []
            payload = carried
            keys.append(EvpnKey(key))
        at = after
    if keys:
        blocks.append(Block(tuple(keys), payload))
    return tuple(blocks)


def encode_nlri(keys: Sequence[bytes], payload: Hashable, withdrawn: bool) -> Sequence[bytes]:
    """One NLRI per key. `payload` is a Payload, or None for types 1, 3 and 4; ignored in withdrawals."""
    carried = payload if isinstance(payload, Payload) and not withdrawn else _NOTHING
    labels = b"".join(label.to_bytes(3, "big") for label in carried.labels) or _NO_LABEL
    encoded = []
    for key in keys:
        kind = key[0]
        if kind == RouteType.MAC_IP:
            value = key[_RD] + carried.esi + key[9:] + labels
        elif kind == RouteType.IP_PREFIX:
            value = key[_RD] + carried.esi + key[9:] + carried.gateway.rjust(len(key) - 14, b"\0") + labels[:3]
        elif kind == RouteType.ETHERNET_AD:
            value = key[1:] + labels[:3]
        else:
            value = key[1:]
        encoded.append(bytes([kind, len(value)]) + value)
    return encoded


_NOTHING: Final = Payload()
_NO_LABEL: Final = bytes(3)


def _malformed(what: str, data: bytes) -> UpdateError:
    return UpdateError(UpdateErrorCode.INVALID_NETWORK_FIELD, f"EVPN NLRI {what}", "reset", data)


def _labels(value: bytes) -> tuple[int, ...]:
    return tuple(int.from_bytes(value[at : at + 3], "big") for at in range(0, len(value), 3))


def _cut_mac_ip(value: bytes) -> tuple[bytes, Payload]:
    """RFC 7432 section 7.2: RD 8, ESI 10, tag 4, MAC length 1, MAC 6, IP length 1, IP 0|4|16, label 3, label 0|3."""
    if len(value) < 33 or value[22] != 48 or value[29] not in {0, 32, 128}:
        raise _malformed("of type 2 has a wrong MAC or IP length", value)
    labels_at = 30 + value[29] // 8
    if len(value) not in {labels_at + 3, labels_at + 6}:
        raise _malformed("of type 2 has a wrong length", value)
    return b"\x02" + value[:8] + value[18:labels_at], Payload(_labels(value[labels_at:]), value[8:18])


def _cut_multicast(value: bytes) -> tuple[bytes, None]:
    """RFC 7432 section 7.3: RD 8, tag 4, IP length 1, IP 4|16."""
    if (len(value), value[12] if len(value) > 12 else 0) not in {(17, 32), (29, 128)}:
        raise _malformed("of type 3 has a wrong length", value)
    return b"\x03" + value, None


def _cut_ip_prefix(value: bytes) -> tuple[bytes, Payload]:
    """RFC 9136 section 3.1: RD 8, ESI 10, tag 4, prefix length 1, prefix 4|16, gateway 4|16, label 3."""
    size = {34: 4, 58: 16}.get(len(value))
    if size is None or value[22] > size * 8:
        raise _malformed("of type 5 has a wrong length", value)
    bits, host = value[22], size * 8 - value[22]
    network = (int.from_bytes(value[23 : 23 + size], "big") >> host << host).to_bytes(size, "big")
    gateway = value[23 + size : 23 + 2 * size]
    payload = Payload(_labels(value[-3:]), value[8:18], gateway if any(gateway) else b"")
    return b"\x05" + value[:8] + value[18:22] + bytes([bits]) + network, payload


def _cut_ethernet_ad(value: bytes) -> tuple[bytes, Payload]:
    """RFC 7432 section 7.1: RD 8, ESI 10, tag 4, label 3."""
    if len(value) != 25:
        raise _malformed("of type 1 has a wrong length", value)
    return b"\x01" + value[:22], Payload(_labels(value[22:]))


def _cut_segment(value: bytes) -> tuple[bytes, None]:
    """RFC 7432 section 7.4: RD 8, ESI 10, IP length 1, IP 4|16."""
    if (len(value), value[18] if len(value) > 18 else 0) not in {(23, 32), (35, 128)}:
        raise _malformed("of type 4 has a wrong length", value)
    return b"\x04" + value, None


_CUTTERS: Final[Mapping[int, Callable[[bytes], tuple[bytes, Payload | None]]]] = {
    RouteType.ETHERNET_AD: _cut_ethernet_ad,
    RouteType.MAC_IP: _cut_mac_ip,
    RouteType.INCLUSIVE_MULTICAST: _cut_multicast,
    RouteType.ETHERNET_SEGMENT: _cut_segment,
    RouteType.IP_PREFIX: _cut_ip_prefix,
}

_View = tuple[int, str, str, int]
"""(ethernet tag, MAC, IP, prefix length)."""


def _tag(key: bytes) -> int:
    return int.from_bytes(key[9:13], "big")


def _view_mac_ip(key: bytes) -> _View:
    return _tag(key), mac_text(key[14:20]), ip_text(key[21:]) if key[20] else "", 0


def _view_multicast(key: bytes) -> _View:
    return _tag(key), "", ip_text(key[14:]), 0


def _view_ip_prefix(key: bytes) -> _View:
    return _tag(key), "", ip_text(key[14:]), key[13]


def _no_view(_key: bytes) -> _View:
    return 0, "", "", 0


_VIEWS: Final[Mapping[int, Callable[[bytes], _View]]] = {
    RouteType.MAC_IP: _view_mac_ip,
    RouteType.INCLUSIVE_MULTICAST: _view_multicast,
    RouteType.IP_PREFIX: _view_ip_prefix,
}


def route_text(key: bytes) -> str:
    """'10.255.1.1:2 [3]:[0]:[32]:[10.255.1.1]': route distinguisher and route."""
    view = key_of(key)
    return f"{rd_text(view.rd)} {view.text}"


EVPN: Final = AddressFamily(
    Afi.L2VPN,
    Safi.EVPN,
    "l2vpn evpn",
    "l2VpnEvpn",
    decode_nlri,
    encode_nlri,
    route_text,
    frozenset({4, 16}),
    mobility_rank,
)

"""Address families: the encoding of NLRI, the lengths of next hops, the text of routes.

A speaker never looks inside an NLRI. It identifies a route by a *key*: ``bytes`` (or a subclass of bytes, whose hash is
computed once). Two keys are equal exactly if the family's standard says that the routes are the same. The rest of the
NLRI (EVPN: labels, ESI, gateway address; RFC 7432 section 7.2, RFC 9136 section 3) is its *payload*: one hashable
value, ``None`` in families without one. NLRIs of one UPDATE with one payload form a `Block`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import TYPE_CHECKING, Final, NamedTuple

from fabric.controlplane.bgp.errors import UpdateError
from fabric.wire.iana import Afi, Safi, UpdateErrorCode

if TYPE_CHECKING:
    from fabric.controlplane.bgp.attributes import Attributes


class Block(NamedTuple):
    """Routes of one UPDATE with the same attributes, next hop and payload."""

    keys: tuple[bytes, ...]
    """Route keys, in the order of the wire."""
    payload: Hashable = None
    """The rest of each NLRI beside its key; None in unicast and in withdrawals."""


def no_rank(_attributes: Attributes) -> tuple[int, ...]:
    """No preference before weight and LOCAL_PREF."""
    return ()


@dataclass(frozen=True, slots=True, eq=False)
class AddressFamily:
    """One AFI/SAFI. Compared by identity: one shared object per family.

    decode_nlri(data, withdrawn) -> blocks
        `data` is the whole NLRI field. Equal bytes give equal keys. Raises UpdateError (severity 'reset' if the field
        cannot be split into NLRIs, RFC 7606 section 5.3). Unknown NLRI types are skipped (section 5.4).
        Must be pure: the caller caches results by `data`.
    encode_nlri(keys, payload, withdrawn) -> one bytes object per key, in order
        The caller packs them into messages.
    text(key) -> the route as operators write it: '10.0.0.0/24'.
    rank(attributes) -> ints, of constant length, lower preferred, compared before weight; () for none.
        EVPN: sticky and sequence number of MAC mobility (RFC 7432 section 15).
    """

    afi: int
    safi: int
    name: str
    """As in configuration: 'ipv4 unicast', 'l2vpn evpn'."""
    json_name: str
    """As FRR's JSON has it: 'ipv4Unicast', 'l2VpnEvpn'."""
    decode_nlri: Callable[[bytes, bool], tuple[Block, ...]]
    encode_nlri: Callable[[Sequence[bytes], Hashable, bool], Sequence[bytes]]
    text: Callable[[bytes], str]
    next_hop_lengths: frozenset[int] = field(default=frozenset({4, 16}))
    """Lengths accepted in MP_REACH_NLRI, in bytes; 32 is global plus link-local (RFC 2545 section 3)."""
    rank: Callable[[Attributes], tuple[int, ...]] = no_rank

    @property
    def keeps_next_hop(self) -> bool:
        """True if the next hop is a tunnel endpoint, which no router replaces (RFC 8365 section 5.1.2)."""
        return self.safi == Safi.EVPN

    @property
    def id(self) -> tuple[int, int]:
        """(AFI, SAFI)."""
        return self.afi, self.safi

    def __repr__(self) -> str:
        return f"<{self.name}>"


def _decode_prefixes(data: bytes, longest: int, afi: str) -> tuple[Block, ...]:
    """Split (length, prefix) pairs, RFC 4271 section 4.3. Clears bits beyond the length: keys are canonical."""
    keys = []
    at, end = 0, len(data)
    while at < end:
        bits = data[at]
        after = at + 1 + (bits + 7 >> 3)
        if bits > longest or after > end:
            # RFC 7606 section 5.3: the NLRI cannot be located, the session is reset.
            raise UpdateError(
                UpdateErrorCode.INVALID_NETWORK_FIELD, f"{afi} NLRI of {bits} bits at byte {at}", "reset", data[at:]
            )
        key = data[at:after]
        if bits & 7 and key[-1] & (0xFF >> (bits & 7)):
            key = key[:-1] + bytes([key[-1] & ~(0xFF >> (bits & 7)) & 0xFF])
        keys.append(key)
        at = after
    return (Block(tuple(keys)),) if keys else ()


def _decode_ipv4(data: bytes, _withdrawn: bool) -> tuple[Block, ...]:
    return _decode_prefixes(data, 32, "IPv4")


def _decode_ipv6(data: bytes, _withdrawn: bool) -> tuple[Block, ...]:
    return _decode_prefixes(data, 128, "IPv6")


def _encode_prefixes(keys: Sequence[bytes], _payload: Hashable, _withdrawn: bool) -> Sequence[bytes]:
    return keys


def prefix_key(text: str) -> bytes:
    """'10.0.0.0/24' or '2001:db8::/32' -> route key. Raises ValueError, also where host bits are set."""
    network = ip_network(text)
    return bytes([network.prefixlen]) + network.network_address.packed[: network.prefixlen + 7 >> 3]


def _ipv4_text(key: bytes) -> str:
    return f"{IPv4Address(key[1:].ljust(4, bytes(1)))}/{key[0]}"


def _ipv6_text(key: bytes) -> str:
    return f"{IPv6Address(key[1:].ljust(16, bytes(1)))}/{key[0]}"


IPV4_UNICAST: Final = AddressFamily(
    Afi.IPV4,
    Safi.UNICAST,
    "ipv4 unicast",
    "ipv4Unicast",
    _decode_ipv4,
    _encode_prefixes,
    _ipv4_text,
    frozenset({4, 16, 32}),
)  # 16 and 32: RFC 8950 section 3
IPV6_UNICAST: Final = AddressFamily(
    Afi.IPV6,
    Safi.UNICAST,
    "ipv6 unicast",
    "ipv6Unicast",
    _decode_ipv6,
    _encode_prefixes,
    _ipv6_text,
    frozenset({16, 32}),
)


def address_text(packed: bytes) -> str:
    """Packed next hop -> text; of a global and link-local pair the global one. b'' (local route) -> '0.0.0.0'."""
    if len(packed) == 4:
        return f"{packed[0]}.{packed[1]}.{packed[2]}.{packed[3]}"
    return str(IPv6Address(packed[:16])) if packed else "0.0.0.0"  # noqa: S104  what FRR prints for 'self'

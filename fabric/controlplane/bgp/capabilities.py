"""Capabilities of an OPEN, RFC 5492: the features of each side, and thus those that a session may use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from fabric.controlplane.bgp.errors import BgpError
from fabric.wire.iana import CapabilityCode, ErrorCode

RawCapabilities = tuple[tuple[int, bytes], ...]
"""(code, value) in the order of the wire."""
FamilyId = tuple[int, int]
RESTART_STATE: Final = 0x8
"""R bit in the high nibble of the restart flags, RFC 4724 section 3."""
GRACEFUL_NOTIFICATION: Final = 0x4
"""N bit, RFC 8538 section 2."""
FORWARDING_STATE: Final = 0x80
_LLGR_STALE_TIME_S: Final = b"\x00\x00\x00"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The capabilities that one side announced. Unknown ones are kept, not used."""

    families: tuple[FamilyId, ...] = ()
    route_refresh: bool = False
    route_refresh_cisco: bool = False
    enhanced_refresh: bool = False
    extended_message: bool = False
    asn4: int | None = None
    """AS number in the four-octet AS capability; None: not announced."""
    extended_next_hop: tuple[tuple[int, int, int], ...] = ()
    """(AFI, SAFI, AFI of the next hop), RFC 8950 section 4."""
    add_path: tuple[tuple[int, int, int], ...] = ()
    """(AFI, SAFI, 1 receive | 2 send), RFC 7911. Our speakers do not announce it, so they never receive path ids."""
    restart: tuple[int, int] | None = None
    """(flags nibble, restart time in seconds), RFC 4724."""
    restart_families: tuple[tuple[int, int, int], ...] = ()
    """(AFI, SAFI, flags)."""
    long_lived: bool = False
    hostname: str = ""
    unknown: RawCapabilities = field(default=())


def read_capabilities(raw: Sequence[tuple[int, bytes]]) -> Capabilities:
    """Decode raw capabilities. Raises BgpError (OPEN) if a length is impossible."""
    families: list[FamilyId] = []
    flags: set[int] = set()
    unknown: list[tuple[int, bytes]] = []
    next_hops: list[tuple[int, int, int]] = []
    add_path: list[tuple[int, int, int]] = []
    restart_families: list[tuple[int, int, int]] = []
    asn4: int | None = None
    restart: tuple[int, int] | None = None
    hostname = ""
    for code, value in raw:
        _check_length(code, value)
        if code == CapabilityCode.MULTIPROTOCOL:
            family = (int.from_bytes(value[:2]), value[3])
            if family not in families:
                families.append(family)
        elif code == CapabilityCode.FOUR_OCTET_AS:
            asn4 = int.from_bytes(value)
        elif code == CapabilityCode.EXTENDED_NEXT_HOP:
            next_hops += [
                (
                    int.from_bytes(value[at : at + 2]),
                    int.from_bytes(value[at + 2 : at + 4]),
                    int.from_bytes(value[at + 4 : at + 6]),
                )
                for at in range(0, len(value), 6)
            ]
        elif code == CapabilityCode.ADD_PATH:
            add_path += _triples(value, 0)
        elif code == CapabilityCode.GRACEFUL_RESTART:
            restart = (value[0] >> 4, int.from_bytes(value[:2]) & 0xFFF)
            restart_families = _triples(value, 2)
        elif code == CapabilityCode.FQDN:
            hostname = value[1 : 1 + value[0]].decode("utf-8", "replace")
        elif code in _FLAGS:
            flags.add(code)
        else:
            unknown.append((code, value))
    return Capabilities(
        tuple(families),
        CapabilityCode.ROUTE_REFRESH in flags,
        CapabilityCode.ROUTE_REFRESH_CISCO in flags,
        CapabilityCode.ENHANCED_ROUTE_REFRESH in flags,
        CapabilityCode.EXTENDED_MESSAGE in flags,
        asn4,
        tuple(next_hops),
        tuple(add_path),
        restart,
        tuple(restart_families),
        CapabilityCode.LONG_LIVED_GRACEFUL_RESTART in flags,
        hostname,
        tuple(unknown),
    )


_FLAGS: Final = frozenset(
    {
        CapabilityCode.ROUTE_REFRESH,
        CapabilityCode.ROUTE_REFRESH_CISCO,
        CapabilityCode.ENHANCED_ROUTE_REFRESH,
        CapabilityCode.EXTENDED_MESSAGE,
        CapabilityCode.LONG_LIVED_GRACEFUL_RESTART,
    }
)
_LENGTHS: Final[dict[int, tuple[int, int]]] = {
    # code: (bytes of the fixed part, bytes of the repeated part or 0 for none)
    CapabilityCode.MULTIPROTOCOL: (4, 0),
    CapabilityCode.FOUR_OCTET_AS: (4, 0),
    CapabilityCode.EXTENDED_NEXT_HOP: (0, 6),
    CapabilityCode.ADD_PATH: (0, 4),
    CapabilityCode.GRACEFUL_RESTART: (2, 4),
}


def _check_length(code: int, value: bytes) -> None:
    fixed, repeated = _LENGTHS.get(code, (0, 1))
    behind = len(value) - fixed
    if (
        behind < 0
        or (behind % repeated if repeated else behind)
        or (code == CapabilityCode.FQDN and (not value or value[0] >= len(value)))
    ):
        # RFC 5492 section 4 leaves it to RFC 4271 section 6.2: a malformed optional parameter is subcode 0.
        raise BgpError(ErrorCode.OPEN, 0, f"capability {code} of {len(value)} bytes", bytes([code, len(value)]) + value)


def _triples(value: bytes, start: int) -> list[tuple[int, int, int]]:
    return [(int.from_bytes(value[at : at + 2]), value[at + 2], value[at + 3]) for at in range(start, len(value), 4)]


def write_capabilities(capabilities: Capabilities) -> RawCapabilities:
    """In FRR's order, one value per capability; multiprotocol once per family."""
    raw: list[tuple[int, bytes]] = [
        (CapabilityCode.MULTIPROTOCOL, afi.to_bytes(2) + bytes([0, safi])) for afi, safi in capabilities.families
    ]
    if capabilities.extended_next_hop:
        raw.append(
            (
                CapabilityCode.EXTENDED_NEXT_HOP,
                b"".join(
                    afi.to_bytes(2) + safi.to_bytes(2) + via.to_bytes(2)
                    for afi, safi, via in capabilities.extended_next_hop
                ),
            )
        )
    if capabilities.route_refresh_cisco:
        raw.append((CapabilityCode.ROUTE_REFRESH_CISCO, b""))
    if capabilities.route_refresh:
        raw.append((CapabilityCode.ROUTE_REFRESH, b""))
    if capabilities.enhanced_refresh:
        raw.append((CapabilityCode.ENHANCED_ROUTE_REFRESH, b""))
    if capabilities.asn4 is not None:
        raw.append((CapabilityCode.FOUR_OCTET_AS, capabilities.asn4.to_bytes(4)))
    if capabilities.extended_message:
        raw.append((CapabilityCode.EXTENDED_MESSAGE, b""))
    if capabilities.add_path:
        raw.append(
            (
                CapabilityCode.ADD_PATH,
                b"".join(afi.to_bytes(2) + bytes([safi, mode]) for afi, safi, mode in capabilities.add_path),
            )
        )
    if capabilities.hostname:
        name = capabilities.hostname.encode()[:64]
        raw.append((CapabilityCode.FQDN, bytes([len(name)]) + name + b"\0"))
    if capabilities.restart is not None:
        raw.append(
            (
                CapabilityCode.GRACEFUL_RESTART,
                (capabilities.restart[0] << 12 | capabilities.restart[1]).to_bytes(2)
                + b"".join(afi.to_bytes(2) + bytes([safi, mode]) for afi, safi, mode in capabilities.restart_families),
            )
        )
    if capabilities.long_lived:
        raw.append(
            (
                CapabilityCode.LONG_LIVED_GRACEFUL_RESTART,
                b"".join(
                    afi.to_bytes(2) + bytes([safi, FORWARDING_STATE]) + _LLGR_STALE_TIME_S
                    for afi, safi in capabilities.families
                ),
            )
        )
    return (*raw, *capabilities.unknown)

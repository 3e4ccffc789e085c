"""Messages of BGP-4: framing, OPEN, NOTIFICATION, KEEPALIVE, ROUTE-REFRESH. UPDATE is in update.py.

Any bytes decode or raise BgpError with the NOTIFICATION that the standard requires.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fabric.controlplane.bgp.capabilities import RawCapabilities
from fabric.controlplane.bgp.errors import BgpError
from fabric.wire.iana import (
    AS_TRANS,
    BGP_VERSION,
    HEADER_BYTES,
    MARKER,
    MAX_MESSAGE_BYTES,
    ErrorCode,
    HeaderError,
    MessageType,
    OpenError,
    RefreshSubtype,
)

_SHORTEST: Final = {
    MessageType.OPEN: 29,
    MessageType.UPDATE: 23,
    MessageType.NOTIFICATION: 21,
    MessageType.KEEPALIVE: 19,
    MessageType.ROUTE_REFRESH: 23,
}
_CAPABILITY_PARAMETER: Final = 2
_EXTENDED_PARAMETERS: Final = 255
"""RFC 9072 section 2: both in the length octet and as first parameter type."""


@dataclass(frozen=True, slots=True)
class Open:
    """OPEN, RFC 4271 section 4.2. `asn` is the two-byte field; the four-byte number is in the capability."""

    asn: int
    hold_time_s: int
    router_id: int
    capabilities: RawCapabilities = ()


@dataclass(frozen=True, slots=True)
class Notification:
    """NOTIFICATION, RFC 4271 section 4.5."""

    code: int
    subcode: int
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class Keepalive:
    """KEEPALIVE, RFC 4271 section 4.4."""


@dataclass(frozen=True, slots=True)
class RouteRefresh:
    """ROUTE-REFRESH, RFC 2918 and 7313."""

    afi: int
    safi: int
    subtype: int = RefreshSubtype.REQUEST


def frame(kind: int, body: bytes) -> bytes:
    """Message with header."""
    return MARKER + (HEADER_BYTES + len(body)).to_bytes(2) + bytes([kind]) + body


KEEPALIVE_BYTES: Final = frame(MessageType.KEEPALIVE, b"")


def message_length(data: bytes | bytearray, at: int, limit: int) -> int:
    """Length of the message whose header (19 bytes) starts at `at`, checked by RFC 4271 section 6.1.

    Raises BgpError if marker, type or length is wrong. `limit` is the longest UPDATE, NOTIFICATION or ROUTE-REFRESH of
    the session (RFC 8654 section 4: OPEN and KEEPALIVE keep the limit of 4096 bytes).
    """
    if data[at : at + 16] != MARKER:
        raise BgpError(ErrorCode.MESSAGE_HEADER, HeaderError.CONNECTION_NOT_SYNCHRONIZED, "marker is not all ones")
    length, kind = data[at + 16] << 8 | data[at + 17], data[at + 18]
    if kind not in _SHORTEST:
        raise BgpError(ErrorCode.MESSAGE_HEADER, HeaderError.BAD_MESSAGE_TYPE, f"message type {kind}", bytes([kind]))
    longest = MAX_MESSAGE_BYTES if kind in (MessageType.OPEN, MessageType.KEEPALIVE) else limit
    if not _SHORTEST[MessageType(kind)] <= length <= longest or (
        kind == MessageType.KEEPALIVE and length != HEADER_BYTES
    ):
        raise BgpError(
            ErrorCode.MESSAGE_HEADER,
            HeaderError.BAD_MESSAGE_LENGTH,
            f"{MessageType(kind).name} of {length} bytes",
            length.to_bytes(2),
        )
    return length


def decode_body(kind: int, body: bytes) -> Open | Notification | Keepalive | RouteRefresh:
    """Decode the body of any message but UPDATE. Raises BgpError."""
    if kind == MessageType.OPEN:
        return decode_open(body)
    if kind == MessageType.NOTIFICATION:
        return Notification(body[0], body[1], body[2:])
    if kind == MessageType.ROUTE_REFRESH:
        if len(body) != 4:
            # RFC 7313 section 5: only the plain form has a fixed length; a wrong one is Invalid Message Length.
            raise BgpError(ErrorCode.ROUTE_REFRESH, 1, f"ROUTE-REFRESH of {len(body)} bytes", body)
        return RouteRefresh(int.from_bytes(body[:2]), body[3], body[2])
    return Keepalive()


def decode_open(body: bytes) -> Open:
    """Decode the body of an OPEN. Raises BgpError."""
    if body[0] != BGP_VERSION:
        raise BgpError(ErrorCode.OPEN, OpenError.UNSUPPORTED_VERSION, f"BGP version {body[0]}", b"\0\4")
    asn, hold_time_s, router_id = int.from_bytes(body[1:3]), int.from_bytes(body[3:5]), int.from_bytes(body[5:9])
    at, length_width = 10, 1
    length = body[9]
    if length == _EXTENDED_PARAMETERS and len(body) > 12 and body[10] == _EXTENDED_PARAMETERS:  # RFC 9072
        length, at, length_width = int.from_bytes(body[11:13]), 13, 2
    if len(body) - at != length:
        raise BgpError(ErrorCode.OPEN, 0, f"optional parameters of {len(body) - at} bytes, not {length}")
    capabilities: list[tuple[int, bytes]] = []
    while at < len(body):
        start = at + 1 + length_width
        if start > len(body):
            raise BgpError(ErrorCode.OPEN, 0, "optional parameter cut off")
        after = start + int.from_bytes(body[at + 1 : start])
        if after > len(body):
            raise BgpError(ErrorCode.OPEN, 0, "optional parameter longer than the message")
        if body[at] != _CAPABILITY_PARAMETER:
            raise BgpError(ErrorCode.OPEN, OpenError.UNSUPPORTED_OPTIONAL_PARAMETER, f"optional parameter {body[at]}")
        capabilities += _split_capabilities(body[start:after])
        at = after
    return Open(asn, hold_time_s, router_id, tuple(capabilities))


def _split_capabilities(value: bytes) -> list[tuple[int, bytes]]:
    found, at = [], 0
    while at < len(value):
        if at + 2 > len(value) or at + 2 + value[at + 1] > len(value):
            raise BgpError(ErrorCode.OPEN, 0, "capability longer than its parameter")
        found.append((value[at], value[at + 2 : at + 2 + value[at + 1]]))
        at += 2 + value[at + 1]
    return found


def encode_open(message: Open) -> bytes:
    """OPEN with one optional parameter per capability, as FRR writes it; extended (RFC 9072) if necessary."""
    asn = message.asn if message.asn < 65536 else AS_TRANS
    head = bytes([BGP_VERSION]) + asn.to_bytes(2) + message.hold_time_s.to_bytes(2) + message.router_id.to_bytes(4)
    plain = b"".join(
        bytes([_CAPABILITY_PARAMETER, len(value) + 2, code, len(value)]) + value for code, value in message.capabilities
    )
    if len(plain) < _EXTENDED_PARAMETERS:
        return frame(MessageType.OPEN, head + bytes([len(plain)]) + plain)
    long = b"".join(
        bytes([_CAPABILITY_PARAMETER]) + (len(value) + 2).to_bytes(2) + bytes([code, len(value)]) + value
        for code, value in message.capabilities
    )
    return frame(MessageType.OPEN, head + bytes([_EXTENDED_PARAMETERS] * 2) + len(long).to_bytes(2) + long)


def encode_notification(message: Notification) -> bytes:
    """NOTIFICATION as bytes."""
    return frame(MessageType.NOTIFICATION, bytes([message.code, message.subcode]) + message.data)


def encode_refresh(message: RouteRefresh) -> bytes:
    """ROUTE-REFRESH as bytes."""
    return frame(MessageType.ROUTE_REFRESH, message.afi.to_bytes(2) + bytes([message.subtype, message.safi]))

"""MAC and IP addresses: canonical text in tables and views, packed bytes on the wire. Equal addresses, equal text."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Final

BROADCAST_MAC: Final = "ff:ff:ff:ff:ff:ff"
ZERO_MAC: Final = "00:00:00:00:00:00"
_MAC: Final = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")


def mac_text(packed: bytes) -> str:
    """6 bytes -> '02:00:00:65:01:01'."""
    return packed.hex(":")


def mac_packed(text: str) -> bytes:
    """'02:00:00:65:01:01' (any case) -> 6 bytes. Raises ValueError."""
    if _MAC.fullmatch(text.lower()) is None:
        raise ValueError(f"{text!r} is not a MAC address; write it as 02:00:00:65:01:01")
    return bytes.fromhex(text.replace(":", ""))


def ip_text(packed: bytes) -> str:
    """4 or 16 bytes -> '10.0.0.1' or '2001:db8::1'."""
    return f"{packed[0]}.{packed[1]}.{packed[2]}.{packed[3]}" if len(packed) == 4 else str(ip_address(packed))


def ip_packed(text: str) -> bytes:
    """'10.0.0.1' or '2001:db8::1' -> 4 or 16 bytes. Raises ValueError."""
    return ip_address(text).packed


def is_group(mac: str) -> bool:
    """True for broadcast and multicast MACs: the I/G bit, IEEE 802 clause 8.2.2."""
    return int(mac[1], 16) & 1 == 1

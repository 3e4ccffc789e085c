"""Route distinguishers: packed, as text, and derived (RFC 4364 section 4.2, RFC 7432 section 7.9)."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Final

AUTO_RD_FIRST_INDEX: Final = 2
"""FRR numbers a router's distinguishers in the order of their first use; the default VRF has 1."""


def rd_text(packed: bytes) -> str:
    """8 bytes -> '65000:1' (type 0), '10.255.1.1:2' (type 1), '4200000000:1' (type 2); others in hexadecimal."""
    kind = int.from_bytes(packed[:2], "big")
    if kind == 0:
        return f"{int.from_bytes(packed[2:4], 'big')}:{int.from_bytes(packed[4:], 'big')}"
    if kind == 1:
        return f"{IPv4Address(packed[2:6])}:{int.from_bytes(packed[6:], 'big')}"
    if kind == 2:
        return f"{int.from_bytes(packed[2:6], 'big')}:{int.from_bytes(packed[6:], 'big')}"
    return packed.hex()


def rd_packed(text: str) -> bytes:
    """'ASN:number' or 'address:number' -> 8 bytes, of the type whose fields it fits. Raises ValueError."""
    administrator, separator, number = text.rpartition(":")
    if separator and number.isdecimal():
        assigned = int(number)
        if administrator.isdecimal():
            asn = int(administrator)
            if asn < 1 << 16 and assigned < 1 << 32:
                return b"\0\0" + asn.to_bytes(2, "big") + assigned.to_bytes(4, "big")
            if asn < 1 << 32 and assigned < 1 << 16:
                return b"\0\2" + asn.to_bytes(4, "big") + assigned.to_bytes(2, "big")
        elif assigned < 1 << 16:
            return b"\0\1" + IPv4Address(administrator).packed + assigned.to_bytes(2, "big")
    raise ValueError(f"{text!r} is not a route distinguisher; write it as 65000:1, 10.255.1.1:2 or 4200000000:1")


def auto_rd(router_id: str, index: int) -> bytes:
    """Type 1, router-id:index (RFC 7432 section 7.9). `index` is FRR's per-router number, not the VNI."""
    return b"\0\1" + IPv4Address(router_id).packed + index.to_bytes(2, "big")

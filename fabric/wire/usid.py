"""Compressed SRv6 segments of 16 bits in one IPv6 address (NEXT-CSID, RFC 9800), in the format F3216.

32 bits of block, then up to six segments of which the first is active; zeros end the list. A node takes the first one
off and moves the others up. Values from 0xE000 on are local to a node (LIB), the others global (GIB): RFC 9800 section
5 leaves the split to the operator; this one is the default of FRR and Junos.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv6Address
from typing import Final

BLOCK: Final = 0xFCBBBBBB
"""fcbb:bbbb::/32, of unique local addresses (RFC 4193), as SONiC's examples have it."""
SEGMENT_BITS: Final = 16
MOST_SEGMENTS: Final = (128 - 32) // SEGMENT_BITS
"""Of one address; more need a segment routing header (RFC 8754)."""
FIRST_LOCAL: Final = 0xE000
MOST_PORTS: Final = 0x10000 - FIRST_LOCAL
MOST_HOSTS: Final = FIRST_LOCAL - 1


def adjacency(port_index: int) -> int:
    """Segment of a switch's port (uA: End.X with NEXT-CSID, RFC 9800 section 4.1.2), local to the switch."""
    return FIRST_LOCAL + port_index


def endpoint(host: int) -> int:
    """Segment of a NIC, which removes the outer header (End with USD, RFC 8986 section 4.16.3), by its host."""
    return 1 + host


def address(segments: Sequence[int]) -> str:
    """IPv6 destination with these segments ahead, the active one first. Raises: ValueError for more than six."""
    if len(segments) > MOST_SEGMENTS:
        raise ValueError(f"{len(segments)} segments do not fit one address of {MOST_SEGMENTS}")
    value = BLOCK
    for place in range(MOST_SEGMENTS):
        value = value << SEGMENT_BITS | (segments[place] if place < len(segments) else 0)
    return str(IPv6Address(value))


def destination(port_indexes: Sequence[int], host: int, passed: int = 0) -> str:
    """Outer destination of a packet by these ports of switches to a host, when `passed` of the switches are behind it.

    Raises: ValueError as address().
    """
    return address([*map(adjacency, port_indexes), endpoint(host)][passed:])

"""Path attributes of a route, without next hop and NLRI: immutable, compared by their bytes.

NEXT_HOP and MP_REACH_NLRI differ per session or per route, while the other attributes are often equal in the whole
fabric. So the two are stored separately (`rib.Path.next_hop`, `afi.Block`), and one Attributes object serves thousands
of routes. attribute_codec.py reads the bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from fabric.wire.iana import AttributeFlag, AttributeType, Origin, SegmentType

AsPath = tuple[tuple[int, tuple[int, ...]], ...]
"""Segments: (SegmentType, AS numbers). () is the empty path."""
EMPTY_PATH: Final[AsPath] = ()

WELL_KNOWN: Final = int(AttributeFlag.TRANSITIVE)
OPTIONAL: Final = int(AttributeFlag.OPTIONAL)
OPTIONAL_TRANSITIVE: Final = int(AttributeFlag.OPTIONAL | AttributeFlag.TRANSITIVE)
PARTIAL: Final = int(AttributeFlag.PARTIAL)
EXTENDED: Final = int(AttributeFlag.EXTENDED_LENGTH)


@dataclass(frozen=True, slots=True, eq=False)
class Attributes:
    """Attributes of a route. Build with keywords, change with dataclasses.replace; equal if their bytes are equal."""

    origin: int = Origin.IGP
    as_path: AsPath = EMPTY_PATH
    med: int | None = None
    local_pref: int | None = None
    atomic_aggregate: bool = False
    aggregator: tuple[int, bytes] | None = None
    """(AS, packed IPv4 address)."""
    communities: tuple[int, ...] = ()
    originator_id: int | None = None
    cluster_list: tuple[int, ...] = ()
    ext_communities: tuple[bytes, ...] = ()
    """8 bytes each, RFC 4360."""
    large_communities: tuple[tuple[int, int, int], ...] = ()
    pmsi_tunnel: bytes | None = None
    """Value of the attribute, RFC 6514 section 5: flags, type, label (3 bytes), tunnel identifier."""
    unknown: tuple[tuple[int, int, bytes], ...] = ()
    """(flags, type code, value) of optional attributes that are passed on as they are, by type code."""
    head: bytes = field(init=False, repr=False)
    """ORIGIN and AS_PATH on the wire, four-byte AS numbers; NEXT_HOP follows them."""
    tail: bytes = field(init=False, repr=False)
    """All other attributes on the wire, ascending type codes."""
    wire: bytes = field(init=False, repr=False)
    """head + tail: the identity of these attributes, with a hash computed once."""

    def __post_init__(self) -> None:
        head = _encode_head(self.origin, self.as_path)
        tail = _encode_tail(self)
        object.__setattr__(self, "head", head)
        object.__setattr__(self, "tail", tail)
        object.__setattr__(self, "wire", head + tail)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Attributes) and self.wire == other.wire)

    def __hash__(self) -> int:
        return hash(self.wire)


def sequence(*asns: int) -> AsPath:
    """AS_PATH of one AS_SEQUENCE; empty for no numbers."""
    return ((SegmentType.AS_SEQUENCE, asns),) if asns else ()


def path_length(path: AsPath) -> int:
    """Length for the decision process: an AS_SET counts one (RFC 4271 section 9.1.2.2 (a)), confederations none."""
    length = 0
    for kind, asns in path:
        if kind == SegmentType.AS_SEQUENCE:
            length += len(asns)
        elif kind == SegmentType.AS_SET:
            length += 1
    return length


def path_count(path: AsPath, asn: int) -> int:
    """Occurrences of `asn` in the path: loop detection, RFC 4271 section 9.1.2."""
    count = 0
    for _, asns in path:
        count += asns.count(asn)
    return count


def neighbor_asn(path: AsPath) -> int:
    """First AS of the path, 0 if it does not begin with a sequence; MED is compared between paths of one such AS."""
    return path[0][1][0] if path and path[0][0] == SegmentType.AS_SEQUENCE and path[0][1] else 0


def origin_asn(path: AsPath) -> int:
    """Last AS of the path, 0 if there is none."""
    return path[-1][1][-1] if path and path[-1][1] else 0


def prepend(path: AsPath, *asns: int) -> AsPath:
    """Put `asns` in front, in this order; RFC 4271 section 5.1.2. A segment holds at most 255 numbers."""
    if not asns:
        return path
    if path and path[0][0] == SegmentType.AS_SEQUENCE and len(path[0][1]) + len(asns) <= 255:
        return ((SegmentType.AS_SEQUENCE, asns + path[0][1]), *path[1:])
    return ((SegmentType.AS_SEQUENCE, asns), *path)


def path_text(path: AsPath) -> str:
    """'65000 65101', sets in braces, confederations in parentheses, as operators write paths."""
    marks = {
        SegmentType.AS_SEQUENCE: ("", " ", ""),
        SegmentType.AS_SET: ("{", ",", "}"),
        SegmentType.AS_CONFED_SEQUENCE: ("(", " ", ")"),
        SegmentType.AS_CONFED_SET: ("[", ",", "]"),
    }
    parts = []
    for kind, asns in path:
        before, between, after = marks[SegmentType(kind)]
        parts.append(before + between.join(map(str, asns)) + after)
    return " ".join(parts)


def encode_attribute(flags: int, code: int, value: bytes) -> bytes:
    """One attribute with its header; extended length if `flags` has it or the value needs it."""
    if flags & EXTENDED or len(value) > 255:
        return bytes([flags | EXTENDED, code]) + len(value).to_bytes(2) + value
    return bytes([flags, code, len(value)]) + value


def encode_path(path: AsPath, width: int = 4) -> bytes:
    """AS_PATH value; `width` 2 writes AS_TRANS for numbers that do not fit (RFC 6793 section 4.2.2)."""
    out = bytearray()
    for kind, asns in path:
        out += bytes([kind, len(asns)])
        for asn in asns:
            out += (asn if width == 4 or asn < 65536 else 23456).to_bytes(width)
    return bytes(out)


def _encode_head(origin: int, path: AsPath) -> bytes:
    # FRR always writes AS_PATH with extended length; so do we, so that captures are equal byte for byte.
    return encode_attribute(WELL_KNOWN, AttributeType.ORIGIN, bytes([origin])) + encode_attribute(
        WELL_KNOWN | EXTENDED, AttributeType.AS_PATH, encode_path(path)
    )


def _u32(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(4) for number in numbers)


def _encode_tail(attributes: Attributes) -> bytes:
    """All attributes after NEXT_HOP, ascending type codes (RFC 4271 section 5: should be ordered)."""
    parts: list[tuple[int, int, bytes]] = list(attributes.unknown)
    if attributes.med is not None:
        parts.append((OPTIONAL, AttributeType.MULTI_EXIT_DISC, _u32(attributes.med)))
    if attributes.local_pref is not None:
        parts.append((WELL_KNOWN, AttributeType.LOCAL_PREF, _u32(attributes.local_pref)))
    if attributes.atomic_aggregate:
        parts.append((WELL_KNOWN, AttributeType.ATOMIC_AGGREGATE, b""))
    if attributes.aggregator is not None:
        parts.append(
            (OPTIONAL_TRANSITIVE, AttributeType.AGGREGATOR, _u32(attributes.aggregator[0]) + attributes.aggregator[1])
        )
    if attributes.communities:
        parts.append((OPTIONAL_TRANSITIVE, AttributeType.COMMUNITIES, _u32(*attributes.communities)))
    if attributes.originator_id is not None:
        parts.append((OPTIONAL, AttributeType.ORIGINATOR_ID, _u32(attributes.originator_id)))
    if attributes.cluster_list:
        parts.append((OPTIONAL, AttributeType.CLUSTER_LIST, _u32(*attributes.cluster_list)))
    if attributes.ext_communities:
        parts.append((OPTIONAL_TRANSITIVE, AttributeType.EXTENDED_COMMUNITIES, b"".join(attributes.ext_communities)))
    if attributes.pmsi_tunnel is not None:
        parts.append((OPTIONAL_TRANSITIVE, AttributeType.PMSI_TUNNEL, attributes.pmsi_tunnel))
    if attributes.large_communities:
        parts.append(
            (
                OPTIONAL_TRANSITIVE,
                AttributeType.LARGE_COMMUNITIES,
                b"".join(_u32(*community) for community in attributes.large_communities),
            )
        )
    parts.sort(key=lambda part: part[1])
    return b"".join(encode_attribute(*part) for part in parts)

"""Decode path attributes, with the error handling of RFC 7606 and the four-byte AS numbers of RFC 6793.

A flaw does not raise while the rest can still be read: it is recorded with its severity, and the most severe flaw of an
UPDATE decides (RFC 7606 section 3 (h)). Encoding is in attributes.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from fabric.controlplane.bgp.attributes import OPTIONAL, OPTIONAL_TRANSITIVE, WELL_KNOWN, AsPath, Attributes
from fabric.controlplane.bgp.errors import SEVERITY_ORDER, Severity, UpdateError
from fabric.wire.iana import AS_TRANS, AttributeFlag, AttributeType, Origin, SegmentType, UpdateErrorCode

_CLASS: Final = OPTIONAL_TRANSITIVE
"""The two flag bits that a type code fixes."""


@dataclass(slots=True)
class Fields:
    """Content of one attribute list, while it is read."""

    values: dict[str, Any] = field(default_factory=dict)
    """Keyword arguments of Attributes."""
    next_hop: bytes | None = None
    mp_reach: bytes | None = None
    mp_unreach: bytes | None = None
    as4_path: AsPath | None = None
    as4_aggregator: tuple[int, bytes] | None = None
    unknown: list[tuple[int, int, bytes]] = field(default_factory=list)
    flaws: list[UpdateError] = field(default_factory=list)

    @property
    def severity(self) -> Severity | None:
        """Severity of the most severe flaw; None without flaws."""
        return max((flaw.severity for flaw in self.flaws), key=SEVERITY_ORDER.index, default=None)

    def attributes(self) -> Attributes:
        """Build the attributes; the caller has checked that none is missing."""
        return Attributes(**self.values, unknown=tuple(sorted(self.unknown, key=lambda item: item[1])))


class _Bad(Exception):  # noqa: N818  never leaves this module
    """A value that is malformed; caught by read_attributes."""

    def __init__(self, text: str, subcode: int = UpdateErrorCode.ATTRIBUTE_LENGTH) -> None:
        super().__init__(text)
        self.subcode = subcode


def _numbers(value: bytes, what: str) -> tuple[int, ...]:
    if not value or len(value) % 4:
        raise _Bad(f"{what} of {len(value)} bytes, not a multiple of 4")
    return tuple(int.from_bytes(value[at : at + 4]) for at in range(0, len(value), 4))


def _number(value: bytes, what: str) -> int:
    if len(value) != 4:
        raise _Bad(f"{what} of {len(value)} bytes instead of 4")
    return int.from_bytes(value)


def decode_path(value: bytes, width: int) -> AsPath:
    """AS_PATH value -> segments. Raises _Bad for unknown or empty segments and for overruns (RFC 7606 section 7.2)."""
    segments = []
    at = 0
    while at < len(value):
        kind, count = value[at], value[at + 1] if at + 1 < len(value) else 0
        after = at + 2 + count * width
        if kind not in (1, 2, 3, 4) or not count or after > len(value):
            raise _Bad(
                f"AS_PATH segment of type {kind} with {count} numbers at byte {at} of {len(value)}",
                UpdateErrorCode.MALFORMED_AS_PATH,
            )
        segments.append((kind, tuple(int.from_bytes(value[n : n + width]) for n in range(at + 2, after, width))))
        at = after
    return tuple(segments)


def merge_as4(path: AsPath, as4: AsPath) -> AsPath:
    """Merge an AS_PATH that has AS_TRANS with AS4_PATH, RFC 6793 section 4.2.3."""

    def count(some: AsPath) -> int:
        return sum(
            len(asns) if kind == SegmentType.AS_SEQUENCE else 1
            for kind, asns in some
            if kind in (SegmentType.AS_SET, SegmentType.AS_SEQUENCE)
        )

    keep = count(path) - count(as4)
    if keep < 0:
        return path
    lead: list[tuple[int, tuple[int, ...]]] = []
    for kind, asns in path:
        if keep <= 0:
            break
        taken = asns[:keep] if kind == SegmentType.AS_SEQUENCE else asns
        lead.append((kind, taken))
        keep -= len(taken) if kind == SegmentType.AS_SEQUENCE else int(kind == SegmentType.AS_SET)
    if lead and as4 and lead[-1][0] == as4[0][0] == SegmentType.AS_SEQUENCE and len(lead[-1][1] + as4[0][1]) <= 255:
        return (*lead[:-1], (SegmentType.AS_SEQUENCE, lead[-1][1] + as4[0][1]), *as4[1:])
    return (*lead, *as4)


@dataclass(frozen=True, slots=True)
class Rule:
    """How one attribute is read: its flags, the severity of a flaw, and the reader of its value."""

    flags: int
    severity: Severity
    read: Callable[[Fields, bytes, int], None]
    """(fields, value, width of AS numbers); raises _Bad."""
    internal_only: bool = False
    """Discarded unread from an external peer, RFC 7606 sections 7.5, 7.9, 7.10."""


def _origin(to: Fields, value: bytes, _width: int) -> None:
    if len(value) != 1:
        raise _Bad(f"ORIGIN of {len(value)} bytes")
    if value[0] > Origin.INCOMPLETE:
        raise _Bad(f"ORIGIN {value[0]}", UpdateErrorCode.INVALID_ORIGIN)
    to.values["origin"] = value[0]


def _as_path(to: Fields, value: bytes, width: int) -> None:
    to.values["as_path"] = decode_path(value, width)


def _next_hop(to: Fields, value: bytes, _width: int) -> None:
    if len(value) != 4:
        raise _Bad(f"NEXT_HOP of {len(value)} bytes")
    if value[0] == 0 or value[0] >= 224:
        raise _Bad(f"NEXT_HOP {'.'.join(map(str, value))} is no host address", UpdateErrorCode.INVALID_NEXT_HOP)
    to.next_hop = value


def _med(to: Fields, value: bytes, _width: int) -> None:
    to.values["med"] = _number(value, "MULTI_EXIT_DISC")


def _local_pref(to: Fields, value: bytes, _width: int) -> None:
    to.values["local_pref"] = _number(value, "LOCAL_PREF")


def _atomic(to: Fields, value: bytes, _width: int) -> None:
    if value:
        raise _Bad(f"ATOMIC_AGGREGATE of {len(value)} bytes")
    to.values["atomic_aggregate"] = True


def _read_aggregator(value: bytes, width: int) -> tuple[int, bytes]:
    if len(value) != width + 4:
        raise _Bad(f"AGGREGATOR of {len(value)} bytes instead of {width + 4}")
    return int.from_bytes(value[:width]), value[width:]


def _aggregator(to: Fields, value: bytes, width: int) -> None:
    to.values["aggregator"] = _read_aggregator(value, width)


def _communities(to: Fields, value: bytes, _width: int) -> None:
    to.values["communities"] = _numbers(value, "COMMUNITIES")


def _originator(to: Fields, value: bytes, _width: int) -> None:
    to.values["originator_id"] = _number(value, "ORIGINATOR_ID")


def _clusters(to: Fields, value: bytes, _width: int) -> None:
    to.values["cluster_list"] = _numbers(value, "CLUSTER_LIST")


def _mp_reach(to: Fields, value: bytes, _width: int) -> None:
    if len(value) < 5:
        raise _Bad(f"MP_REACH_NLRI of {len(value)} bytes", UpdateErrorCode.OPTIONAL_ATTRIBUTE)
    to.mp_reach = value


def _mp_unreach(to: Fields, value: bytes, _width: int) -> None:
    if len(value) < 3:
        raise _Bad(f"MP_UNREACH_NLRI of {len(value)} bytes", UpdateErrorCode.OPTIONAL_ATTRIBUTE)
    to.mp_unreach = value


def _ext_communities(to: Fields, value: bytes, _width: int) -> None:
    if not value or len(value) % 8:
        raise _Bad(f"EXTENDED_COMMUNITIES of {len(value)} bytes, not a multiple of 8")
    to.values["ext_communities"] = tuple(value[at : at + 8] for at in range(0, len(value), 8))


def _large_communities(to: Fields, value: bytes, _width: int) -> None:
    if len(value) % 12:
        raise _Bad(f"LARGE_COMMUNITY of {len(value)} bytes, not a multiple of 12")
    words = _numbers(value, "LARGE_COMMUNITY")
    to.values["large_communities"] = tuple((words[at], words[at + 1], words[at + 2]) for at in range(0, len(words), 3))


def _pmsi(to: Fields, value: bytes, _width: int) -> None:
    if len(value) < 5:
        raise _Bad(f"PMSI_TUNNEL of {len(value)} bytes")
    to.values["pmsi_tunnel"] = value


def _as4_path(to: Fields, value: bytes, width: int) -> None:
    if width == 4:
        raise _Bad("AS4_PATH from a peer with four-byte AS numbers")  # RFC 6793 section 4.1: discarded
    # RFC 6793 section 3: confederation segments are not allowed in AS4_PATH; they are dropped, the rest is used.
    to.as4_path = tuple(
        part for part in decode_path(value, 4) if part[0] in (SegmentType.AS_SET, SegmentType.AS_SEQUENCE)
    )


def _as4_aggregator(to: Fields, value: bytes, width: int) -> None:
    if width == 4:
        raise _Bad("AS4_AGGREGATOR from a peer with four-byte AS numbers")
    to.as4_aggregator = _read_aggregator(value, 4)


RULES: Final[dict[int, Rule]] = {
    AttributeType.ORIGIN: Rule(WELL_KNOWN, "withdraw", _origin),  # RFC 7606 section 7.1
    AttributeType.AS_PATH: Rule(WELL_KNOWN, "withdraw", _as_path),  # 7.2
    AttributeType.NEXT_HOP: Rule(WELL_KNOWN, "withdraw", _next_hop),  # 7.3
    AttributeType.MULTI_EXIT_DISC: Rule(OPTIONAL, "withdraw", _med),  # 7.4
    AttributeType.LOCAL_PREF: Rule(WELL_KNOWN, "withdraw", _local_pref, internal_only=True),  # 7.5
    AttributeType.ATOMIC_AGGREGATE: Rule(WELL_KNOWN, "discard", _atomic),  # 7.6
    AttributeType.AGGREGATOR: Rule(OPTIONAL_TRANSITIVE, "discard", _aggregator),  # 7.7
    AttributeType.COMMUNITIES: Rule(OPTIONAL_TRANSITIVE, "withdraw", _communities),  # 7.8
    AttributeType.ORIGINATOR_ID: Rule(OPTIONAL, "withdraw", _originator, internal_only=True),  # 7.9
    AttributeType.CLUSTER_LIST: Rule(OPTIONAL, "withdraw", _clusters, internal_only=True),  # 7.10
    AttributeType.MP_REACH_NLRI: Rule(OPTIONAL, "reset", _mp_reach),  # 7.11
    AttributeType.MP_UNREACH_NLRI: Rule(OPTIONAL, "reset", _mp_unreach),  # 7.12
    AttributeType.EXTENDED_COMMUNITIES: Rule(OPTIONAL_TRANSITIVE, "withdraw", _ext_communities),  # 7.14
    AttributeType.AS4_PATH: Rule(OPTIONAL_TRANSITIVE, "discard", _as4_path),  # RFC 6793 section 6
    AttributeType.AS4_AGGREGATOR: Rule(OPTIONAL_TRANSITIVE, "discard", _as4_aggregator),  # RFC 6793 section 6
    AttributeType.PMSI_TUNNEL: Rule(OPTIONAL_TRANSITIVE, "withdraw", _pmsi),  # RFC 6514 section 5
    AttributeType.LARGE_COMMUNITIES: Rule(OPTIONAL_TRANSITIVE, "withdraw", _large_communities),  # RFC 8092 section 5
}


def read_attributes(data: bytes, *, width: int, external: bool) -> Fields:
    """Read a whole attribute list; `width` is that of AS numbers on this session, 2 or 4.

    Never raises: flaws are collected in the result.
    """
    to = Fields()
    seen: set[int] = set()
    at, end = 0, len(data)
    while at < end:
        extended = data[at] & AttributeFlag.EXTENDED_LENGTH
        start = at + (4 if extended else 3)
        if start > end:
            to.flaws.append(
                UpdateError(
                    UpdateErrorCode.MALFORMED_ATTRIBUTE_LIST,
                    f"{end - at} bytes left over behind the attributes",
                    "withdraw",
                )
            )
            break  # RFC 7606 section 4
        after = start + int.from_bytes(data[at + 2 : start])
        flags, code, value = data[at], data[at + 1], data[start:after]
        if after > end:
            to.flaws.append(
                UpdateError(
                    UpdateErrorCode.ATTRIBUTE_LENGTH,
                    f"attribute {code} at byte {at} is longer than what is left",
                    "withdraw",
                    data[at:],
                )
            )
            break  # RFC 7606 section 4
        _read_one(to, flags, code, value, data[at:after], seen, width, external)
        at = after
    _settle_as4(to)
    return to


def _read_one(
    to: Fields, flags: int, code: int, value: bytes, raw: bytes, seen: set[int], width: int, external: bool
) -> None:
    if code in seen:
        # RFC 7606 section 3 (g): a repeated MP attribute ends the session; of others, the first one counts.
        multiprotocol = code in (AttributeType.MP_REACH_NLRI, AttributeType.MP_UNREACH_NLRI)
        to.flaws.append(
            UpdateError(
                UpdateErrorCode.MALFORMED_ATTRIBUTE_LIST,
                f"attribute {code} twice",
                "reset" if multiprotocol else "discard",
            )
        )
        return
    seen.add(code)
    rule = RULES.get(code)
    if rule is None:
        if not flags & AttributeFlag.OPTIONAL:
            to.flaws.append(
                UpdateError(UpdateErrorCode.UNRECOGNIZED_WELL_KNOWN, f"well-known attribute {code}", "reset", raw)
            )
        elif flags & AttributeFlag.TRANSITIVE:  # RFC 4271 section 5: unknown non-transitive ones are ignored
            to.unknown.append((flags, code, value))
        return
    if rule.internal_only and external:
        to.flaws.append(
            UpdateError(UpdateErrorCode.OPTIONAL_ATTRIBUTE, f"attribute {code} from an external peer", "discard")
        )
        return
    if flags & _CLASS != rule.flags:
        severity: Severity = rule.severity if rule.severity != "reset" else "withdraw"
        to.flaws.append(
            UpdateError(UpdateErrorCode.ATTRIBUTE_FLAGS, f"flags {flags:#04x} of attribute {code}", severity, raw)
        )  # RFC 7606 section 3 (c)
        if rule.severity != "reset":
            return  # an MP attribute is still read, to find the routes to withdraw
    try:
        rule.read(to, value, width)
    except _Bad as bad:
        to.flaws.append(UpdateError(bad.subcode, str(bad), rule.severity, raw))


def _settle_as4(to: Fields) -> None:
    """Apply AS4_PATH and AS4_AGGREGATOR, RFC 6793 section 4.2.3."""
    aggregator = to.values.get("aggregator")
    if to.as4_aggregator is not None and aggregator is not None:
        if aggregator[0] != AS_TRANS:
            return  # a two-byte speaker aggregated later: AS4_PATH is outdated
        to.values["aggregator"] = to.as4_aggregator
    if to.as4_path is not None and "as_path" in to.values:
        to.values["as_path"] = merge_as4(to.values["as_path"], to.as4_path)

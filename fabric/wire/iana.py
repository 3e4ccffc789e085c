"""Numbers that registries and standards fix, each with its source. No behaviour.

Registries: iana.org/assignments/bgp-parameters, bgp-extended-communities, address-family-numbers, safi-namespace.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

BGP_PORT: Final = 179
"""RFC 4271 section 8.2.1."""
BGP_VERSION: Final = 4
AS_TRANS: Final = 23456
"""Stands for a four-byte AS number where only two bytes fit; RFC 6793 section 9."""
MARKER: Final = b"\xff" * 16
HEADER_BYTES: Final = 19
MAX_MESSAGE_BYTES: Final = 4096
"""RFC 4271 section 4.1."""
MAX_EXTENDED_MESSAGE_BYTES: Final = 65535
"""RFC 8654 section 4; OPEN and KEEPALIVE stay at 4096."""


class Afi(IntEnum):
    """Address family identifiers."""

    IPV4 = 1
    IPV6 = 2
    L2VPN = 25


class Safi(IntEnum):
    """Subsequent address family identifiers, RFC 4760 section 5; EVPN: RFC 7432 section 7."""

    UNICAST = 1
    MULTICAST = 2
    EVPN = 70


class MessageType(IntEnum):
    """RFC 4271 section 4.1; ROUTE-REFRESH RFC 2918."""

    OPEN = 1
    UPDATE = 2
    NOTIFICATION = 3
    KEEPALIVE = 4
    ROUTE_REFRESH = 5


class AttributeFlag(IntEnum):
    """High bits of an attribute's flags, RFC 4271 section 4.3."""

    OPTIONAL = 0x80
    TRANSITIVE = 0x40
    PARTIAL = 0x20
    EXTENDED_LENGTH = 0x10


class AttributeType(IntEnum):
    """Path attribute type codes."""

    ORIGIN = 1  # RFC 4271
    AS_PATH = 2
    NEXT_HOP = 3
    MULTI_EXIT_DISC = 4
    LOCAL_PREF = 5
    ATOMIC_AGGREGATE = 6
    AGGREGATOR = 7
    COMMUNITIES = 8  # RFC 1997
    ORIGINATOR_ID = 9  # RFC 4456
    CLUSTER_LIST = 10
    MP_REACH_NLRI = 14  # RFC 4760
    MP_UNREACH_NLRI = 15
    EXTENDED_COMMUNITIES = 16  # RFC 4360
    AS4_PATH = 17  # RFC 6793
    AS4_AGGREGATOR = 18
    PMSI_TUNNEL = 22  # RFC 6514
    LARGE_COMMUNITIES = 32  # RFC 8092


class Origin(IntEnum):
    """RFC 4271 section 4.3; lower is preferred."""

    IGP = 0
    EGP = 1
    INCOMPLETE = 2


class SegmentType(IntEnum):
    """AS_PATH segments, RFC 4271 section 4.3 and RFC 5065 section 3."""

    AS_SET = 1
    AS_SEQUENCE = 2
    AS_CONFED_SEQUENCE = 3
    AS_CONFED_SET = 4


class CapabilityCode(IntEnum):
    """RFC 5492 registry."""

    MULTIPROTOCOL = 1  # RFC 4760
    ROUTE_REFRESH = 2  # RFC 2918
    EXTENDED_NEXT_HOP = 5  # RFC 8950
    EXTENDED_MESSAGE = 6  # RFC 8654
    GRACEFUL_RESTART = 64  # RFC 4724
    FOUR_OCTET_AS = 65  # RFC 6793
    ADD_PATH = 69  # RFC 7911
    ENHANCED_ROUTE_REFRESH = 70  # RFC 7313
    LONG_LIVED_GRACEFUL_RESTART = 71  # RFC 9494
    FQDN = 73  # draft-walton-bgp-hostname-capability
    ROUTE_REFRESH_CISCO = 128  # before RFC 2918; still sent beside code 2


class ErrorCode(IntEnum):
    """NOTIFICATION error codes."""

    MESSAGE_HEADER = 1  # RFC 4271 section 4.5
    OPEN = 2
    UPDATE = 3
    HOLD_TIMER_EXPIRED = 4
    FSM = 5  # subcodes: RFC 6608
    CEASE = 6  # subcodes: RFC 4486, 8538
    ROUTE_REFRESH = 7  # RFC 7313


class HeaderError(IntEnum):
    """RFC 4271 section 6.1."""

    CONNECTION_NOT_SYNCHRONIZED = 1
    BAD_MESSAGE_LENGTH = 2
    BAD_MESSAGE_TYPE = 3


class OpenError(IntEnum):
    """RFC 4271 section 6.2; 7 is RFC 5492 section 5."""

    UNSUPPORTED_VERSION = 1
    BAD_PEER_AS = 2
    BAD_BGP_IDENTIFIER = 3
    UNSUPPORTED_OPTIONAL_PARAMETER = 4
    UNACCEPTABLE_HOLD_TIME = 6
    UNSUPPORTED_CAPABILITY = 7


class UpdateErrorCode(IntEnum):
    """RFC 4271 section 6.3."""

    MALFORMED_ATTRIBUTE_LIST = 1
    UNRECOGNIZED_WELL_KNOWN = 2
    MISSING_WELL_KNOWN = 3
    ATTRIBUTE_FLAGS = 4
    ATTRIBUTE_LENGTH = 5
    INVALID_ORIGIN = 6
    INVALID_NEXT_HOP = 8
    OPTIONAL_ATTRIBUTE = 9
    INVALID_NETWORK_FIELD = 10
    MALFORMED_AS_PATH = 11


class FsmError(IntEnum):
    """RFC 6608 section 3."""

    UNSPECIFIED = 0
    UNEXPECTED_IN_OPEN_SENT = 1
    UNEXPECTED_IN_OPEN_CONFIRM = 2
    UNEXPECTED_IN_ESTABLISHED = 3


class Cease(IntEnum):
    """RFC 4486 section 3; 9 RFC 8538, 10 RFC 9384."""

    MAXIMUM_PREFIXES = 1
    ADMINISTRATIVE_SHUTDOWN = 2
    PEER_DECONFIGURED = 3
    ADMINISTRATIVE_RESET = 4
    CONNECTION_REJECTED = 5
    OTHER_CONFIGURATION_CHANGE = 6
    COLLISION_RESOLUTION = 7
    OUT_OF_RESOURCES = 8
    HARD_RESET = 9
    BFD_DOWN = 10


class RefreshSubtype(IntEnum):
    """ROUTE-REFRESH message subtypes, RFC 7313 section 3.2."""

    REQUEST = 0
    BEGIN = 1
    END = 2


class Community(IntEnum):
    """Well-known communities."""

    GRACEFUL_SHUTDOWN = 0xFFFF0000  # RFC 8326
    NO_EXPORT = 0xFFFFFF01  # RFC 1997
    NO_ADVERTISE = 0xFFFFFF02
    NO_EXPORT_SUBCONFED = 0xFFFFFF03
    NO_PEER = 0xFFFFFF04  # RFC 3765

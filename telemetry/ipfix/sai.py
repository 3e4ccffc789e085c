"""SAI counters as elements of IPFIX, as SONiC's high-frequency telemetry numbers them.

The enterprise number has the object's type in its upper half and the counter in its lower half; the element's number is
the object, counted from 1. The first bit of each half says that the rest is an extension of the SAI.

Sources: SONiC, doc/high-frequency-telemetry, high-frequency-telemetry-hld.md, section 7.2.2 (its picture and its
example of ports; its sentence has the halves the other way round, and the reader in sonic-swss, crates/countersyncd,
decides for the picture); numbers: saitypes.h, saiport.h, saiqueue.h and saibuffer.h of the SAI. The counters are those
that the design's YANG model lets an operator choose, and those of the fabric beside them.
"""

from __future__ import annotations

from typing import Final

PORT: Final = 0x01
QUEUE: Final = 0x15
BUFFER_POOL: Final = 0x18
PRIORITY_GROUP: Final = 0x1A
"""SAI_OBJECT_TYPE_*."""
MAX_OBJECTS: Final = 0x7FFF
"""Numbers of an element."""
_PRIORITIES: Final = 8

# fmt: off
_STATS: Final = {
    PORT: ("SAI_PORT_STAT_", {
        "IF_IN_OCTETS": 0, "IF_IN_UCAST_PKTS": 1, "IF_IN_DISCARDS": 3, "IF_IN_ERRORS": 4,
        "IF_OUT_OCTETS": 9, "IF_OUT_UCAST_PKTS": 10, "IF_OUT_DISCARDS": 12, "IF_OUT_ERRORS": 13,
        "IN_CURR_OCCUPANCY_BYTES": 91, "OUT_CURR_OCCUPANCY_BYTES": 95, "PAUSE_RX_PKTS": 101, "PAUSE_TX_PKTS": 102,
        **{f"PFC_{it}_RX_PKTS": 103 + 2 * it for it in range(_PRIORITIES)},
        **{f"PFC_{it}_TX_PKTS": 104 + 2 * it for it in range(_PRIORITIES)},
        **{f"PFC_{it}_RX_PAUSE_DURATION_US": 135 + 2 * it for it in range(_PRIORITIES)},
        **{f"PFC_{it}_TX_PAUSE_DURATION_US": 136 + 2 * it for it in range(_PRIORITIES)},
        **{f"PFC_{it}_ON2OFF_RX_PKTS": 151 + it for it in range(_PRIORITIES)},
        "TRIM_PACKETS": 201,
    }),
    QUEUE: ("SAI_QUEUE_STAT_", {
        "PACKETS": 0, "BYTES": 1, "DROPPED_PACKETS": 2, "DROPPED_BYTES": 3, "CURR_OCCUPANCY_BYTES": 0x18,
        "WATERMARK_BYTES": 0x19, "WRED_ECN_MARKED_PACKETS": 0x22, "TRIM_PACKETS": 0x28, "CURR_OCCUPANCY_CELLS": 0x29,
        "WATERMARK_CELLS": 0x2A,
    }),
    BUFFER_POOL: ("SAI_BUFFER_POOL_STAT_", {
        "CURR_OCCUPANCY_BYTES": 0, "WATERMARK_BYTES": 1, "DROPPED_PACKETS": 2, "XOFF_ROOM_CURR_OCCUPANCY_BYTES": 0x13,
        "XOFF_ROOM_WATERMARK_BYTES": 0x14, "CURR_OCCUPANCY_CELLS": 0x17, "WATERMARK_CELLS": 0x18,
    }),
    PRIORITY_GROUP: ("SAI_INGRESS_PRIORITY_GROUP_STAT_", {
        "PACKETS": 0, "BYTES": 1, "CURR_OCCUPANCY_BYTES": 2, "WATERMARK_BYTES": 3, "XOFF_ROOM_CURR_OCCUPANCY_BYTES": 6,
        "XOFF_ROOM_WATERMARK_BYTES": 7, "DROPPED_PACKETS": 8, "CURR_OCCUPANCY_CELLS": 9, "WATERMARK_CELLS": 10,
        "XOFF_ROOM_CURR_OCCUPANCY_CELLS": 13, "XOFF_ROOM_WATERMARK_CELLS": 14,
    }),
}
# fmt: on
BY_NAME: Final = {
    prefix + name: (kind << 16) + stat for kind, (prefix, stats) in _STATS.items() for name, stat in stats.items()
}
"""Enterprise numbers by the names of the SAI."""
BY_NUMBER: Final = {number: name for name, number in BY_NAME.items()}


def object_type(number: int) -> int:
    """The SAI object type of an enterprise number."""
    return number >> 16

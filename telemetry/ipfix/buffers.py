"""SAI counters of priority groups and buffer pools, each with the metric that it is made of.

Those of ports and queues are the leaves of COUNTERS_DB (telemetry/gnmi/sonic.py).
Source: saibuffer.h of the SAI. Its PACKETS of a group are those received; here those that the group admitted.
The high-water marks are those since the sample before, as of a reader that clears on read.
"""

from __future__ import annotations

from typing import Final

from telemetry.gnmi.leaf import Leaf

_GROUP: Final = "/SAI_INGRESS_PRIORITY_GROUP_STAT_"
_POOL: Final = "/SAI_BUFFER_POOL_STAT_"

BUFFERS: Final = (
    Leaf(f"{_GROUP}PACKETS", "fabric_pg_admitted_packets_total"),
    Leaf(f"{_GROUP}CURR_OCCUPANCY_BYTES", "fabric_pg_bytes"),
    Leaf(f"{_GROUP}WATERMARK_BYTES", "fabric_pg_watermark_bytes"),
    Leaf(f"{_GROUP}XOFF_ROOM_CURR_OCCUPANCY_BYTES", "fabric_pg_headroom_used_bytes"),
    Leaf(f"{_GROUP}XOFF_ROOM_WATERMARK_BYTES", "fabric_pg_headroom_watermark_bytes"),
    Leaf(f"{_GROUP}DROPPED_PACKETS", "fabric_pg_dropped_packets_total"),
    Leaf(f"{_POOL}CURR_OCCUPANCY_BYTES", "fabric_buffer_pool_used_bytes"),
    Leaf(f"{_POOL}WATERMARK_BYTES", "fabric_buffer_pool_watermark_bytes"),
    Leaf(f"{_POOL}XOFF_ROOM_CURR_OCCUPANCY_BYTES", "fabric_buffer_pool_headroom_used_bytes"),
    Leaf(f"{_POOL}XOFF_ROOM_WATERMARK_BYTES", "fabric_buffer_pool_headroom_watermark_bytes"),
)

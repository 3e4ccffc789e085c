"""Tables of SONiC's COUNTERS_DB: COUNTERS by port name, and the two maps from names to object identifiers.

Sources: SONiC, doc/system-telemetry/grpc_telemetry.md ("Virtual path") and sonic-gnmi, sonic_data_client/virtual_db.go:
COUNTERS/EthernetN has a port's counters, COUNTERS/EthernetN/Queues and /Pfcwd those of its queues, and EthernetN may
be Ethernet*. Names of counters: saiport.h and saiqueue.h of the SAI; of the watchdog: sonic-swss. All values are
strings, as in Redis. Object identifiers are made up: type in the upper 16 bits as in the SAI, then a number.

Deviations: unicast counters have all frames, as fabric's ports do not count by address; counters without a metric are
absent, not 0.
"""

from __future__ import annotations

from typing import Final

from telemetry.gnmi.leaf import Form, Leaf, Source

DATABASE: Final = "COUNTERS_DB"
OTHERS: Final = frozenset(
    {"APPL_DB", "ASIC_DB", "CONFIG_DB", "FLEX_COUNTER_DB", "STATE_DB", "SNMP_OVERLAY_DB", "OTHERS", "EVENTS"}
)
"""SONiC's other targets."""
GROUPS: Final = frozenset({"Queues", "Pfcwd"})
"""Virtual nodes below a port: one object for each queue."""

_PORT_TYPE: Final = 0x1 << 48
_QUEUE_TYPE: Final = 0x15 << 48
"""SAI_OBJECT_TYPE_PORT and SAI_OBJECT_TYPE_QUEUE (saitypes.h)."""
_QUEUES: Final = 8

_PORT: Final = "/COUNTERS/{port}"
_PFC: Final = f"{_PORT}/SAI_PORT_STAT_PFC_{{priority}}"
_QUEUE: Final = f"{_PORT}/Queues/{{port}}:{{queue}}"
_WATCHDOG: Final = f"{_PORT}/Pfcwd/{{port}}:{{queue}}"


def _port_oid(source: Source) -> str:
    return f"oid:{_PORT_TYPE + source.port + 1:#x}"


def _queue_oid(source: Source) -> str:
    return f"oid:{_QUEUE_TYPE + source.port * _QUEUES + int(source.labels['queue']) + 1:#x}"


def _state(source: Source) -> str | None:
    return source.labels["state"] if source.value else None


# fmt: off
LEAVES: Final = (
    Leaf("/COUNTERS_PORT_NAME_MAP/{port}", "fabric_port_up", Form.STRING, text=_port_oid),
    Leaf("/COUNTERS_QUEUE_NAME_MAP/{port}:{queue}", "fabric_queue_transmit_packets_total", Form.STRING,
         text=_queue_oid),
    Leaf(f"{_PORT}/SAI_PORT_STAT_IF_IN_OCTETS", "fabric_port_receive_bytes_total"),
    Leaf(f"{_PORT}/SAI_PORT_STAT_IF_IN_UCAST_PKTS", "fabric_port_receive_packets_total", note="all frames"),
    Leaf(f"{_PORT}/SAI_PORT_STAT_IF_IN_ERRORS", "fabric_port_fcs_errors_total"),
    Leaf(f"{_PORT}/SAI_PORT_STAT_IF_OUT_OCTETS", "fabric_port_transmit_bytes_total"),
    Leaf(f"{_PORT}/SAI_PORT_STAT_IF_OUT_UCAST_PKTS", "fabric_port_transmit_packets_total", note="all frames"),
    Leaf(f"{_PORT}/SAI_PORT_STAT_IF_OUT_DISCARDS", "fabric_queue_dropped_packets_total",
         note="sum of the port's queues"),
    Leaf(f"{_PFC}_RX_PKTS", "fabric_pfc_receive_frames_total", note="XOFF and XON"),
    Leaf(f"{_PFC}_TX_PKTS", "fabric_pfc_transmit_frames_total", note="XOFF and XON"),
    Leaf(f"{_PFC}_ON2OFF_RX_PKTS", "fabric_pfc_receive_resume_total"),
    Leaf(f"{_PFC}_RX_PAUSE_DURATION_US", "fabric_pfc_receive_paused_seconds_total", factor=1_000_000,
         note="simulated time"),
    Leaf(f"{_QUEUE}/SAI_QUEUE_STAT_PACKETS", "fabric_queue_transmit_packets_total"),
    Leaf(f"{_QUEUE}/SAI_QUEUE_STAT_BYTES", "fabric_queue_transmit_bytes_total"),
    Leaf(f"{_QUEUE}/SAI_QUEUE_STAT_DROPPED_PACKETS", "fabric_queue_dropped_packets_total"),
    Leaf(f"{_QUEUE}/SAI_QUEUE_STAT_DROPPED_BYTES", "fabric_queue_dropped_bytes_total"),
    Leaf(f"{_QUEUE}/SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES", "fabric_queue_bytes"),
    Leaf(f"{_QUEUE}/SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS", "fabric_ecn_marked_packets_total"),
    Leaf(f"{_WATCHDOG}/PFC_WD_STATUS", "fabric_pfcwd_state", Form.STRING, text=_state),
    Leaf(f"{_WATCHDOG}/PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED", "fabric_pfcwd_storms_detected_total"),
    Leaf(f"{_WATCHDOG}/PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED", "fabric_pfcwd_storms_restored_total"),
    Leaf(f"{_WATCHDOG}/PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS", "fabric_pfcwd_dropped_packets_total"),
)
# fmt: on

"""gNMIc's Prometheus output of OpenConfig paths, for the switches.

Source: gNMIc docs/user_guide/outputs/prometheus_output.md: the path without its keys, with `_` for every character that
is not alphanumeric; keys, source and subscription_name as labels; untyped. OpenConfig has no leaf for PFC per priority:
only MAC pause frames of a port. Strings (oper-status) are dropped unless strings-as-labels is set, so they are not
here.
"""

from __future__ import annotations

from typing import Final

from telemetry.export.compat.model import Alias, Layer

_PORT: Final = 57400
"""gNMIc names a target by address and port; 57400 is its default."""
_SOURCE: Final = f"{{device}}:{_PORT}"
_INTERFACES: Final = "interfaces_interface"
_QUEUES: Final = "qos_interfaces_interface_output_queues_queue_state"


def _interface(leaf: str, source: str, text: str) -> Alias:
    return Alias(
        f"{_INTERFACES}_{leaf}",
        "unknown",
        text,
        source,
        False,
        {"interface_name": "{port}", "source": _SOURCE, "subscription_name": "interfaces"},
    )


def _queue(leaf: str, source: str, text: str) -> Alias:
    return Alias(
        f"{_QUEUES}_{leaf}",
        "unknown",
        text,
        source,
        False,
        {"interface_interface_id": "{port}", "queue_name": "{queue}", "source": _SOURCE, "subscription_name": "qos"},
    )


_HELP: Final = "gNMIc generated metric"

LAYER: Final = Layer(
    "gnmic",
    "switches: OpenConfig interfaces and qos, as gNMIc's Prometheus output",
    (
        _interface("state_counters_in_octets", "fabric_port_receive_bytes_total", _HELP),
        _interface("state_counters_out_octets", "fabric_port_transmit_bytes_total", _HELP),
        _interface("state_counters_in_pkts", "fabric_port_receive_packets_total", _HELP),
        _interface("state_counters_out_pkts", "fabric_port_transmit_packets_total", _HELP),
        _interface("state_counters_in_fcs_errors", "fabric_port_fcs_errors_total", _HELP),
        _interface("ethernet_state_counters_in_mac_pause_frames", "fabric_port_receive_pause_frames_total", _HELP),
        _interface("ethernet_state_counters_out_mac_pause_frames", "fabric_port_transmit_pause_frames_total", _HELP),
        _queue("transmit_pkts", "fabric_queue_transmit_packets_total", _HELP),
        _queue("transmit_octets", "fabric_queue_transmit_bytes_total", _HELP),
        _queue("dropped_pkts", "fabric_queue_dropped_packets_total", _HELP),
        _queue("dropped_octets", "fabric_queue_dropped_bytes_total", _HELP),
        _queue("ecn_marked_pkts", "fabric_ecn_marked_packets_total", _HELP),
        _queue("max_queue_len", "fabric_queue_watermark_bytes", _HELP),
    ),
)

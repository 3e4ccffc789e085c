"""vinted/sonic-exporter v0.3.1 on the switches. It has neither PFC, nor ECN, nor the watchdog.

Source: internal/collector/interface_collector.go and queue_collector.go. Oddities kept: a watermark is a counter with
`_total` that can decrease, `device` is the interface, the speed has the unit bytes.
"""

from __future__ import annotations

from typing import Final

from telemetry.export.compat.model import Alias, Layer

_INTERFACE: Final = {"instance": "{device}", "device": "{port}"}
_QUEUE: Final = {"instance": "{device}", "device": "{port}", "queue": "{queue}"}


def _interface(name: str, source: str, text: str, kind: str = "counter", **more: str) -> Alias:
    return Alias(f"sonic_interface_{name}", kind, text, source, False, {**_INTERFACE, **more})


def _queue(name: str, source: str, text: str, **more: str) -> Alias:
    return Alias(f"sonic_queue_{name}_total", "counter", text, source, False, {**_QUEUE, **more})


_WATERMARK: Final = "Network device property: watermarks of queue"

LAYER: Final = Layer(
    "sonic-exporter",
    "switches: interfaces and queues of a SONiC COUNTERS_DB",
    (
        _interface(
            "info",
            "fabric_port_info",
            "Non-numeric data about interface, value is always 1",
            "info",
            alias="{port}",
            index="{index}",
            description="{peer_device}:{peer_port}",
        ),
        _interface(
            "speed_bytes", "fabric_port_speed_bytes_per_second", "Network device property: speed_bytes", "gauge"
        ),
        _interface("operational_status", "fabric_port_up", "Network device property: operational_status", "gauge"),
        _interface(
            "receive_bytes_total", "fabric_port_receive_bytes_total", "Number of bytes received on an interface"
        ),
        _interface(
            "transmit_bytes_total", "fabric_port_transmit_bytes_total", "Number of bytes transmitted on an interface"
        ),
        _interface(
            "receive_packets_total",
            "fabric_port_receive_packets_total",
            "Number of packets received on an interface",
            method="ucast",
        ),
        _interface(
            "transmit_packets_total",
            "fabric_port_transmit_packets_total",
            "Number of packets transmitted on an interface",
            method="ucast",
        ),
        _interface(
            "receive_errs_total", "fabric_port_fcs_errors_total", "Number of receive errs on an interface", type="error"
        ),
        _queue("packets", "fabric_queue_transmit_packets_total", "Number of packets in a queue"),
        _queue("bytes", "fabric_queue_transmit_bytes_total", "Number of bytes in a queue"),
        _queue("dropped_packets", "fabric_queue_dropped_packets_total", "Number of dropped packets in a queue"),
        _queue("dropped_bytes", "fabric_queue_dropped_bytes_total", "Number of dropped bytes in a queue"),
        _queue("shared_watermark_bytes", "fabric_queue_watermark_bytes", "Number of shared watermark bytes in a queue"),
        _queue("watermark_bytes", "fabric_queue_watermark_bytes", _WATERMARK, type="periodic", watermark="shared"),
        _queue("watermark_bytes", "fabric_queue_watermark_bytes", _WATERMARK, type="user", watermark="shared"),
        _queue("watermark_bytes", "fabric_queue_peak_bytes", _WATERMARK, type="persistent", watermark="shared"),
    ),
)

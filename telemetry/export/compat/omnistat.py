"""ROCm/omnistat on the hosts: its network collector with RoCE NICs of the class `ionic`.

Source: docs/metrics.md at e93110f (2026-08-19). Oddities kept: counters are gauges without `_total`.
"""

from __future__ import annotations

from typing import Final

from telemetry.export.compat.model import Absent, Alias, Layer

_INTERFACE: Final = {"instance": "{device}", "device_class": "ionic", "interface": "ionic_{index}"}


def _network(name: str, source: str, text: str) -> Alias:
    return Alias(f"omnistat_network_{name}", "gauge", text, source, True, _INTERFACE)


LAYER: Final = Layer(
    "omnistat",
    "hosts: ROCm/omnistat, network collector",
    (
        _network("rx_bytes", "fabric_port_receive_bytes_total", "Total bytes received by network interface"),
        _network("tx_bytes", "fabric_port_transmit_bytes_total", "Total bytes transmitted by network interface"),
        _network("rx_packets", "fabric_port_receive_packets_total", "Total packets received by network interface"),
        _network("tx_packets", "fabric_port_transmit_packets_total", "Total packets transmitted by network interface"),
        _network(
            "rx_out_of_sequence_packets",
            "fabric_rnic_out_of_sequence_packets_total",
            "Total packets received out of sequence",
        ),
        _network("tx_retransmitted_packets", "fabric_rnic_retransmitted_packets_total", "Total packets retransmitted"),
        _network(
            "rx_ecn_marked_packets",
            "fabric_rnic_ecn_marked_received_packets_total",
            "Total packets received with the ECN congestion mark: congestion on inbound traffic",
        ),
        _network(
            "rx_cnp_packets",
            "fabric_rnic_cnp_handled_packets_total",
            "Total congestion notification packets received: congestion on outbound traffic",
        ),
        _network(
            "rx_cnp_packets",
            "fabric_rnic_cnp_ignored_packets_total",
            "Total congestion notification packets received: congestion on outbound traffic",
        ),
    ),
    (
        Absent(
            "omnistat_network_rx_discarded_packets, omnistat_network_tx_discarded_packets",
            "omnistat has them for the class bnxt_re alone; the hosts here are of the class ionic",
        ),
        Absent("rocm_*, omnistat_host_*, omnistat_vendor_*, rmsjob_*", "GPUs, hosts and their jobs are not modelled"),
    ),
)
"""The counters of a host with several NICs are shown at its first NIC: the emulator counts per host."""

"""AMD device-metrics-exporter on the hosts, with AMD AI NICs (ionic): prefix `amd_`, its default.

Source: network-metricslist.md of its documentation, and pkg/amdnic/nicagent at afd0fe81 (2026-08-21). Oddities kept:
counters are gauges, and the names are the enum's in lower case, its misspelling `outouf_seq` included.
"""

from __future__ import annotations

from typing import Final

from telemetry.export.compat.model import Absent, Alias, Layer

_NIC: Final = {"instance": "{device}", "hostname": "{device}", "nic_id": "{index}"}
_PORT: Final = {**_NIC, "port_name": "{port}", "port_id": "{index}"}
_RDMA: Final = {**_NIC, "rdma_if_name": "ionic_{index}"}


def _port(name: str, source: str, text: str) -> Alias:
    return Alias(f"amd_nic_port_stats_{name}", "gauge", text, source, True, _PORT)


def _rdma(name: str, source: str, text: str) -> Alias:
    return Alias(f"amd_rdma_{name}", "gauge", text, source, True, _RDMA)


LAYER: Final = Layer(
    "amd",
    "hosts: AMD device-metrics-exporter with AMD AI NICs",
    (
        _port("frames_rx_all", "fabric_port_receive_packets_total", "Total number of all frames received"),
        _port("frames_tx_all", "fabric_port_transmit_packets_total", "Total number of all frames transmitted"),
        _port("octets_rx_all", "fabric_port_receive_bytes_total", "Total number of all octets received"),
        _port("octets_tx_all", "fabric_port_transmit_bytes_total", "Total number of all octets transmitted"),
        _port("frames_rx_bad_fcs", "fabric_port_fcs_errors_total", "Total number of frames received with FCS error"),
        _port(
            "frames_rx_pripause",
            "fabric_port_receive_pause_frames_total",
            "Total number of priority pause frames received",
        ),
        _port(
            "frames_tx_pripause",
            "fabric_port_transmit_pause_frames_total",
            "Total number of priority pause frames transmitted",
        ),
        _port(
            "frames_rx_pri_{priority}",
            "fabric_priority_receive_packets_total",
            "Total number of frames received on the priority",
        ),
        _port(
            "frames_tx_pri_{queue}",
            "fabric_queue_transmit_packets_total",
            "Total number of frames transmitted on the priority",
        ),
        Alias(
            "amd_nic_port_stats_frames_rx_dropped",
            "gauge",
            "Total frames received but dropped, such as for want of buffer",
            "fabric_rnic_receive_discards_total",
            True,
            {**_NIC, "port_name": "eth0", "port_id": "0"},
        ),
        _rdma("tx_cnp_pkts", "fabric_rnic_cnp_sent_packets_total", "Tx RDMA Congestion Notification Packets"),
        _rdma("rx_cnp_pkts", "fabric_rnic_cnp_handled_packets_total", "Rx RDMA Congestion Notification Packets"),
        _rdma("rx_cnp_pkts", "fabric_rnic_cnp_ignored_packets_total", "Rx RDMA Congestion Notification Packets"),
        _rdma(
            "rx_ecn_pkts",
            "fabric_rnic_ecn_marked_received_packets_total",
            "Rx RDMA Explicit Congestion Notification Packets",
        ),
        _rdma("req_rx_pkt_seq_err", "fabric_rnic_naks_received_total", "Request Rx packet sequence errors"),
        _rdma("resp_rx_dup_request", "fabric_rnic_duplicate_packets_total", "Response Rx duplicate request count"),
        _rdma("resp_rx_outouf_seq", "fabric_rnic_out_of_sequence_packets_total", "Response Rx out of sequence count"),
    ),
    (
        Absent(
            "amd_nic_port_stats_frames_*_ok, amd_nic_port_stats_octets_*_ok, amd_nic_port_stats_frames_rx_bad_all",
            "the port counts all frames, and those with a wrong FCS; use both",
        ),
        Absent("amd_nic_port_stats_frames_*_pause", "802.3x pause is not modelled"),
        Absent(
            "amd_nic_port_stats_frames_*_unicast, *_multicast, *_broadcast",
            "the port counts packets of all kinds together",
        ),
        Absent(
            "amd_nic_port_stats_frames_rx_{bad_length,undersized,oversized,fragments,jabber,stomped_crc,too_long}, "
            "amd_nic_port_stats_frames_tx_{bad,less_than_64b,truncated}",
            "frames of the model have valid sizes; damage is a wrong FCS",
        ),
        Absent("amd_nic_port_stats_rsfec_*", "FEC is not modelled"),
        Absent("amd_nic_lif_stats_*, amd_eth_*", "functions of a NIC and its netdevice are not modelled apart"),
        Absent("amd_qp_*", "counters are those of a host, and not of a queue pair"),
        Absent(
            "amd_rdma_tx_ucast_pkts, amd_rdma_rx_ucast_pkts",
            "packets of a port are not divided into RoCE and other traffic",
        ),
        Absent(
            "amd_rdma_req_rx_* (others), amd_rdma_req_tx_*, amd_rdma_resp_rx_* (others), amd_rdma_resp_tx_*",
            "errors of completion queues, access and memory are not modelled",
        ),
    ),
)
"""The counters of a host with several NICs are shown at its first NIC: the emulator counts per host."""

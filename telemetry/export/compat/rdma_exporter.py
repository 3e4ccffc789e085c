"""yuuki/rdma_exporter on the hosts, with mlx5 NICs: the names that Grafana's board 24241 queries.

Source: its README.md and design.md at 461f67e (2026-08-22). Oddities kept: `rdma_port_*_data_total` counts words of
four bytes, pauses are in microseconds, `direction="rx"` means that the peer stops this NIC. Netdevice counters of a
priority have `netdev`; counters of sysfs, netlink and queue pairs have not.
"""

from __future__ import annotations

from typing import Final

from telemetry.export.compat.model import Absent, Alias, Layer

_RDMA: Final = {"instance": "{device}", "device": "mlx5_{index}", "port": "1"}
_NETDEV: Final = {**_RDMA, "netdev": "{port}"}
_WORD_BYTES: Final = 4
_US: Final = 1e6


def _sysfs(name: str, source: str, text: str, factor: float = 1.0) -> Alias:
    return Alias(f"rdma_{name}_total", "counter", text, source, True, _RDMA, factor)


def _queue_pair(name: str, source: str, text: str) -> Alias:
    return Alias(f"rdma_qp_{name}_total", "counter", text, source, True, {**_RDMA, "qp_type": "RC"})


def _pfc(name: str, source: str, direction: str, text: str, factor: float = 1.0) -> Alias:
    labels = {**_NETDEV, "direction": direction, "priority": "{priority}"}
    return Alias(f"rdma_roce_pfc_pause_{name}_total", "counter", text, source, True, labels, factor)


def _state(value: float, state: str, physical: str) -> Alias:
    labels = {**_NETDEV, "link_layer": "Ethernet", "state": state, "phys_state": physical, "is_vf": "false"}
    text = "RDMA port metadata as labels"
    return Alias("rdma_port_info", "gauge", text, "fabric_port_up", True, labels, when=value)


def _enabled(counter: str) -> Alias:
    text = "1 while the optional counter is enabled"
    labels = {**_RDMA, "counter": counter}
    return Alias("rdma_optional_counter_enabled", "gauge", text, "fabric_port_up", True, labels, constant=1.0)


_FRAMES: Final = "PFC frames; rx: the peer stops this NIC, tx: this NIC stops the peer"
_DURATION: Final = "Time paused in microseconds"
_CNP_RECEIVED: Final = "CNPs received"

LAYER: Final = Layer(
    "rdma_exporter",
    "hosts: yuuki/rdma_exporter with mlx5 NICs, as Grafana's board 24241 queries it",
    (
        _state(1.0, "ACTIVE", "LinkUp"),
        _state(0.0, "DOWN", "Disabled"),
        _sysfs("port_rcv_data", "fabric_port_receive_bytes_total", "Words of four bytes received", 1 / _WORD_BYTES),
        _sysfs("port_xmit_data", "fabric_port_transmit_bytes_total", "Words of four bytes sent", 1 / _WORD_BYTES),
        _sysfs("port_rcv_packets", "fabric_port_receive_packets_total", "Packets received"),
        _sysfs("port_xmit_packets", "fabric_port_transmit_packets_total", "Packets sent"),
        _sysfs("port_rcv_errors", "fabric_port_fcs_errors_total", "Packets received with an error"),
        _sysfs("port_xmit_discards", "fabric_queue_dropped_packets_total", "Packets discarded before they were sent"),
        _sysfs("np_cnp_sent", "fabric_rnic_cnp_sent_packets_total", "CNPs sent by the notification point"),
        _sysfs(
            "np_ecn_marked_roce_packets",
            "fabric_rnic_ecn_marked_received_packets_total",
            "RoCE packets received with CE by the notification point",
        ),
        _sysfs("rp_cnp_handled", "fabric_rnic_cnp_handled_packets_total", "CNPs handled by the reaction point"),
        _sysfs("rp_cnp_ignored", "fabric_rnic_cnp_ignored_packets_total", "CNPs ignored by the reaction point"),
        _sysfs("out_of_sequence", "fabric_rnic_out_of_sequence_packets_total", "Packets received out of sequence"),
        _sysfs("packet_seq_err", "fabric_rnic_naks_received_total", "NAKs of a sequence error received"),
        _sysfs("local_ack_timeout_err", "fabric_rnic_timeouts_total", "Retransmission timers that ran out"),
        _sysfs("duplicate_request", "fabric_rnic_duplicate_packets_total", "Requests received again"),
        _sysfs("cc_rx_ce_pkts", "fabric_rnic_ecn_marked_received_packets_total", "Packets received with CE"),
        _sysfs("cc_rx_cnp_pkts", "fabric_rnic_cnp_handled_packets_total", _CNP_RECEIVED),
        _sysfs("cc_rx_cnp_pkts", "fabric_rnic_cnp_ignored_packets_total", _CNP_RECEIVED),
        _sysfs("cc_tx_cnp_pkts", "fabric_rnic_cnp_sent_packets_total", "CNPs sent"),
        *map(_enabled, ("cc_rx_ce_pkts", "cc_rx_cnp_pkts", "cc_tx_cnp_pkts")),
        _queue_pair("duplicate_request", "fabric_rnic_duplicate_packets_total", "Requests received again"),
        _queue_pair("local_ack_timeout_err", "fabric_rnic_timeouts_total", "Retransmission timers that ran out"),
        _queue_pair("packet_seq_err", "fabric_rnic_naks_received_total", "NAKs of a sequence error received"),
        _pfc("frames", "fabric_pfc_receive_frames_total", "rx", _FRAMES),
        _pfc("frames", "fabric_pfc_transmit_frames_total", "tx", _FRAMES),
        _pfc("duration", "fabric_pfc_receive_paused_seconds_total", "rx", _DURATION, _US),
        _pfc("duration", "fabric_pfc_transmit_paused_seconds_total", "tx", _DURATION, _US),
        _pfc("transitions", "fabric_pfc_receive_resume_total", "rx", "Changes from XOFF to XON"),
        Alias(
            "rdma_netdev_prio_discards_total",
            "counter",
            "Packets of the priority discarded because the receive buffer was full",
            "fabric_dropped_packets_total",
            True,
            {**_NETDEV, "priority": "{traffic_class}"},
            only={"reason": "rx_buffer"},
        ),
        Alias(
            "rdma_netdev_rx_discards_phy_total",
            "counter",
            "Packets discarded because the receive buffer was full",
            "fabric_rnic_receive_discards_total",
            True,
            {**_RDMA, "netdev": "eth0"},
        ),
        Alias(
            "rdma_phy_rx_crc_errors_total",
            "counter",
            "Frames received with a wrong FCS",
            "fabric_port_fcs_errors_total",
            True,
            _NETDEV,
        ),
    ),
    (
        Absent(
            "rdma_link_downed_total, rdma_link_error_recovery_total, rdma_phy_link_down_events_total",
            "links of the model go down by a dated fault, which the event log has; outages are not counted",
        ),
        Absent(
            "rdma_port_unicast_rcv_packets_total, rdma_port_multicast_rcv_packets_total, and both of xmit",
            "the port counts packets of all kinds together",
        ),
        Absent("rdma_port_xmit_wait_total", "the model has pauses by priority, and no counter of ticks"),
        Absent(
            "rdma_roce_adp_retrans_total, rdma_roce_adp_retrans_to_total, rdma_roce_slow_restart*_total",
            "adaptive retransmission and slow restart of the vendor's firmware are not modelled",
        ),
        Absent(
            "rdma_out_of_buffer_total, rdma_rnr_nak_retry_err_total, rdma_rx_*_requests_total",
            "work queue entries and kinds of requests are not modelled",
        ),
        Absent(
            "rdma_port_rcv_remote_physical_errors_total, rdma_port_rcv_switch_relay_errors_total, "
            "rdma_port_*_constraint_errors_total, rdma_symbol_error_total",
            "counters of InfiniBand without a meaning in the model",
        ),
        Absent("rdma_netdev_global_pause_*", "802.3x pause is not modelled; a real NIC in PFC mode lacks them as well"),
        Absent(
            "rdma_netdev_pause_storm_events_total", "the stall prevention of the NIC, 8 s by default, is not modelled"
        ),
        Absent(
            "rdma_netdev_prio_buf_discard_total, rdma_netdev_prio_cong_discard_total, "
            "rdma_netdev_prio_ecn_marked_total, rdma_netdev_dev_out_of_buffer_total, rdma_netdev_vport_*",
            "the receive buffer of the model is one, and it does not mark",
        ),
        Absent("rdma_pcie_*", "PCIe is not modelled; a host that drains slowly is a rate"),
        Absent(
            "rdma_phy_rx_corrected_bits_total, rdma_phy_rx_pcs_symbol_err_total, rdma_phy_rx_bits_total, "
            "rdma_phy_rx_err_lane_total",
            "bit errors of the model are frames with a wrong FCS; FEC is not modelled",
        ),
        Absent(
            "rdma_qp_rx_bytes_total, rdma_qp_tx_bytes_total, rdma_qp_rx_packets_total, rdma_qp_tx_packets_total",
            "bytes and packets are counted by port and by class, and not by queue pair",
        ),
        Absent(
            "rdma_optional_rx_bytes_total, rdma_optional_tx_bytes_total, and both of packets",
            "bytes and packets of a port are not divided into RoCE and other traffic",
        ),
        Absent(
            "rdma_lifespan_milliseconds, rdma_scrape_*, rdma_*_scrape_errors_total",
            "facts of the exporter's own program",
        ),
    ),
)
"""The counters of a host with several NICs are shown at its first NIC: the emulator counts per host."""

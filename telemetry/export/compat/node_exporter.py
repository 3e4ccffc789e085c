"""node_exporter on the hosts: infiniband collector (hw_counters), ethtool collector of an mlx5 NIC, and link facts.

Sources: node_exporter v1.12.1 collector/infiniband_linux.go and ethtool_linux.go (`rx` becomes `received`, `tx`
`transmitted`, untyped, vendor spelling kept); Documentation/networking/device_drivers/.../mlx5/counters.rst. Oddities
kept: durations in microseconds, XOFF and XON counted together, counters without `_total`. RoCE bypasses the kernel, so
node_network_receive_bytes_total would not increase on a real host; bytes are in the `_phy` counters.
"""

from __future__ import annotations

from typing import Final

from telemetry.export.compat.model import Absent, Alias, Layer

_RDMA: Final = {"instance": "{device}", "device": "mlx5_{index}", "port": "1"}
_NETDEV: Final = {"instance": "{device}", "device": "{port}"}
_US: Final = 1e6


def _infiniband(name: str, source: str, text: str, kind: str = "counter") -> Alias:
    return Alias(f"node_infiniband_{name}", kind, text, source, True, _RDMA)


def _ethtool(name: str, source: str, factor: float = 1.0) -> Alias:
    spelling = name.replace("received", "rx").replace("transmitted", "tx").replace("{priority}", "N")
    return Alias(f"node_ethtool_{name}", "unknown", f"Network interface {spelling}", source, True, _NETDEV, factor)


LAYER: Final = Layer(
    "node_exporter",
    "hosts: infiniband and ethtool collectors of an mlx5 NIC",
    (
        _infiniband(
            "port_data_received_bytes_total",
            "fabric_port_receive_bytes_total",
            "Number of data octets received on all links",
        ),
        _infiniband(
            "port_data_transmitted_bytes_total",
            "fabric_port_transmit_bytes_total",
            "Number of data octets transmitted on all links",
        ),
        _infiniband(
            "port_packets_received_total",
            "fabric_port_receive_packets_total",
            "Number of packets received on all VLs by this port (including errors)",
        ),
        _infiniband(
            "port_packets_transmitted_total",
            "fabric_port_transmit_packets_total",
            "Number of packets transmitted on all VLs from this port (including errors)",
        ),
        _infiniband(
            "rate_bytes_per_second", "fabric_port_speed_bytes_per_second", "Maximum signal transfer rate", "gauge"
        ),
        _infiniband(
            "np_cnp_packets_sent_total",
            "fabric_rnic_cnp_sent_packets_total",
            "The number of CNP packets sent by the Notification Point when it noticed congestion experienced in "
            "the RoCEv2 IP header (ECN bits)",
        ),
        _infiniband(
            "np_ecn_marked_roce_packets_received_total",
            "fabric_rnic_ecn_marked_received_packets_total",
            "The number of RoCEv2 packets received by the notification point which were marked for experiencing "
            "the congestion (ECN bits)",
        ),
        _infiniband(
            "rp_cnp_packets_handled_total",
            "fabric_rnic_cnp_handled_packets_total",
            "The number of CNP packets handled by the Reaction Point HCA to throttle the transmission rate",
        ),
        _infiniband(
            "rp_cnp_ignored_packets_received_total",
            "fabric_rnic_cnp_ignored_packets_total",
            "The number of CNP packets received and ignored by the Reaction Point HCA",
        ),
        _infiniband(
            "out_of_sequence_packets_received_total",
            "fabric_rnic_out_of_sequence_packets_total",
            "The number of out of sequence packets received",
        ),
        _infiniband(
            "packet_sequence_errors_total",
            "fabric_rnic_naks_received_total",
            "The number of received NAK sequence error packets",
        ),
        _infiniband(
            "local_ack_timeout_errors_total",
            "fabric_rnic_timeouts_total",
            "The number of times QP's ack timer expired for RC, XRC, DCT QPs at the sender side",
        ),
        _infiniband(
            "duplicate_requests_packets_total",
            "fabric_rnic_duplicate_packets_total",
            "The number of received packets of a request that had been executed before",
        ),
        _infiniband(
            "port_errors_received_total",
            "fabric_port_fcs_errors_total",
            "Number of packets containing an error that were received on this port",
        ),
        _infiniband(
            "port_discards_transmitted_total",
            "fabric_queue_dropped_packets_total",
            "Number of outbound packets discarded by the port because the port is down or congested",
        ),
        _ethtool("received_bytes_phy", "fabric_port_receive_bytes_total"),
        _ethtool("transmitted_bytes_phy", "fabric_port_transmit_bytes_total"),
        _ethtool("received_packets_phy", "fabric_port_receive_packets_total"),
        _ethtool("transmitted_packets_phy", "fabric_port_transmit_packets_total"),
        _ethtool("received_crc_errors_phy", "fabric_port_fcs_errors_total"),
        _ethtool("received_prio{priority}_bytes", "fabric_priority_receive_bytes_total"),
        _ethtool("received_prio{priority}_packets", "fabric_priority_receive_packets_total"),
        _ethtool("transmitted_prio{queue}_bytes", "fabric_queue_transmit_bytes_total"),
        _ethtool("transmitted_prio{queue}_packets", "fabric_queue_transmit_packets_total"),
        _ethtool("received_prio{priority}_pause", "fabric_pfc_receive_frames_total"),
        _ethtool("transmitted_prio{priority}_pause", "fabric_pfc_transmit_frames_total"),
        _ethtool("received_prio{priority}_pause_duration", "fabric_pfc_receive_paused_seconds_total", _US),
        _ethtool("transmitted_prio{priority}_pause_duration", "fabric_pfc_transmit_paused_seconds_total", _US),
        _ethtool("received_prio{priority}_pause_transition", "fabric_pfc_receive_resume_total"),
        Alias(
            "node_ethtool_received_prio{traffic_class}_discards",
            "unknown",
            "Network interface rx_prioN_discards",
            "fabric_dropped_packets_total",
            True,
            _NETDEV,
            only={"reason": "rx_buffer"},
        ),
        Alias(
            "node_ethtool_received_discards_phy",
            "unknown",
            "Network interface rx_discards_phy",
            "fabric_rnic_receive_discards_total",
            True,
            {"instance": "{device}", "device": "eth0"},
        ),
        Alias(
            "node_network_up", "gauge", "Value is 1 if operstate is 'up', 0 otherwise.", "fabric_port_up", True, _NETDEV
        ),
        Alias(
            "node_network_speed_bytes",
            "gauge",
            "Network device property: speed_bytes",
            "fabric_port_speed_bytes_per_second",
            True,
            _NETDEV,
        ),
    ),
    (
        Absent(
            "node_infiniband_roce_adp_retransmits_total, node_infiniband_roce_adp_retransmits_timeout_total, "
            "node_infiniband_roce_slow_restart_*",
            "adaptive retransmission and slow restart of the vendor's firmware are not modelled",
        ),
        Absent(
            "node_infiniband_out_of_buffer_drops_total, node_infiniband_rnr_nak_retry_packets_received_total, "
            "node_infiniband_implied_nak_sequence_errors_total, node_infiniband_*_requests_total",
            "work queue entries and kinds of requests are not modelled",
        ),
        Absent("node_infiniband_port_transmit_wait_total", "the model has pauses by priority, and no counter of ticks"),
        Absent(
            "node_infiniband_link_downed_total, node_infiniband_link_error_recovery_total",
            "links of the model go down by a dated fault, which the event log has; outages are not counted",
        ),
        Absent("node_infiniband_{unicast,multicast}_packets_*_total", "the port counts packets of all kinds together"),
        Absent(
            "node_infiniband_symbol_error_total, node_infiniband_*_constraint_errors_*_total, "
            "node_infiniband_legacy_*, node_infiniband_physical_state_id, node_infiniband_state_id",
            "counters and states of InfiniBand that the model has not",
        ),
        Absent(
            "node_ethtool_received_prio{N}_{buf,cong}_discard, node_ethtool_received_prio{N}_marked",
            "the receive buffer of the model is one, and it does not mark",
        ),
        Absent(
            "node_ethtool_transmitted_pause_storm_{warning,error}_events",
            "the stall prevention of the NIC, 8 s by default, is not modelled",
        ),
        Absent("node_network_receive_*, node_network_transmit_*", "RoCE bypasses the kernel, whose counters these are"),
    ),
)
"""The counters of a host with several NICs are shown at its first NIC: the emulator counts per host."""

"""Measures of test plans by name: unit, what they can be of, and the counter that the plan's suite reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

LOSSLESS, LOSSY, ALL = "lossless", "lossy", "all"
KINDS: Final = (LOSSLESS, LOSSY, ALL)
IN_USE: Final = "lossless in use"
"""Lossless priorities that a scenario sends in; LOSSLESS alone are all those of the plan."""
ACK, CNP, DATA = "ack", "cnp", "data"
STORMED, BESIDE = "stormed", "beside"
"""Priorities of streams that the tester pauses, and the others."""
OF_STREAMS: Final = (STORMED, BESIDE, ALL)
KPI: Final = "kpi"
ROCE, CABLES, UPLINKS, RANKS, OTHERS = "roce", "cables", "uplinks", "ranks", "others"
"""Of a whole fabric: RoCE's class, cables between switches, equal-cost ports upwards, ranks of a collective, and hosts
that send no PAUSE."""


@dataclass(frozen=True, slots=True)
class Name:
    """A measure."""

    unit: str
    """'': a count; 'time': ps; 'share': a ratio, shown in per cent; 'ratio'; 'bytes'; 'rate': bits per second; of a KPI
    the draft's, such as 'Tbps'."""
    of: tuple[str, ...]
    rows: str
    """What each row is of."""
    counter: str
    """Of the tester (IxNetwork's RoCEv2 statistics) or of the switch (SAI, as `show queue|pfc counters` has it)."""
    means: str
    of_fabric: bool = False
    """Of a whole fabric, not of one switch."""


def _kpi(unit: str, name: str, means: str) -> Name:
    """A KPI of the BMWG draft in its own unit."""
    return Name(unit, (KPI,), "statistic", f"KPI: {name}", means, of_fabric=True)


# fmt: off
MEASURES: Final[Mapping[str, Name]] = {
    "messages_failed": Name("", KINDS, "flow", "tester: Messages Fail",
                            "messages of queue pairs that gave up after their retries"),
    "frame_delta": Name("", KINDS, "flow", "tester: Frame Delta", "data frames sent and not received"),
    "naks": Name("", KINDS, "flow", "tester: NAK Rx", "NAKs that the sender received"),
    "sequence_errors": Name("", KINDS, "flow", "tester: Frame Sequence Error",
                            "data frames that came out of sequence"),
    "latency": Name("time", KINDS, "kind", "tester: Avg Latency",
                    "mean time of a data frame from port to port, by Little's law from the frames in flight"),
    "acked": Name("", KINDS, "flow", "tester: ACK Rx", "data frames that ACKs which came back have acknowledged"),
    "acks_received": Name("", KINDS, "port", "tester: ACK Rx + NAK Rx",
                          "ACKs and NAKs that the tester's port received"),
    "ecn_ce": Name("", KINDS, "flow", "tester: ECN-CE Rx", "data frames that the switch marked CE"),
    "marked_by_priority": Name("", KINDS, "priority", "switch: SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS",
                               "data frames that the switch marked CE, of all flows of a priority"),
    "cnps": Name("", KINDS, "flow's port", "tester: CNP Tx", "CNPs that the receiving port sent"),
    "cnps_received": Name("", KINDS, "port", "tester: CNP Rx", "CNPs that the sending port received"),
    "pfc_sent": Name("", (LOSSLESS, IN_USE, LOSSY), "priority", "switch: SAI_PORT_STAT_PFC_<n>_TX_PKTS",
                     "PAUSE frames with a time above 0 that the test ports sent"),
    "pause_share": Name("share", (LOSSLESS, IN_USE, LOSSY), "port and priority",
                        "switch: SAI_PORT_STAT_PFC_<n>_TX_PAUSE_DURATION_US", "share of the time in pause"),
    "queue_packets": Name("", (ACK, CNP, DATA), "port and queue", "switch: SAI_QUEUE_STAT_PACKETS",
                          "frames that left by the queue"),
    "frames_received": Name("", KINDS, "port and queue", "tester: Frames Rx", "data frames that the port received"),
    "share_error": Name("share", (DATA,), "queue", "switch: SAI_QUEUE_STAT_BYTES",
                        "distance of the queue's rate from its DWRR share, as a part of that share"),
    "headroom_peak": Name("bytes", (LOSSLESS, IN_USE), "port and group",
                          "switch: SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES",
                          "most bytes in the headroom of a priority group"),
    "first_mark": Name("time", (IN_USE,), "priority", "tester: ECN-CE Rx", "time of the first data frame marked CE"),
    "first_pfc": Name("time", (IN_USE,), "priority", "tester: PFC Rx",
                      "time at which the first PAUSE stopped a port of the tester; the end of the run without one"),
    "stream_frames": Name("", OF_STREAMS, "port and queue", "tester: Frames Rx", "frames of streams that left"),
    "stream_rate_error": Name("share", OF_STREAMS, "port and queue", "tester: Rx Rate",
                              "distance of a stream's rate from what it is sent with, as a part of that"),
    "stream_lost": Name("", OF_STREAMS, "priority", "tester: Loss", "frames of streams that the switch discarded"),
    "paused_rate_error": Name("share", (STORMED,), "port and queue", "tester: Rx Rate",
                              "distance of a stream's rate from what the pauses leave of the port's rate, as a part "
                              "of the port's rate"),
    "stream_marked": Name("", OF_STREAMS, "port and queue", "switch: SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS",
                          "frames of streams that the switch marked CE"),
    "mark_error": Name("share", OF_STREAMS, "port and queue", "switch: SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS",
                       "distance of the share of marked frames from that of the WRED curve at the bytes that the "
                       "queue held, as a part of that"),
    "mark_response": Name("time", OF_STREAMS, "port and queue", "tester: first frame with ECN-CE Rx",
                          "from the moment at which the queue passes Kmin, by its growth, to that at which the first "
                          "frame marked CE has left it for the receiver"),
    "mark_response_limit": Name("time", OF_STREAMS, "port and queue", "none: from the WRED curve",
                                "time after which the curve has left no frame of 10,000 runs unmarked, and in which "
                                "the queue passes it on"),
    "mark_enter_time": Name("time", OF_STREAMS, "port and queue", "tester: first frame with ECN-CE Rx",
                            "from the begin of the streams to the first frame marked CE at the receiver"),
    "mark_exit_time": Name("time", OF_STREAMS, "port and queue", "tester: last frame with ECN-CE Rx",
                           "from the moment at which streams stop to the last frame marked CE at the receiver"),
    "mark_exit_limit": Name("time", OF_STREAMS, "port and queue", "none: from the WRED curve",
                            "time in which the queue falls from the most that it held to Kmin, and passes that on"),
    "pfc_received": Name("", (STORMED, BESIDE), "port and priority", "switch: SAI_PORT_STAT_PFC_<n>_RX_PKTS",
                         "PAUSE frames that the ports received"),
    "pfc_of_tester": Name("", (STORMED,), "port and priority", "tester: PFC Tx", "PAUSE frames that the tester sent"),
    "pause_time_error": Name("share", (STORMED,), "port and priority",
                             "switch: SAI_PORT_STAT_PFC_<n>_RX_PAUSE_DURATION_US",
                             "distance of the counted time in pause from that which the tester's frames ask for"),
    "pause_length_error": Name("share", (STORMED,), "port and priority", "tester: Rx gap",
                               "distance of a pause from quanta x 512 bits at the port's rate"),
    "resume_latency": Name("time", (STORMED,), "port and priority", "tester: first frame Rx",
                           "time from the frame that ends a pause to the moment at which the port may send again"),
    "storms_detected": Name("", (STORMED, BESIDE), "port and queue", "switch: PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED",
                            "storms that the watchdog declared"),
    "storms_restored": Name("", (STORMED, BESIDE), "port and queue", "switch: PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED",
                            "storms that the watchdog ended"),
    "detection_time": Name("time", (STORMED,), "port and queue", "switch: syslog PFC Watchdog detected",
                           "from the first PAUSE of the storm to its detection"),
    "detection_limit": Name("time", (STORMED,), "port and queue", "switch: PFC_WD detection_time",
                            "detection time and one poll, or one step of the chip's timer, as configured"),
    "detection_configured": Name("time", (STORMED,), "port and queue", "switch: show pfcwd config, DETECTION TIME",
                                 "detection time of the configuration"),
    "detection_programmed": Name("time", (STORMED,), "port and queue",
                                 "switch: show pfcwd status, HW DETECTION TIME",
                                 "of the chip's timer, in its steps; of software the polls that it takes"),
    "restoration_time": Name("time", (STORMED,), "port and queue", "switch: syslog PFC Watchdog restored",
                             "from the end of the last pause to the queue's restoration"),
    "restoration_limit": Name("time", (STORMED,), "port and queue", "switch: PFC_WD restoration_time",
                              "restoration time and two polls, or two steps of the chip's timer, as configured"),
    "hop_paused": Name("time", (ROCE,), "direction of a cable", "switch: SAI_PORT_STAT_PFC_<n>_RX_PAUSE_DURATION_US",
                       "time in which the sending port of a cable was paused, of those over which frames of the class "
                       "went", of_fabric=True),
    "class_lost": Name("", (ROCE,), "switch", "switch: SAI_PORT_STAT_IF_IN_DISCARDS, SAI_QUEUE_STAT_DROPPED_PACKETS",
                       "frames in the class that the switch discarded", of_fabric=True),
    "receiver_marked": Name("", (ROCE,), "port to a host", "switch: SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS",
                            "frames marked CE at the port of the host that receives, in its slot", of_fabric=True),
    "full_queue_marked": Name("", (CABLES,), "port to a switch", "switch: SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS",
                              "frames that a queue between switches has marked, of queues that held more than Kmax, "
                              "or without a curve more than the smallest Kmax of the fabric", of_fabric=True),
    "receiver_cnps": Name("", (ROCE,), "host", "host: np_cnp_sent", "CNPs that the host that receives sent, in its "
                          "slot", of_fabric=True),
    "share_missing": Name("share", (ROCE,), "port to a host", "tester: Rx Rate",
                          "what RoCE lacks of the share of the port that its scheduler gives it beside the other "
                          "traffic, as a part of that share", of_fabric=True),
    "beside_lost": Name("", (BESIDE,), "switch", "switch: SAI_QUEUE_STAT_DROPPED_PACKETS",
                        "datagrams that the switch discarded", of_fabric=True),
    "beside_pauses": Name("", (BESIDE,), "switch", "switch: SAI_PORT_STAT_PFC_<n>_TX_PKTS",
                          "PAUSE frames that the switch sent for the class of DSCP 0", of_fabric=True),
    "storms_declared": Name("", (STORMED, OTHERS), "port to a host", "switch: PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED",
                            "storms that the watchdog declared", of_fabric=True),
    "storms_ended": Name("", (STORMED,), "port to a host", "switch: PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED",
                         "storms that the watchdog ended", of_fabric=True),
    "declared_inside": Name("", (CABLES,), "switch", "switch: PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED",
                            "storms that the watchdog declared at ports to other switches", of_fabric=True),
    "arrivals_missing": Name("share", (OTHERS,), "host", "tester: Rx Rate",
                             "what a host lacks of the datagrams that were sent to it, as a part of them",
                             of_fabric=True),
    "cable_frames": Name("", (CABLES,), "direction of a cable", "switch: SAI_PORT_STAT_IF_OUT_UCAST_PKTS",
                         "frames sent over a cable between switches; 0 for a cable that is down", of_fabric=True),
    "spread": Name("ratio", (UPLINKS,), "switch", "switch: SAI_PORT_STAT_IF_OUT_OCTETS",
                   "bytes of the busiest of the equal-cost ports upwards over their mean (MMR)", of_fabric=True),
    "spread_limit": Name("ratio", (UPLINKS,), "switch", "none: exact, of a uniform hash",
                         "MMR that a uniform hash of as many queue pairs exceeds once in 10,000 draws", of_fabric=True),
    "time_excess": Name("share", (RANKS,), "number of ranks", "host: time of nccl-tests",
                        "time of the collective over that of its closed form on this fabric, less one",
                        of_fabric=True),
    "aggregate_throughput": _kpi("Tbps", "Aggregate Throughput", "goodput of all hosts"),
    "throughput_efficiency": _kpi("%", "Throughput efficiency", "goodput over the rate of the receivers' links"),
    "tail_latency": _kpi("us", "Tail Latency", "one-way time of messages of one frame, from posting to arrival"),
    "ecn_marking_ratio": _kpi("%", "ECN Marking Ratio", "frames marked CE over frames that switches sent"),
    "pfc_pause_count": _kpi("events/s", "PFC Pause Count", "PAUSE frames with a time above 0, of the class, at a port"),
    "pfc_pause_duration": _kpi("us", "PFC Pause Duration", "time in pause in the window, of the class, at a port"),
    "packet_drop_rate": _kpi("ppm", "Packet Drop Rate", "frames discarded of the frames that hosts sent"),
    "retransmission_rate": _kpi("retx/s", "RDMA Retransmission Rate", "frames that NICs sent again"),
    "out_of_order_rate": _kpi("pkt/s", "Out-of-Order Packet Rate", "frames that came out of sequence"),
    "queue_depth": _kpi("bytes", "Queue Depth", "of RoCE's queue at the switch port that held the most"),
    "mmr": _kpi("dimensionless", "ECMP Imbalance (MMR)", "bytes of the busiest equal-cost port over their mean"),
    "jfi": _kpi("dimensionless", "Jain's Fairness Index (JFI)", "of the bytes of equal-cost ports"),
    "busbw": _kpi("Gbps/accelerator", "Bus Bandwidth (BusBW)", "size over time, times algo_factor"),
    "busbw_efficiency": _kpi("%", "BusBW efficiency", "bus bandwidth over the line rate of a host"),
    "jct": _kpi("seconds", "JCT per iteration", "time of one collective operation"),
    "jct_ratio": _kpi("dimensionless", "JCT Ratio", "computation of C and the collective, over C and the roofline"),
    "interference": _kpi("dimensionless", "JCT Interference Factor", "time of a collective beside that of another job "
                         "over its time alone"),
    "link_overlap": _kpi("%", "Link Overlap", "cables between switches of a job alone, each direction counted, that "
                         "another job alone uses as well"),
    "burst_frames": _kpi("frames", "Burst Absorption", "frames of a burst at line rate that are sent before the first "
                         "loss; all of them where none is lost"),
    "burst_bytes": _kpi("bytes", "Burst Absorption", "as burst_frames"),
    "burst_lost": _kpi("frames", "Packets lost", "frames of the burst that are discarded"),
    "convergence": _kpi("us", "Congestion Control Convergence", "from the moment at which as many flows again begin to "
                        "that at which the rates of all are within 10 % of their mean; none where they never are"),
    "failover_time": _kpi("us", "Failover Time", "from the failure to the last frame that is lost"),
    "failover_lost": _kpi("packets", "Packets lost", "frames discarded from the failure on"),
    "bus_bandwidth": Name("rate", (RANKS,), "number of ranks", "host: busbw of nccl-tests",
                          "size over time, times the factor of the operation", of_fabric=True),
}
# fmt: on

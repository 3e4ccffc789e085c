"""The catalogue: every metric this project exports, declared once; rules, dashboards and playbooks refer to it by name.

Conventions (prometheus.io/docs/practices/naming): prefix `fabric_`, base units (seconds, bytes, ratios), the unit as
plural suffix, `_total` on accumulating counts, `_info` for metadata. No flow, queue pair or address is a label, because
the number of series must be bounded. A sum over all labels of one metric is meaningful.

`source` is either `table.field` of a Snapshot, or `name()`: a function of telemetry/catalogue/derive.py. A metric with
a variant has one source per value of an extra label; `{}` in its source stands for that value.

`make docs` writes docs/metrics.md.
"""

from __future__ import annotations

from typing import Final

from fabric.units import PS_PER_S
from telemetry.catalogue.control import BGP_STATES
from telemetry.catalogue.job_metrics import COLLECTIVE, JOB
from telemetry.catalogue.spec import LABELS, RATES, TIMES_S, Kind, MetricSpec, Rows, counter, gauge, info

_PS: Final = PS_PER_S
_BITS: Final = 8
_XOFF_XON: Final = ("xoff", "xon")

# AMD's omnistat explains the two congestion counters by direction; the same sentences stand here.
_INBOUND: Final = "Congestion on the path to this host (inbound)."
_OUTBOUND: Final = "Congestion on the path from this host (outbound)."

# fmt: off
SELF: Final = (
    info("build", Rows.FABRIC, "build()", ("version",), "Version of the emulator."),
    info("run", Rows.FABRIC, "run()", ("fabric", "run", "scenario", "model", "seed"), "The simulated scenario."),
    info("device", Rows.DEVICE, "device()", ("role", "tier", "group"),
          "Role, tier and group of a device; join by device."),
    info("port", Rows.PORT, "port()", ("peer_device", "peer_port"),
          "The other end of a port's cable; join by device, port."),
    gauge("sim_time_seconds", "seconds", Rows.FABRIC, "sim_time_ps()", "Simulated time.", _PS),
    counter("sim_elapsed_seconds", "seconds", Rows.FABRIC, "sim_time_ps()",
             "Simulated time of all passes of a looped run: divide a rate by the rate of this counter to have it "
             "per simulated second, at any dilation.", _PS),
    gauge("sim_finished", "", Rows.FABRIC, "finished()", "1 once every message is done or has failed."),
    counter("sim_events", "", Rows.FABRIC, "events()", "Events that the emulator has simulated."),
    gauge("sim_realtime_ratio", "ratio", Rows.FABRIC, "realtime()",
           "Simulated seconds per second of wall clock since the previous scrape; from the second scrape on."),
    gauge("sim_dilation_ratio", "ratio", Rows.FABRIC, "dilation()",
           "Seconds of wall clock per simulated second, as configured; the achieved value is "
           "1 / fabric_sim_realtime_ratio."),
    counter("sim_slipped_seconds", "seconds", Rows.FABRIC, "slipped()",
             "Wall clock lag of a live run that was dropped: the machine is too slow "
             "for this dilation."),
    counter("sim_passes", "", Rows.FABRIC, "passes()", "Passes of the scenario that a live run has completed."),
    gauge("sim_paused", "", Rows.FABRIC, "held()", "1 while the simulated time of a live run is paused."),
    gauge("sim_ended", "", Rows.FABRIC, "ended()",
           "1 once the last pass of a live run is over: all metrics then stay as they were at its end."),
    gauge("scrape_duration_seconds", "seconds", Rows.FABRIC, "scrape_duration()",
           "Wall clock time of this answer, without its text output."),
)
"""About the run and the exporter."""

WALL_CLOCK: Final = frozenset(
    {"realtime()", "dilation()", "slipped()", "passes()", "held()", "ended()", "scrape_duration()"}
)
"""Sources of a live exporter that are not in a Snapshot."""

UNRECORDED: Final = frozenset({"events()", *WALL_CLOCK})
"""Sources of a live run that are not in its directory."""

LINK: Final = (
    counter("port_receive_bytes", "bytes", Rows.PORT, "received_bytes()",
             "Bytes received, with FCS, without preamble and gap."),
    counter("port_receive_packets", "packets", Rows.PORT, "received_pkts()",
             "Frames received, PFC frames and frames with a wrong FCS included; none that were lost silently: what the "
             "peer sent and this port did not receive is on the cable or lost."),
    counter("port_transmit_bytes", "bytes", Rows.PORT, "ports.tx_bytes",
             "Bytes sent, with FCS, without preamble and gap."),
    counter("port_transmit_packets", "packets", Rows.PORT, "ports.tx_pkts", "Frames sent, PFC frames included."),
    counter("port_transmit_busy_seconds", "seconds", Rows.PORT, "ports.busy_ps",
             "Time spent sending, preamble and gap included; its rate is the port's utilisation.", _PS),
    gauge("port_speed_bytes_per_second", "bytes_per_second", Rows.PORT, "ports.rate_bps", "Line rate.", _BITS),
    gauge("port_configured_speed_bytes_per_second", "bytes_per_second", Rows.PORT, "configured_rate_bps()",
          "Line rate that the port is configured for; where lanes are lost the present one is lower.", _BITS),
    gauge("port_arrival_delay_seconds", "seconds", Rows.PORT, "ports.arrival_delay_ps",
           "Time from a frame's end at this port until the peer counts it: cable and receiving latency, as an "
           "inventory of cables has it; no switch measures it.", _PS),
    counter("port_lost_packets", "packets", Rows.PORT, "ports.lost_pkts",
             "Frames lost in flight towards this port when its link went down."),
    counter("port_lost_bytes", "bytes", Rows.PORT, "ports.lost_bytes",
             "Bytes lost in flight towards this port when its link went down."),
    gauge("port_up", "", Rows.PORT, "ports.up", "1 while the link is up."),
    counter("port_down_seconds", "seconds", Rows.PORT, "down_ps()",
             "Time that the link was down, the present outage included.",
             _PS),
    counter("port_fcs_errors", "", Rows.PORT, "ports.fcs_errors", "Frames received with a wrong FCS."),
    counter("port_dropped_packets", "packets", Rows.PORT, "discarded_pkts()",
             "Packets discarded at this port, for any reason that a port counts; present from the start, so alert on "
             "this one."),
    counter("port_dropped_bytes", "bytes", Rows.PORT, "discarded_bytes()",
             "Bytes discarded at this port, for any reason that a port counts."),
    counter("priority_receive_packets", "packets", Rows.CLASS, "class_received_pkts()",
             "Packets received in this class; mlx5 rx_prioN_packets."),
    counter("priority_receive_bytes", "bytes", Rows.CLASS, "class_received_bytes()",
             "Bytes received in this class; mlx5 rx_prioN_bytes."),
    counter("priority_lost_packets", "packets", Rows.CLASS, "pgs.lost_pkts",
             "Packets of this class lost in flight towards this port when its link went down."),
    counter("dropped_packets", "packets", Rows.DROP, "drops.pkts",
             "Packets discarded, by traffic class and reason; a series begins with its first drop. Reason injected: "
             "lost silently, which no real port counts."),
    counter("dropped_bytes", "bytes", Rows.DROP, "drops.bytes",
             "Bytes discarded, by traffic class and reason; a series begins with its first drop. Reason injected: "
             "lost silently, which no real port counts."),
)
"""Per port."""

PFC: Final = (
    counter("port_receive_pause_frames", "frames", Rows.PORT, "ports.rx_pause_pkts",
             "PFC frames received; one frame may have several priorities."),
    counter("port_transmit_pause_frames", "frames", Rows.PORT, "ports.tx_pause_pkts", "PFC frames sent."),
    counter("pfc_receive_frames", "frames", Rows.PFC, "prios.rx_{}_pkts",
             "PFC frames received for this priority; mlx5 counts both kinds in rx_prioN_pause.",
             variant="kind", values=_XOFF_XON),
    counter("pfc_transmit_frames", "frames", Rows.PFC, "prios.tx_{}_pkts",
             "PFC frames sent for this priority.",
             variant="kind", values=_XOFF_XON),
    counter("pfc_receive_paused_seconds", "seconds", Rows.PFC, "prios.rx_paused_ps",
             "Time for which the priority was paused at this port, the present pause included.", _PS),
    counter("pfc_transmit_paused_seconds", "seconds", Rows.PFC, "prios.tx_paused_ps",
             "Time for which this port paused the priority at its peer, the present pause included; frames that a "
             "broken NIC sends without need are in the peer's received time alone.", _PS),
    counter("pfc_receive_pauses", "", Rows.PFC, "prios.pauses", "Pauses begun, refreshes not counted."),
    counter("pfc_receive_resume", "", Rows.PFC, "prios.on2off_pkts",
             "Pauses ended, by XON or because the timer ran out; mlx5 rx_prioN_pause_transition."),
    gauge("pfc_paused", "", Rows.PFC, "paused()", "1 while this port may not send the priority."),
    gauge("pfc_pausing", "", Rows.PFC, "prios.xoff_sent",
           "1 while this port pauses the priority at its peer."),
    gauge("pfc_longest_pause_seconds", "seconds", Rows.PFC, "prios.longest_ps",
           "Longest single pause received since the start, the present one included.", _PS),
    gauge("pfc_recent_pause_seconds", "seconds", Rows.PFC, "prios.recent_ps",
           "Length of the most recent pause received, so far if it lasts; SONiC's RECENT_PAUSE_TIME.", _PS),
    gauge("pfc_recent_pause_start_seconds", "seconds", Rows.PFC, "prios.begun_ps",
           "Simulated time at which the most recent pause began, 0 without one; SONiC's RECENT_PAUSE_TIMESTAMP.", _PS),
    info("pfc_pause_cause", Rows.PAUSE, "pause_causes()",
          ("cause", "cause_device", "cause_port", "root", "root_device", "root_port", "evidence"),
          "Cause of a pause: the queue or host at the other end that causes it, and the root of the chain "
          "of pauses. evidence: packets, or depth where packets were not followed."),
    gauge("pfc_deadlock", "", Rows.SEARCHED, "deadlock()",
           "1 while paused queues wait for each other in a cycle, which does not resolve."),
)
"""IEEE 802.1Q clause 36."""

WATCHDOG: Final = (
    info("pfcwd_queue", Rows.CARRIED, "watched_queue()", (),
          "Class whose packets the switch puts into a watched queue, by its own map; join by device, port, queue. A "
          "queue without a class has its own number."),
    counter("pfcwd_storms_detected", "", Rows.WATCHED, "queues.wd_detected",
             "Storms that the PFC watchdog has detected."),
    counter("pfcwd_storms_restored", "", Rows.WATCHED, "queues.wd_restored",
             "Storms that the PFC watchdog has ended."),
    gauge("pfcwd_state", "", Rows.WATCHED, "watchdog_{}()", "1 for the state that the queue is in, else 0.",
           variant="state", values=("operational", "stormed")),
    counter("pfcwd_dropped_packets", "packets", Rows.WATCHED, "queues.wd_dropped_pkts",
             "Packets discarded because the queue was in storm. Only what would leave by the queue is discarded here; "
             "a switch may also discard what arrives, direction receive.",
             variant="direction", values=("transmit",)),
)
"""PFC watchdog, SONiC semantics."""

QUEUE: Final = (
    gauge("queue_bytes", "bytes", Rows.QUEUE, "queues.depth_bytes", "Bytes waiting now."),
    gauge("queue_packets", "packets", Rows.QUEUE, "queues.depth_pkts", "Packets waiting now."),
    gauge("queue_watermark_bytes", "bytes", Rows.QUEUE, "queues.watermark_bytes",
           "Most bytes waiting since the last sample, or scrape of a live run."),
    gauge("queue_peak_bytes", "bytes", Rows.QUEUE, "queues.peak_bytes", "Most bytes waiting since the start."),
    counter("queue_enqueued_packets", "packets", Rows.QUEUE, "queues.enqueued_pkts", "Packets that joined the queue."),
    counter("queue_enqueued_bytes", "bytes", Rows.QUEUE, "queues.enqueued_bytes", "Bytes that joined the queue."),
    counter("queue_transmit_packets", "packets", Rows.QUEUE, "queues.sent_pkts", "Packets sent from the queue."),
    counter("queue_transmit_bytes", "bytes", Rows.QUEUE, "queues.sent_bytes", "Bytes sent from the queue."),
    counter("queue_dropped_packets", "packets", Rows.QUEUE, "queues.dropped_pkts",
             "Packets that the queue refused, or discarded while they waited."),
    counter("queue_dropped_bytes", "bytes", Rows.QUEUE, "queues.dropped_bytes",
             "Bytes that the queue refused, or discarded while they waited."),
    counter("queue_flushed_packets", "packets", Rows.QUEUE, "queues.flushed_pkts",
             "Packets discarded while they waited: the link went down, or the watchdog emptied the queue."),
    counter("queue_flushed_bytes", "bytes", Rows.QUEUE, "queues.flushed_bytes",
             "Bytes discarded while they waited: the link went down, or the watchdog emptied the queue."),
    counter("ecn_marked_packets", "packets", Rows.SWITCH_QUEUE, "queues.marked_pkts",
             "Packets marked CE by this queue."),
    counter("ecn_eligible_packets", "packets", Rows.SWITCH_QUEUE, "queues.ect_pkts",
             "ECN-capable packets that passed the marker: the denominator of the marked share."),
    gauge("ecn_kmin_bytes", "bytes", Rows.SWITCH_QUEUE, "ecn_kmin_bytes()",
           "Depth above which the queue begins to mark; 0, as fabric_ecn_kmax_bytes, where it marks nothing."),
    gauge("ecn_kmax_bytes", "bytes", Rows.SWITCH_QUEUE, "ecn_kmax_bytes()",
           "Depth above which the queue marks every packet; 0 where it marks nothing."),
    gauge("ecn_pmax_ratio", "ratio", Rows.SWITCH_QUEUE, "ecn_pmax_ratio()",
           "Share of packets that are marked at fabric_ecn_kmax_bytes; 0 where the queue marks nothing."),
)
"""Egress."""

BUFFER: Final = (
    gauge("pg_bytes", "bytes", Rows.PG, "pgs.use_bytes", "Reserved and shared buffer in use, in whole cells."),
    gauge("pg_watermark_bytes", "bytes", Rows.PG, "pgs.watermark_bytes",
           "Highest fabric_pg_bytes since the last sample, or scrape of a live run."),
    gauge("pg_peak_bytes", "bytes", Rows.PG, "pgs.peak_bytes", "Highest fabric_pg_bytes since the start."),
    gauge("pg_shared_threshold_bytes", "bytes", Rows.PG, "shared_threshold_bytes()",
           "Limit of shared use now; a dynamic limit shrinks as the pool fills."),
    gauge("pg_peak_threshold_ratio", "ratio", Rows.PG, "pgs.peak_share_ratio",
           "Highest shared use over its limit since the start; a lossless group sends XOFF at 1."),
    gauge("pg_lossless", "", Rows.PG, "pgs.lossless", "1 for a lossless priority group."),
    counter("pg_admitted_packets", "packets", Rows.PG, "pgs.admitted_pkts", "Packets admitted to the buffer."),
    counter("pg_dropped_packets", "packets", Rows.PG, "pgs.dropped_pkts",
             "Packets refused at ingress; more than none in a lossless group is a defect of the configuration."),
    gauge("pg_headroom_used_bytes", "bytes", Rows.LOSSLESS_PG, "pgs.headroom_bytes", "Headroom in use."),
    gauge("pg_headroom_limit_bytes", "bytes", Rows.LOSSLESS_PG, "pgs.xoff_bytes",
           "Headroom of the group: its own, or its cap on the shared headroom pool."),
    gauge("pg_headroom_watermark_bytes", "bytes", Rows.LOSSLESS_PG, "pgs.headroom_watermark_bytes",
           "Most headroom in use since the last sample, or scrape of a live run."),
    gauge("pg_headroom_peak_bytes", "bytes", Rows.LOSSLESS_PG, "pgs.headroom_peak_bytes",
           "Most headroom in use since the start."),
    counter("pg_xoff_episodes", "", Rows.LOSSLESS_PG, "pgs.xoff_count",
             "Times that the group sent XOFF to its peer, refreshes not counted."),
    gauge("buffer_pool_used_bytes", "bytes", Rows.POOL, "pools.used_bytes", "Buffer pool in use."),
    gauge("buffer_pool_size_bytes", "bytes", Rows.POOL, "pools.size_bytes", "Size of the buffer pool."),
    gauge("buffer_pool_watermark_bytes", "bytes", Rows.POOL, "pools.watermark_bytes",
           "Most of the pool in use since the last sample, or scrape of a live run."),
    gauge("buffer_pool_peak_bytes", "bytes", Rows.POOL, "pools.peak_bytes",
           "Most of the pool in use since the start."),
    gauge("buffer_pool_headroom_used_bytes", "bytes", Rows.HEADROOM_POOL, "pools.headroom_used_bytes",
           "Shared headroom pool in use."),
    gauge("buffer_pool_headroom_size_bytes", "bytes", Rows.HEADROOM_POOL, "pools.headroom_size_bytes",
           "Size of the shared headroom pool."),
    gauge("buffer_pool_headroom_watermark_bytes", "bytes", Rows.HEADROOM_POOL, "pools.headroom_watermark_bytes",
           "Most of the shared headroom pool in use since the last sample, or scrape of a live run."),
    gauge("buffer_pool_headroom_peak_bytes", "bytes", Rows.HEADROOM_POOL, "pools.headroom_peak_bytes",
           "Most of the shared headroom pool in use since the start."),
)
"""Ingress priority groups and pools."""

_ALPHAS: Final = (0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0)

RNIC: Final = (
    counter("rnic_cnp_sent_packets", "packets", Rows.HOST, "hosts.cnp_sent",
             f"CNPs sent as notification point; mlx5 np_cnp_sent. {_INBOUND}"),
    counter("rnic_cnp_handled_packets", "packets", Rows.HOST, "hosts.cnp_handled",
             f"CNPs received and obeyed as reaction point; mlx5 rp_cnp_handled. {_OUTBOUND}"),
    counter("rnic_cnp_ignored_packets", "packets", Rows.HOST, "hosts.cnp_ignored",
             f"CNPs received and not obeyed; mlx5 rp_cnp_ignored. {_OUTBOUND}"),
    counter("rnic_ecn_marked_received_packets", "packets", Rows.HOST, "hosts.ecn_received",
             f"RoCE packets received with CE; mlx5 np_ecn_marked_roce_packets. {_INBOUND}"),
    counter("rnic_out_of_sequence_packets", "packets", Rows.HOST, "hosts.out_of_sequence",
             "Packets received out of sequence; mlx5 out_of_sequence."),
    counter("rnic_duplicate_packets", "packets", Rows.HOST, "hosts.duplicates", "Packets received again."),
    counter("rnic_naks_sent", "", Rows.HOST, "hosts.naks_sent", "NAKs sent after a gap in sequence numbers."),
    counter("rnic_naks_received", "", Rows.HOST, "hosts.naks_received", "NAKs received; mlx5 packet_seq_err."),
    counter("rnic_retransmitted_packets", "packets", Rows.HOST, "hosts.retransmitted_{}_pkts",
             "Packets sent again: by go-back-N or selective repeat after a gap was reported or a loss declared, as "
             "a tail loss probe, or after a timeout.",
             variant="kind", values=("gbn", "sr", "probe", "timeout")),
    counter("rnic_out_of_order_packets", "packets", Rows.HOST, "hosts.out_of_order_pkts",
             "Packets placed while an earlier one was missing; recovery out-of-order only, and harmless there."),
    gauge("rnic_out_of_order_peak_packets", "packets", Rows.HOST, "hosts.out_of_order_peak_pkts",
           "Most packets that a receive bitmap spanned since the start, first missing one to last placed."),
    counter("rnic_source_routed_packets", "packets", Rows.HOST, "hosts.source_routed_pkts",
             "Packets sent with a source route, by switches.load_balancing: source-routed."),
    gauge("rnic_source_routes_withdrawn", "", Rows.HOST, "hosts.routes_withdrawn",
           "Source routes to the destinations of this host's queue pairs that are withdrawn: a cable on them is down."),
    counter("rnic_declared_lost_packets", "packets", Rows.HOST, "hosts.declared_lost_pkts",
             "Packets that this sender declared lost by its reordering window or timeout; recovery out-of-order only."),
    counter("rnic_spurious_retransmissions", "", Rows.HOST, "hosts.spurious_pkts",
             "Packets sent again although the first copy arrived: the reordering window was too small; recovery "
             "out-of-order only."),
    counter("rnic_timeouts", "", Rows.HOST, "hosts.timeouts",
             "Retransmission timers that ran out; mlx5 local_ack_timeout_err."),
    counter("rnic_rate_cuts", "", Rows.HOST, "rate_cuts()",
             "Rate decreases of the host's queue pairs as reaction points."),
    gauge("rnic_active_queue_pairs", "", Rows.HOST, "active_queue_pairs()",
           "Queue pairs with data to send or unacknowledged."),
    counter("rnic_goodput_bytes", "bytes", Rows.HOST, "hosts.goodput_bytes",
             "Payload received, each byte once; in order unless recovery is out-of-order."),
    counter("rnic_receive_discards", "", Rows.HOST, "hosts.rx_discards",
             "Packets discarded because the receive buffer was full; mlx5 rx_prioN_discards."),
    gauge("rnic_receive_buffer_used_bytes", "bytes", Rows.HOST, "hosts.rx_used_bytes",
           "Receive buffer in use; only a host that drains below line rate fills it."),
    gauge("rnic_receive_buffer_peak_bytes", "bytes", Rows.HOST, "hosts.rx_peak_bytes",
           "Most of the receive buffer in use since the start."),
    gauge("rnic_receive_buffer_size_bytes", "bytes", Rows.HOST, "hosts.rx_buffer_bytes",
           "Size of the receive buffer."),
    counter("rnic_datagrams_sent", "", Rows.HOST, "hosts.datagrams_sent",
             "Datagrams without a transport given to the NIC."),
    counter("rnic_datagrams_refused", "", Rows.HOST, "hosts.datagrams_refused",
             "Datagrams not sent because the NIC's queue of their class was full."),
    counter("rnic_datagrams_received", "", Rows.HOST, "hosts.datagrams_received", "Datagrams received."),
    counter("rnic_datagrams_marked", "", Rows.HOST, "hosts.datagrams_marked", "Datagrams received with CE."),
    counter("rnic_messages_completed", "", Rows.HOST, "hosts.messages_done",
             "Messages sent by this host whose last byte was acknowledged."),
    counter("rnic_messages_failed", "", Rows.HOST, "hosts.messages_failed",
             "Messages of this host that failed."),
    MetricSpec("fabric_rnic_rate_bytes_per_second", Kind.GAUGE_HISTOGRAM, "bytes_per_second", Rows.FABRIC,
               "rates_bps()",
               "Sending rate allowed to each queue pair with data to send or unacknowledged.", _BITS,
               buckets=RATES),
    MetricSpec("fabric_rnic_dcqcn_alpha_ratio", Kind.GAUGE_HISTOGRAM, "ratio", Rows.FABRIC, "alphas()",
               "Share of marked packets as estimated (alpha of DCQCN or DCTCP) of each queue pair that has something "
               "to send or unacknowledged.", buckets=_ALPHAS),
)
"""Hosts; names and meanings follow mlx5 where it counts the same thing."""

_SLOWDOWN: Final = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0)

FLOW: Final = (
    MetricSpec("fabric_flow_completion_seconds", Kind.HISTOGRAM, "seconds", Rows.SIZE_CLASS, "completions_ps()",
               "Time from the posting of a message to the acknowledgement of its last byte. Messages of collectives, "
               "jobs and traces are not counted: see fabric_collective_* and fabric_job_*.", _PS, buckets=TIMES_S),
    MetricSpec("fabric_flow_slowdown_ratio", Kind.HISTOGRAM, "ratio", Rows.SIZE_CLASS, "slowdowns()",
               "Completion time over the completion time in an empty fabric, of the same messages.", buckets=_SLOWDOWN),
)
"""Single messages."""

ECMP: Final = (
    counter("port_transmit_congestion_notices", "", Rows.PORT, "ports.tx_notice_pkts",
             "Congestion notices sent to the switch behind this port: how long queues of other ports are."),
    counter("port_receive_congestion_notices", "", Rows.PORT, "ports.rx_notice_pkts",
             "Congestion notices received from the switch behind this port, about its other ports."),
    counter("ecmp_member_packets", "packets", Rows.MEMBER, "members.pkts",
             "Packets that a group of next hops sent by this port."),
    counter("ecmp_member_bytes", "bytes", Rows.MEMBER, "members.bytes",
             "Bytes that a group of next hops sent by this port; highest over mean within a group is its imbalance."),
)
"""Equal-cost next hops."""

CONTROL: Final = (
    gauge("bgp_peer_state", "", Rows.BGP_PEER, "bgp_{}()",
           "1 for the state of RFC 4271 section 8.2.2 that the session is in, else 0.", variant="state",
           values=BGP_STATES),
    counter("bgp_peer_flaps", "", Rows.BGP_PEER, "bgp_flaps()", "Times that the session left Established."),
    gauge("bgp_prefixes", "", Rows.BGP_FAMILY, "bgp_prefixes()", "Routes that the session received."),
    gauge("evpn_routes", "", Rows.EVPN_TYPE, "evpn_routes()", "EVPN routes that the device holds."),
    counter("evpn_mac_moves", "", Rows.MOVES, "mac_moves()",
             "MAC addresses that moved to another VTEP, as learnt by the device (RFC 7432 section 7.7)."),
)
"""BGP and EVPN; only where a control plane runs."""

OVERLAY: Final = (
    counter("vxlan_encap_packets", "packets", Rows.VNI, "segments.encap_pkts", "Packets sent into tunnels."),
    counter("vxlan_decap_packets", "packets", Rows.VNI, "segments.decap_pkts", "Packets received from tunnels."),
    counter("arp_requests", "", Rows.VNI, "segments.arp_requests", "ARP requests from local hosts."),
    counter("arp_requests_suppressed", "", Rows.VNI, "segments.arp_suppressed",
             "ARP requests that the VTEP answered itself (RFC 7432 section 10)."),
    counter("arp_requests_flooded", "", Rows.VNI, "segments.arp_flooded",
             "ARP requests that the VTEP replicated to other VTEPs."),
    counter("bum_transmit_packets", "packets", Rows.VNI, "segments.bum_sent_pkts",
             "Copies of broadcast sent to other VTEPs."),
    counter("bum_receive_packets", "packets", Rows.VNI, "segments.bum_received_pkts",
             "Copies of broadcast received from other VTEPs."),
    counter("bum_delivered_packets", "packets", Rows.VNI, "segments.bum_delivered_pkts",
             "Copies of broadcast handed to local ports."),
    counter("host_arp_requests_sent", "", Rows.HOST, "hosts.arp_requests_sent", "ARP requests that the host sent."),
    counter("host_arp_requests_received", "", Rows.HOST, "hosts.arp_requests_received",
             "ARP requests that reached the host, including requests for other hosts."),
    counter("host_arp_replies_sent", "", Rows.HOST, "hosts.arp_replies_sent", "ARP requests that the host answered."),
    counter("host_arp_replies_received", "", Rows.HOST, "hosts.arp_replies_received",
             "ARP replies that reached the host, from hosts and from VTEPs."),
)
"""VXLAN and ARP."""
# fmt: on

SECTIONS: Final = {
    "Run and exporter": SELF,
    "Link": LINK,
    "PFC": PFC,
    "PFC watchdog": WATCHDOG,
    "Queues and ECN": QUEUE,
    "Priority groups and pools": BUFFER,
    "RNIC": RNIC,
    "Flows": FLOW,
    "Collectives": COLLECTIVE,
    "Jobs": JOB,
    "ECMP": ECMP,
    "Control plane": CONTROL,
    "Overlay": OVERLAY,
}
CATALOGUE: Final = tuple(spec for specs in SECTIONS.values() for spec in specs)
"""Every metric, in the order in which they are exported."""
BY_NAME: Final = {spec.name: spec for spec in CATALOGUE}

_INTRODUCTION: Final = """\
# Metrics

Generated from `telemetry/catalogue/metrics.py` by `make docs`; edit it there.

A run exports these with an address: `fabric run SCENARIO --metrics 127.0.0.1:9464`, or
paced against the wall clock, `fabric serve SCENARIO`. The answer is the Prometheus text format, or OpenMetrics 1.0
where the client asks for it. Counters accumulate in simulated time and start at 0 with the run; times are simulated
unless a metric says wall clock. "Since the last sample" is the run's own sampling period, not the scrape's.

Every finished run directory gives the same metrics over time, without an option for the run: its records are
converted by this catalogue, and `fabric export` writes them for Prometheus or as a table ([how](howto/backfill.md)).
Dashboards for Grafana are made from the catalogue, too ([how](howto/grafana.md)).

Histograms have classic buckets. Prometheus makes native ones of them where a scrape job says
`convert_classic_histograms_to_nhcb: true`.

## Under other names

`--compat` serves the same values as another exporter would, names, types, labels and oddities included, so that
dashboards made for it work unchanged. One answer holds all devices, so `instance` is a label: scrape with
`honor_labels: true`.

| `--compat` | whose names |
|---|---|
| `node_exporter` | hosts: its infiniband and ethtool collectors with an mlx5 NIC; pauses are in microseconds there |
| `sonic-exporter` | switches: vinted/sonic-exporter; watermarks are counters there; no PFC, ECN or watchdog |
| `gnmic` | switches: OpenConfig paths as gNMIc's Prometheus output has them; untyped, PFC only as MAC pause frames |
| `rdma_exporter` | hosts: yuuki/rdma_exporter, which Grafana's board 24241 queries; pauses are in microseconds there |
| `amd` | hosts: AMD device-metrics-exporter with AMD AI NICs; counters are gauges there |
| `omnistat` | hosts: ROCm/omnistat's network collector; counters are gauges there |

[Which names each has, and what it lacks](compat.md). `fabric export openmetrics --compat` writes a finished run so.

## As monitoring would have seen it

`fabric report DIR --as-seen-by NAME` sets the truth beside what real monitoring would have shown of the run;
`fabric serve --as-seen-by NAME` serves only that. Periods are those of a real device; `--dilation` lets its clock run
faster, so that a run of milliseconds is polled more than once.

| `--as-seen-by` | what is read, and how often |
|---|---|
| `ideal` | everything, at every sample |
| `sonic` | ports 1 s, queues, drops and marks 10 s, watermarks 60 s, cleared by reading, watchdog 200 ms; hosts 15 s |
| `sonic-10s` | as `sonic`, by an exporter that reads every 10 s |
| `hft` | ports, queues, priority groups and pools 10 ms; watchdog and hosts as `sonic` |

Time paused is then SONiC's estimate: the whole interval between two watchdog polls counts where PFC frames arrived in
it or the priority was paused at both ends, so one pause of a microsecond is 200 ms.

## Which series exist

No flow, queue pair, address, rank or message is ever a label. The entry of the workload is the label `workload`:
Prometheus gives `job` to every series itself. Series by priority or queue are shown for the classes in use:
a class that nothing uses would fill most of the answer with zeros. A series once shown stays until the process ends;
only `fabric_pfc_pause_cause_info` comes and goes with its pause.

| rows | labels | shown for |
|---|---|---|
"""


def markdown() -> str:
    """docs/metrics.md."""
    lines = [f"| {rows.name.lower()} | {_code(LABELS[rows])} | {rows.value} |" for rows in Rows]
    parts = [_INTRODUCTION + "\n".join(lines) + "\n"]
    for title, specs in SECTIONS.items():
        table = [
            f"| `{spec.name}` | {spec.kind} | {spec.rows.name.lower()} | {_code(spec.labels)} | {spec.help} "
            f"| {_origin(spec)} |"
            for spec in specs
        ]
        parts.append(
            f"## {title}\n\n| metric | type | rows | labels | meaning | source |\n|---|---|---|---|---|---|\n"
            + "\n".join(table)
            + "\n"
        )
    return "\n".join(parts)


def _code(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _origin(spec: MetricSpec) -> str:
    return _code(spec.sources()) + (f" / {spec.per:,}" if spec.per != 1 else "")

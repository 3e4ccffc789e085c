"""The catalogue: every metric this project exports, declared once; rules, dashboards and playbooks refer to it by name.

Conventions (prometheus.io/docs/practices/naming): prefix `fabric_`, base units (seconds, bytes, ratios), the unit as
plural suffix, `_total` on accumulating counts, `_info` for metadata. No flow, queue pair or address is a label: such
series would not end. A sum over all labels of one metric means something.

`source` is either `table.field` of a Snapshot, or `name()`: a function of telemetry/derive.py. A metric with a variant
has one source per value of an extra label; `{}` in its source stands for that value.

`python -m telemetry.metrics` writes docs/metrics.md to standard output.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from fabric.units import PS_PER_S
from telemetry.control import BGP_STATES


class Kind(StrEnum):
    """Metric types of the exposition formats that are in use here."""

    COUNTER = "counter"
    """Accumulates since the start of the run and is never reset within it."""
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    """Accumulates: one observation per event."""
    GAUGE_HISTOGRAM = "gaugehistogram"
    """A distribution as it stands now; in the text format its type reads histogram."""
    INFO = "info"
    """Metadata as labels; the value is 1."""


class Rows(StrEnum):
    """What one series of a metric stands for, and which of them are shown (telemetry/rows.py applies the rule).

    A class that a fabric does not use would fill most of the answer with zeros, so series by class are shown for
    classes in use. A series once shown stays until the process ends: a counter that vanishes looks like a reset.
    """

    FABRIC = "one"
    DEVICE = "every device"
    PORT = "every port"
    PFC = "every port, priorities for which some port has PFC enabled or has counted a PFC frame"
    QUEUE = "every port, queues in which some port has carried or dropped something, or a queue pair sends"
    SWITCH_QUEUE = "as queues, ports of switches only"
    PG = "ports of switches, priority groups that somewhere are lossless or have admitted or dropped something"
    LOSSLESS_PG = "ports of switches, priority groups that are or were lossless there"
    WATCHED = "queues that the PFC watchdog watches or has watched"
    DROP = "port, traffic class and reason, from the first drop on"
    POOL = "every buffer pool of every switch"
    HEADROOM_POOL = "every pool that has a shared headroom pool"
    HOST = "every host"
    MEMBER = "every member of every group of equal-cost next hops that has more than one"
    SIZE_CLASS = "size classes of which the workload has a message"
    CLASS = "every port, priorities in which some port has received or lost something"
    PAUSE = "port and priority that may not send now; gone with the pause"
    SEARCHED = "one, where somebody looks for circles of waiting"
    COLLECTIVE = "workloads that are a collective"
    BGP_PEER = "every end of every BGP session"
    BGP_FAMILY = "every end of every BGP session, by address family"
    EVPN_TYPE = "every device with EVPN, by route type"
    MOVES = "every VNI of every VTEP"
    VNI = "every VNI at every VTEP through which packets pass"


LABELS: Final = {
    Rows.FABRIC: (), Rows.DEVICE: ("device",), Rows.PORT: ("device", "port"), Rows.PFC: ("device", "port", "priority"),
    Rows.QUEUE: ("device", "port", "queue"), Rows.SWITCH_QUEUE: ("device", "port", "queue"),
    Rows.PG: ("device", "port", "priority"), Rows.LOSSLESS_PG: ("device", "port", "priority"),
    Rows.WATCHED: ("device", "port", "queue"), Rows.DROP: ("device", "port", "traffic_class", "reason"),
    Rows.POOL: ("device", "pool"), Rows.HEADROOM_POOL: ("device", "pool"), Rows.HOST: ("device",),
    Rows.MEMBER: ("device", "group", "port"), Rows.SIZE_CLASS: ("size_class",),
    Rows.CLASS: ("device", "port", "priority"), Rows.PAUSE: ("device", "port", "priority"), Rows.SEARCHED: (),
    Rows.COLLECTIVE: ("collective",), Rows.BGP_PEER: ("device", "peer"),
    Rows.BGP_FAMILY: ("device", "peer", "family"), Rows.EVPN_TYPE: ("device", "route_type"),
    Rows.MOVES: ("device", "vni"), Rows.VNI: ("device", "vni"),
}
"""Labels that every series of a row set carries."""


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """One metric: what a dashboard author needs to know of it, and where its values come from."""

    name: str
    kind: Kind
    unit: str
    """Base unit, or '' for a plain count or state."""
    rows: Rows
    source: str
    """'table.field' of Snapshot or 'function()' of telemetry/derive.py; '{}' stands for the variant's value."""
    help: str
    per: int = 1
    """The source is divided by this: picoseconds to seconds, bits to bytes."""
    variant: str = ""
    """Name of an extra label, or ''."""
    values: tuple[str, ...] = ()
    """The extra label's values."""
    extra: tuple[str, ...] = ()
    """Labels of an info metric beyond those of its rows."""
    buckets: tuple[float, ...] = ()
    """Upper bounds of a histogram, without infinity, in the metric's unit."""

    @property
    def labels(self) -> tuple[str, ...]:
        """All label names, `le` excepted."""
        return LABELS[self.rows] + ((self.variant,) if self.variant else ()) + self.extra

    @property
    def family(self) -> str:
        """Name of the metric family in OpenMetrics: without `_total` and `_info`."""
        return self.name.removesuffix("_total").removesuffix("_info")

    @property
    def is_histogram(self) -> bool:
        """Whether it has buckets."""
        return self.kind in (Kind.HISTOGRAM, Kind.GAUGE_HISTOGRAM)

    @property
    def count_and_sum(self) -> tuple[str, str]:
        """How the count and the sum of a histogram are called in OpenMetrics."""
        return ("count", "sum") if self.kind is Kind.HISTOGRAM else ("gcount", "gsum")

    def sources(self) -> tuple[str, ...]:
        """The sources, one per value of the variant."""
        return tuple(self.source.format(value) for value in self.values) if self.variant else (self.source,)


def _counter(name: str, unit: str, rows: Rows, source: str, text: str, per: int = 1, variant: str = "",
             values: tuple[str, ...] = ()) -> MetricSpec:
    return MetricSpec(f"fabric_{name}_total", Kind.COUNTER, unit, rows, source, text, per, variant, values)


def _gauge(name: str, unit: str, rows: Rows, source: str, text: str, per: int = 1, variant: str = "",
           values: tuple[str, ...] = ()) -> MetricSpec:
    return MetricSpec(f"fabric_{name}", Kind.GAUGE, unit, rows, source, text, per, variant, values)


def _info(name: str, rows: Rows, source: str, extra: tuple[str, ...], text: str) -> MetricSpec:
    return MetricSpec(f"fabric_{name}_info", Kind.INFO, "", rows, source, text, extra=extra)


_PS: Final = PS_PER_S
_BITS: Final = 8
_XOFF_XON: Final = ("xoff", "xon")

# AMD's omnistat explains the two congestion counters by direction; the same sentences stand here.
_INBOUND: Final = "Congestion on the way towards this host (inbound)."
_OUTBOUND: Final = "Congestion on the way from this host (outbound)."

SELF: Final = (
    _info("build", Rows.FABRIC, "build()", ("version",), "Version of the emulator."),
    _info("run", Rows.FABRIC, "run()", ("fabric", "run", "scenario", "model", "seed"), "What is being played."),
    _info("device", Rows.DEVICE, "device()", ("role", "tier", "group"),
          "Role, tier and group of a device; join by device."),
    _info("port", Rows.PORT, "port()", ("peer_device", "peer_port"),
          "The other end of a port's cable; join by device, port."),
    _gauge("sim_time_seconds", "seconds", Rows.FABRIC, "sim_time_ps()", "Simulated time.", _PS),
    _counter("sim_elapsed_seconds", "seconds", Rows.FABRIC, "sim_time_ps()",
             "Simulated time played, all passes of a looped run together: divide a rate by this one's rate to have it "
             "per simulated second, whatever the dilation.", _PS),
    _gauge("sim_finished", "", Rows.FABRIC, "finished()", "1 once every message is done or has failed."),
    _counter("sim_events", "", Rows.FABRIC, "events()", "Events that the emulator has played."),
    _gauge("sim_realtime_ratio", "ratio", Rows.FABRIC, "realtime()",
           "Simulated seconds per second of wall clock since the previous scrape; from the second scrape on."),
    _gauge("sim_dilation_ratio", "ratio", Rows.FABRIC, "dilation()",
           "Seconds of wall clock per simulated second that a live run was asked for; what it holds is "
           "1 / fabric_sim_realtime_ratio."),
    _counter("sim_slipped_seconds", "seconds", Rows.FABRIC, "slipped()",
             "Wall clock time by which a live run fell behind its pace and which it gave up: the machine is too slow "
             "for this dilation."),
    _counter("sim_passes", "", Rows.FABRIC, "passes()", "Passes of the scenario that a live run has completed."),
    _gauge("sim_paused", "", Rows.FABRIC, "held()", "1 while an operator holds the simulated time of a live run."),
    _gauge("scrape_duration_seconds", "seconds", Rows.FABRIC, "scrape_duration()",
           "Wall clock time that this answer took, before it was written as text."),
)
"""About the run and the exporter."""

WALL_CLOCK: Final = frozenset({"realtime()", "dilation()", "slipped()", "passes()", "held()", "scrape_duration()"})
"""Sources that a live exporter has and a Snapshot alone has not."""

UNRECORDED: Final = frozenset({"events()", *WALL_CLOCK})
"""Sources that a live run has and its directory has not."""

LINK: Final = (
    _counter("port_receive_bytes", "bytes", Rows.PORT, "ports.rx_bytes",
             "Bytes received, FCS included, preamble and gap not."),
    _counter("port_receive_packets", "packets", Rows.PORT, "ports.rx_pkts", "Frames received, PFC frames included."),
    _counter("port_transmit_bytes", "bytes", Rows.PORT, "ports.tx_bytes",
             "Bytes sent, FCS included, preamble and gap not."),
    _counter("port_transmit_packets", "packets", Rows.PORT, "ports.tx_pkts", "Frames sent, PFC frames included."),
    _counter("port_transmit_busy_seconds", "seconds", Rows.PORT, "ports.busy_ps",
             "Time spent sending, preamble and gap included; its rate is the port's utilisation.", _PS),
    _gauge("port_speed_bytes_per_second", "bytes_per_second", Rows.PORT, "ports.rate_bps", "Line rate.", _BITS),
    _counter("port_lost_packets", "packets", Rows.PORT, "ports.lost_pkts",
             "Frames lost in flight towards this port when its link went down."),
    _counter("port_lost_bytes", "bytes", Rows.PORT, "ports.lost_bytes",
             "Bytes lost in flight towards this port when its link went down."),
    _gauge("port_up", "", Rows.PORT, "ports.up", "1 while the link is up."),
    _counter("port_down_seconds", "seconds", Rows.PORT, "down_ps()",
             "Time that the link was down, the present outage included.",
             _PS),
    _counter("port_fcs_errors", "", Rows.PORT, "ports.fcs_errors", "Frames received with a wrong FCS."),
    _counter("port_dropped_packets", "packets", Rows.PORT, "ports.dropped_pkts",
             "Packets discarded at this port, for any reason; present from the start, so alert on this one."),
    _counter("port_dropped_bytes", "bytes", Rows.PORT, "ports.dropped_bytes",
             "Bytes discarded at this port, for any reason."),
    _counter("priority_receive_packets", "packets", Rows.CLASS, "pgs.rx_pkts",
             "Packets received in this class; mlx5 rx_prioN_packets."),
    _counter("priority_receive_bytes", "bytes", Rows.CLASS, "pgs.rx_bytes",
             "Bytes received in this class; mlx5 rx_prioN_bytes."),
    _counter("priority_lost_packets", "packets", Rows.CLASS, "pgs.lost_pkts",
             "Packets of this class lost in flight towards this port when its link went down."),
    _counter("dropped_packets", "packets", Rows.DROP, "drops.pkts",
             "Packets discarded, by traffic class and reason; a series begins with its first drop."),
    _counter("dropped_bytes", "bytes", Rows.DROP, "drops.bytes",
             "Bytes discarded, by traffic class and reason; a series begins with its first drop."),
)
"""Per port."""

PFC: Final = (
    _counter("port_receive_pause_frames", "frames", Rows.PORT, "ports.rx_pause_pkts",
             "PFC frames received; one frame may speak of several priorities."),
    _counter("port_transmit_pause_frames", "frames", Rows.PORT, "ports.tx_pause_pkts", "PFC frames sent."),
    _counter("pfc_receive_frames", "frames", Rows.PFC, "prios.rx_{}_pkts",
             "PFC frames received that speak of this priority; mlx5 counts both kinds in rx_prioN_pause.",
             variant="kind", values=_XOFF_XON),
    _counter("pfc_transmit_frames", "frames", Rows.PFC, "prios.tx_{}_pkts",
             "PFC frames sent that speak of this priority.",
             variant="kind", values=_XOFF_XON),
    _counter("pfc_receive_paused_seconds", "seconds", Rows.PFC, "prios.rx_paused_ps",
             "Time that this port was kept from sending the priority, the present pause included.", _PS),
    _counter("pfc_transmit_paused_seconds", "seconds", Rows.PFC, "prios.tx_paused_ps",
             "Time that this port kept its peer from sending the priority, the present pause included.", _PS),
    _counter("pfc_receive_pauses", "", Rows.PFC, "prios.pauses", "Pauses begun, refreshes not counted."),
    _counter("pfc_receive_resume", "", Rows.PFC, "prios.on2off_pkts",
             "Pauses ended, by XON or because the timer ran out; mlx5 rx_prioN_pause_transition."),
    _gauge("pfc_paused", "", Rows.PFC, "paused()", "1 while this port may not send the priority."),
    _gauge("pfc_pausing", "", Rows.PFC, "prios.xoff_sent",
           "1 while this port keeps its peer from sending the priority."),
    _gauge("pfc_longest_pause_seconds", "seconds", Rows.PFC, "prios.longest_ps",
           "Longest single pause received since the start, the present one included.", _PS),
    _info("pfc_pause_cause", Rows.PAUSE, "pause_causes()",
          ("cause", "cause_device", "cause_port", "root", "root_device", "root_port", "evidence"),
          "What a paused priority waits for: the queue or host at the other end that holds it up, and where the chain "
          "of pauses began. evidence: packets, or depth where packets were not followed."),
    _gauge("pfc_deadlock", "", Rows.SEARCHED, "deadlock()",
           "1 while paused queues wait for each other in a circle, which no sending can resolve."),
)
"""IEEE 802.1Q clause 36."""

WATCHDOG: Final = (
    _counter("pfcwd_storms_detected", "", Rows.WATCHED, "queues.wd_detected",
             "Storms that the PFC watchdog has detected."),
    _counter("pfcwd_storms_restored", "", Rows.WATCHED, "queues.wd_restored",
             "Storms that the PFC watchdog has ended."),
    _gauge("pfcwd_state", "", Rows.WATCHED, "watchdog_{}()", "1 for the state that the queue is in, else 0.",
           variant="state", values=("operational", "stormed")),
    _counter("pfcwd_dropped_packets", "packets", Rows.WATCHED, "queues.wd_dropped_pkts",
             "Packets discarded because the queue was in storm. Only what would leave by the queue is discarded here; "
             "a switch may also discard what arrives, direction receive.",
             variant="direction", values=("transmit",)),
)
"""PFC watchdog, SONiC semantics."""

QUEUE: Final = (
    _gauge("queue_bytes", "bytes", Rows.QUEUE, "queues.depth_bytes", "Bytes waiting now."),
    _gauge("queue_packets", "packets", Rows.QUEUE, "queues.depth_pkts", "Packets waiting now."),
    _gauge("queue_watermark_bytes", "bytes", Rows.QUEUE, "queues.watermark_bytes",
           "Most bytes waiting since the last sample, or scrape of a live run."),
    _gauge("queue_peak_bytes", "bytes", Rows.QUEUE, "queues.peak_bytes", "Most bytes waiting since the start."),
    _counter("queue_enqueued_packets", "packets", Rows.QUEUE, "queues.enqueued_pkts", "Packets that joined the queue."),
    _counter("queue_enqueued_bytes", "bytes", Rows.QUEUE, "queues.enqueued_bytes", "Bytes that joined the queue."),
    _counter("queue_transmit_packets", "packets", Rows.QUEUE, "queues.sent_pkts", "Packets sent from the queue."),
    _counter("queue_transmit_bytes", "bytes", Rows.QUEUE, "queues.sent_bytes", "Bytes sent from the queue."),
    _counter("queue_dropped_packets", "packets", Rows.QUEUE, "queues.dropped_pkts",
             "Packets that the queue refused, or discarded while they waited."),
    _counter("queue_dropped_bytes", "bytes", Rows.QUEUE, "queues.dropped_bytes",
             "Bytes that the queue refused, or discarded while they waited."),
    _counter("queue_flushed_packets", "packets", Rows.QUEUE, "queues.flushed_pkts",
             "Packets discarded while they waited: the link went down, or the watchdog emptied the queue."),
    _counter("queue_flushed_bytes", "bytes", Rows.QUEUE, "queues.flushed_bytes",
             "Bytes discarded while they waited: the link went down, or the watchdog emptied the queue."),
    _counter("ecn_marked_packets", "packets", Rows.SWITCH_QUEUE, "queues.marked_pkts",
             "Packets marked CE by this queue."),
    _counter("ecn_eligible_packets", "packets", Rows.SWITCH_QUEUE, "queues.ect_pkts",
             "ECN-capable packets that passed the marker: the denominator of the marked share."),
)
"""Egress."""

BUFFER: Final = (
    _gauge("pg_bytes", "bytes", Rows.PG, "pgs.use_bytes", "Reserved and shared buffer in use, in whole cells."),
    _gauge("pg_watermark_bytes", "bytes", Rows.PG, "pgs.watermark_bytes",
           "Highest fabric_pg_bytes since the last sample, or scrape of a live run."),
    _gauge("pg_peak_bytes", "bytes", Rows.PG, "pgs.peak_bytes", "Highest fabric_pg_bytes since the start."),
    _gauge("pg_shared_threshold_bytes", "bytes", Rows.PG, "shared_threshold_bytes()",
           "Limit of shared use now; a dynamic limit shrinks as the pool fills."),
    _gauge("pg_peak_threshold_ratio", "ratio", Rows.PG, "pgs.peak_share_ratio",
           "Highest shared use over its limit since the start; a lossless group sends XOFF at 1."),
    _gauge("pg_lossless", "", Rows.PG, "pgs.lossless", "1 for a lossless priority group."),
    _counter("pg_admitted_packets", "packets", Rows.PG, "pgs.admitted_pkts", "Packets admitted to the buffer."),
    _counter("pg_dropped_packets", "packets", Rows.PG, "pgs.dropped_pkts",
             "Packets refused at ingress; more than none in a lossless group is a defect of the configuration."),
    _gauge("pg_headroom_used_bytes", "bytes", Rows.LOSSLESS_PG, "pgs.headroom_bytes", "Headroom in use."),
    _gauge("pg_headroom_limit_bytes", "bytes", Rows.LOSSLESS_PG, "pgs.xoff_bytes",
           "Headroom of the group: its own, or its cap on the shared headroom pool."),
    _gauge("pg_headroom_watermark_bytes", "bytes", Rows.LOSSLESS_PG, "pgs.headroom_watermark_bytes",
           "Most headroom in use since the last sample, or scrape of a live run."),
    _gauge("pg_headroom_peak_bytes", "bytes", Rows.LOSSLESS_PG, "pgs.headroom_peak_bytes",
           "Most headroom in use since the start."),
    _counter("pg_xoff_episodes", "", Rows.LOSSLESS_PG, "pgs.xoff_count",
             "Times that the group asked its peer to stop."),
    _gauge("buffer_pool_used_bytes", "bytes", Rows.POOL, "pools.used_bytes", "Buffer pool in use."),
    _gauge("buffer_pool_size_bytes", "bytes", Rows.POOL, "pools.size_bytes", "Size of the buffer pool."),
    _gauge("buffer_pool_watermark_bytes", "bytes", Rows.POOL, "pools.watermark_bytes",
           "Most of the pool in use since the last sample, or scrape of a live run."),
    _gauge("buffer_pool_peak_bytes", "bytes", Rows.POOL, "pools.peak_bytes",
           "Most of the pool in use since the start."),
    _gauge("buffer_pool_headroom_used_bytes", "bytes", Rows.HEADROOM_POOL, "pools.headroom_used_bytes",
           "Shared headroom pool in use."),
    _gauge("buffer_pool_headroom_size_bytes", "bytes", Rows.HEADROOM_POOL, "pools.headroom_size_bytes",
           "Size of the shared headroom pool."),
    _gauge("buffer_pool_headroom_watermark_bytes", "bytes", Rows.HEADROOM_POOL, "pools.headroom_watermark_bytes",
           "Most of the shared headroom pool in use since the last sample, or scrape of a live run."),
    _gauge("buffer_pool_headroom_peak_bytes", "bytes", Rows.HEADROOM_POOL, "pools.headroom_peak_bytes",
           "Most of the shared headroom pool in use since the start."),
)
"""Ingress priority groups and pools."""

_RATES: Final = tuple(gbps * 125e6 for gbps in (0.1, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 200, 400, 800))
_ALPHAS: Final = (0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0)

RNIC: Final = (
    _counter("rnic_cnp_sent_packets", "packets", Rows.HOST, "hosts.cnp_sent",
             f"CNPs sent as notification point; mlx5 np_cnp_sent. {_INBOUND}"),
    _counter("rnic_cnp_handled_packets", "packets", Rows.HOST, "hosts.cnp_handled",
             f"CNPs received and obeyed as reaction point; mlx5 rp_cnp_handled. {_OUTBOUND}"),
    _counter("rnic_cnp_ignored_packets", "packets", Rows.HOST, "hosts.cnp_ignored",
             f"CNPs received and not obeyed; mlx5 rp_cnp_ignored. {_OUTBOUND}"),
    _counter("rnic_ecn_marked_received_packets", "packets", Rows.HOST, "hosts.ecn_received",
             f"RoCE packets received with CE; mlx5 np_ecn_marked_roce_packets. {_INBOUND}"),
    _counter("rnic_out_of_sequence_packets", "packets", Rows.HOST, "hosts.out_of_sequence",
             "Packets received out of sequence; mlx5 out_of_sequence."),
    _counter("rnic_duplicate_packets", "packets", Rows.HOST, "hosts.duplicates", "Packets received once more."),
    _counter("rnic_naks_sent", "", Rows.HOST, "hosts.naks_sent", "NAKs sent: a gap was seen."),
    _counter("rnic_naks_received", "", Rows.HOST, "hosts.naks_received", "NAKs received; mlx5 packet_seq_err."),
    _counter("rnic_retransmitted_packets", "packets", Rows.HOST, "hosts.retransmitted_{}_pkts",
             "Packets sent once more: by go-back-N or selective repeat after a gap was reported or a loss declared, as "
             "a tail loss probe, or after a timeout.",
             variant="kind", values=("gbn", "sr", "probe", "timeout")),
    _counter("rnic_out_of_order_packets", "packets", Rows.HOST, "hosts.out_of_order_pkts",
             "Packets placed while an earlier one was missing; recovery out-of-order only, and harmless there."),
    _gauge("rnic_out_of_order_peak_packets", "packets", Rows.HOST, "hosts.out_of_order_peak_pkts",
           "Most packets that a receive bitmap spanned since the start, first missing one to last placed."),
    _counter("rnic_declared_lost_packets", "packets", Rows.HOST, "hosts.declared_lost_pkts",
             "Packets that this sender held for lost by its reordering window or timeout; recovery out-of-order only."),
    _counter("rnic_spurious_retransmissions", "", Rows.HOST, "hosts.spurious_pkts",
             "Packets sent again of which both copies arrived: the reordering window was too small; recovery "
             "out-of-order only."),
    _counter("rnic_timeouts", "", Rows.HOST, "hosts.timeouts",
             "Retransmission timers that ran out; mlx5 local_ack_timeout_err."),
    _counter("rnic_rate_cuts", "", Rows.HOST, "rate_cuts()",
             "Rate decreases of the host's queue pairs as reaction points."),
    _gauge("rnic_active_queue_pairs", "", Rows.HOST, "active_queue_pairs()",
           "Queue pairs with something to send or unacknowledged."),
    _counter("rnic_goodput_bytes", "bytes", Rows.HOST, "hosts.goodput_bytes",
             "Payload received, each byte once; in order unless recovery is out-of-order."),
    _counter("rnic_receive_discards", "", Rows.HOST, "hosts.rx_discards",
             "Packets discarded because the receive buffer was full; mlx5 rx_prioN_discards."),
    _gauge("rnic_receive_buffer_used_bytes", "bytes", Rows.HOST, "hosts.rx_used_bytes",
           "Receive buffer in use; only a host that drains below line rate fills it."),
    _gauge("rnic_receive_buffer_peak_bytes", "bytes", Rows.HOST, "hosts.rx_peak_bytes",
           "Most of the receive buffer in use since the start."),
    _gauge("rnic_receive_buffer_size_bytes", "bytes", Rows.HOST, "hosts.rx_buffer_bytes",
           "Size of the receive buffer."),
    _counter("rnic_messages_completed", "", Rows.HOST, "hosts.messages_done",
             "Messages sent by this host whose last byte was acknowledged."),
    _counter("rnic_messages_failed", "", Rows.HOST, "hosts.messages_failed",
             "Messages sent by this host that were given up."),
    MetricSpec("fabric_rnic_rate_bytes_per_second", Kind.GAUGE_HISTOGRAM, "bytes_per_second", Rows.FABRIC,
               "rates_bps()",
               "Sending rate allowed to each queue pair that has something to send or unacknowledged.", _BITS,
               buckets=_RATES),
    MetricSpec("fabric_rnic_dcqcn_alpha_ratio", Kind.GAUGE_HISTOGRAM, "ratio", Rows.FABRIC, "alphas()",
               "DCQCN alpha of each queue pair that has something to send or unacknowledged.", buckets=_ALPHAS),
)
"""Hosts; names and meanings follow mlx5 where it counts the same thing."""

_FCT: Final = tuple(float(f"{digit}e{power}") for power in range(-6, 1) for digit in (1, 2, 5))
_SLOWDOWN: Final = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0)

FLOW: Final = (
    MetricSpec("fabric_flow_completion_seconds", Kind.HISTOGRAM, "seconds", Rows.SIZE_CLASS, "completions_ps()",
               "Time from the posting of a message to the acknowledgement of its last byte.", _PS, buckets=_FCT),
    MetricSpec("fabric_flow_slowdown_ratio", Kind.HISTOGRAM, "ratio", Rows.SIZE_CLASS, "slowdowns()",
               "Completion time over the completion time in an empty fabric.", buckets=_SLOWDOWN),
)
"""Messages."""

COLLECTIVE: Final = (
    MetricSpec("fabric_collective_duration_seconds", Kind.HISTOGRAM, "seconds", Rows.COLLECTIVE, "collective_ps()",
               "From the first posting of a repetition to the acknowledgement of its last byte.", _PS, buckets=_FCT),
    MetricSpec("fabric_collective_busbw_bytes_per_second", Kind.HISTOGRAM, "bytes_per_second", Rows.COLLECTIVE,
               "collective_busbw()",
               "Bytes that each rank sent to others over the duration of a repetition: nccl-tests' bus bandwidth.",
               buckets=_RATES),
)
"""Collectives of the workload."""

ECMP: Final = (
    _counter("ecmp_member_packets", "packets", Rows.MEMBER, "members.pkts",
             "Packets that a group of next hops sent by this port."),
    _counter("ecmp_member_bytes", "bytes", Rows.MEMBER, "members.bytes",
             "Bytes that a group of next hops sent by this port; highest over mean within a group is its imbalance."),
)
"""Equal-cost next hops."""

CONTROL: Final = (
    _gauge("bgp_peer_state", "", Rows.BGP_PEER, "bgp_{}()",
           "1 for the state of RFC 4271 section 8.2.2 that the session is in, else 0.", variant="state",
           values=BGP_STATES),
    _counter("bgp_peer_flaps", "", Rows.BGP_PEER, "bgp_flaps()", "Times that the session left Established."),
    _gauge("bgp_prefixes", "", Rows.BGP_FAMILY, "bgp_prefixes()", "Routes that the session brought in."),
    _gauge("evpn_routes", "", Rows.EVPN_TYPE, "evpn_routes()", "EVPN routes that the device holds."),
    _counter("evpn_mac_moves", "", Rows.MOVES, "mac_moves()",
             "MAC addresses that the device came to believe elsewhere (RFC 7432 section 7.7)."),
)
"""BGP and EVPN; only where a control plane runs."""

OVERLAY: Final = (
    _counter("vxlan_encap_packets", "packets", Rows.VNI, "segments.encap_pkts", "Packets sent into tunnels."),
    _counter("vxlan_decap_packets", "packets", Rows.VNI, "segments.decap_pkts", "Packets received from tunnels."),
    _counter("arp_requests", "", Rows.VNI, "segments.arp_requests", "ARP requests from local hosts."),
    _counter("arp_requests_suppressed", "", Rows.VNI, "segments.arp_suppressed",
             "ARP requests that the VTEP answered itself (RFC 7432 section 10)."),
    _counter("arp_requests_flooded", "", Rows.VNI, "segments.arp_flooded",
             "ARP requests that the VTEP replicated to other VTEPs."),
    _counter("bum_transmit_packets", "packets", Rows.VNI, "segments.bum_sent_pkts",
             "Copies of broadcast sent to other VTEPs."),
    _counter("bum_receive_packets", "packets", Rows.VNI, "segments.bum_received_pkts",
             "Copies of broadcast received from other VTEPs."),
    _counter("bum_delivered_packets", "packets", Rows.VNI, "segments.bum_delivered_pkts",
             "Copies of broadcast handed to local ports."),
    _counter("host_arp_requests_sent", "", Rows.HOST, "hosts.arp_requests_sent", "ARP requests that the host sent."),
    _counter("host_arp_requests_received", "", Rows.HOST, "hosts.arp_requests_received",
             "ARP requests that reached the host, those for others included."),
    _counter("host_arp_replies_sent", "", Rows.HOST, "hosts.arp_replies_sent", "ARP requests that the host answered."),
    _counter("host_arp_replies_received", "", Rows.HOST, "hosts.arp_replies_received",
             "ARP replies that reached the host, from hosts and from VTEPs."),
)
"""VXLAN and ARP."""

SECTIONS: Final = {
    "Run and exporter": SELF, "Link": LINK, "PFC": PFC, "PFC watchdog": WATCHDOG, "Queues and ECN": QUEUE,
    "Priority groups and pools": BUFFER, "RNIC": RNIC, "Flows": FLOW,
    "Collectives": COLLECTIVE, "ECMP": ECMP, "Control plane": CONTROL, "Overlay": OVERLAY,
}
CATALOGUE: Final = tuple(spec for specs in SECTIONS.values() for spec in specs)
"""Every metric, in the order in which they are exported."""
BY_NAME: Final = {spec.name: spec for spec in CATALOGUE}

_INTRODUCTION: Final = """\
# Metrics

Generated from `telemetry/metrics.py` by `python -m telemetry.metrics > docs/metrics.md`; edit it there.

A run exports these while it plays when it is given an address: `fabric run SCENARIO --metrics 127.0.0.1:9464`, or
paced against the wall clock, `fabric serve SCENARIO`. The answer is the Prometheus text format, or OpenMetrics 1.0
where the client asks for it. Counters accumulate in simulated time and start at 0 with the run; times are simulated
unless a metric says wall clock. "Since the last sample" is the run's own sampling period, not the scrape's.

Every finished run directory gives the same metrics over time, without any option at the run: it is played back through
this catalogue, and `fabric export` writes it for Prometheus or as a table ([how](howto/backfill.md)). Dashboards for
Grafana are made from the catalogue, too ([how](howto/grafana.md)).

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

No flow, queue pair or address is ever a label. Series by priority or queue are shown for the classes in use:
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
        table = [f"| `{spec.name}` | {spec.kind} | {spec.rows.name.lower()} | {_code(spec.labels)} | {spec.help} "
                 f"| {_origin(spec)} |" for spec in specs]
        parts.append(f"## {title}\n\n| metric | type | rows | labels | meaning | source |\n|---|---|---|---|---|---|\n"
                     + "\n".join(table) + "\n")
    return "\n".join(parts)


def _code(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _origin(spec: MetricSpec) -> str:
    return _code(spec.sources()) + (f" / {spec.per:,}" if spec.per != 1 else "")


if __name__ == "__main__":
    sys.stdout.write(markdown())

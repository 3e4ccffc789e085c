"""Every observable of a run: its name, unit, meaning, and the counter it is read from. The single list for time
series, final counters, tables and the data dictionary; nothing is sampled that is not a row here.

The scope of an observable decides its rows. Counters count from the start of the run and
are never reset; a watermark is the highest value since the last sample, a peak since the start. Order is by scope and
is part of the format (codes in parts are positions here).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state.codes import N_DROP_REASONS, DropReason
from fabric.units import PS_PER_NS

if TYPE_CHECKING:  # annotations only: reading results must not load the compiler
    from fabric.dataplane.engine.counters import Snapshot

Rows = NDArray[np.int64]
Reader = Callable[["Snapshot", Rows], NDArray[np.int64] | NDArray[np.float64]]


class Scope(StrEnum):
    """The kind of object that an observable belongs to."""

    PORT = "port"
    QUEUE = "queue"
    """Egress queue of a port."""
    PG = "priority group"
    """Ingress priority group of a switch port."""
    PRIORITY = "priority"
    """PFC priority of a port."""
    POOL = "pool"
    """Buffer pool of a switch."""
    HOST = "host"
    SENDER = "queue pair"
    """Sending side; device is the source host."""
    RECEIVER = "queue pair, receiving"
    """device is the destination host."""
    MEMBER = "ECMP member"
    """Next hop of an ECMP group; port is the egress port, item the group."""
    GROUP = "ECMP group"
    SEGMENT = "VNI"
    """Layer-2 VNI at a leaf's VTEP; item is its position among the VNIs of the manifest."""


class Kind(StrEnum):
    """How values behave over time."""

    COUNTER = "counter"
    GAUGE = "gauge"
    WATERMARK = "watermark"
    PEAK = "peak"


@dataclass(frozen=True, slots=True)
class Observable:
    """One measured value."""

    name: str
    scope: Scope
    kind: Kind
    unit: str
    help: str
    read: Reader
    """(snapshot, rows of the scope) -> their values."""

    @property
    def is_ratio(self) -> bool:
        """Whether its values are floating-point ratios (column value_ratio)."""
        return self.unit == "ratio"


@dataclass(frozen=True, slots=True)
class Field:
    """Reads one field of a table; as data, so that fabric/runs/replay.py can put the value back."""

    table: str
    field: str
    divisor: int = 1
    """The field is divided by this, rounded down: picoseconds to nanoseconds."""

    def __call__(self, now: Snapshot, rows: Rows) -> NDArray[np.int64]:
        """The values of some rows."""
        column: NDArray[np.int64] = getattr(now, self.table).reshape(-1)[self.field][rows].astype(np.int64)
        return column // self.divisor if self.divisor != 1 else column


@dataclass(frozen=True, slots=True)
class Ratio:
    """Reads one floating-point field of a table."""

    table: str
    field: str

    def __call__(self, now: Snapshot, rows: Rows) -> NDArray[np.float64]:
        """The values of some rows."""
        return np.asarray(getattr(now, self.table).reshape(-1)[self.field][rows], np.float64)


@dataclass(frozen=True, slots=True)
class Drops:
    """Reads the drops of one reason."""

    reason: DropReason
    field: str

    def __call__(self, now: Snapshot, rows: Rows) -> NDArray[np.int64]:
        """The values of some rows."""
        return np.asarray(now.drops.reshape(-1, N_DROP_REASONS)[self.field][rows, int(self.reason)], np.int64)


def paused(now: Snapshot, rows: Rows) -> NDArray[np.int64]:
    """Whether link flow control keeps the port from sending the class."""
    return np.asarray(now.paused.reshape(-1)[rows], np.int64)


def down_ns(now: Snapshot, rows: Rows) -> NDArray[np.int64]:
    """Duration of past outages and of the present one."""
    since_ps = now.time_ps - now.ports["down_since_ps"][rows]
    down_ps = now.ports["down_ps"][rows] + np.where(now.ports["up"][rows] == 0, since_ps, 0)
    return np.asarray(down_ps // PS_PER_NS, np.int64)


def imbalance(now: Snapshot, rows: Rows) -> NDArray[np.float64]:
    """Largest member's bytes over the members' mean, per ECMP group; 0 before the first byte."""
    groups = now.groups[rows]
    total = np.concatenate([np.zeros(1, np.int64), np.cumsum(now.members["bytes"], dtype=np.int64)])
    first, count = groups["first"].astype(np.int64), groups["count"].astype(np.int64)
    sums = total[first + count] - total[first]
    # reduceat over [first, first + count) pairs; the odd results lie between groups and are dropped.
    padded = np.append(now.members["bytes"], 0)
    bounds = np.stack([first, first + count], axis=1).reshape(-1)
    largest = np.maximum.reduceat(padded, bounds)[::2] if rows.size else sums
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((sums > 0) & (count > 0), largest * count / np.maximum(sums, 1), 0.0)


def _utilisation(_now: Snapshot, rows: Rows) -> NDArray[np.float64]:
    """Needs two samples, so the sampler fills it in; a single snapshot has no value."""
    return np.zeros(rows.size)


def _port(name: str, kind: Kind, unit: str, meaning: str, read: Reader | None = None) -> Observable:
    return Observable(name, Scope.PORT, kind, unit, meaning, read or Field("ports", name))


def _queue(name: str, kind: Kind, unit: str, field: str, meaning: str) -> Observable:
    return Observable(name, Scope.QUEUE, kind, unit, meaning, Field("queues", field))


def _pg(name: str, kind: Kind, unit: str, field: str, meaning: str) -> Observable:
    return Observable(name, Scope.PG, kind, unit, meaning, Field("pgs", field))


def _prio(name: str, kind: Kind, unit: str, read: Reader | str, meaning: str) -> Observable:
    reader = Field("prios", read) if isinstance(read, str) else read
    return Observable(name, Scope.PRIORITY, kind, unit, meaning, reader)


def _drop(reason: DropReason, field: str, unit: str) -> Observable:
    name = f"drop_{reason.name.lower()}_{field}"
    meaning = f"Discarded: {DROP_HELP[reason]}."
    return Observable(name, Scope.PRIORITY, Kind.COUNTER, unit, meaning, Drops(reason, field))


def _pool(name: str, kind: Kind, field: str, meaning: str) -> Observable:
    return Observable(name, Scope.POOL, kind, "bytes", meaning, Field("pools", field))


def _host(name: str, unit: str, meaning: str, field: str = "", kind: Kind = Kind.COUNTER) -> Observable:
    return Observable(name, Scope.HOST, kind, unit, meaning, Field("hosts", field or name))


def _qp(name: str, kind: Kind, unit: str, field: str, meaning: str) -> Observable:
    reader = Ratio("qps", field) if unit == "ratio" else Field("qps", field)
    return Observable(name, Scope.SENDER, kind, unit, meaning, reader)


def _segment(name: str, field: str, meaning: str) -> Observable:
    return Observable(name, Scope.SEGMENT, Kind.COUNTER, "packets", meaning, Field("segments", field))


C, G, W, P = Kind.COUNTER, Kind.GAUGE, Kind.WATERMARK, Kind.PEAK

DROP_HELP: Final = {
    DropReason.HEADROOM: "lossless, the group's own headroom was full",
    DropReason.SHARED_HEADROOM_POOL: "lossless, the shared headroom pool was exhausted",
    DropReason.NO_HEADROOM: "lossless by name, but the group has no headroom",
    DropReason.INGRESS_THRESHOLD: "lossy, over the priority group's limit",
    DropReason.EGRESS_THRESHOLD: "over the egress queue's limit",
    DropReason.EGRESS_POOL: "the queue's egress pool was full",
    DropReason.EGRESS_PORT: "over the port's limit in the queue's egress pool",
    DropReason.WRED: "early drop of a packet that is not ECN-capable",
    DropReason.MTU: "larger than the egress port's MTU",
    DropReason.NO_ROUTE: "no next hop (black hole)",
    DropReason.LINK_DOWN: "sent into, or in flight on, a link that is down",
    DropReason.FCS: "bit errors on the cable",
    DropReason.WATCHDOG: "the PFC watchdog empties the queue",
    DropReason.TTL: "time to live ran out (forwarding loop)",
    DropReason.RX_BUFFER: "the host's receive buffer overflowed",
    DropReason.INJECTED: "a fault of the scenario asked for it",
}

OBSERVABLES: Final[tuple[Observable, ...]] = (
    _port("tx_bytes", C, "bytes", "Sent, headers and FCS included."),
    _port("tx_pkts", C, "packets", "Sent."),
    _port("rx_bytes", C, "bytes", "Received, headers and FCS included."),
    _port("rx_pkts", C, "packets", "Received."),
    _port("tx_pause_pkts", C, "frames", "PFC frames sent, all priorities together."),
    _port("rx_pause_pkts", C, "frames", "PFC frames received."),
    _port("tx_notice_pkts", C, "frames", "Congestion notices sent to the neighbouring switch."),
    _port("rx_notice_pkts", C, "frames", "Congestion notices received from it."),
    _port("fcs_errors", C, "frames", "Received with a wrong FCS."),
    _port("dropped_pkts", C, "packets", "Discarded at this port, all reasons."),
    _port("dropped_bytes", C, "bytes", "Discarded at this port, all reasons."),
    _port(
        "busy_ns",
        C,
        "ns",
        "Time spent sending; a frame counts in full when it starts.",
        Field("ports", "busy_ps", PS_PER_NS),
    ),
    _port(
        "tx_utilisation_ratio",
        G,
        "ratio",
        "Share of the time since the last sample spent sending; above 1 by at most one frame.",
        _utilisation,
    ),
    _port("lost_pkts", C, "packets", "Lost in flight towards this port when its link went down."),
    _port("lost_bytes", C, "bytes", "Lost in flight towards this port when its link went down."),
    _port("up", G, "0 or 1", "Link state."),
    _port("down_ns", C, "ns", "Time the link has been down.", down_ns),
    _port("rate_bps", G, "bit/s", "Speed."),
    _queue("queue_bytes", G, "bytes", "depth_bytes", "Waiting now."),
    _queue("queue_pkts", G, "packets", "depth_pkts", "Waiting now."),
    _queue("queue_watermark_bytes", W, "bytes", "watermark_bytes", "Highest depth since the last sample."),
    _queue("queue_peak_bytes", P, "bytes", "peak_bytes", "Highest depth since the start."),
    _queue("enqueued_pkts", C, "packets", "enqueued_pkts", "Entered the queue."),
    _queue("enqueued_bytes", C, "bytes", "enqueued_bytes", "Entered the queue."),
    _queue("sent_pkts", C, "packets", "sent_pkts", "Left the queue onto the wire."),
    _queue("sent_bytes", C, "bytes", "sent_bytes", "Left the queue onto the wire."),
    _queue("ecn_marked_pkts", C, "packets", "marked_pkts", "Marked CE here."),
    _queue(
        "ecn_capable_pkts",
        C,
        "packets",
        "ect_pkts",
        "ECN-capable packets that entered: the denominator of the marked share.",
    ),
    _queue("queue_dropped_pkts", C, "packets", "dropped_pkts", "Discarded at this queue."),
    _queue("queue_dropped_bytes", C, "bytes", "dropped_bytes", "Discarded at this queue."),
    _queue(
        "queue_flushed_pkts",
        C,
        "packets",
        "flushed_pkts",
        "Discarded after they had entered: the link went down, or the watchdog emptied the queue.",
    ),
    _queue("queue_flushed_bytes", C, "bytes", "flushed_bytes", "Discarded after they had entered."),
    _queue("watchdog_stormed", G, "0 or 1", "wd_state", "The PFC watchdog holds this queue for stormed."),
    _queue("watchdog_detected", C, "storms", "wd_detected", "Storms the watchdog detected."),
    _queue("watchdog_restored", C, "storms", "wd_restored", "Storms that ended."),
    _queue("watchdog_dropped_pkts", C, "packets", "wd_dropped_pkts", "Discarded by the watchdog."),
    _pg("pg_bytes", G, "bytes", "use_bytes", "Reserved and shared use now, in whole cells."),
    _pg("pg_watermark_bytes", W, "bytes", "watermark_bytes", "Highest use since the last sample."),
    _pg("pg_peak_bytes", P, "bytes", "peak_bytes", "Highest use since the start."),
    _pg("pg_headroom_bytes", G, "bytes", "headroom_bytes", "Headroom use now."),
    _pg(
        "pg_headroom_watermark_bytes",
        W,
        "bytes",
        "headroom_watermark_bytes",
        "Highest headroom use since the last sample.",
    ),
    _pg("pg_headroom_peak_bytes", P, "bytes", "headroom_peak_bytes", "Highest headroom use since the start."),
    _pg("pg_headroom_limit_bytes", G, "bytes", "xoff_bytes", "Headroom of the group (the profile's xoff)."),
    Observable(
        "pg_peak_share_ratio",
        Scope.PG,
        P,
        "ratio",
        "Shared use over the limit when the least was missing to it; 1 sends XOFF.",
        Ratio("pgs", "peak_share_ratio"),
    ),
    _pg("pg_peak_limit_bytes", G, "bytes", "peak_limit_bytes", "The limit at the moment of pg_peak_share_ratio."),
    _pg(
        "pg_dynamic_th",
        G,
        "power of 2",
        "shift",
        "Its limit is 2^this times the pool's free bytes, unless it is static.",
    ),
    _pg("pg_static_limit_bytes", G, "bytes", "limit_bytes", "Its static limit; -1: dynamic."),
    Observable(
        "pg_pool_bytes",
        Scope.PG,
        G,
        "bytes",
        "Size of the pool it shares.",
        lambda now, rows: now.pools["size_bytes"][now.pgs.reshape(-1)["pool"][rows].astype(np.int64)],
    ),
    _pg("pg_xoff", G, "0 or 1", "xoff_sent", "The group has sent XOFF and not yet XON."),
    _pg("pg_xoff_count", C, "times", "xoff_count", "Went from XON to XOFF."),
    _pg("pg_dropped_pkts", C, "packets", "dropped_pkts", "Discarded by this group."),
    _pg("pg_admitted_pkts", C, "packets", "admitted_pkts", "Admitted by this group."),
    _pg("pg_rx_pkts", C, "packets", "rx_pkts", "Received in this class."),
    _pg("pg_rx_bytes", C, "bytes", "rx_bytes", "Received in this class."),
    _pg("pg_lost_pkts", C, "packets", "lost_pkts", "Of this class, lost in flight when the link went down."),
    _prio("pfc_rx_xoff_pkts", C, "frames", "rx_xoff_pkts", "XOFF received, refreshes included."),
    _prio("pfc_rx_xon_pkts", C, "frames", "rx_xon_pkts", "XON received."),
    _prio("pfc_tx_xoff_pkts", C, "frames", "tx_xoff_pkts", "XOFF sent, refreshes included."),
    _prio("pfc_tx_xon_pkts", C, "frames", "tx_xon_pkts", "XON sent."),
    _prio("pfc_rx_pauses", C, "times", "pauses", "Went from sending to paused."),
    _prio("pfc_rx_resumes", C, "times", "on2off_pkts", "Pauses that ended, by XON or by the timer."),
    _prio("pfc_rx_paused", G, "0 or 1", paused, "Paused by the peer now."),
    _prio(
        "pfc_rx_paused_ns",
        C,
        "ns",
        Field("prios", "rx_paused_ps", PS_PER_NS),
        "Time paused by the peer, the present pause included.",
    ),
    _prio("pfc_tx_paused", G, "0 or 1", "xoff_sent", "Keeps the peer from sending now."),
    _prio(
        "pfc_tx_paused_ns",
        C,
        "ns",
        Field("prios", "tx_paused_ps", PS_PER_NS),
        "Time the peer was asked to be silent, the present request included.",
    ),
    _prio(
        "pfc_rx_longest_pause_ns",
        P,
        "ns",
        Field("prios", "longest_ps", PS_PER_NS),
        "Longest single pause by the peer, the present one included.",
    ),
    _prio(
        "pfc_rx_recent_pause_ns",
        G,
        "ns",
        Field("prios", "recent_ps", PS_PER_NS),
        "Length of the most recent pause by the peer, so far if it lasts; SONiC's RECENT_PAUSE_TIME.",
    ),
    _prio(
        "pfc_rx_recent_pause_start_ns",
        G,
        "ns",
        Field("prios", "begun_ps", PS_PER_NS),
        "Simulated time at which the most recent pause began, 0 without one; SONiC's RECENT_PAUSE_TIMESTAMP.",
    ),
    *(_drop(reason, "pkts", "packets") for reason in DropReason),
    *(_drop(reason, "bytes", "bytes") for reason in DropReason),
    _pool("pool_bytes", G, "used_bytes", "Used now."),
    _pool("pool_watermark_bytes", W, "watermark_bytes", "Highest use since the last sample."),
    _pool("pool_peak_bytes", P, "peak_bytes", "Highest use since the start."),
    _pool("pool_size_bytes", G, "size_bytes", "Size."),
    _pool("pool_headroom_bytes", G, "headroom_used_bytes", "Shared headroom pool: used now."),
    _pool(
        "pool_headroom_watermark_bytes",
        W,
        "headroom_watermark_bytes",
        "Shared headroom pool: highest use since the last sample.",
    ),
    _pool("pool_headroom_peak_bytes", P, "headroom_peak_bytes", "Shared headroom pool: highest use since the start."),
    _pool(
        "pool_headroom_size_bytes", G, "headroom_size_bytes", "Shared headroom pool: size; 0 where headroom is private."
    ),
    _host("goodput_bytes", "bytes", "Payload received, each byte once; in order unless recovery is out-of-order."),
    _host("cnp_sent", "packets", "Congestion notifications sent: inbound congestion (notification point)."),
    _host("cnp_handled", "packets", "Congestion notifications obeyed: outbound congestion (reaction point)."),
    _host("cnp_ignored", "packets", "Congestion notifications that no reaction point acted upon."),
    _host("ecn_received_pkts", "packets", "Data packets received with CE.", "ecn_received"),
    _host("out_of_sequence_pkts", "packets", "Data packets received out of sequence.", "out_of_sequence"),
    _host("naks_sent", "packets", "NAKs sent."),
    _host("naks_received", "packets", "NAKs received."),
    _host("retransmitted_pkts", "packets", "Data packets sent more than once."),
    _host("retransmitted_gbn_pkts", "packets", "Of these, by go-back-N after a gap was reported."),
    _host("retransmitted_sr_pkts", "packets", "Of these, by selective repeat: reported missing, or declared lost."),
    _host("retransmitted_timeout_pkts", "packets", "Of these, because nothing was acknowledged in time."),
    _host("retransmitted_probe_pkts", "packets", "Of these, tail loss probes (recovery out-of-order)."),
    _host(
        "out_of_order_pkts", "packets", "Data packets placed while an earlier one was missing (recovery out-of-order)."
    ),
    _host(
        "out_of_order_peak_pkts",
        "packets",
        "Most packets that a receiver's bitmap spanned, from the first missing one to the last placed.",
        kind=Kind.PEAK,
    ),
    _host("source_routed_pkts", "packets", "Packets sent with a source route (load_balancing: source-routed)."),
    _host(
        "routes_withdrawn",
        "routes",
        "Source routes to the destinations of its queue pairs that are withdrawn, because a cable is down.",
        kind=Kind.GAUGE,
    ),
    _host("declared_lost_pkts", "packets", "Packets that this sender held for lost (recovery out-of-order)."),
    _host(
        "spurious_pkts",
        "packets",
        "Packets sent again of which both copies arrived, as reported by the receiver (recovery out-of-order).",
    ),
    _host("arp_requests_sent", "packets", "ARP requests broadcast."),
    _host("arp_requests_received", "packets", "ARP requests received, those for others included."),
    _host("arp_replies_sent", "packets", "ARP requests answered."),
    _host("arp_replies_received", "packets", "ARP replies received, from hosts and from leaves."),
    _host("datagrams_sent", "packets", "Datagrams given to the NIC."),
    _host("datagrams_refused", "packets", "Datagrams not sent, because the NIC's queue was full."),
    _host("datagrams_received", "packets", "Datagrams received."),
    _host("datagrams_marked", "packets", "Datagrams received with CE."),
    _host("duplicate_pkts", "packets", "Data packets received more than once.", "duplicates"),
    _host("timeouts", "times", "Retransmission timers that ran out."),
    _host("rx_discards", "packets", "Discarded by the full receive buffer."),
    _host("rx_buffer_bytes", "bytes", "Receive buffer use now (slow receivers).", "rx_used_bytes", Kind.GAUGE),
    _host("rx_buffer_peak_bytes", "bytes", "Highest receive buffer use since the start.", "rx_peak_bytes", Kind.PEAK),
    _host("messages_done", "messages", "Sent and acknowledged."),
    _host("messages_failed", "messages", "Given up at the retry limit."),
    _qp("qp_rate_bps", G, "bit/s", "rate_bps", "Sending rate the reaction point allows."),
    _qp("qp_target_bps", G, "bit/s", "target_bps", "Target rate of the reaction point."),
    _qp("qp_alpha_ratio", G, "ratio", "alpha", "Estimate of the marked share (alpha of DCQCN or DCTCP)."),
    _qp("qp_rate_cuts", C, "times", "cuts", "Rate decreases."),
    _qp("qp_naks", C, "packets", "naks", "NAKs received."),
    _qp("qp_sent_pkts", C, "packets", "sent_pkts", "Data packets sent, repeated ones included."),
    _qp("qp_retransmitted_pkts", C, "packets", "retransmitted_pkts", "Data packets sent more than once."),
    _qp("qp_timeouts", C, "times", "timeouts", "Retransmission timers that ran out."),
    Observable(
        "qp_out_of_sequence_pkts",
        Scope.RECEIVER,
        C,
        "packets",
        "Received out of sequence.",
        Field("rqps", "out_of_sequence"),
    ),
    Observable("ecmp_member_pkts", Scope.MEMBER, C, "packets", "Sent to this next hop.", Field("members", "pkts")),
    Observable("ecmp_member_bytes", Scope.MEMBER, C, "bytes", "Sent to this next hop.", Field("members", "bytes")),
    Observable(
        "ecmp_imbalance_ratio",
        Scope.GROUP,
        G,
        "ratio",
        "Largest member's bytes over the mean; 1 is even, 0 nothing sent.",
        imbalance,
    ),
    _segment("vxlan_encap_pkts", "encap_pkts", "Sent into tunnels."),
    _segment("vxlan_decap_pkts", "decap_pkts", "Received from tunnels."),
    _segment("arp_requests", "arp_requests", "ARP requests from local hosts."),
    _segment("arp_suppressed", "arp_suppressed", "Of these, answered by the leaf."),
    _segment("arp_flooded", "arp_flooded", "Of these, sent to other leaves."),
    _segment("bum_sent_pkts", "bum_sent_pkts", "Copies of broadcast sent to other leaves."),
    _segment("bum_received_pkts", "bum_received_pkts", "Copies of broadcast received from other leaves."),
    _segment("bum_delivered_pkts", "bum_delivered_pkts", "Copies of broadcast handed to local ports."),
)

POSITION: Final = {observable.name: row for row, observable in enumerate(OBSERVABLES)}

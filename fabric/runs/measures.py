"""The metrics of a run for expectations: one flat mapping, in base units (ps, bytes, bit/s, ratio).

Every metric that fabric/scenario/schema/expectations.py declares is here under its name; None where a run has no such
value (no message was completed, nothing was ECN-capable). A comparison with None is never met.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.collectives.transfers import TRANSFER_COLUMNS
from fabric.collectives.transfers import Transfers as Schedule
from fabric.dataplane.state.codes import N_CLASSES, DropReason, QpState
from fabric.dataplane.state.types import NO_QP
from fabric.runs import datagrams, messages, transfer_outcomes
from fabric.runs.convergence import routing_metrics
from fabric.runs.transfer_outcomes import Completed
from fabric.scenario.schema.expectations import METRICS
from fabric.units import PS_PER_S

if TYPE_CHECKING:  # annotations only: reading results must not load the compiler
    from fabric.dataplane.engine.counters import Snapshot

Number = int | float | None

BUFFER_REASONS: Final = (
    DropReason.HEADROOM,
    DropReason.SHARED_HEADROOM_POOL,
    DropReason.NO_HEADROOM,
    DropReason.INGRESS_THRESHOLD,
    DropReason.EGRESS_THRESHOLD,
    DropReason.EGRESS_POOL,
    DropReason.EGRESS_PORT,
    DropReason.WRED,
    DropReason.RX_BUFFER,
)
"""Discarded for lack of buffer; the others have another cause (a cable, a route, an MTU, a fault, the watchdog)."""


_OF_WORKLOADS: Final = ("step.", "inference.")
"""Metrics of job_summary.py and serving_times.py, which know what the transfers are of."""


def lossless_rows(now: Snapshot) -> NDArray[np.bool_]:
    """Whether class c is lossless at port p, (n_ports, 8): a lossless priority group of that number anywhere on the
    switch, or PFC enabled on the port (hosts have no priority groups).
    """
    node = now.ports["node"].astype(np.int64)
    by_node = np.zeros((len(now.devices), N_CLASSES), np.bool_)
    np.logical_or.at(by_node, node, now.pgs["lossless"] != 0)
    host = node < len(now.hosts)
    return np.asarray(by_node[node] | (now.flow_controlled & host[:, None]), np.bool_)


def message_classes(now: Snapshot) -> list[int]:
    """Classes in which messages, and those of transfers, are sent."""
    transfers = now.transfers["qp"][now.transfers["qp"] != NO_QP]
    pairs = np.unique(np.concatenate([now.messages["qp"], transfers]).astype(np.int64))
    return [int(it) for it in np.unique(now.qps["tc"][pairs])]


def buffer_drops(now: Snapshot) -> tuple[int, int]:
    """Packets discarded for lack of buffer: (of lossless classes, of other classes)."""
    lost = now.drops["pkts"][:, :, [int(reason) for reason in BUFFER_REASONS]].sum(axis=2)
    lossless = lossless_rows(now)
    return int(lost[lossless].sum()), int(lost[~lossless].sum())


def lossless_losses(now: Snapshot) -> dict[DropReason, int]:
    """Packets of lossless classes lost, by reason; reasons that did not occur are left out."""
    counts = now.drops["pkts"][lossless_rows(now)].sum(axis=0)
    return {reason: int(counts[reason]) for reason in DropReason if counts[reason]}


def jain(now: Snapshot) -> float | None:
    """Jain's fairness index of the sending hosts' goodput: bytes over the time from a host's first posting to its last
    completion or failure. Of completed messages, of failed ones, which count as no bytes, and of transfers all of whose
    messages are completed.
    Source: Jain, Chiu, Hawe, DEC-TR-301, 1984.
    """
    state = messages.states(now)
    done, failed = state == messages.DONE, state == messages.FAILED
    ended, whole = done | failed, now.transfers[_whole(now)]
    if not done.any() and not whole.size:
        return None
    rows = now.messages[ended]
    src = np.concatenate([now.qps["src"][rows["qp"]], whole["src"]]).astype(np.int64)
    size = np.concatenate([np.where(done[ended], rows["size_bytes"], 0), _size_bytes(whole)])
    start = np.concatenate([rows["start_ps"], whole["first_ps"]])
    end = np.concatenate([np.where(done, now.messages["end_ps"], failures_ps(now))[ended], whole["completed_ps"]])
    count = len(now.hosts)
    sent = np.bincount(src, weights=size, minlength=count)
    first, last = np.full(count, np.iinfo(np.int64).max), np.zeros(count, np.int64)
    np.minimum.at(first, src, start)
    np.maximum.at(last, src, end)
    active = np.bincount(src, minlength=count) > 0
    rate = sent[active] / np.maximum(last[active] - first[active], 1)
    return float(rate.sum() ** 2 / (rate.size * (rate**2).sum()))


def _whole(now: Snapshot) -> NDArray[np.int64]:
    """Rows of transfers that sent messages, all of which are done."""
    rows = now.transfers
    return np.flatnonzero((rows["qp"] != NO_QP) & (rows["n_sent"] > 0) & (rows["done_messages"] >= rows["n_sent"]))


def _size_bytes(rows: NDArray[Any]) -> NDArray[np.int64]:
    """(n,) payload of all messages of transfers (rows of TRANSFER)."""
    from fabric.dataplane.state.schedule import longer_messages  # noqa: PLC0415  its parameters load much

    zero = np.zeros(len(rows), np.int64)
    columns = {name: rows[name].astype(np.int64) for name in TRANSFER_COLUMNS if name in (rows.dtype.names or ())}
    none = np.empty(0, np.int64)
    table = Schedule(**{**columns, "operation": zero}, earlier=none, later=none, lead=none, per=none, event=none)
    return np.asarray(rows["small_bytes"] * rows["count"] + rows["unit_bytes"] * longer_messages(table), np.int64)


def _arp(now: Snapshot) -> dict[str, Number]:
    """ARP of all segments; times from the request to the first reply."""
    answered = now.asks[now.asks["answered_ps"] >= 0]
    waited = answered["answered_ps"] - answered["time_ps"]
    return {
        "arp.requests": int(now.segments["arp_requests"].sum()),
        "arp.suppressed": int(now.segments["arp_suppressed"].sum()),
        "arp.flooded": int(now.segments["arp_flooded"].sum()),
        "arp.copies": int(now.segments["bum_sent_pkts"].sum()),
        "arp.arrived": int(now.hosts["arp_requests_received"].sum()),
        "arp.answered": len(answered),
        "arp.slowest": int(waited.max()) if len(answered) else None,
    }


def message_states(now: Snapshot) -> NDArray[np.int64]:
    """(4,) messages by state, in the order of messages.STATES, those of transfers with them."""
    return np.bincount(messages.states(now), minlength=len(messages.STATES)) + transfer_outcomes.states(now)


def measure(
    now: Snapshot,
    ideal_ps: NDArray[np.int64],
    deadlocks: int,
    routing: Mapping[str, Any] | None = None,
    sent: Completed | None = None,
) -> dict[str, Number]:
    """All metrics of a snapshot.

    Parameters
    ----------
    now : Snapshot              the fabric at the end of the run
    ideal_ps : (n,) int64       per message
    deadlocks : int             cyclic waits found
    routing : mapping           section of the control plane; None with shortest-path routing
    sent : Completed            completed messages of transfers; None where they were not recorded: completion times of
                                a run with such messages are then unknown
    """
    waiting, outstanding, finished, failed = message_states(now).tolist()
    done = messages.states(now) == messages.DONE
    fct, ideal = messages.fct_ps(now)[done], ideal_ps[done]
    if sent is not None:
        fct, ideal = np.concatenate([fct, sent.fct_ps]), np.concatenate([ideal, sent.ideal_ps])
    elif transfer_outcomes.states(now).any():
        fct, ideal = fct[:0], ideal[:0]
    lossless, lossy = buffer_drops(now)
    queues, hosts, prios, pgs = now.queues, now.hosts, now.prios, now.pgs
    capable = int(queues["ect_pkts"].sum())
    marked = int(queues["marked_pkts"].sum())
    headroom = pgs["xoff_bytes"] > 0
    found: dict[str, Number] = {
        **dict.fromkeys(name for name in METRICS if name.startswith(_OF_WORKLOADS)),
        "messages.total": waiting + outstanding + finished + failed,
        "messages.done": finished,
        "messages.failed": failed,
        "messages.unfinished": waiting + outstanding,
        **{f"fct.{name}": value for name, value in messages.distribution(fct).items()},
        **{f"slowdown.{name}": value for name, value in messages.distribution(fct / ideal).items()},
        "goodput.total": float(hosts["goodput_bytes"].sum()) * 8 * PS_PER_S / max(span_ps(now), 1),
        "goodput.jain": jain(now),
        "drops.total": int(now.ports["dropped_pkts"].sum()),
        "drops.lossless": lossless,
        "drops.lossless_any": sum(lossless_losses(now).values()),
        "drops.lossy": lossy,
        **{f"drops.{reason.name.lower()}": int(now.drops["pkts"][:, :, int(reason)].sum()) for reason in DropReason},
        "pfc.pause_frames": int(prios["tx_xoff_pkts"].sum()),
        "pfc.pauses": int(prios["pauses"].sum()),
        "pfc.paused_time": int(prios["rx_paused_ps"].sum()),
        "pfc.longest_pause": int(prios["longest_ps"].max(initial=0)),
        "pfc.paused_hosts": len(paused_hosts(now)),
        "ecn.marked": marked,
        "ecn.marked_ratio": marked / capable if capable else None,
        "cnp.sent": int(hosts["cnp_sent"].sum()),
        "transport.retransmits": int(hosts["retransmitted_pkts"].sum()),
        "transport.timeouts": int(hosts["timeouts"].sum()),
        "transport.naks": int(hosts["naks_sent"].sum()),
        "transport.out_of_order": int(hosts["out_of_order_pkts"].sum()),
        "transport.declared_lost": int(hosts["declared_lost_pkts"].sum()),
        "transport.spurious": int(hosts["spurious_pkts"].sum()),
        **_arp(now),
        **{f"datagrams.{name}": count for name, count in datagrams.counts(now).items()},
        "transport.rate_cuts": int(now.qps["cuts"].sum()),
        "queue.peak": int(queues["peak_bytes"].max(initial=0)),
        "headroom.peak_ratio": float(
            (pgs["headroom_peak_bytes"][headroom] / pgs["xoff_bytes"][headroom]).max(initial=0.0)
        ),
        "watchdog.storms": int(queues["wd_detected"].sum()),
        "watchdog.restored": int(queues["wd_restored"].sum()),
        "deadlock.cycles": deadlocks,
        **routing_metrics(routing),
        "simulated.time": now.time_ps,
    }
    return found


def span_ps(now: Snapshot) -> int:
    """The run's time: to the last completion or failure where all messages and transfers ended, else to its end."""
    if not now.finished:
        return now.time_ps
    ends = (now.messages["end_ps"], now.transfers["completed_ps"], failures_ps(now), _given_up_ps(now))
    return int(max(it.max(initial=0) for it in ends))


def failures_ps(now: Snapshot) -> NDArray[np.int64]:
    """When each message failed: when its queue pair gave up, or when it was posted to one that had; -1: it has not."""
    rows = now.messages
    at = np.maximum(_given_up_ps(now)[rows["qp"]], rows["start_ps"]) if len(rows) else np.empty(0, np.int64)
    return np.where(rows["failed"] != 0, at, -1)


def _given_up_ps(now: Snapshot) -> NDArray[np.int64]:
    """When each queue pair reached its retry limit (host/sender.py keeps it in available_ps); -1: it has not."""
    return np.where(now.qps["state"] == QpState.FAILED, now.qps["available_ps"], -1)


def paused_hosts(now: Snapshot) -> NDArray[np.int64]:
    """NodeIds of the hosts that were paused at least once."""
    ports = np.flatnonzero(now.prios["pauses"].sum(axis=1) > 0)
    nodes = np.unique(now.ports["node"][ports].astype(np.int64))
    return nodes[nodes < len(now.hosts)]


def count_by_reason(metrics: Mapping[str, Number]) -> dict[DropReason, int]:
    """Packets discarded per reason, only those that occurred."""
    counts = {reason: int(metrics[f"drops.{reason.name.lower()}"] or 0) for reason in DropReason}
    return {reason: count for reason, count in counts.items() if count}

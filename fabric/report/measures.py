"""The numbers of a run that expectations may speak of: one flat mapping, in base units (ps, bytes, bit/s, ratio).

Every metric that fabric/scenario/expectations.py declares is here under its name; None where a run has no such value
(no message was completed, nothing was ECN-capable). A comparison with None is never met.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.report import messages
from fabric.report.convergence import routing_metrics
from fabric.state.codes import N_CLASSES, DropReason
from fabric.units import PS_PER_S

if TYPE_CHECKING:  # annotations only: reading results must not load the compiler
    from fabric.engine.counters import Snapshot

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
"""Discarded for want of buffer; the others have another cause (a cable, a route, an MTU, a fault, the watchdog)."""


def lossless_rows(now: Snapshot) -> NDArray[np.bool_]:
    """Whether class c is lossless at port p, (n_ports, 8): a lossless priority group of that number anywhere on the
    switch, or PFC enabled on the port (hosts have no priority groups).
    """
    node = now.ports["node"].astype(np.int64)
    by_node = np.zeros((len(now.devices), N_CLASSES), np.bool_)
    np.logical_or.at(by_node, node, now.pgs["lossless"] != 0)
    enabled = (now.ports["pfc_classes"].astype(np.int64)[:, None] >> np.arange(N_CLASSES) & 1) != 0
    host = node < len(now.hosts)
    return np.asarray(by_node[node] | (enabled & host[:, None]), np.bool_)


def buffer_drops(now: Snapshot) -> tuple[int, int]:
    """Packets discarded for want of buffer: (of lossless classes, of other classes)."""
    lost = now.drops["pkts"][:, :, [int(reason) for reason in BUFFER_REASONS]].sum(axis=2)
    lossless = lossless_rows(now)
    return int(lost[lossless].sum()), int(lost[~lossless].sum())


def lossless_losses(now: Snapshot) -> dict[DropReason, int]:
    """Packets of lossless classes lost, by reason; reasons that did not occur are left out."""
    counts = now.drops["pkts"][lossless_rows(now)].sum(axis=0)
    return {reason: int(counts[reason]) for reason in DropReason if counts[reason]}


def jain(now: Snapshot) -> float | None:
    """Jain's fairness index of the sending hosts' goodput: bytes of completed messages over the time from a host's
    first posting to its last completion. Source: Jain, Chiu, Hawe, DEC-TR-301, 1984.
    """
    done = messages.states(now) == messages.DONE
    rows = now.messages[done]
    if not rows.size:
        return None
    src = now.qps["src"][rows["qp"]].astype(np.int64)
    count = len(now.hosts)
    sent = np.bincount(src, weights=rows["size_bytes"], minlength=count)
    first, last = np.full(count, np.iinfo(np.int64).max), np.zeros(count, np.int64)
    np.minimum.at(first, src, rows["start_ps"])
    np.maximum.at(last, src, rows["end_ps"])
    active = sent > 0
    rate = sent[active] / np.maximum(last[active] - first[active], 1)
    return float(rate.sum() ** 2 / (rate.size * (rate**2).sum()))


def _arp(now: Snapshot) -> dict[str, Number]:
    """ARP of all segments; times from the request to the first reply."""
    answered = now.asks[now.asks["answered_ps"] >= 0]
    waited = answered["answered_ps"] - answered["time_ps"]
    return {
        "arp.requests": int(now.segments["arp_requests"].sum()),
        "arp.suppressed": int(now.segments["arp_suppressed"].sum()),
        "arp.flooded": int(now.segments["arp_flooded"].sum()),
        "arp.copies": int(now.segments["bum_sent_pkts"].sum()),
        "arp.heard": int(now.hosts["arp_requests_received"].sum()),
        "arp.answered": len(answered),
        "arp.slowest": int(waited.max()) if len(answered) else None,
    }


def measure(now: Snapshot, ideal_ps: NDArray[np.int64], deadlocks: int,
            routing: Mapping[str, Any] | None = None) -> dict[str, Number]:
    """All metrics of a snapshot.

    Parameters
    ----------
    now : Snapshot              the fabric at the end of the run
    ideal_ps : (n,) int64       per message
    deadlocks : int             cyclic waits found
    routing : mapping           section of the control plane; None with shortest-path routing
    """
    state = messages.states(now)
    done = state == messages.DONE
    fct = messages.fct_ps(now)[done]
    lossless, lossy = buffer_drops(now)
    queues, hosts, prios, pgs = now.queues, now.hosts, now.prios, now.pgs
    capable = int(queues["ect_pkts"].sum())
    marked = int(queues["marked_pkts"].sum())
    headroom = pgs["xoff_bytes"] > 0
    found: dict[str, Number] = {
        "messages.total": len(state),
        "messages.done": int(done.sum()),
        "messages.failed": int((state == messages.FAILED).sum()),
        "messages.unfinished": int((state <= messages.OUTSTANDING).sum()),
        **{f"fct.{name}": value for name, value in messages.distribution(fct).items()},
        **{f"slowdown.{name}": value for name, value in messages.distribution(fct / ideal_ps[done]).items()},
        "goodput.total": float(hosts["goodput_bytes"].sum()) * 8 * PS_PER_S / max(_span_ps(now), 1),
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


def _span_ps(now: Snapshot) -> int:
    """The run's time: to the last completion where everything is done, else to the end."""
    return int(now.messages["end_ps"].max(initial=0)) if now.finished else now.time_ps


def paused_hosts(now: Snapshot) -> NDArray[np.int64]:
    """NodeIds of the hosts that were paused at least once."""
    ports = np.flatnonzero(now.prios["pauses"].sum(axis=1) > 0)
    nodes = np.unique(now.ports["node"][ports].astype(np.int64))
    return nodes[nodes < len(now.hosts)]


def count_by_reason(metrics: Mapping[str, Number]) -> dict[DropReason, int]:
    """Packets discarded per reason, only those that occurred."""
    counts = {reason: int(metrics[f"drops.{reason.name.lower()}"] or 0) for reason in DropReason}
    return {reason: count for reason, count in counts.items() if count}

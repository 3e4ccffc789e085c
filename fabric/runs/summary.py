"""summary.json: a summary of a run, made from the last snapshot. The same run gives the same bytes on any machine and
at any pace; values that depend on the machine (wall time, versions) are in manifest.json.

Sections: headline (the cause, or the outcome), verdict (sentences), stop, metrics (measures.py), expectations,
messages, drops, pfc, ecn, buffers, hosts, watchdog, row_counts, routing, deadlock, events, and inference where a
workload is. Every time is in nanoseconds, and every name ends in its unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state.codes import N_CLASSES, DropReason
from fabric.runs import measures, messages, transfer_outcomes, verdict
from fabric.runs.job_summary import StepTimes, step_metrics
from fabric.runs.left_out import left_out
from fabric.runs.serving_times import ServingTimes, serving_metrics
from fabric.runs.transfer_outcomes import Completed
from fabric.scenario.schema.expectations import UNITS, Expectation, summary_key, to_summary
from fabric.units import PS_PER_NS

if TYPE_CHECKING:  # annotations only: reading results must not load the compiler
    from fabric.dataplane.engine.counters import Snapshot

TOP: Final = 10
"""Rows of each 'worst' list."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended."""

    reason: str
    """'all messages done', 'duration', 'nothing left to do', 'no progress', 'interrupted'."""
    stalled_since_ps: int | None = None
    """Time of the last progress, where messages in progress made none for long."""
    cycle: Sequence[tuple[int, int]] = field(default=())
    """(port, class) of a cyclic wait, in order."""


def summarise(
    now: Snapshot,
    ideal_ps: NDArray[np.int64],
    expectations: Sequence[Expectation],
    ending: Ending,
    recorded: Mapping[str, int],
    unrecorded: Mapping[str, int],
    routing: Mapping[str, Any] | None = None,
    truth: Sequence[Mapping[str, Any]] = (),
    sent: Completed | None = None,
    serving: Sequence[ServingTimes] = (),
    steps: StepTimes | None = None,
    *,
    nics_spray: bool = False,
    reads_marks: bool = True,
) -> dict[str, Any]:
    """The content of summary.json.

    Parameters
    ----------
    now : Snapshot                  the fabric at the end
    ideal_ps : (n,) int64           per message
    expectations                    of the scenario
    ending : Ending                 the reason of the end
    recorded, unrecorded            event rows by category, written and beyond the cap
    routing                         section of the control plane (convergence.py); None with shortest-path routing
    truth                           records of the scenario's faults, for the verdict
    sent                            completed messages of transfers; None: there are none, or they were not recorded
    serving                         inference requests
    steps                           steps of jobs that ended; None: there are no jobs
    nics_spray                      NICs give each packet of a queue pair another source route
    reads_marks                     some queue pair's congestion control slows down for ECN marks
    """
    deadlocks = max(recorded.get("deadlock", 0), 1 if ending.cycle else 0)
    metrics = measures.measure(now, ideal_ps, deadlocks, routing, sent)
    if serving:
        metrics |= serving_metrics(serving)
    if steps is not None:
        metrics |= step_metrics(steps)
    summary: dict[str, Any] = {
        "stop": {
            "reason": _reason(ending, now),
            "time_ns": now.time_ps // PS_PER_NS,
            "stalled_since_ns": None if ending.stalled_since_ps is None else ending.stalled_since_ps // PS_PER_NS,
        },
        "metrics": {summary_key(name): to_summary(name, value) for name, value in metrics.items()},
        "expectations": [
            judge(expectation, metrics[expectation.metric], left_out(expectation.metric, metrics))
            for expectation in expectations
        ],
        "messages": {
            "by_state": dict(zip(messages.STATES, measures.message_states(now).tolist(), strict=True)),
            "of_transfers": int(transfer_outcomes.states(now).sum()),
            "by_size": messages.by_size(now, ideal_ps, sent),
        },
        "drops": _drops(now),
        "pfc": {"paused_ports": _paused(now), "pausing_ports": _pausing(now)},
        "ecn": {"queues": _marking(now)},
        "buffers": {"queues": _queues(now), "pools": _pools(now), "headroom": _headroom(now)},
        "hosts": _hosts(now),
        "watchdog": _watchdog(now),
        "row_counts": _row_counts(now),
        "routing": routing,
        "deadlock": [_port_class(now, port, c) for port, c in ending.cycle],
        "events": {"recorded": dict(recorded), "unrecorded": dict(unrecorded)},
        **({"inference": [it.as_json() for it in serving]} if serving else {}),
    }
    sentences = verdict.sentences(now, metrics, summary, truth, nics_spray=nics_spray, reads_marks=reads_marks)
    return {
        "headline": sentences[0].text,
        "verdict": [{"level": it.level, "text": it.text} for it in sentences],
        **summary,
    }


def _reason(ending: Ending, now: Snapshot) -> str:
    """The reason of the end, with the outcome of the messages where that is the reason."""
    if ending.reason != "all messages done":
        return ending.reason
    from fabric.dataplane.engine.counters import outcome  # noqa: PLC0415  reading results must not load the compiler

    return outcome(now.messages, now.transfers)


def judge(expectation: Expectation, actual: measures.Number, left_out: str = "") -> dict[str, Any]:
    """One row of the expectations table; a metric without a value meets no expectation. `left_out`: which messages
    the metric does not speak of (left_out.py).

    Compared in base units, so to the picosecond; written in the units of summary.json.
    """
    return {
        "expectation": str(expectation),
        "metric": expectation.metric,
        "unit": UNITS[expectation.kind],
        "op": expectation.op,
        "value": to_summary(expectation.metric, expectation.value),
        "actual": to_summary(expectation.metric, actual),
        "met": actual is not None and expectation.holds(actual),
        "left_out": left_out,
    }


def _port_class(now: Snapshot, port: int, c: int) -> dict[str, Any]:
    return {"port": now.fabric.port_name(port), "class": int(c)}


def _top(now: Snapshot, score: NDArray[np.int64]) -> list[tuple[int, dict[str, Any]]]:
    """The TOP highest (port, class) rows with a positive score: (row, place); ties by row."""
    score = score.reshape(-1)
    order = np.argsort(-score, kind="stable")[:TOP]
    return [
        (int(row), _port_class(now, int(row) // N_CLASSES, int(row) % N_CLASSES)) for row in order if score[row] > 0
    ]


def _drops(now: Snapshot) -> dict[str, Any]:
    pkts, size = now.drops["pkts"], now.drops["bytes"]
    reasons = {
        reason.name.lower(): {"pkts": int(pkts[:, :, int(reason)].sum()), "bytes": int(size[:, :, int(reason)].sum())}
        for reason in DropReason
        if pkts[:, :, int(reason)].any()
    }
    worst = []
    for row, place in _top(now, pkts.sum(axis=2)):
        port, c = divmod(row, N_CLASSES)
        worst.append(
            {
                **place,
                "pkts": int(pkts[port, c].sum()),
                "bytes": int(size[port, c].sum()),
                "reasons": [reason.name.lower() for reason in DropReason if pkts[port, c, int(reason)]],
            }
        )
    lossless = measures.lossless_rows(now)
    used = measures.message_classes(now)
    return {
        "lossless_classes": np.flatnonzero(lossless.any(axis=0)).tolist(),
        "message_classes": used,
        "message_pkts_where_lossy": int((pkts.sum(axis=2) * ~lossless)[:, used].sum()),
        "by_reason": reasons,
        "lossless_by_reason": {
            reason.name.lower(): {"pkts": count} for reason, count in measures.lossless_losses(now).items()
        },
        "ports": worst,
    }


def _row_counts(now: Snapshot) -> dict[str, int]:
    """Length of each 'worst' list without the limit TOP."""
    prios, queues, pools = now.prios, now.queues, now.pools
    return {
        "drops.ports": int((now.drops["pkts"].sum(axis=2) > 0).sum()),
        "pfc.paused_ports": int((prios["rx_paused_ps"] > 0).sum()),
        "pfc.pausing_ports": int((prios["tx_xoff_pkts"] > 0).sum()),
        "ecn.queues": int((queues["marked_pkts"] > 0).sum()),
        "buffers.queues": int((queues["peak_bytes"] > 0).sum()),
        "buffers.pools": int((pools["peak_bytes"] > 0).sum()),
        "buffers.headroom": int((now.pgs["headroom_peak_bytes"] > 0).sum()),
        "hosts": int(((now.hosts["retransmitted_pkts"] > 0) | (now.hosts["cnp_handled"] > 0)).sum()),
        "watchdog": int((queues["wd_detected"] > 0).sum()),
    }


def _paused(now: Snapshot) -> list[dict[str, Any]]:
    prios = now.prios.reshape(-1)
    paused, longest, pauses = prios["rx_paused_ps"], prios["longest_ps"], prios["pauses"]
    return [
        {
            **place,
            "by": now.fabric.peer_of(row // N_CLASSES).name,
            "paused_ns": int(paused[row]) // PS_PER_NS,
            "paused_ratio": float(paused[row] / now.time_ps) if now.time_ps else 0.0,
            "pauses": int(pauses[row]),
            "longest_ns": int(longest[row]) // PS_PER_NS,
        }
        for row, place in _top(now, paused)
    ]


def _pausing(now: Snapshot) -> list[dict[str, Any]]:
    prios = now.prios.reshape(-1)
    return [
        {
            **place,
            "pauses_peer": now.fabric.peer_of(row // N_CLASSES).name,
            "xoff_frames": int(prios["tx_xoff_pkts"][row]),
            "xon_frames": int(prios["tx_xon_pkts"][row]),
        }
        for row, place in _top(now, prios["tx_xoff_pkts"])
    ]


def _marking(now: Snapshot) -> list[dict[str, Any]]:
    queues = now.queues.reshape(-1)
    return [
        {
            **place,
            "marked_pkts": int(queues["marked_pkts"][row]),
            "ecn_capable_pkts": int(queues["ect_pkts"][row]),
            "peak_bytes": int(queues["peak_bytes"][row]),
        }
        for row, place in _top(now, queues["marked_pkts"])
    ]


def _queues(now: Snapshot) -> list[dict[str, Any]]:
    queues = now.queues.reshape(-1)
    return [
        {**place, "peak_bytes": int(queues["peak_bytes"][row]), "now_bytes": int(queues["depth_bytes"][row])}
        for row, place in _top(now, queues["peak_bytes"])
    ]


def _headroom(now: Snapshot) -> list[dict[str, Any]]:
    pgs = now.pgs.reshape(-1)
    return [
        {**place, "peak_bytes": int(pgs["headroom_peak_bytes"][row]), "limit_bytes": int(pgs["xoff_bytes"][row])}
        for row, place in _top(now, pgs["headroom_peak_bytes"])
    ]


def _pools(now: Snapshot) -> list[dict[str, Any]]:
    pools = now.pools
    share = pools["peak_bytes"] / np.maximum(pools["size_bytes"], 1)
    first = np.searchsorted(pools["switch"], pools["switch"])
    return [
        {
            "switch": now.fabric.nodes[int(pools["switch"][row])].name,
            "pool": int(row - first[row]),
            "peak_bytes": int(pools["peak_bytes"][row]),
            "size_bytes": int(pools["size_bytes"][row]),
            "headroom_peak_bytes": int(pools["headroom_peak_bytes"][row]),
            "headroom_size_bytes": int(pools["headroom_size_bytes"][row]),
        }
        for row in np.argsort(-share, kind="stable")[:TOP]
        if share[row] > 0
    ]


def _hosts(now: Snapshot) -> list[dict[str, Any]]:
    """Hosts with the most retransmissions, then the most congestion notifications."""
    hosts = now.hosts
    order = np.lexsort((-hosts["cnp_handled"], -hosts["retransmitted_pkts"]))[:TOP]
    fields = (
        "goodput_bytes",
        "retransmitted_pkts",
        "timeouts",
        "out_of_sequence",
        "out_of_order_pkts",
        "declared_lost_pkts",
        "spurious_pkts",
        "naks_sent",
        "cnp_sent",
        "cnp_handled",
        "rx_discards",
    )
    return [
        {"host": now.fabric.nodes[int(row)].name, **{name: int(hosts[name][row]) for name in fields}}
        for row in order
        if hosts["retransmitted_pkts"][row] or hosts["cnp_handled"][row]
    ]


def _watchdog(now: Snapshot) -> list[dict[str, Any]]:
    queues = now.queues.reshape(-1)
    return [
        {
            **place,
            "storms": int(queues["wd_detected"][row]),
            "restored": int(queues["wd_restored"][row]),
            "dropped_pkts": int(queues["wd_dropped_pkts"][row]),
            "stormed_now": bool(queues["wd_state"][row]),
        }
        for row, place in _top(now, queues["wd_detected"])
    ]

"""The measures of names.py, each from a trial: rows of label and number.

What is of the whole run is counted from its beginning to its end, and in the window between its two snapshots.
Times are ps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from fabric.configs.model import Scheduler
from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.state.codes import N_CLASSES, EventKind
from fabric.proof.recipe import through
from fabric.qualify import stream_measures
from fabric.qualify.bench import Flow
from fabric.qualify.names import ACK, CNP, IN_USE, LOSSLESS
from fabric.qualify.trial import Trial

Rows = dict[str, float]


def measured(trial: Trial, name: str, of: str, *, in_window: bool) -> Rows:
    """A measure's rows; empty where the scenario has nothing of this kind."""
    return READERS[name](trial, of, in_window)


def _mine(trial: Trial, of: str) -> list[tuple[int, Flow]]:
    return [(number, flow) for number, flow in trial.flow_of.items() if of in {"all", flow.kind}]


def _sum(table: str, fields: tuple[str, ...], *index: int) -> Callable[[Snapshot], int]:
    """Reads the sum of some fields of one row."""

    def read(now: Snapshot) -> int:
        return sum(int(getattr(now, table)[it][index]) for it in fields)

    return read


def _change(trial: Trial, in_window: bool, read: Callable[[Snapshot], float]) -> float:
    """A counter over the window, or over the whole run."""
    return read(trial.stop) - read(trial.start) if in_window else read(trial.end)


def _by_flow(field: str, table: str = "qps") -> Callable[[Trial, str, bool], Rows]:
    def read(trial: Trial, of: str, in_window: bool) -> Rows:
        return {
            str(flow): _change(trial, in_window, _sum(table, (field,), number)) for number, flow in _mine(trial, of)
        }

    return read


def _messages_failed(trial: Trial, of: str, in_window: bool) -> Rows:
    del in_window
    rows = trial.end.messages
    return {
        str(flow): int(rows["failed"][rows["qp"] == number].astype(np.int64).sum()) for number, flow in _mine(trial, of)
    }


def _events(kind: EventKind) -> Callable[[Trial, str, bool], Rows]:
    def read(trial: Trial, of: str, in_window: bool) -> Rows:
        found = trial.data_events(kind, in_window=in_window)
        return {str(flow): found[number] for number, flow in _mine(trial, of)}

    return read


def _by_priority(kind: EventKind) -> Callable[[Trial, str, bool], Rows]:
    def read(trial: Trial, of: str, in_window: bool) -> Rows:
        found = trial.data_events(kind, in_window=in_window)
        rows: Rows = {}
        for number, flow in _mine(trial, of):
            rows[f"Q{flow.priority}"] = rows.get(f"Q{flow.priority}", 0) + found[number]
        return rows

    return read


def _received(trial: Trial, of: str, in_window: bool) -> Rows:
    """Sent less lost; exact where nothing is on the way."""
    lost = trial.data_events(EventKind.DROP, in_window=in_window)
    sent = _by_flow("sent_pkts")(trial, of, in_window)
    rows: Rows = {}
    for number, flow in _mine(trial, of):
        label = f"{flow.dst} Q{flow.priority}"
        rows[label] = rows.get(label, 0) + sent[str(flow)] - lost[number]
    return rows


def _latency(trial: Trial, of: str, in_window: bool) -> Rows:
    del in_window
    rows: Rows = {}
    for kind, samples in trial.in_flight.items():
        if of not in {"all", kind} or not samples:
            continue
        mine = [number for number, _ in _mine(trial, kind)]
        gone = sum(int(trial.stop.rqps[it][n] - trial.start.rqps[it][n])
                   for n in mine for it in ("expected_psn", "out_of_sequence"))  # fmt: skip
        if gone:
            rows[kind] = float(np.mean(samples)) * trial.window_ps / gone
    return rows


def _host_counter(trial: Trial, port: str, in_window: bool, *fields: str) -> float:
    return _change(trial, in_window, _sum("hosts", fields, trial.host_ids[port]))


def _acks_received(trial: Trial, of: str, in_window: bool) -> Rows:
    """Frames that a tester's port received, less PAUSE, CNPs and data."""
    rows: Rows = {}
    for port in dict.fromkeys(flow.src for _, flow in _mine(trial, of)):
        own = trial.host_ports[port]
        frames = _change(trial, in_window, _sum("ports", ("rx_pkts",), own))
        frames -= _change(trial, in_window, _sum("ports", ("rx_pause_pkts",), own))
        for number, flow in trial.flow_of.items():
            if flow.dst == port:
                frames -= _change(trial, in_window, _sum("rqps", ("expected_psn", "out_of_sequence"), number))
        rows[port] = frames - _host_counter(trial, port, in_window, "duplicates", "cnp_handled", "cnp_ignored")
    return rows


def _cnps(trial: Trial, of: str, in_window: bool) -> Rows:
    ports = dict.fromkeys(flow.dst for _, flow in _mine(trial, of))
    return {port: _host_counter(trial, port, in_window, "cnp_sent") for port in ports}


def _cnps_received(trial: Trial, of: str, in_window: bool) -> Rows:
    ports = dict.fromkeys(flow.src for _, flow in _mine(trial, of))
    return {port: _host_counter(trial, port, in_window, "cnp_handled", "cnp_ignored") for port in ports}


def _priorities(trial: Trial, of: str) -> list[int]:
    plan = trial.bench.case.lossless
    if of == LOSSLESS:
        return list(plan)
    sent_in = [it.priority for it in trial.bench.flows] + [it.priority for it in trial.bench.streams]
    used = dict.fromkeys(it for it in sent_in if it in plan)
    return list(used) if of == IN_USE else [it for it in range(N_CLASSES) if it not in plan]


def _pfc_sent(trial: Trial, of: str, in_window: bool) -> Rows:
    ids = [trial.port_ids[port] for port in trial.bench.ports]
    return {
        f"PFC{p}": sum(_change(trial, in_window, _sum("prios", ("tx_xoff_pkts",), row, p)) for row in ids)
        for p in _priorities(trial, of)
    }


def _pause_share(trial: Trial, of: str, in_window: bool) -> Rows:
    lasts = trial.window_ps if in_window else trial.end.time_ps
    return {
        f"{port} PFC{p}": _change(trial, in_window, _sum("prios", ("tx_paused_ps",), trial.port_ids[port], p)) / lasts
        for port in trial.bench.ports
        for p in _priorities(trial, of)
    }


def _queue_packets(trial: Trial, of: str, in_window: bool) -> Rows:
    """By port for answers, whose queue the plan names; by port and queue for data."""
    case = trial.bench.case

    def count(port: str, queue: int) -> float:
        return _change(trial, in_window, _sum("queues", ("sent_pkts",), trial.port_ids[port], queue))

    if of in {ACK, CNP}:
        queue = case.ack.queue if of == ACK else case.cnp.queue
        return {port: count(port, queue) for port in trial.bench.ports}
    used = dict.fromkeys((it.dst, it.priority) for it in trial.bench.flows)
    return {f"{port} Q{queue}": count(port, queue) for port, queue in used}


def schedulers(trial: Trial) -> dict[int, Scheduler | None]:
    """Queue of each class in use, where data leaves, and its scheduler."""
    device = trial.bench.device
    port = device.ports[trial.bench.ports[-1]]
    found: dict[int, Scheduler | None] = {}
    for priority in dict.fromkeys(it.priority for it in trial.bench.flows):
        queue = through(device, port, "tc_to_queue", priority)
        bound = port.queues.get(queue)
        found[queue] = device.schedulers.get(bound.scheduler or "") if bound else None
    return found


def _share_error(trial: Trial, of: str, in_window: bool) -> Rows:
    """Of queues with DWRR at the port that data leaves by; a queue without a scheduler has no share."""
    del of
    out = trial.bench.ports[-1]
    sent = trial.queue_bytes(trial.start, trial.stop, out)
    if not in_window:
        sent = trial.end.queues["sent_bytes"][trial.port_ids[out]]
    found = schedulers(trial)
    weights = {queue: it.weight for queue, it in found.items() if it is not None and it.kind == "DWRR"}
    total, weight = sum(int(sent[queue]) for queue in weights), sum(weights.values())
    if not total or len(weights) < 2:
        return {}
    rows = {
        f"{out} Q{queue}": abs(int(sent[queue]) / total / (own / weight) - 1) for queue, own in sorted(weights.items())
    }
    return rows | {f"{out} Q{queue} has no scheduler": float("nan") for queue, it in found.items() if it is None}


def _headroom_peak(trial: Trial, of: str, in_window: bool) -> Rows:
    del in_window
    return {
        f"{port} group {p}": int(trial.groups(port)[p]["headroom_peak_bytes"])
        for port in trial.bench.ports
        for p in _priorities(trial, of)
    }


def _first_mark(trial: Trial, of: str, in_window: bool) -> Rows:
    del in_window
    rows: Rows = {f"Q{p}": float("nan") for p in _priorities(trial, of)}
    for event in trial.events[trial.events["kind"] == int(EventKind.MARK)][::-1]:
        flow = trial.flow_of.get(int(event["qp"]))
        if flow is not None and int(event["port"]) == trial.port_ids[flow.dst]:
            rows[f"Q{flow.priority}"] = int(event["time_ps"])
    return rows


def _first_pfc(trial: Trial, of: str, in_window: bool) -> Rows:
    del in_window
    rows: Rows = {f"Q{p}": float(trial.end.time_ps) for p in _priorities(trial, of)}
    testers = set(trial.host_ports.values())
    for event in trial.events[trial.events["kind"] == int(EventKind.PAUSED)][::-1]:
        if int(event["port"]) in testers and f"Q{int(event['prio'])}" in rows:
            rows[f"Q{int(event['prio'])}"] = int(event["time_ps"])
    return rows


READERS: Final[Mapping[str, Callable[[Trial, str, bool], Rows]]] = {
    "messages_failed": _messages_failed,
    "frame_delta": _events(EventKind.DROP),
    "naks": _by_flow("naks"),
    "sequence_errors": _by_flow("out_of_sequence", "rqps"),
    "latency": _latency,
    "acked": _by_flow("acked_psn"),
    "acks_received": _acks_received,
    "ecn_ce": _events(EventKind.MARK),
    "marked_by_priority": _by_priority(EventKind.MARK),
    "cnps": _cnps,
    "cnps_received": _cnps_received,
    "pfc_sent": _pfc_sent,
    "pause_share": _pause_share,
    "queue_packets": _queue_packets,
    "frames_received": _received,
    "share_error": _share_error,
    "headroom_peak": _headroom_peak,
    "first_mark": _first_mark,
    "first_pfc": _first_pfc,
    **stream_measures.READERS,
}

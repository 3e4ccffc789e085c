"""Why a check is red: what the switch did, at which port, and which setting decides it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from fabric.dataplane.state.codes import DropReason, EventKind
from fabric.explain.drops import WHY
from fabric.proof.recipe import tc_of, through
from fabric.proof.recipes.chain import sentence
from fabric.qualify import stream_causes
from fabric.qualify.schema import CheckSpec
from fabric.qualify.trial import Trial
from fabric.theory.headroom import FIBRE_PS_PER_M
from fabric.units import count, format_size_bytes, format_time_ps

_SHOWN: Final = 2
_LOSSLESS_REASONS: Final = (DropReason.HEADROOM, DropReason.SHARED_HEADROOM_POOL, DropReason.NO_HEADROOM)


def cause_of(check: CheckSpec, trial: Trial) -> str:
    """One or two sentences; '' where nothing more is known than the counters."""
    for demand in check.demands:
        found = _CAUSES.get(demand.left.name)
        if demand.left.name == "frame_delta" and demand.compare == ">":
            found = _nothing_lost
        text = found(trial, demand.left.of) if found is not None else ""
        if text:
            return text
    return ""


def _losses(trial: Trial, of: str) -> str:
    parts = []
    for loss in trial.losses(of)[:_SHOWN]:
        reason, name = DropReason[loss.reason.upper()], loss.port.partition(":")[2]
        port = trial.bench.device.ports.get(name)
        deaf = port is not None and reason in _LOSSLESS_REASONS and loss.tc not in port.lossless
        parts.append(f"{sentence(loss)}: {f'{name} has no PFC for priority {loss.tc}' if deaf else WHY[reason]}")
    return "; ".join(parts)


def _nothing_lost(trial: Trial, of: str) -> str:
    """Where the maps lead what loses nothing although it should."""
    lost, device, parts = trial.data_events(EventKind.DROP, in_window=True), trial.bench.device, []
    for number, flow in trial.flow_of.items():
        if flow.kind != of or lost[number]:
            continue
        port, dscp = device.ports[flow.src], trial.bench.dscps[flow.priority]
        tc = tc_of(device, port, dscp)
        group = through(device, port, "tc_to_pg", tc)
        row = trial.groups(flow.src)[group]
        kind = "lossless" if row["lossless"] else "lossy"
        parts.append(f"{flow}: DSCP {dscp} is class {tc} in {kind} group {group} of {flow.src}")
    return "; ".join(parts[:_SHOWN])


def _marks(trial: Trial, _: str) -> str:
    marked = trial.end.queues["marked_pkts"]
    parts = []
    for name, row in trial.port_ids.items():
        for queue in np.flatnonzero(marked[row]):
            it = trial.end.queues[row, queue]
            curve = f"Kmin {format_size_bytes(int(it['kmin_bytes']))}, Kmax {format_size_bytes(int(it['kmax_bytes']))}"
            peak = format_size_bytes(int(it["peak_bytes"]))
            parts.append(
                f"{name} queue {queue} marked {count(int(marked[row, queue]), 'frame')} ({curve}; held {peak})"
            )
    return "; ".join(parts[:_SHOWN])


def _no_marks(trial: Trial) -> str:
    """The curve of the queues that data leaves by and that marked nothing."""
    device, out, parts = trial.bench.device, trial.bench.ports[-1], []
    for priority in dict.fromkeys(it.priority for it in trial.bench.flows):
        queue = through(device, device.ports[out], "tc_to_queue", priority)
        row = trial.end.queues[trial.port_ids[out], queue]
        if row["marked_pkts"]:
            continue
        held = format_size_bytes(int(row["peak_bytes"]))
        kmin = format_size_bytes(int(row["kmin_bytes"]))
        curve = f"marks from {kmin}" if row["kmax_bytes"] > 0 else "has no curve"
        parts.append(f"{out} queue {queue} held at most {held} and {curve}")
    return "; ".join(parts[:_SHOWN])


def _pauses(trial: Trial, _: str) -> str:
    """Where XOFF was sent, and where the group's limit was."""
    parts = []
    for name in trial.bench.ports:
        row = trial.port_ids[name]
        for priority in np.flatnonzero(trial.end.prios["tx_xoff_pkts"][row]):
            group = trial.groups(name)[priority]
            sent = int(trial.end.prios["tx_xoff_pkts"][row, priority])
            limit = format_size_bytes(int(group["peak_limit_bytes"]))
            held = format_size_bytes(int(group["peak_bytes"]))
            parts.append(f"{name} sent {count(sent, 'PAUSE')} on {priority}: its group held {held}, limit {limit}")
    return "; ".join(parts[:_SHOWN])


def _no_pauses(trial: Trial, of: str) -> str:
    """Of the groups of lossless classes: how far they were from their limit, or that they send none."""
    if trial.end.prios["tx_xoff_pkts"][list(trial.port_ids.values())].any() and trial.losses(of):
        return _pauses(trial, of)
    worst = max(trial.bench.ports, key=lambda it: int(trial.groups(it)["peak_bytes"].max()))
    rows = trial.groups(worst)
    parts = []
    for number in trial.bench.case.lossless:
        row = rows[number]
        held, limit = format_size_bytes(int(row["peak_bytes"])), format_size_bytes(int(row["peak_limit_bytes"]))
        kind = "lossless" if row["lossless"] else "lossy"
        parts.append(f"group {number} held at most {held}, {kind}, limit {limit}")
    return f"{worst}: {'; '.join(parts)}"


def _answers(trial: Trial, _: str, *, cnp: bool = False) -> str:
    """Where the maps of the ports lead ACKs or CNPs."""
    case, device = trial.bench.case, trial.bench.device
    spec = case.cnp if cnp else case.ack
    wrong = []
    for name in trial.bench.ports:
        port = device.ports[name]
        queue = through(device, port, "tc_to_queue", tc_of(device, port, spec.dscp))
        if queue != spec.queue:
            wrong.append(f"{name}: queue {queue}")
    what = "CNPs" if cnp else "ACKs"
    if not wrong:
        return f"{what} (DSCP {spec.dscp}) are in queue {spec.queue} at every port; other frames are in it, too"
    more = f" and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
    where = f"the configuration at {', '.join(wrong[:_SHOWN])}{more}"
    return f"the plan has {what} (DSCP {spec.dscp}) in queue {spec.queue}, {where}"


def _data(trial: Trial, _: str) -> str:
    device = trial.bench.device
    parts = []
    for flow in trial.bench.flows:
        queue = through(device, device.ports[flow.dst], "tc_to_queue", flow.priority)
        if queue != flow.priority:
            parts.append(f"tc_to_queue leads class {flow.priority} to queue {queue}")
    return "; ".join(dict.fromkeys(parts))


def _no_acks(trial: Trial, of: str) -> str:
    lost = _losses(trial, of)
    waits = [
        f"{name} queue {queue} holds {count(int(trial.stop.queues['depth_pkts'][row, queue]), 'frame')}"
        for name, row in trial.port_ids.items()
        if name in trial.bench.ports
        for queue in (trial.bench.case.ack.queue,)
        if trial.stop.queues["depth_pkts"][row, queue]
    ]
    return "; ".join([*waits[:_SHOWN], *([lost] if lost else [])])


def _shares(trial: Trial, _: str) -> str:
    out = trial.bench.ports[-1]
    sent = trial.queue_bytes(trial.start, trial.stop, out)
    total = int(sent.sum()) or 1
    parts = [f"queue {queue} {int(sent[queue]) / total:.1%}" for queue in np.flatnonzero(sent)]
    return f"{out} sent: {', '.join(parts)}"


def _waiting(trial: Trial, _: str) -> str:
    cables = max(
        (it.cable_m or 0 for it in trial.bench.device.ports.values() if it.name in trial.bench.ports), default=0
    )
    deepest = max(
        ((int(trial.end.queues["peak_bytes"][row].max()), name) for name, row in trial.port_ids.items()),
        default=(0, ""),
    )
    wait = deepest[0] * 8_000_000 / trial.bench.mbps
    return (
        f"the deepest queue, at {deepest[1]}, held {format_size_bytes(deepest[0])}, "
        f"{format_time_ps(wait)} at its rate; "
        f"the longest cable has {cables} m ({format_time_ps(cables * FIBRE_PS_PER_M)} one way)"
    )


_CAUSES: Final[Mapping[str, Callable[[Trial, str], str]]] = {
    "frame_delta": _losses,
    "messages_failed": _losses,
    "naks": _losses,
    "sequence_errors": _losses,
    "latency": _waiting,
    "acked": _no_acks,
    "ecn_ce": _marks,
    "marked_by_priority": lambda trial, _: _no_marks(trial),
    "cnps": lambda trial, of: _marks(trial, of) or _no_marks(trial),
    "pfc_sent": lambda trial, of: _pauses(trial, of) or _no_pauses(trial, of),
    "pause_share": _pauses,
    "acks_received": _answers,
    "cnps_received": lambda trial, of: _answers(trial, of, cnp=True),
    "frames_received": _data,
    "share_error": _shares,
    "headroom_peak": _no_pauses,
    "first_mark": lambda trial, of: _marks(trial, of) or _no_marks(trial),
    **stream_causes.CAUSES,
}

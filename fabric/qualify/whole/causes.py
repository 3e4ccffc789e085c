"""Why a check of a whole fabric is red: which setting of which port decides it, and what was counted there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from fabric.configs.model import Port
from fabric.dataplane.state.codes import DropReason
from fabric.explain.drops import WHY
from fabric.proof.recipe import tc_of, through
from fabric.qualify.schema import CheckSpec
from fabric.qualify.whole import measures, traffic
from fabric.qualify.whole.subject import BESIDE_DSCP
from fabric.qualify.whole.trial import FabricTrial
from fabric.units import count, format_rate_bps, format_size_bytes, format_time_ps

_SHOWN: Final = 2


def cause_of(check: CheckSpec, trial: FabricTrial) -> str:
    """One or two sentences; '' where nothing more is known than the counters."""
    for demand in check.demands:
        found = _CAUSES.get(demand.left.name)
        text = found(trial) if found is not None else ""
        if text:
            return text
    return ""


def _port(trial: FabricTrial, port: int) -> Port | None:
    """Of the configurations; None of a scenario."""
    device = trial.subject.devices.get(trial.fabric.node_of(port).name)
    return None if device is None else device.ports.get(trial.fabric.ports[port].name)


def _pfc(trial: FabricTrial) -> str:
    """Ends of cables without PFC for the class; then where frames were discarded."""
    roce, parts = trial.subject.roce, []
    for port in dict.fromkeys(it for hop in trial.hops for it in hop):
        if trial.fabric.node_of(port).is_host:
            continue
        row, found = trial.end.ports[port], _port(trial, port)
        name = trial.port_name(port)
        if found is not None and roce not in found.lossless:
            has = ", ".join(map(str, sorted(found.lossless))) or "none"
            parts.append(f"{name} has no PFC for priority {roce} (it has: {has})")
        elif not int(row["pfc_classes"]) >> roce & 1:
            parts.append(f"{name} has no PFC for priority {roce}")
    return "; ".join([*parts[:_SHOWN], *([text] if (text := _losses(trial)) else [])])


def _losses(trial: FabricTrial) -> str:
    found = trial.end.drops["pkts"][:, trial.subject.roce]
    parts = []
    for port, reason in sorted(zip(*np.nonzero(found), strict=True), key=lambda it: -found[it]):
        why = DropReason(int(reason))
        many = count(int(found[port, reason]), "frame")
        parts.append(f"{trial.port_name(int(port))} discarded {many}: {WHY[why]}")
    return "; ".join(parts[:_SHOWN])


def _curves(trial: FabricTrial) -> str:
    """Of the ports that marked nothing."""
    parts = []
    ports = [port for _, port, _, _ in measures.slots(trial)] or [port for port, _ in trial.cables]
    for port in ports:
        row, name = measures.roce_queue(trial, trial.end, port), trial.port_name(port)
        if row["marked_pkts"]:
            continue
        held = format_size_bytes(int(row["peak_bytes"]))
        if row["kmax_bytes"] <= 0:
            parts.append(f"{name} queue {measures.queue_of(trial, port, trial.subject.roce)} has no WRED profile that "
                         f"marks; it held {held}")  # fmt: skip
        elif row["peak_bytes"] <= row["kmin_bytes"]:
            kmin = format_size_bytes(int(row["kmin_bytes"]))
            parts.append(f"{name} marks from {kmin}, and PFC or the senders kept its queue at {held}")
    return "; ".join(parts[:_SHOWN])


def _beside(trial: FabricTrial) -> str:
    """Ports whose map leads DSCP 0 into RoCE's class, or into a lossless group."""
    parts, roce = [], trial.subject.roce
    for host in trial.hosts:
        port = trial.subject.port_of(host)
        device, found = trial.subject.devices.get(trial.fabric.node_of(port).name), _port(trial, port)
        if device is None or found is None:
            continue
        class_ = tc_of(device, found, BESIDE_DSCP)
        group = through(device, found, "tc_to_pg", class_)
        queue = through(device, found, "tc_to_queue", class_)
        if class_ == roce or queue == through(device, found, "tc_to_queue", roce):
            parts.append(
                f"DSCP {BESIDE_DSCP} is class {class_} in queue {queue} at {trial.port_name(port)}, RoCE's own"
            )
        elif trial.end.pgs[port, group]["lossless"]:
            parts.append(f"DSCP {BESIDE_DSCP} is class {class_} in lossless group {group} at {trial.port_name(port)}")
    return "; ".join([*parts[:_SHOWN], *([text] if (text := _losses(trial)) and not parts else [])])


def _weights(trial: FabricTrial) -> str:
    """What the queues of the receivers' ports sent."""
    beside = _beside(trial)
    if beside:
        return beside
    parts = []
    for _, port, before, after in measures.slots(trial):
        sent = after.queues["sent_bytes"][port] - before.queues["sent_bytes"][port]
        total = int(sent.sum()) or 1
        shares = ", ".join(f"queue {it} {int(sent[it]) / total:.0%}" for it in np.flatnonzero(sent))
        parts.append(f"{trial.port_name(port)} sent {shares}, and its weights give RoCE "
                     f"{measures.entitled_share(trial, port):.0%}")  # fmt: skip
    return "; ".join(parts[:_SHOWN])


def _watchdogs(trial: FabricTrial) -> str:
    parts, roce = [], trial.subject.roce
    for host in traffic.paused_hosts(trial.subject, trial.run):
        port = trial.subject.port_of(host)
        row, name = measures.roce_queue(trial, trial.end, port), trial.port_name(port)
        if not row["wd_watched"]:
            found = _port(trial, port)
            lacks = "has no watchdog" if found is None or found.watchdog is None else (
                f"has a watchdog that does not look at priority {roce}")  # fmt: skip
            parts.append(f"{name} {lacks}, so nothing ends a storm there")
        elif not row["wd_detected"]:
            detection = format_time_ps(int(trial.end.ports["wd_detection_ps"][port]))
            parts.append(f"{name} waits {detection}, and has declared no storm")
        elif not row["wd_restored"]:
            parts.append(
                f"{name} has declared the storm and never restores the queue, or later than the end of the run"
            )
    return "; ".join(parts[:_SHOWN])


def _uplinks(trial: FabricTrial) -> str:
    down = [f"{it} is down" for it in trial.subject.down]
    parts = []
    for name, ports in measures.uplinks(trial).items():
        sent = trial.end.ports["tx_bytes"][ports].astype(float)
        shares = ", ".join(
            f"{trial.fabric.ports[port].name} {share:.0%}" for port, share in zip(ports, sent / sent.sum(), strict=True)
        )
        parts.append((float(sent.max() / sent.mean()), f"{name} sent {shares}"))
    return "; ".join([*down[:_SHOWN], *(text for _, text in sorted(parts, reverse=True)[:_SHOWN])])


def _slow(trial: FabricTrial) -> str:
    """The ports that held the most, and shapers."""
    loss = _losses(trial)
    if loss:
        return loss
    peaks = trial.end.queues["peak_bytes"].max(axis=1)
    switch = np.array([not trial.fabric.node_of(it.id).is_host for it in trial.fabric.ports])
    port = int(np.argmax(np.where(switch, peaks, -1)))
    link = trial.fabric.links[trial.fabric.ports[port].link]
    text = f"{trial.port_name(port)} ({format_rate_bps(link.rate_bps)}) held {format_size_bytes(int(peaks[port]))}"
    return f"{text}{', and has a shaper' if int(trial.end.ports['shaped'][port]) else ''}"


_CAUSES: Final[Mapping[str, Callable[[FabricTrial], str]]] = {
    "hop_paused": _pfc,
    "class_lost": _pfc,
    "receiver_marked": _curves,
    "full_queue_marked": _curves,
    "share_missing": _weights,
    "beside_pauses": _beside,
    "storms_declared": _watchdogs,
    "storms_ended": _watchdogs,
    "declared_inside": _watchdogs,
    "arrivals_missing": _watchdogs,
    "cable_frames": _uplinks,
    "spread": _uplinks,
    "time_excess": _slow,
}

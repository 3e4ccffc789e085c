"""Why a check of streams, PAUSE frames or the watchdog is red: which setting of which port decides it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from fabric.configs.watchdogs import actual_poll_ms, hardware_of, poll_ms, watched_queues
from fabric.dataplane.state.codes import N_CLASSES, DropReason, EventKind
from fabric.proof.recipe import through
from fabric.qualify import tester
from fabric.qualify.trial import Trial
from fabric.units import count, format_size_bytes, format_time_ps, listed

_SHOWN: Final = 2


def unheeded(trial: Trial, _: str) -> str:
    """Ports that are not set to obey a PAUSE, or whose maps lead the class to another queue."""
    device, parts = trial.bench.device, []
    for name in trial.bench.storm_ports:
        port = device.ports[name]
        for priority in sorted(trial.bench.scenario.stormed):
            queue = through(device, port, "tc_to_queue", priority)
            if priority not in port.lossless:
                has = listed([str(it) for it in sorted(port.lossless)], _SHOWN) or "none"
                parts.append(f"{name} has no PFC for priority {priority} (it has: {has}), so a PAUSE stops nothing")
            elif queue != priority:
                parts.append(f"tc_to_queue of {name} leads class {priority} to queue {queue}")
    return "; ".join(parts[:_SHOWN])


def miscounted(trial: Trial, of: str) -> str:
    """Of counters of PAUSE frames: what the switch has of each priority, and what the tester has sent."""
    text = unheeded(trial, of)
    if text:
        return text
    parts = []
    for name in trial.bench.storm_ports:
        for priority in range(N_CLASSES):
            here, there = (
                sum(int(trial.end.prios[f"{way}_{field}_pkts"][row, priority]) for field in ("xoff", "xon"))
                for way, row in (("rx", trial.port_ids[name]), ("tx", trial.host_ports[name]))
            )
            if here or there or priority in trial.bench.scenario.stormed:
                parts.append(f"{name} has counted {count(here, 'PAUSE frame')} of priority {priority}, and its tester "
                             f"has sent {there}")  # fmt: skip
    return "; ".join(parts[: 2 * _SHOWN])


def lost(trial: Trial, of: str) -> str:
    """Where datagrams were discarded and why; where none were, what the queues held."""
    return _discarded(trial, in_window=False) or unheeded(trial, of) or _held(trial)


def _held(trial: Trial) -> str:
    device, parts = trial.bench.device, []
    for name, priority in dict.fromkeys((it.dst, it.priority) for it in trial.bench.streams):
        queue = through(device, device.ports[name], "tc_to_queue", priority)
        row = trial.end.queues[trial.port_ids[name], queue]
        parts.append(f"nothing is discarded: queue {queue} of {name} held at most "
                     f"{format_size_bytes(int(row['peak_bytes']))}")  # fmt: skip
    return "; ".join(parts[:_SHOWN])


def slow(trial: Trial, of: str) -> str:
    """Where datagrams of the window were discarded; else which queue is kept from sending."""
    return _discarded(trial, in_window=True) or _waits(trial) or unheeded(trial, of)


def _discarded(trial: Trial, *, in_window: bool) -> str:
    found = trial.end.datagram_drops["pkts"].astype(np.int64)
    if in_window:
        found = trial.stop.datagram_drops["pkts"].astype(np.int64) - trial.start.datagram_drops["pkts"]
    parts = []
    for name, row in trial.port_ids.items():
        for priority, reason in zip(*np.nonzero(found[row]), strict=True):
            many = count(int(found[row, priority, reason]), "frame")
            why = DropReason(int(reason)).name.lower().replace("_", " ")
            port = trial.bench.device.ports.get(name)
            if port is not None and priority in trial.bench.case.lossless and priority not in port.lossless:
                why += f", and {name} has no PFC for the priority"
            parts.append(f"{name} discarded {many} of priority {priority}: {why}")
    return "; ".join(parts[:_SHOWN])


def _waits(trial: Trial, *, paused: bool = False) -> str:
    """Queues that hold frames of streams although they are not paused; with `paused` also those that are."""
    device, parts = trial.bench.device, []
    for name, priority in dict.fromkeys((it.dst, it.priority) for it in trial.bench.streams):
        if not paused and trial.stop.paused[trial.port_ids[name], priority]:
            continue
        queue = through(device, device.ports[name], "tc_to_queue", priority)
        held = int(trial.stop.queues["depth_bytes"][trial.port_ids[name], queue])
        if queue != priority:
            parts.append(f"tc_to_queue of {name} leads class {priority} to queue {queue}")
        elif held:
            parts.append(f"{name} queue {queue} holds {format_size_bytes(held)}, so it is kept from sending")
    return "; ".join(parts[:_SHOWN])


def late(trial: Trial, of: str) -> str:
    """What the switch makes of the watchdog's times."""
    device = trial.bench.device
    hardware, parts = hardware_of(device), []
    for name in trial.bench.storm_ports:
        dog = device.ports[name].watchdog
        if dog is None or dog.detection_ms is None:
            parts.append(f"{name} has no watchdog")
        elif not trial.bench.scenario.stormed <= device.ports[name].watched:
            parts.append(f"the watchdog of {name} does not look at these priorities (pfcwd_sw_enable)")
        elif hardware is not None:
            made = hardware.detection.programmed(dog.detection_ms)
            timer = "is out of the range of the chip's timer" if made is None else f"is {made.value_ms} ms in the chip"
            parts.append(f"{name}: detection {dog.detection_ms} ms {timer}")
    actual, configured = actual_poll_ms(device), poll_ms(device)
    if hardware is None and actual > configured:
        parts.append(
            f"a poll over {count(watched_queues(device), 'queue')} takes so long that it comes every {actual} ms, "
            f"and counts for {configured} ms"
        )
    seen = trial.events[trial.events["kind"] == int(EventKind.STORM_DETECTED)]
    if len(seen):
        parts.append(f"declared at {format_time_ps(int(seen['time_ps'][0]))}")
    return "; ".join(parts[:3]) or unheeded(trial, of)


def marks(trial: Trial, _: str) -> str:
    """The curve of the queue, what it held, and what it marked."""
    device, parts = trial.bench.device, []
    for name, priority in dict.fromkeys((it.dst, it.priority) for it in trial.bench.streams):
        queue = through(device, device.ports[name], "tc_to_queue", priority)
        row = trial.end.queues[trial.port_ids[name], queue]
        if tester.curve_of(trial.bench, name, priority) is None:
            parts.append(f"queue {queue} of {name} has no WRED profile that marks")
            continue
        curve = f"Kmin {format_size_bytes(int(row['kmin_bytes']))}, Kmax {format_size_bytes(int(row['kmax_bytes']))}"
        if row["peak_bytes"] <= row["kmin_bytes"]:
            curve += ", which it never reached"
        parts.append(f"{name} queue {queue} marked {count(int(row['marked_pkts']), 'frame')} ({curve}; held at most "
                     f"{format_size_bytes(int(row['peak_bytes']))})")  # fmt: skip
    return "; ".join(parts[:_SHOWN])


def unsent(trial: Trial, of: str) -> str:
    """Of a queue that sends when it should not, or not when it should."""
    return unheeded(trial, of) or slow(trial, of) or _waits(trial, paused=True)


CAUSES: Final[Mapping[str, Callable[[Trial, str], str]]] = {
    "stream_frames": unsent,
    "stream_rate_error": slow,
    "stream_lost": lost,
    "paused_rate_error": unsent,
    "stream_marked": marks,
    "mark_error": marks,
    "mark_response": marks,
    "mark_exit_time": marks,
    "pfc_received": miscounted,
    "pause_time_error": unheeded,
    "pause_length_error": unheeded,
    "resume_latency": miscounted,
    "storms_detected": late,
    "storms_restored": late,
    "detection_time": late,
    "restoration_time": late,
}

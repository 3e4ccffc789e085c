"""Measures of datagrams, of the tester's PAUSE frames, and of the watchdog: each from a trial, as rows.

Streams are counted by the queue that the plan names, at the port that they leave by. Times are ps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import numpy as np

from fabric.configs.watchdogs import actual_poll_ms, hardware_of, poll_ms
from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.state.codes import N_CLASSES, EventKind
from fabric.qualify import tester
from fabric.qualify.bench import Stream
from fabric.qualify.names import BESIDE, STORMED
from fabric.qualify.schema import StormSpec
from fabric.qualify.trial import Trial
from fabric.theory.headroom import WIRE_OVERHEAD_BYTES
from fabric.theory.marking import Curve, marking_probability
from fabric.units import PS_PER_MS

_MARKS: Final = 100
"""Of a queue, from which its growth is measured."""
_UNMARKED: Final = 1e-4
"""Chance with which the first mark comes later than its limit."""
Rows = dict[str, float]
Reader = Callable[[Trial, str, bool], Rows]


def _concerns(trial: Trial, of: str, priority: int) -> bool:
    """Whether a measure of these streams is about a priority."""
    stormed = priority in trial.bench.scenario.stormed
    return of not in {STORMED, BESIDE} or stormed == (of == STORMED)


def _queues(trial: Trial, of: str) -> dict[tuple[str, int], list[Stream]]:
    """(port, queue) to the streams that leave by it."""
    found: dict[tuple[str, int], list[Stream]] = {}
    for stream in trial.bench.streams:
        if _concerns(trial, of, stream.priority):
            found.setdefault((stream.dst, stream.priority), []).append(stream)
    return found


def _counter(trial: Trial, field: str, port: str, queue: int, *, in_window: bool) -> int:
    def read(now: Snapshot) -> int:
        return int(now.queues[field][trial.port_ids[port], queue])

    return read(trial.stop) - read(trial.start) if in_window else read(trial.end)


def _of_queue(field: str) -> Reader:
    def read(trial: Trial, of: str, in_window: bool) -> Rows:
        return {
            f"{port} Q{queue}": _counter(trial, field, port, queue, in_window=in_window)
            for port, queue in _queues(trial, of)
        }

    return read


def _sent_bytes(trial: Trial, streams: list[Stream]) -> float:
    """Of frames that the tester sends in the window."""
    return sum(
        it.spec.share
        * _sending_ps(trial, it)
        * trial.bench.mbps
        / 8_000_000
        * it.spec.frame
        / (it.spec.frame + WIRE_OVERHEAD_BYTES)
        for it in streams
        if it.spec.fill is None
    )


def _sending_ps(trial: Trial, stream: Stream) -> int:
    """Part of the window in which a stream is sent."""
    if stream.spec.stops is None:
        return trial.window_ps
    return min(trial.window_ps, max(0, trial.bench.scaled_ps(stream.spec.stops) - trial.start.time_ps))


def _rate_error(trial: Trial, of: str, in_window: bool) -> Rows:
    del in_window
    return {
        f"{port} Q{queue}": abs(
            _counter(trial, "sent_bytes", port, queue, in_window=True) / _sent_bytes(trial, streams) - 1
        )
        for (port, queue), streams in _queues(trial, of).items()
    }


def _lost(trial: Trial, of: str, in_window: bool) -> Rows:
    def read(now: Snapshot, priority: int) -> int:
        rows = list(trial.port_ids.values())
        return int(now.datagram_drops["pkts"][rows, priority].astype(np.int64).sum())

    used = dict.fromkeys(it.priority for it in trial.bench.streams if _concerns(trial, of, it.priority))
    return {f"Q{p}": read(trial.stop, p) - read(trial.start, p) if in_window else read(trial.end, p) for p in used}


def _paused_rate_error(trial: Trial, of: str, in_window: bool) -> Rows:
    """Between pauses a port sends what waits as fast as it can."""
    del in_window
    rows: Rows = {}
    (storm, *_) = trial.bench.scenario.storms
    for (port, queue), streams in _queues(trial, of).items():
        frame = streams[0].spec.frame
        line = trial.window_ps * trial.bench.mbps / 8_000_000 * frame / (frame + WIRE_OVERHEAD_BYTES)
        left = (1 - tester.paused_share(trial.bench, storm)) * line
        sent = _counter(trial, "sent_bytes", port, queue, in_window=True)
        rows[f"{port} Q{queue}"] = abs(sent - min(left, _sent_bytes(trial, streams))) / line
    return rows


def _mark_error(trial: Trial, of: str, in_window: bool) -> Rows:
    """The configured curve at each sampled depth, on average; no number where no curve is bound or none was reached."""
    rows: Rows = {}
    for port, queue in _queues(trial, of):
        number, curve = trial.port_ids[port], tester.curve_of(trial.bench, port, queue)
        rows[f"{port} Q{queue}"] = float("nan")
        if curve is None:
            continue
        most = 1.0 if curve.pmax_percent is None else curve.pmax_percent / 100
        exact = Curve(curve.min_bytes, max(curve.max_bytes, curve.min_bytes + 1), most)
        expected = float(marking_probability(exact, trial.depths[:, number, queue]).mean())
        marked = _counter(trial, "marked_pkts", port, queue, in_window=in_window)
        frames = _counter(trial, "enqueued_pkts", port, queue, in_window=in_window) or 1
        if expected:
            rows[f"{port} Q{queue}"] = abs(marked / frames / expected - 1)
    return rows


def _first_marks(trial: Trial, port: str, queue: int) -> tuple[float, float, float] | None:
    """(time of the first mark, bytes of the queue then, bytes that it grows in a ps); None without two marks."""
    rows = trial.events[trial.events["kind"] == int(EventKind.MARK)]
    rows = rows[(rows["port"] == trial.port_ids[port]) & (rows["prio"] == queue)][:_MARKS]
    if len(rows) < 2 or rows["time_ps"][-1] <= rows["time_ps"][0]:
        return None
    time, depth = rows["time_ps"].astype(float), rows["a"].astype(float)
    return time[0], depth[0], float((depth[-1] - depth[0]) / (time[-1] - time[0]))


def _drain_ps(trial: Trial, depth_bytes: float, frame: int) -> float:
    """In which a queue of frames of one size leaves its port."""
    return depth_bytes * (frame + WIRE_OVERHEAD_BYTES) / frame * 8_000_000 / trial.bench.mbps


def _mark_response(trial: Trial, of: str, in_window: bool) -> Rows:
    del in_window
    rows: Rows = {}
    for (port, queue), streams in _queues(trial, of).items():
        found, kmin = _first_marks(trial, port, queue), _curve_bytes(trial, port, queue)[0]
        rows[f"{port} Q{queue}"] = float("nan")
        if found is not None and found[2] > 0:
            _, depth, growth = found
            grown = max(0.0, depth - kmin) / growth
            rows[f"{port} Q{queue}"] = grown + _drain_ps(trial, depth, streams[0].spec.frame)
    return rows


def _curve_bytes(trial: Trial, port: str, queue: int) -> tuple[int, int, float]:
    row = trial.end.queues[trial.port_ids[port], queue]
    return int(row["kmin_bytes"]), int(row["kmax_bytes"]), float(row["pmax_ratio"])


def _mark_response_limit(trial: Trial, of: str, in_window: bool) -> Rows:
    """The queue grows by what the streams send above the port's rate; each frame that joins it is drawn once."""
    del in_window
    rows: Rows = {}
    for (port, queue), streams in _queues(trial, of).items():
        low, high, most = _curve_bytes(trial, port, queue)
        frame, offered = streams[0].spec.frame, sum(it.spec.share for it in streams)
        rows[f"{port} Q{queue}"] = float("nan")
        if high <= 0 or offered <= 1:
            continue
        step = frame * (1 - 1 / offered)  # by which the queue grows with each frame that joins it
        depths = np.arange(low, max(high, low + 1) + 2 * frame, step)
        unmarked = np.cumprod(1 - marking_probability(Curve(low, max(high, low + 1), most), depths.astype(np.int64)))
        last = int(np.argmax(unmarked < _UNMARKED))
        joins_ps = (frame + WIRE_OVERHEAD_BYTES) * 8_000_000 / trial.bench.mbps / offered
        rows[f"{port} Q{queue}"] = (last + 1) * joins_ps + _drain_ps(trial, float(depths[last]) + frame, frame)
    return rows


def _mark_enter_time(trial: Trial, of: str, in_window: bool) -> Rows:
    del in_window
    begins = trial.bench.scaled_ps(tester.STREAMS_START_PS)
    rows: Rows = {}
    for (port, queue), streams in _queues(trial, of).items():
        found = _first_marks(trial, port, queue)
        rows[f"{port} Q{queue}"] = float("nan")
        if found is not None:
            rows[f"{port} Q{queue}"] = found[0] - begins + _drain_ps(trial, found[1], streams[0].spec.frame)
    return rows


def _mark_exit_time(trial: Trial, of: str, in_window: bool) -> Rows:
    """An event of a mark has the bytes of the queue, behind which the frame leaves."""
    del in_window
    rows: Rows = {}
    marks = trial.events[trial.events["kind"] == int(EventKind.MARK)]
    for (port, queue), streams in _queues(trial, of).items():
        mine = marks[(marks["port"] == trial.port_ids[port]) & (marks["prio"] == queue)]
        stops = [it.spec.stops for it in streams if it.spec.stops is not None]
        rows[f"{port} Q{queue}"] = float("nan")
        if len(mine) and stops:
            leaves = int(mine["time_ps"][-1]) + _drain_ps(trial, float(mine["a"][-1]), streams[0].spec.frame)
            rows[f"{port} Q{queue}"] = max(0.0, leaves - trial.bench.scaled_ps(max(stops)))
    return rows


def _mark_exit_limit(trial: Trial, of: str, in_window: bool) -> Rows:
    """From the most that the queue held, it falls to Kmin by what the port sends above the streams that go on; then the
    last marked frame waits for those before it.
    """
    del in_window
    rows: Rows = {}
    for (port, queue), streams in _queues(trial, of).items():
        low, high, _ = _curve_bytes(trial, port, queue)
        frame, left = streams[0].spec.frame, sum(it.spec.share for it in streams if it.spec.stops is None)
        rows[f"{port} Q{queue}"] = float("nan")
        if high <= 0 or left >= 1:
            continue
        peak = int(trial.end.queues[trial.port_ids[port], queue]["peak_bytes"])
        falls = _drain_ps(trial, max(0.0, peak - low), frame) / (1 - left)
        rows[f"{port} Q{queue}"] = falls + _drain_ps(trial, low + (1 + len(streams)) * frame, frame)
    return rows


def _storm_places(trial: Trial, of: str) -> Iterator[tuple[str, int]]:
    for port in trial.bench.storm_ports:
        for priority in range(N_CLASSES):
            if _concerns(trial, of, priority):
                yield port, priority


def _pfc(*, of_tester: bool) -> Reader:
    fields = ("tx_xoff_pkts", "tx_xon_pkts") if of_tester else ("rx_xoff_pkts", "rx_xon_pkts")

    def read(trial: Trial, of: str, in_window: bool) -> Rows:
        ids = trial.host_ports if of_tester else trial.port_ids
        rows: Rows = {}
        for port, priority in _storm_places(trial, of):

            def count(now: Snapshot, row: int = ids[port], p: int = priority) -> int:
                return sum(int(now.prios[field][row, p]) for field in fields)

            rows[f"{port} PFC{priority}"] = count(trial.stop) - count(trial.start) if in_window else count(trial.end)
        return rows

    return read


def _first_storm(trial: Trial) -> StormSpec:
    return trial.bench.scenario.storms[0]


def _pause_time_error(trial: Trial, of: str, in_window: bool) -> Rows:
    del in_window
    asked = tester.paused_share(trial.bench, _first_storm(trial))
    rows: Rows = {}
    for port, priority in _storm_places(trial, of):
        row = trial.port_ids[port]
        counted = trial.stop.prios["rx_paused_ps"][row, priority] - trial.start.prios["rx_paused_ps"][row, priority]
        rows[f"{port} PFC{priority}"] = abs(int(counted) / trial.window_ps / asked - 1)
    return rows


def _events(trial: Trial, kind: EventKind, port: str, priority: int) -> list[tuple[int, int]]:
    """(time, a) of a port's events in their order."""
    rows = trial.events[trial.events["kind"] == int(kind)]
    rows = rows[(rows["port"] == trial.port_ids[port]) & (rows["prio"] == priority)]
    return [(int(it["time_ps"]), int(it["a"])) for it in rows]


def _pause_length_error(trial: Trial, of: str, in_window: bool) -> Rows:
    del in_window
    asked = tester.pause_ps(trial.bench, _first_storm(trial))
    rows: Rows = {}
    for port, priority in _storm_places(trial, of):
        lengths = [length for _, length in _events(trial, EventKind.RESUMED, port, priority)]
        rows[f"{port} PFC{priority}"] = max((abs(it / asked - 1) for it in lengths), default=float("nan"))
    return rows


def _resume_latency(trial: Trial, of: str, in_window: bool) -> Rows:
    """The last storm of the scenario has the frame that ends the pause."""
    del in_window
    sent = trial.bench.scaled_ps(trial.bench.scenario.storms[-1].at)
    rows: Rows = {}
    for port, priority in _storm_places(trial, of):
        times = [time for time, _ in _events(trial, EventKind.RESUMED, port, priority) if time >= sent]
        rows[f"{port} PFC{priority}"] = times[0] - sent if times else float("nan")
    return rows


def _detection_time(trial: Trial, of: str, in_window: bool) -> Rows:
    del in_window
    begins = trial.bench.scaled_ps(_first_storm(trial).at)
    rows: Rows = {}
    for port, priority in _storm_places(trial, of):
        times = [time for time, _ in _events(trial, EventKind.STORM_DETECTED, port, priority)]
        rows[f"{port} Q{priority}"] = times[0] - begins if times else float("nan")
    return rows


def _restoration_time(trial: Trial, of: str, in_window: bool) -> Rows:
    del in_window
    storm = _first_storm(trial)
    ends = trial.bench.scaled_ps(storm.at) + trial.bench.scaled_ps(storm.lasts) + tester.pause_ps(trial.bench, storm)
    rows: Rows = {}
    for port, priority in _storm_places(trial, of):
        times = [time for time, _ in _events(trial, EventKind.STORM_RESTORED, port, priority)]
        rows[f"{port} Q{priority}"] = max(0.0, times[-1] - ends) if times else float("nan")
    return rows


def _limit(*, restoration: bool) -> Reader:
    """As configured: a time of the port, and the polls or steps that the watchdog adds by its design."""

    def read(trial: Trial, of: str, in_window: bool) -> Rows:
        del in_window
        device, rows = trial.bench.device, Rows()
        hardware = hardware_of(device)
        for port, priority in _storm_places(trial, of):
            dog = device.ports[port].watchdog
            time_ms = (dog.restoration_ms if restoration else dog.detection_ms) if dog is not None else None
            step_ms = poll_ms(device, dog) if hardware is None else hardware.step_ms(device)
            steps = 2 if restoration else 1
            label = f"{port} Q{priority}"
            rows[label] = float("nan") if time_ms is None else (time_ms + steps * step_ms) * PS_PER_MS
        return rows

    return read


def _detection(*, programmed: bool) -> Reader:
    """Of the configuration, or what the switch makes of it."""

    def read(trial: Trial, of: str, in_window: bool) -> Rows:
        del in_window
        device, rows = trial.bench.device, Rows()
        hardware = hardware_of(device)
        late = actual_poll_ms(device) // poll_ms(device)
        for port, priority in _storm_places(trial, of):
            dog = device.ports[port].watchdog
            time_ms: float = float("nan") if dog is None or dog.detection_ms is None else dog.detection_ms
            if programmed and dog is not None and dog.detection_ms is not None:
                made = hardware.detection.programmed(dog.detection_ms) if hardware is not None else None
                poll = poll_ms(device, dog)
                time_ms = -(-dog.detection_ms // poll) * poll * late if hardware is None else float("nan")
                time_ms = made.value_ms if made is not None else time_ms
            rows[f"{port} Q{priority}"] = time_ms * PS_PER_MS
        return rows

    return read


def _of_watchdog(field: str) -> Reader:
    def read(trial: Trial, of: str, in_window: bool) -> Rows:
        return {
            f"{port} Q{priority}": _counter(trial, field, port, priority, in_window=in_window)
            for port, priority in _storm_places(trial, of)
        }

    return read


READERS: Final[Mapping[str, Reader]] = {
    "stream_frames": _of_queue("sent_pkts"),
    "stream_rate_error": _rate_error,
    "stream_lost": _lost,
    "paused_rate_error": _paused_rate_error,
    "stream_marked": _of_queue("marked_pkts"),
    "mark_error": _mark_error,
    "mark_response": _mark_response,
    "mark_response_limit": _mark_response_limit,
    "mark_enter_time": _mark_enter_time,
    "mark_exit_time": _mark_exit_time,
    "mark_exit_limit": _mark_exit_limit,
    "pfc_received": _pfc(of_tester=False),
    "pfc_of_tester": _pfc(of_tester=True),
    "pause_time_error": _pause_time_error,
    "pause_length_error": _pause_length_error,
    "resume_latency": _resume_latency,
    "storms_detected": _of_watchdog("wd_detected"),
    "storms_restored": _of_watchdog("wd_restored"),
    "detection_time": _detection_time,
    "detection_configured": _detection(programmed=False),
    "detection_programmed": _detection(programmed=True),
    "detection_limit": _limit(restoration=False),
    "restoration_time": _restoration_time,
    "restoration_limit": _limit(restoration=True),
}

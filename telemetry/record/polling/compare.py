"""The true counters compared with the polled ones, largest values first: what monitoring would have missed.

Both sides are read in the same way from the same run, so they differ only in polling. A rate is bytes over the time
between two readings: two samples for the truth, two polls for the exporter.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.state.codes import N_CLASSES
from fabric.units import PS_PER_NS, PS_PER_S
from telemetry.record.polling.poller import Poller

Floats = NDArray[np.float64]
_BITS: Final = 8


@dataclass(frozen=True, slots=True)
class Place:
    """One quantity at one place, true and polled."""

    device: str
    port: str
    queue: int | None
    truth: float
    truth_ns: int
    """When the true maximum was first reached."""
    seen: float
    seen_ns: int | None
    """When monitoring first showed its maximum; None: it showed nothing."""
    read: float = 0.0
    """Queue depth only: the maximum of the polled depth."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A value over time; each value holds until the next."""

    label: str
    time_ns: tuple[int, ...]
    value: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Total:
    """A counter of the whole fabric."""

    name: str
    truth: float
    during: float
    """Polled value at the end of the run."""
    after: float
    """Polled value after every group was read once more."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """True and polled values of a run."""

    profile: str
    about: str
    dilation: float
    end_ns: int
    """End of the run; polls continue for up to the longest period."""
    last_ns: int
    sample_ns: int
    """Mean time between two samples: the resolution of the truth."""
    queues: tuple[Place, ...]
    """Depth in bytes; the polled value is the highest watermark."""
    ports: tuple[Place, ...]
    """Sent share of the line rate."""
    pauses: tuple[Place, ...]
    """Paused time in seconds."""
    totals: tuple[Total, ...]


_TOTALS: Final = {
    "ECN marks": ("queues", "marked_pkts"),
    "PFC frames received": ("ports", "rx_pause_pkts"),
    "packets dropped": ("ports", "dropped_pkts"),
    "watchdog storms": ("queues", "wd_detected"),
}


@dataclass
class _Highest:
    """Maximum by row, and when it was first reached."""

    value: Floats
    time_ps: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.time_ps = np.full(self.value.shape, -1, np.int64)

    def take(self, value: Floats, time_ps: int) -> None:
        higher = value > self.value
        self.value = np.where(higher, value, self.value)
        self.time_ps = np.where(higher, time_ps, self.time_ps)


class _Rates:
    """Highest share of the line rate by port, from one changed byte count to the next."""

    def __init__(self, now: Snapshot) -> None:
        self.highest = _Highest(np.zeros(len(now.ports)))
        self._bytes = now.ports["tx_bytes"].copy()
        self._at_ps = np.full(len(now.ports), now.time_ps)

    def take(self, now: Snapshot, read_ps: NDArray[np.int64]) -> None:
        """`read_ps` (n_ports,): time at which each count was read."""
        elapsed_ps = read_ps - self._at_ps
        fresh = elapsed_ps > 0
        sent = (now.ports["tx_bytes"] - self._bytes) * (_BITS * float(PS_PER_S))
        share = np.where(fresh, sent / (np.maximum(elapsed_ps, 1) * now.ports["rate_bps"].astype(np.float64)), 0.0)
        self.highest.take(share, now.time_ps)
        self._bytes = np.where(fresh, now.ports["tx_bytes"], self._bytes)
        self._at_ps = np.where(fresh, read_ps, self._at_ps)


class _Watch:
    """Running results of one side, true or polled."""

    def __init__(self, now: Snapshot) -> None:
        self.watermark = _Highest(np.zeros(now.queues.size))
        self.depth = _Highest(np.zeros(now.queues.size))
        self.paused = _Highest(np.zeros(now.prios.size))
        self.rates = _Rates(now)

    def take(self, now: Snapshot, read_ps: NDArray[np.int64]) -> None:
        self.watermark.take(now.queues["watermark_bytes"].reshape(-1).astype(np.float64), now.time_ps)
        self.depth.take(now.queues["depth_bytes"].reshape(-1).astype(np.float64), now.time_ps)
        self.paused.take(now.prios["rx_paused_ps"].reshape(-1) / PS_PER_S, now.time_ps)
        self.rates.take(now, read_ps)


def compare(snapshots: Iterable[Snapshot], poller: Poller, top: int = 5) -> Comparison:
    """Compare the true and the polled counters of a run.

    Parameters
    ----------
    snapshots : every sample of the run, the first at time 0
    poller : a new one, without polls
    top : places per quantity, largest true values first

    Raises: ValueError where there is no sample.
    """
    truth: _Watch | None = None
    now = known = None
    samples = 0
    for now in snapshots:
        known = poller.take(now)
        if truth is None:
            truth, seen = _Watch(now), _Watch(known)
        truth.take(now, np.full(len(now.ports), now.time_ps))
        seen.take(known, poller.read_ps(known))
        samples += 1
    if now is None or known is None or truth is None:
        raise ValueError("a run without a sample cannot be compared")
    during = {name: _total(known, *source) for name, source in _TOTALS.items()}
    for known in poller.after(now):
        seen.take(known, poller.read_ps(known))
    switch_ports = now.ports["node"] >= len(now.hosts)
    classes = np.repeat(switch_ports, N_CLASSES)
    return Comparison(
        poller.profile.name,
        poller.profile.about,
        poller.dilation,
        now.time_ps // PS_PER_NS,
        known.time_ps // PS_PER_NS,
        now.time_ps // PS_PER_NS // max(samples - 1, 1),
        _places(now, truth.watermark, seen.watermark, classes, top, seen.depth),
        _places(now, truth.rates.highest, seen.rates.highest, switch_ports, top),
        _places(now, truth.paused, seen.paused, classes, top),
        tuple(
            Total(name, _total(now, *source), during[name], _total(known, *source)) for name, source in _TOTALS.items()
        ),
    )


def depth_curves(snapshots: Iterable[Snapshot], poller: Poller, place: Place) -> tuple[Curve, ...]:
    """Depth of one queue over time: the truth, as polled, and its watermark as polled."""
    rows: list[tuple[int, float, float, float]] = []
    at: tuple[int, int] | None = None
    now = None

    def note(truth: Snapshot, known: Snapshot, at: tuple[int, int]) -> None:
        rows.append(
            (
                known.time_ps // PS_PER_NS,
                float(truth.queues[at]["depth_bytes"]),
                float(known.queues[at]["depth_bytes"]),
                float(known.queues[at]["watermark_bytes"]),
            )
        )

    for now in snapshots:
        at = at or _queue_of(now, place)
        note(now, poller.take(now), at)
    if now is not None and at is not None:
        for known in poller.after(now):
            note(now, known, at)
    time_ns, *values = zip(*rows, strict=True) if rows else ((), (), (), ())
    labels = ("truth", "depth as polled", "watermark as polled")
    return tuple(Curve(label, tuple(time_ns), tuple(value)) for label, value in zip(labels, values, strict=True))


def _queue_of(now: Snapshot, place: Place) -> tuple[int, int]:
    return now.fabric.port_called[f"{place.device}:{place.port}"], place.queue or 0


def _places(
    now: Snapshot, truth: _Highest, seen: _Highest, wanted: NDArray[np.bool_], top: int, read: _Highest | None = None
) -> tuple[Place, ...]:
    """The `top` places with the largest true value."""
    value = np.where(wanted, truth.value, 0.0)
    rows = np.argsort(-value, kind="stable")[:top]
    by_class = len(value) != len(now.ports)
    places = []
    for row in rows[value[rows] > 0].tolist():
        port = now.fabric.ports[row // N_CLASSES if by_class else row]
        places.append(
            Place(
                now.fabric.nodes[port.node].name,
                port.name,
                row % N_CLASSES if by_class else None,
                float(truth.value[row]),
                int(truth.time_ps[row]) // PS_PER_NS,
                float(seen.value[row]),
                int(seen.time_ps[row]) // PS_PER_NS if seen.time_ps[row] >= 0 else None,
                float(read.value[row]) if read is not None else 0.0,
            )
        )
    return tuple(places)


def _total(now: Snapshot, table: str, field_: str) -> float:
    """Sum over all switches: hosts are not polled for these counters."""
    values = getattr(now, table)[field_]
    return float(values[now.ports["node"] >= len(now.hosts)].sum())

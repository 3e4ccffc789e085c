"""Queues that mark before anything waits that the link needs: senders slow down, and the link is idle.

A queue that marks keeps its link busy as long as it may hold what the link sends until the answer to a mark arrives.
Alizadeh et al., SIGCOMM 2010, section 3.3: K > C RTT / 7. Frames are whole, so it may hold three frames at least (check
E9 of `fabric validate`). A curve below that is no fault by itself: it is one where senders answer its marks, have data
to send, and leave the link idle meanwhile.

Senders that answer marks are known by their CNPs. DCTCP's answers are in ACKs, which no counter has, and HPCC and
TIMELY ignore marks, so marking is not judged there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.theory.marking import LEAST_ROUND_TRIP_PS, Curve, least_curve, marking_probability
from fabric.units import PS_PER_S, count, format_bit_rate, format_measured_bytes, format_time_ps
from telemetry.diagnosis.queues import FULL
from telemetry.diagnosis.root import Kind, Meaning, Root
from telemetry.diagnosis.view import Place, Values, View

KMIN: Final = "fabric_ecn_kmin_bytes"
KMAX: Final = "fabric_ecn_kmax_bytes"
PMAX: Final = "fabric_ecn_pmax_ratio"
_MARKS: Final = "fabric_ecn_marked_packets_total"
_ANSWERS: Final = "fabric_rnic_cnp_handled_packets_total"
_PAIRS: Final = "fabric_rnic_active_queue_pairs"
_PAUSED: Final = "fabric_pfc_receive_paused_seconds_total"
_ROUND_TRIP_S: Final = LEAST_ROUND_TRIP_PS / PS_PER_S
_SEVENTH: Final = 7
_FRAMES: Final = 3
_EARLY: Final = 0.1
"""Share of packets that the curve marks at what the link needs, from which on it is early. One that rises slowly from a
small Kmin marks a few per cent there, and leaves the link no more idle than the usual one (docs/decisions/0178)."""
_HELD: Final = 0.01
"""Share of packets marked from which on DCQCN's senders stay slow: its fixed point is below (Zhu et al., SIGCOMM 2015,
section 5)."""
_LEAST_MARKS: Final = 100
_LEAST_INTERVALS: Final = 2
_DEPTH: Final = "fabric_queue_watermark_bytes"
_DEEPER: Final = 6
"""Times that a queue is deeper at most with the curve of the advice: 1.0 to 5.9 in 65 pairs of runs
(docs/decisions/0181)."""
_PAUSED_SHARE: Final = 0.1
"""Share of an interval for which a port is paused, from which on it is idle for that."""


@dataclass(frozen=True, slots=True)
class _Early:
    """One queue that marks too early."""

    root: Root
    idle_bytes: float
    """What its link could have sent in the time in which it was idle and the queue marked."""


def early_marks(view: View) -> Iterator[Root]:
    """One root for each device and class, at the port that could have sent most."""
    if not all(view.has(it) for it in (_MARKS, _ANSWERS, _PAIRS)):
        return
    of_devices: dict[tuple[str, int | None], list[_Early]] = {}
    wanting = _wanting(view)
    for place, marks in view.growth(_MARKS).items():
        its = _judged(view, place, marks, wanting)
        if its is not None:
            of_devices.setdefault((its.root.device, its.root.priority), []).append(its)
    for found in of_devices.values():
        first, *others = sorted(found, key=lambda it: -it.idle_bytes)
        if not others:
            yield first.root
            continue
        text = f"so do {count(len(others), 'other port')} of {first.root.device}: " + ", ".join(
            it.root.port for it in others
        )
        began, ended = min(it.root.began_ns for it in found), max(it.root.ended_ns for it in found)
        yield replace(first.root, began_ns=began, ended_ns=ended, evidence=(*first.root.evidence, text))


def _wanting(view: View) -> NDArray[np.bool_]:
    """(n,) intervals at both ends of which senders had something to send; none where no sender answered a mark."""
    answers = sum(float(it.sum()) for it in view.of_devices(_ANSWERS).values())
    pairs = np.sum([np.zeros(view.size), *(it for _, it in view.series(_PAIRS))], axis=0)
    before = np.concatenate([pairs[:1], pairs[:-1]])
    return np.asarray((pairs > 0) & (before > 0)) & (answers > 0)


def _judged(view: View, place: Place, marks: Values, wanting: NDArray[np.bool_]) -> _Early | None:
    """A queue's root; None where its curve begins late enough, or its link was full."""
    port, priority = place
    kmin, kmax, pmax = (view.at(view.gauge(it), place) for it in (KMIN, KMAX, PMAX))
    frames, rate_bps = view.sent[port], view.rate_bps[port]
    if not kmax.any() or not frames.any():
        return None
    frame_bytes = float(view.sent_bytes[port].sum() / frames.sum())
    needed = np.maximum(_FRAMES * frame_bytes, rate_bps / 8 * _ROUND_TRIP_S / _SEVENTH)
    share = _marked_share(needed, np.stack([kmin, kmax, pmax]))
    paused = view.at(view.growth(_PAUSED), place) > _PAUSED_SHARE * view.interval_s
    marked = np.flatnonzero((marks > 0) & (share >= _EARLY))
    if marked.size < _LEAST_INTERVALS:
        return None
    # A sender that was told to slow down recovers for milliseconds, in which no queue forms and nothing is marked: the
    # idle time is counted from the first mark on, while senders have more.
    rows = (np.arange(view.size) >= marked[0]) & (share >= _EARLY) & (frames > 0) & wanting & ~paused
    seconds, total = float(view.interval_s[rows].sum()), float(marks[rows].sum())
    if total < max(_LEAST_MARKS, _HELD * float(frames[rows].sum())) or not seconds:
        return None
    idle_s = seconds - float(view.busy_s[port][rows].sum())
    if idle_s <= (1 - FULL) * seconds:
        return None
    row = int(np.flatnonzero(rows)[-1])
    idle_bytes = idle_s * float(rate_bps[row]) / 8
    curve = f"Kmin {_size(kmin[row])}, Kmax {_size(kmax[row])}, Pmax {pmax[row]:.0%}"
    evidence = (
        (
            f"{curve}: {share[row]:.0%} of packets that find {_size(needed[row])} are marked, and the port was idle "
            f"for {idle_s / seconds:.0%} of {_time(seconds)} while senders had more to send"
        ),
        (
            f"{total:,.0f} of {float(frames[rows].sum()):,.0f} packets marked; {_size(idle_bytes)} more fit into the "
            f"idle time at {format_bit_rate(rate_bps[row])}"
        ),
    )
    began, ended = view.span(rows)
    root = Root(
        Kind.ECN_WRONG, view.device(port), began, ended, evidence, view.port(port).name, priority,
        margin=idle_s / seconds / (1 - FULL),
        special=_meaning(kmin[row], kmax[row], float(rate_bps[row]), frame_bytes, _peak(view, place)),
    )  # fmt: skip
    return _Early(root, idle_bytes)


def _marked_share(depth_bytes: Values, curves: NDArray[np.float64]) -> Values:
    """(n,) share of packets that find so many bytes and are marked. curves: (3, n) Kmin, Kmax, Pmax, each as in its
    metric.
    """
    share = np.zeros(depth_bytes.size)
    for curve in np.unique(curves, axis=1).T:
        kmin, kmax, pmax = curve.tolist()
        if kmax > 0:
            rows = (curves == curve[:, np.newaxis]).all(axis=0)
            exact = Curve(int(kmin), max(int(kmax), int(kmin) + 1), pmax)  # a step is one byte wide
            share[rows] = marking_probability(exact, depth_bytes[rows].astype(np.int64))
    return share


def _peak(view: View, place: Place) -> float:
    """Most bytes that the queue held."""
    return float(view.at(view.gauge(_DEPTH), place).max())


def _meaning(kmin_bytes: float, kmax_bytes: float, rate_bps: float, frame_bytes: float, peak_bytes: float) -> Meaning:
    """The words of a queue that marks too early, with the curve that its link needs and what that costs."""
    wanted = least_curve(int(rate_bps), frame_bytes)
    most = _DEEPER * peak_bytes
    waits = f"{_size(most)}, which takes {_time(most * 8 / rate_bps)} to send"
    price = f"this queue held up to {_size(peak_bytes)}, and will hold up to {_DEEPER} times as much ({waits})"
    return Meaning(
        "a queue marks too early",
        f"raise Kmin from {_size(kmin_bytes)} to {_size(wanted.kmin_bytes)}, what the port sends in a round trip, and "
        f"Kmax from {_size(kmax_bytes)} to {_size(wanted.kmax_bytes)}. Its price: {price}, so other messages "
        "wait longer there; compare completion times with `fabric diff`",
    )


def _size(value_bytes: float) -> str:
    return format_measured_bytes(value_bytes)


def _time(seconds: float) -> str:
    return format_time_ps(round(seconds * PS_PER_S))

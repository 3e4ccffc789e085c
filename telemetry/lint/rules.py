"""The rules: what no true counter does.

    value      a counter below 0 or not a number
    clock      times that go backwards, that are no Unix time, or that lie in the future
    repeated   two samples of a series at one time
    gap        an interval longer than three usual ones; not of info metrics, which come and go with their labels
    reset      a counter that falls to a lower value and goes on from there
    wrap       a counter that passes 2**32
    stale      a counter that does not change, or shows an older value, and then makes up for it; a counter that ends
    rate       more bytes, packets or seconds than the interval allows at line rate
    lost       messages that are missing by the sequence numbers of the others (IPFIX)

A limit has a slack of one largest frame, because a frame is counted when it ends, and of the clock's resolution.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from telemetry.lint.series import Batch, Meaning, Series, meaning, speeds

NS: Final = 1_000_000_000
LARGEST_FRAME_BYTES: Final = 10_240
SMALLEST_FRAME_BYTES: Final = 64
PREAMBLE_AND_GAP_BYTES: Final = 20
SLOWEST_BYTES_PER_S: Final = 1.25e8
"""Where no rate is known: a frame at 1 Gb/s."""
GAP_FACTOR: Final = 3.5
FEWEST_INTERVALS: Final = 5
"""To know the usual interval."""
_INFO: Final = "_info"
"""OpenMetrics: the suffix of an info metric, which is absent from scrapes while its labels do not hold."""
_WRAPS: Final = (2.0**32, 2.0**64)
_YEAR_2000_NS: Final = 946_684_800 * NS
_DAY_NS: Final = 86_400 * NS
AROUND: Final = 2
"""Intervals on each side that a wrong time is told by."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that cannot be true."""

    rule: str
    series: str
    time_ns: int | None
    text: str


def check(batch: Batch, rate_bps: float | None = None, now_ns: int | None = None) -> list[Finding]:
    """All findings of a batch.

    Parameters
    ----------
    batch : Batch
    rate_bps : float     line rate of ports whose rate the batch does not say
    now_ns : int         Unix time, for times in the future; the machine's by default
    """
    found = [Finding("lost", it.stream, it.time_ns, it.text) for it in batch.breaks]
    rates = _Rates(batch, rate_bps)
    end_ns = _end(batch)
    counters = {}
    for series in batch.series:
        about = meaning(series.name, series.kind)
        if about.counter:
            found += _values(series)
        if not batch.has_times:
            found += _order_only(series, about)
            continue
        kept, wrong = _clock(series, batch, time.time_ns() if now_ns is None else now_ns)
        found += wrong
        if about.counter and len(kept.times_ns) > 1:
            found += _counter(kept, about, *rates.of(series, about), batch)
            found += _ended(kept, end_ns)
            counters[series.name, tuple(sorted(series.labels.items()))] = kept, about
    found += _pairs(counters)
    return found


def _values(series: Series) -> Iterator[Finding]:
    wrong = ~np.isfinite(series.values) | (series.values < 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        yield Finding(
            "value", str(series), int(series.times_ns[row]), f"a counter has the value {series.values[row]:g}"
        )


def _order_only(series: Series, about: Meaning) -> Iterator[Finding]:
    """Samples without times: only their order is known."""
    falls = np.diff(series.values) < 0
    if about.counter and falls.any():
        row = int(np.argmax(falls))
        yield Finding("reset", str(series), None, _fall(series.values[row], series.values[row + 1]))


def _clock(series: Series, batch: Batch, now_ns: int) -> tuple[Series, list[Finding]]:
    """The samples in order of time, one at each, and what is wrong with their times."""
    times = series.times_ns
    found = []
    if batch.unix and len(times):
        if times.min() < _YEAR_2000_NS:
            text = f"{times.min() / NS:.3f} s is a time before the year 2000: another unit, or a clock that is not set"
            found.append(Finding("clock", str(series), int(times.min()), text))
        elif times.max() > now_ns + _DAY_NS:
            text = f"the time is {(times.max() - now_ns) / NS:,.0f} s in the future"
            found.append(Finding("clock", str(series), int(times.max()), text))
    step = np.diff(times)
    for row in np.flatnonzero(step < 0)[:3]:
        text = f"the time goes back by {_span(int(-step[row]))}"
        found.append(Finding("clock", str(series), int(times[row + 1]), text))
    for row in np.flatnonzero(step == 0)[:3]:
        same = series.values[row] == series.values[row + 1]
        text = (
            "the sample is repeated"
            if same
            else (f"two values at one time: {series.values[row]:.15g} and {series.values[row + 1]:.15g}")
        )
        found.append(Finding("repeated", str(series), int(times[row]), text))
    if (step <= 0).any():
        order = np.argsort(times, kind="stable")
        _, first = np.unique(times[order], return_index=True)
        order = order[first]
        series = Series(series.name, series.labels, series.kind, times[order], series.values[order])
        step = np.diff(series.times_ns)
    if len(step) >= FEWEST_INTERVALS and not series.name.endswith(_INFO):
        usual = float(np.median(step))
        for row in np.flatnonzero(step > GAP_FACTOR * usual)[:3]:
            text = f"no sample for {_span(int(step[row]))}; the usual interval is {_span(int(usual))}"
            found.append(Finding("gap", str(series), int(series.times_ns[row]), text))
    return series, found


class _Rates:
    """Line rates of ports, by the labels of their series."""

    def __init__(self, batch: Batch, rate_bps: float | None) -> None:
        self._given = None if rate_bps is None else rate_bps / 8
        self._known: dict[tuple[str, ...], dict[tuple[str, ...], float]] = defaultdict(dict)
        for it in batch.series:
            if it.name in speeds() and it.labels and len(it.values):
                keys = tuple(sorted(it.labels))
                place = tuple(it.labels[key] for key in keys)
                self._known[keys][place] = max(float(it.values.max()), self._known[keys].get(place, 0.0))

    def of(self, series: Series, about: Meaning) -> tuple[float | None, float]:
        """(largest amount per second of the series' quantity, None if unknown; largest amount counted at once)."""
        known = [
            places[place]
            for keys, places in self._known.items()
            if set(keys) <= set(series.labels) and (place := tuple(series.labels[key] for key in keys)) in places
        ]
        bytes_per_s = max(known) if known else self._given
        if about.quantity == "seconds":
            return 1.0, LARGEST_FRAME_BYTES / (bytes_per_s or SLOWEST_BYTES_PER_S)
        if not about.quantity or bytes_per_s is None:
            return None, 0.0
        if about.quantity == "bytes":
            return bytes_per_s, LARGEST_FRAME_BYTES
        return bytes_per_s / (SMALLEST_FRAME_BYTES + PREAMBLE_AND_GAP_BYTES), 2.0


def _counter(series: Series, about: Meaning, rate: float | None, slack: float, batch: Batch) -> Iterator[Finding]:
    """Falls, and rises that the line rate does not allow."""
    values = series.values * about.unit
    steps, seconds = np.diff(values), np.diff(series.times_ns) / NS / batch.dilation
    rounding = 4 * np.spacing(np.abs(values[:-1]))
    limits = np.full(len(steps), math.inf)
    if rate is not None:
        clock_s = 2 * batch.resolution_ns / NS / batch.dilation
        limits = rate * (seconds + clock_s) * (1 + 1e-9) + slack + rounding
    explained = np.zeros(len(steps), bool)
    for row in np.flatnonzero(steps < -rounding):
        time_ns, before, after = int(series.times_ns[row + 1]), values[row], values[row + 1]
        wrap = next((it for it in _WRAPS if 0.9 * it < series.values[row] < it), None)
        if wrap is not None and steps[row] + wrap * about.unit <= limits[row]:
            yield Finding(
                "wrap", str(series), time_ns, f"the counter passes 2**{round(math.log2(wrap))} and begins at 0"
            )
        elif row + 2 < len(values) and values[row + 2] >= before:
            explained[row + 1] = True
            text = f"an older value: {before:,.15g} is followed by {after:,.15g}, and that by {values[row + 2]:,.15g}"
            yield Finding("stale", str(series), time_ns, text)
        else:
            yield Finding("reset", str(series), time_ns, _fall(before, after))
    for row in np.flatnonzero((steps > limits) & ~explained):
        yield _above(series, about, int(row), steps, seconds, limits, rate or 0.0)


def _above(
    series: Series,
    about: Meaning,
    row: int,
    steps: NDArray[np.float64],
    seconds: NDArray[np.float64],
    limits: NDArray[np.float64],
    rate: float,
) -> Finding:
    """A rise above the limit: late values, a wrong time, or a wrong counter."""
    time_ns = int(series.times_ns[row + 1])
    still = 0
    while still < row and steps[row - still - 1] == 0:
        still += 1
    text = f"{steps[row]:,.0f} {about.quantity} in {_span(round(seconds[row] * NS))}"
    if about.quantity == "seconds":
        return Finding("rate", str(series), time_ns, f"{steps[row]:.6g} s passed in {_span(round(seconds[row] * NS))}")
    if about.quantity == "bytes":
        text += f" are {_gbps(steps[row] / seconds[row])}; the port has {_gbps(rate)}"
    else:
        text += f"; frames of {SMALLEST_FRAME_BYTES} bytes at line rate are {limits[row]:,.0f}"
    if still and steps[row] <= limits[row - still : row + 1].sum():
        repeated = "1 sample repeats" if still == 1 else f"{still} samples repeat"
        return Finding("stale", str(series), time_ns, f"{repeated} an old value, and then {text}")
    near = slice(max(row - AROUND, 0), row + AROUND + 1)
    if len(steps[near]) > 1 and (steps[near] >= 0).all() and steps[near].sum() <= limits[near].sum():
        text += (
            f". With its neighbours ({len(steps[near])} intervals) it fits: one of the times, or the moment of "
            "reading, is likely wrong, and not the count"
        )
    return Finding("rate", str(series), time_ns, text)


def _end(batch: Batch) -> int:
    return max((int(it.times_ns.max()) for it in batch.series if len(it.times_ns)), default=0)


def _ended(series: Series, end_ns: int) -> Iterator[Finding]:
    """A counter that is not there any more: it stays until its source ends."""
    step = np.diff(series.times_ns)
    if len(step) >= FEWEST_INTERVALS and end_ns - int(series.times_ns[-1]) > GAP_FACTOR * float(np.median(step)):
        missing = _span(end_ns - int(series.times_ns[-1]))
        yield Finding("stale", str(series), int(series.times_ns[-1]), f"the counter ends {missing} before the others")


def _pairs(counters: dict[tuple[str, tuple[tuple[str, str], ...]], tuple[Series, Meaning]]) -> Iterator[Finding]:
    """Bytes and packets of the same frames: one of them does not change."""
    for (_, labels), (series, about) in counters.items():
        other = counters.get((about.pair, labels)) if about.pair else None
        if other is None or not np.array_equal(series.times_ns, other[0].times_ns):
            continue
        n_bytes, n_packets = np.diff(series.values), np.diff(other[0].values)
        rising = (n_bytes >= 0) & (n_packets >= 0)
        more = rising & (n_bytes > (n_packets + 1) * LARGEST_FRAME_BYTES)
        fewer = rising & ((n_packets - 1) * SMALLEST_FRAME_BYTES > n_bytes)
        for wrong, lazy in ((more, other[0]), (fewer, series)):
            if wrong.any():
                row = int(np.argmax(wrong))
                text = f"{n_bytes[row]:,.0f} bytes and {n_packets[row]:,.0f} packets in one interval do not fit"
                yield Finding("stale", str(lazy), int(series.times_ns[row + 1]), text)


def _fall(before: float, after: float) -> str:
    return f"the counter falls from {before:,.15g} to {after:,.15g}: a restart, or another source"


def _gbps(bytes_per_s: float) -> str:
    return f"{bytes_per_s * 8 / 1e9:,.3f} Gb/s"


def _span(time_ns: int) -> str:
    for unit, name in ((NS, "s"), (1_000_000, "ms"), (1_000, "us")):
        if time_ns >= unit:
            return f"{time_ns / unit:,.3f} {name}"
    return f"{time_ns} ns"

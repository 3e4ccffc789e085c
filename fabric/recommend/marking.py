"""Kmin, Kmax and Pmax of a class of switches: the curve with the most power, throughput / delay.

Kmin lies between max(3 frames, rate x round-trip time), below which throughput is lost (that of this cable, or the 5 us
of check N4 if it is more), and what the group holds at XOFF, T(1), less the bytes that come in 14 us, before senders
react, so that a mark comes before a pause.
Kmax is at most T(1). Between these bounds a grid of 3 x 3 x 3 points around the middle is simulated, and twice more
with half of the step around the best point. 2 to 16 hosts send to one receiver without end, 2 more send short messages
to it; the first millisecond is not counted. A curve with an XOFF before the first mark is out. Power is that of
Kleinrock (1979), with the share of the receiver's line rate as throughput and the p99 time of short messages as delay;
over incasts of several sizes its geometric mean decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import exp, log, sqrt
from typing import Final

from fabric.dataplane.state.codes import EventKind
from fabric.recommend.alpha import BURST_PS
from fabric.recommend.bench import RDMA_HEADERS_BYTES, WIRE_BYTES, rate_bytes, simulate, star, switch, time_ps
from fabric.recommend.classes import PortClass
from fabric.theory.marking import LEAST_ROUND_TRIP_PS
from fabric.units import PS_PER_NS

SEEDS: Final = (1, 2)
"""Of the search."""
HELD_OUT: Final = (11, 12, 13)
"""Of the comparison with the present curve, and with one that marks too late."""
PMAX_PERCENT: Final = (5, 20, 100)
WARM_PS: Final = 1_000_000_000
END_PS: Final = 5_000_000_000
"""Counted from WARM_PS to here."""
SHORT_BYTES: Final = 4096
_SHORT_EVERY_PS: Final = 10_000_000
_HALVINGS: Final = 2
_ROUND_BYTES: Final = 1000
_LEAST: Final = 1e-9
"""Power of a run in which nothing was sent."""
_JITTER_PS: Final = 5_000_000
_SHORT_SENDERS: Final = ("short1", "short2")
_HOPS_PS: Final = 2_200_000
"""Latency of switch and NIC in both directions, and of a frame in the queue."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A marking curve."""

    kmin_bytes: int
    kmax_bytes: int
    pmax_percent: int


@dataclass(frozen=True, slots=True)
class Score:
    """What a curve does, over incasts of several sizes."""

    utilisation: float
    """Mean over incasts: share of the receiver's line rate that was used."""
    short_p99_ns: float
    """Mean over incasts: p99 of the completion times of short messages."""
    power: float
    """Geometric mean over incasts of utilisation / p99 time, per ms."""
    xoffs: int
    early_xoffs: int
    """Runs in which an XOFF came before the first mark."""


@dataclass(frozen=True, slots=True)
class MarkingFound:
    """The chosen curve, and others under the held-out seeds."""

    lowest_kmin_bytes: int
    highest_kmin_bytes: int
    limit_bytes: int
    """T(1)."""
    curve: Curve | None
    """None: nothing lies between the bounds."""
    held_out: dict[str, Score]
    """'recommended', 'present' and 'Kmin above the pool' -> score with other seeds and one sender more."""
    fan_ins: tuple[int, ...]
    runs: int


def find_marking(
    port: PortClass, senders: int, exponent: int, xoff: int, pool: int, *, control: str, present: Curve | None
) -> MarkingFound:
    """Search between the bounds. pool, xoff: bytes; exponent: alpha = 2^exponent; control: 'dcqcn' or 'dctcp'."""
    frame = port.roce_mtu + RDMA_HEADERS_BYTES
    alpha = 2.0**exponent
    limit = int(alpha * pool / (1 + alpha))
    round_trip_ps = 2 * 2 * port.cable_m * 5_000 + _HOPS_PS + 2 * time_ps(port.speed_mbps, frame + WIRE_BYTES)
    low = max(3 * frame, rate_bytes(port.speed_mbps, max(round_trip_ps, LEAST_ROUND_TRIP_PS)))
    high = limit - rate_bytes(port.speed_mbps, BURST_PS)
    fan_ins = tuple(sorted({2, max(2, min(8, senders)), max(2, min(16, senders))}))
    bench = _Bench(port, exponent, xoff, pool, control, fan_ins)
    if high <= low:
        held = {} if present is None else {"present": bench.score(present, HELD_OUT)}
        return MarkingFound(low, high, limit, None, held, fan_ins, bench.runs)
    best = _search(bench, low, high, limit, present)
    held = {"recommended": bench.score(best, HELD_OUT)}
    if present is not None:
        held["present"] = bench.score(present, HELD_OUT)
    # n groups hold n x T(n) when they pause: more than T(1), less than the pool.
    late = Curve(pool + frame, 2 * pool, best.pmax_percent)
    held["Kmin above the pool"] = bench.score(late, HELD_OUT)
    return MarkingFound(low, high, limit, best, held, fan_ins, bench.runs)


def _search(bench: _Bench, low: int, high: int, limit: int, present: Curve | None) -> Curve:
    """The best curve of the grids."""
    kmin, spread = sqrt(low * high), sqrt(high / low)
    ratio, widest = 4.0, 2.0
    pmax: tuple[int, ...] = PMAX_PERCENT
    tried: dict[Curve, Score] = {} if present is None else {present: bench.score(present, SEEDS)}
    best = Curve(low, limit, PMAX_PERCENT[0])
    for _ in range(1 + _HALVINGS):
        for step, wider, percent in product((-1, 0, 1), (-1, 0, 1), pmax):
            lower = min(max(_rounded(kmin * spread**step), low), high)
            upper = min(max(_rounded(lower * ratio * widest**wider), lower + _ROUND_BYTES), limit)
            curve = Curve(lower, upper, percent)
            tried[curve] = bench.score(curve, SEEDS)
        best = _best(tried)
        kmin, ratio = best.kmin_bytes, best.kmax_bytes / best.kmin_bytes
        spread, widest, pmax = sqrt(spread), sqrt(widest), (best.pmax_percent,)
    return best


def _best(tried: dict[Curve, Score]) -> Curve:
    """Fewest XOFFs before a mark, then most power."""
    return min(tried, key=lambda curve: (tried[curve].early_xoffs, -tried[curve].power))


def _rounded(size: float) -> int:
    return max(_ROUND_BYTES, int(size) // _ROUND_BYTES * _ROUND_BYTES)


class _Bench:
    """Incasts of several sizes through one switch; every curve, seed and size is simulated once."""

    def __init__(
        self, port: PortClass, exponent: int, xoff: int, pool: int, control: str, fan_ins: tuple[int, ...]
    ) -> None:
        self.port, self.control, self.fan_ins = port, control, fan_ins
        self.pool = pool
        self.buffer = {"dynamic_th": exponent, "headroom": f"{xoff}B"}
        self.runs = 0
        self._found: dict[tuple[Curve, int, int], Score] = {}

    def score(self, curve: Curve, seeds: tuple[int, ...]) -> Score:
        """Over every size of incast and seed; runs that are held out have one sender more."""
        more = int(seeds == HELD_OUT)
        found = [self._run(curve, fan_in + more, seed) for fan_in, seed in product(self.fan_ins, seeds)]
        return Score(
            sum(it.utilisation for it in found) / len(found),
            sum(it.short_p99_ns for it in found) / len(found),
            exp(sum(log(max(it.power, _LEAST)) for it in found) / len(found)),
            sum(it.xoffs for it in found),
            sum(it.early_xoffs for it in found),
        )

    def _run(self, curve: Curve, fan_in: int, seed: int) -> Score:
        key = curve, fan_in, seed
        if key not in self._found:
            self.runs += 1
            self._found[key] = self._simulate(curve, fan_in, seed)
        return self._found[key]

    def _simulate(self, curve: Curve, fan_in: int, seed: int) -> Score:
        port = self.port
        names = [f"sender{number}" for number in range(1, fan_in + 1)]
        marking = {
            "kmin": f"{curve.kmin_bytes}B",
            "kmax": f"{max(curve.kmax_bytes, curve.kmin_bytes)}B",
            "pmax": curve.pmax_percent / 100,
        }
        size = rate_bytes(port.speed_mbps, END_PS)  # more than a sender can send
        data = {
            "topology": star(port, [*names, *_SHORT_SENDERS, "receiver"]),
            "switches": switch(port, self.pool, self.buffer, ecn=marking),
            "hosts": {"mtu": f"{port.mtu}B"},
            "transport": {"mtu": f"{port.roce_mtu}B", "cc": self.control},
            "workload": [
                {"kind": "incast", "name": "long", "receiver": "receiver", "senders": names,
                 "size": f"{size}B", "jitter": f"{_JITTER_PS}ps"},
                {"kind": "incast", "name": "short", "receiver": "receiver", "senders": list(_SHORT_SENDERS),
                 "size": f"{SHORT_BYTES}B", "jitter": f"{_JITTER_PS}ps", "repeat": END_PS // _SHORT_EVERY_PS,
                 "interval": f"{_SHORT_EVERY_PS}ps", "start": f"{_JITTER_PS}ps"},
            ],
            "run": {"duration": f"{END_PS}ps", "seed": seed, "stop": "duration"},
        }  # fmt: skip
        done = simulate(data, END_PS, WARM_PS)
        xoff, mark = done.first_ps(EventKind.PAUSE_SENT), done.first_ps(EventKind.MARK)
        early = xoff is not None and (mark is None or xoff < mark)
        short = done.completion_ps(SHORT_BYTES, WARM_PS)
        used = done.busy_ps("receiver") / (END_PS - WARM_PS)
        p99_ns = float(short[-(-99 * short.size // 100) - 1]) / PS_PER_NS
        return Score(used, p99_ns, used / p99_ns * 1e6, done.xoffs([*names, *_SHORT_SENDERS]), int(early))

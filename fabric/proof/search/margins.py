"""How much each quantity of a class may grow before the first mark, pause, use of headroom, loss.

A quantity is bisected with runs: what a value reaches, every larger one reaches, which is tested at values between
the found ones. For the cable and the response there is a closed form (fabric/theory/headroom.py), which counts the
worst phase of everything; the runs try four phases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from fabric.configs.buffers.headroom import Assumptions, hop_of, quanta_bytes
from fabric.proof.search import families
from fabric.proof.search.bench import HALF, MOST_MTU, Bench, Moved, Traffic
from fabric.proof.search.rungs import RUNGS, Rungs
from fabric.proof.search.runs import Runs
from fabric.theory.headroom import cells, need_bytes

REFERENCE_BYTES: Final = 2**20
"""That each sender sends while the fan-in grows."""
_TIMES_THE_BUFFER: Final = 6
"""What all senders send together at most."""
MOST_METRES: Final = 10_000
ROCE_MTUS: Final = (256, 512, 1024, 2048, 4096)
_TOLERANCE: Final = 100
"""A continuous quantity is found to a part of this."""
_BETWEEN: Final = 2
"""Values between that test monotony."""
_PERCENT: Final = 100


@dataclass(frozen=True, slots=True)
class Margin:
    """One quantity."""

    name: str
    unit: str
    now: int | None
    """As configured; None: the configuration does not state it."""
    limit: int
    """Largest value that was tried."""
    first: Mapping[str, int | None]
    """Rung to the least value that reaches it; None: not up to the limit. A rung that it does not move is left out."""
    formula: int | None = None
    """Largest value without loss, by the closed form."""
    note: str = ""
    """Where runs and closed form disagree, or where growth does not make it worse."""
    losing: tuple[int, ...] | None = None
    """Instead of `first`: the values that lose, of a quantity that does not grow."""


@dataclass
class _Scan:
    """Runs of one quantity, kept."""

    at: Callable[[int], list[Rungs]]
    known: dict[int, list[Rungs]] = field(default_factory=dict)

    def reached(self, value: int, rung: str) -> bool:
        if value not in self.known:
            self.known[value] = self.at(value)
        return any(it.reached(rung) for it in self.known[value])

    def first(self, rung: str, low: int, high: int) -> int | None:
        """The least value that reaches a rung."""
        if self.reached(low, rung):
            return low
        if not self.reached(high, rung):
            return None
        below = [it for it in self.known if not self.reached(it, rung)]
        above = [it for it in self.known if self.reached(it, rung)]
        low, high = max((it for it in below if it < min(above)), default=low), min(above)
        while high - low > max(1, low // _TOLERANCE):
            middle = int((low * high) ** 0.5) if high > 4 * low > 0 else (low + high) // 2
            if self.reached(middle, rung):
                high = middle
            else:
                low = middle
        return high

    def least(self, rung: str) -> int | None:
        """The least value of all that were tried that reaches a rung."""
        return min((it for it in self.known if self.reached(it, rung)), default=None)

    def falls(self, rung: str, found: int | None, high: int) -> int | None:
        """A larger value that does not reach the rung, of those tried between."""
        if found is None or high <= found + 1:
            return None
        step = (high - found) / (_BETWEEN + 1)
        return next((v for n in range(1, _BETWEEN + 1) if not self.reached(v := found + round(n * step), rung)), None)


def _grown(name: str, unit: str, now: int | None, scan: _Scan, low: int, high: int) -> Margin:
    first = {rung: scan.first(rung, low, high) for rung in RUNGS}
    falls = [f"no {rung} at {value:,}" for rung in RUNGS if (value := scan.falls(rung, first[rung], high)) is not None]
    return Margin(name, unit, now, high, first, note="not monotone: " + ", ".join(falls) if falls else "")


def _fan_in(bench: Bench, runs: Runs) -> Margin:
    scan = _Scan(lambda n: [_played(runs, bench, families.incast(bench, n, REFERENCE_BYTES, families.PAIRS))])
    return _grown("fan-in", "senders", None, scan, 1, len(bench.senders))


def _load(bench: Bench, runs: Runs) -> Margin:
    most = len(bench.senders)
    high = max(REFERENCE_BYTES, _TIMES_THE_BUFFER * families.buffer_bytes(bench, most) // most)
    scan = _Scan(lambda size: [_played(runs, bench, families.incast(bench, most, size, families.PAIRS))])
    return _grown("load", "B a sender", None, scan, families.PAIRS * 256, high)


def _played(runs: Runs, bench: Bench, traffic: Traffic) -> Rungs:
    """A run of the fabric as configured: what it loses is a finding of the search."""
    rungs = runs.run(bench, traffic)
    if rungs.bad:
        runs.keep(bench, traffic, rungs)
    return rungs


def _phased(runs: Runs, bench: Bench, moved: Moved) -> list[Rungs]:
    """The storm, with frames against the pauses in several phases; it ends with the first loss."""
    found = []
    for phase_ns in families.phases(bench):
        found.append(runs.run(bench, families.storm(bench, 1, against=True, phase_ns=phase_ns), moved))
        if found[-1].bad:
            break
    return found


def _lost_from(name: str, unit: str, now: int | None, scan: _Scan, low: int, high: int) -> Margin:
    return Margin(name, unit, now, high, {"loss": scan.first("loss", low, high)})


def _cable(bench: Bench, runs: Runs) -> Margin:
    now = max(1, bench.member.kind.cable_m)
    scan = _Scan(lambda metres: _phased(runs, bench, Moved(cable_m=metres)))
    found = _lost_from("cable", "m", now, scan, now, max(MOST_METRES, now))
    return _compared(found, largest(lambda metres: _need(bench, metres, HALF), _has(bench), MOST_METRES))


def _response(bench: Bench, runs: Runs) -> Margin:
    now = round(HALF * _PERCENT)
    scan = _Scan(lambda share: _phased(runs, bench, Moved(response=share / _PERCENT)))
    found = _lost_from("response", "% of 31B.3.7", now, scan, 0, _PERCENT)
    metres = bench.member.kind.cable_m
    return _compared(found, largest(lambda share: _need(bench, metres, share / _PERCENT), _has(bench), _PERCENT))


def _speed(bench: Bench, runs: Runs) -> Margin:
    speeds = [it for it in families.SPEEDS_MBPS if it > bench.mbps]
    lost = next((it for it in speeds if any(r.bad for r in _phased(runs, bench, Moved(speed_mbps=it)))), None)
    return Margin("speed", "Mb/s", bench.mbps, max(speeds, default=bench.mbps), {"loss": lost})


def _against(bench: Bench, runs: Runs) -> Margin:
    scan = _Scan(lambda size: _phased(runs, bench, Moved(against_bytes=size)))
    return _lost_from("other traffic's MTU", "B", bench.member.kind.mtu, scan, 576, MOST_MTU)


def _roce_mtu(bench: Bench, runs: Runs) -> Margin:
    now = int(bench.lowering.sections["transport"].get("mtu", "4096B")[:-1])
    losing = tuple(
        size
        for size in ROCE_MTUS
        if size + 100 <= bench.member.kind.mtu and any(it.bad for it in _phased(runs, bench, Moved(roce_mtu=size)))
    )
    return Margin("RoCE MTU", "B", now, max(ROCE_MTUS), {}, losing=losing)


QUANTITIES: Final[Mapping[str, Callable[[Bench, Runs], Margin]]] = {
    "fan-in": _fan_in,
    "load": _load,
    "cable": _cable,
    "speed": _speed,
    "other traffic's MTU": _against,
    "RoCE MTU": _roce_mtu,
    "response": _response,
}
OF_SEVERAL: Final = frozenset({"fan-in", "load", "other traffic's MTU"})
"""Those that need a third port."""


# The closed form ------------------------------------------------------------------------------------------------------


def largest(need: Callable[[int], int], has: int, limit: int) -> int | None:
    """The largest value up to a limit whose need is met; None where 0 is too much already."""
    if need(0) > has:
        return None
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if need(middle) <= has else (low, middle - 1)
    return low


def _need(bench: Bench, metres: int, share: float) -> int:
    kind = bench.member.kind
    response_ps = round(share * quanta_bytes(bench.mbps) * 8_000_000 / bench.mbps)
    roce_mtu = int(bench.lowering.sections["transport"].get("mtu", "4096B")[:-1])
    assumed = Assumptions(response=response_ps, latency_ps=0)
    return need_bytes(hop_of(bench.mbps, metres, kind.mtu, assumed, cell_bytes=kind.asic.cell_bytes, roce_mtu=roce_mtu))


def _has(bench: Bench) -> int:
    """Headroom of one group, in whole cells, as lowered; at most what a shared headroom pool has."""
    end = f"{bench.member.device}:{bench.member.port}"
    own = next(it for it in bench.lowering.sections["switches"]["overrides"] if it.get("port") == end)
    text = own.get("buffer", {}).get("headroom", "0B")
    has = cells(int(text[:-1]), bench.member.kind.asic.cell_bytes) if text != "auto" else 0
    switch = next(it for it in bench.lowering.sections["switches"]["overrides"] if "switch" in it)
    shared = switch.get("shared_headroom", "off")
    return has if shared == "off" else min(has, int(shared[:-1]))


def _compared(found: Margin, formula: int | None) -> Margin:
    """With the closed form, and a note where a run loses although it says enough."""
    lost = found.first["loss"]
    formula = -1 if formula is None else formula
    note = ""
    if lost is not None and lost <= formula:
        note = f"a run loses at {lost:,}, the closed form allows {formula:,}"
    return replace(found, formula=formula, note=note)

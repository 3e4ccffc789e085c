"""Time, memory and disk space of a measurement before it begins, from rows that were measured, by the number of cables.

Reading and checking take work for each cable (tests/validate/test_scale.py). Times are processor seconds of the machine
that measured the rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.configs.measure import Measured
from bench.configs.plan import shape_of
from fabric.errors import Problem
from fabric.scenario.estimate.machine import Limit, disk, machine
from fabric.units import format_duration_s, format_measured_bytes
from fabric.visible import visible

MIB: Final = 2**20


@dataclass(frozen=True, slots=True)
class Pair:
    """One language at one size, to be measured."""

    language: str
    switches: int
    mutants: int


@dataclass(frozen=True, slots=True)
class Cost:
    """What one measurement is likely to take."""

    prepare_s: float
    """To write the files; 0: no row has measured it."""
    run_s: float
    """To read and check the fabric once."""
    runs: int
    """The working fabric, and each mutant."""
    memory_mib: float
    """Largest process."""
    disk_bytes: int
    """Files, which are removed at the end; 0: no row has measured it."""
    origin: Measured
    """The row that it is computed from."""

    @property
    def total_s(self) -> float:
        """Of the whole measurement."""
        return self.prepare_s + self.runs * self.run_s


def cost(pair: Pair, rows: Sequence[Measured]) -> Cost:
    """The cost by the row nearest in size, of the same language if there is one. `rows` has at least one."""
    mine = [it for it in rows if it.language == pair.language] or rows
    nearest = _nearest(pair, mine)
    written = [it for it in mine if it.prepare_s]
    prepared = _nearest(pair, written) if written else None
    runs = [nearest.healthy_s, *(it.seconds for it in nearest.rows)]
    return Cost(
        prepare_s=0.0 if prepared is None else prepared.prepare_s * _ratio(pair, prepared),
        run_s=sum(runs) / len(runs) * _ratio(pair, nearest),
        runs=1 + pair.mutants,
        memory_mib=_memory_mib(pair, nearest, mine),
        disk_bytes=0 if prepared is None else round(prepared.files_bytes * _ratio(pair, prepared)),
        origin=nearest,
    )


def _nearest(pair: Pair, rows: Sequence[Measured]) -> Measured:
    return min(rows, key=lambda it: abs(math.log(it.switches / pair.switches)))


def _ratio(pair: Pair, row: Measured) -> float:
    return _cables(pair) / _cables(row)


def _cables(it: Pair | Measured) -> int:
    return shape_of(it.switches).cables


def _memory_mib(pair: Pair, nearest: Measured, rows: Sequence[Measured]) -> float:
    """On the line through the smallest row, which is mostly the interpreter, and the nearest."""
    smallest = min(rows, key=lambda it: it.switches)
    if smallest.switches == nearest.switches:
        return max(nearest.memory_mib, nearest.memory_mib * _ratio(pair, nearest))
    low, high, wanted = _cables(smallest), _cables(nearest), _cables(pair)
    slope = max(0.0, (nearest.memory_mib - smallest.memory_mib) / (high - low))
    return smallest.memory_mib + slope * (wanted - low)


@dataclass(frozen=True, slots=True)
class Bill:
    """All measurements of a call, one after the other, against the machine."""

    costs: Mapping[Pair, Cost]
    memory: Limit | None
    """None: the system does not report it."""
    disk: Limit | None
    """As above."""

    @property
    def total_s(self) -> float:
        """Processor time, the whole time of a quiet machine."""
        return sum(it.total_s for it in self.costs.values())

    @property
    def memory_bytes(self) -> int:
        """Of the largest process."""
        return round(max((it.memory_mib for it in self.costs.values()), default=0.0) * MIB)

    @property
    def disk_bytes(self) -> int:
        """Of the largest measurement, whose files are removed before the next; 0: not known."""
        return max((it.disk_bytes for it in self.costs.values()), default=0)

    def problems(self) -> list[Problem]:
        """Why it would fail on this machine."""
        rows = (("memory", self.memory_bytes, self.memory), ("disk", self.disk_bytes, self.disk))
        return [
            Problem(
                name,
                f"it needs about {format_measured_bytes(need, 3)}, and {limit.name} has "
                f"{format_measured_bytes(limit.free_bytes, 3)}",
                "give fewer --switches, or free some",
            )
            for name, need, limit in rows
            if limit is not None and need > limit.free_bytes
        ]


def bill(pairs: Sequence[Pair], rows: Sequence[Measured], folder: Path) -> Bill:
    """The costs of all measurements, and the machine; their files are below `folder`."""
    return Bill({it: cost(it, rows) for it in pairs}, machine().memory, disk(folder))


def text(it: Bill) -> str:
    """A line for each measurement, and the whole."""
    lines = [
        f"{pair.language} {pair.switches:,}: about {format_duration_s(each.total_s)} for {each.runs} runs of "
        f"{format_duration_s(each.run_s)}, {each.memory_mib:,.0f} MiB (from {each.origin.switches:,} switches)"
        for pair, each in it.costs.items()
    ]
    unknown = "" if all(each.prepare_s for each in it.costs.values()) else ", without writing some of the files"
    lines.append(f"time: about {format_duration_s(it.total_s)} of one core in all{unknown}")
    lines.append(f"memory: about {format_measured_bytes(it.memory_bytes, 3)}{_free(it.memory)}")
    space = f"about {format_measured_bytes(it.disk_bytes, 3)}" if it.disk_bytes else "not known, no row has measured it"
    lines.append(f"disk: {space}{_free(it.disk)}")
    return "\n".join(lines)


def _free(limit: Limit | None) -> str:
    if limit is None:
        return ""
    return f"; {visible(limit.name)} has {format_measured_bytes(limit.free_bytes, 3)}"

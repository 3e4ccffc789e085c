"""Time and memory of a measurement before it begins, from rows that were measured, in proportion to the cables.

Reading and checking take work for each cable (tests/validate/test_scale.py). Times are processor seconds of the machine
that measured the rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bench.configs.measure import Measured
from bench.configs.plan import SHAPES


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
    """To write the files."""
    run_s: float
    """To read and check the fabric once."""
    runs: int
    """The working fabric, and each mutant."""
    memory_mib: float
    """Largest process."""
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
        origin=nearest,
    )


def _nearest(pair: Pair, rows: Sequence[Measured]) -> Measured:
    return min(rows, key=lambda it: abs(math.log(it.switches / pair.switches)))


def _ratio(pair: Pair, row: Measured) -> float:
    return SHAPES[pair.switches].cables / SHAPES[row.switches].cables


def _memory_mib(pair: Pair, nearest: Measured, rows: Sequence[Measured]) -> float:
    """On the line through the smallest row, which is mostly the interpreter, and the nearest."""
    smallest = min(rows, key=lambda it: it.switches)
    if smallest.switches == nearest.switches:
        return max(nearest.memory_mib, nearest.memory_mib * _ratio(pair, nearest))
    low, high, wanted = (SHAPES[it.switches].cables for it in (smallest, nearest, pair))
    slope = max(0.0, (nearest.memory_mib - smallest.memory_mib) / (high - low))
    return smallest.memory_mib + slope * (wanted - low)

"""What all formats say of a result, in words: counters, durations, the verdict."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

from fabric.qualify.report import Report, Result, Row
from fabric.qualify.schema import LeftOutSpec
from fabric.units import count, format_size_bytes, format_time_ps, listed

COLOURS: Final = ("green", "red", "not run", "reported")
SHOWN_ROWS: Final = 4
_MOST_STATISTICS: Final = 8
"""Of a KPI."""


def number(row: Row, value: float) -> str:
    """A counter with its unit."""
    unit = row.about.unit
    if math.isnan(value):
        return "no counter"
    if unit == "time":
        return format_time_ps(value)
    if unit == "bytes" and not row.about.counter.startswith("KPI"):
        return format_size_bytes(round(value))
    if unit == "rate":
        return f"{value / 10**9:.2f} Gbit/s"
    if unit == "ratio":
        return f"{value:.3f}"
    if unit not in {"", "share"}:
        return f"{value:.5g} {unit}"
    return f"{value:.2%}" if unit == "share" else f"{value:.0f}"


def row_text(row: Row) -> str:
    """'naks(lossless) Ethernet0 to Ethernet8 Q3: 12'."""
    counts = row.about.counter.startswith("tester") and not row.about.unit
    beside = "the switch counts" if counts else "compared with"
    other = "" if row.other is None else f", {beside} {number(row, row.other)}"
    name = row.measure.removesuffix("(kpi)")
    return f"{name} {row.label}: {number(row, row.value)}{other}"


def shown_rows(result: Result, most: int = SHOWN_ROWS) -> list[str]:
    """Rows that fail, or of a check that holds the largest of each measure; what is left out is counted."""
    if all(it.about.counter.startswith("KPI") for it in result.rows):
        rows, most = list(result.rows), _MOST_STATISTICS
    elif result.colour == "red":
        rows = [it for it in result.rows if not it.ok]
    else:
        rows = [max((it for it in result.rows if it.measure == name), key=lambda it: it.value)
                for name in dict.fromkeys(it.measure for it in result.rows)]  # fmt: skip
    left = len(result.rows) - min(most, len(rows))
    texts = list(map(row_text, rows[:most]))
    return [*texts, f"and {count(left, 'further row')}"] if left > 0 and texts else texts


def tally(runs: Sequence[Report]) -> Counter[str]:
    """Checks by colour."""
    return Counter(it.colour for one in runs for it in one.results)


def verdict(runs: Sequence[Report]) -> str:
    """'22 green, 1 red; 2 findings about the configuration'."""
    found = tally(runs)
    parts = [f"{found[colour]} {colour}" for colour in COLOURS if found[colour]]
    lacking = sum(len(one.findings) for one in runs)
    return ", ".join(parts) + (f"; {count(lacking, 'finding')} about the set-up" if lacking else "")


def all_green(runs: Sequence[Report]) -> bool:
    """Whether exit code 0 is due: something was run, and all of it is green."""
    return bool(runs) and all(one.green for one in runs)


def not_emulated(runs: Sequence[Report], left_out: Sequence[LeftOutSpec] = ()) -> list[str]:
    """Whole cases, then parts of the plan, then of the configuration, each once."""
    found = [f"{it.case}, {it.title}: {it.left_out}" for it in left_out]
    found += [f"{one.case.case}: {text}" for one in runs for text in one.case.not_emulated]
    return list(dict.fromkeys([*found, *(text for one in runs for text in one.not_lowered)]))


def assumed(runs: Sequence[Report]) -> list[str]:
    """What neither the configuration nor the plan states, each once, alike ones of many ports together."""
    groups: dict[str, list[str]] = {}
    for text in dict.fromkeys(it for one in runs for it in one.assumed):
        where, _, what = text.partition(" ")
        groups.setdefault(what or where, []).append(where)
    return [f"{what} ({listed(places, 1)})" for what, places in groups.items()]

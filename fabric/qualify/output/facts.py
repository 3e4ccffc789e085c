"""What all formats say of a result, in words: counters, durations, the verdict."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

from fabric.qualify.judge import Played, Result, Row
from fabric.qualify.schema import LeftOutSpec
from fabric.units import count, format_size_bytes, format_time_ps, listed

COLOURS: Final = ("green", "red", "not run", "reported")
_SHOWN_PORTS: Final = 8
SHOWN_ROWS: Final = 4


def number(row: Row, value: float) -> str:
    """A counter with its unit."""
    unit = row.about.unit
    if math.isnan(value):
        return "no counter"
    if unit == "time":
        return format_time_ps(value)
    if unit == "bytes":
        return format_size_bytes(round(value))
    return f"{value:.2%}" if unit == "share" else f"{value:.0f}"


def row_text(row: Row) -> str:
    """'naks(lossless) Ethernet0 to Ethernet8 Q3: 12'."""
    beside = "the switch counts" if row.about.counter.startswith("tester") else "compared with"
    other = "" if row.other is None else f", {beside} {number(row, row.other)}"
    return f"{row.measure} {row.label}: {number(row, row.value)}{other}"


def shown_rows(result: Result, most: int = SHOWN_ROWS) -> list[str]:
    """Rows that fail, or of a check that holds the largest of each measure; what is left out is counted."""
    if result.colour == "red":
        rows = [it for it in result.rows if not it.ok]
    else:
        rows = [max((it for it in result.rows if it.measure == name), key=lambda it: it.value)
                for name in dict.fromkeys(it.measure for it in result.rows)]  # fmt: skip
    left = len(result.rows) - min(most, len(rows))
    texts = list(map(row_text, rows[:most]))
    return [*texts, f"and {count(left, 'further row')}"] if left > 0 and texts else texts


def tally(played: Sequence[Played]) -> Counter[str]:
    """Checks by colour."""
    return Counter(it.colour for one in played for it in one.results)


def verdict(played: Sequence[Played]) -> str:
    """'22 green, 1 red; 2 findings about the configuration'."""
    found = tally(played)
    parts = [f"{found[colour]} {colour}" for colour in COLOURS if found[colour]]
    lacking = sum(len(one.findings) for one in played)
    return ", ".join(parts) + (f"; {count(lacking, 'finding')} about the set-up" if lacking else "")


def all_green(played: Sequence[Played]) -> bool:
    """Whether exit code 0 is due: something was run, and all of it is green."""
    return bool(played) and all(one.green for one in played)


def setup_text(one: Played) -> str:
    """Ports, durations, and whether the halves of the window agree."""
    if one.trial is None:
        return "not run"
    bench, trial = one.bench, one.trial
    times = one.case.times
    ports = f"{count(len(bench.ports), 'port')} of {bench.mbps / 1000:g}G ({listed(list(bench.ports), _SHOWN_PORTS)})"
    if bench.untried:
        ports += (
            f", without {count(len(bench.untried), 'other port')} that {'is' if len(bench.untried) == 1 else 'are'} up"
        )
    window = f"{format_time_ps(trial.start.time_ps)} to {format_time_ps(trial.stop.time_ps)}"
    agree = f"its halves agree within {trial.disagreement:.2%} of the port's rate"
    if not trial.steady:
        agree = f"its halves differ by {trial.disagreement:.1%} of the port's rate: no steady state"
    end = "" if one.case.ends == "stopped" else "; counters of the whole run are read after all frames have arrived"
    if one.case.ends == "drained" and not trial.drained:
        end = "; not everything has arrived at the end of the run"
    return (
        f"{ports}; {format_time_ps(trial.end.time_ps)} simulated of the plan's {format_time_ps(times.plan)}; "
        f"window {window}, {agree}{end}"
    )


def not_emulated(played: Sequence[Played], left_out: Sequence[LeftOutSpec] = ()) -> list[str]:
    """Whole cases, then parts of the plan, then of the configuration, each once."""
    found = [f"{it.case}, {it.title}: {it.left_out}" for it in left_out]
    found += [f"{one.case.case}: {text}" for one in played for text in one.case.not_emulated]
    return list(dict.fromkeys([*found, *(text for one in played for text in one.bench.not_lowered)]))


def assumed(played: Sequence[Played]) -> list[str]:
    """What neither the configuration nor the plan states, each once, alike ones of many ports together."""
    groups: dict[str, list[str]] = {}
    for text in dict.fromkeys(it for one in played for it in one.bench.assumed):
        where, _, what = text.partition(" ")
        groups.setdefault(what or where, []).append(where)
    return [f"{what} ({listed(places, 1)})" for what, places in groups.items()]

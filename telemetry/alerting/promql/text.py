"""Expressions as PromQL."""

from __future__ import annotations

from typing import Final

from telemetry.alerting.promql.model import (
    SETS,
    Aggregate,
    Binary,
    Expr,
    Latched,
    Number,
    Over,
    Relabel,
    Select,
    Timing,
)

_UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms"))


def duration(ms: int) -> str:
    """90000 -> '1m30s'; '0s' for 0."""
    parts = []
    for size, unit in _UNITS:
        count, ms = divmod(ms, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def promql(expr: Expr, timing: Timing) -> str:
    """PromQL text. `and`, `or` and `unless` begin a line, so that a long condition reads as a list."""
    match expr:
        case Number(value):
            return f"{value:.12g}"
        case Select(metric, where):
            matchers = ", ".join(f'{name}{how}"{value}"' for name, how, value in where)
            return f"{metric}{{{matchers}}}" if matchers else metric
        case Over(function, of, window_s):
            return f"{function}({promql(of, timing)}[{duration(timing.ms(window_s))}])"
        case Aggregate(operator, of, labels):
            return f"{operator} without ({', '.join(labels)}) ({promql(of, timing)})"
        case Relabel(of, to, source, pattern):
            return f'label_replace({promql(of, timing)}, "{to}", "$1", "{source}", "{pattern}")'
        case Latched(begins, lasts):
            return f"{_operand(begins, timing)}\nor {_operand(lasts, timing)}"
        case Binary(symbol, left, right, matching):
            how = ""
            if matching is not None:
                how = f" on ({', '.join(matching.on)})"
                if matching.group_left is not None:
                    how += f" group_left ({', '.join(matching.group_left)})"
            gap = "\n" if symbol in SETS else " "
            return f"{_operand(left, timing)}{gap}{symbol}{how} {_operand(right, timing)}"


def _operand(expr: Expr, timing: Timing) -> str:
    text = promql(expr, timing)
    return f"({text})" if isinstance(expr, Binary) else text

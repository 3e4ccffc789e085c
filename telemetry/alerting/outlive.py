"""How long an alert keeps firing (`keep_firing_for`) after its expression has become false.

An alert that explains others (telemetry/alerting/inhibitions.py) must resolve after them. Alertmanager mutes the others
only while it fires, so otherwise each of them would become a ticket after the end of the incident. Without this delay
it could resolve first: the share over the last minute falls below 95 % within seconds, and below 5 % only after nearly
a minute.

    kept(source) = the longest, over its targets, of  memory + settle + kept(target) + MARGIN_S;  0 without targets

    memory    how long the target's expression still includes a symptom that has ended: its range windows
    settle    how long the symptom itself may outlast the cause (Alert.settle_s)
    MARGIN_S  the cause ends between two scrapes and the next evaluation detects it, so each end may be detected one
              scrape interval late; one more evaluation, because notifications of one evaluation are sent in sequence

Source: keep_firing_for as of Prometheus 2.42.0, rules/alerting.go (Eval).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from telemetry.alerting.alerts import BY_NAME
from telemetry.alerting.inhibitions import INHIBITIONS
from telemetry.alerting.promql.model import Aggregate, Binary, Expr, Latched, Number, Over, Relabel, Select, Symbol
from telemetry.alerting.rules import RECORDINGS, SCRAPE_S

MARGIN_S: Final = 2 * SCRAPE_S

_RECORDED: Final[Mapping[str, Expr]] = {rule.name: rule.expr for rule in RECORDINGS}


@cache
def kept_s(name: str) -> int:
    """`keep_firing_for` of an alert in nominal seconds; 0: it resolves at once."""
    targets = {target for rule in INHIBITIONS if rule.source == name for target in rule.targets}
    return max((memory_s(BY_NAME[it].expr) + BY_NAME[it].settle_s + kept_s(it) + MARGIN_S for it in targets), default=0)


def memory_s(expr: Expr) -> int:
    """How long an expression may still have a row for a symptom that has ended, in nominal seconds.

    Windows that cannot keep a row are not counted: the right sides of `and` and `unless`, which only remove rows, and
    the divisor of a ratio that is compared with `<`, which is the reference value.
    """
    return int(_memory(expr, low=False))


def _memory(expr: Expr, *, low: bool) -> float:
    match expr:
        case Number():
            return 0
        case Select(metric=metric):
            return _memory(_RECORDED[metric], low=low) if metric in _RECORDED else 0
        case Over(of=of, window_s=window_s):
            return window_s + _memory(of, low=low)
        case Aggregate(of=of) | Relabel(of=of) | Latched(begins=of):  # what lasts ends with its condition
            return _memory(of, low=low)
        case Binary(symbol=symbol, left=left, right=right):
            low = low or (symbol in {Symbol.LESS, Symbol.AT_MOST} and not _bounded_below(left))
            if symbol in {Symbol.AND, Symbol.UNLESS} or (symbol is Symbol.DIVIDE and low):
                return _memory(left, low=low)
            return max(_memory(left, low=low), _memory(right, low=low))


def _bounded_below(expr: Expr) -> bool:
    """Whether the expression keeps high values, so that an enclosing `<` only removes the highest."""
    return isinstance(expr, Binary) and expr.symbol in {Symbol.GREATER, Symbol.AT_LEAST}

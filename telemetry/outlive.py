"""How long an alert is kept firing (`keep_firing_for`) after its expression has become false.

An alert that explains others (telemetry/inhibitions.py) must resolve after them: Alertmanager mutes the others only
while it fires, so each of them would become a ticket when the trouble is already over. It could resolve first, because
a threshold of 95 % over the last minute is left within seconds, and one of 5 % after nearly a minute.

    kept(source) = the longest, over its targets, of  memory + settle + kept(target) + MARGIN_S;  0 without targets

    memory    how long the target's expression still sees a symptom that has ended: the windows it looks back over
    settle    how long the symptom itself may outlast the cause (Alert.settle_s)
    MARGIN_S  the cause ends between two scrapes and is seen at the next evaluation, so each end may be seen late by one
              scrape interval; one evaluation more, because notifications of one evaluation leave one after the other

Source: keep_firing_for as of Prometheus 2.42.0, rules/alerting.go (Eval).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from telemetry.alerts import BY_NAME
from telemetry.inhibitions import INHIBITIONS
from telemetry.promql.model import Aggregate, Binary, Expr, Number, Over, Relabel, Select, Symbol
from telemetry.rules import RECORDINGS, SCRAPE_S

MARGIN_S: Final = 2 * SCRAPE_S

_RECORDED: Final[Mapping[str, Expr]] = {rule.name: rule.expr for rule in RECORDINGS}


@cache
def kept_s(name: str) -> int:
    """`keep_firing_for` of an alert in nominal seconds; 0: it resolves at once."""
    targets = {target for rule in INHIBITIONS if rule.source == name for target in rule.targets}
    return max((memory_s(BY_NAME[it].expr) + BY_NAME[it].settle_s + kept_s(it) + MARGIN_S for it in targets), default=0)


def memory_s(expr: Expr) -> int:
    """How long after a symptom has ended an expression may still have a row for it, in nominal seconds.

    Not counted are windows that cannot keep a row: the right sides of `and` and `unless`, which only take rows away, and
    the divisor of a share that is compared with `<`, which says what is normal.
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
        case Aggregate(of=of) | Relabel(of=of):
            return _memory(of, low=low)
        case Binary(symbol=symbol, left=left, right=right):
            low = low or symbol in {Symbol.LESS, Symbol.AT_MOST} and not _bounded_below(left)
            if symbol in {Symbol.AND, Symbol.UNLESS} or (symbol is Symbol.DIVIDE and low):
                return _memory(left, low=low)
            return max(_memory(left, low=low), _memory(right, low=low))


def _bounded_below(expr: Expr) -> bool:
    """Whether rows are kept for being high, and a `<` around it only cuts off the highest."""
    return isinstance(expr, Binary) and expr.symbol in {Symbol.GREATER, Symbol.AT_LEAST}

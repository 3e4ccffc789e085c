"""The labels of an expression's rows, and a check that every metric and label in it exists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from telemetry.alerting.promql.model import SETS, Aggregate, Binary, Expr, Latched, Number, Over, Relabel, Select

TARGET: Final = frozenset({"job", "instance"})
"""Labels that Prometheus adds to every scraped series."""


class UnknownNameError(Exception):
    """A rule names a metric or a label that does not exist."""


def labels_of(expr: Expr, known: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Label names of an expression's rows.

    Parameters
    ----------
    expr : Expr
    known : metric or recorded name -> its labels, those of the target included

    Returns: names; a scalar has none.
    Raises: UnknownNameError.
    """
    match expr:
        case Number():
            return frozenset()
        case Select(metric, where):
            if metric not in known:
                raise UnknownNameError(f"there is no metric {metric}")
            _need((name for name, _, _ in where), known[metric], metric)
            return known[metric]
        case Over(of=of):
            return labels_of(of, known)
        case Aggregate(of=of, without=gone):
            inner = labels_of(of, known)
            _need(gone, inner, "the aggregated vector")
            return inner - set(gone)
        case Relabel(of, to, source):
            inner = labels_of(of, known)
            _need((source,), inner, "label_replace")
            return inner | {to}
        case Latched(begins=begins):
            return labels_of(begins, known)
        case Binary(symbol, left, right, matching):
            here, there = labels_of(left, known), labels_of(right, known)
            if isinstance(right, Number):
                return here
            if isinstance(left, Number):
                return there
            if matching is None:
                if here != there:
                    raise UnknownNameError(f"{symbol} joins rows of different labels: {sorted(here ^ there)}")
                return here
            _need(matching.on, here, "the left side")
            _need(matching.on, there, "the right side")
            if symbol in SETS:
                return here
            if matching.group_left is None:
                return frozenset(matching.on)
            _need(matching.group_left, there, "the right side")
            return here | set(matching.group_left)


def _need(names: Iterable[str], there: frozenset[str], where: str) -> None:
    missing = [name for name in names if name not in there]
    if missing:
        raise UnknownNameError(f"{where} has no label {', '.join(missing)}; it has {', '.join(sorted(there))}")

"""Expressions evaluated offline at all times of a grid at once, with Prometheus' semantics.

A Vector is the instant vector at every time: rows with labels, values and presence. Absent and NaN differ (0/0 is
present and NaN; NaN > 1 is absent), so presence is a separate array.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from telemetry.alerting.promql.model import (
    COMPARISONS,
    SETS,
    Aggregate,
    Binary,
    Expr,
    Latched,
    Matching,
    Number,
    Operator,
    Over,
    Relabel,
    Select,
    Symbol,
    Timing,
)
from telemetry.alerting.promql.series import Bools, Database, Floats, Labels, Series, Times, at, labels, over


class MatchingError(Exception):
    """Two vectors whose rows match neither one to one nor many to one; Prometheus refuses them, too."""


@dataclass(frozen=True)
class Row:
    """One row of a vector over time."""

    labels: Labels
    values: Floats
    """(n_grid,); undefined where the row is absent."""
    present: Bools
    """(n_grid,)."""


Vector = list[Row]


def evaluate(expr: Expr, database: Database, grid_ms: Times, timing: Timing) -> Vector:
    """An expression at every moment of the grid.

    Parameters
    ----------
    expr : Expr            must have a vector as value
    database : Database    raw series and recorded series
    grid_ms : (n,) int64   ascending moments of evaluation
    timing : Timing        how long windows are

    Returns: rows that are present at one time or more.
    Raises: MatchingError.
    """
    found = _value(expr, database, grid_ms, timing)
    if isinstance(found, float):
        raise TypeError("a rule's value is a vector, not a scalar")
    return [row for row in found if row.present.any()]


def _value(expr: Expr, database: Database, grid_ms: Times, timing: Timing) -> Vector | float:
    match expr:
        case Number(value):
            return float(value)
        case Select():
            return [Row(one.labels, *at(one, grid_ms)) for one in _selected(expr, database)]
        case Over(function, of, window_s):
            return [
                Row(one.labels, *over(function, one, grid_ms, timing.ms(window_s))) for one in _selected(of, database)
            ]
        case Aggregate(operator, of, gone):
            return _aggregate(operator, evaluate(of, database, grid_ms, timing), frozenset(gone))
        case Relabel():
            return [
                Row(_relabelled(row.labels, expr), row.values, row.present)
                for row in evaluate(expr.of, database, grid_ms, timing)
            ]
        case Latched():
            raise TypeError("only a recording rule reads its own last result (telemetry/alerting/latch.py)")
        case Binary(symbol, left, right, matching):
            return _binary(
                symbol, _value(left, database, grid_ms, timing), _value(right, database, grid_ms, timing), matching
            )


def _relabelled(names: Labels, how: Relabel) -> Labels:
    """Labels after label_replace, which leaves them as they are where the pattern does not match."""
    given = dict(names)
    found = re.fullmatch(how.pattern, given.get(how.source, ""))
    return names if found is None else labels({**given, how.to: found.group(1)})


def _selected(of: Select, database: Database) -> list[Series]:
    return [one for one in database.series(of.metric) if _matches(dict(one.labels), of.where)]


def _matches(found: Mapping[str, str], where: Iterable[tuple[str, str, str]]) -> bool:
    for name, how, wanted in where:
        value = found.get(name, "")
        equal = value == wanted if how in {"=", "!="} else re.fullmatch(wanted, value) is not None
        if equal != (how in {"=", "=~"}):
            return False
    return True


_REDUCE: Final[Mapping[Operator, Callable[[Floats, Bools], Floats]]] = {
    Operator.SUM: lambda values, there: np.where(there, values, 0.0).sum(axis=0),
    Operator.COUNT: lambda _values, there: there.sum(axis=0).astype(np.float64),
    Operator.AVG: lambda values, there: np.where(there, values, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1),
    Operator.MAX: lambda values, there: np.where(there, values, -np.inf).max(axis=0),
    Operator.MIN: lambda values, there: np.where(there, values, np.inf).min(axis=0),
}


def _aggregate(operator: Operator, vector: Vector, gone: frozenset[str]) -> Vector:
    groups: dict[Labels, Vector] = {}
    for row in vector:
        groups.setdefault(tuple(pair for pair in row.labels if pair[0] not in gone), []).append(row)
    found = []
    for key, rows in groups.items():
        there = np.stack([row.present for row in rows])
        values = np.stack([row.values for row in rows])
        found.append(Row(key, _REDUCE[operator](values, there), np.any(there, axis=0)))
    return found


_ARITHMETIC: Final[Mapping[Symbol, np.ufunc]] = {
    Symbol.ADD: np.add,
    Symbol.SUBTRACT: np.subtract,
    Symbol.MULTIPLY: np.multiply,
    Symbol.DIVIDE: np.divide,
    Symbol.GREATER: np.greater,
    Symbol.LESS: np.less,
    Symbol.AT_LEAST: np.greater_equal,
    Symbol.AT_MOST: np.less_equal,
    Symbol.EQUAL: np.equal,
    Symbol.UNEQUAL: np.not_equal,
}


def _joined(symbol: Symbol, names: Labels, left: Floats, right: Floats | float, there: Bools, kept: Floats) -> Row:
    """A comparison filters and keeps the vector's value; arithmetic computes."""
    with np.errstate(all="ignore"):
        result = _ARITHMETIC[symbol](left, right)
    if symbol in COMPARISONS:
        return Row(names, kept, np.asarray(there & result))
    return Row(names, result, there)


def _binary(symbol: Symbol, left: Vector | float, right: Vector | float, matching: Matching | None) -> Vector:
    if isinstance(right, float) and not isinstance(left, float):
        return [_joined(symbol, row.labels, row.values, right, row.present, row.values) for row in left]
    if isinstance(left, float) and not isinstance(right, float):
        return [
            _joined(symbol, row.labels, np.full_like(row.values, left), row.values, row.present, row.values)
            for row in right
        ]
    if isinstance(left, float) or isinstance(right, float):
        raise TypeError("arithmetic of two scalars is for Python")
    if symbol in SETS:
        return _set(symbol, left, right, matching)
    return _matched(symbol, left, right, matching)


def _key(row: Row, matching: Matching | None) -> Labels:
    return row.labels if matching is None else tuple(pair for pair in row.labels if pair[0] in matching.on)


def _by_key(vector: Vector, matching: Matching | None) -> dict[Labels, Vector]:
    found: dict[Labels, Vector] = {}
    for row in vector:
        found.setdefault(_key(row, matching), []).append(row)
    return found


def _any(rows: Vector, like: Bools) -> Bools:
    there = np.zeros_like(like)
    for row in rows:
        there = np.logical_or(there, row.present)
    return there


def _set(symbol: Symbol, left: Vector, right: Vector, matching: Matching | None) -> Vector:
    if symbol is Symbol.OR:
        taken = _by_key(left, matching)
        rest = [
            Row(row.labels, row.values, row.present & ~_any(taken.get(_key(row, matching), []), row.present))
            for row in right
        ]
        return _merged([*left, *rest])
    others = _by_key(right, matching)
    found = []
    for row in left:
        there = _any(others.get(_key(row, matching), []), row.present)
        wanted = there if symbol is Symbol.AND else np.logical_not(there)
        found.append(Row(row.labels, row.values, row.present & wanted))
    return found


def _matched(symbol: Symbol, left: Vector, right: Vector, matching: Matching | None) -> Vector:
    """Pairs of equal key. On a "one" side, rows of one key must not be present at the same time."""
    lefts, rights = _by_key(left, matching), _by_key(right, matching)
    many = matching is not None and matching.group_left is not None
    found: Vector = []
    for key, rows in lefts.items():
        ones = rights.get(key, [])
        _refuse_crowd(ones, key, "right")
        if ones and not many:
            _refuse_crowd(rows, key, "left")
        for row in rows:
            for one in ones:
                names = row.labels
                if matching is not None and matching.group_left is None:
                    names = key
                elif matching is not None and matching.group_left:
                    given = dict(one.labels)
                    names = labels({**dict(row.labels), **{name: given.get(name, "") for name in matching.group_left}})
                found.append(_joined(symbol, names, row.values, one.values, row.present & one.present, row.values))
    return _merged(found)


def _refuse_crowd(rows: Vector, key: Labels, side: str) -> None:
    if len(rows) > 1 and np.any(np.sum([row.present for row in rows], axis=0) > 1):
        raise MatchingError(f"several rows on the {side} side for {dict(key)}")


def _merged(rows: Vector) -> Vector:
    """Merge rows of equal labels that are never present at the same time."""
    found: dict[Labels, Row] = {}
    for row in rows:
        before = found.get(row.labels)
        if before is None:
            found[row.labels] = row
            continue
        if np.any(before.present & row.present):
            raise MatchingError(f"two results for {dict(row.labels)}")
        found[row.labels] = Row(
            row.labels, np.where(row.present, row.values, before.values), before.present | row.present
        )
    return list(found.values())

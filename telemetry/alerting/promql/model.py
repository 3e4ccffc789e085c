"""Expressions as values. A rule is written once, in Python; text.py renders it for Prometheus, series.py and vectors.py
evaluate it offline, labels.py checks it against the catalogue. There is no parser of PromQL.

Windows are nominal seconds, as in the committed rules. A Timing scales all of them, because Prometheus sees the
microseconds of a fabric as seconds, by a factor that the operator chooses (`--dilation`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

MS_PER_S: Final = 1000
LOOKBACK_S: Final = 300
"""Prometheus' --query.lookback-delta: how long an instant selector sees a sample. A server setting, so not scaled."""


class Function(StrEnum):
    """Functions of a range vector."""

    RATE = "rate"
    INCREASE = "increase"
    MAX = "max_over_time"
    MIN = "min_over_time"
    AVG = "avg_over_time"
    SUM = "sum_over_time"
    COUNT = "count_over_time"
    CHANGES = "changes"


class Operator(StrEnum):
    """Aggregations."""

    SUM = "sum"
    MAX = "max"
    MIN = "min"
    AVG = "avg"
    COUNT = "count"


class Symbol(StrEnum):
    """Binary operators."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    GREATER = ">"
    LESS = "<"
    AT_LEAST = ">="
    AT_MOST = "<="
    EQUAL = "=="
    UNEQUAL = "!="
    AND = "and"
    OR = "or"
    UNLESS = "unless"


COMPARISONS: Final = frozenset(
    {Symbol.GREATER, Symbol.LESS, Symbol.AT_LEAST, Symbol.AT_MOST, Symbol.EQUAL, Symbol.UNEQUAL}
)
SETS: Final = frozenset({Symbol.AND, Symbol.OR, Symbol.UNLESS})


@dataclass(frozen=True, slots=True)
class Timing:
    """Scale of the nominal seconds of rules to Prometheus' wall time."""

    scale: float = 1.0

    def ms(self, nominal_s: float) -> int:
        """Scaled time in ms (Prometheus' resolution); at least 1 unless it is 0."""
        return 0 if nominal_s == 0 else max(round(nominal_s * self.scale * MS_PER_S), 1)


@dataclass(frozen=True, slots=True)
class Number:
    """A scalar."""

    value: float


@dataclass(frozen=True, slots=True)
class Select:
    """An instant vector: all series of one metric with these label values; a regular expression is anchored."""

    metric: str
    where: tuple[tuple[str, str, str], ...] = ()
    """(label, '=' '!=' '=~' or '!~', value)."""


@dataclass(frozen=True, slots=True)
class Over:
    """A function of the samples in a window that ends now."""

    function: Function
    of: Select
    window_s: float


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregation with `without`; labels added by a scrape config are kept (prometheus.io, rules)."""

    operator: Operator
    of: Expr
    without: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Matching:
    """Vector matching: which rows of two vectors are joined."""

    on: tuple[str, ...]
    group_left: tuple[str, ...] | None = None
    """Several rows of the left for one of the right, whose labels named here are copied; None: one to one."""


@dataclass(frozen=True, slots=True)
class Binary:
    """A binary operation of two expressions."""

    symbol: Symbol
    left: Expr
    right: Expr
    matching: Matching | None = None
    """None: on all labels, or with a scalar."""


@dataclass(frozen=True, slots=True)
class Relabel:
    """label_replace: the label `to` gets what `pattern`, anchored, captures of the label `source`."""

    of: Expr
    to: str
    source: str
    pattern: str = "(.*)"


@dataclass(frozen=True, slots=True)
class Latched:
    """The expression of a recording rule that keeps a row once it has begun, as long as a condition holds.

    The rule reads its own last result: Prometheus evaluates an expression before it stores what it finds.
    """

    begins: Expr
    lasts: Expr
    """Rows of the rule's own name that go on; a row that has begun keeps its labels and its value."""


Expr: TypeAlias = Number | Select | Over | Aggregate | Binary | Relabel | Latched


def select(metric: str, where: Mapping[str, str] | None = None, *, matching: Mapping[str, str] | None = None) -> Select:
    """A metric's series; `where` holds values, `matching` anchored regular expressions."""
    return Select(
        metric,
        tuple((name, "=", value) for name, value in (where or {}).items())
        + tuple((name, "=~", value) for name, value in (matching or {}).items()),
    )


def rate(of: Select, window_s: float) -> Over:
    """Growth per second of wall time."""
    return Over(Function.RATE, of, window_s)


def increase(of: Select, window_s: float) -> Over:
    """Growth within the window."""
    return Over(Function.INCREASE, of, window_s)


def above(of: Expr, limit: float) -> Binary:
    """Rows above a limit."""
    return Binary(Symbol.GREATER, of, Number(limit))


def both(left: Expr, right: Expr, *on: str) -> Binary:
    """Rows of the left for which the right has one."""
    return Binary(Symbol.AND, left, right, Matching(on))


def without(left: Expr, right: Expr, *on: str) -> Binary:
    """Rows of the left for which the right has none."""
    return Binary(Symbol.UNLESS, left, right, Matching(on))


def walk(expr: Expr) -> tuple[Expr, ...]:
    """The expression and all its parts."""
    match expr:
        case Number() | Select():
            return (expr,)
        case Over(of=of) | Aggregate(of=of) | Relabel(of=of):
            return (expr, *walk(of))
        case Binary(left=left, right=right) | Latched(begins=left, lasts=right):
            return (expr, *walk(left), *walk(right))


def metrics(expr: Expr) -> tuple[str, ...]:
    """Names of the metrics and recorded rules that an expression reads, each once."""
    return tuple(dict.fromkeys(part.metric for part in walk(expr) if isinstance(part, Select)))

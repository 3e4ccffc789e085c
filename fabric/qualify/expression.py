"""What a check of a plan demands, as its file writes it: `every pfc_sent(lossless in use) > 0 in window`.

    [every | sum] MEASURE(WHAT) OPERATOR (NUMBER | TIME | PER CENT | MEASURE(WHAT)) [in window]

`every` (where neither is given): each row of the measure on its own; `sum`: all rows together. A measure on the right
is compared row by row, by the labels of the left one. `in window`: counted in the measured window, not in the whole
run. Measures are those of fabric/qualify/measures.py.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from fabric.units import parse_time_ps

OPERATORS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_MEASURE: Final = r"([a-z_]+)\(([a-z0-9 ]+)\)"
_FORM: Final = re.compile(rf"(?:(every|sum) )?{_MEASURE} (==|!=|<=|>=|<|>) (.+?)( in window)?")
_RIGHT: Final = re.compile(_MEASURE)
_NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Measured:
    """A measure of some of the traffic: `naks(lossless)`."""

    name: str
    of: str

    def __str__(self) -> str:
        return f"{self.name}({self.of})"


@dataclass(frozen=True, slots=True)
class Demand:
    """One demand of a check."""

    text: str
    left: Measured
    total: bool
    compare: str
    right: float | Measured
    in_window: bool

    def holds(self, left: float, right: float) -> bool:
        """Whether two numbers are as demanded."""
        return OPERATORS[self.compare](left, right)


def parse(text: str) -> Demand:
    """A demand from its text. Raises: ValueError with a remedy."""
    found = _FORM.fullmatch(" ".join(text.split()))
    if found is None:
        raise ValueError(f"'{text}' is no demand; write one such as: every naks(lossless) == 0 in window")
    how, name, of, compare, right, window = found.groups()
    return Demand(text, Measured(name, of), how == "sum", compare, _right(right, text), window is not None)


def _right(text: str, whole: str) -> float | Measured:
    measure = _RIGHT.fullmatch(text)
    if measure is not None:
        return Measured(*measure.groups())
    if text.endswith("%") and _NUMBER.fullmatch(text[:-1]):
        return float(text[:-1]) / 100
    if _NUMBER.fullmatch(text):
        return float(text)
    try:
        return float(parse_time_ps(text))
    except ValueError:
        raise ValueError(
            f"'{whole}': '{text}' is no number, time, per cent or measure; write one, such as 5us or 5%"
        ) from None

"""The values that a parameter of a study can take: listed ones, or a range of numbers and quantities.

Rules
1. Both ends of a range are quantities of the same kind ('100KB', '4MB') or plain numbers. Whole numbers at both ends
   give whole numbers.
2. Quantities and fractions inside a range are rounded to three significant digits (ROUNDING), so that a value in a
   table is the value that was simulated and can be typed again. The ends stay exact.
3. A factor is applied to the number of the other parameter, in its unit; the product has one digit more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Literal

import yaml

from fabric.errors import UnitError
from fabric.studies.schema import ParameterSpec, RangeSpec
from fabric.topology.quantities import exact_length, exact_rate, exact_size, exact_time
from fabric.units import (
    format_rate_bps,
    format_size_bytes,
    format_time_ps,
    parse_length_mm,
    parse_rate_bps,
    parse_size_bytes,
    parse_time_ps,
)

ROUNDING: Final = 3
"""Significant digits of values inside a range."""
Kind = Literal["whole", "number", "size", "time", "rate", "length", "text"]
_QUANTITIES: Final[Mapping[Kind, tuple[Callable[[object], int], Callable[[int], str], Callable[[int], str]]]] = {
    "size": (parse_size_bytes, exact_size, format_size_bytes),
    "time": (parse_time_ps, exact_time, format_time_ps),
    "rate": (parse_rate_bps, exact_rate, format_rate_bps),
    "length": (parse_length_mm, exact_length, exact_length),
}
"""Kind -> (reader, exact writer, short writer, which rounds)."""
Number = int | float


@dataclass(frozen=True, slots=True)
class Value:
    """One value of one parameter."""

    shown: str
    """For tables: '100KB', 'dctcp'."""
    number: Number | None
    """In the base unit of its kind; None for text."""
    settings: tuple[tuple[str, Any], ...]
    """(field, value) of the scenario, as `--set` takes them."""


def read_number(value: object) -> tuple[Kind, Number | None]:
    """The kind of a written value and its number in the base unit: '100KB' -> ('size', 100_000)."""
    if isinstance(value, bool) or value is None:
        return "text", None
    if isinstance(value, int):
        return "whole", value
    if isinstance(value, float):
        return "number", value
    if isinstance(value, str):
        for kind, (parse, _, _) in _QUANTITIES.items():
            try:
                return kind, parse(value)
            except UnitError:
                continue
    return "text", None


def written(kind: Kind, number: Number) -> Any:  # noqa: ANN401  a value of a scenario's field
    """The inverse of read_number()."""
    if kind in _QUANTITIES:
        parse, exact, short = _QUANTITIES[kind]
        value = round(number)
        text = short(value)
        return text if parse(text) == value else exact(value)
    return round(number) if kind == "whole" else float(number)


def rounded(number: float, digits: int = ROUNDING) -> float:
    """To this many significant digits, as a decimal number."""
    if number == 0 or not math.isfinite(number):
        return number
    exact = Decimal(repr(float(number)))
    return float(round(exact, digits - 1 - exact.adjusted()))


class Levels:
    """The values of one parameter.

    Parameters
    ----------
    name : str
    spec : ParameterSpec

    Raises: UnitError where a range is none; the text begins with the field.
    """

    def __init__(self, name: str, spec: ParameterSpec) -> None:
        self.name = name
        self.factor_of = spec.factor_of
        self._paths = spec.paths
        self.cases: tuple[Value, ...] = ()
        """The listed values; empty for a range without steps."""
        self.low: Number = 0
        self.high: Number = 0
        self.log = spec.log_range is not None
        self.kind: Kind = "text"
        if spec.cases is not None:
            self.cases = tuple(Value(case, None, tuple(fields.items())) for case, fields in spec.cases.items())
        elif spec.values is not None:
            found = [read_number(it) for it in spec.values]
            kinds = {kind for kind, _ in found}
            self.kind = next(iter(kinds)) if len(kinds) == 1 else "number" if kinds == {"whole", "number"} else "text"
            if self.factor_of is not None and self.kind not in {"whole", "number"}:
                raise UnitError("values: factors are plain numbers", "such as [2, 4, 8]")
            self.cases = tuple(
                self._value(written_value, number)
                for written_value, (_, number) in zip(spec.values, found, strict=True)
            )
        else:
            self._read_range("log_range" if self.log else "range", spec.log_range or spec.range)

    @property
    def is_range(self) -> bool:
        """Whether any value between two numbers is possible."""
        return not self.cases

    def at(self, share: float) -> Value:
        """The value at a share of the way, 0 <= share < 1: of a list by position, of a range by distance or ratio."""
        if self.cases:
            return self.cases[min(int(share * len(self.cases)), len(self.cases) - 1)]
        if self.kind == "whole" and not self.log:
            return self.of(min(self.low + math.floor(share * (self.high - self.low + 1)), self.high))
        return self.of(self._between(share))

    def of(self, number: Number) -> Value:
        """The value of a number of the range, rounded (rule 2)."""
        near = self._near(number)
        return self._value(written(self.kind, near), near)

    def named(self, given: object) -> Value | None:
        """The value that a user means: one of the list, or a number within the range; None where there is none."""
        kind, number = read_number(given)
        for case in self.cases:
            if str(given) == case.shown or (number is not None and number == case.number):
                return case
        if self.is_range and number is not None and self.low <= number <= self.high:
            return self._value(written(self.kind if kind in {"whole", "number"} else kind, number), number)
        return None

    def applied(self, value: Value, other: Value, kind: Kind) -> Value:
        """A factor of this parameter times the value of the other parameter, which is of `kind`. Raises: UnitError."""
        if other.number is None or value.number is None or kind == "text":
            raise UnitError(
                f"'{other.shown}' of {self.factor_of} is no number, so it has no multiple", "leave out factor_of"
            )
        product = written(kind, rounded(other.number * value.number, ROUNDING + 1))
        return Value(value.shown, value.number, tuple((path, product) for path in self._paths))

    def _read_range(self, field: str, spec: RangeSpec | None) -> None:
        assert spec is not None  # noqa: S101  the schema requires one of the forms
        (low_kind, low), (high_kind, high) = read_number(spec.start), read_number(spec.to)
        kinds = {low_kind, high_kind}
        for end, kind, value in (("from", low_kind, spec.start), ("to", high_kind, spec.to)):
            if kind == "text":
                raise UnitError(f"{field}.{end}: {value!r} is no number and no quantity", "such as 0.1, or '100KB'")
        if kinds == {"whole", "number"}:
            kinds = {"number"}
        if len(kinds) != 1 or low is None or high is None:
            raise UnitError(
                f"{field}: {spec.start!r} is a {low_kind} and {spec.to!r} a {high_kind}", "write both in one kind"
            )
        self.kind = next(iter(kinds))
        if self.factor_of is not None and self.kind not in {"whole", "number"}:
            raise UnitError(f"{field}: factors are plain numbers", "such as from: 2, to: 8")
        if not low < high:
            raise UnitError(f"{field}: {spec.start!r} is not below {spec.to!r}", "exchange from and to")
        if self.log and low <= 0:
            raise UnitError(f"{field}.from: {spec.start!r} has no ratio to {spec.to!r}", "begin above 0, or use range")
        self.low, self.high = low, high
        if spec.steps is not None:
            values = [self.of(self._between(step / (spec.steps - 1))) for step in range(spec.steps)]
            self.cases = tuple(dict.fromkeys(values))

    def _between(self, share: float) -> float:
        if self.log:
            return float(self.low * (self.high / self.low) ** share)
        return float(self.low + (self.high - self.low) * share)

    def _near(self, number: Number) -> Number:
        if number <= self.low or math.isclose(number, self.low, rel_tol=1e-9):
            return self.low
        if number >= self.high or math.isclose(number, self.high, rel_tol=1e-9):
            return self.high
        if self.kind == "whole":
            return round(number)
        near = rounded(number)
        if self.kind != "number":
            near = round(near)
        return min(max(near, self.low), self.high)

    def _value(self, value: Any, number: Number | None) -> Value:  # noqa: ANN401  a value of a scenario's field
        shown = value if isinstance(value, str) else yaml.safe_dump(value, default_flow_style=True).partition("\n")[0]
        if isinstance(value, float):
            shown = f"{value:g}"
        return Value(shown, number, tuple((path, value) for path in self._paths))

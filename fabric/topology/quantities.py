"""Pydantic types for quantities with units: '400G' becomes 400_000_000_000 in a field of type RateBps.

The value in the model is an integer in the base unit; a bare number is refused (fabric.units says why). Dumped as
JSON a quantity becomes text again, exactly, so that a dumped model can be read back. The JSON schema describes the
text, because that is what an editor helps to write.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final

from annotated_types import Ge, Gt, Le
from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from fabric.units import parse_length_mm, parse_rate_bps, parse_size_bytes, parse_time_ps

_NUMBER: Final = r"^\s*[0-9]+(\.[0-9]+)?([eE][0-9]+)?\s*"
_RATE_STEPS: Final = ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "K"), (1, "bps"))
_TIME_STEPS: Final = ((10**12, "s"), (10**9, "ms"), (10**6, "us"), (10**3, "ns"), (1, "ps"))
_SIZE_STEPS: Final = (
    (2**30, "GiB"),
    (2**20, "MiB"),
    (2**10, "KiB"),
    (10**9, "GB"),
    (10**6, "MB"),
    (10**3, "KB"),
    (1, "B"),
)
_LENGTH_STEPS: Final = ((1_000_000, "km"), (1000, "m"), (10, "cm"), (1, "mm"))

MAX_TIME_PS: Final = 500 * 10**12
"""Longest time of a scenario: the engine's clock ends at 2**50 ps, which leaves room for now + timer."""
MAX_PLANNED_PS: Final = 30 * 86_400 * 10**12

MAX_RATE_BPS: Final = 10**14
"""Fastest port: a bit of it lasts 10 fs, and the rates of any host's ports add up in 64 bits."""


def _exact(steps: tuple[tuple[int, str], ...]) -> Callable[[int], str]:
    """A formatter that loses nothing: the largest unit that divides the value."""

    def write(value: int) -> str:
        if value == 0:
            return f"0{steps[-1][1]}"
        return next(f"{value // factor}{unit}" for factor, unit in steps if value % factor == 0)

    return write


exact_rate: Final = _exact(_RATE_STEPS)
"""400_000_000_000 -> '400G', without rounding; parse_rate_bps reads it back."""
exact_time: Final = _exact(_TIME_STEPS)
"""1_500 -> '1500ps', without rounding; parse_time_ps reads it back."""


def exact_size(value: int) -> str:
    """65_536 -> '64KiB', 16_000_000 -> '16MB', without rounding: the unit with the shortest number, the decimal one of
    two with equal lengths. parse_size_bytes reads it back.
    """
    if value == 0:
        return "0B"
    fits = [(value // factor, unit) for factor, unit in _SIZE_STEPS if value % factor == 0]
    number, unit = min(fits, key=lambda it: (len(str(it[0])), "i" in it[1]))
    return f"{number}{unit}"


exact_length: Final = _exact(_LENGTH_STEPS)
"""30_000 -> '30m', without rounding; parse_length_mm reads it back."""


def _schema(units: str, examples: list[str], what: str) -> WithJsonSchema:
    fields: dict[str, Any] = {
        "type": "string",
        "pattern": f"{_NUMBER}({units})\\s*$",
        "examples": examples,
        "description": what,
    }
    return WithJsonSchema(fields)


RateBps = Annotated[
    int,
    BeforeValidator(parse_rate_bps),
    Gt(0),
    Le(MAX_RATE_BPS),
    PlainSerializer(exact_rate, return_type=str, when_used="json"),
    _schema("bps|K|Kbps|M|Mbps|G|Gbps|T|Tbps", ["10G", "400G"], "A rate with its unit."),
]
"""Bits per second, above 0, at most 100T: '400G'."""

TimePs = Annotated[
    int,
    BeforeValidator(parse_time_ps),
    Ge(0),
    Le(MAX_TIME_PS),
    PlainSerializer(exact_time, return_type=str, when_used="json"),
    _schema("ps|ns|us|µs|ms|s|min", ["500ns", "10us"], "A time with its unit."),
]
"""Picoseconds, 0 or more, at most 500 s: '10us'."""
PlannedTimePs = Annotated[
    int,
    BeforeValidator(parse_time_ps),
    Ge(0),
    Le(MAX_PLANNED_PS),
    PlainSerializer(exact_time, return_type=str, when_used="json"),
    _schema("ps|ns|us|µs|ms|s|min", ["60min"], "A time with its unit."),
]
"""Picoseconds that nothing simulates, at most 30 days: '60min'."""

SizeBytes = Annotated[
    int,
    BeforeValidator(parse_size_bytes),
    Ge(0),
    PlainSerializer(exact_size, return_type=str, when_used="json"),
    _schema("B|KB|MB|GB|KiB|MiB|GiB", ["1500B", "64KiB"], "A size with its unit; KB is 1000, KiB is 1024 bytes."),
]
"""Bytes, 0 or more: '64KiB'."""

LengthMm = Annotated[
    int,
    BeforeValidator(parse_length_mm),
    Ge(0),
    PlainSerializer(exact_length, return_type=str, when_used="json"),
    _schema("mm|cm|m|km", ["3m", "100m"], "A cable length with its unit."),
]
"""Millimetres, 0 or more: '30m'."""

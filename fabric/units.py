"""Quantities with units, and back: '400G', '10us', '64KiB', '30m'. The only module that knows prefixes.

Rates and lengths use decimal prefixes, sizes use decimal (KB) or binary (KiB) ones, as networking and switch
data sheets do. A bare number is refused wherever a unit is needed: 400 may mean bytes to one reader and Gb/s to
another. Everything becomes an integer in the base unit named by the function.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Final

from fabric.errors import UnitError

PS_PER_NS: Final = 1_000
PS_PER_US: Final = 1_000_000
PS_PER_MS: Final = 1_000_000_000
PS_PER_S: Final = 1_000_000_000_000
NS_PER_S: Final = PS_PER_S // PS_PER_NS

_TIME_PS: Final = {
    "ps": 1,
    "ns": PS_PER_NS,
    "us": PS_PER_US,
    "µs": PS_PER_US,
    "ms": PS_PER_MS,
    "s": PS_PER_S,
    "min": 60 * PS_PER_S,
}
_RATE_BPS: Final = {
    "bps": 1,
    "K": 10**3,
    "Kbps": 10**3,
    "M": 10**6,
    "Mbps": 10**6,
    "G": 10**9,
    "Gbps": 10**9,
    "T": 10**12,
    "Tbps": 10**12,
}
_SIZE_BYTES: Final = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_LENGTH_MM: Final = {"mm": 1, "cm": 10, "m": 1000, "km": 1_000_000}

_DURATION_S: Final = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "y": 31_557_600}
_CLOCK: Final = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))
_QUANTITY: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?(?:[eE][0-9]+)?)\s*([A-Za-zµ]*)\s*")
_LIMIT: Final = 2**62
_DIGITS: Final = 20
"""More digits than the largest quantity has."""


def _parse(text: object, table: dict[str, int], kind: str, example: str) -> int:
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise UnitError(f"{text!r} is not a {kind}", f"write a number and a unit, such as '{example}'")
    if not isinstance(text, str):
        if text == 0:
            return 0
        raise UnitError(f"{text} has no unit", f"write a {kind} with its unit, such as '{example}'")
    match = _QUANTITY.fullmatch(text)
    if match is None or match[2] not in table:
        units = ", ".join(table)
        what = "has no unit" if match is not None and not match[2] else f"is not a {kind}"
        raise UnitError(f"{text!r} {what}", f"write a number and one of {units}, such as '{example}'")
    number = match[1]
    if len(number) <= _DIGITS and number.isdigit():  # nearly all: a tenth of the time of a Decimal
        whole = int(number) * table[match[2]]
        if whole <= _LIMIT:
            return whole
    value = Decimal(number) * table[match[2]]
    if value != value.to_integral_value():
        raise UnitError(
            f"{text!r} is finer than this quantity's base unit", f"the smallest {kind} is 1 {next(iter(table))}"
        )
    if value > _LIMIT:
        raise UnitError(f"{text!r} is absurdly large for a {kind}", f"write a smaller one, such as '{example}'")
    return int(value)


def parse_time_ps(text: object) -> int:
    """'10us' -> 10_000_000 picoseconds. Raises UnitError."""
    return _parse(text, _TIME_PS, "time", "10us")


def parse_duration_s(text: object) -> int:
    """'30min' -> 1_800 seconds of wall-clock time; also h, d and y (365.25 days). Raises UnitError."""
    return _parse(text, _DURATION_S, "duration", "30min")


def parse_rate_bps(text: object) -> int:
    """'400G' -> 400_000_000_000 bits per second. Raises UnitError."""
    return _parse(text, _RATE_BPS, "rate", "400G")


def parse_size_bytes(text: object) -> int:
    """'64KiB' -> 65_536 bytes. Raises UnitError."""
    return _parse(text, _SIZE_BYTES, "size", "64KiB")


def parse_length_mm(text: object) -> int:
    """'30m' -> 30_000 millimetres. Raises UnitError."""
    return _parse(text, _LENGTH_MM, "length", "30m")


def count(number: int, noun: str, plural: str = "") -> str:
    """1, 'fault' -> '1 fault'; 2000, 'switch', 'switches' -> '2,000 switches'."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def counted(*parts: tuple[int, str] | tuple[int, str, str]) -> str:
    """(1, 'host'), (2, 'switch', 'switches') -> '1 host and 2 switches'; parts of 0 are left out, and all of 0: ''."""
    return " and ".join(count(*part) for part in parts if part[0])


def inventory(hosts: int, switches: int, cables: int) -> str:
    """The size of a fabric: '16 hosts, 1 switch, 16 cables'."""
    return f"{count(hosts, 'host')}, {count(switches, 'switch', 'switches')}, {count(cables, 'cable')}"


def listed(names: Sequence[str], most: int, between: str = ", ") -> str:
    """['a', 'b', 'c'], 2 -> 'a, b and 1 more'."""
    rest = len(names) - most
    return between.join(names[:most]) + (f" and {rest:,} more" if rest > 0 else "")


def _format(value: float, steps: list[tuple[int, str]], digits: int) -> str:
    for factor, unit in steps:
        if abs(value) >= factor:
            scaled = value / factor
            return f"{scaled:.{digits}g}{unit}" if abs(scaled) < 10**digits else f"{scaled:.0f}{unit}"
    return f"{value:g}{steps[-1][1]}"


def format_time_ps(value_ps: float, digits: int = 4) -> str:
    """12_345_000 -> '12.35us'."""
    steps = [(PS_PER_S, "s"), (PS_PER_MS, "ms"), (PS_PER_US, "us"), (PS_PER_NS, "ns"), (1, "ps")]
    return _format(value_ps, steps, digits)


def format_rate_bps(value_bps: float, digits: int = 4) -> str:
    """400e9 -> '400G'."""
    return _format(value_bps, [(10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "K"), (1, "bps")], digits)


def format_bit_rate(value_bps: float, digits: int = 4) -> str:
    """41.3e9 -> '41.3Gbit/s': a rate with its full unit."""
    return format_rate_bps(value_bps, digits).removesuffix("bps") + "bit/s"


def format_per_s(value: float, what: str) -> str:
    """60_400, 'packet-hops' -> '60.4 k packet-hops/s'."""
    for factor, prefix in ((1, ""), (10**3, "k "), (10**6, "M ")):
        if float(f"{value / factor:.3g}") < 1000:
            return f"{value / factor:.3g} {prefix}{what}/s"
    return f"{value / 10**9:,.3g} G {what}/s"


def format_duration_s(seconds: float) -> str:
    """Wall time in its two largest units: '20 s', '1 h 41 min', '3 d 4 h'."""
    whole = round(seconds)
    if whole < 1:
        return "less than 1 s"
    for (size, unit), (part, small) in pairwise(_CLOCK):
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size:,} {unit}" + (f" {rest} {small}" if rest else "")
    return f"{whole} s"


def format_size_bytes(value_bytes: float, digits: int = 4) -> str:
    """65536 -> '64KiB' when exact, else decimal: 1500 -> '1.5KB'."""
    exact = int(value_bytes)
    for factor, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if exact == value_bytes and exact >= factor and exact % factor == 0:
            return f"{exact // factor}{unit}"
    return format_measured_bytes(value_bytes, digits)


def format_measured_bytes(value_bytes: float, digits: int = 4) -> str:
    """65536 -> '65.54KB': always decimal, because a column that mixes KB and KiB is hard to compare."""
    return _format(value_bytes, [(10**9, "GB"), (10**6, "MB"), (10**3, "KB"), (1, "B")], digits)

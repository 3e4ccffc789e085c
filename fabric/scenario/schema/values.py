"""Field types shared by the scenario's sections: quantities that may also be a word, priorities, patterns.

A field such as `headroom: auto | 96KiB` is an integer in the base unit or the word itself; one validator reads both,
so that a mistake yields one message and not one per alternative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from annotated_types import Ge, Le
from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from fabric.errors import UnitError
from fabric.topology.quantities import MAX_RATE_BPS, MAX_TIME_PS, exact_rate, exact_size, exact_time
from fabric.units import parse_rate_bps, parse_size_bytes, parse_time_ps

MAP_TAG: Final = "·map"
WORD_TAG: Final = "·word"
"""Union tags begin with a dot that no field name has; error paths leave them out."""


MIN_RATE_BPS: Final = 10**6
"""A frame of 9 KB lasts 75 ms at this rate; at lower rates frames could outlast the engine's clock."""


def word_or_map(value: object) -> str:
    """Discriminate `off | name` from a mapping."""
    return MAP_TAG if isinstance(value, Mapping) or hasattr(value, "model_fields_set") else WORD_TAG


def _or_word(
    parse: Callable[[object], int],
    write: Callable[[int], str],
    words: tuple[str, ...],
    example: str,
    least: int = 0,
    most: int = 2**62,
) -> tuple[Any, ...]:
    def read(value: object) -> int | str:
        if isinstance(value, str) and value in words:
            return value
        try:
            number = parse(value)
        except UnitError as error:
            raise UnitError(error.text, f"{error.hint or f'such as {example!r}'}; or {' or '.join(words)}") from error
        if not least <= number <= most:
            bound = f"at least {write(least)}" if number < least else f"at most {write(most)}"
            raise UnitError(
                f"{value!r} is out of range: it must be {bound}", f"such as {example!r}; or {' or '.join(words)}"
            )
        return number

    def dump(value: int | str) -> str:
        return value if isinstance(value, str) else write(value)

    schema: dict[str, Any] = {
        "type": "string",
        "examples": [*words, example],
        "description": f"A quantity with its unit such as '{example}', or {' or '.join(words)}.",
    }
    return BeforeValidator(read), PlainSerializer(dump, return_type=str, when_used="json"), WithJsonSchema(schema)


AutoSize = Annotated[int | str, *_or_word(parse_size_bytes, exact_size, ("auto",), "96KiB")]
"""Bytes, or 'auto': computed."""
OffSize = Annotated[int | str, *_or_word(parse_size_bytes, exact_size, ("off",), "4MiB")]
"""Bytes, or 'off'."""
AutoOffSize = Annotated[int | str, *_or_word(parse_size_bytes, exact_size, ("auto", "off"), "4MiB")]
"""Bytes, 'off', or 'auto': derived from other settings."""
OffTime = Annotated[int | str, *_or_word(parse_time_ps, exact_time, ("off",), "10ms", most=MAX_TIME_PS)]
"""Picoseconds, or 'off'."""
NeverTime = Annotated[int | str, *_or_word(parse_time_ps, exact_time, ("never",), "400ms", most=MAX_TIME_PS)]
"""Picoseconds, or 'never'."""
ResponseTime = Annotated[int | str, *_or_word(parse_time_ps, exact_time, ("half", "worst"), "1us", most=MAX_TIME_PS)]
"""Picoseconds, or a share of the IEEE 802.3 31B.3.7 bound for the port's speed."""
OffRate = Annotated[
    int | str, *_or_word(parse_rate_bps, exact_rate, ("off",), "10G", least=MIN_RATE_BPS, most=MAX_RATE_BPS)
]
"""Bits per second, or 'off'."""
AutoRate = Annotated[
    int | str, *_or_word(parse_rate_bps, exact_rate, ("auto",), "4G", least=MIN_RATE_BPS, most=MAX_RATE_BPS)
]
"""Bits per second, or 'auto': computed."""

Priority = Annotated[int, Ge(0), Le(7)]
"""IEEE 802.1Q priority, traffic class, queue or priority group."""
Dscp = Annotated[int, Ge(0), Le(63)]
"""RFC 2474 code point."""


def _key(value: object) -> object:
    """A key of a mapping, which JSON writes as text: '6' is 6."""
    return int(value) if isinstance(value, str) and value.isdecimal() and value.isascii() else value


PriorityKey = Annotated[Priority, BeforeValidator(_key)]
DscpKey = Annotated[Dscp, BeforeValidator(_key)]
"""As keys of a mapping, which are text in JSON: a scenario that was dumped as JSON can be read back."""
Priorities = Annotated[tuple[Priority, ...], Field(strict=False, max_length=8)]
Patterns = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(strict=False, min_length=1)]
"""Names or shell patterns."""


def bitmap(priorities: tuple[int, ...]) -> int:
    """(3, 4) -> 0b11000."""
    return sum(1 << priority for priority in set(priorities))

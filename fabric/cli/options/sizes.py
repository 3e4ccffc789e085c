"""Option ``--sizes`` of verbs that have one row for each message size."""

from __future__ import annotations

import argparse
from typing import Final

from fabric.errors import Problem, UnitError
from fabric.units import parse_size_bytes

MAX_SIZES: Final = 64
_EXAMPLE: Final = "such as 1KiB:64MiB, 1KiB:1GiB:4 or 1MiB,16MiB"


def add_sizes(parser: argparse._ActionsContainer, default: str) -> None:
    """Declare it."""
    parser.add_argument(
        "--sizes",
        metavar="FROM:TO[:FACTOR]",
        default=default,
        help=f"sizes from FROM by FACTOR (default 2) up to TO, or a list with commas (default {default})",
    )


def sizes_of(text: str, problems: list[Problem]) -> list[int]:
    """Bytes of 'A,B,...' or 'FROM:TO[:FACTOR]', at most MAX_SIZES; what is wrong is added to `problems`."""
    first, *rest = text.split(":")
    try:
        sizes = [parse_size_bytes(item) for item in first.split(",")]
        last = parse_size_bytes(rest[0]) if rest else 0
    except UnitError as error:
        problems.append(Problem("--sizes", error.text, error.hint))
        return []
    if rest:
        factor = int(rest[1]) if len(rest) > 1 and rest[1].isdecimal() and len(rest[1]) < 7 else 2
        written = f":{factor}" if len(rest) > 1 else ""
        if len(sizes) > 1 or not 0 < sizes[0] <= last or factor < 2 or ":".join(rest) != rest[0] + written:
            problems.append(Problem("--sizes", f"'{text}' is not FROM:TO[:FACTOR]", _EXAMPLE))
            return []
        while sizes[-1] * factor <= last:
            sizes.append(sizes[-1] * factor)
    if len(sizes) > MAX_SIZES or len(set(sizes)) < len(sizes) or min(sizes) < 1:
        problems.append(Problem("--sizes", f"'{text}' is not 1 to {MAX_SIZES} different sizes", _EXAMPLE))
    return sizes

"""Where the text of a banner ends in a running-config: what stands in one is no configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

BLANKS: Final = " \t\r\f\v"
_BANNER: Final = re.compile(r"banner \S+(?: ([^\w\s])(.*))?")


def rows_of(text: str) -> list[str]:
    """The lines of a text; form feeds and the like end none."""
    return text.replace("\r\n", "\n").split("\n")


def ends_of(rows: list[str]) -> list[int]:
    """Numbers of the lines that end a banner of EOS."""
    return [number for number, raw in enumerate(rows, 1) if raw.strip(BLANKS) == "EOF"]


def banner_end(rows: list[str], number: int, text: str, ends: list[int]) -> int:
    """Number of the last line of a banner that begins on a line; 0 where it ends there, or no banner begins.

    EOS ends it with a line `EOF`. NX-OS names the delimiter, which is the first character of the text.
    """
    match = _BANNER.fullmatch(text)
    if match is None:
        return 0
    if not match[1]:
        return next((end for end in ends if end > number), 0)
    if match[1] in match[2]:
        return 0
    return next((it for it in range(number + 1, len(rows) + 1) if match[1] in rows[it - 1]), 0)


def outside_banners(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, without those of banners' texts."""
    rows = rows_of(text)
    ends = ends_of(rows)
    last = 0
    for number, raw in enumerate(rows, 1):
        if number > last:
            yield number, raw
            last = banner_end(rows, number, raw.strip(BLANKS), ends)

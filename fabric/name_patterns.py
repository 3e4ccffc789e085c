"""Shell patterns of the names of devices, ports, faults and findings, the same in every file and option.

'*', '?' and '[abc]' are those of fnmatch. '[20-30]' is a range of numbers, as in the host lists of Slurm and pdsh;
fnmatch would take it for the characters 2, 0 to 3 and 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import translate
from functools import lru_cache
from typing import Final

_MAGIC: Final = frozenset("*?[")
_RANGE: Final = re.compile(r"(^|\*)?\[(\d+)-(\d+)\]")
_FREE, _BOUND = "\ue000", "\ue001"
"""Stand for a range while fnmatch translates the rest: of the private use area, which no name has."""


def is_pattern(text: str) -> bool:
    """Whether a name holds shell wildcards."""
    return not _MAGIC.isdisjoint(text)


def fits_pattern(name: str, pattern: str) -> bool:
    """Whether the whole name fits the pattern; upper and lower case differ."""
    return _compiled(pattern)(name)


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> Callable[[str], bool]:
    ranges: list[tuple[str, str]] = []

    def place(found: re.Match[str]) -> str:
        before, low, high = found.groups()
        if len(low) == len(high) == 1:
            return found[0]  # '[1-3]' means the same either way
        ranges.append((low, high))
        return _BOUND if before is None else before + _FREE

    marked = _RANGE.sub(place, pattern)
    # A number is whole: '*[5-12]' takes host12 for 12, never for 2 after 'host1'.
    text = translate(marked).replace(_FREE, rf"(?<!\d){_BOUND}").replace(_BOUND, r"(\d+)(?!\d)")
    match = re.compile(text).match

    def test(name: str) -> bool:
        found = match(name)
        return found is not None and all(map(_within, found.groups(), ranges))

    return test


def _within(number: str, bounds: tuple[str, str]) -> bool:
    """Whether a number lies in a range and is written as its bounds: two digits in '[08-12]', no zero in '[8-12]'."""
    low, high = bounds
    width = len(low) if low.startswith("0") else 0
    return int(low) <= int(number) <= int(high) and number == str(int(number)).zfill(width)

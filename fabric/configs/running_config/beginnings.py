"""Whether a text is the beginning of something that a pattern matches: a line of which letters or words are missing.

`re` has no partial matches. So the pattern is rewritten: the text may end after each of its parts.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_ATOM: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[^()|]", re.DOTALL)
_QUANTIFIER: Final = re.compile(r"(?:[*+?]|\{\d*,?\d*\})\??")
_OPENS: Final = re.compile(r"\((?:\?:|\?P<\w+>)?")
_ANYTHING: Final = re.compile(r"\(*(?:\?:|\?P<\w+>)?(?:\\[SDW]|\.|\[\^)")
"""Patterns whose first word is any word: every text begins one."""


def begins(text: str, pattern: str) -> bool:
    """Whether letters or words behind `text` would make it match `pattern`; False where the pattern begins with any."""
    if not text or _ANYTHING.match(pattern):
        return False
    partial = _partial_of(pattern)
    return partial is not None and partial.fullmatch(text) is not None


@lru_cache(maxsize=1024)
def _partial_of(pattern: str) -> re.Pattern[str] | None:
    """A pattern of all beginnings; None where it looks around, or back."""
    if re.search(r"\(\?(?!:|P<)|\\[1-9]", pattern):
        return None
    partial, _, end = _alternatives(pattern, 0)
    return re.compile(partial, re.ASCII) if end == len(pattern) else None


def _alternatives(pattern: str, at: int) -> tuple[str, str, int]:
    """Beginnings of the alternatives from a position on, the alternatives without groups' names, and their end."""
    begun: list[str] = []
    whole: list[str] = []
    while True:
        partial, full, at = _sequence(pattern, at)
        begun.append(partial)
        whole.append(full)
        if pattern[at : at + 1] != "|":
            return f"(?:{'|'.join(begun)})", f"(?:{'|'.join(whole)})", at
        at += 1


def _sequence(pattern: str, at: int) -> tuple[str, str, int]:
    parts: list[tuple[str, str]] = []
    while at < len(pattern) and pattern[at] not in "|)":
        opens = _OPENS.match(pattern, at)
        if opens is not None:
            partial, full, at = _alternatives(pattern, opens.end())
            at += 1
        else:
            atom = _ATOM.match(pattern, at)
            if atom is None:
                break
            partial, full, at = "", atom[0], atom.end()
        repeated = _QUANTIFIER.match(pattern, at)
        times = repeated[0] if repeated else ""
        at += len(times)
        again = f"{full}*" if times and times != "?" else ""
        parts.append((rf"{again}{partial}\Z", full + times))
    text = r"\Z"
    for ended, full in reversed(parts):
        text = f"(?:{ended}|{full}{text})"
    return text, "".join(full for _, full in parts), at

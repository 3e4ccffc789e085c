"""Lines that no reader understands because one word of them is mistyped.

A running-config that a switch writes has no such line; one that people or templates write may, and the switch refuses
it. A line is mistyped where one slip leads to a line that its block's reader asks for: a letter too many, too few or
another one, two that are swapped, or letters that stand for digits (O for 0, l for 1). Lines that a reader understands
are not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from fabric.configs.text.spelling import is_slip

_WORD: Final = re.compile(r"(?<![\w\\])[A-Za-z][a-z]{2,}(?![A-Za-z_])")
"""Words of a pattern. Shorter ones are too near to each other."""
_JOINED: Final = re.compile(r"(?<![\w\\-])[A-Za-z][a-z]*(?:-[a-z]+)+(?![\w-])")
"""Words with a hyphen, such as router-id, whose parts may be short."""
_NO: Final = re.compile(r"(?:\(\?:)?no ")
"""The beginning of a pattern for a line that may be negated."""
_NUMBER: Final = re.compile(r"(?<!\S)(?=\S*\d)[\dOoIl./:,-]+(?!\S)", re.ASCII)
"""Words of digits, of which some are letters that look like one."""
_DIGITS: Final = str.maketrans("OoIl", "0011")
_SPOKEN: Final = re.compile(r"[A-Za-z][a-z]+")


def intended(text: str, patterns: Iterable[str]) -> str:
    """The line that was meant; '' where no pattern takes any line that is one slip away."""
    known = tuple(patterns)
    digits = _NUMBER.sub(lambda match: match[0].translate(_DIGITS), text)
    if digits != text and any(re.fullmatch(pattern, digits, re.ASCII) for pattern in known):
        return digits
    index = _words(known)
    near = {
        it
        for match in _spoken(text)
        for length in range(len(match[0]) - 1, len(match[0]) + 2)
        for it in index.get((match[0][0].lower(), length), ())
    }
    for number, word in sorted(near):
        for line in _repaired(text, word):
            if re.fullmatch(known[number], line, re.ASCII):
                return line
    return ""


@lru_cache(maxsize=256)
def _words(patterns: tuple[str, ...]) -> dict[tuple[str, int], list[tuple[int, str]]]:
    """First letter and length to the words that have them, each with the number of its pattern."""
    found: dict[tuple[str, int], list[tuple[int, str]]] = {}
    for number, pattern in enumerate(patterns):
        its = {*_WORD.findall(pattern), *_JOINED.findall(pattern), *(["no"] if _NO.match(pattern) else [])}
        for word in sorted(its):
            found.setdefault((word[0].lower(), len(word)), []).append((number, word))
    return found


def _spoken(text: str) -> list[re.Match[str]]:
    """The words of a line, and those that hyphens join."""
    return [*_SPOKEN.finditer(text), *_JOINED.finditer(text)]


def _repaired(text: str, word: str) -> Iterator[str]:
    """The line with `word` in the place of each of its words that is one slip away from it."""
    for match in _spoken(text):
        if is_slip(match[0].lower(), word.lower()) and (word != "no" or match.start() == 0):
            yield text[: match.start()] + word + text[match.end() :]

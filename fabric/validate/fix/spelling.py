"""Values that are spelled wrong: a name that nothing has beside one that is nearly the same; a length or unit too many.

Candidates only: each is tried on a copy, and kept where the checks find nothing any more (decisions/0074).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Final

from fabric.configs.model import Device
from fabric.validate.blocks import Path
from fabric.validate.checks.base import Finding
from fabric.validate.fix.peers import Peers, Usual

_REFERENCE: Final = "R1"
"""A reference leads nowhere."""
NO_VALUE: Final = "R5"
"""A value is none of its kind."""
CHECKS: Final = frozenset((_REFERENCE, NO_VALUE))
_NEAR: Final = 0.75
"""Share of letters in common, in order, from which on a name may be meant (difflib's ratio)."""
_MOST: Final = 3
_WORD: Final = re.compile(r"[A-Za-z0-9_.:/-]+")
_WITH_LENGTH: Final = re.compile(r"(\d+\.\d+\.\d+\.\d+)/32")
_WITH_UNIT: Final = re.compile(r"(\d+)m")


def spelled(peers: Peers, device: Device, path: Path, finding: Finding) -> Iterator[Usual]:
    """Other spellings of the values of a block that a finding's text names; other values are never changed."""
    text = finding.text
    names = _names(peers, device) if finding.check.id == _REFERENCE else []
    said = set(_WORD.findall(text.replace("'", " ")))
    for head, value in peers.blocks(device).get(path, {}).items():
        for word in dict.fromkeys(_WORD.findall(value)):
            if word not in said:
                continue
            near = [it for it in difflib.get_close_matches(word, names, _MOST, _NEAR) if it != word]
            for other, source in (*((it, f"'{it}' is defined, '{word}' is not") for it in near), *_of_its_kind(word)):
                new = re.sub(rf"(?<![\w.:/-]){re.escape(word)}(?![\w.:/-])", other, value)
                yield Usual(device.name, path, head, value, new, source, (*path, head, other))


def _of_its_kind(word: str) -> Iterator[tuple[str, str]]:
    """The value without what its kind does not have."""
    if found := _WITH_LENGTH.fullmatch(word):
        yield found[1], "an address without a length is meant"
    if found := _WITH_UNIT.fullmatch(word):
        yield found[1], "a number of metres without its unit is meant"
    if word.isdigit():
        yield f"{word}m", "a length with its unit is meant"


def _names(peers: Peers, device: Device) -> list[str]:
    """Names that blocks of the switch have: keys of rows, names of policies, lists and profiles."""
    words = (word for path in peers.blocks(device) for part in path[-2:] for word in _WORD.findall(part))
    return list(dict.fromkeys(it for it in words if not it.isdigit()))

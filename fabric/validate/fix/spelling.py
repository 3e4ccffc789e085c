"""Values that are spelled wrong: a name that nothing has beside one that is nearly the same; a length or unit too many.

Candidates only: each is tried on a copy, and kept where the checks find nothing any more (decisions/0074).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from fabric.configs.model import Device
from fabric.validate.blocks import Path
from fabric.validate.checks.base import Finding
from fabric.validate.fix.differences import taken_away
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


def spelled(peers: Peers, device: Device, path: Path, finding: Finding) -> Iterator[list[Usual]]:
    """Other spellings of the values of a block that a finding's text names; other values are never changed.

    A line without words before its value adds up with others of its kind: the wrong one is taken away first.
    """
    text = finding.text
    names = _names(peers, device) if finding.check.id == _REFERENCE else []
    said = set(_WORD.findall(text.replace("'", " ")))
    yield from _renamed(peers, device, path, said, names)
    for head, value in peers.blocks(device).get(path, {}).items():
        for word in dict.fromkeys(_WORD.findall(value)):
            if word not in said:
                continue
            near = _near(word, names)
            for other, source in (*((it, f"'{it}' is defined, '{word}' is not") for it in near), *_of_its_kind(word)):
                new = re.sub(rf"(?<![\w.:/-]){re.escape(word)}(?![\w.:/-])", other, value)
                general = (*path, head, other)
                if head == value and (
                    device.capabilities.blocks_of_lines or path[:1] in {(it,) for it in device.beside}
                ):
                    gone = Usual(device.name, path, head, value, None, source, general)
                    yield [gone, Usual(device.name, path, new, None, new, source, general)]
                else:
                    yield [Usual(device.name, path, head, value, new, source, general)]


def _near(word: str, names: Sequence[str]) -> list[str]:
    """Names that are the word in other letters of upper and lower case, then those with nearly all of its letters."""
    same = [it for it in names if it.casefold() == word.casefold()]
    return [it for it in dict.fromkeys((*same, *difflib.get_close_matches(word, names, _MOST, _NEAR))) if it != word]


def _renamed(
    peers: Peers, device: Device, path: Path, said: Collection[str], names: Sequence[str]
) -> Iterator[list[Usual]]:
    """The whole block under another name, where its own name leads nowhere: `class ROCEV2`, a row of a port."""
    own = peers.blocks(device)
    last = path[-1] if path else ""
    for word in dict.fromkeys(it for it in _WORD.findall(last) if it in said and it in last and not it.isdigit()):
        for other in _near(word, names):
            new = (*path[:-1], re.sub(rf"(?<![\w.:/-]){re.escape(word)}(?![\w.:/-])", other, last))
            inside = {it: stated for it, stated in own.items() if it[: len(path)] == path}
            if new in own or not inside:
                continue
            source = f"'{other}' is defined, '{word}' is not"
            found = taken_away(device, path, inside.get(path, {}), source)
            for it, stated in inside.items():
                there = (*new, *it[len(path) :])
                heads = [Usual(device.name, there, head, None, value, source, path) for head, value in stated.items()]
                found += heads or [Usual(device.name, there, "", None, "", source, path)] * (len(inside) == 1)
            yield found


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
    policies = device.identity.policies  # lists, whose rows are lines of no block
    lists = (policies.prefix_lists, policies.community_lists, policies.as_path_lists, policies.others)
    return list(dict.fromkeys([*(it for its in lists for it in its), *(it for it in words if not it.isdigit())]))

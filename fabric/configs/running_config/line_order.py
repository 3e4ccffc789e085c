"""A running-config as its lines leave it in their order: blocks continue, and `no` takes back (docs/decisions/0092)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fabric.configs.text.port_ranges import interfaces_of

if TYPE_CHECKING:
    from fabric.configs.running_config.reader import Line

INTERFACE: Final = re.compile(r"interface ([A-Za-z-]+) ?(\d[\d/.,-]*)", re.ASCII)


def in_order(root: Line) -> None:
    """Every block as its lines leave it, from the outermost inwards.

    Raises ValueError with the number of lines, where ranges of ports would be more than MAX_COPIED when written out.
    """
    _single_out(root)
    _set_apart(root)
    waiting = [root]
    while waiting:
        block = waiting.pop()
        for line in _continue(block):
            _take_back(line)
        waiting += (line for line in block.children if line.children)


MAX_COPIED: Final = 500_000
"""Lines of ranges that are written out for single ports."""
_LETTERS: Final = "-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SEVERAL: Final = re.compile(r"interface ([A-Za-z-]+\d[\w/.,-]*)", re.ASCII)
"""A block that may be of several interfaces, by their names without blanks."""
_KEPT: Final = frozenset(("switchport",))
"""Commands that `no` leaves the more special lines of: a routed port keeps its VLANs for when it is switched again."""


def _continue(block: Line) -> list[Line]:
    """Blocks that are opened again continue where they ended: a switch has one of each name, and takes lines in order.

    A line `no X` takes the earlier lines away that begin with X ('no neighbor 10.0.0.1' all of this neighbour), and a
    block X after it is a new one. An `interface` block does not continue beyond a range that has its port: readers take
    these blocks one after the other. The blocks that continue are returned. A line `no X` that took lines away has done
    what it is for, and counts as used.
    """
    withdrawn: dict[str, list[Line]] = {it: [] for line in block.children for it in _withdrawn_by(line.text)}
    words = max((it.count(" ") + 1 for it in withdrawn), default=0)
    first: dict[str, Line] = {}
    again: dict[int, Line] = {}
    gone: set[int] = set()
    for line in block.children:
        text = line.text
        for start in _withdrawn_by(text):
            if start in _KEPT:
                continue
            for it in withdrawn[start]:
                line.used = True
                if text == f"default {it.text}" and it.text.startswith("interface "):
                    it.children = []  # the port is there still
                    continue
                gone.add(id(it))
                if first.get(it.text) is it:
                    del first[it.text]
            withdrawn[start].clear()
        ports = _range(line)
        for port in ports:
            first.pop(f"interface {port}", None)
        if not ports:
            begun = first.setdefault(text, line)
            if line is not begun and line.children:
                begun.children += line.children
                again[id(begun)] = begun
                gone.add(id(line))
                continue
        start = ""
        for word in text.split(" ", words)[:words]:
            start = f"{start} {word}" if start else word
            if start in withdrawn:
                withdrawn[start].append(line)
    block.children = [line for line in block.children if id(line) not in gone]
    return [line for line in again.values() if id(line) not in gone]


def _withdrawn_by(text: str) -> tuple[str, ...]:
    """Beginnings of the lines that a line takes back: `no X` those of X, `default X` those of X and of `no X`."""
    if text.startswith("no "):
        return (text[3:],)
    rest = text.removeprefix("default ")
    return () if rest == text else (rest, f"no {rest}")


_GIVEN_BACK: Final = re.compile(r"(default|no) interface ([A-Za-z-]+) ?(\d[\w/., -]*)", re.ASCII)
"""A line that takes back the blocks of one interface or of several, as it is typed."""


def _single_out(root: Line) -> None:
    """`default interface` and `no interface` of a range as lines of each interface, with the names of their blocks."""
    if not any(_GIVEN_BACK.fullmatch(line.text) for line in root.children):
        return
    blocks = (_SEVERAL.fullmatch(line.text) for line in root.children)
    kinds = {kind.lower(): kind for it in blocks if it is not None and (kind := it[1].rstrip(_NUMBERS))}
    lines = []
    for line in root.children:
        match = _GIVEN_BACK.fullmatch(line.text)
        names = [] if match is None else interfaces_of(kinds.get(match[2].lower(), match[2]) + _numbers_of(match))[0]
        lines += [replace(line, text=f"{line.text.split()[0]} interface {it}", children=[]) for it in names] or [line]
    root.children = lines


_NUMBERS: Final = "0123456789/.,-"


def _numbers_of(match: re.Match[str]) -> str:
    """The numbers of a range, without the kind of its interfaces where that is written again: '1/1, Ethernet1/2'."""
    return re.sub(rf",\s*{re.escape(match[2])}\s*", ",", match[3], flags=re.IGNORECASE).replace(" ", "")


def _range(line: Line) -> Sequence[str]:
    """The ports of a block of several interfaces; nothing for every other line."""
    text = line.text
    if not text.startswith("interface ") or not ("," in text or "-" in text):
        return ()
    match = _SEVERAL.fullmatch(text)
    names = [] if match is None else interfaces_of(match[1])[0]
    return names if names != [text.removeprefix("interface ")] else ()  # 'Port-Channel11' has a hyphen and is one


def _set_apart(root: Line) -> None:
    """Ports of a range get blocks of their own where a later block takes lines of an earlier one back.

    `interface Ethernet1/3-4` with a policy, then `interface Ethernet1/3` with `no service-policy`, or the reverse: the
    second block changes what the first one gave to port 3 alone.
    """
    ranges = {id(line): names for line in root.children if line.children and (names := _range(line))}
    if not ranges:
        return
    members = {name for names in ranges.values() for name in names}
    blocks = [
        (line, ranges.get(id(line)) or [line.text.removeprefix("interface ")])
        for line in root.children
        if line.text.startswith("interface ") and line.children
    ]
    taken = {start for line, _ in blocks for it in line.children for start in _withdrawn_by(it.text)} - _KEPT
    words = max((it.count(" ") + 1 for it in taken), default=0)
    begun: dict[str, set[str]] = {}
    apart: set[str] = set()
    for line, names in blocks:
        back = taken & {start for it in line.children for start in _withdrawn_by(it.text)}
        starts = taken & {
            " ".join(it.text.split(" ", words)[:count]) for it in line.children for count in range(1, words + 1)
        }
        for name in members.intersection(names):
            if back & begun.get(name, set()):
                apart.add(name)
            begun.setdefault(name, set()).update(starts)
    given_back = (_GIVEN_BACK.fullmatch(line.text) for line in root.children)
    apart |= members & {f"{it[2]}{it[3]}" for it in given_back if it is not None}
    copies = sum(_size(line) * len(apart.intersection(names)) for line, names in blocks if id(line) in ranges)
    if copies > MAX_COPIED:
        raise ValueError(copies)
    if apart:
        root.children = [it for line in root.children for it in _parts(line, ranges.get(id(line), ()), apart)]


def _parts(line: Line, names: Sequence[str], apart: set[str]) -> list[Line]:
    """A block of several ports as blocks of each port that is set apart, and of the others."""
    single = [name for name in names if name in apart]
    if not single:
        return [line]
    others = [name for name in names if name not in apart]
    rest = [*others[:1], *(it.lstrip(_LETTERS) for it in others[1:])]
    texts = [*single, *([",".join(rest)] if rest else [])]
    return [_copied(line, f"interface {text}") for text in texts]


def _size(line: Line) -> int:
    return 1 + sum(map(_size, line.children))


def _copied(line: Line, text: str) -> Line:
    return replace(line, text=text, children=[_copied(it, it.text) for it in line.children])


def _take_back(block: Line) -> None:
    """Of a line and its `no` line, the last one holds."""
    last: dict[str, Line] = {}
    for line in block.children:
        if not line.children:
            text = line.text.removeprefix("no ")
            line.used = line.used or (text != line.text and text in last)
            last[text] = line
    kept = {id(line) for line in last.values()}
    block.children = [line for line in block.children if line.children or id(line) in kept]

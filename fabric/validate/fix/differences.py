"""Differences of a switch's blocks from those of its baseline, in groups of which no part is tried alone.

A rule of a check gives a value, but not a neighbour, a network or a row of a list that a change removed. The baseline
has them. A group is a block with all that is in it, or a line that goes with the line that comes in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from fabric.configs.model import Device
from fabric.validate.blocks import Blocks, Path
from fabric.validate.fix import lines
from fabric.validate.fix.peers import Usual

_NUMBER: Final = re.compile(r"\d+")


def paired(its: Iterable[Usual]) -> list[Usual]:
    """The differences; a line that goes and the one that comes in its place, of one block, get one general name.

    A line comes in the place of another one if both state the same kind of target or the same row of a list, if they
    differ in numbers alone, or if they are the only ones of the block with their first word.
    """
    rows = list(its)
    names: dict[int, tuple[str, ...]] = {}
    for place_of, alone in ((lines.place, False), (lines.first_word, True)):
        places: dict[tuple[str, Path, str], list[int]] = {}
        for number, it in enumerate(rows):
            if number not in names and it.head and (it.old is None) != (it.new is None):
                places.setdefault((it.device, it.path, place_of(it.head)), []).append(number)
        for (_, _, place), those in places.items():
            goes = {rows[number].new is None for number in those}
            if len(goes) > 1 and (not alone or len(those) == 2):
                names.update(dict.fromkeys(those, (*rows[those[0]].general[:-1], place)))
    return [replace(it, general=names.get(number, it.general)) for number, it in enumerate(rows)]


def of_block(
    device: Device, path: Path, own: Mapping[str, str], before: Mapping[str, str], source: str
) -> Iterator[Usual]:
    """The differences of one block, line by line; parameters as of `differences`."""
    for head in dict.fromkeys([*own, *before]):
        if own.get(head) != before.get(head):
            yield Usual(device.name, path, head, own.get(head), before.get(head), source, (*path, head))


def differences(device: Device, own: Blocks, before: Blocks, source: str) -> list[list[Usual]]:
    """Every difference of a switch from its baseline, in groups.

    Parameters
    ----------
    source    where the values are from, in words
    """
    found: list[Usual] = []
    for path, stated in own.items():
        if path in before:
            found += paired(of_block(device, path, stated, before[path], source))
        elif _top(device, path, before) == path and not _is_line(path, before):
            found += taken_away(device, path, stated, source)
    for path, stated in before.items():
        if path not in own and not _is_line(path, own):
            top = _whole(_top(device, path, own))
            heads = [Usual(device.name, path, head, None, value, source, top) for head, value in stated.items()]
            whole = [] if _has_more(path, before) else [Usual(device.name, path, "", None, "", source, top)]
            found += heads or whole
    gone, come = ({_masked(it.general) for it in found if (it.new is None) is way} for way in (True, False))
    groups: dict[tuple[str, ...], list[Usual]] = {}
    for it in found:
        masked = _masked(it.general)
        groups.setdefault(masked if masked in gone & come else it.general, []).append(it)
    return list(groups.values())


def _has_more(path: Path, blocks: Blocks) -> bool:
    """Whether a block has others in it, so that it is there with them."""
    return any(len(it) > len(path) and it[: len(path)] == path for it in blocks)


def taken_away(device: Device, path: Path, stated: Mapping[str, str], source: str) -> list[Usual]:
    """The difference that removes a block: the row of a table; a neighbour's lines in a family, because its other lines
    stay; else the line that opens the block.
    """
    general = _whole(path)
    if _is_row(device, path):
        return [Usual(device.name, path, "", "", None, source, general)]
    if len(path) > 1 and path[-1].startswith("neighbor ") and path[-2].startswith("address-family "):
        return [Usual(device.name, path, head, line, None, source, general) for head, line in stated.items()]
    return [Usual(device.name, path[:-1], path[-1], path[-1], None, source, general)]


def _is_row(device: Device, path: Path) -> bool:
    return device.capabilities.tables and path[0] not in device.beside


def with_address(blocks: Blocks, old: str, new: str) -> Blocks:
    """The blocks with another address of a neighbour: each of its blocks has the address in its path."""

    def renamed(path: Path) -> Path:
        of_neighbor = any(word.startswith(("neighbor", "BGP_NEIGHBOR")) for word in path)
        return tuple(re.sub(rf"(?<![\w.:]){re.escape(old)}(?![\w.:])", new, it) for it in path) if of_neighbor else path

    return {renamed(path): stated for path, stated in blocks.items()}


def _top(device: Device, path: Path, other: Blocks) -> Path:
    """The outermost block around a path, or the path itself, that the other side lacks; a row of a table is in none."""
    first = len(path) if _is_row(device, path) else 1
    return next(path[:length] for length in range(first, len(path) + 1) if path[:length] not in other)


def _is_line(path: Path, other: Blocks) -> bool:
    """Whether the other side has the line that opens a block, and no lines below it."""
    return bool(path) and path[-1] in other.get(path[:-1], {})


def _whole(path: Path) -> Path:
    """The path that a block shares with others of its group: a neighbour's lines in every family are one group."""
    if len(path) > 1 and path[-1].startswith("neighbor "):
        return tuple(it for it in path if not it.startswith("address-family "))
    return path


def _masked(path: Path) -> Path:
    return tuple(_NUMBER.sub("#", word) for word in path)

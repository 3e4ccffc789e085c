"""A number with a letter in it, as most blocks of the same kind state it.

A reader knows one file, and takes a letter for the digit that it looks like: `maximum-paths 4O` for 40. Where the other
switches say 64, and none says 40, the line of theirs is meant.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from fabric.configs.model import Defect, Device, Meant
from fabric.configs.text.jsonfile import read_file
from fabric.validate.blocks import blocks_of
from fabric.validate.facts import Facts
from fabric.validate.fix import lines

_NUMBER: Final = re.compile(r"\d+")
_OWN: Final = re.compile(
    r"(?:neighbor \S+ )?remote-as|router-id|rd|ip address|vn-segment|vxlan .*vni|vni|switchport access vlan|"
    r"(?:neighbor \S+ )?(?:local-as|description).*"
)
"""Words before a value that each switch, port or neighbour has for itself."""
_Stated = dict[tuple[tuple[str, ...], str], Counter[str]]
"""(path without numbers, words before the value) to how often each line is there."""


def as_peers_have_it(facts: Facts, device: Device, item: Defect) -> Defect:
    """A defect whose mistyped number is as most peers state it; the same one where they do not say another."""
    if not device.capabilities.blocks_of_lines or len(item.meant) != 1 or not item.meant[0].old:
        return item
    meant = item.meant[0]
    usual = _usual(facts, device, meant)
    if usual is None:
        return item
    text = item.text.replace(f"'{meant.new[-1]}'", f"'{usual}'")
    return replace(item, text=text, meant=(replace(meant, new=(*meant.new[:-1], usual)),))


def _usual(facts: Facts, device: Device, meant: Meant) -> str | None:
    """The line of most blocks of this kind; None where the reader's guess is one of theirs."""
    head = lines.head(meant.new[-1])
    if _OWN.fullmatch(head) or head == meant.new[-1] or not _is_number(meant, head):
        return None
    its = _stated(facts, device).get((_kind(meant.new[:-1]), head), Counter())
    if not its or meant.new[-1] in its:
        return None
    line, count = its.most_common(1)[0]
    return line if 2 * count > its.total() else None


def _is_number(meant: Meant, head: str) -> bool:
    """Whether the line that was meant has a number where the file has none, and is otherwise the same."""
    old, new = meant.old[-1], meant.new[-1]
    value = old.removeprefix(head).strip()
    return old.startswith(head) and new.removeprefix(head).strip().isdigit() and bool(value) and not value.isdigit()


def _kind(path: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_NUMBER.sub("#", word) for word in path)


def _stated(facts: Facts, device: Device) -> _Stated:
    """What the blocks of all switches of a language state; read once."""
    known: dict[str, _Stated] = facts.notes.setdefault("lines of blocks", {})
    found = known.get(device.language)
    if found is None:
        found = known[device.language] = {}
        for path, head, line in _lines(facts, device):
            found.setdefault((_kind(path), head), Counter())[line] += 1
    return found


def _lines(facts: Facts, device: Device) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """(path, words before the value, line), without lines that a switch refuses."""
    for other in facts.devices:
        if other.capabilities is not device.capabilities or not Path(other.file).is_file():
            continue
        refused = {meant.old for defect in other.defects for meant in defect.meant}
        for path, stated in blocks_of(other, read_file(Path(other.file), mark=True)).items():
            yield from ((path, head, line) for head, line in stated.items() if (*path, line) not in refused)

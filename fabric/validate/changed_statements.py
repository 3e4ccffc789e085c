"""Statements of a switch's files that differ from those of another state, in the language's own words.

A model of a switch has values that follow from a statement elsewhere: a profile that is not applied takes the queues,
priorities and watchdog of its port with it. What changed in the file is the one line.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Final

from fabric.configs.model import Device, Where
from fabric.configs.text.jsonfile import read_file
from fabric.validate.blocks import Blocks, Path, blocks_of, of_frr
from fabric.validate.fix import lines

PORT: Final = "*"
"""Stands for the port's name where several ports have the same change."""
_PRESENT, _ABSENT = "present", "absent"


@dataclass(frozen=True, slots=True)
class Changed:
    """One statement that differs, at the ports that have it."""

    what: str
    """Its place in the file, with `PORT` for the name of a port."""
    change: str
    """'ROCE-200G → ROCE-200', 'present → absent'."""
    ports: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether it came or went."""
        return came_or_went(self.change)


def came_or_went(change: str) -> bool:
    """Whether one side of a change has nothing."""
    return not {_PRESENT, _ABSENT}.isdisjoint(change.split(" → "))


class ChangedStatements:
    """Two states of one switch's files."""

    def __init__(self, old: Device, new: Device) -> None:
        self._devices = (old, new)
        self._blocks = tuple(map(_blocks, self._devices))
        self.rows: tuple[Changed, ...] = tuple(_merged(new, self._differences()))

    def follows(self, where: Where) -> bool:
        """Whether a construct stands in a block of lines that did not change: its value follows from others."""
        known = False
        for device, blocks, others in zip(self._devices, self._blocks, reversed(self._blocks), strict=True):
            number = device.locator.line(where) if device.capabilities.blocks_of_lines and where else 0
            path = _block_at(device, number) if number else None
            if path is not None:
                known = True
                if blocks.get(path) != others.get(path):
                    return False
        return known

    def _differences(self) -> Iterable[tuple[Path, str, str | None, str | None]]:
        old, new = self._blocks
        for path in dict.fromkeys((*old, *new)):
            was, now = old.get(path, {}), new.get(path, {})
            if (path in old) != (path in new) and not (was or now):
                yield path, "", *(("", None) if path in old else (None, ""))
            for head in dict.fromkeys((*was, *now)):
                if was.get(head) != now.get(head):
                    yield path, head, was.get(head), now.get(head)


def _blocks(device: Device) -> Blocks:
    found: Blocks = {}
    if FilePath(device.file).is_file():
        found = blocks_of(device, read_file(FilePath(device.file), mark=True))
    for key, (file, _) in device.beside.items():
        if FilePath(file).is_file():
            found |= {(key, *path): its for path, its in of_frr(read_file(FilePath(file))).items()}
    return found


def _block_at(device: Device, number: int) -> Path | None:
    """The block that a line of a running-config opens, or is in."""
    if not FilePath(device.file).is_file():
        return None
    rows = read_file(FilePath(device.file), mark=True).split("\n")
    for path, block in lines.tree(rows).walk():
        if block.row == number - 1:
            return path if block.children or lines.is_header(path[:-1], block.text) else path[:-1]
    return None


def _merged(device: Device, its: Iterable[tuple[Path, str, str | None, str | None]]) -> Iterable[Changed]:
    same: dict[tuple[str, str], list[str]] = {}
    for path, head, was, now in its:
        port = next((it for word in path for it in _names(word) if it in device.ports), "")
        what = _joined(device, (*path, head) if head else path)
        if port:
            what = _replaced(what, port)
        of_lines = device.capabilities.blocks_of_lines or (bool(path) and path[0] in device.beside)
        change = " → ".join(_value(head, it, of_lines=of_lines) for it in (was, now))
        same.setdefault((what, change), []).append(port)
    for (what, change), ports in same.items():
        yield Changed(what, change, tuple(dict.fromkeys(filter(None, ports))))


def _names(word: str) -> list[str]:
    return word.replace("|", " ").split()


def _joined(device: Device, words: Path) -> str:
    return ("|" if words and (device.capabilities.tables or words[0] in device.beside) else " ").join(words)


def _replaced(text: str, port: str) -> str:
    separator = "|" if "|" in text else " "
    return separator.join(PORT if it == port else it for it in text.split(separator))


def _value(head: str, value: str | None, *, of_lines: bool) -> str:
    """The value without the words that name it; a line that is no more than these words is there or not."""
    if value is None:
        return _ABSENT
    first, _, last = head.rpartition(" ")
    if of_lines and first and value.startswith(f"{first} ") and value.endswith(f" {last}"):
        return value.removeprefix(first).removesuffix(last).strip() or _PRESENT  # `route-map B out`
    return (value.removeprefix(head).strip() if of_lines else value) or _PRESENT

"""Findings of the baseline that are gone: those that were repaired, and those that a new mistake may only hide.

Many checks do not judge what another mistake makes meaningless: a group that is gone has no headroom. Such a finding
was not repaired. The files decide (decisions/0085):

0. A finding of a switch that is not given any more, and one whose construct (a row, a block) was removed, is not judged
   any more: no rule ran over its object. It is fixed only if it said that the statement should not be there.
1. A finding that is gone may be hidden if a new warning or error is near it and the statement at its root, which has to
   change, is as it was.
2. It may be hidden if that statement has changed, and a new warning or error is about that statement.
3. Everything else that is gone is fixed: its rule ran over the same object.

A new finding may have been there before, behind a mistake that is repaired, if the statement at its root is as it was
and one that is gone was near it. "Near" is: about the same port, neighbour or object of a switch, or with a statement
in common.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fabric.configs.model import Device, Where
from fabric.configs.network import Network
from fabric.configs.text.jsonfile import read_file
from fabric.configs.text.subtree import Part, part_of, tree_of
from fabric.errors import FabricError
from fabric.validate.checks.base import Finding, Root, Severity

_CONSTRUCT: Final = 2
"""Words of the path of the smallest construct that two findings share: a row of a table, a block with its name."""
_DIGIT: Final = re.compile(r"[0-9]")
_NOT_WANTED: Final = frozenset(("R2", "R4", "R8", "R10", "R12"))
"""Checks whose findings say that a statement should not be there, or not twice."""
_NAMES: Final = re.compile(r"[^\s|↔→,]+")


@dataclass(frozen=True, slots=True)
class Behind:
    """A finding that one of the other state may hide."""

    finding: Finding
    other: Finding

    def __str__(self) -> str:
        return f"{self.other.check.id} {self.other.device} {self.other.object}"


@dataclass(frozen=True, slots=True)
class Gone:
    """A finding of the baseline that nothing judges any more."""

    finding: Finding
    why: str
    """'its statement was removed', 'leaf1 was not given'."""

    def __str__(self) -> str:
        return f"not judged any more, {self.why}"


class Statements:
    """What two states of a fabric state at the same place."""

    def __init__(self, old: Network, new: Network) -> None:
        self._networks = (old, new)
        self._lines: dict[str, list[str]] = {}
        self._trees: dict[str, Any] = {}
        self._known: dict[Root, bool] = {}
        self._ends = [{end for cable in network.links for end in (cable.a, cable.b)} for network in (old, new)]
        self._linked = [{name for name, _ in ends} for ends in self._ends]

    def changed(self, root: Root) -> bool:
        """Whether the statement at a place differs, with everything inside it; True where the place cannot be found."""
        if root not in self._known:
            self._known[root] = self._differs(*root)
        return self._known[root]

    def absent(self, names: Iterable[str]) -> str:
        """The first of these switches that the old state has and the new one has not; '' where there is none."""
        old, new = (network.devices for network in self._networks)
        return next((name for name in names if name in old and name not in new), "")

    def out_of_use(self, item: Finding) -> str:
        """A port of a finding that was in use, and is down or has no link now; '' where there is none.

        Only of a finding whose own statement is as it was: else the change may be its remedy.
        """
        if self.changed(item.root):
            return ""
        words = (word.partition(":") for word in _NAMES.findall(item.object))
        ends = ((device, port) if colon else (item.device, device) for device, colon, port in words)
        return next(
            (f"{name}:{port}" for name, port in ends if self._used(0, name, port) > self._used(1, name, port)), ""
        )

    def _used(self, state: int, name: str, port: str) -> bool:
        device = self._networks[state].devices.get(name)
        found = None if device is None else device.ports.get(port)
        cabled = name not in self._linked[state] or (name, port) in self._ends[state]
        return found is not None and found.admin_up and cabled

    def removed(self, root: Root) -> bool:
        """Whether the construct at a place, a row or a block, stood in the old state and does not in the new one."""
        name, where = root
        own = where[: where.index("set") + 1 + _CONSTRUCT] if "set" in where[:2] else where[:_CONSTRUCT]
        devices = [network.devices.get(name) for network in self._networks]
        if None in devices or len(own) < _CONSTRUCT:
            return False
        try:
            old, new = (self._stands(device, own) for device in devices if device is not None)
        except (FabricError, OSError):
            return False
        return old and not new

    def _stands(self, device: Device, where: Where) -> bool:
        """Whether a file has a path: of lines, whether a line states its last word."""
        stated = self._stated(device, where)
        if isinstance(stated, Part):
            return stated.depth == len(where)
        return bool(stated) and where[-1] in stated[0]

    def _differs(self, name: str, where: Where) -> bool:
        devices = [network.devices.get(name) for network in self._networks]
        if None in devices:
            return True
        try:
            old, new = (self._stated(device, where) for device in devices if device is not None)
        except (FabricError, OSError):
            return True
        return old != new

    def _stated(self, device: Device, where: Where) -> Part | list[str]:
        """The statement with everything inside it: of a tree by its path, however the file is broken into lines."""
        if device.file not in self._trees:
            self._trees[device.file] = tree_of(device.locator)
        tree = self._trees[device.file]
        return self._text(device, where) if tree is None else part_of(tree, where)

    def _text(self, device: Device, where: Where) -> list[str]:
        """The line of a construct and the lines inside it: those after it that are indented deeper."""
        if device.file not in self._lines:
            self._lines[device.file] = read_file(Path(device.file), mark=True).splitlines()
        lines = self._lines[device.file]
        first = device.locator.line(where) - 1
        if not 0 <= first < len(lines):
            return []
        depth = _depth(lines[first])
        found = [lines[first].strip()]
        for line in lines[first + 1 :]:
            if line.strip() and _depth(line) <= depth:
                break
            found.append(line.strip())
        return found


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def unjudged(gone: Iterable[Finding], fresh: Iterable[Finding], statements: Statements) -> tuple[Gone, ...]:
    """Of the findings that are gone those whose object no rule ran over, and that no new finding may hide."""
    loud = _Near(it for it in fresh if it.severity >= Severity.WARN)
    found = []
    for item in gone:
        sites = _sites(item)
        ports = (word.partition(":")[0] for word in _NAMES.findall(item.object))
        if name := statements.absent((item.device, *(it[0] for it in sites), *ports)):
            found.append(Gone(item, f"{name} was not given"))
        elif statements.removed(item.root) and not _removes(item) and loud.of(item) is None:
            found.append(Gone(item, "its statement was removed"))
        elif loud.of(item) is None and (end := statements.out_of_use(item)):
            found.append(Gone(item, f"{end} is down or has no link"))
    return tuple(found)


def _removes(item: Finding) -> bool:
    """Whether the removal of the statement is what the finding asks for."""
    rows = () if item.fix is None else item.fix.rows
    return item.check.id in _NOT_WANTED or any(row.value is None for row in rows)


def behind(gone: Sequence[Finding], fresh: Sequence[Finding], statements: Statements) -> tuple[Behind, ...]:
    """Of the findings that are gone those that are not known to be fixed."""
    loud = _Near(it for it in fresh if it.severity >= Severity.WARN)
    found = []
    for item in gone:
        changed = statements.changed(item.root) and not statements.removed(item.root)
        by = loud.at(item.root) if changed else loud.of(item)
        if by is not None:
            found.append(Behind(item, by))
    return tuple(found)


def visible(fresh: Sequence[Finding], gone: Sequence[Finding], statements: Statements) -> tuple[Behind, ...]:
    """Of the new findings those that were there before, and the one that hid each."""
    near = _Near(gone)
    its = ((item, near.of(item)) for item in fresh if not statements.changed(item.root))
    return tuple(Behind(item, by) for item, by in its if by is not None)


class _Near:
    """Findings by what they are about."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self._by: dict[object, Finding] = {}
        for item in findings:
            sites = _sites(item)
            for key in (*_names(item), *_places(sites), *(("in", *it[1:]) for it in _outer(sites))):
                self._by.setdefault(key, item)

    def at(self, root: Root) -> Finding | None:
        """The first finding about this statement, about one inside it, or about one that it is in."""
        inside = (("in", *it[1:]) for it in _places([root]))
        return next((self._by[key] for key in (*_outer([root]), *inside) if key in self._by), None)

    def of(self, item: Finding) -> Finding | None:
        """The first finding about the same object, about a statement outside or inside it, or about the same port."""
        own, *ports = _names(item)
        sites = _sites(item)
        inside = (("in", *it[1:]) for it in _places(sites))
        return next((self._by[key] for key in (own, *_outer(sites), *inside, *ports) if key in self._by), None)


def _names(item: Finding) -> Iterator[tuple[object, ...]]:
    """The object, and the ports and neighbours in its name."""
    yield "object", item.device, item.object
    for word in _NAMES.findall(item.object):
        device, colon, port = word.partition(":")
        if _DIGIT.search(word) and not word.isdigit():
            yield ("port", device, port) if colon else ("port", item.device, word)


def _places(sites: Iterable[Root]) -> Iterator[tuple[object, ...]]:
    """Every statement, from the root of the file's tree."""
    for name, where in sites:
        own = where[where.index("set") + 1 :] if "set" in where[:2] else where
        if len(own) >= _CONSTRUCT:
            yield "at", name, own


def _outer(sites: Iterable[Root]) -> Iterator[tuple[object, ...]]:
    """Every statement, and the constructs that it is in."""
    for name, where in ((str(it[1]), it[2]) for it in _places(sites)):
        its = where if isinstance(where, tuple) else ()
        yield from (("at", name, its[:length]) for length in range(len(its), _CONSTRUCT - 1, -1))


def _sites(item: Finding) -> list[Root]:
    """Every statement that a finding depends on, once."""
    its = (item.root, *(it.root for it in item.evidence if it.root is not None), *item.rests_on, *item.within)
    return list(dict.fromkeys(its))

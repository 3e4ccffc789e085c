"""What changed in a switch's files, line by line, in the words of its own language.

What is listed stands in the files: nothing that follows from it is, and every difference is, whether a check judges it
or not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Final

from fabric.configs.model import Device
from fabric.configs.text.secrets import NOT_SHOWN, is_secret, without_secret
from fabric.validate.blocks import Path
from fabric.validate.checks.base import first
from fabric.validate.state_differences import Difference, differences, names_of
from fabric.validate.statements import Statement, same_text, statements_of

PORT: Final = "*"
"""Stands for the port's name where several ports have the same change."""
PRESENT, ABSENT = "present", "absent"
_NOT_JUDGED: Final = " (not judged)"
_SHOWN_PORTS: Final = 6
_SHOWN: Final = 160
"""Characters of a value: of longer ones, what differs."""
_BEFORE: Final = 20
"""Characters before what differs."""


def changed_statements(
    old: Device, new: Device, before: Mapping[str, str], after: Mapping[str, str], told: frozenset[str] = frozenset()
) -> Iterator[str]:
    """One line for each statement that differs; the same difference at several ports is one line.

    Parameters
    ----------
    before, after    file to the text that counts instead of the file's, of the two states
    told             keys of BUFFER_PG, as 'Ethernet0|3', whose rows another line tells
    """
    if old.capabilities is not new.capabilities:
        yield f"all statements: {old.capabilities.title} → {new.capabilities.title}"
        return
    if same_text(old, new, before, after):
        return
    unjudged = _unjudged(old), _unjudged(new)
    same: dict[tuple[str, str], dict[str, None]] = {}
    for it in differences(new, statements_of(old, before), statements_of(new, after)):
        path, change = _said(new, it)
        if told and path[0] == "BUFFER_PG" and told.issuperset(names_of(path[-1])):
            continue
        port = next((word for name in path for word in re.split(r"[| ]", name) if word in new.ports | old.ports), "")
        what = _joined(new, path)
        if port:
            what = re.sub(rf"(?<![^| ]){re.escape(port)}(?![^| ])", PORT, what)
        sides = [(side, paths) for side, paths in zip((it.old, it.new), unjudged, strict=True) if side is not None]
        if all(_is_unjudged(side, paths) for side, paths in sides):
            change += _NOT_JUDGED
        same.setdefault((what, change), {})[port] = None
    for (what, change), ports in same.items():
        yield _line(what, change, [it for it in ports if it])


def _line(what: str, change: str, ports: Sequence[str]) -> str:
    if len(ports) > 1:
        return f"{first(list(ports), _SHOWN_PORTS)}: {what}: {change}"
    return f"{what.replace(PORT, ports[0]) if ports else what}: {change}"


def _joined(device: Device, path: Path) -> str:
    return ("|" if device.capabilities.tables or path[0] in device.beside else " ").join(path)


def _said(device: Device, it: Difference) -> tuple[Path, str]:
    """The names that lead to what changed, and the change."""
    path, one = it.path, it.either
    if it.old is None or it.new is None:
        while len(one.below) == 1 and device.capabilities.shell_statements:  # the only value of a mapping
            path, one = (*path, one.name), next(iter(one.below.values()))
        if not one.named:
            path, value = (*path, without_secret(one.line)), PRESENT
        else:
            path, value = (*path, one.name), _value(one)
        return path, f"{value} → {ABSENT}" if it.new is None else f"{ABSENT} → {value}"
    was, now = _value(it.old), _value(it.new)
    part = it.old.line and (it.old.value is None) != (it.new.value is None)  # `send-community`, and that with a word
    if part or not (it.old.named and it.new.named):
        path = path or (it.new.name,)
        was, now = without_secret(it.old.line), without_secret(it.new.line)
    elif it.old.name == it.new.name:
        path = (*path, it.new.name)
    else:
        words = it.old.line.split(), it.new.line.split()
        common = _common(*words)
        path = (*path, " ".join(words[0][:common])) if common else path
        was, now = (" ".join(its[common:]) or PRESENT for its in words)
    if was == now:
        return path, f"changed {NOT_SHOWN}"
    return path, " → ".join(_cut(was, now))


def _value(one: Statement) -> str:
    if one.value is None or (one.below and not one.line):
        return PRESENT
    if is_secret(one.name) or without_secret(one.line) != one.line:
        return NOT_SHOWN
    return one.value if one.value == one.value.strip() else f"'{one.value}'"


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words or characters two texts begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _cut(was: str, now: str) -> tuple[str, str]:
    """Both values; of long ones the part that differs."""
    if max(len(was), len(now)) <= _SHOWN:
        return was, now
    begin = max(0, _common(was, now) - _BEFORE)
    shown = [("…" if begin else "") + it[begin : begin + _SHOWN] for it in (was, now)]
    return shown[0] + "…" * (len(was) > begin + _SHOWN), shown[1] + "…" * (len(now) > begin + _SHOWN)


def _unjudged(device: Device) -> set[Path]:
    """Words of what no check uses. A mistyped line is one that a check speaks of."""
    said = {meant.old for defect in device.defects for meant in defect.meant}
    return {path for it in (*device.unread, *device.unjudged) for path, _ in it.leaves} - said


def _is_unjudged(one: Statement, paths: set[Path]) -> bool:
    """Whether no check uses the statement, or anything that is in it."""
    return one.at in paths or (bool(one.below) and all(_is_unjudged(it, paths) for it in one.below.values()))

"""Differences between two states of a network: statements of its files, and findings that are new or gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from fabric.configs.model import Device
from fabric.configs.network import Network
from fabric.validate.changed_inputs import changed_hosts, changed_links, changed_others
from fabric.validate.changed_statements import changed_statements
from fabric.validate.checks.base import Finding, first
from fabric.validate.hidden import Statements, behind, unjudged, visible
from fabric.validate.runner import Verdict

_SHOWN_PORTS: Final = 6
_MADE: Final = "present → absent; the switch makes it again when it starts, from cable length and speed"
_MADE_BEFORE: Final = "absent → present; the switch made it before"


def compare(old: Verdict, new: Verdict, changes: tuple[str, ...], statements: Statements) -> Verdict:
    """The new verdict with only what the old one has not; what is gone is fixed, hidden, or not judged any more."""
    before: dict[tuple[str, str, str], list[Finding]] = {}
    for item in old.findings:
        before.setdefault(item.key, []).append(item)
    after = Counter(item.key for item in new.findings)

    def is_new(item: Finding) -> bool:
        """Worse than every earlier finding of this object; or one more than before, with another text."""
        known = before.get(item.key, [])
        return all(it.severity < item.severity for it in known) or (
            after[item.key] > len(known) and all(it.text != item.text for it in known)
        )

    fresh = tuple(filter(is_new, new.findings))
    gone = tuple(item for item in old.findings if item.key not in after)
    left_out = unjudged(gone, fresh, statements)
    maybe = {id(it.finding) for it in left_out}
    covered = behind([item for item in gone if id(item) not in maybe], fresh, statements)
    maybe |= {id(it.finding) for it in covered}
    return replace(
        new,
        findings=fresh,
        fixed=tuple(item for item in gone if id(item) not in maybe),
        hidden=covered,
        gone=left_out,
        visible=visible(fresh, gone, statements),
        known=len(new.findings) - len(fresh),
        changes=changes,
    )


def changes(old: Network, new: Network) -> tuple[str, ...]:
    """One line for each statement that differs; the same change on many ports of a switch is one line."""
    lines = [
        f"{name}: {'added' if name in new.devices else 'removed'}"
        for name in sorted(old.devices.keys() ^ new.devices.keys())
    ]
    for name in sorted(old.devices.keys() & new.devices.keys()):
        was, now = old.devices[name], new.devices[name]
        made, made_before = _made(was, now), _made(now, was)
        told = frozenset(f"{port}|{group}" for port, group in made | made_before)
        lines += [f"{name}: {it}" for it in changed_statements(was, now, old.contents, new.contents, told)]
        lines += [f"{name}: {it}" for it in (*_groups(made, _MADE), *_groups(made_before, _MADE_BEFORE))]
    return (*lines, *changed_hosts(old, new), *changed_links(old, new), *changed_others(old, new))


def _made(before: Device, after: Device) -> set[tuple[str, int]]:
    """Port and number of groups whose row the one state has and whose row the switch makes itself in the other."""
    stated, made = (
        {
            (port.name, group)
            for port in device.ports.values()
            for group, bound in port.groups.items()
            if bound.made is its and bound.profile is not None
        }
        for device, its in ((before, False), (after, True))
    )
    return stated & made


def _groups(rows: set[tuple[str, int]], what: str) -> Iterator[str]:
    """Ports with the same groups in one line: the meaning of the rows is the same."""
    groups: dict[str, list[int]] = {}
    for port, group in sorted(rows):
        groups.setdefault(port, []).append(group)
    alike: dict[tuple[int, ...], list[str]] = {}
    for port, numbers in groups.items():
        alike.setdefault(tuple(numbers), []).append(port)
    for numbers_, ports in alike.items():
        yield f"{first(ports, _SHOWN_PORTS)}: BUFFER_PG of group {first(numbers_)}: {what}"

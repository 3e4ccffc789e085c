"""The roots of one run matched with the groups of its truth.

A root and a group can be a pair where they overlap in time (a sample before the group, a nominal minute after it) and
in a device, or where the group is a setting of the whole fabric and has the root's kind. Each root has at most one
group, and each group at most one root, settings excepted: pairs of the right kind first, then of the right port, then
in order of time. A root of the load (LOAD) is a pair only with a group of its kind; otherwise it is counted and not
judged, because the generator knows faults and not which queues fill.

A pair is right where kind, device, port and class are: any port of the group, where the group has ports; the group's
class, where it has one and the root names one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from telemetry.campaign.truth import Group
from telemetry.diagnosis.root import Kind, Root

LOAD: Final = frozenset({Kind.OVERSUBSCRIPTION, Kind.POLARISED, Kind.ELEPHANTS, Kind.INCAST, Kind.MICROBURST})
MINUTE_NS: Final = 4_000_000
"""A minute of an operator, at 15 nominal seconds a millisecond (docs/alerts.md)."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A root with its group."""

    root: int
    group: int
    right: bool
    device: bool
    """Whether the device is right."""


def pairs(roots: Sequence[Root], groups: Sequence[Group], sample_ns: int) -> list[Pair]:
    """The pairs, each root and each group at most once.

    Parameters
    ----------
    roots : of telemetry/diagnosis
    groups : the truth
    sample_ns : sampling interval
    """
    possible = [
        (_order(root, group), row, number)
        for row, root in enumerate(roots)
        for number, group in enumerate(groups)
        if _may_be(root, group, sample_ns)
    ]
    found: list[Pair] = []
    for _, row, number in sorted(possible):
        root, group = roots[row], groups[number]
        if all(row != it.root and (number != it.group or not group.devices) for it in found):
            found.append(Pair(row, number, is_right(root, group), not group.devices or root.device in group.devices))
    return found


def is_right(root: Root, group: Group) -> bool:
    """Whether kind, device, port and class are right."""
    return (
        root.kind in group.kinds
        and (not group.devices or root.device in group.devices)
        and (not group.ports or not root.port or f"{root.device}:{root.port}" in group.ports)
        and (group.priority is None or root.priority in {None, group.priority})
    )


def is_judged(root: Root, groups: Sequence[Group]) -> bool:
    """Whether a root counts in precision: all but roots of the load that no group has."""
    return root.kind not in LOAD or any(root.kind in it.kinds for it in groups)


def _may_be(root: Root, group: Group, sample_ns: int) -> bool:
    if root.began_ns > group.end_ns + MINUTE_NS or root.ended_ns < group.start_ns:
        return False
    if root.began_ns < group.start_ns - sample_ns:
        return False
    if not group.devices or root.kind in LOAD:
        return root.kind in group.kinds
    return bool(root.devices & set(group.devices))


def _order(root: Root, group: Group) -> tuple[bool, bool, bool, int]:
    return (
        root.kind not in group.kinds,
        root.device not in group.devices,
        bool(group.ports) and f"{root.device}:{root.port}" not in group.ports,
        root.began_ns,
    )


def root_as_json(root: Root) -> dict[str, Any]:
    """A root in the journal."""
    return {
        "kind": root.kind.value,
        "device": root.device,
        "port": root.port,
        "class": root.priority,
        "began_ns": root.began_ns,
        "ended_ns": root.ended_ns,
        "members": list(root.members),
        "evidence": list(root.evidence),
    }

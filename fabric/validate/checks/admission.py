"""M: classes that are admitted to a lossless group without being lossless."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from fabric.validate.checks.base import Check, Found, Root, W, check
from fabric.validate.checks.entries import map_evidence, pause_roots
from fabric.validate.facts import Facts, Line
from fabric.validate.remedies import set_map

_MANY: Final = 4
"""Code points in a sentence."""


@check(
    "M16",
    W,
    "traffic that no pause stops fills a lossless group",
    condition="a class that is admitted to a lossless group leaves in a queue that the group's pause stops",
    consequence="the pause that the group sends does not stop this traffic: it holds the group full, and RoCE that "
    "comes in by the port stays paused as long as it lasts; what the headroom cannot hold of it is dropped",
    remedy="map the class to a lossy group",
    source="SAI TC_TO_PRIORITY_GROUP; IEEE 802.1Q annex O (headroom covers what arrives after the pause)",
)
def M16(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Classes that some DSCP has, on ports whose classes and groups are mapped; RoCE's own class is M1's and M4's."""
    for line in facts.lossless:
        dscps = line.device.map_of(line.port, "dscp_to_tc")
        if not line.device.capabilities.class_to_group_map or dscps is None:
            continue
        paused = {tc for priority in line.port.lossless for tc in facts.classes_of(line, priority)}
        roce = {facts.value(line.device, line.port, "dscp_to_tc", dscp) for dscp in facts.network.roce_dscps}
        for tc in sorted({*dscps.entries.values()} - paused - roce):
            group = facts.value(line.device, line.port, "tc_to_pg", tc)
            profile = None if group is None else line.device.profile_of(line.port.groups.get(group))
            if group is None or profile is None or not profile.lossless or group not in _sent_for(facts, line):
                continue
            codes = [dscp for dscp, its in dscps.entries.items() if its == tc]
            shown = f"DSCP {', '.join(map(str, codes[:_MANY]))}" + ("" if len(codes) <= _MANY else " and more")
            usual = facts.usual_group(tc)
            yield Found(
                line.device.name,
                line.port.name,
                f"class {tc} ({shown}) is admitted to lossless group {group}, whose pause does not stop it",
                map_evidence(line, "tc_to_pg", tc),
                rests_on=(*pause_roots(facts, line, group), *_roots(line, "dscp_to_tc", codes[:_MANY])),
                fix=None if usual in {None, group} else set_map(line.device, line.port, "tc_to_pg", tc, usual or 0),
            )


def _sent_for(facts: Facts, line: Line) -> set[int | None]:
    """Groups for which the port sends pauses."""
    return {facts.value(line.device, line.port, "pfc_to_pg", priority) for priority in line.port.lossless}


def _roots(line: Line, kind: str, keys: Sequence[int]) -> tuple[Root, ...]:
    return tuple(one.root for key in keys for one in map_evidence(line, kind, key) if one.root is not None)


CHECKS: Final[tuple[Check, ...]] = (M16,)

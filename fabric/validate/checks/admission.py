"""M: lossless groups that PFC does not protect, and classes admitted to one without being lossless."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from fabric.validate.checks.base import Check, E, Found, Root, Severity, W, check, listed, shows
from fabric.validate.checks.entries import map_evidence, pause_roots, pfc_root
from fabric.validate.facts import Facts, Line
from fabric.validate.remedies import set_map, set_pfc

_MANY: Final = 4
"""Code points in a sentence."""
_NUMBERS: Final = re.compile(r"\d+")


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


def _without_pfc(facts: Facts, line: Line, group: int) -> tuple[Severity, str]:
    """A port to a RoCE host whose PFC was left out drops what the switch keeps; between switches, L1 says so.

    Servers without RoCE stay without PFC on purpose, while a template binds the group on every port. Where no settings
    say which servers these are, one port alone that differs from all of its kind is a slip, and several are a choice.
    """
    others = facts.lossless_of(line.device)
    paused = {facts.value(it.device, it.port, "pfc_to_pg", one) for it in others for one in it.port.lossless}
    if line.port.lossless or group not in paused or not facts.faces_host(line):
        return W, ""
    stated = _says_roce(facts, line)
    if stated is not None:
        return (E if stated else W), ""
    kind = _kind(facts, line)
    if kind not in {_kind(facts, it) for it in others if facts.faces_host(it)}:
        return W, ""
    alike = [it for it in facts.used if facts.faces_host(it) and it.port.qos_where and _kind(facts, it) == kind]
    alone = sum(not it.port.lossless for it in alike) == 1
    host = facts.peers[line.end][0]
    severity = E if alone else W
    return severity, f"; that {host} sends RoCE is assumed from hosts named alike: give their settings with --hosts"


def _says_roce(facts: Facts, line: Line) -> bool | None:
    """Whether the host's settings say that it sends RoCE; None: they say nothing. One whose PFC is off sends none."""
    host = facts.host_at(line)
    if host is not None and host.pfc_enable is not None:
        return bool(host.pfc_enable)
    if host is not None and any(it is not None for it in (host.roce_mtu, host.ecn_np_prio, host.ecn_rp_prio, host.cc)):
        return True
    return None


def _kind(facts: Facts, line: Line) -> tuple[str, int | None]:
    """What tells hosts apart: the words of the name without its numbers, and the speed."""
    return _NUMBERS.sub("", facts.peers[line.end][0].lower()), line.port.speed_mbps


@check(
    "M7",
    W,
    "lossless group without PFC",
    condition="groups with headroom belong to a PFC priority (error where a port to a RoCE host has no PFC at all, "
    "and the group is that of a priority which other ports of the switch pause; a host is one of RoCE where its "
    "settings say so, else where all other hosts of the same kind of name and speed have PFC)",
    consequence="memory is reserved and the class looks protected, but no pause is ever sent",
    remedy="enable PFC for it, or remove the group",
    source="sonic-swss buffermgr.cpp",
)
def M7(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """On ports in use that carry PFC maps at all."""
    for line in facts.used:
        groups = {facts.value(line.device, line.port, "pfc_to_pg", p) for p in line.port.lossless}
        for group, bound in line.port.groups.items():
            profile = line.device.profile_of(bound)
            if profile is not None and profile.lossless and group not in groups and line.port.qos_where:
                severity, assumed = _without_pfc(facts, line, group)
                yield Found(
                    line.device.name,
                    f"{line.port.name}|{group}",
                    f"group {group} has '{profile.name}', PFC is on for {listed(line.port.lossless)}{assumed}",
                    (
                        shows(line.device, bound.profile_where, "profile", profile.name),
                        shows(line.device, line.port.qos_where, "pfc_enable", listed(line.port.lossless)),
                    ),
                    severity,
                    root=pfc_root(line) if line.port.lossless != facts.usual_pfc else None,
                    fix=set_pfc(line.device, line.port, facts.usual_pfc)
                    if line.port.lossless != facts.usual_pfc
                    else None,
                )


CHECKS: Final[tuple[Check, ...]] = (M7, M16)

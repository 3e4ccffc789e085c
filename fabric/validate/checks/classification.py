"""M: which packets are lossless: DSCP to class, class to queue and group, priority to queue and group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from fabric.configs.model import Device, QosMap
from fabric.validate.checks.base import Check, E, Evidence, Found, I, W, check, listed, named, shows
from fabric.validate.facts import Facts, Line

_BGP_DSCP: Final = 48
_N_DSCP: Final = 64
_MANY: Final = 4
"""Other code points in the RoCE class from which a whole range was mapped, not one or two by the template."""


def _assumed(facts: Facts) -> str:
    return "" if facts.network.hosts_known else " (assumed; --hosts or --roce-dscp say otherwise)"


def map_evidence(line: Line, kind: str, key: int) -> tuple[Evidence, ...]:
    """The entry of a map, with its line."""
    found = line.device.map_of(line.port, kind)
    if found is None:
        return (shows(line.device, line.port.qos_where or line.port.where, "", "none", kind),)
    return (entry(line.device, found, key),)


def entry(device: Device, map_: QosMap, key: int) -> Evidence:
    """One entry of a map; of one that the language fills in it says so, for its line has something else on it."""
    value = map_.entries.get(key, "absent")
    default = map_.stated is not None and key not in map_.stated
    return shows(device, map_.where, str(key), f"{value} by default" if default else value)


@check("M1", E, "RoCE rides a lossy queue",
       condition="the hosts' RoCE DSCP is in a class that a PFC priority of the port protects, on every lossless port",
       consequence="RoCE is dropped under congestion; PFC and its headroom protect something else",
       remedy="map the DSCP to a lossless class, or let the hosts mark the DSCP that is (stock maps: 3 and 4)",
       source="sonic-buildimage qos_config.j2; host default DSCP 24 or 26")
def M1(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Every lossless port, every DSCP of the hosts."""
    for line in facts.lossless:
        for dscp in facts.network.roce_dscps:
            tc, priority = facts.lossless_class(line, dscp)
            if priority is None and line.device.map_of(line.port, "dscp_to_tc") is not None:
                where = f"goes to class {tc}, which no PFC priority protects" if tc is not None else "has no class"
                yield Found(line.device.name, line.port.name, f"DSCP {dscp} {where}{_assumed(facts)}",
                            (*map_evidence(line, "dscp_to_tc", dscp),
                             shows(line.device, line.port.qos_where, "pfc_enable", listed(line.port.lossless))))


@check("M2", E, "a code point changes class from hop to hop",
       condition="RoCE and CNP code points have one (class, queue) on all switches of one language",
       consequence="a flow is lossless on one hop and lossy on the next", remedy="use the same maps everywhere",
       source="per-hop behaviour is per hop: RFC 2474 section 3")
def M2(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """The switches that differ from what most have."""
    for dscp in dict.fromkeys((*facts.network.roce_dscps, *facts.network.cnp_dscps)):
        by_language: dict[str, dict[str, tuple[Line, tuple[int | None, int | None]]]] = {}
        for line in facts.lossless:
            value = (facts.value(line.device, line.port, "dscp_to_tc", dscp), facts.queue_of(line, dscp))
            by_language.setdefault(line.device.language, {}).setdefault(line.device.name, (line, value))
        for devices in by_language.values():
            usual, count = Counter(value for _, value in devices.values()).most_common(1)[0]
            for name, (line, value) in devices.items():
                if value != usual:
                    yield Found(name, f"DSCP {dscp}", f"class {value[0]}, queue {value[1]} here; class {usual[0]}, "
                                f"queue {usual[1]} on {count} of {len(devices)} switches",
                                map_evidence(line, "dscp_to_tc", dscp))


@check("M3", E, "hole in a map", condition="64 DSCPs have a class; every class in use has a queue and a group",
       consequence="a packet of that value goes to class 0, or wherever SAI's default sends it",
       remedy="write the entry", source="YANG allows holes; SAI saiqosmap.h defaults")
def M3(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Per map in use on lossless ports."""
    seen = set()
    for line in facts.lossless:
        dscp = line.device.map_of(line.port, "dscp_to_tc")
        for kind in ("dscp_to_tc", "tc_to_queue", "tc_to_pg"):
            found = line.device.map_of(line.port, kind)
            key = (line.device.name, kind, line.port.name if found is None else found.name)
            if key in seen or (kind == "tc_to_pg" and line.device.language != "sonic"):
                continue
            seen.add(key)
            if found is None:
                if kind not in line.port.maps:                 # a name that leads nowhere is R1's
                    yield Found(line.device.name, line.port.name, f"PFC without a {kind} map",
                                (shows(line.device, line.port.qos_where, "", ""),))
                continue
            needed = range(_N_DSCP) if kind == "dscp_to_tc" else sorted(set(dscp.entries.values())) if dscp else []
            holes = [value for value in needed if value not in found.entries]
            if holes:
                shown = ", ".join(map(str, holes[:8])) + (f" and {len(holes) - 8} more" if len(holes) > 8 else "")
                yield Found(line.device.name, named(found.where), f"no entry for {shown}",
                            (shows(line.device, found.where, "", ""),))


@check("M4", E, "PFC on, but the traffic is admitted to a lossy group",
       condition="for each PFC priority, the group of each of its classes has headroom",
       consequence="the group never asks for a pause and drops instead",
       remedy="map the class to the lossless group, or give the group a lossless profile",
       source="SAI TC_TO_PRIORITY_GROUP; sonic-swss buffermgr.cpp")
def M4(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Silent where the group is missing for a reason that another check names (H2, H7), or was not judged."""
    for line in facts.lossless:
        if (line.device.language != "sonic" and not line.port.groups) or not line.device.pools or (
                line.port.headroom_unknown) or (
                line.port.missing_row or (not line.port.cable_m and any(p not in line.port.groups
                                                                       for p in line.port.lossless))):
            continue
        for priority in sorted(line.port.lossless):
            for tc in facts.classes_of(line, priority):
                group = facts.value(line.device, line.port, "tc_to_pg", tc)
                bound = None if group is None else line.port.groups.get(group)
                profile = line.device.profile_of(bound)
                dangling = bound is not None and bound.profile is not None and profile is None
                if group is not None and not dangling and (profile is None or not profile.lossless):
                    what = f"'{profile.name}'" if profile else "no profile"
                    yield Found(line.device.name, f"{line.port.name}|{priority}",
                                f"priority {priority}: class {tc} is admitted to group {group} with {what}",
                                map_evidence(line, "tc_to_pg", tc))


@check("M5", E, "a pause stops another queue than the traffic's",
       condition="group of priority P = group of its classes; some class uses P's queue",
       consequence="the switch pauses a priority whose traffic is elsewhere: loss here, standstill there",
       remedy="make the PFC maps agree with the class maps", source="SAI PFC_PRIORITY_TO_QUEUE, _TO_PRIORITY_GROUP")
def M5(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Both directions of the pause."""
    for line in facts.lossless:
        if line.device.map_of(line.port, "tc_to_queue") is None:
            continue
        for priority in sorted(line.port.lossless):
            classes = facts.classes_of(line, priority)
            if not classes:
                yield Found(line.device.name, f"{line.port.name}|{priority}", f"no class uses the queue of priority "
                            f"{priority}", map_evidence(line, "pfc_to_queue", priority))
            if line.device.map_of(line.port, "tc_to_pg") is None:
                continue
            group = facts.value(line.device, line.port, "pfc_to_pg", priority)
            for tc in classes:
                other = facts.value(line.device, line.port, "tc_to_pg", tc)
                if other is not None and other != group:
                    yield Found(line.device.name, f"{line.port.name}|{priority}",
                                f"priority {priority} is sent for group "
                                f"{group}, its class {tc} fills group {other}",
                                (*map_evidence(line, "pfc_to_queue", priority), *map_evidence(line, "tc_to_pg", tc)))


@check("M6", E, "congestion notifications wait behind data",
       condition="CNPs are not in a lossless queue; their queue is strict or has at least half the data queue's weight",
       consequence="DCQCN reacts late; a paused CNP queue is a control loop in deadlock",
       remedy="give CNPs a strict queue of their own", source="NVUE RoCE defaults (TC6 strict)")
def M6(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Error inside a lossless queue, warning for a weak one."""
    for line in facts.lossless:
        lossless = {queue: bound for _, queue, bound in facts.lossless_queues(line)}
        for dscp in facts.network.cnp_dscps:
            queue = facts.queue_of(line, dscp)
            if queue is None:
                continue
            evidence = map_evidence(line, "dscp_to_tc", dscp)
            if queue in lossless:
                yield Found(line.device.name, line.port.name, f"CNP DSCP {dscp} is in lossless queue {queue}", evidence)
                continue
            own = facts.scheduler(line.device, line.port.queues.get(queue))
            data = [s for s in (facts.scheduler(line.device, bound) for bound in lossless.values()) if s]
            if line.device.schedulers and (own is None or (own.kind != "STRICT" and any(
                    own.weight * 2 < other.weight for other in data if other.kind != "STRICT"))):
                yield Found(line.device.name, line.port.name, f"CNP queue {queue} has "
                            + (f"weight {own.weight}" if own else "no scheduler"), evidence, W)


@check("M7", W, "lossless group without PFC", condition="groups with headroom belong to a PFC priority",
       consequence="memory is reserved and the class looks protected, but no pause is ever sent",
       remedy="enable PFC for it, or remove the group", source="sonic-swss buffermgr.cpp")
def M7(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """On ports in use that carry PFC maps at all."""
    for line in facts.used:
        groups = {facts.value(line.device, line.port, "pfc_to_pg", p) for p in line.port.lossless}
        for group, bound in line.port.groups.items():
            profile = line.device.profile_of(bound)
            if profile is not None and profile.lossless and group not in groups and line.port.qos_where:
                yield Found(line.device.name, f"{line.port.name}|{group}",
                            f"group {group} has '{profile.name}', PFC is on for {listed(line.port.lossless)}",
                            (shows(line.device, bound.profile_where, "profile", profile.name),
                             shows(line.device, line.port.qos_where, "pfc_enable", listed(line.port.lossless))))


@check("M8", W, "other traffic in the RoCE class", condition="at most three other code points share the RoCE class",
       consequence="TCP fills lossless queues: pauses that stop RoCE, too",
       remedy="map only the code points the hosts use", source="Guo et al., SIGCOMM 2016, section 2")
def M8(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Info for one or two, as templates have them."""
    seen = set()
    for line in facts.lossless:
        map_ = line.device.map_of(line.port, "dscp_to_tc")
        if map_ is None or (line.device.name, map_.name) in seen:
            continue
        seen.add((line.device.name, map_.name))
        for tc in sorted({map_.entries[d] for d in facts.network.roce_dscps if d in map_.entries}):
            if not any(tc in facts.classes_of(line, p) for p in line.port.lossless):
                continue
            others = [d for d, to in map_.entries.items() if to == tc and d not in facts.network.roce_dscps]
            if others:
                yield Found(line.device.name, named(map_.where), f"class {tc} also has DSCP "
                            + ", ".join(map(str, sorted(others))), tuple(
                                entry(line.device, map_, d) for d in sorted(others)[:3]),
                            W if len(others) >= _MANY else I)


@check("M9", E, "strict priority for data beside weighted queues",
       condition="a lossless queue is not strict while others are weighted, and has a scheduler if any queue has",
       consequence="the data starves the others, or itself; the watchdog takes starvation for a storm",
       remedy="give data queues a weight, keep strict for CNPs", source="sonic-swss qosorch.cpp scheduler; pfcwd docs")
def M9(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Per lossless queue."""
    for line in facts.lossless:
        kinds = {s.kind for s in (facts.scheduler(line.device, b) for b in line.port.queues.values()) if s}
        for _, queue, bound in facts.lossless_queues(line):
            own = facts.scheduler(line.device, bound)
            where = bound.where if bound else line.port.where
            # EOS serves queues strictly unless told otherwise: a strict data queue starves every one below it.
            others = kinds & {"DWRR", "WRR"} or (line.device.language == "eos" and queue > 0)
            if own is not None and own.kind == "STRICT" and others:
                yield Found(line.device.name, f"{line.port.name}|{queue}", f"lossless queue is STRICT ('{own.name}')",
                            (shows(line.device, own.where, "type", own.kind),))
            elif own is None and kinds and not (bound and bound.scheduler):
                yield Found(line.device.name, f"{line.port.name}|{queue}",
                            "lossless queue has no scheduler, others have",
                            (shows(line.device, where, "", ""),), W)


@check("M10", W, "routing protocol shares the CNP queue", condition="BGP (DSCP 48) and CNPs share only a strict queue",
       consequence="a storm of CNPs delays keepalives", remedy="make the queue strict, or move CNPs",
       source="sonic-buildimage qos_config.j2 maps 48 to 6")
def M10(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Info where the queue is strict: accepted practice, CNPs are few."""
    for line in facts.lossless:
        queue = facts.queue_of(line, _BGP_DSCP)
        if queue is None or queue not in {facts.queue_of(line, dscp) for dscp in facts.network.cnp_dscps}:
            continue
        own = facts.scheduler(line.device, line.port.queues.get(queue))
        if own is not None:
            yield Found(line.device.name, line.port.name, f"DSCP {_BGP_DSCP} and CNPs share queue {queue} ({own.kind})",
                        map_evidence(line, "dscp_to_tc", _BGP_DSCP), I if own.kind == "STRICT" else W)


@check("M11", W, "the RoCE queue has a small weight", condition="no weighted queue outweighs a lossless one twice",
       consequence="RoCE gets less than its share: pauses without need", remedy="raise the lossless queues' weight",
       source="deficit round robin: share = weight / sum")
def M11(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Weights of one port."""
    for line in facts.lossless:
        found = [s for s in (facts.scheduler(line.device, b) for b in line.port.queues.values()) if s]
        top = max((s.weight for s in found if s.kind != "STRICT"), default=0)
        for _, queue, bound in facts.lossless_queues(line):
            own = facts.scheduler(line.device, bound)
            if own is not None and own.kind != "STRICT" and own.weight * 2 < top:
                yield Found(line.device.name, f"{line.port.name}|{queue}",
                            f"weight {own.weight}, another queue has {top}",
                            (shows(line.device, own.where, "weight", own.weight),))


@check("M12", E, "the switch rewrites RoCE's or CNP's DSCP", condition="no tc_to_dscp map changes these code points",
       consequence="the next hop puts the packet into another class", remedy="remove the remark map from the port",
       source="sonic-port-qos-map.yang tc_to_dscp_map")
def M12(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Ports with a remark map."""
    for line in facts.used:
        map_ = line.device.map_of(line.port, "tc_to_dscp")
        if map_ is None:
            continue
        for dscp in dict.fromkeys((*facts.network.roce_dscps, *facts.network.cnp_dscps)):
            tc = facts.value(line.device, line.port, "dscp_to_tc", dscp)
            new = None if tc is None else map_.entries.get(tc)
            if new is not None and new != dscp:
                yield Found(line.device.name, line.port.name, f"DSCP {dscp} leaves as {new}",
                            (shows(line.device, map_.where, str(tc), new),))


@check("M13", W, "global and port DSCP maps differ", condition="the global map equals the ports' map",
       consequence="tunnelled and CPU traffic is classified differently", remedy="use one map",
       source="sonic-swss qosorch.cpp (switch-level DSCP map)")
def M13(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """By content, not by name."""
    for device in facts.devices:
        whole = device.maps.get("dscp_to_tc", {}).get(device.global_maps.get("dscp_to_tc", ""))
        for line in facts.lossless_of(device) if whole else ():
            own = device.map_of(line.port, "dscp_to_tc")
            if own is not None and whole is not None and own.entries != whole.entries:
                yield Found(device.name, line.port.name, f"'{own.name}' here, '{whole.name}' for the whole switch",
                            (shows(device, own.where, "", ""), shows(device, whole.where, "", "")))


@check("M14", W, "a switch without a lossless port", condition="at least one port of the switch is up and has PFC",
       consequence="RoCE is lossy there, and the checks of PFC, buffers and ECN had nothing to judge: silence says "
       "nothing (error where links of the switch are known and all its ports are down)",
       remedy="bring the ports up, enable PFC, or leave the file out", source="sonic-port.yang (admin_status: down)")
def M14(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """So that a file without the part that matters is not taken for a good one."""
    for device in facts.devices:
        if facts.lossless_of(device):
            continue
        if not device.ports:
            text, severity = "no port is in the file", W
        elif not any(port.admin_up for port in device.ports.values()):
            absent = "; admin_status is down where it is absent" if device.language == "sonic" else ""
            text = f"none of {len(device.ports)} ports is up{absent}"
            severity = E if device.name in facts.linked else W
        else:
            text, severity = "no port in use has PFC", W
        port = next(iter(device.ports.values()), None)
        yield Found(device.name, "ports", text, () if port is None else (
            shows(device, port.qos_where or port.where, "", ""),), severity)


CHECKS: Final[tuple[Check, ...]] = (M1, M2, M3, M4, M5, M6, M7, M8, M9, M10, M11, M12, M13, M14)

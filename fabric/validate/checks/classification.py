"""M: which packets are lossless: DSCP to class, class to queue and group, priority to queue and group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from fabric.configs.model import Binding, Scheduler
from fabric.validate.checks.base import Check, E, Evidence, Found, I, Root, W, check, first, listed, named, shows
from fabric.validate.checks.class_profiles import unprofiled
from fabric.validate.checks.entries import entry, host_evidence, map_evidence, pause_roots, pfc_root
from fabric.validate.checks.without_xoff import lacks_xoff, with_xoff
from fabric.validate.facts import Facts, Line
from fabric.validate.remedies import Fix, set_field, set_host_dscp, set_map, set_pfc

_BGP_DSCP: Final = 48
_N_DSCP: Final = 64
_MANY: Final = 4
"""Other code points in the RoCE class from which a whole range was mapped, not one or two by the template."""


def _profile(line: Line, bound: Binding) -> Evidence:
    return shows(line.device, bound.profile_where or bound.where, "profile", bound.profile or "none")


@check(
    "M1",
    E,
    "RoCE rides a lossy queue",
    condition="RoCE's DSCP is in a class that a PFC priority of the port protects, on every lossless port; one warning "
    "where the DSCP is only assumed, because neither --hosts nor --roce-dscp was given",
    consequence="RoCE is dropped under congestion; PFC and its headroom protect something else",
    remedy="map the DSCP to the lossless class; enable PFC for its priority; or let the hosts mark the DSCP that is "
    "lossless: the one that makes the odd device like the others",
    source="sonic-buildimage qos_config.j2; host default DSCP 24 or 26",
    leads_to="M2 M4 M5 M7 M8 M9 N1 N2 L1 L9 E4 W1 B7",
)
def M1(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """The root is what differs from the rest of the fabric: a host's DSCP, a port's PFC, or an entry of a map."""
    for host, other in facts.odd_hosts.values():
        had = () if facts.before is None else facts.before.roce_dscps
        choice = other == facts.agreed_dscp and other not in (*facts.network.roce_dscps, *had)
        yield Found(
            host.name,
            "roce_dscp",
            f"marks RoCE with DSCP {host.roce_dscp}, which is lossless on no switch; {other} is"
            + (", which the baseline has" if other in had and host.roce_dscp not in had else "")
            + (f", on all of them: change the hosts, or put {host.roce_dscp} there on every switch" if choice else ""),
            (host_evidence(host, "roce_dscp"),),
            fix=set_host_dscp(host, other),
        )
    if facts.assumed:
        yield from _assumed(facts, facts.network.roce_dscps[0])
    for dscp in facts.roce_dscps:
        for line in facts.lossless:
            tc, priority = facts.lossless_class(line, dscp)
            map_ = line.device.map_of(line.port, "dscp_to_tc")
            if map_ is not None and dscp in map_.uncertain:
                yield _uncertain(line, dscp, map_.uncertain[dscp])
            elif priority is None and map_ is not None:
                yield _lossy(facts, line, dscp, tc)


def _uncertain(line: Line, dscp: int, condition: str) -> Found:
    """A condition of a class map that was not read decides."""
    text = f"whether DSCP {dscp} is in a lossless class is open: '{condition}' was not understood, or not for all of it"
    return Found(line.device.name, line.port.name, text, map_evidence(line, "dscp_to_tc", dscp), W)


def lacks_pfc(facts: Facts, line: Line, dscp: int, tc: int | None) -> bool:
    """Whether a lossy DSCP is in the class it has elsewhere, and the port's PFC is what differs."""
    usual = facts.usual_class(dscp)
    return usual is not None and tc == usual[0] and usual[1] not in line.port.lossless


def _lossy(facts: Facts, line: Line, dscp: int, tc: int | None) -> Found:
    evidence = (
        *map_evidence(line, "dscp_to_tc", dscp),
        shows(line.device, line.port.qos_where or line.port.where, "pfc_enable", listed(line.port.lossless)),
    )
    where = f"goes to class {tc}, which no PFC priority protects" if tc is not None else "has no class"
    text = f"DSCP {dscp} {where}"
    usual = facts.usual_class(dscp)
    if usual is not None and lacks_pfc(facts, line, dscp, tc):
        wanted = facts.usual_pfc | {usual[1]}
        return Found(
            line.device.name,
            line.port.name,
            f"{text}: PFC is on for {listed(line.port.lossless)}, elsewhere for {listed(wanted)}",
            evidence,
            root=pfc_root(line),
            fix=set_pfc(line.device, line.port, wanted),
        )
    if usual is not None and tc == usual[0]:
        return _other_queue(facts, line, dscp, usual)
    own = [one for priority in sorted(line.port.lossless) for one in facts.classes_of(line, priority)]
    to = usual[0] if usual is not None and usual[0] in own else next(iter(own), None)
    used = {*facts.roce_dscps, *facts.cnp_dscps}
    fix = None if to is None else set_map(line.device, line.port, "dscp_to_tc", dscp, to, used)
    return Found(line.device.name, line.port.name, text, evidence, fix=fix)


def _other_queue(facts: Facts, line: Line, dscp: int, usual: tuple[int, int]) -> Found:
    """The class and its PFC priority are as elsewhere: one of the two maps to queues differs."""
    tc, priority = usual
    leaves = facts.value(line.device, line.port, "tc_to_queue", tc)
    stops = facts.value(line.device, line.port, "pfc_to_queue", priority)
    kind, key = ("tc_to_queue", tc) if leaves != facts.usual_queue(dscp) else ("pfc_to_queue", priority)
    wanted = facts.usual_queue(dscp)
    others = ("pfc_to_queue", priority) if kind == "tc_to_queue" else ("tc_to_queue", tc)
    stated = [it for it in ((kind, key), others) if line.device.map_of(line.port, it[0]) is not None]
    text = f"DSCP {dscp} (class {tc}) leaves in queue {leaves}, a pause of priority {priority} stops queue {stops}"
    fix = None if wanted is None else set_map(line.device, line.port, kind, key, wanted)
    evidence = tuple(one for it in stated for one in map_evidence(line, *it))
    return Found(line.device.name, line.port.name, text, evidence, fix=fix)


def _assumed(facts: Facts, dscp: int) -> Iterator[Found]:
    """One warning for the whole fabric: the DSCP that was assumed is lossy on most ports."""
    lossy = [
        line
        for line in facts.lossless
        if facts.lossless_class(line, dscp)[1] is None
        and (map_ := line.device.map_of(line.port, "dscp_to_tc")) is not None
        and dscp not in map_.uncertain
    ]
    if not lossy:
        return
    switches = dict.fromkeys(line.device.name for line in lossy)
    lossless = [it for it in range(_N_DSCP) if facts.lossless_class(lossy[0], it)[1] is not None]
    shown = f"; {lossy[0]} has lossless DSCP {first(lossless)}" if lossless else ""
    yield Found(
        lossy[0].device.name,
        "--roce-dscp",
        f"RoCE's DSCP was not given; {dscp} is assumed, and lossy on {len(lossy)} ports of "
        f"{len(switches)} {'switch' if len(switches) == 1 else 'switches'}{shown}; give --roce-dscp or --hosts",
        map_evidence(lossy[0], "dscp_to_tc", dscp),
        W,
        root=("--roce-dscp", (str(dscp),)),
        fix=Fix("fabric validate", "--roce-dscp", str(lossless[0] if lossless else dscp)),
    )


@check(
    "M2",
    E,
    "a code point changes class from hop to hop",
    condition="RoCE and CNP code points have one (class, queue) on all switches of one language",
    consequence="a flow is in another class on the next hop: lossless and lossy, or before and after other traffic",
    remedy="use the same maps everywhere",
    source="per-hop behaviour is per hop: RFC 2474 section 3",
    leads_to="E4 M4 M5 M6 M8 M9 M10 N3",
)
def M2(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """The switches that differ from what most have; for RoCE, from most of those where it is lossless."""
    used = {*facts.roce_dscps, *facts.cnp_dscps}
    for dscp in dict.fromkeys((*facts.network.roce_dscps, *facts.cnp_dscps)):
        by_language: dict[str, dict[str, tuple[Line, tuple[int | None, int | None]]]] = {}
        for line in facts.lossless:
            if line.port.class_by_tag:
                continue
            value = (facts.value(line.device, line.port, "dscp_to_tc", dscp), facts.queue_of(line, dscp))
            by_language.setdefault(line.device.language, {}).setdefault(line.device.name, (line, value))
        for devices in by_language.values():
            right = [value for line, value in devices.values() if facts.lossless_class(line, dscp)[1] is not None]
            known = right if right and dscp in facts.network.roce_dscps else [value for _, value in devices.values()]
            usual, count = Counter(known).most_common(1)[0]
            for name, (line, value) in devices.items():
                if value != usual:
                    kind, key = ("tc_to_queue", value[0]) if value[0] == usual[0] else ("dscp_to_tc", dscp)
                    wanted = usual[1] if kind == "tc_to_queue" else usual[0]
                    entries = () if key is None else map_evidence(line, kind, key)
                    yield Found(
                        name,
                        f"DSCP {dscp}",
                        f"{_named('class', value[0])}, {_named('queue', value[1])} here; {_named('class', usual[0])}, "
                        f"{_named('queue', usual[1])} on {count} of {len(devices)} switches",
                        entries,
                        fix=None
                        if key is None or wanted is None
                        else set_map(line.device, line.port, kind, key, wanted, used),
                    )


def _named(what: str, number: int | None) -> str:
    return f"no {what}" if number is None else f"{what} {number}"


@check(
    "M3",
    E,
    "hole in a map",
    condition="64 DSCPs have a class; every class in use has a queue and a group, and a profile where files state them",
    consequence="a packet of that value goes to class 0, or wherever the switch's default sends it",
    remedy="write the entry",
    source="YANG allows holes; SAI saiqosmap.h defaults",
    leads_to="M1 M2 M4 M5 M6 N1 N3 L9 L8",
)
def M3(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Per map in use on lossless ports."""
    yield from unprofiled(facts)
    seen = set()
    for line in facts.lossless:
        dscp = line.device.map_of(line.port, "dscp_to_tc")
        idle = line.port.pfc_negotiated and line.end not in facts.peers  # PFC follows from the peer, if there is one
        for kind in ("dscp_to_tc", "tc_to_queue", "tc_to_pg"):
            found = line.device.map_of(line.port, kind)
            key = (line.device.name, kind, line.port.name if found is None else found.name)
            if key in seen or (kind == "tc_to_pg" and not line.device.capabilities.class_to_group_map):
                continue
            seen.add(key)
            if found is None:
                # A name that leads nowhere is R1's. Where tags decide, there is no such map.
                if kind not in line.port.maps:
                    yield Found(
                        line.device.name,
                        line.port.name,
                        _without(line, kind),
                        (shows(line.device, line.port.qos_where, "", ""),),
                        W if idle else E,
                    )
                continue
            needed = range(_N_DSCP) if kind == "dscp_to_tc" else sorted(set(dscp.entries.values())) if dscp else []
            holes = [value for value in needed if value not in found.entries]
            if holes:
                shown = ", ".join(map(str, holes[:8])) + (f" and {len(holes) - 8} more" if len(holes) > 8 else "")
                yield Found(
                    line.device.name,
                    named(found.where),
                    f"no entry for {shown}",
                    (shows(line.device, found.where, "", ""),),
                    within=((line.device.name, found.where),),
                    fix=_filled(facts, line, kind, holes[0]),
                )


def _without(line: Line, kind: str) -> str:
    """What a missing map is called where the language has no maps, and the policies that could classify."""
    if kind != "dscp_to_tc" or not line.device.capabilities.classified_by_policies:
        return f"PFC without a {kind} map"
    idle = sorted(line.device.maps.get(kind, {}))
    more = f": '{idle[0]}' is not applied here, nor in 'system qos'" if idle else ""
    return f"PFC, and no 'service-policy type qos input' that classifies by DSCP{more}"


def _filled(facts: Facts, line: Line, kind: str, key: int) -> Fix | None:
    """The entry as most other switches have it."""
    values = Counter(
        value
        for other in facts.lossless
        if other.device is not line.device and (value := facts.value(other.device, other.port, kind, key)) is not None
    )
    return set_map(line.device, line.port, kind, key, values.most_common(1)[0][0]) if values else None


@check(
    "M4",
    E,
    "PFC on, but the traffic is admitted to a lossy group",
    condition="for each PFC priority, the group of each of its classes has headroom",
    consequence="the group never asks for a pause and drops instead",
    remedy="map the class to the lossless group, give the group a lossless profile, or the profile its xoff",
    source="SAI TC_TO_PRIORITY_GROUP; sonic-swss buffermgr.cpp",
    leads_to="M5 M7 L9 B14",
)
def M4(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Silent where the group is missing for a reason that another check names (H2, H7), or was not judged."""
    for line in facts.lossless:
        if (
            (not line.device.capabilities.every_group_stated and not line.port.groups)
            or not line.device.pools
            or (line.port.headroom_unknown)
            or (
                line.port.missing_row
                or (not line.port.cable_m and any(p not in line.port.groups for p in line.port.lossless))
            )
        ):
            continue
        for priority in sorted(line.port.lossless):
            for tc in facts.classes_of(line, priority):
                group = facts.value(line.device, line.port, "tc_to_pg", tc)
                bound = None if group is None else line.port.groups.get(group)
                profile = line.device.profile_of(bound)
                dangling = bound is not None and bound.profile is not None and profile is None
                if group is not None and not dangling and (profile is None or not profile.lossless):
                    what = f"'{profile.name}'" if profile else "no profile"
                    own = facts.value(line.device, line.port, "pfc_to_pg", priority)
                    fix, other, lacks = None, None, lacks_xoff(facts, line.device, profile)
                    if profile is not None and lacks:
                        fix = with_xoff(facts, line, profile)
                    elif own is not None and own != group and facts.group_profile(line, priority) is not None:
                        fix = set_map(line.device, line.port, "tc_to_pg", tc, own)
                    elif bound is not None and bound.profile_where:
                        other = facts.usual_group_profile(line, priority)
                        fix = (
                            None if other is None else set_field(line.device, bound.profile_where[:2], "profile", other)
                        )
                    yield Found(
                        line.device.name,
                        f"{line.port.name}|{priority}",
                        f"priority {priority}: class {tc} is admitted to group {group} with {what}"
                        + (", which states no xoff: without headroom a group is lossy" if lacks else ""),
                        (
                            *([shows(line.device, profile.where, "xoff", "none")] if profile and lacks else []),
                            *map_evidence(line, "tc_to_pg", tc),
                            *(() if bound is None else (_profile(line, bound),)),
                        ),
                        root=(line.device.name, profile.where)
                        if profile and lacks
                        else None
                        if other is None
                        else (line.device.name, bound.profile_where if bound else ()),
                        rests_on=pause_roots(facts, line, priority),
                        fix=fix,
                    )


@check(
    "M5",
    E,
    "a pause stops another queue than the traffic's",
    condition="group of priority P = group of its classes; some class uses P's queue",
    consequence="the switch pauses a priority whose traffic is elsewhere: loss here, standstill there",
    remedy="make the PFC maps agree with the class maps",
    source="SAI PFC_PRIORITY_TO_QUEUE, _TO_PRIORITY_GROUP",
    leads_to="M7 L9",
)
def M5(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Both directions of the pause."""
    for line in facts.lossless:
        if line.device.map_of(line.port, "tc_to_queue") is None:
            continue
        for priority in sorted(line.port.lossless):
            classes = facts.classes_of(line, priority)
            if not classes:
                yield Found(
                    line.device.name,
                    f"{line.port.name}|{priority}",
                    f"no class uses the queue of priority {priority}",
                    map_evidence(line, "pfc_to_queue", priority),
                    rests_on=pause_roots(facts, line, priority),
                )
            if line.device.map_of(line.port, "tc_to_pg") is None:
                continue
            group = facts.value(line.device, line.port, "pfc_to_pg", priority)
            for tc in classes:
                other = facts.value(line.device, line.port, "tc_to_pg", tc)
                if other is not None and other != group:
                    yield Found(
                        line.device.name,
                        f"{line.port.name}|{priority}",
                        f"priority {priority} is sent for group {group}, its class {tc} fills group {other}",
                        (*map_evidence(line, "pfc_to_queue", priority), *map_evidence(line, "tc_to_pg", tc)),
                        rests_on=pause_roots(facts, line, priority),
                    )


@check(
    "M6",
    E,
    "congestion notifications wait behind data",
    condition="CNPs are not in a lossless queue; their queue is strict, or has at least half the data queue's weight "
    "and is not strict at most other ports",
    consequence="DCQCN reacts late; a paused CNP queue is a control loop in deadlock",
    remedy="give CNPs a separate strict queue",
    source="NVUE RoCE defaults (TC6 strict)",
    leads_to="N3 M10 M11",
)
def M6(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Error inside a lossless queue, warning for a weak one, and for one that is strict elsewhere."""
    strict = _strict_queues(facts)
    for line in facts.lossless:
        lossless = {queue: bound for _, queue, bound in facts.lossless_queues(line)}
        for dscp in facts.cnp_dscps:
            queue = facts.queue_of(line, dscp)
            if queue is None:
                continue
            evidence = map_evidence(line, "dscp_to_tc", dscp)
            evidence += _queue_entry(facts, line, dscp)
            if queue in lossless:
                yield Found(
                    line.device.name,
                    line.port.name,
                    f"CNP DSCP {dscp} is in lossless queue {queue}",
                    evidence,
                    fix=_own_queue(facts, line, dscp),
                )
                continue
            own = facts.scheduler(line.device, line.port.queues.get(queue))
            data = [s for s in (facts.scheduler(line.device, bound) for bound in lossless.values()) if s]
            if line.device.schedulers and (
                (own is None and not line.device.capabilities.strict_by_default)
                or (
                    own is not None
                    and own.kind != "STRICT"
                    and any(own.weight * 2 < other.weight for other in data if other.kind != "STRICT")
                )
            ):
                yield Found(
                    line.device.name,
                    line.port.name,
                    f"CNP queue {queue} has " + (f"weight {own.weight}" if own else "no scheduler"),
                    evidence,
                    W,
                    rests_on=((line.device.name, line.port.where),),
                    fix=_own_queue(facts, line, dscp),
                )
            elif own is not None and own.kind != "STRICT" and queue in strict:
                yield _unlike(line, queue, own)


def _strict_queues(facts: Facts) -> set[int]:
    """Queues of notifications that are strict at most lossless ports of the fabric."""
    kinds: dict[int, Counter[bool]] = {}
    for line in facts.lossless:
        queues = {facts.queue_of(line, dscp) for dscp in facts.cnp_dscps}
        for queue in (it for it in queues if it is not None):
            own = facts.scheduler(line.device, line.port.queues.get(queue))
            kinds.setdefault(queue, Counter())[own is not None and own.kind == "STRICT"] += 1
    return {queue for queue, count in kinds.items() if count[True] > count[False]}


def _unlike(line: Line, queue: int, own: Scheduler) -> Found:
    """A queue of notifications with a weight where most ports serve it first."""
    bound = line.port.queues[queue]
    tables = line.device.capabilities.tables
    elsewhere = [it.queues[queue].scheduler for it in line.device.ports.values() if queue in it.queues]
    named_ = {it: line.device.schedulers[it] for it in elsewhere if it in line.device.schedulers}
    strict = next((name for name, it in named_.items() if it.kind == "STRICT"), "")
    return Found(
        line.device.name,
        line.port.name,
        f"CNP queue {queue} has a weight ({own.kind}), at most ports it is strict",
        (shows(line.device, bound.where, "scheduler" if tables else "", own.name),),
        W,
        root=(line.device.name, bound.where),
        fix=set_field(line.device, bound.where, "scheduler", strict)
        if tables and strict
        else set_field(line.device, own.where, "type", "STRICT"),
    )


def _queue_entry(facts: Facts, line: Line, dscp: int) -> tuple[Evidence, ...]:
    """The entry that sends a DSCP's class to its queue, where a map is stated."""
    tc = facts.value(line.device, line.port, "dscp_to_tc", dscp)
    stated = tc is not None and line.device.map_of(line.port, "tc_to_queue") is not None
    return map_evidence(line, "tc_to_queue", tc) if stated and tc is not None else ()


def _own_queue(facts: Facts, line: Line, dscp: int) -> Fix | None:
    """Give notifications a separate strict queue: by the map where the port has one, else by its scheduler."""
    lossless = {queue for _, queue, _ in facts.lossless_queues(line)}
    for tc in sorted(facts.classes_with(line, dscp), reverse=True):
        queue = facts.value(line.device, line.port, "tc_to_queue", tc)
        own = facts.scheduler(line.device, line.port.queues.get(-1 if queue is None else queue))
        if queue not in lossless and own is not None and own.kind == "STRICT":
            return set_map(line.device, line.port, "dscp_to_tc", dscp, tc)
    queue = facts.queue_of(line, dscp)
    own = facts.scheduler(line.device, line.port.queues.get(-1 if queue is None else queue))
    if own is None or queue in lossless:
        return None
    return set_field(line.device, own.where, "type", "STRICT")


@check(
    "M8",
    W,
    "other traffic in a lossless class",
    condition="at most three other code points share the RoCE class, none of them on a minority of the switches, or "
    "are in another lossless class",
    consequence="TCP fills lossless queues: pauses that stop RoCE, too",
    remedy="map only the code points the hosts use",
    source="Guo et al., SIGCOMM 2016, section 2",
)
def M8(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Info for what templates do: few code points of RoCE's class, or its whole class selector, on most switches.

    NVUE's `roce` and the default map of EOS send DSCP 24 to 31 to one class (RFC 2474 section 4.2.2.1). Nothing is lost
    by it as long as no other application marks one of them. Any lossless class is checked.
    """
    seen = set()
    shared = _sharing(facts)
    for line in facts.lossless:
        map_ = line.device.map_of(line.port, "dscp_to_tc")
        if map_ is None or (line.device.name, map_.name) in seen:
            continue
        seen.add((line.device.name, map_.name))
        roce = {map_.entries[d] for d in facts.network.roce_dscps if d in map_.entries}
        for tc in sorted({tc for p in line.port.lossless for tc in facts.classes_of(line, p)}):
            others = [d for d, to in map_.entries.items() if to == tc and d not in facts.network.roce_dscps]
            if len(others) >= (1 if tc in roce else _MANY):
                selector = tc in roce and _is_selector(others, facts.network.roce_dscps)
                rare = _rare(facts, shared, others if tc in roce else ())
                yield Found(
                    line.device.name,
                    named(map_.where),
                    f"class {tc} {'also has' if tc in roce else 'is lossless, has no RoCE, but'} DSCP "
                    + ", ".join(map(str, sorted(others))),
                    tuple(entry(line.device, map_, d) for d in sorted(others)[:3]),
                    W if rare or (len(others) >= _MANY and not selector) else I,
                    rests_on=() if tc in roce else [root for p in _stopping(facts, line, tc) for root in p],
                )


def _stopping(facts: Facts, line: Line, tc: int) -> Iterator[tuple[Root, ...]]:
    """What makes a class lossless: the priorities that stop it, and their queues."""
    for priority in sorted(line.port.lossless):
        if tc in facts.classes_of(line, priority):
            yield pause_roots(facts, line, priority)


def _is_selector(others: Sequence[int], roce: Sequence[int]) -> bool:
    """Whether code points differ from RoCE's in their lowest three bits only: they are its class selector."""
    return all(any(code >> 3 == dscp >> 3 for dscp in roce) for code in others)


def _rare(facts: Facts, shared: dict[int, set[str]], codes: Iterable[int]) -> bool:
    """Whether a code point is in RoCE's class on a minority of the switches."""
    return any(2 * len(shared[code]) < len(facts.devices) for code in codes)


def _sharing(facts: Facts) -> dict[int, set[str]]:
    """Code point to the switches on which it shares the class of a RoCE code point."""
    found: dict[int, set[str]] = {}
    for line in facts.lossless:
        map_ = line.device.map_of(line.port, "dscp_to_tc")
        classes = {map_.entries.get(d) for d in facts.network.roce_dscps} if map_ is not None else set()
        for code, to in (map_.entries if map_ is not None else {}).items():
            if to in classes:
                found.setdefault(code, set()).add(line.device.name)
    return found


@check(
    "M10",
    W,
    "routing protocol shares the CNP queue",
    condition="BGP (DSCP 48) and CNPs share only a strict queue",
    consequence="a storm of CNPs delays keepalives",
    remedy="make the queue strict where it is not, which is accepted practice, or give CNPs a queue of their own",
    source="sonic-buildimage qos_config.j2 maps 48 to 6",
)
def M10(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Info where the queue is strict: accepted practice, CNPs are few."""
    for line in facts.lossless:
        queue = facts.queue_of(line, _BGP_DSCP)
        if queue is None or queue not in {facts.queue_of(line, dscp) for dscp in facts.cnp_dscps}:
            continue
        own = facts.scheduler(line.device, line.port.queues.get(queue))
        if own is not None:
            yield Found(
                line.device.name,
                line.port.name,
                f"DSCP {_BGP_DSCP} and CNPs share queue {queue} ({own.kind})",
                (*map_evidence(line, "dscp_to_tc", _BGP_DSCP), *_queue_entry(facts, line, _BGP_DSCP)),
                I if own.kind == "STRICT" else W,
                rests_on=[(line.device.name, line.port.queues[queue].where)],
                fix=_own_queue(facts, line, _BGP_DSCP) if own.kind != "STRICT" else None,
            )


@check(
    "M12",
    E,
    "the switch rewrites RoCE's or CNP's DSCP",
    condition="no tc_to_dscp map, and no 'set dscp' of a policy, changes these code points",
    consequence="the next hop puts the packet into another class",
    remedy="remove the remark map from the port, or the line from the class of the policy",
    source="sonic-port-qos-map.yang tc_to_dscp_map",
)
def M12(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Ports with a remark map: by the class where packets leave, by the DSCP where they arrive."""
    for line in facts.used:
        for kind in ("tc_to_dscp", "dscp_to_dscp"):
            map_ = line.device.map_of(line.port, kind)
            for dscp in () if map_ is None else dict.fromkeys((*facts.network.roce_dscps, *facts.cnp_dscps)):
                by_class = kind == "tc_to_dscp"
                key = facts.value(line.device, line.port, "dscp_to_tc", dscp) if by_class else dscp
                new = None if key is None or map_ is None else map_.entries.get(key)
                if map_ is not None and new is not None and new != dscp:
                    yield Found(
                        line.device.name,
                        line.port.name,
                        f"DSCP {dscp} leaves as {new}",
                        (shows(line.device, map_.where, str(key), new),),
                        fix=set_map(line.device, line.port, kind, key or 0, dscp),
                    )


CHECKS: Final[tuple[Check, ...]] = (M1, M2, M3, M4, M5, M6, M8, M10, M12)

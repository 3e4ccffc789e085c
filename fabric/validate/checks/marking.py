"""E: ECN marking: is it on, is it reached before PFC, does it fit the speed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import inf
from typing import Final

from fabric.configs.model import Binding, BufferProfile, Curve, Wred
from fabric.configs.network import NEEDS_MARKS
from fabric.theory.marking import BYTES_PER_GBPS
from fabric.units import listed
from fabric.validate.checks.base import Check, E, Evidence, Found, I, Severity, W, check, construct, shows
from fabric.validate.checks.buffers import egress_cap
from fabric.validate.checks.entries import pause_roots
from fabric.validate.facts import Facts, Line
from fabric.validate.remedies import Fix, set_curve, set_field, set_marking

_FRAMES: Final = 3
_JUMBO_BYTES: Final = 9216
_KB: Final = 1000
_ROCE_HEADERS_BYTES: Final = 78
_LOOP_NS: Final = 14_000
"""10 us of round trip and 4 us between CNPs (mlx5)."""


def marking(facts: Facts) -> Iterator[tuple[Line, int, Binding, Wred, Curve]]:
    """Every lossless queue with a usable marking curve."""
    for line in facts.lossless:
        for _, queue, bound in facts.lossless_queues(line):
            wred = facts.wred(line.device, bound)
            if bound is not None and wred is not None and wred.curve is not None:
                yield line, queue, bound, wred, wred.curve


def curve_evidence(line: Line, wred: Wred, curve: Curve) -> tuple[Evidence, ...]:
    """Both thresholds with their lines."""
    label = "" if line.device.capabilities.model_field_names else "|".join(wred.where[-2:])
    return (
        shows(line.device, wred.where, "green_min_threshold", curve.min_bytes, f"{label} Kmin" if label else ""),
        shows(line.device, wred.where, "green_max_threshold", curve.max_bytes, f"{label} Kmax" if label else ""),
    )


def _alpha_evidence(line: Line, profile: BufferProfile) -> tuple[Evidence, ...]:
    """The threshold that T(1) follows from."""
    return () if profile.dynamic_th is None else (shows(line.device, profile.where, "dynamic_th", profile.dynamic_th),)


def usual_curve(facts: Facts, line: Line, wred: Wred, below_bytes: float) -> Fix | None:
    """Another curve: the one that most lossless queues of the fabric have at this speed, else the usual one."""
    if "curves" not in facts.notes:
        found: dict[int, Counter[tuple[int, int]]] = {}
        for other, _, _, _, curve in marking(facts):
            if other.port.speed_mbps:
                found.setdefault(other.port.speed_mbps, Counter())[curve.min_bytes, curve.max_bytes] += 1
        facts.notes["curves"] = found
    speed = line.port.speed_mbps or 0
    kmin = speed // 1000 * BYTES_PER_GBPS
    own = None if wred.curve is None else (wred.curve.min_bytes, wred.curve.max_bytes)
    known = [curve for curve, _ in facts.notes["curves"].get(speed, Counter()).most_common() if curve != own]
    for low, high in (*known, (kmin, 4 * kmin), (kmin // 4, kmin)):
        if 0 < low <= high < below_bytes:
            return set_curve(line.device, wred.name, wred.where, low, high)
    return None


def _marked(facts: Facts, line: Line, queue: int) -> Fix | None:
    """The marking profile that most lossless queues of the fabric have at this speed."""
    known = Counter(
        (curve, wred.name if other.device is line.device else "")
        for other, _, _, wred, curve in marking(facts)
        if other.port.speed_mbps == line.port.speed_mbps and other.device.capabilities is line.device.capabilities
    )
    here = next((item for item, _ in known.most_common() if item[1]), None)
    found = here or next((item for item, _ in known.most_common(1)), None)
    if found is None:
        kmin = (line.port.speed_mbps or 0) // 1000 * BYTES_PER_GBPS
        found = (Curve(kmin, 4 * kmin, 100), "") if kmin else None
    bound = line.port.queues.get(queue)
    if found is None or (line.device.capabilities.tables and facts.wred(line.device, bound) is not None):
        return None  # it has a profile, whose curve is what is wrong
    return set_marking(line.device, line.port, queue, found[0], found[1])


@check(
    "E1",
    E,
    "Kmin above Kmax",
    condition="min <= max for each colour of a profile",
    consequence="the switch refuses the profile and keeps the old values (SONiC's orchagent: all of it)",
    remedy="correct the threshold",
    source="sonic-wred-profile.yang; sonic-swss qosorch.cpp l.754-760",
    leads_to="E2 E5 E7 E8 E9 E11 N4",
)
def E1(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Every profile, used or not."""
    for device in facts.devices:
        for wred in device.wreds.values():
            bad = [(colour, curve) for colour, curve in wred.curves.items() if curve.min_bytes > curve.max_bytes]
            if bad:
                text = "; ".join(f"{colour} {curve.min_bytes} B > {curve.max_bytes} B" for colour, curve in bad)
                yield Found(
                    device.name,
                    construct(device, "WRED_PROFILE", wred.name),
                    text,
                    tuple(
                        shows(device, wred.where, f"{colour}_{end}_threshold", value)
                        for colour, curve in bad
                        for end, value in (("min", curve.min_bytes), ("max", curve.max_bytes))
                    ),
                    fix=set_curve(device, wred.name, wred.where, bad[0][1].max_bytes, bad[0][1].min_bytes)
                    if bad[0][0] == "green"
                    else set_field(device, wred.where, f"{bad[0][0]}_min_threshold", bad[0][1].max_bytes),
                )


@check(
    "E2b",
    I,
    "ECN before PFC is not guaranteed in the worst case",
    condition="Kmin < alpha B / (n (1 + alpha L)), n ports, L lossless priorities, queues just below Kmin",
    consequence="with traffic spread over all ports PFC may come first; no modern chip meets this at usual Kmin",
    remedy="none needed; know it",
    source="Zhu et al., SIGCOMM 2015, section 4, for headroom outside the pool",
)
def E2B(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Once per switch."""
    by_device: dict[str, list[tuple[Line, Wred, Curve]]] = {}
    for line, _, _, wred, curve in marking(facts):
        by_device.setdefault(line.device.name, []).append((line, wred, curve))
    for device in facts.devices:
        least, lines = facts.smallest_threshold(device), facts.lossless_of(device)
        curves = by_device.get(device.name, [])
        if least is None or least[1].alpha is None or not curves:
            continue
        alpha, n, classes = least[1].alpha, len(lines), max(len(line.port.lossless) for line in lines)
        limit = alpha * (least[2].size_bytes or 0) / (n * (1 + alpha * classes))
        line, wred, curve = min(curves, key=lambda item: item[2].min_bytes)
        if curve.min_bytes >= limit:
            yield Found(
                device.name,
                construct(device, "WRED_PROFILE", wred.name),
                f"Kmin {curve.min_bytes} B; guaranteed only below {int(limit)} B ({n} ports, {classes} priorities)",
                curve_evidence(line, wred, curve),
            )


@check(
    "E3",
    E,
    "the lossless queue's profile drops instead of marking",
    condition="a profile that drops green traffic marks it",
    consequence="WRED drops lossless packets",
    remedy="let the profile mark (ECN) instead of drop",
    source="sonic-wred-profile.yang (default ecn_none)",
)
def E3(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Per profile in use on a lossless queue."""
    for line in facts.lossless:
        for _, queue, bound in facts.lossless_queues(line):
            wred = facts.wred(line.device, bound)
            if wred is not None and not wred.marks and "green" in wred.drops:
                yield Found(
                    line.device.name,
                    f"{line.port.name}|{queue}",
                    f"'{wred.name}' {_without_marks(line, wred)}",
                    (shows(line.device, wred.where, "ecn", wred.ecn),),
                    fix=set_field(line.device, wred.where, "ecn", "ecn_all"),
                )


@check(
    "E4",
    W,
    "a lossless queue that never marks",
    condition="every lossless queue has a profile that marks green traffic, and that both thresholds (info: where "
    "SONiC's wred_green_enable is not true, the platform decides whether a profile with ecn_all marks)",
    consequence="on this hop there is only PFC; with DCQCN or DCTCP the senders hear nothing of its congestion (error)",
    remedy="give the queue a profile that marks (ECN), with both thresholds",
    source="Zhu et al., SIGCOMM 2015, section 3",
)
def E4(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Error where the hosts are known to use a congestion control that needs marks."""
    hosts = list(facts.network.stated_hosts.values())
    severity = E if any(host.cc in NEEDS_MARKS for host in hosts) else W
    for line in facts.lossless:
        for priority, queue, bound in facts.lossless_queues(line):
            wred = facts.wred(line.device, bound)
            if bound is None or bound.wred is None:
                text, where = f"queue {queue} has no marking profile", bound.where if bound else line.port.where
            elif wred is not None and wred.marks and wred.curve is None and not wred.size_unknown:
                text, where = f"'{wred.name}' lacks a threshold of green traffic", wred.where
            elif wred is not None and not wred.marks and "green" not in wred.drops:
                yield _idle(line, queue, wred, severity)
                continue
            elif wred is not None and line.device.capabilities.marking_enabled_by_colour and "green" not in wred.drops:
                yield _up_to_the_platform(line, queue, wred)
                continue
            else:
                continue
            roce = {facts.lossless_class(line, dscp)[1] for dscp in facts.network.roce_dscps}
            yield Found(
                line.device.name,
                f"{line.port.name}|{queue}",
                text,
                (shows(line.device, where, "", ""),),
                severity if priority in roce or not any(roce) else W,
                fix=None if where == getattr(wred, "where", ()) else _marked(facts, line, queue),
                rests_on=(*pause_roots(facts, line, priority), (line.device.name, ("interface",))),
                within=((line.device.name, where),),
            )


def _without_marks(line: Line, wred: Wred) -> str:
    return f"has {wred.ecn}" if line.device.capabilities.tables else "has ECN off"


def _idle(line: Line, queue: int, wred: Wred, severity: Severity) -> Found:
    """A profile without any effect."""
    return Found(
        line.device.name,
        f"{line.port.name}|{queue}",
        f"'{wred.name}' {_without_marks(line, wred)} and drops nothing: it has no effect",
        (shows(line.device, wred.where, "ecn", wred.ecn),),
        severity,
        fix=set_field(line.device, wred.where, "ecn", "ecn_all"),
    )


def _up_to_the_platform(line: Line, queue: int, wred: Wred) -> Found:
    """SAI_WRED_ATTR_GREEN_ENABLE stays false: for saiwred.h ECN_MARK_MODE is enough, for some platforms not."""
    return Found(
        line.device.name,
        f"{line.port.name}|{queue}",
        f"'{wred.name}' has {wred.ecn} and no wred_green_enable = true: the platform decides whether it marks",
        (shows(line.device, wred.where, "wred_green_enable", "not true"),),
        I,
        fix=set_field(line.device, wred.where, "wred_green_enable", "true"),
    )


@check(
    "E6",
    E,
    "marking probability of nothing",
    condition="pmax > 0; Kmin < Kmax (info: a step, as DCTCP has it)",
    consequence="no packet is marked below Kmax: ECN is off until it is late",
    remedy="set 5 to 100 percent",
    source="12 shipped SKUs have Kmin = Kmax and 0 %: ECN effectively off",
    leads_to="E7",
)
def E6(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Profiles on lossless queues."""
    for device, wred, curve, line in _profiles(facts):
        if curve.pmax_percent == 0:
            text, severity = "pmax is 0 %: nothing is marked below Kmax", E
        elif curve.min_bytes == curve.max_bytes:
            text, severity = f"Kmin = Kmax = {curve.min_bytes} B: all or nothing", I
        else:
            continue
        yield Found(
            device,
            construct(facts.network.devices[device], "WRED_PROFILE", wred.name),
            text,
            (shows(line.device, wred.where, "green_drop_probability", curve.pmax_percent),),
            severity,
            fix=set_field(line.device, wred.where, "green_drop_probability", 100) if severity is E else None,
        )


def _profiles(facts: Facts) -> Iterator[tuple[str, Wred, Curve, Line]]:
    """Each profile that a lossless queue uses, once."""
    seen = set()
    for line, _, _, wred, curve in marking(facts):
        if (line.device.name, wred.name) not in seen:
            seen.add((line.device.name, wred.name))
            yield line.device.name, wred, curve, line


def _shown(curve: Curve) -> str:
    return f"{curve.min_bytes}/{curve.max_bytes} B, {100 if curve.pmax_percent is None else curve.pmax_percent} %"


@check(
    "E7",
    W,
    "marking differs where it should not",
    condition="switches of one role mark alike at one speed; Kmin per Gb/s towards hosts <= towards switches",
    consequence="marking happens at the wrong hop",
    remedy="use one curve per role and speed",
    source="deployment guides (leaf 256/512 KB, spine 512/768 KB)",
)
def E7(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Devices that differ from most of their role, then leaves that mark later downwards than upwards."""
    curves: dict[tuple[str, int], dict[str, tuple[Line, Wred, Curve]]] = {}
    down: dict[str, float] = {}
    up: dict[str, float] = {}
    late: dict[str, tuple[Line, Wred, Curve]] = {}
    for line, _, _, wred, curve in marking(facts):
        speed = line.port.speed_mbps
        if speed:
            curves.setdefault((line.device.role, speed), {}).setdefault(line.device.name, (line, wred, curve))
            level = curve.min_bytes / speed
            to = down if facts.faces_host(line) else up
            if to is down and level > down.get(line.device.name, 0.0):
                late[line.device.name] = line, wred, curve
            to[line.device.name] = (
                max(to.get(line.device.name, 0.0), level) if to is down else min(to.get(line.device.name, level), level)
            )
    for (role, speed), devices in curves.items():
        usual, count = Counter(curve for _, _, curve in devices.values()).most_common(1)[0]
        if count == len(devices):
            continue
        if 2 * count <= len(devices):  # no curve is the usual one: say it once
            shown = listed([f"{name} {_shown(c)}" for name, (_, _, c) in devices.items()], 4, "; ")
            yield Found(
                next(iter(devices)),
                f"{role or 'switches'} at {speed // 1000}G",
                f"curves differ: {shown}",
                tuple(shows(line.device, wred.where, "", "") for line, wred, _ in list(devices.values())[:4]),
                rests_on=[
                    (name, (*wred.where, field))
                    for name, (_, wred, _) in devices.items()
                    for field in ("green_min_threshold", "green_drop_probability")
                ],
            )
            continue
        for name, (line, wred, curve) in devices.items():
            if curve != usual:
                yield Found(
                    name,
                    construct(facts.network.devices[name], "WRED_PROFILE", wred.name),
                    f"{_shown(curve)} at {speed // 1000}G; {_shown(usual)} on {count} of {len(devices)} "
                    f"{role or 'switches'}",
                    curve_evidence(line, wred, curve),
                    rests_on=((name, (*wred.where, "green_drop_probability")),),
                    within=((name, wred.where),),
                    fix=set_curve(line.device, wred.name, wred.where, usual.min_bytes, usual.max_bytes),
                )
    for name, level in down.items():
        if name in up and level > up[name]:
            yield Found(
                name,
                "host ports",
                f"Kmin per Gb/s is {level * 1000:.0f} B towards hosts, {up[name] * 1000:.0f} B towards switches",
                curve_evidence(*late[name]),
            )


@check(
    "E8",
    W,
    "Kmax above what the queue may hold",
    condition="Kmax <= egress limit of the queue",
    consequence="full marking is never reached: drops or pauses come first",
    remedy="lower Kmax",
    source="SAI egress buffer profile",
    leads_to="E7",
)
def E8(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Dynamic or static limit of the queue's buffer profile."""
    for line, queue, bound, wred, curve in marking(facts):
        profile = line.device.profile_of(bound)
        cap = None if profile is None else egress_cap(line.device, profile)
        if cap is not None and curve.max_bytes > cap:
            yield Found(
                line.device.name,
                f"{line.port.name}|{queue}",
                f"Kmax {curve.max_bytes} B > {int(cap)} B",
                curve_evidence(line, wred, curve),
                fix=usual_curve(facts, line, wred, cap),
            )


@check(
    "E9",
    W,
    "Kmin of a few frames",
    condition="Kmin >= 3 full frames of the lossless class",
    consequence="every short queue marks: throughput is lost",
    remedy="raise Kmin (two shipped SKUs have 4095 B)",
    source="Alizadeh et al., SIGCOMM 2010 (K > C RTT / 7)",
    leads_to="N4 E7",
)
def E9(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Frame length from the hosts, else RoCE MTU 4096."""
    hosts = list(facts.network.stated_hosts.values())
    frame = max((host.roce_mtu or 0 for host in hosts), default=0) or 4096
    for device, wred, curve, line in _profiles(facts):
        if curve.min_bytes < _FRAMES * (frame + _ROCE_HEADERS_BYTES):
            yield Found(
                device,
                construct(facts.network.devices[device], "WRED_PROFILE", wred.name),
                f"Kmin {curve.min_bytes} B < {_FRAMES} frames of {frame + _ROCE_HEADERS_BYTES} B",
                curve_evidence(line, wred, curve),
                fix=usual_curve(facts, line, wred, inf),
            )


@check(
    "E10",
    W,
    "lossless packets that cannot be marked are dropped",
    condition="no host without ECN sends into a queue whose profile drops green",
    consequence="WRED drops what is not ECN-capable, although PFC protects the class",
    remedy="enable ECN on the hosts; or set wred_green_enable to false, on a platform that marks without it (E4)",
    source="RFC 3168 section 5",
)
def E10(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Hosts known to have no congestion control."""
    hosts = list(facts.network.stated_hosts.values())
    without = [host.name for host in hosts if host.cc == "none"]
    for device, wred, _, line in _profiles(facts) if without else ():
        if "green" in wred.drops:
            yield Found(
                device,
                construct(facts.network.devices[device], "WRED_PROFILE", wred.name),
                f"drops green; without ECN: {listed(without, 5)}",
                (shows(line.device, wred.where, "wred_green_enable", "true"),),
                fix=set_field(line.device, wred.where, "wred_green_enable", "false"),
            )


@check(
    "E11",
    W,
    "no time to react between marking and pause",
    condition="time to fill from Kmin to T(1), two senders into one port > 10 us round trip + 4 us CNP interval",
    consequence="congestion control cannot act before PFC",
    remedy="lower Kmin, or raise alpha where it is smaller than on like switches (B15, B17)",
    source="Zhu et al., SIGCOMM 2015, section 4",
)
def E11(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Also where Kmin is above T(1)."""
    for line, queue, _, wred, curve in marking(facts):
        least, speed = facts.smallest_threshold(line.device, queue), line.port.speed_mbps
        if least is None or speed is None:
            continue
        room = int(least[0]) - curve.min_bytes
        if room < speed * _LOOP_NS // 8000:
            yield Found(
                line.device.name,
                f"{line.port.name}|{queue}",
                f"{room} B from Kmin to T(1), {speed * _LOOP_NS // 8000} B arrive within {_LOOP_NS // 1000} us",
                (*curve_evidence(line, wred, curve), *_alpha_evidence(line, least[1])),
                fix=usual_curve(facts, line, wred, least[0] - speed * _LOOP_NS // 8000),
            )


@check(
    "E12",
    I,
    "marking probability is not stated",
    condition="a colour that is enabled states its probability",
    consequence="the switch takes its default (SONiC's orchagent programs 100 %)",
    remedy="state it",
    source="sonic-swss qosorch.cpp l.836-853",
)
def E12(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Profiles on lossless queues."""
    for device, wred, curve, line in _profiles(facts):
        if curve.pmax_percent is None and "green" in wred.drops:
            yield Found(
                device,
                construct(facts.network.devices[device], "WRED_PROFILE", wred.name),
                "green_drop_probability is absent: 100 %",
                (shows(line.device, wred.where, "", ""),),
                fix=set_field(line.device, wred.where, "green_drop_probability", 100),
            )


@check(
    "E13",
    E,
    "marking thresholds that look like kilobytes",
    condition="Kmax of a lossless queue is above 9216 B, one jumbo frame",
    consequence="the file's unit is the byte: the queue marks from its first packet on, and throughput collapses",
    remedy="write the thresholds in bytes",
    source="sonic-wred-profile.yang (bytes); HPCC set-ups (400 and 1600 KB at 100G)",
    leads_to="E2 E5 E7 E8 E9 E11 N4 E2b",
)
def E13(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Once per profile."""
    for device, wred, curve, line in _profiles(facts):
        if 0 < curve.max_bytes <= _JUMBO_BYTES and curve.min_bytes <= curve.max_bytes:
            kmin, kmax = curve.min_bytes * _KB, curve.max_bytes * _KB
            yield Found(
                device,
                construct(facts.network.devices[device], "WRED_PROFILE", wred.name),
                f"thresholds {curve.min_bytes}/{curve.max_bytes} B"
                + (f" at {line.port.speed_mbps // 1000}G" if line.port.speed_mbps else "")
                + " look like KB",
                curve_evidence(line, wred, curve),
                fix=set_curve(line.device, wred.name, wred.where, kmin, kmax),
            )


CHECKS: Final[tuple[Check, ...]] = (E1, E2B, E3, E4, E6, E7, E8, E9, E10, E11, E12, E13)

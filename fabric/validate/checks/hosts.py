"""N: host settings against the switch port they are cabled to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fabric.configs.buffers.headroom import nic_xoff_bytes
from fabric.configs.network import HEEDS_NO_MARKS, WITHOUT_CNPS, Host
from fabric.theory.marking import LEAST_ROUND_TRIP_PS
from fabric.validate.checks.base import Check, E, Found, I, W, check, listed, shows
from fabric.validate.checks.entries import buffer_roots, host_evidence, host_root, map_evidence, pause_roots, pfc_root
from fabric.validate.facts import Facts, Line
from fabric.validate.remedies import (
    Fix,
    interface_of,
    set_curve,
    set_host,
    set_host_cnp,
    set_host_ecn,
    set_host_pfc,
    set_host_trust,
    set_map,
    set_pfc,
    tool_of,
)

_PRIORITIES: Final = 8
_RAMP: Final = 2
"""Kmax over Kmin from which a curve is no step."""
_NIC_CABLE_M: Final = 7
"""Cable length that a NIC assumes by default (mlx5)."""


_GLOBAL: Final = "default-global"
"""Profile of NVUE whose cable length is that of the longest cable, not of each port's."""


@check(
    "N1",
    E,
    "host and switch disagree on the lossless class",
    condition="host trusts DSCP; its RoCE DSCP is lossless at its port, for a priority it has PFC on",
    consequence="the NIC ignores or never sends pauses for the class its RoCE is in",
    remedy="mlnx_qos --trust dscp --pfc ... for the switch's priority",
    source="mlnx_qos; IEEE 802.1Q clause 36",
    leads_to="N2 N5 N10",
)
def N1(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """Every cabled host."""
    for line, host in facts.host_lines:
        if host.trust is not None and (host.trust == "dscp") is line.port.class_by_tag:
            does = ", and the port looks at the 802.1Q tag" if line.port.class_by_tag else ""
            yield Found(
                line.device.name,
                line.port.name,
                f"host {host.name} trusts {host.trust}{does}",
                (host_evidence(host, "trust"),),
                fix=set_host_trust(host, "pcp" if line.port.class_by_tag else "dscp"),
            )
        if line.port.class_by_tag:
            continue
        _, priority = facts.lossless_class(line, host.roce_dscp)
        if priority is None:
            yield Found(
                line.device.name,
                line.port.name,
                f"RoCE DSCP {host.roce_dscp} is not lossless here",
                (host_evidence(host, "roce_dscp"), *map_evidence(line, "dscp_to_tc", host.roce_dscp)),
                rests_on=[
                    pfc_root(line),
                    *(root for priority in line.port.lossless for root in pause_roots(facts, line, priority)),
                ],
                fix=_protected(facts, line, host.roce_dscp),
            )
        elif host.pfc_enable is not None and priority not in host.pfc_enable:
            yield Found(
                line.device.name,
                line.port.name,
                f"RoCE is in priority {priority} here, the host has PFC on "
                f"{','.join(map(str, sorted(host.pfc_enable))) or 'none'}",
                (host_evidence(host, "pfc_enable"),),
                rests_on=(
                    pfc_root(line),
                    *(one.root for one in map_evidence(line, "dscp_to_tc", host.roce_dscp) if one.root),
                ),
                fix=set_host_pfc(host, {*host.pfc_enable, priority}),
            )


def _protected(facts: Facts, line: Line, dscp: int) -> Fix:
    """PFC for the priority of RoCE's class, or RoCE in a class that PFC protects."""
    own = [tc for priority in sorted(line.port.lossless) for tc in facts.classes_of(line, priority)]
    if own:
        return set_map(line.device, line.port, "dscp_to_tc", dscp, own[0])
    usual = facts.usual_class(dscp)
    return set_pfc(line.device, line.port, facts.usual_pfc or {3 if usual is None else usual[1]})


@check(
    "N2",
    E,
    "ECN is off at the host",
    condition="notification and reaction point are on for RoCE's priority",
    consequence="CE marks are ignored",
    remedy="echo 1 > /sys/class/net/IF/ecn/roce_{np,rp}/enable/PRIO",
    source="mlx5 sysfs ecn/roce_np, roce_rp",
)
def N2(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Where the file states the priority."""
    for line, host in facts.host_lines:
        _, priority = facts.lossless_class(line, host.roce_dscp)
        wrong = [point for point in ("np", "rp") if priority is not None and _off(host, point, priority)]
        if len(wrong) > 1 and host.at("ecn_np_enable") == host.at("ecn_rp_enable") and host.ecn_np_enable is not None:
            wrong = wrong[:1]  # one switch for both: AMD's and Broadcom's
        for point in wrong:
            field, on = f"ecn_{point}_prio", getattr(host, f"ecn_{point}_enable")
            value = getattr(host, field)
            said = host_evidence(host, f"ecn_{point}_enable" if on is not None else field)
            words = f"{field} is {value}" if on is None else f"roce_{point} is on for priority {listed(on)}"
            own = host.captured.priorities.get(host.roce_dscp) if host.captured is not None else None
            yield Found(
                line.device.name,
                line.port.name,
                f"{words}, RoCE is in priority {priority}",
                (said,),
                rests_on=(
                    pfc_root(line),
                    *(one.root for one in map_evidence(line, "dscp_to_tc", host.roce_dscp) if one.root),
                    *((host_root(host, "pfc_enable"),) if _follows(host, value) else ()),
                    *(() if own is None else ((own.place.file, (str(own.place.line), own.words)),)),
                ),
                fix=set_host_ecn(host, field, priority or 0),
            )


def _off(host: Host, point: str, priority: int) -> bool:
    """Whether the notification or reaction point is stated, and not on for a priority."""
    on, value = getattr(host, f"ecn_{point}_enable"), getattr(host, f"ecn_{point}_prio")
    return priority not in on if on is not None else value is not None and value != priority


def _follows(host: Host, priority: int | None) -> bool:
    """Whether a host's marks and its pauses are of one priority: then both are wrong by one choice."""
    if host.pfc_enable is None:
        return False
    on = host.ecn_rp_enable
    return priority in host.pfc_enable if on is None else bool(on & host.pfc_enable) and len(on) < _PRIORITIES


@check(
    "N3",
    E,
    "the host's CNPs are treated as bulk",
    condition="where hosts send CNPs: the CNP DSCP's queue is not the one of DSCP 0, and not a lossless one where "
    "another host's is not",
    consequence="CNPs wait or are dropped: DCQCN reacts late",
    remedy="set cnp_dscp to the DSCP of the CNP queue",
    source="mlx5 roce_np/cnp_dscp",
)
def N3(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """At the port the host is cabled to."""
    for line, host in facts.host_lines:
        queue = None if host.cc in WITHOUT_CNPS else facts.queue_of(line, host.cnp_dscp)
        bulk = queue is not None and queue == facts.queue_of(line, 0)
        odd = host.cnp_dscp not in facts.cnp_dscps
        _, priority = facts.lossless_class(line, host.cnp_dscp)
        if not bulk and (not odd or priority is None or queue is None):
            continue
        text = f"shares queue {queue} with DSCP 0" if bulk else f"is in lossless queue {queue}"
        yield Found(
            line.device.name,
            line.port.name,
            f"CNP DSCP {host.cnp_dscp} {text}",
            (host_evidence(host, "cnp_dscp"), *map_evidence(line, "dscp_to_tc", host.cnp_dscp)),
            fix=set_host_cnp(host, facts.cnp_dscps[0]) if odd else None,
        )


@check(
    "N4",
    W,
    "Kmin below one round trip of data",
    condition="with DCQCN: Kmin >= rate x 5 us",
    consequence="throughput is lost before the queue is one round trip deep",
    remedy="raise Kmin",
    source="NVIDIA DCQCN parameters (defaults assume hundreds of KB)",
)
def N4(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Lossless queues towards hosts that use DCQCN."""
    for line, host in facts.host_lines:
        if host.cc != "dcqcn" or not line.port.speed_mbps:
            continue
        for _, queue, bound in facts.lossless_queues(line):
            wred = facts.wred(line.device, bound)
            need = line.port.speed_mbps * LEAST_ROUND_TRIP_PS // 8_000_000
            if wred is not None and wred.curve is not None and wred.curve.min_bytes < need:
                yield Found(
                    line.device.name,
                    f"{line.port.name}|{queue}",
                    f"Kmin {wred.curve.min_bytes} B < {need} B",
                    (shows(line.device, wred.where, "green_min_threshold", wred.curve.min_bytes),),
                    fix=set_curve(line.device, wred.name, wred.where, need, max(4 * need, wred.curve.max_bytes)),
                )


@check(
    "N5",
    W,
    "the NIC's buffer is too small for the cable",
    condition="(301 + 2.16 m) B per Gb/s + 2.72 MTU <= receive buffer; cable length set at the NIC above 7 m",
    consequence="the NIC drops although it pauses",
    remedy="mlnx_qos --cable_len, or a shorter cable",
    source="Linux mlx5e en/port_buffer.c",
)
def N5(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """The cable's own length: of the links file, else of the switch port; a note where the port's is one for all."""
    lengths = {end: cable.length_m for cable in facts.network.links for end in (cable.a, cable.b)}
    for line, host in facts.host_lines:
        own, speed = lengths.get(line.end), line.port.speed_mbps
        cable = line.port.cable_m if own is None else own
        of_all = own is None and _GLOBAL in line.port.cable_where
        if not cable or not speed:
            continue
        need = nic_xoff_bytes(speed, cable, host.mtu or line.port.mtu)
        if host.rx_buffer_bytes is not None and need > host.rx_buffer_bytes:
            yield Found(
                line.device.name,
                line.port.name,
                f"host {host.name} needs {need} B for {cable} m, has {host.rx_buffer_bytes} B",
                (host_evidence(host, "rx_buffer_bytes"),),
                rests_on=(host_root(host, "pfc_enable"), *buffer_roots(host)),
            )
        if tool_of(host) == "mlnx_qos" and cable > _NIC_CABLE_M and (host.cable_m or _NIC_CABLE_M) < cable:
            yield Found(
                line.device.name,
                line.port.name,
                f"cable is {'up to ' if of_all else ''}{cable} m, host {host.name} assumes "
                f"{host.cable_m or _NIC_CABLE_M} m",
                (shows(line.device, line.port.cable_where, "", f"{cable}m", "cable"),),
                I if of_all else W,
                fix=set_host(host, "cable_m", cable, f"mlnx_qos -i {interface_of(host)} --cable_len {cable}"),
            )


@check(
    "N6",
    W,
    "different congestion controls in one class",
    condition="all hosts of a class use one congestion control",
    consequence="unfairness: one of them yields to the other",
    remedy="one congestion control per class",
    source="reaction to marks and to delay differ in kind",
)
def N6(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Hosts file only."""
    hosts = [host for host in facts.network.stated_hosts.values() if host.cc]
    kinds: dict[int, dict[str, Host]] = {}
    for host in hosts:
        kinds.setdefault(host.roce_dscp, {}).setdefault(host.cc or "", host)
    for dscp, found in kinds.items():
        if len(found) > 1:
            first = next(iter(found.values()))
            yield Found(
                first.name,
                f"DSCP {dscp}",
                "congestion controls " + ", ".join(sorted(found)),
                tuple(host_evidence(host, "cc") for host in found.values()),
            )


@check(
    "N7",
    W,
    "marking is tuned for DCQCN, the hosts run another congestion control",
    condition="lossless queues mark: no host behind them heeds no mark; with DCTCP Kmax < 2 x Kmin",
    consequence="marks have no effect, or come too seldom: the queue is not held where the curve says",
    remedy="DCQCN at the hosts, or marking as their congestion control wants it",
    source="Alizadeh et al., SIGCOMM 2010, section 3.1 (a step at K); Mittal et al., SIGCOMM 2015; Li et al., SIGCOMM "
    "2019; Kumar et al., SIGCOMM 2020 (no ECN)",
)
def N7(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """At the port the host is cabled to; without a stated congestion control nothing is known."""
    for line, host in facts.host_lines:
        for _, queue, bound in facts.lossless_queues(line) if host.cc not in {None, "dcqcn"} else ():
            wred = facts.wred(line.device, bound)
            if wred is None or wred.curve is None:
                continue
            low, high = wred.curve.min_bytes, wred.curve.max_bytes
            if host.cc in HEEDS_NO_MARKS:
                text = f"marks from {low} B on, the hosts' congestion control ({host.cc}) heeds no mark"
            elif host.cc == "dctcp" and high >= _RAMP * low:
                text = f"marks more and more from {low} to {high} B, DCTCP expects a step"
            else:
                continue
            yield Found(
                line.device.name,
                f"{line.port.name}|{queue}",
                text,
                (
                    host_evidence(host, "cc"),
                    shows(line.device, wred.where, "green_min_threshold", low),
                    shows(line.device, wred.where, "green_max_threshold", high),
                ),
            )


CHECKS: Final[tuple[Check, ...]] = (N1, N2, N3, N4, N5, N6, N7)

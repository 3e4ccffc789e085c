"""Roots of pauses and of queues that stay full: hosts, cycles, marking, congestion control, the load itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.topology.peer_rates import oversubscribed
from fabric.units import PS_PER_S, count, format_time_ps
from telemetry.diagnosis.root import Kind, Root
from telemetry.diagnosis.view import Place, Values, View, grown
from telemetry.diagnosis.waits import Origin, Waits

_NEXT: Final = 2
"""Samples from one to the next that shows the same queue, with one in between that does not."""
STORMS: Final = 6
"""Storms that the watchdog found at one queue from which on they are one intermittent fault (FabricPfcwdFlapping)."""
_LEAST_SHARE: Final = 0.02
"""Share of all paused time below which a queue is noise: the depth of queues decides, and they change places. A host
that pauses its own port is no matter of depths."""
_LEAST_XOFFS: Final = 8
_MARKS: Final = "fabric_ecn_marked_packets_total"
_BUFFER: Final = "fabric_rnic_receive_buffer_peak_bytes"
_LONGEST_PAUSE_BITS: Final = 65_535 * 512
"""What one PFC frame can ask for at most (IEEE 802.3 annex 31B): a broken NIC's frames do."""
_HANDED_ON_S: Final = 20e-6
"""In this time a healthy host takes what arrives: some microseconds of PCIe, IOMMU and memory, and bursts of many
senders that are faster than it although it takes the mean (12 us in scenarios/alerts/nearly-slow-receiver.yml).
"""
_LEAST_CNPS: Final = 100
_IGNORED: Final = 0.5
"""Share of ignored CNPs, as of FabricCnpIgnored."""
FULL: Final = 0.9
"""Use of a link that has all it can carry: congestion control, which holds a queue at its curve, leaves the rest. Two
flows of DCQCN on one uplink leave 6 % (playbooks/elephants).
"""
_BUSY: Final = 0.8
"""Use of a link, over the intervals that show its queue, from which on it has more than it carries."""
_EVEN: Final = 1.2
_IDLE: Final = 0.1
"""Use of an equal-cost link, over the mean, below which on a hash does not reach it."""
_UNEVEN: Final = 1.75
"""Highest over mean of equal-cost links, as of FabricEcmpImbalance."""
_FEW_PAIRS: Final = 4
_LASTING_NS: Final = 10_000_000
"""Two and a half minutes of an operator, at the pace of docs/alerts.md."""
_MARKED: Final = 0.3
"""Share of samples from which on a queue is congested for long: in a short run that is less than _LASTING_NS."""


def pause_roots(view: View, found: Waits) -> Iterator[Root]:
    """Roots of pauses, those with most paused time first."""
    for members, standing in found.cycles.items():
        yield from _deadlock(view, members, standing)
    total = sum(it.total_s for it in found.origins)
    congested, hosts = set(), []
    for origin in found.origins:
        if origin.is_host:
            hosts.append(_host(view, origin, total))
        elif origin.total_s >= _LEAST_SHARE * total:
            congested.add(origin.place)
            root = _congestion(view, origin.place, origin.paused_s, _caused(view, origin, found), origin)
            if root.kind is not Kind.MICROBURST or not _drains_after(origin, found):
                yield root
    yield from _one_a_host(hosts)
    yield from _marking(view, congested)
    yield from _late(view, {view.device(it.place[0]) for it in found.origins if it.is_host})


def _drains_after(origin: Origin, found: Waits) -> bool:
    """Whether a queue only sends what it held while a host paused it: it waited for that host, and since then, without
    a gap of more than a sample, others have waited for it.
    """
    rows = np.flatnonzero(origin.paused_s > 0).tolist()
    for host in found.origins:
        of_host = np.flatnonzero(host.paused_s > 0).tolist() if host.is_host else []
        if not of_host or origin.place not in host.victims or rows[0] < of_host[0]:
            continue
        joined = sorted({*of_host, *rows})
        since = joined[joined.index(max(it for it in of_host if it <= rows[0])) :]
        if all(after - before <= _NEXT for before, after in pairwise(since)):
            return True
    return False


def _caused(view: View, origin: Origin, found: Waits) -> Values:
    """XOFFs of a switch that one of its queues has caused, by interval: no counter has them by queue, so each origin of
    the switch has the part that its paused time is of that of all.
    """
    port, priority = origin.place
    its = [
        it.paused_s
        for it in found.origins
        if not it.is_host and it.place[1] == priority and view.device(it.place[0]) == view.device(port)
    ]
    total = np.sum(its, axis=0)
    share = np.divide(origin.paused_s, total, out=np.zeros(view.size), where=total > 0)
    return np.asarray(share * _xoffs(view, origin.place))


def _xoffs(view: View, place: Place) -> Values:
    """XOFFs of the switch of a queue, in its class, by interval."""
    port, priority = place
    its = [it for (at, class_), it in view.xoffs.items() if class_ == priority and view.device(at) == view.device(port)]
    return np.asarray(np.sum(its, axis=0)) if its else np.zeros(view.size)


def _one_a_host(roots: Sequence[Root]) -> Iterator[Root]:
    """Several ports of a host that pause in one class are one root, at the port that paused most: they share memory,
    PCIe and driver.
    """
    of_hosts: dict[tuple[str, int | None], list[Root]] = {}
    for root in roots:
        of_hosts.setdefault((root.device, root.priority), []).append(root)
    for first, *others in of_hosts.values():
        its = (first, *others)
        began, ended = min(it.began_ns for it in its), max(it.ended_ns for it in its)
        evidence = tuple(text for it in its for text in it.evidence)
        yield replace(first, began_ns=began, ended_ns=ended, evidence=evidence)


def _late(view: View, pausing: set[str]) -> Iterator[Root]:
    """Hosts that send no pause frames, and whose receive buffer held more than a NIC needs to hand it on."""
    for labels, peak in view.series(_BUFFER):
        name = labels["device"]
        ports = [int(it) for it in view.fabric.by_name[name].ports]
        most = max(float(view.rate_bps[it].max()) for it in ports) / 8 * _HANDED_ON_S
        above = (grown(peak) > 0) & (peak > most)
        if name not in pausing and above.any():
            began, ended = view.span(above)
            text = f"its receive buffer held up to {peak[-1]:,.0f} B; it paused no port"
            yield Root(Kind.SLOW_RECEIVER, name, began, ended, (text,), margin=float(peak[-1]) / most)


def _deadlock(view: View, members: frozenset[Place], standing: NDArray[np.bool_]) -> Iterator[Root]:
    """A cycle that stands at the end, and whose queues send nothing."""
    sent = view.growth("fabric_queue_transmit_packets_total")
    moved = np.sum([view.at(sent, place) for place in members], axis=0)
    still = standing & (moved <= 0)
    if not still[-1] or np.count_nonzero(still) < 2:
        return
    began, ended = view.span(still)
    ports = sorted(view.name(port) for port, _ in members)
    devices = sorted({view.device(port) for port, _ in members})
    first = min(members)
    text = f"{count(len(members), 'queue')} wait for each other and send nothing: {', '.join(ports)}"
    yield Root(
        Kind.DEADLOCK, devices[0], began, ended, (text,), "", first[1], members=tuple(devices[1:]),
    )  # fmt: skip


def _host(view: View, origin: Origin, total_s: float) -> Root:
    """A host that pauses its switch. Its receive buffer, or XON frames, tell a slow receiver from a broken NIC."""
    port, priority = origin.place
    at_switch = (view.peer(port), priority)
    name = view.device(port)
    began, ended = view.span(origin.paused_s > 0)
    paused = float(view.at(view.growth("fabric_pfc_receive_paused_seconds_total"), at_switch).sum())
    silent = f"paused {view.name(view.peer(port))} for {format_time_ps(round(paused * PS_PER_S))}"
    detected = float(view.at(view.growth("fabric_pfcwd_storms_detected_total"), at_switch).sum())
    if detected >= STORMS:
        restored = float(view.at(view.growth("fabric_pfcwd_storms_restored_total"), at_switch).sum())
        text = f"{detected:,.0f} storms detected and {restored:,.0f} restored at {view.name(view.peer(port))}"
        kind = Kind.WATCHDOG_FLAPPING
    else:
        kind, text = _drains(view, name, at_switch, paused)
    margin = origin.total_s / (_LEAST_SHARE * total_s)
    return Root(kind, name, began, ended, (f"{silent}; {text}",), view.port(port).name, priority, margin=margin)


def _drains(view: View, name: str, at_switch: Place, paused_s: float) -> tuple[Kind, str]:
    """Whether a host that pauses its switch is slow or broken: by its buffer, else by the length of its pauses."""
    if view.has(_BUFFER):
        its = (float(it[-1]) for labels, it in view.series(_BUFFER) if labels["device"] == name)
        peak = max(its, default=0.0)
        if peak > 0:
            return Kind.SLOW_RECEIVER, f"its receive buffer held up to {peak:,.0f} B"
        return Kind.BROKEN_NIC, "its receive buffer was empty"
    ended = float(view.at(view.growth("fabric_pfc_receive_resume_total"), at_switch).sum())
    mean_s = paused_s / max(ended, 1.0)
    longest_s = _LONGEST_PAUSE_BITS / max(float(view.rate_bps[at_switch[0]].max()), 1.0)
    kind = Kind.BROKEN_NIC if mean_s >= longest_s / 2 else Kind.SLOW_RECEIVER
    return kind, f"its pauses last {format_time_ps(round(mean_s * PS_PER_S))} each; its receive buffer is not known"


def _congestion(view: View, place: Place, weight: Values, caused: Values, origin: Origin | None) -> Root:
    """An egress queue that is not paused and holds others up, or marks for long.

    Parameters
    ----------
    weight : (n,) above 0 in the intervals that show it
    caused : (n,) XOFFs that it has caused
    """
    port, priority = place
    intervals = weight > 0
    began, ended = view.span(intervals)
    marked = view.at(view.growth(_MARKS), place)
    marks, xoffs = float(marked[intervals].sum()), float(caused[intervals].sum())
    device = view.device(port)
    depth = f"{marks:,.0f} packets marked, {count(round(xoffs), 'XOFF')} sent"
    if origin is not None:
        depth += f", others paused for {format_time_ps(round(origin.total_s * PS_PER_S))}"
    kind, text, members = _kind(view, place, intervals, marks, xoffs, pauses=origin is not None)
    if kind is Kind.ECN_WRONG:  # it may have marked before
        began, ended = view.span(intervals & (caused > marked))
    return Root(
        kind, device, began, ended, tuple(it for it in (text, depth) if it), view.port(port).name, priority, members,
        margin=xoffs / _LEAST_XOFFS if kind in {Kind.ECN_WRONG, Kind.CC_OFF} else 1.0,
    )  # fmt: skip


def _kind(
    view: View, place: Place, intervals: NDArray[np.bool_], marks: float, xoffs: float, *, pauses: bool
) -> tuple[Kind, str, tuple[str, ...]]:
    """(kind, the deciding evidence, further devices). A queue that pauses nobody has caused no XOFF; its switch may
    have sent some.
    """
    port, _ = place
    if pauses and xoffs >= _LEAST_XOFFS and marks < xoffs and _uses_marks(view):
        return Kind.ECN_WRONG, "PFC comes before ECN here", ()
    deaf = _deaf_senders(view, intervals) if marks else None
    if deaf is not None and xoffs >= _LEAST_XOFFS:
        return Kind.CC_OFF, *deaf
    if not view.fabric.peer_of(port).is_host:
        return _uplink(view, port, intervals)
    kind = Kind.INCAST if _lasts(view, intervals) else Kind.MICROBURST
    return kind, f"towards {view.fabric.peer_of(port).name}", ()


def _lasts(view: View, intervals: NDArray[np.bool_]) -> bool:
    """Whether the intervals are no moment, such as the backlog of a pause that has ended."""
    ns = float(view.interval_s[intervals].sum()) * 1e9
    return ns > _LASTING_NS or int(np.count_nonzero(intervals)) >= max(_MARKED * view.size, 2)


def _uses_marks(view: View) -> bool:
    """Whether some queue marks, or some host answers marks: TIMELY and HPCC need none. No: marks are not counted."""
    if not view.has(_MARKS):
        return False
    marks = view.growth(_MARKS).values()
    answers = view.of_devices("fabric_rnic_cnp_sent_packets_total").values()
    return any(it.sum() > 0 for it in (*marks, *answers))


def _deaf_senders(view: View, intervals: NDArray[np.bool_]) -> tuple[str, tuple[str, ...]] | None:
    """Hosts that do not slow down although packets arrive marked: they ignore CNPs, or get none."""
    ignored = view.of_devices("fabric_rnic_cnp_ignored_packets_total")
    handled = view.of_devices("fabric_rnic_cnp_handled_packets_total")
    cuts = view.of_devices("fabric_rnic_rate_cuts_total")
    deaf, all_ignored, all_received = [], 0.0, 0.0
    for name, values in ignored.items():
        no, yes = float(values[intervals].sum()), float(handled[name][intervals].sum())
        all_ignored, all_received = all_ignored + no, all_received + no + yes
        if no > _IGNORED * (no + yes):
            deaf.append(name)
    if all_received >= _LEAST_CNPS and all_ignored > _IGNORED * all_received:
        return f"{all_ignored:,.0f} of {all_received:,.0f} CNPs were ignored by {count(len(deaf), 'host')}", tuple(deaf)
    if not sum(float(it[intervals].sum()) for it in cuts.values()) and cuts and not all_received:
        return "no host has sent a CNP or reduced a rate", ()
    return None


def _equals(view: View, port: int) -> list[int]:
    """Ports of the links that carry the same traffic as this one: those of its switch to the tier above, or, towards
    the tier below, those of all switches of its tier to the same switch.
    """
    fabric = view.fabric
    here, there = fabric.node_of(port), fabric.peer_of(port)
    if there.tier > here.tier >= 0:
        return [int(it) for it in here.ports if fabric.peer_of(it).tier == there.tier]
    if here.tier > there.tier >= 0:
        return [view.peer(int(it)) for it in there.ports if fabric.peer_of(it).tier == here.tier]
    return [port]


def _use(view: View, ports: Sequence[int], intervals: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Share of the intervals' time in which each port was sending."""
    seconds = float(view.interval_s[intervals].sum())
    return np.array([float(view.busy_s[it][intervals].sum()) / seconds if seconds else 0.0 for it in ports])


def _uplink(view: View, port: int, intervals: NDArray[np.bool_]) -> tuple[Kind, str, tuple[str, ...]]:
    """A link between switches: all of its equals are full, or this one has more than its share."""
    equals = _equals(view, port)
    used = _use(view, equals, intervals)
    shares = ", ".join(f"{view.name(it)} {share:.0%}" for it, share in zip(equals, used.tolist(), strict=True))
    text = f"use of {count(len(equals), 'equal-cost link')}: {shares}"
    if not _lasts(view, intervals):
        return Kind.MICROBURST, text, ()
    if used.min() > _BUSY:
        return Kind.OVERSUBSCRIPTION, text, ()
    if _use(view, [port], intervals)[0] < _BUSY or used.max() < _EVEN * used.mean():
        return Kind.MICROBURST, text, ()
    pairs = _active_pairs(view, intervals)
    if used.min() < _IDLE * used.mean() and pairs > _FEW_PAIRS * len(equals):
        return Kind.POLARISED, text, ()
    return Kind.ELEPHANTS, f"{text}; at most {pairs:,.0f} queue pairs were active", ()


def _active_pairs(view: View, intervals: NDArray[np.bool_]) -> float:
    """Most queue pairs of all hosts that were active at one sample."""
    its = [values for _, values in view.series("fabric_rnic_active_queue_pairs")]
    return float(np.sum(its, axis=0)[intervals].max()) if its and intervals.any() else 0.0


def _marking(view: View, without: set[Place]) -> Iterator[Root]:
    """Queues between switches that mark for long and pause nobody: their link has more than its share, or all of its
    equals are full, which is one root. One without an equal is judged where its switch has fewer than its peers.
    """
    full: set[frozenset[int]] = set()
    unlike = {it.device for it in oversubscribed(view.fabric)}
    for place, marks in view.growth(_MARKS).items():
        port, _ = place
        intervals = marks > 0
        if place in without or view.fabric.peer_of(port).is_host or np.count_nonzero(intervals) < _MARKED * view.size:
            continue
        equals = _equals(view, port)
        used = _use(view, equals, intervals)
        alone = not unlike & {view.device(port), view.device(view.peer(port))} and len(equals) == 1
        if used.min() > FULL and not alone:
            if frozenset(equals) not in full:
                full.add(frozenset(equals))
                yield _congestion(view, place, np.where(intervals, 1.0, 0.0), _xoffs(view, place), None)
        elif _use(view, [port], intervals)[0] > FULL and used.max() > _UNEVEN * used.mean():
            yield _congestion(view, place, np.where(intervals, 1.0, 0.0), _xoffs(view, place), None)

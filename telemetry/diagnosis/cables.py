"""Roots at cables and at whole switches: carrier, speed, damaged frames, frames that do not arrive."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.topology.model import Link
from fabric.units import PS_PER_S, count, format_bit_rate, format_time_ps
from telemetry.diagnosis.root import Kind, Root
from telemetry.diagnosis.view import GAP_BYTES, Values, View

FLAPS: Final = 2
"""Outages from which on a link flaps. One that is over is an outage, too."""
_RECEIVING_S: Final = 2e-6
"""Most time from a frame's last bit at a device to its counter there: forwarding latency, or that of a NIC."""
_MIXED: Final = 2.0
"""Where only the mean size of frames counts: those in flight may be smaller by this factor."""
_SPARE_FRAMES: Final = 2
"""A frame that is being sent counts at its sender only."""
_LARGEST_BYTES: Final = 9_216
"""Largest frame of an Ethernet port with jumbo frames, as most switches bound it."""
_CONFIRMING: Final = 2
"""Samples that confirm a silent loss."""
_CHANCE: Final = 1e-9
"""Largest probability that frames in flight look like a loss of one or two."""
_LEAST_CHANCE: Final = 1e-3
"""Of one sample: what is in flight then may depend on what was at others."""
_TELLS: Final = 0.3
"""Probability of a frame in flight at a sample below which one that does not arrive dates a loss."""
_STEADY: Final = 8
"""Samples whose least difference of sent and arrived is compared with that of as many others."""
_SIGMAS: Final = 2
"""Standard deviations of a number of frames in flight (Poisson) that such a least difference may vary by."""
_MISSED: Final = 3
"""Standard deviations (Poisson) by which fewer frames are lost than before once a loss is over."""


def cable_roots(view: View) -> Iterator[Root]:
    """Carrier first: what a cable that is down loses needs no other root."""
    down = [link for link in view.fabric.links if _outage(view, link).any()]
    switches = set(_switches_down(view, down))
    for name, its in ((name, [it for it in down if name in _ends(view, it)]) for name in sorted(switches)):
        began, ended = view.span(np.any([_outage(view, it) for it in its], axis=0))
        neighbours = tuple(sorted({end for it in its for end in _ends(view, it)} - {name}))
        yield Root(
            Kind.SWITCH_DOWN, name, began, ended, (f"all {count(len(its), 'cable')} of it lost their carrier",),
            members=neighbours,
        )  # fmt: skip
    for link in down:
        if not switches & set(_ends(view, link)):
            yield _carrier(view, link)
    hung = dict(_hung(view))
    for name, intervals in hung.items():
        yield _hang(view, name, intervals)
    for link in view.fabric.links:
        yield from _speed(view, link)
        if link not in down and not hung.keys() & set(_ends(view, link)):
            yield from _damage(view, link)
            yield from _silent(view, link)


def _ends(view: View, link: Link) -> tuple[str, str]:
    """Names of the two devices; a switch before a host, the upper tier last."""
    return view.device(link.a), view.device(link.b)


def _outage(view: View, link: Link) -> NDArray[np.bool_]:
    """Intervals with time without carrier."""
    return np.asarray(view.down_s[int(link.a)] > 0) | np.asarray(view.down_s[int(link.b)] > 0)


def _switches_down(view: View, down: list[Link]) -> Iterator[str]:
    """Switches of which every cable, of two or more, was down in one interval."""
    for switch in view.fabric.switches:
        its = [it for it in view.fabric.links if switch.name in _ends(view, it)]
        if len(its) > 1 and all(it in down for it in its) and np.all([_outage(view, it) for it in its], axis=0).any():
            yield switch.name


def _carrier(view: View, link: Link) -> Root:
    """One link: down to the end, or down and up again."""
    without = np.asarray(view.down_s[int(link.a)])
    outage = without > 0
    up = view.at(view.gauge("fabric_port_up"), (int(link.a), -1)) > 0
    up_before = np.concatenate([[True], up[:-1]])  # an outage that begins between samples is one, in two intervals
    outages = int(np.count_nonzero(outage & up_before))
    began, ended = view.span(outage)
    lost = sum(int(view.gauge("fabric_port_lost_packets_total").get((int(it), -1), [0])[-1]) for it in (link.a, link.b))
    down = f"down for {format_time_ps(round(float(without.sum()) * PS_PER_S))} in all"
    still = not up[-1]
    drops = view.drops("link_down")
    refused = sum(int(it.sum()) for (port, _), it in drops.items() if port in (int(link.a), int(link.b)))
    text = f"{count(outages, 'outage')}, {down}; {count(lost, 'frame')} lost in flight, {refused:,} discarded"
    kind = Kind.LINK_FLAP if outages >= FLAPS else Kind.LINK_DOWN
    a, b = _ends(view, link)
    return Root(
        kind, a, began, ended, (text + ("; it is still down" if still else ""),), view.port(int(link.a)).name,
        members=(b,), margin=float(np.count_nonzero(outage)),
    )  # fmt: skip


def _speed(view: View, link: Link) -> Iterator[Root]:
    rates = view.rate_bps[int(link.a)]
    known = rates[rates > 0]
    if not known.size:
        return
    slower = (rates > 0) & (rates < np.maximum.accumulate(rates))
    if slower.any():
        a, b = _ends(view, link)
        began, ended = view.span(slower)
        text = f"{format_bit_rate(int(rates[slower].min()))} since then, {format_bit_rate(int(known.max()))} before"
        yield Root(Kind.LANES_LOST, a, began, ended, (text,), view.port(int(link.a)).name, members=(b,))


def _damage(view: View, link: Link) -> Iterator[Root]:
    """Frames with a wrong FCS. The optics of either end may be the cause."""
    errors = view.growth("fabric_port_fcs_errors_total")
    yield from _lost_on(view, link, Kind.BAD_OPTIC, lambda port: view.at(errors, (port, -1)), "had a wrong FCS")


def _silent(view: View, link: Link) -> Iterator[Root]:
    """A loss of as few frames as may be in flight needs a sender that has sent something again."""
    why = "did not arrive; no counter of damaged frames has them"

    def lost_at(port: int) -> Values:
        lost = _while_losing(view, link, port, _missing(view, link, port))
        return lost if view.sent_again or lost.sum() > _SPARE_FRAMES else np.zeros(view.size)

    yield from _lost_on(view, link, Kind.SILENT_LOSS, lost_at, why)


def _lost_on(view: View, link: Link, kind: Kind, lost_at: Callable[[int], Values], why: str) -> Iterator[Root]:
    """One root for both directions, at the port that receives less."""
    lost = {port: it for port in (int(link.a), int(link.b)) if (it := lost_at(port)).sum() > 0}
    if not lost:
        return
    port = max(lost, key=lambda it: float(lost[it].sum()))
    shows = np.sum(list(lost.values()), axis=0) > 0
    shows[[_last(view, at, its) for at, its in lost.items()]] = True
    began, ended = view.span(shows)
    texts = (
        f"{int(its.sum()):,} of {int(view.sent[view.peer(at)].sum()):,} frames from {view.name(view.peer(at))} {why}"
        for at, its in sorted(lost.items(), key=lambda it: -float(it[1].sum()))
    )
    other = view.device(view.peer(port))
    total = float(np.sum(list(lost.values())))
    yield Root(
        kind, view.device(port), began, ended, tuple(texts), view.port(port).name, members=(other,), margin=total
    )


def _missing(view: View, link: Link, port: int) -> Values:
    """Frames that were sent towards a port in each interval and never arrive.

    Sent less arrived is what is lost and what is in flight. In flight are at most as many frames as were sent in the
    intervals that the way takes, and at most as many bytes as a full cable holds: small frames, such as ACKs in a
    burst, are many, so bytes alone are bounded by the cable. From the first sample that is beyond either bound frames
    are lost, and the least difference from a sample on counts: what is in flight at one sample has arrived at a later
    one. The last samples are left out: nothing later confirms them.

    One or two frames are within both bounds. They are lost where every later sample misses one, and frames in flight
    at all of them would be improbable (_sure).
    """
    peer = view.peer(port)
    seconds = link.delay_ps / PS_PER_S + _RECEIVING_S
    cable_bytes = float(view.rate_bps[port].max()) * seconds / 8
    gap = np.cumsum(view.sent[peer] - view.arrived[port])
    least = np.minimum.accumulate(gap[::-1])[::-1]
    if view.polled:  # the ends are read at different times: only the least difference of many samples says something
        is_lost = least > _held(view, link, peer)
    else:
        recent = np.convolve(view.sent[peer], np.ones(_intervals(view, seconds)))[: view.size]
        gap_bytes = np.cumsum(view.sent_bytes[peer] - view.arrived_bytes[port])
        beyond = (gap - recent > _SPARE_FRAMES) | (gap_bytes > cable_bytes + _SPARE_FRAMES * _LARGEST_BYTES)
        is_lost = np.logical_or.accumulate(beyond) & (least > _SPARE_FRAMES)
        is_lost |= _sure(view, peer, seconds, least)
    lost = np.where(is_lost, least, 0.0)[: max(view.size - _CONFIRMING, 0)]
    last = lost[-1] if lost.size else 0.0
    return np.diff(np.concatenate([lost, np.full(view.size - lost.size, last)]), prepend=0.0)


def _while_losing(view: View, link: Link, port: int, lost: Values) -> Values:
    """Lost frames of each interval without those by which only frames in flight are more at the last samples.

    Towards the end of a record ever fewer samples confirm a difference, so it seems to grow although no frame is lost
    any more. Loss goes on after a sample where some _STEADY later ones in a row all miss more frames than the numbers
    in flight vary by, or _CONFIRMING of them more than a cable holds.
    """
    if not lost.any():
        return lost
    peer = view.peer(port)
    gap = np.cumsum(view.sent[peer] - view.arrived[port])
    seconds = link.delay_ps / PS_PER_S + _RECEIVING_S
    spread = _SPARE_FRAMES + _SIGMAS * math.sqrt(float(_in_flight(view, peer, seconds).max()))
    steady = min(_STEADY, max(view.size // 4, _CONFIRMING))
    first = int(np.flatnonzero(lost > 0)[0])
    until = max(
        first, _more_after(gap, steady, spread), _more_after(gap, min(_CONFIRMING, view.size), _held(view, link, peer))
    )
    known = np.where(np.arange(view.size) <= until, lost, 0.0)
    return known if _is_over(view, port, known) else lost


def _more_after(gap: Values, samples: int, limit: float) -> int:
    """The first sample after which never so many in a row exceed the least difference from there on by more than a
    limit.
    """
    least = np.minimum.accumulate(gap[::-1])[::-1]
    rows = np.lib.stride_tricks.sliding_window_view(gap, samples).min(axis=1)
    later = np.maximum.accumulate(rows[::-1])[::-1]
    more = np.flatnonzero(later - least[: later.size] > limit)
    return int(more[-1]) + 1 if more.size else 0


def _held(view: View, link: Link, peer: int) -> float:
    """Frames that a cable holds, where those in flight may be smaller than the mean by _MIXED."""
    cable_bytes = float(view.rate_bps[peer].max()) * (link.delay_ps / PS_PER_S + _RECEIVING_S) / 8
    size = float(view.sent_bytes[peer].sum()) / max(float(view.sent[peer].sum()), 1.0) + GAP_BYTES
    return _MIXED * cable_bytes / size + _SPARE_FRAMES


def _last(view: View, port: int, lost: Values) -> int:
    """The last interval of a loss that is over; of one that may go on, the last in which frames are sent."""
    sent = view.sent[view.peer(port)]
    last = int(np.flatnonzero(lost > 0)[-1])
    return last if _is_over(view, port, lost) or not sent.any() else max(last, int(np.flatnonzero(sent > 0)[-1]))


def _is_over(view: View, port: int, lost: Values) -> bool:
    """Whether a loss ends with the last interval that shows it: clearly fewer of the frames that were sent since are
    missing than at its rate. Rare losses leave intervals without one.
    """
    sent = view.sent[view.peer(port)]
    rows = np.flatnonzero(lost > 0)
    first, last = int(rows[0]), int(rows[-1])
    ratio = min(float(lost.sum()) / max(float(sent[first : last + 1].sum()), 1.0), 1.0)
    expected = ratio * float(sent[last + 1 :].sum())
    missing = float((sent - view.arrived[port]).sum() - lost.sum())  # in flight, or lost
    return expected - _MISSED * math.sqrt(expected) > max(missing, 0.0)


def _in_flight(view: View, peer: int, seconds: float) -> Values:
    """Mean number of frames from a port in flight at the end of each interval (J. D. C. Little, Oper. Res. 9, 1961)."""
    frames = np.maximum(view.sent[peer], 1.0)
    rate_bps = np.maximum(view.rate_bps[peer], 1.0)
    under_way_s = seconds + (view.sent_bytes[peer] / frames + GAP_BYTES) * 8 / rate_bps
    return np.asarray(view.sent[peer] * under_way_s / np.maximum(view.interval_s, 1e-12))


def _sure(view: View, peer: int, seconds: float, least: Values) -> NDArray[np.bool_]:
    """Samples from which on at least one frame is lost, whatever may be in flight.

    The mean number in flight bounds the probability of any (Markov's inequality).
    """
    mean = _in_flight(view, peer, seconds)
    chance = np.log(np.clip(mean, _LEAST_CHANCE, 1.0))
    from_now = np.cumsum(chance[::-1])[::-1]
    first = np.flatnonzero((least >= 1) & (mean < _TELLS))
    sure = np.zeros(view.size, np.bool_)
    if first.size and from_now[first[0]] < math.log(_CHANCE):
        sure[first[0] :] = True
    return sure


def _intervals(view: View, seconds: float) -> int:
    """Sample intervals, up to and with the present one, in which a frame was sent that is on its way for that long."""
    known = view.interval_s[view.interval_s > 0]
    return min(math.ceil(seconds / float(known.min())), view.size) if known.size else 1


def _hung(view: View) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Switches to which frames are sent and that, on all cables, send or receive none, in some interval. One that has
    stopped may still send what was in its queues.

    Frames vanish on every cable that brought some, on two at least: between two frames a switch at little load sends
    nothing either, and what vanishes on one of its cables is the loss of that cable.
    """
    for switch in view.fabric.switches:
        ports = [int(it) for it in switch.ports]
        own = np.sum([view.sent[it] for it in ports], axis=0)
        senders = np.sum([view.sent[view.peer(it)] > 0 for it in ports], axis=0)
        arrived = np.sum([view.arrived[it] for it in ports], axis=0)
        silent = (senders > 1) & ((own <= 0) | (arrived <= 0))
        if not silent.any():
            continue
        brought = [it for it in ports if view.sent[view.peer(it)][silent].sum() > _SPARE_FRAMES]
        links = [view.fabric.links[view.port(it).link] for it in brought]
        vanished = [float(_missing(view, link, it)[silent].sum()) for link, it in zip(links, brought, strict=True)]
        # Not where few vanish: on long cables, or dropped and counted.
        if len(brought) > 1 and min(vanished) > 0 and sum(vanished) > _SPARE_FRAMES * len(ports):
            yield switch.name, silent


def _hang(view: View, name: str, silent: NDArray[np.bool_]) -> Root:
    ports = [int(it) for it in view.fabric.by_name[name].ports]
    towards = sum(int(view.sent[view.peer(it)][silent].sum()) for it in ports)
    began, ended = view.span(silent)
    text = f"its neighbours sent it {towards:,} frames; on all of its {len(ports)} ports it received or sent none"
    return Root(
        Kind.SWITCH_HANG, name, began, ended, (text,),
        members=tuple(sorted({view.device(view.peer(it)) for it in ports})), margin=float(np.count_nonzero(silent)),
    )  # fmt: skip

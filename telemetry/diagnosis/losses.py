"""Roots of discarded packets: the rule that discarded them, and whether this device or its neighbour broke it.

A lossless packet is lost at a port that had no headroom left. Either this port sent no XOFF; or its peer was told to
stop and did not; or both did as they should, and more was in flight than headroom holds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.units import PS_PER_S, count, format_time_ps
from telemetry.diagnosis.root import Kind, Root
from telemetry.diagnosis.view import Place, Values, View

_LOSSLESS: Final = ("headroom", "shared_headroom_pool", "no_headroom")
_LOSSY: Final = ("ingress_threshold", "egress_threshold", "egress_pool", "egress_port")
_ASKED: Final = "fabric_pfc_transmit_paused_seconds_total"
_NO_WAY: Final = {"no_route": "had no next hop", "ttl": "were in a loop until their time to live ran out"}
_UNASKED: Final = 0.5
"""Share of losses in intervals without a pause from which on a port sends none."""
_OBEYED: Final = 0.05
"""Least share of the time for which a port asks for silence that a peer with PFC is silent."""
_MISPLACED: Final = 0.2
"""Share of a cable's packets in a new class from which on one of its ends reads DSCPs wrongly. ACKs may keep theirs."""
_LEAST_PACKETS: Final = 20


def loss_roots(view: View, hung: Mapping[str, int]) -> Iterator[Root]:
    """Every root of losses; packets without a way at switches that hang are left out, from then on.

    Parameters
    ----------
    hung : switch to the moment from which on it hangs, in ns
    """
    wrong = list(_wrong_maps(view))
    yield from wrong
    maps = frozenset(it.device for it in wrong)
    yield from _lossless(view, maps)
    yield from _lossy(view, maps)
    yield from _by_port(view, ("mtu",), Kind.MTU, "were larger than the port's MTU")
    yield from _by_device(view, tuple(_NO_WAY), Kind.BLACK_HOLE, hung)


def _wrong_maps(view: View) -> Iterator[Root]:
    """Switches that receive a class which the neighbour that sends it has never received: most such cables first."""
    received = view.growth("fabric_priority_receive_packets_total")
    classes = {switch.name: Counter[int]() for switch in view.fabric.switches}
    for (port, class_), values in received.items():
        if view.device(port) in classes and values.sum() > 0:
            classes[view.device(port)][class_] += int(values.sum())
    cables: dict[tuple[int, int], tuple[int, int, Values]] = {}
    for link in view.fabric.links:
        for here in (int(link.a), int(link.b)):
            there = view.peer(here)
            before = classes.get(view.device(there))
            if not before or view.fabric.node_of(here).is_host:
                continue
            of_cable = {c: view.at(received, (here, c)) for c in range(8)}
            gained = max((c for c in range(8) if c not in before), key=lambda c: float(of_cable[c].sum()), default=0)
            moved, total = float(of_cable[gained].sum()), sum(float(it.sum()) for it in of_cable.values())
            if gained not in before and moved >= max(_LEAST_PACKETS, _MISPLACED * total):
                gone = [c for c in before if of_cable[c].sum() <= 0] or list(before)
                cables[there, here] = max(gone, key=lambda c: before[c]), gained, of_cable[gained]
    while cables:
        named = Counter(view.device(port) for pair in cables for port in pair if not view.fabric.node_of(port).is_host)
        receivers = Counter(view.device(here) for _, here in cables)
        name = max(sorted(named), key=lambda it: (named[it], receivers[it]))
        its = {pair: cables.pop(pair) for pair in list(cables) if name in map(view.device, pair)}
        first, (lost, gained, values) = next(
            ((pair, it) for pair, it in its.items() if view.device(pair[1]) == name), next(iter(its.items()))
        )
        began, ended = view.span(np.any([it[2] > 0 for it in its.values()], axis=0))
        text = (
            f"class {lost} of {view.device(first[0])} is class {gained} at {view.name(first[1])}: "
            f"{count(int(values.sum()), 'packet')}; the same on {count(len(its), 'cable direction')} of {name}"
        )
        yield Root(Kind.DSCP_MAP, name, began, ended, (text,), priority=lost, margin=float(len(its)))


def _lossless(view: View, maps: frozenset[str]) -> Iterator[Root]:
    """One root for each device, class and reason, with the port that lost most."""
    found: dict[tuple[Kind, str, int], list[tuple[int, Values, str]]] = defaultdict(list)
    for reason in _LOSSLESS:
        for (port, class_), lost in view.drops(reason).items():
            if reason != "no_headroom":
                off = _ignoring(view, (view.peer(port), class_)) | _ignoring(view, (port, class_))
                lost = np.where(off, 0.0, lost)  # noqa: PLW2901  what is left
            if lost.sum() <= 0:
                continue
            kind, at, why = _who(view, (port, class_), lost, reason, maps)
            if kind is not None:
                found[kind, view.device(at), class_].append((at, lost, why))
    missing = {(device, class_) for kind, device, class_ in found if kind is Kind.PFC_MISSING}
    for (kind, device, class_), its in found.items():
        if kind is Kind.HEADROOM_SHORT:  # towards a switch without PFC no headroom is enough
            its = [it for it in its if (view.device(view.peer(it[0])), class_) not in missing]  # noqa: PLW2901  what is left
        if its:
            port, _, why = max(its, key=lambda it: float(it[1].sum()))
            yield _root(view, kind, device, port, class_, [it[1] for it in its], why)


def _who(view: View, place: Place, lost: Values, reason: str, maps: frozenset[str]) -> tuple[Kind | None, int, str]:
    """(kind, the port at fault, why) of lossless packets lost at a port; no kind where a wrong map explains them.

    PFC is judged in the intervals with losses: it may have worked before.
    """
    port, class_ = place
    peer, here, there = view.peer(port), view.name(port), view.name(view.peer(port))
    if {view.device(port), view.device(peer)} & maps:
        return None, port, ""
    if reason == "no_headroom":
        return Kind.HEADROOM_SHORT, port, f"{here} has no headroom for class {class_}"
    while_lost = lost > 0
    asking = _asking(view, place)
    asked = asking[while_lost].sum()
    silent = view.at(view.growth("fabric_pfc_receive_paused_seconds_total"), (peer, class_))[while_lost].sum()
    if lost[asking <= 0].sum() > _UNASKED * lost.sum():
        return Kind.PFC_MISSING, port, f"{here} did not pause {there} meanwhile"
    if silent < _OBEYED * asked and (view.has(_ASKED) or silent <= 0):
        text = f"{there} was asked for {_time(asked)} of silence and was silent for {_time(silent)}"
        return Kind.PFC_MISSING, peer, text
    limit = float(view.at(view.gauge("fabric_pg_headroom_limit_bytes"), (port, class_))[-1])
    pool = "the shared headroom pool" if reason == "shared_headroom_pool" else f"headroom of {limit:,.0f} B"
    return (Kind.HEADROOM_SHORT, port, f"{there} stopped when asked ({_time(silent)}), and {pool} was full")


def _ignoring(view: View, place: Place) -> NDArray[np.bool_]:
    """Intervals in which a watchdog has PFC of a port and class off, as it should: from detection to restoration.

    The port then ignores pauses, and sends none: SONiC's PFC_WD disables PFC of the class in both directions.
    """
    detected = view.at(view.growth("fabric_pfcwd_storms_detected_total"), place)
    restored = view.at(view.growth("fabric_pfcwd_storms_restored_total"), place)
    return np.asarray((np.cumsum(detected - restored) > 0) | (detected > 0) | (restored > 0))


def _asking(view: View, place: Place) -> Values:
    """Time for which a port asked for silence; without a counter, the intervals in which it sent PFC frames."""
    if view.has(_ASKED):
        return view.at(view.growth(_ASKED), place)
    sent = view.at(view.growth("fabric_pfc_transmit_frames_total"), place)
    return np.where(sent > 0, view.interval_s, 0.0)


def _time(seconds: float) -> str:
    return format_time_ps(round(seconds * PS_PER_S))


def _lossy(view: View, maps: frozenset[str]) -> Iterator[Root]:
    """A class that is lossless at the other ends of a switch's cables and lossy there, else one that is lossy at all.

    Without packets that hosts send again, no RoCE was lost: other traffic may be.
    """
    again = view.of_devices("fabric_rnic_retransmitted_packets_total")
    if view.has("fabric_rnic_retransmitted_packets_total") and not sum(float(it.sum()) for it in again.values()):
        return
    lossless = {(view.device(port), c) for (port, c), it in view.gauge("fabric_pg_lossless").items() if it.any()}
    found: dict[tuple[str, int], list[tuple[int, Values]]] = defaultdict(list)
    for reason in _LOSSY:
        for (port, class_), lost in view.drops(reason).items():
            if lost.sum() > 0 and view.device(port) not in maps:
                found[view.device(port), class_].append((port, lost))
    everywhere: dict[int, list[tuple[int, Values]]] = defaultdict(list)
    for (device, class_), its in found.items():
        peers = {view.fabric.peer_of(it).name for it in view.fabric.by_name[device].ports}
        if (device, class_) not in lossless and any((peer, class_) in lossless for peer in peers):
            why = f"class {class_} is lossless at its neighbours and lossy here"
            yield _root(view, Kind.PFC_MISSING, device, _most(its), class_, [it[1] for it in its], why)
        else:
            everywhere[class_] += its
    for class_, its in everywhere.items():
        port = _most(its)
        root = _root(
            view, Kind.LOSSY_OVERLOAD, view.device(port), port, class_, [it[1] for it in its],
            f"class {class_} is lossy at these switches; most of them here",
        )  # fmt: skip
        others = {view.device(it) for it, _ in its} - {root.device}
        yield replace(root, members=tuple(sorted(others)))


def _most(its: Sequence[tuple[int, Values]]) -> int:
    """The port that lost most."""
    return max(its, key=lambda it: float(it[1].sum()))[0]


def _by_port(view: View, reasons: Sequence[str], kind: Kind, why: str) -> Iterator[Root]:
    for (port, class_), lost in _summed(view, reasons).items():
        yield _root(view, kind, view.device(port), port, class_, [lost], f"they {why}")


def _by_device(view: View, reasons: Sequence[str], kind: Kind, hung: Mapping[str, int]) -> Iterator[Root]:
    """Losses for lack of a route are those of a switch: its ports are where packets came in. One that hangs later than
    it began to lose has two faults; the sample in which it stops may show either first.
    """
    found: dict[str, dict[str, Values]] = defaultdict(dict)
    for reason in reasons:
        for (port, _), lost in _summed(view, [reason]).items():
            its = found[view.device(port)]
            its[reason] = its[reason] + lost if reason in its else lost
    sample_ns = int(view.times_ns[1] - view.times_ns[0])
    for device, its in found.items():
        began, ended = view.span(np.sum(list(its.values()), axis=0) > 0)
        if device in hung and began >= hung[device] - 2 * sample_ns:
            continue
        texts = (f"{count(int(lost.sum()), 'packet')} {_NO_WAY[reason]}" for reason, lost in its.items())
        total = float(np.sum(list(its.values())))
        yield Root(kind, device, began, ended, ("; ".join(texts),), margin=total)


def _summed(view: View, reasons: Sequence[str]) -> Mapping[Place, Values]:
    found: dict[Place, Values] = {}
    for reason in reasons:
        for place, lost in view.drops(reason).items():
            if lost.sum() > 0:
                found[place] = found.get(place, np.zeros(view.size)) + lost
    return found


def _root(view: View, kind: Kind, device: str, port: int, class_: int, lost: Sequence[Values], why: str) -> Root:
    total = np.sum(lost, axis=0)
    began, ended = view.span(total > 0)
    text = f"{count(int(total.sum()), 'packet')} of class {class_} lost: {why}"
    return Root(
        kind, device, began, ended, (text,), view.port(port).name, class_ if class_ >= 0 else None,
        margin=float(total.sum()),
    )  # fmt: skip

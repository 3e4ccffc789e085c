"""`fabric explain drops`: every discarded packet attributed to a rule, with the numbers that decided it and the remedy.

Losses of lossless classes are checked further: was the headroom too small for the stopping time of the peer, or did the
peer not stop at all? The stopping time is measured, from XOFF to the stop of the peer. Meanwhile

    line rate * (stopping time + propagation)

arrives, and one maximum frame may already be on the wire (worst case: IEEE 802.1Q annex N).
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from fabric.dataplane.state.codes import DropReason
from fabric.explain.evidence import Evidence, advice
from fabric.explain.pause_tree import PauseSpan
from fabric.explain.routing_timers import routing_timers
from fabric.ids import PortId
from fabric.render.document import Block, Column, Document, Prose, Section, Status, Table, Unit, show
from fabric.runs import injected
from fabric.runs.convergence import REASONS
from fabric.runs.measures import BUFFER_REASONS
from fabric.runs.verdict import reason_text
from fabric.units import PS_PER_NS, PS_PER_S, count

HOLE_REASONS: Final = (DropReason.NO_ROUTE, DropReason.TTL)
"""Of black holes and routing loops."""
WHY: Final = {
    DropReason.HEADROOM: "the group's headroom was full",
    DropReason.SHARED_HEADROOM_POOL: "the shared headroom pool was exhausted: enlarge it, or pause earlier",
    DropReason.NO_HEADROOM: "the group is lossless by name but has no headroom: give it an xoff",
    DropReason.INGRESS_THRESHOLD: "lossy traffic over its ingress limit: make the class lossless, or accept it",
    DropReason.EGRESS_THRESHOLD: "over the egress queue's limit: the port is offered more than it carries",
    DropReason.EGRESS_POOL: "the egress pool was full: enlarge it, or lower the limits of queues that fill it",
    DropReason.EGRESS_PORT: "over the port's limit in the egress pool: the port is offered more than it carries",
    DropReason.WRED: "dropped early because it was not ECN-capable: let senders set ECT",
    DropReason.MTU: "larger than the port's MTU; an encapsulation such as VXLAN adds 50 bytes: raise the fabric's MTU",
    DropReason.NO_ROUTE: "the switch had no next hop: a black hole",
    DropReason.LINK_DOWN: "the link was down",
    DropReason.FCS: "bit errors on the cable: clean or replace the optics",
    DropReason.WATCHDOG: "the PFC watchdog emptied a stormed queue: look for the storm's origin",
    DropReason.TTL: "time to live ran out: a forwarding loop",
    DropReason.RX_BUFFER: "the host's receive buffer overflowed: it drains too slowly and pauses too late",
    DropReason.INJECTED: "a fault of the scenario asked for it",
}
_LOSSLESS: Final = (DropReason.HEADROOM, DropReason.SHARED_HEADROOM_POOL, DropReason.NO_HEADROOM)
_DECIDED: Final = (
    *_LOSSLESS,
    DropReason.INGRESS_THRESHOLD,
    DropReason.EGRESS_THRESHOLD,
    DropReason.EGRESS_POOL,
    DropReason.EGRESS_PORT,
    DropReason.RX_BUFFER,
)
"""Reasons with use, limit and size in their events."""


class Loss(NamedTuple):
    """Packets lost at one port and class for one reason."""

    port: PortId
    prio: int
    reason: DropReason
    pkts: int
    size_bytes: int
    first_ns: int | None
    """Time of the first drop in the event log."""
    why: str


def losses(evidence: Evidence) -> list[Loss]:
    """Every (port, class, reason) that lost a packet, most packets first."""
    evidence.load([f"drop_{reason.name.lower()}_{unit}" for reason in DropReason for unit in ("pkts", "bytes")])
    events = evidence.events(["drop"])
    truth = evidence.run.truth().to_pylist()
    found = []
    for reason in DropReason:
        name = reason.name.lower()
        sizes = evidence.counter(f"drop_{name}_bytes")
        for (port, prio), pkts in evidence.counter(f"drop_{name}_pkts").items():
            mine = (events["port"] == port) & (events["prio"] == prio) & (events["reason"] == name)
            first = int(np.argmax(mine)) if mine.any() else -1
            first_ns = int(events["time_ps"][first]) // PS_PER_NS if first >= 0 else None
            why = WHY[reason] + (_numbers(reason, events, first) if first >= 0 else "")
            if reason is DropReason.INJECTED:
                here = evidence.fabric.port_name(PortId(port))
                faults = [injected.words(it) for it in injected.discarding(truth, here, evidence.end_ns)]
                why += f": {'; '.join(faults)}" if faults else ""
            if reason in REASONS:
                until_ns = evidence.end_ns if first_ns is None else first_ns + 1
                followed = routing_timers(evidence.run, {evidence.fabric.node_of(PortId(port)).name}, until_ns)
                why += f"; {followed}" if followed else ""
            if reason is DropReason.HEADROOM:
                why += "; " + _stopping(evidence, PortId(port), prio)
            found.append(Loss(PortId(port), prio, reason, int(pkts), int(sizes.get((port, prio), 0)), first_ns, why))
    return sorted(found, key=lambda loss: (-loss.pkts, loss.port, loss.prio))


def _numbers(reason: DropReason, events: Any, row: int) -> str:  # noqa: ANN401  the mapping of Evidence.events
    use, limit, size = (int(events[name][row]) for name in ("b", "c", "d"))
    if reason is DropReason.MTU:
        return f" ({int(events['a'][row]):,} bytes against an MTU of {use:,})"
    if reason in _DECIDED:
        pool = f", of {show(size, Unit.BYTES)}" if size else ""
        return f" (use {show(use, Unit.BYTES)}, limit {show(limit, Unit.BYTES)}{pool})"
    return ""


def _stopping(evidence: Evidence, port: PortId, prio: int) -> str:
    """Whether the headroom was too small for the peer's stopping time, or the peer did not stop."""
    spans = [span for span in evidence.pauses if span.port == port and span.prio == prio]
    peer = evidence.fabric.port_name(evidence.fabric.ports[port].peer)
    if not evidence.records("pause"):
        return f"whether {peer} stopped is not known: {advice('pause')}"
    if not spans:
        return f"no XOFF was recorded towards {peer}: is PFC enabled for class {prio} at this port?"
    stopped = [span for span in spans if span.held]
    if not stopped:
        return f"{peer} never stopped although it was sent {len(spans)} XOFF: PFC is off for class {prio} there"
    slowest = max(stopped, key=_delay_ps)
    link = evidence.fabric.links[evidence.fabric.ports[port].link]
    arrived = link.rate_bps * (_delay_ps(slowest) + link.delay_ps) // (8 * PS_PER_S)
    headroom = int(evidence.counter("pg_headroom_limit_bytes").get((port, prio), 0))
    text = (
        f"{peer} took up to {show(_delay_ps(slowest) // PS_PER_NS, Unit.NS)} to stop, in which "
        f"{show(arrived, Unit.BYTES)} arrive at line rate, and one frame more; headroom is "
        f"{show(headroom, Unit.BYTES)}"
    )
    return text + (": enlarge it" if arrived >= headroom else ": it was not emptied before the next pause")


def _delay_ps(span: PauseSpan) -> int:
    return span.held[0][0] - span.sent_ps


def _others(evidence: Evidence) -> str:
    """'8,230 watchdog, 3 link down': packets of lossless classes that were not lost for lack of buffer."""
    lost = evidence.run.summary["drops"]["lossless_by_reason"]
    return ", ".join(
        f"{it['pkts']:,} {reason_text(DropReason[name.upper()])}"
        for name, it in lost.items()
        if DropReason[name.upper()] not in BUFFER_REASONS
    )


def explain_drops(evidence: Evidence) -> Document:
    """The whole answer to "why was this packet lost?"."""
    found = losses(evidence)
    fabric = evidence.fabric
    columns = (
        Column("port", "Port"),
        Column("class", "Class", Unit.COUNT),
        Column("reason", "Reason"),
        Column("pkts", "Packets", Unit.COUNT),
        Column("bytes", "Bytes", Unit.BYTES),
        Column("first_ns", "First", Unit.NS),
        Column("why", "Why"),
    )
    rows = tuple(
        (
            fabric.port_name(loss.port),
            loss.prio,
            loss.reason.name.lower(),
            loss.pkts,
            loss.size_bytes,
            loss.first_ns,
            loss.why,
        )
        for loss in found
    )
    statuses = tuple(Status.BAD if loss.reason in _LOSSLESS else Status.WARNING for loss in found)
    table = Table(
        "drops",
        "",
        columns,
        rows,
        "One row per port, class and reason, as counted; the numbers in brackets "
        "belong to the first one in the event log.",
        statuses,
    )
    total = sum(loss.pkts for loss in found)
    metrics = evidence.run.summary["metrics"]
    starved, lossless = metrics["drops.lossless"], metrics["drops.lossless_any"]
    dropped = f"{count(total, 'packet')} {'was' if total == 1 else 'were'} dropped"
    if not found:
        status, verdict = Status.GOOD, "Nothing was dropped."
    elif starved:
        also = f", {lossless - starved:,} for other reasons ({_others(evidence)})" if lossless > starved else ""
        status, verdict = Status.BAD, f"{dropped}, {starved:,} of lossless classes for lack of buffer{also}."
    elif lossless:
        status, verdict = (
            Status.WARNING,
            f"{dropped}, {lossless:,} of lossless classes, none of these for lack of buffer: {_others(evidence)}.",
        )
    else:
        status, verdict = Status.WARNING, f"{dropped}, none of a lossless class."
    lost = evidence.unrecorded("drop")
    notes = (
        [Prose(f"{lost:,} drop events were beyond the log's cap; the counts include them.", Status.WARNING)]
        if lost
        else []
    )
    if not evidence.records("drop"):
        notes.append(
            Prose(
                f"The run recorded no drop events, so moments and limits are not known: {advice('drop')}.",
                Status.WARNING,
            )
        )
    blocks: tuple[Block, ...] = (table, *notes) if found else ()
    return Document(
        "Drops", f"run {evidence.run.path.name}", status, verdict, (), (Section("drops", "Where and why", blocks),)
    )

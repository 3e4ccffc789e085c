"""The time of one message by cause: every instant from posting to completion counts once, so the parts add up.

Until all of its payload is at the receiver, the first of these that applies:

1. its own host's port was paused in its class;
2. a switch port on its path was paused in its class (the one nearest to the sender is named);
3. its queue pair made no progress until the retransmission timer ran out;
4. its queue pair sent nothing although its rate allowed it: packets were lost and not yet sent again, or
   acknowledgements were held by a pause on their way back, or, without either, its window was full;
5. its reaction point allowed less than 95 % of line rate;
6. none of these: it was sent, or queued, at line rate.

From then on the sender waits for an acknowledgement alone, and its rate has no effect:

7. a port on the way back was paused in the class of acknowledgements;
8. the retransmission timer ran out;
9. an acknowledgement was lost, until the next one came;
10. none of these: the acknowledgement was on its way.

Rule 4 sees whole sampling intervals only (telemetry.interval); a shorter wait counts as 5 or 6.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from fabric.explain import acknowledgements
from fabric.explain.evidence import Evidence
from fabric.explain.pause_tree import PauseSpan
from fabric.explain.pauses import origin_text
from fabric.units import PS_PER_NS, parse_time_ps

FULL_RATE_RATIO: Final = 0.95
"""Below this share of line rate an instant counts as throttled."""

_WINDOWED: Final = frozenset({"dctcp", "hpcc", "hpcc-pint", "swift", "cubic"})
"""Controls with a window unless transport.window is off."""

Spans = list[tuple[int, int]]
Part = tuple[str, int, str]
"""(what held, ns, cause)."""


def account(
    evidence: Evidence, message: dict[str, Any], until_ns: int, losses_ns: list[int], harm: str, *, timed_out: bool
) -> list[Part]:
    """The parts in the order of the rules, those of 0 ns included.

    Parameters
    ----------
    until_ns : its completion, or the end of the run
    losses_ns, harm : when its packets, or queues on its way, were lost in its lifetime, ascending, and these in words
    timed_out : whether its timer ran out
    """
    start_ns = message["start_ns"]
    arrived_ns = until_ns if message["arrived_ns"] is None else min(message["arrived_ns"], until_ns)
    way = acknowledgements.way_back(evidence, message)
    back = [*way.certain, *way.possible]
    class_back = acknowledgements.class_of(evidence, message)
    left: Spans = [(start_ns, arrived_ns)]
    found: list[Part] = []
    for number, name in enumerate(message["path"] or ()):
        port = evidence.port_named(name)
        left, part = _paused(evidence, left, port, message["priority"], "own port" if number == 0 else name)
        found.append(part)
    left, taken = subtract(left, _waits_for_timer(evidence, message))
    found.append(("no progress until a timeout", taken, harm if taken and timed_out else ""))
    quiet = acknowledgements.silent(evidence, message)
    left, parts = _silent(evidence, message, left, quiet, back, class_back, losses_ns, harm)
    found += parts
    left, taken = subtract(left, _throttled(evidence, message))
    found.append(("rate below line rate", taken, evidence.notified_by if taken else ""))
    found.append(("sending, or queued", _length(left), ""))
    left = [(arrived_ns, until_ns)] if arrived_ns < until_ns else []
    for port in back:
        label = f"delivered, not acknowledged: {_name(evidence, port)}"
        left, part = _paused(evidence, left, port, class_back, label)
        found.append(part)
    left, taken = subtract(left, _waits_for_timer(evidence, message))
    found.append(("delivered, not acknowledged until a timeout", taken, harm if taken else ""))
    late = [it for it in losses_ns if it >= arrived_ns]
    left, taken = subtract(left, [(late[0], until_ns)] if late else [])
    found.append(("delivered, not acknowledged: acknowledgements lost", taken, harm if taken else ""))
    found.append(("delivered, acknowledgement on its way", _length(left), ""))
    return found


def _silent(
    evidence: Evidence, message: dict[str, Any], left: Spans, quiet: Spans, back: list[int], class_back: int,
    losses_ns: list[int], harm: str,
) -> tuple[Spans, list[Part]]:  # fmt: skip
    """Rule 4."""
    found: list[Part] = []
    open_losses = acknowledgements.unrepaired(evidence, message["qp"], losses_ns, evidence.end_ns)
    left, taken = subtract(left, _common(quiet, open_losses))
    found.append(("nothing sent: lost packets not sent again", taken, harm if taken else ""))
    for port in back:
        spans = _spans_of(evidence, port, class_back)
        held = _common(quiet, _held_ns(spans))
        left, part = _named(evidence, left, spans, held, f"nothing sent, unacknowledged: {_name(evidence, port)}")
        found.append(part)
    transport = evidence.run.manifest["scenario"]["resolved"]["transport"]
    if transport["cc"] in _WINDOWED or transport.get("window") not in {None, "off", "auto"}:
        left, taken = subtract(left, _windowed(evidence, message, quiet))
        found.append(("nothing sent: its window was full", taken, ""))
    return left, found


def _windowed(evidence: Evidence, message: dict[str, Any], quiet: Spans) -> Spans:
    """Of the silent spans those before its queue pair sent its last packet: after it no window holds it."""
    times = evidence.item_series("qp_sent_pkts").get(message["qp"], (np.empty(0, np.int64), None))[0]
    arrived_ns = evidence.end_ns if message["arrived_ns"] is None else message["arrived_ns"]
    sending = times[times <= arrived_ns]
    return [(start, stop) for start, stop in quiet if sending.size and stop <= int(sending[-1])]


def _name(evidence: Evidence, port: int) -> str:
    return evidence.fabric.port_name(evidence.fabric.ports[port].id)


def _spans_of(evidence: Evidence, port: int, prio: int) -> list[PauseSpan]:
    """Pauses that stopped a port in a class."""
    sender = evidence.fabric.ports[port].peer
    return [span for span in evidence.pauses if span.port == sender and span.prio == prio]


def _held_ns(spans: Iterable[PauseSpan]) -> Spans:
    return sorted((start // PS_PER_NS, stop // PS_PER_NS) for span in spans for start, stop in span.held)


def _paused(evidence: Evidence, left: Spans, port: int, prio: int, label: str) -> tuple[Spans, Part]:
    spans = _spans_of(evidence, port, prio)
    return _named(evidence, left, spans, _held_ns(spans), label)


def _named(evidence: Evidence, left: Spans, spans: list[PauseSpan], held: Spans, label: str) -> tuple[Spans, Part]:
    """The rest of `left`, and the part that pauses held, with their origins."""
    rest, taken = subtract(left, held)
    first, last = (left[0][0], left[-1][1]) if left else (0, 0)
    causes = {
        origin_text(evidence.fabric, span.origin): None
        for span in spans
        if taken and any(start < last * PS_PER_NS and stop > first * PS_PER_NS for start, stop in span.held)
    }
    names = list(causes)
    more = [f"{len(names) - 2} more causes"] if len(names) > 2 else []
    peer = evidence.fabric.node_of(spans[0].port).name if spans else ""
    return rest, (f"{label} paused by {peer}", taken, "; ".join([*names[:2], *more]))


def _waits_for_timer(evidence: Evidence, message: dict[str, Any]) -> Spans:
    """(from, to) in ns of the waits that ended with a timeout of its queue pair: each as long as the timer, which
    every progress starts again.
    """
    timer: str = evidence.run.manifest["scenario"]["resolved"]["transport"].get("retransmit_timeout") or "off"
    if timer == "off":
        return []
    long_ns = parse_time_ps(timer) // PS_PER_NS
    events = evidence.events(["timeout"])
    ends = np.sort(events["time_ps"][events["qp"] == message["qp"]]) // PS_PER_NS
    return [(max(int(end) - long_ns, 0), int(end)) for end in ends]


def _throttled(evidence: Evidence, message: dict[str, Any]) -> Spans:
    times, rates = evidence.item_series("qp_rate_bps").get(message["qp"], (np.empty(0, np.int64), np.empty(0)))
    slow = rates < FULL_RATE_RATIO * _line_bps(evidence, message)
    # A sample's rate holds until the next one; before the first the queue pair had not started.
    ends = np.r_[times[1:], evidence.end_ns] if times.size else times
    return list(zip(times[slow].tolist(), ends[slow].tolist(), strict=True))


def _line_bps(evidence: Evidence, message: dict[str, Any]) -> int:
    fabric = evidence.fabric
    if message["path"]:
        return fabric.links[fabric.ports[evidence.port_named(message["path"][0])].link].rate_bps
    return max(fabric.links[fabric.ports[port].link].rate_bps for port in fabric.by_name[message["src"]].ports)


def subtract(whole: Spans, part: Spans) -> tuple[Spans, int]:
    """Intervals of `whole` outside all of `part`, and the length of what was inside.

    Parameters
    ----------
    whole : disjoint intervals, ascending
    part : intervals, ascending by start; they may overlap
    """
    outside: Spans = []
    for start, stop in whole:
        at = start
        for low, high in part:
            if high <= at or low >= stop:
                continue
            if low > at:
                outside.append((at, low))
            at = max(at, min(high, stop))
        if at < stop:
            outside.append((at, stop))
    return outside, _length(whole) - _length(outside)


def _common(first: Spans, second: Spans) -> Spans:
    """What two lists of intervals share."""
    pairs = ((max(a, c), min(b, d)) for a, b in first for c, d in second)
    return sorted((start, stop) for start, stop in pairs if start < stop)


def _length(spans: Spans) -> int:
    return sum(stop - start for start, stop in spans)

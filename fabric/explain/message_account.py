"""The time of one message by cause: every instant from posting to completion counts once, so the parts add up.

Until all of its payload is at the receiver, the first of these that applies:

1. its own host's port was paused in its class;
2. a switch port on its path was paused in its class (the one nearest to the sender is named);
3. its queue pair made no progress until the retransmission timer ran out;
4. its queue pair sent nothing although its rate allowed it: packets were lost and not yet sent again, or
   acknowledgements were held by a pause on their way back or lost, or, without any of these, its window was full;
5. its reaction point allowed less than 95 % of line rate;
6. none of these: it was sent, or queued, at line rate.

From then on the sender waits for an acknowledgement alone, and its rate has no effect:

7. a port on the way back was paused in the class of acknowledgements;
8. the retransmission timer ran out;
9. an acknowledgement was lost, until the next one came;
10. none of these: the acknowledgement was on its way.

A pause of a link that acknowledgements may have taken among others (4 and after 9) is named with 'perhaps'.
Rule 4 sees whole sampling intervals only (telemetry.interval); a shorter wait counts as 5 or 6.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from fabric.explain import acknowledgements
from fabric.explain.control import control_of
from fabric.explain.evidence import Evidence
from fabric.explain.intervals import Spans, common, length, subtract, union
from fabric.explain.message_losses import Moments
from fabric.explain.pause_tree import PauseSpan
from fabric.explain.pauses import origin_text
from fabric.units import PS_PER_NS, parse_time_ps

FULL_RATE_RATIO: Final = 0.95
"""Below this share of line rate an instant counts as throttled."""

Part = tuple[str, int, str]
"""(what held, ns, cause)."""


def account(
    evidence: Evidence, message: dict[str, Any], until_ns: int, losses: Moments, harm: str, *, timed_out: bool
) -> list[Part]:
    """The parts in the order of the rules, those of 0 ns included.

    Parameters
    ----------
    until_ns : its completion, or the end of the run
    losses, harm : the losses of its queue pair in its lifetime, and these in words
    timed_out : whether its timer ran out
    """
    start_ns = message["start_ns"]
    arrived_ns = until_ns if message["arrived_ns"] is None else min(message["arrived_ns"], until_ns)
    way = acknowledgements.return_path(evidence, message)
    class_back = acknowledgements.class_of(evidence, message)
    control = control_of(evidence, message)
    left: Spans = [(start_ns, arrived_ns)]
    found: list[Part] = []
    for number, name in enumerate(message["path"] or ()):
        port = evidence.port_named(name)
        left, part = _paused(evidence, left, port, message["priority"], "own port" if number == 0 else name)
        found.append(part)
    left, taken = subtract(left, _waits_for_timer(evidence, message))
    found.append(("no progress until a timeout", taken, harm if taken and timed_out else ""))
    left, parts = _silent(evidence, message, left, way, class_back, losses, harm, windowed=control.windowed)
    found += parts
    left, taken = subtract(left, _throttled(evidence, message))
    found.append(("rate below line rate", taken, control.signal if taken else ""))
    found.append(("sending, or queued", length(left), ""))
    left = [(arrived_ns, until_ns)] if arrived_ns < until_ns else []
    for port in way.certain:
        label = f"delivered, not acknowledged: {_name(evidence, port)}"
        left, part = _paused(evidence, left, port, class_back, label)
        found.append(part)
    left, taken = subtract(left, _waits_for_timer(evidence, message))
    found.append(("delivered, not acknowledged until a timeout", taken, harm if taken else ""))
    late = [it for it in losses.answers if it >= arrived_ns]
    left, taken = subtract(left, acknowledgements.until_answered(evidence, message["qp"], late))
    found.append(("delivered, not acknowledged: acknowledgements lost", taken, harm if taken else ""))
    for port in way.possible:
        label = f"delivered, not acknowledged: perhaps {_name(evidence, port)}"
        left, part = _paused(evidence, left, port, class_back, label)
        found.append(part)
    found.append(("delivered, acknowledgement on its way", length(left), ""))
    return found


def _silent(
    evidence: Evidence, message: dict[str, Any], left: Spans, way: acknowledgements.ReturnPath, class_back: int,
    losses: Moments, harm: str, *, windowed: bool,
) -> tuple[Spans, list[Part]]:  # fmt: skip
    """Rule 4."""
    found: list[Part] = []
    quiet = acknowledgements.silent(evidence, message)

    def held(ports: Iterable[int], label: str) -> None:
        nonlocal left
        for port in ports:
            left, part = _paused(evidence, left, port, class_back, f"{label}{_name(evidence, port)}", quiet)
            found.append(part)

    left, taken = subtract(left, common(quiet, acknowledgements.unrepaired(evidence, message["qp"], losses.data)))
    found.append(("nothing sent: lost packets not sent again", taken, harm if taken else ""))
    held(way.certain, "nothing sent, unacknowledged: ")
    left, taken = subtract(left, common(quiet, acknowledgements.unanswered(evidence, message["qp"], losses.answers)))
    found.append(("nothing sent: acknowledgements lost", taken, harm if taken else ""))
    held(way.possible, "nothing sent, unacknowledged: perhaps ")
    if windowed:
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


def _paused(
    evidence: Evidence, left: Spans, port: int, prio: int, label: str, within: Spans | None = None
) -> tuple[Spans, Part]:
    """The rest of `left`, and the part of it, and of `within`, in which pauses stopped a port, with their origins."""
    spans = evidence.pauses_of(port, prio)
    held = union((start // PS_PER_NS, stop // PS_PER_NS) for span in spans for start, stop in span.held)
    taken = common(left if within is None else common(left, within), held)
    rest, taken_ns = subtract(left, taken)
    names = _origins(evidence, spans, taken)
    more = [f"{len(names) - 2} more causes"] if len(names) > 2 else []
    peer = evidence.fabric.peer_of(port).name
    return rest, (f"{label} paused by {peer}", taken_ns, "; ".join([*names[:2], *more]))


def _origins(evidence: Evidence, spans: list[PauseSpan], taken: Spans) -> list[str]:
    """Origins of those pauses that held in a part of `taken` (ns)."""
    stops = [stop for _, stop in taken]
    causes: dict[str, None] = {}
    for span in spans:
        for start_ps, stop_ps in span.held:
            place = bisect_right(stops, start_ps // PS_PER_NS)
            if place < len(taken) and taken[place][0] < stop_ps // PS_PER_NS:
                causes[origin_text(evidence.fabric, span.origin)] = None
                break
    return list(causes)


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

"""`fabric explain message`: the time of one message by cause.

Every instant from posting to completion counts for the first of these causes that applies, so the shares add up to the
flow completion time:

1. its own host's port was paused in its class;
2. a switch port on its path was paused in its class (the one nearest to the sender is named);
3. its reaction point allowed less than 95 % of line rate;
4. its queue pair made no progress until the retransmission timer ran out;
5. none of these: it was sent, or queued, at line rate.

The path is by the routes at the end of the run. Retransmissions, timeouts and lost packets are counted separately:
their cost is part of the instants above. Queue pairs are shared, so cuts, timeouts and losses are those of its queue
pair during its lifetime.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from fabric.errors import RunDirError
from fabric.explain.evidence import Evidence, advice
from fabric.explain.message_losses import Lost, down_ports, losses_table, losses_text, lost_packets
from fabric.explain.pauses import origin_text
from fabric.render.document import (
    Chart,
    Column,
    Document,
    Fact,
    Facts,
    Mark,
    Prose,
    Section,
    Series,
    Status,
    Table,
    Unit,
    show,
)
from fabric.units import PS_PER_NS, parse_time_ps

FULL_RATE_RATIO: Final = 0.95
"""Below this share of line rate an instant counts as throttled."""


def explain_message(evidence: Evidence, name: str) -> Document:
    """The account of one message. Raises: RunDirError where there is none of that id."""
    row = evidence.message_row(name)
    message: dict[str, Any] = evidence.run.messages().slice(row, 1).to_pylist()[0]
    if message["start_ns"] is None:
        return Document(
            f"Message {name}",
            _route(message),
            Status.WARNING,
            "It was never posted: its start time or the messages it waits for did not come.",
            (),
            (),
        )
    start_ns: int = message["start_ns"]
    end_ns: int = evidence.end_ns if message["end_ns"] is None else message["end_ns"]
    lost = lost_packets(evidence, message["qp"], start_ns, end_ns)
    harm = _harm(evidence, message, lost, end_ns)
    parts = _parts(evidence, message, start_ns, end_ns, harm)
    total = max(end_ns - start_ns, 1)
    columns = (
        Column("what", "What held"),
        Column("time_ns", "Time", Unit.NS),
        Column("share_ratio", "Share", Unit.RATIO),
        Column("cause", "Cause"),
    )
    rows = tuple((what, time, time / total, cause) for what, time, cause in parts if time)
    table = Table(
        "account",
        "",
        columns,
        rows,
        "Every instant is counted once, for the first line that applies; the lines add up to the whole.",
    )
    status, verdict = _verdict(message, parts, total, harm)
    sections = [
        Section("message", "The message", (_facts(evidence, message, start_ns, end_ns),)),
        Section("time", "Where its time went", (table,)),
    ]
    if lost:
        sections.append(Section("losses", "Where its packets were lost", (losses_table(evidence, lost),)))
    rate = _rate_chart(evidence, message, start_ns, end_ns)
    if rate is not None:
        sections.append(Section("rate", "Sending rate of its queue pair", (rate,)))
    missing = [it for it in ("pause", "drop", "rate", "transport") if not evidence.records(it)]
    unknown = (
        (
            Prose(
                f"Not recorded, so not in this account: events of {' and '.join(missing)}; {advice(*missing)}.",
                Status.WARNING,
            ),
        )
        if missing
        else ()
    )
    return Document(
        f"Message {name}",
        _route(message),
        status,
        verdict,
        (Prose(f"path {_path(evidence, message)}"), *unknown),
        tuple(sections),
    )


def held_up_by(evidence: Evidence, row: int) -> tuple[str, str]:
    """(cause, how) of most of a message's time, such as ('DCQCN: congestion notifications', 'rate below line rate for
    98% of its time'); cause is '' where nothing held it. `row`: a message that was posted and is not done.
    """
    message: dict[str, Any] = evidence.run.messages().slice(row, 1).to_pylist()[0]
    start_ns, end_ns = message["start_ns"], evidence.end_ns
    lost = lost_packets(evidence, message["qp"], start_ns, end_ns)
    harm = _harm(evidence, message, lost, end_ns)
    what, time, why = max(_parts(evidence, message, start_ns, end_ns, harm), key=lambda part: part[1])
    return harm or why, f"{what} for {show(time / max(end_ns - start_ns, 1), Unit.RATIO)} of its time"


def _harm(evidence: Evidence, message: dict[str, Any], lost: list[Lost], end_ns: int) -> str:
    """Packets lost or taken for lost, and, of a message not done, ports without carrier, in words."""
    down = down_ports(evidence, message, end_ns) if message["state"] != "done" else ()
    overtaken = _overtaken(evidence, message, message["start_ns"], end_ns, lost)
    return "; ".join(filter(None, [losses_text(evidence, lost), overtaken, *down]))


def _parts(
    evidence: Evidence, message: dict[str, Any], start_ns: int, end_ns: int, harm: str
) -> list[tuple[str, int, str]]:
    waited = _count(evidence, "timeout", message["qp"], start_ns, end_ns) > 0
    return _account(evidence, message, start_ns, end_ns, harm if waited else "")


def _path(evidence: Evidence, message: dict[str, Any]) -> str:
    if message["path"]:
        return " → ".join(message["path"])
    if evidence.spreads:
        return "no single path: switches spread its packets"
    return (
        f"none at the end of the run: a switch on the way to {message['dst']} has no route, or packets loop; "
        "`fabric path` with --at shows where"
    )


def _route(message: dict[str, Any]) -> str:
    size = show(message["size_bytes"], Unit.BYTES)
    return f"{message['src']} to {message['dst']}, {size}, class {message['priority']}"


def _facts(evidence: Evidence, message: dict[str, Any], start_ns: int, end_ns: int) -> Facts:
    cuts, timeouts = (_count(evidence, kind, message["qp"], start_ns, end_ns) for kind in ("rate_cut", "timeout"))
    return Facts(
        (
            Fact("state", "state", message["state"]),
            Fact("start_ns", "posted", start_ns, Unit.NS),
            Fact("fct_ns", "completion time", message["fct_ns"], Unit.NS),
            Fact("ideal_ns", "ideal", message["ideal_ns"], Unit.NS),
            Fact("slowdown", "slowdown", message["slowdown"], Unit.TIMES),
            Fact("retransmits", "packets sent again", message["retransmits"], Unit.COUNT),
            Fact(
                "declared_lost", "held for lost", _declared_lost(evidence, message["qp"], start_ns, end_ns), Unit.COUNT
            ),
            Fact("timeouts", "timeouts", timeouts if evidence.records("transport") else None, Unit.COUNT),
            Fact("rate_cuts", "rate cuts", cuts if evidence.records("rate") else None, Unit.COUNT),
        )
    )


def _declared_lost(evidence: Evidence, qp: int, start_ns: int, end_ns: int) -> int:
    """Packets that the sender took for lost (recovery out-of-order)."""
    events = evidence.events(["loss_declared"])
    inside = (events["time_ps"] >= start_ns * PS_PER_NS) & (events["time_ps"] <= end_ns * PS_PER_NS)
    return int(events["b"][inside & (events["qp"] == qp)].sum())


def _overtaken(evidence: Evidence, message: dict[str, Any], start_ns: int, end_ns: int, lost: list[Lost]) -> str:
    """The cost of reordering: packets sent again although none was lost; else ''."""
    if lost or evidence.unrecorded("drop") or not message["retransmits"]:
        return ""
    again = f"{message['retransmits']:,} of its packets sent again although none was lost"
    if _declared_lost(evidence, message["qp"], start_ns, end_ns):
        return f"{again}: they came later than transport.reorder_window allows"
    if _count(evidence, "nak_sent", message["qp"], start_ns, end_ns) and evidence.spreads:
        return f"{again}: they overtook each other, which transport.recovery: out-of-order allows"
    return ""


def _count(evidence: Evidence, kind: str, qp: int, start_ns: int, end_ns: int) -> int:
    events = evidence.events([kind])
    inside = (events["time_ps"] >= start_ns * PS_PER_NS) & (events["time_ps"] <= end_ns * PS_PER_NS)
    return int(np.count_nonzero(inside & (events["qp"] == qp)))


def _account(
    evidence: Evidence, message: dict[str, Any], start_ns: int, end_ns: int, harm: str
) -> list[tuple[str, int, str]]:
    """(what, ns, cause) in the order of the docstring. harm: losses that a timer ran out for, in words."""
    left = [(start_ns, end_ns)]
    found = []
    for number, port_name in enumerate(message["path"] or ()):
        port = evidence.port_named(port_name)
        sender = evidence.fabric.ports[port].peer
        spans = [span for span in evidence.pauses if span.port == sender and span.prio == message["priority"]]
        held = sorted((start // PS_PER_NS, stop // PS_PER_NS) for span in spans for start, stop in span.held)
        left, taken = subtract(left, held)
        causes = {
            origin_text(evidence.fabric, span.origin): None
            for span in spans
            if any(start < end_ns * PS_PER_NS and stop > start_ns * PS_PER_NS for start, stop in span.held)
        }
        peer = evidence.fabric.node_of(sender).name
        what = f"own port paused by {peer}" if number == 0 else f"{port_name} paused by {peer}"
        named = list(causes)
        more = [f"{len(named) - 2} more causes"] if len(named) > 2 else []
        found.append((what, taken, "; ".join([*named[:2], *more])))
    throttled = _throttled(evidence, message)
    left, taken = subtract(left, throttled)
    found.append(("rate below line rate", taken, evidence.notified_by if taken else ""))
    left, taken = subtract(left, _waits_for_timer(evidence, message))
    found.append(("no progress until a timeout", taken, harm if taken else ""))
    found.append(("sending, or queued", sum(stop - start for start, stop in left), ""))
    return found


def _waits_for_timer(evidence: Evidence, message: dict[str, Any]) -> list[tuple[int, int]]:
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


def subtract(whole: list[tuple[int, int]], part: list[tuple[int, int]]) -> tuple[list[tuple[int, int]], int]:
    """Intervals of `whole` outside all of `part`, and the length of what was inside.

    Parameters
    ----------
    whole : disjoint intervals, ascending
    part : intervals, ascending by start; they may overlap
    """
    outside: list[tuple[int, int]] = []
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
    inside = sum(stop - start for start, stop in whole) - sum(stop - start for start, stop in outside)
    return outside, inside


def _line_bps(evidence: Evidence, message: dict[str, Any]) -> int:
    fabric = evidence.fabric
    if message["path"]:
        return fabric.links[fabric.ports[evidence.port_named(message["path"][0])].link].rate_bps
    return max(fabric.links[fabric.ports[port].link].rate_bps for port in fabric.by_name[message["src"]].ports)


def _throttled(evidence: Evidence, message: dict[str, Any]) -> list[tuple[int, int]]:
    times, rates = evidence.item_series("qp_rate_bps").get(message["qp"], (np.empty(0, np.int64), np.empty(0)))
    slow = rates < FULL_RATE_RATIO * _line_bps(evidence, message)
    # A sample's rate holds until the next one; before the first the queue pair had not started.
    ends = np.r_[times[1:], evidence.end_ns] if times.size else times
    return list(zip(times[slow].tolist(), ends[slow].tolist(), strict=True))


def _rate_chart(evidence: Evidence, message: dict[str, Any], start_ns: int, end_ns: int) -> Chart | None:
    times, rates = evidence.item_series("qp_rate_bps").get(message["qp"], (np.empty(0, np.int64), np.empty(0)))
    inside = (times >= start_ns) & (times <= end_ns)
    if np.count_nonzero(inside) < 2:
        return None
    line = Series("allowed rate", tuple(times[inside].tolist()), tuple(rates[inside].tolist()))
    return Chart(
        "rate",
        "Rate allowed by the reaction point",
        "simulated time",
        Unit.NS,
        "bit/s",
        Unit.BPS,
        (line,),
        (Mark(start_ns, "posted"), Mark(end_ns, "done")),
    )


def _verdict(message: dict[str, Any], parts: list[tuple[str, int, str]], total: int, harm: str) -> tuple[Status, str]:
    what, time, cause = max(parts, key=lambda part: part[1])
    because = f", caused by {cause}" if cause else ""
    most = f"most of its time ({show(time / total, Unit.RATIO)}): {what}{because}"
    if message["state"] == "done":
        slowdown: float = message["slowdown"]
        status = Status.GOOD if slowdown < 2 else Status.WARNING
        cost = f"{harm}; " if harm else ""
        return status, (
            f"Done in {show(message['fct_ns'], Unit.NS)}, {show(slowdown, Unit.TIMES)} its ideal; {cost}{most}."
        )
    # With lost packets the share of time is no longer the cause.
    why = harm or most
    if message["state"] == "failed":
        return Status.BAD, f"Failed: its queue pair reached the retry limit; {why}."
    return Status.BAD, f"Not done after {show(total, Unit.NS)}; {why}."


def known_or_error(evidence: Evidence, name: str | None) -> str:
    """The given id, else the slowest message. Raises: RunDirError in a run without messages."""
    if name is not None:
        return name
    slowdown = evidence.messages["slowdown"]
    if not slowdown.size:
        raise RunDirError(f"{evidence.run.path} has no messages", "run a scenario with a workload")
    worst = int(np.argmax(np.where(np.isnan(slowdown), np.inf, slowdown)))
    found: str = evidence.run.messages(["id"])["id"][worst].as_py()
    return found

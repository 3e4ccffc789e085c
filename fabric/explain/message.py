"""`fabric explain message`: the time of one message by cause (message_account.py has the rules).

The path is by the routes at the end of the run. Retransmissions, timeouts and lost packets are counted separately:
their cost is part of the instants of the account. Queue pairs are shared, so cuts, timeouts and losses are those of its
queue pair during its lifetime.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fabric.errors import RunDirError
from fabric.explain import message_account
from fabric.explain.evidence import Evidence, advice
from fabric.explain.message_losses import (
    Emptied,
    Lost,
    down_ports,
    emptied_queues,
    emptied_text,
    losses_table,
    losses_text,
    lost_packets,
    moments,
)
from fabric.explain.repairs import black_hole_text
from fabric.explain.routing_timers import routing_timers
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
from fabric.runs.convergence import REASONS
from fabric.units import PS_PER_NS, parse_time_ps


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
    lost, harm, parts = _judged(evidence, message, end_ns)
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
        (Prose(f"path {_path(evidence, message)}"), *_black_hole(evidence, message, lost, end_ns), *unknown),
        tuple(sections),
    )


def _black_hole(evidence: Evidence, message: dict[str, Any], lost: list[Lost], end_ns: int) -> tuple[Prose, ...]:
    """Until when routes led into a cable without carrier, by which field of the scenario."""
    emptied = [] if lost else emptied_queues(evidence, message, message["start_ns"], end_ns)
    timer = evidence.run.manifest["scenario"]["resolved"]["transport"].get("retransmit_timeout")
    text = black_hole_text(evidence.run, lost, emptied, timer)
    misled = {it.device for it in lost if it.reason in REASONS}
    if not text and misled:
        text = routing_timers(evidence.run, misled, end_ns)
    return (Prose(f"{text}.", Status.WARNING),) if text else ()


def held_up_by(evidence: Evidence, row: int) -> tuple[str, str]:
    """(cause, how) of most of a message's time, such as ('DCQCN: congestion notifications', 'rate below line rate for
    98% of its time'); cause is '' where nothing held it. `row`: a message that was posted and is not done.
    """
    message: dict[str, Any] = evidence.run.messages().slice(row, 1).to_pylist()[0]
    start_ns, end_ns = message["start_ns"], evidence.end_ns
    _, harm, parts = _judged(evidence, message, end_ns)
    what, time, why = max(parts, key=lambda part: part[1])
    return harm or why, f"{what} for {show(time / max(end_ns - start_ns, 1), Unit.RATIO)} of its time"


def _judged(
    evidence: Evidence, message: dict[str, Any], end_ns: int
) -> tuple[list[Lost], str, list[message_account.Part]]:
    """(losses, harm in words, the parts of its time)."""
    lost = lost_packets(evidence, message, message["start_ns"], end_ns)
    emptied = (
        [] if lost or message["state"] == "done" else emptied_queues(evidence, message, message["start_ns"], end_ns)
    )
    harm = _harm(evidence, message, lost, emptied, end_ns)
    timed_out = _count(evidence, "timeout", message["qp"], message["start_ns"], end_ns) > 0
    losses = moments(lost, emptied)
    return lost, harm, message_account.account(evidence, message, end_ns, losses, harm, timed_out=timed_out)


def _harm(evidence: Evidence, message: dict[str, Any], lost: list[Lost], emptied: list[Emptied], end_ns: int) -> str:
    """Packets lost or taken for lost, and, of a message not done, ports without carrier, in words."""
    down = down_ports(evidence, message, end_ns) if message["state"] != "done" else ()
    overtaken = _overtaken(evidence, message, message["start_ns"], end_ns, lost)
    waits = _waits(evidence, message, end_ns) if (lost or emptied) and message["state"] == "outstanding" else ""
    losses = losses_text(evidence, lost) or emptied_text(evidence, emptied)
    return "; ".join(filter(None, [losses, waits, overtaken, *down]))


def _waits(evidence: Evidence, message: dict[str, Any], end_ns: int) -> str:
    """Why nothing repaired the losses of a message in progress by the end of the run; '' where its timer ran out."""
    if not evidence.records("transport") or _count(evidence, "timeout", message["qp"], message["start_ns"], end_ns):
        return ""
    timer: str = evidence.run.manifest["scenario"]["resolved"]["transport"].get("retransmit_timeout") or "off"
    if timer == "off":
        return "no timer sends them again (transport.retransmit_timeout is off)"
    shown = show(parse_time_ps(timer) // PS_PER_NS, Unit.NS)
    return f"its retransmission timer ({shown}, transport.retransmit_timeout) had not run out when the run ended"


def _path(evidence: Evidence, message: dict[str, Any]) -> str:
    if message["path"]:
        return " → ".join(message["path"])
    if evidence.source_routed:
        return "chosen by its NIC, from the source routes that `fabric path` lists"
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
    if message["arrived_ns"] is not None:
        took = show(message["arrived_ns"] - message["start_ns"], Unit.NS)
        late = show(message["start_ns"] + total - message["arrived_ns"], Unit.NS)
        return Status.BAD, f"Delivered in {took}, but not acknowledged in the {late} until the run ended; {why}."
    return Status.BAD, f"Not done after {show(total, Unit.NS)}; {why}."


def known_or_error(evidence: Evidence, name: str | None) -> str:
    """The given id, else the slowest message. Raises: RunDirError in a run without messages."""
    if name is not None:
        return name
    slowdown = evidence.messages["slowdown"]
    if not slowdown.size:
        path = evidence.run.path
        if len(evidence.run.transfers(["dst"])):
            raise RunDirError(
                f"the messages of {path} are those of jobs and collectives, which depend on each other",
                f"fabric explain step {path} says what they waited for",
            )
        raise RunDirError(f"{path} has no messages", "run a scenario with a workload")
    worst = int(np.argmax(np.where(np.isnan(slowdown), np.inf, slowdown)))
    found: str = evidence.run.messages(["id"])["id"][worst].as_py()
    return found

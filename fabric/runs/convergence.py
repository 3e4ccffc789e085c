"""Convergence of routing after each dated event, and packets lost: the `routing` section of summary.json.

Convergence times are records of the control plane, by cause. Losses are counted in the data plane: packets without a
route, sent to a dead link, or lost in a silent one. A loss is assigned to the latest event, not later than the sample
that shows the loss, that changed the cable or the forwarding of the device; where there is none (a host, a switch that
no event reached), to the latest event. Losses up to the sample after the event's last change of forwarding count as
lost during convergence; a black hole that remains loses more packets afterwards.
Messages in progress were posted before forwarding settled and were not done at the time of the event.
Endpoints that are not hosts of the scenario share one row, without losses.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.controlplane.network.describe import describe, touched
from fabric.dataplane.state.codes import DropReason
from fabric.runs import files, messages, parquet
from fabric.runs.bgp_timers import deciding_timers, running_timers
from fabric.units import PS_PER_NS, count, format_time_ps

if TYPE_CHECKING:  # annotations only: reading results must not load the compiler or speakers
    from fabric.controlplane.network.record import Convergence
    from fabric.controlplane.network.run import ControlRun
    from fabric.dataplane.engine.counters import Snapshot

REASONS: Final = (DropReason.LINK_DOWN, DropReason.NO_ROUTE, DropReason.INJECTED, DropReason.TTL)
"""Drop reasons of packets that followed a wrong or an old route."""
CLOCKS: Final = (
    "Reaction: BGP's first, a session lost or a route selected. Convergence: the last change of any "
    "forwarding table; a port without light leaves its next-hop groups before BGP reacts."
)
"""Meaning of the two times in the table of events; either may be longer."""
MAX_EVENTS: Final = 200
"""Events that are listed, the churn of endpoints as one; the others are counted."""

Losses = Sequence[tuple[int, str, int]]
"""(time of the sample in ns, device, packets lost since the previous sample), in order of time."""


def losses_over_time(folder: Path) -> Losses:
    """Packets lost for REASONS over a run's samples, by device."""
    names = [f"drop_{reason.name.lower()}_pkts" for reason in REASONS]
    with (folder / files.TIMESERIES).open("rb") as file:
        table = parquet.read(file, ["time_ns", "observable", "device", "port", "class", "value"], ("observable", names))
    last: dict[tuple[object, ...], int] = {}
    found: dict[tuple[int, str], int] = {}
    for row in table.to_pylist():
        place = (row["observable"], row["device"], row["port"], row["class"])
        value = int(row["value"] or 0)
        moment = (row["time_ns"], str(row["device"]))
        found[moment] = found.get(moment, 0) + value - last.get(place, 0)
        last[place] = value
    return [(time_ns, device, lost) for (time_ns, device), lost in sorted(found.items()) if lost]


@dataclass(slots=True)
class Lost:
    """Packets lost to one event."""

    packets: int = 0
    converging: int = 0
    """Packets lost until the event's last change of forwarding."""


def blame(
    losses: Losses, records: Sequence[Convergence], scopes: Sequence[Collection[str]], sampling_ns: int,
    unsettled: Collection[int] = (),
) -> list[Lost]:  # fmt: skip
    """Losses of each event, as in the module docstring. `scopes`: devices that each event reached; `unsettled`: rows of
    events whose timers ran to the end.
    """
    found = [Lost() for _ in records]
    for time_ns, device, packets in losses:
        begun = [
            row
            for row, record in enumerate(records)
            if not record.is_churn and record.time_ns // sampling_ns * sampling_ns < time_ns
        ]
        if not begun:
            continue
        row = next((row for row in reversed(begun) if device in scopes[row]), begun[-1])
        last_ns = records[row].last_fib_ns
        found[row].packets += packets
        if last_ns is None or row in unsettled or time_ns <= -(-last_ns // sampling_ns) * sampling_ns:
            found[row].converging += packets
    return found


def routing_section(
    control: ControlRun, now: Snapshot, ideal_ps: NDArray[np.int64], losses: Losses, sampling_ns: int
) -> dict[str, Any]:
    """The section; the module docstring has the rules of counting."""
    end_ns = now.time_ps // PS_PER_NS
    numbered = [it for it in enumerate(control.convergence, 1) if it[1].time_ns < end_ns]
    records = [record for _, record in numbered]
    routers = control.plan.routers
    scopes = [{routers[row].name for row in record.routers | touched(record.event, control.plan)} for record in records]
    waits = [running_timers(control, cause, record, end_ns) for cause, record in numbered]
    costs = blame(losses, records, scopes, sampling_ns, {row for row, wait in enumerate(waits) if wait})
    rows = [
        _row(control, record, lost, end_ns, now, ideal_ps) | {"pending": wait}
        for record, lost, wait in zip(records[:MAX_EVENTS], costs, waits, strict=False)
    ]
    alarms = [
        {
            "time_ns": it.time_ns,
            "switch": control.plan.routers[it.router].name,
            "vni": it.vni,
            "mac": it.mac,
            "text": it.text,
        }
        for it in control.alarms
        if it.time_ns < end_ns
    ]
    return {
        "design": str(control.config.design),
        "routers": len(control.plan.routers),
        "sessions": len(control.plan.cables),
        "converged_ns": control.converged_ns,
        "start_messages": control.start_messages,
        "updates": sum(record.updates for record in records),
        "sessions_lost": sum(record.sessions_lost for record in records),
        "n_events": len(records),
        "events": rows,
        "slowest_ns": max((it.convergence_ns for it in records if it.convergence_ns is not None), default=None),
        "packets_lost_converging": sum(it.converging for it in costs),
        "n_alarms": len(alarms),
        "alarms": alarms[:MAX_EVENTS],
    }


def _row(
    control: ControlRun, record: Convergence, lost: Lost, end_ns: int, now: Snapshot, ideal_ps: NDArray[np.int64]
) -> dict[str, Any]:
    last_ns = record.last_fib_ns
    open_ns = end_ns if last_ns is None else min(last_ns, end_ns)
    under_way, others = _slowdowns(now, ideal_ps, record.time_ns, open_ns)
    name = (
        f"churn: {record.times:,} endpoints joined or left" if record.is_churn else describe(record.event, control.plan)
    )
    return {
        "event": name,
        "time_ns": record.time_ns,
        "reaction_ns": None if record.first_reaction_ns is None else record.first_reaction_ns - record.time_ns,
        "convergence_ns": record.convergence_ns,
        "sessions_lost": record.sessions_lost,
        "sessions_gained": record.sessions_gained,
        "updates": record.updates,
        "messages": record.messages,
        "message_bytes": record.message_bytes,
        "fib_changes": record.fib_changes,
        "switches": len(record.routers),
        "packets_lost": lost.packets,
        "packets_lost_converging": lost.converging,
        **under_way,
        "others_slowdown_p50": others,
        "timers": "" if record.is_churn else deciding_timers(control, record),
    }


def _slowdowns(
    now: Snapshot, ideal_ps: NDArray[np.int64], from_ns: int, until_ns: int
) -> tuple[dict[str, Any], float | None]:
    rows, state = now.messages, messages.states(now)
    posted = (rows["start_ps"] >= 0) & (rows["start_ps"] <= until_ns * PS_PER_NS)
    ended = (state == messages.DONE) & (rows["end_ps"] < from_ns * PS_PER_NS)
    hit = posted & ~ended
    done = state == messages.DONE
    slowdown = np.where(done, messages.fct_ps(now) / np.maximum(ideal_ps, 1), np.nan)
    return (
        {
            "messages_under_way": int(hit.sum()),
            "messages_failed": int((hit & (state == messages.FAILED)).sum()),
            "slowdown_p50": _median(slowdown[hit & done]),
            "slowdown_max": float(slowdown[hit & done].max()) if (hit & done).any() else None,
        },
        _median(slowdown[done & ~hit]),
    )


def _median(values: NDArray[np.float64]) -> float | None:
    return float(np.median(values)) if values.size else None


def routing_metrics(section: Mapping[str, Any] | None) -> dict[str, int | None]:
    """The metrics of expectations, in base units; None without a control plane."""
    if section is None:
        return dict.fromkeys(
            ("convergence.max", "convergence.lost", "convergence.events", "bgp.updates", "bgp.sessions_lost")
        )
    slowest_ns = section["slowest_ns"]
    return {
        "convergence.max": None if slowest_ns is None else slowest_ns * PS_PER_NS,
        "convergence.lost": section["packets_lost_converging"],
        "convergence.events": section["n_events"],
        "bgp.updates": section["updates"],
        "bgp.sessions_lost": section["sessions_lost"],
    }


def sentences(section: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    """(level, text) for the verdict: the events with most losses, in order of time."""
    if section is None:
        return
    for alarm in section["alarms"][:3]:
        where = f"duplicate MAC {alarm['mac']} (VNI {alarm['vni']}) at {alarm['switch']}"
        yield "warning", f"{where}: {alarm['text']}; look for a loop, or for two hosts with one address"
    if section["n_alarms"] > 3:
        yield "warning", f"{section['n_alarms'] - 3:,} more alarms about duplicate MACs; summary.json lists them"
    rows: Sequence[Mapping[str, Any]] = section["events"]
    listed = sorted(rows, key=lambda row: (-row["packets_lost"], -(row["convergence_ns"] or 0)))[:3]
    for row in sorted(listed, key=lambda row: row["time_ns"]):
        at = format_time_ps(row["time_ns"] * PS_PER_NS)
        pending, named = row.get("pending"), row.get("timers")
        if row["convergence_ns"] is None or pending:
            lost = f"; {row['packets_lost']:,} packets lost" if row["packets_lost"] else ""
            none = row["convergence_ns"] is None
            state = "no route changed by the end" if none else "BGP had not converged when the run ended"
            why = f": {pending}" if pending else f" (decided by {named})" if named else ""
            yield ("warning" if lost else "note"), f"{row['event']} at {at}: {state}{why}{lost}{_hit(row)}"
            continue
        took = f"in {format_time_ps(row['convergence_ns'] * PS_PER_NS)}" if row["convergence_ns"] else "at once"
        # Without an UPDATE only carrier or the table of one daemon changed, which is not the convergence of BGP.
        spoke = (
            f"converged {took}, {row['updates']:,} BGP updates"
            if row["updates"]
            else f"forwarding changed {took}, no BGP update by the end"
        )
        spoke += f" ({named})" if named and row["packets_lost"] else ""
        cost = f"{row['packets_lost']:,} packets lost" if row["packets_lost"] else "no packet lost"
        later = row["packets_lost"] - row["packets_lost_converging"]
        cost += f", {later:,} of them after routes had settled on a black hole" if later else ""
        yield ("warning" if row["packets_lost"] else "note", f"{row['event']} at {at}: {spoke}, {cost}{_hit(row)}")
    if section["n_events"] > len(listed):
        yield "note", f"{count(section['n_events'] - len(listed), 'more routing event')} in the table below"


def _hit(row: Mapping[str, Any]) -> str:
    """Messages that an event slowed down; '' where none was done."""
    if row["slowdown_p50"] is None:
        return ""
    return (
        f"; {row['messages_under_way']:,} messages in progress, median slowdown {row['slowdown_p50']:.2f}"
        f" (worst {row['slowdown_max']:.1f})"
    )

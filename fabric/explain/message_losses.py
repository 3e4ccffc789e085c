"""Where the packets of one message were lost, and whether the ports of its hosts had carrier.

The counts are drop events of its queue pair during its lifetime: data, acknowledgements and congestion notifications.
Packets in the queue of a port that loses carrier are counted by the port alone (link_down), so a port of either host
without carrier is named too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from fabric.dataplane.state.codes import DropReason, EventKind
from fabric.explain.drops import WHY
from fabric.explain.evidence import Evidence
from fabric.render.document import Column, Table, Unit, show
from fabric.units import PS_PER_NS


class Lost(NamedTuple):
    """Packets of one message lost at one device for one reason."""

    device: str
    reason: DropReason
    pkts: int
    first_ns: int
    last_ns: int


def lost_packets(evidence: Evidence, qp: int, start_ns: int, end_ns: int) -> list[Lost]:
    """Losses of a queue pair between two moments in the event log, most packets first."""
    events = evidence.events(["drop"])
    times = events["time_ps"]
    inside = (times >= start_ns * PS_PER_NS) & (times <= end_ns * PS_PER_NS)
    mine = (events["qp"] == qp) & inside & (events["port"] >= 0)
    found: dict[tuple[str, str], list[int]] = {}
    for port, reason, time_ps in zip(
        events["port"][mine].tolist(), events["reason"][mine].tolist(), times[mine].tolist(), strict=True
    ):
        found.setdefault((evidence.fabric.node_of(port).name, reason), []).append(time_ps // PS_PER_NS)
    return sorted(
        (
            Lost(device, DropReason[reason.upper()], len(moments), min(moments), max(moments))
            for (device, reason), moments in found.items()
        ),
        key=lambda it: (-it.pkts, it.device, it.reason),
    )


def down_ports(evidence: Evidence, message: Mapping[str, Any], end_ns: int) -> list[str]:
    """'host8:eth0 without carrier since 1ms': ports of its two hosts at the end of the message."""
    events = evidence.events(["link_down", "link_up"])
    fabric, since = evidence.fabric, dict[int, int]()
    hosts = {int(fabric.by_name[message[end]].id) for end in ("src", "dst")}
    for row in np.argsort(events["time_ps"], kind="stable").tolist():
        port, time_ps = int(events["port"][row]), int(events["time_ps"][row])
        if time_ps > end_ns * PS_PER_NS or int(fabric.node_of(port).id) not in hosts:
            continue
        if events["kind"][row] == EventKind.LINK_DOWN:
            since.setdefault(port, time_ps)
        else:
            since.pop(port, None)
    return [
        f"{fabric.port_name(port)} without carrier since {show(time_ps // PS_PER_NS, Unit.NS)}"
        for port, time_ps in sorted(since.items())
    ]


def losses_text(evidence: Evidence, lost: list[Lost]) -> str:
    """'20,500 of its packets lost at leaf1 (no_route)'; '' where none was."""
    if not lost:
        return ""
    least = "at least " if evidence.unrecorded("drop") else ""
    parts = [
        f"{least}{it.pkts:,}{' of its packets' if not row else ''} lost at {it.device} ({it.reason.name.lower()})"
        for row, it in enumerate(lost[:3])
    ]
    rest = sum(it.pkts for it in lost[3:])
    return ", ".join(parts) + (f", and {rest:,} elsewhere" if rest else "")


def losses_table(evidence: Evidence, lost: list[Lost]) -> Table:
    """One row per device and reason."""
    columns = (
        Column("device", "Lost at"),
        Column("reason", "Reason"),
        Column("pkts", "Packets", Unit.COUNT),
        Column("first_ns", "First", Unit.NS),
        Column("last_ns", "Last", Unit.NS),
        Column("why", "Why"),
    )
    note = "Packets of its queue pair in its lifetime: data, acknowledgements and congestion notifications."
    if evidence.unrecorded("drop"):
        note += (
            f" {evidence.unrecorded('drop'):,} drop events of the run exceeded the cap of the log and are missing here."
        )
    return Table(
        "losses",
        "",
        columns,
        tuple((it.device, it.reason.name.lower(), it.pkts, it.first_ns, it.last_ns, WHY[it.reason]) for it in lost),
        note,
    )

"""Where the packets of one message were lost, and whether the ports of its hosts had carrier.

The counts are drop events of its queue pair during its lifetime: data, acknowledgements and congestion notifications.
Packets in the queue of a port that loses carrier are counted by the port alone (link_down), so a port of either host
without carrier is named too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from fabric.dataplane.state.codes import DropReason, EventKind
from fabric.explain.acknowledgements import class_of, return_path
from fabric.explain.direction import Direction, Directions
from fabric.explain.drops import WHY
from fabric.explain.evidence import Evidence
from fabric.render.document import Column, Table, Unit, show
from fabric.units import PS_PER_NS

_NOUNS: Final = {
    Direction.FORTH: "packets",
    Direction.BACK: "acknowledgements",
    Direction.UNKNOWN: "packets or acknowledgements",
}


class Lost(NamedTuple):
    """Packets of one message lost at one device for one reason."""

    device: str
    reason: DropReason
    moments_ns: tuple[int, ...]
    """When, one for each packet, ascending."""
    direction: Direction
    """Back to the sender: acknowledgements and congestion notifications."""

    @property
    def pkts(self) -> int:
        """Their number."""
        return len(self.moments_ns)


def lost_packets(evidence: Evidence, message: Mapping[str, Any], start_ns: int, end_ns: int) -> list[Lost]:
    """Losses of a message's queue pair between two moments in the event log, most packets first."""
    events = evidence.events(["drop"])
    times = events["time_ps"]
    inside = (times >= start_ns * PS_PER_NS) & (times <= end_ns * PS_PER_NS)
    mine = (events["qp"] == message["qp"]) & inside & (events["port"] >= 0)
    directions = Directions.of_message(evidence, message)
    found: dict[tuple[str, DropReason, Direction], list[int]] = {}
    for port, name, size_bytes, time_ps in zip(
        *(events[column][mine].tolist() for column in ("port", "reason", "a", "time_ps")), strict=True
    ):
        reason = DropReason[name.upper()]
        place = evidence.fabric.node_of(port).name, reason, directions.of(port, reason, size_bytes)
        found.setdefault(place, []).append(time_ps // PS_PER_NS)
    return sorted(
        (
            Lost(device, reason, tuple(sorted(moments)), direction)
            for (device, reason, direction), moments in found.items()
        ),
        key=lambda it: (-it.pkts, it.device, it.reason.name, it.direction),
    )


class Emptied(NamedTuple):
    """A queue on the way that was emptied at once: the log counts its packets, not whose they were."""

    port: int
    reason: str
    pkts: int
    time_ns: int
    direction: Direction


class Moments(NamedTuple):
    """When frames of one message's queue pair, or queues on its way, were lost, in ns, ascending.

    Losses whose direction is unknown are in both.
    """

    data: list[int]
    answers: list[int]


def moments(lost: list[Lost], emptied: list[Emptied]) -> Moments:
    """Of all its losses."""
    times = [(it.direction, moment) for it in lost for moment in it.moments_ns]
    times += [(it.direction, it.time_ns) for it in emptied]
    return Moments(
        sorted(time for direction, time in times if direction is not Direction.BACK),
        sorted(time for direction, time in times if direction is not Direction.FORTH),
    )


def emptied_queues(evidence: Evidence, message: Mapping[str, Any], start_ns: int, end_ns: int) -> list[Emptied]:
    """Emptied queues on a message's path and on the certain part of its way back, in order of time."""
    events = evidence.events(["drop"])
    times = events["time_ps"] // PS_PER_NS
    way = return_path(evidence, message)
    forth = {evidence.port_named(name) for name in message["path"] or ()}
    classes = dict.fromkeys(forth, message["priority"])
    classes |= dict.fromkeys(set(way.certain) - set(classes), class_of(evidence, message))
    inside = (events["qp"] < 0) & (times >= start_ns) & (times <= end_ns) & (events["b"] > 0)
    found = [
        Emptied(port, reason, pkts, time, Direction.FORTH if port in forth else Direction.BACK)
        for port, prio, reason, pkts, time in zip(
            *(events[name][inside].tolist() for name in ("port", "prio", "reason", "b")), times[inside].tolist(),
            strict=True,
        )
        if classes.get(port) == prio and reason in {"watchdog", "link_down"}
    ]  # fmt: skip
    return sorted(found, key=lambda it: (it.time_ns, it.port))


def emptied_text(evidence: Evidence, emptied: list[Emptied]) -> str:
    """'leaf2:Ethernet0 emptied of 8,595 packets at 2ms (watchdog), perhaps its own among them'; '' where none was."""
    parts = [
        f"{evidence.fabric.port_name(evidence.fabric.ports[it.port].id)} emptied of {it.pkts:,} packets at "
        f"{show(it.time_ns, Unit.NS)} ({it.reason})"
        for it in emptied[:2]
    ]
    more = f" and {len(emptied) - 2} more times" if len(emptied) > 2 else ""
    return f"{', '.join(parts)}{more}, perhaps its own among them" if parts else ""


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
        f"{least}{it.pkts:,}{_noun(row, lost)} lost at {it.device} ({it.reason.name.lower()})"
        for row, it in enumerate(lost[:3])
    ]
    rest = sum(it.pkts for it in lost[3:])
    return ", ".join(parts) + (f", and {rest:,} elsewhere" if rest else "")


def _noun(row: int, lost: list[Lost]) -> str:
    """' of its packets' or ' of its acknowledgements' where the row before had another noun."""
    if row and lost[row].direction == lost[row - 1].direction:
        return ""
    return f" of its {_NOUNS[lost[row].direction]}"


def losses_table(evidence: Evidence, lost: list[Lost]) -> Table:
    """One row per device and reason."""
    columns = (
        Column("device", "Lost at"),
        Column("reason", "Reason"),
        Column("direction", "On the way"),
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
        tuple(
            (
                it.device,
                it.reason.name.lower(),
                it.direction.value,
                it.pkts,
                it.moments_ns[0],
                it.moments_ns[-1],
                WHY[it.reason],
            )
            for it in lost
        ),
        note,
    )

"""The columns of a live run's tables, for the terminal application and for plain output."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fabric.units import PS_PER_S, counted, format_time_ps

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Shown:
    """One column: title, format of a value, and sort key."""

    title: str
    text: Callable[[Row], str]
    key: Callable[[Row], Any]
    number: bool = False
    """Right-aligned, and sorted from the largest."""


def time_text(seconds: float) -> str:
    """'1.234ms'."""
    return format_time_ps(seconds * PS_PER_S)


def size_text(size_bytes: float) -> str:
    """'1.2MB', with decimal prefixes like rates."""
    for factor, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "KB")):
        if size_bytes >= factor:
            return f"{size_bytes / factor:.2f}{unit}"
    return f"{size_bytes:.0f}B"


def _at(row: Row) -> str:
    return f"{row['device']}:{row['port']}"


def _state(row: Row) -> str:
    words = [
        word
        for word, holds in (("down", not row["up"]), ("PAUSED", row["paused"]), ("pausing", row["pausing"]))
        if holds
    ]
    return " ".join(words)


def _number(title: str, name: str, text: Callable[[float], str], then: str = "") -> Shown:
    """A column of one number, `then` decides ties; 0 is left empty to highlight other values."""
    return Shown(
        title, lambda row: text(row[name]) if row[name] else "", lambda row: (row[name], row[then or name]), number=True
    )


PORTS: Final = (
    Shown("Port", _at, _at),
    Shown("Prio", lambda row: str(row["priority"]), lambda row: row["priority"], number=True),
    _number("Paused", "paused_ratio", "{:.1%}".format, then="paused_seconds"),
    _number("In all", "paused_seconds", time_text),
    _number("Sending", "transmit_ratio", "{:.1%}".format),
    Shown("State", _state, _state),
    Shown("Peer", lambda row: str(row["peer"]), lambda row: row["peer"]),
)
"""Ports by class; sorted by the third column."""

QUEUES: Final = (
    Shown("Queue", lambda row: f"{_at(row)}/{row['queue']}", _at),
    _number("Waiting", "bytes", size_text, then="peak_bytes"),
    _number("Peak", "peak_bytes", size_text),
    _number("Marked", "marked_packets", "{:,}".format),
    _number("Dropped", "dropped_packets", "{:,}".format),
    Shown("", lambda row: "STORM" if row["stormed"] else "", lambda row: row["stormed"]),
)
"""Egress queues; sorted by the second column."""

PORTS_BY: Final = 2
QUEUES_BY: Final = 1


def ordered(rows: Sequence[Row], columns: Sequence[Shown], by: int, wanted: str = "") -> list[Row]:
    """Rows with a cell that has the wanted text, sorted by one column."""
    column = columns[by]
    found = [row for row in rows if not wanted or any(wanted.lower() in it.text(row).lower() for it in columns)]
    return sorted(found, key=column.key, reverse=column.number)


def status_text(status: Row) -> str:
    """The state of a run on one line."""
    held = f"{1 / status['realtime_ratio']:,.0f}" if status["realtime_ratio"] else "-"
    slipped = f", behind by {status['slipped_seconds']:.1f}s so far" if status["slipped_seconds"] else ""
    return (
        f"{status['scenario']}  {status['state']}  {time_text(status['sim_time_seconds'])} of "
        f"{time_text(status['duration_seconds'])}{', pass ' + str(status['pass']) if status['loop'] else ''}  "
        f"dilation {status['dilation']:,g}, held {held}{slipped}  "
        f"{status['hosts_paused']} of {status['hosts']} host{'' if status['hosts'] == 1 else 's'} "
        f"{'is' if status['hosts_paused'] == 1 else 'are'} paused"
    )


def roots_text(found: Row) -> str:
    """What the root causes are of, on one line: 'root causes up to 1.7ms: none'."""
    since = f"from {time_text(found['from_seconds'])} " if found["from_seconds"] else ""
    return f"root causes {since}up to {time_text(found['until_seconds'])}:{'' if found['roots'] else ' none'}"


def root_text(root: Row) -> str:
    """One root cause on one line."""
    until = "now" if root["open"] else time_text(root["until_seconds"])
    sure = "" if root["confidence"] is None else f", sure {root['confidence']:.0%}"
    return (
        f"{root['kind']} at {root['place']}  {time_text(root['since_seconds'])} to {until}{sure}: {root['title']}; "
        f"{'; '.join(root['evidence'])}. First: {root['act']}"
    )


def incident_text(incident: Row) -> str:
    """One pause tree on one line."""
    until = "now" if incident["open"] else time_text(incident["until_seconds"])
    hosts, switches = len(incident["hosts"]), len(incident["switches"])
    devices = counted((hosts, "host"), (switches, "switch", "switches"))
    return (
        f"{incident['text']}  {time_text(incident['since_seconds'])} to {until}, {incident['depth']} deep, "
        f"{devices or 'no device'} {'were' if hosts + switches > 1 else 'was'} paused for "
        f"{time_text(incident['paused_seconds'])} of port time"
    )


def tree_lines(incident: Row) -> list[str]:
    """The pauses of one tree, indented."""
    return [
        f"{'  ' * node['depth']}{node['port']} paused {node['victim']}  pauses {node['pauses']:,}, "
        f"paused for {time_text(node['paused_seconds'])}{', STILL' if node['still'] else ''}"
        for node in incident["tree"]
    ]

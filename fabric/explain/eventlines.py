"""Events as JSON lines for log stores such as Loki: one object a line, fixed words first, facts as separate fields.

Fields of every line: `time` (RFC 3339, wall clock), `sim_time_ns`, `severity`, `kind`, `category`, `message` (the same
words for every event of a kind), `run`, `pass`. Where the event has them: `device`, `port`, `priority`, `reason`, `qp`,
and the numbers of its kind under their own names (eventlog.KINDS; `fabric schema --run` explains them). Few values of
severity, kind, category and run make them good stream labels; the others are for the query.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state.codes import DropReason, EventKind
from fabric.runs import eventlog
from fabric.runs.rundir import RunDir
from fabric.topology.model import Fabric
from fabric.visible import in_json


class Severity(StrEnum):
    """How urgent an event is for an operator; the names are the levels of Loki."""

    DEBUG = "debug"
    """Thousands of these are normal in a healthy fabric."""
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"


SEVERITY_OF: Final = {
    EventKind.PAUSE_SENT: Severity.INFO,
    EventKind.RESUME_SENT: Severity.INFO,
    EventKind.PAUSED: Severity.INFO,
    EventKind.RESUMED: Severity.INFO,
    EventKind.DROP: Severity.WARNING,
    EventKind.MARK: Severity.DEBUG,
    EventKind.RATE_CUT: Severity.DEBUG,
    EventKind.LINK_DOWN: Severity.WARNING,
    EventKind.LINK_UP: Severity.INFO,
    EventKind.RATE_CHANGED: Severity.WARNING,
    EventKind.STORM_DETECTED: Severity.ERROR,
    EventKind.STORM_RESTORED: Severity.INFO,
    EventKind.TIMEOUT: Severity.WARNING,
    EventKind.QP_FAILED: Severity.ERROR,
    EventKind.NAK_SENT: Severity.WARNING,
    EventKind.LOSS_DECLARED: Severity.WARNING,
    EventKind.DEADLOCK: Severity.CRITICAL,
    EventKind.EDIT: Severity.INFO,
}
"""Every kind of eventlog.KINDS."""
_RANK: Final = tuple(Severity)

Line = dict[str, Any]
Clock = Callable[[int], datetime]
"""Simulated nanoseconds -> wall clock."""


def wall_clock(start: datetime, scale: float = 1.0) -> Clock:
    """A clock on which simulated time begins at `start` and runs `scale` seconds a second."""
    return lambda time_ns: start + timedelta(microseconds=time_ns * scale / 1000)


def rfc3339(moment: datetime) -> str:
    """'2026-01-02T03:04:05.678901Z'."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def at_least(least: Severity) -> NDArray[np.bool_]:
    """(kinds,) whether an EventKind has at least this severity."""
    bar = _RANK.index(least)
    return np.array(
        [
            code in SEVERITY_OF and _RANK.index(SEVERITY_OF[EventKind(code)]) >= bar
            for code in range(len(eventlog.KIND_NAMES))
        ]
    )


def lines(rows: NDArray[np.void], fabric: Fabric, clock: Clock, run: str, number: int = 1) -> Iterator[Line]:
    """One object per coded row.

    Parameters
    ----------
    rows : eventlog.ROW       in order of time
    fabric : Fabric           names of devices and ports
    clock : Clock             wall-clock time of a simulated moment
    run, number               name of the run, number of the pass
    """
    for row in rows:
        device, port, class_, reason, qp = (int(row[name]) for name in ("device", "port", "class", "reason", "qp"))
        yield _line(
            EventKind(int(row["kind"])),
            int(row["time_ns"]),
            clock,
            run,
            number,
            (
                fabric.nodes[device].name,
                None if port < 0 else fabric.ports[port].name,
                None if class_ < 0 else class_,
                None if reason < 0 else DropReason(reason).name.lower(),
                None if qp < 0 else qp,
            ),
            [int(row[name]) for name in _NUMBERS],
        )


def lines_of_run(run: RunDir, start: datetime, scale: float = 1.0) -> Iterator[Line]:
    """The event log of a run directory; simulated time begins at `start` and runs `scale` seconds a second."""
    clock, name = wall_clock(start, scale), str(run.manifest["name"])
    for batch in run.events().to_batches(max_chunksize=4096):
        for row in batch.to_pylist():
            yield _line(
                EventKind[row["kind"].upper()],
                row["time_ns"],
                clock,
                name,
                1,
                tuple(row[column] for column in ("device", "port", "class", "reason", "qp")),
                [row[column] for column in _NUMBERS],
            )


_NUMBERS: Final = ("a", "b", "c", "d")
_PLACE: Final = ("device", "port", "priority", "reason", "qp")


def _line(
    kind: EventKind,
    time_ns: int,
    clock: Clock,
    run: str,
    number: int,
    place: Sequence[str | int | None],
    numbers: Sequence[int],
) -> Line:
    info = eventlog.KINDS[kind]
    found: Line = {
        "time": rfc3339(clock(time_ns)),
        "sim_time_ns": time_ns,
        "severity": SEVERITY_OF[kind].value,
        "kind": kind.name.lower(),
        "category": info.category,
        "message": MESSAGES[kind],
        "run": run,
        "pass": number,
    }
    if kind is not EventKind.EDIT:  # made by the operator, at no device
        found |= {name: value for name, value in zip(_PLACE, place, strict=True) if value is not None}
    return found | {name: value for (name, _), value in zip(info.numbers, numbers, strict=False)}


MESSAGES: Final = {
    EventKind.PAUSE_SENT: "XOFF sent",
    EventKind.RESUME_SENT: "XON sent",
    EventKind.PAUSED: "paused by the peer",
    EventKind.RESUMED: "may send again",
    EventKind.DROP: "frames discarded",
    EventKind.MARK: "packet marked CE",
    EventKind.RATE_CUT: "rate decreased",
    EventKind.LINK_DOWN: "link down",
    EventKind.LINK_UP: "link up",
    EventKind.RATE_CHANGED: "link rate changed",
    EventKind.STORM_DETECTED: "PFC storm detected",
    EventKind.STORM_RESTORED: "PFC storm over",
    EventKind.TIMEOUT: "retransmission timeout",
    EventKind.QP_FAILED: "queue pair failed",
    EventKind.NAK_SENT: "NAK sent",
    EventKind.LOSS_DECLARED: "packets declared lost",
    EventKind.DEADLOCK: "deadlock",
    EventKind.EDIT: "dated change applied",
}
"""The fixed words of every kind."""


def as_json(line: Line) -> str:
    """One line of text."""
    return in_json(json.dumps(line, separators=(",", ":"), ensure_ascii=False))

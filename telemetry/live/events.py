"""The event log of a live run: JSON lines to a file or standard output, and the newest lines for clients."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TextIO

from numpy.typing import NDArray

from fabric.dataplane.engine.counters import Snapshot
from fabric.explain.eventlines import Line, Severity, as_json, at_least, lines, rfc3339, wall_clock
from fabric.runs.eventlog import EventLog
from fabric.topology.model import Fabric
from fabric.units import PS_PER_NS, PS_PER_S
from telemetry.live.simulation import Observer

RECENT: Final = 1000
"""Lines kept for the API."""
_UNLIMITED: Final = 1 << 62


class EventSink(Observer):
    """Observer that writes every event once, in order of time.

    Parameters
    ----------
    run, fabric              name of the run; names of devices and ports
    dilation : callable      the present dilation, for the wall time of an event
    out : TextIO, optional   output of the lines; None: they are only kept for `recent`
    least : Severity         less severe events are not written
    clock : callable         the wall clock
    """

    def __init__(
        self,
        run: str,
        fabric: Fabric,
        dilation: Callable[[], float],
        out: TextIO | None,
        least: Severity,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._run, self._fabric, self._dilation, self._out, self._clock = run, fabric, dilation, out, clock
        self._wanted, self._shown = at_least(least), at_least(Severity.INFO)
        self._recent: deque[tuple[int, Callable[[], list[Line]]]] = deque()
        self._kept = 0
        self._sequence = 0
        self._number = 0
        self._log = EventLog(_UNLIMITED)

    def recent(self, after: int, count: int) -> list[Line]:
        """The newest `count` lines with a higher sequence than `after`, oldest first."""
        found: list[Line] = []
        for last, write in reversed(self._recent):  # formatted only on request
            if last <= after or len(found) >= count:
                break
            portion = write()
            found = [
                {"sequence": last - len(portion) + 1 + place, **line} for place, line in enumerate(portion)
            ] + found
        return [line for line in found if line["sequence"] > after][-count:]

    def note(self, severity: Severity, message: str, time_ps: int, facts: Mapping[str, Any]) -> None:
        """Log an action of an operator or of the simulation."""
        line = {
            "time": rfc3339(self._clock()),
            "sim_time_ns": time_ps // PS_PER_NS,
            "severity": severity.value,
            "kind": "control",
            "category": "control",
            "message": message,
            "run": self._run,
            "pass": self._number,
            "facts": dict(facts),
        }
        self._keep(1, lambda: [line])
        self._print([line])

    # ===== observer =====

    def begin(self, number: int) -> None:
        """A pass begins."""
        self._number, self._log = number, EventLog(_UNLIMITED)
        self.note(Severity.INFO, "pass begins", 0, {})

    def events(self, rows: NDArray[Any], complete_ps: int) -> None:
        """Write the events before complete_ps."""
        self._write(self._log.take(rows, complete_ps), complete_ps)

    def end(self, reason: str, now: Snapshot) -> None:
        """A pass is over."""
        self._write(self._log.finish(), now.time_ps)
        self.note(Severity.INFO, "pass ends", now.time_ps, {"reason": reason})

    def _write(self, rows: NDArray[Any], complete_ps: int) -> None:
        if not rows.size:
            return
        scale = self._dilation()
        clock = wall_clock(self._clock() - timedelta(seconds=complete_ps / PS_PER_S * scale), scale)
        fabric, run, number = self._fabric, self._run, self._number
        shown = rows[self._shown[rows["kind"]]][-RECENT:]
        if shown.size:
            self._keep(len(shown), lambda: list(lines(shown, fabric, clock, run, number)))
        if self._out is not None:
            self._print(lines(rows[self._wanted[rows["kind"]]], fabric, clock, run, number))

    def _keep(self, count: int, write: Callable[[], list[Line]]) -> None:
        """Keep a batch of lines for `recent`, and drop the oldest beyond RECENT."""
        self._sequence += count
        self._kept += count
        self._recent.append((self._sequence, write))
        while len(self._recent) > 1 and self._kept - self._size_of_oldest() >= RECENT:
            self._kept -= self._size_of_oldest()
            self._recent.popleft()

    def _size_of_oldest(self) -> int:
        return self._recent[0][0] - (self._sequence - self._kept)

    def _print(self, found: Iterable[Line]) -> None:
        if self._out is not None:
            self._out.writelines(as_json(line) + "\n" for line in found)
            self._out.flush()


class FirstAnswer(Observer):
    """Observer that reports the first return of the engine: compilation has ended."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell

    def events(self, rows: NDArray[Any], complete_ps: int) -> None:  # noqa: ARG002  that they come is enough
        """The engine has returned."""
        self._tell()

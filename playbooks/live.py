"""The terminal view of a running playbook: incidents as they appear, and the ports that are paused longest.

A Watch reads snapshots and never the scenario, so it shows only what telemetry shows an operator. An incident has its
own time where the tables keep it; else it is said to have happened by the time of the snapshot that shows it. On a
terminal the table is redrawn in place; elsewhere each incident is a line, with STATUS_LINES lines about the state of
the fabric.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Final, NamedTuple, Self, TextIO

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Group
from rich.live import Live
from rich.table import Table

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.state.codes import N_CLASSES, DropReason
from fabric.render.console import PlainConsole
from fabric.units import count, counted, format_measured_bytes, format_time_ps
from fabric.visible import visible

TOP: Final = 8
STATUS_LINES: Final = 10
"""Lines about the state of the fabric over a whole run, where there is no terminal."""
_LOSSLESS: Final = (DropReason.HEADROOM, DropReason.SHARED_HEADROOM_POOL, DropReason.NO_HEADROOM)


class Incident(NamedTuple):
    """Something that happened between two snapshots."""

    time_ps: int
    text: str
    exact: bool = True
    """Whether time_ps is its own time, and not that of the snapshot that shows it."""

    @property
    def when(self) -> str:
        """'6ms', or 'by 7ms'."""
        time = format_time_ps(self.time_ps) if self.time_ps else "0"
        return time if self.exact else f"by {time}"


class Watch:
    """Compares each snapshot with the previous one and reports new incidents."""

    def __init__(self) -> None:
        self._before: Snapshot | None = None
        self._storming: set[int] = set()
        self._most_hosts = 0
        self.paused_ratio: NDArray[np.float64] = np.empty(0)
        """(n_ports,) share of the time between the last two snapshots in which each port was paused in any class."""

    def update(self, now: Snapshot) -> list[Incident]:
        """Incidents since the previous snapshot, in order of time."""
        before, self._before = self._before, now
        if before is None or now.time_ps <= before.time_ps:
            self.paused_ratio = np.zeros(len(now.ports))
            return []
        grown = now.prios["rx_paused_ps"] - before.prios["rx_paused_ps"]  # a snapshot counts pauses that still last
        self.paused_ratio = grown.reshape(-1, N_CLASSES).max(axis=1) / (now.time_ps - before.time_ps)
        return sorted(self._incidents(before, now), key=lambda it: it.time_ps)

    def paused(self, now: Snapshot) -> tuple[int, int]:
        """(hosts, switch ports) that are paused at this moment."""
        ports = np.flatnonzero(now.ports["paused"])
        hosts = np.count_nonzero(now.ports["node"][ports] < len(now.hosts))
        return int(hosts), int(len(ports) - hosts)

    def _incidents(self, before: Snapshot, now: Snapshot) -> Iterator[Incident]:
        yield from self._pauses(before, now)
        yield from self._watchdog(before, now)
        fabric = now.fabric
        for port in np.flatnonzero(now.ports["up"] != before.ports["up"]).tolist():
            if fabric.ports[port].peer > port:
                up = bool(now.ports["up"][port])
                link = f"link {fabric.port_name(port)} - {fabric.port_name(fabric.ports[port].peer)}"
                since_ps = now.time_ps if up else int(now.ports["down_since_ps"][port])
                yield Incident(since_ps, f"{link} is {'up' if up else 'down'}", exact=not up)
        lost = sum(
            int(table.drops["pkts"][:, :, [int(reason) for reason in _LOSSLESS]].sum()) * sign
            for table, sign in ((now, 1), (before, -1))
        )
        if lost:
            yield Incident(now.time_ps, f"{lost} lossless packets lost", exact=False)

    def _pauses(self, before: Snapshot, now: Snapshot) -> Iterator[Incident]:
        fabric, n_hosts = now.fabric, len(now.hosts)
        since = now.prios["since_ps"].reshape(-1, N_CLASSES)
        sent = now.prios["tx_xoff_pkts"].sum(axis=1) > before.prios["tx_xoff_pkts"].sum(axis=1)
        for port in np.flatnonzero(sent & (now.ports["node"] < n_hosts)).tolist():
            if port not in self._storming:
                self._storming.add(port)
                peer = fabric.ports[port].peer
                # The switch port notes when it stopped; it has resumed since where it is not paused any more.
                begun = [int(it) for it in since[peer] if before.time_ps <= it <= now.time_ps]
                exact = bool(now.ports["paused"][peer]) and bool(begun)
                time_ps = min(begun) if exact else now.time_ps
                text = f"{fabric.node_of(port).name} sends pause frames to {fabric.port_name(peer)}"
                yield Incident(time_ps, text, exact)
        hosts, ports = self.paused(now)
        on_hosts = now.ports["node"] < n_hosts
        grew = (now.prios["rx_paused_ps"] > before.prios["rx_paused_ps"]).reshape(-1, N_CLASSES)[on_hosts]
        if hosts > 2 * self._most_hosts or (hosts == n_hosts > self._most_hosts):
            self._most_hosts = hosts
            more = f" and {count(ports, 'switch port')}" if ports else ""
            are = "is" if hosts == 1 and not ports else "are"
            yield Incident(now.time_ps, f"{hosts} of {count(n_hosts, 'host')}{more} {are} paused")
        elif hosts == 0 and grew.any():
            ended_ps = int(since[on_hosts][grew].max())  # of a port that is not paused: the end of its last pause
            if self._most_hosts:
                yield Incident(ended_ps, "no host is paused any more")
            else:
                again = count(int(grew.any(axis=1).sum()), "host")
                yield Incident(ended_ps, f"{again} paused since {format_time_ps(before.time_ps)}, and not any more")
            self._most_hosts = 0
        elif hosts == 0:
            self._most_hosts = 0

    def _watchdog(self, before: Snapshot, now: Snapshot) -> Iterator[Incident]:
        queues, earlier = now.queues.reshape(-1), before.queues.reshape(-1)

        def place(row: int) -> str:
            return f"{now.fabric.port_name(row // N_CLASSES)} class {row % N_CLASSES}"

        for row in np.flatnonzero(queues["wd_detected"] > earlier["wd_detected"]).tolist():
            yield Incident(int(queues["wd_stormed_ps"][row]), f"the PFC watchdog detects a storm at {place(row)}")
        for row in np.flatnonzero(queues["wd_restored"] > earlier["wd_restored"]).tolist():
            yield Incident(now.time_ps, f"the PFC watchdog restores {place(row)}", exact=False)


def paused_words(hosts: int, ports: int) -> str:
    """'1 host and 3 switch ports paused'; what is zero is left out."""
    return f"{counted((hosts, 'host'), (ports, 'switch port')) or 'nothing'} paused"


class LiveView:
    """A context manager; `on_sample` is a session hook."""

    def __init__(self, out: TextIO, duration_ps: int, acts: Sequence[tuple[int, str]], *, quiet: bool) -> None:
        """`acts`: (time_ps, text) of each act, shown at its time."""
        self._console = PlainConsole(out, width=140)
        self._duration_ps = duration_ps
        self._acts = sorted(acts)
        self._quiet = quiet
        self._watch = Watch()
        self._lines: list[str] = []
        on_terminal = self._console.is_terminal and not quiet
        self._live = Live(console=self._console, refresh_per_second=8) if on_terminal else None
        self._status_at_ps = 0

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def on_sample(self, now: Snapshot) -> None:
        """Show a sample."""
        if self._quiet:
            return
        incidents = self._watch.update(now)
        while self._acts and self._acts[0][0] <= now.time_ps:
            time_ps, text = self._acts.pop(0)
            incidents.append(Incident(time_ps, f"operator: {text}"))
        lines = [f"{it.when:>9}  {visible(it.text)}" for it in sorted(incidents, key=lambda it: it.time_ps)]
        if self._live is None:
            if now.time_ps >= self._status_at_ps:
                self._status_at_ps += self._duration_ps // STATUS_LINES
                lines.append(self._status(now))
            for line in lines:
                self._console.print(line)
            return
        self._lines += lines
        self._live.update(Group(self._status(now), self._table(now), *self._lines[-12:]))

    def _status(self, now: Snapshot) -> str:
        hosts, ports = self._watch.paused(now)
        depth = now.queues["depth_bytes"].reshape(-1)
        row = int(depth.argmax())
        deepest = f"deepest queue {now.fabric.port_name(row // N_CLASSES)} {format_measured_bytes(float(depth[row]))}"
        time = format_time_ps(now.time_ps) if now.time_ps else "0"
        return f"{time:>9}  [{paused_words(hosts, ports)}, {deepest if depth[row] else 'all queues empty'}]"

    def _table(self, now: Snapshot) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for title in ("Port", "Paused by"):
            table.add_column(title, min_width=18)
        for title in ("Paused", "Queue"):
            table.add_column(title, justify="right", min_width=9)
        ratio = self._watch.paused_ratio
        depth = now.queues["depth_bytes"].reshape(-1, N_CLASSES).sum(axis=1)
        for port in np.lexsort((-depth, -ratio))[:TOP].tolist():
            if ratio[port] or depth[port]:
                table.add_row(
                    now.fabric.port_name(port),
                    now.fabric.peer_of(port).name if ratio[port] else "",
                    f"{ratio[port]:.0%}",
                    format_measured_bytes(float(depth[port])),
                )
        return table

"""The ladder of one run: first mark, first pause, most headroom in use, first loss of RoCE."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state.codes import N_CLASSES, DropReason, EventKind
from fabric.dataplane.state.trace import NO_QP
from fabric.proof.outcome import PS_PER_US, Loss, Outcome
from fabric.proof.search.bench import Bench
from fabric.runs.measures import BUFFER_REASONS

RUNGS: Final = ("mark", "pause", "headroom", "loss")
_BUFFER: Final = tuple(int(it) for it in BUFFER_REASONS)


@dataclass(frozen=True, slots=True)
class Rungs:
    """When, since the start of the run, and how much. None: never."""

    mark_us: float | None
    """First mark of a packet that leaves by a port of the switch."""
    mark_bytes: int
    """What its queue held then."""
    pause_us: float | None
    """First XOFF of the switch."""
    pause_bytes: int
    """What the group that sent it held of the pool then."""
    headroom_bytes: int
    """Most headroom that one group used."""
    headroom_of_bytes: int
    """That it has."""
    shared_bytes: int
    """Most of a shared headroom pool that was used; 0 without one."""
    shared_of_bytes: int
    depth_bytes: int
    """Most that a queue held."""
    lost: int
    """Packets of RoCE, discarded for lack of buffer."""
    loss: Loss | None
    """Where most were lost."""
    held: tuple[str, ...]
    """Hosts that were paused although they send nothing to a port that cannot keep up."""
    links: int
    """Directions of links between switches that were paused."""
    idle_links: int
    """Of these, those that carry nothing to a port that cannot keep up."""
    storms: int
    """Queues that a watchdog found in a storm."""
    storm_us: float | None
    """When the first was found."""
    deadlock: bool

    @property
    def victims(self) -> int:
        """Number of `held`."""
        return len(self.held)

    def reached(self, rung: str) -> bool:
        """Whether one of RUNGS was reached."""
        return {
            "mark": self.mark_us is not None,
            "pause": self.pause_us is not None,
            "headroom": self.headroom_bytes > 0,
            "loss": self.bad,
        }[rung]

    @property
    def bad(self) -> bool:
        """Whether RoCE was lost, or nothing moves."""
        return self.lost > 0 or self.deadlock


def read(bench: Bench, run: Outcome, hot: Collection[tuple[str, str]]) -> Rungs:
    """The ladder of a run.

    Parameters
    ----------
    hot    (source, destination) of the messages to a port that cannot keep up
    """
    hosts = {run.port(*end): host for host, end in bench.cut.hosts.items()}
    devices = bench.cut.network.devices
    ours = [int(port) for name in devices for port in run.fabric.by_name[name].ports]
    groups = run.now.pgs.reshape(-1, N_CLASSES)[ours].reshape(-1)
    row = groups[int(groups["headroom_peak_bytes"].argmax())]
    pools = run.now.pools[run.now.pools["headroom_size_bytes"] > 0]
    pauses = _rows(run, EventKind.PAUSE_SENT, ours)
    marks = _rows(run, EventKind.MARK, ours)
    storms = _rows(run, EventKind.STORM_DETECTED, ours)
    drops = run.events[run.events["kind"] == int(EventKind.DROP)]
    drops = drops[(drops["qp"] != NO_QP) & np.isin(drops["reason"], _BUFFER)]
    links = {(int(it), int(run.fabric.ports[int(it)].peer)) for it in pauses["port"] if int(it) not in hosts}
    queues = run.now.queues.reshape(-1, N_CLASSES)[ours]
    return Rungs(
        _first_us(marks),
        int(marks["a"][0]) if len(marks) else 0,
        _first_us(pauses),
        int(pauses["a"][0]) if len(pauses) else 0,
        int(row["headroom_peak_bytes"]),
        int(row["xoff_bytes"]),
        int(pools["headroom_peak_bytes"].max()) if len(pools) else 0,
        int(pools["headroom_size_bytes"].max()) if len(pools) else 0,
        int(queues["peak_bytes"].max()),
        len(drops),
        _loss(run, drops),
        tuple(sorted({hosts[it] for it in map(int, pauses["port"]) if it in hosts} - {src for src, _ in hot})),
        len(links),
        sum(not _carries(bench, run, hot, there, here) for here, there in links),
        len(storms),
        _first_us(storms),
        bool(run.cycle),
    )


def _carries(bench: Bench, run: Outcome, hot: Collection[tuple[str, str]], a: int, b: int) -> bool:
    """Whether frames to a hot port may go from one switch to another: of two leaves with spines between them.

    Parameters
    ----------
    a, b    ports at the two ends of a link
    """
    names = [run.fabric.port_name(port).partition(":")[0] for port in (a, b)]
    ends = [(bench.cut.hosts[src][0], bench.cut.hosts[dst][0]) for src, dst in hot]
    return any(start != end and (names[0] == start or names[1] == end) for start, end in ends)


def _rows(run: Outcome, kind: EventKind, ports: list[int]) -> NDArray[Any]:
    found = run.events[run.events["kind"] == int(kind)]
    return np.asarray(found[np.isin(found["port"], ports)])


def _first_us(events: NDArray[Any]) -> float | None:
    return int(events["time_ps"][0]) / PS_PER_US if len(events) else None


def _loss(run: Outcome, drops: NDArray[Any]) -> Loss | None:
    if not len(drops):
        return None
    keys, firsts, counts = np.unique(drops[["port", "prio", "reason"]], return_index=True, return_counts=True)
    most = int(counts.argmax())
    port, tc, reason = (int(it) for it in keys[most])
    first_us = int(drops["time_ps"][firsts[most]]) / PS_PER_US
    return Loss(run.fabric.port_name(port), tc, DropReason(reason).name.lower(), int(counts[most]), first_us)

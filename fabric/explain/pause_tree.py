"""Pause trees: pause and resume events joined by the device that they stopped, up to the port or host that began.

The causal rule. A switch sends XOFF on ingress port p for class c because packets that came in through p wait in its
egress queues of class c. Therefore:

1. Among the egress ports that traffic from p can leave by (fabric/topology/feeds.py), those that are paused in class c
   at that moment are the cause, and so is one whose pause has ended while the backlog it left (bytes waiting when it
   resumed, at line rate) is not drained yet. The one with most bytes waiting is the parent; its pause is a node of this
   tree, sent by the peer, and the rule applies to that peer in turn.
2. Where none is paused, the deepest of those egress queues is itself the origin: more arrives than the port can carry
   (incast, a slow port, a lost lane).
3. A host that sends XOFF is an origin: a slow receiver where its receive buffer was ever used, else a broken NIC. Its
   pauses begin when the switch obeys: hosts need not log what they send.
4. Where the chain runs back into itself at one instant no origin exists: that is a deadlock, which the run reports.

A parent is always older than its child, so a tree has no loops. Class, priority group and queue of a pause are taken
to bear the same number, as every default map has it. What this is not: a proof for one packet. Two egress queues may
share the blame for one XOFF; the tree names the larger.

Source: the causes follow Guo et al., "RDMA over Commodity Ethernet at Scale", SIGCOMM 2016, sections 4.2 to 4.4.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state.codes import EventKind
from fabric.ids import NodeId, PortId
from fabric.topology.model import Fabric
from fabric.units import PS_PER_S, PS_PER_US

_OPEN: Final = -1
"""End of an interval that is still open."""
_PAUSE_KINDS: Final = (EventKind.PAUSE_SENT, EventKind.RESUME_SENT, EventKind.PAUSED, EventKind.RESUMED)
QUIET_PS: Final = 100 * PS_PER_US
"""Pauses of one origin further apart than this are two episodes."""

DepthAt = Callable[[int, int, int], int]
"""(port, class, time_ps) -> bytes waiting in that egress queue around that time."""


class Cause(StrEnum):
    """The cause at the top of a pause tree."""

    BROKEN_NIC = "broken NIC"
    """The host pauses although its receive buffer is empty."""
    SLOW_RECEIVER = "slow receiver"
    """The receive buffer of the host fills: it consumes more slowly than data arrives."""
    CONGESTION = "congested port"
    """An egress port that is not paused is offered more than it carries."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a tree begins."""

    cause: Cause
    port: PortId
    """The host's port that sends XOFF, or the congested egress port."""
    prio: int


@dataclass(slots=True)
class PauseSpan:
    """One pause of one cable direction and class, from XOFF to XON."""

    port: PortId
    """The port that sends XOFF; its peer is the one that stops."""
    prio: int
    sent_ps: int
    origin: Origin
    parent: int
    """Position of the pause that caused this one, -1 at an origin."""
    use_bytes: int = 0
    limit_bytes: int = 0
    headroom_bytes: int = 0
    waiting_bytes: int = 0
    """Bytes at the paused side when it stopped."""
    held: list[tuple[int, int]] = field(default_factory=list)
    """(from, until) in which the paused side was stopped, ps."""

    @property
    def paused_ps(self) -> int:
        """Time for which the paused side was stopped."""
        return sum(until - start for start, until in self.held)

    @property
    def first_ps(self) -> int:
        """When the paused side stopped; the sending time if it never did."""
        return self.held[0][0] if self.held else self.sent_ps

    @property
    def last_ps(self) -> int:
        """When the paused side resumed for the last time."""
        return self.held[-1][1] if self.held else self.sent_ps


@dataclass(slots=True)
class PauseNode:
    """All pauses of one sender port and class within one episode."""

    port: PortId
    prio: int
    parent: int
    """Position in Episode.nodes, -1 directly under the origin."""
    depth: int
    first_ps: int
    last_ps: int
    pauses: int
    paused_ps: int
    hop_ps: int
    """From the moment the parent's victim was paused (or, at the top, the episode's first pause) to this XOFF."""
    use_bytes: int
    limit_bytes: int
    headroom_bytes: int
    """Highest headroom use at any of its XOFFs."""
    held: list[tuple[int, int]]
    """Every interval in which the paused side was stopped, ps."""


@dataclass(frozen=True, slots=True)
class Blast:
    """The effects of an episode."""

    hosts: tuple[NodeId, ...]
    """Hosts that were stopped."""
    switches: tuple[NodeId, ...]
    """Switches with at least one stopped port."""
    messages: int
    """Messages in progress while a port on their path was stopped in their class."""
    victims: int
    """Messages of these whose path avoids the origin: paused for the congestion of others."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One pause tree: an origin and everything it paused, without a quiet gap."""

    origin: Origin
    nodes: tuple[PauseNode, ...]
    """Parents before children."""
    first_ps: int
    last_ps: int

    @property
    def paused_ps(self) -> int:
        """Paused time of all ports of the tree together."""
        return sum(node.paused_ps for node in self.nodes)

    @property
    def depth(self) -> int:
        """Cables from the origin to the most distant pause."""
        return max(node.depth for node in self.nodes) + 1

    def children(self, parent: int) -> list[int]:
        """Positions of the nodes directly under `parent` (-1: under the origin), in order of time."""
        return [row for row, node in enumerate(self.nodes) if node.parent == parent]


class _Hold:
    """State of a paused egress port."""

    __slots__ = ("backlog_until_ps", "span", "start_ps", "waiting_bytes")

    def __init__(self, span: int, start_ps: int, waiting_bytes: int) -> None:
        self.span = span
        self.start_ps = start_ps
        self.waiting_bytes = waiting_bytes
        self.backlog_until_ps = -1  # -1: still paused


def trace_pauses(
    fabric: Fabric,
    events: Mapping[str, NDArray[Any]],
    reach: Mapping[PortId, frozenset[PortId]],
    depth_at: DepthAt,
    end_ps: int,
    slow_receivers: Container[int] = (),
) -> list[PauseSpan]:
    """Every pause of a run, each with its parent and its origin.

    Parameters
    ----------
    events : columns time_ps, kind, port, prio, a, b, c (int64, n), ordered by time; other kinds are ignored
    reach : result of fabric/topology/feeds.py
    depth_at : depth of an egress queue, to choose among several that are not paused
    end_ps : end of the run; a pause still open then ends there
    slow_receivers : NodeIds of hosts that ever used their receive buffer

    Returns: spans in order of sending; `parent` points to an earlier one.
    """
    tracer = PauseTracer(fabric, reach, depth_at, slow_receivers)
    tracer.feed(events)
    return tracer.spans(end_ps)


class PauseTracer:
    """`trace_pauses` for a run in progress: events come in portions, and spans can be asked for at any time.

    Parameters: as of `trace_pauses`; `depth_at` and `slow_receivers` are asked when an event is fed.
    """

    def __init__(
        self,
        fabric: Fabric,
        reach: Mapping[PortId, frozenset[PortId]],
        depth_at: DepthAt,
        slow_receivers: Container[int] = (),
    ) -> None:
        self._fabric, self._reach, self._depth_at, self._slow = fabric, reach, depth_at, slow_receivers
        self._spans: list[PauseSpan] = []
        self._sending: dict[tuple[int, int], int] = {}  # (sender port, class) -> open span
        self._latest: dict[tuple[int, int], int] = {}  # (sender port, class) -> newest span
        self._holds: dict[tuple[int, int], dict[int, _Hold]] = {}  # (node, class) -> paused egress port -> hold

    def spans(self, end_ps: int) -> list[PauseSpan]:
        """Every pause so far, in order of sending; one that is open ends at end_ps."""
        return [
            replace(span, held=[*span.held[:-1], (span.held[-1][0], max(end_ps, span.held[-1][0]))])
            if span.held and span.held[-1][1] == _OPEN
            else span
            for span in self._spans
        ]

    def feed(self, events: Mapping[str, NDArray[Any]]) -> None:
        """Take events; none may be earlier than one fed before."""
        fabric, spans, sending, latest, holds = (self._fabric, self._spans, self._sending, self._latest, self._holds)
        wanted = np.isin(events["kind"], _PAUSE_KINDS)
        columns = [events[name][wanted].tolist() for name in ("time_ps", "kind", "port", "prio", "a", "b", "c")]
        for time_ps, kind, port, prio, a, b, c in zip(*columns, strict=True):
            if kind == EventKind.PAUSE_SENT:
                if (port, prio) in sending or fabric.node_of(port).is_host:  # a refresh; rule 3
                    continue
                span = _begin(fabric, holds, self._reach, self._depth_at, time_ps, port, prio)
                span.use_bytes, span.limit_bytes, span.headroom_bytes = a, b, c
                if span.parent >= 0:
                    span.origin = spans[span.parent].origin
                sending[port, prio] = latest[port, prio] = len(spans)
                spans.append(span)
            elif kind == EventKind.RESUME_SENT:
                sending.pop((port, prio), None)
            elif kind == EventKind.PAUSED:
                sender = fabric.ports[port].peer
                row = sending.get((sender, prio), latest.get((sender, prio), -1))
                if row < 0 or fabric.node_of(sender).is_host:  # rule 3
                    row = latest[sender, prio] = len(spans)
                    cause = Cause.SLOW_RECEIVER if fabric.ports[sender].node in self._slow else Cause.BROKEN_NIC
                    spans.append(PauseSpan(sender, prio, time_ps, Origin(cause, sender, prio), -1))
                spans[row].held.append((time_ps, _OPEN))
                spans[row].waiting_bytes = max(spans[row].waiting_bytes, b)
                holds.setdefault((fabric.ports[port].node, prio), {})[port] = _Hold(row, time_ps, b)
            else:
                hold = holds.get((fabric.ports[port].node, prio), {}).get(port)
                if hold is None or hold.backlog_until_ps >= 0:
                    continue
                start_ps, _ = spans[hold.span].held.pop()
                spans[hold.span].held.append((start_ps, time_ps))
                hold.waiting_bytes = b
                hold.backlog_until_ps = time_ps + b * 8 * PS_PER_S // fabric.links[fabric.ports[port].link].rate_bps


def _begin(
    fabric: Fabric,
    holds: Mapping[tuple[int, int], Mapping[int, _Hold]],
    reach: Mapping[PortId, frozenset[PortId]],
    depth_at: DepthAt,
    time_ps: int,
    port: int,
    prio: int,
) -> PauseSpan:
    sender = PortId(port)
    node = fabric.node_of(port)
    exits = reach.get(sender) or frozenset(PortId(other) for other in node.ports if other != port)
    blocked = [
        (egress, hold)
        for egress, hold in holds.get((node.id, prio), {}).items()
        if egress in exits and (hold.backlog_until_ps < 0 or hold.backlog_until_ps > time_ps)
    ]
    if blocked:  # rule 1
        hold = max(
            (hold for _, hold in blocked),
            key=lambda hold: (hold.backlog_until_ps < 0, hold.waiting_bytes, -hold.start_ps),
        )
        return PauseSpan(sender, prio, time_ps, Origin(Cause.CONGESTION, sender, prio), hold.span)
    egress = max(sorted(exits), key=lambda row: depth_at(row, prio, time_ps))  # rule 2
    return PauseSpan(sender, prio, time_ps, Origin(Cause.CONGESTION, egress, prio), -1)


def episodes(spans: Sequence[PauseSpan], quiet_ps: int = QUIET_PS) -> list[Episode]:
    """Pauses gathered into trees: one per origin and period without a quiet gap; most paused time first."""
    by_origin: dict[Origin, list[int]] = {}
    for row, span in enumerate(spans):
        by_origin.setdefault(span.origin, []).append(row)
    found = []
    for origin, rows in by_origin.items():
        group: list[int] = []
        busy_until = spans[rows[0]].last_ps
        for row in rows:
            if group and spans[row].sent_ps > busy_until + quiet_ps:
                found.append(_gather(origin, spans, group))
                group = []
            group.append(row)
            busy_until = max(busy_until, spans[row].last_ps)
        found.append(_gather(origin, spans, group))
    return sorted(found, key=lambda episode: (-episode.paused_ps, episode.first_ps, episode.origin.port))


def _gather(origin: Origin, spans: Sequence[PauseSpan], rows: Sequence[int]) -> Episode:
    """One episode: rows are in order of sending, so a node's first span decides its parent and parents come first."""
    nodes: list[PauseNode] = []
    place: dict[tuple[int, int], int] = {}
    start_ps = spans[rows[0]].sent_ps
    for row in rows:
        span = spans[row]
        key = (span.port, span.prio)
        if key in place:
            node = nodes[place[key]]
            node.pauses += 1
            node.held += span.held
            node.paused_ps += span.paused_ps
            node.last_ps = max(node.last_ps, span.last_ps)
            node.headroom_bytes = max(node.headroom_bytes, span.headroom_bytes)
            continue
        cause = spans[span.parent] if span.parent >= 0 else None
        parent = place.get((cause.port, cause.prio), -1) if cause is not None else -1
        place[key] = len(nodes)
        nodes.append(
            PauseNode(
                span.port,
                span.prio,
                parent,
                nodes[parent].depth + 1 if parent >= 0 else 0,
                span.sent_ps,
                span.last_ps,
                1,
                span.paused_ps,
                span.sent_ps - (cause.first_ps if cause is not None else start_ps),
                span.use_bytes,
                span.limit_bytes,
                span.headroom_bytes,
                list(span.held),
            )
        )
    return Episode(origin, tuple(nodes), start_ps, max(node.last_ps for node in nodes))


def blast(
    fabric: Fabric,
    episode: Episode,
    messages: Mapping[str, NDArray[Any]],
    leave_by: Mapping[int, NDArray[np.int64]],
    end_ps: int,
) -> Blast:
    """Hosts, switches and messages that an episode delayed.

    Parameters
    ----------
    messages : columns dst (NodeId), prio, start_ps, end_ps (n,); -1 in start_ps: never posted, in end_ps: not done
    leave_by : PortId -> rows of the messages whose packets leave by that port
    end_ps : end of the run

    Returns: Blast. A message waited if a port on its path was stopped in its class while it was in progress; its
    packets need not have been there at that moment.
    """
    hosts: set[NodeId] = set()
    switches: set[NodeId] = set()
    hit = np.zeros(len(messages["dst"]), dtype=bool)
    none = np.empty(0, np.int64)
    for node in episode.nodes:
        if not node.held:
            continue
        victim = fabric.peer_of(node.port)
        (hosts if victim.is_host else switches).add(victim.id)
        rows = leave_by.get(int(fabric.ports[node.port].peer), none)
        rows = rows[(messages["prio"][rows] == node.prio) & (messages["start_ps"][rows] >= 0)]
        until = np.where(messages["end_ps"][rows] < 0, end_ps, messages["end_ps"][rows])
        held = sorted(node.held)
        starts, ends = (np.array(column) for column in zip(*held, strict=True))
        # Intervals begun before the message ended, less those over before it began: above 0, some overlap.
        overlap = np.searchsorted(starts, until) - np.searchsorted(ends, messages["start_ps"][rows], side="right")
        hit[rows[overlap > 0]] = True
    at = fabric.node_of(episode.origin.port)
    guilty = np.zeros_like(hit)
    if at.is_host:
        guilty |= messages["dst"] == at.id
    else:
        guilty[leave_by.get(int(episode.origin.port), none)] = True
    return Blast(
        tuple(sorted(hosts)), tuple(sorted(switches)), int(np.count_nonzero(hit)), int(np.count_nonzero(hit & ~guilty))
    )


class Depths:
    """Depth of egress queues over time, from samples; a `DepthAt`."""

    def __init__(
        self, ports: NDArray[np.int64], prios: NDArray[np.int64], times_ps: NDArray[np.int64], depths: NDArray[np.int64]
    ) -> None:
        """Columns of equal length; one queue's rows are in order of time, holding until its next row."""
        self._series: dict[tuple[int, int], tuple[list[int], list[int]]] = {}
        for port, prio, time_ps, depth in zip(
            ports.tolist(), prios.tolist(), times_ps.tolist(), depths.tolist(), strict=True
        ):
            times, values = self._series.setdefault((port, prio), ([], []))
            times.append(time_ps)
            values.append(depth)

    def __call__(self, port: int, prio: int, time_ps: int) -> int:
        """The larger of the sample before and the sample after: between the two the queue filled or drained."""
        times, values = self._series.get((port, prio), ([], []))
        at = bisect.bisect_right(times, time_ps)
        return max(values[max(at - 1, 0) : at + 1], default=0)

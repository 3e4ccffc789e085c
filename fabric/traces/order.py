"""A trace carried out without a network: what matches what, in which order computations follow, what never ends.

Every message arrives at the moment it is sent. This order of events decides

- which receive takes which message: the first of the same source, destination and tag, as in MPI;
- the order of computations of one stream: of those that could begin, the one with the lowest number, as in the feeder
  of ASTRA-sim. The real order depends on the network; the lowered schedule keeps this one;
- what can never be carried out: cycles, messages without a receive, receives without a message.
"""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from fabric.traces.graph import Collector, Instance, Kind, Op, Trace, instances
from fabric.traces.wildcards import resolve

FROM_ROOT: Final = frozenset({"broadcast", "scatter"})
TO_ROOT: Final = frozenset({"reduce", "gather"})

Node = tuple[int, int]
"""Rank and index of an operation."""
Channel = tuple[int, int, int]
"""Source, destination, tag."""


@dataclass
class Order:
    """What carrying out a trace decided."""

    trace: Trace
    """Without receives from any source."""
    instances: list[Instance]
    sender_of: dict[Node, Node] = field(default_factory=dict)
    """RECV -> its SEND."""
    stream_before: dict[Node, int] = field(default_factory=dict)
    """Computation -> the one before it in its stream, where it did not wait for that anyhow."""
    n_done: int = 0
    computing_ps: int = 0
    """End of the last operation, with a network that takes no time."""


def carry_out(trace: Trace) -> Order:
    """Check the whole trace and order it. Raises: InputErrors with all problems."""
    found = Collector("trace", trace.files[0] if trace.files else trace.format)
    _check_operations(trace, found)
    found.check()
    trace = resolve(trace, found)
    called = instances(trace, found)
    found.check()
    run = _Run(Order(trace, called))
    run.go()
    run.report(found)
    found.check()
    return run.order


def _check_operations(trace: Trace, found: Collector) -> None:
    n = trace.n_ranks
    for rank, ops in enumerate(trace.ranks):
        for index, op in enumerate(ops):
            if index in op.after or index in op.after_start:
                found.add(trace.place(rank, index), "waits for itself", "remove the dependency")
            if op.kind in {Kind.SEND, Kind.RECV} and not (0 <= op.peer < n or (op.kind is Kind.RECV and op.peer == -1)):
                found.add(trace.place(rank, index), f"its peer is rank {op.peer}; the trace has ranks 0 to {n - 1}",
                          "correct the rank, or add the missing ranks")  # fmt: skip


class _Run:
    """The events."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.trace = order.trace
        self.missing = [[len(op.after) + len(op.after_start) for op in ops] for ops in self.trace.ranks]
        self.after: dict[Node, list[int]] = defaultdict(list)
        self.after_start: dict[Node, list[int]] = defaultdict(list)
        for rank, ops in enumerate(self.trace.ranks):
            for index, op in enumerate(ops):
                for earlier in op.after:
                    self.after[rank, earlier].append(index)
                for earlier in op.after_start:
                    self.after_start[rank, earlier].append(index)
        self.started: set[Node] = set()
        self.done: set[Node] = set()
        self.now_ps = 0
        self.ends: list[tuple[int, int, int]] = []
        self.waiting: dict[tuple[int, int], list[int]] = defaultdict(list)
        self.busy: set[tuple[int, int]] = set()
        self.idle: set[tuple[int, int]] = set()
        """Streams that may have a computation to begin."""
        self.last: dict[tuple[int, int], int] = {}
        self.sent: dict[Channel, deque[Node]] = defaultdict(deque)
        self.posted: dict[Channel, deque[Node]] = defaultdict(deque)
        self.instance_of = {
            (rank, index): which
            for which in order.instances
            for rank, index in zip(which.members, which.indices, strict=True)
        }
        self.never: dict[tuple[Kind, int, int, int], Node] | None = None
        self.here: dict[int, list[Node]] = defaultdict(list)

    def go(self) -> None:
        """Until nothing can happen any more."""
        ready = deque(
            (rank, index)
            for rank, missing in enumerate(self.missing)
            for index, n_missing in enumerate(missing)
            if not n_missing
        )
        while True:
            while ready:
                ready.extend(self._start(ready.popleft()))
            ready.extend(self._begin_computations())
            if ready:
                continue
            if not self.ends:
                break
            self.now_ps = self.ends[0][0]
            while self.ends and self.ends[0][0] == self.now_ps:
                _, rank, index = heapq.heappop(self.ends)
                stream = (rank, self.trace.ranks[rank][index].stream)
                self.busy.discard(stream)
                self.idle.add(stream)
                ready.extend(self._end((rank, index)))
        self.order.n_done = len(self.done)
        self.order.computing_ps = self.now_ps

    def _released(self, rank: int, indices: list[int]) -> Iterator[Node]:
        for index in indices:
            self.missing[rank][index] -= 1
            if not self.missing[rank][index]:
                yield rank, index

    def _end(self, node: Node) -> Iterator[Node]:
        self.done.add(node)
        yield from self._released(node[0], self.after.get(node, []))

    def _start(self, node: Node) -> Iterator[Node]:
        rank, index = node
        op = self.trace.ranks[rank][index]
        if op.kind is Kind.COMPUTE and op.duration_ps:
            heapq.heappush(self.waiting[rank, op.stream], index)
            self.idle.add((rank, op.stream))
            return
        self.started.add(node)
        yield from self._released(rank, self.after_start.get(node, []))
        if op.kind is Kind.COMPUTE:
            yield from self._end(node)
        elif op.kind is Kind.SEND:
            yield from self._end(node)
            yield from self._matched((rank, op.peer, op.tag), self.sent, self.posted, node)
        elif op.kind is Kind.RECV:
            yield from self._matched((op.peer, rank, op.tag), self.posted, self.sent, node)
        else:
            yield from self._member(node)

    def _matched(
        self, channel: Channel, mine: dict[Channel, deque[Node]], theirs: dict[Channel, deque[Node]], node: Node
    ) -> Iterator[Node]:
        if not theirs.get(channel):
            mine[channel].append(node)
            return
        other = theirs[channel].popleft()
        receive, send = (node, other) if mine is self.posted else (other, node)
        self.order.sender_of[receive] = send
        yield from self._end(receive)

    def _member(self, node: Node) -> Iterator[Node]:
        which = self.instance_of[node]
        here = self.here[id(which)]
        here.append(node)
        root_here = any(rank == which.root for rank, _ in here)
        all_here = len(here) == len(which.members)
        if which.operation in FROM_ROOT:
            ends = here if root_here and node[0] == which.root else [node] if root_here else []
        elif which.operation in TO_ROOT:
            ends = [] if node[0] == which.root else [node]
            ends += [it for it in here if it[0] == which.root] if all_here else []
        else:
            ends = here if all_here else []
        for end in ends:
            yield from self._end(end)

    def _begin_computations(self) -> Iterator[Node]:
        idle = sorted(self.idle)
        self.idle.clear()
        for stream in idle:
            if stream in self.busy or not self.waiting[stream]:
                continue
            rank = stream[0]
            index = heapq.heappop(self.waiting[stream])
            op = self.trace.ranks[rank][index]
            before = self.last.get(stream)
            if before is not None and before not in op.after:
                self.order.stream_before[rank, index] = before
            self.last[stream] = index
            self.busy.add(stream)
            self.started.add((rank, index))
            heapq.heappush(self.ends, (self.now_ps + op.duration_ps, rank, index))
            yield from self._released(rank, self.after_start.get((rank, index), []))

    def report(self, found: Collector) -> None:
        """What was not carried out, by its cause."""
        trace = self.trace
        for (source, destination, tag), nodes in self.sent.items():
            for node in nodes:
                if not self._unstarted(Kind.RECV, source, destination, tag):
                    found.add(trace.place(*node), f"no receive takes this message, to rank {destination}, tag {tag}",
                              f"add one from rank {source} at rank {destination}, or remove the send")  # fmt: skip
        for (source, destination, tag), nodes in self.posted.items():
            for node in nodes:
                if not self._unstarted(Kind.SEND, source, destination, tag):
                    found.add(trace.place(*node), f"no message from rank {source} with tag {tag} is left for it",
                              f"add a send to rank {destination} at rank {source}, or remove the receive")  # fmt: skip
        for receive, send in self.order.sender_of.items():
            sent, taken = self._op(send).size_bytes, self._op(receive).size_bytes
            if taken < sent:
                found.add(trace.place(*receive), f"takes {taken:,} B, but its message from rank {send[0]} has "
                          f"{sent:,} B", "give both the same size")  # fmt: skip
        if not found.n and self.order.n_done < trace.n_operations:
            cycle = self._cycle()
            never = trace.n_operations - self.order.n_done
            shown = " waits for ".join(trace.place(*node) for node in cycle[:6])
            found.add(
                trace.place(*cycle[0]),
                f"{never:,} operations never begin, because {len(cycle)} wait for each other: {shown}"
                + (" ..." if len(cycle) > 6 else f" waits for {trace.place(*cycle[0])}"),
                "remove one of the dependencies",
            )

    def _op(self, node: Node) -> Op:
        return self.trace.ranks[node[0]][node[1]]

    def _unstarted(self, kind: Kind, source: int, destination: int, tag: int) -> Node | None:
        """An operation that never begins and could be the other half."""
        if self.never is None:
            self.never = {}
            for rank, ops in enumerate(self.trace.ranks):
                for index, op in enumerate(ops):
                    if op.kind in {Kind.SEND, Kind.RECV} and (rank, index) not in self.started:
                        ends = (rank, op.peer) if op.kind is Kind.SEND else (op.peer, rank)
                        self.never.setdefault((op.kind, *ends, op.tag), (rank, index))
        return self.never.get((kind, source, destination, tag))

    def _cycle(self) -> list[Node]:
        rank, index = next(
            (rank, index)
            for rank, ops in enumerate(self.trace.ranks)
            for index in range(len(ops))
            if (rank, index) not in self.done
        )
        walk: list[Node] = [(rank, index)]
        seen = {walk[0]: 0}
        while True:
            node = self._blocker(walk[-1])
            if node in seen:
                return walk[seen[node] :]
            seen[node] = len(walk)
            walk.append(node)

    def _blocker(self, node: Node) -> Node:
        """One operation without which this one is not done."""
        rank = node[0]
        op = self._op(node)
        for earlier in op.after:
            if (rank, earlier) not in self.done:
                return rank, earlier
        for earlier in op.after_start:
            if (rank, earlier) not in self.started:
                return rank, earlier
        if op.kind is Kind.RECV:
            send = self._unstarted(Kind.SEND, op.peer, rank, op.tag)
            return send if send is not None else node
        if op.kind is Kind.COLLECTIVE:
            which = self.instance_of[node]
            return next(
                (it for it in zip(which.members, which.indices, strict=True) if it not in self.started and it != node),
                node,
            )
        return node

"""Transfers become a trace: single messages, and the collective operations that fold.py found.

Every message is a send and a receive with its number as tag; computations and delays stay computations. Messages of 0
bytes are not sent (collectives/transfers.py), so they become joins at the sender.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from fabric.collectives.transfers import Event, Transfers, expand
from fabric.errors import InputErrors, Problem
from fabric.traces.fold import Call
from fabric.traces.graph import ALL_RANKS, MAX_OPERATIONS, Kind, Op, Trace

MAX_STREAMS = 256
"""GOAL has 8 bits for the number of a CPU."""


@dataclass
class _Draft:
    """An operation whose dependencies are still being collected."""

    kind: Kind
    duration_ps: int = 0
    size_bytes: int = 0
    peer: int = -1
    tag: int = 0
    after: set[int] = field(default_factory=set)
    after_start: set[int] = field(default_factory=set)
    call: Call | None = None


@dataclass
class _Message:
    """Indices of a message's operations in the lists of its ranks."""

    begin: int
    """First operation at the source."""
    send: int
    """SEND, or the computation, at the source."""
    receive: int | None
    """RECV at the destination; None: a computation, or an empty message."""


def unfold(
    transfers: Transfers, n_ranks: int, source: str = "transfers", calls: Mapping[int, Call] = MappingProxyType({})
) -> Trace:
    """One operation for each message end and each computation, and for each row of `calls` a collective operation.

    Raises: InputErrors where there would be too many operations, or too many computations side by side.
    """
    if 2 * transfers.n_messages > MAX_OPERATIONS:
        text = f"would become more than {MAX_OPERATIONS:,} operations"
        raise InputErrors("trace", [Problem(source, text, "write a shorter trace, or fewer ranks")])
    full = expand(transfers)
    drafts: list[list[_Draft]] = [[] for _ in range(n_ranks)]
    messages: list[_Message] = []
    arrived: list[int | None] = []
    """For each message the RECV that tells its destination of it: its own, or of the last one that was sent."""
    for number, (row, k, size) in enumerate(
        zip(full.transfer.tolist(), full.index.tolist(), full.size_bytes.tolist(), strict=True)
    ):
        src, dst = int(transfers.src[row]), int(transfers.dst[row])
        here = drafts[src]
        begin = len(here)
        delay_ps = int(transfers.delay_ps[row]) + size * int(transfers.delay_fs_per_byte[row]) // 1000
        start_ps = int(transfers.start_ps[row]) if k == 0 else 0
        if start_ps:
            here.append(_Draft(Kind.COMPUTE, start_ps))
        if row in calls:
            here.append(_Draft(Kind.COLLECTIVE, call=calls[row]))
        elif src == dst or size == 0:
            here.append(_Draft(Kind.COMPUTE, delay_ps if src == dst else 0))
        else:
            if delay_ps:
                here.append(_Draft(Kind.COMPUTE, delay_ps))
            here.append(_Draft(Kind.SEND, size_bytes=size, peer=dst, tag=number))
        send = len(here) - 1
        first = begin + bool(start_ps)  # what the needs hold back
        if start_ps:
            here[first].after.add(begin)
        if send > first:
            here[send].after.add(first)
        receive = None
        if here[send].kind is Kind.SEND:
            receive = len(drafts[dst])
            drafts[dst].append(_Draft(Kind.RECV, size_bytes=size, peer=src, tag=number))
        if k:  # message k is posted, or computed, once message k-1 was
            before = messages[-1].send
            (here[first].after if src == dst else here[first].after_start).add(before)
        messages.append(_Message(first, send, receive))
        arrived.append(receive if receive is not None or k == 0 else arrived[-1])
    for earlier, later, event in full.after:
        target = drafts[int(transfers.src[full.transfer[later]])][messages[later].begin]
        if event is Event.POSTED:
            target.after_start.add(messages[earlier].send)
        elif event is Event.COMPLETED:
            target.after.add(messages[earlier].send)
        elif arrived[earlier] is not None:
            target.after.add(int(arrived[earlier] or 0))
    groups = _group_names(calls, n_ranks)
    ranks = [_finished(here, source, rank, groups) for rank, here in enumerate(drafts)]
    return Trace(ranks, "transfers", [source], groups={name: it for it, name in groups.items() if name != ALL_RANKS})


def _group_names(calls: Mapping[int, Call], n_ranks: int) -> dict[tuple[int, ...], str]:
    """Ranks -> name: numbers from 1, as PyTorch names groups."""
    names = {tuple(range(n_ranks)): ALL_RANKS}
    for call in calls.values():
        names.setdefault(call.ranks, str(len(names)))
    return names


def _finished(drafts: list[_Draft], source: str, rank: int, groups: Mapping[tuple[int, ...], str]) -> list[Op]:
    """The operations, with computations that may overlap in different streams."""
    streams = _streams(drafts)
    if max(streams, default=0) >= MAX_STREAMS:
        text = f"has more than {MAX_STREAMS} computations that may overlap"
        raise InputErrors("trace", [Problem(f"{source}: rank {rank}", text, "give the schedule no delays")])
    ops = []
    for index, (it, stream) in enumerate(zip(drafts, streams, strict=True)):
        after, after_start = tuple(sorted(it.after)), tuple(sorted(it.after_start - it.after))
        if it.call is not None:
            ops.append(Op(it.kind, after, after_start, size_bytes=it.call.size_bytes, operation=it.call.operation,
                          group=groups[it.call.ranks], root=it.call.root, number=index))  # fmt: skip
        else:
            ops.append(Op(it.kind, after, after_start, it.duration_ps, it.size_bytes, it.peer, it.tag, stream,
                          number=index))  # fmt: skip
    return ops


def _computes(draft: _Draft) -> bool:
    return draft.kind is Kind.COMPUTE and draft.duration_ps > 0


def _streams(drafts: list[_Draft]) -> list[int]:
    """A stream for each operation: a computation continues the stream of one that it directly waits for, through joins
    and messages of its rank, or takes another one.

    What waits for the begin of a message, of a join or of a collective operation waits for all that these wait for.
    """
    streams = [0] * len(drafts)
    behind: dict[int, list[int]] = defaultdict(list)
    missing = [len(it.after | it.after_start) for it in drafts]
    for index, it in enumerate(drafts):
        for earlier in it.after | it.after_start:
            behind[earlier].append(index)
    # The last computation before each operation, on any of its ways, whose stream it may continue.
    carried: list[int | None] = [None] * len(drafts)
    continued: set[int] = set()
    n_streams = 0
    ready = [index for index, n in enumerate(missing) if not n]
    while ready:
        index = ready.pop()
        it = drafts[index]
        free = [
            last
            for earlier in sorted(it.after | {other for other in it.after_start if not _computes(drafts[other])})
            if (last := carried[earlier]) is not None and last not in continued
        ]  # fmt: skip
        carried[index] = free[0] if free else None
        if _computes(it):
            if free:
                continued.add(free[0])
                streams[index] = streams[free[0]]
            else:
                streams[index] = n_streams
                n_streams += 1
            carried[index] = index
        for later in behind[index]:
            missing[later] -= 1
            if not missing[later]:
                ready.append(later)
    return streams

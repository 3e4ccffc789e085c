"""Receives from any source or with any tag: replaced by the one message that is left for them, or refused.

Which message such a receive takes is decided when it runs, by the order of arrival. A schedule cannot say that, so only
receives are supported for which one source and tag remain once all other receives have theirs.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from fabric.traces.graph import ANY, Collector, Kind, Trace


def resolve(trace: Trace, found: Collector) -> Trace:
    """The same trace without ANY; what has more than one candidate, or none, is reported."""
    left: dict[int, Counter[tuple[int, int]]] = {}
    open_: list[tuple[int, int]] = []
    for rank, ops in enumerate(trace.ranks):
        for index, op in enumerate(ops):
            if op.kind is Kind.SEND:
                left.setdefault(op.peer, Counter())[rank, op.tag] += 1
            elif op.kind is Kind.RECV and ANY in {op.peer, op.tag}:
                open_.append((rank, index))
    if not open_:
        return trace
    for rank, ops in enumerate(trace.ranks):
        for op in ops:
            if op.kind is Kind.RECV and ANY not in {op.peer, op.tag} and rank in left:
                left[rank][op.peer, op.tag] -= 1
    ranks = [list(ops) for ops in trace.ranks]
    while open_:
        still = []
        for rank, index in open_:
            channels = _candidates(trace, rank, index, left)
            if len(channels) == 1:
                (source, tag) = channels[0]
                left[rank][source, tag] -= 1
                ranks[rank][index] = replace(ranks[rank][index], peer=source, tag=tag)
            else:
                still.append((rank, index))
        if len(still) == len(open_):
            break
        open_ = still
    else:
        return replace(trace, ranks=ranks)
    for rank, index in open_:
        channels = _candidates(trace, rank, index, left)
        some = ", ".join(f"rank {source} tag {tag}" for source, tag in channels[:4])
        found.add(
            trace.place(rank, index),
            f"a receive from any source or with any tag has {len(channels)} candidates ({some})"
            if channels
            else "a receive from any source or with any tag has no message left",
            "name the source and the tag: which message it takes is decided at run time",
        )
    return replace(trace, ranks=ranks)


def _candidates(
    trace: Trace, rank: int, index: int, left: dict[int, Counter[tuple[int, int]]]
) -> list[tuple[int, int]]:
    op = trace.ranks[rank][index]
    return [
        (source, tag)
        for (source, tag), n in left.get(rank, Counter()).items()
        if n > 0 and op.peer in {ANY, source} and op.tag in {ANY, tag}
    ]

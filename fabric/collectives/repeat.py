"""A schedule several times, one after another at each rank: the steps of a job."""

from __future__ import annotations

import numpy as np

from fabric.collectives.transfers import Event, TransferList, Transfers


def repeated(one: Transfers, n_ranks: int, times: int, n_operations: int) -> Transfers:
    """The schedule `times` times. Time k has the operations k (n_operations + 1) and up, the last of them its end.

    A rank begins the next time when all that it sends was acknowledged, all that it receives has arrived, and all that
    it computes is done. Ranks do not wait for each other otherwise. `start_ps` holds for the first time only.
    """
    if times == 1 or not len(one):
        return one
    begins = np.ones(len(one), np.bool_)
    # A row that waits for its own rank's work in this schedule begins after the rows without such a need.
    binding = (np.minimum(one.lead + one.per * (one.count[one.later] - 1), one.count[one.earlier]) > 0) & (one.lead > 0)
    own = binding & (one.src[one.earlier] == one.src[one.later])
    begins[one.later[own]] = False
    out = TransferList()
    ends: list[int] = []
    for number in range(times):
        base = _append(out, one, number * (n_operations + 1), is_first=number == 0)
        for row in np.flatnonzero(begins).tolist() if number else ():
            out.need(ends[int(one.src[row])], base + row, event=Event.COMPLETED)
        ends = _ends(out, one, base, n_ranks, number * (n_operations + 1) + n_operations)
    return out.build()


def _append(out: TransferList, one: Transfers, first_operation: int, *, is_first: bool) -> int:
    base = len(out.rows)
    for row in range(len(one)):
        out.add(
            int(one.src[row]),
            int(one.dst[row]),
            int(one.count[row]),
            small_bytes=int(one.small_bytes[row]),
            unit_bytes=int(one.unit_bytes[row]),
            n_longer=int(one.n_longer[row]),
            first=int(one.first[row]),
            stride=int(one.stride[row]),
            modulus=int(one.modulus[row]),
            start_ps=int(one.start_ps[row]) if is_first else 0,
            delay_ps=int(one.delay_ps[row]),
            delay_fs_per_byte=int(one.delay_fs_per_byte[row]),
            operation=int(one.operation[row]) + first_operation,
        )
    for earlier, later, lead, per, event in zip(
        one.earlier.tolist(), one.later.tolist(), one.lead.tolist(), one.per.tolist(), one.event.tolist(), strict=True
    ):
        out.need(earlier + base, later + base, lead=lead, per=per, event=Event(event))
    return base


def _ends(out: TransferList, one: Transfers, base: int, n_ranks: int, operation: int) -> list[int]:
    """For each rank a computation without duration, behind all its transfers."""
    ends = [out.add(rank, rank, operation=operation) for rank in range(n_ranks)]
    for row in range(len(one)):
        src, dst, count = int(one.src[row]), int(one.dst[row]), int(one.count[row])
        out.need(base + row, ends[src], lead=count, event=Event.COMPLETED)
        if dst != src:
            out.need(base + row, ends[dst], lead=count, event=Event.ARRIVED)
    return ends

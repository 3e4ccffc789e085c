"""Builders of schedules and a small network for tests of traces."""

from __future__ import annotations

from collections import defaultdict

from fabric.collectives.transfers import Event, TransferList, Transfers, expand


def build(operation: str, n_ranks: int, size_bytes: int, node_size: int = 1) -> Transfers:
    """Ring for all-reduce, reduce-scatter and all-gather, direct for the others; blocks as equal as bytes allow."""
    del node_size
    n, rows = n_ranks, TransferList()
    small, longer = divmod(size_bytes, n)
    shape = {"small_bytes": small, "unit_bytes": 1, "n_longer": longer, "modulus": n}
    if n == 1:
        return rows.build()
    if operation in {"all-reduce", "reduce-scatter", "all-gather"}:
        # Rank r owns chunk r + shift after the first half: of a reduce-scatter alone its own.
        shift = 1 if operation == "all-reduce" else 0
        reduce = (
            [rows.add(r, (r + 1) % n, n - 1, first=(r + shift - 1) % n, stride=-1, **shape) for r in range(n)]
            if operation != "all-gather"
            else []
        )
        gather = (
            [rows.add(r, (r + 1) % n, n - 1, first=(r + shift) % n, stride=-1, **shape) for r in range(n)]
            if operation != "reduce-scatter"
            else []
        )
        for r in range(n):
            if reduce:
                rows.need(reduce[r - 1], reduce[r], lead=0, per=1)
            if gather:
                rows.need(gather[r - 1], gather[r], lead=0, per=1)
            if reduce and gather:
                rows.need(reduce[r - 1], gather[r], lead=n - 1)
    elif operation == "all-to-all":
        for r in range(n):
            for away in range(1, n):
                to = (r + away) % n
                rows.add(r, to, first=to, **shape)
    elif operation in {"broadcast", "reduce"}:
        for r in range(1, n):
            rows.add(*((0, r) if operation == "broadcast" else (r, 0)), small_bytes=size_bytes)
    else:
        for r in range(1, n):
            rows.add(*((0, r) if operation == "scatter" else (r, 0)), first=r, **shape)
    return rows.build()


def carry_out(transfers: Transfers, latency_ps: int = 1_000_000, ps_per_byte: int = 20) -> list[int]:
    """End of each message in ps, in the order of `expand`, where no two messages share a link.

    Raises: AssertionError where some message never begins.
    """
    full = expand(transfers)
    needs: dict[int, list[tuple[int, Event]]] = defaultdict(list)
    for earlier, later, event in full.after:
        needs[later].append((earlier, event))
    n = len(full.size_bytes)
    posted: list[int | None] = [None] * n
    arrived: list[int] = [0] * n
    completed: list[int] = [0] * n
    left = list(range(n))
    while left:
        still = []
        for i in left:
            row, k, size = int(full.transfer[i]), int(full.index[i]), int(full.size_bytes[i])
            before = posted[i - 1] if k else 0
            if before is None or any(posted[earlier] is None for earlier, _ in needs[i]):
                still.append(i)
                continue
            times = {Event.ARRIVED: arrived, Event.COMPLETED: completed, Event.POSTED: posted}
            start = max([before, int(transfers.start_ps[row]), *(times[event][e] or 0 for e, event in needs[i])])
            at = start + int(transfers.delay_ps[row]) + size * int(transfers.delay_fs_per_byte[row]) // 1000
            posted[i] = at
            local = transfers.src[row] == transfers.dst[row]
            if local:
                arrived[i] = completed[i] = at
            elif size:
                arrived[i] = at + latency_ps + size * ps_per_byte
                completed[i] = arrived[i] + latency_ps
            else:
                arrived[i] = arrived[i - 1] if k else 0
                completed[i] = at
        assert len(still) < len(left), f"{len(left)} messages never begin"
        left = still
    return [max(it) for it in zip(arrived, completed, strict=True)]

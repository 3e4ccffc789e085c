"""What a table of transfers amounts to before it runs: messages and bytes of each, and transfers that never finish."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fabric.collectives.transfers import Transfers
from fabric.dataplane.state.params import EngineParams

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Totals:
    """Columns (n,), row = transfer. Computations send nothing."""

    messages: Ints
    """Messages that are sent: not empty."""
    size_bytes: Ints
    packets: Ints


def totals(rows: Transfers, payload_bytes: int | Ints) -> Totals:
    """Messages, bytes and packets of each transfer; `payload_bytes` of a full packet, of all or (n,) of each."""
    longer = longer_messages(rows)
    sent = rows.src != rows.dst
    parts = ((longer, rows.small_bytes + rows.unit_bytes), (rows.count - longer, rows.small_bytes))
    found = np.zeros((3, len(rows)), np.int64)
    for number, size in parts:
        found += np.where(sent, number, 0) * np.array([size > 0, size, -(-size // payload_bytes)])
    return Totals(*found)


def pair_bytes(params: EngineParams) -> Ints:
    """(n_qps,) payload that each queue pair carries in the whole run."""
    messages, transfers = params.messages, params.transfers
    found = np.zeros(len(params.queue_pairs.src), np.int64)
    np.add.at(found, messages.qp, messages.size_bytes)
    sent = transfers.qp >= 0
    np.add.at(found, transfers.qp[sent], totals(transfers.rows, 1).size_bytes[sent])
    return found


def longer_messages(rows: Transfers) -> Ints:
    """(n,) messages of each transfer that have the additional unit."""
    found = np.zeros(len(rows), np.int64)
    if (rows.n_longer > 0).any():
        from fabric.dataplane.state.schedule_kernels import count_longer  # noqa: PLC0415  loads the compiler

        count, _, n_longer, first, stride, modulus = _series(rows)
        count_longer(count, n_longer, first, stride, modulus, found)
    return found


def unfinished(rows: Transfers) -> Ints:
    """Transfers that can never finish although everything posted arrives: they wait for each other, or for one that
    does. (u,) rows, ascending; empty if there are none.

    Needs are taken in turns until none can go on, several messages of a transfer at once.
    """
    n, m = len(rows), len(rows.earlier)
    if not n or not m:
        return np.empty(0, np.int64)
    from fabric.dataplane.state.schedule_kernels import finish  # noqa: PLC0415  loads the compiler

    by_later, by_earlier = np.argsort(rows.later, kind="stable"), np.argsort(rows.earlier, kind="stable")
    first_need = np.searchsorted(rows.later[by_later], np.arange(n + 1))
    first_wake = np.searchsorted(rows.earlier[by_earlier], np.arange(n + 1))
    needs = np.stack([rows.earlier, rows.later, rows.lead, rows.per]).astype(np.int64)
    done, queue, queued = np.zeros(n, np.int64), np.arange(n), np.ones(n, np.uint8)
    local = (rows.src == rows.dst).astype(np.int64)
    finish(*_series(rows), local, needs, by_later, first_need, by_earlier, first_wake, done, queue, queued)
    return np.flatnonzero(done < rows.count)


def cycle_of(rows: Transfers, stuck: Ints) -> list[int]:
    """A shortest-lead cycle among transfers of `unfinished`: each needs the one before it, the first the last."""
    waits = set(stuck.tolist())
    needs: dict[int, int] = {}
    for earlier, later in zip(rows.earlier.tolist(), rows.later.tolist(), strict=True):
        if earlier in waits and later in waits:
            needs.setdefault(later, earlier)
    at, seen = int(stuck[0]), dict[int, int]()
    while at not in seen:
        seen[at] = len(seen)
        at = needs[at]
    return [row for row, place in seen.items() if place >= seen[at]]


def _series(rows: Transfers) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints]:
    modulus = rows.modulus
    first, stride = rows.first % modulus, rows.stride % modulus
    return _own(rows.count), _own(rows.small_bytes), _own(rows.n_longer), _own(first), _own(stride), _own(modulus)


def _own(column: Ints) -> Ints:
    return np.ascontiguousarray(column, np.int64)

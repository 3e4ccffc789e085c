"""Transfers of collective operations become one row at each rank: what formats with collective operations hold.

The opposite of lower.py. A collective operation is folded where its transfers are known to be one: operation and size
are given, its ranks are those that its messages connect, and they send at least what must move. At a rank it begins
when all is done that any of its transfers there waited for; what waited for one of its transfers waits for its end.
Delays of single messages (send latency, reduction), channels and pieces are not in such a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fabric.collectives.transfers import TRANSFER_COLUMNS, Event, OperationGroup, Transfers
from fabric.traces.graph import OPERATIONS, ROOTED
from fabric.traces.lower import minimum_bytes

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Call:
    """One collective operation of a group of ranks."""

    operation: str
    ranks: tuple[int, ...]
    """Ascending."""
    size_bytes: int
    root: int
    number: int
    """Of the operation in the schedule; groups of ranks that carry out the same one share it."""
    algorithm: str = ""


@dataclass(frozen=True)
class Folded:
    """Transfers of which some rows stand for collective operations."""

    transfers: Transfers
    calls: dict[int, Call]
    """Row -> the operation that begins and ends there at the row's rank."""
    has_delays: bool
    """Whether messages of folded operations had delays, which are left out."""


def fold(rows: Transfers, groups: Sequence[OperationGroup], *, equal_shares: bool = False) -> Folded:
    """Fold what can be folded; all other rows stay.

    Parameters
    ----------
    groups : what each operation is, by its number; ranks 0 where it is not known how many take part
    equal_shares : fold an all-gather only where all ranks have shares of one size
    """
    sent = _sent_bytes(rows)
    of_row = np.full(len(rows), -1, np.int64)
    calls: list[Call] = []
    order = np.argsort(rows.operation, kind="stable")
    bounds = np.searchsorted(rows.operation[order], np.arange(len(groups) + 1))
    for number, group in enumerate(groups):
        if group.operation not in OPERATIONS or not group.size_bytes:
            continue
        mine = order[bounds[number] : bounds[number + 1]]
        for ranks in _connected(rows, mine):
            inside = mine[np.isin(rows.src[mine], ranks)]
            call = _call(rows, inside, ranks, (number, group), int(sent[inside].sum()))
            if call is None or (equal_shares and call.operation == "all-gather" and call.size_bytes % len(ranks)):
                continue
            of_row[inside] = len(calls)
            calls.append(call)
    return _replaced(rows, of_row, calls)


def _sent_bytes(rows: Transfers) -> Ints:
    """(n,) bytes of the messages of each row."""
    sent = rows.small_bytes * rows.count
    uneven = np.flatnonzero((rows.unit_bytes > 0) & (rows.n_longer > 0))
    for row in uneven.tolist():
        sent[row] = rows.sizes_bytes(row).sum()
    return np.asarray(sent, np.int64)


def _connected(rows: Transfers, mine: Ints) -> Iterator[list[int]]:
    """Sets of ranks that messages of these rows connect, each ascending."""
    leader: dict[int, int] = {}

    def first(rank: int) -> int:
        leader.setdefault(rank, rank)
        while leader[rank] != rank:
            leader[rank] = leader[leader[rank]]
            rank = leader[rank]
        return rank

    crossing = mine[rows.src[mine] != rows.dst[mine]]
    for src, dst in np.unique(np.stack([rows.src[crossing], rows.dst[crossing]]), axis=1).T.tolist():
        low, high = sorted((first(src), first(dst)))
        leader[high] = low
    members: dict[int, list[int]] = {}
    for rank in sorted(leader):
        members.setdefault(first(rank), []).append(rank)
    yield from members.values()


def _call(
    rows: Transfers, inside: Ints, ranks: list[int], what: tuple[int, OperationGroup], sent_bytes: int
) -> Call | None:
    """The operation; None where the rows may be something else."""
    number, group = what
    if group.ranks not in {0, len(ranks)}:
        return None
    if sent_bytes < minimum_bytes(group.operation, len(ranks), group.size_bytes):
        return None
    root = 0
    if group.operation in ROOTED:
        crossing = inside[rows.src[inside] != rows.dst[inside]]
        others = rows.dst[crossing] if group.operation in {"broadcast", "scatter"} else rows.src[crossing]
        alone = sorted(set(ranks) - set(others.tolist()))
        if len(alone) != 1:  # a schedule that sends its root something: which rank is the root is not known
            return None
        root = alone[0]
    return Call(group.operation, tuple(ranks), group.size_bytes, root, number, group.algorithm)


def _replaced(rows: Transfers, of_row: Ints, calls: Sequence[Call]) -> Folded:
    kept = np.flatnonzero(of_row < 0)
    place = np.full(len(rows), -1, np.int64)
    place[kept] = np.arange(len(kept))
    begin: dict[tuple[int, int], int] = {}
    """(call, rank) -> its row."""
    for number, call in enumerate(calls):
        for rank in call.ranks:
            begin[number, rank] = len(kept) + len(begin)
    at = np.array([rank for _, rank in begin], np.int64)
    one, nothing = np.ones(len(at), np.int64), np.zeros(len(at), np.int64)
    fresh = dict.fromkeys(TRANSFER_COLUMNS, nothing) | {"src": at, "dst": at, "count": one, "modulus": one}
    folded = np.flatnonzero(of_row >= 0)
    start = nothing.copy()
    for row in folded[rows.start_ps[folded] > 0].tolist():
        here = begin[int(of_row[row]), int(rows.src[row])] - len(kept)
        start[here] = max(start[here], int(rows.start_ps[row]))
    fresh |= {"start_ps": start, "operation": np.array([number for number, _ in begin], np.int64)}
    columns = {name: np.concatenate([getattr(rows, name)[kept], fresh[name]]) for name in TRANSFER_COLUMNS}
    columns["operation"][: len(kept)] += len(calls)  # numbers of operations mean nothing beyond this module
    needs = np.array(list(_needs(rows, of_row, place, begin)), np.int64).reshape(-1, 5)
    transfers = Transfers(**columns, **dict(zip(("earlier", "later", "lead", "per", "event"), needs.T, strict=True)))
    delayed = bool((rows.delay_ps[folded] > 0).any() or (rows.delay_fs_per_byte[folded] > 0).any())
    return Folded(transfers, {row: calls[number] for (number, _), row in begin.items()}, delayed)


def _needs(
    rows: Transfers, of_row: Ints, place: Ints, begin: dict[tuple[int, int], int]
) -> Iterator[tuple[int, int, int, int, int]]:
    """Needs between what is left, each once."""
    seen: set[tuple[int, int, int, int, int]] = set()
    for earlier, later, lead, per, event in zip(
        rows.earlier.tolist(), rows.later.tolist(), rows.lead.tolist(), rows.per.tolist(), rows.event.tolist(),
        strict=True,
    ):  # fmt: skip
        before, after = int(of_row[earlier]), int(of_row[later])
        if before == after >= 0:
            continue
        if before < 0 and after < 0:
            yield int(place[earlier]), int(place[later]), lead, per, event
            continue
        rank = int(rows.src[later])
        most = max(lead, lead + per * (int(rows.count[later]) - 1)) if after >= 0 else lead
        row = int(place[earlier])
        if before >= 0:
            row, most, per, event = begin[before, rank], int(lead > 0 or per > 0), 0, int(Event.COMPLETED)  # noqa: PLW2901
        found = (row, begin[after, rank] if after >= 0 else int(place[later]), most, 0 if after >= 0 else per, event)
        if found[2] > 0 and found not in seen:
            seen.add(found)
            yield found

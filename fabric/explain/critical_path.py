"""The critical path of a schedule of transfers: from the last arrival back to the beginning, without a gap.

A message was ready when the last of these happened at the rank that posts it: a message that it needs arrived, was
acknowledged, computed or posted; the message before it in its transfer was posted; its start time came. The path goes
back to that one, so it turns to another rank where a rank waited for it. Every instant between the beginning and the
end is in exactly one stretch: the stretches add up to the duration.

Times are the recorded nanoseconds (rounded down from picoseconds), so the sum is exact in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.collectives.transfers import Event, Transfers

Ints = NDArray[np.int64]
NEVER: Final = -1


class Kind(StrEnum):
    """What one stretch is."""

    COMPUTATION = "computation"
    DELAY = "send latency or reduction"
    """From the last need of a message to its posting (delay_ps, delay_fs_per_byte)."""
    NETWORK = "network"
    """From the posting to the arrival of the last byte."""
    ACKNOWLEDGEMENT = "acknowledgement"
    """From the arrival to the acknowledgement at the sender, where what follows waits for it."""
    START = "start time"
    """Nothing happened: the workload's own start time had not come."""
    UNFINISHED = "not arrived"
    """As NETWORK, of a message that had not arrived at the end of the run."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """One part of the path."""

    kind: Kind
    start_ns: int
    end_ns: int
    row: int
    """Row of Recorded; -1 for START."""


@dataclass(frozen=True)
class Recorded:
    """Messages of transfers as they went, ordered by (transfer, index); columns (n,), NEVER where it did not happen."""

    transfer: Ints
    index: Ints
    size_bytes: Ints
    ready_ns: Ints
    start_ns: Ints
    arrived_ns: Ints
    end_ns: Ints
    retransmits: Ints
    first_row: Ints
    """(n_transfers + 1,) rows of transfer t are first_row[t] to first_row[t + 1]."""

    @classmethod
    def of(cls, columns: Mapping[str, NDArray[Any]], n_transfers: int) -> Recorded:
        """From the columns of transfer_messages.parquet, nulls as NEVER."""
        order = np.lexsort((columns["index"], columns["transfer"]))
        found = {name: np.asarray(values, np.int64)[order] for name, values in columns.items()}
        first = np.searchsorted(found["transfer"], np.arange(n_transfers + 1))
        return cls(first_row=first, **found)

    def __len__(self) -> int:
        return len(self.transfer)


@dataclass(frozen=True)
class Path:
    """The critical path, earliest stretch first."""

    start_ns: int
    end_ns: int
    stretches: tuple[Stretch, ...]
    finished: bool
    """False: the schedule had not ended when the run did."""


def critical_path(
    schedule: Transfers, found: Recorded, chosen: Ints, run_end_ns: int, *, whole: bool, begin_ns: int | None = None
) -> Path:
    """The path of some transfers, from the first moment one of their messages was ready, or from a given time.

    Parameters
    ----------
    schedule   : the transfers, in ranks
    found      : their messages as recorded
    chosen     : (n,) rows of schedule that end the path
    run_end_ns : end of the run
    whole      : every one of these transfers is done
    begin_ns   : end of what came before, such as a step, where the path begins there

    Raises: ValueError where none of the transfers has begun.
    """
    rows = np.flatnonzero(np.isin(found.transfer, chosen))
    if not len(rows):
        raise ValueError("no message of these transfers has been posted")
    begin = int(found.ready_ns[rows].min()) if begin_ns is None else begin_ns
    computes = (schedule.src == schedule.dst)[found.transfer]
    if whole:
        moments = np.where(computes, found.end_ns, found.arrived_ns)[rows]
        last = int(rows[np.argmax(moments)])
        row, stretches, end = last, [], int(moments.max())
        event = Event.COMPLETED if computes[row] else Event.ARRIVED
    else:
        end = run_end_ns
        stuck = np.flatnonzero(~computes & (found.arrived_ns == NEVER))
        if len(stuck):  # the oldest: what was posted later may wait behind it
            row, event = int(stuck[np.argmin(found.start_ns[stuck])]), Event.POSTED
            stretches = [Stretch(Kind.UNFINISHED, int(found.start_ns[row]), end, row)]
            begin = min(begin, int(found.start_ns[row]))
        else:  # a computation, which has no row before its end, or an acknowledgement
            moments = np.where(computes, found.end_ns, found.arrived_ns)[rows]
            row = int(rows[np.argmax(moments)])
            event = Event.COMPLETED if computes[row] else Event.ARRIVED
            stretches = [Stretch(Kind.UNFINISHED, int(moments.max()), end, NEVER)]
    stretches += _back(schedule, found, computes, row, event, begin)
    cut = [
        Stretch(it.kind, max(it.start_ns, begin), it.end_ns, it.row)
        for it in reversed(stretches)
        if it.end_ns > max(it.start_ns, begin)
    ]
    return Path(begin, end, tuple(cut), whole)


def _back(
    schedule: Transfers, found: Recorded, computes: NDArray[np.bool_], row: int, event: Event, begin: int
) -> list[Stretch]:
    """Stretches from an event of a message back to `begin`, latest first."""
    needs = _needs_of(schedule)
    stretches: list[Stretch] = []
    while True:
        ready, start = int(found.ready_ns[row]), int(found.start_ns[row])
        arrived, end = int(found.arrived_ns[row]), int(found.end_ns[row])
        if computes[row]:
            stretches.append(Stretch(Kind.COMPUTATION, ready, end, row))
        else:
            if event is Event.COMPLETED:
                stretches.append(Stretch(Kind.ACKNOWLEDGEMENT, arrived, end, row))
            if event is not Event.POSTED:
                stretches.append(Stretch(Kind.NETWORK, start, arrived, row))
            stretches.append(Stretch(Kind.DELAY, ready, start, row))
        if ready <= begin:
            return stretches
        moment, row, event = _cause(schedule, found, computes, needs, row)
        if moment < ready:  # its start time came last
            stretches.append(Stretch(Kind.START, max(moment, begin), ready, NEVER))
        if row == NEVER or moment <= begin:
            return stretches


def _needs_of(schedule: Transfers) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for need, later in enumerate(schedule.later.tolist()):
        found.setdefault(later, []).append(need)
    return found


def _cause(
    schedule: Transfers, found: Recorded, computes: NDArray[np.bool_], needs: Mapping[int, list[int]], row: int
) -> tuple[int, int, Event]:
    """(time, row, event) of what happened last before a message was ready; (0, NEVER, POSTED) where nothing did."""
    transfer, index = int(found.transfer[row]), int(found.index[row])
    best = (0, NEVER, Event.POSTED)
    if row > found.first_row[transfer]:  # the message before it was posted, or computed
        before = row - 1
        best = (int((found.end_ns if computes[before] else found.start_ns)[before]), before, Event.POSTED)
    for need in needs.get(transfer, ()):
        earlier = int(schedule.earlier[need])
        wanted = min(int(schedule.lead[need]) + int(schedule.per[need]) * index, int(schedule.count[earlier]))
        low, high = int(found.first_row[earlier]), int(found.first_row[earlier + 1])
        place = low + int(np.searchsorted(found.index[low:high], wanted)) - 1
        if place < low:
            continue  # empty messages only: met from the beginning
        event = Event(int(schedule.event[need]))
        column = {Event.ARRIVED: found.arrived_ns, Event.COMPLETED: found.end_ns, Event.POSTED: found.start_ns}[event]
        moment = int(column[place])
        # At the same time what came from another rank says more than the rank's own order.
        if moment >= best[0]:
            best = (moment, place, event)
    return best

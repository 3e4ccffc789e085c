"""Collective operations of a run as metrics: those that are single messages, then those that are transfers.

The rows are the parts of the workload in which all ranks send to each other (RunInfo.collectives), then the classes of
operations of transfers (JobTables.classes).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.counters import Snapshot
from fabric.units import PS_PER_S
from telemetry.catalogue.derive import RunInfo, repetitions
from telemetry.catalogue.jobs import Ints, JobProgress, OperationClass, Values

Floats = NDArray[np.float64]


def classes_of(info: RunInfo) -> list[OperationClass]:
    """One per row."""
    return [*(it.of for it in info.collectives), *(info.jobs.classes if info.jobs is not None else ())]


@dataclass(frozen=True, slots=True)
class Ended:
    """Operations that have ended; columns of equal length."""

    row: Ints
    duration_ps: Floats
    sent_bytes: Floats
    """By all ranks together."""
    bus_bytes: Floats
    """Over the duration: the bus bandwidth."""
    size_bytes: Floats
    """Over the duration: the algorithm bandwidth."""


def ended(snapshot: Snapshot, info: RunInfo, progress: JobProgress) -> Ended:
    """All that have ended by now."""
    row, duration, sent, size = (np.empty(0) for _ in range(4))
    ranks = np.empty(0)
    if info.collectives:
        row, duration, sent = repetitions(snapshot, info)
        ranks = np.array([it.ranks for it in info.collectives])[row.astype(np.int64)]
        size = sent * ranks / np.maximum(ranks - 1, 1)  # of an all-to-all: with the block that stays
    tables, which = progress.tables, progress.ended
    if tables is None:
        return Ended(row.astype(np.int64), duration, sent * ranks, sent, size)
    return Ended(
        np.concatenate([row, tables.class_of[which] + len(info.collectives)]).astype(np.int64),
        np.concatenate([duration, progress.end_ps[which] - progress.begin_ps[which]]),
        np.concatenate([sent * ranks, tables.sent_bytes[which]]),
        np.concatenate([sent, tables.bus_bytes[which]]),
        np.concatenate([size, tables.size_bytes[which]]),
    )


def _sum(of: Callable[[Ended], Floats]) -> Callable[[Snapshot, RunInfo, JobProgress], Values]:
    def total(snapshot: Snapshot, info: RunInfo, progress: JobProgress) -> Values:
        found = ended(snapshot, info, progress)
        return np.bincount(found.row, of(found), len(classes_of(info)))

    return total


def _each(of: Callable[[Ended], Floats]) -> Callable[[Snapshot, RunInfo, JobProgress], tuple[Values, Values]]:
    def observed(snapshot: Snapshot, info: RunInfo, progress: JobProgress) -> tuple[Values, Values]:
        found = ended(snapshot, info, progress)
        return found.row, of(found)

    return observed


def _bandwidth(of: Callable[[Ended], Floats]) -> Callable[[Ended], Floats]:
    return lambda found: of(found) * PS_PER_S / np.maximum(found.duration_ps, 1)


COLLECTIVE_VALUES: Final[Mapping[str, Callable[[Snapshot, RunInfo, JobProgress], Values]]] = {
    "operations()": _sum(lambda it: np.ones(len(it.row))),
    "operations_sent()": _sum(lambda it: it.sent_bytes),
    "operations_bus_bytes()": _sum(lambda it: it.bus_bytes),
    "operations_active_ps()": _sum(lambda it: it.duration_ps),
}
"""(n_classes,) sums."""

COLLECTIVE_OBSERVED: Final[Mapping[str, Callable[[Snapshot, RunInfo, JobProgress], tuple[Values, Values]]]] = {
    "collective_ps()": _each(lambda it: it.duration_ps),
    "collective_busbw()": _each(_bandwidth(lambda it: it.bus_bytes)),
    "collective_algbw()": _each(_bandwidth(lambda it: it.size_bytes)),
}
"""Observations of histograms, as derive.OBSERVED."""

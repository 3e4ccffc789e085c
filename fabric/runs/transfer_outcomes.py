"""Messages of transfers beside the single messages of a workload: how many there are in each state, and their times.

A message is what is handed to a queue pair: a single message, or one of a transfer that has bytes. Computations and
empty messages of transfers are none.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fabric.dataplane.state.types import NO_QP
from fabric.runs import parquet
from fabric.units import PS_PER_NS

if TYPE_CHECKING:  # annotations only: reading results must not load the compiler
    from fabric.dataplane.engine.counters import Snapshot

Ints = NDArray[np.int64]
_COLUMNS = ("transfer", "size_bytes", "start_ns", "end_ns", "state")


@dataclass(frozen=True)
class Completed:
    """Messages of transfers that were completed; columns (n,)."""

    size_bytes: Ints
    fct_ps: Ints
    """From posting to acknowledgement, to the nanosecond."""
    ideal_ps: Ints
    """Alone on an idle fabric; -1: unknown."""
    start_ps: Ints
    """Posting, to the nanosecond."""


def states(now: Snapshot) -> Ints:
    """(4,) messages of transfers by state, in the order of messages.STATES."""
    rows = now.transfers[now.transfers["qp"] != NO_QP]
    total, done, failed = (int(rows[name].sum()) for name in ("n_sent", "done_messages", "failed_messages"))
    posted = int(_posted(rows).sum())
    outstanding = max(posted - done - failed, 0)
    return np.array([total - done - failed - outstanding, outstanding, done, failed], np.int64)


def _posted(rows: NDArray[Any]) -> Ints:
    """(n,) messages with bytes among those that were posted."""
    found = np.where(rows["n_sent"] == rows["count"], rows["posted"], 0).astype(np.int64)
    for row in np.flatnonzero((rows["n_sent"] < rows["count"]) & (rows["n_sent"] > 0)).tolist():
        it = rows[row]
        k = np.arange(int(it["posted"]))
        longer = (int(it["first"]) + int(it["stride"]) * k) % int(it["modulus"]) < int(it["n_longer"])
        found[row] = int((int(it["small_bytes"]) + int(it["unit_bytes"]) * longer > 0).sum())
    return found


def completed(file: Path, now: Snapshot, ideal_ps: Ints) -> Completed:
    """From transfer_messages.parquet.

    Parameters
    ----------
    ideal_ps : (n_transfers, 2)   of a transfer's short and long messages (workload/ideal.py)
    """
    with file.open("rb") as source:
        table = parquet.read(source, _COLUMNS)
    transfer, size = (np.asarray(table[name].combine_chunks()) for name in ("transfer", "size_bytes"))
    start, end = (
        table[name].combine_chunks().fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        for name in ("start_ns", "end_ns")
    )
    done = pc.equal(table["state"].cast(pa.string()), "done").combine_chunks().to_numpy(zero_copy_only=False)
    return _completed(transfer, size, start, end, done, now, ideal_ps)


def completed_of(rows: NDArray[np.void], now: Snapshot, ideal_ps: Ints) -> Completed:
    """From rows of Emulator.drain_messages() (ISSUED_MESSAGE); the same values as from the file, in another order."""
    start, end = (rows[name].astype(np.int64) // PS_PER_NS for name in ("start_ps", "end_ps"))
    done = (rows["end_ps"] >= 0) & (rows["failed"] == 0)
    return _completed(rows["transfer"].astype(np.int64), rows["size_bytes"], start, end, done, now, ideal_ps)


def _completed(
    transfer: Ints,
    size: NDArray[Any],
    start_ns: Ints,
    end_ns: Ints,
    done: NDArray[np.bool_],
    now: Snapshot,
    ideal_ps: Ints,
) -> Completed:
    kept = done & (now.transfers["qp"][transfer] != NO_QP) & (size > 0)
    transfer, size = transfer[kept], size[kept].astype(np.int64)
    long = size > now.transfers["small_bytes"][transfer]
    ideal = ideal_ps[transfer, long.astype(np.int64)] if len(ideal_ps) else np.full(len(size), -1, np.int64)
    start_ns, end_ns = start_ns[kept], end_ns[kept]
    return Completed(size, (end_ns - start_ns) * PS_PER_NS, ideal, start_ns * PS_PER_NS)

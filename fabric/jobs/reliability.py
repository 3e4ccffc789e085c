"""Checkpoints, their interval, failures, and storage.

Sources: Young, CACM 1974, and Daly, FGCS 2006, for the interval; Llama 3 (arXiv 2407.21783), section 3.3.4 and table 5,
for observed failures.
"""

from __future__ import annotations

from math import ceil, sqrt
from typing import Final

SECONDS_PER_DAY: Final = 86_400
BYTES_PER_PARAMETER: Final = 14
"""fp32 weights and two moments, and the 16-bit copy of the weights; 12 without the copy."""


def checkpoint_bytes(n_parameters: int, *, bytes_per_parameter: int = BYTES_PER_PARAMETER) -> int:
    """All state of one replica: the bytes that a checkpoint writes in all."""
    return n_parameters * bytes_per_parameter


def written_bytes_per_day(size_bytes: int, interval_s: float) -> float:
    """Bytes written in a day with a checkpoint every interval."""
    return size_bytes * SECONDS_PER_DAY / interval_s


def writer_bytes(size_bytes: int, ranks: int, replicas: int, *, all_ranks: bool) -> tuple[int, int]:
    """(writers, bytes of each, rounded up): one replica of each cell writes, or every rank 1/replicas of its cell."""
    writers = ranks if all_ranks else ranks // replicas
    return writers, -(-size_bytes // writers)


def restore_bytes(size_bytes: int, replicas: int, *, broadcast: bool = False) -> int:
    """Bytes read from storage to restore: by every replica, unless one reads and broadcasts."""
    return size_bytes if broadcast else size_bytes * replicas


def write_seconds(size_bytes: int, writers: int, nic_bps: int, storage_bytes_per_s: float) -> float:
    """Lower bound of a write: the NICs of the writers, or the storage."""
    return max(size_bytes * 8 / (writers * nic_bps), size_bytes / storage_bytes_per_s)


def checkpoint_stall_seconds(
    size_bytes: int, gpus: int, *, host_copy_bytes_per_s: float, write_s: float, interval_s: float, asynchronous: bool
) -> float:
    """Time in which all ranks wait for one checkpoint.

    Synchronous: the write. Asynchronous: the copy to host memory, and what of the write outlasts the interval.
    """
    if not asynchronous:
        return write_s
    copy = size_bytes / gpus / host_copy_bytes_per_s
    return copy + max(0.0, write_s - (interval_s - copy))


def dataset_bytes_per_step(tokens: int, bytes_per_token: int = 4) -> int:
    """Bytes read from the dataset in a step."""
    return tokens * bytes_per_token


def mean_time_between_failures(seconds: float, failures: int) -> float:
    """Of the whole system, seconds."""
    return seconds / failures


def slot_mtbf_seconds(system_mtbf_s: float, slots: int) -> float:
    """Of one slot; slots fail independently."""
    return system_mtbf_s * slots


def system_mtbf_seconds(slot_mtbf_s: float, slots: int) -> float:
    """Of a system of slots."""
    return slot_mtbf_s / slots


def expected_failures(seconds: float, slot_mtbf_s: float, slots: int) -> float:
    """Mean number of failures."""
    return seconds * slots / slot_mtbf_s


def young_interval(cost_s: float, mtbf_s: float) -> float:
    """Computing time between checkpoints: sqrt(2CM)."""
    return sqrt(2 * cost_s * mtbf_s)


def daly_interval(cost_s: float, mtbf_s: float) -> float:
    """sqrt(2CM)(1 + sqrt(C/2M)/3 + (C/2M)/9) - C where C < 2M, else M (Daly, equation 37)."""
    if cost_s >= 2 * mtbf_s:
        return mtbf_s
    ratio = cost_s / (2 * mtbf_s)
    return sqrt(2 * cost_s * mtbf_s) * (1 + sqrt(ratio) / 3 + ratio / 9) - cost_s


def lost_share(interval_s: float, cost_s: float, mtbf_s: float, restart_s: float = 0.0) -> float:
    """Share of time that is lost, to first order: C/W + (W/2 + R)/M. At most 1."""
    return min(1.0, cost_s / interval_s + (interval_s / 2 + restart_s) / mtbf_s)


def goodput_ratio(interval_s: float, cost_s: float, mtbf_s: float, restart_s: float = 0.0) -> float:
    """1 - lost share."""
    return 1 - lost_share(interval_s, cost_s, mtbf_s, restart_s)


def checkpoints_in(seconds: float, interval_s: float) -> int:
    """Checkpoints of a run of that much computing."""
    return ceil(seconds / interval_s) - 1

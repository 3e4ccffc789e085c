"""Transfers divided over several queue pairs: each message in equal parts, one a queue pair.

NCCL divides so with NCCL_IB_QPS_PER_CONNECTION and NCCL_IB_SPLIT_DATA_ON_QPS (NCCL user guide, environment variables);
Gangidi et al., SIGCOMM 2024, section 4, call it QP scaling. A message is there when all of its parts are.
"""

from __future__ import annotations

import numpy as np

from fabric.collectives.transfers import NEED_COLUMNS, TRANSFER_COLUMNS, Ints, Transfers


def striped(transfers: Transfers, queue_pairs: int) -> Transfers:
    """Every transfer between ranks as `queue_pairs` transfers, side by side in the table; computations stay whole.

    The parts of a message differ by one byte at most. What waited for a message waits for all of its parts, and each
    part of what waited waits by itself.
    """
    if queue_pairs == 1:
        return transfers
    parts = np.where(transfers.src == transfers.dst, 1, queue_pairs)
    first = np.cumsum(parts) - parts
    row = np.repeat(np.arange(len(transfers)), parts)
    part = np.arange(len(row)) - first[row]
    columns = {name: np.asarray(getattr(transfers, name)[row]) for name in TRANSFER_COLUMNS}
    longer = columns["small_bytes"] + columns["unit_bytes"]
    columns["small_bytes"] = _share(columns["small_bytes"], part, parts[row])
    columns["unit_bytes"] = _share(longer, part, parts[row]) - columns["small_bytes"]
    pairs = parts[transfers.earlier] * parts[transfers.later]
    need = np.repeat(np.arange(len(pairs)), pairs)
    turn = np.arange(len(need)) - (np.cumsum(pairs) - pairs)[need]
    needs = {name: getattr(transfers, name)[need] for name in NEED_COLUMNS}
    many = parts[needs["later"]]
    needs["earlier"] = first[needs["earlier"]] + turn // many
    needs["later"] = first[needs["later"]] + turn % many
    return Transfers(**columns, **needs)


def _share(size_bytes: Ints, part: Ints, parts: Ints) -> Ints:
    """Bytes of a part, from 0; the first ones are one byte larger."""
    return np.asarray(size_bytes // parts + (part < size_bytes % parts), np.int64)

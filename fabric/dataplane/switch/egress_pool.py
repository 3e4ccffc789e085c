"""Egress buffer pools in detail: sizes, guarantees, and limits of ports (SAI buffer pools of type egress, SONiC
BUFFER_POOL, BUFFER_QUEUE and BUFFER_PORT_EGRESS_PROFILE_LIST).

Every byte that a switch holds is counted twice: at ingress (buffer.py) and at its egress queue, here. This applies only
where a scenario has options of egress pools. Otherwise the limit of a queue decides alone, and lossless packets are
checked at ingress only, as with SONiC's egress_lossless_profile whose static threshold is the whole memory.

Rules
1. Bytes are counted in whole cells of the frame as it leaves, outer headers included. A queue fills its reserved bytes,
   then shared bytes of its pool up to its limit: static, or 2**dynamic_th * (free bytes of the pool).
2. A port may have a limit in a pool, too, static or dynamic, over the shared bytes of all its queues there.
3. A packet that exceeds a limit or the pool is dropped, lossless or not. The drop reason names the one exceeded: the
   queue's limit, the pool, the port's limit. There is no headroom at egress.
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.state.codes import DropReason
from fabric.dataplane.state.compiled.jit import i64, kernel
from fabric.dataplane.state.types import TX_SIZES, State
from fabric.dataplane.switch import buffer
from fabric.dataplane.switch.forward import switch_row

_QUEUE, _POOL, _PORT = int(DropReason.EGRESS_THRESHOLD), int(DropReason.EGRESS_POOL), int(DropReason.EGRESS_PORT)
u = np.uint32


@kernel
def cells_bytes(state: State, queue: int, size_bytes: int) -> int:
    """Bytes of whole cells that a frame takes at a queue's switch."""
    device = i64(state.ports[queue >> 3]["node"])
    return i64(state.cells[i64(state.switches[switch_row(state, device)]["cells_row"]) * TX_SIZES + size_bytes])


@kernel
def _grown(state: State, queue: int, by_bytes: int) -> int:
    """Change of a queue's shared use when its use grows by by_bytes."""
    row = state.queues[queue]
    use, reserved = i64(row["use_bytes"]), i64(row["reserved_bytes"])
    return max(use + by_bytes - reserved, 0) - max(use - reserved, 0)


@kernel
def _limit(static_bytes: int, free_bytes: int, shift: int) -> int:
    if static_bytes >= 0:
        return static_bytes
    return buffer.scaled(free_bytes, shift)


@kernel
def refusal(state: State, queue: int, size_bytes: int) -> int:
    """The DropReason for which a queue has no room for a frame, or buffer.ADMITTED. Changes nothing."""
    row = state.queues[queue]
    pool = state.pools[row["pool"]]
    charged = cells_bytes(state, queue, size_bytes)
    free_bytes = i64(pool["size_bytes"]) - i64(pool["used_bytes"])
    grown = _grown(state, queue, charged)
    shared = max(i64(row["use_bytes"]) + charged - i64(row["reserved_bytes"]), 0)
    if shared > _limit(i64(row["limit_bytes"]), free_bytes, i64(row["shift"])):
        return _QUEUE
    if grown > free_bytes:
        return _POOL
    if row["share"] != 0:
        share = state.shares[row["share"]]
        if i64(share["used_bytes"]) + grown > _limit(i64(share["limit_bytes"]), free_bytes, i64(share["shift"])):
            return _PORT
    return buffer.ADMITTED


@kernel
def peak(state: State, queue: int, size_bytes: int) -> None:
    """Raise the watermarks for a frame that passes through without waiting."""
    row = state.queues[queue]
    pool = state.pools[row["pool"]]
    grown = _grown(state, queue, cells_bytes(state, queue, size_bytes))
    used = i64(pool["used_bytes"]) + grown
    pool["watermark_bytes"] = max(i64(pool["watermark_bytes"]), used)
    pool["peak_bytes"] = max(i64(pool["peak_bytes"]), used)
    if row["share"] != 0:
        share = state.shares[row["share"]]
        share["peak_bytes"] = max(i64(share["peak_bytes"]), i64(share["used_bytes"]) + grown)


@kernel
def take(state: State, queue: int, size_bytes: int) -> None:
    """Account a frame that joins a queue."""
    row = state.queues[queue]
    peak(state, queue, size_bytes)
    charged = cells_bytes(state, queue, size_bytes)
    grown = _grown(state, queue, charged)
    state.pools[row["pool"]]["used_bytes"] += grown
    if row["share"] != 0:
        state.shares[row["share"]]["used_bytes"] += grown
    row["use_bytes"] += charged


@kernel
def give(state: State, queue: int, size_bytes: int) -> None:
    """Release the bytes of a frame that leaves its queue."""
    row = state.queues[queue]
    charged = cells_bytes(state, queue, size_bytes)
    grown = _grown(state, queue, -charged)
    state.pools[row["pool"]]["used_bytes"] += grown
    if row["share"] != 0:
        state.shares[row["share"]]["used_bytes"] += grown
    row["use_bytes"] -= charged


@kernel
def use_at(state: State, queue: int, reason: int) -> int:
    """Bytes in use where a refusal for a reason of rule 3 was decided."""
    row = state.queues[queue]
    if reason == _POOL:
        return i64(state.pools[row["pool"]]["used_bytes"])
    if reason == _PORT:
        return i64(state.shares[row["share"]]["used_bytes"])
    return max(i64(row["use_bytes"]) - i64(row["reserved_bytes"]), 0)


@kernel
def limit_at(state: State, queue: int, reason: int) -> int:
    """The limit that use_at() was compared with."""
    row = state.queues[queue]
    pool = state.pools[row["pool"]]
    free_bytes = i64(pool["size_bytes"]) - i64(pool["used_bytes"])
    if reason == _POOL:
        return i64(pool["size_bytes"])
    if reason == _PORT:
        share = state.shares[row["share"]]
        return _limit(i64(share["limit_bytes"]), free_bytes, i64(share["shift"]))
    return _limit(i64(row["limit_bytes"]), free_bytes, i64(row["shift"]))

"""WRED/ECN: is this packet marked? Instantaneous queue, no averaging (SONiC programs weight 0)."""

from __future__ import annotations

from fabric.state import rng
from fabric.state.codes import Law, RandomUse
from fabric.state.jit import hot, i64, kernel
from fabric.state.types import State

_HPCC = int(Law.HPCC)
_ECN = int(RandomUse.ECN)


@kernel
def _chance(state: State, device: int, queue: int, depth_bytes: int) -> bool:
    row = state.queues[queue]
    kmin_bytes, kmax_bytes = i64(row["kmin_bytes"]), i64(row["kmax_bytes"])
    # The public HPCC simulator marks for sure only above Kmax; WRED from Kmax on.
    if depth_bytes > kmax_bytes or (depth_bytes == kmax_bytes and state.config[0]["law"] != _HPCC):
        return True
    ratio = row["pmax_ratio"] * (depth_bytes - kmin_bytes) / (kmax_bytes - kmin_bytes)
    return bool(rng.draw(state, device, _ECN) < ratio)


@hot
def should_mark(state: State, device: int, queue: int, depth_bytes: int) -> bool:
    """Decide for a packet that finds (enqueue) or leaves behind (dequeue) depth_bytes in `queue`.

    Never up to kmin_bytes, then with a probability rising linearly to pmax_ratio at kmax_bytes, then always.
    Source: Zhu et al., SIGCOMM 2015, section 3.1; SAI WRED with ECN marking enabled.
    """
    if depth_bytes <= state.queues[queue]["kmin_bytes"]:
        return False
    return _chance(state, device, queue, depth_bytes)

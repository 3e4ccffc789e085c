"""WRED and ECN marking on the instantaneous queue length, without averaging (SONiC programs weight 0)."""

from __future__ import annotations

from fabric.dataplane.state import rng, semantics
from fabric.dataplane.state.codes import RandomUse
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State

_ECN = int(RandomUse.ECN)


@kernel
def _chance(state: State, device: int, queue: int, depth_bytes: int) -> bool:
    row = state.queues[queue]
    kmin_bytes, kmax_bytes = i64(row["kmin_bytes"]), i64(row["kmax_bytes"])
    if depth_bytes > kmax_bytes or (depth_bytes == kmax_bytes and not semantics.draws_at_kmax(state)):
        return True
    ratio = row["pmax_ratio"] * (depth_bytes - kmin_bytes) / (kmax_bytes - kmin_bytes)
    return bool(rng.draw(state, device, _ECN) < ratio)


@hot
def should_mark(state: State, device: int, queue: int, depth_bytes: int) -> bool:
    """Decide whether to mark a packet; depth_bytes is the queue before its enqueue, or after its dequeue.

    Never up to kmin_bytes, then with a probability that rises linearly to pmax_ratio at kmax_bytes, then always.
    Source: Zhu et al., SIGCOMM 2015, section 3.1; SAI WRED with ECN marking enabled.
    """
    if depth_bytes <= state.queues[queue]["kmin_bytes"]:
        return False
    return _chance(state, device, queue, depth_bytes)

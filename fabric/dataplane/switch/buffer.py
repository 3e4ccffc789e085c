"""The MMU of a switch: admission, accounting, and pause thresholds (SAI buffer model, SONiC buffer profiles).

Rules
1. Bytes are counted in whole cells. A priority group fills its reserved bytes, then shared bytes of its pool up to its
   limit: static, or T = 2**dynamic_th * (free bytes of the pool).
2. A lossless group that has reached its limit goes on into headroom: up to xoff_bytes, private or (if the pool has a
   shared headroom pool) out of that. When neither has room the packet is lost; the drop reason names the full one.
3. XOFF is sent when shared use reaches the limit or headroom is in use. xoff_bytes is the headroom, not this limit.
4. Every departure drains headroom first (assumed; as in the public ns-3 RDMA simulator).
5. XON is sent when headroom is empty and shared use <= max(xon, limit - xon_offset), checked only at
   departures of the same group: a limit that rises because other groups drain sends no XON by itself.
"""

from __future__ import annotations

from fabric.dataplane.port.flowcontrol import gate
from fabric.dataplane.port.flowcontrol import hooks as flow
from fabric.dataplane.state import semantics, trace
from fabric.dataplane.state.codes import DropReason, EventKind, TraceBit
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State

ADMITTED = -1

_HEADROOM, _SHARED_HEADROOM = int(DropReason.HEADROOM), int(DropReason.SHARED_HEADROOM_POOL)
_NO_HEADROOM, _INGRESS = int(DropReason.NO_HEADROOM), int(DropReason.INGRESS_THRESHOLD)
_TRACE = int(TraceBit.PAUSE)
_PAUSE_SENT, _RESUME_SENT = int(EventKind.PAUSE_SENT), int(EventKind.RESUME_SENT)


@hot
def scaled(free_bytes: int, shift: int) -> int:
    """2**shift of the free bytes."""
    if shift >= 0:
        return free_bytes << shift
    return free_bytes >> -shift


@hot
def limit_bytes(state: State, group: int) -> int:
    """The present limit of the group in the shared pool."""
    row = state.pgs[group]
    if row["limit_bytes"] >= 0:
        return i64(row["limit_bytes"])
    pool = state.pools[row["pool"]]
    return scaled(i64(pool["size_bytes"]) - i64(pool["used_bytes"]), i64(row["shift"]))


@hot
def shared_bytes(state: State, group: int) -> int:
    """Shared use of a group: its use beyond its reserve."""
    row = state.pgs[group]
    return max(i64(row["use_bytes"]) - i64(row["reserved_bytes"]), 0)


@kernel
def _take_headroom(state: State, group: int, charged: int) -> int:
    row = state.pgs[group]
    pool = state.pools[row["pool"]]
    if row["xoff_bytes"] == 0:
        return _NO_HEADROOM
    if i64(row["headroom_bytes"]) + charged > row["xoff_bytes"]:
        return _HEADROOM
    if pool["headroom_size_bytes"] > 0:
        used = i64(pool["headroom_used_bytes"]) + charged
        if used > pool["headroom_size_bytes"]:
            return _SHARED_HEADROOM
        pool["headroom_used_bytes"] = used
        pool["headroom_watermark_bytes"] = max(i64(pool["headroom_watermark_bytes"]), used)
        pool["headroom_peak_bytes"] = max(i64(pool["headroom_peak_bytes"]), used)
    headroom = i64(row["headroom_bytes"]) + charged
    row["headroom_bytes"] = headroom
    row["headroom_watermark_bytes"] = max(i64(row["headroom_watermark_bytes"]), headroom)
    row["headroom_peak_bytes"] = max(i64(row["headroom_peak_bytes"]), headroom)
    return ADMITTED


@hot
def admit(state: State, group: int, charged: int) -> int:
    """Account `charged` bytes to a priority group; ADMITTED or the DropReason (nothing changed then)."""
    row = state.pgs[group]
    pool = state.pools[row["pool"]]
    use, reserved = i64(row["use_bytes"]), i64(row["reserved_bytes"])
    free_bytes = i64(pool["size_bytes"]) - i64(pool["used_bytes"])
    limit = i64(row["limit_bytes"])
    if limit < 0:
        limit = scaled(free_bytes, i64(row["shift"]))
    if semantics.refuses_split(state, group, charged, limit):
        return _HEADROOM
    shared = max(use + charged - reserved, 0)
    grown = shared - max(use - reserved, 0)
    if shared > limit or grown > free_bytes:
        if row["lossless"] == 0:
            return _INGRESS
        reason = _take_headroom(state, group, charged)
        if reason != ADMITTED:
            return reason
    else:
        row["use_bytes"] = use + charged
        row["watermark_bytes"] = max(i64(row["watermark_bytes"]), use + charged)
        row["peak_bytes"] = max(i64(row["peak_bytes"]), use + charged)
        used = i64(pool["used_bytes"]) + grown
        pool["used_bytes"] = used
        pool["watermark_bytes"] = max(i64(pool["watermark_bytes"]), used)
        pool["peak_bytes"] = max(i64(pool["peak_bytes"]), used)
    row["admitted_pkts"] += 1
    return ADMITTED


@kernel
def _note_margin(state: State, group: int, limit: int, shared: int) -> None:
    row = state.pgs[group]
    row["least_margin_bytes"] = limit - shared
    row["peak_limit_bytes"] = limit
    row["peak_share_ratio"] = shared / max(limit, 1)


@kernel
def _pause(state: State, device: int, port: int, group: int, now_ps: int, limit: int, shared: int) -> None:
    row = state.pgs[group]
    pool = state.pools[row["pool"]]
    row["xoff_sent"] = 1
    row["xoff_count"] += 1
    c = group & 7
    trace.emit(
        state,
        _TRACE,
        device,
        now_ps,
        _PAUSE_SENT,
        port,
        c,
        0,
        trace.NO_QP,
        shared,
        limit,
        i64(row["headroom_bytes"]),
        i64(pool["size_bytes"]) - i64(pool["used_bytes"]),
    )
    flow.full(state, device, port, c, now_ps)


@hot
def check_pause(state: State, device: int, port: int, group: int, now_ps: int) -> None:
    """After an admission: send XOFF if the group has reached its limit (rule 3)."""
    row = state.pgs[group]
    limit, shared = limit_bytes(state, group), shared_bytes(state, group)
    if limit - shared >= row["least_margin_bytes"] and shared < limit and row["headroom_bytes"] == 0:
        return
    if limit - shared < row["least_margin_bytes"]:
        _note_margin(state, group, limit, shared)
    if (
        row["xoff_sent"] == 0
        and (shared >= limit or row["headroom_bytes"] > 0)
        and row["lossless"] != 0
        and gate.sends_pause(state, port, group & 7)
    ):
        _pause(state, device, port, group, now_ps, limit, shared)


@kernel
def _resume(state: State, device: int, port: int, group: int, now_ps: int) -> None:
    row = state.pgs[group]
    if row["headroom_bytes"] > 0:
        return
    limit, shared = limit_bytes(state, group), shared_bytes(state, group)
    if semantics.may_resume(state, shared, limit, i64(row["xon_bytes"]), i64(row["xon_offset_bytes"])):
        pool = state.pools[row["pool"]]
        row["xoff_sent"] = 0
        c = group & 7
        trace.emit(
            state,
            _TRACE,
            device,
            now_ps,
            _RESUME_SENT,
            port,
            c,
            0,
            trace.NO_QP,
            shared,
            limit,
            0,
            i64(pool["size_bytes"]) - i64(pool["used_bytes"]),
        )
        flow.drained(state, device, port, c, now_ps)


@hot
def release_only(state: State, group: int, charged: int) -> None:
    """Release the bytes that a departing packet was charged (rule 4)."""
    row = state.pgs[group]
    pool = state.pools[row["pool"]]
    from_headroom = min(i64(row["headroom_bytes"]), charged)
    if from_headroom > 0:
        row["headroom_bytes"] -= from_headroom
        if pool["headroom_size_bytes"] > 0:
            pool["headroom_used_bytes"] -= from_headroom
    rest = charged - from_headroom
    use = i64(row["use_bytes"])
    pool["used_bytes"] -= min(rest, max(use - i64(row["reserved_bytes"]), 0))
    row["use_bytes"] = use - rest


@hot
def check_resume(state: State, device: int, port: int, group: int, charged: int, now_ps: int) -> None:
    """After release_only() for a group that came in by `port`: send XON if rule 5 allows."""
    flow.freed(state, device, port, group & 7, charged, now_ps)
    if state.pgs[group]["xoff_sent"] != 0:
        _resume(state, device, port, group, now_ps)

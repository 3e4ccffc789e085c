"""Egress of a switch: a packet joins a queue, is scheduled, and leaves.

On departure (start of serialisation) a packet's ingress bytes are released before the frame is put on the wire; the
release may send XON, which waits for this frame if it leaves by the same port.
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.port import scheduler, shaper, transmit
from fabric.dataplane.port.drop import count, discard
from fabric.dataplane.port.flowcontrol import gate
from fabric.dataplane.port.flowcontrol import hooks as flow
from fabric.dataplane.state import pool, trace
from fabric.dataplane.state.codes import DropReason, Ecn, EventKind, TraceBit
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.compiled.prefetch import prefetch
from fabric.dataplane.state.types import State
from fabric.dataplane.switch import buffer, ecn, egress_pool, notice
from fabric.dataplane.switch.forward import switch_row
from fabric.dataplane.transport import hooks

_CE = int(Ecn.CE)
_NOT_ECT = int(Ecn.NOT_ECT)
_MARK_TRACE, _MARK = int(TraceBit.MARK), int(EventKind.MARK)
_DROP_TRACE, _DROP = int(TraceBit.DROP), int(EventKind.DROP)
_WATCHDOG, _LINK_DOWN = int(DropReason.WATCHDOG), int(DropReason.LINK_DOWN)
_EGRESS, _WRED = int(DropReason.EGRESS_THRESHOLD), int(DropReason.WRED)
u = np.uint32


@kernel
def mark(state: State, device: int, port: int, q: int, packet: np.uint32, depth_bytes: int, now_ps: int) -> None:
    """Set CE on a packet and count it."""
    row = state.queues[port * 8 + q]
    state.packets[packet]["ecn"] = _CE
    row["marked_pkts"] += 1
    trace.emit(
        state,
        _MARK_TRACE,
        device,
        now_ps,
        _MARK,
        port,
        q,
        0,
        i64(state.packets[packet]["qp"]),
        depth_bytes,
        i64(row["kmin_bytes"]),
        i64(row["kmax_bytes"]),
        0,
    )


@hot
def refusal(state: State, device: int, port: int, q: int, packet: np.uint32) -> int:
    """The DropReason for which the queue refuses this packet, or buffer.ADMITTED. Changes nothing but a WRED draw."""
    row = state.queues[port * 8 + q]
    size_bytes = i64(state.packets[packet]["size"])
    if state.ports[port]["up"] == 0:
        return _LINK_DOWN
    if i64(state.ports[port]["wd_dropping"]) >> q & 1:
        return _WATCHDOG
    if state.config[0]["egress_detail"] != 0:
        reason = egress_pool.refusal(state, port * 8 + q, size_bytes)
        if reason != buffer.ADMITTED:
            return reason
    else:
        limit = i64(row["limit_bytes"])
        if limit < 0:
            shared = state.pools[row["pool"]]
            limit = buffer.scaled(i64(shared["size_bytes"]) - i64(shared["used_bytes"]), i64(row["shift"]))
        if row["depth_bytes"] + size_bytes > limit:
            return _EGRESS
    if (
        row["drop_non_ect"] != 0
        and i64(state.packets[packet]["ecn"]) == _NOT_ECT
        and ecn.should_mark(state, device, port * 8 + q, i64(row["depth_bytes"]))
    ):
        return _WRED
    return buffer.ADMITTED


@kernel
def _pass_through(
    state: State, device: int, port: int, q: int, packet: np.uint32, size_bytes: int, now_ps: int
) -> None:
    """The port is idle and empty: join and leave the queue at once, with the counts and decisions of enqueue() and
    transmit_next().
    """
    row, frame = state.queues[port * 8 + q], state.packets[packet]
    row["enqueued_pkts"] += 1
    row["enqueued_bytes"] += size_bytes
    row["sent_pkts"] += 1
    row["sent_bytes"] += size_bytes
    row["watermark_bytes"] = max(i64(row["watermark_bytes"]), size_bytes)
    row["peak_bytes"] = max(i64(row["peak_bytes"]), size_bytes)
    if state.config[0]["egress_detail"] != 0:
        egress_pool.peak(state, port * 8 + q, size_bytes)
    else:
        shared = state.pools[row["pool"]]
        used = i64(shared["used_bytes"]) + size_bytes
        shared["watermark_bytes"] = max(i64(shared["watermark_bytes"]), used)
        shared["peak_bytes"] = max(i64(shared["peak_bytes"]), used)
    end_ps = transmit.occupy(state, port, size_bytes, now_ps)
    flow.sent(state, device, port, q, size_bytes, now_ps)
    shaper.sent(state, device, port, q, size_bytes, now_ps)
    hooks.forwarded(state, device, port, packet, now_ps)
    group = i64(frame["in_port"]) * 8 + i64(state.switches[switch_row(state, device)]["tc_to_pg"][i64(frame["tc"])])
    buffer.release_only(state, group, i64(frame["charged"]))
    buffer.check_resume(state, device, i64(frame["in_port"]), group, i64(frame["charged"]), now_ps)
    transmit.launch(state, device, port, packet, end_ps)
    if state.ports[port]["ctrl_head"] != 0:
        transmit.wake_when_free(state, device, port)


@hot
def enqueue(state: State, device: int, port: int, q: int, packet: np.uint32, now_ps: int) -> None:
    """Add a packet that the MMU has admitted to the queue, mark it if marking is at enqueue, and start an idle port."""
    row, out, frame = state.queues[port * 8 + q], state.ports[port], state.packets[packet]
    size_bytes, depth = i64(frame["size"]), i64(row["depth_bytes"])
    if row["ecn"] != 0 and i64(frame["ecn"]) != _NOT_ECT:
        row["ect_pkts"] += 1
        if state.switches[switch_row(state, device)]["mark_at_dequeue"] == 0 and ecn.should_mark(
            state, device, port * 8 + q, depth
        ):
            mark(state, device, port, q, packet, depth, now_ps)
    if (
        out["nonempty"] == 0
        and out["ctrl_head"] == 0
        and gate.may_leave(state, port, q)
        and not transmit.is_busy(state, port, now_ps)
    ):
        _pass_through(state, device, port, q, packet, size_bytes, now_ps)
        return
    depth += size_bytes
    row["depth_bytes"] = depth
    row["depth_pkts"] += 1
    row["enqueued_pkts"] += 1
    row["enqueued_bytes"] += size_bytes
    row["watermark_bytes"] = max(i64(row["watermark_bytes"]), depth)
    row["peak_bytes"] = max(i64(row["peak_bytes"]), depth)
    if state.config[0]["egress_detail"] != 0:
        egress_pool.take(state, port * 8 + q, size_bytes)
    else:
        shared = state.pools[row["pool"]]
        used = i64(shared["used_bytes"]) + size_bytes
        shared["used_bytes"] = used
        shared["watermark_bytes"] = max(i64(shared["watermark_bytes"]), used)
        shared["peak_bytes"] = max(i64(shared["peak_bytes"]), used)
    frame["next"] = 0
    if row["tail"] == 0:
        row["head"] = packet
        out["nonempty"] = i64(out["nonempty"]) | 1 << q
    else:
        state.packets[row["tail"]]["next"] = packet
    row["tail"] = packet
    if notice.are_used(state):
        notice.renew(state, device, port, now_ps)
    if not transmit.is_busy(state, port, now_ps):
        transmit_next(state, device, port, now_ps)
    elif out["free_pending"] == 0 and gate.may_leave(state, port, q):
        transmit.wake_when_free(state, device, port)


@hot
def _unlink(state: State, port: int, q: int) -> np.uint32:
    row = state.queues[port * 8 + q]
    packet = row["head"]
    size_bytes = i64(state.packets[packet]["size"])
    row["depth_bytes"] -= size_bytes
    row["depth_pkts"] -= 1
    if state.config[0]["egress_detail"] != 0:
        egress_pool.give(state, port * 8 + q, size_bytes)
    else:
        state.pools[row["pool"]]["used_bytes"] -= size_bytes
    if packet == row["tail"]:
        row["head"] = row["tail"] = 0
        scheduler.emptied(state, port, q)
    else:
        row["head"] = state.packets[packet]["next"]
        prefetch(state.packets, row["head"])
    return packet


@kernel
def transmit_next(state: State, device: int, port: int, now_ps: int) -> None:
    """The port is idle: send a control frame, or the next packet of the class that the scheduler chooses."""
    out = state.ports[port]
    if out["ctrl_head"] != 0:
        transmit.send_control(state, device, port, now_ps)
    else:
        eligible = gate.eligible(state, port)
        if eligible == 0:
            return
        q = scheduler.pick(state, port, eligible, 0)
        packet = _unlink(state, port, q)
        row, frame = state.queues[port * 8 + q], state.packets[packet]
        size_bytes = i64(frame["size"])
        row["sent_pkts"] += 1
        row["sent_bytes"] += size_bytes
        end_ps = transmit.occupy(state, port, size_bytes, now_ps)
        flow.sent(state, device, port, q, size_bytes, now_ps)
        shaper.sent(state, device, port, q, size_bytes, now_ps)
        switch = state.switches[switch_row(state, device)]
        group = i64(frame["in_port"]) * 8 + i64(switch["tc_to_pg"][i64(frame["tc"])])
        buffer.release_only(state, group, i64(frame["charged"]))
        if (
            switch["mark_at_dequeue"] != 0
            and row["ecn"] != 0
            and i64(frame["ecn"]) != _NOT_ECT
            and ecn.should_mark(state, device, port * 8 + q, i64(row["depth_bytes"]))
        ):
            mark(state, device, port, q, packet, i64(row["depth_bytes"]), now_ps)
        buffer.check_resume(state, device, i64(frame["in_port"]), group, i64(frame["charged"]), now_ps)
        hooks.forwarded(state, device, port, packet, now_ps)
        transmit.launch(state, device, port, packet, end_ps)
        if notice.are_used(state):
            notice.renew(state, device, port, now_ps)
    if out["ctrl_head"] != 0 or gate.eligible(state, port) != 0:
        transmit.wake_when_free(state, device, port)


@kernel
def flush_queue(state: State, device: int, port: int, q: int, reason: int, now_ps: int) -> None:
    """Discard all packets of a queue (dead link, watchdog); one event for all of them."""
    pkts, size_bytes, tc = 0, 0, q
    while state.queues[port * 8 + q]["head"] != 0:
        packet = _unlink(state, port, q)
        frame = state.packets[packet]
        tc = i64(frame["tc"])
        pkts += 1
        size_bytes += i64(frame["size"])
        count(state, port, packet, reason)
        state.queues[port * 8 + q]["dropped_pkts"] += 1
        state.queues[port * 8 + q]["dropped_bytes"] += i64(frame["size"])
        state.queues[port * 8 + q]["flushed_pkts"] += 1
        state.queues[port * 8 + q]["flushed_bytes"] += i64(frame["size"])
        switch = state.switches[switch_row(state, device)]
        group = i64(frame["in_port"]) * 8 + i64(switch["tc_to_pg"][tc])
        buffer.release_only(state, group, i64(frame["charged"]))
        buffer.check_resume(state, device, i64(frame["in_port"]), group, i64(frame["charged"]), now_ps)
        pool.give(state, device, packet)
    if pkts > 0:
        trace.emit(state, _DROP_TRACE, device, now_ps, _DROP, port, tc, reason, trace.NO_QP, size_bytes, pkts, 0, 0)


@kernel
def refuse(state: State, device: int, port: int, q: int, packet: np.uint32, reason: int, now_ps: int) -> None:
    """Discard a packet that the queue has refused."""
    row = state.queues[port * 8 + q]
    row["dropped_pkts"] += 1
    row["dropped_bytes"] += i64(state.packets[packet]["size"])
    if reason == _WATCHDOG:
        row["wd_dropped_pkts"] += 1
    shared = state.pools[row["pool"]]
    use, limit = i64(row["depth_bytes"]), i64(row["limit_bytes"])
    if limit < 0:  # a share of what is free
        limit = buffer.scaled(i64(shared["size_bytes"]) - i64(shared["used_bytes"]), i64(row["shift"]))
    if state.config[0]["egress_detail"] != 0:
        use, limit = egress_pool.use_at(state, port * 8 + q, reason), egress_pool.limit_at(state, port * 8 + q, reason)
    discard(
        state, device, port, packet, reason, now_ps, use, limit, i64(shared["size_bytes"]) - i64(shared["used_bytes"])
    )

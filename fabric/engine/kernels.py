"""Kernels that dated edits call from outside a window; what they send is on its way when they return."""

from __future__ import annotations

import numpy as np

from fabric.engine.dispatch import kick
from fabric.host import faults, nic
from fabric.port import pause, wire
from fabric.port.drop import count
from fabric.state import calendar, pool, trace
from fabric.state.codes import INFINITY_PS, DropReason, EventKind, QpState, TraceBit
from fabric.state.jit import entry, i64
from fabric.state.types import State
from fabric.switch import egress, watchdog
from fabric.transport import dcqcn

_FAILED = int(QpState.FAILED)
_LINK_DOWN = int(DropReason.LINK_DOWN)
_TRACE, _DROP = int(TraceBit.DROP), int(EventKind.DROP)
u = np.uint32


@entry
def kick_port(state: State, device: int, port: int, now_ps: int) -> None:
    """Start a port that may send again."""
    wire.enter(state, device)
    kick(state, device, port, now_ps)
    calendar.note_first(state, device)
    wire.settle(state)


@entry
def change_line(state: State, device: int, port: int, now_ps: int, line_bps: int) -> None:
    """A host's port has another speed: its queue pairs follow."""
    nic.change_line(state, device, port, now_ps, line_bps)
    calendar.note_first(state, device)


@entry
def change_drain(state: State, device: int, now_ps: int, drain_bps: int) -> None:
    """A host consumes received bytes at another rate; 0: at line rate."""
    faults.change_drain(state, device, now_ps, drain_bps)
    calendar.note_first(state, device)


@entry
def catch_up_rates(state: State, now_ps: int) -> None:
    """Set the rates of queue pairs with work left as they are now; for copies of the table that are only read."""
    for qp in range(state.qps.shape[0]):
        row = state.qps[qp]
        if row["acked_psn"] < row["posted_psn"] and row["state"] != _FAILED:
            dcqcn.look(state, qp, now_ps)


@entry
def lose_link(state: State, device: int, port: int, now_ps: int) -> None:
    """A cable is dead: what flies towards this port and what waits in it for the cable is lost; pauses end."""
    wire.enter(state, device)
    row = state.ports[port]
    first_source, index = i64(state.devices[device]["n_ports"]), i64(row["index"])
    pkts, size_bytes = 0, 0
    packet = row["in_head"]
    while packet != 0:
        following = state.packets[packet]["next"]
        pkts += 1
        size_bytes += i64(state.packets[packet]["size"])
        row["lost_pkts"] += 1
        row["lost_bytes"] += i64(state.packets[packet]["size"])
        state.pgs[port * 8 + i64(state.packets[packet]["tc"])]["lost_pkts"] += 1
        count(state, port, i64(state.packets[packet]["tc"]), _LINK_DOWN, 1, i64(state.packets[packet]["size"]))
        pool.give(state, device, packet)
        packet = u(following)
    row["in_head"] = 0
    calendar.schedule(state, device, index, INFINITY_PS, 0)
    if pkts > 0:
        trace.emit(state, _TRACE, device, now_ps, _DROP, port, 0, _LINK_DOWN, trace.NO_QP, size_bytes, pkts, 0, 0)
    packet = row["pin_head"]
    while packet != 0:
        following = state.packets[packet]["next"]
        row["lost_pkts"] += 1
        row["lost_bytes"] += i64(state.packets[packet]["size"])
        pool.give(state, device, packet)
        packet = u(following)
    row["pin_head"] = 0
    calendar.schedule(state, device, first_source + index, INFINITY_PS, 0)
    while row["ctrl_head"] != 0:
        packet = row["ctrl_head"]
        row["ctrl_head"] = state.packets[packet]["next"]
        if packet == row["ctrl_tail"]:
            row["ctrl_head"] = row["ctrl_tail"] = 0
        pool.give(state, device, packet)
    for c in range(8):
        prio = state.prios[port * 8 + c]
        if i64(row["paused"]) >> c & 1:
            pause.resume(state, device, port, c, now_ps, 0)
        if prio["xoff_sent"] != 0:
            # The peer that was asked to stop is gone; if the group is still full when the cable is back, it asks anew.
            prio["xoff_sent"] = 0
            prio["refresh_ps"] = INFINITY_PS
            prio["tx_paused_ps"] += now_ps - i64(prio["sent_since_ps"])
            state.pgs[port * 8 + c]["xoff_sent"] = 0
        if state.devices[device]["is_host"] == 0:
            egress.flush_queue(state, device, port, c, _LINK_DOWN, now_ps)
    calendar.note_first(state, device)
    wire.settle(state)


@entry
def change_speed(state: State, device: int, port: int, now_ps: int, quantum_ps: int) -> None:
    """A port has another speed: pause timers that run count quanta of the new one."""
    if state.devices[device]["is_host"] != 0:
        faults.change_speed(state, device, port, now_ps, quantum_ps)
    pause.change_speed(state, device, port, now_ps, quantum_ps)
    calendar.note_first(state, device)


@entry
def release_class(state: State, device: int, port: int, c: int, now_ps: int) -> None:
    """A class has lost PFC, or its watchdog: a storm is over; without PFC what was paused goes on."""
    wire.enter(state, device)
    if state.queues[port * 8 + c]["wd_state"] != 0:
        watchdog.restore(state, device, port, c, now_ps)
    if i64(state.ports[port]["pfc_classes"]) >> c & 1 == 0:
        if i64(state.ports[port]["paused"]) >> c & 1:
            pause.resume(state, device, port, c, now_ps, 0)
        if state.prios[port * 8 + c]["xoff_sent"] != 0:
            state.pgs[port * 8 + c]["xoff_sent"] = 0
            pause.end(state, device, port, c, now_ps)
    kick(state, device, port, now_ps)
    calendar.note_first(state, device)
    wire.settle(state)


@entry
def level_packets(state: State, needy: int, wanted: int, keep_per_port: int) -> int:
    """Move free packet rows from devices that have plenty to one that has none; returns how many moved."""
    moved = 0
    for device in range(state.devices.shape[0]):
        row = state.devices[device]
        keep = keep_per_port * i64(row["n_ports"]) + i64(row["reserve"])
        while device != needy and moved < wanted and row["free_count"] > keep:
            packet = pool.take(state, device)
            pool.give(state, needy, packet)
            moved += 1
    return moved

"""Kernels that dated edits call between windows; the frames that they send are on the wire when they return."""

from __future__ import annotations

import numpy as np

from fabric.dataplane.engine.dispatch import kick
from fabric.dataplane.host import nic, pause_storm, slow_receiver
from fabric.dataplane.port import wire
from fabric.dataplane.port.drop import count
from fabric.dataplane.port.flowcontrol import gate
from fabric.dataplane.port.flowcontrol import hooks as flow
from fabric.dataplane.state import calendar, pool, trace
from fabric.dataplane.state.codes import INFINITY_PS, DropReason, EventKind, QpState, TraceBit
from fabric.dataplane.state.compiled.jit import entry, i64, kernel
from fabric.dataplane.state.types import State
from fabric.dataplane.switch import egress, watchdog
from fabric.dataplane.transport import hooks

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
def change_line(state: State, device: int, port: int, now_ps: int) -> None:
    """A host's port has another speed: its queue pairs follow."""
    wire.enter(state, device)
    nic.change_line(state, device, port, now_ps)
    calendar.note_first(state, device)
    wire.settle(state)


@entry
def change_ports(state: State, device: int, now_ps: int) -> None:
    """Other ports of a host's NIC have routes than before: its queue pairs follow."""
    wire.enter(state, device)
    nic.change_ports(state, device, now_ps)
    calendar.note_first(state, device)
    wire.settle(state)


@entry
def change_drain(state: State, device: int, now_ps: int, drain_bps: int) -> None:
    """A host consumes received bytes at another rate; 0: at line rate."""
    slow_receiver.change_drain(state, device, now_ps, drain_bps)
    calendar.note_first(state, device)


@entry
def catch_up_rates(state: State, now_ps: int) -> None:
    """Apply due rate timers of queue pairs with work left; for copies of the table that are only read."""
    for qp in range(state.qps.shape[0]):
        row = state.qps[qp]
        if row["acked_psn"] < row["posted_psn"] and row["state"] != _FAILED:
            hooks.look(state, qp, now_ps)


@entry
def lose_link(state: State, device: int, port: int, now_ps: int) -> None:
    """A cable is cut: frames in flight towards this port and frames queued in it are lost; pauses end."""
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
        count(state, port, packet, _LINK_DOWN)
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
        flow.link_lost(state, device, port, c, now_ps)
        state.pgs[port * 8 + c]["xoff_sent"] = 0
        if state.devices[device]["is_host"] == 0:
            egress.flush_queue(state, device, port, c, _LINK_DOWN, now_ps)
    calendar.note_first(state, device)
    wire.settle(state)


@entry
def change_speed(state: State, device: int, port: int, now_ps: int, quantum_ps: int) -> None:
    """A port has another speed: pause timers that run count quanta of the new one."""
    if state.devices[device]["is_host"] != 0:
        pause_storm.change_speed(state, device, port, now_ps, quantum_ps)
    flow.speed_changed(state, device, port, now_ps, quantum_ps)
    calendar.note_first(state, device)


@kernel
def _release(state: State, device: int, port: int, c: int, now_ps: int) -> None:
    wire.enter(state, device)
    if state.queues[port * 8 + c]["wd_state"] != 0:
        watchdog.restore(state, device, port, c, now_ps)
    if not gate.is_controlled(state, port, c):
        state.pgs[port * 8 + c]["xoff_sent"] = 0
        flow.disabled(state, device, port, c, now_ps)
    kick(state, device, port, now_ps)
    calendar.note_first(state, device)
    wire.settle(state)


@entry
def release_class(state: State, device: int, port: int, c: int, now_ps: int) -> None:
    """A class has lost its watchdog: a storm ends."""
    _release(state, device, port, c, now_ps)


@entry
def change_flow_control(state: State, device: int, port: int, classes: int, now_ps: int) -> None:
    """Other classes are under flow control: a storm or pause of a class that has lost it ends."""
    lost = gate.set_classes(state, port, classes)
    for c in range(8):
        if lost >> c & 1:
            _release(state, device, port, c, now_ps)


@entry
def level_packets(state: State, needy: int, wanted: int, keep_per_port: int) -> int:
    """Move free packet rows from devices with many to a device without; returns the number moved."""
    moved = 0
    for device in range(state.devices.shape[0]):
        row = state.devices[device]
        keep = keep_per_port * i64(row["n_ports"]) + i64(row["reserve"])
        while device != needy and moved < wanted and row["free_count"] > keep:
            packet = pool.take(state, device)
            pool.give(state, needy, packet)
            moved += 1
    return moved

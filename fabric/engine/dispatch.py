"""One event of one device: which handler. A new kind of event is one source, one branch, one kernel."""

from __future__ import annotations

import numpy as np

from fabric.host import arp, faults, nic, receiver, station, timeouts
from fabric.port import pause, transmit, wire
from fabric.state.codes import Aux, Stop
from fabric.state.jit import hot, i64, kernel
from fabric.state.types import State
from fabric.switch import egress, ingress, watchdog

_NONE, _UNKNOWN = int(Stop.NONE), int(Stop.UNKNOWN_EVENT)
_PFC, _WATCHDOG, _WAKE, _START = int(Aux.PFC), int(Aux.WATCHDOG), int(Aux.WAKE), int(Aux.START)
_TIMEOUT, _DRAIN, _NOTIFY, _STORM = int(Aux.TIMEOUT), int(Aux.DRAIN), int(Aux.NOTIFY), int(Aux.STORM)
_ARP = int(Aux.ARP)
u = np.uint32


@hot
def kick(state: State, device: int, port: int, now_ps: int) -> None:
    """Something may have become eligible on this port: send it, or see to it that the port-free event exists."""
    if state.devices[device]["is_host"]:
        nic.kick(state, device, port, now_ps)
    elif not transmit.is_busy(state, port, now_ps):
        egress.transmit_next(state, device, port, now_ps)
    else:
        row = state.ports[port]
        if row["ctrl_head"] != 0 or i64(row["nonempty"]) & ~i64(row["paused"]) != 0:
            transmit.wake_when_free(state, device, port)


@kernel
def _pause_timers(state: State, device: int, now_ps: int) -> None:
    row = state.devices[device]
    first = i64(row["first_port"])
    for port in range(first, first + i64(row["n_ports"])):
        if pause.expire(state, device, port, now_ps):
            kick(state, device, port, now_ps)
    pause.rearm(state, device)


@kernel
def _auxiliary(state: State, device: int, aux: int, now_ps: int) -> int:
    if aux == _WAKE:
        nic.on_wake(state, device, now_ps)
    elif aux == _START:
        station.on_start(state, device, now_ps)
    elif aux == _PFC:
        _pause_timers(state, device, now_ps)
    elif aux == _TIMEOUT:
        timeouts.on_timeout(state, device, now_ps)
    elif aux == _NOTIFY:
        receiver.on_notify(state, device, now_ps)
    elif aux == _DRAIN:
        faults.on_drain(state, device, now_ps)
    elif aux == _STORM:
        faults.on_storm(state, device, now_ps)
    elif aux == _ARP:
        arp.on_ask(state, device, now_ps)
    elif aux == _WATCHDOG:
        watchdog.on_poll(state, device, now_ps)
    else:
        return _UNKNOWN
    return _NONE


@hot
def handle(state: State, device: int, source: int, now_ps: int) -> int:
    """Carry out the event of a source; a Stop code (NONE: go on)."""
    row = state.devices[device]
    n_ports, first = i64(row["n_ports"]), i64(row["first_port"])
    if source < n_ports:
        port = first + source
        packet = wire.pop(state, device, port, source)
        if row["is_host"]:
            return station.receive(state, device, port, packet, now_ps)
        ingress.receive(state, device, port, packet, now_ps)
        return _NONE
    if source < 2 * n_ports:
        port = first + source - n_ports
        packet = wire.pop_pause(state, device, port, source)
        if pause.receive(state, device, port, packet, now_ps):
            kick(state, device, port, now_ps)
        return _NONE
    if source < 3 * n_ports:
        port = first + source - 2 * n_ports
        state.ports[port]["free_pending"] = 0
        # Not simply transmit_next: an arrival at this very instant may have started the port already.
        kick(state, device, port, now_ps)
        transmit.settle(state, device, port)
        return _NONE
    return _auxiliary(state, device, source - 3 * n_ports, now_ps)

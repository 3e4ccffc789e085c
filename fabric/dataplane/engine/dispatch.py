"""The event handler of each event of a device. A new kind of event is one source, one branch, one kernel."""

from __future__ import annotations

import numpy as np

from fabric.dataplane.host import arp, datagrams, nic, pause_storm, receiver, slow_receiver, station, timeouts
from fabric.dataplane.port import shaper, transmit, wire
from fabric.dataplane.port.flowcontrol import gate
from fabric.dataplane.port.flowcontrol import hooks as flow
from fabric.dataplane.state.codes import Aux, PacketKind, Stop
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State
from fabric.dataplane.switch import egress, ingress, notice, watchdog

_NONE, _UNKNOWN = int(Stop.NONE), int(Stop.UNKNOWN_EVENT)
_FLOW, _WATCHDOG, _WAKE, _START = int(Aux.PFC), int(Aux.WATCHDOG), int(Aux.WAKE), int(Aux.START)
_TIMEOUT, _DRAIN, _NOTIFY, _STORM = int(Aux.TIMEOUT), int(Aux.DRAIN), int(Aux.NOTIFY), int(Aux.STORM)
_ARP, _TRANSFER, _DATAGRAM, _SHAPER = int(Aux.ARP), int(Aux.TRANSFER), int(Aux.DATAGRAM), int(Aux.SHAPER)
_NOTICE = int(PacketKind.NOTICE)
u = np.uint32


@hot
def kick(state: State, device: int, port: int, now_ps: int) -> None:
    """Something may have become eligible on this port: send it, or schedule the port-free event."""
    if state.devices[device]["is_host"]:
        nic.kick(state, device, port, now_ps)
    elif not transmit.is_busy(state, port, now_ps):
        egress.transmit_next(state, device, port, now_ps)
    else:
        row = state.ports[port]
        if row["ctrl_head"] != 0 or gate.eligible(state, port) != 0:
            transmit.wake_when_free(state, device, port)


@kernel
def _flow_timers(state: State, device: int, now_ps: int) -> None:
    row = state.devices[device]
    first = i64(row["first_port"])
    for port in range(first, first + i64(row["n_ports"])):
        if flow.expire(state, device, port, now_ps):
            kick(state, device, port, now_ps)
    gate.rearm(state, device)


@kernel
def _shaper_timer(state: State, device: int, now_ps: int) -> None:
    row = state.devices[device]
    first = i64(row["first_port"])
    for port in range(first, first + i64(row["n_ports"])):
        if shaper.release(state, port, now_ps):
            kick(state, device, port, now_ps)
    shaper.rearm(state, device, now_ps)


@kernel
def _auxiliary(state: State, device: int, aux: int, now_ps: int) -> int:
    if aux == _WAKE:
        nic.on_wake(state, device, now_ps)
    elif aux == _START:
        station.on_start(state, device, now_ps)
    elif aux == _TRANSFER:
        return station.on_transfer(state, device, now_ps)
    elif aux == _FLOW:
        _flow_timers(state, device, now_ps)
    elif aux == _TIMEOUT:
        timeouts.on_timeout(state, device, now_ps)
    elif aux == _NOTIFY:
        receiver.on_notify(state, device, now_ps)
    elif aux == _DRAIN:
        slow_receiver.on_drain(state, device, now_ps)
    elif aux == _STORM:
        pause_storm.on_storm(state, device, now_ps)
    elif aux == _ARP:
        arp.on_request(state, device, now_ps)
    elif aux == _DATAGRAM:
        datagrams.on_due(state, device, now_ps)
    elif aux == _SHAPER:
        _shaper_timer(state, device, now_ps)
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
        packet = wire.pop_control(state, device, port, source)
        if i64(state.packets[packet]["kind"]) == _NOTICE:
            notice.receive(state, device, port, packet, now_ps)
        elif flow.receive(state, device, port, packet, now_ps):
            kick(state, device, port, now_ps)
        return _NONE
    if source < 3 * n_ports:
        port = first + source - 2 * n_ports
        state.ports[port]["free_pending"] = 0
        # Not transmit_next: an arrival at the same time may have started the port already.
        kick(state, device, port, now_ps)
        transmit.settle(state, device, port)
        return _NONE
    return _auxiliary(state, device, source - 3 * n_ports, now_ps)

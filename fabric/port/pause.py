"""PFC at one port: sending XOFF and XON, obeying them (IEEE 802.1Q clause 36, 802.3 annex 31D).

Rules
1. A frame carries an enable vector, an XOFF bitmap and one timer value in quanta (512 bit times at the port's speed);
   enabled classes outside the bitmap have quanta 0, which is XON.
2. Whoever sent XOFF repeats it before half of the timer has run, for as long as it wants the peer to be silent.
3. The paused side counts the timer down: a lost refresh or a dead sender ends the pause. A frame being serialised
   finishes. The response time is part of the wire (pause_delay_ps).
4. A port obeys and sends PFC only for the classes in pfc_classes; other received frames are counted and ignored.
5. pause_quanta = 0 stands for a model without timers: on until XON.
"""

from __future__ import annotations

import numpy as np

from fabric.port import transmit
from fabric.port.damage import INTACT, damaged
from fabric.state import calendar, pool, trace
from fabric.state.codes import INFINITY_PS, Aux, EventKind, PacketKind, TraceBit
from fabric.state.jit import hot, i64, kernel
from fabric.state.types import State

_PFC = int(PacketKind.PFC)
_AUX_PFC = int(Aux.PFC)
_TRACE = int(TraceBit.PAUSE)
_PAUSED, _RESUMED = int(EventKind.PAUSED), int(EventKind.RESUMED)
u = np.uint32


@hot
def aux_source(state: State, device: int, aux: int) -> int:
    """Calendar source of an auxiliary event of a device."""
    return 3 * i64(state.devices[device]["n_ports"]) + aux


@kernel
def _arm(state: State, device: int, port: int, time_ps: int) -> None:
    row = state.ports[port]
    if time_ps < row["pfc_next_ps"]:
        row["pfc_next_ps"] = time_ps
        calendar.schedule_earlier(state, device, aux_source(state, device, _AUX_PFC), time_ps)


@kernel
def send(state: State, device: int, port: int, classes: int, xoff: int, quanta: int, now_ps: int) -> None:
    """Send one PFC frame for a bitmap of classes; `xoff` says which of them stop."""
    packet = pool.take(state, device)
    frame = state.packets[packet]
    frame["kind"], frame["size"], frame["classes"], frame["xoff"] = _PFC, state.config[0]["pfc_bytes"], classes, xoff
    frame["seq"], frame["tc"] = quanta, 0
    transmit.queue_control(state, device, port, packet, now_ps)


@kernel
def begin(state: State, device: int, port: int, c: int, now_ps: int) -> None:
    """Ask the peer to stop class c, and keep asking (rule 2)."""
    prio, row = state.prios[port * 8 + c], state.ports[port]
    prio["xoff_sent"] = 1
    prio["sent_since_ps"] = now_ps
    quanta = i64(row["pause_quanta"])
    send(state, device, port, 1 << c, 1 << c, quanta, now_ps)
    if quanta > 0:
        prio["refresh_ps"] = now_ps + quanta * i64(row["quantum_ps"]) // 2
        _arm(state, device, port, i64(prio["refresh_ps"]))


@kernel
def end(state: State, device: int, port: int, c: int, now_ps: int) -> None:
    """Let the peer send class c again."""
    prio = state.prios[port * 8 + c]
    prio["xoff_sent"] = 0
    prio["refresh_ps"] = INFINITY_PS
    prio["tx_paused_ps"] += now_ps - i64(prio["sent_since_ps"])
    send(state, device, port, 1 << c, 0, 0, now_ps)


@kernel
def resume(state: State, device: int, port: int, c: int, now_ps: int, expired: int) -> None:
    """Class c of this port may send again."""
    row, prio = state.ports[port], state.prios[port * 8 + c]
    row["paused"] = i64(row["paused"]) & ~(1 << c) & 0xFF
    duration_ps = now_ps - i64(prio["since_ps"])
    prio["rx_paused_ps"] += duration_ps
    prio["longest_ps"] = max(i64(prio["longest_ps"]), duration_ps)
    prio["until_ps"] = INFINITY_PS
    prio["since_ps"] = now_ps
    prio["on2off_pkts"] += 1
    trace.emit(state, _TRACE, device, now_ps, _RESUMED, port, c, 0, trace.NO_QP, duration_ps,
               i64(state.queues[port * 8 + c]["depth_bytes"]), expired, 0)


@kernel
def receive(state: State, device: int, port: int, packet: np.uint32, now_ps: int) -> bool:
    """Obey a PFC frame whose response time has run; True if some class may send again (the caller kicks the port)."""
    row, frame = state.ports[port], state.packets[packet]
    classes, xoff, quanta = i64(frame["classes"]), i64(frame["xoff"]), i64(frame["seq"])
    row["rx_pause_pkts"] += 1
    row["rx_bytes"] += i64(frame["size"])
    row["rx_pkts"] += 1
    if row["bit_error_ratio"] > 0.0 and damaged(state, device, port, packet) != INTACT:
        pool.give(state, device, packet)    # counted in fcs_errors; `drops` counts frames of traffic classes only
        return False
    pool.give(state, device, packet)
    released = False
    for c in range(8):
        if classes >> c & 1 == 0:
            continue
        prio = state.prios[port * 8 + c]
        obeyed = i64(row["pfc_classes"]) >> c & 1
        if xoff >> c & 1:
            prio["rx_xoff_pkts"] += 1
            if obeyed:
                if i64(row["paused"]) >> c & 1 == 0:
                    row["paused"] = i64(row["paused"]) | 1 << c
                    prio["since_ps"] = now_ps
                    prio["pauses"] += 1
                    trace.emit(state, _TRACE, device, now_ps, _PAUSED, port, c, 0, trace.NO_QP, quanta,
                               i64(state.queues[port * 8 + c]["depth_bytes"]), 0, 0)
                prio["until_ps"] = INFINITY_PS
                if quanta > 0:
                    prio["until_ps"] = now_ps + quanta * i64(row["quantum_ps"])
                    _arm(state, device, port, i64(prio["until_ps"]))
        else:
            prio["rx_xon_pkts"] += 1
            if i64(row["paused"]) >> c & 1:
                resume(state, device, port, c, now_ps, 0)
                released = True
    return released


@kernel
def expire(state: State, device: int, port: int, now_ps: int) -> bool:
    """End pauses whose timer has run and refresh our own; True if some class may send again."""
    row = state.ports[port]
    if row["pfc_next_ps"] > now_ps:
        return False
    released, refresh = False, 0
    next_ps = INFINITY_PS
    for c in range(8):
        prio = state.prios[port * 8 + c]
        if i64(row["paused"]) >> c & 1:
            if prio["until_ps"] <= now_ps:
                resume(state, device, port, c, now_ps, 1)
                released = True
            else:
                next_ps = min(next_ps, i64(prio["until_ps"]))
        if prio["refresh_ps"] <= now_ps:
            refresh |= 1 << c
            prio["refresh_ps"] = now_ps + i64(row["pause_quanta"]) * i64(row["quantum_ps"]) // 2
        next_ps = min(next_ps, i64(prio["refresh_ps"]))
    row["pfc_next_ps"] = next_ps
    if refresh != 0:
        send(state, device, port, refresh, refresh, i64(row["pause_quanta"]), now_ps)
    return released


@kernel
def change_speed(state: State, device: int, port: int, now_ps: int, quantum_ps: int) -> None:
    """The port runs at another speed: what is left of a received pause, and of the time to our own refresh, is so many
    quanta, and a quantum is 512 bit times of the speed there is now (802.3 annex 31B.2).
    """
    row, next_ps = state.ports[port], INFINITY_PS
    before_ps = i64(row["quantum_ps"])
    row["quantum_ps"] = quantum_ps
    for c in range(8):
        prio = state.prios[port * 8 + c]
        if i64(row["paused"]) >> c & 1 and prio["until_ps"] < INFINITY_PS:
            prio["until_ps"] = now_ps + in_new_quanta(i64(prio["until_ps"]) - now_ps, quantum_ps, before_ps)
            next_ps = min(next_ps, i64(prio["until_ps"]))
        if prio["refresh_ps"] < INFINITY_PS:
            prio["refresh_ps"] = now_ps + in_new_quanta(i64(prio["refresh_ps"]) - now_ps, quantum_ps, before_ps)
            next_ps = min(next_ps, i64(prio["refresh_ps"]))
    row["pfc_next_ps"] = next_ps
    rearm(state, device)


@kernel
def in_new_quanta(left_ps: int, quantum_ps: int, before_ps: int) -> int:
    """As many quanta as left_ps is, of another length. Domain: at most 65535 quanta of at most 2**30 ps each."""
    quanta, rest_ps = left_ps // before_ps, left_ps % before_ps
    return quanta * quantum_ps + (rest_ps * quantum_ps + before_ps - 1) // before_ps


@kernel
def rearm(state: State, device: int) -> None:
    """After expire() has looked at every port: the device's next pause moment."""
    row = state.devices[device]
    next_ps = INFINITY_PS
    for port in range(i64(row["first_port"]), i64(row["first_port"]) + i64(row["n_ports"])):
        next_ps = min(next_ps, i64(state.ports[port]["pfc_next_ps"]))
    calendar.schedule(state, device, aux_source(state, device, _AUX_PFC), next_ps, calendar.NEW_ORDER)

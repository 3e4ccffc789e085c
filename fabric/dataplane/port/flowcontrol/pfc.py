"""PFC at one port: sending XOFF and XON, obeying them (IEEE 802.1Q clause 36, 802.3 annex 31D).

Rules
1. A frame carries an enable vector, an XOFF bitmap and one timer value in quanta (512 bit times at the port's speed);
   enabled classes outside the bitmap have quanta 0, which is XON.
2. A port that has sent XOFF repeats it before half of the timer has run, until it sends XON.
3. The paused side counts the timer down: a lost refresh or a dead sender ends the pause. A frame being serialised
   finishes. The response time is part of the wire (pause_delay_ps).
4. A port obeys and sends PFC only for the classes under flow control, each direction apart (gate.obeys_pause,
   gate.sends_pause); other received frames are counted and ignored.
5. pause_quanta = 0 stands for a model without timers: a pause lasts until XON.
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.port import transmit
from fabric.dataplane.port.flowcontrol import gate
from fabric.dataplane.state import pool
from fabric.dataplane.state.codes import INFINITY_PS, PacketKind
from fabric.dataplane.state.compiled.jit import i64, kernel
from fabric.dataplane.state.types import State

_PFC = int(PacketKind.PFC)


@kernel
def send(state: State, device: int, port: int, classes: int, xoff: int, quanta: int, now_ps: int) -> None:
    """Send one PFC frame for a bitmap of classes; those in `xoff` stop, the others may send again."""
    packet = pool.take(state, device)
    frame = state.packets[packet]
    frame["kind"], frame["size"], frame["classes"], frame["xoff"] = _PFC, state.config[0]["pfc_bytes"], classes, xoff
    frame["seq"], frame["tc"] = quanta, 0
    transmit.queue_control(state, device, port, packet, now_ps)


@kernel
def begin(state: State, device: int, port: int, c: int, now_ps: int) -> None:
    """Send XOFF for class c, and repeat it (rule 2)."""
    prio, row = state.prios[port * 8 + c], state.ports[port]
    prio["xoff_sent"] = 1
    prio["sent_since_ps"] = now_ps
    quanta = i64(row["pause_quanta"])
    send(state, device, port, 1 << c, 1 << c, quanta, now_ps)
    if quanta > 0:
        prio["refresh_ps"] = now_ps + quanta * i64(row["quantum_ps"]) // 2
        gate.arm(state, device, port, i64(prio["refresh_ps"]))


@kernel
def _stop_asking(state: State, port: int, c: int, now_ps: int) -> None:
    prio = state.prios[port * 8 + c]
    prio["xoff_sent"] = 0
    prio["refresh_ps"] = INFINITY_PS
    prio["tx_paused_ps"] += now_ps - i64(prio["sent_since_ps"])


@kernel
def end(state: State, device: int, port: int, c: int, now_ps: int) -> None:
    """Send XON for class c."""
    _stop_asking(state, port, c, now_ps)
    send(state, device, port, 1 << c, 0, 0, now_ps)


@kernel
def receive(state: State, device: int, port: int, packet: np.uint32, now_ps: int) -> bool:
    """Obey a PFC frame (rules 3 and 4); True if some class may send again."""
    row, frame = state.ports[port], state.packets[packet]
    classes, xoff, quanta = i64(frame["classes"]), i64(frame["xoff"]), i64(frame["seq"])
    released = False
    for c in range(8):
        if classes >> c & 1 == 0:
            continue
        prio = state.prios[port * 8 + c]
        if xoff >> c & 1:
            prio["rx_xoff_pkts"] += 1
            if gate.obeys_pause(state, port, c):
                gate.pause(state, device, port, c, now_ps, quanta)
                prio["until_ps"] = INFINITY_PS
                if quanta > 0:
                    prio["until_ps"] = now_ps + quanta * i64(row["quantum_ps"])
                    gate.arm(state, device, port, i64(prio["until_ps"]))
        else:
            prio["rx_xon_pkts"] += 1
            if not gate.may_send(state, port, c):
                gate.resume(state, device, port, c, now_ps, 0)
                released = True
    return released


@kernel
def expire(state: State, device: int, port: int, now_ps: int) -> bool:
    """End received pauses whose timer has run, and repeat XOFF where it is due; True if some class may send again."""
    row = state.ports[port]
    if row["pfc_next_ps"] > now_ps:
        return False
    released, refresh = False, 0
    next_ps = INFINITY_PS
    for c in range(8):
        prio = state.prios[port * 8 + c]
        if not gate.may_send(state, port, c):
            if prio["until_ps"] <= now_ps:
                gate.resume(state, device, port, c, now_ps, 1)
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
    """The port has another speed: keep the quanta that are left of received pauses and until the next refreshes. A
    quantum is 512 bit times at the present speed (802.3 annex 31B.2).
    """
    row, next_ps = state.ports[port], INFINITY_PS
    before_ps = i64(row["quantum_ps"])
    row["quantum_ps"] = quantum_ps
    for c in range(8):
        prio = state.prios[port * 8 + c]
        if not gate.may_send(state, port, c) and prio["until_ps"] < INFINITY_PS:
            prio["until_ps"] = now_ps + in_new_quanta(i64(prio["until_ps"]) - now_ps, quantum_ps, before_ps)
            next_ps = min(next_ps, i64(prio["until_ps"]))
        if prio["refresh_ps"] < INFINITY_PS:
            prio["refresh_ps"] = now_ps + in_new_quanta(i64(prio["refresh_ps"]) - now_ps, quantum_ps, before_ps)
            next_ps = min(next_ps, i64(prio["refresh_ps"]))
    row["pfc_next_ps"] = next_ps
    gate.rearm(state, device)


@kernel
def in_new_quanta(left_ps: int, quantum_ps: int, before_ps: int) -> int:
    """Convert a time to as many quanta of another length. Domain: at most 65535 quanta of at most 2**30 ps."""
    quanta, rest_ps = left_ps // before_ps, left_ps % before_ps
    return quanta * quantum_ps + (rest_ps * quantum_ps + before_ps - 1) // before_ps


@kernel
def forget(state: State, device: int, port: int, c: int, now_ps: int) -> None:
    """The cable is dead: end the received pause, and drop the own one without XON. A group that is still full when the
    cable is back sends XOFF again.
    """
    if not gate.may_send(state, port, c):
        gate.resume(state, device, port, c, now_ps, 0)
    if gate.is_pausing(state, port, c):
        _stop_asking(state, port, c, now_ps)


@kernel
def release(state: State, device: int, port: int, c: int, now_ps: int) -> None:
    """Class c has lost PFC: end the received pause, and send XON if XOFF was sent."""
    if not gate.may_send(state, port, c):
        gate.resume(state, device, port, c, now_ps, 0)
    if gate.is_pausing(state, port, c):
        end(state, device, port, c, now_ps)

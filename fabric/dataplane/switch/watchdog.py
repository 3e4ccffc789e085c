"""PFC watchdog: polls the queues it watches, declares storms, acts, restores (SONiC orchagent and its Lua plugins).

Rules
1. The first poll only stores counters. Then, per queue and poll: if the platform's condition holds, the time left falls
   by one poll. A storm is declared when no time is left. One poll without the condition restores the full time.
   Detection therefore takes between ceil(detection / poll) polls and one more.
2. The condition is about *received* pause: the watchdog protects the switch that is being paused.
3. DROP discards the packets of the queue, waiting and arriving. FORWARD stops obeying PFC for the class. ALERT only
   counts.
4. Restored after restoration time without any received PFC frame of the class; never, if there is none. ALERT: as soon
   as the condition no longer holds. Received PFC frames are counted while the class is disabled, too, so a storm that
   goes on keeps the queue in storm (sonic-buildimage issue 29203 shows the opposite). Cisco's script checks the pause
   status instead of frames.
5. Poll interval and condition are of the switch; detection, restoration, action and watched classes of each port
   (PFC_WD|<port>).
6. A software watchdog may poll later than it is configured to, and counts its configured interval for each poll
   (sonic-buildimage issue 29705). Mellanox' script counts what has passed.
7. A hardware watchdog (SONiC doc/pfcwd/pfc_hardware_recovery_hld.md) is a timer of the chip that goes in steps: a step
   counts where the class was paused at the last step, is paused now, and was never released between. Traffic and
   frames do not matter. One gap restores the full time. A step is what a poll is for software.
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.port import transmit
from fabric.dataplane.port.flowcontrol import gate
from fabric.dataplane.state import calendar, trace
from fabric.dataplane.state.codes import Aux, DropReason, EventKind, WatchdogAction, WatchdogRule, WatchdogState
from fabric.dataplane.state.compiled.jit import i64, kernel
from fabric.dataplane.state.types import State
from fabric.dataplane.switch import egress
from fabric.dataplane.switch.forward import switch_row

_POLL = int(Aux.WATCHDOG)
_STORMED, _OPERATIONAL = int(WatchdogState.STORMED), int(WatchdogState.OPERATIONAL)
_DROP, _FORWARD, _ALERT = int(WatchdogAction.DROP), int(WatchdogAction.FORWARD), int(WatchdogAction.ALERT)
_BROADCOM, _MELLANOX = int(WatchdogRule.BROADCOM), int(WatchdogRule.MELLANOX)
_CISCO, _TERALYNX = int(WatchdogRule.CISCO), int(WatchdogRule.TERALYNX)
_HARDWARE = int(WatchdogRule.HARDWARE)
_DETECTED, _RESTORED = int(EventKind.STORM_DETECTED), int(EventKind.STORM_RESTORED)
_WATCHDOG = int(DropReason.WATCHDOG)
u = np.uint32


@kernel
def _condition(state: State, port: int, c: int, rule: int, poll_ps: int, now_ps: int) -> bool:
    queue, paused_now = state.queues[port * 8 + c], not gate.may_send(state, port, c)
    received = gate.frames_received(state, port, c) - i64(queue["wd_last_rx_pkts"])
    on2off = gate.pauses_ended(state, port, c) - i64(queue["wd_last_on2off"])
    sent = i64(queue["sent_pkts"]) - i64(queue["wd_last_sent_pkts"])
    paused_ps = gate.paused_ps(state, port, c, now_ps) - i64(queue["wd_last_paused_ps"])
    occupied = i64(queue["depth_bytes"]) > 0
    if rule == _HARDWARE:
        return on2off == 0 and paused_now and queue["wd_last_paused"] == 1
    if rule == _BROADCOM:
        return received > 0 and on2off == 0 and paused_now and queue["wd_last_paused"] == 1
    if rule == _MELLANOX:
        return occupied and sent == 0 and paused_ps * 100 > poll_ps * 99
    if rule == _CISCO:
        return paused_now
    long_pause = paused_ps * 10 > poll_ps * 8
    if rule == _TERALYNX:
        return received > 0 and long_pause and (sent == 0 or not occupied)
    return (occupied and sent == 0 and received > 0) or (not occupied and sent == 0 and long_pause)


@kernel
def _store(state: State, port: int, c: int, now_ps: int) -> None:
    queue = state.queues[port * 8 + c]
    queue["wd_last_rx_pkts"] = gate.frames_received(state, port, c)
    queue["wd_last_on2off"] = gate.pauses_ended(state, port, c)
    queue["wd_last_sent_pkts"] = queue["sent_pkts"]
    queue["wd_last_paused_ps"] = gate.paused_ps(state, port, c, now_ps)
    queue["wd_last_paused"] = 0 if gate.may_send(state, port, c) else 1
    queue["wd_polled"] = 1


@kernel
def _storm(state: State, device: int, port: int, c: int, action: int, restoration_ps: int, now_ps: int) -> None:
    queue, row = state.queues[port * 8 + c], state.ports[port]
    queue["wd_state"] = _STORMED
    queue["wd_detected"] += 1
    queue["wd_stormed_ps"] = now_ps
    queue["wd_restore_left_ps"] = restoration_ps
    trace.emit(state, 0, device, now_ps, _DETECTED, port, c, 0, trace.NO_QP, i64(queue["depth_bytes"]), action, 0, 0)
    if action == _DROP:
        row["wd_dropping"] = i64(row["wd_dropping"]) | 1 << c
        before = i64(queue["dropped_pkts"])
        egress.flush_queue(state, device, port, c, _WATCHDOG, now_ps)
        queue["wd_dropped_pkts"] += i64(queue["dropped_pkts"]) - before
    elif action == _FORWARD:
        gate.suspend(state, port, c)
        if not gate.may_send(state, port, c):
            gate.resume(state, device, port, c, now_ps, 0)
            if not transmit.is_busy(state, port, now_ps):
                egress.transmit_next(state, device, port, now_ps)
            elif i64(row["nonempty"]) >> c & 1:
                transmit.wake_when_free(state, device, port)


@kernel
def restore(state: State, device: int, port: int, c: int, now_ps: int) -> None:
    """End a storm: the queue works as before. PFC comes back only where FORWARD had suspended it."""
    queue, row = state.queues[port * 8 + c], state.ports[port]
    queue["wd_state"] = _OPERATIONAL
    queue["wd_restored"] += 1
    queue["wd_left_ps"] = row["wd_detection_ps"]
    row["wd_dropping"] = i64(row["wd_dropping"]) & ~(1 << c) & 0xFF
    gate.restore(state, port, c)
    trace.emit(
        state, 0, device, now_ps, _RESTORED, port, c, 0, trace.NO_QP, now_ps - i64(queue["wd_stormed_ps"]), 0, 0, 0
    )


@kernel
def _poll_queue(state: State, device: int, port: int, c: int, now_ps: int) -> None:
    queue, switch, row = state.queues[port * 8 + c], state.switches[switch_row(state, device)], state.ports[port]
    poll_ps, action = i64(switch["wd_poll_ps"]), i64(row["wd_action"])
    charge_ps = i64(switch["wd_charge_ps"]) if switch["wd_charge_ps"] > 0 else poll_ps
    if queue["wd_polled"] != 0:
        holds = _condition(state, port, c, i64(switch["wd_rule"]), poll_ps, now_ps)
        if queue["wd_state"] == _OPERATIONAL:
            if not holds:
                queue["wd_left_ps"] = row["wd_detection_ps"]
            elif queue["wd_left_ps"] <= charge_ps:
                _storm(state, device, port, c, action, i64(row["wd_restoration_ps"]), now_ps)
            else:
                queue["wd_left_ps"] -= charge_ps
        elif action == _ALERT:
            if not holds:
                restore(state, device, port, c, now_ps)
        elif row["wd_restoration_ps"] >= 0:
            quiet = gate.frames_received(state, port, c) == queue["wd_last_rx_pkts"]
            if switch["wd_rule"] == _CISCO and action == _DROP:
                quiet = gate.may_send(state, port, c)
            if not quiet:
                queue["wd_restore_left_ps"] = row["wd_restoration_ps"]
            elif queue["wd_restore_left_ps"] <= charge_ps:
                restore(state, device, port, c, now_ps)
            else:
                queue["wd_restore_left_ps"] -= charge_ps
    _store(state, port, c, now_ps)


@kernel
def on_poll(state: State, device: int, now_ps: int) -> None:
    """Poll every watched queue and schedule the next poll."""
    row, switch = state.devices[device], state.switches[switch_row(state, device)]
    first = i64(row["first_port"])
    for port in range(first, first + i64(row["n_ports"])):
        for c in range(8):
            if state.queues[port * 8 + c]["wd_watched"] != 0:
                _poll_queue(state, device, port, c, now_ps)
    calendar.schedule(
        state, device, calendar.aux_source(state, device, _POLL), now_ps + i64(switch["wd_poll_ps"]), calendar.NEW_ORDER
    )

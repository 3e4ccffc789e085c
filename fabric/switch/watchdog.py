"""PFC watchdog: polls the queues it watches, declares storms, acts, restores (SONiC orchagent and its Lua plugins).

Rules
1. The first poll only stores counters. Then, per queue and poll: if the platform's condition holds, the time left falls
   by one poll; a storm is declared when it is used up; one good poll starts it anew. Detection therefore takes between
   ceil(detection / poll) polls and one more.
2. The condition is about *received* pause: the watchdog protects the switch that is being paused.
3. DROP discards what waits and what comes for the queue. FORWARD stops obeying PFC for the class. ALERT only counts.
4. Restored after restoration time without any received PFC frame of the class; never, if there is none. ALERT: as soon
   as the condition no longer holds. Received PFC frames are counted while the class is disabled too, so a storm that
   goes on holds the queue in storm (sonic-buildimage issue 29203 is what happens otherwise).
   Cisco's own script looks at the pause status instead of frames.
"""

from __future__ import annotations

import numpy as np

from fabric.port import pause, transmit
from fabric.port.pause import aux_source
from fabric.state import calendar, trace
from fabric.state.codes import Aux, DropReason, EventKind, WatchdogAction, WatchdogRule, WatchdogState
from fabric.state.jit import i64, kernel
from fabric.state.types import State
from fabric.switch import egress
from fabric.switch.forward import switch_row

_POLL = int(Aux.WATCHDOG)
_STORMED, _OPERATIONAL = int(WatchdogState.STORMED), int(WatchdogState.OPERATIONAL)
_DROP, _FORWARD, _ALERT = int(WatchdogAction.DROP), int(WatchdogAction.FORWARD), int(WatchdogAction.ALERT)
_BROADCOM, _MELLANOX = int(WatchdogRule.BROADCOM), int(WatchdogRule.MELLANOX)
_CISCO, _TERALYNX = int(WatchdogRule.CISCO), int(WatchdogRule.TERALYNX)
_DETECTED, _RESTORED = int(EventKind.STORM_DETECTED), int(EventKind.STORM_RESTORED)
_WATCHDOG = int(DropReason.WATCHDOG)
u = np.uint32


@kernel
def _paused_ps(state: State, port: int, c: int, now_ps: int) -> int:
    total_ps = i64(state.prios[port * 8 + c]["rx_paused_ps"])
    if i64(state.ports[port]["paused"]) >> c & 1:
        total_ps += now_ps - i64(state.prios[port * 8 + c]["since_ps"])
    return total_ps


@kernel
def _condition(state: State, port: int, c: int, rule: int, poll_ps: int, now_ps: int) -> bool:
    queue, prio = state.queues[port * 8 + c], state.prios[port * 8 + c]
    paused_now = i64(state.ports[port]["paused"]) >> c & 1
    received = i64(prio["rx_xoff_pkts"]) + i64(prio["rx_xon_pkts"]) - i64(queue["wd_last_rx_pkts"])
    on2off = i64(prio["on2off_pkts"]) - i64(queue["wd_last_on2off"])
    sent = i64(queue["sent_pkts"]) - i64(queue["wd_last_sent_pkts"])
    paused_ps = _paused_ps(state, port, c, now_ps) - i64(queue["wd_last_paused_ps"])
    occupied = i64(queue["depth_bytes"]) > 0
    if rule == _BROADCOM:
        return received > 0 and on2off == 0 and paused_now == 1 and queue["wd_last_paused"] == 1
    if rule == _MELLANOX:
        return occupied and sent == 0 and paused_ps * 100 > poll_ps * 99
    if rule == _CISCO:
        return paused_now == 1
    long_pause = paused_ps * 10 > poll_ps * 8
    if rule == _TERALYNX:
        return received > 0 and long_pause and (sent == 0 or not occupied)
    return (occupied and sent == 0 and received > 0) or (not occupied and sent == 0 and long_pause)


@kernel
def _remember(state: State, port: int, c: int, now_ps: int) -> None:
    queue, prio = state.queues[port * 8 + c], state.prios[port * 8 + c]
    queue["wd_last_rx_pkts"] = i64(prio["rx_xoff_pkts"]) + i64(prio["rx_xon_pkts"])
    queue["wd_last_on2off"] = prio["on2off_pkts"]
    queue["wd_last_sent_pkts"] = queue["sent_pkts"]
    queue["wd_last_paused_ps"] = _paused_ps(state, port, c, now_ps)
    queue["wd_last_paused"] = i64(state.ports[port]["paused"]) >> c & 1
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
        row["wd_unpaused"] = i64(row["wd_unpaused"]) | i64(row["pfc_classes"]) & 1 << c
        row["pfc_classes"] = i64(row["pfc_classes"]) & ~(1 << c) & 0xFF
        if i64(row["paused"]) >> c & 1:
            pause.resume(state, device, port, c, now_ps, 0)
            if not transmit.is_busy(state, port, now_ps):
                egress.transmit_next(state, device, port, now_ps)
            elif i64(row["nonempty"]) >> c & 1:
                transmit.wake_when_free(state, device, port)


@kernel
def restore(state: State, device: int, port: int, c: int, now_ps: int) -> None:
    """End a storm: the queue works as before; PFC comes back only where FORWARD had taken it away."""
    queue, row = state.queues[port * 8 + c], state.ports[port]
    queue["wd_state"] = _OPERATIONAL
    queue["wd_restored"] += 1
    queue["wd_left_ps"] = state.switches[switch_row(state, device)]["wd_detection_ps"]
    row["wd_dropping"] = i64(row["wd_dropping"]) & ~(1 << c) & 0xFF
    row["pfc_classes"] = i64(row["pfc_classes"]) | i64(row["wd_unpaused"]) & 1 << c
    row["wd_unpaused"] = i64(row["wd_unpaused"]) & ~(1 << c) & 0xFF
    trace.emit(state, 0, device, now_ps, _RESTORED, port, c, 0, trace.NO_QP, now_ps - i64(queue["wd_stormed_ps"]), 0,
               0, 0)


@kernel
def _poll_queue(state: State, device: int, port: int, c: int, now_ps: int) -> None:
    queue, switch = state.queues[port * 8 + c], state.switches[switch_row(state, device)]
    poll_ps, action = i64(switch["wd_poll_ps"]), i64(switch["wd_action"])
    if queue["wd_polled"] != 0:
        holds = _condition(state, port, c, i64(switch["wd_rule"]), poll_ps, now_ps)
        if queue["wd_state"] == _OPERATIONAL:
            if not holds:
                queue["wd_left_ps"] = switch["wd_detection_ps"]
            elif queue["wd_left_ps"] <= poll_ps:
                _storm(state, device, port, c, action, i64(switch["wd_restoration_ps"]), now_ps)
            else:
                queue["wd_left_ps"] -= poll_ps
        elif action == _ALERT:
            if not holds:
                restore(state, device, port, c, now_ps)
        elif switch["wd_restoration_ps"] >= 0:
            prio = state.prios[port * 8 + c]
            silent = i64(prio["rx_xoff_pkts"]) + i64(prio["rx_xon_pkts"]) == queue["wd_last_rx_pkts"]
            if switch["wd_rule"] == _CISCO and action == _DROP:
                silent = i64(state.ports[port]["paused"]) >> c & 1 == 0
            if not silent:
                queue["wd_restore_left_ps"] = switch["wd_restoration_ps"]
            elif queue["wd_restore_left_ps"] <= poll_ps:
                restore(state, device, port, c, now_ps)
            else:
                queue["wd_restore_left_ps"] -= poll_ps
    _remember(state, port, c, now_ps)


@kernel
def on_poll(state: State, device: int, now_ps: int) -> None:
    """Look at every watched queue and schedule the next poll."""
    row, switch = state.devices[device], state.switches[switch_row(state, device)]
    first = i64(row["first_port"])
    for port in range(first, first + i64(row["n_ports"])):
        for c in range(8):
            if state.queues[port * 8 + c]["wd_watched"] != 0:
                _poll_queue(state, device, port, c, now_ps)
    calendar.schedule(state, device, aux_source(state, device, _POLL), now_ps + i64(switch["wd_poll_ps"]),
                      calendar.NEW_ORDER)

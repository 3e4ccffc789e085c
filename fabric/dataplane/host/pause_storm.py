"""A broken NIC that sends XOFF without end (Guo et al., SIGCOMM 2016, section 4.3).

It sends PFC frames at a fixed gap until a given time, at any fill of its buffers. It may storm for several reasons at
once, each with classes, gap and end: a class is paused while one of them asks for it. The fault is one of PFC, so this
file alone calls the kernels of PFC by name (docs/flow-control.md).
"""

from __future__ import annotations

from fabric.dataplane.port.flowcontrol import pfc
from fabric.dataplane.state import calendar
from fabric.dataplane.state.codes import INFINITY_PS, Aux
from fabric.dataplane.state.compiled.jit import i64, kernel
from fabric.dataplane.state.types import State

_STORM = int(Aux.STORM)


@kernel
def change_speed(state: State, device: int, port: int, now_ps: int, quantum_ps: int) -> None:
    """A broken NIC's port is about to have another speed: a gap of half a pause stays half of it."""
    host, before_ps = state.hosts[device], i64(state.ports[port]["quantum_ps"])
    at, next_ps = i64(host["first_storm"]), INFINITY_PS
    if at == 0 or host["storm_port"] != port:
        return
    while at != 0:
        storm = state.storms[at]
        if storm["paused_until_ps"] > now_ps:  # the peer counts what is left in quanta of the new length
            storm["paused_until_ps"] = now_ps + pfc.in_new_quanta(
                i64(storm["paused_until_ps"]) - now_ps, quantum_ps, before_ps
            )
        if storm["gap_ps"] == max(i64(storm["quanta"]) * before_ps // 2, 1):
            storm["gap_ps"] = max(i64(storm["quanta"]) * quantum_ps // 2, 1)
            storm["next_ps"] = now_ps + pfc.in_new_quanta(i64(storm["next_ps"]) - now_ps, quantum_ps, before_ps)
        next_ps = min(next_ps, i64(storm["next_ps"]))
        at = i64(storm["next"])
    calendar.schedule(state, device, calendar.aux_source(state, device, _STORM), next_ps, calendar.NEW_ORDER)


@kernel
def _quanta(state: State, device: int, storm: int, c: int, now_ps: int) -> int:
    """Timer value of a storm's frame for a class: no shorter than the pauses that other storms have asked for.

    A received timer replaces the running one (802.3 annex 31B.3.3), even a longer one.
    """
    quantum_ps = i64(state.ports[state.hosts[device]["storm_port"]]["quantum_ps"])
    quanta = i64(state.storms[storm]["quanta"])
    at = i64(state.hosts[device]["first_storm"])
    while at != 0:
        other = state.storms[at]
        if at != storm and i64(other["classes"]) >> c & 1 and now_ps < other["until_ps"]:
            left_ps = i64(other["paused_until_ps"]) - now_ps
            quanta = max(quanta, -(-left_ps // quantum_ps))
        at = i64(other["next"])
    return quanta


@kernel
def _pause_peer(state: State, device: int, storm: int, now_ps: int) -> None:
    """Send one storm's XOFF: one frame for all classes with the same timer value."""
    left = i64(state.storms[storm]["classes"])
    while left != 0:
        quanta, together = -1, 0
        for c in range(8):
            if left >> c & 1:
                wanted = _quanta(state, device, storm, c, now_ps)
                if quanta < 0:
                    quanta = wanted
                if wanted == quanta:
                    together |= 1 << c
        pfc.send(state, device, i64(state.hosts[device]["storm_port"]), together, together, quanta, now_ps)
        left &= ~together
    quantum_ps = i64(state.ports[state.hosts[device]["storm_port"]]["quantum_ps"])
    state.storms[storm]["paused_until_ps"] = now_ps + i64(state.storms[storm]["quanta"]) * quantum_ps


@kernel
def on_storm(state: State, device: int, now_ps: int) -> None:
    """Send the XOFF of every storm that is due. After a storm's end its classes time out."""
    host = state.hosts[device]
    next_ps, before, at = INFINITY_PS, 0, i64(host["first_storm"])
    while at != 0:
        storm = state.storms[at]
        following = i64(storm["next"])
        if now_ps >= storm["until_ps"]:
            if before == 0:
                host["first_storm"] = following
            else:
                state.storms[before]["next"] = following
        else:
            if storm["next_ps"] <= now_ps:
                _pause_peer(state, device, at, now_ps)
                storm["next_ps"] = now_ps + i64(storm["gap_ps"])
            next_ps = min(next_ps, i64(storm["next_ps"]))
            before = at
        at = following
    calendar.schedule(state, device, calendar.aux_source(state, device, _STORM), next_ps, calendar.NEW_ORDER)

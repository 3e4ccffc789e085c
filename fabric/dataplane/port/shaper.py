"""Shapers of a switch's ports and queues: the largest rate at which they send, whatever the port's speed is.

Rules (SAI saischeduler.h, SAI_SCHEDULER_ATTR_MAX_BANDWIDTH_RATE and _BURST_RATE)
1. A shaper is a bucket that its rate fills, up to the burst. A frame takes its bytes, without preamble and gap, when it
   begins to leave.
2. A frame may begin while the bucket is not below 0, and is then taken whole: no size has to be known before the choice
   of a class, and the rate holds on average. With a burst of 0 the frames are evenly spaced.
3. A queue whose bucket is below 0 is held (PORT.held), and so are all queues of a port whose own bucket is.
4. Frames of link flow control pass: they are sent from the port's control queue.
5. A device has one timer for all of its shapers, Aux.SHAPER.
"""

from __future__ import annotations

from typing import Final

from fabric.dataplane.state import calendar
from fabric.dataplane.state.codes import INFINITY_PS, Aux
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.shaper_tables import SHAPERS_OF_A_PORT
from fabric.dataplane.state.types import State
from fabric.units import PS_PER_S

_TIMER: Final = int(Aux.SHAPER)
_WHOLE_PORT: Final = SHAPERS_OF_A_PORT - 1
_ALL_QUEUES: Final = 0xFF
_SHAPED: Final = 1 << _WHOLE_PORT
"""In PORT.held, which every departure reads: the port has a shaper."""
_PS_PER_BYTE_AT_1_BPS: Final = 8 * PS_PER_S


@kernel
def _hold(state: State, port: int, now_ps: int) -> int:
    """Set PORT.held; returns the time at which the next bucket is no more below 0 (INFINITY_PS: none is)."""
    row, held, next_ps = state.ports[port], 0, INFINITY_PS
    for index in range(SHAPERS_OF_A_PORT):
        if i64(row["shaped"]) >> index & 1:
            shaper = state.shapers[port * SHAPERS_OF_A_PORT + index]
            until_ps = i64(shaper["full_ps"]) - i64(shaper["burst_ps"])
            if until_ps > now_ps:
                held |= _ALL_QUEUES if index == _WHOLE_PORT else 1 << index
                next_ps = min(next_ps, until_ps)
    row["held"] = _SHAPED | held
    return next_ps


@kernel
def _take(state: State, device: int, port: int, q: int, size_bytes: int, now_ps: int) -> None:
    row = state.ports[port]
    for index in (q, _WHOLE_PORT):
        if i64(row["shaped"]) >> index & 1:
            shaper = state.shapers[port * SHAPERS_OF_A_PORT + index]
            rate_bps = i64(shaper["rate_bps"])
            cost_ps = (size_bytes * _PS_PER_BYTE_AT_1_BPS + rate_bps - 1) // rate_bps
            shaper["full_ps"] = max(i64(shaper["full_ps"]), now_ps) + cost_ps
    next_ps = _hold(state, port, now_ps)
    if next_ps < INFINITY_PS:
        calendar.schedule_earlier(state, device, calendar.aux_source(state, device, _TIMER), next_ps)


@hot
def sent(state: State, device: int, port: int, q: int, size_bytes: int, now_ps: int) -> None:
    """A frame of queue q begins to leave the port."""
    if state.ports[port]["held"] != 0:
        _take(state, device, port, q, size_bytes, now_ps)


@kernel
def release(state: State, port: int, now_ps: int) -> bool:
    """Let go the queues of the port whose buckets have filled; returns whether some queue was."""
    before = i64(state.ports[port]["held"]) & _ALL_QUEUES
    if before == 0:
        return False
    _hold(state, port, now_ps)
    return before & ~i64(state.ports[port]["held"]) != 0


@kernel
def rearm(state: State, device: int, now_ps: int) -> None:
    """Schedule the device's next timer, after its ports were released."""
    row, next_ps = state.devices[device], INFINITY_PS
    for port in range(i64(row["first_port"]), i64(row["first_port"]) + i64(row["n_ports"])):
        if i64(state.ports[port]["held"]) & _ALL_QUEUES:
            next_ps = min(next_ps, _hold(state, port, now_ps))
    calendar.schedule(state, device, calendar.aux_source(state, device, _TIMER), next_ps, calendar.NEW_ORDER)

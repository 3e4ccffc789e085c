"""DCQCN reaction point as the public HPCC simulator has it ("mlx" mode): timers only, notification in the ACK.

Rules
1. First notification: alpha = 1, target = rate, start the alpha timer (every Ta from now, for ever) and the decrease
   timer (first after Td + 1 ns, then every Td, for ever). No cut yet.
2. Alpha timer: alpha = (1-g) alpha + g if a notification came since the last one, else (1-g) alpha.
3. Decrease timer: if a notification came since the last one: target = rate if clamping or if an increase happened since
   the last cut; rate *= 1 - alpha/2, at least min; stage 0; the increase timer starts anew (Ti from now).
4. Increase timer, every Ti: stage < F fast recovery; stage = F adds R_AI to the target; later stages add R_HAI; each
   sets rate = rate/2 + target/2, both halves truncated. There is no byte counter.

In the window loop timers are caught up when the queue pair sends or is notified (they touch nothing else). Under
insertion order they are events of their own, since there the order among equal moments is that of scheduling.
"""

from __future__ import annotations

import numpy as np

from fabric.state import calendar, trace
from fabric.state.codes import INFINITY_PS, EventKind, Order, TraceBit
from fabric.state.jit import i64, kernel
from fabric.state.types import State

_INSERTION = int(Order.INSERTION)
_TRACE, _CUT = int(TraceBit.RATE), int(EventKind.RATE_CUT)
ALPHA, DECREASE, INCREASE = 0, 1, 2
_NS = 1000
u = np.uint32


@kernel
def _set(state: State, qp: int, timer: int, time_ps: int) -> None:
    row = state.qps[u(qp)]
    if timer == ALPHA:
        row["alpha_at_ps"] = time_ps
    elif timer == DECREASE:
        row["decrease_at_ps"] = time_ps
    else:
        row["increase_at_ps"] = time_ps
    if state.config[0]["order"] == _INSERTION:
        calendar.set_leaf(state, i64(state.config[0]["first_timer_leaf"]) + 3 * qp + timer, time_ps, calendar.NEW_ORDER)


@kernel
def fire(state: State, device: int, qp: int, timer: int, now_ps: int) -> None:
    """Carry out one timer of a queue pair (rules 2 to 4)."""
    row, config = state.qps[u(qp)], state.config[0]
    if timer == ALPHA:
        gain = float(config["gain"])
        row["alpha"] = (1.0 - gain) * row["alpha"] + (gain if row["alpha_seen"] != 0 else 0.0)
        row["alpha_seen"] = 0
        _set(state, qp, ALPHA, now_ps + i64(config["alpha_timer_ps"]))
    elif timer == DECREASE:
        _set(state, qp, DECREASE, now_ps + i64(config["decrease_interval_ps"]))
        if row["cnp_seen"] != 0:
            before = i64(row["rate_bps"])
            if config["clamp_target"] != 0 or row["time_stage"] > 0:
                row["target_bps"] = before
            row["rate_bps"] = max(i64(config["min_rate_bps"]), i64(before * (1.0 - row["alpha"] / 2.0)))
            row["time_stage"], row["cnp_seen"] = 0, 0
            row["cuts"] += 1
            _set(state, qp, INCREASE, now_ps + i64(config["increase_timer_ps"]))
            trace.emit(state, _TRACE, device, now_ps, _CUT, trace.NO_PORT, i64(row["tc"]), 0, qp, before,
                       i64(row["rate_bps"]),
                       i64(row["alpha"] * 1e6), 0)
    else:
        _set(state, qp, INCREASE, now_ps + i64(config["increase_timer_ps"]))
        stage, steps = i64(row["time_stage"]), i64(config["fast_recovery_steps"])
        if stage >= steps:
            gain_bps = i64(config["additive_bps"])
            if stage > steps:
                gain_bps = i64(config["hyper_bps"])
            row["target_bps"] = min(i64(row["target_bps"]) + gain_bps, i64(row["line_bps"]))
        row["rate_bps"] = i64(row["rate_bps"]) // 2 + i64(row["target_bps"]) // 2
        row["time_stage"] = stage + 1


@kernel
def advance(state: State, device: int, qp: int, now_ps: int) -> None:
    """Catch up with every timer that is due, in the order in which a global event list would run them."""
    if state.config[0]["order"] == _INSERTION:
        return
    row, config = state.qps[u(qp)], state.config[0]
    while True:
        due_ps = min(i64(row["alpha_at_ps"]), i64(row["decrease_at_ps"]), i64(row["increase_at_ps"]))
        if due_ps > now_ps:
            return
        if row["alpha_at_ps"] == due_ps:
            fire(state, device, qp, ALPHA, due_ps)
        elif row["increase_at_ps"] == due_ps and (
                row["decrease_at_ps"] != due_ps or config["increase_timer_ps"] > config["decrease_interval_ps"]):
            # Of two timers due together, the one with the longer period was scheduled first.
            fire(state, device, qp, INCREASE, due_ps)
        else:
            fire(state, device, qp, DECREASE, due_ps)


@kernel
def notify(state: State, device: int, qp: int, now_ps: int) -> None:
    """An ACK has echoed a mark."""
    advance(state, device, qp, now_ps)
    row, config = state.qps[u(qp)], state.config[0]
    row["alpha_seen"], row["cnp_seen"] = 1, 1
    if row["started"] == 0:
        row["started"] = 1
        row["alpha"], row["alpha_seen"] = 1.0, 0
        row["target_bps"] = row["rate_bps"]
        _set(state, qp, ALPHA, now_ps + i64(config["alpha_timer_ps"]))
        _set(state, qp, DECREASE, now_ps + i64(config["decrease_interval_ps"]) + _NS)


@kernel
def stop(state: State, qp: int) -> None:
    """The message is complete: cancel all timers."""
    if state.qps[u(qp)]["started"] != 0:
        for timer in range(3):
            _set(state, qp, timer, INFINITY_PS)
        state.qps[u(qp)]["started"] = 0

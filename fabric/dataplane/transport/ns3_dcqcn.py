"""DCQCN reaction point as the public ns-3 RDMA simulator has it ("mlx" mode): timers only, notification in the ACK.

Rules
1. First notification: alpha = 1, target = rate, start the alpha timer (every Ta from now, without end) and the decrease
   timer (first after Td + 1 ns, then every Td, without end). No cut yet.
2. Alpha timer: alpha = (1-g) alpha + g if a notification came since the last one, else (1-g) alpha.
3. Decrease timer: if a notification came since the last one: target = rate if clamping or if an increase happened since
   the last cut; rate *= 1 - alpha/2, at least min; stage 0; the increase timer restarts (Ti from now).
4. Increase timer, every Ti: stage < F fast recovery; stage = F adds R_AI to the target; later stages add R_HAI; each
   sets rate = rate/2 + target/2, both halves truncated. There is no byte counter.

Timers change only these fields, so they are no events: they are caught up when the queue pair sends, is notified or
completes, when its window is read, or when the run pauses. Under insertion order a timer that expires in the very
nanosecond of the present event has run only if a global event list would have had it first (decisions/0027).
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.state import ancestry
from fabric.dataplane.state.codes import INFINITY_PS, Order, PacketFlag, Stop
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.rng import mix32
from fabric.dataplane.state.types import State
from fabric.dataplane.transport import pacing

_ECHO = int(PacketFlag.ECHO)
_INSERTION = int(Order.INSERTION)
_NONE, _TRACE_FULL = int(Stop.NONE), int(Stop.TRACE)
_ALPHA, _DECREASE, _INCREASE = 0, 1, 2
_NS = 1000
_STEADY = 64
"""Alpha steps between two checks whether alpha still changes: a very small alpha is kept by rounding."""
_AFTER_ALL = 1 << 62
"""Sequence number after those of all other events of its instant."""
_WORD = 0xFFFFFFFF
u = np.uint32


@kernel
def _is_first(state: State, qp: int, timer: int, due_ps: int) -> bool:
    """Whether a timer that expires at due_ps comes before the present event, which is of the same instant."""
    pair, config = state.pairs[u(qp)], state.config[0]
    key = i64(config["tie_key"])
    if (
        key != 0
    ):  # events at equal times run in random order (state/calendar): the timer comes before all others, or after
        return mix32((qp + timer + due_ps ^ key) & _WORD) & 1 == 1
    order = i64(config["event_order"])
    while True:
        start = False
        if timer == _ALPHA:
            before_ps = due_ps - i64(config["alpha_timer_ps"])
            start = before_ps == i64(pair["start_ps"])
        elif timer == _DECREASE:
            before_ps = due_ps - i64(config["decrease_interval_ps"])
            if before_ps - _NS == i64(pair["start_ps"]):
                start, before_ps = True, before_ps - _NS
        else:
            before_ps = due_ps - i64(config["increase_timer_ps"])
            if before_ps == i64(pair["cut_ps"]):
                timer = _DECREASE
        scheduled_ps = ancestry.scheduled_ps(order)
        if scheduled_ps != before_ps:
            return before_ps < scheduled_ps
        if start:
            return i64(pair["start_order"]) <= order
        order, due_ps = ancestry.parent_of(state, order), before_ps
        if order < 0:
            config["ancestry_lost"] = 1
            return True


@hot
def _has_run(state: State, qp: int, timer: int, due_ps: int, now_ps: int) -> bool:
    """Whether a timer that expires at due_ps, not after now_ps, comes before the present event."""
    return due_ps < now_ps or state.config[0]["order"] != _INSERTION or _is_first(state, qp, timer, due_ps)


@kernel
def _advance_alpha(state: State, qp: int, count: int) -> None:
    """Apply `count` expiries of the alpha timer (rule 2), with the same bits as one by one."""
    row, config = state.qps[u(qp)], state.config[0]
    gain = float(config["gain"])
    keep = 1.0 - gain
    alpha = keep * float(row["alpha"]) + (gain if row["alpha_seen"] != 0 else 0.0)
    left = count - 1
    while left >= _STEADY and keep * alpha != alpha:
        for _ in range(_STEADY):
            alpha = keep * alpha
        left -= _STEADY
    if left < _STEADY:
        for _ in range(left):
            alpha = keep * alpha
    row["alpha"], row["alpha_seen"] = alpha, 0
    row["alpha_at_ps"] += count * i64(config["alpha_timer_ps"])


@hot
def _alpha_before(state: State, qp: int, now_ps: int) -> None:
    row = state.qps[u(qp)]
    first_ps = i64(row["alpha_at_ps"])
    if first_ps > now_ps:
        return
    period_ps = i64(state.config[0]["alpha_timer_ps"])
    count = (now_ps - first_ps) // period_ps
    last_ps = first_ps + count * period_ps
    if _has_run(state, qp, _ALPHA, last_ps, now_ps):
        count += 1
    if count > 0:
        _advance_alpha(state, qp, count)


@kernel
def _cut(state: State, device: int, qp: int, due_ps: int) -> None:
    """The decrease timer expires after a notification (rule 3)."""
    row, config = state.qps[u(qp)], state.config[0]
    while row["alpha_at_ps"] <= due_ps:
        count = (due_ps - i64(row["alpha_at_ps"])) // i64(config["alpha_timer_ps"]) + 1
        _advance_alpha(state, qp, count)
    before = i64(row["rate_bps"])
    if config["clamp_target"] != 0 or row["time_stage"] > 0:
        row["target_bps"] = before
    row["rate_bps"] = max(i64(config["min_rate_bps"]), i64(before * (1.0 - row["alpha"] / 2.0)))
    row["time_stage"], row["cnp_seen"] = 0, 0
    row["decrease_at_ps"] = due_ps + i64(config["decrease_interval_ps"])
    row["increase_at_ps"] = due_ps + i64(config["increase_timer_ps"])
    state.pairs[u(qp)]["cut_ps"] = due_ps
    pacing.note_cut(state, device, qp, due_ps, before, i64(row["alpha"] * 1e6))


@kernel
def _increase(state: State, qp: int) -> None:
    """The increase timer expires (rule 4)."""
    row, config = state.qps[u(qp)], state.config[0]
    row["increase_at_ps"] += i64(config["increase_timer_ps"])
    stage, steps = i64(row["time_stage"]), i64(config["fast_recovery_steps"])
    if stage >= steps:
        gain_bps = i64(config["additive_bps"])
        if stage > steps:
            gain_bps = i64(config["hyper_bps"])
        row["target_bps"] = min(i64(row["target_bps"]) + gain_bps, i64(row["line_bps"]))
    row["rate_bps"] = i64(row["rate_bps"]) // 2 + i64(row["target_bps"]) // 2
    row["time_stage"] = stage + 1


@hot
def next_change_ps(state: State, qp: int) -> int:
    """The next time at which the rate may change without a further notification."""
    row = state.qps[u(qp)]
    if row["started"] == 0:
        return INFINITY_PS
    cut_ps = INFINITY_PS
    if row["cnp_seen"] != 0:
        cut_ps = i64(row["decrease_at_ps"])
    return min(cut_ps, i64(row["increase_at_ps"]))


@hot
def advance(state: State, device: int, qp: int, now_ps: int) -> None:
    """Catch up with every timer that has run by now, in the order in which a global event list would run them."""
    row, config = state.qps[u(qp)], state.config[0]
    if row["started"] == 0:
        return
    while True:
        due_ps = next_change_ps(state, qp)
        if due_ps > now_ps:
            break
        # Of two timers due together, the one with the longer period was scheduled first.
        if row["increase_at_ps"] == due_ps and (
            row["cnp_seen"] == 0
            or row["decrease_at_ps"] != due_ps
            or (config["increase_timer_ps"] > config["decrease_interval_ps"])
        ):
            if not _has_run(state, qp, _INCREASE, due_ps, now_ps):
                break
            _increase(state, qp)
        else:
            if not _has_run(state, qp, _DECREASE, due_ps, now_ps):
                break
            _cut(state, device, qp, due_ps)
    _alpha_before(state, qp, now_ps)
    first_ps = i64(row["decrease_at_ps"])
    if first_ps <= now_ps:  # without a notification these expiries change only the next one's time
        period_ps = i64(config["decrease_interval_ps"])
        count = (now_ps - first_ps) // period_ps
        if _has_run(state, qp, _DECREASE, first_ps + count * period_ps, now_ps):
            count += 1
        row["decrease_at_ps"] = first_ps + count * period_ps


@kernel
def notify(state: State, device: int, qp: int, now_ps: int) -> None:
    """An ACK has echoed a mark."""
    advance(state, device, qp, now_ps)
    row, config = state.qps[u(qp)], state.config[0]
    row["alpha_seen"], row["cnp_seen"] = 1, 1
    if row["started"] == 0:
        pair = state.pairs[u(qp)]
        row["started"] = 1
        row["alpha"], row["alpha_seen"] = 1.0, 0
        row["target_bps"] = row["rate_bps"]
        row["alpha_at_ps"] = now_ps + i64(config["alpha_timer_ps"])
        row["decrease_at_ps"] = now_ps + i64(config["decrease_interval_ps"]) + _NS
        pair["start_ps"], pair["start_order"], pair["cut_ps"] = now_ps, config["next_order"], -1
        if config["order"] == _INSERTION:
            config["running_timers"] += 1


@kernel
def stop(state: State, device: int, qp: int, now_ps: int) -> None:
    """The message is complete: cancel all timers."""
    row, config = state.qps[u(qp)], state.config[0]
    if row["started"] != 0:
        advance(state, device, qp, now_ps)
        row["alpha_at_ps"] = row["increase_at_ps"] = row["decrease_at_ps"] = INFINITY_PS
        row["started"] = 0
        if config["order"] == _INSERTION:
            config["running_timers"] -= 1


@hot
def sent(state: State, device: int, qp: int, size_bytes: int, serialisation_ps: int, now_ps: int) -> int:
    """The earliest next departure after one at now_ps, at the present rate."""
    advance(state, device, qp, now_ps)
    return now_ps + pacing.gap_ps(state, qp, size_bytes, serialisation_ps)


@hot
def acknowledged(state: State, device: int, qp: int, packet: np.uint32, newly_pkts: int, now_ps: int) -> None:
    """An ACK or NAK: the last one cancels the timers, others may echo a mark."""
    if state.qps[u(qp)]["msg_head"] == 0:
        stop(state, device, qp, now_ps)
    elif i64(state.packets[packet]["flags"]) & _ECHO:
        notify(state, device, qp, now_ps)


@kernel
def settle(state: State, until_ps: int) -> int:
    """Insertion order, before the run pauses: every timer that expires before until_ps has run; a Stop code."""
    config = state.config[0]
    if config["running_timers"] == 0:
        return _NONE
    config["event_order"] = _AFTER_ALL
    for qp in range(i64(config["n_qps"])):
        if state.qps[u(qp)]["started"] != 0:
            device = i64(state.qps[u(qp)]["src"])
            logged = i64(state.threads[state.devices[device]["thread"]]["trace_count"])
            if logged >= config["trace_rows"]:
                state.threads[0]["stop_device"] = device
                return _TRACE_FULL
            advance(state, device, qp, until_ps - 1)
    return _NONE

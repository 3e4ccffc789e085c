"""DCQCN reaction point (Zhu et al., SIGCOMM 2015, sections 3 and 5.1; names as in mlx5 in brackets).

Rules
1. CNP: target = current if it was raised since the last cut, or always (clamp_tgt_rate); current *= 1 - alpha/2, where
   2 is rpg_gd and the remaining share is bounded (rpg_min_dec_fac); alpha = (1-g) alpha + g; all timers, counters and
   stages restart. At most once per decrease interval (rate_reduce_monitor_period); CNPs in between are counted as
   ignored. The first CNP of an unlimited queue pair may set a rate instead (rate_to_set_on_first_cnp).
2. No CNP for an alpha timer (dce_tcp_rtt): alpha = (1-g) alpha.
3. Increase timer (rpg_time_reset) and byte counter (rpg_byte_reset) each end a stage. Fast recovery while both stages
   are below F (rpg_threshold); hyper increase once both are above; additive otherwise. Each ends with
   current = (target + current) / 2. Without a byte counter its stage follows the timer's.
4. Rates stay within [min, line]. A rate at the maximum (rpg_max_rate) is not limited until the next CNP.

5. A departure owes its bits at the queue pair's rate; the next one may leave when they are paid (a leaky bucket of one
   packet). The rate is constant between two changes of it, so the time is exact: sent() sums over the increase timers
   that come before, and a cut in the meantime moves the departure by the bits still owed.

No timer here is an event. The future of a waiting queue pair is known except for CNPs, so timers are caught up when it
sends, is cut or is read, in order of time, with the alpha timer before the increase timer at one instant
(docs/decisions/0026).
"""

from __future__ import annotations

from fabric.dataplane.state.codes import INFINITY_PS
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State
from fabric.dataplane.transport import pacing
from fabric.dataplane.transport.laws import law


@hot
def _raised_bps(state: State, qp: int, target_bps: int, line_bps: int, time_stage: int, byte_stage: int) -> int:
    """The target rate after an increase (rule 3); both stages count the increase."""
    config = state.config[law(state, qp)]
    if config["byte_counter_bytes"] == 0:
        byte_stage = time_stage
    steps = i64(config["fast_recovery_steps"])
    if max(time_stage, byte_stage) < steps:
        return target_bps
    if min(time_stage, byte_stage) > steps:
        return min(target_bps + i64(config["hyper_bps"]), line_bps)
    return min(target_bps + i64(config["additive_bps"]), line_bps)


@hot
def _is_released(state: State, qp: int, rate_bps: int) -> bool:
    """Whether a rate is so high that it does not limit (rule 4)."""
    return bool(0 < state.config[law(state, qp)]["max_rate_bps"] <= rate_bps)


@kernel
def _increase(state: State, qp: int) -> None:
    row = state.qps[qp]
    line = i64(row["line_bps"])
    row["target_bps"] = _raised_bps(
        state, qp, i64(row["target_bps"]), line, i64(row["time_stage"]), i64(row["byte_stage"])
    )
    row["rate_bps"] = min((i64(row["rate_bps"]) + i64(row["target_bps"])) // 2, line)
    if _is_released(state, qp, i64(row["rate_bps"])):
        row["rate_bps"] = row["target_bps"] = line
        row["alpha_at_ps"] = row["increase_at_ps"] = INFINITY_PS
        row["started"] = 0


@kernel
def _catch_up(state: State, qp: int, now_ps: int) -> None:
    row, config = state.qps[qp], state.config[law(state, qp)]
    gain = float(config["gain"])
    while row["alpha_at_ps"] <= now_ps or row["increase_at_ps"] <= now_ps:
        if row["alpha_at_ps"] <= row["increase_at_ps"]:
            row["alpha"] = row["alpha"] * (1.0 - gain)
            row["alpha_at_ps"] += config["alpha_timer_ps"]
        else:
            row["time_stage"] += 1
            row["increase_at_ps"] += config["increase_timer_ps"]
            _increase(state, qp)


@hot
def advance(state: State, device: int, qp: int, now_ps: int) -> None:
    """Apply every timer that is due."""
    row = state.qps[qp]
    if row["started"] != 0 and (row["alpha_at_ps"] <= now_ps or row["increase_at_ps"] <= now_ps):
        _catch_up(state, qp, now_ps)


@hot
def _count(state: State, qp: int, size_bytes: int) -> None:
    """Count a departure for the byte counter."""
    row, config = state.qps[qp], state.config[law(state, qp)]
    if row["started"] == 0 or config["byte_counter_bytes"] == 0:
        return
    row["byte_count"] += size_bytes
    if row["byte_count"] >= config["byte_counter_bytes"]:
        row["byte_count"] -= config["byte_counter_bytes"]
        row["byte_stage"] += 1
        _increase(state, qp)


@kernel
def owed(state: State, qp: int, now_ps: int) -> int:
    """Bits owed before the next departure, in 10**-12 bit; timers have been caught up to now_ps.

    It is the integral of the rate from now to the planned departure, so no second copy of it is kept.
    Domain: below 2**63, as pacing.cost() of one frame is, plus one ps at the rate.
    """
    row, config = state.qps[qp], state.config[law(state, qp)]
    end_ps, at_ps, next_ps = i64(row["available_ps"]), now_ps, i64(row["increase_at_ps"])
    rate, target, line = i64(row["rate_bps"]), i64(row["target_bps"]), i64(row["line_bps"])
    time_stage, left = i64(row["time_stage"]), 0
    while next_ps < end_ps:
        left += rate * (next_ps - at_ps)
        time_stage += 1
        target = _raised_bps(state, qp, target, line, time_stage, i64(row["byte_stage"]))
        rate = min((rate + target) // 2, line)
        at_ps, next_ps = next_ps, next_ps + i64(config["increase_timer_ps"])
        if _is_released(state, qp, rate):
            rate, next_ps = line, INFINITY_PS
    if at_ps < end_ps:
        left += rate * (end_ps - at_ps)
    return left


@kernel
def departure_ps(state: State, qp: int, now_ps: int, left: int) -> int:
    """Time at which `left` (10**-12 bit) is paid if no CNP comes, rounded up so that no rate is exceeded (rule 5)."""
    row, config = state.qps[qp], state.config[law(state, qp)]
    at_ps, next_ps = now_ps, i64(row["increase_at_ps"])
    rate, target, line = i64(row["rate_bps"]), i64(row["target_bps"]), i64(row["line_bps"])
    time_stage = i64(row["time_stage"])
    while True:
        need_ps = (left + rate - 1) // rate
        if at_ps + need_ps <= next_ps:
            return at_ps + need_ps
        left -= rate * (next_ps - at_ps)
        time_stage += 1
        target = _raised_bps(state, qp, target, line, time_stage, i64(row["byte_stage"]))
        rate = min((rate + target) // 2, line)
        at_ps, next_ps = next_ps, next_ps + i64(config["increase_timer_ps"])
        if _is_released(state, qp, rate):
            rate, next_ps = line, INFINITY_PS


@hot
def sent(state: State, device: int, qp: int, size_bytes: int, serialisation_ps: int, now_ps: int) -> int:
    """The earliest next departure after one at now_ps, at the present rate and the rates of its timers to come."""
    advance(state, device, qp, now_ps)
    _count(state, qp, size_bytes)
    row = state.qps[qp]
    available_ps = now_ps + pacing.gap_ps(state, qp, size_bytes, serialisation_ps)
    if available_ps > row["increase_at_ps"] and row["rate_bps"] < row["line_bps"]:
        available_ps = departure_ps(state, qp, now_ps, pacing.cost(state, size_bytes))
    return available_ps


@kernel
def notify(state: State, device: int, qp: int, now_ps: int) -> bool:
    """A CNP has arrived; True if it cut the rate, False if it fell into the decrease interval of the last cut."""
    row, config = state.qps[qp], state.config[law(state, qp)]
    advance(state, device, qp, now_ps)
    if row["started"] != 0 and now_ps < row["decrease_at_ps"]:
        return False
    left = owed(state, qp, now_ps)
    gain = float(config["gain"])
    before = i64(row["rate_bps"])
    first = row["started"] == 0
    if first:
        row["started"] = 1
        row["alpha"] = config["initial_alpha"]
        row["target_bps"] = before
    if config["clamp_target"] != 0 or row["time_stage"] > 0 or row["byte_stage"] > 0:
        row["target_bps"] = before
    alpha = float(row["alpha"])
    kept = max(i64(before * (1.0 - alpha / float(config["cut_divisor"]))), i64(before * config["least_kept"]))
    row["rate_bps"] = min(max(kept, i64(config["min_rate_bps"])), before)
    if first and config["first_rate_bps"] > 0:
        row["rate_bps"] = row["target_bps"] = min(i64(config["first_rate_bps"]), before)
    row["alpha"] = (1.0 - gain) * alpha + gain
    row["time_stage"] = row["byte_stage"] = row["byte_count"] = 0
    row["alpha_at_ps"] = now_ps + config["alpha_timer_ps"]
    row["increase_at_ps"] = now_ps + config["increase_timer_ps"]
    row["decrease_at_ps"] = now_ps + config["decrease_interval_ps"]
    if left > 0:
        row["available_ps"] = departure_ps(state, qp, now_ps, left)
    pacing.note_cut(state, device, qp, now_ps, before, i64(alpha * 1e6))
    return True


@kernel
def change_line(state: State, qp: int, now_ps: int, line_bps: int) -> None:
    """The port of a queue pair has another speed. Owed bits are paid at the following rates."""
    advance(state, i64(state.qps[qp]["src"]), qp, now_ps)
    left = owed(state, qp, now_ps)
    pacing.set_line(state, qp, line_bps)
    if left > 0:
        state.qps[qp]["available_ps"] = departure_ps(state, qp, now_ps, left)


@kernel
def _decayed(alpha: float, keep: float, times: int) -> float:
    """alpha * keep ** times by squaring: the same bits compiled or not."""
    while times > 0:
        if times & 1:
            alpha *= keep
        keep *= keep
        times >>= 1
    return alpha


@kernel
def look(state: State, qp: int, now_ps: int) -> None:
    """Set rate, target and alpha to their present values in a copy of the row for reading; timers are not restarted."""
    row, config = state.qps[qp], state.config[law(state, qp)]
    if row["started"] == 0:
        return
    alpha_at_ps, end_ps = i64(row["alpha_at_ps"]), now_ps
    while row["started"] != 0 and row["increase_at_ps"] <= now_ps:
        at_ps, rate, target = i64(row["increase_at_ps"]), i64(row["rate_bps"]), i64(row["target_bps"])
        row["time_stage"] += 1
        row["increase_at_ps"] += config["increase_timer_ps"]
        _increase(state, qp)
        if row["started"] == 0:
            end_ps = at_ps
        elif row["rate_bps"] == rate and target == row["line_bps"]:
            break  # a further increase changes no value
    if alpha_at_ps <= end_ps:
        row["alpha"] = _decayed(
            float(row["alpha"]),
            1.0 - float(config["gain"]),
            (end_ps - alpha_at_ps) // i64(config["alpha_timer_ps"]) + 1,
        )

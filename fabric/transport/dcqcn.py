"""DCQCN reaction point (Zhu et al., SIGCOMM 2015, sections 3 and 5.1; names as in mlx5 in brackets).

Rules
1. CNP: target = current; current *= 1 - alpha/2; alpha = (1-g) alpha + g; all timers, counters and stages restart. At
   most once per decrease interval (rate_reduce_monitor_period); CNPs in between are counted as ignored.
2. No CNP for an alpha timer (dce_tcp_rtt): alpha = (1-g) alpha.
3. Increase timer (rpg_time_reset) and byte counter (rpg_byte_reset) each end a stage. Fast recovery while both stages
   are below F (rpg_threshold); hyper increase once both are above; additive otherwise. Each ends with
   current = (target + current) / 2. Without a byte counter its stage follows the timer's.
4. Rates stay within [min, line].

5. A departure owes its bits at the queue pair's rate; the next one may leave when they are paid (a leaky bucket of one
   packet). The rate is constant between two changes of it, so the moment is exact: pace() sums over the increase timers
   that come before, and a cut in the meantime moves it by what is still owed then.

Nothing here is an event. What happens to a queue pair that waits is known in advance except for a CNP, so timers are
caught up when it sends, is cut or is looked at, in order of time, the alpha timer before the increase timer at one
instant (docs/decisions/0026).
"""

from __future__ import annotations

from fabric.state import trace
from fabric.state.codes import INFINITY_PS, EventKind, TraceBit
from fabric.state.jit import hot, i64, kernel
from fabric.state.types import State

_TRACE, _CUT = int(TraceBit.RATE), int(EventKind.RATE_CUT)


@hot
def _raised_bps(state: State, target_bps: int, line_bps: int, time_stage: int, byte_stage: int) -> int:
    """The target rate after an increase (rule 3); both stages count the increase."""
    config = state.config[0]
    if config["byte_counter_bytes"] == 0:
        byte_stage = time_stage
    steps = i64(config["fast_recovery_steps"])
    if max(time_stage, byte_stage) < steps:
        return target_bps
    if min(time_stage, byte_stage) > steps:
        return min(target_bps + i64(config["hyper_bps"]), line_bps)
    return min(target_bps + i64(config["additive_bps"]), line_bps)


@kernel
def _increase(state: State, qp: int) -> None:
    row = state.qps[qp]
    line = i64(row["line_bps"])
    row["target_bps"] = _raised_bps(state, i64(row["target_bps"]), line, i64(row["time_stage"]), i64(row["byte_stage"]))
    row["rate_bps"] = min((i64(row["rate_bps"]) + i64(row["target_bps"])) // 2, line)


@kernel
def _catch_up(state: State, qp: int, now_ps: int) -> None:
    row, config = state.qps[qp], state.config[0]
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
def advance(state: State, qp: int, now_ps: int) -> None:
    """Apply every timer that is due."""
    row = state.qps[qp]
    if row["started"] != 0 and (row["alpha_at_ps"] <= now_ps or row["increase_at_ps"] <= now_ps):
        _catch_up(state, qp, now_ps)


@hot
def sent(state: State, qp: int, size_bytes: int) -> None:
    """Count a departure for the byte counter."""
    row, config = state.qps[qp], state.config[0]
    if row["started"] == 0 or config["byte_counter_bytes"] == 0:
        return
    row["byte_count"] += size_bytes
    if row["byte_count"] >= config["byte_counter_bytes"]:
        row["byte_count"] -= config["byte_counter_bytes"]
        row["byte_stage"] += 1
        _increase(state, qp)


@kernel
def owed(state: State, qp: int, now_ps: int) -> int:
    """What is left to pay before the next departure, in 10**-12 bit; timers have been caught up to now_ps.

    It is the integral of the rate from now to the departure that was planned, so no second copy of it is kept.
    Domain: below 2**63, as pacing.cost() of one frame is, plus one ps at the rate.
    """
    row, config = state.qps[qp], state.config[0]
    end_ps, at_ps, next_ps = i64(row["available_ps"]), now_ps, i64(row["increase_at_ps"])
    rate, target, line = i64(row["rate_bps"]), i64(row["target_bps"]), i64(row["line_bps"])
    time_stage, left = i64(row["time_stage"]), 0
    while next_ps < end_ps:
        left += rate * (next_ps - at_ps)
        time_stage += 1
        target = _raised_bps(state, target, line, time_stage, i64(row["byte_stage"]))
        rate = min((rate + target) // 2, line)
        at_ps, next_ps = next_ps, next_ps + i64(config["increase_timer_ps"])
    if at_ps < end_ps:
        left += rate * (end_ps - at_ps)
    return left


@kernel
def departure_ps(state: State, qp: int, now_ps: int, left: int) -> int:
    """When `left` (10**-12 bit) is paid, if no CNP comes: rounded up, so that no rate is exceeded (rule 5)."""
    row, config = state.qps[qp], state.config[0]
    at_ps, next_ps = now_ps, i64(row["increase_at_ps"])
    rate, target, line = i64(row["rate_bps"]), i64(row["target_bps"]), i64(row["line_bps"])
    time_stage = i64(row["time_stage"])
    while True:
        need_ps = (left + rate - 1) // rate
        if at_ps + need_ps <= next_ps:
            return at_ps + need_ps
        left -= rate * (next_ps - at_ps)
        time_stage += 1
        target = _raised_bps(state, target, line, time_stage, i64(row["byte_stage"]))
        rate = min((rate + target) // 2, line)
        at_ps, next_ps = next_ps, next_ps + i64(config["increase_timer_ps"])


@kernel
def notify(state: State, device: int, qp: int, now_ps: int) -> bool:
    """A CNP has arrived; True if it cut the rate, False if it fell into the decrease interval of the last cut."""
    row, config = state.qps[qp], state.config[0]
    advance(state, qp, now_ps)
    if row["started"] != 0 and now_ps < row["decrease_at_ps"]:
        return False
    left = owed(state, qp, now_ps)
    gain = float(config["gain"])
    before = i64(row["rate_bps"])
    if row["started"] == 0:
        row["started"] = 1
        row["alpha"] = config["initial_alpha"]
    if config["clamp_target"] != 0 or row["time_stage"] > 0 or row["byte_stage"] > 0 or row["cuts"] == 0:
        row["target_bps"] = before
    alpha = float(row["alpha"])
    row["rate_bps"] = max(i64(before * (1.0 - alpha / 2.0)), i64(config["min_rate_bps"]))
    row["alpha"] = (1.0 - gain) * alpha + gain
    row["time_stage"] = row["byte_stage"] = row["byte_count"] = 0
    row["alpha_at_ps"] = now_ps + config["alpha_timer_ps"]
    row["increase_at_ps"] = now_ps + config["increase_timer_ps"]
    row["decrease_at_ps"] = now_ps + config["decrease_interval_ps"]
    row["cuts"] += 1
    if left > 0:
        row["available_ps"] = departure_ps(state, qp, now_ps, left)
    trace.emit(state, _TRACE, device, now_ps, _CUT, trace.NO_PORT, i64(row["tc"]), 0, qp, before, i64(row["rate_bps"]),
               i64(alpha * 1e6), 0)
    return True


@kernel
def start(state: State, qp: int) -> None:
    """A new queue pair sends at line rate."""
    row = state.qps[qp]
    row["rate_bps"] = row["target_bps"] = row["line_bps"]
    row["alpha"] = 1.0
    row["alpha_at_ps"] = row["increase_at_ps"] = INFINITY_PS

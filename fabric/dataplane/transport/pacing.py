"""Per-packet pacing: the earliest next departure of a queue pair. Shared by all congestion controls.

The gap is that of the frame just sent, wire overhead included, at the queue pair's rate; at line rate it is exactly
the frame's serialisation time, so one queue pair can fill a link. Where the rate changes before the gap is over, the
frame's cost is paid at the following rates (transport/dcqcn, rule 5).

The functions named after a hook (start, sent, change_line) are the defaults of controls without that hook
(transport/hooks).
"""

from __future__ import annotations

from fabric.dataplane.state import calendar, semantics, trace
from fabric.dataplane.state.codes import INFINITY_PS, Aux, EventKind, TraceBit
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State

_PS_PER_S = 1_000_000_000_000
_WAKE = int(Aux.WAKE)
_TRACE, _CUT = int(TraceBit.RATE), int(EventKind.RATE_CUT)


@hot
def cost(state: State, frame_bytes: int) -> int:
    """Cost of a departure in 10**-12 bit: in one ps a rate of rate_bps pays rate_bps of them.

    Domain: frame_bytes < 2**16, so the product stays below 2**63.
    """
    return (frame_bytes + i64(state.config[0]["min_gap_bytes"])) * 8 * _PS_PER_S


@hot
def gap_ps(state: State, qp: int, frame_bytes: int, serialisation_ps: int) -> int:
    """Time from a departure to the next one of the same queue pair, rounded up so that no rate is exceeded."""
    row = state.qps[qp]
    rate_bps = i64(row["rate_bps"])
    if semantics.truncates_times(state):
        return semantics.truncated_serialisation_ps(frame_bytes, rate_bps)
    if rate_bps >= row["line_bps"]:
        return serialisation_ps
    return (cost(state, frame_bytes) + rate_bps - 1) // rate_bps


@kernel
def start(state: State, qp: int) -> None:
    """A new queue pair sends at line rate."""
    row = state.qps[qp]
    row["rate_bps"] = row["target_bps"] = row["line_bps"]
    row["alpha"] = 1.0
    row["alpha_at_ps"] = row["increase_at_ps"] = INFINITY_PS


@hot
def sent(state: State, device: int, qp: int, size_bytes: int, serialisation_ps: int, now_ps: int) -> int:
    """The earliest next departure after one at now_ps, at a rate that no timer changes."""
    return now_ps + gap_ps(state, qp, size_bytes, serialisation_ps)


@kernel
def change_rate(state: State, qp: int, now_ps: int, rate_bps: int) -> None:
    """Lower a rate that no timer changes: the bits that the last departure still owes are paid at the new rate.

    The rate must not rise: times in the NIC's heap of departures must never be too late (host/nic, rule 1).
    """
    row = state.qps[qp]
    left = i64(row["rate_bps"]) * max(i64(row["available_ps"]) - now_ps, 0)
    row["rate_bps"] = rate_bps
    if left > 0:
        row["available_ps"] = now_ps + (left + rate_bps - 1) // rate_bps


@kernel
def take_rate(state: State, qp: int, now_ps: int, rate_bps: int) -> None:
    """Another rate by a control without timers. A rise counts from the next departure; of a fall, bits still owed are
    paid at the new rate, where the model moves planned departures.
    """
    row = state.qps[qp]
    if rate_bps < row["rate_bps"] and not semantics.keeps_planned_departures(state):
        change_rate(state, qp, now_ps, rate_bps)
    else:
        row["rate_bps"] = rate_bps


@kernel
def move_departure(state: State, device: int, qp: int, frame_bytes: int, now_ps: int, rate_bps: int) -> None:
    """Another rate by a control that moves the departure after its last frame, of frame_bytes, either way.

    In the simulator (rdma-hw.cc: ChangeRate) the NIC's pending wake-up moves only to an earlier time. Else as
    take_rate(): the NIC's heap takes no earlier times (host/nic, rule 1).
    """
    if not semantics.keeps_planned_departures(state):
        take_rate(state, qp, now_ps, rate_bps)
        return
    row = state.qps[qp]
    row["available_ps"] += semantics.truncated_serialisation_ps(
        frame_bytes, rate_bps
    ) - semantics.truncated_serialisation_ps(frame_bytes, i64(row["rate_bps"]))
    row["rate_bps"] = rate_bps
    wake, available_ps = calendar.aux_source(state, device, _WAKE), i64(row["available_ps"])
    pending_ps = calendar.pending_ps(state, device, wake)
    if pending_ps < INFINITY_PS and available_ps < pending_ps:
        calendar.schedule(state, device, wake, max(available_ps, now_ps), calendar.NEW_ORDER)


@kernel
def note_cut(state: State, device: int, qp: int, now_ps: int, before_bps: int, millionths: int) -> None:
    """Count and record a cut from before_bps to the present rate; millionths: the control's measure of congestion."""
    row = state.qps[qp]
    row["cuts"] += 1
    trace.emit(
        state,
        _TRACE,
        device,
        now_ps,
        _CUT,
        trace.NO_PORT,
        i64(row["tc"]),
        0,
        qp,
        before_bps,
        i64(row["rate_bps"]),
        millionths,
        0,
    )


@kernel
def set_line(state: State, qp: int, line_bps: int) -> None:
    """The port has another speed: a rate at line rate follows it, other rates are bounded by it."""
    row = state.qps[qp]
    old_bps = i64(row["line_bps"])
    row["rate_bps"] = line_bps if row["rate_bps"] == old_bps else min(i64(row["rate_bps"]), line_bps)
    row["target_bps"] = line_bps if row["target_bps"] == old_bps else min(i64(row["target_bps"]), line_bps)
    row["line_bps"] = line_bps


@kernel
def change_line(state: State, qp: int, now_ps: int, line_bps: int) -> None:
    """As set_line(), up or down: without congestion control no timer would raise the rate. The planned departure
    moves with it; the NIC rebuilds its heap (host/nic.change_line).
    """
    row = state.qps[qp]
    left = i64(row["rate_bps"]) * max(i64(row["available_ps"]) - now_ps, 0)
    set_line(state, qp, line_bps)
    if left > 0 and not semantics.keeps_planned_departures(state):
        row["available_ps"] = now_ps + (left + i64(row["rate_bps"]) - 1) // i64(row["rate_bps"])

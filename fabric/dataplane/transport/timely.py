"""TIMELY reaction point (Mittal et al., SIGCOMM 2015, algorithm 1), once per window of data as the public ns-3 RDMA
simulator has it (CC_MODE 7, rdma-hw.cc: UpdateRateTimely).

Rules
1. Each data packet carries its departure time, which its ACK or NAK returns: 8 bytes in both. The round trip is that
   of the packet that the answer answers, with the wait in the receiver's queue of answers.
2. Only the first ACK of a window counts: the one beyond the packets sent before the last such ACK. The first of all
   only notes its round trip.
3. slope = (1-alpha) slope + alpha (round trip - the last one), over the least round trip of the parameters: the
   gradient.
4. Round trip below T_low: increase. Above T_high: rate *= 1 - beta (1 - T_high / round trip). Between: increase if the
   gradient is not positive, else rate *= 1 - beta gradient, at least 0.
5. An increase adds R_AI, and R_HAI from the sixth in a row on. Rates stay within [min, line].
6. A rise counts from the next departure; of a fall, bits still owed are paid at the new rate. In the simulator planned
   departures stay in both cases.

Times are whole nanoseconds. Deviations from the paper, as in the simulator: one sample per window of data in place of
one per segment of 16 to 64 KB, and a queue pair starts at line rate.
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.state import telemetry
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State
from fabric.dataplane.transport import pacing
from fabric.dataplane.transport.laws import law

_PS_PER_NS = 1000
_SLOW_STAGES = 5
"""Increases by R_AI before those by R_HAI."""
u = np.uint32


@kernel
def start(state: State, qp: int) -> None:
    """A new queue pair sends at line rate."""
    pacing.start(state, qp)
    state.timely[u(qp)]["base_bps"] = state.qps[u(qp)]["line_bps"]


@hot
def stamp(state: State, qp: int, packet: np.uint32, now_ps: int) -> None:
    """A data packet departs (rule 1)."""
    state.telemetry[telemetry.place(state, packet)] = now_ps


@kernel
def _adjust(state: State, device: int, qp: int, rtt_ns: int, now_ps: int) -> None:
    """One sample (rules 3 to 5)."""
    row, mine, config = state.qps[u(qp)], state.timely[u(qp)], state.config[law(state, qp)]
    alpha, beta = float(config["gain"]), float(config["beta"])
    slope = (1 - alpha) * float(mine["slope_ns"]) + alpha * (rtt_ns - i64(mine["rtt_ns"]))
    gradient = slope / i64(config["min_rtt_ns"])
    base, high_ns, keep = i64(mine["base_bps"]), i64(config["high_rtt_ns"]), 2.0
    if rtt_ns >= config["low_rtt_ns"]:
        if rtt_ns > high_ns:
            keep = 1 - beta * (1 - float(high_ns) / rtt_ns)
        elif gradient > 0:
            keep = max(1 - beta * gradient, 0.0)
    before = i64(row["rate_bps"])
    if keep > 1.0:
        more = i64(config["additive_bps"]) if mine["stage"] < _SLOW_STAGES else i64(config["hyper_bps"])
        pacing.take_rate(state, qp, now_ps, min(base + more, i64(row["line_bps"])))
        mine["stage"] += 1
    else:
        pacing.take_rate(state, qp, now_ps, max(i64(config["min_rate_bps"]), i64(base * keep)))
        mine["stage"] = 0
        pacing.note_cut(state, device, qp, now_ps, before, i64(gradient * 1e6))
    mine["base_bps"], mine["slope_ns"] = row["rate_bps"], slope


@hot
def acknowledged(state: State, device: int, qp: int, packet: np.uint32, newly_pkts: int, now_ps: int) -> None:
    """An ACK or NAK has been applied (rule 2)."""
    row, mine = state.qps[u(qp)], state.timely[u(qp)]
    if i64(state.packets[packet]["seq"]) <= mine["mark_psn"]:
        return
    rtt_ns = (now_ps - i64(state.telemetry[telemetry.place(state, packet)])) // _PS_PER_NS
    if mine["mark_psn"] != 0:
        _adjust(state, device, qp, rtt_ns, now_ps)
    if row["next_psn"] > mine["mark_psn"]:
        mine["mark_psn"], mine["rtt_ns"] = row["next_psn"], rtt_ns


@kernel
def change_line(state: State, qp: int, now_ps: int, line_bps: int) -> None:
    """The port of a queue pair has another speed: the rate follows it, and the next change starts from there."""
    pacing.change_line(state, qp, now_ps, line_bps)
    state.timely[u(qp)]["base_bps"] = state.qps[u(qp)]["rate_bps"]

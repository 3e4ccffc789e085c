"""CUBIC reaction point (RFC 9438): the window law of ordinary TCP traffic, in packets.

Rules
1. A queue pair begins with a window of first_window packets. Below the threshold, which is unknown at first, each
   acknowledged packet adds one packet (slow start, RFC 5681 section 3.1; RFC 6928).
2. A congestion event is a NAK, a packet that the scoreboard has declared lost, or an ACK that echoes a mark (RFC 9438
   sections 4.6 and 4.8). The window becomes beta times itself, at least 2 packets, and the threshold too; then there
   is no further cut until all packets sent before the cut are acknowledged.
3. W_max is the window before the cut, or (1 + beta) / 2 of it if it is below the last W_max (section 4.7).
4. After a cut, at time t since it, the window follows W_cubic(t) = C (t - K)^3 + W_max, K = cbrt((W_max - window) / C):
   an acknowledged packet adds (target - window) / window, the target at most 1.5 windows (sections 4.2, 4.4, 4.5).
5. Where W_cubic is below W_est, Reno's window, the window is W_est (section 4.3). W_est begins as the window after the
   cut; each acknowledged packet adds alpha / window, alpha = 3 (1 - beta) / (1 + beta), and 1 / window from the window
   before the cut on.
6. A retransmission timeout halves as rule 2 says and leaves a window of 1 packet, in slow start (section 4.8; RFC 5681
   section 3.1). It is noted with the next ACK.
7. Departures are clocked by ACKs, not paced. The rate of QP is the window as a share of the largest one, which belongs
   to line rate: the engine's window, which varies with the rate, is then this one.

Deviations: W_cubic is taken at t, not one round trip later; the window grows also where the sender has too little to
send; no HyStart; one queue pair is one connection, and the recovery of lost packets is the NIC's (transport.recovery).
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.state.codes import PacketFlag
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State
from fabric.dataplane.transport import losses, pacing
from fabric.dataplane.transport.laws import law

_ECHO = int(PacketFlag.ECHO)
_PS_PER_S = 1e12
_LEAST_PKTS = 2.0
"""RFC 9438 section 4.6: the least threshold."""
_MOST_GROWTH = 1.5
"""RFC 9438 section 4.2: the target is at most this many windows."""
u = np.uint32


@kernel
def _apply(state: State, qp: int) -> None:
    """Bound the window and set the rate by it (rule 7)."""
    row, mine = state.qps[u(qp)], state.cubic[u(qp)]
    largest = i64(state.config[law(state, qp)]["window_bytes"]) / i64(row["payload_bytes"])
    mine["window_pkts"] = max(min(float(mine["window_pkts"]), largest), 1.0)
    share = min(float(mine["window_pkts"]) / largest, 1.0)
    row["rate_bps"] = max(i64(i64(row["line_bps"]) * share), 1)


@kernel
def start(state: State, qp: int) -> None:
    """A new queue pair is in slow start (rule 1)."""
    pacing.start(state, qp)
    mine = state.cubic[u(qp)]
    mine["window_pkts"] = state.config[law(state, qp)]["first_window"]
    mine["threshold_pkts"] = np.inf
    _apply(state, qp)


@hot
def sent(state: State, device: int, qp: int, size_bytes: int, serialisation_ps: int, now_ps: int) -> int:
    """The earliest next departure: at once (rule 7)."""
    return now_ps + serialisation_ps


@kernel
def _cut(state: State, device: int, qp: int, now_ps: int, expired: bool) -> None:
    """A congestion event (rules 2, 3 and 6)."""
    row, mine, config = state.qps[u(qp)], state.cubic[u(qp)], state.config[law(state, qp)]
    beta, before, before_bps = float(config["beta"]), float(mine["window_pkts"]), i64(row["rate_bps"])
    below = before < float(mine["peak_pkts"]) and config["fast_convergence"] != 0
    mine["peak_pkts"] = before * (1 + beta) / 2 if below else before
    mine["threshold_pkts"] = max(before * beta, _LEAST_PKTS)
    mine["before_pkts"] = before
    mine["window_pkts"] = 1.0 if expired else min(float(mine["threshold_pkts"]), before)
    _begin(state, qp, now_ps)
    mine["cut_end_psn"] = row["top_psn"]
    _apply(state, qp)
    pacing.note_cut(state, device, qp, now_ps, before_bps, i64((1 - beta) * 1e6))


@kernel
def _begin(state: State, qp: int, now_ps: int) -> None:
    """Congestion avoidance begins: the times and windows that rules 4 and 5 count from."""
    mine, config = state.cubic[u(qp)], state.config[law(state, qp)]
    window = float(mine["window_pkts"])
    mine["begin_ps"], mine["reno_pkts"] = now_ps, window
    mine["to_peak_s"] = (max(float(mine["peak_pkts"]) - window, 0.0) / float(config["cubic_scale"])) ** (1 / 3)


@kernel
def _grow(state: State, qp: int, newly_pkts: int, now_ps: int) -> None:
    """Acknowledged packets outside recovery (rules 1, 4 and 5)."""
    mine, config = state.cubic[u(qp)], state.config[law(state, qp)]
    window, threshold = float(mine["window_pkts"]), float(mine["threshold_pkts"])
    if window < threshold:
        mine["window_pkts"] = min(window + newly_pkts, threshold)
        if mine["window_pkts"] >= threshold:
            _begin(state, qp, now_ps)
        return
    beta, reno = float(config["beta"]), float(mine["reno_pkts"])
    more = 1.0 if reno >= float(mine["before_pkts"]) else 3 * (1 - beta) / (1 + beta)
    reno = reno + more * newly_pkts / window
    mine["reno_pkts"] = reno
    away_s = (now_ps - i64(mine["begin_ps"])) / _PS_PER_S - float(mine["to_peak_s"])
    goal = float(config["cubic_scale"]) * away_s * away_s * away_s + float(mine["peak_pkts"])
    if goal < reno:
        mine["window_pkts"] = max(window, reno)
    else:
        goal = min(max(goal, window), _MOST_GROWTH * window)
        mine["window_pkts"] = window + (goal - window) / window * newly_pkts


@hot
def acknowledged(state: State, device: int, qp: int, packet: np.uint32, newly_pkts: int, now_ps: int) -> None:
    """An ACK or NAK has been applied."""
    row, mine = state.qps[u(qp)], state.cubic[u(qp)]
    echo = i64(state.packets[packet]["flags"]) & _ECHO != 0
    if row["timeouts"] != mine["timeouts"]:
        mine["timeouts"] = row["timeouts"]
        _cut(state, device, qp, now_ps, True)
    elif row["acked_psn"] >= mine["cut_end_psn"]:  # no cut is running
        if echo or losses.is_reported(state, qp, packet):
            _cut(state, device, qp, now_ps, False)
        elif newly_pkts > 0:
            _grow(state, qp, newly_pkts, now_ps)
            _apply(state, qp)
    elif newly_pkts > 0 and mine["window_pkts"] < mine["threshold_pkts"]:  # slow start after a timeout
        _grow(state, qp, newly_pkts, now_ps)
        _apply(state, qp)


@kernel
def change_line(state: State, qp: int, now_ps: int, line_bps: int) -> None:
    """The port of a queue pair has another speed: the window stays, in packets."""
    pacing.set_line(state, qp, line_bps)
    _apply(state, qp)

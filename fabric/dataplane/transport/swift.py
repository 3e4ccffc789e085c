"""Swift reaction point (Kumar et al., SIGCOMM 2020, algorithm 1 and sections 3.1 to 3.5).

Rules
1. Each data packet carries its departure time; its answer returns it, the number of switches that the packet crossed,
   and how long it waited in the receiver's NIC: 12 bytes in both. Fabric delay: the round trip less that wait. Host
   delay: the wait.
2. Two windows in packets, of the fabric and of the host, each with its own delay and target; the lesser one counts.
   An answer below the target adds ai / window for each packet that it acknowledges, or ai below a window of 1.
   An answer at or above it cuts the window by beta (delay - target) / delay, at most by max_mdf, if a round trip has
   passed since the last cut. A NAK cuts both by max_mdf under the same condition.
3. Target of the fabric: base + hops x per hop + flow scaling; flow scaling is a / sqrt(window) + b between 0, at the
   largest window of the scaling, and its range, at the least one. Target of the host: a constant.
4. A window of a packet or more sends as soon as it is open. Below 1, a packet leaves every round trip / window.
5. The rate of QP is the window as a share of the largest one, which belongs to line rate: the engine's window, which
   varies with the rate, is then this one.

Deviations from the paper: the number of hops counts switches that bridge, too (switch/ttl). Windows begin with one base
round trip of line rate. No cut by retransmission timeouts. A planned departure below a window of 1 keeps its time.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from fabric.dataplane.state import telemetry
from fabric.dataplane.state.codes import PacketKind
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State
from fabric.dataplane.transport import pacing
from fabric.dataplane.transport.laws import law

_NAK = int(PacketKind.NAK)
_WAIT_WORD: Final = 1
_BITS, _PS_PER_S = 8, 1e12
u = np.uint32


# ===== receiver =====


@kernel
def consumed(state: State, packet: np.uint32, waited_ps: int) -> None:
    """A data packet leaves the receive buffer of a NIC, into which it came waited_ps ago."""
    state.telemetry[telemetry.place(state, packet) + _WAIT_WORD] = waited_ps


# ===== sender =====


@kernel
def _largest(state: State, qp: int) -> float:
    """The window of line rate, packets."""
    return i64(state.config[law(state, qp)]["window_bytes"]) / i64(state.qps[u(qp)]["payload_bytes"])


@kernel
def _apply(state: State, qp: int) -> None:
    """Bound both windows and set the rate by the lesser one (rule 5)."""
    row, mine = state.qps[u(qp)], state.swift[u(qp)]
    largest, least = _largest(state, qp), float(state.config[law(state, qp)]["least_window"])
    mine["fabric_pkts"] = min(max(float(mine["fabric_pkts"]), least), largest)
    mine["host_pkts"] = min(max(float(mine["host_pkts"]), least), largest)
    share = min(float(mine["fabric_pkts"]), float(mine["host_pkts"])) / largest
    row["rate_bps"] = max(i64(i64(row["line_bps"]) * share), 1)


@kernel
def start(state: State, qp: int) -> None:
    """A new queue pair may send one base round trip of line rate."""
    pacing.start(state, qp)
    row, mine = state.qps[u(qp)], state.swift[u(qp)]
    first = i64(row["line_bps"]) / _PS_PER_S * i64(state.config[law(state, qp)]["span_ns"]) * 1000 / _BITS
    mine["fabric_pkts"] = mine["host_pkts"] = max(first / i64(row["payload_bytes"]), 1.0)
    _apply(state, qp)


@hot
def stamp(state: State, qp: int, packet: np.uint32, now_ps: int) -> None:
    """A data packet departs (rule 1)."""
    base = telemetry.place(state, packet)
    state.telemetry[base] = now_ps
    state.telemetry[base + _WAIT_WORD] = 0


@hot
def sent(state: State, device: int, qp: int, size_bytes: int, serialisation_ps: int, now_ps: int) -> int:
    """The earliest next departure after one at now_ps (rule 4)."""
    mine = state.swift[u(qp)]
    window = min(float(mine["fabric_pkts"]), float(mine["host_pkts"]))
    if window >= 1.0:
        return now_ps + serialisation_ps
    return now_ps + max(i64(i64(mine["rtt_ps"]) / window), serialisation_ps)


@kernel
def target_ps(state: State, qp: int, hops: int, window_pkts: float) -> float:
    """Target of the fabric's delay (rule 3)."""
    config = state.config[law(state, qp)]
    scaled = float(config["flow_scale_ps"]) / math.sqrt(window_pkts) + float(config["flow_offset_ps"])
    more = max(min(scaled, float(config["flow_range_ps"])), 0.0)
    return i64(config["base_target_ps"]) + hops * i64(config["hop_target_ps"]) + more


@kernel
def _adjusted(
    state: State, qp: int, window: float, delay_ps: int, goal_ps: float, newly_pkts: int, may_cut: bool, gap: bool
) -> float:
    """The next window (rule 2)."""
    config = state.config[law(state, qp)]
    most = float(config["largest_cut"])
    if gap:
        return window * (1.0 - most) if may_cut else window
    if delay_ps < goal_ps:
        more = float(config["increment_pkts"]) * newly_pkts
        return window + (more / window if window >= 1.0 else more)
    if not may_cut:
        return window
    return window * max(1.0 - float(config["beta"]) * (delay_ps - goal_ps) / delay_ps, 1.0 - most)


@hot
def acknowledged(state: State, device: int, qp: int, packet: np.uint32, newly_pkts: int, now_ps: int) -> None:
    """An ACK or NAK has been applied."""
    row, mine, base = state.qps[u(qp)], state.swift[u(qp)], telemetry.place(state, packet)
    gap = i64(state.packets[packet]["kind"]) == _NAK
    rtt, host = now_ps - i64(state.telemetry[base]), i64(state.telemetry[base + _WAIT_WORD])
    before, before_bps = float(mine["fabric_pkts"]), i64(row["rate_bps"])
    goal = target_ps(state, qp, i64(state.packets[packet]["xoff"]), before)
    mine["rtt_ps"] = rtt
    may = bool(now_ps - i64(mine["fabric_cut_ps"]) >= rtt)
    mine["fabric_pkts"] = _adjusted(state, qp, before, rtt - host, goal, newly_pkts, may, gap)
    if mine["fabric_pkts"] < before:
        mine["fabric_cut_ps"] = now_ps
    before = float(mine["host_pkts"])
    may = bool(now_ps - i64(mine["host_cut_ps"]) >= rtt)
    goal = float(state.config[law(state, qp)]["host_target_ps"])
    mine["host_pkts"] = _adjusted(state, qp, before, host, goal, newly_pkts, may, gap)
    if mine["host_pkts"] < before:
        mine["host_cut_ps"] = now_ps
    _apply(state, qp)
    if row["rate_bps"] < before_bps and now_ps in (i64(mine["fabric_cut_ps"]), i64(mine["host_cut_ps"])):
        pacing.note_cut(state, device, qp, now_ps, before_bps, rtt // 1000)


@kernel
def change_line(state: State, qp: int, now_ps: int, line_bps: int) -> None:
    """The port of a queue pair has another speed: windows stay, in packets."""
    pacing.set_line(state, qp, line_bps)
    _apply(state, qp)

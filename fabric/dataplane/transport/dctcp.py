"""DCTCP reaction point (RFC 8257), as a NIC runs it: a rate and a window in proportion to it.

Rules
1. An ACK echoes whether the packets that it acknowledges for the first time were marked; where ACKs are coalesced, a
   packet with another mark than the one before makes the receiver acknowledge the earlier ones at once (section 3.2;
   Alizadeh et al., SIGCOMM 2010, figure 10).
2. An observation window ends with the first ACK beyond the packets sent before its begin. Then alpha = (1-g) alpha
   + g M, where M is the marked share of the packets that were acknowledged in it (section 3.3).
3. An echo cuts: rate *= 1 - alpha/2, but not below the least rate; then there is no further cut until an ACK is
   beyond the packets sent before the cut (section 3.3; RFC 3168 section 6.1.2).
4. An observation window that ends while no cut is running adds a constant to the rate (congestion avoidance, RFC 5681
   section 3.1: one segment per round trip), up to line rate.
5. After a cut, the bits that the last departure still owes are paid at the new rate; an increase counts from the next
   departure.

Deviations: a queue pair starts at line rate, as RDMA NICs do, where TCP would do slow start; packets are counted, not
bytes; a loss causes no cut, the NIC recovers it (section 3.5 asks for RFC 5681's halving). The form with a
rate and a window of rate / line rate is the public ns-3 RDMA simulator's (CC_MODE 8), which differs in rule 2: it
divides by the packets in flight and one more, and keeps the marks of the first ACK (transport/ns3_dctcp).
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.state.codes import PacketFlag
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State
from fabric.dataplane.transport import pacing
from fabric.dataplane.transport.laws import law

_ECHO = int(PacketFlag.ECHO)
u = np.uint32


@kernel
def start(state: State, qp: int) -> None:
    """A new queue pair sends at line rate, and its first ACK ends an observation window."""
    pacing.start(state, qp)
    mine = state.dctcp[u(qp)]
    state.qps[u(qp)]["alpha"] = state.config[law(state, qp)]["initial_alpha"]
    mine["window_end_psn"], mine["cut_end_psn"] = 0, -1


@kernel
def _end_window(state: State, qp: int) -> None:
    """End an observation window (rule 2) with at least one acknowledged packet."""
    row, mine = state.qps[u(qp)], state.dctcp[u(qp)]
    gain = float(state.config[law(state, qp)]["gain"])
    marked_ratio = i64(mine["marked_pkts"]) / i64(mine["acked_pkts"])
    row["alpha"] = (1.0 - gain) * row["alpha"] + gain * marked_ratio
    mine["window_end_psn"] = row["next_psn"]
    mine["acked_pkts"] = mine["marked_pkts"] = 0


@kernel
def _cut(state: State, device: int, qp: int, now_ps: int) -> None:
    """Cut the rate (rule 3)."""
    row = state.qps[u(qp)]
    before, alpha = i64(row["rate_bps"]), float(row["alpha"])
    kept = max(i64(before * (1.0 - alpha / 2.0)), i64(state.config[law(state, qp)]["min_rate_bps"]))
    pacing.change_rate(state, qp, now_ps, min(kept, before))
    state.dctcp[u(qp)]["cut_end_psn"] = row["next_psn"]
    pacing.note_cut(state, device, qp, now_ps, before, i64(alpha * 1e6))


@hot
def acknowledged(state: State, device: int, qp: int, packet: np.uint32, newly_pkts: int, now_ps: int) -> None:
    """An ACK or NAK that acknowledges `newly_pkts` packets for the first time. A stale one echoes, and counts no
    packet.
    """
    row, mine = state.qps[u(qp)], state.dctcp[u(qp)]
    echo = i64(state.packets[packet]["flags"]) & _ECHO != 0
    acked_psn = i64(row["acked_psn"])
    if newly_pkts > 0:
        mine["acked_pkts"] += newly_pkts
        if echo:
            mine["marked_pkts"] += newly_pkts
    ended = newly_pkts > 0 and acked_psn > mine["window_end_psn"]
    if ended:
        _end_window(state, qp)
    if acked_psn > mine["cut_end_psn"]:  # no cut is running
        if echo:
            _cut(state, device, qp, now_ps)
        elif ended:
            more = i64(state.config[law(state, qp)]["additive_bps"])
            row["rate_bps"] = min(i64(row["rate_bps"]) + more, i64(row["line_bps"]))


@hot
def changes(state: State, qp: int, marked: bool) -> bool:
    """Receiver: note a packet's mark; True if it differs from that of the packet before (rule 1)."""
    mine, mark = state.dctcp_receivers[u(qp)], 1 if marked else 0
    if mine["ce"] == mark:
        return False
    mine["ce"] = mark
    return True

"""DCTCP reaction point as the public ns-3 RDMA simulator has it (CC_MODE 8, rdma-hw.cc: HandleAckDctcp).

Rules
1. An ACK or NAK that echoes a mark counts one.
2. An ACK beyond the packets sent before the last such ACK ends a batch: alpha = (1-g) alpha + g min(1, marks / batch),
   where the batch is the packets in flight when it began, and one more. The first ACK of all only begins a batch, and
   its marks count in it.
3. An echo cuts: rate *= 1 - alpha/2, not below the least rate; then no further cut until an ACK is beyond the packets
   sent before the cut.
4. The end of a batch, and the first ACK, add a constant to the rate, if no cut is running.
5. A new rate is that of the next departure; the planned one stays.

The packets in flight are the bytes from the ACK's number to the next one, over the payload, as unsigned numbers: after
a go-back the next packet may be before the ACK's, and the batch is then almost 2**32.
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.state.codes import PacketFlag
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State
from fabric.dataplane.transport import pacing

_ECHO = int(PacketFlag.ECHO)
_WORD = 0xFFFFFFFF
_MOST = (1 << 63) - 1
u = np.uint32


@kernel
def start(state: State, qp: int) -> None:
    """A new queue pair sends at line rate."""
    pacing.start(state, qp)
    state.dctcp[u(qp)]["cut_end_psn"] = -1


@kernel
def _pkts_in_flight(state: State, qp: int, packet: np.uint32) -> int:
    """Whole payloads from an ACK's number to the next byte to send, as an unsigned 64-bit difference."""
    row, frame = state.qps[u(qp)], state.packets[packet]
    payload, size = i64(row["payload_bytes"]), i64(state.messages[frame["msg"]]["size_bytes"])
    left = min(i64(row["next_psn"]) * payload, size) - min(i64(frame["seq"]) * payload, size)
    if left >= 0:
        return left // payload
    # 2**64 fits no signed number: its quotient and remainder are taken from 2**63 - 1, twice.
    half = _MOST // payload
    return 2 * half + (2 * (_MOST - half * payload) + 2 + left) // payload


@kernel
def _end_batch(state: State, qp: int, packet: np.uint32) -> None:
    """An ACK beyond the batch (rule 2)."""
    row, mine = state.qps[u(qp)], state.dctcp[u(qp)]
    if mine["window_end_psn"] != 0:
        gain = float(state.config[0]["gain"])
        share = min(1.0, i64(mine["marked_pkts"]) / i64(mine["acked_pkts"]))
        row["alpha"] = (1.0 - gain) * row["alpha"] + gain * share
        mine["marked_pkts"] = 0
        mine["acked_pkts"] = (_pkts_in_flight(state, qp, packet) + 1) & _WORD
    else:
        payload = i64(row["payload_bytes"])
        size = i64(state.messages[state.packets[packet]["msg"]]["size_bytes"])
        mine["acked_pkts"] = min(i64(row["next_psn"]) * payload, size) // payload + 1
    mine["window_end_psn"] = row["next_psn"]


@hot
def acknowledged(state: State, device: int, qp: int, packet: np.uint32, newly_pkts: int, now_ps: int) -> None:
    """An ACK or NAK has been applied."""
    row, mine, config = state.qps[u(qp)], state.dctcp[u(qp)], state.config[0]
    echo = i64(state.packets[packet]["flags"]) & _ECHO != 0
    seq = i64(state.packets[packet]["seq"])
    if echo:
        mine["marked_pkts"] += 1
    ended = seq > mine["window_end_psn"]
    if ended:
        _end_batch(state, qp, packet)
    if mine["cut_end_psn"] >= 0 and seq > mine["cut_end_psn"]:
        mine["cut_end_psn"] = -1
    if echo and mine["cut_end_psn"] < 0:
        before = i64(row["rate_bps"])
        row["rate_bps"] = max(i64(config["min_rate_bps"]), i64(before * (1.0 - row["alpha"] / 2.0)))
        mine["cut_end_psn"] = row["next_psn"]
        pacing.note_cut(state, device, qp, now_ps, before, i64(row["alpha"] * 1e6))
    if ended and mine["cut_end_psn"] < 0:
        row["rate_bps"] = min(i64(row["line_bps"]), i64(row["rate_bps"]) + i64(config["additive_bps"]))

"""Receiver of recovery out-of-order: every packet is placed in memory on arrival, and a bitmap records the arrivals.

Rules
1. A RETH-like address travels with every packet, so each is placed on arrival (direct data placement, RFC 5040
   section 5; NVIDIA out-of-order data placement; also MRC and UET). Deviation: RoCEv2 WRITEs carry a RETH in their
   first packet alone; its 16 bytes are not added to the other packets here.
2. The bitmap reaches transport.receive_bitmap packets beyond the first missing one. The sender knows its size and never
   has more in flight (as UET's maximum PSN range, and IRN's bound of one BDP: SIGCOMM 2018, section 3.2), so no packet
   can lie beyond it.
3. Messages of a queue pair are delivered in the order they were posted, as on reliable connections (InfiniBand
   volume 1, section 9.7): a message is complete once its packets, and all of those before it, have been placed.
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.host import transfers
from fabric.dataplane.state.codes import PacketFlag
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State

DUPLICATE, IN_ORDER, OUT_OF_ORDER = 0, 1, 2
"""Results of place(): already placed; no packet missing; a packet is missing, or was until now."""
REPORTED_PKTS = 16
"""Packets before the answered one whose arrival an ACK reports."""

_LAST = int(PacketFlag.LAST)
u = np.uint32


@hot
def _slot(state: State, qp: int, psn: int) -> int:
    mine = state.placements[u(qp)]
    return i64(mine["first_slot"]) + psn % i64(mine["n_slots"])


@kernel
def _deliver(state: State, device: int, message: int, now_ps: int) -> None:
    state.rmessages[u(message)]["arrived_ps"] = now_ps
    transfers.arrived(state, device, message, now_ps)


@kernel
def place(state: State, device: int, packet: np.uint32, now_ps: int) -> int:
    """Place a data packet, deliver complete messages, advance RQP.expected_psn."""
    frame, host = state.packets[packet], state.hosts[device]
    qp, psn, message = i64(frame["qp"]), i64(frame["seq"]), i64(frame["msg"])
    row, mine = state.rqps[u(qp)], state.placements[u(qp)]
    expected, slot = i64(row["expected_psn"]), _slot(state, qp, psn)
    if psn < expected or state.placed[slot] != 0:
        host["duplicates"] += 1
        return DUPLICATE
    last = 1 if i64(frame["flags"]) & _LAST else 0
    host["goodput_bytes"] += i64(frame["payload"])
    received = state.rmessages[u(message)]
    received["received_pkts"] += 1
    if received["first_ps"] < 0:
        received["first_ps"] = now_ps
    if last:
        received["hops"] = i64(state.config[0]["initial_ttl"]) - i64(frame["ttl"]) + i64(frame["unseen_hops"])
    if psn > expected:
        state.placed[slot] = 2 * message + last
        mine["end_psn"] = max(i64(mine["end_psn"]), psn + 1)
        host["out_of_order_pkts"] += 1
        host["out_of_order_peak_pkts"] = max(i64(host["out_of_order_peak_pkts"]), psn + 1 - expected)
        return OUT_OF_ORDER
    if last:
        _deliver(state, device, message, now_ps)
    end, expected = i64(mine["end_psn"]), psn + 1
    while expected < end:
        slot = _slot(state, qp, expected)
        value = i64(state.placed[slot])
        if value == 0:
            break
        state.placed[slot] = 0
        if value & 1:
            _deliver(state, device, value >> 1, now_ps)
        expected += 1
    row["expected_psn"] = expected
    mine["end_psn"] = max(end, expected)
    return OUT_OF_ORDER if end > psn + 1 else IN_ORDER


@kernel
def arrived_before(state: State, qp: int, psn: int) -> int:
    """Bit k: packet psn - 1 - k, which is beyond the first missing one, has been placed."""
    bits, expected = 0, i64(state.rqps[u(qp)]["expected_psn"])
    for place_before in range(REPORTED_PKTS):
        before = psn - 1 - place_before
        if before < expected:
            break
        if state.placed[_slot(state, qp, before)] != 0:
            bits |= 1 << place_before
    return bits

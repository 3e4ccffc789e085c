"""Sender's record of every packet in flight; time distinguishes loss from reordering: RACK-TLP (RFC 8985).

Rules (recovery out-of-order; reasons in docs/decisions/0028)
1. For every packet in flight: its last departure, and whether it has arrived, is declared lost, or was sent again.
2. Every ACK names the packet expected next, the packet that it answers, and the arrived ones of the 16 packets before
   that. The newest packet is the arrived packet that was sent last; its round trip is RACK.rtt (RFC 8985
   section 6.2, steps 1 and 2). A round trip shorter than the shortest known, of a packet sent twice, is that of the
   first copy, and is ignored.
3. A packet sent before the newest is lost once it has been in flight for RACK.rtt + the reordering window (step 5).
   Lost packets are sent before new ones.
4. The reordering window is the largest of transport.reorder_window, SRTT, and twice the excess of the longest recent
   round trip over RACK.rtt (a peak that decays by 1/1024 a packet), times a multiplier. Each round trip with an
   unnecessary retransmission doubles the multiplier (step 4, with the duplicate named by the ACK as
   DSACK names it); after 16 recoveries without one it is 1 again. Deviation: RFC 8985 takes min_RTT / 4 for the unit,
   adds 1, and stops at SRTT; paths of a fabric differ by the queues on them and by PFC, by more than a round trip of
   the idle fabric, and RACK.rtt is that of the newest packet's path. The bound here is retransmit_timeout.
5. Without an ACK for 2 SRTT + the reordering window, and without a later packet that could show a loss, the last packet
   that has not arrived is sent again (tail loss probe, section 7). Until a round trip is known the window replaces it
   (section 7.2: 1 s). Deviation: the RFC sends one probe, never in recovery, and leaves the rest
   to a timeout of a few round trips; retransmit_timeout is thousands of them, so probes continue, each after twice the
   time of the one before.
6. Retransmission timeout: the first packet not acknowledged is lost, and every other packet that rule 3 declares lost
   without the comparison with the newest packet (section 6.3).
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.state import calendar, trace
from fabric.dataplane.state.codes import INFINITY_PS, Aux, EventKind, PacketFlag, Resend, TraceBit
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State

_ARRIVED, _LOST, _AGAIN = 1, 2, 4
"""Bits of State.bitmap: arrived; declared lost and not sent again yet; sent more than once."""
_DUPLICATE = int(PacketFlag.DUPLICATE)
_BY_LOSS, _BY_TIMEOUT, _BY_PROBE = int(Resend.NAK), int(Resend.TIMEOUT), int(Resend.PROBE)
_TIMEOUT_SOURCE = int(Aux.TIMEOUT)
_TRACE, _LOSS_DECLARED = int(TraceBit.TRANSPORT), int(EventKind.LOSS_DECLARED)
_PERSIST = 16
"""Recoveries for which an increased reordering window stays (RFC 8985 section 6.2, step 4)."""
_MOST = 16
_MOST_PROBES = 20
"""Doublings of the time between two probes."""
u = np.uint32


@hot
def _slot(state: State, qp: int, psn: int) -> int:
    board = state.boards[u(qp)]
    return i64(board["first_slot"]) + psn % i64(board["n_slots"])


@kernel
def reordering_window_ps(state: State, qp: int) -> int:
    """The reordering window: time that a packet may take longer than the newest (rule 4)."""
    config, board = state.config[0], state.boards[u(qp)]
    apart_ps = i64(board["peak_rtt_ps"]) - i64(board["rtt_ps"])
    window_ps = max(i64(config["reorder_window_ps"]), i64(board["srtt_ps"]), 2 * apart_ps) * i64(board["window_mult"])
    return min(window_ps, i64(config["timeout_ps"])) if config["timeout_ps"] > 0 else window_ps


@kernel
def _probe_timeout_ps(state: State, qp: int) -> int:
    window_ps = reordering_window_ps(state, qp)
    round_trip_ps = i64(state.boards[u(qp)]["srtt_ps"])
    return 2 * (round_trip_ps if round_trip_ps > 0 else window_ps) + window_ps


@kernel
def _watch(state: State, device: int, qp: int) -> None:
    """Make sure that the host's timer event comes in time."""
    board, host = state.boards[u(qp)], state.hosts[device]
    look_ps = min(i64(board["reorder_ps"]), i64(board["probe_ps"]))
    if look_ps < host["timeout_ps"]:
        host["timeout_ps"] = look_ps
        calendar.schedule(
            state, device, calendar.aux_source(state, device, _TIMEOUT_SOURCE), look_ps, calendar.NEW_ORDER
        )


@kernel
def _seek_lost(state: State, qp: int) -> None:
    """Set QP.resend_psn to the first packet declared lost, and QP.recover_psn to whether there is one."""
    row = state.qps[u(qp)]
    if state.boards[u(qp)]["pending_pkts"] == 0:
        row["recover_psn"] = 0
        return
    psn = i64(row["resend_psn"])
    while i64(state.bitmap[_slot(state, qp, psn)]) & _LOST == 0:
        psn += 1
    row["resend_psn"] = psn


@kernel
def _declare(state: State, qp: int, psn: int, slot: int) -> None:
    """Declare a packet lost."""
    row, board = state.qps[u(qp)], state.boards[u(qp)]
    state.bitmap[slot] = i64(state.bitmap[slot]) | _LOST
    if board["pending_pkts"] == 0 or psn < row["resend_psn"]:
        row["resend_psn"] = psn
    board["pending_pkts"] += 1
    row["recover_psn"] = INFINITY_PS


@kernel
def next_lost(state: State, qp: int) -> int:
    """Take the first packet that is declared lost, for its retransmission."""
    psn = i64(state.qps[u(qp)]["resend_psn"])
    slot = _slot(state, qp, psn)
    state.bitmap[slot] = _AGAIN
    state.boards[u(qp)]["pending_pkts"] -= 1
    _seek_lost(state, qp)
    return psn


@kernel
def sent(state: State, device: int, qp: int, psn: int, again: int, now_ps: int) -> None:
    """A packet leaves, for the first time or again."""
    slot, board = _slot(state, qp, psn), state.boards[u(qp)]
    state.sent_ps[slot] = now_ps
    state.bitmap[slot] = _AGAIN if again else 0
    if board["probe_ps"] >= INFINITY_PS:
        board["probe_ps"] = now_ps + _probe_timeout_ps(state, qp)
        _watch(state, device, qp)


@kernel
def _arrive(state: State, qp: int, psn: int, now_ps: int) -> int:
    """Note that a packet has arrived (rule 2); 1 if that is new."""
    slot, board = _slot(state, qp, psn), state.boards[u(qp)]
    status = i64(state.bitmap[slot])
    if status & _ARRIVED:
        return 0
    state.bitmap[slot] = status & _AGAIN | _ARRIVED
    if status & _LOST:
        board["pending_pkts"] -= 1
        _seek_lost(state, qp)
    board["end_psn"] = max(i64(board["end_psn"]), psn + 1)
    sent_ps = i64(state.sent_ps[slot])
    round_trip_ps = now_ps - sent_ps
    if status & _AGAIN:
        if round_trip_ps < board["min_rtt_ps"]:
            return 1
    else:
        board["min_rtt_ps"] = min(i64(board["min_rtt_ps"]), round_trip_ps)
        peak_ps = i64(board["peak_rtt_ps"])
        board["peak_rtt_ps"] = max(peak_ps - (peak_ps >> 10), round_trip_ps)
        smooth_ps = i64(board["srtt_ps"])
        # RFC 6298 section 2.3: alpha = 1/8.
        board["srtt_ps"] = round_trip_ps if smooth_ps == 0 else smooth_ps + (round_trip_ps - smooth_ps) // 8
    if sent_ps > board["newest_sent_ps"] or (sent_ps == board["newest_sent_ps"] and psn > board["newest_psn"]):
        board["newest_sent_ps"], board["newest_psn"] = sent_ps, psn
        board["rtt_ps"] = round_trip_ps
    return 1


@kernel
def _both_arrived(state: State, device: int, qp: int, psn: int, expected: int) -> None:
    """A packet was sent again although it arrived. The window was too small (rule 4), unless it was a probe, or this is
    the first ACK of the packet: then the earlier ACK was lost.
    """
    row, board = state.qps[u(qp)], state.boards[u(qp)]
    if psn == board["probe_psn"]:
        return
    state.hosts[device]["spurious_pkts"] += 1
    if psn >= row["acked_psn"] and i64(state.bitmap[_slot(state, qp, psn)]) & _ARRIVED == 0:
        return
    board["persist"] = _PERSIST
    if expected >= board["round_psn"]:
        board["round_psn"] = row["next_psn"]
        board["window_mult"] = min(2 * i64(board["window_mult"]), _MOST)


@kernel
def note_ack(state: State, device: int, qp: int, packet: np.uint32, now_ps: int) -> int:
    """Note all arrivals that an ACK reports, before QP.acked_psn moves; returns the number of packets."""
    row, frame = state.qps[u(qp)], state.packets[packet]
    acked, expected, answered = i64(row["acked_psn"]), i64(frame["seq"]), i64(frame["msg"])
    found = 0
    if i64(frame["flags"]) & _DUPLICATE:
        _both_arrived(state, device, qp, answered, expected)
    for psn in range(acked, expected):
        found += _arrive(state, qp, psn, now_ps)
    first = max(acked, expected)
    if answered >= first:
        found += _arrive(state, qp, answered, now_ps)
    before, psn = i64(frame["payload"]), answered - 1
    while before != 0 and psn >= first:
        if before & 1:
            found += _arrive(state, qp, psn, now_ps)
        before >>= 1
        psn -= 1
    return found


@kernel
def _detect(state: State, device: int, qp: int, now_ps: int) -> None:
    """Declare packets lost by rule 3, and note the time of the next possible loss.

    Packets sent once were sent in the order of their numbers, so the first of them sent after the newest ends the
    search: later numbers were sent later.
    """
    row, board = state.qps[u(qp)], state.boards[u(qp)]
    acked, end = i64(row["acked_psn"]), i64(row["next_psn"])
    newest_ps, newest_psn = i64(board["newest_sent_ps"]), i64(board["newest_psn"])
    limit_ps = i64(board["rtt_ps"]) + reordering_window_ps(state, qp)
    next_ps, found, first = INFINITY_PS, 0, 0
    for psn in range(acked, end):
        slot = _slot(state, qp, psn)
        status, sent_ps = i64(state.bitmap[slot]), i64(state.sent_ps[slot])
        if status & (_ARRIVED | _LOST):
            continue
        if sent_ps > newest_ps or (sent_ps == newest_ps and psn > newest_psn):
            if status & _AGAIN:
                continue
            break
        if sent_ps + limit_ps > now_ps:
            next_ps = min(next_ps, sent_ps + limit_ps)
            continue
        if found == 0:
            first = psn
        found += 1
        _declare(state, qp, psn, slot)
    board["reorder_ps"] = next_ps
    if found > 0:
        _begin_recovery(state, device, qp, first, found, _BY_LOSS, now_ps)


@kernel
def _begin_recovery(state: State, device: int, qp: int, first: int, count: int, reason: int, now_ps: int) -> None:
    row, board = state.qps[u(qp)], state.boards[u(qp)]
    row["resend"] = reason
    state.hosts[device]["declared_lost_pkts"] += count
    if board["recovery_end_psn"] == 0:
        board["recovery_end_psn"] = row["next_psn"]
    trace.emit(
        state,
        _TRACE,
        device,
        now_ps,
        _LOSS_DECLARED,
        i64(row["port"]),
        i64(row["tc"]),
        0,
        qp,
        first,
        count,
        reordering_window_ps(state, qp),
        0,
    )


@kernel
def settle(state: State, device: int, qp: int, found: int, now_ps: int) -> None:
    """After an ACK, and after QP.acked_psn has moved: declare losses, and set the timers."""
    row, board = state.qps[u(qp)], state.boards[u(qp)]
    acked = i64(row["acked_psn"])
    if board["recovery_end_psn"] > 0 and acked >= board["recovery_end_psn"]:
        board["recovery_end_psn"] = 0
        if board["persist"] > 0:
            board["persist"] -= 1
            if board["persist"] == 0:
                board["window_mult"] = 1
    if acked >= row["next_psn"]:
        board["reorder_ps"] = board["probe_ps"] = INFINITY_PS
        board["probes"] = 0
        return
    if found > 0:
        board["probes"] = 0
        board["probe_ps"] = now_ps + _probe_timeout_ps(state, qp)
    if board["reorder_ps"] >= INFINITY_PS and board["end_psn"] > acked:
        # A packet is missing: the time for the first missing one is known; for any other it is not later than this.
        slot, next_ps = _slot(state, qp, acked), now_ps + reordering_window_ps(state, qp)
        if i64(state.bitmap[slot]) & (_LOST | _AGAIN) == 0:
            next_ps = min(next_ps, i64(state.sent_ps[slot]) + i64(board["rtt_ps"]) + reordering_window_ps(state, qp))
        board["reorder_ps"] = next_ps
    if board["reorder_ps"] <= now_ps:
        _detect(state, device, qp, now_ps)
    _watch(state, device, qp)


@kernel
def _probe(state: State, qp: int, now_ps: int) -> None:
    """Send the last packet that has not arrived once more (rule 5)."""
    row, board = state.qps[u(qp)], state.boards[u(qp)]
    psn = i64(row["next_psn"]) - 1
    while i64(state.bitmap[_slot(state, qp, psn)]) & _ARRIVED:
        psn -= 1
    _declare(state, qp, psn, _slot(state, qp, psn))
    row["resend"] = _BY_PROBE
    board["probe_psn"] = psn
    board["probes"] = min(i64(board["probes"]) + 1, _MOST_PROBES)
    board["probe_ps"] = now_ps + (_probe_timeout_ps(state, qp) << i64(board["probes"]))


@kernel
def next_look_ps(state: State, qp: int) -> int:
    """The next time at which this queue pair's record must be checked."""
    board = state.boards[u(qp)]
    return min(i64(board["reorder_ps"]), i64(board["probe_ps"]))


@kernel
def look(state: State, device: int, qp: int, now_ps: int) -> bool:
    """A timer of this record has run; True if a packet must be sent again."""
    board = state.boards[u(qp)]
    if board["reorder_ps"] <= now_ps:
        _detect(state, device, qp, now_ps)
    if board["probe_ps"] <= now_ps:
        if board["reorder_ps"] < INFINITY_PS or board["pending_pkts"] > 0:
            board["probe_ps"] = now_ps + _probe_timeout_ps(state, qp)  # packets in flight will show losses
        else:
            _probe(state, qp, now_ps)
    return bool(board["pending_pkts"] > 0)


@kernel
def time_out(state: State, device: int, qp: int, now_ps: int) -> None:
    """The retransmission timer has run (rule 6)."""
    row, board = state.qps[u(qp)], state.boards[u(qp)]
    acked, limit_ps = i64(row["acked_psn"]), i64(board["rtt_ps"]) + reordering_window_ps(state, qp)
    count = 0
    for psn in range(acked, i64(row["next_psn"])):
        slot = _slot(state, qp, psn)
        if i64(state.bitmap[slot]) & (_ARRIVED | _LOST):
            continue
        if psn == acked or i64(state.sent_ps[slot]) + limit_ps <= now_ps:
            _declare(state, qp, psn, slot)
            count += 1
    board["reorder_ps"] = INFINITY_PS
    board["probe_ps"] = now_ps + _probe_timeout_ps(state, qp)
    board["probes"] = 0
    if count > 0:
        _begin_recovery(state, device, qp, acked, count, _BY_TIMEOUT, now_ps)
    _watch(state, device, qp)


@kernel
def abandon(state: State, qp: int) -> None:
    """The queue pair has failed."""
    board = state.boards[u(qp)]
    board["reorder_ps"] = board["probe_ps"] = INFINITY_PS
    board["pending_pkts"] = 0
    state.qps[u(qp)]["recover_psn"] = 0

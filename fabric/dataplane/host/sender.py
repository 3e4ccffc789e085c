"""RDMA requester: segmentation into packets, acknowledgement, go-back-N, selective repeat, timeout.

Rules (InfiniBand specification volume 1, chapter 9.7; RoCEv2 annex A17)
1. A queue pair's packets are numbered from 0 (PSN without wrap); a message owns n_pkts of them from base_psn.
2. An ACK is cumulative: every packet before its number has arrived. A message is complete when its last is covered.
3. NAK (sequence error): send again all packets from the named one on (go-back-N), the whole message
   (go-back-0), or only missing packets (selective repeat, IRN: SIGCOMM 2018, section 3.1).
4. No acknowledgement for retransmit_timeout: as NAK for the oldest packet; after retry_limit times in a row the queue
   pair and its messages fail.
5. Where ACKs are coalesced, the packet that fills the window requests one (BTH AckReq), else both ends would wait
   for the timer; a window that shrinks with the rate may be full at any packet, so there every packet requests one.
6. Out-of-order: ACKs are selective, time distinguishes losses from reordering (host/scoreboard), and only lost packets
   are sent again.
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.host import nic_ports, scoreboard, source_route, transfers
from fabric.dataplane.state import calendar, pool, semantics, trace
from fabric.dataplane.state.codes import (
    INFINITY_PS,
    Aux,
    Ecn,
    EventKind,
    PacketFlag,
    PacketKind,
    QpState,
    Recovery,
    Resend,
    TraceBit,
)
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State
from fabric.dataplane.transport import hooks
from fabric.dataplane.transport.laws import law

_DATA, _NAK = int(PacketKind.DATA), int(PacketKind.NAK)
_FIRST, _LAST = int(PacketFlag.FIRST), int(PacketFlag.LAST)
_ACK_REQUEST = int(PacketFlag.ACK_REQUEST)
_ECT0 = int(Ecn.ECT0)
_SELECTIVE, _GO_BACK_0 = int(Recovery.SELECTIVE), int(Recovery.GO_BACK_0)
_OUT_OF_ORDER = int(Recovery.OUT_OF_ORDER)
_FAILED = int(QpState.FAILED)
_BY_NAK, _BY_TIMEOUT, _BY_PROBE = int(Resend.NAK), int(Resend.TIMEOUT), int(Resend.PROBE)
_TIMEOUT_SOURCE = int(Aux.TIMEOUT)
_TRACE, _TIMEOUT, _QP_FAILED = int(TraceBit.TRANSPORT), int(EventKind.TIMEOUT), int(EventKind.QP_FAILED)
u = np.uint32


@hot
def _window_slot(state: State, qp: int, psn: int) -> int:
    return 2 * qp * i64(state.config[0]["sack_window_pkts"]) + psn % i64(state.config[0]["sack_window_pkts"])


@hot
def is_recovering(state: State, qp: int) -> bool:
    """Selective repeat: some packet is known to be missing. Out-of-order: some packet is declared lost."""
    row = state.qps[u(qp)]
    return bool(row["recover_psn"] > row["acked_psn"]) and row["resend_psn"] < row["sacked_psn"]


@hot
def has_work(state: State, qp: int) -> bool:
    """Whether there is a packet to send now or later."""
    row = state.qps[u(qp)]
    return bool(row["next_psn"] < row["posted_psn"]) or is_recovering(state, qp)


@hot
def is_blocked(state: State, qp: int) -> bool:
    """Whether the window forbids a new packet; selective retransmissions are always allowed."""
    row, config = state.qps[u(qp)], state.config[law(state, qp)]
    if config["window_bytes"] == 0 or is_recovering(state, qp):
        return False
    if semantics.scans_queue_pairs(state):
        window = i64(state.pairs[u(qp)]["window_bytes"])
        if config["variable_window"] != 0:
            window = window * i64(row["rate_bps"]) // i64(row["line_bps"])
    else:
        window = i64(config["window_bytes"])
        if config["variable_window"] != 0:
            window = i64(window * (i64(row["rate_bps"]) / i64(row["line_bps"])))
    return (i64(row["next_psn"]) - i64(row["acked_psn"])) * i64(row["payload_bytes"]) >= max(window, 1)


@kernel
def _seek_hole(state: State, qp: int) -> None:
    """Selective repeat: move resend_psn to the next packet known to be missing, or to sacked_psn if there is none.

    Called after every change, so that is_recovering() never lets a new packet pass the window as a retransmission:
    the bitmaps have no room for more than a window.
    """
    row = state.qps[u(qp)]
    psn = max(i64(row["resend_psn"]), i64(row["acked_psn"]))
    while psn < row["sacked_psn"] and state.bitmap[_window_slot(state, qp, psn)] != 0:
        psn += 1
    row["resend_psn"] = psn


@kernel
def _next_hole(state: State, qp: int) -> int:
    """Selective repeat: take the next packet known to be missing."""
    if state.config[0]["recovery"] == _OUT_OF_ORDER:
        return scoreboard.next_lost(state, qp)
    row = state.qps[u(qp)]
    psn = i64(row["resend_psn"])
    row["resend_psn"] = psn + 1
    _seek_hole(state, qp)
    return psn


@kernel
def _message_of(state: State, qp: int, psn: int) -> int:
    """Row of the message that owns a packet, searched from the oldest unacknowledged one."""
    message = i64(state.qps[u(qp)]["msg_head"])
    while psn >= i64(state.messages[u(message)]["base_psn"]) + i64(state.messages[u(message)]["n_pkts"]):
        message = i64(state.messages[u(message)]["next"])
    return message


@hot
def _advance_now(state: State, qp: int) -> int:
    """Row of the message that owns next_psn."""
    row = state.qps[u(qp)]
    message = i64(row["msg_now"])
    if row["next_psn"] >= i64(state.messages[u(message)]["base_psn"]) + i64(state.messages[u(message)]["n_pkts"]):
        message = i64(state.messages[u(message)]["next"])
        row["msg_now"] = message
    return message


@hot
def arm(state: State, device: int, qp: int, now_ps: int) -> None:
    """(Re)start the retransmission timer of a queue pair."""
    timeout_ps = i64(state.config[0]["timeout_ps"])
    if timeout_ps == 0:
        return
    deadline = now_ps + timeout_ps
    state.qps[u(qp)]["deadline_ps"] = deadline
    if deadline < state.hosts[device]["timeout_ps"]:
        state.hosts[device]["timeout_ps"] = deadline
        calendar.schedule(
            state, device, calendar.aux_source(state, device, _TIMEOUT_SOURCE), deadline, calendar.NEW_ORDER
        )


@kernel
def _count_resend(state: State, device: int, qp: int) -> None:
    host = state.hosts[device]
    host["retransmitted_pkts"] += 1
    if state.qps[u(qp)]["resend"] == _BY_TIMEOUT:
        host["retransmitted_timeout_pkts"] += 1
    elif state.qps[u(qp)]["resend"] == _BY_PROBE:
        host["retransmitted_probe_pkts"] += 1
    elif i64(state.config[0]["recovery"]) & 1:
        host["retransmitted_sr_pkts"] += 1
    else:
        host["retransmitted_gbn_pkts"] += 1


@hot
def make_packet(state: State, device: int, port: int, qp: int, now_ps: int) -> np.uint32:
    """Build the next packet of a queue pair that has work; it leaves by `port`."""
    row, config = state.qps[u(qp)], state.config[law(state, qp)]
    if i64(config["recovery"]) & 1 and is_recovering(state, qp):
        psn = _next_hole(state, qp)
        message = _message_of(state, qp, psn)
    else:
        message = _advance_now(state, qp)
        psn = i64(row["next_psn"])
        row["next_psn"] = psn + 1
    owner = state.messages[u(message)]
    place = psn - i64(owner["base_psn"])
    payload = min(i64(row["payload_bytes"]), i64(owner["size_bytes"]) - place * i64(row["payload_bytes"]))
    flags, header = 0, i64(config["data_header_bytes"])
    if place == 0:
        flags = _FIRST
        header += i64(config["reth_bytes"])
    if place == i64(owner["n_pkts"]) - 1:
        flags |= _LAST
    if (
        config["window_bytes"] > 0
        and config["ack_every_packets"] > 1
        and (
            config["variable_window"] != 0
            or is_blocked(state, qp)
            or (config["recovery"] == _OUT_OF_ORDER and psn < row["top_psn"])
        )
    ):
        flags |= _ACK_REQUEST
    packet = pool.take(state, device)
    frame = state.packets[packet]
    frame["kind"], frame["size"], frame["payload"], frame["flags"] = _DATA, header + payload, payload, flags
    frame["seq"], frame["qp"], frame["msg"] = psn, qp, message
    frame["src"], frame["dst"], frame["words"] = row["src"], row["dst"], row["words"]
    frame["dscp"], frame["tc"], frame["ecn"], frame["ttl"] = row["dscp"], row["tc"], _ECT0, config["initial_ttl"]
    frame["unseen_hops"] = 0
    if config["route_choice"] != 0:
        source_route.encapsulate(state, device, port, packet, qp)
    hooks.stamp(state, qp, packet, now_ps)
    row["sent_pkts"] += 1
    if config["recovery"] == _OUT_OF_ORDER:
        scoreboard.sent(state, device, qp, psn, 1 if psn < row["top_psn"] else 0, now_ps)
    if psn < row["top_psn"]:
        row["retransmitted_pkts"] += 1
        owner["retransmitted_pkts"] += 1
        _count_resend(state, device, qp)
    else:
        row["top_psn"] = psn + 1
    if row["deadline_ps"] >= INFINITY_PS:
        arm(state, device, qp, now_ps)
    return packet


@hot
def pace(state: State, device: int, qp: int, size_bytes: int, serialisation_ps: int, now_ps: int) -> None:
    """After a departure at now_ps: the earliest next one."""
    at_line_ps = nic_ports.at_line_ps(state, qp, size_bytes, serialisation_ps)
    waited_ps = nic_ports.waited_ps(state, qp, now_ps, at_line_ps)
    state.qps[u(qp)]["available_ps"] = hooks.sent(state, device, qp, size_bytes, at_line_ps, now_ps) - waited_ps


@kernel
def post(state: State, device: int, message: int, now_ps: int) -> int:
    """Append a message to its queue pair; returns the queue pair."""
    row = state.messages[u(message)]
    qp = i64(row["qp"])
    pair = state.qps[u(qp)]
    row["start_ps"] = now_ps
    if pair["state"] == _FAILED:
        row["failed"] = 1
        state.hosts[device]["messages_failed"] += 1
        return qp
    row["base_psn"] = pair["posted_psn"]
    row["next"] = 0
    if pair["line_bps"] == 0:
        pair["line_bps"] = nic_ports.line_bps(state, device, qp)
        hooks.start(state, qp)
    if pair["msg_head"] == 0:
        pair["msg_head"] = message
        pair["msg_now"] = message
    else:
        state.messages[pair["msg_tail"]]["next"] = message
        if pair["msg_now"] == 0:
            pair["msg_now"] = message
    pair["msg_tail"] = message
    pair["posted_psn"] += row["n_pkts"]
    return qp


@kernel
def go_back(state: State, qp: int, psn: int) -> None:
    """Set the next packet back to psn."""
    row = state.qps[u(qp)]
    row["next_psn"] = psn
    row["msg_now"] = row["msg_head"]
    if row["msg_head"] != 0:
        row["msg_now"] = _message_of(state, qp, psn) if psn < row["posted_psn"] else row["msg_tail"]


@kernel
def _acknowledge(state: State, device: int, qp: int, psn: int, now_ps: int) -> None:
    row = state.qps[u(qp)]
    if state.config[0]["recovery"] == _SELECTIVE:
        for old in range(i64(row["acked_psn"]), psn):
            state.bitmap[_window_slot(state, qp, old)] = 0
    row["acked_psn"] = psn
    if state.config[0]["recovery"] == _SELECTIVE:
        _seek_hole(state, qp)
    row["retries"] = 0
    if psn < row["top_psn"]:
        arm(state, device, qp, now_ps)
    else:
        row["deadline_ps"] = INFINITY_PS
    while row["msg_head"] != 0:
        message = i64(row["msg_head"])
        owner = state.messages[u(message)]
        if i64(owner["base_psn"]) + i64(owner["n_pkts"]) > psn:
            break
        owner["end_ps"] = now_ps
        state.hosts[device]["messages_done"] += 1
        row["msg_head"] = owner["next"]
        if row["msg_now"] == message:
            row["msg_now"] = owner["next"]
        transfers.acknowledged(state, device, message, now_ps)
    if row["next_psn"] < psn and not semantics.sends_acknowledged(state):
        go_back(state, qp, psn)


@kernel
def _report_gap(state: State, device: int, qp: int, packet: np.uint32) -> None:
    """A NAK: its number is what the receiver expects; with selective repeat it also names what has arrived."""
    frame, config, row = state.packets[packet], state.config[0], state.qps[u(qp)]
    psn = i64(frame["seq"])
    state.hosts[device]["naks_received"] += 1
    row["naks"] += 1
    if config["recovery"] == _SELECTIVE:
        arrived = i64(frame["msg"])
        if arrived >= row["acked_psn"]:
            state.bitmap[_window_slot(state, qp, arrived)] = 1
            row["sacked_psn"] = max(i64(row["sacked_psn"]), arrived)
        if row["recover_psn"] <= row["acked_psn"]:
            row["resend"] = _BY_NAK
            row["recover_psn"] = row["next_psn"]
            row["resend_psn"] = row["acked_psn"]
        _seek_hole(state, qp)
    elif config["recovery"] == _GO_BACK_0:
        # A NAK that a later ACK has overtaken may name a complete message: it has no effect.
        if row["msg_head"] != 0 and psn >= state.messages[row["msg_head"]]["base_psn"]:
            row["acked_psn"] = psn
            row["resend"] = _BY_NAK
            go_back(state, qp, psn)
    elif psn >= row["acked_psn"] or semantics.obeys_old_naks(state):
        row["resend"] = _BY_NAK
        go_back(state, qp, i64(row["acked_psn"]))


@kernel
def receive_ack(state: State, device: int, packet: np.uint32, now_ps: int) -> int:
    """Handle an ACK or NAK; returns the queue pair (the caller wakes it and frees the frame), -1 if finished."""
    frame, config = state.packets[packet], state.config[0]
    qp, psn = i64(frame["qp"]), i64(frame["seq"])
    row = state.qps[u(qp)]
    acked_psn = i64(row["acked_psn"])
    if row["state"] == _FAILED:
        return qp
    if row["msg_head"] == 0 and semantics.ignores_late_answers(state):
        return -1
    if config["recovery"] == _OUT_OF_ORDER:
        found = scoreboard.note_ack(state, device, qp, packet, now_ps)
        if psn > row["acked_psn"]:
            _acknowledge(state, device, qp, psn, now_ps)
        scoreboard.settle(state, device, qp, found, now_ps)
        hooks.acknowledged(state, device, qp, packet, i64(row["acked_psn"]) - acked_psn, now_ps)
        return qp
    if psn > row["acked_psn"]:
        _acknowledge(state, device, qp, psn, now_ps)
    if frame["kind"] == _NAK:
        _report_gap(state, device, qp, packet)
    hooks.acknowledged(state, device, qp, packet, i64(row["acked_psn"]) - acked_psn, now_ps)
    return qp


@kernel
def _fail(state: State, device: int, qp: int, now_ps: int) -> None:
    row = state.qps[u(qp)]
    row["state"] = _FAILED
    row["deadline_ps"] = INFINITY_PS
    row["available_ps"] = now_ps  # the time of its failure; it does not send again
    trace.emit(
        state,
        _TRACE,
        device,
        now_ps,
        _QP_FAILED,
        i64(row["port"]),
        i64(row["tc"]),
        0,
        qp,
        i64(row["posted_psn"]) - i64(row["acked_psn"]),
        0,
        0,
        0,
    )
    row["next_psn"] = row["posted_psn"]
    row["recover_psn"] = row["acked_psn"]
    if state.config[0]["recovery"] == _OUT_OF_ORDER:
        scoreboard.abandon(state, qp)
    message = i64(row["msg_head"])
    while message != 0:
        state.messages[u(message)]["failed"] = 1
        state.hosts[device]["messages_failed"] += 1
        transfers.count_failure(state, message)
        message = i64(state.messages[u(message)]["next"])
    row["msg_head"] = 0


@kernel
def expire(state: State, device: int, qp: int, now_ps: int) -> bool:
    """The retransmission timer of a queue pair has run; True if it has something to send."""
    row, config = state.qps[u(qp)], state.config[0]
    row["timeouts"] += 1
    row["resend"] = _BY_TIMEOUT
    row["retries"] += 1
    state.hosts[device]["timeouts"] += 1
    trace.emit(
        state,
        _TRACE,
        device,
        now_ps,
        _TIMEOUT,
        i64(row["port"]),
        i64(row["tc"]),
        0,
        qp,
        i64(row["acked_psn"]),
        i64(row["retries"]),
        0,
        0,
    )
    if row["retries"] > config["retry_limit"]:
        _fail(state, device, qp, now_ps)
        return False
    if config["recovery"] == _OUT_OF_ORDER:
        scoreboard.time_out(state, device, qp, now_ps)
        arm(state, device, qp, now_ps)
        return True
    if config["recovery"] == _GO_BACK_0:
        # The receiver may have restarted the message, and its only NAK may be lost: send the whole message again.
        row["acked_psn"] = state.messages[row["msg_head"]]["base_psn"]
    row["recover_psn"] = row["acked_psn"]
    row["sacked_psn"] = row["acked_psn"]
    row["resend_psn"] = row["acked_psn"]
    if config["recovery"] == _SELECTIVE:
        for psn in range(i64(row["acked_psn"]), i64(row["next_psn"])):
            state.bitmap[_window_slot(state, qp, psn)] = 0
    go_back(state, qp, i64(row["acked_psn"]))
    arm(state, device, qp, now_ps)
    return True

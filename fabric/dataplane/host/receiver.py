"""RDMA responder and notification point: accept in order, acknowledge, report gaps and congestion.

Rules
1. In order: deliver; one ACK per ack_every packets, at every message's end, and on request. The data row becomes the
   ACK.
2. A gap: one NAK for it (go-back-N), repeated after nak_interval if the model has one; with selective repeat every
   packet out of order is kept and NAKed with its own number. A duplicate is acknowledged again: its ACK may have been
   lost.
3. Out-of-order: every packet is placed on arrival (host/placement). While a packet is missing, or as soon as a gap
   is filled, every packet is acknowledged at once (RFC 5681 section 4.2); its ACK names it, the packet expected next,
   and the arrived ones of the 16 before it. There are no NAKs: only the sender can tell loss from reordering.
4. Notification point: a CE-marked packet causes a CNP, at most one per queue pair and cnp_interval, after cnp_delay;
   or every ACK and NAK echoes the mark of the packet that it answers. If the congestion control counts marks, all
   packets of one ACK have the same mark: a packet with another mark makes the receiver acknowledge the earlier ones
   first (RFC 8257 section 3.2). The mark of a packet without an answer (in a known gap) is not reported.
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.host import nic, placement, transfers
from fabric.dataplane.state import calendar, pool, semantics, trace
from fabric.dataplane.state.codes import INFINITY_PS, Aux, Ecn, EventKind, PacketFlag, PacketKind, Recovery, TraceBit
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State
from fabric.dataplane.transport import hooks
from fabric.dataplane.transport.laws import law

_ACK, _NAK, _CNP = int(PacketKind.ACK), int(PacketKind.NAK), int(PacketKind.CNP)
_FIRST, _LAST, _ECHO = int(PacketFlag.FIRST), int(PacketFlag.LAST), int(PacketFlag.ECHO)
_ACK_REQUEST, _DUPLICATE = int(PacketFlag.ACK_REQUEST), int(PacketFlag.DUPLICATE)
_CE, _ECT0 = int(Ecn.CE), int(Ecn.ECT0)
_GO_BACK_0, _OUT_OF_ORDER = int(Recovery.GO_BACK_0), int(Recovery.OUT_OF_ORDER)
_NOTIFY = int(Aux.NOTIFY)
_TRACE, _NAK_SENT = int(TraceBit.TRANSPORT), int(EventKind.NAK_SENT)
u = np.uint32


@hot
def _class_of(state: State, port: int, dscp: int) -> int:
    """Class of a DSCP: a host uses the map of the switch port at the other end."""
    return i64(state.dscp_maps[i64(state.ports[port]["dscp_map"]) * 64 + dscp])


@hot
def switches_crossed(state: State, packet: np.uint32) -> int:
    """Switches that a frame has crossed (switch/ttl)."""
    frame = state.packets[packet]
    return i64(state.config[0]["initial_ttl"]) - i64(frame["ttl"]) + i64(frame["unseen_hops"])


@hot
def _turn(state: State, packet: np.uint32, kind: int, psn: int) -> None:
    """Turn a data frame into its ACK or NAK."""
    frame = state.packets[packet]
    qp = i64(frame["qp"])
    config = state.config[law(state, qp)]
    echo = _ECHO if i64(frame["ecn"]) == _CE and hooks.echoes(state, qp) else 0
    frame["kind"], frame["size"], frame["payload"], frame["flags"] = kind, config["ack_bytes"], 0, echo
    if semantics.swaps_ports_of_answers(state):
        words = i64(frame["words"])
        frame["words"] = words >> 16 | (words & 0xFFFF) << 16
    frame["src"], frame["dst"] = frame["dst"], frame["src"]
    frame["seq"], frame["xoff"] = psn, switches_crossed(state, packet) & 0xFF
    frame["ecn"], frame["ttl"] = _ECT0, config["initial_ttl"]
    dscp = i64(config["ack_dscp"])
    if dscp >= 0:
        frame["dscp"] = dscp
    frame["tc"] = _class_of(state, i64(frame["in_port"]), i64(frame["dscp"]))


@hot
def _answer(state: State, device: int, packet: np.uint32, kind: int, psn: int, now_ps: int) -> None:
    """Turn a data frame into its ACK or NAK and send it through its ingress port."""
    _turn(state, packet, kind, psn)
    nic.queue_frame(state, device, i64(state.packets[packet]["in_port"]), packet, now_ps)


@kernel
def _send_cnp(state: State, device: int, marked: np.uint32, now_ps: int) -> None:
    """Notify the sender of a marked data packet."""
    packet = pool.take(state, device)
    frame, data = state.packets[packet], state.packets[marked]
    config = state.config[law(state, i64(data["qp"]))]
    port = i64(data["in_port"])
    frame["kind"], frame["size"], frame["payload"], frame["flags"] = _CNP, config["cnp_bytes"], 0, 0
    frame["src"], frame["dst"], frame["qp"], frame["msg"] = device, data["src"], data["qp"], 0
    frame["words"], frame["in_port"] = data["words"], port
    frame["dscp"], frame["ecn"], frame["ttl"] = config["cnp_dscp"], _ECT0, config["initial_ttl"]
    frame["tc"] = _class_of(state, port, i64(frame["dscp"]))
    state.hosts[device]["cnp_sent"] += 1
    if config["cnp_delay_ps"] == 0:
        nic.queue_frame(state, device, port, packet, now_ps)
        return
    host = state.hosts[device]
    frame["time_ps"] = now_ps + config["cnp_delay_ps"]
    if host["cnp_tail"] == 0:
        host["cnp_head"] = packet
        calendar.schedule(
            state, device, calendar.aux_source(state, device, _NOTIFY), i64(frame["time_ps"]), calendar.NEW_ORDER
        )
    else:
        state.packets[host["cnp_tail"]]["next"] = packet
    host["cnp_tail"] = packet


@kernel
def on_notify(state: State, device: int, now_ps: int) -> None:
    """The oldest delayed CNP leaves the notification point."""
    host = state.hosts[device]
    packet = host["cnp_head"]
    next_ps = INFINITY_PS
    if packet == host["cnp_tail"]:
        host["cnp_head"] = host["cnp_tail"] = 0
    else:
        host["cnp_head"] = state.packets[packet]["next"]
        next_ps = i64(state.packets[host["cnp_head"]]["time_ps"])
    calendar.schedule(state, device, calendar.aux_source(state, device, _NOTIFY), next_ps, calendar.NEW_ORDER)
    nic.queue_frame(state, device, i64(state.packets[packet]["in_port"]), packet, now_ps)


@hot
def _notification_point(state: State, device: int, packet: np.uint32, now_ps: int) -> None:
    frame = state.packets[packet]
    qp = i64(frame["qp"])
    state.hosts[device]["ecn_received"] += 1
    if not hooks.notifies(state, qp):
        return  # the notification travels in the ACK, or there is none
    row = state.rqps[frame["qp"]]
    if now_ps - i64(row["last_cnp_ps"]) >= state.config[law(state, qp)]["cnp_interval_ps"]:
        row["last_cnp_ps"] = now_ps
        _send_cnp(state, device, packet, now_ps)


@hot
def _deliver(state: State, device: int, message: int, packet: np.uint32, now_ps: int) -> None:
    """The message is complete at the receiver."""
    row = state.rmessages[u(message)]
    row["arrived_ps"] = now_ps
    row["hops"] = switches_crossed(state, packet)
    transfers.arrived(state, device, message, now_ps)


@kernel
def _receive_selective(state: State, device: int, packet: np.uint32, now_ps: int) -> None:
    frame, config = state.packets[packet], state.config[0]
    qp, psn, message = i64(frame["qp"]), i64(frame["seq"]), i64(frame["msg"])
    row, window = state.rqps[u(qp)], i64(config["sack_window_pkts"])
    base = (2 * qp + 1) * window
    if psn < row["expected_psn"] or state.bitmap[base + psn % window] != 0:
        state.hosts[device]["duplicates"] += 1
        _answer(state, device, packet, _ACK, i64(row["expected_psn"]), now_ps)
        return
    state.bitmap[base + psn % window] = 1
    state.hosts[device]["goodput_bytes"] += i64(frame["payload"])
    state.rmessages[u(message)]["received_pkts"] += 1
    if state.rmessages[u(message)]["received_pkts"] == state.messages[u(message)]["n_pkts"]:
        _deliver(state, device, message, packet, now_ps)
    if psn > row["expected_psn"]:
        state.hosts[device]["out_of_sequence"] += 1
        state.hosts[device]["naks_sent"] += 1
        row["out_of_sequence"] += 1
        frame["msg"] = psn
        _answer(state, device, packet, _NAK, i64(row["expected_psn"]), now_ps)
        return
    expected = psn
    while state.bitmap[base + expected % window] != 0:
        state.bitmap[base + expected % window] = 0
        expected += 1
    row["expected_psn"] = expected
    _answer(state, device, packet, _ACK, expected, now_ps)


@kernel
def _acknowledge_those_before(state: State, device: int, data: np.uint32, now_ps: int) -> None:
    """Send the pending ACK, which does not cover this packet, with the mark of the packets that it covers (rule 4).

    An ACK is pending only while no packet is missing, so the last covered packet is the one before the expected one.
    """
    packet, config = pool.take(state, device), state.config[0]
    frame, first = state.packets[packet], state.packets[data]
    expected = i64(state.rqps[first["qp"]]["expected_psn"])
    frame["src"], frame["dst"], frame["qp"], frame["msg"] = first["src"], first["dst"], first["qp"], first["msg"]
    frame["words"], frame["in_port"], frame["dscp"] = first["words"], first["in_port"], first["dscp"]
    frame["ecn"] = _ECT0 if i64(first["ecn"]) == _CE else _CE
    state.rqps[first["qp"]]["unacked_pkts"] = 0
    _turn(state, packet, _ACK, expected)
    if config["recovery"] == _OUT_OF_ORDER:
        frame["msg"], frame["payload"] = expected - 1, 0
    nic.queue_frame(state, device, i64(frame["in_port"]), packet, now_ps)


@kernel
def _receive_any_order(state: State, device: int, packet: np.uint32, now_ps: int) -> None:
    """Place a packet and acknowledge it (rule 3)."""
    frame, config = state.packets[packet], state.config[0]
    qp, psn, flags = i64(frame["qp"]), i64(frame["seq"]), i64(frame["flags"])
    row, found = state.rqps[u(qp)], placement.place(state, device, packet, now_ps)
    row["unacked_pkts"] += 1
    if (
        found == placement.IN_ORDER
        and flags & (_LAST | _ACK_REQUEST) == 0
        and (row["unacked_pkts"] < config["ack_every_packets"])
    ):
        pool.give(state, device, packet)
        return
    row["unacked_pkts"] = 0
    _turn(state, packet, _ACK, i64(row["expected_psn"]))
    frame["msg"], frame["payload"] = psn, placement.arrived_before(state, qp, psn)
    if found == placement.DUPLICATE:
        frame["flags"] = i64(frame["flags"]) | _DUPLICATE
    nic.queue_frame(state, device, i64(frame["in_port"]), packet, now_ps)


@kernel
def _receive_gap(state: State, device: int, packet: np.uint32, now_ps: int) -> None:
    frame, config = state.packets[packet], state.config[0]
    row, host = state.rqps[frame["qp"]], state.hosts[device]
    row["out_of_sequence"] += 1
    host["out_of_sequence"] += 1
    expected = i64(row["expected_psn"])
    again = config["nak_interval_ps"] > 0 and now_ps >= row["nak_at_ps"]
    if row["nak_for_psn"] == expected and not again:
        pool.give(state, device, packet)
        return
    row["nak_for_psn"] = expected
    row["nak_at_ps"] = now_ps + config["nak_interval_ps"]
    host["naks_sent"] += 1
    trace.emit(
        state,
        _TRACE,
        device,
        now_ps,
        _NAK_SENT,
        i64(frame["in_port"]),
        i64(frame["tc"]),
        0,
        i64(frame["qp"]),
        expected,
        i64(frame["seq"]),
        0,
        0,
    )
    if config["recovery"] == _GO_BACK_0:
        expected = i64(row["base_psn"])
        row["expected_psn"] = expected
    row["unacked_pkts"] = 0
    _answer(state, device, packet, _NAK, expected, now_ps)


@hot
def receive_data(state: State, device: int, packet: np.uint32, now_ps: int) -> None:
    """Accept or refuse a data packet, and answer it."""
    frame, config = state.packets[packet], state.config[0]
    message, psn = i64(frame["msg"]), i64(frame["seq"])
    row = state.rqps[frame["qp"]]
    # The row of a packet that was accepted before may be another message's (host/transfers, rule 4).
    if i64(frame["flags"]) & _FIRST and psn >= row["expected_psn"] and state.rmessages[u(message)]["first_ps"] < 0:
        state.rmessages[u(message)]["first_ps"] = now_ps
    if i64(frame["ecn"]) == _CE:
        _notification_point(state, device, packet, now_ps)
    if (
        config["ack_every_packets"] > 1
        and hooks.mark_changes(state, i64(frame["qp"]), i64(frame["ecn"]) == _CE)
        and row["unacked_pkts"] > 0
    ):
        _acknowledge_those_before(state, device, packet, now_ps)
    if i64(config["recovery"]) & 1:
        if config["recovery"] == _OUT_OF_ORDER:
            _receive_any_order(state, device, packet, now_ps)
        else:
            _receive_selective(state, device, packet, now_ps)
        return
    expected = i64(row["expected_psn"])
    if psn > expected:
        _receive_gap(state, device, packet, now_ps)
        return
    if psn < expected:
        state.hosts[device]["duplicates"] += 1
        if semantics.drops_duplicates(state):
            pool.give(state, device, packet)
            return
        _answer(state, device, packet, _ACK, expected, now_ps)
        return
    row["expected_psn"] = psn + 1
    row["nak_for_psn"] = -1
    row["unacked_pkts"] += 1
    flags = i64(frame["flags"])
    if flags & _FIRST:
        row["base_psn"] = psn
    if config["recovery"] != _GO_BACK_0:
        state.hosts[device]["goodput_bytes"] += i64(frame["payload"])
    elif flags & _LAST:
        # Before the last packet any packet may be sent again; each byte counts once.
        state.hosts[device]["goodput_bytes"] += i64(state.messages[u(message)]["size_bytes"])
    if flags & _LAST:
        row["base_psn"] = psn + 1  # go-back-0 restarts the incomplete message, never a complete one
        _deliver(state, device, message, packet, now_ps)
    if flags & (_LAST | _ACK_REQUEST) or row["unacked_pkts"] >= config["ack_every_packets"]:
        row["unacked_pkts"] = 0
        _answer(state, device, packet, _ACK, psn + 1, now_ps)
    else:
        pool.give(state, device, packet)

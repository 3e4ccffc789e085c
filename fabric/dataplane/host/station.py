"""A host's events: frames that arrive, messages that start. The counterpart of switch/ingress."""

from __future__ import annotations

import numpy as np

from fabric.dataplane.host import arp, datagrams, nic, ns3_index, receiver, sender, slow_receiver, transfers
from fabric.dataplane.host.messages import pop_start, postpone_start
from fabric.dataplane.port.damage import INTACT, damaged, is_suspect
from fabric.dataplane.port.drop import discard
from fabric.dataplane.port.flowcontrol import hooks as flow
from fabric.dataplane.state import pool, semantics
from fabric.dataplane.state.codes import CongestionControl, Order, PacketKind, Stop
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State
from fabric.dataplane.transport import hooks

_DATA, _ACK = int(PacketKind.DATA), int(PacketKind.ACK)
_NAK, _CNP = int(PacketKind.NAK), int(PacketKind.CNP)
_ARP_REQUEST, _ARP_REPLY = int(PacketKind.ARP_REQUEST), int(PacketKind.ARP_REPLY)
_FLOODED, _DATAGRAM = int(PacketKind.FLOODED), int(PacketKind.DATAGRAM)
_INSERTION, _NS3_DCQCN = int(Order.INSERTION), int(CongestionControl.NS3_DCQCN)
_UNMADE, _INSTALLED = -1, -2
u = np.uint32
_NONE, _UNKNOWN, _MESSAGES = int(Stop.NONE), int(Stop.UNKNOWN_PACKET), int(Stop.MESSAGES)


@kernel
def _receive_cnp(state: State, device: int, packet: np.uint32, now_ps: int) -> None:
    host = state.hosts[device]
    if hooks.notified(state, device, i64(state.packets[packet]["qp"]), now_ps):
        host["cnp_handled"] += 1
    else:
        host["cnp_ignored"] += 1
    pool.give(state, device, packet)


@hot
def receive(state: State, device: int, port: int, packet: np.uint32, now_ps: int) -> int:
    """Handle a frame that has fully arrived at a host port; a Stop code."""
    row, frame = state.ports[port], state.packets[packet]
    row["rx_bytes"] += i64(frame["size"])
    row["rx_pkts"] += 1
    frame["in_port"] = port
    arrivals = state.pgs[port * 8 + i64(frame["tc"])]
    arrivals["rx_pkts"] += 1
    arrivals["rx_bytes"] += i64(frame["size"])
    c, size_bytes = i64(frame["tc"]), i64(frame["size"])
    flow.arrived(state, device, port, c, size_bytes, now_ps)
    if is_suspect(state, port):
        reason = damaged(state, device, port, packet)
        if reason != INTACT:
            discard(state, device, port, packet, reason, now_ps, 0, 0, 0)
            return _NONE
    kind = i64(frame["kind"])
    slow = state.hosts[device]["drain_bps"] > 0 or state.hosts[device]["rx_head"] != 0
    if slow and kind in (_DATA, _DATAGRAM) and row["scale_up"] == 0:
        slow_receiver.buffer_data(state, device, port, packet, now_ps)
        return _NONE
    flow.freed(state, device, port, c, size_bytes, now_ps)
    if kind == _DATA:
        receiver.receive_data(state, device, packet, now_ps)
    elif kind in (_ACK, _NAK):
        qp = sender.receive_ack(state, device, packet, now_ps)
        pool.give(state, device, packet)
        if qp >= 0:
            nic.activate(state, device, qp, now_ps)
    elif kind == _CNP:
        _receive_cnp(state, device, packet, now_ps)
    elif kind == _ARP_REQUEST:
        arp.receive_request(state, device, packet, now_ps)
    elif kind == _ARP_REPLY:
        arp.receive_reply(state, device, packet, now_ps)
    elif kind == _DATAGRAM:
        datagrams.receive(state, device, packet, now_ps)
    elif kind == _FLOODED:
        pool.give(state, device, packet)  # for another station
    else:
        return _UNKNOWN
    return _NONE


@kernel
def _post(state: State, device: int, message: int, now_ps: int) -> None:
    qp = sender.post(state, device, message, now_ps)
    if semantics.scans_queue_pairs(state):
        ns3_index.enlist(state, device, qp)
    nic.activate(state, device, qp, now_ps)


@kernel
def _is_being_made(state: State, device: int, now_ps: int) -> bool:
    """Insertion order: a flow file's flow goes through two more events of its instant before it is posted.

    In the simulator (third.cc: ScheduleFlowInputs) the event that reads the file installs an application, which starts
    by another event, which makes the queue pair. So a flow starts after everything that was due at its instant.
    The recordings of DCQCN were made with starts that were scheduled before the run, and come first in their instant.
    """
    config, first = state.config[0], state.starts[i64(state.hosts[device]["starts"])]
    message = i64(first["item"])
    row = state.messages[u(message)]
    if config["order"] != _INSERTION or config["cc"] == _NS3_DCQCN or not semantics.scans_queue_pairs(state):
        return False
    read = first["order"] == message and row["start_ps"] == _UNMADE
    if not read and row["start_ps"] != _INSTALLED:
        return False
    row["start_ps"] = _INSTALLED if read else _UNMADE
    postpone_start(state, device, now_ps)
    return True


@kernel
def on_start(state: State, device: int, now_ps: int) -> None:
    """Post the message that is due."""
    if not _is_being_made(state, device, now_ps):
        _post(state, device, pop_start(state, device), now_ps)


@kernel
def on_transfer(state: State, device: int, now_ps: int) -> int:
    """Post, or compute, the message of a transfer that is due; Stop.MESSAGES, with nothing changed, without a row."""
    transfer = transfers.due(state, device)
    if transfers.needs_row(state, transfer) and not transfers.has_row(state, device):
        return _MESSAGES
    message = transfers.take_due(state, device, now_ps)
    if message != 0:
        _post(state, device, message, now_ps)
        if state.messages[u(message)]["failed"] != 0:
            transfers.refuse(state, device, message)
    transfers.go_on(state, device, transfer, now_ps)
    return _NONE

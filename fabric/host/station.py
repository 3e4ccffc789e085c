"""A host's events: frames that arrive, messages that start. The counterpart of switch/ingress."""

from __future__ import annotations

import numpy as np

from fabric.host import arp, faults, nic, nic_index, receiver, sender
from fabric.host.messages import pop_start
from fabric.port.damage import INTACT, damaged, is_suspect
from fabric.port.drop import discard
from fabric.state import pool
from fabric.state.codes import CongestionControl, Law, PacketKind, Stop
from fabric.state.jit import hot, i64, kernel
from fabric.state.types import State
from fabric.transport import dcqcn

_DATA, _ACK = int(PacketKind.DATA), int(PacketKind.ACK)
_NAK, _CNP = int(PacketKind.NAK), int(PacketKind.CNP)
_ARP_REQUEST, _ARP_REPLY = int(PacketKind.ARP_REQUEST), int(PacketKind.ARP_REPLY)
_FLOODED = int(PacketKind.FLOODED)
_DCQCN = int(CongestionControl.DCQCN)
_HPCC = int(Law.HPCC)
_NONE, _UNKNOWN = int(Stop.NONE), int(Stop.UNKNOWN_PACKET)


@kernel
def _receive_cnp(state: State, device: int, packet: np.uint32, now_ps: int) -> None:
    host = state.hosts[device]
    if state.config[0]["cc"] == _DCQCN and dcqcn.notify(state, device, i64(state.packets[packet]["qp"]), now_ps):
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
    if is_suspect(state, port):
        reason = damaged(state, device, port, packet)
        if reason != INTACT:
            discard(state, device, port, packet, reason, now_ps, 0, 0, 0)
            return _NONE
    kind = i64(frame["kind"])
    if kind == _DATA:
        if state.hosts[device]["drain_bps"] > 0 or state.hosts[device]["rx_head"] != 0:
            faults.buffer_data(state, device, port, packet, now_ps)
        else:
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
    elif kind == _FLOODED:
        pool.give(state, device, packet)       # for another station
    else:
        return _UNKNOWN
    return _NONE


@kernel
def on_start(state: State, device: int, now_ps: int) -> None:
    """Post the message whose time has come."""
    qp = sender.post(state, device, pop_start(state, device), now_ps)
    if state.config[0]["law"] == _HPCC:
        nic_index.enlist(state, device, qp)
    nic.activate(state, device, qp, now_ps)

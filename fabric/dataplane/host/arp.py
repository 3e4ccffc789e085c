"""A host's ARP (RFC 826): requests of the scenario, and replies to requests for this host.

Requests are broadcast in the class of DSCP 0; no request is repeated. Hosts answer at once and learn nothing: senders
of data already have the addresses, so ARP is load, not a condition of traffic.
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.host import nic
from fabric.dataplane.state import calendar, pool, trace
from fabric.dataplane.state.codes import INFINITY_PS, Aux, Ecn, PacketFlag, PacketKind
from fabric.dataplane.state.compiled.jit import i64, kernel
from fabric.dataplane.state.types import State

_REQUEST, _REPLY = int(PacketKind.ARP_REQUEST), int(PacketKind.ARP_REPLY)
_BROADCAST, _NOT_ECT = int(PacketFlag.BROADCAST), int(Ecn.NOT_ECT)
_ARP = int(Aux.ARP)
u = np.uint32


@kernel
def on_request(state: State, device: int, now_ps: int) -> None:
    """Broadcast the request that is due."""
    host, config = state.hosts[device], state.config[0]
    ask = i64(host["ask_next"])
    host["ask_next"] = ask + 1
    next_ps = INFINITY_PS
    if host["ask_next"] < host["ask_end"]:
        next_ps = i64(state.asks[ask + 1]["time_ps"])
    calendar.schedule(state, device, calendar.aux_source(state, device, _ARP), next_ps, calendar.NEW_ORDER)
    packet = pool.take(state, device)
    frame = state.packets[packet]
    frame["kind"], frame["size"], frame["payload"], frame["flags"] = _REQUEST, config["arp_bytes"], 0, _BROADCAST
    frame["src"], frame["dst"], frame["seq"], frame["msg"] = device, device, state.asks[ask]["target"], ask
    frame["qp"], frame["words"] = trace.NO_QP, 0
    frame["dscp"], frame["ecn"], frame["ttl"] = 0, _NOT_ECT, config["initial_ttl"]
    port = i64(state.devices[device]["first_port"])
    frame["tc"] = state.dscp_maps[i64(state.ports[port]["dscp_map"]) * 64]
    host["arp_requests_sent"] += 1
    nic.queue_frame(state, device, port, packet, now_ps)


@kernel
def receive_request(state: State, device: int, packet: np.uint32, now_ps: int) -> None:
    """Answer a request for this host's own address; drop others."""
    frame, host = state.packets[packet], state.hosts[device]
    host["arp_requests_received"] += 1
    if frame["seq"] != device:
        pool.give(state, device, packet)
        return
    host["arp_replies_sent"] += 1
    frame["kind"], frame["flags"] = _REPLY, 0
    frame["dst"], frame["src"] = frame["src"], device
    frame["ttl"] = state.config[0]["initial_ttl"]
    nic.queue_frame(state, device, i64(frame["in_port"]), packet, now_ps)


@kernel
def receive_reply(state: State, device: int, packet: np.uint32, now_ps: int) -> None:
    """The request is answered; the first answer counts."""
    state.hosts[device]["arp_replies_received"] += 1
    ask = state.asks[state.packets[packet]["msg"]]
    if ask["answered_ps"] < 0:
        ask["answered_ps"] = now_ps
    pool.give(state, device, packet)

"""A packet enters a switch: cable errors, forwarding, classification, admission, then on to its egress queue.

The class of service is read from the outermost DSCP at every switch anew, so a switch whose map differs from the
others' misplaces traffic exactly as it would in the network.
"""

from __future__ import annotations

import numpy as np

from fabric.port import transmit
from fabric.port.damage import INTACT, damaged, is_suspect
from fabric.port.drop import discard
from fabric.state.codes import DropReason, PacketFlag, PacketKind
from fabric.state.jit import hot, i64
from fabric.state.types import TX_SIZES, State
from fabric.switch import buffer, egress, forward, vtep
from fabric.switch.forward import NO_ROUTE, switch_row

_ENCAP = int(PacketFlag.ENCAP)
_DATA = int(PacketKind.DATA)
_MTU, _NO_ROUTE, _TTL = int(DropReason.MTU), int(DropReason.NO_ROUTE), int(DropReason.TTL)
_WRED = int(DropReason.WRED)
_FCS_AND_TAG = 4
u = np.uint32


@hot
def receive(state: State, device: int, port: int, packet: np.uint32, now_ps: int) -> None:
    """Handle a frame that has fully arrived at a switch port."""
    row, frame, config = state.ports[port], state.packets[packet], state.config[0]
    arrived_bytes = i64(frame["size"])
    row["rx_bytes"] += arrived_bytes
    row["rx_pkts"] += 1
    switch = state.switches[switch_row(state, device)]
    frame["in_port"] = port
    frame["tc"] = switch["dscp_to_tc"][i64(frame["dscp"])]
    arrivals = state.pgs[port * 8 + i64(frame["tc"])]
    arrivals["rx_pkts"] += 1
    arrivals["rx_bytes"] += arrived_bytes
    if is_suspect(state, port):
        reason = damaged(state, device, port, packet)
        if reason != INTACT:
            discard(state, device, port, packet, reason, now_ps, 0, 0, 0)
            return
    if frame["ttl"] <= 1:
        discard(state, device, port, packet, _TTL, now_ps, 0, 0, 0)
        return
    frame["ttl"] = i64(frame["ttl"]) - 1
    route = forward.group_of(state, device, i64(frame["dst"]))
    if route == NO_ROUTE:
        discard(state, device, port, packet, _NO_ROUTE, now_ps, i64(frame["dst"]), 0, 0)
        return
    if switch["is_vtep"] != 0:
        local = forward.is_local(state, route)
        if i64(frame["flags"]) & _ENCAP == 0:
            if not local and row["peer_node"] < config["n_hosts"]:
                vtep.encapsulate(state, packet)
                frame["tc"] = switch["dscp_to_tc"][i64(frame["dscp"])]
        elif local:
            if not vtep.decapsulate(state, packet):
                discard(state, device, port, packet, _WRED, now_ps, 0, 0, 0)
                return
            frame["tc"] = switch["dscp_to_tc"][i64(frame["dscp"])]
    out = forward.choose(state, device, packet, route, now_ps)
    if i64(frame["size"]) - _FCS_AND_TAG > state.ports[out]["mtu_bytes"]:
        discard(state, device, i64(out), packet, _MTU, now_ps, i64(state.ports[out]["mtu_bytes"]), 0, 0)
        return
    if config["ack_strict"] != 0 and frame["kind"] != _DATA:
        transmit.queue_control(state, device, i64(out), packet, now_ps)
        return
    q = i64(switch["tc_to_queue"][i64(frame["tc"])])
    reason = egress.refusal(state, device, i64(out), q, packet)
    if reason != buffer.ADMITTED:
        egress.refuse(state, device, i64(out), q, packet, reason, now_ps)
        return
    group = port * 8 + i64(switch["tc_to_pg"][i64(frame["tc"])])
    # What came over the cable is charged: a VTEP's outer header goes on and off at egress, after the MMU (assumed), and
    # headroom is reckoned from what the peer may still send (IEEE 802.1Q annex N).
    charged = i64(state.cells[i64(switch["cells_row"]) * TX_SIZES + arrived_bytes])
    frame["charged"] = charged
    reason = buffer.admit(state, group, charged)
    if reason != buffer.ADMITTED:
        state.pgs[group]["dropped_pkts"] += 1
        discard(state, device, port, packet, reason, now_ps, buffer.shared_bytes(state, group),
                buffer.limit_bytes(state, group),
                i64(state.pgs[group]["headroom_bytes"]))
        return
    buffer.check_pause(state, device, port, group, now_ps)
    egress.enqueue(state, device, i64(out), q, packet, now_ps)

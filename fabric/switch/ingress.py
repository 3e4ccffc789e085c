"""A packet enters a switch: cable errors, forwarding, classification, VTEP, then admission.

The class of service is read from the outermost DSCP at every switch anew, so a switch whose map differs from the
others' misplaces traffic exactly as it would in the network.
"""

from __future__ import annotations

import numpy as np

from fabric.port.damage import INTACT, damaged, is_suspect
from fabric.port.drop import discard
from fabric.state.codes import DropReason, PacketFlag
from fabric.state.jit import hot, i64
from fabric.state.types import State
from fabric.switch import admission, arp, forward, irb, ttl, vtep
from fabric.switch.forward import NO_ROUTE, switch_row

_ENCAP, _ROUTED = int(PacketFlag.ENCAP), int(PacketFlag.ROUTED)
_APART = int(PacketFlag.BROADCAST) | _ROUTED
_NO_ROUTE, _WRED = int(DropReason.NO_ROUTE), int(DropReason.WRED)
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
    if i64(frame["flags"]) & _APART:
        if i64(frame["flags"]) & _ROUTED:
            irb.through(state, device, port, packet, arrived_bytes, now_ps)
            return
        if arp.handled(state, device, port, packet, arrived_bytes, now_ps):
            return
    route = forward.group_of(state, device, i64(frame["dst"]))
    if route == NO_ROUTE:
        if not irb.entered(state, device, port, packet, arrived_bytes, now_ps) and not arp.flooded(
                state, device, port, packet, arrived_bytes, now_ps):
            discard(state, device, port, packet, _NO_ROUTE, now_ps, i64(frame["dst"]), 0, 0)
        return
    routes = True           # whether this switch routes the packet, so that its TTL falls
    if switch["is_vtep"] != 0:
        local = forward.is_local(state, route)
        if i64(frame["flags"]) & _ENCAP == 0:
            if row["peer_node"] < config["n_hosts"]:
                if state.addresses[frame["src"]]["vni"] != state.addresses[frame["dst"]]["vni"]:
                    if not irb.entered(state, device, port, packet, arrived_bytes, now_ps):
                        # Another tenant's address: no entry in this one's tables.
                        discard(state, device, port, packet, _NO_ROUTE, now_ps, i64(frame["dst"]), 0, 0)
                    return
                routes = False
                ttl.bridged(state, packet)
                if not local:
                    vtep.encapsulate(state, packet, vtep.segment_of(state, device, packet))
                    frame["tc"] = switch["dscp_to_tc"][i64(frame["dscp"])]
        elif local:
            routes = False
            ttl.bridged(state, packet)
            if not vtep.decapsulate(state, packet, vtep.segment_of(state, device, packet)):
                discard(state, device, port, packet, _WRED, now_ps, 0, 0, 0)
                return
            frame["tc"] = switch["dscp_to_tc"][i64(frame["dscp"])]
    elif row["peer_node"] < config["n_hosts"] and forward.is_local(state, route):
        routes = False
        ttl.bridged(state, packet)
    if routes and not ttl.spend(state, packet):
        ttl.expire(state, device, port, packet, now_ps)
        return
    out = forward.choose(state, device, packet, route, now_ps)
    admission.admit(state, device, port, packet, i64(out), arrived_bytes, now_ps)

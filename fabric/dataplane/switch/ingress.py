"""A packet enters a switch: cable errors, forwarding, classification, VTEP, then admission.

Every switch reads the class of service from the outermost DSCP again, so a switch whose map differs from the others'
misplaces traffic as it would in a real network.
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.port.damage import INTACT, damaged, is_suspect
from fabric.dataplane.port.drop import discard
from fabric.dataplane.port.flowcontrol import hooks as flow
from fabric.dataplane.state.codes import DropReason, PacketFlag
from fabric.dataplane.state.compiled.jit import hot, i64
from fabric.dataplane.state.types import State
from fabric.dataplane.switch import admission, arp, forward, irb, source_route, ttl, vtep
from fabric.dataplane.switch.forward import NO_ROUTE, switch_row

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
    frame["tc"] = state.dscp_maps[i64(row["dscp_map"]) * 64 + i64(frame["dscp"])]
    arrivals = state.pgs[port * 8 + i64(frame["tc"])]
    arrivals["rx_pkts"] += 1
    arrivals["rx_bytes"] += arrived_bytes
    flow.arrived(state, device, port, i64(switch["tc_to_pg"][i64(frame["tc"])]), arrived_bytes, now_ps)
    if is_suspect(state, port):
        reason = damaged(state, device, port, packet)
        if reason != INTACT:
            discard(state, device, port, packet, reason, now_ps, 0, 0, 0)
            return
    if i64(frame["flags"]) & _APART:
        if config["route_choice"] != 0:
            source_route.receive(state, device, port, packet, arrived_bytes, now_ps)
            return
        if i64(frame["flags"]) & _ROUTED:
            irb.receive(state, device, port, packet, arrived_bytes, now_ps)
            return
        if arp.handled(state, device, port, packet, arrived_bytes, now_ps):
            return
    route = forward.group_of(state, device, i64(frame["dst"]))
    if route == NO_ROUTE:
        if not irb.route_from_host(state, device, port, packet, arrived_bytes, now_ps) and not arp.flooded(
            state, device, port, packet, arrived_bytes, now_ps
        ):
            discard(state, device, port, packet, _NO_ROUTE, now_ps, i64(frame["dst"]), 0, 0)
        return
    routes = True  # whether this switch routes the packet and decrements its TTL
    if switch["is_vtep"] != 0:
        local = forward.is_local(state, route)
        if i64(frame["flags"]) & _ENCAP == 0:
            if row["peer_node"] < config["n_hosts"]:
                if state.addresses[frame["src"]]["vni"] != state.addresses[frame["dst"]]["vni"]:
                    if not irb.route_from_host(state, device, port, packet, arrived_bytes, now_ps):
                        # An address of another tenant: this tenant's tables have no entry.
                        discard(state, device, port, packet, _NO_ROUTE, now_ps, i64(frame["dst"]), 0, 0)
                    return
                routes = False
                ttl.bridged(state, packet)
                if not local:
                    vtep.encapsulate(state, packet, vtep.segment_of(state, device, packet))
                    frame["tc"] = state.dscp_maps[i64(row["dscp_map"]) * 64 + i64(frame["dscp"])]
        elif local:
            routes = False
            ttl.bridged(state, packet)
            if not vtep.decapsulate(state, packet, vtep.segment_of(state, device, packet)):
                discard(state, device, port, packet, _WRED, now_ps, 0, 0, 0)
                return
            frame["tc"] = state.dscp_maps[i64(row["dscp_map"]) * 64 + i64(frame["dscp"])]
    elif row["peer_node"] < config["n_hosts"] and forward.is_local(state, route):
        routes = False
        ttl.bridged(state, packet)
    if routes and not ttl.spend(state, packet):
        ttl.expire(state, device, port, packet, now_ps)
        return
    out = forward.choose(state, device, packet, route, now_ps)
    admission.admit(state, device, port, packet, i64(out), arrived_bytes, now_ps)

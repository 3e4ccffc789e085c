"""Broadcast ARP at a leaf: answered from what EVPN says (suppression), or replicated to ports and VTEPs. Also frames
for a host whose MAC the leaf does not know (unknown unicast).

Rules (RFC 7432 section 10; RFC 8365 section 5.1.3; the Linux bridge with neigh_suppress, where they leave room)
1. From a host: with suppression on and the target known, a remote target is not asked: this leaf answers with the
   target's MAC. A known local target is asked locally only. Anything else is flooded: a copy to every other local
   port of the segment and one in VXLAN to every VTEP of its flood list (ingress replication).
2. From another VTEP: to every local port of the segment, never to a VTEP again (split horizon).
3. Each copy is a packet of its own in buffers and on cables. A switching chip may hold one payload for all copies; so a
   storm fills buffers here earlier than there.
4. Unknown unicast from a host takes the way of a broadcast (RFC 7432 section 12): a copy to every other port of the
   segment and to every VTEP of its flood list. NICs of other hosts drop their copies.
5. A request for an address of another subnet is for the gateway, which is this leaf (fabric/switch/irb.py): answered
   here, and counted as suppressed.

A flood list names leaves. A copy for one follows the routes to its VTEP's address, where a control plane announces
such, and ends at the VTEP whatever happened to the hosts behind it. Shortest paths know no VTEPs: there the route to a
leaf is that to the first host behind it whose cable is up.
"""

from __future__ import annotations

import numpy as np

from fabric.port.drop import discard
from fabric.state import pool
from fabric.state.codes import DropReason, Ecn, PacketFlag, PacketKind
from fabric.state.jit import i64, kernel
from fabric.state.types import NO_HOST, State
from fabric.switch import admission, forward, irb, ttl, vtep
from fabric.switch.forward import NO_ROUTE, switch_row

_ENCAP, _BROADCAST = int(PacketFlag.ENCAP), int(PacketFlag.BROADCAST)
_REQUEST, _REPLY, _FLOODED = int(PacketKind.ARP_REQUEST), int(PacketKind.ARP_REPLY), int(PacketKind.FLOODED)
_KNOWN, _UNKNOWN_MAC = 1, 2
_NOT_ECT = int(Ecn.NOT_ECT)
_LOST, _WRED = int(DropReason.NO_ROUTE), int(DropReason.WRED)
u = np.uint32


@kernel
def _copy(state: State, device: int, packet: np.uint32) -> np.uint32:
    copy = pool.take(state, device)
    frame, made = state.packets[packet], state.packets[copy]
    made["kind"], made["size"], made["payload"], made["flags"] = (frame["kind"], frame["size"], frame["payload"],
                                                                  frame["flags"])
    made["seq"], made["qp"], made["msg"], made["words"] = frame["seq"], frame["qp"], frame["msg"], frame["words"]
    made["src"], made["dst"], made["in_port"] = frame["src"], frame["dst"], frame["in_port"]
    made["dscp"], made["tc"], made["ecn"], made["ttl"] = frame["dscp"], frame["tc"], frame["ecn"], frame["ttl"]
    made["unseen_hops"] = frame["unseen_hops"]
    state.switches[switch_row(state, device)]["net_copies"] += 1
    return copy


@kernel
def _address(state: State, copy: np.uint32, host: int, target: int) -> None:
    """At the last port: a copy of unknown unicast for `target` is an ordinary frame there, and useless to others."""
    frame = state.packets[copy]
    if i64(frame["kind"]) == _REQUEST:
        return
    if host == target:
        frame["flags"] = i64(frame["flags"]) & ~_BROADCAST & 0xFF
    else:
        frame["kind"] = _FLOODED


@kernel
def _to_local_ports(state: State, device: int, port: int, packet: np.uint32, target: int, arrived_bytes: int,
                    now_ps: int) -> None:
    """A copy to every host of the segment at this leaf but the one that it came from.

    Parameters
    ----------
    target : int    host that unknown unicast is for; a broadcast does not need it
    """
    config, row = state.config[0], state.devices[device]
    vni = i64(state.addresses[state.packets[packet]["src"]]["vni"])
    segment = vtep.segment_of(state, device, packet)
    first = i64(row["first_port"])
    for out in range(first, first + i64(row["n_ports"])):
        peer = i64(state.ports[out]["peer_node"])
        if out != port and peer < config["n_hosts"] and state.addresses[peer]["vni"] == vni:
            copy = _copy(state, device, packet)
            state.packets[copy]["dst"] = peer
            _address(state, copy, peer, target)
            state.segments[segment]["bum_delivered_pkts"] += 1
            admission.admit(state, device, port, copy, out, arrived_bytes, now_ps)


@kernel
def _route_to(state: State, device: int, leaf: int, host: int) -> int:
    """ECMP group towards a leaf (row of State.switches), for which `host` stands in copies; or NO_ROUTE."""
    if irb.has_tunnels(state):
        return irb.tunnel(state, device, leaf)
    return forward.group_of(state, device, host)


@kernel
def _to_vteps(state: State, device: int, port: int, packet: np.uint32, target: int, arrived_bytes: int,
              now_ps: int) -> None:
    """A copy in VXLAN to every VTEP of the flood list; `target` as in _to_local_ports()."""
    config = state.config[0]
    row = state.segments[vtep.segment_of(state, device, packet)]
    first = i64(row["first"])
    switch = state.switches[switch_row(state, device)]
    for index in range(first, first + i64(row["count"])):
        leaf = i64(state.vteps[index]) - i64(config["n_hosts"])
        copy = _copy(state, device, packet)
        state.packets[copy]["dst"] = state.switches[leaf]["first_host"]
        row["bum_sent_pkts"] += 1
        route = _route_to(state, device, leaf, i64(state.packets[copy]["dst"]))
        if route == NO_ROUTE:
            discard(state, device, port, copy, _LOST, now_ps, i64(state.packets[copy]["dst"]), 0, 0)
            continue
        vtep.encapsulate(state, copy, vtep.segment_of(state, device, copy))
        if i64(state.packets[copy]["kind"]) != _REQUEST:
            state.packets[copy]["words"] = i64(state.packets[copy]["words"]) | target << 16
        state.packets[copy]["tc"] = switch["dscp_to_tc"][i64(state.packets[copy]["dscp"])]
        out = forward.choose(state, device, copy, route, now_ps)
        admission.admit(state, device, port, copy, i64(out), arrived_bytes, now_ps)


@kernel
def _answer(state: State, device: int, port: int, packet: np.uint32, arrived_bytes: int, now_ps: int) -> None:
    """Turn a request into the reply that its target would have sent (RFC 826), back out of the port it came by."""
    frame = state.packets[packet]
    frame["kind"], frame["flags"] = _REPLY, 0
    frame["dst"], frame["src"] = frame["src"], frame["seq"]
    admission.admit(state, device, port, packet, port, arrived_bytes, now_ps)


@kernel
def _use_up(state: State, device: int, packet: np.uint32) -> None:
    """The copies go on; the original ends here."""
    state.switches[switch_row(state, device)]["net_copies"] -= 1
    pool.give(state, device, packet)


@kernel
def _ask_gateway(state: State, device: int, port: int, packet: np.uint32, arrived_bytes: int, now_ps: int) -> None:
    """Answer for the anycast gateway; what a routed port asks for and nobody has is not answered, and not flooded."""
    frame, config = state.packets[packet], state.config[0]
    column = i64(state.addresses[frame["src"]]["vni"])
    row = irb.segment(state, device, i64(frame["src"]))
    if column < i64(config["n_vnis"]):
        row = vtep.segment_of(state, device, packet)
    state.segments[row]["arp_requests"] += 1
    if i64(frame["seq"]) == NO_HOST:
        _use_up(state, device, packet)
        return
    state.segments[row]["arp_suppressed"] += 1
    _answer(state, device, port, packet, arrived_bytes, now_ps)


@kernel
def handled(state: State, device: int, port: int, packet: np.uint32, arrived_bytes: int, now_ps: int) -> bool:
    """Answer, replicate or pass on a broadcast; False where it goes on to a VTEP by the route to a host behind it."""
    frame, config = state.packets[packet], state.config[0]
    if i64(frame["flags"]) & _ENCAP:
        leaf = i64(state.addresses[frame["dst"]]["leaf"])
        if leaf != device:      # the outer destination is the VTEP: whether that host's cable is up is no matter here
            if not irb.has_tunnels(state):
                return False
            route = irb.tunnel(state, device, switch_row(state, leaf))
            irb.pass_on(state, device, port, packet, route, arrived_bytes, now_ps)
            return True
        target = i64(frame["words"]) >> 16
        ttl.bridged(state, packet)
        if not vtep.decapsulate(state, packet, vtep.segment_of(state, device, packet)):
            discard(state, device, port, packet, _WRED, now_ps, 0, 0, 0)
            return True
        frame["tc"] = state.switches[switch_row(state, device)]["dscp_to_tc"][i64(frame["dscp"])]
        state.segments[vtep.segment_of(state, device, packet)]["bum_received_pkts"] += 1
        _to_local_ports(state, device, port, packet, target, arrived_bytes, now_ps)
        _use_up(state, device, packet)
        return True
    if irb.asks_gateway(state, packet):
        _ask_gateway(state, device, port, packet, arrived_bytes, now_ps)
        return True
    row = state.segments[vtep.segment_of(state, device, packet)]
    row["arp_requests"] += 1
    target = i64(frame["seq"])
    is_known = row["suppress"] != 0 and target != NO_HOST and i64(state.known[
        switch_row(state, device) * i64(config["n_hosts"]) + target]) & _KNOWN != 0 and (
        state.addresses[target]["vni"] == state.addresses[frame["src"]]["vni"])
    if is_known and state.addresses[target]["leaf"] != device:
        row["arp_suppressed"] += 1
        _answer(state, device, port, packet, arrived_bytes, now_ps)
        return True
    _to_local_ports(state, device, port, packet, target, arrived_bytes, now_ps)
    if not is_known:
        row["arp_flooded"] += 1
        _to_vteps(state, device, port, packet, target, arrived_bytes, now_ps)
    _use_up(state, device, packet)
    return True


@kernel
def flooded(state: State, device: int, port: int, packet: np.uint32, arrived_bytes: int, now_ps: int) -> bool:
    """Replicate a frame of a local host for one whose MAC this leaf does not know; False where it is another case.

    Called where there is no route, so it costs nothing elsewhere.
    """
    frame, config = state.packets[packet], state.config[0]
    target = i64(frame["dst"])
    if (config["vxlan"] == 0 or i64(frame["flags"]) & _ENCAP
            or state.ports[port]["peer_node"] >= config["n_hosts"]
            or state.addresses[frame["src"]]["vni"] != state.addresses[target]["vni"]
            or i64(state.known[switch_row(state, device) * i64(config["n_hosts"]) + target]) & _UNKNOWN_MAC == 0):
        return False
    frame["flags"] = i64(frame["flags"]) | _BROADCAST
    ttl.bridged(state, packet)
    _to_local_ports(state, device, port, packet, target, arrived_bytes, now_ps)
    _to_vteps(state, device, port, packet, target, arrived_bytes, now_ps)
    _use_up(state, device, packet)
    return True

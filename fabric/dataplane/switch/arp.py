"""Broadcast ARP at a leaf: answered from EVPN routes (suppression), or replicated to ports and VTEPs. Also frames to a
host whose MAC the leaf does not know (unknown unicast).

Rules (RFC 7432 section 10; RFC 8365 section 5.1.3; where they are open, the Linux bridge with neigh_suppress)
1. From a host: with suppression on, this leaf answers a request for a known remote target with the target's MAC. A
   request for a known local target goes to local ports only. Any other request is flooded: a copy to every other local
   port of the segment and one in VXLAN to every VTEP of its flood list (ingress replication).
2. From another VTEP: to every local port of the segment, never to a VTEP again (split horizon).
3. Each copy is a separate packet in buffers and on cables. A switching chip may hold one payload for all copies, so a
   storm fills its buffers later than here.
4. Unknown unicast from a host is replicated like a broadcast (RFC 7432 section 12): a copy to every other port of the
   segment and to every VTEP of its flood list. NICs of other hosts drop their copies.
5. A request for an address of another subnet is for the gateway, which is this leaf (fabric/dataplane/switch/irb.py).
   It is answered here and counted as suppressed.

A flood list names leaves. Where a control plane announces VTEP addresses, a copy follows the routes to the leaf's VTEP
and ends there, whatever the state of the hosts behind it. Shortest-path routing knows no VTEPs: the route to a leaf is
that to the first host behind it whose cable is up.
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.port.drop import discard
from fabric.dataplane.state import pool, telemetry
from fabric.dataplane.state.codes import DropReason, Ecn, PacketFlag, PacketKind
from fabric.dataplane.state.compiled.jit import i64, kernel
from fabric.dataplane.state.types import NO_HOST, State
from fabric.dataplane.switch import admission, forward, irb, ttl, vtep
from fabric.dataplane.switch.forward import NO_ROUTE, switch_row

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
    made["kind"], made["size"], made["payload"], made["flags"] = (
        frame["kind"],
        frame["size"],
        frame["payload"],
        frame["flags"],
    )
    made["seq"], made["qp"], made["msg"], made["words"] = frame["seq"], frame["qp"], frame["msg"], frame["words"]
    made["src"], made["dst"], made["in_port"] = frame["src"], frame["dst"], frame["in_port"]
    made["dscp"], made["tc"], made["ecn"], made["ttl"] = frame["dscp"], frame["tc"], frame["ecn"], frame["ttl"]
    made["unseen_hops"], made["xoff"] = frame["unseen_hops"], frame["xoff"]
    telemetry.copy(state, packet, copy)
    state.switches[switch_row(state, device)]["net_copies"] += 1
    return copy


@kernel
def _address(state: State, copy: np.uint32, host: int, target: int) -> None:
    """At the last port: a copy of unknown unicast is an ordinary frame for `target`, and FLOODED for other hosts."""
    frame = state.packets[copy]
    if i64(frame["kind"]) == _REQUEST:
        return
    if host == target:
        frame["flags"] = i64(frame["flags"]) & ~_BROADCAST & 0xFF
    else:
        frame["kind"] = _FLOODED


@kernel
def _to_local_ports(
    state: State, device: int, port: int, packet: np.uint32, target: int, arrived_bytes: int, now_ps: int
) -> None:
    """Send a copy to every host of the segment at this leaf, except on the port that the packet came in by.

    Parameters
    ----------
    target : int    destination host of unknown unicast; unused for a broadcast
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
    """ECMP group towards a leaf (row of State.switches), or NO_ROUTE; `host` is the destination in its copies."""
    if irb.has_tunnels(state):
        return irb.tunnel(state, device, leaf)
    return forward.group_of(state, device, host)


@kernel
def _to_vteps(
    state: State, device: int, port: int, packet: np.uint32, target: int, arrived_bytes: int, now_ps: int
) -> None:
    """Send a copy in VXLAN to every VTEP of the flood list; `target` as in _to_local_ports()."""
    config = state.config[0]
    row = state.segments[vtep.segment_of(state, device, packet)]
    first = i64(row["first"])
    dscp_map = i64(state.ports[port]["dscp_map"])
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
        state.packets[copy]["tc"] = state.dscp_maps[dscp_map * 64 + i64(state.packets[copy]["dscp"])]
        out = forward.choose(state, device, copy, route, now_ps)
        admission.admit(state, device, port, copy, i64(out), arrived_bytes, now_ps)


@kernel
def _answer(state: State, device: int, port: int, packet: np.uint32, arrived_bytes: int, now_ps: int) -> None:
    """Turn a request into the reply that its target would send (RFC 826), and send it out of the ingress port."""
    frame = state.packets[packet]
    frame["kind"], frame["flags"] = _REPLY, 0
    frame["dst"], frame["src"] = frame["src"], frame["seq"]
    admission.admit(state, device, port, packet, port, arrived_bytes, now_ps)


@kernel
def _free_original(state: State, device: int, packet: np.uint32) -> None:
    """Free the original; its copies are on their paths."""
    state.switches[switch_row(state, device)]["net_copies"] -= 1
    pool.give(state, device, packet)


@kernel
def _answer_for_gateway(
    state: State, device: int, port: int, packet: np.uint32, arrived_bytes: int, now_ps: int
) -> None:
    """Answer for the anycast gateway. On a routed port a request for an unknown target is dropped silently."""
    frame, config = state.packets[packet], state.config[0]
    column = i64(state.addresses[frame["src"]]["vni"])
    row = irb.segment(state, device, i64(frame["src"]))
    if column < i64(config["n_vnis"]):
        row = vtep.segment_of(state, device, packet)
    state.segments[row]["arp_requests"] += 1
    if i64(frame["seq"]) == NO_HOST:
        _free_original(state, device, packet)
        return
    state.segments[row]["arp_suppressed"] += 1
    _answer(state, device, port, packet, arrived_bytes, now_ps)


@kernel
def handled(state: State, device: int, port: int, packet: np.uint32, arrived_bytes: int, now_ps: int) -> bool:
    """Answer, replicate or forward a broadcast; False where the route to a host behind the VTEP forwards it."""
    frame, config = state.packets[packet], state.config[0]
    if i64(frame["flags"]) & _ENCAP:
        leaf = i64(state.addresses[frame["dst"]]["leaf"])
        if leaf != device:  # the outer destination is the VTEP: the state of that host's cable does not matter
            if not irb.has_tunnels(state):
                return False
            route = irb.tunnel(state, device, switch_row(state, leaf))
            irb.forward_outer(state, device, port, packet, route, arrived_bytes, now_ps)
            return True
        target = i64(frame["words"]) >> 16
        ttl.bridged(state, packet)
        if not vtep.decapsulate(state, packet, vtep.segment_of(state, device, packet)):
            discard(state, device, port, packet, _WRED, now_ps, 0, 0, 0)
            return True
        frame["tc"] = state.dscp_maps[i64(state.ports[port]["dscp_map"]) * 64 + i64(frame["dscp"])]
        state.segments[vtep.segment_of(state, device, packet)]["bum_received_pkts"] += 1
        _to_local_ports(state, device, port, packet, target, arrived_bytes, now_ps)
        _free_original(state, device, packet)
        return True
    if irb.is_for_gateway(state, packet):
        _answer_for_gateway(state, device, port, packet, arrived_bytes, now_ps)
        return True
    row = state.segments[vtep.segment_of(state, device, packet)]
    row["arp_requests"] += 1
    target = i64(frame["seq"])
    is_known = (
        row["suppress"] != 0
        and target != NO_HOST
        and i64(state.known[switch_row(state, device) * i64(config["n_hosts"]) + target]) & _KNOWN != 0
        and (state.addresses[target]["vni"] == state.addresses[frame["src"]]["vni"])
    )
    if is_known and state.addresses[target]["leaf"] != device:
        row["arp_suppressed"] += 1
        _answer(state, device, port, packet, arrived_bytes, now_ps)
        return True
    _to_local_ports(state, device, port, packet, target, arrived_bytes, now_ps)
    if not is_known:
        row["arp_flooded"] += 1
        _to_vteps(state, device, port, packet, target, arrived_bytes, now_ps)
    _free_original(state, device, packet)
    return True


@kernel
def flooded(state: State, device: int, port: int, packet: np.uint32, arrived_bytes: int, now_ps: int) -> bool:
    """Replicate a frame of a local host to a host whose MAC this leaf does not know; False for any other frame.

    Called only where there is no route.
    """
    frame, config = state.packets[packet], state.config[0]
    target = i64(frame["dst"])
    if (
        config["vxlan"] == 0
        or i64(frame["flags"]) & _ENCAP
        or state.ports[port]["peer_node"] >= config["n_hosts"]
        or state.addresses[frame["src"]]["vni"] != state.addresses[target]["vni"]
        or i64(state.known[switch_row(state, device) * i64(config["n_hosts"]) + target]) & _UNKNOWN_MAC == 0
    ):
        return False
    frame["flags"] = i64(frame["flags"]) | _BROADCAST
    ttl.bridged(state, packet)
    _to_local_ports(state, device, port, packet, target, arrived_bytes, now_ps)
    _to_vteps(state, device, port, packet, target, arrived_bytes, now_ps)
    _free_original(state, device, packet)
    return True

"""Routing between a tenant's subnets at its leaves: symmetric IRB (RFC 9135 section 5) over an L3 VNI.

Rules
1. A packet from a host for another subnet of its tenant has the anycast gateway's MAC as destination: the leaf routes
   it (RFC 9135 sections 4.1 and 5.1). At the same leaf it goes on to the host's port. Else it is encapsulated in the L3
   VNI, for one of the VTEPs that the longest prefix leads to, chosen by the hash of the inner header.
2. Between VTEPs switches forward by the outer destination alone.
3. The VTEP that it is for takes the outer header off and routes it once more (RFC 9135 section 5.2): to a port, or on
   to another VTEP where it knows better by now, or it is lost there for want of a route.
4. A host asks for its gateway when it wants another subnet's address; its own leaf answers, and nobody else hears of
   it (RFC 9135 section 4.1). A host on a routed port has nobody but its gateway to ask (proxy ARP, RFC 1027).
5. Where no control plane says who is behind which VTEP (TenantParams.by_host), switches forward as they do for bridged
   packets.

TTLs are those of fabric/switch/ttl.py. Hashes of the outer header take the VTEP of the host's own leaf as destination.
Copies of broadcasts follow rule 2 as well (fabric/switch/arp.py).
"""

from __future__ import annotations

import numpy as np

from fabric.port.drop import discard
from fabric.state.codes import DropReason, HashAlgorithm, PacketFlag
from fabric.state.jit import i64, kernel
from fabric.state.types import ANY_VTEP, BY_HOST, HERE, NO_TENANT, NOWHERE, State
from fabric.switch import admission, forward, ttl, vtep
from fabric.switch.forward import NO_ROUTE, switch_row
from fabric.switch.hashing import flow_hash

_ENCAP, _ROUTED = int(PacketFlag.ENCAP), int(PacketFlag.ROUTED)
_LOST, _WRED = int(DropReason.NO_ROUTE), int(DropReason.WRED)
_CRC32 = int(HashAlgorithm.CRC32)


@kernel
def segment(state: State, device: int, host: int) -> int:
    """Row of State.segments: the L3 VNI of a host's tenant at this leaf."""
    column = i64(state.domains[i64(state.addresses[host]["vni"])])
    return switch_row(state, device) * i64(state.config[0]["n_vnis"]) + column


@kernel
def send(state: State, device: int, port: int, packet: np.uint32, route: int, arrived_bytes: int,
         now_ps: int) -> None:
    """Out of a port of an ECMP group; NO_ROUTE: lost."""
    frame = state.packets[packet]
    if route == NO_ROUTE:
        discard(state, device, port, packet, _LOST, now_ps, i64(frame["dst"]), 0, 0)
        return
    frame["tc"] = state.switches[switch_row(state, device)]["dscp_to_tc"][i64(frame["dscp"])]
    out = forward.choose(state, device, packet, route, now_ps)
    admission.admit(state, device, port, packet, i64(out), arrived_bytes, now_ps)


@kernel
def pass_on(state: State, device: int, port: int, packet: np.uint32, route: int, arrived_bytes: int,
            now_ps: int) -> None:
    """As send(), by a switch that routes by the outermost header."""
    if ttl.spend(state, packet):
        send(state, device, port, packet, route, arrived_bytes, now_ps)
    else:
        ttl.expire(state, device, port, packet, now_ps)


@kernel
def _wear(state: State, device: int, packet: np.uint32, far: int) -> None:
    """Put on an outer header of the L3 VNI, for the VTEP in row `far` of State.switches (ANY_VTEP: rule 5)."""
    frame = state.packets[packet]
    vtep.encapsulate(state, packet, segment(state, device, i64(frame["src"])))
    frame["flags"] = i64(frame["flags"]) | _ROUTED
    frame["words"] = i64(frame["words"]) | far << 16


@kernel
def _vtep_of(state: State, packet: np.uint32, way: int) -> int:
    """One of a set of VTEPs, by the inner header (rule 1)."""
    count = i64(state.ways[way])
    if count == 1:
        return i64(state.ways[way + 1])
    frame = state.packets[packet]
    hashed = flow_hash(_CRC32, i64(state.addresses[frame["src"]]["ip"]), i64(state.addresses[frame["dst"]]["ip"]),
                       i64(frame["words"]), 0)
    return i64(state.ways[way + 1 + hashed % count])


@kernel
def has_tunnels(state: State) -> bool:
    """Whether switches have routes to addresses of VTEPs: only a control plane writes such (rule 5)."""
    return state.vtep_fib.shape[0] > 1


@kernel
def tunnel(state: State, device: int, far: int) -> int:
    """ECMP group towards the address of the VTEP in row `far`, or NO_ROUTE."""
    n_switches = i64(state.config[0]["n_nodes"]) - i64(state.config[0]["n_hosts"])
    return i64(state.vtep_fib[switch_row(state, device) * n_switches + far]) - 1


@kernel
def _route(state: State, device: int, port: int, packet: np.uint32, arrived_bytes: int, now_ps: int) -> None:
    """Route a packet without an outer header (rules 1 and 3)."""
    if not ttl.spend(state, packet):
        ttl.expire(state, device, port, packet, now_ps)
        return
    target = i64(state.packets[packet]["dst"])
    way = i64(state.tenant_fib[switch_row(state, device) * i64(state.config[0]["n_hosts"]) + target])
    if way == NOWHERE:
        discard(state, device, port, packet, _LOST, now_ps, target, 0, 0)
    elif way == HERE:
        send(state, device, port, packet, forward.group_of(state, device, target), arrived_bytes, now_ps)
    elif way == BY_HOST:
        route = forward.group_of(state, device, target)
        if route != NO_ROUTE and not forward.is_local(state, route):
            _wear(state, device, packet, ANY_VTEP)
        send(state, device, port, packet, route, arrived_bytes, now_ps)
    else:
        far = _vtep_of(state, packet, way)
        route = tunnel(state, device, far)
        if route != NO_ROUTE:
            _wear(state, device, packet, far)
        send(state, device, port, packet, route, arrived_bytes, now_ps)


@kernel
def entered(state: State, device: int, port: int, packet: np.uint32, arrived_bytes: int, now_ps: int) -> bool:
    """Route a packet that came from a host for another subnet of its tenant; False where it is no such packet."""
    frame, config = state.packets[packet], state.config[0]
    if config["n_l3"] == 0 or i64(frame["flags"]) & _ENCAP or state.ports[port]["peer_node"] >= config["n_hosts"]:
        return False
    here, there = i64(state.addresses[frame["src"]]["vni"]), i64(state.addresses[frame["dst"]]["vni"])
    tenant = i64(state.domains[here])
    if here == there or tenant == NO_TENANT or tenant != i64(state.domains[there]):
        return False
    _route(state, device, port, packet, arrived_bytes, now_ps)
    return True


@kernel
def through(state: State, device: int, port: int, packet: np.uint32, arrived_bytes: int, now_ps: int) -> None:
    """A packet in an L3 VNI: on to its VTEP (rule 2), or at it (rule 3)."""
    frame = state.packets[packet]
    far = i64(frame["words"]) >> 16
    route = NO_ROUTE
    if far == ANY_VTEP:
        route = forward.group_of(state, device, i64(frame["dst"]))
        if route == NO_ROUTE or not forward.is_local(state, route):
            pass_on(state, device, port, packet, route, arrived_bytes, now_ps)
            return
    elif far != switch_row(state, device):
        pass_on(state, device, port, packet, tunnel(state, device, far), arrived_bytes, now_ps)
        return
    kept = vtep.decapsulate(state, packet, segment(state, device, i64(frame["src"])))
    frame["flags"] = i64(frame["flags"]) & ~_ROUTED & 0xFF
    if not kept:
        discard(state, device, port, packet, _WRED, now_ps, 0, 0, 0)
    elif far == ANY_VTEP:
        pass_on(state, device, port, packet, route, arrived_bytes, now_ps)
    else:
        _route(state, device, port, packet, arrived_bytes, now_ps)


@kernel
def asks_gateway(state: State, packet: np.uint32) -> bool:
    """Whether a broadcast request is for a gateway (rule 4)."""
    config, frame = state.config[0], state.packets[packet]
    if config["n_l3"] == 0:
        return False
    here, target = i64(state.addresses[frame["src"]]["vni"]), i64(frame["seq"])
    if i64(state.domains[here]) == NO_TENANT:
        return False
    return here >= i64(config["n_vnis"]) or (target < i64(config["n_hosts"]) and i64(
        state.addresses[target]["vni"]) != here)

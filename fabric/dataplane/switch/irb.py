"""Routing between a tenant's subnets at its leaves: symmetric IRB (RFC 9135 section 5) over an L3 VNI.

Rules
1. A packet from a host to another subnet of its tenant has the anycast gateway's MAC as destination, and the leaf
   routes it (RFC 9135 sections 4.1 and 5.1). A host at the same leaf gets it by its port. Otherwise it is encapsulated
   in the L3 VNI, to one of the VTEPs of the longest prefix, chosen by the hash of the inner header.
2. Between VTEPs switches forward by the outer destination alone.
3. The remote VTEP decapsulates the packet and routes it again (RFC 9135 section 5.2): to a port, or to another VTEP if
   its routes have changed. Without a route it is lost there.
4. A host sends an ARP request for its gateway to reach another subnet. Its own leaf answers and does not flood the
   request (RFC 9135 section 4.1). On a routed port the gateway answers every request (proxy ARP, RFC 1027).
5. Without a control plane that says which hosts are behind which VTEP (TenantParams.by_host), switches forward as they
   do for bridged packets.

TTLs: fabric/dataplane/switch/ttl.py. Hashes of the outer header take the VTEP of the host's own leaf as destination.
Copies of broadcasts follow rule 2, too (fabric/dataplane/switch/arp.py).
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.port.drop import discard
from fabric.dataplane.state.codes import DropReason, PacketFlag
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import ANY_VTEP, BY_HOST, HERE, NO_TENANT, NOWHERE, State
from fabric.dataplane.switch import admission, forward, ttl, vtep
from fabric.dataplane.switch.forward import NO_ROUTE, switch_row

_ENCAP, _ROUTED = int(PacketFlag.ENCAP), int(PacketFlag.ROUTED)
_LOST, _WRED = int(DropReason.NO_ROUTE), int(DropReason.WRED)


@kernel
def segment(state: State, device: int, host: int) -> int:
    """Row of State.segments: the L3 VNI of a host's tenant at this leaf."""
    column = i64(state.domains[i64(state.addresses[host]["vni"])])
    return switch_row(state, device) * i64(state.config[0]["n_vnis"]) + column


@kernel
def send(state: State, device: int, port: int, packet: np.uint32, route: int, arrived_bytes: int, now_ps: int) -> None:
    """Send a packet out of a port of an ECMP group. NO_ROUTE: it is lost."""
    frame = state.packets[packet]
    if route == NO_ROUTE:
        discard(state, device, port, packet, _LOST, now_ps, i64(frame["dst"]), 0, 0)
        return
    frame["tc"] = state.dscp_maps[i64(state.ports[port]["dscp_map"]) * 64 + i64(frame["dscp"])]
    out = forward.choose(state, device, packet, route, now_ps)
    admission.admit(state, device, port, packet, i64(out), arrived_bytes, now_ps)


@kernel
def forward_outer(
    state: State, device: int, port: int, packet: np.uint32, route: int, arrived_bytes: int, now_ps: int
) -> None:
    """As send(), for a switch that routes by the outermost header: it decrements the TTL first."""
    if ttl.spend(state, packet):
        send(state, device, port, packet, route, arrived_bytes, now_ps)
    else:
        ttl.expire(state, device, port, packet, now_ps)


@kernel
def _encapsulate(state: State, device: int, packet: np.uint32, remote: int) -> None:
    """Encapsulate in the L3 VNI, to the VTEP in row `remote` of State.switches (ANY_VTEP: rule 5)."""
    frame = state.packets[packet]
    vtep.encapsulate(state, packet, segment(state, device, i64(frame["src"])))
    frame["flags"] = i64(frame["flags"]) | _ROUTED
    frame["words"] = i64(frame["words"]) | remote << 16


@hot
def way_of(state: State, device: int, host: int) -> int:
    """How a switch routes a tenant's packets for a host: NOWHERE, HERE, BY_HOST, or a place in State.ways."""
    return i64(state.tenant_fib[switch_row(state, device) * i64(state.config[0]["n_hosts"]) + host])


@kernel
def vtep_of(state: State, packet: np.uint32, way: int) -> int:
    """One of a set of VTEPs, by the inner header (rule 1)."""
    count = i64(state.ways[way])
    if count == 1:
        return i64(state.ways[way + 1])
    return i64(state.ways[way + 1 + vtep.inner_hash(state, packet) % count])


@hot
def crosses(state: State, source: int, target: int) -> bool:
    """Whether packets between two hosts go from one subnet of a tenant to another."""
    if state.config[0]["n_l3"] == 0:
        return False
    here, there = i64(state.addresses[source]["vni"]), i64(state.addresses[target]["vni"])
    tenant = i64(state.domains[here])
    return bool(here != there and tenant != NO_TENANT and tenant == i64(state.domains[there]))


@kernel
def has_tunnels(state: State) -> bool:
    """Whether switches have routes to VTEP addresses: only a control plane writes them (rule 5)."""
    return state.vtep_fib.shape[0] > 1


@kernel
def tunnel(state: State, device: int, remote: int) -> int:
    """ECMP group towards the address of the VTEP in row `remote` of State.switches, or NO_ROUTE."""
    n_switches = i64(state.config[0]["n_nodes"]) - i64(state.config[0]["n_hosts"])
    return i64(state.vtep_fib[switch_row(state, device) * n_switches + remote]) - 1


@kernel
def _route(state: State, device: int, port: int, packet: np.uint32, arrived_bytes: int, now_ps: int) -> None:
    """Route a packet without an outer header (rules 1 and 3)."""
    if not ttl.spend(state, packet):
        ttl.expire(state, device, port, packet, now_ps)
        return
    target = i64(state.packets[packet]["dst"])
    next_hops = way_of(state, device, target)
    if next_hops == NOWHERE:
        discard(state, device, port, packet, _LOST, now_ps, target, 0, 0)
    elif next_hops == HERE:
        send(state, device, port, packet, forward.group_of(state, device, target), arrived_bytes, now_ps)
    elif next_hops == BY_HOST:
        route = forward.group_of(state, device, target)
        if route != NO_ROUTE and not forward.is_local(state, route):
            _encapsulate(state, device, packet, ANY_VTEP)
        send(state, device, port, packet, route, arrived_bytes, now_ps)
    else:
        remote = vtep_of(state, packet, next_hops)
        route = tunnel(state, device, remote)
        if route != NO_ROUTE:
            _encapsulate(state, device, packet, remote)
        send(state, device, port, packet, route, arrived_bytes, now_ps)


@kernel
def route_from_host(state: State, device: int, port: int, packet: np.uint32, arrived_bytes: int, now_ps: int) -> bool:
    """Route a packet from a host to another subnet of its tenant; False for any other packet."""
    frame, config = state.packets[packet], state.config[0]
    if config["n_l3"] == 0 or i64(frame["flags"]) & _ENCAP or state.ports[port]["peer_node"] >= config["n_hosts"]:
        return False
    if not crosses(state, i64(frame["src"]), i64(frame["dst"])):
        return False
    _route(state, device, port, packet, arrived_bytes, now_ps)
    return True


@kernel
def receive(state: State, device: int, port: int, packet: np.uint32, arrived_bytes: int, now_ps: int) -> None:
    """Handle a packet in an L3 VNI: on the path to its VTEP (rule 2), or at it (rule 3)."""
    frame = state.packets[packet]
    remote = i64(frame["words"]) >> 16
    route = NO_ROUTE
    if remote == ANY_VTEP:
        route = forward.group_of(state, device, i64(frame["dst"]))
        if route == NO_ROUTE or not forward.is_local(state, route):
            forward_outer(state, device, port, packet, route, arrived_bytes, now_ps)
            return
    elif remote != switch_row(state, device):
        forward_outer(state, device, port, packet, tunnel(state, device, remote), arrived_bytes, now_ps)
        return
    kept = vtep.decapsulate(state, packet, segment(state, device, i64(frame["src"])))
    frame["flags"] = i64(frame["flags"]) & ~_ROUTED & 0xFF
    if not kept:
        discard(state, device, port, packet, _WRED, now_ps, 0, 0, 0)
    elif remote == ANY_VTEP:
        forward_outer(state, device, port, packet, route, arrived_bytes, now_ps)
    else:
        _route(state, device, port, packet, arrived_bytes, now_ps)


@kernel
def is_for_gateway(state: State, packet: np.uint32) -> bool:
    """Whether an ARP request is for a gateway (rule 4)."""
    config, frame = state.config[0], state.packets[packet]
    if config["n_l3"] == 0:
        return False
    here, target = i64(state.addresses[frame["src"]]["vni"]), i64(frame["seq"])
    if i64(state.domains[here]) == NO_TENANT:
        return False
    return here >= i64(config["n_vnis"]) or (
        target < i64(config["n_hosts"]) and i64(state.addresses[target]["vni"]) != here
    )

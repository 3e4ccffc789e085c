"""Wrong routes: loops, detours, black holes (a wrong static route, a stale table).

The fault writes rows of the table by host. Packets that leaves route between subnets go from VTEP to VTEP by another
table (fabric/dataplane/switch/irb.py, rule 2), so the fault is refused for hosts that get only those: it would have no
effect.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabric.dataplane.engine.edits import Edit, StaticRoute
from fabric.errors import Problem
from fabric.faults.base import FaultContext, Injected
from fabric.faults.spec import RouteSpec
from fabric.topology.model import Node
from fabric.topology.select import match_hosts, match_nodes


def route(spec: RouteSpec, path: str, context: FaultContext) -> Injected:
    """From `at` on each switch has a static route for each host to the named neighbours
    (dataplane/engine/static_routes.py).
    """
    fabric, problems = context.fabric, context.problems
    switches = match_nodes(fabric, spec.switches, fabric.switches, f"{path}.switches", "switch", problems)
    hosts = match_hosts(fabric, spec.hosts, f"{path}.hosts", problems)
    problems += _followed_by_nobody(spec, switches, path, context)
    edits: list[Edit] = []
    for switch in switches:
        ports = tuple(port.id for name in spec.via for port, peer in fabric.neighbours(switch.id) if peer.name == name)
        problems += [
            _no_neighbour(context, switch, name, path)
            for name in spec.via
            if all(peer.name != name for _, peer in fabric.neighbours(switch.id))
        ]
        edits += [StaticRoute(spec.at, switch.id, host.id, tuple(sorted(ports))) for host in hosts]
        if spec.until is not None:
            edits += [StaticRoute(spec.until, switch.id, host.id, (), ends=True) for host in hosts]
    where = {
        "switches": [switch.name for switch in switches],
        "hosts": [host.name for host in hosts],
        "via": list(spec.via),
    }
    seen = (
        ["drop reason no_route"]
        if not spec.via
        else ["packets leave by other ports than the shortest paths", "in a loop: TTL drops, and pauses that go round"]
    )
    return Injected(edits, where, spec.at, spec.until, seen)


def _followed_by_nobody(spec: RouteSpec, switches: Sequence[Node], path: str, context: FaultContext) -> list[Problem]:
    """Report entries of `hosts` for which no switch of the fault forwards by this table."""
    vxlan = context.params.vxlan
    routing = [] if vxlan is None else [it for it in vxlan.tenants if not it.by_host]
    if vxlan is None or not routing:
        return []
    l3_vni = {
        host: it.l3_vni
        for it in routing
        for host in (*it.routed, *(host for place in it.segments for host in vxlan.segments[place].hosts))
    }
    bridged = _bridged(context)
    found = []
    for text in spec.hosts:
        hosts = match_hosts(context.fabric, [text], path, [])  # unknown names have been reported
        # A host's own leaf delivers routed packets by the table by host, too (irb.py, HERE).
        idle = [
            (switch, host)
            for switch in switches
            for host in hosts
            if host.id in l3_vni
            and host.id not in bridged
            and all(context.fabric.peer_of(port).id != switch.id for port in host.ports)
        ]
        if idle and len(idle) == len(switches) * len(hosts):
            switch, host = idle[0]
            leaf = context.fabric.peer_of(host.first_port).name
            found.append(
                Problem(
                    f"{path}.hosts",
                    f"a route for {host.name} at {switch.name} has no effect: no host in a segment with "
                    f"{host.name} sends to it, and what its tenant routes (L3 VNI {l3_vni[host.id]}) follows the "
                    f"routes to "
                    "VTEPs",
                    f"name {leaf}, which delivers to it, or a host with traffic inside its segment; a "
                    f"route-policy fault "
                    "takes a tenant's routes away",
                )
            )
    return found


def _bridged(context: FaultContext) -> set[int]:
    """NodeIds of hosts to which a host of the same segment sends: data, acknowledgements, or ARP replies."""
    vxlan, used = context.params.vxlan, context.params.queue_pairs
    if vxlan is None:
        return set()
    segment_of = {host: it for it in vxlan.segments for host in it.hosts}
    pairs = set(zip(used.src.tolist(), used.dst.tolist(), strict=True))
    # Where leaves answer ARP, neither request nor reply crosses the fabric.
    pairs |= {
        (source, target)
        for _, source, target in vxlan.asks
        if target is not None and source in segment_of and not segment_of[source].suppress_arp
    }
    return {
        host
        for pair in pairs
        for host in pair
        if pair[0] in segment_of and segment_of[pair[0]] is segment_of.get(pair[1])
    }


def _no_neighbour(context: FaultContext, switch: Node, name: str, path: str) -> Problem:
    known = ", ".join(dict.fromkeys(peer.name for _, peer in context.fabric.neighbours(switch.id)))
    return Problem(f"{path}.via", f"{switch.name} has no cable to '{name}'", f"its neighbours: {known}")

"""Routes that no routing protocol would choose: loops, detours, black holes (a wrong static route, a stale table)."""

from __future__ import annotations

from dataclasses import dataclass

from fabric.engine.edits import Edit, FibRoute
from fabric.errors import Problem
from fabric.faults.base import FaultContext, Injected
from fabric.faults.spec import RouteSpec
from fabric.topology.model import Node
from fabric.topology.paths import equal_cost_ports
from fabric.topology.select import match_hosts, match_nodes


@dataclass(frozen=True, slots=True)
class RouteRepair(FibRoute):
    """The end of a wrong route: what routing has by then; `ports` are a healthy fabric's shortest paths."""


def route(spec: RouteSpec, path: str, context: FaultContext) -> Injected:
    """From `at` on, each switch forwards packets for each host to the named neighbours; from `until` on as before."""
    fabric, problems = context.fabric, context.problems
    switches = match_nodes(fabric, spec.switches, fabric.switches, f"{path}.switches", "switch", problems)
    hosts = match_hosts(fabric, spec.hosts, f"{path}.hosts", problems)
    edits: list[Edit] = []
    healthy = None if spec.until is None else equal_cost_ports(fabric)
    for switch in switches:
        ports = tuple(port.id for name in spec.via for port, peer in fabric.neighbours(switch.id) if peer.name == name)
        problems += [_no_neighbour(context, switch, name, path) for name in spec.via
                     if all(peer.name != name for _, peer in fabric.neighbours(switch.id))]
        edits += [FibRoute(spec.at, switch.id, host.id, tuple(sorted(ports))) for host in hosts]
        if spec.until is not None and healthy is not None:
            edits += [RouteRepair(spec.until, switch.id, host.id, healthy.ports_to(switch.id, host.id))
                      for host in hosts]
    where = {"switches": [switch.name for switch in switches], "hosts": [host.name for host in hosts],
             "via": list(spec.via)}
    seen = ["drop reason no_route"] if not spec.via else [
        "packets leave by other ports than the shortest paths", "in a loop: TTL drops, and pauses that go round"]
    return Injected(edits, where, spec.at, spec.until, seen)


def _no_neighbour(context: FaultContext, switch: Node, name: str, path: str) -> Problem:
    known = ", ".join(dict.fromkeys(peer.name for _, peer in context.fabric.neighbours(switch.id)))
    return Problem(f"{path}.via", f"{switch.name} has no cable to '{name}'", f"its neighbours: {known}")

"""Endpoints of an overlay that move, leave, come back, and churn."""

from __future__ import annotations

import random
from collections.abc import Sequence
from hashlib import blake2b
from operator import itemgetter
from typing import Final

from fabric.controlplane.network import events as e
from fabric.controlplane.network.plan import ControlPlan, Endpoint
from fabric.errors import Problem
from fabric.faults.base import FaultContext, Injected
from fabric.faults.control_spec import EndpointChurnSpec, HostLeaveSpec, MacMoveSpec
from fabric.faults.spec import FaultSpec
from fabric.topology.addressing import ipv4_text, mac_text
from fabric.topology.select import match_hosts, nearest
from fabric.units import PS_PER_NS, PS_PER_S

_CHURN_MAC: Final = 0x06 << 40
"""Locally administered, and outside the address plan (02:...)."""
_CHURN_IP: Final = 100 << 24 | 64 << 16
"""100.64.0.0/10, shared address space (RFC 6598): the plan has no host there."""
_CHURN_IPS: Final = 1 << 22


def mac_move(spec: MacMoveSpec, path: str, context: FaultContext) -> Injected:
    """Another leaf learns the host: at the port of the host's cable to that leaf if there is one, else at a new
    port.
    """
    control: list[e.ControlEvent] = []
    leads = True
    endpoint = _endpoint(context, spec.host, f"{path}.host")
    if endpoint is not None and context.plan is not None:
        leaves = {
            router.name: router
            for router in context.plan.routers
            if any(vni.vni == endpoint.vni for vni in router.vnis)
        }
        there = leaves.get(spec.to)
        if there is None:
            context.problems.append(
                Problem(
                    f"{path}.to",
                    f"no leaf with VNI {endpoint.vni} is called '{spec.to}'",
                    nearest(spec.to, list(leaves), "leaves"),
                )
            )
            return Injected([], {}, spec.at, None, [])
        port, data_port = next(
            ((name, row) for router, name, row in endpoint.attachments if router == there.row),
            (f"moved-{endpoint.name}", -1),
        )
        if spec.gap is not None:
            if spec.gap > spec.at:
                context.problems.append(Problem(f"{path}.gap", "begins before the run", "make it shorter than at"))
            control.append(e.HostGone(max(spec.at - spec.gap, 0) // PS_PER_NS, endpoint.mac, endpoint.vni, None))
        leads = data_port >= 0
        control += [
            e.HostSeen(
                (spec.at + turn * spec.arp_interval) // PS_PER_NS,
                endpoint.mac,
                endpoint.ip,
                endpoint.vni,
                there.row,
                port,
                spec.arps > 0,
                data_port,
            )
            for turn in range(max(spec.arps, 1))
        ]
    return Injected(
        [],
        {"hosts": [spec.host], "to": spec.to, **({} if leads else {"cable": "none"})},
        spec.at,
        None,
        [
            "Type-2 routes of the new leaf with a higher MAC mobility sequence number"
            if spec.gap is None
            else "Type-2 routes withdrawn, then announced again without mobility",
            "no frame reaches the host until the other leaves have the new route"
            if leads
            else "frames for the host end at a port that does not lead to it",
        ],
        control,
    )


def moves_to_nowhere(specs: Sequence[FaultSpec], context: FaultContext) -> list[Problem]:
    """Problems of moves of a host to the leaf where it already is; it starts at its own leaf, and returns after a
    host-leave to where it was.

    Hosts with several cables are not checked: their bond decides the leaf that learns them.
    """
    plan, fabric = context.plan, context.fabric
    if plan is None:
        return []
    home = {it.name: plan.routers[it.attachments[0][0]].name for it in plan.endpoints if len(it.attachments) == 1}
    # (time, host, leaf, place of the move); leaf "": the host leaves, None: it is back
    seen: list[tuple[int, str, str | None, str]] = []
    for number, spec in enumerate(specs):
        if spec.kind == "mac-move" and spec.gap is None:
            seen.append((spec.at, spec.host, spec.to, f"{context.path}faults[{number}].to"))
        elif spec.kind == "mac-move":  # also to the same leaf: its routes are withdrawn and announced
            seen.append((spec.at, spec.host, spec.to, ""))
        elif spec.kind == "host-leave":
            hosts = [host.name for host in match_hosts(fabric, spec.hosts, "", []) if host.name in home]
            seen += [(spec.at, host, "", "") for host in hosts]
            if spec.until is not None:
                seen += [(spec.until, host, None, "") for host in hosts]
    found = []
    at, away = dict(home), set[str]()
    for _, host, leaf, path in sorted(seen, key=itemgetter(0)):
        if leaf == "":
            away.add(host)
            continue
        if path and at.get(host) == leaf and host not in away:
            found.append(
                Problem(
                    path,
                    f"{host} is at {leaf} already, so the move has no effect",
                    "name another leaf, or give gap: the host is lost first",
                )
            )
        away.discard(host)
        if leaf is not None:
            at[host] = leaf
    return found


def host_leave(spec: HostLeaveSpec, path: str, context: FaultContext) -> Injected:
    """Type-2 routes are withdrawn at `at`, and announced again at `until`, by the leaf where the host was last."""
    control: list[e.ControlEvent] = []
    hosts = match_hosts(context.fabric, spec.hosts, f"{path}.hosts", context.problems)
    by_node = {endpoint.node: endpoint for endpoint in context.plan.endpoints} if context.plan else {}
    for host in hosts:
        endpoint = by_node.get(host.id)
        if endpoint is None:
            _on_routed_port(host.name, f"{path}.hosts", context)
            continue
        router, port, data_port = endpoint.attachments[0]
        control.append(e.HostGone(spec.at // PS_PER_NS, endpoint.mac, endpoint.vni, None))
        if spec.until is not None:
            control.append(
                e.HostSeen(
                    spec.until // PS_PER_NS,
                    endpoint.mac,
                    endpoint.ip,
                    endpoint.vni,
                    router,
                    port,
                    arp=True,
                    data_port=data_port,
                    back=True,
                )
            )
    return Injected(
        [],
        {"hosts": [host.name for host in hosts]},
        spec.at,
        spec.until,
        ["Type-2 routes withdrawn everywhere", "packets for them have no route"],
        control,
    )


def churn(spec: EndpointChurnSpec, path: str, context: FaultContext) -> Injected:
    """Poisson arrivals of joins and leaves; the number of present endpoints stays near half of the joins of a
    minute.
    """
    control: list[e.ControlEvent] = []
    seats = _seats(context.plan, spec.vni) if context.plan is not None else []
    if context.plan is not None and not seats:
        tenant = next((vrf.name for it in context.plan.routers for vrf in it.vrfs if vrf.l3_vni == spec.vni), None)
        segments = sorted({it.vni for router in context.plan.routers for it in router.vnis})
        context.problems.append(
            Problem(f"{path}.vni", f"no leaf has VNI {spec.vni}", "name a VNI of vxlan.tenants")
            if tenant is None
            else Problem(
                f"{path}.vni",
                f"{spec.vni} is the L3 VNI of tenant {tenant}: leaves route through it, and no endpoint is in it",
                f"name a segment's: {', '.join(map(str, segments[:8]))}",
            )
        )
    if seats:
        # A separate stream, so that no other draw of the run changes.
        seed = int.from_bytes(blake2b(f"{context.seed}/{spec.name or path}".encode(), digest_size=8).digest(), "big")
        control = _arrivals(spec, seats, random.Random(seed))
    return Injected(
        [],
        {"per_minute": spec.per_minute},
        spec.at,
        spec.until,
        ["a steady stream of EVPN updates and withdrawals", "no effect on the scenario's own hosts"],
        control,
    )


def _arrivals(spec: EndpointChurnSpec, seats: list[tuple[int, int]], stream: random.Random) -> list[e.ControlEvent]:
    rate_per_ps = spec.per_minute / (60 * PS_PER_S)
    control: list[e.ControlEvent] = []
    here: list[tuple[int, int, str]] = []
    time_ps, born = float(spec.at), 0
    while True:
        time_ps += stream.expovariate(rate_per_ps)
        if time_ps >= spec.until:
            return control
        time_ns = int(time_ps) // PS_PER_NS
        if here and stream.random() < len(here) / max(spec.per_minute, 2):
            router, vni, mac = here.pop(stream.randrange(len(here)))
            control.append(e.HostGone(time_ns, mac, vni, router))
            continue
        router, vni = seats[stream.randrange(len(seats))]
        mac, ip = mac_text(_CHURN_MAC | born), ipv4_text(_CHURN_IP | born % _CHURN_IPS)
        here.append((router, vni, mac))
        control.append(e.HostSeen(time_ns, mac, ip, vni, router, f"churn-{vni}"))
        born += 1


def _seats(plan: ControlPlan, vni: int | None) -> list[tuple[int, int]]:
    return [(router.row, it.vni) for router in plan.routers for it in router.vnis if vni in {None, it.vni}]


def _endpoint(context: FaultContext, name: str, path: str) -> Endpoint | None:
    hosts = match_hosts(context.fabric, [name], path, context.problems)
    if len(hosts) > 1:
        context.problems.append(Problem(path, f"'{name}' names {len(hosts)} hosts", "name one"))
    if len(hosts) != 1 or context.plan is None:
        return None
    found = next((endpoint for endpoint in context.plan.endpoints if endpoint.node == hosts[0].id), None)
    if found is None:
        _on_routed_port(name, path, context)
    return found


def _on_routed_port(name: str, path: str, context: FaultContext) -> None:
    """Report hosts that EVPN announces only by their subnet."""
    if context.plan is not None and any(host.name == name for host in context.plan.routed):
        context.problems.append(
            Problem(
                path,
                f"{name} is on a routed port, so it has no Type-2 route",
                "name a host of a segment; a route-policy at its leaf may hold its subnet",
            )
        )

"""V11, D12, D13: hosts of one segment that do not reach each other, and loops and black holes of any prefix.

All three rest on the converged control plane of the configurations (reachability.py, forwarding.py).

The other checks of families V, P and I name one property each. This one says what hosts lose by it, and is the only one
to speak where each property is right by itself: a policy that drops a route, uplinks that are all shut.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network, ip_address
from typing import Final

import networkx as nx

from fabric.configs.interface_address import interface_of
from fabric.configs.model import Site
from fabric.topology.cycles import cycles
from fabric.units import count as counted
from fabric.units import listed
from fabric.validate.checks.base import Check, E, Evidence, Found, I, Root, check
from fabric.validate.facts import Facts
from fabric.validate.forwarding import ForwardingPlan, Step
from fabric.validate.reach_table import Failure, Row, meant_to_reach
from fabric.validate.reachability import Reachability, reachability_of
from fabric.validate.routing_fixes import remove_route
from fabric.validate.sessions import Cause, place


@check(
    "V11",
    E,
    "hosts of a segment do not reach each other",
    condition="every host reaches every other one of its VNI, and of its VRF where both have a gateway; pairs that the "
    "files do not decide are left out (fabric validate --reach lists them)",
    consequence="their connections do not come up, or time out in one direction",
    remedy="correct the line that is named: a session, a route target, a policy, a VTEP address",
    source="RFC 4271 section 9; RFC 7432 section 7; RFC 8365 section 5; RFC 9135 section 5",
)
def V11(facts: Facts) -> Iterator[Found]:  # noqa: N802  named as in every report
    """One finding for each cause; it stands below the check that names the same field, where one does."""
    if not _speaks(facts):
        return
    reach = reachability_of(facts)
    if isinstance(reach, Cause):
        text = f"which hosts reach each other is not computed: {reach.text}; fabric validate --reach computes it"
        yield Found(facts.devices[0].name, "reachability", text, severity=I)
        return
    for row, failures in meant_to_reach(reach):
        by_root: dict[object, list[Failure]] = {}
        for failure in failures:
            first = next((it.at for it in failure.cause.evidence if isinstance(it.at, Site)), None)
            by_root.setdefault(failure.cause.text if first is None else first, []).append(failure)
        for root, its in by_root.items():
            evidence = tuple(dict.fromkeys(item for failure in its for item in failure.cause.evidence))
            within: list[Root] = [item.root for item in evidence if item.root is not None]
            source, target = its[0].examples[0]
            name = root.name if isinstance(root, Site) else its[0].switch
            yield Found(
                name,
                f"{row.name}: {source} → {target}",
                f"{its[0].cause.text}: {_affected(reach, row, its, name)}, such as {source} → {target}",
                evidence,
                within=within,
            )


def _affected(reach: Reachability, row: Row, failures: list[Failure], name: str) -> str:
    """How many pairs do not reach; of a part of a fabric, the switches that are configured alike instead."""
    if not reach.alike:
        pairs = sum(failure.pairs for failure in failures)
        return f"{counted(pairs, 'ordered pair')} of hosts of {row.name} {'does' if pairs == 1 else 'do'} not reach"
    others = [it for it in reach.alike.get(name, ()) if it != name]
    more = f" (and of {counted(len(others), 'switch', 'switches')} configured alike: {listed(others, _SHOWN)})"
    return f"hosts of {row.name} do not reach{more if others else ''}"


def _speaks(facts: Facts) -> bool:
    """Whether several switches say how they exchange routes; without BGP there is nothing to compute."""
    return sum(bool(device.sessions) for device in facts.devices) > 1


@check(
    "D12",
    E,
    "BGP and static routes form a loop",
    condition="for no prefix, the default route included, do the routes of the switches lead back to a switch",
    consequence="packets loop until their TTL is 0; in a lossless class the loop also deadlocks",
    remedy="remove or correct one of the routes that are named",
    source="RFC 1812 section 5.3.1; Hu et al., HotNets 2016",
    leads_to="D13 V11",
)
def D12(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Each cycle once, with all prefixes that take it. FIBs, and prefixes that D9 follows, are left to D9."""
    found: dict[frozenset[str], tuple[list[str], list[tuple[IPv4Network, dict[str, Step]]]]] = {}
    for prefix, steps in steps_of(facts):
        graph: nx.DiGraph[str] = nx.DiGraph((name, to) for name, step in steps.items() for to in step.to)
        for names in cycles(graph):
            found.setdefault(frozenset(names), (names, []))[1].append((prefix, steps))
    for names, its in found.values():
        prefix, steps = its[0]
        more = f" and {counted(len(its) - 1, 'other prefix', 'other prefixes')}" if len(its) > 1 else ""
        evidence = tuple(_routed_by(facts, name, prefix, steps[name]) for name in names[:_SHOWN])
        first = next((it for it in evidence if it.root is not None), evidence[0])
        yield Found(
            first.root[0] if first.root is not None else names[0],
            str(prefix),
            f"packets to {prefix}{more} go {' → '.join([*names[:_SHOWN], names[0]])}",
            (first, *(it for it in evidence if it is not first)),
        )


@check(
    "D13",
    E,
    "a route leads to a switch that has none",
    condition="for every prefix, the default route included, the switch at a next hop has a route, and each gateway "
    "of a static route can be reached over the interface that the route names, and is another switch's",
    consequence="everything to that prefix is lost there, whatever the class",
    remedy="announce the prefix there, or correct the next hop",
    source="RFC 1812 section 5.3.1; RFC 4271 section 5.1.3 (a next hop must be reachable)",
    leads_to="D10 V11",
)
def D13(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Each route once for each switch that has none."""
    yield from _misled(facts)
    seen: set[tuple[object, ...]] = set()
    for prefix, steps in steps_of(facts):
        for name, step in steps.items():
            if step.static is not None and step.unresolved and (name, step.static.where) not in seen:
                seen.add((name, step.static.where))
                text = f"{step.unresolved}, the next hop to {step.static.prefix}, is on no interface and has no route"
                shown, device = _routed_by(facts, name, prefix, step), facts.network.devices[name]
                yield Found(name, step.static.prefix, text, (shown,), fix=remove_route(device, step.static))
            for to in step.to:
                static = "" if step.static is None else step.static.prefix
                if steps[to].missing and not steps[to].unresolved and (name, to, static or prefix) not in seen:
                    seen.add((name, to, static or prefix))
                    yield Found(
                        name,
                        static or str(prefix),
                        f"packets to {static or prefix} go to {to}, which has no route to {prefix}",
                        (_routed_by(facts, name, prefix, step),),
                        fix=None if step.static is None else remove_route(facts.network.devices[name], step.static),
                    )


def _misled(facts: Facts) -> Iterator[Found]:
    """Static routes whose gateway is the switch itself, or is in no subnet of the interface that they name."""
    for device in facts.devices:
        others = device.identity.interface_vrfs  # the routes that are read are those of the default VRF
        own = {interface_of(it).ip for name, its in device.addresses.items() if name not in others for it in its}
        for route in device.routes:
            for gateway, interface in route.hops:
                try:
                    at = ip_address(gateway)
                except ValueError:
                    continue
                texts = device.addresses.get(interface, ())
                networks = [interface_of(text).network for text in texts]
                if at in own:
                    text = f"the next hop {gateway} to {route.prefix} is an address of {device.name} itself"
                elif networks and not at.is_link_local and not any(at in it for it in networks):
                    text = f"the next hop {gateway} to {route.prefix} is in no subnet of {interface}, which it names"
                else:
                    continue
                shown = ", ".join((gateway, *texts))
                evidence = (place(device, route.where, "static route", shown),)
                yield Found(device.name, route.prefix, text, evidence, fix=remove_route(device, route))


_SHOWN: Final = 6
_NOTE: Final = "steps of every prefix"


def steps_of(facts: Facts) -> Iterator[tuple[IPv4Network, dict[str, Step]]]:
    """Prefixes with the step of every switch; none where tables were given, or where the files do not decide BGP."""
    if facts.network.fibs or not any(device.routes for device in facts.devices):
        return
    reach = reachability_of(facts)
    if isinstance(reach, Cause) or reach.unknown:
        return
    if _NOTE in facts.notes:  # D13 follows what D12 has followed
        yield from facts.notes[_NOTE]
        return
    found = facts.notes[_NOTE] = []
    plan = ForwardingPlan(reach.facts, reach)
    others = {str(prefix) for prefix, _ in facts.routes.addresses.destinations()}
    prefixes = (it for it in plan.prefixes if str(it) not in others)
    found += [(prefix, {device.name: step for device, step in plan.graph(prefix)}) for prefix in prefixes]
    yield from found


def _routed_by(facts: Facts, name: str, prefix: IPv4Network, step: Step) -> Evidence:
    """The route of a switch: a static one with its line, else that of BGP."""
    to = ", ".join(step.to) or step.unresolved
    if step.static is None:
        return Evidence(f"{name} {prefix} by BGP", to)
    return place(facts.network.devices[name], step.static.where, f"{name} {step.static.prefix} static", to)


CHECKS: Final[tuple[Check, ...]] = (V11,)
ROUTES: Final[tuple[Check, ...]] = (D12, D13)

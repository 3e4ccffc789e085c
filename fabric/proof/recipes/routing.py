"""ONE along the routes that the rule follows: loops, black holes, and links whose session stays down.

The scenario has `routing: given`, with the next hops of the tables, static routes and BGP as the rules D9, D10, D12 and
D13 have them, so that rule and run speak of one network; those of P1, P2 and P3 are of the speakers' convergence, which
those rules do not use, so that a false finding is refuted. Many small messages from a switch with hosts, each with its
own queue pair, take all of the equal next hops. The way back, of acknowledgements, is a shortest path.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import networkx as nx

from fabric.configs.model import Device, Session
from fabric.proof.cut import Cut
from fabric.proof.outcome import Outcome
from fabric.proof.recipe import Case, NoProofError, Plan, Recipe
from fabric.proof.recipes import chain
from fabric.topology.cycles import cycles
from fabric.validate.checks.base import named
from fabric.validate.checks.reach import steps_of
from fabric.validate.facts import Facts, Line
from fabric.validate.forwarding import ForwardingPlan
from fabric.validate.reachability import Reachability, reachability_of
from fabric.validate.sessions import Cause

Ports = tuple[str, ...]
_MESSAGES: Final = 16
"""So many that of two equal next hops none is left out: once in 32,768."""
_SIZE: Final = 20_000
_DURATION_US: Final = 2_000.0
_BACK: Final = "the way back, of acknowledgements, is a shortest path"


@dataclass(frozen=True, slots=True)
class Routed:
    """Where packets of one prefix go."""

    prefix: str
    hops: Mapping[str, Ports]
    """Switch to the ports of its next hops."""
    ends: frozenset[str]
    """Switches that deliver."""

    def near(self, facts: Facts, name: str) -> list[str]:
        """The switches of its next hops."""
        peers = (facts.peers.get((name, port)) for port in self.hops.get(name, ()))
        return list(dict.fromkeys(peer[0] for peer in peers if peer is not None and peer[0] in facts.network.devices))

    def loop(self, facts: Facts, switch: str) -> list[str]:
        """A cycle that the switch is in; [] where there is none."""
        graph: nx.DiGraph[str] = nx.DiGraph((name, to) for name in self.hops for to in self.near(facts, name))
        return next((names for names in cycles(graph) if switch in names), [])


def followed(case: Case) -> Routed:
    """The next hops of the finding's prefix, as its rule has them. Raises: NoProofError."""
    facts, prefix = case.facts, case.finding.object
    for tree in facts.routes.trees:
        if tree.destination == prefix:
            ports = {name: tuple(hop.out[1] for hop in hops) for name, hops in tree.next_hops.items()}
            return Routed(prefix, ports, tree.ends)
    for network, steps in steps_of(facts):
        shown = {str(network), *(it.static.prefix for it in steps.values() if it.static is not None)}
        if prefix in shown and case.finding.device in steps:
            ports = {name: tuple(_towards(facts, name, it.to)) for name, it in steps.items()}
            return Routed(str(network), ports, frozenset(name for name, it in steps.items() if it.ends))
    raise NoProofError(f"no route to {prefix} is followed", "")


def _towards(facts: Facts, name: str, switches: Iterable[str]) -> Iterator[str]:
    """Ports of all links to these switches that are up."""
    wanted = set(switches)
    for port in facts.network.devices[name].ports.values():
        peer = facts.peers.get((name, port.name))
        if port.admin_up and peer is not None and peer[0] in wanted:
            yield port.name


# Plans ----------------------------------------------------------------------------------------------------------------


def plan_routed(case: Case) -> Plan:
    """D9, D10, D12, D13: from a switch with hosts whose packets come to the finding's switch."""
    facts, bad = case.facts, case.finding.device
    routed = followed(case)
    loop = routed.loop(facts, bad)
    start = next(
        (it for it in facts.routes.edges if bad in _reached(facts, routed, it) and it not in routed.ends), None
    )
    if start is None:
        raise NoProofError(f"no switch with hosts sends packets to {routed.prefix} over {bad}", "")
    near = facts.routes.distances([start])
    ends = sorted((it for it in routed.ends if it in near), key=lambda it: (near[it], it))
    if not ends:
        raise NoProofError(f"no switch that was given delivers {routed.prefix}: there is nothing to remedy it with", "")
    cut = _along(case, routed, start, ends[0])
    plan = _messages(cut, case.dscp, bad, next(iter(cut.network.devices[bad].ports)))
    plan.notes = (f"packets to {routed.prefix}, sent at {start}", _BACK)
    if loop:
        plan.notes = (f"the cycle: {' → '.join([*loop, loop[0]])}", *plan.notes)
    return plan


def _along(case: Case, routed: Routed, start: str, end: str, more: Iterable[str] = ()) -> Cut:
    """The switches that packets come to, and `more`, with the next hops of the prefix."""
    cut = case.cutter.routed(start, end, (*_reached(case.facts, routed, start), *more))
    for name in cut.network.devices:
        if name in routed.ends - {end}:  # it delivers, too: in the cut-out one switch has the receiver
            cut.routes.setdefault(name, {})[cut.receiver] = case.cutter.nearer(cut, name, end)
        elif name != end:
            cut.routes.setdefault(name, {})[cut.receiver] = routed.hops.get(name, ())
    return cut


def _reached(facts: Facts, routed: Routed, start: str) -> list[str]:
    found = {start: None}
    queue = deque(found)
    while queue:
        name = queue.popleft()
        for to in routed.near(facts, name) if name not in routed.ends else ():
            if to not in found:
                found[to] = None
                queue.append(to)
    return list(found)


def _messages(cut: Cut, dscp: int, device: str, port: str) -> Plan:
    rows: list[dict[str, Any]] = [
        {"src": cut.senders[0], "dst": cut.receiver, "size": f"{_SIZE}B", "start": f"{number + 1}us"}
        for number in range(_MESSAGES)
    ]
    work = [{"kind": "messages", "name": "roce", "messages": rows}]
    expect = ("drops.total == 0", f"messages.done == {_MESSAGES}")
    return Plan(cut, dscp, device, port, work, _DURATION_US, expect)


def plan_session(case: Case) -> Plan:
    """P1, P2, P3: packets whose shortest path is over the link, along the routes of the converged BGP. No path is cut.

    Raises: NoProofError where BGP is not computed, and where the session is down and other paths carry the packets.
    """
    facts, line = case.facts, _line_of(case)
    here, there = line.device.name, facts.peers[line.end][0]
    cause = _state(case, _computed(facts), line, there)
    found = list(_over(facts, here, there))
    if not found:
        raise NoProofError(f"no packets of hosts have a shortest path over {here} {line.port.name}", "")
    delivered = cause is None
    ways = (it for it in found if _delivers(facts, *it) is delivered)
    routed, start = next(ways, (None, ""))
    if routed is None and cause is None:
        raise NoProofError(f"the session {here}-{there} comes up, and packets are lost for another reason", "")
    if routed is None:
        text = f"the session {here}-{there} is down ({cause}), and other paths carry the packets: none is lost"
        raise NoProofError(text, "")
    near = facts.routes.distances([start])
    end = min((it for it in routed.ends if it in near), key=lambda it: (near[it], it))
    cut = _along(case, routed, start, end, (here, there))
    plan = _messages(cut, case.dscp, here, line.port.name)
    state = "comes up" if cause is None else f"stays down: {cause}"
    plan.notes = (f"packets to {routed.prefix}, sent at {start}", f"the session {here}-{there} {state}", _BACK)
    return plan


def _computed(facts: Facts) -> Reachability:
    """The converged BGP of all switches. Raises: NoProofError."""
    reach = reachability_of(facts)
    if isinstance(reach, Cause):
        raise NoProofError(f"BGP is not computed: {reach.text}", "")
    if reach.unknown:
        raise NoProofError(f"the files do not decide BGP: {reach.unknown[0].text}", "")
    if reach.facts is not facts:
        raise NoProofError("BGP is computed for the switches that stand for the others, and not for every link", "")
    return reach


def _state(case: Case, reach: Reachability, line: Line, there: str) -> str | None:
    """Why the sessions over a link stay down; None where one comes up. Raises: NoProofError where there is none."""
    device = line.device
    mine = {id(it) for it in device.sessions if named(it.where) == case.finding.object}
    between = [it for it in reach.sessions if {it.a.device.name, it.b.device.name} == {device.name, there}]
    ports = {line.port.name, line.port.lag}
    own = [it for it in between if mine & {id(it.a.session), id(it.b.session)}]
    own = own or [it for it in between for end in (it.a, it.b) if end.device is device and end.interface in ports]
    causes = [it.down for it in own or between]
    if not causes:
        raise NoProofError(f"{device.name} and {there} have no session with each other that is known", "")
    return None if None in causes else str(causes[0].text if causes[0] else "")


def _over(facts: Facts, here: str, there: str) -> Iterator[tuple[Routed, str]]:
    """Prefixes of switches with hosts, and switches with hosts that have a shortest path to them over a link."""
    plan = ForwardingPlan(facts, _computed(facts))
    for prefix in plan.prefixes:
        steps = {device.name: step for device, step in plan.graph(prefix)}
        ends = frozenset(name for name, it in steps.items() if it.ends)
        ports = {name: tuple(_towards(facts, name, it.to)) for name, it in steps.items()}
        towards = facts.routes.distances(ends) if ends <= set(facts.routes.edges) else {}
        for start in facts.routes.edges:
            near = facts.routes.distances([start])
            ways = ((a, b) for a, b in ((here, there), (there, here)) if a in near and b in towards)
            if start not in ends and any(near[a] + 1 + towards[b] == towards.get(start) for a, b in ways):
                yield Routed(str(prefix), ports, ends), start


def _delivers(facts: Facts, routed: Routed, start: str) -> bool:
    """Whether no switch that packets come to is without a next hop."""
    return all(routed.hops.get(name) or name in routed.ends for name in _reached(facts, routed, start))


def _line_of(case: Case) -> Line:
    """The port of a finding's session. Raises: NoProofError where it is not on a link."""
    device = case.facts.network.devices[case.finding.device]
    if "BGP" not in case.finding.object and "↔" in case.finding.object:
        return case.line()
    mine = [it for it in device.sessions if named(it.where) == case.finding.object] or device.sessions
    for session in mine:
        for name, port in device.ports.items():
            peer = case.facts.peers.get((device.name, name))
            if port.admin_up and peer is not None and peer[0] in _peers(case.facts, device, session, name):
                return Line(device, port)
    raise NoProofError(f"the session of {case.finding.object} is on no link of {device.name} that is known", "")


def _peers(facts: Facts, device: Device, session: Session, port: str) -> set[str]:
    """The switches that a session may be with over a port."""
    if session.interface:
        return set(facts.network.devices) if session.interface == port else set()
    owner = facts.owners_in(session.vrf).get(session.address)
    found = {it for it in (session.peer, owner.name if owner else "") if it in facts.network.devices}
    return found - {device.name}


# What is seen ---------------------------------------------------------------------------------------------------------


def lost_on_the_way(plan: Plan, run: Outcome, twin: Outcome) -> str | None:
    """RoCE discarded for want of a route, at the finding's switch or at its next hop; in a cycle when its TTL is 0."""
    del twin
    out = {(plan.device, port) for port in plan.cut.routes.get(plan.device, {}).get(plan.cut.receiver, ())}
    ends = [(joint.a, joint.b) for joint in plan.cut.joints]
    near = {there[0] for a, b in ends for here, there in ((a, b), (b, a)) if here in out}
    cycle = {name for note in plan.notes[:1] for name in note.partition("cycle: ")[2].split(" → ")}
    here = [it for it in run.losses() if it.reason == "no_route" and it.switch in {plan.device, *near}]
    here += [it for it in run.losses() if it.reason == "ttl" and it.switch in cycle]
    arrived = f"{run.count('messages.done')} of {run.count('messages.total')} messages arrived"
    if here:
        return f"{chain.sentence(here[0])}; {arrived}"
    if run.cycle and cycle:
        shown = " → ".join(run.fabric.port_name(port) for port, _ in run.cycle)
        return f"deadlock in the cycle: {shown} wait for each other; {arrived}"
    return None


def lost_without_session(plan: Plan, run: Outcome, twin: Outcome) -> str | None:
    """RoCE discarded for want of a route, which the twin has over the link."""
    del twin
    here = next((it for it in run.losses() if it.reason == "no_route"), None)
    if here is None:
        return None
    arrived = f"{run.count('messages.done')} of {run.count('messages.total')} messages arrived"
    return f"{chain.sentence(here)}; {arrived}; {plan.notes[1]}"


def all_arrived(plan: Plan, twin: Outcome) -> str | None:
    """g1: the twin's messages arrived."""
    del plan
    done, all_ = twin.count("messages.done"), twin.count("messages.total")
    return None if done == all_ else f"{done} of {all_} messages of the twin arrived"


def shortest(case: Case, plan: Plan, cut: Cut) -> str:
    """The finding's switch, with the others of its cycle, sends along shortest paths."""
    cycle = plan.notes[0].partition("cycle: ")[2].split(" → ") if "cycle" in plan.notes[0] else []
    towards = cut.hosts[cut.receiver][0]
    changed = []
    for name in cut.network.devices:
        table = cut.routes.setdefault(name, {})
        if name != towards and (name in {plan.device, *cycle} or not table.get(cut.receiver)):
            table[cut.receiver] = case.cutter.nearer(cut, name, towards)
            changed.append(name)
    return f"{', '.join(changed)}: the next hops of shortest paths to {cut.receiver}"


def session_up(case: Case, plan: Plan, cut: Cut) -> str:
    """Routes over the link: at its end that is farther from the receiver, and where a switch has none."""
    towards = cut.hosts[cut.receiver][0]
    near = case.facts.routes.distances([towards])
    ends = plan.device, case.facts.peers[plan.device, plan.port][0]
    far, other = sorted(ends, key=lambda it: -near[it])
    for name in cut.network.devices:
        table = cut.routes.setdefault(name, {})
        ports = case.cutter.nearer(cut, name, towards) if name != towards else ()
        if name == far:
            ports = tuple(port for port in ports if case.facts.peers[name, port][0] == other)
        if name == far or not table.get(cut.receiver):
            table[cut.receiver] = ports
    return f"the session {'-'.join(ends)} is up: routes lead over the link"


RECIPES: Final = (
    Recipe("D9 D10 D12 D13", "loss", "ONE", plan_routed, shortest, lost_on_the_way, all_arrived, "one route"),
    Recipe("P1 P2 P3", "loss", "ONE", plan_session, session_up, lost_without_session, all_arrived, "the session"),
)

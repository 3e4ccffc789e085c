"""CHAIN and INC for mistakes of classes and PFC: maps, priorities that an end does not pause, lossy RoCE.

CHAIN shows what a pause does not stop: the loss is one hop beside the mistake, where the headroom overflows. INC shows
what is admitted to a lossy group or queue: several senders fill it, and no pause is asked for.
"""

from __future__ import annotations

from dataclasses import replace as replaced
from typing import Any, Final

from fabric.dataplane.state.codes import N_CLASSES
from fabric.proof.cut import Cut, NoCutError
from fabric.proof.outcome import Outcome
from fabric.proof.recipe import (
    Case,
    NoProofError,
    Plan,
    Recipe,
    pool_bytes,
    rate_mbps,
    slowest_mbps,
    tc_of,
    time_us,
    traffic_class,
)
from fabric.proof.recipes import chain
from fabric.validate.facts import Line

_LOSSY_SHARE: Final = 8 / 9
"""Of the pool, that a lossy group takes at alpha 8."""
_SETTLE_US: Final = 400.0
_TAIL_US: Final = 200_000.0
"""Two retransmission timeouts and the time of their packets: what is lost at the end of a message is noticed so."""


# INC ------------------------------------------------------------------------------------------------------------------


def incast(case: Case, line: Line) -> Plan:
    """Two senders, one at the port, into one link of half their rate; all bytes together exceed every lossy limit."""
    cut = case.cutter.meeting(line.device.name, line.port.name)
    switch = cut.network.devices[cut.hops[0].device]
    room = pool_bytes(switch)
    rates = [rate_mbps(switch.ports[cut.hosts[host][1]]) for host in cut.senders]
    out = rate_mbps(switch.ports[cut.hops[0].leaves])
    excess = 1 - out / sum(rates)
    if excess <= 0:
        raise NoProofError("the senders' ports are not faster than the link that they share", "")
    each = int(1.15 * room * _LOSSY_SHARE / excess / len(cut.senders)) + 1_000_000
    workload: list[dict[str, Any]] = [
        {
            "kind": "messages",
            "name": "roce",
            "messages": [
                {"src": host, "dst": cut.receiver, "size": f"{each}B", "start": f"{1 + 0.1 * number}us"}
                for number, host in enumerate(cut.senders)
            ],
        }
    ]
    duration = 3 * time_us(each * len(cut.senders), slowest_mbps(cut)) + _SETTLE_US
    expect = ("drops.total == 0", f"messages.done == {len(cut.senders)}")
    settings = {"transport": {"cc": "none"}}
    notes = ("the senders do not slow down: a lossy queue has no marks to slow them",)
    return Plan(
        cut, case.dscp, line.device.name, line.port.name, workload, duration, expect, settings=settings, notes=notes
    )


def plan_incast(case: Case) -> Plan:
    """INC by the port of the finding."""
    return incast(case, case.line())


def plan_hole(case: Case) -> Plan:
    """M3: traffic of the DSCP that the map lacks. Only RoCE's claims a loss."""
    plan = incast(case, case.line())
    found = plan.cut.network.devices[plan.device].map_of(
        plan.cut.network.devices[plan.device].ports[plan.port], "dscp_to_tc"
    )
    if found is None or plan.dscp in found.entries:
        raise NoProofError(f"the hole is not at RoCE's DSCP {plan.dscp}: nothing lossless is lost", "")
    return plan


def paused_or_queued(plan: Plan, twin: Outcome) -> str | None:
    """g2: the twin asked for a pause under the same load."""
    first = plan.cut.hops[0].device
    if not any(twin.sent_xoff(*plan.cut.hosts[host]) for host in plan.cut.senders):
        return f"{first} never asked a sender for a pause"
    return None


# Remedies -------------------------------------------------------------------------------------------------------------


def usual_class(case: Case, plan: Plan, cut: Cut) -> str:
    """RoCE's DSCP gets the class that it has on most ports of the fabric, on every switch of the cut-out."""
    usual = case.facts.usual_class(plan.dscp)
    if usual is None:
        raise NoProofError(f"DSCP {plan.dscp} is lossless nowhere: there is no class to remedy it with", "")
    tc, priority = usual
    texts = []
    for hop in cut.hops:
        device = cut.network.devices[hop.device]
        for name in (hop.enters, hop.leaves, *(port for switch, port in cut.hosts.values() if switch == hop.device)):
            port = device.ports[name]
            for kind, key, value in (
                ("dscp_to_tc", plan.dscp, tc),
                ("tc_to_pg", tc, priority),
                ("tc_to_queue", tc, priority),
                ("pfc_to_queue", priority, priority),
                ("pfc_to_pg", priority, priority),
            ):
                found = device.map_of(port, kind)
                if found is not None and found.entries.get(key) != value:
                    found.entries[key] = value
                    texts.append(f"{hop.device} {kind} {key} -> {value}")
    texts += _with_pfc(case, plan, cut, priority)
    if not texts:
        raise NoProofError("the classes of the chain are those of most ports: nothing to remedy", "")
    return "; ".join(dict.fromkeys(texts))


def _with_pfc(case: Case, plan: Plan, cut: Cut, priority: int) -> list[str]:
    """PFC of the usual priority on every port of the chain; a lossless group where one is missing."""
    texts = []
    for device in cut.network.devices.values():
        for port in device.ports.values():
            port.pfc_asym = False
            if priority not in port.lossless:
                port.lossless |= {priority}
                texts.append(f"{device.name} {port.name}: PFC on {priority}")
            profile = device.profile_of(port.groups.get(priority))
            if (profile is None or not profile.lossless) and device.pools:
                there = replaced(plan, device=device.name, port=port.name, cut=cut)
                texts.append(chain.more_headroom(case, there, cut))
    for name in (*cut.senders, cut.receiver):
        host = cut.host(name)
        if host is None or (host.trust != "pcp" and (host.pfc_enable is None or priority in host.pfc_enable)):
            continue
        cut.network.hosts[name] = replaced(host, trust="dscp", pfc_enable=frozenset({priority}))
        texts.append(f"{name}: trusts DSCP, PFC on {priority}")
    return texts


def no_tunnel_mark(case: Case, plan: Plan, cut: Cut) -> str:
    """T2: the outer header copies the DSCP."""
    del case, plan
    tunnels = [it for device in cut.network.devices.values() for it in device.tunnels.values()]
    for tunnel in tunnels:
        tunnel.dscp_mode = "uniform"
    if not tunnels:
        raise NoProofError("no tunnel is in the cut-out", "")
    return "tunnels: dscp_mode uniform"


def plan_tunnel(case: Case) -> Plan:
    """CHAIN through the tunnel, so that the underlay carries its header."""
    line = case.line()
    uplinks = [it for it in case.facts.used if it.device is line.device and not case.facts.faces_host(it)]
    if not uplinks:
        raise NoProofError(f"{line.device.name} has no port to the underlay", "")
    for uplink in uplinks:
        try:
            plan = chain.plan_at(case, uplink, enters=False)
        except NoCutError:
            continue
        if len({switch for switch, _ in plan.cut.hosts.values()}) > 1:
            return plan
    raise NoProofError("no path crosses the tunnel: hosts at two VTEPs are needed", "")


def plan_link(case: Case) -> Plan:
    """L1: the end that sends no pause, or does not obey it; both directions are tried, the one that loses is kept.

    The port whose PFC lacks a priority is deaf: data leaves by it and the peer's pause does not stop it; or mute: data
    enters by it.
    """
    line = case.line()
    usual = case.facts.usual_class(case.dscp)
    priority = 3 if usual is None else usual[1]
    peer = case.facts.peers.get(line.end)
    far = None if peer is None else case.facts.line(peer)
    for deaf in (line, far):
        if deaf is not None and priority not in deaf.port.lossless:
            return plan_deaf(case, deaf)
    host = case.facts.host_at(line)
    if host is not None and host.pfc_enable is not None and priority not in host.pfc_enable:
        return chain.plan_at(case, line)
    raise NoProofError(f"both ends have PFC on RoCE's priority {priority}: nothing lossless is lost", "")


def plan_deaf(case: Case, line: Line) -> Plan:
    """CHAIN out of a port that does not obey; a receiver behind it is slow, because its pauses would be in vain."""
    plan = chain.plan_at(case, line, enters=False)
    if plan.cut.hops[-1].device == plan.device:
        return chain.slow(plan)
    return plan


def plan_deaf_here(case: Case) -> Plan:
    """CHAIN out of the port of the finding."""
    return plan_deaf(case, case.line())


def plan_host(case: Case) -> Plan:
    """N1: the host sends, and its port's pause does not stop it; or its RoCE is lossy at the port, which INC shows."""
    line = case.line()
    if case.facts.lossless_class(line, case.dscp)[1] is None:
        return incast(case, line)
    return chain.plan_at(case, line)


def plan_path(case: Case) -> Plan:
    """L9, M2: CHAIN over the port that the finding rests on, or any path of the switch."""
    line = case.line()
    for item in case.finding.evidence:
        root = item.root
        if root is None or root[0] not in case.facts.network.devices:
            continue
        device = case.facts.network.devices[root[0]]
        for port in device.ports.values():
            if port.name in root[1] or (port.qos_where and port.qos_where == root[1][: len(port.qos_where)]):
                line = Line(device, port)
                break
    plans = []
    for enters in (False, True):
        try:
            plans.append(chain.plan_at(case, line, enters=enters))
        except NoCutError:
            continue
    if not plans:
        raise NoProofError(f"no path crosses {line}", "")
    return plans[0]


def plan_rewritten(case: Case) -> Plan:
    """M12: what leaves by the port has another DSCP, which the next switch sorts.

    The next switch of the scenario sorts RoCE's own DSCP as its map sorts the rewritten one. The receiver consumes
    slowly, and its pauses of RoCE's class do not stop the other one.
    """
    words = case.finding.text.split()
    if words[1].isdigit() and int(words[1]) != case.dscp:
        raise NoProofError(f"DSCP {words[1]} is not RoCE's: nothing lossless is lost", "")
    line = case.line()
    peer = case.facts.peers.get(line.end)
    if peer is None or peer[0] not in case.facts.network.devices:
        raise NoProofError(f"no switch is behind {line}, which would sort the rewritten DSCP", "")
    return chain.slow(chain.plan_at(case, line, enters=False))


def no_rewriting(case: Case, plan: Plan, cut: Cut) -> str:
    """No map of classes to DSCPs at the port."""
    del case
    port = cut.network.devices[plan.device].ports[plan.port]
    name = port.maps.pop("tc_to_dscp", "")
    return f"{plan.device} {plan.port}: without tc_to_dscp map {name}"


def plan_roce_class_differs(case: Case) -> Plan:
    """M2: of RoCE's DSCP; that of CNPs claims no loss."""
    words = case.finding.object.split()
    if words[-1].isdigit() and int(words[-1]) != case.dscp:
        raise NoProofError(f"DSCP {words[-1]} is not RoCE's: nothing lossless is lost", "")
    plan = plan_path(case)
    usual = case.facts.usual_class(case.dscp)
    odd = [it for it in case.facts.used if usual is not None and _tc(it, case.dscp) != usual[0]]
    for line in odd:
        if not case.facts.faces_host(line):
            return chain.plan_at(case, line, enters=False)
    return plan


def _tc(line: Line, dscp: int) -> int:
    return tc_of(line.device, line.port, dscp)


def stops_nothing(plan: Plan, run: Outcome, twin: Outcome) -> str | None:
    """RoCE lost in the chain, and what the pause did not stop."""
    found = chain.lost_anywhere(plan, run, twin)
    if found is None:
        return None
    classes = {traffic_class(plan, hop.device)[2] for hop in plan.cut.hops}
    if len(classes) > 1:
        return f"{found}; RoCE's queue is {', '.join(map(str, sorted(classes)))} along the path"
    return found


def crossed(plan: Plan, twin: Outcome) -> str | None:
    """g1 and g2: RoCE crossed the port, and a pause reached the twin's port."""
    if not twin.sent_by(plan.cut.senders[0]):
        return "no RoCE was sent"
    pauses = sum(twin.received_xoff(plan.device, plan.port, c) for c in range(N_CLASSES))
    asked = sum(twin.sent_xoff(plan.device, plan.port, c) for c in range(N_CLASSES))
    return None if pauses or asked else f"no pause reached {plan.device} {plan.port}"


RECIPES = (
    Recipe(
        "M1 M4 M14", "loss", "INC", plan_incast, usual_class, chain.lost_anywhere, paused_or_queued, "one map entry"
    ),
    Recipe("M3", "loss", "INC", plan_hole, usual_class, chain.lost_anywhere, paused_or_queued, "one map entry"),
    Recipe("M2", "loss", "CHAIN", plan_roce_class_differs, usual_class, stops_nothing, crossed, "one map entry"),
    Recipe("M5", "loss", "CHAIN", plan_deaf_here, usual_class, stops_nothing, crossed, "one map entry"),
    Recipe("L1", "loss", "CHAIN", plan_link, usual_class, stops_nothing, crossed, "PFC of one priority"),
    Recipe("L9", "loss", "CHAIN", plan_path, usual_class, stops_nothing, crossed, "PFC or class of one hop"),
    Recipe("L8", "loss", "CHAIN", plan_deaf_here, usual_class, stops_nothing, crossed, "PFC of one member"),
    Recipe("N1", "loss", "CHAIN", plan_host, usual_class, stops_nothing, crossed, "PFC of the host"),
    Recipe("T2", "loss", "CHAIN", plan_tunnel, no_tunnel_mark, stops_nothing, crossed, "dscp_mode"),
    Recipe("M12", "loss", "CHAIN", plan_rewritten, no_rewriting, stops_nothing, crossed, "one map entry"),
)

"""Switches that crash, lose their daemons, are drained or misconfigured; cables that fail silently."""

from __future__ import annotations

from fabric.controlplane.bgp.policy import Match, Policy, Rule, Set
from fabric.controlplane.network import events as e
from fabric.controlplane.network.plan import Router
from fabric.dataplane.engine.edits import DropEvery, Edit, LinkState
from fabric.errors import Problem
from fabric.faults.base import FaultContext, Injected
from fabric.faults.control_spec import (
    BgpCrashSpec,
    DrainSpec,
    LinkSilentSpec,
    PolicyRules,
    RoutePolicySpec,
    SwitchCrashSpec,
    WrongAsnSpec,
)
from fabric.ids import PortId
from fabric.topology.model import Node
from fabric.topology.select import match_nodes
from fabric.units import PS_PER_NS
from fabric.wire.iana import Afi, Safi

_FAMILIES = {"ipv4": (Afi.IPV4, Safi.UNICAST), "evpn": (Afi.L2VPN, Safi.EVPN)}


def crash(spec: SwitchCrashSpec, path: str, context: FaultContext) -> Injected:
    """All cables of the switch lose carrier, or lose every frame; routers get an event, or have to detect the loss."""
    switch = _switch(context, spec.switch, f"{path}.switch")
    edits: list[Edit] = []
    control: list[e.ControlEvent] = []
    silent = spec.carrier == "kept"
    for port in map(PortId, switch.ports if switch else ()):
        link = context.fabric.ports[port].link
        edits += [DropEvery(spec.at, port, 1, all_kinds=True) if silent else LinkState(spec.at, link, up=False)]
        edits += (
            []
            if spec.until is None
            else [
                DropEvery(spec.until, port, 0, ends=True) if silent else LinkState(spec.until, link, up=True, ends=True)
            ]
        )
    if switch and context.plan is not None:
        router = context.plan.by_name[switch.name].row
        control.append(e.RouterCrash(spec.at // PS_PER_NS, router, carrier=silent))
        if spec.until is not None:
            control.append(e.RouterBoot(spec.until // PS_PER_NS, router))
    seen = (
        ["its ports keep light and forward nothing until hold timers or BFD run out"]
        if silent
        else ["link state down at every neighbour", "frames in flight and queued for it are lost (link_down)"]
    )
    return Injected(edits, {"switches": [spec.switch], "carrier": spec.carrier}, spec.at, spec.until, seen, control)


def silent(spec: LinkSilentSpec, path: str, context: FaultContext) -> Injected:
    """Every frame that arrives at either end is discarded; no port changes state."""
    links = context.links(spec.link, f"{path}.link")
    edits: list[Edit] = []
    control: list[e.ControlEvent] = []
    for link in links:
        edits += [DropEvery(spec.at, port, 1, all_kinds=True) for port in (link.a, link.b)]
        edits += [] if spec.until is None else [DropEvery(spec.until, port, 0, ends=True) for port in (link.a, link.b)]
        cable = context.cable_of(link.id)
        if cable is not None:
            control.append(e.CableSilent(spec.at // PS_PER_NS, cable))
            control += [] if spec.until is None else [e.CableSilenceEnded(spec.until // PS_PER_NS, cable)]
    return Injected(
        edits,
        {"links": context.link_names(links)},
        spec.at,
        spec.until,
        ["no change of link state", "drops (reason injected) at both ends until routing finds out"],
        control,
    )


def bgp_crash(spec: BgpCrashSpec, path: str, context: FaultContext) -> Injected:
    """TCP connections close at once; neighbours withdraw the routes of the switch."""
    router = _router(context, spec.switch, f"{path}.switch")
    control: list[e.ControlEvent] = []
    if router is not None:
        control.append(e.DaemonCrash(spec.at // PS_PER_NS, router.row))
        control += [] if spec.until is None else [e.DaemonStart(spec.until // PS_PER_NS, router.row)]
    return Injected(
        [],
        {"switches": [spec.switch]},
        spec.at,
        spec.until,
        ["its BGP sessions are down, its links are up", "it still forwards what reaches it"],
        control,
    )


def drain(spec: DrainSpec, path: str, context: FaultContext) -> Injected:
    """GRACEFUL_SHUTDOWN on all announced routes; sessions close later, or stay."""
    router = _router(context, spec.switch, f"{path}.switch")
    control: list[e.ControlEvent] = []
    if router is not None:
        control.append(e.Drain(spec.at // PS_PER_NS, router.row, on=True))
        if spec.shutdown_after is not None:
            control.append(e.Shutdown((spec.at + spec.shutdown_after) // PS_PER_NS, router.row))
        if spec.until is not None:
            again = spec.until // PS_PER_NS
            control.append(
                e.DaemonStart(again, router.row)
                if spec.shutdown_after is not None
                else e.Drain(again, router.row, on=False)
            )
    return Injected(
        [],
        {"switches": [spec.switch]},
        spec.at,
        spec.until,
        ["neighbours prefer other paths (LOCAL_PREF 0, RFC 8326)", "no packet is lost"],
        control,
    )


def wrong_asn(spec: WrongAsnSpec, path: str, context: FaultContext) -> Injected:
    """The switch restarts BGP with another number; no neighbour accepts its OPEN."""
    router = _router(context, spec.switch, f"{path}.switch")
    control: list[e.ControlEvent] = []
    if router is not None:
        if spec.asn == router.asn:
            context.problems.append(
                Problem(f"{path}.asn", f"{spec.asn} is the right number of {router.name}", "give another one")
            )
        control.append(e.Reconfigure(spec.at // PS_PER_NS, router.row, spec.asn))
        control += [] if spec.until is None else [e.Reconfigure(spec.until // PS_PER_NS, router.row, None)]
    return Injected(
        [],
        {"switches": [spec.switch], "asn": spec.asn},
        spec.at,
        spec.until,
        ["its sessions never leave OpenConfirm: NOTIFICATION 2/2, Bad Peer AS"],
        control,
    )


def route_policy(spec: RoutePolicySpec, path: str, context: FaultContext) -> Injected:
    """Another policy at `at`; the configured one again at `until`."""
    router = _router(context, spec.switch, f"{path}.switch")
    peer = None
    control: list[e.ControlEvent] = []
    if router is not None and context.plan is not None:
        if spec.neighbour is not None:
            known = {context.plan.peer(row).name: context.plan.peer(row) for row in router.interfaces}
            peer = known.get(spec.neighbour)
            if peer is None:
                context.problems.append(
                    Problem(
                        f"{path}.neighbour",
                        f"{router.name} has no session with '{spec.neighbour}'",
                        f"its neighbours: {', '.join(known)}",
                    )
                )
        row = None if peer is None else peer.row
        control.append(e.SetPolicy(spec.at // PS_PER_NS, router.row, row, spec.direction, policy(spec.rules)))
        if spec.until is not None:
            control.append(e.SetPolicy(spec.until // PS_PER_NS, router.row, row, spec.direction, None))
    return Injected(
        [],
        {"switches": [spec.switch], "neighbour": spec.neighbour, "direction": spec.direction},
        spec.at,
        spec.until,
        ["routes of some neighbours change; sessions stay up"],
        control,
    )


def policy(rules: PolicyRules) -> Policy:
    """Rules of a scenario -> a policy of the speaker."""
    return Policy(
        tuple(
            Rule(
                Match(
                    prefixes=((it.match.prefix, it.match.least, it.match.most),) if it.match.prefix else (),
                    communities=(_community(it.match.community),) if it.match.community else (),
                    as_path_contains=(it.match.as_path,) if it.match.as_path else (),
                    families=(_FAMILIES[it.match.family],) if it.match.family else (),
                ),
                it.accept,
                Set(
                    local_pref=it.set.local_pref,
                    med=it.set.med,
                    prepend=it.set.prepend,
                    add_communities=tuple(_community(text) for text in it.set.add_community),
                ),
            )
            for it in rules
        )
    )


def _community(text: str) -> int:
    high, _, low = text.partition(":")
    return int(high) << 16 | int(low)


def _switch(context: FaultContext, name: str, path: str) -> Node | None:
    found = match_nodes(context.fabric, [name], context.fabric.switches, path, "switch", context.problems)
    if len(found) > 1:
        context.problems.append(Problem(path, f"'{name}' names {len(found)} switches", "name one"))
    return found[0] if len(found) == 1 else None


def _router(context: FaultContext, name: str, path: str) -> Router | None:
    switch = _switch(context, name, path)
    return context.plan.by_name[switch.name] if switch is not None and context.plan is not None else None

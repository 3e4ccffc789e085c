"""A Scenario -> everything a run needs, on one page: fabric, settings, traffic, faults, ideal times, model card."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fabric.control.config import ControlConfig
from fabric.control.plan import ControlPlan
from fabric.engine.edits import Edit
from fabric.errors import InputErrors, Problem
from fabric.faults.base import FaultContext
from fabric.faults.registry import Faults, build_faults
from fabric.scenario.bgp import BgpSpec
from fabric.scenario.card import run_card
from fabric.scenario.endpoints import TransportSpec
from fabric.scenario.expectations import Expectation
from fabric.scenario.hpcc import engine_params
from fabric.scenario.hpcc_lower import hpcc_flows, hpcc_settings
from fabric.scenario.layers import merge, settle
from fabric.scenario.lower import Lowering, dscp_table, needed
from fabric.scenario.models import DEFAULT_REROUTE_DELAY, default_tree
from fabric.scenario.recovery import recovery_of, takes_reordering_for_loss
from fabric.scenario.routing import control_plan
from fabric.scenario.schema import Scenario
from fabric.scenario.tenancy import Tenancy, check_tenants, tenancy_of
from fabric.scenario.traffic import Traffic, check_reachable, dscp_by_priority
from fabric.scenario.transport import frames, largest_frame, rate_problems, transport, vxlan
from fabric.scenario.values import MIN_RATE_BPS
from fabric.scenario.window import with_window
from fabric.state.codes import INFINITY_PS, TraceBit
from fabric.state.params import EngineParams
from fabric.topology.model import Fabric
from fabric.topology.paths import EcmpTable, equal_cost_ports
from fabric.topology.quantities import MAX_TIME_PS
from fabric.topology.registry import build_topology
from fabric.topology.select import such
from fabric.units import PS_PER_NS, parse_time_ps
from fabric.workload.ideal import ideal_fct_ps
from fabric.workload.qps import QpRules

if TYPE_CHECKING:
    from fabric.control.run import ControlRun, ControlScript

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CompiledScenario:
    """What the engine is driven with, and what its results are judged by."""

    name: str
    model: str
    fabric: Fabric
    params: EngineParams
    edits: Sequence[Edit]
    truth: Sequence[Mapping[str, Any]]
    """One record per fault, for truth.jsonl."""
    seed: int
    duration_ps: int
    stop_when_done: bool
    """End before the duration once every message is done or failed."""
    no_progress_ps: int
    """End once no payload has arrived for this long; 0: never."""
    sampling_ps: int
    record: TraceBit
    expectations: Sequence[Expectation]
    reroute_delay_ps: int
    labels: Sequence[str]
    """The user's name of each message."""
    ideal_ps: NDArray[np.int64]
    """Completion time of each message alone on an idle fabric."""
    card: Mapping[str, Any]
    """The model card with this run's own values."""
    control: ControlRun | None = None
    """The control plane, played to the end of the run; None with shortest-path routing."""


@dataclass(frozen=True)
class PlacedScenario:
    """A scenario of which everything is checked and in its place; nothing is played yet, not even its control plane."""

    scenario: Scenario
    fabric: Fabric
    params: EngineParams
    routes: EcmpTable
    """Equal-cost paths, with every cable up."""
    faults: Faults
    control: ControlScript | None
    """None with shortest-path routing."""


def compile_scenario(scenario: Scenario) -> CompiledScenario:
    """Compile, or raise InputErrors with every problem of the first stage that finds any."""
    return complete(place(scenario))


def place(scenario: Scenario) -> PlacedScenario:
    """Check and place everything, play nothing; or raise InputErrors with all problems of the first stage with any."""
    path = f"{scenario.file.name}: "
    problems: list[Problem] = []

    try:
        fabric = build_topology(scenario.topology, scenario.file.parent)
    except InputErrors as error:
        raise InputErrors("building the topology", [
            Problem(f"{path}topology, {it.path.removeprefix('topology.')}", it.text, it.hint)
            for it in error.problems]) from error

    slow = [link for link in fabric.links if link.rate_bps < MIN_RATE_BPS]
    if slow:
        problems.append(Problem(f"{path}topology", f"the cable at {fabric.port_name(slow[0].a)} runs at "
                                f"{slow[0].rate_bps} bit/s{such(len(slow), 'cable')}", "give 1M or more"))
    problems += [Problem(f"{path}topology", f"the cable at {fabric.port_name(link.a)} has a one-way delay of "
                         f"{link.delay_ps / 1e12:g} s", "shorten it: at most 500 s")
                 for link in fabric.links if link.delay_ps > MAX_TIME_PS][:1]
    if scenario.model == "hpcc-ns3":
        params, routes = _hpcc(scenario, fabric, path, problems)
    else:
        params, routes = _asic(scenario, fabric, path, problems)
    plan, config = _control_plan(scenario, fabric, path, problems)
    faults = build_faults(scenario.faults, FaultContext(fabric, params, scenario.run.duration, path, problems, plan,
                                                        scenario.run.seed))
    _stage("placing the faults", problems)
    control = None
    if plan is not None:
        from fabric.scenario.routed import (  # noqa: PLC0415  speakers and VTEPs are loaded where somebody speaks BGP
            control_script,
        )

        control = control_script(plan, config, faults, fabric, params)
    return PlacedScenario(scenario, fabric, params, routes, faults, control)


def complete(placed: PlacedScenario) -> CompiledScenario:
    """Play the control plane to the end of the run, and gather what a run needs."""
    scenario, fabric, params, faults, routes = (placed.scenario, placed.fabric, placed.params, placed.faults,
                                                placed.routes)
    control, edits = None, faults.edits
    if placed.control is not None:
        from fabric.control.run import run_control  # noqa: PLC0415  as in place()
        from fabric.scenario.routed import carrier_noticed, overlay_edits, routed_edits  # noqa: PLC0415
        from fabric.scenario.routed_tenants import tenant_edits  # noqa: PLC0415

        script = placed.control
        control = run_control(script.plan, script.config, script.events, scenario.run.duration // PS_PER_NS,
                              script.seed)
        segments = params.vxlan.segments if params.vxlan is not None else ()
        floods = params.vxlan is not None and (bool(params.vxlan.asks) or params.vxlan.floods_unknown)
        edits = routed_edits(control, routes, faults.edits,
                             [*overlay_edits(control, fabric, segments), *tenant_edits(control, floods=floods)],
                             carrier_noticed(faults.edits, fabric, params, script.config.prune_delay_ns * PS_PER_NS))

    delay = scenario.run.reroute_delay
    no_progress = scenario.run.no_progress
    return CompiledScenario(
        name=scenario.name, model=scenario.model, fabric=fabric, params=params, edits=edits, truth=faults.truth,
        seed=scenario.run.seed,
        duration_ps=scenario.run.duration, stop_when_done=scenario.run.stop == "done",
        no_progress_ps=no_progress if isinstance(no_progress, int) else 0, sampling_ps=scenario.telemetry.interval,
        record=TraceBit(sum(TraceBit[event.upper()] for event in set(scenario.telemetry.events))),
        expectations=scenario.expectations,
        reroute_delay_ps=INFINITY_PS if control is not None
        else parse_time_ps(DEFAULT_REROUTE_DELAY) if delay is None else delay,
        labels=params.messages.label, ideal_ps=ideal_fct_ps(fabric, params, routes),
        card=run_card(scenario, fabric, params), control=control)


def _control_plan(scenario: Scenario, fabric: Fabric, path: str,
                  problems: list[Problem]) -> tuple[ControlPlan | None, ControlConfig]:
    """Who speaks BGP, and how; None with shortest-path routing."""
    if scenario.routing != "bgp":
        return None, ControlConfig()
    plan, config = control_plan(scenario.bgp or BgpSpec(), scenario.vxlan, fabric, path, problems)
    _stage("placing the routers", problems)
    return plan, config


def _stage(name: str, problems: Sequence[Problem]) -> None:
    """The end of a stage: all its problems together."""
    if problems:
        raise InputErrors(name, problems)


def _asic(scenario: Scenario, fabric: Fabric, path: str, problems: list[Problem]) -> tuple[EngineParams, EcmpTable]:
    """(engine parameters, equal-cost paths) under `model: asic`."""
    seed, defaults, pfc = scenario.run.seed, default_tree(scenario.model), scenario.pfc == "on"
    settings = settle(fabric, scenario.model, scenario.switches, scenario.hosts, path, problems)
    rdma = merge(TransportSpec.model_validate(defaults["transport"]), scenario.transport)
    rdma = rdma.model_copy(update={"recovery": recovery_of(scenario)})
    if takes_reordering_for_loss(scenario):
        log.warning("switches spray packets, which then overtake each other, and transport.recovery: %s takes every "
                    "packet that was overtaken for a loss; use recovery: out-of-order", rdma.recovery)
    frame = frames(rdma)
    _stage("checking the settings", problems)
    switches, ports, hosts = Lowering(fabric, settings, path, seed, problems, pfc=pfc).run()
    largest = largest_frame(rdma)
    short = [port for host in fabric.hosts for port in host.ports if ports[port].mtu_bytes < largest]
    if short:
        problems.append(Problem(f"{path}hosts.mtu", f"{fabric.port_name(short[0])} takes frames of "
                                f"{ports[short[0]].mtu_bytes} B, and transport.mtu makes frames of {largest} B"
                                f"{such(len(short), 'port')}",
                                "raise hosts.mtu or lower transport.mtu"))
    slowest = min(fabric.links[fabric.ports[host.first_port].link].rate_bps for host in fabric.hosts)
    problems += rate_problems(rdma, slowest, path)
    _stage("checking the settings", problems)

    traffic = Traffic(scenario, fabric, problems)
    leaf = settings.switches[fabric.peer_of(fabric.hosts[0].first_port).id] if fabric.switches else None
    table = dscp_table(needed(leaf))
    dscp_of = dscp_by_priority(table, needed(rdma.dscp))
    problems += [Problem(f"{path}workload", f"priority {priority} is wanted, but no DSCP leads to it",
                         "give switches.dscp_to_tc an entry for it")
                 for priority in sorted(traffic.priorities()) if priority >= 0 and priority not in dscp_of]
    _stage("making the traffic", problems)
    policy = needed(rdma.qp)
    messages, queue_pairs = traffic.join(dscp_of, table[needed(rdma.dscp)], QpRules(
        policy.per, policy.count, needed(rdma.source_port), needed(rdma.nic_port)), seed)
    tenancy = Tenancy() if scenario.vxlan is None else tenancy_of(scenario.vxlan, fabric, path, problems)
    check_tenants(tenancy, fabric, messages, traffic.place, problems)
    overlay = vxlan(scenario.vxlan, tenancy, by_host=scenario.routing != "bgp")
    if overlay is not None:
        overlay = replace(overlay, asks=traffic.asks(overlay))
    else:
        traffic.asks(None)
    if scenario.vxlan is not None and scenario.vxlan.silent and scenario.routing != "bgp":
        problems.append(Problem(f"{path}vxlan.silent", "has no effect without routing: bgp, which alone says what "
                                "leaves know", "add routing: bgp, or remove it"))
    if scenario.vxlan is not None and not traffic.crosses_leaves():
        problems.append(Problem(f"{path}vxlan", "has no effect: no message leaves its leaf",
                                "remove it, or send between leaves"))
    multihomed = any(host.n_ports > 1 for host in fabric.hosts)
    if scenario.transport.nic_port not in {None, defaults["transport"]["nic_port"]} and not multihomed:
        problems.append(Problem(f"{path}transport.nic_port", "has no effect: every host has one port", "remove it"))
    routes = equal_cost_ports(fabric)
    problems += check_reachable(fabric, routes, queue_pairs, path)
    _stage("making the traffic", problems)

    addresses = tenancy.addresses(fabric)
    params = EngineParams(
        seed=seed, frames=frame, transport=transport(rdma, slowest), switches=switches, ports=ports, hosts=hosts,
        host_ip=np.where(np.arange(len(fabric.nodes)) < len(fabric.hosts), addresses.host_ip,
                         addresses.loopback).astype(np.int64),
        messages=messages, queue_pairs=queue_pairs, vxlan=overlay, initial_ttl=needed(rdma.ttl),
        egress_detail=any(it.egress is not None for it in settings.switch_ports.values())
        or any(it.egress_pools is not None for it in settings.switches.values()))
    return with_window(scenario, fabric, params, routes), routes


def _hpcc(scenario: Scenario, fabric: Fabric, path: str, problems: list[Problem]) -> tuple[EngineParams, EcmpTable]:
    """(engine parameters, equal-cost paths) under `model: hpcc-ns3`."""
    settings = hpcc_settings(scenario, fabric, path, problems)
    _stage("checking the settings", problems)
    traffic = Traffic(scenario, fabric, problems)
    _stage("making the traffic", problems)
    flows = hpcc_flows(traffic, path, scenario.run.seed, problems)
    _stage("making the traffic", problems)
    params = engine_params(fabric, settings, flows, scenario.run.seed)
    routes = equal_cost_ports(fabric)
    problems += check_reachable(fabric, routes, params.queue_pairs, path)
    _stage("making the traffic", problems)
    return params, routes

"""A Scenario -> a compiled scenario: fabric, settings, traffic, faults, ideal times, model card."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.controlplane.network.config import ControlConfig
from fabric.controlplane.network.plan import ControlPlan
from fabric.dataplane.engine.edits import Edit, FibRoute
from fabric.dataplane.state.codes import INFINITY_PS, TraceBit
from fabric.dataplane.state.params import EngineParams
from fabric.errors import InputErrors, Problem
from fabric.faults.base import FaultContext
from fabric.faults.registry import Faults, build_faults
from fabric.scenario.card import run_card
from fabric.scenario.compile.controls import rate_problems
from fabric.scenario.compile.given import given_routes
from fabric.scenario.compile.job_tenants import with_job_tenants
from fabric.scenario.compile.laws import chooser, completed, law_problems, of_each, unused, with_laws
from fabric.scenario.compile.layers import merge, settle
from fabric.scenario.compile.lower import Lowering, dscp_table, needed
from fabric.scenario.compile.ns3_rdma_lower import ns3_rdma_flows, ns3_rdma_settings
from fabric.scenario.compile.recovery import recovery_of, source_routed, takes_reordering_for_loss
from fabric.scenario.compile.routing import control_plan
from fabric.scenario.compile.scale_up import has_scale_up, scale_up_ports, scale_up_problems, unit_bytes, with_units
from fabric.scenario.compile.source_routes import begun, mixed, unnamed
from fabric.scenario.compile.streams import check_streams, compile_streams
from fabric.scenario.compile.tenancy import Tenancy, check_tenants, tenancy_of
from fabric.scenario.compile.traffic import Traffic, check_reachable, dscp_by_priority
from fabric.scenario.compile.transfers import records_messages
from fabric.scenario.compile.transport import frames, largest_frame, source_routes, transport, udp_header_bytes, vxlan
from fabric.scenario.compile.window import with_window
from fabric.scenario.estimate.admission import Admit, compiling
from fabric.scenario.estimate.estimator import estimate, fabric_estimate
from fabric.scenario.estimate.figures import Estimate
from fabric.scenario.presets.models import DEFAULT_REROUTE_DELAY, default_tree
from fabric.scenario.presets.ns3_rdma import engine_params
from fabric.scenario.schema.bgp import BgpSpec
from fabric.scenario.schema.endpoints import TransportSpec
from fabric.scenario.schema.expectations import Expectation
from fabric.scenario.schema.scenario import Scenario
from fabric.scenario.schema.values import MIN_RATE_BPS
from fabric.topology.model import Fabric
from fabric.topology.paths import EcmpTable, equal_cost_ports
from fabric.topology.quantities import MAX_TIME_PS
from fabric.topology.registry import build_topology
from fabric.topology.risk_groups import risk_groups
from fabric.topology.select import such
from fabric.topology.spec import CustomSpec
from fabric.units import PS_PER_NS, parse_time_ps
from fabric.workload.ideal import ideal_fct_ps, ideal_transfers_ps
from fabric.workload.qps import QpRules

if TYPE_CHECKING:
    from fabric.controlplane.network.run import ControlRun, ControlScript

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CompiledScenario:
    """The input of the engine, and the expectations of its results."""

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
    keep_messages: bool
    """The times of every message of transfers are results (telemetry.transfer_messages)."""
    """The user's name of each message."""
    ideal_ps: NDArray[np.int64]
    """Completion time of each message alone on an idle fabric."""
    card: Mapping[str, Any]
    """The model card with the values of this run."""
    ideal_transfers_ps: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 2), np.int64))
    """(n_transfers, 2) likewise of short and long messages of transfers; empty where their times are no results."""
    control: ControlRun | None = None
    """The control plane, simulated to the end of the run; None with shortest-path routing."""
    estimate: Estimate | None = None
    """The estimate of the run, made before anything large; None where it was not requested."""


@dataclass(frozen=True)
class PlacedScenario:
    """A checked scenario on its fabric, before any simulation, also of its control plane."""

    scenario: Scenario
    fabric: Fabric
    params: EngineParams
    routes: EcmpTable
    """Equal-cost paths, with every cable up."""
    faults: Faults
    control: ControlScript | None
    """None with shortest-path routing."""
    estimate: Estimate | None = None


_DEFAULT: Final[Admit] = lambda _estimate: None  # noqa: E731  stands for compiling(), which needs the scenario


def compile_scenario(
    scenario: Scenario, admit: Admit | None = _DEFAULT, until_ps: int | None = None
) -> CompiledScenario:
    """Compile, or raise InputErrors with every problem of the first stage that has problems. Parameters: as place()."""
    return complete(place(scenario, admit, until_ps))


def place(scenario: Scenario, admit: Admit | None = _DEFAULT, until_ps: int | None = None) -> PlacedScenario:
    """Check a scenario and place it on its fabric, without simulation.

    Parameters
    ----------
    admit : callable, optional    refuses a fabric or a run that is too large before it is made; absent: refuses only
                                  what cannot be compiled here; None: no estimate is made
    until_ps : int, optional      end of the estimated run, earlier than run.duration

    Raises: InputErrors with every problem of the first stage that has problems.
    """
    path = f"{scenario.file.name}: "
    problems: list[Problem] = []
    if admit is _DEFAULT:
        admit = compiling(scenario.file.name)
    fabric = admitted_fabric(scenario, admit)
    size = None
    if admit is not None:
        size = estimate(scenario, fabric, until_ps)
        admit(size)

    slow = [link for link in fabric.links if link.rate_bps < MIN_RATE_BPS]
    if slow:
        problems.append(
            Problem(
                f"{path}topology",
                f"the cable at {fabric.port_name(slow[0].a)} runs at "
                f"{slow[0].rate_bps} bit/s{such(len(slow), 'cable')}",
                "give 1M or more",
            )
        )
    problems += [
        Problem(
            f"{path}topology",
            f"the cable at {fabric.port_name(link.a)} has a one-way delay of {link.delay_ps / 1e12:g} s",
            "shorten it: at most 500 s",
        )
        for link in fabric.links
        if link.delay_ps > MAX_TIME_PS
    ][:1]
    if has_scale_up(fabric):
        problems += scale_up_problems(scenario, path)
        _stage("checking the settings", problems)
    if scenario.vxlan is not None and len(fabric.networks) > 1:
        text = "an overlay is not modelled where hosts have ports to several networks"
        problems.append(
            Problem(f"{path}vxlan", text, "remove vxlan, or use one network: topology.storage.network: shared")
        )
        _stage("checking the settings", problems)
    unplaced: list[Problem] = []
    scenario = with_job_tenants(scenario, fabric, unplaced)
    _stage("placing the jobs", unplaced)
    if scenario.model == "hpcc-ns3":
        params, routes = _ns3_rdma(scenario, fabric, path, problems)
    else:
        params, routes = _asic(scenario, fabric, path, problems)
    plan, config = _control_plan(scenario, fabric, path, problems)
    given: tuple[FibRoute, ...] = ()
    if scenario.routes is not None:
        given = given_routes(scenario.routes, fabric, params.host_ip, routes, f"{path}routes", problems)
        _stage("placing the routes", problems)
    faults = build_faults(
        scenario.faults, FaultContext(fabric, params, scenario.run.duration, path, problems, plan, scenario.run.seed)
    )
    _stage("placing the faults", problems)
    risk_groups(fabric, scenario.risk_groups or {}, f"{path}risk_groups", problems)
    _stage("placing the risk groups", problems)
    control = None
    if plan is not None:
        from fabric.scenario.compile.routed import control_script  # noqa: PLC0415

        control = control_script(plan, config, faults, fabric, params)
    if given:
        faults = replace(faults, edits=(*given, *faults.edits))
    return PlacedScenario(scenario, fabric, params, routes, faults, control, size)


def admitted_fabric(scenario: Scenario, admit: Admit | None = None) -> Fabric:
    """Build the fabric if `admit` accepts its size. Raises: InputErrors."""
    if admit is not None and not isinstance(scenario.topology, CustomSpec):
        admit(fabric_estimate(scenario, scenario.topology.shape))
    try:
        return build_topology(scenario.topology, scenario.file.parent)
    except InputErrors as error:
        raise InputErrors(
            "building the topology",
            [
                Problem(f"{scenario.file.name}: topology, {it.path.removeprefix('topology.')}", it.text, it.hint)
                for it in error.problems
            ],
        ) from error


def complete(placed: PlacedScenario) -> CompiledScenario:
    """Simulate the control plane to the end of the run, and return the compiled scenario."""
    scenario, fabric, params, faults, routes = (
        placed.scenario,
        placed.fabric,
        placed.params,
        placed.faults,
        placed.routes,
    )
    control, edits = None, faults.edits
    if placed.control is not None:
        from fabric.controlplane.network.run import run_control  # noqa: PLC0415  as in place()
        from fabric.scenario.compile.routed import carrier_noticed, overlay_edits, routed_edits  # noqa: PLC0415
        from fabric.scenario.compile.routed_tenants import tenant_edits  # noqa: PLC0415

        script = placed.control
        control = run_control(
            script.plan, script.config, script.events, scenario.run.duration // PS_PER_NS, script.seed
        )
        segments = params.vxlan.segments if params.vxlan is not None else ()
        floods = params.vxlan is not None and params.vxlan.floods
        edits = routed_edits(
            control,
            routes,
            faults.edits,
            [*overlay_edits(control, fabric, segments), *tenant_edits(control, floods=floods)],
            carrier_noticed(faults.edits, fabric, params, script.config.prune_delay_ns * PS_PER_NS),
        )

    delay = scenario.run.reroute_delay
    no_progress = scenario.run.no_progress
    keep_messages = records_messages(scenario, params.transfers.rows.n_messages)
    return CompiledScenario(
        name=scenario.name,
        model=scenario.model,
        fabric=fabric,
        params=params,
        edits=edits,
        truth=faults.truth,
        seed=scenario.run.seed,
        duration_ps=scenario.run.duration,
        stop_when_done=scenario.run.stop == "done",
        no_progress_ps=no_progress if isinstance(no_progress, int) else 0,
        sampling_ps=scenario.sampling_ps,
        record=TraceBit(sum(TraceBit[event.upper()] for event in set(scenario.telemetry.events))),
        expectations=scenario.expectations,
        reroute_delay_ps=INFINITY_PS
        if control is not None or scenario.routing == "given"
        else parse_time_ps(DEFAULT_REROUTE_DELAY)
        if delay is None
        else delay,
        labels=params.messages.label,
        keep_messages=keep_messages,
        ideal_ps=of_each(params, params.messages.qp, lambda it: ideal_fct_ps(fabric, it, routes)),
        ideal_transfers_ps=of_each(params, params.transfers.qp, lambda it: ideal_transfers_ps(fabric, it, routes))
        if keep_messages
        else np.empty((0, 2), np.int64),
        card=run_card(scenario, fabric, params),
        control=control,
        estimate=placed.estimate,
    )


def _control_plan(
    scenario: Scenario, fabric: Fabric, path: str, problems: list[Problem]
) -> tuple[ControlPlan | None, ControlConfig]:
    """The BGP speakers and their configuration; None with shortest-path routing."""
    if scenario.routing != "bgp":
        return None, ControlConfig()
    plan, config = control_plan(scenario.bgp or BgpSpec(), scenario.vxlan, fabric, path, problems)
    _stage("placing the routers", problems)
    return plan, config


def _stage(name: str, problems: Sequence[Problem]) -> None:
    """End a stage. Raises: InputErrors with all problems of the stage."""
    if problems:
        raise InputErrors(name, problems)


def _asic(scenario: Scenario, fabric: Fabric, path: str, problems: list[Problem]) -> tuple[EngineParams, EcmpTable]:
    """(engine parameters, equal-cost paths) under `model: asic`."""
    seed, defaults, pfc = scenario.run.seed, default_tree(scenario.model), scenario.pfc == "on"
    settings = settle(fabric, scenario.model, scenario.switches, scenario.hosts, path, problems)
    rdma = merge(TransportSpec.model_validate(defaults["transport"]), scenario.transport)
    rdma = rdma.model_copy(update={"recovery": recovery_of(scenario)})
    if source_routed(scenario):
        problems += mixed(fabric, settings, path)
    else:
        rdma = rdma.model_copy(update={"source_routes": None})
    if takes_reordering_for_loss(scenario):
        log.warning(
            "%s spray packets, which then overtake each other, and transport.recovery: %s treats every "
            "overtaken packet as lost; use recovery: out-of-order%s",
            "NICs" if source_routed(scenario) else "switches",
            rdma.recovery,
            ", or transport.source_routes.choice: queue-pair" if source_routed(scenario) else "",
        )
    frame, others = frames(rdma), completed(scenario, rdma)
    _stage("checking the settings", problems)
    header = max(frames(it).data_header_bytes for it in (rdma, *others))
    longest = header + frame.reth_bytes + frame.payload_bytes
    longest += frame.vxlan_bytes if scenario.vxlan is not None else 0
    switches, ports, hosts = Lowering(fabric, settings, seed, problems, pfc=pfc, roce_frame_bytes=longest).run()
    unit = unit_bytes(scenario)
    if has_scale_up(fabric):
        ports = list(scale_up_ports(fabric, ports, frame, unit))
    largest = max(largest_frame(it) for it in (rdma, *others))
    short = [port for host in fabric.hosts for port in host.ports if ports[port].mtu_bytes < largest]
    if short:
        problems.append(
            Problem(
                settings.host_origins[fabric.ports[short[0]].node].place("mtu"),
                f"{fabric.port_name(short[0])} takes frames of "
                f"{ports[short[0]].mtu_bytes} B, and transport.mtu makes frames of {largest} B"
                f"{such(len(short), 'port')}",
                "raise hosts.mtu or lower transport.mtu",
            )
        )
    slowest = min(fabric.links[fabric.ports[host.first_port].link].rate_bps for host in fabric.hosts)
    problems += rate_problems(rdma, slowest, path)
    problems += law_problems(rdma, others, slowest, path)
    _stage("checking the settings", problems)

    traffic = Traffic(scenario, fabric, problems)
    leaf = settings.switch_ports[fabric.ports[fabric.hosts[0].first_port].peer] if fabric.switches else None
    table = dscp_table(needed(leaf))
    dscp_of = dscp_by_priority(table, needed(rdma.dscp))
    problems += [
        Problem(
            f"{path}workload",
            f"priority {priority} is wanted, but no DSCP leads to it",
            "give switches.dscp_to_tc an entry for it",
        )
        for priority in sorted(traffic.priorities())
        if priority >= 0 and priority not in dscp_of
    ]
    _stage("making the traffic", problems)
    streams = compile_streams(traffic.streams, fabric, ports, udp_header_bytes(rdma), problems)
    policy = needed(rdma.qp)
    messages, transfers, queue_pairs = traffic.join(
        dscp_of,
        table[needed(rdma.dscp)],
        QpRules(policy.per, policy.count, needed(rdma.source_port), needed(rdma.nic_port)),
        seed,
        chooser(scenario, fabric, path, problems) if others else None,
    )
    problems += unused(scenario, queue_pairs.law, path) if not problems else []
    tenancy = Tenancy() if scenario.vxlan is None else tenancy_of(scenario.vxlan, fabric, path, problems)
    ends = np.concatenate([[messages.src, messages.dst], [transfers.rows.src, transfers.rows.dst]], axis=1)
    check_tenants(tenancy, fabric, ends, traffic.place, problems)
    overlay = vxlan(scenario.vxlan, tenancy, by_host=scenario.routing != "bgp")
    if overlay is not None:
        overlay = replace(overlay, asks=traffic.requests(overlay))
    else:
        traffic.requests(None)
    if scenario.vxlan is not None and scenario.vxlan.silent and scenario.routing != "bgp":
        problems.append(
            Problem(
                f"{path}vxlan.silent",
                "has no effect without routing: bgp, which decides the hosts that leaves know",
                "add routing: bgp, or remove it",
            )
        )
    if scenario.vxlan is not None and not traffic.crosses_leaves():
        problems.append(
            Problem(f"{path}vxlan", "has no effect: no message leaves its leaf", "remove it, or send between leaves")
        )
    if has_scale_up(fabric):
        queue_pairs = with_units(fabric, queue_pairs, frame, unit)
    multihomed = any(len(fabric.network_ports(host.id)) > 1 for host in fabric.hosts)
    if scenario.transport.nic_port not in {None, defaults["transport"]["nic_port"]}:
        if not multihomed:
            problems.append(Problem(f"{path}transport.nic_port", "has no effect: every host has one port", "remove it"))
        elif source_routed(scenario):
            text = (
                "has no effect with load_balancing: source-routed: a queue pair takes the routes of all ports in turn"
            )
            problems.append(Problem(f"{path}transport.nic_port", text, "remove it, or use another load_balancing"))
    bgp = scenario.bgp
    if bgp is not None and scenario.vxlan is not None and bgp.bond_delay != BgpSpec().bond_delay and not multihomed:
        problems.append(Problem(f"{path}bgp.bond_delay", "has no effect: every host has one port", "remove it"))
    routes = equal_cost_ports(fabric)
    if source_routed(scenario):
        queue_pairs = begun(fabric, seed, routes, queue_pairs)
    problems += check_reachable(fabric, routes, queue_pairs, path)
    if source_routed(scenario):
        problems += unnamed(fabric, routes, queue_pairs, path)
    check_streams(traffic.streams, streams, fabric, tenancy, routes, path, problems)
    _stage("making the traffic", problems)

    addresses = tenancy.addresses(fabric)
    params = EngineParams(
        seed=seed,
        frames=frame,
        transport=transport(rdma, slowest),
        switches=switches,
        ports=ports,
        hosts=hosts,
        host_ip=np.where(
            np.arange(len(fabric.nodes)) < len(fabric.hosts), addresses.host_ip, addresses.loopback
        ).astype(np.int64),
        messages=messages,
        transfers=transfers,
        queue_pairs=queue_pairs,
        streams=streams,
        vxlan=overlay,
        source_routes=source_routes(rdma),
        initial_ttl=needed(rdma.ttl),
        egress_detail=any(it.egress is not None for it in settings.switch_ports.values())
        or any(it.egress_pools is not None for it in settings.switches.values()),
    )
    params = with_laws(scenario, others, slowest, fabric, params, routes)
    return with_window(scenario, fabric, params, routes), routes


def _ns3_rdma(scenario: Scenario, fabric: Fabric, path: str, problems: list[Problem]) -> tuple[EngineParams, EcmpTable]:
    """(engine parameters, equal-cost paths) under `model: hpcc-ns3`."""
    settings = ns3_rdma_settings(scenario, fabric, path, problems)
    _stage("checking the settings", problems)
    traffic = Traffic(scenario, fabric, problems)
    _stage("making the traffic", problems)
    flows = ns3_rdma_flows(traffic, path, scenario.run.seed, problems)
    _stage("making the traffic", problems)
    params = engine_params(fabric, settings, flows, scenario.run.seed)
    routes = equal_cost_ports(fabric)
    problems += check_reachable(fabric, routes, params.queue_pairs, path)
    _stage("making the traffic", problems)
    return params, routes

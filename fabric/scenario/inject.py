"""Faults injected into a running simulation: requests become dated edits, or problems with remedies.

A request is an entry of a scenario's `faults:` with two differences: an absent `at` means now, and `at` and `until` may
be counted from now, as '+500us'. `fabric serve` and `fabric.Emulator` share this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import Field, ValidationError

from fabric.dataplane.engine import edits as e
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.engine.edits import Edit, LinkRate
from fabric.dataplane.state.params import EngineParams
from fabric.errors import FabricError, InputErrors, Problem, UnitError
from fabric.faults.base import FaultContext, held_by
from fabric.faults.control_spec import NEEDS_BGP
from fabric.faults.registry import FAULTS
from fabric.faults.spec import FaultSpec
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.problems import explain
from fabric.scenario.schema.scenario import Scenario
from fabric.topology.model import Fabric
from fabric.topology.quantities import exact_time
from fabric.topology.spec import Strict
from fabric.units import format_time_ps, parse_time_ps

CONTROL_ONLY: Final = NEEDS_BGP
"""Faults that only routers and VTEPs notice; without a control plane they have no effect."""
_PREFIX: Final = "request: faults[0]"


class _Faults(Strict):
    """One fault at its place in a scenario, so that problems are explained as those of a scenario."""

    faults: tuple[FaultSpec, ...] = Field(strict=False)


@dataclass(frozen=True, slots=True)
class Change:
    """A request, ready to be scheduled."""

    kind: str
    start_ps: int
    edits: Sequence[Edit]
    objects: Mapping[str, Any]
    truth: Mapping[str, Any] | None = None
    """The line of truth.jsonl; only of a fault."""
    spec: FaultSpec | None = None
    """The fault with its dates; only of a fault."""


def fault_change(raw: Mapping[str, Any], now_ps: int, compiled: CompiledScenario, name: str) -> Change:
    """A fault of the scenario's schema, from `now_ps` on.

    Parameters
    ----------
    raw : mapping                    the request
    now_ps : int                     the first moment that can still be changed
    compiled : CompiledScenario      with the settings in force and all edits so far
    name : str                       name in the truth records where the request has none

    Raises: InputErrors with every problem of the request.
    """
    problems: list[Problem] = []
    dated = {"at": "+0s", **raw}
    for field in ("at", "until"):
        if isinstance(dated.get(field), str) and dated[field].startswith("+"):
            try:
                dated[field] = exact_time(now_ps + parse_time_ps(dated[field][1:]))
            except UnitError as error:
                problems.append(Problem(f"fault.{field}", error.text, error.hint))
    if problems:
        raise InputErrors("checking the fault", problems)
    whole = {"faults": [dated]}
    try:
        spec = _Faults.model_validate(whole).faults[0]
    except ValidationError as error:
        raise InputErrors(
            "checking the fault",
            [Problem(it.path.replace(_PREFIX, "fault"), it.text, it.hint) for it in explain(error, whole, "request")],
        ) from error
    if spec.at < now_ps:
        problems.append(
            Problem(
                "fault.at",
                f"{format_time_ps(spec.at)} is past; simulated time is {format_time_ps(now_ps)}",
                "leave it out, or count from now: '+100us'",
            )
        )
    elif spec.at >= compiled.duration_ps:
        problems.append(
            Problem(
                "fault.at",
                f"{format_time_ps(spec.at)} is after the end of the pass, {format_time_ps(compiled.duration_ps)}",
                "give an earlier time",
            )
        )
    if compiled.control is None and spec.kind in CONTROL_ONLY:
        raise InputErrors(
            "placing the fault",
            [
                *problems,
                Problem(
                    "fault.kind",
                    f"'{spec.kind}' has no effect: this scenario has no control plane",
                    "serve a scenario with routing: bgp",
                ),
            ],
        )
    if spec.kind == "route" and compiled.params.source_routes is not None and compiled.params.streams is None:
        text = "'route' has no effect: NICs choose paths, and switches route no packet of RDMA"
        raise InputErrors("placing the fault", [*problems, Problem("fault.kind", text, "inject link-down instead")])
    plan = None if compiled.control is None else compiled.control.plan
    context = FaultContext(compiled.fabric, compiled.params, compiled.duration_ps, "", problems, plan, compiled.seed)
    injected = FAULTS[spec.kind](spec, "fault", context)
    edits = held_by(name, injected)
    _check_rates(edits, compiled, problems)
    if problems:
        raise InputErrors("placing the fault", problems)
    return Change(
        spec.kind,
        spec.at,
        edits,
        injected.objects,
        injected.record(spec.name or name, spec.kind, compiled.duration_ps),
        spec,
    )


def _check_rates(edits: Sequence[Edit], compiled: CompiledScenario, problems: list[Problem]) -> None:
    """The engine has room for a fixed number of link rates beside those of the topology."""
    known = {link.rate_bps for link in compiled.fabric.links}
    rates = {edit.rate_bps for edit in [*compiled.edits, *edits] if isinstance(edit, LinkRate)} - known
    if len(rates) > compiled.params.spare_rate_rows:
        problems.append(
            Problem(
                "fault.rate",
                f"this would be link rate number {len(rates)} of this pass, and "
                f"{compiled.params.spare_rate_rows} can differ from the topology's",
                "use a rate that a cable has or had",
            )
        )


def rerouted(
    scenario: Scenario, faults: Sequence[FaultSpec], before: CompiledScenario, now_ps: int
) -> CompiledScenario:
    """The scenario, which has a control plane, compiled again with the faults that were injected while it ran.

    The control plane is a function of the dated faults (docs/decisions/0009), so no edit
    before the newest fault can differ from those of `before`, the scenario as compiled until now.

    Raises: FabricError where the result would change simulated time that has passed.
    """
    # The run was admitted when it began.
    after = compile_scenario(scenario.model_copy(update={"faults": (*scenario.faults, *faults)}), None)
    past, known = ([edit for edit in it.edits if edit.time_ps < now_ps] for it in (after, before))
    if past != known:
        raise FabricError("the fault would change simulated time that has passed", "inject it a little later")
    return after


class LiveEmulator(Emulator):
    """The emulator of `fabric run`, built from a compiled scenario."""

    def __init__(self, compiled: CompiledScenario, **options: Any) -> None:  # noqa: ANN401  the base's own options
        super().__init__(
            compiled.fabric,
            compiled.params,
            compiled.edits,
            record=compiled.record,
            reroute_delay_ps=compiled.reroute_delay_ps,
            **options,
        )

    def replan(self, edits: Sequence[e.Edit]) -> None:
        """Replace all edits that have not been applied yet."""
        self._edits[self._applied :] = sorted(edits, key=lambda edit: edit.time_ps)


def settings_after(fabric: Fabric, params: EngineParams, edits: Iterable[e.Edit]) -> EngineParams:
    """The configuration after `edits` in their order, from which the next change starts."""
    ports, switches, hosts = list(params.ports), dict(params.switches), dict(params.hosts)
    for edit in edits:
        match edit:
            case e.QueueEcn():
                queues = list(ports[edit.port].queues)
                queues[edit.queue] = replace(queues[edit.queue], ecn=edit.ecn)
                ports[edit.port] = replace(ports[edit.port], queues=tuple(queues))
            case e.PgThreshold():
                groups = list(ports[edit.port].pgs)
                groups[edit.pg] = edit.pg_params
                ports[edit.port] = replace(ports[edit.port], pgs=tuple(groups))
            case e.FlowControlClasses():
                flow_control = replace(ports[edit.port].flow_control, classes=edit.classes)
                ports[edit.port] = replace(ports[edit.port], flow_control=flow_control)
            case e.LinkErrors():
                for port in (fabric.links[edit.link].a, fabric.links[edit.link].b):
                    ports[port] = replace(ports[port], bit_error_ratio=edit.bit_error_ratio)
            case e.HostDrain():
                hosts[edit.host] = replace(hosts[edit.host], drain_bps=edit.drain_bps)
            case e.WatchdogSet():
                switches[edit.switch] = replace(switches[edit.switch], watchdog=edit.watchdog, port_watchdogs={})
            case e.DscpMap():
                now = replace(params, ports=ports, switches=switches)
                ports[edit.port] = replace(ports[edit.port], dscp_to_tc=dscp_map(fabric, now, edit.like))
            case e.PortMtu():
                ports[edit.port] = replace(ports[edit.port], mtu_bytes=edit.mtu_bytes)
            case e.HashSeed():
                switches[edit.switch] = replace(switches[edit.switch], hash_seed=edit.seed)
            case _:  # changes no setting: a cable, a NIC or a route
                pass
    return replace(params, ports=ports, switches=switches, hosts=hosts)


def dscp_map(fabric: Fabric, params: EngineParams, port: int) -> tuple[int, ...]:
    """Traffic class of each DSCP at a port of a switch: its own map, or that of its switch."""
    return params.ports[port].dscp_to_tc or params.switches[fabric.ports[port].node].dscp_to_tc

"""What an operator may break or change in a running scenario: requests become dated edits, or problems with remedies.

Faults are the scenario's own (`faults:`), with two liberties: `at` may be left out and means now, and `at` and `until`
may be given from now, as '+500us'. Changes are what playbooks call acts, and the ways back that a playbook never needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal, Self, cast

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from fabric.engine.edits import Edit, LinkRate, LinkState, QueueEcn, WatchdogSet
from fabric.errors import InputErrors, Problem, UnitError
from fabric.faults.base import FaultContext, held_by
from fabric.faults.registry import FAULTS
from fabric.faults.spec import ConfigDriftSpec, FaultSpec
from fabric.scenario.compile import CompiledScenario
from fabric.scenario.problems import explain
from fabric.topology.quantities import SizeBytes, exact_time
from fabric.topology.select import match_links, match_nodes, match_ports
from fabric.topology.spec import Strict
from fabric.units import format_time_ps, parse_time_ps
from playbooks.acts import ActSpec, Names, edits_of
from telemetry.live.openapi import Schemas

CONTROL_ONLY: Final = frozenset({"bgp-crash", "drain", "wrong-asn", "route-policy", "mac-move", "host-leave",
                                 "endpoint-churn"})
"""Faults that only routers and VTEPs notice: without a control plane nobody does."""
_REF: Final = "#/components/schemas/{model}"
_PREFIX: Final = "request: faults[0]"


class NoShut(Strict):
    """Put cables back into service."""

    kind: Literal["no-shut"]
    link: str = Field(min_length=1, description="Cables: 'leaf1--spine1' or a port such as 'leaf1:Ethernet0'.")


class WatchdogOff(Strict):
    """Switch the PFC watchdog off; stormed queues are restored."""

    kind: Literal["watchdog-off"]
    switches: Names = Field(description="Switches by name or pattern.")


class EcnOff(Strict):
    """Stop marking; kind 'ecn' marks again."""

    kind: Literal["ecn-off"]
    ports: str = Field(min_length=1, description="'switch:port', either part a pattern; a switch means all its ports.")


class Thresholds(Strict):
    """Other buffer thresholds of the lossless priority groups."""

    kind: Literal["thresholds"]
    ports: str = Field(min_length=1, description="'switch:port', either part a pattern; a switch means all its ports.")
    dynamic_th: int | None = Field(None, ge=-8, le=7, description="Dynamic threshold: alpha is 2 to this power.")
    headroom: SizeBytes | None = Field(None, description="Headroom.")

    @model_validator(mode="after")
    def _has_effect(self) -> Self:
        if self.dynamic_th is None and self.headroom is None:
            raise ValueError("neither dynamic_th nor headroom is given; give one of them")
        return self


class Pfc(Strict):
    """Other priorities with PFC."""

    kind: Literal["pfc"]
    ports: str = Field(min_length=1, description="'switch:port', either part a pattern; a switch means all its ports.")
    priorities: Annotated[tuple[Annotated[int, Field(ge=0, le=7)], ...], Field(strict=False)] = Field(
        description="Priorities with PFC; [] for none.")


ConfigChange = Annotated[ActSpec | NoShut | WatchdogOff | EcnOff | Thresholds | Pfc, Field(discriminator="kind")]
"""The body of POST /api/v1/config."""


class _Faults(Strict):
    """One fault where a scenario has it, so that problems are explained as a scenario's."""

    faults: tuple[FaultSpec, ...] = Field(strict=False)


class _Change(Strict):
    change: ConfigChange


@dataclass(frozen=True, slots=True)
class Change:
    """A request, ready to be scheduled."""

    kind: str
    start_ps: int
    edits: Sequence[Edit]
    objects: Mapping[str, Any]
    truth: Mapping[str, Any] | None = None
    """Of a fault: its line of truth.jsonl."""
    spec: FaultSpec | None = None
    """Of a fault: itself, dated."""


def fault_change(raw: Mapping[str, Any], now_ps: int, compiled: CompiledScenario, name: str) -> Change:
    """A fault of the scenario's schema, from `now_ps` on.

    Parameters
    ----------
    raw : mapping                    the request
    now_ps : int                     the first moment that can still be changed
    compiled : CompiledScenario      with the settings of now and all edits so far
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
        raise InputErrors("checking the fault", [
            Problem(it.path.replace(_PREFIX, "fault"), it.text, it.hint) for it in explain(error, whole, "request")
        ]) from error
    if spec.at < now_ps:
        problems.append(Problem("fault.at", f"{format_time_ps(spec.at)} is past; simulated time is "
                                            f"{format_time_ps(now_ps)}", "leave it out, or count from now: '+100us'"))
    elif spec.at >= compiled.duration_ps:
        problems.append(Problem("fault.at", f"{format_time_ps(spec.at)} is after the end of the pass, "
                                            f"{format_time_ps(compiled.duration_ps)}", "give an earlier time"))
    if compiled.control is None and spec.kind in CONTROL_ONLY:
        raise InputErrors("placing the fault", [*problems, Problem(
            "fault.kind", f"nobody notices '{spec.kind}': this scenario has no control plane",
            "play a scenario with routing: bgp")])
    plan = None if compiled.control is None else compiled.control.plan
    context = FaultContext(compiled.fabric, compiled.params, compiled.duration_ps, "", problems, plan, compiled.seed)
    injected = FAULTS[spec.kind](spec, "fault", context)
    edits = held_by(name, injected)
    _check_rates(edits, compiled, problems)
    if problems:
        raise InputErrors("placing the fault", problems)
    return Change(spec.kind, spec.at, edits, injected.objects,
                  injected.record(spec.name or name, spec.kind, compiled.duration_ps), spec)


def _check_rates(edits: Sequence[Edit], compiled: CompiledScenario, problems: list[Problem]) -> None:
    """The engine holds so many link rates beside those of the topology, and no more."""
    known = {link.rate_bps for link in compiled.fabric.links}
    rates = {edit.rate_bps for edit in [*compiled.edits, *edits] if isinstance(edit, LinkRate)} - known
    if len(rates) > compiled.params.spare_rate_rows:
        problems.append(Problem("fault.rate", f"this would be link rate number {len(rates)} of this pass, and "
                                              f"{compiled.params.spare_rate_rows} can differ from the topology's",
                                "use a rate that a cable has or had"))


def config_change(raw: Mapping[str, Any], now_ps: int, compiled: CompiledScenario, initial: CompiledScenario) -> Change:
    """A change of configuration at `now_ps`; parameters as of fault_change.

    `initial` has the settings of the scenario, which say what marks at all.

    Raises: InputErrors with every problem of the request.
    """
    whole = {"change": dict(raw)}
    try:
        spec = _Change.model_validate(whole).change
    except ValidationError as error:
        raise InputErrors("checking the change", [Problem(it.path.removeprefix("request: "), it.text, it.hint)
                                                  for it in explain(error, whole, "request")]) from error
    problems: list[Problem] = []
    maker = _MAKERS.get(type(spec))
    if maker is not None:
        edits = maker(spec, now_ps, compiled, initial, problems)
    else:
        # An act asks what marks, never what is configured now: the scenario's own settings answer.
        edits = edits_of(cast("ActSpec", spec), now_ps, replace(initial, edits=compiled.edits), "request", problems)
    if compiled.control is not None and any(isinstance(edit, LinkState) for edit in edits):
        problems.append(Problem("change.kind", f"with routing: bgp, routers must notice, and '{spec.kind}' tells them "
                                               "nothing", "inject the fault link-down, with `until` if it is to end"))
    if problems:
        raise InputErrors("placing the change", [
            Problem(it.path.replace("request.do", "change"), it.text, it.hint) for it in problems])
    objects = spec.model_dump(mode="json", exclude={"kind"}, exclude_none=True)
    return Change(spec.kind, now_ps, edits, objects)


Maker = Callable[[Any, int, CompiledScenario, CompiledScenario, list[Problem]], Sequence[Edit]]


def _no_shut(spec: NoShut, now_ps: int, compiled: CompiledScenario, _: CompiledScenario,
             problems: list[Problem]) -> Sequence[Edit]:
    return [LinkState(now_ps, link.id, up=True)
            for link in match_links(compiled.fabric, spec.link, "change.link", problems)]


def _watchdog_off(spec: WatchdogOff, now_ps: int, compiled: CompiledScenario, _: CompiledScenario,
                  problems: list[Problem]) -> Sequence[Edit]:
    fabric = compiled.fabric
    return [WatchdogSet(now_ps, node.id, None)
            for node in match_nodes(fabric, spec.switches, fabric.switches, "change.switches", "switch", problems)]


def _ecn_off(spec: EcnOff, now_ps: int, compiled: CompiledScenario, initial: CompiledScenario,
             problems: list[Problem]) -> Sequence[Edit]:
    ports = match_ports(compiled.fabric, spec.ports, "change.ports", problems)
    edits = [QueueEcn(now_ps, port.id, queue, None) for port in ports
             for queue, params in enumerate(initial.params.ports[port.id].queues) if params.ecn is not None]
    if ports and not edits:
        problems.append(Problem("change.ports", f"no queue of '{spec.ports}' marks", "name switch ports with ECN"))
    return edits


def _drift(spec: Thresholds | Pfc, now_ps: int, compiled: CompiledScenario, _: CompiledScenario,
           problems: list[Problem]) -> Sequence[Edit]:
    values: dict[str, Any] = {"pfc_priorities": spec.priorities} if isinstance(spec, Pfc) else {
        "dynamic_th": spec.dynamic_th, "headroom": None if spec.headroom is None else f"{spec.headroom}B"}
    drift = ConfigDriftSpec.model_validate({"kind": "config-drift", "at": exact_time(now_ps), "ports": spec.ports,
                                            **values})
    context = FaultContext(compiled.fabric, compiled.params, compiled.duration_ps, "", problems)
    return FAULTS[drift.kind](drift, "change", context).edits


_MAKERS: Final[Mapping[type, Maker]] = {NoShut: _no_shut, WatchdogOff: _watchdog_off, EcnOff: _ecn_off,
                                        Thresholds: _drift, Pfc: _drift}


def schemas(*, routed: bool) -> Schemas:
    """JSON schemas of both requests, for the API's description; `routed`: there is a control plane."""
    unions: Mapping[str, Any] = {"fault": FaultSpec, "change": ConfigChange}
    made = {name: TypeAdapter[Any](union).json_schema(ref_template=_REF) for name, union in unions.items()}
    parts: dict[str, Any] = {}
    for schema in made.values():
        parts |= schema.pop("$defs", {})
    fault = made["fault"]
    if not routed:
        fault["oneOf"] = [branch for branch in fault["oneOf"] if not CONTROL_ONLY & _kinds(parts, branch["$ref"])]
        fault["discriminator"]["mapping"] = {kind: ref for kind, ref in fault["discriminator"]["mapping"].items()
                                             if kind not in CONTROL_ONLY}
    for name in fault["discriminator"]["mapping"].values():
        part = parts[name.rpartition("/")[2]]
        part["required"] = [field for field in part.get("required", []) if field != "at"]
        for field in {"at", "until"} & set(part["properties"]):
            part["properties"][field] = _from_now(part["properties"][field])
    used = _reached([fault, made["change"]], parts)
    return Schemas(fault, made["change"], {name: part for name, part in parts.items() if name in used})


def _reached(roots: Iterable[object], parts: Mapping[str, Any]) -> set[str]:
    """Names of the schemas that these refer to, and so on."""
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            waiting += node.values()
            name = str(node.get("$ref", "")).rpartition("/")[2]
            if name in parts and name not in found:
                found.add(name)
                waiting.append(parts[name])
    return found


def _kinds(parts: Mapping[str, Any], ref: str) -> set[str]:
    return {parts[ref.rpartition("/")[2]]["properties"]["kind"]["const"]}


def _from_now(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a time that may also be counted from now."""
    moment = {"type": "string", "pattern": "^(\\s*|\\+)[0-9]", "examples": ["5ms", "+500us"]}
    return {**moment, "description": f"{schema.get('description', '')} '+500us' counts from now."}

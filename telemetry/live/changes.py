"""Faults and configuration changes of a running scenario: requests become dated edits, or problems with remedies.

Faults have the scenario's schema (`faults:`), with times as in fabric/scenario/inject.py. Changes are the acts of
playbooks, and their reversals, which playbooks do not need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final, Literal

from pydantic import Field, TypeAdapter, ValidationError

from fabric.dataplane.engine.edits import Edit, LinkState, QueueEcn, WatchdogSet
from fabric.errors import InputErrors, Problem
from fabric.faults.spec import FaultSpec
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.scenario.inject import CONTROL_ONLY, Change
from fabric.scenario.problems import explain
from fabric.topology.select import match_links, match_nodes, match_ports
from fabric.topology.spec import Strict
from playbooks.acts.base import CABLES, PORTS, Act, Names
from playbooks.acts.registry import AnyAct, edits_of
from telemetry.live.openapi import Schemas

_REF: Final = "#/components/schemas/{model}"


class NoShut(Strict):
    """Return cables to service."""

    kind: Literal["no-shut"]
    link: str = Field(min_length=1, description=CABLES)


class WatchdogOff(Strict):
    """Switch the PFC watchdog off; stormed queues are restored."""

    kind: Literal["watchdog-off"]
    switches: Names = Field(description="Switches by name or pattern.")


class EcnOff(Strict):
    """Stop marking; kind 'ecn' marks again."""

    kind: Literal["ecn-off"]
    ports: str = Field(min_length=1, description=PORTS)


ConfigChange = Annotated[AnyAct | NoShut | WatchdogOff | EcnOff, Field(discriminator="kind")]
"""The body of POST /api/v1/config."""


class _Change(Strict):
    change: ConfigChange


def config_change(raw: Mapping[str, Any], now_ps: int, compiled: CompiledScenario, initial: CompiledScenario) -> Change:
    """A change of configuration at `now_ps`; parameters as of fault_change.

    `initial` has the settings of the scenario, which define the marking queues.

    Raises: InputErrors with every problem of the request.
    """
    whole = {"change": dict(raw)}
    try:
        spec = _Change.model_validate(whole).change
    except ValidationError as error:
        raise InputErrors(
            "checking the change",
            [Problem(it.path.removeprefix("request: "), it.text, it.hint) for it in explain(error, whole, "request")],
        ) from error
    problems: list[Problem] = []
    edits: Sequence[Edit]
    if isinstance(spec, Act):
        # An act reads which queues mark at all, so it gets the settings of the scenario, not those in force now.
        edits = edits_of(spec, now_ps, replace(initial, edits=compiled.edits), "request", problems)
        if spec.before_run:
            hint = "give the fault an `until` when you inject it"
            problems.append(Problem("change.kind", f"'{spec.kind}' must be known before the run begins", hint))
    else:
        edits = _MAKERS[type(spec)](spec, now_ps, compiled, initial, problems)
    if compiled.control is not None and any(isinstance(edit, LinkState) for edit in edits):
        problems.append(
            Problem(
                "change.kind",
                f"with routing: bgp, routers must detect the change, and '{spec.kind}' does not notify them",
                "inject the fault link-down, with `until` if it is to end",
            )
        )
    if problems:
        raise InputErrors(
            "placing the change",
            [Problem(it.path.replace("request.do", "change"), it.text, it.hint) for it in problems],
        )
    objects = spec.model_dump(mode="json", exclude={"kind"}, exclude_none=True)
    return Change(spec.kind, now_ps, edits, objects)


Maker = Callable[[Any, int, CompiledScenario, CompiledScenario, list[Problem]], Sequence[Edit]]


def _no_shut(
    spec: NoShut, now_ps: int, compiled: CompiledScenario, _: CompiledScenario, problems: list[Problem]
) -> Sequence[Edit]:
    return [
        LinkState(now_ps, link.id, up=True) for link in match_links(compiled.fabric, spec.link, "change.link", problems)
    ]


def _watchdog_off(
    spec: WatchdogOff, now_ps: int, compiled: CompiledScenario, _: CompiledScenario, problems: list[Problem]
) -> Sequence[Edit]:
    fabric = compiled.fabric
    return [
        WatchdogSet(now_ps, node.id, None)
        for node in match_nodes(fabric, spec.switches, fabric.switches, "change.switches", "switch", problems)
    ]


def _ecn_off(
    spec: EcnOff, now_ps: int, compiled: CompiledScenario, initial: CompiledScenario, problems: list[Problem]
) -> Sequence[Edit]:
    ports = match_ports(compiled.fabric, spec.ports, "change.ports", problems)
    edits = [
        QueueEcn(now_ps, port.id, queue, None)
        for port in ports
        for queue, params in enumerate(initial.params.ports[port.id].queues)
        if params.ecn is not None
    ]
    if ports and not edits:
        problems.append(Problem("change.ports", f"no queue of '{spec.ports}' marks", "name switch ports with ECN"))
    return edits


_MAKERS: Final[Mapping[type, Maker]] = {NoShut: _no_shut, WatchdogOff: _watchdog_off, EcnOff: _ecn_off}


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
        fault["discriminator"]["mapping"] = {
            kind: ref for kind, ref in fault["discriminator"]["mapping"].items() if kind not in CONTROL_ONLY
        }
    for name in fault["discriminator"]["mapping"].values():
        part = parts[name.rpartition("/")[2]]
        part["required"] = [field for field in part.get("required", []) if field != "at"]
        for field in {"at", "until"} & set(part["properties"]):
            part["properties"][field] = _from_now(part["properties"][field])
    used = _reached([fault, made["change"]], parts)
    return Schemas(fault, made["change"], {name: part for name, part in parts.items() if name in used})


def _reached(roots: Iterable[object], parts: Mapping[str, Any]) -> set[str]:
    """Names of the schemas that these schemas refer to, directly or not."""
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
    """The schema of a time that may also be relative to now."""
    moment = {"type": "string", "pattern": "^(\\s*|\\+)[0-9]", "examples": ["5ms", "+500us"]}
    return {**moment, "description": f"{schema.get('description', '')} '+500us' counts from now."}

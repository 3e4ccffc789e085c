"""Rules of switches.load_balancing: source-routed that need the file alone: what contradicts it, what it ignores.

Those that need the fabric are in compile/source_routes.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from fabric.scenario.compile.recovery import source_routed
from fabric.scenario.presets.models import default_tree
from fabric.scenario.schema.endpoints import SourceRoutes
from fabric.scenario.schema.scenario import Scenario
from fabric.workload.spec import DatagramsSpec

TAKES_DOWN: Final = frozenset({"link-down", "link-flap", "switch-crash"})
"""Faults that take a cable down."""
_IS: Final = "load_balancing: source-routed"
_Found = Iterable[tuple[str, str, str]]


def source_route_rules(scenario: Scenario, changed: Collection[str]) -> _Found:
    """(path, text, remedy). changed: fields of switches and of run that differ from their defaults."""
    if not source_routed(scenario):
        if _changed(scenario.transport.source_routes):
            text = f"has no effect without switches.{_IS}"
            yield "transport.source_routes", text, "set it, or remove source_routes"
        return
    if scenario.vxlan is not None:
        text = f"does not work with {_IS}: a packet has one outer header, and NICs that encapsulate need no VTEP"
        yield "vxlan", text, "remove one of them"
    if scenario.routing != "shortest-path":
        text = f"{scenario.routing} does not work with {_IS}: NICs use shortest paths, and switches look up no route"
        yield "routing", text, "use routing: shortest-path, or another load_balancing"
    if "withdrawal" in _changed(scenario.transport.source_routes) and not any(
        fault.kind in TAKES_DOWN for fault in scenario.faults
    ):
        text = "has no effect: no fault takes a cable down"
        yield "transport.source_routes.withdrawal", text, "remove it, or add a link-down fault"
    if any(isinstance(load, DatagramsSpec) for load in scenario.workload):
        return  # these are hashed and routed by switches
    remedy = "remove it, or send datagrams as well, which switches route"
    if "hash" in changed and not scenario.switches.overrides:
        yield "switches.hash", f"has no effect with {_IS}: switches hash no packet of RDMA", remedy
    if "reroute_delay" in changed and scenario.routing == "shortest-path":
        text = f"has no effect with {_IS}: switches route no packet of RDMA"
        yield "run.reroute_delay", text, "use transport.source_routes.withdrawal, the delay of NICs"
    for number, fault in enumerate(scenario.faults):
        if fault.kind == "route":
            text = f"a route of a switch has no effect with {_IS}: switches route no packet of RDMA"
            yield f"faults[{number}]", text, remedy


def _changed(routes: SourceRoutes | None) -> set[str]:
    """Fields that differ from the model's defaults."""
    if routes is None:
        return set()
    defaults = SourceRoutes.model_validate(default_tree("asic")["transport"]["source_routes"])
    return {
        name
        for name in routes.model_fields_set
        if getattr(routes, name) is not None and getattr(routes, name) != getattr(defaults, name)
    }

"""The resolved scenario: every value that a run uses, as a scenario file would write it.

Absent fields are filled in from the defaults of the model, so two resolved scenarios differ exactly where the runs
differ in their settings. The result is a valid scenario that resolves to itself and compiles to the same run. Values
that another field or the fabric decides for each device stay absent: those of a chip (switches.asic names it), those of
a DCQCN preset, and thresholds that belong to such a preset.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from fabric.errors import Problem
from fabric.scenario.compile.controls import CONTROLS, control_of
from fabric.scenario.compile.ns3_rdma_controls import chosen_preset, is_dcqcn, ns3_model_of, ns3_values, section_of
from fabric.scenario.compile.ns3_rdma_lower import PRESET_MARKING, ns3_rdma_settings
from fabric.scenario.compile.recovery import recovery_of
from fabric.scenario.compile.window import varies_window
from fabric.scenario.presets.models import default_tree
from fabric.scenario.schema.bgp import BgpSpec
from fabric.scenario.schema.endpoints import HostSettings, TransportSpec
from fabric.scenario.schema.scenario import Scenario
from fabric.scenario.schema.switches import SwitchSettings
from fabric.topology.model import Fabric
from fabric.topology.quantities import exact_length, exact_rate, exact_size, exact_time
from fabric.topology.spec import (
    DEFAULT_FABRIC_MM,
    DEFAULT_HOST_MM,
    Clos3Spec,
    CustomSpec,
    LeafSpineSpec,
    RailSpec,
    ServerSpec,
)

_SECTIONS: Mapping[str, type[BaseModel]] = {
    "switches": SwitchSettings,
    "hosts": HostSettings,
    "transport": TransportSpec,
}


def resolved(scenario: Scenario, fabric: Fabric) -> dict[str, Any]:
    """The whole scenario as JSON data; `fabric` is the one that it was compiled to."""
    tree: dict[str, Any] = scenario.model_dump(mode="json", exclude_none=True)
    if scenario.model == "hpcc-ns3":
        defaults = _ns3_rdma(scenario, fabric)
        if (law := section_of(scenario)) is not None:  # the schema's defaults are those of model asic
            section = control_of(scenario.transport).section
            tree["transport"][section] = law.model_dump(mode="json", exclude_unset=True)
    else:
        defaults = _asic(scenario)
    for section, values in defaults.items():
        tree[section] = _filled(values, tree.get(section, {}))
    tree["telemetry"].setdefault("interval", exact_time(scenario.sampling_ps))
    tree["topology"] = _filled(_topology(scenario), tree["topology"])
    for entry in tree["workload"]:
        entry.setdefault("name", entry["kind"])
    if scenario.routing == "bgp":
        tree.setdefault("bgp", BgpSpec().model_dump(mode="json", exclude_none=True))
    return Scenario.model_validate(tree).model_dump(mode="json", exclude_none=True)  # in the schema's order


def _filled(defaults: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """`written` on top of `defaults`; mappings are joined field by field, as layers.merge() does."""
    tree = {**defaults, **written}
    for name in defaults.keys() & written.keys():
        if isinstance(defaults[name], Mapping) and isinstance(written[name], Mapping):
            tree[name] = _filled(defaults[name], written[name])
    return tree


def _asic(scenario: Scenario) -> dict[str, Any]:
    tree = default_tree(scenario.model)
    found = {
        name: model.model_validate(tree[name]).model_dump(mode="json", exclude_none=True)
        for name, model in _SECTIONS.items()
    }
    found["transport"]["recovery"] = recovery_of(scenario)
    found["transport"]["variable_window"] = varies_window(scenario)
    chosen, control = found["transport"], control_of(scenario.transport)
    for other in CONTROLS.values():  # parameters of a control that is not chosen are an error
        if other is not control:
            chosen.pop(other.section, None)
    if control.default is not None and control.section not in chosen:
        default = control.default
        chosen[control.section] = default.model_dump(mode="json") if isinstance(default, BaseModel) else default
    if scenario.routing == "shortest-path":
        found["run"] = tree["run"]
    return found


def _ns3_rdma(scenario: Scenario, fabric: Fabric) -> dict[str, Any]:
    """Defaults of this model follow from the fabric and the preset; here are their values."""
    problems: list[Problem] = []  # compiled before, so there are none
    settings = ns3_rdma_settings(scenario, fabric, "", problems)
    preset, control = chosen_preset(scenario), control_of(scenario.transport)
    switches = {
        "memory": exact_size(settings.buffer_bytes),
        "buffer": {
            "headroom": "auto",
            "reserved": exact_size(settings.reserve_bytes),
            "xon_offset": exact_size(settings.xon_offset_bytes),
        },
    }
    if not is_dcqcn(scenario) or preset not in PRESET_MARKING:
        switches["ecn"] = ns3_model_of(scenario).curve
    own: dict[str, Any] = {"dcqcn": preset} if control.section == "dcqcn" else {}
    if not is_dcqcn(scenario):
        own = {control.section: ns3_values(settings.control)}
    return {
        "switches": switches,
        "transport": {
            "mtu": exact_size(settings.payload_bytes),
            "cc": "dcqcn",
            **own,
            "window": exact_size(settings.window_bytes) if settings.window_bytes else "off",
            "variable_window": settings.variable_window,
            "acks": settings.acks,
        },
    }


def _topology(scenario: Scenario) -> dict[str, Any]:
    """Names and cable lengths of the regular shapes (topology/spec.py)."""
    spec = scenario.topology
    if isinstance(spec, CustomSpec):
        return {}
    found: dict[str, Any] = {"name": spec.kind}
    if isinstance(spec, LeafSpineSpec | RailSpec | ServerSpec) and spec.scale_up is not None:
        inside = spec.scale_up
        found["scale_up"] = {
            "profile": inside.profile,
            "rate": exact_rate(inside.rate_bps),
            "latency": exact_time(inside.latency_ps),
            "unit": exact_size(inside.unit_bytes),
        }
    if isinstance(spec, LeafSpineSpec) and spec.scale_up is not None:
        found["gpus_per_server"] = spec.server_gpus
    if isinstance(spec, ServerSpec):
        return {**found, "gpus": spec.n_gpus}
    if spec.host_cable is None and spec.host_delay is None:
        found["host_cable"] = exact_length(DEFAULT_HOST_MM)
    if spec.fabric_cable is None and spec.fabric_delay is None:
        found["fabric_cable"] = exact_length(DEFAULT_FABRIC_MM)
    if isinstance(spec, Clos3Spec):
        if spec.core_rate is None:
            found["core_rate"] = exact_rate(spec.fabric_rate)
        if spec.core_cable is None and spec.core_delay is None:
            if spec.fabric_delay is not None:
                found["core_delay"] = exact_time(spec.fabric_delay)
            else:
                found["core_cable"] = exact_length(spec.fabric_length_and_delay[0])
    return found

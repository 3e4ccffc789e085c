"""The scenario that stands behind a scenario: every value that a run uses, as a file would write it.

What a user left out is filled in from the model's defaults, so two runs differ here exactly where they were asked for
different things. The result is a valid scenario that resolves to itself and compiles to the same run. Left out stay
values that another field or the fabric decides for each device: what a chip brings (switches.asic names it), what a
DCQCN preset brings, and thresholds that belong to such a preset.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from fabric.errors import Problem
from fabric.scenario.bgp import BgpSpec
from fabric.scenario.endpoints import HostSettings, TransportSpec
from fabric.scenario.hpcc_checks import DEFAULT_CURVE, chosen_preset
from fabric.scenario.hpcc_lower import PRESET_MARKING, hpcc_settings
from fabric.scenario.models import default_tree
from fabric.scenario.recovery import recovery_of
from fabric.scenario.schema import Scenario
from fabric.scenario.switches import SwitchSettings
from fabric.scenario.window import preset_has_window
from fabric.topology.model import Fabric
from fabric.topology.quantities import exact_length, exact_rate, exact_size, exact_time
from fabric.topology.spec import DEFAULT_FABRIC_MM, DEFAULT_HOST_MM, Clos3Spec, CustomSpec

_SECTIONS: Mapping[str, type[BaseModel]] = {
    "switches": SwitchSettings, "hosts": HostSettings, "transport": TransportSpec}


def resolved(scenario: Scenario, fabric: Fabric) -> dict[str, Any]:
    """The whole scenario as JSON data. `fabric` is what it was compiled to."""
    tree: dict[str, Any] = scenario.model_dump(mode="json", exclude_none=True)
    defaults = _hpcc(scenario, fabric) if scenario.model == "hpcc-ns3" else _asic(scenario)
    for section, values in defaults.items():
        tree[section] = _filled(values, tree.get(section, {}))
    tree["topology"] = _filled(_topology(scenario), tree["topology"])
    for entry in tree["workload"]:
        entry.setdefault("name", entry["kind"])
    if scenario.routing == "bgp":
        tree.setdefault("bgp", BgpSpec().model_dump(mode="json", exclude_none=True))
    return Scenario.model_validate(tree).model_dump(mode="json", exclude_none=True)     # in the schema's order


def _filled(defaults: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """`written` on top of `defaults`; mappings are joined field by field, as layers.merge() does."""
    tree = {**defaults, **written}
    for name in defaults.keys() & written.keys():
        if isinstance(defaults[name], Mapping) and isinstance(written[name], Mapping):
            tree[name] = _filled(defaults[name], written[name])
    return tree


def _asic(scenario: Scenario) -> dict[str, Any]:
    tree = default_tree(scenario.model)
    found = {name: model.model_validate(tree[name]).model_dump(mode="json", exclude_none=True)
             for name, model in _SECTIONS.items()}
    found["transport"]["recovery"] = recovery_of(scenario)
    found["transport"]["variable_window"] = preset_has_window(scenario)
    if scenario.routing == "shortest-path":
        found["run"] = tree["run"]
    return found


def _hpcc(scenario: Scenario, fabric: Fabric) -> dict[str, Any]:
    """Defaults of this model follow from the fabric and the preset; here are their values."""
    problems: list[Problem] = []        # compiled before, so there are none
    settings = hpcc_settings(scenario, fabric, "", problems)
    preset = chosen_preset(scenario)
    switches = {"memory": exact_size(settings.buffer_bytes),
                "buffer": {"headroom": "auto", "reserved": exact_size(settings.reserve_bytes),
                           "xon_offset": exact_size(settings.xon_offset_bytes)}}
    if preset not in PRESET_MARKING:
        switches["ecn"] = DEFAULT_CURVE
    return {"switches": switches, "transport": {
        "mtu": exact_size(settings.payload_bytes), "cc": "dcqcn", "dcqcn": preset,
        "window": exact_size(settings.window_bytes) if settings.window_bytes else "off",
        "variable_window": settings.variable_window, "acks": settings.acks}}


def _topology(scenario: Scenario) -> dict[str, Any]:
    """Names and cable lengths of the regular shapes (topology/spec.py)."""
    spec = scenario.topology
    if isinstance(spec, CustomSpec):
        return {}
    found: dict[str, Any] = {"name": spec.kind}
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

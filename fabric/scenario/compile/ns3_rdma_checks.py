"""Refuse in a scenario with `model: hpcc-ns3` everything that the public ns-3 RDMA simulator has no rule for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from pydantic import BaseModel

from fabric.scenario.compile.controls import control_of
from fabric.scenario.compile.layers import given
from fabric.scenario.compile.ns3_rdma_controls import (
    NS3_CONTROLS,
    NS3_INITIAL_ALPHA,
    chosen_preset,
    ns3_model_of,
    other_sections,
    section_of,
)
from fabric.scenario.presets.dcqcn import DCQCN_PRESETS
from fabric.scenario.presets.dctcp import Dctcp
from fabric.scenario.presets.hpcc import Hpcc
from fabric.scenario.presets.pint import Pint
from fabric.scenario.presets.timely import Timely
from fabric.scenario.schema.endpoints import Dcqcn
from fabric.scenario.schema.scenario import Scenario
from fabric.units import PS_PER_US
from fabric.workload.spec import RequestLoad, StreamLoad

NS3_RDMA_PRESETS: Final = tuple(name for name, preset in DCQCN_PRESETS.items() if not preset.params.byte_counter_bytes)
"""DCQCN sets without a byte counter, which the simulator lacks."""
DEFAULT_CURVE: Final = "hpcc"
MIN_PAYLOAD, MAX_PAYLOAD = 64, 9000
"""Our bounds: the simulator accepts any PACKET_PAYLOAD_SIZE; within them, with 48 bytes of header, packets are Ethernet
frames."""

_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "switches": frozenset({"memory", "ecn", "buffer"}),
    "switches.buffer": frozenset({"headroom", "reserved", "xon_offset"}),
    "hosts": frozenset(),
    "transport": frozenset(
        {"mtu", "cc", "dcqcn", "dctcp", "timely", "hpcc", "pint", "window", "variable_window", "acks"}
    ),
    "transport.dctcp": frozenset({"gain", "initial_alpha", "additive", "min_rate", "loss_cut"}),
    "transport.timely": frozenset(Timely.model_fields),
    "transport.hpcc": frozenset(Hpcc.model_fields),
    "transport.pint": frozenset(Pint.model_fields),
    "transport.dcqcn": frozenset(
        {
            "preset",
            "gain",
            "alpha_timer",
            "decrease_interval",
            "increase_timer",
            "fast_recovery_steps",
            "additive",
            "hyper",
            "min_rate",
            "clamp_target",
        }
    ),
}
"""Section -> fields that may be written."""
_TIMERS: Final = ("alpha_timer", "decrease_interval", "increase_timer")
_REMEDY: Final = "remove it, or use model: asic"

_Found = Iterable[tuple[str, str, str]]


def ns3_rdma_only(scenario: Scenario) -> _Found:
    """Fields that only this model reads, written under another."""
    if scenario.transport.acks is not None:
        yield "transport.acks", f"has no effect with model: {scenario.model}", "remove it, or use model: hpcc-ns3"


def outside_ns3_rdma(scenario: Scenario) -> _Found:
    """(path, text, remedy) of everything that has no place in this model."""
    buffer, dcqcn = scenario.switches.buffer, scenario.transport.dcqcn
    if control_of(scenario.transport).name not in NS3_CONTROLS:
        yield "transport.cc", f"{scenario.transport.cc} is not part of model hpcc-ns3", _REMEDY
        return
    yield from _unknown(scenario.switches, "switches")
    yield from _unknown(scenario.hosts, "hosts")
    yield from _unknown(scenario.transport, "transport")
    if buffer is not None:
        yield from _unknown(buffer, "switches.buffer")
    for section, path in ((scenario.switches, "switches"), (scenario.hosts, "hosts")):
        if section.overrides:
            yield f"{path}.overrides", "one setting serves all devices of this model", _REMEDY
    if scenario.pfc == "off":
        yield "pfc", "cannot be off in model hpcc-ns3: its switches always pause", "use model: asic"
    if scenario.routing != "shortest-path":
        yield "routing", f"{scenario.routing} is not part of model hpcc-ns3", "use shortest-path, or model: asic"
    if scenario.bgp is not None:
        yield "bgp", "is not part of model hpcc-ns3", _REMEDY
    if scenario.vxlan is not None:
        yield "vxlan", "is not part of model hpcc-ns3", _REMEDY
    for number, fault in enumerate(scenario.faults):
        yield f"faults[{number}]", f"{fault.kind} is not part of model hpcc-ns3", _REMEDY
    if scenario.run.reroute_delay is not None:
        yield "run.reroute_delay", "has no effect: no fault takes a cable down", "remove it"
    for number, load in enumerate(scenario.workload):
        if isinstance(load, RequestLoad | StreamLoad):
            yield f"workload[{number}]", f"{load.kind} is not part of model hpcc-ns3", _REMEDY
        elif load.priority not in {None, 3}:
            yield (
                f"workload[{number}].priority",
                f"{load.priority}: every flow of this model has priority 3",
                "remove it",
            )
    mtu = scenario.transport.mtu
    if mtu is not None and not MIN_PAYLOAD <= mtu <= MAX_PAYLOAD:
        yield (
            "transport.mtu",
            f"{mtu} B is not a valid payload of this model",
            f"write {MIN_PAYLOAD}B to {MAX_PAYLOAD}B",
        )
    if scenario.transport.variable_window and not has_window(scenario):
        yield "transport.variable_window", "has no effect without window", "give a size such as '1MB'"
    control = control_of(scenario.transport)
    if control.section != "dcqcn" and dcqcn is not None:
        yield "transport.dcqcn", f"has no effect with cc: {control.name}", "remove one of them"
    for unused in other_sections(scenario):
        yield f"transport.{unused}", f"has no effect with cc: {control.name}", "remove one of them"
    own = section_of(scenario)
    if own is not None:
        yield from _unknown(own, f"transport.{control.section}")
    if isinstance(own, Dctcp) and own.initial_alpha != NS3_INITIAL_ALPHA:
        yield "transport.dctcp.initial_alpha", f"is {NS3_INITIAL_ALPHA:g} in model hpcc-ns3", _REMEDY
    if isinstance(own, Dctcp) and own.loss_cut:
        yield "transport.dctcp.loss_cut", "has no effect in model hpcc-ns3, which never cuts by losses", _REMEDY
    if scenario.transport.cc == "none":
        if scenario.switches.ecn not in {None, "off", DEFAULT_CURVE}:
            yield "switches.ecn", "has no effect with cc: none, under which no switch marks", "remove one of them"
        if scenario.transport.variable_window:
            yield "transport.variable_window", "has no effect with cc: none: the rate never changes", "remove it"
    elif scenario.switches.ecn == "off" and ns3_model_of(scenario).needs_marks:
        yield "switches.ecn", f"without marks {control.title} never acts", "use transport.cc: none"
    preset = chosen_preset(scenario)
    if control.section in {"", "dcqcn"} and preset not in NS3_RDMA_PRESETS:
        yield (
            "transport.dcqcn",
            f"'{preset}' has a byte counter, which this model's reaction point lacks",
            f"one of {', '.join(NS3_RDMA_PRESETS)}",
        )
    if isinstance(dcqcn, Dcqcn):
        yield from _unknown(dcqcn, "transport.dcqcn")
        for field in _TIMERS:
            value = getattr(dcqcn, field)
            if value is not None and (value % PS_PER_US or not value):
                yield (
                    f"transport.dcqcn.{field}",
                    "is no whole number of microseconds, as this model's timers are",
                    "such as '4us'",
                )


def has_window(scenario: Scenario) -> bool:
    """Whether queue pairs have a window: a written one, or that of the preset."""
    if scenario.transport.window not in {None, "auto"}:
        return scenario.transport.window != "off"
    return ns3_model_of(scenario).has_window(scenario)


def _unknown(section: BaseModel, path: str) -> _Found:
    for field in sorted(given(section) - _FIELDS[path]):
        yield f"{path}.{field}", "is not part of model hpcc-ns3", _REMEDY

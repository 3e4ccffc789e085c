"""What a scenario with `model: hpcc-ns3` may not say: everything that the public HPCC simulator has no rule for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from pydantic import BaseModel

from fabric.scenario.dcqcn import DCQCN_PRESETS
from fabric.scenario.endpoints import Dcqcn
from fabric.scenario.layers import given
from fabric.scenario.schema import Scenario
from fabric.units import PS_PER_US
from fabric.workload.spec import ArpSpec

HPCC_PRESETS: Final = tuple(name for name, preset in DCQCN_PRESETS.items() if not preset.params.byte_counter_bytes)
"""DCQCN sets without a byte counter, which the simulator lacks."""
DEFAULT_PRESET: Final = "hpcc-dcqcn"
DEFAULT_CURVE: Final = "hpcc"
MIN_PAYLOAD, MAX_PAYLOAD = 64, 9000
"""Bounds of ours: PACKET_PAYLOAD_SIZE is any number there; with 48 bytes of header these are Ethernet frames."""

_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "switches": frozenset({"memory", "ecn", "buffer"}),
    "switches.buffer": frozenset({"headroom", "reserved", "xon_offset"}),
    "hosts": frozenset(),
    "transport": frozenset({"mtu", "cc", "dcqcn", "window", "variable_window", "acks"}),
    "transport.dcqcn": frozenset({"preset", "gain", "alpha_timer", "decrease_interval", "increase_timer",
                                  "fast_recovery_steps", "additive", "hyper", "min_rate", "clamp_target"}),
}
"""What may be written in each section."""
_TIMERS: Final = ("alpha_timer", "decrease_interval", "increase_timer")
_REMEDY: Final = "remove it, or use model: asic"

_Found = Iterable[tuple[str, str, str]]


def chosen_preset(scenario: Scenario) -> str:
    """Name of the DCQCN set; a mapping without `preset` starts from this model's default."""
    dcqcn = scenario.transport.dcqcn
    if isinstance(dcqcn, Dcqcn):
        return dcqcn.preset or DEFAULT_PRESET
    return dcqcn or DEFAULT_PRESET


def hpcc_only(scenario: Scenario) -> _Found:
    """Fields that only this model reads, written under another."""
    if scenario.transport.acks is not None:
        yield "transport.acks", f"has no effect with model: {scenario.model}", "remove it, or use model: hpcc-ns3"


def outside_hpcc(scenario: Scenario) -> _Found:
    """(path, text, remedy) of everything that has no place in this model."""
    buffer, dcqcn = scenario.switches.buffer, scenario.transport.dcqcn
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
        if isinstance(load, ArpSpec):
            yield f"workload[{number}]", "arp is not part of model hpcc-ns3", _REMEDY
        elif load.priority not in {None, 3}:
            yield (f"workload[{number}].priority", f"{load.priority}: every flow of this model has priority 3",
                   "remove it")
    mtu = scenario.transport.mtu
    if mtu is not None and not MIN_PAYLOAD <= mtu <= MAX_PAYLOAD:
        yield ("transport.mtu", f"{mtu} B is no payload of a packet of this model",
               f"write {MIN_PAYLOAD}B to {MAX_PAYLOAD}B")
    if scenario.transport.variable_window and not _has_window(scenario):
        yield "transport.variable_window", "has no effect without window", "give a size such as '1MB'"
    if scenario.transport.cc == "none":
        if scenario.switches.ecn not in {None, "off", DEFAULT_CURVE}:
            yield "switches.ecn", "has no effect with cc: none, under which no switch marks", "remove one of them"
        if scenario.transport.variable_window:
            yield "transport.variable_window", "has no effect with cc: none: the rate never changes", "remove it"
        if dcqcn not in {None, DEFAULT_PRESET}:
            yield "transport.dcqcn", "has no effect with cc: none", "remove one of them"
    elif scenario.switches.ecn == "off":
        yield "switches.ecn", "without marks DCQCN never acts", "use transport.cc: none"
    preset = chosen_preset(scenario)
    if preset not in HPCC_PRESETS:
        yield ("transport.dcqcn", f"'{preset}' has a byte counter, which this model's reaction point lacks",
               f"one of {', '.join(HPCC_PRESETS)}")
    if isinstance(dcqcn, Dcqcn):
        yield from _unknown(dcqcn, "transport.dcqcn")
        for field in _TIMERS:
            value = getattr(dcqcn, field)
            if value is not None and (value % PS_PER_US or not value):
                yield (f"transport.dcqcn.{field}", "is no whole number of microseconds, as this model's timers are",
                       "such as '4us'")


def _has_window(scenario: Scenario) -> bool:
    """Whether queue pairs have a window: one that was given, or that of a preset that has one."""
    if scenario.transport.window not in {None, "auto"}:
        return scenario.transport.window != "off"
    return DCQCN_PRESETS[chosen_preset(scenario)].variable_window


def _unknown(section: BaseModel, path: str) -> _Found:
    for field in sorted(given(section) - _FIELDS[path]):
        yield f"{path}.{field}", "is not part of model hpcc-ns3", _REMEDY

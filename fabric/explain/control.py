"""The congestion control of one message's queue pair: transport.cc, or that of the last override about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fabric.explain.evidence import SIGNALS, Evidence
from fabric.scenario.compile.controls import CONTROLS
from fabric.scenario.compile.laws import fits
from fabric.scenario.schema.endpoints import TransportSpec


class Control(NamedTuple):
    """The congestion control of a queue pair, and whether it has a window."""

    name: str
    """Value of transport.cc."""
    windowed: bool
    """Whether its bytes in flight are bounded by a window."""

    @property
    def signal(self) -> str:
        """What makes it send below line rate; '' where nothing does."""
        return SIGNALS.get(self.name, "")


def control_of(evidence: Evidence, message: Mapping[str, Any]) -> Control:
    """The control of a message's queue pair, with the window that the run was compiled with."""
    scenario = evidence.run.manifest["scenario"]["resolved"]
    transport = scenario["transport"]
    load = _entry(scenario, str(message["id"]))
    laws = evidence.run.manifest["card"].get("overrides", ())
    for override, law in reversed(list(zip(transport.get("overrides") or (), laws, strict=True))):
        if fits(message["src"], override.get("host")) and fits(load, override.get("workload")):
            return Control(override["cc"], bool(law["transport"]["window_bytes"]))
    return Control(transport["cc"], _windowed(transport))


def _entry(scenario: Mapping[str, Any], message: str) -> str:
    """Name of the entry of workload that a message belongs to: ids are NAME/NUMBER."""
    names = [it.get("name") or it["kind"] for it in scenario["workload"]]
    return max((it for it in names if message.startswith(f"{it}/")), key=len, default="")


def _windowed(transport: Mapping[str, Any]) -> bool:
    """By transport.window; with auto, whether the control, or its set of parameters, has a window."""
    window = transport.get("window")
    if window not in {None, "auto"}:
        return bool(window != "off")
    spec = TransportSpec.model_validate({name: transport.get(name) for name in ("cc", "dcqcn")})
    return CONTROLS[transport["cc"]].has_window(spec)

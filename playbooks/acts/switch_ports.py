"""Ports of switches that an act names, and the settings in force when it is done."""

from __future__ import annotations

from fabric.dataplane.engine.holds import in_force
from fabric.dataplane.state.params import EngineParams
from fabric.scenario.inject import settings_after
from fabric.topology.model import Port
from fabric.topology.select import match_ports
from playbooks.acts.base import ActContext


def switch_ports(text: str, context: ActContext) -> tuple[list[Port], EngineParams]:
    """(ports of switches, settings after all edits up to the act); a text that names none is a problem."""
    compiled = context.compiled
    found = match_ports(compiled.fabric, text, f"{context.path}.ports", context.problems)
    ports = [port for port in found if not compiled.fabric.node_of(port.id).is_host]
    if found and not ports:
        context.problem("ports", f"'{text}' names no port of a switch", "name switch ports")
    return ports, settings_now(context)


def settings_now(context: ActContext) -> EngineParams:
    """The settings after all edits up to the act, of faults that still last and of earlier acts."""
    compiled = context.compiled
    before = [edit for edit in compiled.edits if edit.time_ps <= context.time_ps]
    return settings_after(compiled.fabric, compiled.params, in_force(before, compiled.fabric, compiled.params))

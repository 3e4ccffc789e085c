"""Fault kinds by name, and the compilation of a scenario's list to edits and truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fabric.controlplane.network.events import ControlEvent
from fabric.dataplane.engine.edits import Edit
from fabric.faults import config_drift, endpoints, link, optics, pause_storm, route, slow_receiver, switches
from fabric.faults.base import FaultContext, Inject, held_by
from fabric.faults.overlap import settle
from fabric.faults.spec import FaultSpec
from fabric.faults.spec_base import Lasting

FAULTS: Final[Mapping[str, Inject]] = {
    "link-down": link.down,
    "link-flap": link.flap,
    "link-rate": link.rate,
    "bit-errors": optics.bit_errors,
    "pause-storm": pause_storm.pause_storm,
    "slow-receiver": slow_receiver.slow_receiver,
    "config-drift": config_drift.config_drift,
    "drop-every": optics.drop_every,
    "route": route.route,
    "switch-crash": switches.crash,
    "link-silent": switches.silent,
    "bgp-crash": switches.bgp_crash,
    "drain": switches.drain,
    "wrong-asn": switches.wrong_asn,
    "route-policy": switches.route_policy,
    "mac-move": endpoints.mac_move,
    "host-leave": endpoints.host_leave,
    "endpoint-churn": endpoints.churn,
}
"""kind -> injector; the specs are in spec.py."""


@dataclass(frozen=True)
class Faults:
    """The compiled faults of a scenario."""

    edits: tuple[Edit, ...]
    """In order of time."""
    truth: tuple[dict[str, Any], ...]
    """In order of the file."""
    control: tuple[ControlEvent, ...]
    """In order of time."""


def build_faults(specs: Sequence[FaultSpec], context: FaultContext) -> Faults:
    """All faults of a scenario; problems go to context.problems."""
    edits: list[Edit] = []
    truth = []
    control: list[tuple[Sequence[ControlEvent], bool]] = []
    for number, spec in enumerate(specs):
        injected = FAULTS[spec.kind](spec, f"{context.path}faults[{number}]", context)
        edits += held_by(f"faults[{number}]", injected)
        control.append((injected.control, isinstance(spec, Lasting)))
        truth.append(injected.record(spec.name or f"{spec.kind}-{number}", spec.kind, context.duration_ps))
    context.problems.extend(endpoints.moves_to_nowhere(specs, context))
    # Stable: edits of one moment keep the file's order. A fault that begins when another ends takes over without a gap.
    edits.sort(key=lambda edit: (edit.time_ps, edit.ends))
    return Faults(tuple(edits), tuple(truth), tuple(settle(control)))

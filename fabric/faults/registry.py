"""Fault kinds by name, and the way from a scenario's list to edits and truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fabric.engine.edits import Edit
from fabric.faults import config_drift, link, optics, pause_storm, route, slow_receiver
from fabric.faults.base import FaultContext, Inject
from fabric.faults.spec import FaultSpec

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
}
"""kind -> injector; the specs are in spec.py."""


def build_faults(specs: Sequence[FaultSpec], context: FaultContext) -> tuple[tuple[Edit, ...],
                                                                             tuple[dict[str, Any], ...]]:
    """(edits in order of time, truth records in order of the file)."""
    edits: list[Edit] = []
    truth = []
    for number, spec in enumerate(specs):
        injected = FAULTS[spec.kind](spec, f"{context.path}faults[{number}]", context)
        edits += injected.edits
        truth.append(injected.record(spec.name or f"{spec.kind}-{number}", spec.kind, context.duration_ps))
    edits.sort(key=lambda edit: edit.time_ps)   # stable: edits of one moment keep the file's order
    return tuple(edits), tuple(truth)

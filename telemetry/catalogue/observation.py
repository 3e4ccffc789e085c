"""A Snapshot with facts that only the composition root can gather: which queues wait for each other, and the control
plane.

An Observation is a Snapshot, so it can replace one. An unknown fact is None and has no series.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.counters import Snapshot
from telemetry.catalogue.control import ControlFacts


@dataclass(frozen=True, slots=True)
class Holders:
    """Egress queues of a switch that hold packets charged to an ingress priority group. One row per pair."""

    ingress: NDArray[np.int64]
    """PortId of the packets' ingress: its peer is paused because of them."""
    priority: NDArray[np.int64]
    """Priority group."""
    egress: NDArray[np.int64]
    """PortId of the queue in which they wait."""
    queue: NDArray[np.int64]
    packets: NDArray[np.int64]


@dataclass(frozen=True)
class Observation(Snapshot):
    """A Snapshot with further facts."""

    holders: Holders | None = None
    """None: packets were not followed."""
    cycle: tuple[tuple[int, int], ...] | None = None
    """(PortId, class) of queues that wait for each other in a cycle; empty: there is none; None: not searched."""
    control: ControlFacts | None = None
    """None: the fabric has no control plane."""


def observe(
    snapshot: Snapshot,
    *,
    holders: Holders | None = None,
    cycle: tuple[tuple[int, int], ...] | None = None,
    control: ControlFacts | None = None,
) -> Observation:
    """The same Snapshot with facts; no table is copied."""
    own = {it.name: getattr(snapshot, it.name) for it in fields(Snapshot)}
    return Observation(**own, holders=holders, cycle=cycle, control=control)

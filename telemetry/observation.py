"""A Snapshot together with facts that only the composition root can gather: who waits for whom, and the control plane.

An Observation is a Snapshot, so it goes wherever one goes; what is not known is None and has no series.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from fabric.engine.counters import Snapshot
from telemetry.control import ControlFacts


@dataclass(frozen=True, slots=True)
class Holders:
    """Which egress queues of a switch hold the packets charged to an ingress priority group; equal lengths, one row a
    pair.
    """

    ingress: NDArray[np.int64]
    """PortId by which the packets came in: its peer is paused for them."""
    priority: NDArray[np.int64]
    """Priority group."""
    egress: NDArray[np.int64]
    """PortId in whose queue they wait."""
    queue: NDArray[np.int64]
    packets: NDArray[np.int64]


@dataclass(frozen=True)
class Observation(Snapshot):
    """A Snapshot and what was known beside it."""

    holders: Holders | None = None
    """None: nobody followed the packets."""
    cycle: tuple[tuple[int, int], ...] | None = None
    """(PortId, class) of queues that wait for each other in a circle; empty: there is none; None: nobody looked."""
    control: ControlFacts | None = None
    """None: the fabric has no control plane."""


def observe(snapshot: Snapshot, *, holders: Holders | None = None, cycle: tuple[tuple[int, int], ...] | None = None,
            control: ControlFacts | None = None) -> Observation:
    """The same Snapshot with facts; no table is copied."""
    own = {it.name: getattr(snapshot, it.name) for it in fields(Snapshot)}
    return Observation(**own, holders=holders, cycle=cycle, control=control)

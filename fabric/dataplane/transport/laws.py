"""Which congestion control a queue pair has: its row of State.config.

Row 0 holds everything that is not about congestion control, and the control of `transport:`. Each further row is a copy
of it with the control, window and frame sizes of an override (docs/decisions/0124).
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.state.codes import PacketKind
from fabric.dataplane.state.compiled.jit import hot, i64
from fabric.dataplane.state.types import State

_DATA = int(PacketKind.DATA)
u = np.uint32


@hot
def law(state: State, qp: int) -> int:
    """Row of State.config with the congestion control of a queue pair."""
    return i64(state.laws[u(qp)])


@hot
def law_of_frame(state: State, packet: np.uint32) -> int:
    """As law(), of the queue pair that a data frame belongs to; 0 for other frames, which may have none."""
    if state.config[0]["n_laws"] == 1:
        return 0
    frame = state.packets[packet]
    return law(state, i64(frame["qp"])) if i64(frame["kind"]) == _DATA else 0

"""When the last frame of a port began to leave, for congestion controls that measure between frames."""

from __future__ import annotations

import numpy as np

from fabric.dataplane.state.compiled.jit import hot, i64
from fabric.dataplane.state.types import State

u = np.uint32


@hot
def note(state: State, port: int, size_bytes: int, now_ps: int) -> None:
    """A frame of size_bytes begins to leave. Only where config's notes_departures is 1."""
    last = state.departures[u(port)]
    last["start_ps"], last["bytes"] = now_ps, size_bytes + i64(state.config[0]["min_gap_bytes"])

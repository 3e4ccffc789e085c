"""Queue pair 0 of a state begins and is answered, through its congestion control: entries that tests share."""

from __future__ import annotations

import numpy as np

from fabric.dataplane.state.compiled.jit import entry
from fabric.dataplane.state.types import State
from fabric.dataplane.transport import hooks

u = np.uint32


@entry
def begin(state: State) -> None:
    """Queue pair 0 begins."""
    hooks.start(state, 0)


@entry
def apply(state: State, now_ps: int) -> None:
    """Frame 1 is an answer to queue pair 0."""
    hooks.acknowledged(state, 0, 0, u(1), 1, now_ps)

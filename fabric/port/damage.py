"""What a cable or an injected fault does to a frame that arrives."""

from __future__ import annotations

import numpy as np

from fabric.state import rng
from fabric.state.codes import DropReason, PacketKind, RandomUse
from fabric.state.jit import hot, i64, kernel
from fabric.state.types import State

INTACT = -1

_DATA = int(PacketKind.DATA)
_FCS, _INJECTED = int(DropReason.FCS), int(DropReason.INJECTED)
_ERRORS = int(RandomUse.ERRORS)


@kernel
def damaged(state: State, device: int, port: int, packet: np.uint32) -> int:
    """Whether the cable or a fault of the scenario took this frame: a DropReason, or INTACT."""
    row = state.ports[port]
    if row["bit_error_ratio"] > 0.0:
        # A float to a float: with an integer exponent compiled code may round otherwise than plain Python.
        bits = 8.0 * i64(state.packets[packet]["size"])
        if rng.draw(state, device, _ERRORS) < 1.0 - (1.0 - row["bit_error_ratio"]) ** bits:
            row["fcs_errors"] += 1
            return _FCS
    if row["first_loss"] == 0 or state.packets[packet]["kind"] != _DATA:
        return INTACT
    found, at = INTACT, i64(row["first_loss"])
    while at != 0:      # each counts every frame, also one that another takes
        loss = state.losses[at]
        loss["count"] += 1
        if loss["count"] % loss["every"] == 0:
            found = _INJECTED
        at = i64(loss["next"])
    return found


@hot
def is_suspect(state: State, port: int) -> bool:
    """Whether damaged() has anything to look at on this port."""
    row = state.ports[port]
    return bool(row["bit_error_ratio"] > 0.0) or row["first_loss"] != 0

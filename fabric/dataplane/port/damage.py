"""Bit errors of a cable and injected losses, applied to arriving frames."""

from __future__ import annotations

import numpy as np

from fabric.dataplane.state import rng
from fabric.dataplane.state.codes import DropReason, PacketKind, RandomUse
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State

INTACT = -1

_DATA, _DATAGRAM, _PFC = int(PacketKind.DATA), int(PacketKind.DATAGRAM), int(PacketKind.PFC)
_NOTICE = int(PacketKind.NOTICE)
_FCS, _INJECTED = int(DropReason.FCS), int(DropReason.INJECTED)
_ERRORS = int(RandomUse.ERRORS)


@kernel
def damaged(state: State, device: int, port: int, packet: np.uint32) -> int:
    """The DropReason of a bit error or of a fault of the scenario that hits this frame, or INTACT."""
    row = state.ports[port]
    if row["bit_error_ratio"] > 0.0:
        # Float base and exponent: with an integer exponent compiled code and plain Python may round differently.
        bits = 8.0 * i64(state.packets[packet]["size"])
        if rng.draw(state, device, _ERRORS) < 1.0 - (1.0 - row["bit_error_ratio"]) ** bits:
            row["fcs_errors"] += 1
            return _FCS
    kind = i64(state.packets[packet]["kind"])
    if row["first_loss"] == 0 or kind in (_PFC, _NOTICE):
        return INTACT
    carries_data = kind in (_DATA, _DATAGRAM)
    found, at = INTACT, i64(row["first_loss"])
    while at != 0:  # each loss counts every frame, also one that another loss discards
        loss = state.losses[at]
        if carries_data or loss["all_kinds"] != 0:
            loss["count"] += 1
            if loss["count"] % loss["every"] == 0:
                found = _INJECTED
        at = i64(loss["next"])
    return found


@hot
def is_suspect(state: State, port: int) -> bool:
    """Whether damaged() has anything to check on this port."""
    row = state.ports[port]
    return bool(row["bit_error_ratio"] > 0.0) or row["first_loss"] != 0

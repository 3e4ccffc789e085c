"""What a data frame carries for its congestion control, beside its row of State.packets: words of State.telemetry.

A frame has as many words as the control in use that needs most (codes.TELEMETRY_WORDS), so that those of a frame are in
one cache line and, where they are few, several frames share a line.
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.state.codes import PacketKind
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.compiled.prefetch import prefetch
from fabric.dataplane.state.types import State

_DATA = int(PacketKind.DATA)
u = np.uint32


@hot
def place(state: State, packet: np.uint32) -> int:
    """First word of a frame."""
    return i64(packet) * i64(state.config[0]["telemetry_words"])


@hot
def is_carried(state: State) -> bool:
    """Whether a control in use has words."""
    return bool(state.config[0]["telemetry_words"] != 0)


@hot
def expect(state: State, device: int, packet: np.uint32) -> None:
    """A frame is about to arrive at a device: prefetch its words where they will be read: those of answers by hosts,
    those of data frames by the switches of some controls.
    """
    is_host = i64(state.devices[device]["is_host"])
    if is_host == 0 and state.config[0]["telemetry_of_switches"] == 0:
        return
    # No branch on the kind: data frames and answers alternate, and a branch that is predicted badly would wait for the
    # frame's row. The words of row 0, which is no frame, are in the cache.
    is_data = i64(state.packets[packet]["kind"] == _DATA)
    prefetch(state.telemetry, u(place(state, packet) * (is_data ^ is_host)))


@kernel
def copy(state: State, packet: np.uint32, made: np.uint32) -> None:
    """A frame is copied: `made` carries what `packet` carries."""
    before, after = place(state, packet), place(state, made)
    for word in range(i64(state.config[0]["telemetry_words"])):
        state.telemetry[after + word] = state.telemetry[before + word]

"""Packet rows: every device holds a list of free ones.

A device takes a row for each new frame and gives it back at the frame's end; the row freed last is taken first, so few
rows are in use. A device is never entered with fewer than DEVICE.reserve rows, so taking cannot fail inside a handler.
Before, it takes a portion of the rows without an owner. When these have run out, the driver levels the devices' free
rows, which drift by CNPs and drops, and grows the table (Stop.PACKETS).
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.state.codes import LINE, Shared
from fabric.dataplane.state.compiled.atomic import load_acquire, replace_if
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.compiled.prefetch import prefetch
from fabric.dataplane.state.types import State

_SPARE = int(Shared.SPARE_PACKET) * LINE
u = np.uint32


@hot
def take(state: State, device: int) -> np.uint32:
    """A free packet row of this device, fields undefined except next = 0."""
    row = state.devices[device]
    packet = row["free_head"]
    row["free_head"] = state.packets[packet]["next"]
    row["free_count"] -= 1
    prefetch(state.packets, row["free_head"])
    state.packets[packet]["next"] = 0
    return packet


@hot
def give(state: State, device: int, packet: np.uint32) -> None:
    """Return a row to this device's free list."""
    row = state.devices[device]
    state.packets[packet]["next"] = row["free_head"]
    row["free_head"] = packet
    row["free_count"] += 1


@kernel
def refill(state: State, device: int) -> bool:
    """Take a portion of the rows without an owner; False if too few are left, with nothing changed."""
    row = state.devices[device]
    wanted = 2 * i64(row["reserve"])
    # Not an addition and its reversal: another device might get rows in between that the reversal takes away.
    first = load_acquire(state.shared, _SPARE)
    while True:
        if first + wanted > state.packets.shape[0]:
            return False
        if replace_if(state.shared, _SPARE, first, first + wanted):
            break
        first = load_acquire(state.shared, _SPARE)
    for packet in range(first, first + wanted - 1):
        # Also keeps the compiler from vectorising this loop: run_device, into which it is inlined, would load the
        # vector constants again for every event (3 % of a run).
        prefetch(state.packets, u(packet + 1))
        state.packets[u(packet)]["next"] = packet + 1
    state.packets[u(first + wanted - 1)]["next"] = row["free_head"]
    row["free_head"] = first
    row["free_count"] += wanted
    return True

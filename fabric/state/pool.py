"""Packet rows: every device holds a list of free ones.

A row is taken where a frame is made and given back where it ends; the row freed last is taken first, so that few rows
go round. A device is never entered with fewer than DEVICE.reserve rows, so taking cannot fail inside a handler: before,
it takes a portion of those that are nobody's yet, and when these have run out the driver levels what has drifted (CNPs,
drops) and grows the table (Stop.PACKETS).
"""

from __future__ import annotations

import numpy as np

from fabric.state.atomic import load_acquire, replace_if
from fabric.state.codes import LINE, Shared
from fabric.state.jit import hot, i64, kernel
from fabric.state.prefetch import prefetch
from fabric.state.types import State

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
    """Take a portion of the rows that are nobody's yet; False if too few are left (then nothing has changed)."""
    row = state.devices[device]
    wanted = 2 * i64(row["reserve"])
    # Not added and taken back: between the two, another device might be given rows that are taken back under it.
    first = load_acquire(state.shared, _SPARE)
    while True:
        if first + wanted > state.packets.shape[0]:
            return False
        if replace_if(state.shared, _SPARE, first, first + wanted):
            break
        first = load_acquire(state.shared, _SPARE)
    for packet in range(first, first + wanted - 1):
        # Also keeps the compiler from making vectors of this loop, whose constants run_device, which it becomes part
        # of, would load again for every event (3 % of a run).
        prefetch(state.packets, u(packet + 1))
        state.packets[u(packet)]["next"] = packet + 1
    state.packets[u(first + wanted - 1)]["next"] = row["free_head"]
    row["free_head"] = first
    row["free_count"] += wanted
    return True

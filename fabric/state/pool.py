"""Packet rows: every device holds a list of free ones.

A row is taken where a frame is made and given back where it ends. Data rows come home as their own ACK, so the lists
stay balanced; what drifts (CNPs, drops) is levelled by the driver, which also grows the table (Stop.PACKETS). A
device is never entered with fewer than `reserve` rows, so taking cannot fail inside a handler.
"""

from __future__ import annotations

import numpy as np

from fabric.state.jit import hot
from fabric.state.prefetch import prefetch
from fabric.state.types import State

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


@hot
def reserve(n_ports: int) -> int:
    """Rows that one event of a device may need: a PFC frame per port, a data packet per port, a CNP."""
    return 2 * n_ports + 8

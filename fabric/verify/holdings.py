"""The place of every packet: follows the lists of the engine without changing them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state.lists import follow
from fabric.dataplane.state.types import State

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Held:
    """Packet rows of one kind of list, and the index of the list that each is in."""

    packets: Rows
    place: Rows


def walk(state: State, heads: NDArray[np.uint32], tails: NDArray[np.uint32] | None = None) -> Held:
    """All packets of the lists that start at `heads` (0: empty); `tails` bounds lists whose last link is stale."""
    links = state.packets["next"]
    last = np.zeros_like(heads) if tails is None else tails
    none = np.zeros(0, np.int64)
    packets = np.zeros(follow(links, heads, last, none, none), np.int64)
    places = np.zeros_like(packets)
    follow(links, heads, last, packets, places)
    return Held(packets, places)


def queued(state: State) -> Held:
    """Packets in egress queues (switches) and frames already made (hosts); place = queue row."""
    return walk(state, state.queues["head"], state.queues["tail"])


def control(state: State) -> Held:
    """Packets in control queues; place = port."""
    return walk(state, state.ports["ctrl_head"], state.ports["ctrl_tail"])


def flying(state: State) -> Held:
    """Packets on wires, pause frames included; place = receiving port."""
    ports = state.ports
    data, pause = walk(state, ports["in_head"]), walk(state, ports["pin_head"])
    return Held(np.concatenate([data.packets, pause.packets]), np.concatenate([data.place, pause.place]))


def buffered(state: State) -> Held:
    """Packets in slow receivers' buffers and delayed CNPs; place = host."""
    hosts = state.hosts
    a, b = walk(state, hosts["rx_head"], hosts["rx_tail"]), walk(state, hosts["cnp_head"], hosts["cnp_tail"])
    return Held(np.concatenate([a.packets, b.packets]), np.concatenate([a.place, b.place]))


def free(state: State) -> Held:
    """Free rows; place = device."""
    return walk(state, state.devices["free_head"])

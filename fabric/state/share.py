"""Sharing out: free packet rows among devices, devices among threads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fabric.state import types as t
from fabric.state.codes import LINE, N_CLASSES, Shared
from fabric.topology.model import Fabric, Node

CAPACITY_PER_PORT = 512
ENOUGH_TASKS = 8
"""Tasks a thread, from which on a switch and its hosts are one."""


def rows_of_one_event(node: Node, n_vteps: int) -> int:
    """Packet rows that one event of a device may need: a PFC frame and a data packet per port, a CNP, and where
    broadcasts are replicated a copy per port and VTEP. A slow receiver sends a PFC frame per port and class at once.
    """
    if node.is_host:
        return (N_CLASSES + 1) * node.n_ports + 8
    return 2 * node.n_ports + 8 + (n_vteps and node.n_ports + n_vteps)


def packet_capacity(devices: NDArray[np.void]) -> int:
    """Rows of the packet table to begin with: address space, of which only what is used becomes memory."""
    return 1 + int((CAPACITY_PER_PORT * devices["n_ports"].astype(np.int64) + 2 * devices["reserve"]).sum())


def share_out_packets(state: t.State) -> None:
    """Give every device what one of its events may need; more it fetches itself (pool.refill)."""
    first = 1
    for device, reserve in enumerate(state.devices["reserve"].tolist()):
        give_rows(state, device, first, reserve)
        first += reserve
    state.shared[Shared.SPARE_PACKET * LINE] = first


def give_rows(state: t.State, device: int, first: int, count: int) -> None:
    """Add rows first..first+count-1 to a device's free list."""
    if count == 0:
        return
    state.packets["next"][first : first + count - 1] = np.arange(first + 1, first + count)
    state.packets["next"][first + count - 1] = state.devices[device]["free_head"]
    state.devices[device]["free_head"] = first
    state.devices[device]["free_count"] += count


def tasks_of(fabric: Fabric, threads: int) -> list[list[int]]:
    """NodeIds that always belong to one share together: a switch and its hosts, so that their traffic stays within it.

    Where there are few switches, switches and small groups of hosts by themselves: so shares can still be evened out.
    """
    below: dict[int, list[int]] = {}
    for host in fabric.hosts:
        below.setdefault(fabric.peer_of(host.first_port).id, []).append(host.id)
    families = [(switch.id, below.get(switch.id, [])) for switch in fabric.switches]
    if len(families) >= ENOUGH_TASKS * threads:
        return [[switch, *hosts] for switch, hosts in families]
    found: list[list[int]] = []
    for switch, hosts in families:
        found += [[switch], *(hosts[i : i + LINE] for i in range(0, len(hosts), LINE))]
    return found


def slots(members: list[int]) -> int:
    """Places that a task takes in State.roster and next_ps: whole cache lines of the latter."""
    return -(-len(members) // LINE) * LINE


def make_tasks(state: t.State, tasks: list[list[int]]) -> None:
    """Give every device its slot."""
    first = 0
    for task, members in enumerate(tasks):
        state.tasks[task]["first"], state.tasks[task]["count"] = first, len(members)
        state.roster[first : first + len(members)] = members
        state.devices["slot"][members] = range(first, first + len(members))
        first += slots(members)


def deal(state: t.State, fabric: Fabric, tasks: list[list[int]], threads: int) -> None:
    """Deal tasks out to threads: of each tier every thread gets neighbours, and as many tasks as others.

    What the work really is, the run tells (engine/dealing).
    """
    tiers: dict[int, list[int]] = {}
    for task, members in enumerate(tasks):
        node = fabric.nodes[members[0]]
        tiers.setdefault(-1 if node.is_host else node.tier, []).append(task)
    shares: list[list[int]] = [[] for _ in range(threads)]
    for tier in tiers.values():
        for place, task in enumerate(tier):
            shares[place * threads // len(tier)].append(task)
    state.dealt[:] = [task for share in shares for task in share]
    first = 0
    for thread, share in enumerate(shares):
        state.threads[thread]["first"], state.threads[thread]["count"] = first, len(share)
        first += len(share)
        for task in share:
            state.tasks[task]["home"] = thread
            state.devices["share"][tasks[task]] = thread
    state.ports["peer_share"] = state.devices["share"][state.ports["peer_node"]]

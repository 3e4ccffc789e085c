"""Sharing out: free packet rows among devices, devices among threads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fabric.state import types as t
from fabric.state.codes import LINE, N_CLASSES, Shared
from fabric.topology.model import Fabric, Node

CAPACITY_PER_PORT = 512
HOSTS_PER_TASK = 8


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


def partition(state: t.State, fabric: Fabric, threads: int) -> None:
    """Deal tasks out to threads by expected work (ports weighted by speed); whoever has finished takes others' tasks.

    A host goes to the thread of its first switch, so most traffic stays within a thread up to the first tier. A switch
    is a task of its own, hosts are claimed by the handful; the big ones come first, the small ones fill the gaps.
    """
    weight = np.zeros(threads)
    work = {int(node.id): sum(fabric.links[fabric.ports[port].link].rate_bps for port in node.ports)
            for node in fabric.nodes}
    below: dict[int, list[int]] = {}
    for host in fabric.hosts:
        below.setdefault(fabric.peer_of(host.first_port).id, []).append(host.id)
    switches: list[list[int]] = [[] for _ in range(threads)]
    hosts: list[list[int]] = [[] for _ in range(threads)]
    families = [(node.id, *below.get(node.id, ())) for node in fabric.switches]
    for family in sorted(families, key=lambda family: (-sum(work[member] for member in family), family[0])):
        thread = int(np.argmin(weight))
        switches[thread].append(family[0])
        hosts[thread].extend(family[1:])
        weight[thread] += sum(work[member] for member in family)
    first = task = 0
    for thread in range(threads):
        state.threads[thread]["first"] = task
        chunks = [[switch] for switch in switches[thread]]
        chunks += [hosts[thread][i : i + HOSTS_PER_TASK] for i in range(0, len(hosts[thread]), HOSTS_PER_TASK)]
        for members in chunks:
            state.tasks[task]["first"], state.tasks[task]["count"] = first, len(members)
            state.roster[first : first + len(members)] = members
            state.devices["player"][members] = thread
            first += len(members)
            task += 1
        state.threads[thread]["count"] = len(chunks)

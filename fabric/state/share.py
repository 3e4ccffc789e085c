"""Sharing out: free packet rows among devices, devices among threads."""

from __future__ import annotations

import numpy as np

from fabric.state import types as t
from fabric.state.codes import LINE, Shared
from fabric.state.pool import ROWS_BESIDE, ROWS_PER_PORT
from fabric.topology.model import Fabric

FIRST_PACKETS_PER_PORT = 128
HOSTS_PER_TASK = 8


def rows_at_start(n_ports: int) -> int:
    """Free packet rows that a device begins with: what one event may need; more it fetches itself (pool.refill)."""
    return ROWS_PER_PORT * n_ports + ROWS_BESIDE


def packet_capacity(fabric: Fabric) -> int:
    """Rows of the packet table to begin with: address space, of which only what is used becomes memory."""
    return 1 + sum(FIRST_PACKETS_PER_PORT * node.n_ports + 2 * rows_at_start(node.n_ports) for node in fabric.nodes)


def share_out_packets(state: t.State, fabric: Fabric) -> None:
    """Give every device its first rows."""
    first = 1
    for node in fabric.nodes:
        give_rows(state, node.id, first, rows_at_start(node.n_ports))
        first += rows_at_start(node.n_ports)
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

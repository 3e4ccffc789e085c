"""Sharing out: free packet rows among devices, devices among threads."""

from __future__ import annotations

import numpy as np

from fabric.state import types as t
from fabric.topology.model import Fabric

FIRST_PACKETS_PER_PORT = 64


def rows_at_start(n_ports: int) -> int:
    """Free packet rows that a device of n_ports begins with: 64 per port and what one event may need."""
    return FIRST_PACKETS_PER_PORT * n_ports + 2 * n_ports + 16


def share_out_packets(state: t.State, fabric: Fabric) -> None:
    """Give every device a contiguous list of free rows."""
    first = 1
    for node in fabric.nodes:
        give_rows(state, node.id, first, rows_at_start(node.n_ports))
        first += rows_at_start(node.n_ports)
    state.config[0]["spare_packet"] = first


def give_rows(state: t.State, device: int, first: int, count: int) -> None:
    """Add rows first..first+count-1 to a device's free list."""
    if count == 0:
        return
    state.packets["next"][first : first + count - 1] = np.arange(first + 1, first + count)
    state.packets["next"][first + count - 1] = state.devices[device]["free_head"]
    state.devices[device]["free_head"] = first
    state.devices[device]["free_count"] += count


def partition(state: t.State, fabric: Fabric, threads: int) -> None:
    """Deal devices out to threads by expected work (ports weighted by speed), neighbours together where it costs
    nothing.

    A host goes to the thread of its first switch, so most traffic stays within a thread up to the first tier.
    """
    weight = np.zeros(threads)
    owner = np.zeros(len(fabric.nodes), np.int64)
    work = {int(node.id): sum(fabric.links[fabric.ports[port].link].rate_bps for port in node.ports)
            for node in fabric.nodes}
    below: dict[int, list[int]] = {}
    for host in fabric.hosts:
        below.setdefault(fabric.peer_of(host.first_port).id, []).append(host.id)
    families = [(node.id, *below.get(node.id, ())) for node in fabric.switches]
    for family in sorted(families, key=lambda family: (-sum(work[member] for member in family), family[0])):
        thread = int(np.argmin(weight))
        for member in family:
            owner[member] = thread
            weight[thread] += work[member]
    state.devices["thread"] = owner
    state.roster[:] = np.argsort(owner, kind="stable")
    state.threads["count"] = np.bincount(owner, minlength=threads)
    state.threads["first"] = np.concatenate([[0], np.cumsum(state.threads["count"])[:-1]])

"""Initial distribution: free packet rows among devices, devices among tasks, tasks among threads."""

from __future__ import annotations

from contextlib import suppress

import networkx as nx
import numpy as np

from fabric.dataplane.state import types as t
from fabric.dataplane.state.codes import LINE, N_CLASSES, Shared
from fabric.dataplane.state.types import Table
from fabric.topology.model import Fabric, Node

CAPACITY_PER_PORT = 512
ENOUGH_FAMILIES = 8
"""With this many switches per thread all hosts of a switch are one task."""
HOSTS_PER_TASK = 8
"""A leaf's hosts are then several tasks, so that lists can be balanced where few switches have hosts."""


def rows_of_one_event(node: Node, n_vteps: int) -> int:
    """Packet rows that one event of a device may need: a PFC frame and a data packet per port, a CNP, and where
    broadcasts are replicated a copy per port and VTEP. A slow receiver sends a PFC frame per port and class at once.
    """
    if node.is_host:
        return (N_CLASSES + 1) * node.n_ports + 8
    return 2 * node.n_ports + 8 + (n_vteps and node.n_ports + n_vteps)


def packet_capacity(devices: Table) -> int:
    """Rows of the packet table to begin with: address space; only used pages become memory."""
    return 1 + int((CAPACITY_PER_PORT * devices["n_ports"].astype(np.int64) + 2 * devices["reserve"]).sum())


def share_out_packets(state: t.State) -> None:
    """Give every device the rows that one of its events may need; it takes more by pool.refill."""
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


def sides_of(fabric: Fabric, *, sequential: bool = False) -> list[int]:
    """By NodeId 0 or 1, so that every cable joins the two sides, as in every tree of tiers (hosts, leaves, spines
    alternate). All 0 if that is impossible (leaves cabled in a ring of three), or if one event is simulated at a time.
    """
    found: dict[int, int] = {}
    if not sequential:
        cables = nx.Graph((fabric.ports[link.a].node, fabric.ports[link.b].node) for link in fabric.links)
        with suppress(nx.NetworkXError):  # not bipartite
            found = nx.bipartite.color(cables)
    return [found.get(node.id, 0) for node in fabric.nodes]


def tasks_of(fabric: Fabric, threads: int, sides: list[int], *, sequential: bool = False) -> list[list[int]]:
    """NodeIds of each task: a switch, or its hosts, or a few of them where there are few switches per thread. With one
    side only and many switches: a switch with its hosts. The switch of a task comes first. If one event is simulated
    at a time, all devices are one task.
    """
    if sequential:
        return [[node.id for node in fabric.nodes]]
    below: dict[int, list[int]] = {}
    for host in fabric.hosts:
        below.setdefault(fabric.peer_of(host.first_port).id, []).append(host.id)
    families = [(switch.id, below.get(switch.id, [])) for switch in fabric.switches]
    many = len(families) >= ENOUGH_FAMILIES * threads
    if many and not any(sides):
        return [[switch, *hosts] for switch, hosts in families]
    found: list[list[int]] = []
    for switch, hosts in families:
        portion = len(hosts) if many and hosts else HOSTS_PER_TASK
        found += [[switch], *(hosts[i : i + portion] for i in range(0, len(hosts), portion))]
    return found


def whole_lines(words: int) -> int:
    """A number of words rounded up to whole pairs of cache lines."""
    return -(-words // LINE) * LINE


def slots(members: list[int]) -> int:
    """Places that a task takes in State.roster and next_ps: whole pairs of lines of the latter."""
    return whole_lines(len(members))


def inbox_room(fabric: Fabric, members: list[int]) -> int:
    """Rows of a task's inbox: in one window every wire to it is named once for data and once for PFC frames."""
    return whole_lines(2 * sum(fabric.nodes[node].n_ports for node in members))


def _keep_homed(state: t.State) -> None:
    """Homed hosts are on one side. Other threads do not take them, so there are none where one switch has more of the
    hosts than a thread should have.
    """
    homed = np.flatnonzero(state.tasks["homed"])
    hosts = np.bincount(state.tasks["family"][homed], state.tasks["count"][homed])
    if len(homed) and hosts.max() * len(state.threads) <= hosts.sum():
        state.tasks["homed"] &= state.tasks["side"] == state.tasks["side"][homed[0]]
    else:
        state.tasks["homed"] = 0


def _are_homed(fabric: Fabric, hosts: list[int], switch: int) -> bool:
    return all(peer.id == switch for host in hosts for _, peer in fabric.neighbours(host))


def make_tasks(state: t.State, fabric: Fabric, tasks: list[list[int]], sides: list[int]) -> None:
    """Give every device its slot, and every port its place in the inbox of its peer's task."""
    first, inbox, family = 0, 0, 0
    task_of, inbox_of = np.zeros(len(fabric.nodes), np.int64), np.zeros(len(tasks), np.int64)
    for task, members in enumerate(tasks):
        if not fabric.nodes[members[0]].is_host:
            family = task
        row = state.tasks[task]
        row["first"], row["count"], row["inbox"] = first, len(members), inbox
        row["family"], row["side"] = family, sides[members[0]]
        row["homed"] = sides[members[0]] != sides[tasks[family][0]] and _are_homed(fabric, members, tasks[family][0])
        state.roster[first : first + len(members)] = members
        state.devices["slot"][members] = range(first, first + len(members))
        task_of[members], inbox_of[task] = task, inbox
        first += slots(members)
        inbox += inbox_room(fabric, members)
    _keep_homed(state)
    for port in fabric.ports:
        task = task_of[fabric.ports[port.peer].node]
        state.wires[port.id] = (port.peer, task, inbox_of[task])


def assign(state: t.State, fabric: Fabric, tasks: list[list[int]], threads: int) -> None:
    """Give tasks owners: of each tier every thread gets neighbouring switches, the same number as the others, with
    their hosts.

    Load balancing corrects it by the measured times (engine/parallel/balancing).
    """
    tiers: dict[int, list[int]] = {}
    for task, members in enumerate(tasks):
        if state.tasks[task]["family"] == task:
            tiers.setdefault(fabric.nodes[members[0]].tier, []).append(task)
    for tier in tiers.values():
        for place, task in enumerate(tier):
            state.tasks[task]["owner"] = place * threads // len(tier)
    state.tasks["owner"] = state.tasks["owner"][state.tasks["family"]]
    group = np.where(state.tasks["homed"], len(state.lists) // threads - 1, state.tasks["side"])
    its_list = group.astype(np.int64) * threads + state.tasks["owner"]
    state.assigned[:] = np.argsort(its_list, kind="stable")
    state.lists["count"] = np.bincount(its_list, minlength=len(state.lists))
    state.lists["first"] = np.cumsum(state.lists["count"]) - state.lists["count"]

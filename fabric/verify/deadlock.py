"""Deadlock: a cycle of paused queues, each waiting for buffer that only the next one can free (cyclic buffer
dependency).

Wait-for graph (Hu et al., HotNets 2016): a queue (port, class) of a device is stopped because its peer sent XOFF for a
priority group; that group is freed only by the egress queues of the peer in which its packets wait; of these, the
paused queues are waited for. A cycle that does not change is a deadlock; a cycle seen once is only a wait.
"""

from __future__ import annotations

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.port.flowcontrol import counters as flow
from fabric.dataplane.state.codes import N_CLASSES
from fabric.dataplane.state.types import State
from fabric.topology.cycles import cycles
from fabric.topology.model import Fabric
from fabric.verify import holdings

Queue = tuple[int, int]
"""(PortId, class) of an egress queue."""


def paused_queues(state: State) -> list[Queue]:
    """Queues that hold packets and must not send."""
    rows = np.flatnonzero(flow.paused(state.ports).reshape(-1) & (state.queues["depth_pkts"] > 0))
    return [(int(row) // N_CLASSES, int(row) % N_CLASSES) for row in rows]


def holders(state: State, fabric: Fabric) -> NDArray[np.int64]:
    """(n, 4) rows of ingress port, priority group, egress queue (port * 8 + class), packets of the group waiting there:
    the queues of a switch that hold the bytes charged to its priority groups.
    """
    held = holdings.queued(state)
    device = state.ports["node"][held.place // N_CLASSES].astype(np.int64)
    at_switch = state.devices["is_host"][device] == 0
    rows, place, switch = held.packets[at_switch], held.place[at_switch], device[at_switch] - len(fabric.hosts)
    group = state.switches["tc_to_pg"][switch, state.packets["tc"][rows]]
    shape = (len(state.ports), N_CLASSES, len(state.queues))
    keys = np.ravel_multi_index((state.packets["in_port"][rows], group, place), shape)
    found, packets = np.unique(keys, return_counts=True)
    return np.column_stack([*np.unravel_index(found, shape), packets])


def wait_graph(state: State, fabric: Fabric) -> nx.DiGraph[Queue]:
    """Edges from a paused queue to the paused queues that hold the packets for which it was paused."""
    paused = dict.fromkeys(paused_queues(state))  # in order, so that the same state always gives the same graph
    graph: nx.DiGraph[Queue] = nx.DiGraph()
    graph.add_nodes_from(paused)
    if not paused:
        return graph
    waits: dict[Queue, list[Queue]] = {}
    for port, pg, queue, _ in holders(state, fabric).tolist():
        waits.setdefault((port, pg), []).append((queue // N_CLASSES, queue % N_CLASSES))
    for port, c in paused:
        peer = int(state.ports[port]["peer"])
        for queue in waits.get((peer, c), ()):
            if queue in paused and state.pgs[peer * N_CLASSES + c]["xoff_sent"]:
                graph.add_edge((port, c), queue)
    return graph


def find_cycle(state: State, fabric: Fabric) -> list[Queue]:
    """One cycle of paused queues in waiting order, the smallest port first; empty if there is none."""
    return next(iter(cycles(wait_graph(state, fabric))), [])


def describe(cycle: list[Queue], fabric: Fabric) -> str:
    """'leaf1:Ethernet4 class 3 -> spine1:Ethernet0 class 3 -> ... -> leaf1:Ethernet4'."""
    return " -> ".join(f"{fabric.port_name(port)} class {c}" for port, c in [*cycle, cycle[0]])

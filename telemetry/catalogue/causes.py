"""Why a port may not send: the packets in the priority group of its peer, and the root of the chain of pauses.

Rules
1. A paused port waits for the priority group of its peer that sent XOFF, and so for the egress queue there that holds
   most of that group's packets. `evidence` says how this is known: `packets`, where single packets were followed;
   `depth`, where only counters are known: then it is the deepest queue of the class, paused queues first (a queue that
   may send drains).
2. A host at the other end is the cause itself: a slow receiver where its receive buffer holds packets or sent XOFF,
   else a broken NIC, which pauses although its receive buffer is empty.
3. The root is found by following the causes; in a cycle the root is the first port in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from fabric.dataplane.engine.counters import Snapshot
from telemetry.catalogue.observation import Holders, Observation

_Queue = tuple[int, int]
"""(PortId, class)."""
_Cause = tuple[str, int, int]
"""(kind, PortId, class) of what a paused queue waits for."""

CONGESTION: Final = "congestion"
PAUSED: Final = "paused"
SLOW_RECEIVER: Final = "slow_receiver"
BROKEN_NIC: Final = "broken_nic"
UNKNOWN: Final = "unknown"
"""The peer sent XOFF, but none of its queues holds packets of the class (any more)."""


def pause_causes(snapshot: Snapshot) -> list[dict[str, str]]:
    """Labels of fabric_pfc_pause_cause_info, one per port and priority that is paused now."""
    ports = snapshot.ports
    rows = np.argwhere(snapshot.paused).tolist()
    if not rows:
        return []
    holders = snapshot.holders if isinstance(snapshot, Observation) else None
    followed = {} if holders is None else _followed(holders)
    paused = {(port, priority) for port, priority in rows}
    deepest = _Deepest(snapshot)
    causes: dict[_Queue, _Cause] = {}
    for port, priority in rows:
        peer = int(ports["peer"][port])
        node = snapshot.fabric.node_of(peer)
        if node.is_host:
            host = snapshot.hosts[node.id]
            kind = SLOW_RECEIVER if host["rx_used_bytes"] or host["rx_xoff_sent"] else BROKEN_NIC
            causes[port, priority] = kind, peer, priority
            continue
        queue = deepest.other_than(peer, priority) if holders is None else followed.get((peer, priority))
        if queue is None:
            causes[port, priority] = UNKNOWN, peer, priority
        else:
            causes[port, priority] = PAUSED if queue in paused else CONGESTION, *queue
    evidence = "depth" if holders is None else "packets"
    return [_labels(snapshot, queue, causes, evidence) for queue in causes]


def _followed(it: Holders) -> dict[_Queue, _Queue]:
    """(ingress port, group) -> the queue with most of its packets."""
    found: dict[_Queue, _Queue] = {}
    most: dict[_Queue, int] = {}
    for ingress, group, egress, queue, packets in zip(
        it.ingress.tolist(),
        it.priority.tolist(),
        it.egress.tolist(),
        it.queue.tolist(),
        it.packets.tolist(),
        strict=True,
    ):
        if packets > most.get((ingress, group), 0):
            most[ingress, group] = packets
            found[ingress, group] = egress, queue
    return found


class _Deepest:
    """The deepest queues of every switch and class, paused queues first; searched once per switch and class."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._now = snapshot
        self._first: dict[_Queue, list[int]] = {}

    def other_than(self, ingress: int, priority: int) -> _Queue | None:
        """The deepest queue of the switch of port `ingress`, without that port; None where no packet waits."""
        node = self._now.fabric.node_of(ingress)
        key = int(node.id), priority
        if key not in self._first:
            ports = slice(node.first_port, node.first_port + node.n_ports)
            depth = self._now.queues["depth_bytes"][ports, priority]
            is_paused = self._now.paused[ports, priority]
            order = np.lexsort((np.arange(len(depth)), -depth, -is_paused.astype(np.int64)))
            self._first[key] = [node.first_port + at for at in order.tolist() if depth[at] > 0][:2]
        port = next((port for port in self._first[key] if port != ingress), None)
        return None if port is None else (port, priority)


def _root(start: _Queue, causes: Mapping[_Queue, _Cause]) -> _Cause:
    kind, *rest = causes[start]
    port, priority = rest
    seen = [start]
    while (port, priority) in causes:
        if (port, priority) in seen:
            return kind, *min(seen[seen.index((port, priority)) :])
        seen.append((port, priority))
        kind, port, priority = causes[port, priority]
    return kind, port, priority


def _labels(snapshot: Snapshot, queue: _Queue, causes: Mapping[_Queue, _Cause], evidence: str) -> dict[str, str]:
    fabric = snapshot.fabric
    kind, cause, _ = causes[queue]
    root_kind, root, _ = _root(queue, causes)
    places = {name: fabric.ports[port] for name, port in (("", queue[0]), ("cause_", cause), ("root_", root))}
    named = {
        key: value
        for name, port in places.items()
        for key, value in ((f"{name}device", fabric.nodes[port.node].name), (f"{name}port", port.name))
    }
    return {
        "device": named["device"],
        "port": named["port"],
        "priority": str(queue[1]),
        "cause": kind,
        "cause_device": named["cause_device"],
        "cause_port": named["cause_port"],
        "root": root_kind,
        "root_device": named["root_device"],
        "root_port": named["root_port"],
        "evidence": evidence,
    }

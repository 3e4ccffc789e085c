"""How a scenario's own queue pairs fall on the members of every ECMP group: exactly, by the switches' own hashes.

Flows and bytes that will be offered, not what passed; acknowledgements are left out. A queue pair whose packets are
sprayed, or that finds no route, falls on no member.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fabric.report.forwarding import Forwarding
from fabric.report.walk import walk


@dataclass(frozen=True, slots=True)
class GroupLoad:
    """One next-hop group with a choice."""

    switch: int
    members: tuple[int, ...]
    """PortId, in the order in which the hash counts."""
    flows: tuple[int, ...]
    """Queue pairs by member."""
    bytes: tuple[int, ...]
    """Their messages' bytes by member."""

    @property
    def n_flows(self) -> int:
        """Queue pairs that the group divides."""
        return sum(self.flows)

    @property
    def flows_max_over_mean(self) -> float:
        """Of the fullest member; 1 is even."""
        return max(self.flows) * len(self.flows) / self.n_flows

    @property
    def bytes_max_over_mean(self) -> float:
        """As above, by bytes."""
        return max(self.bytes) * len(self.bytes) / max(sum(self.bytes), 1)


def group_loads(at: Forwarding) -> list[GroupLoad]:
    """Every group that some queue pair of the scenario meets, by switch."""
    flows = at.queue_pairs()
    steps = walk(at.tables, flows)
    messages = at.params.messages
    size = np.bincount(messages.qp, weights=messages.size_bytes, minlength=len(flows))     # exact below 2**53
    chose = steps.group >= 0
    group, index = steps.group[chose], steps.index[chose]
    weight = np.broadcast_to(size[:, None], chose.shape)[chose]
    place = at.tables.group_first[group] + index
    n_members = len(at.tables.member)
    count = np.bincount(place, minlength=n_members)
    volume = np.bincount(place, weights=weight, minlength=n_members)
    found = []
    for row in np.unique(group).tolist():
        part = slice(int(at.tables.group_first[row]), int(at.tables.group_first[row] + at.tables.group_count[row]))
        ports = tuple(int(port) for port in at.tables.member[part])
        found.append(GroupLoad(at.fabric.node_of(ports[0]).id, ports, tuple(count[part].tolist()),
                               tuple(int(value) for value in volume[part])))
    return sorted(found, key=lambda load: (load.switch, load.members))

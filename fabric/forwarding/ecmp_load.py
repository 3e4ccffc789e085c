"""Load of every ECMP member by the queue pairs of the scenario, computed with the hashes of the switches.

The load is flows and bytes offered, not bytes carried, without acknowledgements. A queue pair whose packets are
sprayed, or that has no route, is on no member.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fabric.dataplane.state.schedule import pair_bytes
from fabric.forwarding.tables import Forwarding
from fabric.forwarding.walk import walk


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
        """Flows of the fullest member over the mean; 1 is even."""
        return max(self.flows) * len(self.flows) / self.n_flows

    @property
    def bytes_max_over_mean(self) -> float:
        """The same for bytes."""
        return max(self.bytes) * len(self.bytes) / max(sum(self.bytes), 1)


def group_loads(at: Forwarding) -> list[GroupLoad]:
    """Every group on the path of a queue pair of the scenario, by switch."""
    flows = at.queue_pairs()
    steps = walk(at.tables, flows)
    size = pair_bytes(at.params)
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
        found.append(
            GroupLoad(
                at.fabric.node_of(ports[0]).id,
                ports,
                tuple(count[part].tolist()),
                tuple(int(value) for value in volume[part]),
            )
        )
    return sorted(found, key=lambda load: (load.switch, load.members))

"""Source routes: the shortest paths from a switch to a host, as the egress ports of the switches on the way.

A NIC that chooses among them sends to all first hops in turn, because consecutive routes differ in the first hop, and
only then in the second. From a leaf of several planes that is the plane (decisions/0168). Where each port of a NIC
leads to another plane, the port is the first hop (decisions/0176).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.ids import NodeId
from fabric.topology.model import Fabric
from fabric.topology.paths import DELIVER, UNREACHABLE, EcmpTable

MOST: Final = 256
"""Routes from a switch to a class of hosts. Multipath NICs keep up to 256 paths (entropy values) a queue pair."""


def switches_from_ports(
    fabric: Fabric, table: EcmpTable, src: NDArray[np.int64], dst: NDArray[np.int64]
) -> NDArray[np.int64]:
    """(n, most ports of a host) switches on the way from a port of host `src`, by its index, to `dst`; 0: no way."""
    first = np.array([host.first_port for host in fabric.hosts], np.int64)
    count = np.array([host.n_ports for host in fabric.hosts], np.int64)
    peer = np.array([fabric.ports[port.peer].node for port in fabric.ports], np.int64)
    index = np.arange(count.max(initial=1))
    port = np.minimum(first[src][:, None] + index, len(fabric.ports) - 1)
    switches = table.distance[peer[port], table.class_of_host[dst][:, None]].astype(np.int64) + 1
    used = index < count[src][:, None]
    if len(fabric.networks) > 1:
        ends, of = np.unique(np.stack([src, dst]), axis=1, return_inverse=True)
        towards = [fabric.ports_towards(*pair) for pair in ends.T.tolist()]
        start, stop = (
            np.array(side, np.int64)[of.reshape(-1)][:, None]
            for side in zip(*((it.start, it.stop) for it in towards), strict=True)
        )
        used &= (port >= start) & (port < stop)
    return np.where(used, np.maximum(switches, 0), 0)


class SourceRoutes:
    """Source routes of a fabric over the shortest paths of `table`."""

    def __init__(self, fabric: Fabric, table: EcmpTable) -> None:
        self._fabric, self._table = fabric, table
        self._counts: dict[tuple[int, int], int] = {}
        self._blocks: dict[tuple[int, int], NDArray[np.int64]] = {}

    def between(self, switch: int, host: int) -> NDArray[np.int64]:
        """(n, hops) PortIds of the switches' egress ports, from `switch` to the port at the host; (0, 0): no path.

        There are more than MOST where several cables of the last switch lead to the host.
        """
        class_ = int(self._table.class_of_host[host])
        if not self._count(switch, class_):
            return np.empty((0, 0), np.int64)
        block, found = self._block(switch, class_), []
        ports = {last: self._table.delivery[NodeId(last), NodeId(host)] for last in np.unique(block[:, -1]).tolist()}
        for cable in range(max(map(len, ports.values()))):
            rows = block[[len(ports[last]) > cable for last in block[:, -1].tolist()]].copy()
            rows[:, -1] = [ports[last][cable] for last in rows[:, -1].tolist()]
            found.append(rows)
        return np.concatenate(found)

    def _count(self, switch: int, class_: int) -> int:
        """Paths from a switch to the switches of a class."""
        key = switch, class_
        if key not in self._counts:
            if self._table.group_of[key] == DELIVER:
                self._counts[key] = 1
            elif self._table.group_of[key] == UNREACHABLE:
                self._counts[key] = 0
            else:
                self._counts[key] = sum(self._branches(switch, class_))
        return self._counts[key]

    def _branches(self, switch: int, class_: int) -> list[int]:
        """Paths behind each next hop of a switch."""
        return [self._count(self._fabric.peer_of(port).id, class_) for port in self._table.members(switch, class_)]

    def _block(self, switch: int, class_: int) -> NDArray[np.int64]:
        """(n, hops) egress ports, and at last the NodeId of the last switch."""
        key = switch, class_
        if key not in self._blocks:
            count, used = self._count(switch, class_), min(self._count(switch, class_), MOST)
            # Where not all are used, each pair of switch and class begins elsewhere, so that together they use all.
            begin = (switch * len(self._table.attachments) + class_) * used
            self._blocks[key] = np.array(
                [self._path(switch, class_, (begin + number) % count) for number in range(used)], np.int64
            )
        return self._blocks[key]

    def _path(self, switch: int, class_: int, number: int) -> list[int]:
        """The path of a number: next hops in turn, each as often as paths are behind it."""
        ports: list[int] = []
        while self._table.group_of[switch, class_] != DELIVER:
            hop, number = _turn(self._branches(switch, class_), number)
            ports.append(self._table.members(switch, class_)[hop])
            switch = self._fabric.peer_of(ports[-1]).id
        return [*ports, switch]


def _turn(counts: list[int], number: int) -> tuple[int, int]:
    """(branch, how often it was taken before) of the turn `number`: branches are taken in turn, each at most its count.

    Raises: IndexError for more turns than all counts together.
    """
    taken = 0
    for level in sorted(set(counts)):
        left = [place for place, count in enumerate(counts) if count > taken]
        width = (level - taken) * len(left)
        if number < width:
            turns, place = divmod(number, len(left))
            return left[place], taken + turns
        number, taken = number - width, level
    raise IndexError(number)

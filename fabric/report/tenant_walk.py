"""Where switches send packets between a tenant's subnets: the choices of switch/irb.py over whole columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fabric.report.flowhash import crc32
from fabric.state.params import EngineParams
from fabric.state.types import BY_HOST, HERE, NO_TENANT, NOWHERE

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class TenantTables:
    """What leaves do with packets that they route, as columns; rows of switches count from 0."""

    tenant: Ints
    """(n_hosts,) a number per tenant that is routed for; -1: none."""
    subnet: Ints
    """(n_hosts,) a number per subnet."""
    fib: Ints
    """(n_switches, n_hosts) State.tenant_fib."""
    ways: Ints
    """State.ways."""
    vtep_fib: Ints
    """(n_switches, n_switches) group + 1 towards a VTEP; 0: no route."""
    host_ip: Ints

    def crossing(self, src: Ints, dst: Ints) -> NDArray[np.bool_]:
        """Which flows are between subnets of one tenant."""
        one_tenant = (self.tenant[src] >= 0) & (self.tenant[src] == self.tenant[dst])
        found: NDArray[np.bool_] = one_tenant & (self.subnet[src] != self.subnet[dst])
        return found

    def towards(self, row: Ints, src: Ints, dst: Ints, words: Ints, far: Ints,
                by_host: Ints) -> tuple[Ints, Ints]:
        """(group, VTEP) of flows at switches; -1 for none.

        Parameters
        ----------
        row : where they are
        src, dst, words : of the inner header
        far : row of the VTEP whose address they wear; -1: none
        by_host : group towards the host at that switch
        """
        way = self.fib[row, dst]
        looks = (far < 0) | (far == row)
        through = looks & (way != NOWHERE) & (way != HERE) & (way != BY_HOST)
        place = np.where(through, way, 0)
        count = np.maximum(self.ways[place], 1)
        hashed = crc32(self.host_ip[src], self.host_ip[dst], words, np.zeros_like(words))
        chosen = self.ways[np.where(through, place + 1 + hashed % count, 0)]
        now = np.where(looks, np.where(through, chosen, -1), far)
        local = np.where(way == NOWHERE, -1, by_host)
        return np.where(now < 0, local, self.vtep_fib[row, np.maximum(now, 0)] - 1), now


    def hashed(self, src: int, dst: int, words: int) -> int:
        """What chooses among equal VTEPs: CRC-32 of the inner header, with seed 0."""
        source, target, ports, seed = (np.array([value], np.int64)
                                       for value in (self.host_ip[src], self.host_ip[dst], words, 0))
        return int(crc32(source, target, ports, seed)[0])

    def vteps(self, row: int, dst: int, far: int) -> tuple[int, ...] | None:
        """Rows of the leaves among whose VTEPs a switch chooses for a packet that wears the address of `far` (-1: of
        none); None where it delivers the packet, or sends it on by its route to the host; () without a route.
        """
        if far not in (-1, row):
            return (far,)
        way = int(self.fib[row, dst])
        if way == NOWHERE:
            return ()
        return None if way in (HERE, BY_HOST) else tuple(self.ways[way + 1 : way + 1 + int(self.ways[way])].tolist())


def membership(params: EngineParams) -> tuple[Ints, Ints]:
    """(tenant, subnet) of every host, as TenantTables has them."""
    n_hosts = len(params.hosts)
    tenant, subnet = np.full(n_hosts, -1, np.int64), np.zeros(n_hosts, np.int64)
    if params.vxlan is None:
        return tenant, subnet
    for place, segment in enumerate(params.vxlan.segments):
        subnet[list(segment.hosts)] = place
    number = len(params.vxlan.segments)
    for column, group in enumerate(params.vxlan.tenants):
        mine = [host for place in group.segments for host in params.vxlan.segments[place].hosts]
        tenant[[*mine, *group.routed]] = column
        for host in group.routed:
            subnet[host] = number
            number += 1
    return tenant, subnet


def column_of_tenant(domains: NDArray[np.uint32], vni: NDArray[np.uint32]) -> Ints:
    """TenantTables.tenant from State."""
    found = domains[vni].astype(np.int64)
    return np.where(found == NO_TENANT, -1, found)

"""Tables of source routes (host/source_route): the routes that the run's queue pairs use, and those withdrawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state import types as t
from fabric.dataplane.state.codes import RouteChoice
from fabric.dataplane.state.params import EngineParams, QueuePairs
from fabric.dataplane.state.streams import stream_key
from fabric.errors import FabricError
from fabric.ids import LinkId
from fabric.topology.model import Fabric
from fabric.topology.paths import EcmpTable, equal_cost_ports
from fabric.topology.source_routes import SourceRoutes, switches_from_ports

_PLACES: Final = 1 << 32 - t.HOP_BITS
_MOST_PORTS: Final = 62
"""Ports of a NIC that a bitmap of State.nic_ports tells apart."""

Bits = NDArray[np.bool_]


def fill_routes(state: t.State, fabric: Fabric, params: EngineParams) -> t.State:
    """Make the routes of all queue pairs and of their answers; State as it is where switches choose paths.

    Raises: FabricError if a packet cannot number so many routes.
    """
    if params.source_routes is None:
        return state
    n_hosts, pairs, table = len(fabric.hosts), params.queue_pairs, equal_cost_ports(fabric)
    reach = reached(fabric, table, pairs)
    several = uses_several(reach)
    state = _with_nic_ports(state, fabric, params, reach) if several else state
    sender, index = np.nonzero(reach)
    src, dst = np.concatenate([pairs.src, pairs.dst]), np.concatenate([pairs.dst, pairs.src])
    switch = _switches(fabric, src[sender], index)
    if not several:
        # Each queue pair has one port; answers leave by that of the packet that they answer.
        of_data, answers = state.ports["peer_node"][pairs.port].astype(np.int64), sender >= len(pairs.src)
        switch, sender = (
            np.concatenate([of_data, switch[answers]]),
            np.concatenate([np.arange(len(of_data)), sender[answers]]),
        )
    ends = sorted(set(zip(switch.tolist(), dst[sender].tolist(), strict=True)))
    sets, set_of = t.rows(1 + len(ends), t.ROUTE_SET), t.rows(len(fabric.switches) * n_hosts, np.uint32)
    ways = SourceRoutes(fabric, table)
    blocks = [ways.between(*end) for end in ends]
    lengths = np.concatenate([np.full(len(block), block.shape[1]) for block in blocks] or [np.empty(0, np.int64)])
    places = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    if places[-1] >= _PLACES:
        raise FabricError(
            f"the source routes of all queue pairs have {places[-1]:,} hops; packets can number {_PLACES:,}",
            "send between fewer hosts, or use another switches.load_balancing",
        )
    counts = [len(block) for block in blocks]
    sets["count"][1:] = sets["live"][1:] = counts
    sets["first"][1:] = np.cumsum([0, *counts[:-1]]) if counts else []
    for row, (at, host) in enumerate(ends, 1):
        set_of[(at - n_hosts) * n_hosts + host] = row
    routes, ports = t.rows(max(len(lengths), 1), t.ROUTE), t.rows(max(int(places[-1]), 1), np.uint32)
    if blocks:
        routes["place"] = places[:-1]
        ports[:] = np.concatenate([block.reshape(-1) for block in blocks])
    turns = first_turns(fabric, params.seed, pairs)
    if several:
        turns = np.repeat(turns // np.maximum(reach.sum(axis=1), 1), reach.shape[1])
    state = state._replace(
        route_sets=sets, routes=routes, route_ports=ports, route_set_of=set_of, route_turns=_column(turns)
    )
    withdraw(state, fabric, params, ())
    return state


def first_turns(fabric: Fabric, seed: int, pairs: QueuePairs) -> NDArray[np.int64]:
    """(2 * n_qps,) first turn of each queue pair's data and answers: the queue pairs of a host take routes in turn."""
    drawn = np.array([stream_key(seed, f"{host.name}.source-routes") & 0xFFFF for host in fabric.hosts])
    turns = np.empty(2 * len(pairs.src), np.int64)
    for place, hosts in enumerate((pairs.src, pairs.dst)):
        ordered = np.argsort(hosts, kind="stable")
        _, first, sizes = np.unique(hosts[ordered], return_index=True, return_counts=True)
        rank = np.empty(len(hosts), np.int64)
        rank[ordered] = np.arange(len(hosts)) - np.repeat(first, sizes)
        turns[place * len(hosts) : (place + 1) * len(hosts)] = drawn[hosts] + rank
    return turns


def reached(fabric: Fabric, table: EcmpTable, pairs: QueuePairs) -> Bits:
    """(2 * n_qps, most ports of a host) NIC ports from which data, then answers, reach their destination."""
    ends = np.concatenate([pairs.src, pairs.dst]), np.concatenate([pairs.dst, pairs.src])
    return switches_from_ports(fabric, table, *ends) > 0


def uses_several(reach: Bits) -> bool:
    """Whether packets of some sender may leave by several ports of its NIC."""
    return bool((reach.sum(axis=1) > 1).any())


def first_ports(fabric: Fabric, seed: int, pairs: QueuePairs, reach: Bits) -> NDArray[np.int64]:
    """(2 * n_qps,) port of each sender's first packet: its first turn among the ports that reach; -1: none does."""
    turns = first_turns(fabric, seed, pairs)
    rank = np.cumsum(reach, axis=1) - 1
    chosen = reach & (rank == (turns % np.maximum(reach.sum(axis=1), 1))[:, None])
    first = np.array([host.first_port for host in fabric.hosts], np.int64)
    hosts = np.concatenate([pairs.src, pairs.dst])
    return np.where(reach.any(axis=1), first[hosts] + chosen.argmax(axis=1), -1)


def withdraw(state: t.State, fabric: Fabric, params: EngineParams, noticed_down: Iterable[LinkId]) -> None:
    """NICs withdraw the routes over cables that they have noticed to be down, and take back the others.

    A NIC of whose routes to a host all are withdrawn goes on to use all of them: it has no other. Where it has several
    ports for the host, those of whose routes all are withdrawn are left out, and those whose own cable is down.
    """
    sets, routes = state.route_sets, state.routes
    counts = sets["count"].astype(np.int64)
    if not counts.sum():
        return
    down = np.zeros(len(fabric.ports), np.bool_)
    for link in noticed_down:
        down[[fabric.links[link].a, fabric.links[link].b]] = True
    lost = np.logical_or.reduceat(down[state.route_ports.astype(np.int64)], routes["place"].astype(np.int64))
    of_set = np.repeat(np.arange(len(sets)), counts)
    routes["withdrawn"] = lost
    routes["order"] = np.lexsort((lost, of_set)) - sets["first"].astype(np.int64)[of_set]
    gone = np.bincount(of_set, lost, len(sets)).astype(np.int64)
    sets["live"] = np.where(gone == counts, counts, counts - gone)
    n_hosts, pairs = len(fabric.hosts), params.queue_pairs
    if state.config[0]["nic_ports"] > 1:
        _leave_ports(state, fabric, params, down, gone)
        return
    switch = state.ports["peer_node"][pairs.port].astype(np.int64)
    used = np.unique(np.stack([pairs.src, state.route_set_of[(switch - n_hosts) * n_hosts + pairs.dst]]), axis=1)
    state.hosts["routes_withdrawn"] = np.bincount(used[0], gone[used[1]], n_hosts)


def _with_nic_ports(state: t.State, fabric: Fabric, params: EngineParams, reach: Bits) -> t.State:
    """State where packets of one queue pair leave by several ports of its NIC (host/nic_ports)."""
    if reach.shape[1] > _MOST_PORTS:
        raise FabricError(
            f"a NIC with {reach.shape[1]} ports: packets of a queue pair may leave by {_MOST_PORTS} at most",
            "give hosts fewer ports, or use another switches.load_balancing",
        )
    rows = t.rows(len(reach), t.NIC_PORTS)
    rows["reach"] = _bitmaps(reach)
    rows["port"] = np.maximum(first_ports(fabric, params.seed, params.queue_pairs, reach), 0)
    state.config["nic_ports"] = reach.shape[1]
    return state._replace(nic_ports=rows)


def _leave_ports(state: t.State, fabric: Fabric, params: EngineParams, down: Bits, gone: NDArray[np.int64]) -> None:
    """Set the ports by which packets may leave; down: ports of cables noticed down; gone: withdrawn routes by set."""
    rows, pairs, n_hosts = state.nic_ports, params.queue_pairs, len(fabric.hosts)
    index = np.arange(int(state.config[0]["nic_ports"]))
    reach = (rows["reach"][:, None] >> index & 1).astype(np.bool_)
    src, dst = np.concatenate([pairs.src, pairs.dst]), np.concatenate([pairs.dst, pairs.src])
    first = np.array([host.first_port for host in fabric.hosts], np.int64)[src]
    port = np.where(reach, first[:, None] + index, first[:, None])
    switch = state.ports["peer_node"][port].astype(np.int64)
    number = np.where(reach, state.route_set_of[(switch - n_hosts) * n_hosts + dst[:, None]], 0).astype(np.int64)
    counts = state.route_sets["count"].astype(np.int64)
    live = reach & ~down[port] & (gone < counts)[number]
    live = np.where(live.any(axis=1)[:, None], live, reach)
    keeps_one = params.source_routes is not None and params.source_routes.choice is RouteChoice.QUEUE_PAIR
    if keeps_one:
        kept = _next(live, first_ports(fabric, params.seed, pairs, reach) - first)
        live &= index == kept[:, None]
    rows["live"] = _bitmaps(live)
    rows["line"] = rows["live"] if keeps_one else rows["reach"]
    rows["port"] = first + _next(live, rows["port"].astype(np.int64) - first)
    data = np.flatnonzero(reach[: len(pairs.src)].reshape(-1))
    sender = data // len(index)
    used = np.unique(np.stack([src[sender], port.reshape(-1)[data], number.reshape(-1)[data]]), axis=1)
    lost = np.where(down[used[1]], counts[used[2]], gone[used[2]])
    state.hosts["routes_withdrawn"] = np.bincount(used[0], lost, n_hosts)


def _next(live: Bits, at: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n,) of each row the first column that is set, from `at` on; `at` where none is."""
    width = live.shape[1]
    away = np.where(live, (np.arange(width) - at[:, None]) % width, width)
    return np.where(live.any(axis=1), away.argmin(axis=1), at)


def _bitmaps(bits: Bits) -> NDArray[np.int64]:
    return (bits.astype(np.int64) << np.arange(bits.shape[1])).sum(axis=1)


def _switches(fabric: Fabric, host: NDArray[np.int64], index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Switch at the other end of the port of each host."""
    first = np.array([node.first_port for node in fabric.hosts], np.int64)
    peer = np.array([fabric.ports[port.peer].node for port in fabric.ports], np.int64)
    return peer[first[host] + index]


def _column(values: NDArray[np.int64]) -> NDArray[Any]:
    found = t.rows(max(len(values), 1), np.uint32)
    found[: len(values)] = values
    return found

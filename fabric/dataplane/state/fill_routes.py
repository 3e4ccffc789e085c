"""Tables of source routes (host/source_route): the routes that the run's queue pairs use, and those withdrawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state import types as t
from fabric.dataplane.state.params import EngineParams
from fabric.dataplane.state.streams import stream_key
from fabric.errors import FabricError
from fabric.ids import LinkId
from fabric.topology.model import Fabric
from fabric.topology.paths import equal_cost_ports
from fabric.topology.source_routes import SourceRoutes

_PLACES: Final = 1 << 32 - t.HOP_BITS


def fill_routes(state: t.State, fabric: Fabric, params: EngineParams) -> t.State:
    """Make the routes of all queue pairs and of their answers; State as it is where switches choose paths.

    Raises: FabricError if a packet cannot number so many routes.
    """
    if params.source_routes is None:
        return state
    n_hosts, pairs = len(fabric.hosts), params.queue_pairs
    ends = sorted(
        {(fabric.peer_of(port).id, dst) for port, dst in zip(pairs.port.tolist(), pairs.dst.tolist(), strict=True)}
        | {
            (fabric.peer_of(port).id, src)
            for src, dst in zip(pairs.src.tolist(), pairs.dst.tolist(), strict=True)
            for port in fabric.ports_towards(dst, src)
        }
    )
    sets, set_of = t.rows(1 + len(ends), t.ROUTE_SET), t.rows(len(fabric.switches) * n_hosts, np.uint32)
    ways = SourceRoutes(fabric, equal_cost_ports(fabric))
    blocks = [ways.between(switch, host) for switch, host in ends]
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
    for row, (switch, host) in enumerate(ends, 1):
        set_of[(switch - n_hosts) * n_hosts + host] = row
    routes, ports = t.rows(max(len(lengths), 1), t.ROUTE), t.rows(max(int(places[-1]), 1), np.uint32)
    if blocks:
        routes["place"] = places[:-1]
        ports[:] = np.concatenate([block.reshape(-1) for block in blocks])
    state = state._replace(
        route_sets=sets, routes=routes, route_ports=ports, route_set_of=set_of, route_turns=first_turns(fabric, params)
    )
    withdraw(state, fabric, params, ())
    return state


def first_turns(fabric: Fabric, params: EngineParams) -> NDArray[Any]:
    """(2 * n_qps,) first route of each queue pair's data and answers: the queue pairs of a host take routes in turn."""
    drawn = np.array([stream_key(params.seed, f"{host.name}.source-routes") & 0xFFFF for host in fabric.hosts])
    turns = t.rows(max(2 * len(params.queue_pairs.src), 1), np.uint32)
    for place, hosts in enumerate((params.queue_pairs.src, params.queue_pairs.dst)):
        ordered = np.argsort(hosts, kind="stable")
        _, first, sizes = np.unique(hosts[ordered], return_index=True, return_counts=True)
        rank = np.empty(len(hosts), np.int64)
        rank[ordered] = np.arange(len(hosts)) - np.repeat(first, sizes)
        turns[place * len(hosts) : (place + 1) * len(hosts)] = drawn[hosts] + rank
    return turns


def withdraw(state: t.State, fabric: Fabric, params: EngineParams, noticed_down: Iterable[LinkId]) -> None:
    """NICs withdraw the routes over cables that they have noticed to be down, and take back the others.

    A NIC of whose routes to a host all are withdrawn goes on to use all of them: it has no other.
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
    switch = state.ports["peer_node"][pairs.port].astype(np.int64)
    used = np.unique(np.stack([pairs.src, state.route_set_of[(switch - n_hosts) * n_hosts + pairs.dst]]), axis=1)
    state.hosts["routes_withdrawn"] = np.bincount(used[0], gone[used[1]], n_hosts)

"""Mean number of links between hosts over many pairs, without the tables of topology/paths.py, which take memory for
every node and every rack.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.topology.model import Fabric
from fabric.topology.servers import network_of

_SOURCES: Final = 64
"""Largest number of switches from which the search begins: racks of a tree of tiers are alike."""


def links_between(fabric: Fabric, src: NDArray[np.int64], dst: NDArray[np.int64]) -> float:
    """Mean number of links on a shortest path from src[i] to dst[i], NodeIds of hosts; pairs without a path do not
    count. Inside a server two: over its scale-up switch.

    Returns: 0.0 where there is no pair. Exact where all sources hang on at most 64 switches, or racks are alike.
    """
    if not len(src):
        return 0.0
    inside = same_server(fabric, src, dst)
    if inside.any():
        share = float(inside.mean())
        return 2 * share + (1 - share) * links_between(network_of(fabric), src[~inside], dst[~inside])
    if len(fabric.networks) > 1:
        first = [fabric.ports_towards(int(a), int(b)).start for a, b in zip(src, dst, strict=True)]
        begin = np.array([fabric.peer_of(port).id for port in first], np.int64)
    else:
        leaf = {int(node): fabric.peer_of(fabric.nodes[int(node)].first_port).id for node in np.unique(src)}
        begin = np.array([leaf[int(node)] for node in src], np.int64)
    sources = np.unique(begin)
    if len(sources) > _SOURCES:
        sources = sources[np.linspace(0, len(sources) - 1, _SOURCES).astype(np.int64)]
    kept = np.isin(begin, sources)
    begin, end = begin[kept], dst[kept]
    ends = {int(node): [fabric.peer_of(port).id for port in fabric.nodes[int(node)].ports] for node in np.unique(end)}
    distance = _search(fabric, sources)
    row = np.searchsorted(sources, begin)
    nearest = np.array(
        [
            min((int(hops) for hops in distance[place, ends[int(node)]] if hops >= 0), default=-1)
            for place, node in zip(row.tolist(), end.tolist(), strict=True)
        ]
    )
    found = nearest >= 0
    return float(nearest[found].mean()) + 2 if found.any() else 0.0


def same_server(fabric: Fabric, src: NDArray[np.int64], dst: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(n,) whether src[i] and dst[i], NodeIds of hosts, reach each other by scale-up links."""
    domain = np.array(fabric.scale_up_domains, np.int64)
    found: NDArray[np.bool_] = (domain[src] >= 0) & (domain[src] == domain[dst])
    return found


def _search(fabric: Fabric, sources: NDArray[np.int64]) -> NDArray[np.int32]:
    """(n_sources, n_nodes) hops over switches; -1 where there is no path."""
    distance = np.full((len(sources), len(fabric.nodes)), -1, np.int32)
    distance[np.arange(len(sources)), sources] = 0
    hosts = np.array([node.is_host for node in fabric.nodes])
    ends = np.array(
        [(fabric.ports[link.a].node, fabric.ports[link.b].node) for link in fabric.links], np.int64
    ).reshape(-1, 2)
    ends = ends[~hosts[ends].any(axis=1)]
    if not len(ends):
        return distance
    origin, target = np.concatenate([ends, ends[:, ::-1]]).T
    order = np.argsort(target, kind="stable")
    origin, target = origin[order], target[order]
    first = np.flatnonzero(np.r_[True, target[1:] != target[:-1]])
    reached = target[first]
    frontier = distance == 0
    hops = 0
    while frontier.any():
        hops += 1
        reached_now = np.logical_or.reduceat(frontier[:, origin], first, axis=1)
        frontier = np.zeros_like(frontier)
        frontier[:, reached] = reached_now
        frontier &= distance < 0
        distance[frontier] = hops
    return distance

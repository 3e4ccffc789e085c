"""What decides whether results of two fabrics can be compared, and what describes their structure.

Source: draft-calabria-bmwg-ai-fabric-training-bench, section 3.2 (comparability set; descriptors of a topology class).
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Any

import networkx as nx

from fabric.qualify.whole.trial import FabricTrial
from fabric.topology.model import Fabric


def design_of(trial: FabricTrial) -> dict[str, Any]:
    """The comparability set of a run, by the draft's names, and below `structure` what is reported beside it."""
    subject, fabric = trial.subject, trial.fabric
    placed = Counter(subject.leaf_of(it) for it in trial.hosts)
    first = trial.run.loads[0]
    transport = subject.sections.get("transport") or {}
    return {
        "accelerators": len(trial.hosts),
        "placement": ", ".join(map(str, sorted(placed.values(), reverse=True))) + " of each leaf",
        "line_rate_gbps": sorted({subject.rate_bps(it) / 1e9 for it in trial.hosts}),
        "leaf_oversubscription": _oversubscription(fabric),
        "offered": f"{first.operation or first.pattern}, {first.message or first.frame} B, {trial.run.queue_pairs} QP"
        + (f", {first.algorithm}" if first.algorithm else ""),
        "transport": f"RoCEv2, {transport.get('cc', 'dcqcn')}",
        "load_balancing": (subject.sections.get("switches") or {}).get("load_balancing", "ecmp"),
        "structure": structure(fabric),
    }


def _oversubscription(fabric: Fabric) -> float:
    """Rate of the hosts of a leaf over the rate of its ports to other switches; the largest of all leaves."""
    found = []
    for node in fabric.switches:
        down = up = 0
        for port, far in fabric.neighbours(node.id):
            rate = fabric.links[port.link].rate_bps
            down, up = (down + rate, up) if far.is_host else (down, up + rate)
        if down and up:
            found.append(down / up)
    return round(max(found, default=0.0), 4)


@lru_cache(maxsize=8)
def structure(fabric: Fabric) -> dict[str, Any]:
    """Tiers, hops, equal-cost paths between hosts of different leaves, bisection bandwidth."""
    graph = nx.Graph(fabric.graph())
    leaf = {it.name: fabric.peer_of(it.first_port).name for it in fabric.hosts}
    leaves = list(dict.fromkeys(leaf.values()))
    switches = graph.subgraph([it.name for it in fabric.switches])
    far = {it: nx.single_source_shortest_path_length(switches, it) for it in leaves[:1]}
    hops = [far[leaves[0]].get(it, 0) + 1 for it in leaves]
    paths = [len(list(nx.all_shortest_paths(switches, leaves[0], it))) for it in leaves[1:] if it in far[leaves[0]]]
    return {
        "tiers": max(hops) // 2 + 1,
        "hops_worst": max(hops),
        "equal_cost_paths": max(paths, default=1),
        "bisection_gbps": _bisection(fabric, leaf, leaves),
    }


def _bisection(fabric: Fabric, leaf: dict[str, str], leaves: list[str]) -> float:
    """Maximum flow between the first half of the leaves and the others, hosts included, in Gbit/s."""
    if len(leaves) < 2:
        return 0.0
    flow = nx.DiGraph()
    for link in fabric.links:
        a, b = (fabric.node_of(it).name for it in (link.a, link.b))
        for near, far in ((a, b), (b, a)):
            had = flow.get_edge_data(near, far, {"capacity": 0.0})["capacity"]
            flow.add_edge(near, far, capacity=had + link.rate_bps / 1e9)
    half = set(leaves[: len(leaves) // 2])
    for host, its in leaf.items():
        ends = ("source", host) if its in half else (host, "sink")
        flow.add_edge(*ends)  # without a capacity: infinite
    return round(float(nx.maximum_flow_value(flow, "source", "sink")), 3)

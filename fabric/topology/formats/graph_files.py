"""GraphML and networkx node-link JSON, in and out. A fabric written and read again is the same fabric.

Edges name their `a` and `b` ends, because an undirected graph may reverse an edge, and their
place `link`, because port ids follow the order of cables.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import networkx as nx

from fabric.errors import InputErrors, InvariantError, Problem
from fabric.topology.formats.files import read_graphml, read_json
from fabric.topology.formats.records import EdgeRecord, NodeRecord
from fabric.topology.model import Fabric


def to_graphml(fabric: Fabric) -> str:
    """The fabric as GraphML text, attributes as in Fabric.graph()."""
    buffer = BytesIO()
    nx.write_graphml(_graph(fabric), buffer, named_key_ids=True)
    return buffer.getvalue().decode()


def to_node_link(fabric: Fabric) -> str:
    """The fabric as networkx node-link JSON text (`edges` under that key, as networkx 3.4 and later)."""
    return json.dumps(nx.node_link_data(_graph(fabric), edges="edges"), indent=1) + "\n"


def _graph(fabric: Fabric) -> nx.MultiGraph:
    graph = fabric.graph()
    for a, b, key, attributes in graph.edges(keys=True, data=True):
        link = fabric.links[key]
        attributes.update(link=int(key), a=fabric.node_of(link.a).name, b=fabric.node_of(link.b).name)
        if not {a, b} == {attributes["a"], attributes["b"]}:
            raise InvariantError(f"graph view and links disagree on cable {key}")
    return graph


def from_graphml(path: Path) -> tuple[str, list[NodeRecord], list[EdgeRecord]]:
    """(name, nodes, edges) of a GraphML file. Raises InputErrors."""
    graph = read_graphml(path)
    if graph.is_directed():
        raise _directed(path)
    nodes = [NodeRecord(str(name), attributes) for name, attributes in graph.nodes(data=True)]
    edges = [(str(a), str(b), attributes) for a, b, attributes in graph.edges(data=True)]
    return str(graph.graph.get("name") or ""), nodes, _ordered(edges)


def from_node_link(path: Path) -> tuple[str, list[NodeRecord], list[EdgeRecord]]:
    """(name, nodes, edges) of a node-link JSON file; the edge list may be called `edges` or `links`.

    Raises InputErrors with every malformed row.
    """
    data = read_json(path)
    problems = []
    if not isinstance(data, dict) or not isinstance(data.get("nodes"), list):
        raise InputErrors("topology file", [Problem(str(path), "there is no list of nodes", _EXAMPLE)])
    if data.get("directed"):
        raise _directed(path)
    rows = data.get("edges", data.get("links"))
    if not isinstance(rows, list):
        raise InputErrors("topology file", [Problem(str(path), "there is no list of edges", _EXAMPLE)])
    nodes, edges = [], []
    for index, row in enumerate(data["nodes"]):
        if isinstance(row, dict) and isinstance(row.get("id"), str | int):
            nodes.append(NodeRecord(str(row["id"]), row))
        else:
            problems.append(Problem(f"{path}: nodes[{index}]", "has no id", _EXAMPLE))
    for index, row in enumerate(rows):
        ends = (row.get("source"), row.get("target")) if isinstance(row, dict) else (None, None)
        if all(isinstance(end, str | int) for end in ends):
            edges.append((str(ends[0]), str(ends[1]), row))
        else:
            problems.append(Problem(f"{path}: edges[{index}]", "has no source and target", _EXAMPLE))
    if problems:
        raise InputErrors("topology file", problems)
    graph = data.get("graph")
    return str(graph.get("name") or "") if isinstance(graph, dict) else "", nodes, _ordered(edges)


_EXAMPLE = (
    'write {"nodes": [{"id": "host1", "role": "host"}, ...], '
    '"edges": [{"source": "host1", "target": "leaf1", "rate": "100G", "cable": "3m"}, ...]}'
)


def _ordered(edges: Iterable[tuple[str, str, Mapping[str, Any]]]) -> list[EdgeRecord]:
    """In the order of their `link` numbers where all have one; ends by `a` and `b`."""
    rows = list(edges)
    if rows and all(isinstance(attributes.get("link"), int) for _, _, attributes in rows):
        rows.sort(key=lambda row: int(row[2]["link"]))
    records = []
    for index, (u, v, attributes) in enumerate(rows):
        swapped = (attributes.get("a"), attributes.get("b")) == (v, u)
        records.append(EdgeRecord(f"edges[{index}]", v if swapped else u, u if swapped else v, attributes))
    return records


def _directed(path: Path) -> InputErrors:
    return InputErrors(
        "topology file",
        [
            Problem(
                str(path),
                "the graph is directed, cables are not",
                "write it as an undirected graph: graph.to_undirected()",
            )
        ],
    )

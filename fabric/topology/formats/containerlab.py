"""Containerlab topology files, in and out.

Out: hosts and switches are containers of kind linux, switches with an FRR image; interfaces are eth1, eth2, ...
(eth0 is containerlab's management port) and properties without a containerlab field are labels and link vars, so
that a file written and read again is the same fabric.

In: a node is a host if its label `fabric-role` is host, else if it is of kind linux and its image is not a routing
daemon's; every other kind is a switch, whose role is its label or a `group` of that name. Rates and lengths come from
link vars `rate`, `cable`, `delay`, else from the defaults of the custom topology that names the file.
Source: containerlab.dev, "Topology definition" and "Nodes".
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from fabric.errors import InputErrors, Problem
from fabric.topology.formats.files import read_yaml
from fabric.topology.formats.records import EdgeRecord, NodeRecord
from fabric.topology.model import Fabric, Role
from fabric.topology.quantities import exact_length, exact_rate, exact_time

FRR_IMAGE: Final = "quay.io/frrouting/frr:10.2.1"
HOST_IMAGE: Final = "alpine:3.20"
_ROUTER_IMAGES: Final = ("frr", "sonic", "vyos", "bird", "gobgp", "openbgpd", "cumulus")
_HOST_KINDS: Final = frozenset({"keysight_ixia-c-one", "k8s-kind", "ext-container"})
_OUTSIDE: Final = frozenset({"host", "mgmt-net", "macvlan", "vxlan", "vxlan-stitch", "dummy"})
log = logging.getLogger(__name__)


def to_containerlab(fabric: Fabric) -> str:
    """The fabric as a containerlab topology file."""
    nodes = {}
    for node in fabric.nodes:
        labels = {"fabric-role": node.role.value}
        if node.group:
            labels["fabric-group"] = node.group
        if node.network:
            labels["fabric-network"] = node.network
        nodes[node.name] = {"kind": "linux", "image": HOST_IMAGE if node.is_host else FRR_IMAGE, "labels": labels}
    links = []
    for link in fabric.links:
        a, b = fabric.ports[link.a], fabric.ports[link.b]
        variables = {"rate": exact_rate(link.rate_bps), "delay": exact_time(link.delay_ps)}
        if link.length_mm:
            variables["cable"] = exact_length(link.length_mm)
        variables.update(a_port=a.name, b_port=b.name)
        links.append(
            {"endpoints": [f"{fabric.nodes[port.node].name}:eth{port.index + 1}" for port in (a, b)], "vars": variables}
        )
    document = {"name": fabric.name, "topology": {"nodes": nodes, "links": links}}
    return yaml.safe_dump(document, sort_keys=False, default_flow_style=None, width=200)


def from_containerlab(path: Path) -> tuple[str, list[NodeRecord], list[EdgeRecord]]:
    """(name, nodes, edges) of a containerlab file. Raises InputErrors with every problem."""
    document = read_yaml(path)
    topology = document.get("topology") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(topology, dict) or not isinstance(topology.get("nodes"), dict):
        missing = Problem(
            f"{path}: topology.nodes",
            "there is no mapping of nodes",
            "containerlab files have name, topology.nodes and topology.links",
        )
        raise InputErrors("containerlab file", [missing])
    problems: list[Problem] = []
    nodes = [
        _node(str(name), settings, topology, f"{path}: topology.nodes.{name}", problems)
        for name, settings in topology["nodes"].items()
    ]
    rows = topology.get("links")
    left_out: list[str] = []
    edges = [
        _edge(row, index, str(path), problems, left_out)
        for index, row in enumerate(rows if isinstance(rows, list) else [])
    ]
    if problems:
        raise InputErrors("containerlab file", problems)
    if left_out:
        log.warning(
            "links that leave the laboratory are no cables of the fabric, and are left out",
            extra={"file": str(path), "links": ", ".join(left_out)},
        )
    return str(document.get("name") or ""), nodes, [edge for edge in edges if edge is not None]


def _node(name: str, settings: object, topology: Mapping[str, Any], where: str, problems: list[Problem]) -> NodeRecord:
    """Settings of a node over those of its group over those of its kind over the defaults, as containerlab has them."""
    own = settings if isinstance(settings, dict) else {}
    if settings is not None and not isinstance(settings, dict):
        problems.append(Problem(where, f"is {settings!r}", "write a mapping with kind and image"))
    defaults = _mapping(topology, "defaults")
    group = str(own.get("group") or defaults.get("group") or "")
    of_group = _mapping(_mapping(topology, "groups"), group)
    kind = str(own.get("kind") or of_group.get("kind") or defaults.get("kind") or "")
    of_kind = _mapping(_mapping(topology, "kinds"), kind)
    layers = (defaults, of_kind, of_group, own)
    merged = {key: value for layer in layers for key, value in layer.items()}
    labels = {key: value for layer in layers for key, value in _mapping(layer, "labels").items()}
    group = group or str(of_kind.get("group") or "")
    if not kind:
        hint = "add kind: linux, or a kind for its group under topology.groups, or one under topology.defaults"
        problems.append(Problem(where, "has no kind", hint))
    role = labels.get("fabric-role")
    if role is None:
        image = str(merged.get("image") or "").rsplit("/", 1)[-1]
        is_host = kind in _HOST_KINDS or (kind == "linux" and not any(word in image for word in _ROUTER_IMAGES))
        role = Role.HOST if is_host else group if group in list(Role) else Role.SWITCH
    attributes = {"role": str(role), "group": str(labels.get("fabric-group") or group)}
    return NodeRecord(name, {**attributes, "network": str(labels.get("fabric-network") or "")})


def _edge(row: object, index: int, path: str, problems: list[Problem], left_out: list[str]) -> EdgeRecord | None:
    """One link in the brief format (endpoints: ['a:eth1', 'b:eth1']) or the extended one (node, interface).

    None for one that leaves the laboratory, whose type or far end says so (containerlab.dev, "Links"), or a problem.
    """
    where = f"topology.links[{index}]"
    if isinstance(row, dict) and row.get("type") in _OUTSIDE:
        left_out.append(f"{where} ({row['type']})")
        return None
    ends = []
    raw = row.get("endpoints") if isinstance(row, dict) else None
    for end in raw if isinstance(raw, list) else []:
        if isinstance(end, dict) and "node" in end:
            ends.append((str(end["node"]), str(end.get("interface") or "")))
        elif isinstance(end, str) and ":" in end:
            name, _, interface = end.partition(":")
            ends.append((name, interface))
    if not isinstance(row, dict) or len(ends) != 2:
        problems.append(
            Problem(
                f"{path}: {where}",
                f"{row!r} does not join two interfaces of nodes",
                "write endpoints: ['leaf1:eth1', 'spine1:eth1']; other link types are not cables",
            )
        )
        return None
    for name, _ in ends:
        if name in _OUTSIDE:
            left_out.append(f"{where} ({name})")
            return None
    (a, a_port), (b, b_port) = ends
    return EdgeRecord(where, a, b, {"a_port": a_port, "b_port": b_port, **_mapping(row, "vars")})


def _mapping(parent: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = parent.get(key)
    return value if isinstance(value, dict) else {}

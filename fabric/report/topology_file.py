"""topology.json of a run directory: the Fabric as facts, and back; a run can be explained without its scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fabric.errors import RunDirError
from fabric.ids import LinkId, NodeId, PortId
from fabric.topology.model import Fabric, Link, Node, Port, Role


def fabric_to_json(fabric: Fabric) -> dict[str, Any]:
    """Nodes, ports and links in id order; ids are positions."""
    return {
        "name": fabric.name,
        "nodes": [
            {
                "name": node.name,
                "role": node.role.value,
                "tier": node.tier,
                "group": node.group,
                "first_port": node.first_port,
                "n_ports": node.n_ports,
            }
            for node in fabric.nodes
        ],
        "ports": [
            {"node": port.node, "name": port.name, "link": port.link, "peer": port.peer} for port in fabric.ports
        ],
        "links": [
            {
                "a": link.a,
                "b": link.b,
                "rate_bps": link.rate_bps,
                "delay_ps": link.delay_ps,
                "length_mm": link.length_mm,
            }
            for link in fabric.links
        ],
    }


def fabric_from_json(value: Mapping[str, Any]) -> Fabric:
    """The Fabric that fabric_to_json() wrote. Raises: RunDirError where the file is not of that shape."""
    try:
        nodes = tuple(
            Node(
                NodeId(row),
                it["name"],
                Role(it["role"]),
                it["tier"],
                PortId(it["first_port"]),
                it["n_ports"],
                it["group"],
            )
            for row, it in enumerate(value["nodes"])
        )
        ports = tuple(
            Port(
                PortId(row),
                NodeId(it["node"]),
                row - nodes[it["node"]].first_port,
                it["name"],
                LinkId(it["link"]),
                PortId(it["peer"]),
            )
            for row, it in enumerate(value["ports"])
        )
        links = tuple(
            Link(LinkId(row), PortId(it["a"]), PortId(it["b"]), it["rate_bps"], it["delay_ps"], it["length_mm"])
            for row, it in enumerate(value["links"])
        )
        return Fabric(value["name"], nodes, ports, links)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise RunDirError(
            f"topology.json is not a topology: {error!r}", "the file is damaged; run the scenario again"
        ) from error

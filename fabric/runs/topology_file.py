"""topology.json of a run directory: the Fabric as JSON, and back, so that a run can be explained without its
scenario.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fabric.errors import RunDirError
from fabric.ids import LinkId, NodeId, PortId
from fabric.topology.formats.records import NAME
from fabric.topology.model import Fabric, Link, Node, Port, Role
from fabric.visible import hidden


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
                **({"network": node.network} if node.network else {}),
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
    """The Fabric that fabric_to_json() wrote. Raises: RunDirError where the file has another structure."""
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
                it.get("network", ""),
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
        labels = (value["name"], *(it.group for it in nodes), *(it.network for it in nodes), *(it.name for it in ports))
        _check_texts((*labels, *(node.name for node in nodes)))
        odd = [node.name for node in nodes if not NAME.fullmatch(node.name)]
        odd += [text for text in labels if hidden(text)]
        if odd:
            raise RunDirError(
                f"topology.json holds the name '{odd[0]}', which nothing in a fabric can have",
                "the file was not written by `fabric run`; run the scenario again",
            )
        _check_numbers(nodes, ports, links)
        return Fabric(value["name"], nodes, ports, links)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise RunDirError(
            f"topology.json is not a topology: {error!r}", "the file is damaged; run the scenario again"
        ) from error


def _check_texts(texts: Sequence[object]) -> None:
    """Raises: ValueError."""
    if not all(isinstance(it, str) for it in texts):
        raise ValueError("a name is no text")


def _check_numbers(nodes: Sequence[Node], ports: Sequence[Port], links: Sequence[Link]) -> None:
    """Raises: ValueError where ids refer to nothing, or quantities are no whole numbers."""
    numbers: list[object] = [it for node in nodes for it in (node.tier, node.first_port, node.n_ports)]
    numbers += [it for port in ports for it in (port.node, port.link, port.peer)]
    numbers += [it for link in links for it in (link.a, link.b, link.rate_bps, link.delay_ps)]
    if any(type(it) is not int for it in numbers):
        raise ValueError("a number is no whole number")
    if len({node.name for node in nodes}) < len(nodes):
        raise ValueError("two nodes have one name")
    first = 0
    for node in nodes:
        if node.first_port != first or node.n_ports < 0:
            raise ValueError(f"the ports of {node.name} do not follow those of the node before")
        first += node.n_ports
    if first != len(ports) or any(
        port.node not in range(len(nodes)) or row not in nodes[port.node].ports for row, port in enumerate(ports)
    ):
        raise ValueError("a port belongs to no node")
    inside = range(len(ports))
    if any(link.a not in inside or link.b not in inside for link in links):
        raise ValueError("a link has no port")
    if any(port.link not in range(len(links)) or port.peer not in inside for port in ports):
        raise ValueError("a port has no link")

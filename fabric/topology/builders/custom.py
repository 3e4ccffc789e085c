"""Custom fabrics: nodes and cables listed in the scenario, or read from a file of another tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from fabric.errors import InputErrors, Problem
from fabric.topology.builders.assemble import assemble
from fabric.topology.builders.wiring import node
from fabric.topology.formats.containerlab import from_containerlab
from fabric.topology.formats.graph_files import from_graphml, from_node_link
from fabric.topology.formats.records import Defaults, EdgeRecord, NodeRecord, specs_of
from fabric.topology.model import Fabric, LinkSpec, Role
from fabric.topology.spec import CustomSpec, length_and_delay
from fabric.visible import hidden, spelled, visible

Reader = Callable[[Path], tuple[str, list[NodeRecord], list[EdgeRecord]]]

READERS: Final[Mapping[str, Reader]] = {
    "graphml": from_graphml,
    "node-link": from_node_link,
    "containerlab": from_containerlab,
}
"""Format of CustomSpec -> its reader."""
FORMAT_OF_ENDING: Final = {".graphml": "graphml", ".json": "node-link", ".yml": "containerlab", ".yaml": "containerlab"}
"""Ending of a file -> format, where the spec has none."""


def custom(spec: CustomSpec, base_dir: Path) -> Fabric:
    """The fabric of explicit nodes and links, or of `spec.file` relative to `base_dir`.

    Raises: InputErrors with every problem of the file or of the lists.
    """
    if spec.file is None:
        return _listed(spec)
    path = base_dir / spec.file
    kind = spec.format or FORMAT_OF_ENDING.get(path.suffix.lower())
    if kind is None:
        raise InputErrors(
            "topology",
            [
                Problem(
                    "topology.file",
                    f"the ending of {spec.file!r} names no format",
                    f"give format: one of {', '.join(READERS)}",
                )
            ],
        )
    name, nodes, edges = READERS[kind](path)
    if hidden(name):
        text = f"holds the hidden character {spelled(hidden(name))}"
        raise InputErrors("topology file", [Problem(f"{path}: name", text, "remove it")])
    specs = specs_of(str(path), nodes, edges, Defaults(spec.default_rate, spec.default_cable, spec.default_delay))
    return assemble(spec.name or name or visible(path.stem), *specs)


def _listed(spec: CustomSpec) -> Fabric:
    links = []
    for link in spec.links:
        length_mm, delay_ps = length_and_delay(link.cable, link.delay, 0)
        links += [
            LinkSpec(link.a, link.b, link.rate, delay_ps, length_mm, link.a_port, link.b_port, link.breakout)
        ] * link.count
    nodes = [node(item.name, Role(item.role), item.group, item.network) for item in spec.nodes]
    return assemble(spec.name or spec.kind, nodes, links)

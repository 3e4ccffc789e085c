"""Format -> writer, for files that other tools read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from fabric.topology.formats.containerlab import to_containerlab
from fabric.topology.formats.graph_files import to_graphml, to_node_link
from fabric.topology.formats.netlab import to_netlab
from fabric.topology.model import Fabric

WRITERS: Final[Mapping[str, Callable[[Fabric], str]]] = {
    "graphml": to_graphml,
    "node-link": to_node_link,
    "containerlab": to_containerlab,
    "netlab": to_netlab,
}
"""All but netlab can be read again as a custom topology, giving the same fabric."""

"""netlab topology files, out only: devices, BGP AS numbers of our plan, cables with their bandwidth.

Source: netlab.tools, "Lab Topology Reference" and "Links"; `bandwidth` is in kbit/s there.
"""

from __future__ import annotations

from typing import Any, Final

import yaml

from fabric.topology.addressing import addressing
from fabric.topology.model import Fabric

_NAME_LIMIT: Final = 16
"""netlab's default for node names; the file raises it for longer names."""


def to_netlab(fabric: Fabric) -> str:
    """The fabric as a netlab topology: switches are FRR with eBGP, hosts are Linux, on the clab provider."""
    asn = addressing(fabric).asn
    nodes: dict[str, Any] = {}
    for node in fabric.nodes:
        if node.is_host:
            nodes[node.name] = {"device": "linux", "module": []}
        else:
            nodes[node.name] = {"bgp": {"as": int(asn[node.id])}}
    links = []
    for link in fabric.links:
        a, b = fabric.ports[link.a], fabric.ports[link.b]
        links.append(
            {fabric.nodes[port.node].name: {"ifname": f"eth{port.index + 1}"} for port in (a, b)}
            | {"bandwidth": max(1, link.rate_bps // 1000)}
        )
    defaults: dict[str, Any] = {"device": "frr"}
    longest = max(len(node.name) for node in fabric.nodes)
    if longest > _NAME_LIMIT:
        defaults["const"] = {"MAX_NODE_ID_LENGTH": longest}
    document = {
        "name": fabric.name,
        "provider": "clab",
        "defaults": defaults,
        "module": ["bgp"],
        "nodes": nodes,
        "links": links,
    }
    return yaml.safe_dump(document, sort_keys=False, default_flow_style=None, width=200)

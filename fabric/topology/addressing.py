"""The address plan of a fabric: loopbacks, /31 cables, host subnets, AS numbers, MAC addresses. No two alike.

    10.0.0.0/10      loopbacks of switches, /32, in id order
    10.64.0.0/10     host subnets, one per switch that has hosts; .1 of each is the gateway
    10.128.0.0/9     cables between switches, /31 each (RFC 3021), the link's `a` end even
    65000            the top tier shares one AS; 65001.. one AS per pod of spines; 65101.. one AS per leaf
                     (RFC 7938 section 5.2.1), so that AS_PATH length is the number of tiers and paths are equal
    4200000000..     the same plan in the private 4-byte range (RFC 6996) where 434 leaves are not enough
    02:...           locally administered, unicast (IEEE 802 clause 8.2.2): node in 24 bits, port in 16

This is a plan, not a control plane: it announces no route.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.errors import TopologyError
from fabric.ids import NodeId
from fabric.topology.model import Fabric, Node, Role

LOOPBACK_BASE: Final = 10 << 24
HOST_BASE: Final = (10 << 24) | (64 << 16)
LINK_BASE: Final = (10 << 24) | (128 << 16)
_HOST_SPACE: Final = 1 << 22
_LINK_SPACE: Final = 1 << 23
_SMALLEST_SUBNET: Final = 8
"""Host bits of the smallest host subnet: /24 is easy to read."""
_TWO_BYTES: Final = (65000, 65001, 65101, 65534)
_FOUR_BYTES: Final = (4_200_000_000, 4_200_000_001, 4_200_010_001, 4_294_967_294)
"""(top tier, first pod, first leaf, last number) of the private ranges, RFC 6996 section 5."""


@dataclass(frozen=True)
class Addressing:
    """Addresses as integers, by row of nodes and ports; 0 where there is none."""

    host_ip: NDArray[np.uint32]
    """(n_nodes,) the address of a host: that of its first port."""
    loopback: NDArray[np.uint32]
    """(n_nodes,) router id and VTEP address of a switch."""
    asn: NDArray[np.uint32]
    """(n_nodes,) AS of a switch."""
    mac: NDArray[np.int64]
    """(n_nodes,) MAC of the node."""
    port_ip: NDArray[np.uint32]
    """(n_ports,) address of a port; ports of a switch to hosts share the gateway address of its subnet."""
    port_mac: NDArray[np.int64]
    """(n_ports,) MAC of a port."""
    port_prefix_len: NDArray[np.int8]
    """(n_ports,) 31 between switches, the subnet's length to hosts."""
    subnet: Mapping[NodeId, tuple[int, int]]
    """Switch with hosts -> (network, prefix length)."""


def addressing(fabric: Fabric) -> Addressing:
    """Give every node and port its addresses, the same for the same fabric.

    Raises: TopologyError where the fabric is larger than the plan (over 4 million host addresses or links).
    """
    n_nodes, n_ports = len(fabric.nodes), len(fabric.ports)
    loopback = np.zeros(n_nodes, np.uint32)
    for index, switch in enumerate(fabric.switches, 1):
        loopback[switch.id] = LOOPBACK_BASE + index
    port_ip = np.zeros(n_ports, np.uint32)
    prefix_len = np.zeros(n_ports, np.int8)
    between = [
        link for link in fabric.links if not fabric.node_of(link.a).is_host and not fabric.node_of(link.b).is_host
    ]
    if len(between) * 2 > _LINK_SPACE:
        raise TopologyError(f"{len(between)} cables between switches", f"the plan has {_LINK_SPACE // 2} /31 networks")
    for index, link in enumerate(between):
        port_ip[[link.a, link.b]] = LINK_BASE + 2 * index, LINK_BASE + 2 * index + 1
        prefix_len[[link.a, link.b]] = 31
    subnet = _host_subnets(fabric, port_ip, prefix_len)
    host_ip = np.zeros(n_nodes, np.uint32)
    for host in fabric.hosts:
        host_ip[host.id] = port_ip[host.first_port]
    mac = np.array([_mac(node.id, 0) for node in fabric.nodes], np.int64)
    port_mac = np.array([_mac(port.node, port.index + 1) for port in fabric.ports], np.int64)
    return Addressing(host_ip, loopback, _asns(fabric), mac, port_ip, port_mac, prefix_len, subnet)


def _host_subnets(
    fabric: Fabric, port_ip: NDArray[np.uint32], prefix_len: NDArray[np.int8]
) -> dict[NodeId, tuple[int, int]]:
    """Fill in the ports between hosts and switches."""
    under: dict[NodeId, list[int]] = defaultdict(list)
    for host in fabric.hosts:
        for port in host.ports:
            under[fabric.peer_of(port).id].append(port)
    most = max(len(ports) for ports in under.values())
    bits = max(_SMALLEST_SUBNET, (most + 2).bit_length())  # network, gateway and broadcast besides the hosts
    if len(under) << bits > _HOST_SPACE:
        raise TopologyError(
            f"{len(under)} switches with up to {most} host ports",
            f"the plan has {_HOST_SPACE} host addresses, in subnets of equal size",
        )
    subnet = {}
    for index, switch in enumerate(sorted(under)):
        network = HOST_BASE + (index << bits)
        subnet[switch] = (network, 32 - bits)
        for place, port in enumerate(under[switch], 2):
            peer = fabric.ports[port].peer
            port_ip[[port, peer]] = network + place, network + 1
            prefix_len[[port, peer]] = 32 - bits
    return subnet


def _asns(fabric: Fabric) -> NDArray[np.uint32]:
    top_tier = max((switch.tier for switch in fabric.switches), default=-1)
    shared = [switch for switch in fabric.switches if switch.tier == top_tier >= 2]
    pods = [switch for switch in fabric.switches if switch.role is Role.SPINE and switch.tier < top_tier]
    clusters = {cluster: index for index, cluster in enumerate(dict.fromkeys(_cluster(switch) for switch in pods))}
    placed = {switch.id for switch in (*shared, *pods)}
    own = [switch for switch in fabric.switches if switch.id not in placed]
    top, pod, leaf, last = _TWO_BYTES
    if leaf + len(own) - 1 > last or pod + len(clusters) > leaf:
        top, pod, leaf, last = _FOUR_BYTES
    asn = np.zeros(len(fabric.nodes), np.uint32)
    asn[[switch.id for switch in shared]] = top
    for switch in pods:
        asn[switch.id] = pod + clusters[_cluster(switch)]
    for index, switch in enumerate(own):
        asn[switch.id] = leaf + index
    return asn


def _cluster(spine: Node) -> str:
    """Spines of one group are one cluster; a spine without group is a cluster alone."""
    return spine.group or f"\0{spine.name}"


def _mac(node: int, port: int) -> int:
    return (0x02 << 40) | (node << 16) | port


def ipv4_text(address: int) -> str:
    """0x0A400002 -> '10.64.0.2'."""
    value = int(address)
    return ".".join(str(value >> shift & 0xFF) for shift in (24, 16, 8, 0))


def mac_text(address: int) -> str:
    """0x020000010000 -> '02:00:00:01:00:00'."""
    value = int(address)
    return ":".join(f"{value >> shift & 0xFF:02x}" for shift in range(40, -1, -8))

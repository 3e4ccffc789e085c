"""Racks with two ToRs, every host cabled to both.

planes: 1 is the dual-ToR rack of cloud data centres: any ToR reaches any other over every spine. planes: 2 is the
dual-plane design of Alibaba HPN: first ToRs connect to the first half of the spines, second ToRs to the second half, so
a packet stays on the plane of its NIC port, and only hosts connect the two planes. Source: Qian et al., "Alibaba HPN",
SIGCOMM 2024, sections 4 (non-stacked dual-ToR) and 5 (dual-plane).
"""

from __future__ import annotations

from fabric.topology.builders.wiring import fabric_cables, finish, host_cables, node
from fabric.topology.model import Fabric, NodeSpec, Role
from fabric.topology.spec import DualTorSpec


def dual_tor(spec: DualTorSpec) -> Fabric:
    """Hosts host1.. (eth0 to the a-side), ToRs tor1a, tor1b, tor2a.., spines spine1..; group is rack1..

    Raises: InputErrors for an override that matches nothing or a cable without length.
    """
    spines = [f"spine{i}" for i in range(1, spec.spines + 1)]
    half = spec.spines // spec.planes
    hosts: list[NodeSpec] = []
    tors, down, up = [], [], []
    for rack in range(1, spec.racks + 1):
        pair = [f"tor{rack}a", f"tor{rack}b"]
        tors += [node(tor, Role.LEAF, f"rack{rack}") for tor in pair]
        for index in range(spec.hosts_per_rack):
            hosts.append(node(f"host{len(hosts) + 1}", Role.HOST, f"rack{rack}"))
            down += host_cables(spec, hosts[-1].name, index, pair)
        if spec.planes == 1:
            up += fabric_cables(spec, pair, spines)
        else:
            up += fabric_cables(spec, pair[:1], spines[:half]) + fabric_cables(spec, pair[1:], spines[half:])
    spine_nodes = [
        node(spine, Role.SPINE, f"plane{i // half + 1}" if spec.planes == 2 else "") for i, spine in enumerate(spines)
    ]
    return finish(spec, [*hosts, *tors, *spine_nodes], [*down, *up])

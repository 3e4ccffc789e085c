"""Folded Clos fabrics: leaf-spine (three stages) and with super-spines (five stages).

Cables are listed hosts first, so that the first ports of a leaf face hosts and the last ones face spines.
"""

from __future__ import annotations

from fabric.topology.builders.wiring import add_storage, fabric_cables, finish, host_cables, node
from fabric.topology.model import Fabric, LinkSpec, NodeSpec, Role
from fabric.topology.scale_up import server_parts
from fabric.topology.spec import Clos3Spec, LeafSpineSpec


def leaf_spine(spec: LeafSpineSpec) -> Fabric:
    """Hosts host1.., leaves leaf1.., spines spine1..; host i is on leaf 1 + (i - 1) // hosts_per_leaf.

    Raises: InputErrors for an override that matches nothing or a cable without length.
    """
    leaves = [f"leaf{i}" for i in range(1, spec.leaves + 1)]
    spines = [f"spine{i}" for i in range(1, spec.spines + 1)]
    hosts: list[NodeSpec] = []
    links: list[LinkSpec] = []
    for leaf in leaves:
        for index in range(spec.hosts_per_leaf):
            hosts.append(node(f"host{len(hosts) + 1}", Role.HOST, leaf))
            links += host_cables(spec, hosts[-1].name, index, [leaf] * spec.links_per_host)
    links += fabric_cables(spec, leaves, spines)
    switches = [node(leaf, Role.LEAF, leaf) for leaf in leaves] + [node(spine, Role.SPINE) for spine in spines]
    if spec.scale_up is not None:
        for number, first in enumerate(range(0, len(hosts), spec.server_gpus), 1):
            mine = hosts[first : first + spec.server_gpus]
            gpus = [host.name for host in mine]
            switch, inside = server_parts(spec.scale_up, f"server{number}", gpus, mine[0].group)
            switches.append(switch)
            links += inside
    nodes = [*hosts, *switches]
    add_storage(spec, nodes, links, spines)
    return finish(spec, nodes, links)


def clos3(spec: Clos3Spec) -> Fabric:
    """Pods p1..: leaves p1-leaf1.., spines p1-spine1..; super-spines superspine1..; hosts host1.. through all pods.

    With core: planes, super-spine j belongs to plane 1 + (j - 1) // (super_spines / spines_per_pod), and only the
    spines of that number in each pod connect to it (RFC 7938 section 3.2.4 calls the saving port fan-out).

    Raises: InputErrors for an override that matches nothing or a cable without length.
    """
    supers = [f"superspine{i}" for i in range(1, spec.super_spines + 1)]
    per_plane = spec.super_spines // spec.spines_per_pod
    hosts: list[NodeSpec] = []
    leaf_nodes, spine_nodes = [], []
    down, up, core = [], [], []
    for pod in (f"p{i}" for i in range(1, spec.pods + 1)):
        leaves = [f"{pod}-leaf{i}" for i in range(1, spec.leaves_per_pod + 1)]
        spines = [f"{pod}-spine{i}" for i in range(1, spec.spines_per_pod + 1)]
        leaf_nodes += [node(leaf, Role.LEAF, pod) for leaf in leaves]
        spine_nodes += [node(spine, Role.SPINE, pod) for spine in spines]
        for leaf in leaves:
            for index in range(spec.hosts_per_leaf):
                hosts.append(node(f"host{len(hosts) + 1}", Role.HOST, pod))
                down += host_cables(spec, hosts[-1].name, index, [leaf])
        up += fabric_cables(spec, leaves, spines)
        for index, spine in enumerate(spines):
            mine = supers[index * per_plane : (index + 1) * per_plane] if spec.core == "planes" else supers
            core += _core_cables(spec, spine, mine)
    super_nodes = [
        node(name, Role.SUPER_SPINE, f"plane{i // per_plane + 1}" if spec.core == "planes" else "")
        for i, name in enumerate(supers)
    ]
    return finish(spec, [*hosts, *leaf_nodes, *spine_nodes, *super_nodes], [*down, *up, *core])


def _core_cables(spec: Clos3Spec, spine: str, supers: list[str]) -> list[LinkSpec]:
    length_mm, delay_ps = spec.core_length_and_delay
    rate_bps = spec.fabric_rate if spec.core_rate is None else spec.core_rate
    return [
        LinkSpec(spine, name, rate_bps, delay_ps, length_mm, breakout=spec.fabric_breakout)
        for name in supers
        for _ in range(spec.core_links_per_pair)
    ]

"""Rail-optimised GPU pods: NIC k of every node of a pod connects to the pod's rail leaf k.

Traffic between equal ranks of a pod (collectives on one rail) crosses one switch; spines carry the rest. With
`endpoints: gpu` each GPU with its NIC is one host, as for a collective library, and `scale_up` is NVLink inside a node
(scale_up.py); with `endpoints: node` a node is one host with as many ports as rails.
Source: Wang et al., "Rail-only", HotI 2024, section 2; NVIDIA DGX SuperPOD reference architecture, compute fabric.
"""

from __future__ import annotations

from fabric.topology.builders.wiring import add_storage, fabric_cables, finish, host_cables, node
from fabric.topology.model import Fabric, LinkSpec, NodeSpec, Role
from fabric.topology.scale_up import server_parts
from fabric.topology.spec import RailSpec


def rail(spec: RailSpec) -> Fabric:
    """Nodes node1.. through all pods (hosts node1-gpu1.. with endpoints: gpu), rail leaves p1-rail1.., spines spine1..

    host_rates go by node within the pod. Raises: InputErrors for an override that matches nothing.
    """
    spines = [f"spine{i}" for i in range(1, spec.spines + 1)]
    hosts: list[NodeSpec] = []
    leaf_nodes, down, up = [], [], []
    servers: list[NodeSpec] = []
    inside: list[LinkSpec] = []
    number = 0
    for pod in (f"p{i}" for i in range(1, spec.pods + 1)):
        leaves = [f"{pod}-rail{i}" for i in range(1, spec.rails + 1)]
        leaf_nodes += [node(leaf, Role.LEAF, pod) for leaf in leaves]
        for index in range(spec.nodes_per_pod):
            number += 1
            if spec.endpoints == "node":
                hosts.append(node(f"node{number}", Role.HOST, pod))
                down += host_cables(spec, hosts[-1].name, index, leaves)
                continue
            for k, leaf in enumerate(leaves, 1):
                hosts.append(node(f"node{number}-gpu{k}", Role.HOST, pod))
                down += host_cables(spec, hosts[-1].name, index, [leaf])
            if spec.scale_up is not None:
                gpus = [host.name for host in hosts[-spec.rails :]]
                switch, links = server_parts(spec.scale_up, f"node{number}", gpus, pod)
                servers.append(switch)
                inside += links
        up += fabric_cables(spec, leaves, spines)
    spine_nodes = [node(spine, Role.SPINE) for spine in spines]
    nodes, links = [*hosts, *leaf_nodes, *spine_nodes, *servers], [*down, *up, *inside]
    add_storage(spec, nodes, links, spines)
    return finish(spec, nodes, links)

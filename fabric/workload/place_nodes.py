"""Nodes and slots of one job entry of a workload: which it may have, and which its placement chooses."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from fabric.jobs.job import Job
from fabric.jobs.placement import Nodes, Slot, nodes_of, place, place_file, place_slurm, read_slurm_topology
from fabric.workload.batch import Surroundings
from fabric.workload.beside import read_beside
from fabric.workload.spec import JobLoad

_MAX_BYTES: Final = 64 * 2**20


def storage_hosts(spec: JobLoad, path: str, around: Surroundings) -> list[int]:
    """NodeIds of the entry's storage nodes; names that match nothing are problems."""
    if spec.storage is None:
        return [host.id for host in around.fabric.storage_nodes]
    return [int(host) for host in around.hosts(spec.storage, f"{path}.storage")]


def able_nodes(spec: JobLoad, job: Job, path: str, around: Surroundings) -> Nodes:
    """Nodes that the entry may have: all of their GPUs are among its hosts, and none is a storage node of a job.

    Raises: InputErrors where hosts do not fill nodes.
    """
    hosts = set(around.hosts(spec.hosts, path).tolist())
    storage = {host for where, _, each in around.jobs if each.storage for host in storage_hosts(each, where, around)}
    nodes = nodes_of(around.fabric, job.gpus_per_node, "gpu", storage)
    return {node: slots for node, slots in nodes.items() if hosts.issuperset(slot.host for slot in slots)}


def chosen_slots(
    spec: JobLoad, name: str, job: Job, able: Nodes, taken: Collection[str], around: Surroundings
) -> list[Slot]:
    """(n_ranks,) slot of each rank. Raises: InputErrors where there are too few nodes, or of the placement's file."""
    if spec.placement_file is None:
        return place(spec.placement, able, job, around.random(name, "placement"), taken)
    text = read_beside(around.folder / spec.placement_file, _MAX_BYTES, spec.placement_file)
    if spec.placement == "file":
        return place_file(
            text, {node: slots for node, slots in able.items() if node not in taken}, job, spec.placement_file
        )
    topology = read_slurm_topology(text, spec.placement_file)
    return place_slurm(topology, able, job, spec.placement_file, cyclic=spec.distribution == "cyclic", taken=taken)

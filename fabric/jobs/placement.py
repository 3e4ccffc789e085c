"""Ranks on GPUs of a fabric: policies, and a score before anything runs.

A slot is a GPU: a separate host (`gpu`), or one of the GPUs of a host (`node`), whose g-th GPU uses port g. A job
gets whole nodes. Policies choose the nodes and their order; the ranks of a node are its GPUs in order.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from fabric.errors import InputErrors, Problem, first_few
from fabric.jobs.job import Job
from fabric.jobs.parallel import Ints
from fabric.jobs.slurm import SlurmTopology, listed_nodes, parse_topology_conf, select
from fabric.jobs.slurm_yaml import parse_topology_yaml
from fabric.jobs.volumes import Volume, stage_volumes
from fabric.topology.levels import levels
from fabric.topology.model import Fabric

STAGE: Final = "placing the job"
Hosts = Literal["gpu", "node"]
Floats = NDArray[np.float64]
_GPU_NAME: Final = re.compile(r"(.+)-gpu([0-9]+)")
_MOST: Final = 10
"""Problems of one kind that are listed."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A GPU with its NIC."""

    node: str
    gpu: int
    host: int
    """Row of the fabric's nodes."""
    leaf: int
    """Row of the switch that its port leads to."""
    pod: str


Nodes = Mapping[str, tuple[Slot, ...]]
"""Name of a node -> its GPUs in order."""


def nodes_of(fabric: Fabric, gpus_per_node: int, hosts: Hosts, leave_out: Collection[int] = ()) -> Nodes:
    """Nodes in the order of the fabric's hosts, without its storage nodes and the hosts `leave_out` (NodeIds).

    gpu: hosts X-gpu1, X-gpu2, ... are node X; of other names, consecutive hosts form node1, node2, ..., or each host is
    a node where gpus_per_node is 1.
    Raises: InputErrors where hosts do not fill nodes, or nodes have another number of GPUs.
    """
    found: dict[str, list[Slot]] = {}
    out = {host.id for host in fabric.storage_nodes}.union(leave_out)
    computing = [host for host in fabric.hosts if host.id not in out]
    if hosts == "node":
        for host in computing:
            for gpu in range(gpus_per_node):
                found.setdefault(host.name, []).append(
                    _slot(fabric, host.id, host.name, gpu, gpu % _network_ports(fabric, host.id))
                )
        return {name: tuple(slots) for name, slots in found.items()}
    matches = [_GPU_NAME.fullmatch(host.name) for host in computing]
    for number, (host, match) in enumerate(zip(computing, matches, strict=True)):
        name = host.name if gpus_per_node == 1 else f"node{number // gpus_per_node + 1}"
        if match is not None and None not in matches:
            name = match[1]
        slots = found.setdefault(name, [])
        slots.append(_slot(fabric, host.id, name, len(slots), 0))
    uneven = [name for name, slots in found.items() if len(slots) != gpus_per_node]
    if uneven:
        text = f"node '{uneven[0]}' has {len(found[uneven[0]])} hosts, not gpus_per_node: {gpus_per_node}"
        raise InputErrors(STAGE, [Problem(fabric.name, text, f"change gpus_per_node to {len(found[uneven[0]])}")])
    return {name: tuple(slots) for name, slots in found.items()}


def _network_ports(fabric: Fabric, host: int) -> int:
    """Ports of a host to its first network: GPUs take those in turn."""
    ports = fabric.network_ports(host)
    first = fabric.peer_of(ports[0]).network if len(ports) else ""
    return sum(fabric.peer_of(port).network == first for port in ports) or fabric.nodes[host].n_ports


def _slot(fabric: Fabric, host: int, node: str, gpu: int, port: int) -> Slot:
    leaf = fabric.peer_of(fabric.nodes[host].ports[port])
    return Slot(node, gpu, host, leaf.id, leaf.group or leaf.name)


def place(policy: str, nodes: Nodes, job: Job, draw: np.random.Generator, taken: Collection[str] = ()) -> list[Slot]:
    """(n_ranks,) slot of each rank.

    Parameters
    ----------
    policy : packed, spread, random or rail-aligned
    draw : numpy Generator        of random
    taken : names of nodes that other jobs hold

    packed: the leaves that fit best, the emptiest first, one after the other. spread: leaves in turn. rail-aligned:
    as packed, on a fabric where leaf i of a leaf group has GPU i of all its nodes.
    Raises: InputErrors where there are too few free nodes, or no rails.
    """
    free = [name for name in nodes if name not in taken]
    count = nodes_needed(job, nodes, free)
    if policy == "random":
        return _ranks(nodes, [free[number] for number in draw.permutation(len(free))[:count]], job)
    groups: dict[tuple[int, ...], list[str]] = {}
    for name in free:
        groups.setdefault(tuple(sorted({slot.leaf for slot in nodes[name]})), []).append(name)
    if policy == "rail-aligned":
        _check_rails(nodes, free)
    chosen: list[str] = []
    rest = list(groups.values())
    if policy == "spread":
        turns = max(map(len, rest))
        chosen = [group[turn] for turn in range(turns) for group in rest if turn < len(group)][:count]
        return _ranks(nodes, chosen, job)
    while len(chosen) < count:
        left = count - len(chosen)
        enough = [group for group in rest if len(group) >= left]
        group = min(enough, key=len) if enough else max(rest, key=len)
        rest.remove(group)
        chosen += group[:left]
    return _ranks(nodes, chosen, job)


def nodes_needed(job: Job, nodes: Nodes, free: Sequence[str]) -> int:
    """Whole nodes of a job. Raises: InputErrors where there are fewer."""
    count = -(-job.parallel.n_ranks // job.gpus_per_node)
    if len(free) < count:
        text = f"{job.parallel.n_ranks:,} GPUs need {count:,} nodes; {len(free):,} of {len(nodes):,} are free"
        raise InputErrors(STAGE, [Problem(job.name, text, "use fewer GPUs, or a larger fabric")])
    return count


def _ranks(nodes: Nodes, chosen: Sequence[str], job: Job) -> list[Slot]:
    return [slot for name in chosen for slot in nodes[name]][: job.parallel.n_ranks]


def _check_rails(nodes: Nodes, free: Sequence[str]) -> None:
    rails: dict[tuple[str, int], int] = {}
    for name in free:
        leaves = {slot.leaf for slot in nodes[name]}
        for slot in nodes[name]:
            if len(leaves) < len(nodes[name]) or rails.setdefault((slot.pod, slot.gpu), slot.leaf) != slot.leaf:
                text = f"GPU {slot.gpu} of node '{name}' is on no rail: a rail is a leaf for GPUs of one number"
                raise InputErrors(STAGE, [Problem("rail-aligned", text, "use a fabric of kind: rail, or packed")])


def read_slurm_topology(text: str, file: str) -> SlurmTopology:
    """Slurm's topology.conf, or topology.yaml by the ending of the file's name. Raises: InputErrors."""
    if file.lower().endswith((".yaml", ".yml")):
        return parse_topology_yaml(text, file)
    return parse_topology_conf(text, file)


def place_slurm(
    topology: SlurmTopology, nodes: Nodes, job: Job, file: str, *, cyclic: bool = False, taken: Collection[str] = ()
) -> list[Slot]:
    """As Slurm selects nodes; ranks in the order of the file, or one to each node in turn with cyclic distribution.

    Raises: InputErrors for nodes that the fabric lacks, or where no tree has room.
    """
    unknown = [name for name in listed_nodes(topology) if name not in nodes]
    if unknown:
        hint = f"the fabric's nodes are {', '.join(list(nodes)[:3])}, ..."
        raise InputErrors(STAGE, [Problem(file, f"the fabric has no node '{name}'", hint) for name in unknown[:_MOST]])
    free = [name for name in nodes if name not in taken]
    count = nodes_needed(job, nodes, free)
    chosen = select(topology, count, free if topology.flat else set(free))
    if chosen is None:
        text = f"no connected part of it has {count:,} free nodes"
        raise InputErrors(STAGE, [Problem(file, text, "use fewer GPUs, or join the trees by a switch")])
    slots = _ranks(nodes, chosen, job)
    if not cyclic:
        return slots
    return sorted(slots, key=lambda slot: (slot.gpu, chosen.index(slot.node)))


def place_file(text: str, nodes: Nodes, job: Job, file: str) -> list[Slot]:
    """A CSV file with the columns rank, node, gpu (from 0). Raises: InputErrors with every problem and its line."""
    try:
        rows = iter(list(csv.reader(io.StringIO(text))))
    except csv.Error as error:
        raise InputErrors(STAGE, [Problem(file, f"is not CSV: {error}", "begin with rank,node,gpu")]) from error
    header = [cell.strip().lower() for cell in next(rows, [])]
    if header != ["rank", "node", "gpu"]:
        raise InputErrors(
            STAGE, [Problem(f"{file}:1", "the columns are not rank,node,gpu", "begin with rank,node,gpu")]
        )
    problems: list[Problem] = []
    found: dict[int, Slot] = {}
    used: dict[tuple[str, int], int] = {}
    for number, row in enumerate(rows, 2):
        if not row:
            continue
        place_ = f"{file}:{number}"
        cells = [cell.strip() for cell in row]
        if len(cells) != 3 or not all(cell.isascii() and cell.isdigit() and len(cell) < 10 for cell in cells[::2]):
            problems.append(Problem(place_, f"'{','.join(cells)}' is not rank,node,gpu", "such as 0,node1,0"))
            continue
        rank, node, gpu = int(cells[0]), cells[1], int(cells[2])
        if node not in nodes or gpu >= len(nodes[node]):
            what = f"node '{node}'" if node not in nodes else f"GPU {gpu} on '{node}'"
            problems.append(Problem(place_, f"the fabric has no {what}", f"such as {next(iter(nodes))}, 0"))
        elif rank in found or rank >= job.parallel.n_ranks:
            what = "is placed twice" if rank in found else f"is above the last, {job.parallel.n_ranks - 1}"
            problems.append(Problem(place_, f"rank {rank} {what}", "give each rank once"))
        elif (node, gpu) in used:
            text_ = f"GPU {gpu} of '{node}' has rank {used[node, gpu]}"
            problems.append(Problem(place_, text_, "use each GPU once"))
        else:
            found[rank] = nodes[node][gpu]
            used[node, gpu] = rank
    missing = [rank for rank in range(job.parallel.n_ranks) if rank not in found]
    if missing and not problems:
        text_ = f"{len(missing):,} ranks are not placed, the first is {missing[0]}"
        problems.append(Problem(file, text_, "give a row for each rank"))
    if problems:
        raise InputErrors(STAGE, first_few(problems, file, "is this a placement of this job?"))
    return [found[rank] for rank in range(job.parallel.n_ranks)]


@dataclass(frozen=True, slots=True)
class Crossings:
    """Edges of a kind of group, and where they end: neighbours of rings, pairs of all-to-all, pipeline boundaries."""

    edges: int
    in_node: int
    in_leaf: int
    in_pod: int
    """Between leaves of one pod."""
    between_pods: int


@dataclass(frozen=True, slots=True)
class Score:
    """A placement before it runs."""

    nodes: int
    leaves: int
    pods: int
    crossings: Mapping[str, Crossings]
    """By kind of group: tp, cp, ep, pp, gradients, expert-gradients, embedding."""
    uplink_bytes: float
    """Expected bytes of a step on each uplink of the busiest leaf, upwards, if flows are spread evenly."""
    mean_uplink_bytes: float
    """Mean of the leaves of the job."""
    uplink_seconds: float
    """Time of uplink_bytes at the rate of the uplinks: communication between leaves takes at least this."""
    busiest_leaf: str


def score(fabric: Fabric, slots: Sequence[Slot], job: Job) -> Score:
    """Score of a placement. Rings connect the members of a group in the order of their ranks."""
    node_number = {name: number for number, name in enumerate(dict.fromkeys(slot.node for slot in slots))}
    pod_number = {name: number for number, name in enumerate(dict.fromkeys(slot.pod for slot in slots))}
    node = np.array([node_number[slot.node] for slot in slots])
    leaf = np.array([slot.leaf for slot in slots])
    pod = np.array([pod_number[slot.pod] for slot in slots])
    up = np.zeros(len(fabric.nodes))
    counts: dict[str, Ints] = {}
    seen: set[tuple[str, str, int]] = set()
    for stage in range(job.parallel.pp):
        for volume in stage_volumes(job, stage):
            key = volume.groups, volume.name if volume.operation == "send" else _shape(volume), stage
            fresh = key not in seen  # the edges of a group are counted once, however many operations use them
            seen.add(key)
            for src, dst, size_bytes in _edges(job, volume, stage):
                outside = node[src] != node[dst]
                apart = outside & (leaf[src] != leaf[dst])
                np.add.at(up, leaf[src[apart]], size_bytes)
                if fresh:
                    far = apart & (pod[src] != pod[dst])
                    masks = (~outside, outside & ~apart, apart & ~far, far)
                    row = counts.setdefault(volume.groups, np.zeros(5, np.int64))
                    row += [len(src), *(int(mask.sum()) for mask in masks)]
    per_uplink, rates = _per_uplink(fabric, up)
    used = sorted({slot.leaf for slot in slots})
    worst = max(used, key=lambda number: per_uplink[number])
    seconds = max(float(per_uplink[n] * 8 / rates[n]) if rates[n] else 0.0 for n in used)
    return Score(
        len(node_number),
        len(used),
        len(pod_number),
        {kind: Crossings(*map(int, row)) for kind, row in counts.items()},
        float(per_uplink[worst]),
        float(np.mean([per_uplink[number] for number in used])),
        seconds,
        fabric.nodes[worst].name,
    )


def _shape(volume: Volume) -> str:
    return "pairs" if volume.operation == "all-to-all" else "ring"


def _edges(job: Job, volume: Volume, stage: int) -> Iterator[tuple[Ints, Ints, float]]:
    """(sources, destinations, bytes of each edge in a step) of one operation of a stage; pairs round by round."""
    parallel = job.parallel
    if volume.operation == "send":
        step = 1 if volume.name.endswith("forward") else -1
        src = parallel.stage_ranks(stage).ravel()
        there = parallel.stage_ranks((stage + step) % parallel.pp).ravel()
        yield src, there, volume.size_bytes * volume.calls
        return
    groups = parallel.groups(volume.groups, stage)
    n = groups.shape[1]
    steps = range(1, n) if _shape(volume) == "pairs" else (1,)
    each = volume.group_bytes * volume.calls / (n * len(steps))
    if volume.groups == "embedding":
        each /= 2  # both of its stages list it
    for step in steps:
        yield groups.ravel(), np.roll(groups, -step, axis=1).ravel(), each


def _per_uplink(fabric: Fabric, up: Floats) -> tuple[Floats, Floats]:
    """((n_nodes,) bytes of each uplink, (n_nodes,) rate of an uplink) of switches; 0 where there is none."""
    height = levels(fabric)
    share, rates = np.zeros(len(fabric.nodes)), np.zeros(len(fabric.nodes))
    for switch in fabric.switches:
        links = [
            fabric.links[port.link]
            for port, peer in fabric.neighbours(switch.id)
            if height[peer.id] > height[switch.id]
        ]
        if links:
            share[switch.id] = up[switch.id] / len(links)
            rates[switch.id] = min(link.rate_bps for link in links)
    return share, rates


def placement_csv(slots: Sequence[Slot]) -> str:
    """The placement as a file that place_file reads."""
    lines = [f"{rank},{slot.node},{slot.gpu}\n" for rank, slot in enumerate(slots)]
    return "rank,node,gpu\n" + "".join(lines)

"""Polarisation: a switch whose choice is already decided by the choice of the one before it.

If leaf and spine compute the same hash, every flow that a spine receives from a given leaf has the same residue, and
the spine uses one of its uplinks for all of them (USERS' classic: ns3-rdma issue 19). Seeds that differ help only where
the hash is not linear in the seed. So nothing is concluded from parameters: all UDP source ports that RoCEv2 uses are
sent through the tables, and the members that are reached are counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from fabric.report.flowpath import ENTROPY_PORTS
from fabric.report.forwarding import Forwarding
from fabric.report.walk import Flows, Ints, Walks, walk
from fabric.state.codes import HashAlgorithm
from fabric.topology.model import Node

BUDGET: Final = 1 << 21
"""Flows enumerated over a whole fabric, at most about."""
_PAIRS_PER_CLASS: Final = 4
"""Destinations tried from each rack."""
_ENOUGH: Final = 24
"""Flows per member from which a member that none of them reached is no accident: a chance below e**-24 each."""


@dataclass(frozen=True, slots=True)
class Dependence:
    """How a second switch divides the flows that a first one sent it by one member."""

    first: int
    """NodeId of the switch that chose before."""
    first_members: tuple[int, ...]
    """Ports it chose among."""
    first_index: int
    """The member it took."""
    second: int
    second_members: tuple[int, ...]
    flows: tuple[int, ...]
    """Flows by member of the second switch."""

    @property
    def reached(self) -> int:
        """Members of the second switch that any flow takes."""
        return sum(count > 0 for count in self.flows)

    @property
    def polarised(self) -> bool:
        """Whether some members are out of reach, and not for want of flows."""
        return self.reached < len(self.flows) and sum(self.flows) >= _ENOUGH * len(self.flows)


def dependences(at: Forwarding, flows: Flows, steps: Walks | None = None) -> list[Dependence]:
    """Every pair of successive choices that the flows meet, and how the second divides what the first sent.

    Returns: in the order of (first switch, group, member, second switch, group).
    """
    steps = walk(at.tables, flows) if steps is None else steps
    tables = at.tables
    rows: list[Ints] = []
    last_group, last_index = np.full(len(flows), -1, np.int64), np.zeros(len(flows), np.int64)
    for hop in range(steps.group.shape[1]):
        chose = steps.group[:, hop] >= 0
        both = chose & (last_group >= 0)
        rows.append(np.stack([last_group[both], last_index[both], steps.group[both, hop], steps.index[both, hop]]))
        last_group = np.where(chose, steps.group[:, hop], last_group)
        last_index = np.where(chose, steps.index[:, hop], last_index)
    keys, counts = np.unique(np.concatenate(rows, axis=1), axis=1, return_counts=True)
    found: dict[tuple[int, int, int], list[int]] = {}
    for (group, index, second, member), count in zip(keys.T.tolist(), counts.tolist(), strict=True):
        by_member = found.setdefault((group, index, second), [0] * int(tables.group_count[second]))
        by_member[member] = count
    return [Dependence(at.fabric.node_of(ports[0]).id, ports, index, at.fabric.node_of(onwards[0]).id, onwards,
                       tuple(by_member))
            for (group, index, second), by_member in found.items()
            for ports, onwards in [(_members(at, group), _members(at, second))]]


def _members(at: Forwarding, group: int) -> tuple[int, ...]:
    first, count = int(at.tables.group_first[group]), int(at.tables.group_count[group])
    return tuple(int(port) for port in at.tables.member[first : first + count])


@dataclass(frozen=True)
class Survey:
    """All successive choices of a fabric."""

    found: tuple[Dependence, ...]
    n_flows: int
    """Flows enumerated."""
    ports_per_pair: int
    """UDP source ports tried between two hosts; 16,384 is all of them."""


def survey(at: Forwarding, dst_port: int) -> Survey:
    """Send the flows of every rack to the racks where most switches have a choice, and count.

    Source ports are all 14 bits; in a fabric where that is more than BUDGET flows a random part of them, the same at
    every call (a regular part would lie in a subspace of the hash, and look polarised).
    """
    pairs = list(_far_pairs(at))
    all_ports = np.arange(ENTROPY_PORTS.start, ENTROPY_PORTS.stop, dtype=np.int64)
    each = min(len(all_ports), max(BUDGET // max(len(pairs), 1), 512))
    ports = np.sort(np.random.default_rng(0).choice(all_ports, each, replace=False))
    total: dict[tuple[tuple[int, ...], int, tuple[int, ...]], Dependence] = {}
    for src, dst in pairs:
        same = np.ones(len(ports), np.int64)
        for it in dependences(at, at.flows(src.id * same, dst.id * same, ports, dst_port * same,
                                           src.first_port * same)):
            key = (it.first_members, it.first_index, it.second_members)
            before = total.get(key)
            counts = it.flows if before is None else tuple(a + b for a, b in zip(before.flows, it.flows, strict=True))
            total[key] = Dependence(it.first, it.first_members, it.first_index, it.second, it.second_members, counts)
    return Survey(tuple(total.values()), len(pairs) * each, each)


def _far_pairs(at: Forwarding) -> Iterator[tuple[Node, Node]]:
    """From every class of hosts a few pairs of hosts with the most choices on the way, spread over the classes."""
    classes = list(at.classes().values())
    if not classes:
        return
    heads = np.array([hosts[0].id for hosts in classes], np.int64)
    for number, hosts in enumerate(classes):
        same = np.ones(len(heads), np.int64)
        probe = at.flows(hosts[0].id * same, heads, ENTROPY_PORTS.start * same, same, hosts[0].first_port * same)
        choices = (walk(at.tables, probe).group >= 0).sum(axis=1)
        choices[number] = 0
        most = int(choices.max())
        if most < 2:
            continue
        targets = np.flatnonzero(choices == most)
        for turn in range(min(_PAIRS_PER_CLASS, len(targets))):
            there = classes[targets[(number + turn * len(targets) // _PAIRS_PER_CLASS) % len(targets)]]
            yield hosts[turn % len(hosts)], there[turn % len(there)]


def relation(at: Forwarding, first: int, second: int) -> str:
    """Why two switches' hashes may agree, in words."""
    one, two = at.params.switches[first], at.params.switches[second]
    name = one.hash_algorithm.name.lower()
    if one.hash_algorithm is not two.hash_algorithm:
        return f"{name} and {two.hash_algorithm.name.lower()} agree on these flows"
    if one.hash_seed == two.hash_seed:
        return f"both compute {name} with seed {one.hash_seed}: the same hash"
    if one.hash_algorithm is HashAlgorithm.XOR:
        return (f"both compute xor; seeds {one.hash_seed} and {two.hash_seed} flip the same bits of every hash, "
                "so they change the order of members and not who goes together")
    return (f"both compute {name}, which is linear: another seed moves the hash's bits about, and seeds "
            f"{one.hash_seed} and {two.hash_seed} happen to choose members by the same ones")


def remedy(at: Forwarding, first: int, second: int) -> str:
    """What to change so that the second switch chooses anew."""
    one, two = at.params.switches[first], at.params.switches[second]
    if one.hash_algorithm is two.hash_algorithm is HashAlgorithm.XOR:
        return ("a seed per switch and a hash that is not linear (switches.hash: {algorithm: murmur3, seed: "
                "per-switch})")
    if one.hash_seed == two.hash_seed and one.hash_algorithm is HashAlgorithm.MURMUR3:
        return "a seed per switch (switches.hash.seed: per-switch)"
    if one.hash_seed == two.hash_seed:
        return ("a seed per switch and a hash that is not linear (switches.hash: {algorithm: murmur3, seed: "
                "per-switch})")
    return ("a hash that is not linear (switches.hash.algorithm: murmur3), or another algorithm in one of the two "
            "tiers (switches.overrides)")

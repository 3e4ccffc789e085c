"""Polarisation: a switch whose choice is already decided by the choice of the one before it.

If leaf and spine compute the same hash, every flow that a spine receives from a given leaf has the same residue, and
the spine uses one of its uplinks for all of them (ns3-rdma issue 19). Seeds that differ help only where
the hash is not linear in the seed. So parameters decide nothing here: flows of all UDP source ports of RoCEv2
are followed through the tables, and the members that they reach are counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from fabric.dataplane.state.codes import LINEAR_HASHES, HashAlgorithm
from fabric.forwarding.flowpath import ENTROPY_PORTS
from fabric.forwarding.tables import Forwarding
from fabric.forwarding.walk import Flows, Ints, Walks, walk
from fabric.topology.model import Node

BUDGET: Final = 1 << 21
"""Approximate upper limit of the flows enumerated over a fabric."""
_PAIRS_PER_CLASS: Final = 4
"""Destinations tried from each rack."""
_ENOUGH: Final = 24
"""Flows per member. With so many, a member of a uniform hash stays unused with a probability below e**-24."""


@dataclass(frozen=True, slots=True)
class Dependence:
    """The choices of a second switch for the flows that a first switch sent it by one member."""

    first: int
    """NodeId of the switch that chose first."""
    first_members: tuple[int, ...]
    """Its candidate ports."""
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
        """Whether some members are out of reach although there are enough flows."""
        return self.reached < len(self.flows) and sum(self.flows) >= _ENOUGH * len(self.flows)


def dependences(at: Forwarding, flows: Flows, steps: Walks | None = None) -> list[Dependence]:
    """Every pair of successive choices on the paths of the flows, with the flows by member of the second.

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
    return [
        Dependence(
            at.fabric.node_of(ports[0]).id, ports, index, at.fabric.node_of(onwards[0]).id, onwards, tuple(by_member)
        )
        for (group, index, second), by_member in found.items()
        for ports, onwards in [(tables.group(group), tables.group(second))]
    ]


@dataclass(frozen=True)
class Survey:
    """All successive choices of a fabric."""

    found: tuple[Dependence, ...]
    n_flows: int
    """Flows enumerated."""
    ports_per_pair: int
    """UDP source ports tried between two hosts; 16,384 is all of them."""


def survey(at: Forwarding, dst_port: int) -> Survey:
    """Follow flows of every rack to the racks with most choices on the path, and count.

    Source ports are all 14 bits. Where that exceeds BUDGET flows they are a random sample, the same at every call: a
    regular sample would lie in a subspace of a linear hash and look polarised.
    """
    pairs = list(_pairs_with_most_choices(at))
    all_ports = np.arange(ENTROPY_PORTS.start, ENTROPY_PORTS.stop, dtype=np.int64)
    each = min(len(all_ports), max(BUDGET // max(len(pairs), 1), 512))
    ports = np.sort(np.random.default_rng(0).choice(all_ports, each, replace=False))
    total: dict[tuple[tuple[int, ...], int, tuple[int, ...]], Dependence] = {}
    for src, dst in pairs:
        same = np.ones(len(ports), np.int64)
        for it in dependences(
            at, at.flows(src.id * same, dst.id * same, ports, dst_port * same, src.first_port * same)
        ):
            key = (it.first_members, it.first_index, it.second_members)
            before = total.get(key)
            counts = it.flows if before is None else tuple(a + b for a, b in zip(before.flows, it.flows, strict=True))
            total[key] = Dependence(it.first, it.first_members, it.first_index, it.second, it.second_members, counts)
    return Survey(tuple(total.values()), len(pairs) * each, each)


def _pairs_with_most_choices(at: Forwarding) -> Iterator[tuple[Node, Node]]:
    """From every class of hosts a few pairs with the most choices on the path, spread over the classes."""
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
        return (
            f"both compute xor; seeds {one.hash_seed} and {two.hash_seed} flip the same bits of every hash, "
            "so they change the order of members and not which flows share one"
        )
    if one.hash_algorithm not in LINEAR_HASHES:
        return f"both compute {name}, and seeds {one.hash_seed} and {two.hash_seed} agree on these flows"
    return (
        f"both compute {name}, which is linear: another seed permutes the bits of the hash, and seeds "
        f"{one.hash_seed} and {two.hash_seed} choose members by the same bits"
    )


def remedy(at: Forwarding, first: int, second: int) -> str:
    """The change that makes the choice of the second switch independent."""
    one, two = at.params.switches[first], at.params.switches[second]
    if one.hash_algorithm is two.hash_algorithm is HashAlgorithm.XOR:
        return "a seed per switch and a hash that is not linear (switches.hash: {algorithm: murmur3, seed: per-switch})"
    if one.hash_seed == two.hash_seed and one.hash_algorithm not in LINEAR_HASHES:
        return "a seed per switch (switches.hash.seed: per-switch)"
    if one.hash_seed == two.hash_seed:
        return "a seed per switch and a hash that is not linear (switches.hash: {algorithm: murmur3, seed: per-switch})"
    if one.hash_algorithm is two.hash_algorithm and one.hash_algorithm not in LINEAR_HASHES:
        return "another seed in one of the two tiers (switches.overrides)"
    return (
        "a hash that is not linear (switches.hash.algorithm: murmur3), or another algorithm in one of the two "
        "tiers (switches.overrides)"
    )

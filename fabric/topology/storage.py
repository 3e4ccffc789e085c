"""Storage nodes of a fabric: on separate leaves under the fabric's spines, or behind a separate network.

With a separate network every host has a second port, so that storage traffic and collectives share no link: the
front-end network beside the back-end network of a GPU cluster. Where a server has one front-end NIC for eight GPUs, and
each GPU is a host, the port of a host is an eighth of it.
Source: NVIDIA DGX SuperPOD reference architecture (compute, storage and in-band management fabrics).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from fabric.topology.model import STORAGE_GROUP, LinkSpec, NodeSpec, Role
from fabric.topology.quantities import RateBps

NETWORK: Final = "storage"
"""Name of the separate network."""


class StorageNetSpec(BaseModel):
    """`storage:` of a topology: nodes that jobs write checkpoints to and read data from."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    nodes: int = Field(ge=1, le=4096, description="Storage nodes, the hosts storage1, storage2 and so on.")
    rate: RateBps = Field(description="Rate of each storage node's NIC.")
    network: Literal["shared", "separate"] = Field(
        "shared",
        description="shared: their leaves hang on the fabric's spines; separate: another network, to which every "
        "host has a second port.",
    )
    leaves: int = Field(1, ge=1, le=1024, description="Leaves storage-leaf1 and so on; nodes are on them in turn.")
    spines: int = Field(0, ge=0, le=256, description="With network: separate and several leaves: spines above them.")
    host_rate: RateBps | None = Field(None, description="With network: separate: rate of each host's second port.")
    fabric_rate: RateBps | None = Field(
        None, description="Rate of each cable above the storage leaves; that of the fabric where absent."
    )

    @model_validator(mode="after")
    def _options_of_the_network(self) -> Self:
        problems = []
        if self.leaves > self.nodes:
            problems.append(f"leaves: {self.leaves} are more than nodes: {self.nodes}; give as many at most")
        if self.network == "shared":
            problems += [
                f"{field} has no effect with network: shared; remove it, or use network: separate"
                for field, given in (("spines", self.spines), ("host_rate", self.host_rate))
                if given
            ]
        else:
            if self.host_rate is None:
                problems.append("host_rate is missing with network: separate; give the rate of each host's second port")
            if self.leaves > 1 and not self.spines:
                problems.append(f"leaves: {self.leaves} are unconnected without spines; give spines, or leaves: 1")
            if self.leaves == 1 and self.spines:
                problems.append("spines has no effect with leaves: 1; remove it, or give more leaves")
            if self.leaves == 1 and self.fabric_rate is not None:
                problems.append("fabric_rate has no effect with leaves: 1; remove it, or give more leaves")
        if problems:
            raise ValueError("\n".join(problems))
        return self

    @property
    def separate(self) -> bool:
        """Whether the nodes have a separate network."""
        return self.network == "separate"

    def leaf_of(self, host: int, n_hosts: int) -> int:
        """With a separate network: the storage leaf, from 0, of a host; hosts are divided in order."""
        return host * self.leaves // n_hosts

    def cables(self, n_hosts: int, fabric_spines: int, links_per_pair: int) -> int:
        """Cables that the section adds to a fabric."""
        if self.separate:
            return self.nodes + n_hosts + self.leaves * self.spines
        return self.nodes + self.leaves * fabric_spines * links_per_pair


@dataclass(frozen=True, slots=True)
class StorageParts:
    """What the section adds to a fabric."""

    hosts: list[NodeSpec]
    switches: list[NodeSpec]
    links: list[LinkSpec]


def storage_parts(
    spec: StorageNetSpec,
    hosts: Sequence[str],
    spines: Sequence[str],
    *,
    fabric_rate_bps: int,
    links_per_pair: int,
    host_cable: tuple[int, int],
    fabric_cable: tuple[int, int],
) -> StorageParts:
    """Storage nodes, their leaves and spines, and cables.

    Parameters
    ----------
    hosts : (n_hosts,) names of the fabric's hosts, in order
    spines : names of the fabric's spines
    host_cable, fabric_cable : (length in mm, delay in ps) of cables to hosts and between switches
    """
    network = NETWORK if spec.separate else ""
    leaves = [f"storage-leaf{number}" for number in range(1, spec.leaves + 1)]
    own = [f"storage-spine{number}" for number in range(1, spec.spines + 1)]
    nodes = [f"storage{number}" for number in range(1, spec.nodes + 1)]
    links = []
    if spec.separate:
        rate_bps = spec.host_rate or 0  # the spec has one: checked by its validator
        links += [
            LinkSpec(host, leaves[spec.leaf_of(number, len(hosts))], rate_bps, host_cable[1], host_cable[0])
            for number, host in enumerate(hosts)
        ]
    links += [
        LinkSpec(node, leaves[number % spec.leaves], spec.rate, host_cable[1], host_cable[0])
        for number, node in enumerate(nodes)
    ]
    rate_bps = fabric_rate_bps if spec.fabric_rate is None else spec.fabric_rate
    links += [
        LinkSpec(leaf, spine, rate_bps, fabric_cable[1], fabric_cable[0])
        for leaf in leaves
        for spine in (own if spec.separate else spines)
        for _ in range(1 if spec.separate else links_per_pair)
    ]
    return StorageParts(
        [NodeSpec(name, Role.HOST, 0, STORAGE_GROUP) for name in nodes],
        [NodeSpec(name, Role.LEAF, 1, STORAGE_GROUP, network) for name in leaves]
        + [NodeSpec(name, Role.SPINE, 2, STORAGE_GROUP, network) for name in own],
        links,
    )

"""The topology as a user writes it: the `topology:` mapping of a scenario, one strict model per kind.

Shapes only; the builders (clos.py, rail.py, dual_tor.py, custom.py) make the fabric. Contradictions that can be seen
without building (a cable given twice, host_rate beside host_rates) are refused here: one line each, 'what is wrong;
what to do'.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from fabric.topology.model import Role
from fabric.topology.quantities import LengthMm, RateBps, TimePs
from fabric.topology.scale_up import PROFILES, ScaleUpSpec
from fabric.topology.storage import StorageNetSpec
from fabric.visible import hidden, spelled, visible

PS_PER_MM: Final = 5
"""5.0 ns/m: the speed of light in fibre (index 1.47 to 1.5), as switch vendors' headroom tables assume."""
DEFAULT_HOST_MM: Final = 3_000
"""A copper cable inside the rack."""
DEFAULT_FABRIC_MM: Final = 30_000
"""Fibre from a rack to the spine row."""

MAX_CABLES: Final = 2**17
"""Cables of a fabric built from numbers: a three-tier fabric of 32,768 hosts has about 98,000. Each costs the engine
two ports of eight queues, so that many already take gigabytes.
"""

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]
"""A node name: letters, digits, dot, underscore, dash; at most 63 characters, so that it is a host name as well."""


def one_line(text: str) -> str:
    """A text without hidden characters. Raises: ValueError naming the first."""
    character = hidden(text)
    if character:
        raise ValueError(f"holds the hidden character {spelled(character)}; remove it")
    return text


Line = Annotated[str, AfterValidator(one_line)]
"""A text of one line."""


class NamesFile:
    """Mark of a field whose text names a file, relative to the file that the field is in (scenario/named_files.py)."""


FileName = Annotated[str, Field(min_length=1), NamesFile()]
"""A file, or the part that the names of several files begin with."""
Breakout = Literal[1, 2, 4, 8]
"""How many cables share one switch cage; more than 1 names the ports 'Ethernet0/1', 'Ethernet0/2', ..."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How large a fabric is."""

    hosts: int
    switches: int
    classes: int
    """Sets of switches that hosts are attached to (topology/paths.py): routing tables grow with them."""
    cables: int
    field: str = ""
    """The field of `topology:` that it grows with; '' where nodes and links are written one by one."""
    value: int = 0
    """Its value."""


def with_storage(shape: Shape, storage: StorageNetSpec | None, class_of: Callable[[int], int]) -> Shape:
    """The shape with storage nodes; class_of: host, from 0 -> a number for its set of switches without them."""
    if storage is None:
        return shape
    classes = shape.classes
    if storage.separate:
        classes = len({(class_of(host), storage.leaf_of(host, shape.hosts)) for host in range(shape.hosts)})
    return replace(
        shape,
        hosts=shape.hosts + storage.nodes,
        switches=shape.switches + storage.leaves + storage.spines,
        classes=classes + storage.leaves,
    )


MOST_UNKNOWN: Final = 200
"""Unknown fields of one mapping that are named one by one."""


class Strict(BaseModel):
    """Frozen, no unknown field, no coercion."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _few_unknown_fields(cls, data: Any) -> Any:  # noqa: ANN401  whatever a file holds
        """One error for a file of another kind, which may hold a million other names."""
        if isinstance(data, dict) and len(data) > MOST_UNKNOWN:
            known = {info.alias or name for name, info in cls.model_fields.items()}
            unknown = [name for name in data if name not in known]
            if len(unknown) > MOST_UNKNOWN:
                example = visible(str(unknown[0]).partition(";")[0][:60])
                raise ValueError(
                    f"has {len(unknown):,} unknown fields, such as '{example}'; "
                    "remove them, or give a file of the kind that is read here"
                )
        return data


class LinkOverride(Strict):
    """Another rate or length for the cables between nodes whose names match."""

    a: str = Field(min_length=1, description="Node name or shell pattern ('leaf1', 'host*') of one end.")
    b: str = Field(min_length=1, description="Node name or shell pattern of the other end.")
    rate: RateBps | None = Field(None, description="Line rate of these cables, each direction.")
    cable: LengthMm | None = Field(None, description="Cable length; 5.0 ns/m.")
    delay: TimePs | None = Field(None, description="One-way propagation, instead of a length.")

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.rate is None and self.cable is None and self.delay is None:
            raise ValueError("this override changes nothing; give rate, cable or delay")
        if self.cable is not None and self.delay is not None:
            raise ValueError("cable and delay are both given; give one of them")
        return self

    def length_and_delay(self, length_mm: int, delay_ps: int) -> tuple[int, int]:
        """(length_mm, delay_ps) after this override of a cable that had these."""
        if self.cable is None and self.delay is None:
            return length_mm, delay_ps
        return length_and_delay(self.cable, self.delay, length_mm)


class _Built(Strict):
    """What the regular shapes have in common: hosts, their cables, the cables between switches."""

    name: Name | None = Field(None, description="Name of the fabric in tables and files; the kind where absent.")
    host_rate: RateBps | None = Field(None, description="Rate of every host port; or give host_rates.")
    host_rates: Annotated[tuple[RateBps, ...], Field(strict=False)] = Field(
        (), max_length=1024, description="Mixed host speeds: host i under a leaf gets the i-th, going round."
    )
    host_cable: LengthMm | None = Field(None, description="Length of host cables; 3 m where neither is given.")
    host_delay: TimePs | None = Field(None, description="One-way propagation of host cables, instead of a length.")
    host_breakout: Breakout = Field(1, description="Host ports per switch cage.")
    fabric_rate: RateBps = Field(description="Rate of each cable between switches.")
    fabric_cable: LengthMm | None = Field(None, description="Length of cables between switches; 30 m by default.")
    fabric_delay: TimePs | None = Field(None, description="One-way propagation between switches, instead of a length.")
    fabric_breakout: Breakout = Field(1, description="Switch-to-switch ports per switch cage.")
    links_per_pair: int = Field(1, ge=1, le=64, description="Parallel cables between each connected pair of switches.")
    link_overrides: Annotated[tuple[LinkOverride, ...], Field(strict=False)] = Field(
        (), description="Cables that differ; the last one that matches decides, field by field."
    )

    @model_validator(mode="after")
    def _one_rate_one_length(self) -> Self:
        problems = []
        if (self.host_rate is None) == (not self.host_rates):
            problems.append(
                "host_rate and host_rates are both given, or neither; give one of them: host_rate: 100G, "
                "or host_rates: [25G, 100G]"
            )
        if self.host_cable is not None and self.host_delay is not None:
            problems.append("host_cable and host_delay are both given; give one of them")
        if self.fabric_cable is not None and self.fabric_delay is not None:
            problems.append("fabric_cable and fabric_delay are both given; give one of them")
        problems += self._contradictions()
        if self.n_cables > MAX_CABLES:
            problems.append(f"these numbers make {self.n_cables:,} cables, more than {MAX_CABLES:,}; give smaller ones")
        if problems:
            raise ValueError("\n".join(problems))
        return self

    @property
    def n_cables(self) -> int:
        """Cables of the fabric, before it is built."""
        raise NotImplementedError

    @property
    def shape(self) -> Shape:
        """Size of the fabric, before it is built."""
        raise NotImplementedError

    def _contradictions(self) -> list[str]:
        """What a single kind has to object to."""
        return []

    @property
    def nic_limit(self) -> ScaleUpSpec | None:
        """What bounds the rate of NICs; None: nothing does."""
        return None

    def rate_of_host(self, index: int) -> int:
        """Rate of the index-th host under its leaf: that of its port, or of its PCIe slot if that is less."""
        rate = self.host_rate if self.host_rate is not None else self.host_rates[index % len(self.host_rates)]
        return rate if self.nic_limit is None else self.nic_limit.nic_bps(rate)

    @property
    def host_length_and_delay(self) -> tuple[int, int]:
        """(length_mm, delay_ps) of host cables; length 0 where a delay was given."""
        return length_and_delay(self.host_cable, self.host_delay, DEFAULT_HOST_MM)

    @property
    def fabric_length_and_delay(self) -> tuple[int, int]:
        """(length_mm, delay_ps) of cables between switches; length 0 where a delay was given."""
        return length_and_delay(self.fabric_cable, self.fabric_delay, DEFAULT_FABRIC_MM)


class LeafSpineSpec(_Built):
    """Every leaf to every spine: a three-stage folded Clos."""

    kind: Literal["leaf-spine"]
    leaves: int = Field(ge=1, le=4096, description="Number of leaves.")
    spines: int = Field(ge=1, le=1024, description="Number of spines.")
    hosts_per_leaf: int = Field(ge=1, le=4096, description="Hosts under each leaf.")
    links_per_host: int = Field(1, ge=1, le=16, description="Parallel cables (NIC ports) from each host to its leaf.")
    gpus_per_server: int | None = Field(
        None,
        ge=2,
        le=576,
        description="Hosts that share a server, in order, with scale_up; the profile's GPUs if absent.",
    )
    scale_up: ScaleUpSpec | None = Field(
        None, description="Hosts are GPUs, and these are the links inside servers; none where absent."
    )
    storage: StorageNetSpec | None = Field(None, description="Storage nodes, and their network; none where absent.")

    def _contradictions(self) -> list[str]:
        if self.scale_up is None:
            return [] if self.gpus_per_server is None else ["gpus_per_server has no effect without scale_up; remove it"]
        if self.hosts_per_leaf % self.server_gpus:
            text = f"hosts_per_leaf: {self.hosts_per_leaf} is no multiple of the {self.server_gpus} GPUs of a server"
            return [f"{text}; change it, or give gpus_per_server"]
        return []

    @property
    def server_gpus(self) -> int:
        """Hosts of a server; 0 without scale_up."""
        if self.scale_up is None:
            return 0
        return PROFILES[self.scale_up.profile].gpus if self.gpus_per_server is None else self.gpus_per_server

    @property
    def nic_limit(self) -> ScaleUpSpec | None:
        """What bounds the rate of NICs."""
        return self.scale_up

    @property
    def shape(self) -> Shape:
        """Size of the fabric, before it is built."""
        hosts = self.leaves * self.hosts_per_leaf
        servers = hosts // self.server_gpus if self.server_gpus else 0
        shape = Shape(
            hosts, self.leaves + self.spines + servers, max(servers, self.leaves), self.n_cables, "leaves", self.leaves
        )
        each = self.server_gpus or self.hosts_per_leaf
        return with_storage(shape, self.storage, lambda host: host // each)

    @property
    def n_cables(self) -> int:
        """Cables of the fabric, before it is built."""
        per_host = self.links_per_host + (self.scale_up is not None)
        own = self.leaves * (self.hosts_per_leaf * per_host + self.spines * self.links_per_pair)
        hosts = self.leaves * self.hosts_per_leaf
        return own + (self.storage.cables(hosts, self.spines, self.links_per_pair) if self.storage else 0)


class Clos3Spec(_Built):
    """Pods of leaves and spines, joined by super-spines: a five-stage folded Clos (RFC 7938 section 3.2.1)."""

    kind: Literal["clos3"]
    pods: int = Field(ge=1, le=1024, description="Number of pods.")
    leaves_per_pod: int = Field(ge=1, le=1024, description="Leaves in each pod.")
    spines_per_pod: int = Field(ge=1, le=1024, description="Spines in each pod.")
    super_spines: int = Field(ge=1, le=4096, description="Super-spines in all.")
    hosts_per_leaf: int = Field(ge=1, le=4096, description="Hosts under each leaf.")
    core: Literal["planes", "full"] = Field(
        "planes", description="planes: spine i of each pod connects to the super-spines of plane i only; full: to all."
    )
    core_rate: RateBps | None = Field(None, description="Rate of spine to super-spine cables; fabric_rate by default.")
    core_cable: LengthMm | None = Field(None, description="Length of spine to super-spine cables.")
    core_delay: TimePs | None = Field(None, description="One-way propagation spine to super-spine.")
    core_links_per_pair: int = Field(1, ge=1, le=64, description="Parallel cables per spine and super-spine pair.")

    def _contradictions(self) -> list[str]:
        problems = []
        if self.core == "planes" and self.super_spines % self.spines_per_pod:
            low = self.super_spines - self.super_spines % self.spines_per_pod
            fits = f"{low} or {low + self.spines_per_pod}" if low else str(self.spines_per_pod)
            problems.append(
                f"super_spines: {self.super_spines} does not divide into {self.spines_per_pod} planes "
                f"(one per spine of a pod); use {fits}, or core: full"
            )
        if self.core_cable is not None and self.core_delay is not None:
            problems.append("core_cable and core_delay are both given; give one of them")
        return problems

    @property
    def shape(self) -> Shape:
        """Size of the fabric, before it is built."""
        leaves = self.pods * self.leaves_per_pod
        return Shape(
            leaves * self.hosts_per_leaf,
            leaves + self.pods * self.spines_per_pod + self.super_spines,
            leaves,
            self.n_cables,
            "pods",
            self.pods,
        )

    @property
    def n_cables(self) -> int:
        """Cables of the fabric, before it is built."""
        core_links = self.super_spines // self.spines_per_pod if self.core == "planes" else self.super_spines
        down = self.leaves_per_pod * (self.hosts_per_leaf + self.spines_per_pod * self.links_per_pair)
        return self.pods * (down + self.spines_per_pod * core_links * self.core_links_per_pair)

    @property
    def core_length_and_delay(self) -> tuple[int, int]:
        """(length_mm, delay_ps) of spine to super-spine cables; by default those of fabric cables."""
        if self.core_cable is None and self.core_delay is None:
            return self.fabric_length_and_delay
        return length_and_delay(self.core_cable, self.core_delay, DEFAULT_FABRIC_MM)


class RailSpec(_Built):
    """Pods of GPU nodes: NIC k of every node of a pod on the pod's rail leaf k; spines join leaves and pods."""

    kind: Literal["rail"]
    pods: int = Field(1, ge=1, le=256, description="Number of pods, each with one leaf per rail.")
    nodes_per_pod: int = Field(ge=1, le=1024, description="GPU nodes in each pod.")
    rails: int = Field(8, ge=1, le=16, description="GPUs (and NICs) per node, and leaves per pod.")
    spines: int = Field(ge=0, le=1024, description="Spines; 0 for a rail-only pod of multi-homed nodes.")
    endpoints: Literal["gpu", "node"] = Field(
        "gpu", description="gpu: each GPU with its NIC is a host; node: each node is one host with `rails` NIC ports."
    )
    scale_up: ScaleUpSpec | None = Field(None, description="Links between the GPUs of a node; none where absent.")
    storage: StorageNetSpec | None = Field(None, description="Storage nodes, and their network; none where absent.")

    def _contradictions(self) -> list[str]:
        problems = []
        if self.storage is not None and not self.storage.separate and not self.spines:
            problems.append("storage: network: shared needs spines; give spines, or network: separate")
        if self.scale_up is not None and self.endpoints == "node":
            problems.append("scale_up joins hosts that are GPUs; use endpoints: gpu, or remove it")
        if self.scale_up is not None and self.rails == 1:
            problems.append("scale_up joins the GPUs of a node, and rails: 1 is one GPU a node; remove it")
        if self.spines:
            return problems
        if self.pods > 1:
            problems.append(f"spines: 0 leaves {self.pods} pods unconnected; give spines, or pods: 1")
        if self.endpoints == "gpu" and self.rails > 1:
            problems.append("spines: 0 leaves the rails unconnected; give spines, or endpoints: node")
        return problems

    @property
    def nic_limit(self) -> ScaleUpSpec | None:
        """What bounds the rate of NICs."""
        return self.scale_up

    @property
    def shape(self) -> Shape:
        """Size of the fabric, before it is built."""
        leaves, nodes = self.pods * self.rails, self.pods * self.nodes_per_pod
        single = self.endpoints == "node"  # a node's ports lead to all leaves of its pod: one class a pod
        servers = nodes if self.scale_up is not None else 0
        classes = nodes * self.rails if servers else leaves  # each GPU has a separate pair of switches
        shape = Shape(
            nodes if single else nodes * self.rails,
            leaves + self.spines + servers,
            self.pods if single else classes,
            self.n_cables,
            "nodes_per_pod",
            self.nodes_per_pod,
        )
        in_pod = self.nodes_per_pod * (1 if single else self.rails)

        def class_of(host: int) -> int:
            if servers:
                return host
            return host // in_pod * self.rails + (0 if single else host % self.rails)

        return with_storage(shape, self.storage, class_of)

    @property
    def n_cables(self) -> int:
        """Cables of the fabric, before it is built."""
        per_gpu = 1 if self.scale_up is None else 2
        own = self.pods * self.rails * (self.nodes_per_pod * per_gpu + self.spines * self.links_per_pair)
        hosts = self.pods * self.nodes_per_pod * (1 if self.endpoints == "node" else self.rails)
        return own + (self.storage.cables(hosts, self.spines, self.links_per_pair) if self.storage else 0)


class ServerSpec(Strict):
    """One server: GPUs over their NVSwitch, and no network."""

    kind: Literal["server"]
    name: Name | None = Field(None, description="Name of the fabric in tables and files; the kind where absent.")
    gpus: int | None = Field(None, ge=2, le=576, description="GPUs of the server; the profile's number where absent.")
    scale_up: ScaleUpSpec = Field(default_factory=ScaleUpSpec, description="Links inside the server.")

    @model_validator(mode="after")
    def _no_nic(self) -> Self:
        if self.scale_up.pcie is not None:
            raise ValueError("scale_up.pcie has no effect: the GPUs of kind: server have no NIC; remove it")
        return self

    @property
    def n_gpus(self) -> int:
        """GPUs of the server."""
        return PROFILES[self.scale_up.profile].gpus if self.gpus is None else self.gpus

    @property
    def shape(self) -> Shape:
        """Size of the fabric, before it is built."""
        return Shape(self.n_gpus, 1, 1, self.n_gpus, "gpus", self.n_gpus)


class DualTorSpec(_Built):
    """Racks of two ToRs, every host on both; optionally two planes that are connected only by the hosts (Alibaba
    HPN).
    """

    kind: Literal["dual-tor"]
    racks: int = Field(ge=1, le=2048, description="Number of racks, each with two ToRs.")
    hosts_per_rack: int = Field(ge=1, le=4096, description="Hosts in each rack, each with one port to each ToR.")
    spines: int = Field(ge=1, le=1024, description="Number of spines.")
    planes: Literal[1, 2] = Field(
        1, description="1: every ToR connects to every spine; 2: first ToRs to the first half, second ToRs to the rest."
    )

    def _contradictions(self) -> list[str]:
        if self.planes == 2 and self.spines % 2:
            return [f"spines: {self.spines} cannot be halved into two planes; use {self.spines + 1}, or planes: 1"]
        return []

    @property
    def shape(self) -> Shape:
        """Size of the fabric, before it is built."""
        return Shape(
            self.racks * self.hosts_per_rack,
            2 * self.racks + self.spines,
            self.racks,
            self.n_cables,
            "racks",
            self.racks,
        )

    @property
    def n_cables(self) -> int:
        """Cables of the fabric, before it is built."""
        return 2 * self.racks * (self.hosts_per_rack + self.spines // self.planes * self.links_per_pair)


class CustomNode(Strict):
    """One node of a custom topology."""

    name: Name = Field(description="Unique name.")
    role: Literal["host", "leaf", "spine", "super-spine", "switch"] = Field(description="Role of the node.")
    group: Line = Field(
        "",
        max_length=63,
        description="Pod, rack or rail, for drawings and tables; hosts of group storage are storage nodes.",
    )
    network: Line = Field(
        "",
        max_length=63,
        description="Of a switch, where hosts have ports to several networks: packets take the first network, in the "
        "order of the switches, that both ends are on.",
    )

    @model_validator(mode="after")
    def _network_of_a_switch(self) -> Self:
        if self.network and self.role == "host":
            raise ValueError("network has no effect on a host, whose ports lead to switches; remove it")
        return self


class CustomLink(Strict):
    """One cable, or several equal cables, of a custom topology."""

    a: Name = Field(description="Name of one end.")
    b: Name = Field(description="Name of the other end.")
    rate: RateBps = Field(description="Line rate, each direction.")
    cable: LengthMm | None = Field(None, description="Cable length, 5.0 ns/m.")
    delay: TimePs | None = Field(None, description="One-way propagation, instead of a length.")
    a_port: Line = Field("", max_length=63, description="Port name at a; filled in where absent.")
    b_port: Line = Field("", max_length=63, description="Port name at b; filled in where absent.")
    count: int = Field(1, ge=1, le=64, description="Equal parallel cables.")
    breakout: Breakout = Field(1, description="Cables per switch cage.")

    @model_validator(mode="after")
    def _one_length(self) -> Self:
        if (self.cable is None) == (self.delay is None):
            raise ValueError(
                "cable and delay are both given, or neither; give one of them: cable: 30m, or delay: 150ns"
            )
        if self.count > 1 and (self.a_port or self.b_port):
            raise ValueError("port names fit one cable; give count: 1, or leave a_port and b_port out")
        return self


class CustomSpec(Strict):
    """Explicit nodes and links, or a file that holds them."""

    kind: Literal["custom"]
    name: Name | None = Field(None, description="Name of the fabric in tables and files.")
    nodes: Annotated[tuple[CustomNode, ...], Field(strict=False)] = Field((), description="All nodes, hosts included.")
    links: Annotated[tuple[CustomLink, ...], Field(strict=False)] = Field((), description="All cables.")
    file: FileName | None = Field(None, description="A topology file, relative to the file that names it.")
    format: Literal["graphml", "node-link", "containerlab"] | None = Field(
        None, description="Format of the file; by its ending (.graphml, .json, .yml) where absent."
    )
    default_rate: RateBps | None = Field(None, description="Rate of the file's links that give none.")
    default_cable: LengthMm | None = Field(None, description="Length of the file's links that give neither.")
    default_delay: TimePs | None = Field(None, description="Delay of the file's links that give neither.")

    @model_validator(mode="after")
    def _file_or_lists(self) -> Self:
        problems = []
        if self.file is None:
            if not self.nodes or not self.links:
                problems.append("has no nodes, or no links; give nodes and links, or file")
            problems.extend(
                f"{field} has no effect without file; remove it"
                for field in ("format", "default_rate", "default_cable", "default_delay")
                if getattr(self, field) is not None
            )
        elif self.nodes or self.links:
            problems.append("nodes and links cannot be combined with file; remove one or the other")
        if self.default_cable is not None and self.default_delay is not None:
            problems.append("default_cable and default_delay are both given; give one of them")
        if problems:
            raise ValueError("\n".join(problems))
        return self


TopologySpec = Annotated[
    LeafSpineSpec | Clos3Spec | RailSpec | DualTorSpec | ServerSpec | CustomSpec, Field(discriminator="kind")
]
"""The `topology:` mapping of a scenario."""

TIER_OF_ROLE: Final = {
    Role.HOST: 0,
    Role.LEAF: 1,
    Role.SPINE: 2,
    Role.SUPER_SPINE: 3,
    Role.SCALE_UP: 1,
    Role.SWITCH: -1,
}
"""The tier a role implies (model.Node.tier)."""


def length_and_delay(length_mm: int | None, delay_ps: int | None, default_mm: int) -> tuple[int, int]:
    """(length_mm, delay_ps) of a cable described by either; length 0 where only a delay is known."""
    if delay_ps is not None:
        return 0, delay_ps
    length = default_mm if length_mm is None else length_mm
    return length, length * PS_PER_MM

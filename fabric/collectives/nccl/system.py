"""The machine as NCCL's model sees it: nodes, GPUs, and the channels that its search found for each algorithm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Final, Literal

from fabric.collectives.nccl.tables import NVLS_EFFICIENCY, Algorithm, Generation, Hardware

Distance = Literal["PIX", "PXB", "PXN", "PHB", "SYS"]
"""Between GPU and NIC, nearest first: one PCIe switch, several, over another GPU's NIC, the host bridge, the CPUs."""
DISTANCES: Final[tuple[Distance, ...]] = ("PIX", "PXB", "PXN", "PHB", "SYS")


@dataclass(frozen=True, slots=True)
class Channels:
    """Channels of one algorithm after NCCL's search (ring channels already doubled)."""

    count: int
    intra_gb_s: float
    """Of one channel inside a node, 10^9 bytes per second."""
    inter_gb_s: float
    """Of one channel between nodes; in one node equal to intra_gb_s."""


_HGX_GPUS: Final = 8
HOPPER_HGX: Final = Channels(24, 15.0, 15.0)
"""One HGX H100: 18 links of 20.6 GB/s usable. 12 channels of 30 GB/s, doubled."""
HOPPER_400G: Final = Channels(16, 24.0, 24.0)
"""HGX H100 with a 400G NIC for each GPU: 8 channels of 48 GB/s, doubled."""


def known_channels(generation: Generation, nodes: int, gpus_per_node: int) -> Channels | None:
    """Result of NCCL's search where it is known; it depends on the machine's topology file, so other systems need
    their own numbers (NCCL_DEBUG=INFO prints them).

    Fewer than 8 GPUs of an HGX H100, such as the ranks of one tensor-parallel part: assumed, as each has a NIC and
    links: the channels of one node are bound by a GPU's links, those between nodes are two for each NIC.
    """
    if generation is not Generation.HOPPER or not 1 <= gpus_per_node <= _HGX_GPUS:
        return None
    if nodes == 1:
        return HOPPER_HGX
    count = HOPPER_400G.count * gpus_per_node // _HGX_GPUS
    return Channels(count, HOPPER_400G.intra_gb_s, HOPPER_400G.inter_gb_s)


@dataclass(frozen=True)
class System:
    """Ranks, one a GPU, and what connects them."""

    generation: Generation
    nodes: int
    gpus_per_node: int
    channels: Channels
    """Of ring and tree, and of algorithms without their own in `own`."""
    own: Mapping[Algorithm, Channels] = field(default_factory=dict)
    cpu: Literal["intel", "amd"] = "intel"
    nvlink: bool = True
    """GPUs of a node reach each other over NVLink; else over PCIe."""
    nvswitch: bool = True
    nvls: bool = False
    """The switches of a node reduce and multicast, and NCCL uses it."""
    collnet: bool = False
    """A plugin for reduction in the network is loaded and enabled."""
    nic_distance: Distance = "PIX"
    device_latency_us: float = 0.0
    """Of the NIC, told by the network plugin."""
    balanced_tree: bool = True
    """The trees' two pieces enter a node at different GPUs; else NCCL's pattern `tree`."""
    same_channels: bool = True
    """All rings have one order of ranks."""

    @property
    def ranks(self) -> int:
        """n."""
        return self.nodes * self.gpus_per_node

    @property
    def node_column(self) -> int:
        """Column of the tables by nodes."""
        return min(self.nodes, 3) - 1

    @property
    def intra(self) -> Hardware:
        """What a step inside a node crosses."""
        return Hardware.NVLINK if self.nvlink else Hardware.PCI

    def of(self, algorithm: Algorithm) -> Channels:
        """Channels of an algorithm."""
        return self.own.get(algorithm, self.channels)

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """(field, problem, remedy) of what no machine can be."""
        if self.nodes < 1:
            yield "nodes", f"is {self.nodes}", "give 1 or more"
        if self.gpus_per_node < 1:
            yield "gpus_per_node", f"is {self.gpus_per_node}", "give 1 or more"
        if self.ranks < 2:
            yield "nodes", "a single rank has no other rank to communicate with", "give at least two GPUs in all"
        for algorithm, channels in {Algorithm.RING: self.channels, **self.own}.items():
            if channels.count < 1 or not all(0 < it < inf for it in (channels.intra_gb_s, channels.inter_gb_s)):
                yield f"channels of {algorithm}", f"{channels} carries nothing", "give a count and rates above 0"
        if self.device_latency_us < 0:
            yield "device_latency_us", f"is {self.device_latency_us}", "give 0 or more"
        if self.nvls and not NVLS_EFFICIENCY[self.generation]:
            yield "nvls", f"switches of generation {self.generation} do not reduce", "use hopper or blackwell"
        if self.nvls and not (self.nvlink and self.nvswitch):
            yield "nvls", "needs NVLink and an NVSwitch", "remove it"

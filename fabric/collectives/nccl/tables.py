"""Measured constants of NCCL's tuning model, by algorithm, protocol and GPU generation.

Source: NVIDIA/nccl 2.30.7, src/graph/tuning.cc (ncclTunerConstants, treeCorrectionFactor), src/include/device.h
(buffer sizes, thread thresholds). Latencies are microseconds, bandwidths are 10^9 bytes per second.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Operation(StrEnum):
    """Collective operations that NCCL chooses an algorithm for."""

    ALL_REDUCE = "all-reduce"
    REDUCE_SCATTER = "reduce-scatter"
    ALL_GATHER = "all-gather"
    BROADCAST = "broadcast"
    REDUCE = "reduce"


class Algorithm(StrEnum):
    """In the order in which NCCL compares them: of equal times the first wins."""

    TREE = "tree"
    RING = "ring"
    COLLNET_DIRECT = "collnet-direct"
    COLLNET_CHAIN = "collnet-chain"
    NVLS = "nvls"
    NVLS_TREE = "nvls-tree"
    PAT = "pat"


class Protocol(StrEnum):
    """How data and flags share a buffer; in the order of comparison."""

    LL = "LL"
    """Lines of 8 bytes, of which 4 are data."""
    LL128 = "LL128"
    """Lines of 128 bytes, of which 120 are data."""
    SIMPLE = "Simple"


class Generation(StrEnum):
    """GPU generations that have their constants."""

    VOLTA = "volta"
    AMPERE = "ampere"
    HOPPER = "hopper"
    BLACKWELL = "blackwell"


class Hardware(StrEnum):
    """What a step crosses."""

    NVLINK = "nvlink"
    PCI = "pci"
    NET = "net"


Latencies = Mapping[Protocol, float]


def _all(ll: float, ll128: float, simple: float) -> Latencies:
    return {Protocol.LL: ll, Protocol.LL128: ll128, Protocol.SIMPLE: simple}


def _simple(value: float) -> Latencies:
    return _all(0.0, 0.0, value)


BASE_US: Final[Mapping[Algorithm, Latencies]] = {
    Algorithm.TREE: _all(6.8, 14.0, 8.4),
    Algorithm.RING: _all(6.6, 14.0, 8.4),
    Algorithm.COLLNET_DIRECT: _simple(0.0),
    Algorithm.COLLNET_CHAIN: _simple(0.0),
    Algorithm.NVLS: _simple(0.0),
    Algorithm.NVLS_TREE: _simple(0.0),
    Algorithm.PAT: _simple(8.0),
}
"""Once an operation."""
STEP_US: Final[Mapping[Hardware, Mapping[Algorithm, Latencies]]] = {
    Hardware.NVLINK: {
        Algorithm.TREE: _all(0.6, 1.25, 4.0),
        Algorithm.RING: _all(0.6, 1.9, 3.4),
        Algorithm.COLLNET_DIRECT: _simple(3.7),
        Algorithm.COLLNET_CHAIN: _simple(2.8),
        Algorithm.NVLS: _simple(25.0),
        Algorithm.NVLS_TREE: _simple(25.0),
        Algorithm.PAT: _simple(4.0),
    },
    Hardware.PCI: {
        Algorithm.TREE: _all(1.0, 1.9, 4.0),
        Algorithm.RING: _all(1.0, 2.5, 5.7),
        Algorithm.COLLNET_DIRECT: _simple(3.7),
        Algorithm.COLLNET_CHAIN: _simple(2.8),
        Algorithm.NVLS: _simple(0.0),
        Algorithm.NVLS_TREE: _simple(0.0),
        Algorithm.PAT: _simple(4.0),
    },
    Hardware.NET: {
        Algorithm.TREE: _all(5.0, 8.5, 14.0),
        Algorithm.RING: _all(2.7, 4.0, 14.0),
        Algorithm.COLLNET_DIRECT: _simple(31.0),
        Algorithm.COLLNET_CHAIN: _simple(30.0),
        Algorithm.NVLS: _simple(18.0),
        Algorithm.NVLS_TREE: _simple(20.9),
        Algorithm.PAT: _simple(14.0),
    },
}
"""Of one step."""

ByNodes = tuple[float, float, float]
"""For one node, two nodes, more."""

LL_MOST: Final[Mapping[Generation, ByNodes]] = {
    Generation.VOLTA: (39.0, 39.0, 20.4),
    Generation.AMPERE: (87.7, 22.5, 19.0),
    Generation.HOPPER: (141.0, 45.0, 35.0),
    Generation.BLACKWELL: (282.0, 90.0, 70.0),
}
"""Most of protocol LL, all channels together. One node: row of the GPU. Several: LL_HOST_ROW of the host's CPU."""
LL_HOST_ROW: Final = {"intel": Generation.VOLTA, "amd": Generation.AMPERE}
RING_LL128_MOST: Final[Mapping[Generation, ByNodes]] = {
    Generation.VOLTA: (20.0, 20.0, 20.0),
    Generation.AMPERE: (20.0, 20.0, 20.0),
    Generation.HOPPER: (36.7, 36.7, 36.7),
    Generation.BLACKWELL: (40.0, 40.0, 40.0),
}
"""Per channel, as the following."""
TREE_LL128_MOST: Final[Mapping[Generation, ByNodes]] = {
    Generation.VOLTA: (20.0, 20.0, 20.0),
    Generation.AMPERE: (20.0, 20.0, 20.0),
    Generation.HOPPER: (36.7, 36.7, 29.0),
    Generation.BLACKWELL: (55.6, 31.67, 20.0),
}
TREE_MOST: Final[Mapping[Generation, ByNodes]] = {
    Generation.VOLTA: (26.5, 18.5, 10.0),
    Generation.AMPERE: (24.0, 23.6, 17.8),
    Generation.HOPPER: (38.7, 41.4, 36.0),
    Generation.BLACKWELL: (70.0, 42.8, 24.0),
}
NVLS_TREE_MOST: Final[Mapping[Generation, ByNodes]] = {
    Generation.VOLTA: (26.5, 18.5, 10.0),
    Generation.AMPERE: (24.0, 23.6, 17.8),
    Generation.HOPPER: (0.0, 57.7, 45.5),
    Generation.BLACKWELL: (0.0, 96.0, 80.0),
}
NVLS_EFFICIENCY: Final = {
    Generation.VOLTA: 0.0,
    Generation.AMPERE: 0.0,
    Generation.HOPPER: 0.85,
    Generation.BLACKWELL: 0.74,
}
"""0: the switches do not reduce."""

TREE_FACTOR: Final[Mapping[Protocol, tuple[float, ...]]] = {
    Protocol.LL: (*[1.0] * 4, 0.9, 0.8, *[0.7] * 4, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, *[1.0] * 4),
    Protocol.LL128: (*[1.0] * 5, 0.9, *[0.8] * 3, 0.7, *[0.6] * 6, 0.8, *[0.9] * 4, *[1.0] * 2),
    Protocol.SIMPLE: (*[0.9] * 7, 0.8, 0.7, 0.6, 0.6, *[0.5] * 4, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9),
}
"""Bandwidth of a tree all-reduce by floor(log2(bytes / 64)) from 0 to 22; 1 outside."""

BUFFER_BYTES: Final = {Protocol.LL: 512 * 1024, Protocol.LL128: 4_915_200, Protocol.SIMPLE: 4 * 2**20}
"""Of one channel."""
BUFFER_STEPS: Final = 8
DATA_SHARE: Final = {Protocol.LL: (1, 2), Protocol.LL128: (120, 128), Protocol.SIMPLE: (1, 1)}
"""Data of a buffer's bytes, as a fraction; the rest are flags."""
THREADS: Final = {Protocol.LL: 512, Protocol.LL128: 640, Protocol.SIMPLE: 512}
"""Most threads of a channel."""
THREAD_BYTES: Final = {Protocol.LL: 8, Protocol.LL128: 8, Protocol.SIMPLE: 64}
"""Fewest bytes for which a thread of a channel is used; ring LL: times the number of ranks."""

NET_OVERHEAD_US: Final = {"intel": 1.0, "amd": 2.0}
"""Cost of posting to the network in each step of a ring over several nodes; three times for Simple."""

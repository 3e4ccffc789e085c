"""Predicted time of one operation: latency of its steps + bytes / bandwidth; and which combinations NCCL may use.

Bandwidths start as bus bandwidth (channels x rate of a channel), get the limits of algorithm and protocol, and become
algorithm bandwidth (bytes / time). `bytes` is NCCL's nBytes: the larger of a rank's buffers, so all inputs together
of an all-gather and the whole input of a reduce-scatter.
Source: NVIDIA/nccl 2.30.7, src/graph/tuning.cc (ncclTopoTuneModel, ncclTopoGetAlgoTime).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fabric.collectives.nccl import tables as t
from fabric.collectives.nccl.system import DISTANCES, System
from fabric.collectives.nccl.tables import Algorithm, Generation, Hardware, Operation, Protocol

_ONLY_RING: Final = frozenset({Operation.BROADCAST, Operation.REDUCE})
_HALF: Final = frozenset({Operation.ALL_GATHER, Operation.REDUCE_SCATTER})
"""Half of an all-reduce."""
_HALF_BY: Final = frozenset({Algorithm.RING, Algorithm.PAT, Algorithm.NVLS, Algorithm.COLLNET_DIRECT})
_COLLNET: Final = frozenset({Algorithm.COLLNET_DIRECT, Algorithm.COLLNET_CHAIN})
_NVLS: Final = frozenset({Algorithm.NVLS, Algorithm.NVLS_TREE})
_LL_ALGORITHMS: Final = frozenset({Algorithm.RING, Algorithm.TREE})
_MANY_BYTES: Final = 64
"""Per channel and rank: a ring over several nodes is then limited by its longer pipeline."""
_MANY_FACTOR: Final = {Generation.VOLTA: 1.9, Generation.AMPERE: 1.4, Generation.HOPPER: 1.4, Generation.BLACKWELL: 1.4}
FP8_RING_RANKS: Final = 8
"""With more ranks NCCL avoids adding 8-bit numbers around a ring."""
FP8_RING_FACTOR: Final = 1024.0


@dataclass(frozen=True, slots=True)
class Prediction:
    """One algorithm with one protocol."""

    algorithm: Algorithm
    protocol: Protocol
    latency_us: float
    bandwidth_gb_s: float
    """Algorithm bandwidth, 10^9 bytes per second; 0 where it cannot be used."""
    time_us: float
    """Infinite where it cannot be used."""
    unusable: str = ""
    """Why it cannot be used; '' if it can."""

    @property
    def name(self) -> str:
        """'ring LL128'."""
        return f"{self.algorithm} {self.protocol}"


def predict(
    system: System,
    operation: Operation,
    algorithm: Algorithm,
    protocol: Protocol,
    size_bytes: int,
    *,
    fp8: bool = False,
) -> Prediction:
    """Predicted time of one combination; size_bytes > 0."""
    reason = unusable(system, operation, algorithm, protocol)
    if reason:
        return Prediction(algorithm, protocol, 0.0, 0.0, float("inf"), reason)
    latency = latency_us(system, operation, algorithm, protocol)
    bandwidth = bandwidth_gb_s(system, operation, algorithm, protocol)
    if algorithm is Algorithm.TREE and operation is Operation.ALL_REDUCE:
        row = (size_bytes >> 6).bit_length() - 1
        bandwidth *= t.TREE_FACTOR[protocol][row] if 0 <= row < len(t.TREE_FACTOR[protocol]) else 1.0
    if (
        algorithm is Algorithm.RING
        and protocol is Protocol.SIMPLE
        and operation is Operation.ALL_REDUCE
        and system.nodes > 1
        and size_bytes // (system.of(algorithm).count * system.ranks) >= _MANY_BYTES
    ):
        latency *= _MANY_FACTOR[system.generation]
    time = latency + size_bytes / (1000.0 * bandwidth)
    if fp8 and algorithm is Algorithm.RING and system.ranks > FP8_RING_RANKS and operation in _REDUCING:
        time *= FP8_RING_FACTOR
    return Prediction(algorithm, protocol, latency, bandwidth, time)


_REDUCING: Final = frozenset({Operation.ALL_REDUCE, Operation.REDUCE_SCATTER, Operation.REDUCE})


def unusable(system: System, operation: Operation, algorithm: Algorithm, protocol: Protocol) -> str:
    """Why NCCL does not consider a combination by default; '' if it does."""
    return (
        _not_for_operation(operation, algorithm)
        or _not_for_protocol(system, algorithm, protocol)
        or _not_on_system(system, operation, algorithm)
    )


def _not_for_operation(operation: Operation, algorithm: Algorithm) -> str:
    if operation in _ONLY_RING and algorithm is not Algorithm.RING:
        return f"{operation} is done by rings only"
    if operation in _HALF and algorithm not in _HALF_BY:
        return f"{algorithm} has no {operation}"
    if operation is Operation.ALL_REDUCE and algorithm is Algorithm.PAT:
        return "pat has no all-reduce"
    return ""


def _not_for_protocol(system: System, algorithm: Algorithm, protocol: Protocol) -> str:
    if protocol is not Protocol.SIMPLE and algorithm not in _LL_ALGORITHMS:
        return f"{algorithm} uses protocol Simple only"
    if protocol is not Protocol.LL128:
        return ""
    farthest = "PXN" if system.generation in {Generation.HOPPER, Generation.BLACKWELL} else "PXB"
    if not system.nvlink:
        return "LL128 needs NVLink inside a node"
    if system.nodes > 1 and DISTANCES.index(system.nic_distance) > DISTANCES.index(farthest):
        return f"LL128 is used up to {farthest} between GPU and NIC, and here it is {system.nic_distance}"
    return ""


def _not_on_system(system: System, operation: Operation, algorithm: Algorithm) -> str:
    if algorithm is Algorithm.PAT and system.gpus_per_node > 1:
        return "pat is used with one GPU a node"
    if algorithm in _COLLNET and not system.collnet:
        return "needs a plugin for reduction in the network"
    if algorithm is Algorithm.COLLNET_DIRECT and not system.nvswitch:
        return "needs an NVSwitch"
    if algorithm in _NVLS:
        if not system.nvls:
            return "needs switches that reduce"
        if system.of(algorithm).count < 2:
            return "needs two channels"
        if algorithm is Algorithm.NVLS_TREE and system.nodes == 1:
            return "there is one node"
        if algorithm is Algorithm.NVLS and system.nodes > 1 and not system.collnet:
            return "over several nodes it needs a plugin for reduction in the network"
        if operation in _HALF and system.gpus_per_node == 1:
            return "there is one GPU a node"
    return ""


def bandwidth_gb_s(system: System, operation: Operation, algorithm: Algorithm, protocol: Protocol) -> float:
    """Algorithm bandwidth of a usable combination, without the factor of a tree by size."""
    n = system.ranks
    bus = _bus_gb_s(system, operation, algorithm, protocol)
    if operation in _HALF and algorithm is not Algorithm.RING:
        return bus
    if algorithm is Algorithm.RING or algorithm in _NVLS:
        return bus * n / steps(operation, n)
    return bus / 2


def steps(operation: Operation, ranks: int) -> int:
    """Steps of a ring."""
    if operation is Operation.ALL_REDUCE:
        return 2 * (ranks - 1)
    return ranks - 1 if operation in _HALF else ranks


def _bus_gb_s(system: System, operation: Operation, algorithm: Algorithm, protocol: Protocol) -> float:
    channels = system.of(algorithm)
    count = channels.count
    if algorithm in _NVLS:
        return count * _nvls_channel_gb_s(system, operation, algorithm)
    if algorithm in _COLLNET:
        return _collnet_gb_s(system, operation, algorithm)
    bus = count * (channels.intra_gb_s if system.nodes <= 2 else channels.inter_gb_s)
    if algorithm is Algorithm.PAT:
        return bus * 0.75
    if algorithm is Algorithm.RING:
        if protocol is Protocol.LL:
            return min(_ll_most(system), bus * 0.5)
        if protocol is Protocol.LL128:
            return min(bus * 0.92, count * t.RING_LL128_MOST[system.generation][system.node_column])
        return bus
    return _tree_gb_s(system, protocol, bus, count)


def _tree_gb_s(system: System, protocol: Protocol, bus: float, count: int) -> float:
    column = system.node_column
    bus = min(bus * 0.92, count * t.TREE_MOST[system.generation][column])
    if protocol is Protocol.LL:
        bus = min(bus / 3.8, _ll_most(system))
    elif protocol is Protocol.LL128:
        share = 7 / 9 if system.nodes == 1 else 120 / 128
        bus = min(bus * share, count * t.TREE_LL128_MOST[system.generation][column])
    return bus if system.balanced_tree else bus * 0.85


def _ll_most(system: System) -> float:
    row = system.generation if system.nodes == 1 else t.LL_HOST_ROW[system.cpu]
    return t.LL_MOST[row][system.node_column]


def _nvls_channel_gb_s(system: System, operation: Operation, algorithm: Algorithm) -> float:
    """Limited by NVLink with one channel less, and by the network."""
    channels, p = system.of(algorithm), system.gpus_per_node
    intra = channels.intra_gb_s * t.NVLS_EFFICIENCY[system.generation] * (channels.count - 1) / channels.count
    intra *= 2.0 if operation is Operation.ALL_REDUCE else (p - 1) / p  # an all-reduce is two operations in a pipeline
    if algorithm is Algorithm.NVLS:
        return min(intra, channels.inter_gb_s)
    # With two nodes a tree has one edge: every channel's network rate serves one direction of it.
    inter = channels.inter_gb_s * (2 if system.nodes <= 2 else 1)
    return min(intra, inter, t.NVLS_TREE_MOST[system.generation][system.node_column])


def _collnet_gb_s(system: System, operation: Operation, algorithm: Algorithm) -> float:
    channels, p = system.of(algorithm), system.gpus_per_node
    if algorithm is Algorithm.COLLNET_CHAIN:
        return channels.count * channels.intra_gb_s
    if operation in _HALF:
        return p * min(channels.intra_gb_s, channels.inter_gb_s * 0.9)
    factor = p / channels.count  # GPUs for each NIC: full rate needs a NIC of each GPU's own
    factor -= (factor - 1) / 2
    newer = system.generation in {Generation.HOPPER, Generation.BLACKWELL}
    return channels.count * channels.intra_gb_s / factor * (0.85 if newer else 1.0)


def latency_us(system: System, operation: Operation, algorithm: Algorithm, protocol: Protocol) -> float:
    """Latency of all steps, without the ring's factor for many bytes."""
    p, nodes = system.gpus_per_node, system.nodes
    base = t.BASE_US[algorithm][protocol]
    intra = t.STEP_US[system.intra][algorithm][protocol]
    # One GPU a node: nothing hides the network's latency, so that of the tree counts.
    inter = t.STEP_US[Hardware.NET][Algorithm.TREE if p == 1 else algorithm][protocol]
    inter += system.device_latency_us * (2 if protocol is Protocol.SIMPLE else 1)  # Simple also flushes
    levels = nodes.bit_length() - 1
    if algorithm is Algorithm.RING:
        return base + _ring_us(system, operation, protocol, intra, inter)
    if algorithm is Algorithm.TREE:
        return base + 2 * ((p - 1) * intra + levels * inter)
    if algorithm is Algorithm.COLLNET_DIRECT:
        return base + 2 * (min(1, p - 1) * intra + (p - 1) * 0.4) + inter
    if algorithm is Algorithm.COLLNET_CHAIN:
        return base + 2 * (p - 1) * intra + inter
    if algorithm is Algorithm.NVLS:
        return intra + (inter if nodes > 1 else 0.0)
    if algorithm is Algorithm.NVLS_TREE:
        return base + intra + 2 * levels * inter
    return base + levels * inter / 3.5 + system.ranks * 2.8


def _ring_us(system: System, operation: Operation, protocol: Protocol, intra: float, inter: float) -> float:
    count = steps(operation, system.ranks)
    if operation in _ONLY_RING:
        hardware = system.intra if system.nodes == 1 else Hardware.NET
        if system.same_channels:
            return t.STEP_US[hardware][Algorithm.RING][protocol]
        slower = Algorithm.TREE if protocol is Protocol.SIMPLE else Algorithm.RING  # for the time of a chunk
        return count * t.STEP_US[hardware][slower][protocol]
    over_network = 0
    if system.nodes > 1:
        over_network = (2 if operation is Operation.ALL_REDUCE else 1) * (system.nodes - 1)
        intra = max(intra, t.NET_OVERHEAD_US[system.cpu] * (3 if protocol is Protocol.SIMPLE else 1))
    return (count - over_network) * intra + over_network * inter

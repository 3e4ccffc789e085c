"""VXLAN at a leaf: size, entropy, DSCP, ECN and TTL of the outer header.

RFC 7348 section 5: outer UDP source port from a hash of the inner header, destination 4789, 50 bytes more per frame
(without the inner FCS). RFC 6040 section 4: ECN is copied outwards (normal mode) or cleared (compatibility mode); at
decapsulation a CE outer header makes an ECN-capable inner packet CE, and an inner packet that is not ECN-capable is
dropped.
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.state import trace
from fabric.dataplane.state.codes import Ecn, HashAlgorithm, PacketFlag, PacketKind
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State
from fabric.dataplane.switch import ttl
from fabric.dataplane.switch.hashing import flow_hash

VXLAN_PORT = 4789

_ENCAP = int(PacketFlag.ENCAP)
_DATAGRAM = int(PacketKind.DATAGRAM)
_CE, _NOT_ECT = int(Ecn.CE), int(Ecn.NOT_ECT)
_CRC32 = int(HashAlgorithm.CRC32)


@hot
def segment_of(state: State, device: int, packet: np.uint32) -> int:
    """Row of State.segments: the sending host's VNI at this leaf."""
    config = state.config[0]
    leaf = device - i64(config["n_hosts"])
    return leaf * i64(config["n_vnis"]) + i64(state.addresses[state.packets[packet]["src"]]["vni"])


@hot
def inner_hash(state: State, packet: np.uint32) -> int:
    """CRC-32 of a packet's own header: decides the outer source port, and which of several VTEPs."""
    frame = state.packets[packet]
    source, target = i64(state.addresses[frame["src"]]["ip"]), i64(state.addresses[frame["dst"]]["ip"])
    return flow_hash(_CRC32, source, target, i64(frame["words"]), 0)


@hot
def entropy(hashed: int) -> int:
    """Outer UDP source port from inner_hash(): one of the dynamic range 49152 to 65535 (RFC 7348 section 5)."""
    return hashed & 0x3FFF | 0xC000


@kernel
def encapsulate(state: State, packet: np.uint32, segment: int) -> None:
    """Add the outer header of a VNI: a row of State.segments, which counts it."""
    state.segments[segment]["encap_pkts"] += 1
    frame, config = state.packets[packet], state.config[0]
    frame["words"] = entropy(inner_hash(state, packet))
    frame["size"] = i64(frame["size"]) + i64(config["vxlan_bytes"])
    frame["flags"] = i64(frame["flags"]) | _ENCAP
    frame["inner_tos"] = i64(frame["dscp"]) << 2 | i64(frame["ecn"])
    ttl.encapsulated(state, packet)
    if config["vxlan_ecn_copy"] == 0:
        frame["ecn"] = _NOT_ECT
    if config["vxlan_uniform"] == 0:
        frame["dscp"] = config["vxlan_dscp"]


@kernel
def decapsulate(state: State, packet: np.uint32, segment: int) -> bool:
    """Remove the outer header of a VNI; False if RFC 6040 section 4.2 requires dropping the packet."""
    state.segments[segment]["decap_pkts"] += 1
    frame, config = state.packets[packet], state.config[0]
    congested, inner_ecn = i64(frame["ecn"]) == _CE, i64(frame["inner_tos"]) & 3
    ttl.decapsulated(state, packet)
    frame["size"] = i64(frame["size"]) - i64(config["vxlan_bytes"])
    frame["flags"] = i64(frame["flags"]) & ~_ENCAP & 0xFF
    frame["dscp"], frame["ecn"] = i64(frame["inner_tos"]) >> 2, inner_ecn
    frame["words"] = 0
    if frame["qp"] != trace.NO_QP:
        frame["words"] = state.qps[frame["qp"]]["words"]
    elif frame["kind"] == _DATAGRAM:
        frame["words"] = state.streams[frame["msg"]]["words"]
    if not congested or inner_ecn == _CE:
        return True
    if inner_ecn == _NOT_ECT:
        return False
    frame["ecn"] = _CE
    return True

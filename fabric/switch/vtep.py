"""VXLAN at a leaf: the outer header's bytes, entropy, DSCP, ECN and TTL.

RFC 7348 section 5: outer UDP source port from a hash of the inner header, destination 4789, 50 bytes more per frame
(the inner FCS goes). RFC 6040 section 4: ECN is copied outwards (normal mode) or cleared (compatibility mode); at
decapsulation a CE outer header makes an ECN-capable inner packet CE, and an inner packet that is not ECN-capable is
dropped.
"""

from __future__ import annotations

import numpy as np

from fabric.state import trace
from fabric.state.codes import Ecn, HashAlgorithm, PacketFlag
from fabric.state.jit import hot, i64, kernel
from fabric.state.types import State
from fabric.switch import ttl
from fabric.switch.hashing import flow_hash

VXLAN_PORT = 4789

_ENCAP = int(PacketFlag.ENCAP)
_CE, _NOT_ECT = int(Ecn.CE), int(Ecn.NOT_ECT)
_CRC32 = int(HashAlgorithm.CRC32)


@hot
def segment_of(state: State, device: int, packet: np.uint32) -> int:
    """Row of State.segments: the sending host's VNI at this leaf."""
    config = state.config[0]
    leaf = device - i64(config["n_hosts"])
    return leaf * i64(config["n_vnis"]) + i64(state.addresses[state.packets[packet]["src"]]["vni"])


@kernel
def encapsulate(state: State, packet: np.uint32, segment: int) -> None:
    """Put on the outer header of a VNI: a row of State.segments, which counts it."""
    state.segments[segment]["encap_pkts"] += 1
    frame, config = state.packets[packet], state.config[0]
    source, target = i64(state.addresses[frame["src"]]["ip"]), i64(state.addresses[frame["dst"]]["ip"])
    entropy = flow_hash(_CRC32, source, target, i64(frame["words"]), 0) & 0x3FFF | 0xC000
    frame["words"] = entropy
    frame["size"] = i64(frame["size"]) + i64(config["vxlan_bytes"])
    frame["flags"] = i64(frame["flags"]) | _ENCAP
    frame["inner_tos"] = i64(frame["dscp"]) << 2 | i64(frame["ecn"])
    ttl.put_on(state, packet)
    if config["vxlan_ecn_copy"] == 0:
        frame["ecn"] = _NOT_ECT
    if config["vxlan_uniform"] == 0:
        frame["dscp"] = config["vxlan_dscp"]


@kernel
def decapsulate(state: State, packet: np.uint32, segment: int) -> bool:
    """Take the outer header of a VNI off; False if RFC 6040 section 4.2 says to drop the packet."""
    state.segments[segment]["decap_pkts"] += 1
    frame, config = state.packets[packet], state.config[0]
    congested, inner_ecn = i64(frame["ecn"]) == _CE, i64(frame["inner_tos"]) & 3
    ttl.take_off(state, packet)
    frame["size"] = i64(frame["size"]) - i64(config["vxlan_bytes"])
    frame["flags"] = i64(frame["flags"]) & ~_ENCAP & 0xFF
    frame["dscp"], frame["ecn"] = i64(frame["inner_tos"]) >> 2, inner_ecn
    frame["words"] = 0
    if frame["qp"] != trace.NO_QP:
        frame["words"] = state.qps[frame["qp"]]["words"]
    if not congested or inner_ecn == _CE:
        return True
    if inner_ecn == _NOT_ECT:
        return False
    frame["ecn"] = _CE
    return True

"""Time to live: which header a switch decrements, and when it discards a packet (RFC 791, RFC 1812 section 5.3.1).

Rules
1. A switch that routes a packet decrements the TTL of its outermost header. A packet that arrives with 1 is dropped.
2. A switch that bridges does not: between two hosts of one subnet, and inside a VXLAN segment, whose leaves bridge the
   inner frame.
3. The leaf that encapsulates sets the TTL of the outer header (vxlan.ttl; Linux: net.ipv4.ip_default_ttl, 64). Only
   switches between the VTEPs decrement it; the remote VTEP does not forward the outer packet (RFC 1812 section
   5.2.1.2).
4. Leaves that route between a tenant's subnets decrement the inner TTL, at the ingress and at the egress VTEP (RFC 9135
   section 5).

`unseen_hops` counts the switches that do not decrement the header that the receiver gets, so that the number of
switches on a message's path is known.
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.port.drop import discard
from fabric.dataplane.state.codes import DropReason
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State

_TTL = int(DropReason.TTL)


@hot
def spend(state: State, packet: np.uint32) -> bool:
    """Decrement the outermost header's TTL; False if it has run out (nothing changes then)."""
    frame = state.packets[packet]
    if frame["ttl"] <= 1:
        return False
    frame["ttl"] = i64(frame["ttl"]) - 1
    return True


@kernel
def expire(state: State, device: int, port: int, packet: np.uint32, now_ps: int) -> None:
    """Discard a packet whose TTL has run out."""
    discard(state, device, port, packet, _TTL, now_ps, 0, 0, 0)


@kernel
def bridged(state: State, packet: np.uint32) -> None:
    """Count a switch that does not decrement the inner header (rule 2)."""
    frame = state.packets[packet]
    frame["unseen_hops"] = (i64(frame["unseen_hops"]) + 1) & 0xFF


@kernel
def encapsulated(state: State, packet: np.uint32) -> None:
    """Set the TTL of a new outer header (rule 3)."""
    frame = state.packets[packet]
    frame["classes"], frame["ttl"] = frame["ttl"], state.config[0]["vxlan_ttl"]


@kernel
def decapsulated(state: State, packet: np.uint32) -> None:
    """Restore the inner TTL, and count the switches that decremented the outer one as unseen."""
    frame = state.packets[packet]
    decremented = i64(state.config[0]["vxlan_ttl"]) - i64(frame["ttl"])
    frame["unseen_hops"] = (i64(frame["unseen_hops"]) + decremented) & 0xFF
    frame["ttl"] = frame["classes"]

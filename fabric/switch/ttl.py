"""Time to live: which header pays at a switch, and when a packet dies (RFC 791, RFC 1812 section 5.3.1).

Rules
1. A switch that routes a packet takes one from the TTL of its outermost header; a packet that arrives with 1 is
   dropped.
2. A switch that bridges takes nothing: between two hosts of its own subnet, and inside a VXLAN segment, whose leaves
   bridge the inner frame and leave its TTL alone.
3. The leaf that puts an outer header on gives it a TTL of its own (vxlan.ttl; Linux: net.ipv4.ip_default_ttl, 64). Only
   switches between the VTEPs take from it; the VTEP that it is for does not forward it (RFC 1812 section 5.2.1.2).
4. Leaves that route between a tenant's subnets take one from the inner TTL each, at the ingress and at the egress VTEP
   (RFC 9135 section 5).

Switches that take nothing from the header that the receiver sees are counted in `unseen_hops`, so that a message knows
how many switches it crossed.
"""

from __future__ import annotations

import numpy as np

from fabric.port.drop import discard
from fabric.state.codes import DropReason
from fabric.state.jit import hot, i64, kernel
from fabric.state.types import State

_TTL = int(DropReason.TTL)


@hot
def spend(state: State, packet: np.uint32) -> bool:
    """Take one from the outermost header's TTL; False if it has run out (nothing changes then)."""
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
    """Count a switch that takes nothing from the inner header (rule 2)."""
    frame = state.packets[packet]
    frame["unseen_hops"] = (i64(frame["unseen_hops"]) + 1) & 0xFF


@kernel
def put_on(state: State, packet: np.uint32) -> None:
    """An outer header begins (rule 3)."""
    frame = state.packets[packet]
    frame["classes"], frame["ttl"] = frame["ttl"], state.config[0]["vxlan_ttl"]


@kernel
def take_off(state: State, packet: np.uint32) -> None:
    """The outer header is gone; the inner TTL counts again, and what the outer one has paid was unseen."""
    frame = state.packets[packet]
    paid = i64(state.config[0]["vxlan_ttl"]) - i64(frame["ttl"])
    frame["unseen_hops"] = (i64(frame["unseen_hops"]) + paid) & 0xFF
    frame["ttl"] = frame["classes"]

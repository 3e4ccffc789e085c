"""A switch forwards by a source route: it removes the first segment, which names the port (RFC 9800 section 4.1.2).

It uses neither hash nor FIB, and there is no local repair: packets whose port is down are lost there until their
senders have withdrawn the route.
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.state.compiled.jit import i64, kernel
from fabric.dataplane.state.types import HOP_BITS, State
from fabric.dataplane.switch import admission, ttl

_HOPS = (1 << HOP_BITS) - 1


@kernel
def receive(state: State, device: int, port: int, packet: np.uint32, arrived_bytes: int, now_ps: int) -> None:
    """Forward a packet that came in by `port` by its route."""
    frame = state.packets[packet]
    words = i64(frame["words"])
    if not ttl.spend(state, packet):
        ttl.expire(state, device, port, packet, now_ps)
        return
    out = i64(state.route_ports[(words >> HOP_BITS) + (words & _HOPS)])
    frame["words"] = words + 1
    admission.admit(state, device, port, packet, out, arrived_bytes, now_ps)

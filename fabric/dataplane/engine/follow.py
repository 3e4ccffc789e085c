"""The path of a flow, by the rules and tables of the switches: the path of a packet without a run.

Lookups and hashes are those of switch/forward.py, switch/irb.py and switch/vtep.py; only their order is stated here
again, without queues, TTLs and counters (switch/ingress.py). A switch that has a choice computes its hash over the
outermost header, between VTEPs that of VXLAN (RFC 7348 section 5). Cables that are down are not considered: a FIB
has no such entry.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state.codes import LoadBalance, PacketFlag
from fabric.dataplane.state.compiled.jit import entry, i64, kernel
from fabric.dataplane.state.types import BY_HOST, HERE, NOWHERE, State
from fabric.dataplane.switch import forward, irb, vtep
from fabric.dataplane.switch.forward import NO_ROUTE

MAX_HOPS: Final = 16
"""Longest path followed; a longer one is a forwarding loop."""


class End(IntEnum):
    """How a path ends."""

    ARRIVED = 0
    NO_ROUTE = 1
    """A switch has no next hop for the host."""
    SPREAD = 2
    """A switch with a choice chooses for each packet or flowlet: the flow has no single path."""
    LOOP = 3
    """More than MAX_HOPS, or a host that is not the destination."""


# fmt: off
FLOW: Final = np.dtype([
    ("src", np.int64), ("dst", np.int64),   # NodeIds of hosts
    ("words", np.int64),                    # UDP source port | destination port << 16
    ("port", np.int64),                     # PortId by which the source sends
    ("qp", np.int64),                       # number of its queue pair, row of QueuePairs; NO_QP: none
    ("routed", np.int64),                   # 1: between two subnets of a tenant                      writer: follow
    ("inner_hash", np.int64),               # vtep.inner_hash                                         writer: follow
    ("entropy", np.int64),                  # outer UDP source port between VTEPs                     writer: follow
    ("end", np.int64),                      # End                                                     writer: follow
])
HOP: Final = np.dtype([                     # (n_flows, MAX_HOPS), hop 0 the sending host; -1: none
    ("egress", np.int64),                   # PortId
    ("group", np.int64),                    # ECMP group that the hash chose among
    ("hash", np.int64), ("index", np.int64),    # of the header; position of the chosen member
    ("vtep", np.int64),                     # row of the switch that the outer destination names, of routed packets
    ("outer", np.int64),                    # 1: the packet leaves with an outer header
])
# fmt: on

_ARRIVED, _LOST, _SPREAD, _LOOP = int(End.ARRIVED), int(End.NO_ROUTE), int(End.SPREAD), int(End.LOOP)
_FORWARDED = -1
_ENCAP, _ECMP, _WEIGHTED = int(PacketFlag.ENCAP), int(LoadBalance.ECMP), int(LoadBalance.WEIGHTED)
u = np.uint32
_PACKET = u(1)


@kernel
def _group_of(state: State, hops: NDArray[np.void], at: int, device: int, target: int, words: int) -> int:
    """Group that a switch chooses from for a packet between subnets, or NO_ROUTE; notes the VTEP it is sent to."""
    remote = i64(hops[at - 1]["vtep"])
    if remote < 0 or remote == forward.switch_row(state, device):
        remote, way = -1, irb.way_of(state, device, target)
        if way == NOWHERE:
            return NO_ROUTE
        if way not in (HERE, BY_HOST):
            frame = state.packets[_PACKET]
            frame["words"] = words
            remote = irb.vtep_of(state, _PACKET, way)
    hops[at]["vtep"] = remote
    return forward.group_of(state, device, target) if remote < 0 else irb.tunnel(state, device, remote)


@kernel
def _hop(state: State, flows: NDArray[np.void], hops: NDArray[np.void], number: int, at: int, device: int) -> int:
    """Forward by one switch: fill row `at` and return _FORWARDED, or the End."""
    flow, row, frame = flows[number], hops[at], state.packets[_PACKET]
    target, words = i64(flow["dst"]), i64(flow["words"])
    if flow["routed"]:
        group = _group_of(state, hops, at, device, target, words)
    else:
        group = forward.group_of(state, device, target)
    if group == NO_ROUTE:
        return _LOST
    switch = state.switches[forward.switch_row(state, device)]
    first, count = i64(state.groups[group]["first"]), i64(state.groups[group]["count"])
    weighted = switch["load_balance"] == _WEIGHTED
    if count > 1 and switch["load_balance"] != _ECMP and not weighted:
        return _SPREAD
    outer = i64(hops[at - 1]["outer"])
    if switch["is_vtep"]:
        if forward.is_local(state, group):
            outer = 0
        elif at % MAX_HOPS == 1:
            outer = 1
    row["outer"], index = outer, 0
    if count > 1:
        frame["flags"] = _ENCAP if outer else 0
        frame["words"] = i64(flow["entropy"]) if outer else words
        hashed = forward.packet_hash(state, device, _PACKET)
        index = forward.weighted_member(state, group, hashed) if weighted else hashed % count
        row["group"], row["hash"], row["index"] = group, hashed, index
    row["egress"] = i64(state.members[first + index]["port"])
    return _FORWARDED


@kernel
def _path(state: State, flows: NDArray[np.void], hops: NDArray[np.void], number: int) -> int:
    """Follow one flow; its End."""
    flow, frame, n_hosts = flows[number], state.packets[_PACKET], i64(state.config[0]["n_hosts"])
    frame["src"], frame["dst"], frame["words"], frame["flags"] = flow["src"], flow["dst"], flow["words"], 0
    frame["qp"] = flow["qp"]
    flow["routed"] = 1 if irb.crosses(state, i64(flow["src"]), i64(flow["dst"])) else 0
    hashed = vtep.inner_hash(state, _PACKET)
    flow["inner_hash"], flow["entropy"] = hashed, vtep.entropy(hashed)
    begin = number * MAX_HOPS
    hops[begin]["egress"] = flow["port"]
    for at in range(begin + 1, begin + MAX_HOPS + 1):
        device = i64(state.ports[i64(hops[at - 1]["egress"])]["peer_node"])
        if device < n_hosts:
            return _ARRIVED if device == flow["dst"] else _LOOP
        if at == begin + MAX_HOPS:
            return _LOOP
        end = _hop(state, flows, hops, number, at, device)
        if end != _FORWARDED:
            return end
    return _LOOP


@entry
def _follow(state: State, flows: NDArray[np.void], hops: NDArray[np.void]) -> None:
    for number in range(flows.shape[0]):
        flows[number]["end"] = _path(state, flows, hops, number)


def follow(state: State, flows: NDArray[np.void]) -> NDArray[np.void]:
    """Follow every flow to its end.

    Parameters
    ----------
    state : State       only read, but for row 1 of its packets: pass a running engine's with other packets
    flows : (n,) FLOW    completed in place

    Returns: (n, MAX_HOPS) HOP.
    """
    hops = np.full(len(flows) * len(HOP.names or ()) * MAX_HOPS, -1, np.int64).view(HOP)
    hops["outer"] = 0
    _follow(state, flows, hops)
    return hops.reshape(-1, MAX_HOPS)

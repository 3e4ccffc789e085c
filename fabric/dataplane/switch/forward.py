"""Forwarding: FIB lookup, then the choice of an equal-cost member.

The FIB holds one ECMP group per (switch, host). A group belongs to one switch, so its counters need no lock.
dataplane/engine/fib.py writes the FIB, at dated edits. A packet between VTEPs is hashed over its outer header, as in a
real switch.
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.state.codes import FIRST_QPN, FIVE_TUPLE, HashField, LoadBalance, PacketFlag
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import NO_QP, State
from fabric.dataplane.switch import notice
from fabric.dataplane.switch.hashing import flow_hash, flow_hash_of_queue_pair
from fabric.dataplane.switch.vtep import VXLAN_PORT

NO_ROUTE = -1
FLOWLETS_PER_SWITCH = 1024

_ENCAP = int(PacketFlag.ENCAP)
_SPRAY, _FLOWLET = int(LoadBalance.SPRAY), int(LoadBalance.FLOWLET)
_ADAPTIVE, _WEIGHTED = int(LoadBalance.ADAPTIVE), int(LoadBalance.WEIGHTED)
_SOURCE_IP, _DESTINATION_IP = int(HashField.SOURCE_IP), int(HashField.DESTINATION_IP)
_SOURCE_PORT, _DESTINATION_PORT = int(HashField.SOURCE_PORT), int(HashField.DESTINATION_PORT)
_DESTINATION_QP, _FIVE_TUPLE = int(HashField.DESTINATION_QP), int(FIVE_TUPLE)
_QPN_MASK = 0xFFFFFF
u = np.uint32


@hot
def switch_row(state: State, device: int) -> int:
    """Row of State.switches."""
    return device - i64(state.config[0]["n_hosts"])


@kernel
def packet_hash(state: State, device: int, packet: np.uint32) -> int:
    """The hash that this switch computes over the packet's outermost header; fields it leaves out count as 0.

    Queue pairs are numbered from FIRST_QPN, alike at both ends, as captures show them.
    """
    frame = state.packets[packet]
    switch = state.switches[switch_row(state, device)]
    source, target = i64(state.addresses[frame["src"]]["ip"]), i64(state.addresses[frame["dst"]]["ip"])
    words = i64(frame["words"])
    if i64(frame["flags"]) & _ENCAP:
        words = words & 0xFFFF | VXLAN_PORT << 16
        source = i64(state.switches[switch_row(state, i64(state.addresses[frame["src"]]["leaf"]))]["ip"])
        target = i64(state.switches[switch_row(state, i64(state.addresses[frame["dst"]]["leaf"]))]["ip"])
    algorithm, seed, fields = i64(switch["hash_algorithm"]), i64(switch["hash_seed"]), i64(switch["hash_fields"])
    if fields != _FIVE_TUPLE:
        source = source if fields & _SOURCE_IP else 0
        target = target if fields & _DESTINATION_IP else 0
        words &= (0xFFFF if fields & _SOURCE_PORT else 0) | (0xFFFF << 16 if fields & _DESTINATION_PORT else 0)
        if fields & _DESTINATION_QP and not i64(frame["flags"]) & _ENCAP and i64(frame["qp"]) != NO_QP:
            number = i64(frame["qp"]) + FIRST_QPN & _QPN_MASK
            return flow_hash_of_queue_pair(algorithm, source, target, words, number, seed)
    return flow_hash(algorithm, source, target, words, seed)


@hot
def _free_ps(state: State, port: int, now_ps: int) -> int:
    """When a port would have sent all that it is sending and has queued, at line rate and without pauses."""
    free_ps = max(i64(state.ports[port]["busy_until_ps"]), now_ps)
    mbps = max(i64(state.ports[port]["rate_bps"]) // 1_000_000, 1)
    for c in range(8):
        # bits / (Mb/s) = us: in this order of operations a gigabyte stays below 2**63.
        free_ps += i64(state.queues[port * 8 + c]["depth_bytes"]) * 8_000_000 // mbps
    return free_ps


@hot
def _least_loaded(state: State, first: int, count: int, start: int, target: int, now_ps: int) -> int:
    """Position of the member whose port, and with notices what is behind it, is free first; of equal ones the first
    from `start` on.
    """
    least, busiest_until = start % count, 1 << 62
    for turn in range(count):
        index = (start + turn) % count
        port = i64(state.members[first + index]["port"])
        free_ps = _free_ps(state, port, now_ps)
        if notice.are_used(state):
            free_ps += notice.behind_ps(state, port, target, now_ps)
        if free_ps < busiest_until:
            least, busiest_until = index, free_ps
    return least


@hot
def weighted_member(state: State, group: int, hashed: int) -> int:
    """Position of the member that a hash falls on where shares are as the rates of the ports, in whole Gb/s.

    Source: Zhou et al., WCMP, EuroSys 2014; RFC draft-ietf-bess-ebgp-dmz (link bandwidth as a weight of next hops).
    """
    first, count = i64(state.groups[group]["first"]), i64(state.groups[group]["count"])
    total = 0
    for index in range(count):
        total += max(i64(state.ports[i64(state.members[first + index]["port"])]["rate_bps"]) // 1_000_000_000, 1)
    left = hashed % total
    for index in range(count):
        left -= max(i64(state.ports[i64(state.members[first + index]["port"])]["rate_bps"]) // 1_000_000_000, 1)
        if left < 0:
            return index
    return count - 1


@kernel
def _member(state: State, device: int, packet: np.uint32, group: int, now_ps: int) -> int:
    row, target = state.groups[group], i64(state.packets[packet]["dst"])
    count = i64(row["count"])
    switch = state.switches[switch_row(state, device)]
    balance = i64(switch["load_balance"])
    if balance == _SPRAY:
        turn = i64(row["next"])
        row["next"] = (turn + 1) % count
        return turn
    if balance == _ADAPTIVE:
        least = _least_loaded(state, i64(row["first"]), count, i64(row["next"]), target, now_ps)
        row["next"] = (least + 1) % count
        return least
    hashed = packet_hash(state, device, packet)
    if balance == _WEIGHTED:
        return weighted_member(state, group, hashed)
    if balance == _FLOWLET:
        entry = state.flowlets[switch_row(state, device) * FLOWLETS_PER_SWITCH + hashed % FLOWLETS_PER_SWITCH]
        if now_ps - i64(entry["last_ps"]) > switch["flowlet_gap_ps"]:
            entry["port"] = _least_loaded(state, i64(row["first"]), count, hashed, target, now_ps)
        entry["last_ps"] = now_ps
        return i64(entry["port"]) % count
    return hashed % count


@hot
def group_of(state: State, device: int, target: int) -> int:
    """ECMP group towards a host, or NO_ROUTE."""
    config = state.config[0]
    return i64(state.fib[u((device - i64(config["n_hosts"])) * i64(config["n_hosts"]) + target)]) - 1


@hot
def is_local(state: State, group: int) -> bool:
    """Whether the group's next hop is the host itself."""
    port = state.members[state.groups[group]["first"]]["port"]
    return bool(state.ports[port]["peer_node"] < state.config[0]["n_hosts"])


@hot
def choose(state: State, device: int, packet: np.uint32, group: int, now_ps: int) -> np.uint32:
    """Egress port; counts the packet on its group member."""
    row = state.groups[group]
    index = 0
    if row["count"] > 1:
        index = _member(state, device, packet, group, now_ps)
    member = state.members[i64(row["first"]) + index]
    member["pkts"] += 1
    member["bytes"] += i64(state.packets[packet]["size"])
    return member["port"]

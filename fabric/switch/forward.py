"""Where does a packet go: FIB lookup, then one of the equal-cost members.

The FIB holds one ECMP group per (switch, host); a group belongs to one switch, so its counters need no lock. Who writes
it: engine/fib.py, at dated edits. A packet between VTEPs is hashed over its outer header, as the switch would see it.
"""

from __future__ import annotations

import numpy as np

from fabric.state.codes import LoadBalance, PacketFlag
from fabric.state.jit import hot, i64, kernel
from fabric.state.types import State
from fabric.switch.hashing import flow_hash
from fabric.switch.vtep import VXLAN_PORT

NO_ROUTE = -1
FLOWLETS_PER_SWITCH = 1024

_ENCAP = int(PacketFlag.ENCAP)
_SPRAY, _FLOWLET = int(LoadBalance.SPRAY), int(LoadBalance.FLOWLET)
u = np.uint32


@hot
def switch_row(state: State, device: int) -> int:
    """Row of State.switches."""
    return device - i64(state.config[0]["n_hosts"])


@kernel
def packet_hash(state: State, device: int, packet: np.uint32) -> int:
    """The hash this switch computes over the packet's outermost header."""
    frame = state.packets[packet]
    switch = state.switches[switch_row(state, device)]
    source, target = i64(state.addresses[frame["src"]]["ip"]), i64(state.addresses[frame["dst"]]["ip"])
    words = i64(frame["words"])
    if i64(frame["flags"]) & _ENCAP:
        words = words & 0xFFFF | VXLAN_PORT << 16
        source = i64(state.switches[switch_row(state, i64(state.addresses[frame["src"]]["leaf"]))]["ip"])
        target = i64(state.switches[switch_row(state, i64(state.addresses[frame["dst"]]["leaf"]))]["ip"])
    return flow_hash(i64(switch["hash_algorithm"]), source, target, words, i64(switch["hash_seed"]))


@kernel
def _member(state: State, device: int, packet: np.uint32, group: int, now_ps: int) -> int:
    row = state.groups[group]
    count = i64(row["count"])
    switch = state.switches[switch_row(state, device)]
    balance = i64(switch["load_balance"])
    if balance == _SPRAY:
        turn = i64(row["next"])
        row["next"] = (turn + 1) % count
        return turn
    hashed = packet_hash(state, device, packet)
    if balance == _FLOWLET:
        entry = state.flowlets[switch_row(state, device) * FLOWLETS_PER_SWITCH + hashed % FLOWLETS_PER_SWITCH]
        if now_ps - i64(entry["last_ps"]) > switch["flowlet_gap_ps"]:
            least, busiest_until = hashed % count, 1 << 62
            for turn in range(count):
                index = (hashed + turn) % count
                port = state.members[i64(row["first"]) + index]["port"]
                free_ps = max(i64(state.ports[port]["busy_until_ps"]), now_ps)
                mbps = max(i64(state.ports[port]["rate_bps"]) // 1_000_000, 1)
                for c in range(8):
                    # Bits at Mb/s last microseconds: in this order a gigabyte stays below 2**63.
                    free_ps += i64(state.queues[i64(port) * 8 + c]["depth_bytes"]) * 8_000_000 // mbps
                if free_ps < busiest_until:
                    least, busiest_until = index, free_ps
            entry["port"] = least
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

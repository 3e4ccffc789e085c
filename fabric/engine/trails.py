"""The ports that each queue pair's packets leave by, as the present routes and hashes send them.

The same FIB and the same hashes as switch/forward.py, walked without sending anything and without touching a counter. A
packet that sprays or moves with flowlets has no one path; nor has one whose route is missing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fabric.engine.driver import Emulator
from fabric.state.codes import HashAlgorithm, LoadBalance
from fabric.state.jit import entry
from fabric.state.types import State
from fabric.switch import forward
from fabric.switch.hashing import flow_hash
from fabric.switch.vtep import VXLAN_PORT

MAX_HOPS = 16
"""Longest path followed; more is a forwarding loop."""

i64: Any = np.int64
_ECMP = int(LoadBalance.ECMP)
_CRC32 = int(HashAlgorithm.CRC32)


@entry
def walk(state: State, trails: NDArray[np.int64]) -> None:
    """Write the ports of each queue pair's path.

    Parameters
    ----------
    state : State                       read only
    trails : (n_qps, MAX_HOPS) int64    egress ports, sender first; -1 after the last; all -1 where there is no one path
    """
    n_hosts = i64(state.config[0]["n_hosts"])
    for qp in range(trails.shape[0]):
        trails[qp, :] = -1
        src, dst = i64(state.qps[qp]["src"]), i64(state.qps[qp]["dst"])
        inner = i64(state.qps[qp]["words"])
        words, source, target = inner, i64(state.hosts[src]["ip"]), i64(state.hosts[dst]["ip"])
        port = i64(state.qps[qp]["port"])
        whole = False
        for hop in range(MAX_HOPS):
            trails[qp, hop] = port
            device = i64(state.ports[port]["peer_node"])
            if device == dst:
                whole = True
                break
            if device < n_hosts:
                break
            group = forward.group_of(state, device, dst)
            if group == forward.NO_ROUTE:
                break
            switch = state.switches[device - n_hosts]
            if switch["is_vtep"] != 0:
                local = forward.is_local(state, group)
                if local:     # the outer header comes off (vtep.decapsulate)
                    words, source, target = inner, i64(state.hosts[src]["ip"]), i64(state.hosts[dst]["ip"])
                elif hop == 0:     # it goes on (vtep.encapsulate)
                    entropy = flow_hash(_CRC32, source, target, inner, 0) & 0x3FFF | 0xC000
                    words = entropy | VXLAN_PORT << 16
                    source = i64(state.switches[i64(state.hosts[src]["leaf"]) - n_hosts]["ip"])
                    target = i64(state.switches[i64(state.hosts[dst]["leaf"]) - n_hosts]["ip"])
            count = i64(state.groups[group]["count"])
            index = i64(0)
            if count > 1:
                if switch["load_balance"] != _ECMP:
                    break
                algorithm, seed = i64(switch["hash_algorithm"]), i64(switch["hash_seed"])
                index = flow_hash(algorithm, source, target, words, seed) % count
            port = i64(state.members[i64(state.groups[group]["first"]) + index]["port"])
        if not whole:
            trails[qp, :] = -1


def message_paths(emulator: Emulator) -> pa.Array:
    """Per message the names of the ports it leaves by ('device:port'), null where there is no one path.

    Returns: list<string> array, one entry a message.
    """
    state, fabric = emulator.state, emulator.fabric
    trails = np.empty((len(state.qps), MAX_HOPS), np.int64)
    walk(state, trails)
    rows = trails[state.messages["qp"][1:].astype(np.int64)]
    taken = rows >= 0
    names = pa.array([fabric.port_name(port.id) for port in fabric.ports], pa.string())
    ends = np.concatenate([[0], np.cumsum(taken.sum(axis=1))]).astype(np.int32)
    offsets = pa.array(ends, pa.int32(), mask=np.append(~taken[:, 0], False))     # a null start is a null list
    return pa.ListArray.from_arrays(offsets, names.take(pa.array(rows[taken])))

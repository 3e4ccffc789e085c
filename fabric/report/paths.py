"""The ports that every message's packets leave by, as the routes and hashes at the end of the run send them.

The walk of switch/forward.py and switch/vtep.py over whole columns: nothing is sent and no counter moves. Packets that
are sprayed or moved by flowlets have no one path; neither have those whose route is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fabric.report.flowhash import crc32, flow_hash
from fabric.state.codes import LoadBalance

if TYPE_CHECKING:  # annotations only: the caller has loaded the engine already
    from fabric.engine.driver import Emulator
    from fabric.state.types import State

MAX_HOPS: Final = 16
"""Longest path followed; more is a forwarding loop."""

_VXLAN_PORT: Final = 4789


def message_paths(emulator: Emulator) -> pa.Array:
    """Per message the names of the ports it leaves by ('device:port'), sender first; null where there is no one path.

    Returns: list<string> array, one entry a message.
    """
    state, fabric = emulator.state, emulator.fabric
    trails = walk(state)[state.messages["qp"][1:].astype(np.int64)]
    taken = trails >= 0
    names = pa.array([fabric.port_name(port.id) for port in fabric.ports], pa.string())
    ends = np.concatenate([[0], np.cumsum(taken.sum(axis=1))]).astype(np.int32)
    no_path = np.append(~taken[:, 0], [False])
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32(), mask=no_path), names.take(pa.array(trails[taken])))


def walk(state: State) -> NDArray[np.int64]:
    """(n_qps, MAX_HOPS) egress ports of each queue pair, -1 after the last; all -1 where there is no one path."""
    qps, n_hosts = state.qps, int(state.config[0]["n_hosts"])
    fib = state.fib.reshape(-1, n_hosts).astype(np.int64)
    trails = np.full((len(qps), MAX_HOPS), -1, np.int64)
    src, dst, inner = (qps[name].astype(np.int64) for name in ("src", "dst", "words"))
    address = {"inner": (state.hosts["ip"][src], state.hosts["ip"][dst], inner),
               "outer": (_vtep_address(state, src), _vtep_address(state, dst), _outer_words(state, src, dst, inner))}
    port = qps["port"].astype(np.int64)
    worn = np.zeros(len(qps), np.bool_)         # an outer header
    on_way = np.arange(len(qps))
    arrived = np.zeros(len(qps), np.bool_)
    for hop in range(MAX_HOPS):
        trails[on_way, hop] = port[on_way]
        device = state.ports["peer_node"][port].astype(np.int64)
        arrived[on_way] = device[on_way] == dst[on_way]
        on_way = on_way[~arrived[on_way] & (device[on_way] >= n_hosts)]
        row = device[on_way] - n_hosts
        group = fib[row, dst[on_way]] - 1
        switch = state.switches[row]
        single = state.groups["count"][group] == 1
        keep = (group >= 0) & (single | (switch["load_balance"] == LoadBalance.ECMP))
        on_way, group, switch = on_way[keep], group[keep], switch[keep]
        first, count = state.groups["first"][group].astype(np.int64), state.groups["count"][group].astype(np.int64)
        local = state.ports["peer_node"][state.members["port"][first]] < n_hosts
        vtep = switch["is_vtep"] != 0
        worn[on_way] = np.where(vtep & local, False, worn[on_way] | (vtep & (hop == 0)))
        source, target, words = (np.where(worn[on_way], outer[on_way], plain[on_way])
                                 for plain, outer in zip(address["inner"], address["outer"], strict=True))
        hashed = flow_hash(switch["hash_algorithm"].astype(np.int64), source, target, words, switch["hash_seed"])
        port[on_way] = state.members["port"][first + hashed % np.maximum(count, 1)]
    trails[~arrived] = -1
    return trails


def _vtep_address(state: State, host: NDArray[np.int64]) -> NDArray[np.int64]:
    leaf = state.hosts["leaf"][host].astype(np.int64) - len(state.hosts)
    return np.asarray(state.switches["ip"][leaf], np.int64)


def _outer_words(state: State, src: NDArray[np.int64], dst: NDArray[np.int64],
                 inner: NDArray[np.int64]) -> NDArray[np.int64]:
    """RFC 7348 section 5: the outer source port is a hash of the inner header."""
    entropy = crc32(state.hosts["ip"][src], state.hosts["ip"][dst], inner, np.zeros_like(inner)) & 0x3FFF | 0xC000
    return entropy | _VXLAN_PORT << 16

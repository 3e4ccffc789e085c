"""The ports that every message's packets leave by, as the routes and hashes at the end of the run send them.

The walk is report/walk.py over the tables of an engine. Packets that are sprayed or moved by flowlets have no one path;
neither have those whose route is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fabric.report import walk as walks
from fabric.report.tenant_walk import TenantTables, column_of_tenant

if TYPE_CHECKING:  # annotations only: the caller has loaded the engine already
    from fabric.engine.driver import Emulator
    from fabric.state.types import State


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
    qps = state.qps
    flows = walks.Flows(*(qps[name].astype(np.int64) for name in ("src", "dst", "words", "port")))
    found = walks.walk(tables_of(state), flows)
    found.egress[found.end != walks.End.ARRIVED] = -1
    return found.egress


def tables_of(state: State) -> walks.Tables:
    """What the switches of a running engine would do now."""
    n_hosts = int(state.config[0]["n_hosts"])
    switches, addresses = state.switches, state.addresses
    return walks.Tables(
        n_hosts=n_hosts, peer_node=state.ports["peer_node"].astype(np.int64),
        fib=state.fib.reshape(-1, n_hosts).astype(np.int64),
        group_first=state.groups["first"].astype(np.int64), group_count=state.groups["count"].astype(np.int64),
        member=state.members["port"].astype(np.int64), hash_algorithm=switches["hash_algorithm"].astype(np.int64),
        hash_seed=switches["hash_seed"].astype(np.int64), load_balance=switches["load_balance"].astype(np.int64),
        is_vtep=switches["is_vtep"] != 0, switch_ip=switches["ip"].astype(np.int64),
        host_ip=addresses["ip"].astype(np.int64), leaf=addresses["leaf"].astype(np.int64) - n_hosts,
        tenants=_tenants_of(state, n_hosts) if state.config[0]["n_l3"] else None)


def _tenants_of(state: State, n_hosts: int) -> TenantTables:
    n_switches, vni = len(state.switches), state.addresses["vni"]
    routes = state.vtep_fib if len(state.vtep_fib) > 1 else np.zeros(n_switches * n_switches, np.uint32)
    return TenantTables(column_of_tenant(state.domains, vni), vni.astype(np.int64),
                        state.tenant_fib.reshape(-1, n_hosts).astype(np.int64), state.ways.astype(np.int64),
                        routes.reshape(n_switches, n_switches).astype(np.int64), state.addresses["ip"].astype(np.int64))

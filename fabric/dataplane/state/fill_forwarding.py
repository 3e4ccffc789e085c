"""Initial values of what forwarding reads: addresses, neighbours, hashes, subnets (dataplane/engine/fib.py: routes).

build() writes them into the tables of a run. forwarding_state() writes them into tables for readers of routes, which
simulate no packet: without the other tables, which take most of the time and memory.
"""

from __future__ import annotations

from fabric.dataplane.state import types as t
from fabric.dataplane.state.compiled.directory import dtype_of
from fabric.dataplane.state.fill_tenants import fill_tenants, routed_tables
from fabric.dataplane.state.params import EngineParams
from fabric.topology.model import Fabric


def fill_forwarding(state: t.State, fabric: Fabric, params: EngineParams) -> None:
    """Write the columns that forwarding reads, of ports, switches and hosts."""
    n_hosts = len(fabric.hosts)
    state.ports["node"] = [port.node for port in fabric.ports]
    state.ports["rate_bps"] = [fabric.links[port.link].rate_bps for port in fabric.ports]
    state.ports["peer_node"] = [fabric.ports[port.peer].node for port in fabric.ports]
    state.addresses["ip"] = params.host_ip[:n_hosts]
    state.addresses["leaf"] = [fabric.peer_of(host.first_port).id for host in fabric.hosts]
    for node in fabric.switches:
        row, mine = state.switches[node.id - n_hosts], params.switches[node.id]
        row["ip"], row["load_balance"] = int(params.host_ip[node.id]), mine.load_balance
        row["hash_algorithm"], row["hash_seed"] = mine.hash_algorithm, mine.hash_seed
        row["hash_fields"] = mine.hash_fields
        row["is_vtep"] = params.vxlan is not None and any(peer.is_host for _, peer in fabric.neighbours(node.id))
    fill_tenants(state, params)


def forwarding_state(fabric: Fabric, params: EngineParams) -> t.State:
    """State with the tables that forwarding reads, and one row of every other; the FIB is empty."""
    n_hosts, n_switches = len(fabric.hosts), len(fabric.switches)
    n_subnets, n_l3, n_routes, n_tunnels = routed_tables(fabric, params)
    size = {
        "ports": len(fabric.ports),
        "switches": max(n_switches, 1),
        "addresses": n_hosts,
        "fib": max(n_switches * n_hosts, 1),
        "domains": n_subnets,
        "tenant_fib": n_routes,
        "ways": 2,
        "vtep_fib": n_tunnels,
        "packets": 2,
    }
    state = t.State(**{name: t.rows(size.get(name, 1), dtype_of(name)) for name in t.State._fields})
    config = state.config[0]
    config["n_nodes"], config["n_hosts"], config["n_l3"] = len(fabric.nodes), n_hosts, n_l3
    fill_forwarding(state, fabric, params)
    return state

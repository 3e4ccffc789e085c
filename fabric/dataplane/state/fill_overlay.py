"""Initial values of the overlay: segments, flood lists, known hosts of each leaf, and the hosts' ARP requests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fabric.dataplane.state import types as t
from fabric.dataplane.state.codes import Aux
from fabric.dataplane.state.fill_switches import schedule_from_outside
from fabric.dataplane.state.params import EngineParams
from fabric.topology.model import Fabric


def fill_overlay(state: t.State, fabric: Fabric, params: EngineParams) -> t.State:
    """Write every segment as after convergence of the control plane; dated edits change it
    (dataplane/engine/edits.py).
    """
    if params.vxlan is None:
        return state
    leaves = np.array([fabric.peer_of(host.first_port).id for host in fabric.hosts], np.int64)
    state.known[:] = 1
    name_vteps(state)
    for column, segment in enumerate(params.vxlan.segments):
        members = sorted({int(leaves[host]) for host in segment.hosts})
        for leaf in members:
            row = state.segments[segment_row(state, leaf, column)]
            row["suppress"] = segment.suppress_arp
            state = set_flood_list(state, leaf, column, [other for other in members if other != leaf])
    _fill_asks(state, fabric, params)
    return state


def name_vteps(state: t.State) -> None:
    """In copies of broadcasts the first host whose cable is up stands for its VTEP (fabric/dataplane/switch/arp.py)."""
    if state.config[0]["vxlan"]:
        n_hosts = len(state.hosts)
        hosts = np.flatnonzero(state.ports["up"][state.devices["first_port"][:n_hosts]])[::-1]
        state.switches["first_host"][state.addresses["leaf"][hosts].astype(np.int64) - n_hosts] = hosts


def segment_row(state: t.State, leaf: int, column: int) -> int:
    """Row of State.segments."""
    return (leaf - int(state.config[0]["n_hosts"])) * int(state.config[0]["n_vnis"]) + column


def set_flood_list(state: t.State, leaf: int, column: int, vteps: Sequence[int]) -> t.State:
    """Replace the flood list of a segment at a leaf; in place if it does not grow."""
    row = state.segments[segment_row(state, leaf, column)]
    if len(vteps) > row["count"]:
        row["first"] = len(state.vteps)
        state = state._replace(vteps=np.concatenate([state.vteps, np.zeros(len(vteps), np.uint32)]))
    row["count"] = len(vteps)
    state.vteps[int(row["first"]) : int(row["first"]) + len(vteps)] = vteps
    return state


def _fill_asks(state: t.State, fabric: Fabric, params: EngineParams) -> None:
    asks = [] if params.vxlan is None else sorted(params.vxlan.asks, key=lambda ask: (ask[1], ask[0]))
    state.asks["answered_ps"] = -1
    for index, (time_ps, _, target) in enumerate(asks):
        state.asks[index]["time_ps"], state.asks[index]["target"] = time_ps, t.NO_HOST if target is None else target
    first = np.searchsorted([host for _, host, _ in asks], np.arange(len(fabric.hosts) + 1))
    state.hosts["ask_next"], state.hosts["ask_end"] = first[:-1], first[1:]
    for host in np.flatnonzero(first[:-1] < first[1:]).tolist():
        schedule_from_outside(state, host, Aux.ARP, asks[first[host]][0])

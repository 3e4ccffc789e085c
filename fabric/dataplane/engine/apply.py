"""Carry out dated edits between two windows, at exactly their time.

Values are those in force, with all faults combined (dataplane/engine/holds.py).
Every event before the edit's time has been simulated; no event at or after it has.
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch

from fabric.dataplane.engine import edits as e
from fabric.dataplane.engine.kernels import (
    change_drain,
    change_flow_control,
    change_line,
    change_speed,
    kick_port,
    lose_link,
    release_class,
)
from fabric.dataplane.state.codes import N_CLASSES, EventKind
from fabric.dataplane.state.fill_faults import end_storms
from fabric.dataplane.state.fill_overlay import name_vteps, segment_row
from fabric.dataplane.state.fill_switches import fill_ecn, fill_pg, fill_watchdog, rate_rows
from fabric.dataplane.state.params import EngineParams
from fabric.dataplane.state.timing import quantum_ps, serialisation_row
from fabric.dataplane.state.trace import NO_QP
from fabric.dataplane.state.types import TX_SIZES, State
from fabric.errors import FabricError
from fabric.topology.model import Fabric


class Rates:
    """Rows of State.tx_ps by link rate and overhead of a frame; dated edits may add a few."""

    def __init__(self, fabric: Fabric, params: EngineParams) -> None:
        self._row_of = rate_rows(fabric, params)
        self._fabric, self._params = fabric, params

    def row(self, state: State, rate_bps: int, port: int) -> int:
        """Row of a rate at a port, filled on first use."""
        kind = (rate_bps, self._params.overhead_of(port))
        if kind not in self._row_of:
            row = len(self._row_of)
            if (row + 1) * TX_SIZES > len(state.tx_ps):
                raise FabricError(
                    f"more than {self._params.spare_rate_rows} new link rates in one run",
                    "use fewer distinct rates in the scenario's faults",
                )
            state.tx_ps[row * TX_SIZES : (row + 1) * TX_SIZES] = serialisation_row(*kind, self._params.semantics)
            self._row_of[kind] = row
        return self._row_of[kind]

    def revisit(self, edit: e.Edit, state: State) -> None:
        """Give rates the row numbers that the edits of a restored run gave them."""
        if isinstance(edit, e.LinkRate):
            link = self._fabric.links[edit.link]
            for port in (link.a, link.b):
                self.row(state, edit.rate_bps, port)


@singledispatch
def apply(edit: e.Edit, state: State, fabric: Fabric, params: EngineParams, rates: Rates) -> None:
    """Apply one edit to State in place. Raises: TypeError for an edit that has no rule here."""
    raise TypeError(f"no rule applies {type(edit).__name__}")


def log_row(state: State, time_ps: int, device: int, kind: EventKind, port: int, a: int = 0, b: int = 0) -> None:
    """Append to the event log from outside a kernel, after the kernels' rows of this device.

    The driver keeps half of every region free before an edit.
    """
    worker = int(state.devices[device]["thread"])
    thread = state.threads[worker]
    row = state.trace[worker * (len(state.trace) // len(state.threads)) + int(thread["trace_count"])]
    row["time_ps"], row["device"], row["port"], row["kind"], row["qp"] = time_ps, device, port, kind, NO_QP
    row["prio"] = row["reason"] = 0
    row["a"], row["b"], row["c"], row["d"] = a, b, 0, 0
    thread["trace_count"] += 1


@apply.register
def _(edit: e.LinkState, state: State, fabric: Fabric, params: EngineParams, rates: Rates) -> None:
    link = fabric.links[edit.link]
    for port in (link.a, link.b):
        row = state.ports[port]
        if bool(row["up"]) == edit.up:
            continue
        row["up"] = edit.up
        if edit.up:
            row["down_ps"] += edit.time_ps - int(row["down_since_ps"])
        else:
            row["down_since_ps"] = edit.time_ps
        # Before its consequences: the edit's row comes first among a device's rows of one time.
        log_row(state, edit.time_ps, int(row["node"]), EventKind.LINK_UP if edit.up else EventKind.LINK_DOWN, port)
    name_vteps(state)
    carry_on = kick_port if edit.up else lose_link
    for port in (link.a, link.b):
        carry_on(state, int(state.ports[port]["node"]), port, edit.time_ps)


@apply.register
def _(edit: e.LinkRate, state: State, fabric: Fabric, params: EngineParams, rates: Rates) -> None:
    link = fabric.links[edit.link]
    for port in (link.a, link.b):
        row = state.ports[port]
        if int(row["rate_bps"]) == edit.rate_bps:
            continue
        log_row(
            state, edit.time_ps, int(row["node"]), EventKind.RATE_CHANGED, port, int(row["rate_bps"]), edit.rate_bps
        )
        row["rate_row"], row["rate_bps"] = rates.row(state, edit.rate_bps, port), edit.rate_bps
        device = int(row["node"])
        change_speed(state, device, port, edit.time_ps, quantum_ps(edit.rate_bps))
        if fabric.nodes[device].is_host:
            change_line(state, device, port, edit.time_ps)


@apply.register
def _(edit: e.LinkErrors, state: State, fabric: Fabric, params: EngineParams, rates: Rates) -> None:
    link = fabric.links[edit.link]
    state.ports["bit_error_ratio"][[link.a, link.b]] = edit.bit_error_ratio


@apply.register
def _(edit: e.HostDrain, state: State, fabric: Fabric, params: EngineParams, rates: Rates) -> None:
    if int(state.hosts[edit.host]["drain_bps"]) != edit.drain_bps:
        change_drain(state, edit.host, edit.time_ps, edit.drain_bps)


@apply.register
def _(edit: e.NicReset, state: State, fabric: Fabric, params: EngineParams, rates: Rates) -> None:
    end_storms(state, edit.host)


@apply.register
def _(edit: e.QueueEcn, state: State, fabric: Fabric, params: EngineParams, rates: Rates) -> None:
    fill_ecn(state.queues[edit.port * N_CLASSES + edit.queue], edit.ecn)


@apply.register
def _(edit: e.PgThreshold, state: State, fabric: Fabric, params: EngineParams, rates: Rates) -> None:
    row = state.pgs[edit.port * N_CLASSES + edit.pg]
    least = int(row["least_margin_bytes"])
    shared_before = max(int(row["use_bytes"]) - int(row["reserved_bytes"]), 0)
    fill_pg(row, edit.pg_params)
    row["least_margin_bytes"] = least
    # The pool counts what exceeds the reserve: a new reserve moves bytes between the two.
    state.pools[row["pool"]]["used_bytes"] += max(int(row["use_bytes"]) - int(row["reserved_bytes"]), 0) - shared_before


@apply.register
def _(edit: e.FlowControlClasses, state: State, fabric: Fabric, params: EngineParams, rates: Rates) -> None:
    change_flow_control(state, int(state.ports[edit.port]["node"]), edit.port, edit.classes, edit.time_ps)


@apply.register
def _(edit: e.WatchdogSet, state: State, fabric: Fabric, params: EngineParams, rates: Rates) -> None:
    node = fabric.nodes[edit.switch]
    for port in node.ports:
        for c in range(N_CLASSES):
            # Always restart the watchdog: with another action or other queues a storm would never end.
            if state.queues[port * N_CLASSES + c]["wd_state"]:
                release_class(state, node.id, port, c, edit.time_ps)
    mine = replace(params.switches[edit.switch], watchdog=edit.watchdog, port_watchdogs={})
    fill_watchdog(state, node, mine, edit.time_ps)


@apply.register
def _(edit: e.ArpKnown, state: State, fabric: Fabric, params: EngineParams, rates: Rates) -> None:
    _set_known(state, fabric, edit.switch, edit.host, 1, on=edit.known)


@apply.register
def _(edit: e.UnknownMac, state: State, fabric: Fabric, params: EngineParams, rates: Rates) -> None:
    _set_known(state, fabric, edit.switch, edit.host, 2, on=edit.unknown)


def _set_known(state: State, fabric: Fabric, switch: int, host: int, bit: int, *, on: bool) -> None:
    row = (switch - len(fabric.hosts)) * len(fabric.hosts) + host
    state.known[row] = int(state.known[row]) & ~bit | (bit if on else 0)


@apply.register
def _(edit: e.SuppressArp, state: State, fabric: Fabric, params: EngineParams, rates: Rates) -> None:
    state.segments[segment_row(state, edit.switch, edit.segment)]["suppress"] = edit.on


@apply.register
def _(edit: e.DscpMap, state: State, fabric: Fabric, params: EngineParams, rates: Rates) -> None:
    state.ports[edit.port]["dscp_map"] = state.ports[edit.like]["dscp_map"]


@apply.register
def _(edit: e.PortMtu, state: State, fabric: Fabric, params: EngineParams, rates: Rates) -> None:
    state.ports[edit.port]["mtu_bytes"] = edit.mtu_bytes


@apply.register
def _(edit: e.HashSeed, state: State, fabric: Fabric, params: EngineParams, rates: Rates) -> None:
    state.switches[edit.switch - len(fabric.hosts)]["hash_seed"] = edit.seed

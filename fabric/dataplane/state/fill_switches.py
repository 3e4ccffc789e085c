"""Initial values of ports, queues, priority groups and switches. Dated edits use the same functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from fabric.dataplane.state import shaper_tables as st
from fabric.dataplane.state import types as t
from fabric.dataplane.state.calendar import NEW_ORDER, place
from fabric.dataplane.state.codes import INFINITY_PS, N_CLASSES, N_DSCPS, Aux
from fabric.dataplane.state.params import (
    EcnParams,
    EgressShareParams,
    EngineParams,
    FlowControlParams,
    PgParams,
    PortParams,
    QueueParams,
    SwitchParams,
)
from fabric.dataplane.state.timing import quantum_ps, serialisation_row
from fabric.errors import InvariantError
from fabric.topology.model import Fabric, Node
from fabric.units import PS_PER_S

WEIGHT_UNIT_BYTES = 1024
"""DWRR quantum per unit of weight: only ratios matter, and a quantum near a frame keeps the rounds short."""


def fill_ports(state: t.State, fabric: Fabric, params: EngineParams) -> t.State:
    """Write ports and their classes; State with the serialisation table. Raises: InvariantError without lookahead."""
    row_of_rate = rate_rows(fabric, params)
    table = np.zeros((len(row_of_rate) + params.spare_rate_rows, t.TX_SIZES), np.int64)
    for (rate, overhead), row in row_of_rate.items():
        table[row] = serialisation_row(rate, overhead, params.semantics)
    lookahead_ps = INFINITY_PS
    for port in fabric.ports:
        link, peer, mine = fabric.links[port.link], fabric.ports[port.peer], params.ports[port.id]
        row = state.ports[port.id]
        row["peer"], row["index"], row["scale_up"] = port.peer, port.index, fabric.is_scale_up(port.id)
        rate_row = row_of_rate[link.rate_bps, params.overhead_of(port.id)]
        row["up"], row["rate_row"], row["rate_bps"] = 1, rate_row, link.rate_bps
        row["mtu_bytes"] = mine.mtu_bytes
        _fill_flow_control(state, port.id, mine.flow_control)
        row["quantum_ps"] = quantum_ps(link.rate_bps)
        row["propagation_ps"] = link.delay_ps
        row["arrival_delay_ps"] = link.delay_ps + params.reception_ps(peer.id, peer.node)
        row["pause_delay_ps"] = link.delay_ps + params.ports[peer.id].flow_control.response_ps
        row["out_window"] = row["pout_window"] = -1  # no frame sent yet
        row["bit_error_ratio"] = mine.bit_error_ratio
        row["strict"] = sum(queue.strict << index for index, queue in enumerate(mine.queues))
        lookahead_ps = min(lookahead_ps, int(row["arrival_delay_ps"]), int(row["pause_delay_ps"]))
        _fill_classes(state, port.id, mine)
    if lookahead_ps <= 0:
        raise InvariantError("a cable with no delay towards a device with no latency leaves no lookahead")
    state.config[0]["lookahead_ps"] = lookahead_ps
    return state._replace(tx_ps=table.reshape(-1))


def _fill_flow_control(state: t.State, port: int, mine: FlowControlParams) -> None:
    for name, value in mine.port_values().items():
        state.ports[port][name] = value
    classes = state.prios[port * N_CLASSES : (port + 1) * N_CLASSES]
    for name, value in mine.class_values().items():
        classes[name] = value


def fill_dscp_maps(state: t.State, fabric: Fabric, params: EngineParams) -> t.State:
    """Write the map of every port, each distinct one once; State with the maps. A host uses that of its peer."""
    maps: dict[tuple[int, ...], int] = {}
    for node in fabric.switches:
        for port in node.ports:
            mine = params.ports[port].dscp_to_tc or params.switches[node.id].dscp_to_tc
            row = maps.setdefault(mine, len(maps))
            state.ports[port]["dscp_map"] = row
            if fabric.peer_of(port).is_host:
                state.ports[fabric.ports[port].peer]["dscp_map"] = row
    return state._replace(dscp_maps=np.array(list(maps) or [(0,) * N_DSCPS], np.uint8).reshape(-1))


def rate_rows(fabric: Fabric, params: EngineParams) -> dict[tuple[int, int], int]:
    """(rate_bps, overhead_bytes) of the ports -> row of State.tx_ps, ascending."""
    kinds = {(fabric.links[port.link].rate_bps, params.overhead_of(port.id)) for port in fabric.ports}
    return {kind: row for row, kind in enumerate(sorted(kinds))}


def _fill_classes(state: t.State, port: int, mine: PortParams) -> None:
    for index, queue in enumerate(mine.queues):
        fill_queue(state.queues[port * N_CLASSES + index], queue)
    for index, pg in enumerate(mine.pgs):
        fill_pg(state.pgs[port * N_CLASSES + index], pg)
    for index, shaper in enumerate((*(queue.shaper for queue in mine.queues), mine.shaper)):
        if shaper is not None:
            state.ports[port]["shaped"] |= 1 << index
            state.ports[port]["held"] = 1 << (st.SHAPERS_OF_A_PORT - 1)  # nothing is held yet
            row = state.shapers[port * st.SHAPERS_OF_A_PORT + index]
            row["rate_bps"] = shaper.rate_bps
            row["burst_ps"] = shaper.burst_bytes * 8 * PS_PER_S // shaper.rate_bps


def fill_queue(row: Any, queue: QueueParams) -> None:
    """Write the parameters of one egress queue (its pool is written by _fill_switches)."""
    row["limit_bytes"] = -1 if queue.dynamic_th is not None else queue.static_th_bytes
    row["shift"] = queue.dynamic_th or 0
    row["quantum_bytes"] = queue.weight * WEIGHT_UNIT_BYTES
    fill_ecn(row, queue.ecn)


def fill_ecn(row: Any, ecn: EcnParams | None) -> None:
    """Write the WRED/ECN curve of one egress queue; None: no marking."""
    row["ecn"] = ecn is not None
    row["drop_non_ect"] = ecn is not None and ecn.drop_non_ect
    if ecn is not None:
        row["kmin_bytes"], row["kmax_bytes"], row["pmax_ratio"] = ecn.kmin_bytes, ecn.kmax_bytes, ecn.pmax_ratio


def fill_pg(row: Any, pg: PgParams) -> None:
    """Write the buffer profile of one priority group (its pool is written by _fill_switches)."""
    row["lossless"], row["reserved_bytes"] = pg.lossless, pg.reserved_bytes
    row["limit_bytes"] = -1 if pg.dynamic_th is not None else pg.static_th_bytes
    row["shift"] = pg.dynamic_th or 0
    row["xoff_bytes"], row["xon_bytes"], row["xon_offset_bytes"] = pg.xoff_bytes, pg.xon_bytes, pg.xon_offset_bytes
    row["least_margin_bytes"] = INFINITY_PS


def fill_switches(state: t.State, fabric: Fabric, params: EngineParams) -> t.State:
    """Write switches and their pools; State with the table of whole cells. Raises: InvariantError on a shared pool."""
    n_hosts, pool, share = len(fabric.hosts), 0, 1
    sizes = sorted({mine.cell_bytes for mine in params.switches.values()})
    cells = t.rows(len(sizes) * t.TX_SIZES, np.uint16)
    for index, size in enumerate(sizes):
        frames = np.arange(t.TX_SIZES)
        cells[index * t.TX_SIZES : (index + 1) * t.TX_SIZES] = -(-frames // size) * size
    for node in fabric.switches:
        mine = params.switches[node.id]
        row = state.switches[node.id - n_hosts]
        row["cells_row"] = sizes.index(mine.cell_bytes)
        row["cell_bytes"] = mine.cell_bytes
        row["flowlet_gap_ps"], row["mark_at_dequeue"] = mine.flowlet_gap_ps, mine.mark_at_dequeue
        row["tc_to_pg"], row["tc_to_queue"] = mine.tc_to_pg, mine.tc_to_queue
        state.devices[node.id]["latency_ps"] = mine.latency_ps
        for index, memory in enumerate(mine.pools):
            shared = state.pools[pool + index]
            shared["size_bytes"], shared["headroom_size_bytes"] = memory.size_bytes, memory.shared_headroom_bytes
            shared["switch"] = node.id
        for port in node.ports:
            for index in range(N_CLASSES):
                pg, queue = params.ports[port].pgs[index], params.ports[port].queues[index]
                if pg.pool == queue.pool:
                    raise InvariantError(f"{fabric.port_name(port)}: queue {index} uses an ingress pool")
                state.pgs[port * N_CLASSES + index]["pool"] = pool + pg.pool
                state.queues[port * N_CLASSES + index]["pool"] = pool + queue.pool
                state.queues[port * N_CLASSES + index]["reserved_bytes"] = queue.reserved_bytes
            for limit in params.ports[port].egress_shares:
                _fill_share(state, port, share, pool + limit.pool, limit)
                share += 1
        pool += len(mine.pools)
        fill_watchdog(state, node, mine, 0)
    return state._replace(cells=cells)


def _fill_share(state: t.State, port: int, share: int, pool: int, limit: EgressShareParams) -> None:
    """Write a port's limit in an egress pool, and its queues."""
    row = state.shares[share]
    row["port"], row["pool"] = port, pool
    row["limit_bytes"] = -1 if limit.dynamic_th is not None else limit.static_th_bytes
    row["shift"] = limit.dynamic_th or 0
    for queue in state.queues[port * N_CLASSES : (port + 1) * N_CLASSES]:
        if queue["pool"] == pool:
            queue["share"] = share


def fill_watchdog(state: t.State, node: Node, mine: SwitchParams, now_ps: int) -> None:
    """Write a switch's watchdog parameters and schedule its next poll; None stops it."""
    row, watchdog = state.switches[node.id - int(state.config[0]["n_hosts"])], mine.watchdog
    for port in node.ports:
        own = mine.port_watchdogs.get(port, watchdog)
        if own is not None:
            at = state.ports[port]
            at["wd_detection_ps"], at["wd_action"] = own.detection_ps, own.action
            at["wd_restoration_ps"] = -1 if own.restoration_ps is None else own.restoration_ps
        for index in range(N_CLASSES):
            queue = state.queues[port * N_CLASSES + index]
            queue["wd_watched"] = own is not None and own.priorities >> index & 1
            queue["wd_left_ps"] = own.detection_ps if own is not None else 0
            queue["wd_polled"] = 0  # the last poll was another watchdog's
    next_ps = INFINITY_PS
    if watchdog is not None:
        row["wd_poll_ps"], row["wd_rule"] = watchdog.poll_ps, watchdog.rule
        row["wd_charge_ps"] = watchdog.charge_ps
        next_ps = now_ps + watchdog.poll_ps
    schedule_from_outside(state, node.id, Aux.WATCHDOG, next_ps)


def schedule_from_outside(state: t.State, device: int, aux: int, time_ps: int, order: int = NEW_ORDER) -> None:
    """Set an auxiliary source between windows (build and dated edits)."""
    place(state, device, 3 * int(state.devices[device]["n_ports"]) + int(aux), time_ps, order)

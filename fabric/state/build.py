"""Allocate State from a topology and parameters; hash it.

Only allocation and initial values: no rule of the model is applied here. Capacities come from the topology; packet and
trace tables grow later.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabric.errors import InvariantError
from fabric.state import types as t
from fabric.state.calendar import NEW_ORDER, place
from fabric.state.codes import (
    INFINITY_PS,
    N_AUX,
    N_CLASSES,
    N_DROP_REASONS,
    N_RANDOM_USES,
    Aux,
    CongestionControl,
    LoadBalance,
    Order,
    Recovery,
)
from fabric.state.params import EcnParams, EngineParams, PgParams, PortParams, QueueParams, SwitchParams
from fabric.state.streams import stream_key
from fabric.state.timing import quantum_ps, serialisation_row
from fabric.topology.model import Fabric, Node

FLOWLETS_PER_SWITCH = 1024
FIRST_PACKETS_PER_PORT = 64
TRACE_ROWS = 1 << 16
OUTBOX_STRIDE = 8
SYNC_STRIDE = 16
QP_TIMERS = 3
WEIGHT_UNIT_BYTES = 1024
"""DWRR quantum per unit of weight: only ratios matter, and a quantum near a frame keeps the rounds short."""


def build(fabric: Fabric, params: EngineParams, *, threads: int = 1, order: Order = Order.SOURCE, sequential: bool = False,
          trace_mask: int = 0) -> t.State:
    """Allocate every table.

    Parameters
    ----------
    fabric, params : the network and what it is made of; params.ports by PortId, params.switches and hosts by NodeId
    threads : partitions that play devices; sequential schedulers need 1

    Returns: State with an empty FIB (engine/fib.py fills it) and every first event scheduled.
    Raises: InvariantError if parameters contradict the topology (scenario/compile.py should have refused them).
    """
    _check(fabric, params)
    n_nodes, n_hosts, n_ports = len(fabric.nodes), len(fabric.hosts), len(fabric.ports)
    n_switches, n_qps, n_messages = n_nodes - n_hosts, len(params.queue_pairs.src), len(params.messages.src)
    insertion = order is Order.INSERTION
    devices, tree, leaf_device = _devices(fabric, params.queue_pairs.src if insertion else params.queue_pairs.src[:0])
    sack_window = _sack_window(params)
    n_leaves = len(leaf_device) if insertion else 1
    capacity = 1 + FIRST_PACKETS_PER_PORT * n_ports + sum(2 * node.n_ports + 16 for node in fabric.nodes)
    state = t.State(
        config=_config(fabric, params, threads, order, sequential, trace_mask, sack_window, len(tree) // 2),
        devices=devices, next_ps=np.full(n_nodes, INFINITY_PS, np.int64), tree=tree,
        ports=t.rows(n_ports, t.PORT), queues=t.rows(n_ports * N_CLASSES, t.QUEUE),
        pgs=t.rows(n_ports * N_CLASSES, t.PG), prios=t.rows(n_ports * N_CLASSES, t.PRIO),
        pools=t.rows(max(sum(len(s.pools) for s in params.switches.values()), 1), t.POOL),
        packets=t.rows(capacity, t.PACKET), drops=t.rows(n_ports * N_CLASSES * N_DROP_REASONS, t.DROP),
        switches=t.rows(max(n_switches, 1), t.SWITCH), hosts=t.rows(n_hosts, t.HOST),
        qps=t.rows(n_qps, t.QP), rqps=t.rows(n_qps, t.RQP),
        messages=t.rows(n_messages + 1, t.MESSAGE), rmessages=t.rows(n_messages + 1, t.RMESSAGE),
        dependents=t.rows(max(len(params.messages.after), 1), t.DEPENDENT),
        starts=t.rows(max(n_messages, 1), t.HEAP), waits=t.rows(max(n_qps, 1), t.HEAP),
        qp_list=t.rows(max(n_qps, 1), np.uint32),
        fib=t.rows(max(n_switches * n_hosts, 1), np.uint32), groups=t.rows(1, t.GROUP), members=t.rows(1, t.MEMBER),
        tx_ps=t.rows(t.TX_SIZES, np.int64), cells=t.rows(t.TX_SIZES, np.uint16), random=t.rows(n_nodes * N_RANDOM_USES, t.RANDOM),
        flowlets=t.rows(_flowlets(params, n_switches), t.FLOWLET),
        bitmap=t.rows(max(2 * n_qps * sack_window, 1), np.uint8),
        trace=t.rows(threads * _trace_rows(fabric), t.TRACE),
        outbox=t.rows(threads * threads * 2 * n_ports, np.uint32), outbox_count=t.rows(threads * threads * OUTBOX_STRIDE, np.int64),
        threads=t.rows(threads, t.THREAD), roster=t.rows(n_nodes, np.uint32), sync=t.rows(threads * SYNC_STRIDE, np.int64),
        global_tree=t.rows(2 * _power_of_two(n_leaves), np.int64), global_time=np.full(_power_of_two(n_leaves), INFINITY_PS, np.int64),
        global_order=t.rows(_power_of_two(n_leaves), np.int64), leaf_device=leaf_device,
    )
    if insertion:
        _link_global_tree(state)
    state = _fill_ports(state, fabric, params)
    state = _fill_switches(state, fabric, params)
    _fill_hosts(state, fabric, params)
    _fill_queue_pairs(state, params)
    _fill_messages(state, params)
    _share_out_packets(state, fabric)
    state.random["key"] = [stream_key(params.seed, f"{node.name}.{use}") for node in fabric.nodes for use in range(N_RANDOM_USES)]
    partition(state, fabric, threads)
    return state


def _check(fabric: Fabric, params: EngineParams) -> None:
    if len(params.ports) != len(fabric.ports):
        raise InvariantError(f"{len(params.ports)} port parameters for {len(fabric.ports)} ports")
    for node in fabric.nodes:
        if (node.id not in params.hosts) if node.is_host else (node.id not in params.switches):
            raise InvariantError(f"no parameters for {node.name}")
        if 3 * node.n_ports + N_AUX > 1 << t.KEY_BITS:
            raise InvariantError(f"{node.name} has {node.n_ports} ports; a device may have {((1 << t.KEY_BITS) - N_AUX) // 3}")
    for switch in params.switches.values():
        if not switch.pools:
            raise InvariantError("a switch needs at least one pool")


def _power_of_two(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


def _trace_rows(fabric: Fabric) -> int:
    return max(TRACE_ROWS, 4 * max(16 * node.n_ports + 64 for node in fabric.nodes))


def _flowlets(params: EngineParams, n_switches: int) -> int:
    used = any(switch.load_balance is LoadBalance.FLOWLET for switch in params.switches.values())
    return n_switches * FLOWLETS_PER_SWITCH if used else 1


def _sack_window(params: EngineParams) -> int:
    transport = params.transport
    if transport.recovery is not Recovery.SELECTIVE:
        return 0
    if transport.window_bytes <= 0:
        raise InvariantError("selective repeat needs a window")
    return transport.window_bytes // params.frames.payload_bytes + 2


def _devices(fabric: Fabric, timer_owners: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.uint32]]:
    devices = np.zeros(len(fabric.nodes), t.DEVICE)
    base = 0
    owners: list[NDArray[np.uint32]] = []
    for node in fabric.nodes:
        sources = 3 * node.n_ports + N_AUX
        leaves = _power_of_two(sources)
        row = devices[node.id]
        row["first_port"], row["n_ports"], row["tree"], row["leaves"] = node.first_port, node.n_ports, base, leaves
        row["n_sources"], row["is_host"] = sources, node.is_host
        owners.append(np.full(leaves, node.id, np.uint32))
        base += 2 * leaves
    tree = np.full(base, INFINITY_PS, np.int64)
    owners.append(np.repeat(timer_owners, QP_TIMERS).astype(np.uint32))
    return devices, tree, np.concatenate(owners)


def _link_global_tree(state: t.State) -> None:
    size = len(state.global_tree) // 2
    state.global_tree[size:] = np.arange(size)
    for node in range(size - 1, 0, -1):
        state.global_tree[node] = state.global_tree[2 * node]


def _config(fabric: Fabric, params: EngineParams, threads: int, order: Order, sequential: bool, trace_mask: int,
            sack_window: int, first_timer_leaf: int) -> NDArray[Any]:
    config = np.zeros(1, t.CONFIG)
    row, frames, transport, vxlan = config[0], params.frames, params.transport, params.vxlan
    values: dict[str, float] = {
        "n_nodes": len(fabric.nodes), "n_hosts": len(fabric.hosts), "n_ports": len(fabric.ports),
        "n_qps": len(params.queue_pairs.src), "n_threads": threads, "order": order, "sequential": sequential,
        "next_order": len(params.messages.src) + 1, "law": params.law, "cc": transport.congestion_control,
        "recovery": transport.recovery, "seed": params.seed, "payload_bytes": frames.payload_bytes,
        "data_header_bytes": frames.data_header_bytes, "reth_bytes": frames.reth_bytes, "ack_bytes": frames.ack_bytes,
        "cnp_bytes": frames.cnp_bytes, "pfc_bytes": frames.pfc_bytes, "vxlan_bytes": frames.vxlan_bytes,
        "min_gap_bytes": frames.wire_overhead_bytes, "initial_ttl": params.initial_ttl,
        "window_bytes": transport.window_bytes, "variable_window": transport.variable_window,
        "ack_every_packets": transport.ack_every_packets, "timeout_ps": transport.retransmit_timeout_ps,
        "retry_limit": transport.retry_limit, "nak_interval_ps": transport.nak_interval_ps, "ack_dscp": transport.ack_dscp,
        "cnp_dscp": transport.cnp_dscp, "ack_strict": transport.ack_strict,
        "ack_strict_at_host": transport.ack_strict_at_host, "sack_window_pkts": sack_window,
        "trace_mask": trace_mask, "trace_rows": _trace_rows(fabric), "first_timer_leaf": first_timer_leaf,
    }
    if transport.congestion_control is not CongestionControl.NONE and transport.dcqcn is not None:
        d = transport.dcqcn
        values |= {
            "gain": d.gain_ratio, "initial_alpha": d.initial_alpha_ratio, "alpha_timer_ps": d.alpha_timer_ps,
            "decrease_interval_ps": d.decrease_interval_ps, "increase_timer_ps": d.increase_timer_ps,
            "byte_counter_bytes": d.byte_counter_bytes, "fast_recovery_steps": d.fast_recovery_steps,
            "additive_bps": d.additive_bps, "hyper_bps": d.hyper_bps, "min_rate_bps": d.min_rate_bps,
            "clamp_target": d.clamp_target, "cnp_interval_ps": d.cnp_interval_ps, "cnp_delay_ps": d.cnp_delay_ps,
        }
    if vxlan is not None:
        values |= {"vxlan": 1, "vxlan_uniform": vxlan.uniform_dscp, "vxlan_dscp": vxlan.outer_dscp, "vxlan_ecn_copy": vxlan.ecn_copy}
    for name, value in values.items():
        row[name] = value
    return config


def _fill_ports(state: t.State, fabric: Fabric, params: EngineParams) -> t.State:
    frames = params.frames
    rates = sorted({link.rate_bps for link in fabric.links})
    row_of_rate = {rate: row for row, rate in enumerate(rates)}
    table = np.zeros((len(rates) + params.spare_rate_rows, t.TX_SIZES), np.int64)
    for rate, row in row_of_rate.items():
        table[row] = serialisation_row(rate, frames.wire_overhead_bytes, params.law)
    lookahead_ps = INFINITY_PS
    for port in fabric.ports:
        link, peer, mine = fabric.links[port.link], fabric.ports[port.peer], params.ports[port.id]
        row = state.ports[port.id]
        row["node"], row["peer"], row["index"], row["peer_node"] = port.node, port.peer, port.index, peer.node
        row["up"], row["rate_row"], row["rate_bps"] = 1, row_of_rate[link.rate_bps], link.rate_bps
        row["mtu_bytes"], row["pfc_classes"], row["pause_quanta"] = mine.mtu_bytes, mine.pfc_classes, mine.pause_quanta
        row["quantum_ps"] = quantum_ps(link.rate_bps)
        row["propagation_ps"], row["response_ps"] = link.delay_ps, mine.response_ps
        row["arrival_delay_ps"] = link.delay_ps + _latency_ps(fabric.nodes[peer.node], params)
        row["pause_delay_ps"] = link.delay_ps + params.ports[peer.id].response_ps
        row["pfc_next_ps"] = INFINITY_PS
        row["bit_error_ratio"], row["drop_every"] = mine.bit_error_ratio, params.drop_every.get(port.id, 0)
        row["strict"] = sum(queue.strict << index for index, queue in enumerate(mine.queues))
        lookahead_ps = min(lookahead_ps, int(row["arrival_delay_ps"]), int(row["pause_delay_ps"]))
        _fill_classes(state, port.id, mine)
    if lookahead_ps <= 0:
        raise InvariantError("a cable with no delay towards a device with no latency leaves no lookahead")
    state.config[0]["lookahead_ps"] = lookahead_ps
    state.prios["until_ps"] = state.prios["refresh_ps"] = INFINITY_PS
    return state._replace(tx_ps=table.reshape(-1))


def _latency_ps(node: Node, params: EngineParams) -> int:
    return params.hosts[node.id].latency_ps if node.is_host else params.switches[node.id].latency_ps


def _fill_classes(state: t.State, port: int, mine: PortParams) -> None:
    for index, queue in enumerate(mine.queues):
        fill_queue(state.queues[port * N_CLASSES + index], queue)
    for index, pg in enumerate(mine.pgs):
        fill_pg(state.pgs[port * N_CLASSES + index], pg)


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


def _fill_switches(state: t.State, fabric: Fabric, params: EngineParams) -> t.State:
    n_hosts, pool = len(fabric.hosts), 0
    sizes = sorted({mine.cell_bytes for mine in params.switches.values()})
    cells = t.rows(len(sizes) * t.TX_SIZES, np.uint16)
    for index, size in enumerate(sizes):
        frames = np.arange(t.TX_SIZES)
        cells[index * t.TX_SIZES : (index + 1) * t.TX_SIZES] = -(-frames // size) * size
    for node in fabric.switches:
        mine = params.switches[node.id]
        row = state.switches[node.id - n_hosts]
        row["cells_row"] = sizes.index(mine.cell_bytes)
        row["cell_bytes"], row["hash_algorithm"], row["hash_seed"] = mine.cell_bytes, mine.hash_algorithm, mine.hash_seed
        row["load_balance"], row["flowlet_gap_ps"] = mine.load_balance, mine.flowlet_gap_ps
        row["mark_at_dequeue"], row["ip"] = mine.mark_at_dequeue, int(params.host_ip[node.id])
        row["is_vtep"] = params.vxlan is not None and any(peer.is_host for _, peer in fabric.neighbours(node.id))
        row["dscp_to_tc"], row["tc_to_pg"], row["tc_to_queue"] = mine.dscp_to_tc, mine.tc_to_pg, mine.tc_to_queue
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
        pool += len(mine.pools)
        fill_watchdog(state, node, mine, 0)
    return state._replace(cells=cells)


def fill_watchdog(state: t.State, node: Node, mine: SwitchParams, now_ps: int) -> None:
    """Write a switch's watchdog parameters and schedule its next poll; None stops it."""
    row, watchdog = state.switches[node.id - int(state.config[0]["n_hosts"])], mine.watchdog
    for port in node.ports:
        for index in range(N_CLASSES):
            queue = state.queues[port * N_CLASSES + index]
            queue["wd_watched"] = watchdog is not None and watchdog.priorities >> index & 1
            queue["wd_left_ps"] = watchdog.detection_ps if watchdog is not None else 0
    next_ps = INFINITY_PS
    if watchdog is not None:
        row["wd_poll_ps"], row["wd_detection_ps"] = watchdog.poll_ps, watchdog.detection_ps
        row["wd_restoration_ps"] = -1 if watchdog.restoration_ps is None else watchdog.restoration_ps
        row["wd_action"], row["wd_rule"] = watchdog.action, watchdog.rule
        next_ps = now_ps + watchdog.poll_ps
    schedule_from_outside(state, node.id, Aux.WATCHDOG, next_ps)


def schedule_from_outside(state: t.State, device: int, aux: int, time_ps: int, order: int = NEW_ORDER) -> None:
    """Set an auxiliary source between windows (build and dated edits)."""
    place(state, device, 3 * int(state.devices[device]["n_ports"]) + int(aux), time_ps, order)


def _fill_hosts(state: t.State, fabric: Fabric, params: EngineParams) -> None:
    counts = np.bincount(params.queue_pairs.src, minlength=len(fabric.hosts))
    order = np.argsort(params.queue_pairs.src, kind="stable")
    state.qp_list[: len(order)] = order
    first = np.concatenate([[0], np.cumsum(counts)])
    for node in fabric.hosts:
        mine = params.hosts[node.id]
        row = state.hosts[node.id]
        row["ip"], row["drain_bps"], row["rx_buffer_bytes"] = int(params.host_ip[node.id]), mine.drain_bps, mine.rx_buffer_bytes
        row["rx_xoff_bytes"], row["rx_xon_bytes"] = mine.rx_xoff_bytes, mine.rx_xon_bytes
        row["first_qp_list"], row["n_qps"], row["waits"] = first[node.id], counts[node.id], first[node.id]
        row["leaf"], row["timeout_ps"], row["rx_port"] = fabric.peer_of(node.first_port).id, INFINITY_PS, node.first_port
        state.devices[node.id]["latency_ps"] = mine.latency_ps


def _fill_queue_pairs(state: t.State, params: EngineParams) -> None:
    pairs, rows = params.queue_pairs, state.qps
    if len(rows) == 0:
        return
    rows["src"], rows["dst"], rows["port"], rows["dscp"] = pairs.src, pairs.dst, pairs.port, pairs.dscp
    leaf = state.hosts["leaf"][pairs.src] - int(state.config[0]["n_hosts"])
    rows["tc"] = state.switches["dscp_to_tc"][leaf, pairs.dscp]
    rows["words"] = (pairs.src_udp_port & 0xFFFF) | (pairs.dst_udp_port & 0xFFFF) << 16
    rows["deadline_ps"] = INFINITY_PS
    rows["alpha_at_ps"] = rows["increase_at_ps"] = INFINITY_PS
    state.rqps["nak_for_psn"] = -1
    state.rqps["last_cnp_ps"] = -INFINITY_PS


def _fill_messages(state: t.State, params: EngineParams) -> None:
    messages, rows = params.messages, state.messages
    n = len(messages.src)
    if n == 0:
        return
    rows["qp"][1:], rows["size_bytes"][1:], rows["delay_ps"][1:] = messages.qp, messages.size_bytes, messages.delay_ps
    rows["n_pkts"][1:] = -(-messages.size_bytes // params.frames.payload_bytes)
    rows["start_ps"][1:] = rows["end_ps"][1:] = -1
    rows["ready_ps"][1:] = messages.start_ps
    state.rmessages["arrived_ps"] = state.rmessages["first_ps"] = -1
    _fill_dependents(state, params)
    waiting = rows["waits_for"][1:] > 0
    order = np.lexsort((np.arange(n), messages.start_ps, waiting, messages.src))
    counts = np.bincount(messages.src, minlength=len(state.hosts))
    free = np.bincount(messages.src[~waiting], minlength=len(state.hosts))
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    state.hosts["starts"], state.hosts["n_starts"] = first, free
    # Sorted by (time, number) within a host, so each region is a heap already; waiting messages lie behind as room.
    state.starts["time_ps"][:n] = messages.start_ps[order]
    state.starts["item"][:n] = state.starts["order"][:n] = order + 1
    for host in np.flatnonzero(free):
        # Insertion order: a posting carries its message's number, as if all had been scheduled in file order.
        entry = state.starts[first[host]]
        schedule_from_outside(state, int(host), Aux.START, int(entry["time_ps"]), int(entry["order"]))


def _fill_dependents(state: t.State, params: EngineParams) -> None:
    messages = params.messages
    if not messages.after:
        return
    edges = np.asarray(messages.after, np.int64)
    edges = edges[np.argsort(edges[:, 0], kind="stable")]
    earlier, later = edges[:, 0], edges[:, 1]
    at_arrival = messages.dst[earlier] == messages.src[later]
    local = messages.src[earlier] == messages.src[later]
    if not np.all(at_arrival | local):
        raise InvariantError("a message waits for one that does not end at its source host")
    state.dependents["message"][: len(edges)] = later + 1
    state.dependents["at_arrival"][: len(edges)] = at_arrival
    rows = state.messages
    rows["n_deps"][1:] = np.bincount(earlier, minlength=len(messages.src))
    rows["first_dep"][1:] = np.searchsorted(earlier, np.arange(len(messages.src)))
    rows["waits_for"][1:] = np.bincount(later, minlength=len(messages.src))


def _share_out_packets(state: t.State, fabric: Fabric) -> None:
    """Give every device a contiguous list of free rows, 64 per port and what one event may need."""
    first = 1
    for node in fabric.nodes:
        give_rows(state, node.id, first, FIRST_PACKETS_PER_PORT * node.n_ports + 2 * node.n_ports + 16)
        first += FIRST_PACKETS_PER_PORT * node.n_ports + 2 * node.n_ports + 16


def give_rows(state: t.State, device: int, first: int, count: int) -> None:
    """Add rows first..first+count-1 to a device's free list."""
    if count == 0:
        return
    state.packets["next"][first : first + count - 1] = np.arange(first + 1, first + count)
    state.packets["next"][first + count - 1] = state.devices[device]["free_head"]
    state.devices[device]["free_head"] = first
    state.devices[device]["free_count"] += count


def partition(state: t.State, fabric: Fabric, threads: int) -> None:
    """Deal devices out to threads by expected work (ports weighted by speed), neighbours together where it costs nothing.

    A host goes to the thread of its first switch, so most traffic stays within a thread up to the first tier.
    """
    weight = np.zeros(threads)
    owner = np.zeros(len(fabric.nodes), np.int64)
    work = {int(node.id): sum(fabric.links[fabric.ports[port].link].rate_bps for port in node.ports) for node in fabric.nodes}
    below: dict[int, list[int]] = {}
    for host in fabric.hosts:
        below.setdefault(fabric.peer_of(host.first_port).id, []).append(host.id)
    families = [(node.id, *below.get(node.id, ())) for node in fabric.switches]
    for family in sorted(families, key=lambda family: (-sum(work[member] for member in family), family[0])):
        thread = int(np.argmin(weight))
        for member in family:
            owner[member] = thread
            weight[thread] += work[member]
    state.devices["thread"] = owner
    state.roster[:] = np.argsort(owner, kind="stable")
    state.threads["count"] = np.bincount(owner, minlength=threads)
    state.threads["first"] = np.concatenate([[0], np.cumsum(state.threads["count"])[:-1]])


OBSERVABLE = ("queues", "pgs", "prios", "pools", "drops", "switches", "hosts", "rqps", "messages", "rmessages", "members", "random")
"""Tables whose every field is the same for any scheduler, thread count and packet numbering."""
_POINTERS = {
    "switches": ("cells_row",),
    "ports": ("ctrl_head", "ctrl_tail", "in_head", "in_tail", "pin_head", "pin_tail", "out_first", "out_last", "pout_first",
              "pout_last", "free_pending"),
    "queues": ("head", "tail"),
    "hosts": ("rx_head", "rx_tail", "cnp_head", "cnp_tail"),
}


def digest(state: t.State) -> str:
    """SHA-256 over every observable field: equal for 1, 2 or 16 threads, windows or sequential, JIT on or off."""
    sha = hashlib.sha256()
    for name in ("ports", "qps", *OBSERVABLE):
        table = getattr(state, name)
        skipped = _POINTERS.get(name, ())
        for field in table.dtype.names:
            if field not in skipped:
                sha.update(f"{name}.{field}".encode())
                sha.update(np.ascontiguousarray(table[field]).tobytes())
    return sha.hexdigest()

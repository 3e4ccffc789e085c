"""Allocate State from a topology and parameters.

Only allocation; initial values come from the fill_ files. No rule of the model is applied here. Capacities
come from the topology; packet and trace tables grow later.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state import control_tables as ct
from fabric.dataplane.state import datagram_tables as dt
from fabric.dataplane.state import fill_notices, fill_routes
from fabric.dataplane.state import shaper_tables as st
from fabric.dataplane.state import transfer_tables as tt
from fabric.dataplane.state import types as t
from fabric.dataplane.state.codes import (
    INFINITY_PS,
    LINE,
    N_AUX,
    N_CLASSES,
    N_DROP_REASONS,
    N_DSCPS,
    N_MAIL,
    N_RANDOM_USES,
    N_SHARED,
    TELEMETRY_OF_SWITCHES,
    TELEMETRY_WORDS,
    CongestionControl,
    LoadBalance,
    Order,
    Recovery,
    RouteChoice,
    Semantics,
)
from fabric.dataplane.state.config_table import CONFIG
from fabric.dataplane.state.fill_forwarding import fill_forwarding
from fabric.dataplane.state.fill_hosts import (
    fill_boards,
    fill_controls,
    fill_hosts,
    fill_messages,
    fill_nics,
    fill_queue_pairs,
)
from fabric.dataplane.state.fill_overlay import fill_overlay
from fabric.dataplane.state.fill_pint import fill_pint
from fabric.dataplane.state.fill_streams import fill_streams
from fabric.dataplane.state.fill_switches import fill_dscp_maps, fill_ports, fill_switches
from fabric.dataplane.state.fill_tenants import routed_tables
from fabric.dataplane.state.fill_transfers import fill_transfers, issued_rows
from fabric.dataplane.state.params import EngineParams, FrameParams, TransportParams
from fabric.dataplane.state.rng import seeded
from fabric.dataplane.state.schedule import totals
from fabric.dataplane.state.share import (
    assign,
    inbox_room,
    make_tasks,
    packet_capacity,
    rows_of_one_event,
    share_out_packets,
    sides_of,
    slots,
    tasks_of,
    whole_lines,
)
from fabric.dataplane.state.streams import stream_key
from fabric.errors import InvariantError
from fabric.topology.model import Fabric

FLOWLETS_PER_SWITCH = 1024
TRACE_ROWS = 1 << 18
ANCESTRY_ROWS = 1 << 18
ARP_BYTES = 64
"""An ARP packet is shorter than the smallest Ethernet frame, so it is padded to that size (RFC 826; 802.3 clause
4A.4.2)."""


def build(
    fabric: Fabric,
    params: EngineParams,
    *,
    threads: int = 1,
    order: Order = Order.SOURCE,
    sequential: bool = False,
    trace_mask: int = 0,
    keep_messages: bool = False,
) -> t.State:
    """Allocate every table.

    Parameters
    ----------
    fabric, params : the network and its parameters; params.ports by PortId, params.switches and hosts by NodeId
    threads : threads of the run; sequential schedulers need 1
    keep_messages : finished messages of transfers wait for Emulator.drain_messages()

    Returns: State with an empty FIB (dataplane/engine/fib.py fills it) and every first event scheduled.
    Raises: InvariantError if parameters contradict the topology (scenario/compile/scenario.py should have refused
    them).
    """
    _check(fabric, params)
    n_nodes, n_hosts, n_ports = len(fabric.nodes), len(fabric.hosts), len(fabric.ports)
    n_switches, n_qps, n_messages = n_nodes - n_hosts, len(params.queue_pairs.src), len(params.messages.src)
    insertion = order is Order.INSERTION
    n_transfers, n_needs, n_issued = len(params.transfers), len(params.transfers.rows.earlier), issued_rows(params)
    n_streams = 0 if params.streams is None else len(params.streams)
    n_vnis = 0 if params.vxlan is None else len(params.vxlan.vnis)
    n_subnets, n_l3, n_routes, n_tunnels = routed_tables(fabric, params)
    devices, tree, leaf_device = _devices(fabric, _flooding_vteps(fabric, params), notices=fill_notices.used(params))
    sack_window = _sack_window(params)
    packet_slots = packet_slots_of(params)
    n_packet_slots, n_boards = int(packet_slots.sum()), max(len(packet_slots), 1)
    n_leaves = _power_of_two(len(leaf_device)) if insertion else 1
    scans = params.semantics is Semantics.NS3_RDMA
    n_pairs = max(n_qps, 1) if scans else 1
    controls = {law.congestion_control for law in laws_of(params)}
    n_dctcp = max(n_qps, 1) if controls & {CongestionControl.DCTCP, CongestionControl.NS3_DCTCP} else 1
    n_timely = max(n_qps, 1) if CongestionControl.TIMELY in controls else 1
    n_hpcc = max(n_qps, 1) if CongestionControl.HPCC in controls else 0
    codes = CongestionControl.PINT in controls
    n_senders = max(n_qps, 1) if codes else max(n_hpcc, 1)
    capacity = packet_capacity(devices)
    sides = sides_of(fabric, sequential=sequential)
    tasks = tasks_of(fabric, threads, sides, sequential=sequential)
    n_slots, inbox_rows = sum(map(slots, tasks)), sum(inbox_room(fabric, task) for task in tasks)
    state = t.State(
        config=_config(
            fabric, params, threads, order, trace_mask, sack_window, n_l3, inbox_rows, keep_messages=keep_messages
        ),
        devices=devices,
        next_ps=t.rows(n_slots, np.int64),
        tree=tree,
        ports=t.rows(n_ports, t.PORT),
        queues=t.rows(n_ports * N_CLASSES, t.QUEUE),
        pgs=t.rows(n_ports * N_CLASSES, t.PG),
        prios=t.rows(n_ports * N_CLASSES, t.PRIO),
        pools=t.rows(max(sum(len(s.pools) for s in params.switches.values()), 1), t.POOL),
        packets=t.rows(capacity, t.PACKET),
        drops=t.rows(n_ports * N_CLASSES * N_DROP_REASONS, t.DROP),
        switches=t.rows(max(n_switches, 1), t.SWITCH),
        hosts=t.rows(n_hosts, t.HOST),
        addresses=t.rows(n_hosts, t.ADDRESS),
        qps=t.rows(n_qps, t.QP),
        rqps=t.rows(n_qps, t.RQP),
        messages=t.rows(n_messages + 1 + n_issued, t.MESSAGE),
        rmessages=t.rows(n_messages + 1 + n_issued, t.RMESSAGE),
        dependents=t.rows(max(len(params.messages.after), 1), t.DEPENDENT),
        starts=t.rows(max(n_messages, 1), t.HEAP),
        waits=t.rows(max(n_qps, 1), t.HEAP),
        transfers=t.rows(max(n_transfers, 1), tt.TRANSFER),
        rtransfers=t.rows(max(n_transfers, 1), tt.RTRANSFER),
        needs=t.rows(max(n_needs, 1), tt.NEED),
        wakes=t.rows(max(n_needs, 1), np.uint32),
        agendas=t.rows(n_hosts if n_transfers else 1, tt.AGENDA),
        turns=t.rows(max(n_transfers, 1), t.HEAP),
        issued=t.rows(1 + n_issued, tt.ISSUED),
        ahead=t.rows(1 + n_issued, np.uint32),
        nics=t.rows(n_hosts if scans else 1, t.NIC),
        pairs=t.rows(n_pairs, t.PAIR),
        slots=t.rows(n_pairs, np.uint32),
        slot_bits=t.rows(1, np.int64),
        checks=t.rows(n_pairs if params.transport.variable_window else 1, t.HEAP),
        ancestry=t.rows(max(_ancestry_rows(params, order), 1), t.ANCESTRY),
        laws=t.rows(max(n_qps, 1), np.uint8),
        qp_list=t.rows(max(n_qps, 1), np.uint32),
        fib=t.rows(max(n_switches * n_hosts, 1), np.uint32),
        groups=t.rows(1, t.GROUP),
        members=t.rows(1, t.MEMBER),
        tx_ps=t.rows(t.TX_SIZES, np.int64),
        dscp_maps=t.rows(N_DSCPS, np.uint8),
        cells=t.rows(t.TX_SIZES, np.uint16),
        random=t.rows(n_nodes * N_RANDOM_USES, t.RANDOM),
        flowlets=t.rows(_flowlets(params, n_switches), t.FLOWLET),
        notices=t.rows(n_ports if fill_notices.used(params) else 1, t.NOTICE),
        noticed=t.rows(fill_notices.rows(fabric, params), t.NOTICED),
        route_sets=t.rows(1, t.ROUTE_SET),
        routes=t.rows(1, t.ROUTE),
        route_ports=t.rows(1, np.uint32),
        route_set_of=t.rows(1, np.uint32),
        route_turns=t.rows(1, np.uint32),
        nic_ports=t.rows(1, t.NIC_PORTS),
        losses=t.rows(1, t.LOSS),
        storms=t.rows(1, t.STORM),
        shares=t.rows(1 + sum(len(port.egress_shares) for port in params.ports), t.SHARE),
        shapers=t.rows(_shapers(params), st.SHAPER),
        segments=t.rows(max(n_switches * n_vnis, 1), t.SEGMENT),
        vteps=t.rows(1, np.uint32),
        known=t.rows(max(n_switches * n_hosts, 1) if n_vnis else 1, np.uint8),
        domains=t.rows(n_subnets, np.uint32),
        tenant_fib=t.rows(n_routes, np.uint32),
        ways=t.rows(2, np.uint32),
        vtep_fib=t.rows(n_tunnels, np.uint32),
        streams=t.rows(max(n_streams, 1), dt.STREAM),
        rstreams=t.rows(max(n_streams, 1), dt.RSTREAM),
        sources=t.rows(n_hosts if n_streams else 1, dt.SOURCE),
        stream_turns=t.rows(max(n_streams, 1), t.HEAP),
        datagram_drops=t.rows(n_ports * N_CLASSES * N_DROP_REASONS if n_streams else 1, t.DROP),
        asks=t.rows(max(0 if params.vxlan is None else len(params.vxlan.asks), 1), t.ASK),
        bitmap=t.rows(max(2 * n_qps * sack_window, n_packet_slots, 1), np.uint8),
        boards=t.rows(n_boards, t.BOARD),
        placements=t.rows(n_boards, t.PLACEMENT),
        dctcp=t.rows(n_dctcp, t.DCTCP),
        dctcp_receivers=t.rows(n_dctcp, t.DCTCP_RECEIVER),
        timely=t.rows(n_timely, ct.TIMELY),
        hpcc=t.rows(n_senders, ct.HPCC),
        hpcc_hops=t.rows(max(n_hpcc * ct.HOPS, 1), ct.HPCC_HOP),
        swift=t.rows(max(n_qps, 1) if CongestionControl.SWIFT in controls else 1, ct.SWIFT),
        cubic=t.rows(max(n_qps, 1) if CongestionControl.CUBIC in controls else 1, ct.CUBIC),
        departures=t.rows(n_ports if codes else 1, ct.DEPARTURE),
        loads=t.rows(n_ports if codes else 1, np.int64),
        load_terms=t.rows(n_ports if codes else 1, ct.PINT_PORT),
        logs=t.rows(ct.LOGARITHMS if codes else 1, np.int32),
        powers=t.rows(ct.POWERS if codes else 1, np.float64),
        pint_codes=t.rows(ct.CODES if codes else 1, ct.PINT_CODE),
        draws=t.rows(n_nodes if codes else 1, t.RANDOM),
        generator=seeded(params.seed) if codes and insertion else t.rows(1, np.int64),
        telemetry=t.rows(max(capacity * telemetry_words_of(params), 1), np.int64),
        sent_ps=t.rows(max(n_packet_slots, 1), np.int64),
        placed=t.rows(max(n_packet_slots, 1), np.uint32),
        trace=t.rows(threads * _trace_rows(fabric), t.TRACE),
        wires=t.rows(n_ports, t.WIRE),
        inbox=t.rows(2 * threads * inbox_rows, t.SENT),
        inbox_count=t.rows(2 * threads * whole_lines(len(tasks)), np.int64),
        threads=t.rows(threads, t.THREAD),
        tasks=t.rows(len(tasks), t.TASK),
        lists=t.rows(threads * (2 + max(sides)), t.LIST),
        assigned=t.rows(len(tasks), np.uint32),
        roster=t.rows(n_slots, np.uint32),
        shared=t.rows(LINE * (N_SHARED + N_MAIL * threads), np.int64),
        global_tree=t.rows(2 * n_leaves, np.int64),
        global_time=np.full(2 * n_leaves, INFINITY_PS, np.int64),
        global_order=t.rows(2 * n_leaves, np.int64),
        leaf_device=leaf_device,
    )
    state.next_ps[:] = INFINITY_PS
    make_tasks(state, fabric, tasks, sides)
    state.flowlets["last_ps"] = -INFINITY_PS  # every flow's first packet begins a flowlet
    if insertion:
        _link_global_tree(state)
    fill_forwarding(state, fabric, params)
    state = fill_dscp_maps(fill_ports(state, fabric, params), fabric, params)
    state = fill_switches(state, fabric, params)
    fill_notices.fill_notices(state, fabric, params)
    fill_hosts(state, fabric, params)
    if scans:
        state = fill_nics(state)
    fill_queue_pairs(state, params)
    fill_controls(state, params)
    fill_boards(state, packet_slots)
    fill_messages(state, params)
    fill_transfers(state, params)
    fill_streams(state, params)
    state = fill_overlay(state, fabric, params)
    state = fill_routes.fill_routes(state, fabric, params)
    share_out_packets(state)
    state.random["key"] = [
        stream_key(params.seed, f"{node.name}.{use}") for node in fabric.nodes for use in range(N_RANDOM_USES)
    ]
    if codes:
        fill_pint(state)
        state.draws["key"] = [stream_key(params.seed, f"{node.name}.telemetry") for node in fabric.nodes]
    assign(state, fabric, tasks, threads)
    return state


def _check(fabric: Fabric, params: EngineParams) -> None:
    if len(params.ports) != len(fabric.ports):
        raise InvariantError(f"{len(params.ports)} port parameters for {len(fabric.ports)} ports")
    for node in fabric.nodes:
        if (node.id not in params.hosts) if node.is_host else (node.id not in params.switches):
            raise InvariantError(f"no parameters for {node.name}")
        if 3 * node.n_ports + N_AUX > 1 << t.KEY_BITS:
            most = ((1 << t.KEY_BITS) - N_AUX) // 3
            raise InvariantError(f"{node.name} has {node.n_ports} ports; a device may have {most}")
    for switch in params.switches.values():
        if not switch.pools:
            raise InvariantError("a switch needs at least one pool")


def _power_of_two(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


def _trace_rows(fabric: Fabric) -> int:
    return max(TRACE_ROWS, 4 * max(48 * node.n_ports + 2 * len(fabric.nodes) + 128 for node in fabric.nodes))


def _flooding_vteps(fabric: Fabric, params: EngineParams) -> int:
    """VTEPs to which one frame may be replicated; 0 where no host broadcasts and none is silent."""
    if params.vxlan is None or not params.vxlan.floods:
        return 0
    return len({fabric.peer_of(host.first_port).id for host in fabric.hosts})


def _shapers(params: EngineParams) -> int:
    used = any(port.shaper or any(queue.shaper for queue in port.queues) for port in params.ports)
    return len(params.ports) * st.SHAPERS_OF_A_PORT if used else 1


def _flowlets(params: EngineParams, n_switches: int) -> int:
    used = any(switch.load_balance is LoadBalance.FLOWLET for switch in params.switches.values())
    return n_switches * FLOWLETS_PER_SWITCH if used else 1


def _sack_window(params: EngineParams) -> int:
    transport = params.transport
    if transport.recovery is not Recovery.SELECTIVE:
        return 0
    windows = [law.window_bytes for law in laws_of(params)]
    if min(windows) <= 0:
        raise InvariantError("selective repeat needs a window")
    window = max(windows) // int(params.payload_of_qps().min(initial=params.frames.payload_bytes))
    # No more packets are in flight than a queue pair ever sends.
    return min(window, int(_packets_of_qps(params).max(initial=0))) + 2


def laws_of(params: EngineParams) -> tuple[TransportParams, ...]:
    """The transports of all rows of State.config."""
    return params.transport, *(law.transport for law in params.laws)


def telemetry_words_of(params: EngineParams) -> int:
    """Words of State.telemetry for each packet row."""
    return max(TELEMETRY_WORDS.get(law.congestion_control, 0) for law in laws_of(params))


def _window_bytes(params: EngineParams, transport: TransportParams) -> int:
    """Bytes in flight per queue pair; a sender of out-of-order recovery never leaves the receiver's bitmap."""
    if transport.recovery is not Recovery.OUT_OF_ORDER:
        return transport.window_bytes
    most = transport.receive_bitmap_pkts * params.frames.payload_bytes
    return min(transport.window_bytes, most) if transport.window_bytes else most


def packet_slots_of(params: EngineParams) -> NDArray[np.int64]:
    """(n_qps,) packets that each queue pair may have in flight; empty unless recovery is out-of-order."""
    if params.transport.recovery is not Recovery.OUT_OF_ORDER:
        return np.empty(0, np.int64)
    if params.transport.receive_bitmap_pkts <= 0 or params.transport.reorder_window_ps <= 0:
        raise InvariantError("out-of-order recovery needs a bitmap and a reordering window")
    window = max(_window_bytes(params, law) for law in laws_of(params))
    return np.clip(_packets_of_qps(params), 1, -(-window // params.payload_of_qps()))


def _packets_of_qps(params: EngineParams) -> NDArray[np.int64]:
    """(n_qps,) packets of all messages of each queue pair, without retransmissions."""
    messages, payload = params.messages, params.payload_of_qps()
    packets = np.bincount(messages.qp, -(-messages.size_bytes // payload[messages.qp]), len(params.queue_pairs.src))
    qp = params.transfers.qp
    sent = qp >= 0
    if sent.any():
        full = np.where(sent, payload[np.maximum(qp, 0)], params.frames.payload_bytes)
        np.add.at(packets, qp[sent], totals(params.transfers.rows, full).packets[sent])
    return packets.astype(np.int64)


def _ancestry_rows(params: EngineParams, order: Order) -> int:
    """Rows of State.ancestry: only rate timers that are caught up under insertion order need parents of events."""
    used = order is Order.INSERTION and params.transport.congestion_control is CongestionControl.NS3_DCQCN
    return ANCESTRY_ROWS if used else 0


def _devices(
    fabric: Fabric, n_vteps: int, *, notices: bool
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.uint32]]:
    devices = t.rows(len(fabric.nodes), t.DEVICE)
    base = 0
    owners: list[NDArray[np.uint32]] = []
    for node in fabric.nodes:
        sources = 3 * node.n_ports + N_AUX
        leaves = _power_of_two(sources)
        row = devices[node.id]
        row["first_port"], row["n_ports"], row["tree"], row["leaves"] = node.first_port, node.n_ports, base, leaves
        row["is_host"] = node.is_host
        row["reserve"] = rows_of_one_event(node, n_vteps) + notices * node.n_ports**2
        owners.append(np.full(leaves, node.id, np.uint32))
        base += 2 * leaves
    tree = t.rows(base, np.int64)
    tree[:] = INFINITY_PS
    return devices, tree, np.concatenate(owners)


def _link_global_tree(state: t.State) -> None:
    size = len(state.global_tree) // 2
    state.global_tree[size:] = np.arange(size)
    for node in range(size - 1, 0, -1):
        state.global_tree[node] = state.global_tree[2 * node]


def _config(
    fabric: Fabric,
    params: EngineParams,
    threads: int,
    order: Order,
    trace_mask: int,
    sack_window: int,
    n_l3: int,
    inbox_rows: int,
    *,
    keep_messages: bool,
) -> NDArray[Any]:
    config = np.zeros(1 + len(params.laws), CONFIG)
    row, transport, vxlan = config[0], params.transport, params.vxlan
    values: dict[str, float] = {
        "n_nodes": len(fabric.nodes),
        "n_hosts": len(fabric.hosts),
        "n_ports": len(fabric.ports),
        "n_qps": len(params.queue_pairs.src),
        "n_threads": threads,
        "order": order,
        "next_order": len(params.messages.src) + params.transfers.rows.n_messages + 1,
        "n_messages": len(params.messages.src),
        "n_transfers": len(params.transfers),
        "n_streams": 0 if params.streams is None else len(params.streams),
        "keep_messages": keep_messages,
        "semantics": params.semantics,
        "n_laws": len(config),
        "telemetry_words": telemetry_words_of(params),
        "telemetry_of_switches": any(law.congestion_control in TELEMETRY_OF_SWITCHES for law in laws_of(params)),
        "recovery": transport.recovery,
        "flow_control": params.flow_control,
        "seed": params.seed,
        "initial_ttl": params.initial_ttl,
        "ack_every_packets": transport.ack_every_packets,
        "timeout_ps": transport.retransmit_timeout_ps,
        "retry_limit": transport.retry_limit,
        "nak_interval_ps": transport.nak_interval_ps,
        "ack_dscp": transport.ack_dscp,
        "cnp_dscp": transport.cnp_dscp,
        "ack_strict": transport.ack_strict,
        "ack_strict_at_host": transport.ack_strict_at_host,
        "sack_window_pkts": sack_window,
        "trace_mask": trace_mask,
        "trace_rows": _trace_rows(fabric),
        "inbox_rows": inbox_rows,
        "reorder_window_ps": transport.reorder_window_ps,
        "ancestry_rows": _ancestry_rows(params, order),
        "egress_detail": params.egress_detail,
        "notices": fill_notices.used(params),
        "route_choice": RouteChoice.NONE if params.source_routes is None else params.source_routes.choice,
        "nic_ports": 1,
    }
    if vxlan is not None:
        values |= {
            "vxlan": 1,
            "n_vnis": len(vxlan.vnis),
            "n_l3": n_l3,
            "arp_bytes": ARP_BYTES,
            "vxlan_uniform": vxlan.uniform_dscp,
            "vxlan_dscp": vxlan.outer_dscp,
            "vxlan_ecn_copy": vxlan.ecn_copy,
            "vxlan_ttl": vxlan.outer_ttl,
        }
    for name, value in values.items():
        row[name] = value
    config[1:] = row
    for number, (law, frames) in enumerate(
        [(transport, params.frames), *((it.transport, it.frames) for it in params.laws)]
    ):
        for name, value in _law_values(params, law, frames).items():
            config[number][name] = value
    return config


def _law_values(params: EngineParams, transport: TransportParams, frames: FrameParams) -> dict[str, float]:
    """What the rows of config may differ in: a congestion control, its window, and the sizes of its frames."""
    values: dict[str, float] = {
        "cc": transport.congestion_control,
        "payload_bytes": frames.payload_bytes,
        "data_header_bytes": frames.data_header_bytes,
        "reth_bytes": frames.reth_bytes,
        "ack_bytes": frames.ack_bytes,
        "cnp_bytes": frames.cnp_bytes,
        "pfc_bytes": frames.pfc_bytes,
        "vxlan_bytes": frames.vxlan_bytes,
        "min_gap_bytes": frames.wire_overhead_bytes,
        "window_bytes": _window_bytes(params, transport),
        "variable_window": transport.variable_window,
    }
    for control in (
        transport.dcqcn,
        transport.dctcp,
        transport.timely,
        transport.hpcc,
        transport.pint,
        transport.swift,
        transport.cubic,
    ):
        if transport.congestion_control is not CongestionControl.NONE and control is not None:
            values |= control.config_values()
    return values

"""Initial values of hosts, queue pairs and messages, with every first posting scheduled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state import types as t
from fabric.dataplane.state.bits import WORD_BITS
from fabric.dataplane.state.codes import INFINITY_PS, N_DSCPS, N_SLOT_SETS, Aux, Semantics
from fabric.dataplane.state.fill_switches import schedule_from_outside
from fabric.dataplane.state.params import EngineParams
from fabric.errors import InvariantError
from fabric.topology.model import Fabric


def fill_hosts(state: t.State, fabric: Fabric, params: EngineParams) -> None:
    """Write hosts' parameters and their regions of the shared lists."""
    counts = np.bincount(params.queue_pairs.src, minlength=len(fabric.hosts))
    order = np.argsort(params.queue_pairs.src, kind="stable")
    state.qp_list[: len(order)] = order
    first = np.concatenate([[0], np.cumsum(counts)])
    for node in fabric.hosts:
        mine = params.hosts[node.id]
        row = state.hosts[node.id]
        row["drain_bps"], row["rx_buffer_bytes"] = mine.drain_bps, mine.rx_buffer_bytes
        row["rx_xoff_bytes"], row["rx_xon_bytes"] = mine.rx_xoff_bytes, mine.rx_xon_bytes
        row["first_qp_list"], row["n_qps"], row["waits"] = first[node.id], counts[node.id], first[node.id]
        row["rx_port"] = node.first_port
        row["timeout_ps"] = INFINITY_PS
        state.devices[node.id]["latency_ps"] = mine.latency_ps


def fill_nics(state: t.State) -> t.State:
    """Room for the index of every host's queue pairs (host/ns3_index)."""
    words = -(-state.hosts["n_qps"] // WORD_BITS)
    room = N_SLOT_SETS * (words + -(-words // WORD_BITS))
    state.nics["words"] = words
    state.nics["first_word"] = np.cumsum(room) - room
    state.nics["cursor"] = -1
    return state._replace(slot_bits=t.rows(max(int(room.sum()), 1), np.int64))


def fill_queue_pairs(state: t.State, params: EngineParams) -> None:
    """Write queue pairs, idle, both sides."""
    pairs, rows = params.queue_pairs, state.qps
    if len(rows) == 0:
        return
    rows["src"], rows["dst"], rows["port"], rows["dscp"] = pairs.src, pairs.dst, pairs.port, pairs.dscp
    rows["tc"] = state.dscp_maps[state.ports["dscp_map"][pairs.port].astype(np.int64) * N_DSCPS + pairs.dscp]
    rows["words"] = (pairs.src_udp_port & 0xFFFF) | (pairs.dst_udp_port & 0xFFFF) << 16
    rows["payload_bytes"] = params.payload_of_qps()
    rows["deadline_ps"] = INFINITY_PS
    rows["alpha_at_ps"] = rows["increase_at_ps"] = INFINITY_PS
    state.rqps["nak_for_psn"] = -1
    state.rqps["last_cnp_ps"] = -INFINITY_PS


def fill_controls(state: t.State, params: EngineParams) -> None:
    """Write what congestion controls and windows need of each queue pair."""
    pairs, hpcc = params.queue_pairs, params.transport.hpcc
    window = params.transport.window_bytes if pairs.window_bytes is None else pairs.window_bytes
    if params.semantics is Semantics.NS3_RDMA:
        state.pairs["window_bytes"] = window
    if hpcc is not None:
        state.hpcc["rtt_ns"] = hpcc.base_rtt_ns if pairs.base_rtt_ns is None else pairs.base_rtt_ns
        state.hpcc["window_bytes"] = hpcc.window_bytes if pairs.window_bytes is None else pairs.window_bytes
    if pairs.law is None:
        return
    state.laws[: len(pairs.law)] = pairs.law
    for number, law in enumerate(params.laws, 1):
        if law.transport.hpcc is not None:
            mine = pairs.law == number
            state.hpcc["rtt_ns"][mine] = law.transport.hpcc.base_rtt_ns
            state.hpcc["window_bytes"][mine] = law.transport.hpcc.window_bytes


def fill_boards(state: t.State, packet_slots: NDArray[np.int64]) -> None:
    """Write the initial state of out-of-order recovery, both sides. packet_slots: (n_qps,), or empty."""
    if not len(packet_slots):
        return
    for rows in (state.boards, state.placements):
        rows["first_slot"], rows["n_slots"] = np.cumsum(packet_slots) - packet_slots, packet_slots
    boards = state.boards
    boards["newest_sent_ps"] = boards["newest_psn"] = boards["probe_psn"] = -1
    boards["min_rtt_ps"] = boards["reorder_ps"] = boards["probe_ps"] = INFINITY_PS
    boards["window_mult"] = 1
    state.qps["sacked_psn"] = INFINITY_PS


def fill_messages(state: t.State, params: EngineParams) -> None:
    """Write messages and dependencies; schedule the first posting of every host that has one without dependencies."""
    messages, rows = params.messages, state.messages
    n = len(messages.src)
    if n == 0:
        return
    rows = rows[1 : n + 1]  # those behind are for messages of transfers
    rows["qp"], rows["size_bytes"], rows["delay_ps"] = messages.qp, messages.size_bytes, messages.delay_ps
    rows["n_pkts"] = -(-messages.size_bytes // params.payload_of_qps()[messages.qp])
    rows["start_ps"] = rows["end_ps"] = -1
    rows["ready_ps"] = messages.start_ps
    state.rmessages["arrived_ps"] = state.rmessages["first_ps"] = -1
    _fill_dependents(state, params)
    waiting = rows["waits_for"] > 0
    order = np.lexsort((np.arange(n), messages.start_ps, waiting, messages.src))
    counts = np.bincount(messages.src, minlength=len(state.hosts))
    free = np.bincount(messages.src[~waiting], minlength=len(state.hosts))
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    state.hosts["starts"], state.hosts["n_starts"] = first, free
    # Sorted by (time, number) within a host, so each region is already a heap; dependent messages have room behind it.
    state.starts["time_ps"][:n] = messages.start_ps[order]
    state.starts["item"][:n] = state.starts["order"][:n] = order + 1
    for host in np.flatnonzero(free):
        # Insertion order: a posting carries its message's number, as if scheduled in file order.
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
    rows = state.messages[1 : len(messages.src) + 1]
    rows["n_deps"] = np.bincount(earlier, minlength=len(messages.src))
    rows["first_dep"] = np.searchsorted(earlier, np.arange(len(messages.src)))
    rows["waits_for"] = np.bincount(later, minlength=len(messages.src))

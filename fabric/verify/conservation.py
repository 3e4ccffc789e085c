"""Invariants that hold at every moment between two windows; each violation is a sentence.

They are numbered, so that a report can be traced: (1) packet rows, (2) wires, (3) devices per class, (4) queues, (5)
buffers, (6) pauses, (7) queue pairs, (8) signs, (9) transfers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.port.flowcontrol import counters as flow
from fabric.dataplane.state.codes import (
    FLOW_CONTROL_FRAMES,
    LINE,
    N_CLASSES,
    N_DROP_REASONS,
    Issue,
    QpState,
    Recovery,
    Shared,
)
from fabric.dataplane.state.types import NO_QP, State
from fabric.topology.model import Fabric
from fabric.verify import holdings
from fabric.verify.holdings import Held

Ints = NDArray[np.int64]


def check(state: State, fabric: Fabric, time_ps: int) -> list[str]:
    """Every violated invariant as sentences; empty if all hold.

    Parameters
    ----------
    state : State    between two windows (after Emulator.advance returned BOUND or IDLE)
    time_ps : int    the moment
    """
    places = _Places(state)
    found: list[str] = []
    for invariant in (_rows, _wires, _classes, _queues, _buffers, _pauses, _pairs, _signs, _transfers):
        found.extend(invariant(state, fabric, time_ps, places))
    return found


class _Places:
    """The place of every packet, found once."""

    def __init__(self, state: State) -> None:
        self.queued, self.control = holdings.queued(state), holdings.control(state)
        self.flying, self.buffered, self.free = holdings.flying(state), holdings.buffered(state), holdings.free(state)


def _count(held: Held, size: int, keep: NDArray[np.bool_] | None = None, weights: Ints | None = None) -> Ints:
    place = held.place if keep is None else held.place[keep]
    if weights is not None:
        weights = weights if keep is None else weights[keep]
    return np.bincount(place, weights=weights, minlength=size).astype(np.int64)


def _rows(state: State, fabric: Fabric, time_ps: int, places: _Places) -> Iterator[str]:
    """(1) Every packet row is in exactly one list."""
    everywhere = np.concatenate([held.packets for held in vars(places).values()])
    given_out = int(state.shared[Shared.SPARE_PACKET * LINE]) - 1
    if len(everywhere) != given_out or len(np.unique(everywhere)) != len(everywhere):
        yield (
            f"(1) {given_out} packet rows, {len(everywhere)} found in lists, "
            f"{len(np.unique(everywhere))} of them distinct"
        )
    counts = _count(places.free, len(fabric.nodes))
    for node in np.flatnonzero(counts != state.devices["free_count"]):
        claimed = state.devices["free_count"][node]
        yield f"(1) {fabric.nodes[node].name} counts {claimed} free rows and has {counts[node]}"


def _wires(state: State, fabric: Fabric, time_ps: int, places: _Places) -> Iterator[str]:
    """(2) Packets that a port sent have arrived at its peer, are in flight, or were lost with the link."""
    ports = state.ports
    flying = _count(places.flying, len(ports))
    sent = ports["tx_pkts"][ports["peer"]]
    for port in np.flatnonzero(sent != ports["rx_pkts"] + flying + ports["lost_pkts"]).tolist():
        yield (
            f"(2) {fabric.port_name(port)}: peer sent {sent[port]} packets, {ports['rx_pkts'][port]} arrived, "
            f"{flying[port]} are in flight, {ports['lost_pkts'][port]} were lost in flight"
        )
    size = state.packets["size"][places.flying.packets].astype(np.int64)
    flying_bytes = _count(places.flying, len(ports), weights=size)
    sent_bytes = ports["tx_bytes"][ports["peer"]]
    for port in np.flatnonzero(sent_bytes != ports["rx_bytes"] + flying_bytes + ports["lost_bytes"]).tolist():
        yield f"(2) {fabric.port_name(port)}: peer's bytes do not add up"


def _one_map(state: State) -> bool:
    """Whether a packet keeps its class through every switch: one DSCP map, queue n for class n, no outer header."""
    rows, switches = state.ports["dscp_map"], state.switches
    same = (rows == rows[0]).all() and (switches["tc_to_queue"] == np.arange(N_CLASSES)).all()
    return bool(same) and not state.config[0]["vxlan"]


def _classes(state: State, fabric: Fabric, time_ps: int, places: _Places) -> Iterator[str]:
    """(3) Per switch and class: packets in = out + queued + dropped (frames lost in flight are drops that never came
    in; replicated broadcasts come in as often as they are copied).
    """
    if state.config[0]["ack_strict"] != 0:
        return  # there, ACKs pass through control queues, outside the classes
    node = state.ports["node"].astype(np.int64)
    row_of = np.repeat(node, N_CLASSES) * N_CLASSES + np.tile(np.arange(N_CLASSES), len(node))
    size = len(fabric.nodes) * N_CLASSES
    at = node[places.queued.place // N_CLASSES] * N_CLASSES + state.packets["tc"][places.queued.packets]
    balance = (
        np.bincount(row_of, state.pgs["rx_pkts"] + state.pgs["lost_pkts"], size)
        - np.bincount(at, minlength=size)
        - np.bincount(row_of, state.queues["sent_pkts"], size)
        - np.bincount(row_of, state.drops["pkts"].reshape(-1, N_DROP_REASONS).sum(axis=1), size)
    ).reshape(-1, N_CLASSES)
    if not _one_map(state):
        balance = balance.sum(axis=1, keepdims=True)
        balance[len(fabric.hosts) :, 0] += state.switches["net_copies"][: len(fabric.switches)]
    for switch in range(len(fabric.hosts), len(fabric.nodes)):
        for c in np.flatnonzero(balance[switch]):
            missing = int(balance[switch, c])
            yield f"(3) {fabric.nodes[switch].name} class {c}: {missing} packets arrived and are nowhere"


def _queues(state: State, fabric: Fabric, time_ps: int, places: _Places) -> Iterator[str]:
    """(4) Per queue: counters and contents agree."""
    queues = state.queues
    held = _count(places.queued, len(queues))
    size = _count(places.queued, len(queues), weights=state.packets["size"][places.queued.packets].astype(np.int64))
    hosts = state.devices["is_host"][state.ports["node"]].repeat(N_CLASSES) == 1
    wrong = (held != queues["depth_pkts"]) | (size != queues["depth_bytes"])
    wrong |= ~hosts & (queues["enqueued_pkts"] - queues["sent_pkts"] - queues["flushed_pkts"] != queues["depth_pkts"])
    for row in np.flatnonzero(wrong).tolist():
        yield (
            f"(4) {fabric.port_name(row // N_CLASSES)} queue {row % N_CLASSES}: "
            f"holds {held[row]} packets, {size[row]} bytes; "
            f"counts {queues['depth_pkts'][row]}, {queues['depth_bytes'][row]}"
        )


def _buffers(state: State, fabric: Fabric, time_ps: int, places: _Places) -> Iterator[str]:
    """(5) Per priority group and pool: charged bytes equal held bytes."""
    packets, pgs = state.packets, state.pgs
    rows = places.queued.packets
    at = state.ports["node"][places.queued.place // N_CLASSES]
    keep = state.devices["is_host"][at] == 0
    rows, at = rows[keep], at[keep].astype(np.int64) - len(fabric.hosts)
    group = packets["in_port"][rows].astype(np.int64) * N_CLASSES + state.switches["tc_to_pg"][at, packets["tc"][rows]]
    charged = np.bincount(group, packets["charged"][rows], len(pgs)).astype(np.int64)
    for row in np.flatnonzero(charged != pgs["use_bytes"] + pgs["headroom_bytes"]).tolist():
        yield (
            f"(5) {fabric.port_name(row // N_CLASSES)} PG {row % N_CLASSES}: holds {charged[row]} bytes, "
            f"is charged {pgs['use_bytes'][row]} + {pgs['headroom_bytes'][row]}"
        )
    on_switch = state.devices["is_host"][state.ports["node"]].repeat(N_CLASSES) == 0
    shared = np.where(on_switch, np.maximum(pgs["use_bytes"] - pgs["reserved_bytes"], 0), 0)
    taken = state.queues["depth_bytes"]
    if state.config[0]["egress_detail"]:
        taken = np.maximum(state.queues["use_bytes"] - state.queues["reserved_bytes"], 0)
        shares = np.bincount(state.queues["share"], taken, len(state.shares)).astype(np.int64)
        counted = state.shares["used_bytes"]
        for row in (np.flatnonzero(shares[1:] != counted[1:]) + 1).tolist():
            yield f"(5) egress share {row}: {shares[row]} bytes are held, {counted[row]} are counted"
    depth = np.where(on_switch, taken, 0)
    used = np.bincount(pgs["pool"], shared, len(state.pools)) + np.bincount(
        state.queues["pool"], depth, len(state.pools)
    )
    for row in np.flatnonzero(used.astype(np.int64) != state.pools["used_bytes"]).tolist():
        yield f"(5) pool {row}: {int(used[row])} bytes are held, {state.pools['used_bytes'][row]} are counted"


def _pauses(state: State, fabric: Fabric, time_ps: int, places: _Places) -> Iterator[str]:
    """(6) Pause frames and pause times are balanced."""
    ports, prios, packets = state.ports, state.prios, state.packets
    flying = places.flying.packets[np.isin(packets["kind"][places.flying.packets], FLOW_CONTROL_FRAMES)]
    lost = ports["lost_pkts"].sum() + ports["fcs_errors"].sum()
    for name, wanted in (("xoff", 1), ("xon", 0)):
        for c in range(N_CLASSES):
            bit = (packets["classes"][flying] >> c & 1 == 1) & (packets["xoff"][flying] >> c & 1 == wanted)
            sent = int(prios[f"tx_{name}_pkts"][c::N_CLASSES].sum())
            received = int(prios[f"rx_{name}_pkts"][c::N_CLASSES].sum())
            missing = sent - received - int(bit.sum())
            if missing < 0 or missing > lost:
                yield f"(6) class {c}: {sent} {name} frames sent, {received} received, {int(bit.sum())} in flight"
    paused = flow.paused(ports).reshape(-1)
    wrong = prios["pauses"] - prios["on2off_pkts"] != paused
    wrong |= prios["rx_paused_ps"] + np.where(paused, time_ps - prios["since_ps"], 0) > time_ps
    for row in np.flatnonzero(wrong).tolist():
        yield f"(6) {fabric.port_name(row // N_CLASSES)} class {row % N_CLASSES}: pauses are not balanced"


def _pairs(state: State, fabric: Fabric, time_ps: int, places: _Places) -> Iterator[str]:
    """(7) Per queue pair: acknowledged <= next <= posted, the receiver is never ahead of the sender, and packets
    in flight fit the bitmap of a receiver that has one.
    """
    qps, rqps = state.qps, state.rqps
    wrong = (qps["acked_psn"] > qps["next_psn"]) | (qps["next_psn"] > qps["posted_psn"])
    wrong |= qps["top_psn"] > qps["posted_psn"]
    wrong |= rqps["expected_psn"] > qps["top_psn"]
    if state.config[0]["recovery"] == Recovery.OUT_OF_ORDER:  # nothing in flight lies beyond the receiver's bitmap
        live = qps["state"] != QpState.FAILED
        wrong |= live & (qps["next_psn"] - qps["acked_psn"] > state.boards["n_slots"])
    for row in np.flatnonzero(wrong).tolist():
        yield (
            f"(7) queue pair {row}: acknowledged {qps['acked_psn'][row]}, next {qps['next_psn'][row]}, "
            f"posted {qps['posted_psn'][row]}"
        )


def _signs(state: State, fabric: Fabric, time_ps: int, places: _Places) -> Iterator[str]:
    """(8) No counter is negative, and no pool holds more than its size."""
    for table in ("queues", "pools", "prios", "ports", "hosts", "qps"):
        rows = getattr(state, table)
        for field in rows.dtype.names:
            if (
                field.endswith(("_bytes", "_pkts"))
                and field not in ("limit_bytes", "least_margin_bytes")
                and (rows[field] < 0).any()
            ):
                yield f"(8) {table}.{field} is negative in row {int(np.flatnonzero(rows[field] < 0)[0])}"
    for row in np.flatnonzero(state.pools["headroom_used_bytes"] > state.pools["headroom_size_bytes"]).tolist():
        yield (
            f"(8) pool {row}: shared headroom {state.pools['headroom_used_bytes'][row]} "
            f"of {state.pools['headroom_size_bytes'][row]}"
        )


def _transfers(state: State, fabric: Fabric, time_ps: int, places: _Places) -> Iterator[str]:
    """(9) Per transfer: completed <= arrived <= posted <= count; every message row is free, under way or read later,
    and those under way of a transfer are its posted messages that have not ended.
    """
    n = int(state.config[0]["n_transfers"])
    if not n:
        return
    rows, arrived, marks = state.transfers[:n], state.rtransfers["arrived"][:n], state.issued
    sent = rows["qp"] != NO_QP
    wrong = (rows["completed"] > rows["posted"]) | (rows["posted"] > rows["count"])
    wrong |= sent & ((rows["completed"] > arrived) | (arrived > rows["posted"]))
    for row in np.flatnonzero(wrong).tolist():
        counts = f"{rows['posted'][row]} posted, {arrived[row]} arrived, {rows['completed'][row]} completed"
        yield f"(9) transfer {row} of {rows['count'][row]} messages: {counts}"
    live = np.flatnonzero(marks["state"] == Issue.LIVE)
    index = marks["index"][live]
    of = marks["transfer"][live]
    for row in np.unique(of[(index >= rows["posted"][of]) | (index < rows["completed"][of])]).tolist():
        yield f"(9) transfer {row}: a message under way was not posted, or has ended"
    free = 0
    for head in (*state.agendas["free"].tolist(), *state.agendas["done"].tolist()):
        at = head
        while at and free <= len(marks):
            free, at = free + 1, int(state.messages["next"][at])
    given_out = int(state.shared[Shared.SPARE_MESSAGE * LINE]) - 1 - int(state.config[0]["n_messages"])
    if free + len(live) != given_out:
        yield f"(9) {given_out} message rows, {free} in lists and {len(live)} under way"

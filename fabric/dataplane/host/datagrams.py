"""Datagrams without a transport: made at a constant rate, counted where they arrive (docs/decisions/0072).

Rules
1. A stream makes its datagrams at start + k * interval, whatever happens to the earlier ones: no ACK, no window, no
   rate of congestion control. Parts of a picosecond add up, so the mean rate is exact.
2. A datagram joins the NIC's queue of its class. That queue holds at most QUEUE_PKTS frames, as Linux's default
   txqueuelen; beyond it the datagram is refused: counted, not sent, and no drop of the network.
3. Queued frames go before new RDMA data of their class, as all frames of a NIC queue do (host/nic).
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.host import nic
from fabric.dataplane.host.messages import heap_pop, heap_push
from fabric.dataplane.state import calendar, pool, trace
from fabric.dataplane.state.codes import INFINITY_PS, Aux, Ecn, PacketKind
from fabric.dataplane.state.compiled.jit import i64, kernel
from fabric.dataplane.state.types import State

QUEUE_PKTS = 1000
"""Frames that may wait in a NIC's queue of one class when a datagram joins it (Linux: DEFAULT_TX_QUEUE_LEN)."""

_DATAGRAM = int(PacketKind.DATAGRAM)
_AUX = int(Aux.DATAGRAM)
_CE = int(Ecn.CE)


@kernel
def _next_ps(state: State, stream: int, now_ps: int) -> int:
    """Time of the datagram after the one that is due now."""
    row = state.streams[stream]
    time_ps, fraction = now_ps + i64(row["interval_ps"]), i64(row["fraction"]) + i64(row["rest"])
    if fraction >= row["rate_bps"]:
        fraction -= i64(row["rate_bps"])
        time_ps += 1
    row["fraction"] = fraction
    return time_ps


@kernel
def on_due(state: State, device: int, now_ps: int) -> None:
    """Make the datagram that is due, and schedule the next of this host."""
    source = state.sources[device]
    base, count = i64(source["first"]), i64(source["n_turns"])
    stream = i64(state.stream_turns[base]["item"])
    heap_pop(state.stream_turns, base, count)
    count -= 1
    row = state.streams[stream]
    row["left"] -= 1
    if row["left"] > 0:
        heap_push(state.stream_turns, base, count, _next_ps(state, stream, now_ps), stream, stream)
        count += 1
    source["n_turns"] = count
    next_ps = INFINITY_PS
    if count > 0:
        next_ps = i64(state.stream_turns[base]["time_ps"])
    calendar.schedule(state, device, calendar.aux_source(state, device, _AUX), next_ps, calendar.NEW_ORDER)
    port = i64(row["port"])
    if state.queues[port * 8 + i64(row["tc"])]["depth_pkts"] >= QUEUE_PKTS:
        row["refused_pkts"] += 1
        state.hosts[device]["datagrams_refused"] += 1
        return
    row["sent_pkts"] += 1
    state.hosts[device]["datagrams_sent"] += 1
    packet = pool.take(state, device)
    frame = state.packets[packet]
    frame["kind"], frame["size"], frame["payload"], frame["flags"] = _DATAGRAM, row["size"], 0, 0
    frame["src"], frame["dst"], frame["seq"], frame["msg"] = device, row["dst"], 0, stream
    frame["qp"], frame["words"] = trace.NO_QP, row["words"]
    frame["dscp"], frame["tc"], frame["ecn"] = row["dscp"], row["tc"], row["ecn"]
    frame["ttl"], frame["unseen_hops"] = state.config[0]["initial_ttl"], 0
    nic.queue_frame(state, device, port, packet, now_ps)


@kernel
def receive(state: State, device: int, packet: np.uint32, now_ps: int) -> None:
    """Count a datagram that has arrived."""
    frame = state.packets[packet]
    row = state.rstreams[frame["msg"]]
    row["received_pkts"] += 1
    state.hosts[device]["datagrams_received"] += 1
    if i64(frame["ecn"]) == _CE:
        row["marked_pkts"] += 1
        state.hosts[device]["datagrams_marked"] += 1
    if row["first_ps"] < 0:
        row["first_ps"] = now_ps
    row["last_ps"] = now_ps
    pool.give(state, device, packet)

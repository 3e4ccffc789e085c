"""Ideal completion time: one message alone on an idle fabric, exactly as the engine simulates it.

From posting to the arrival of the last ACK at the sender. Store and forward at every hop; a frame occupies a link for
(frame + wire overhead) at the link's rate, rounded up to whole picoseconds; each hop adds propagation and the latency
of the receiving device. The path is the fastest of the shortest paths. Not included: windows, congestion control, the
choice of ECMP.

A queue pair whose packets leave by several NIC ports in turn has as many such paths, taken to be alike: a packet leaves
one gap at the sum of the ports' rates after the one before (host/nic_ports), and follows those of its own port.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state.codes import RouteChoice, Semantics
from fabric.dataplane.state.fill_routes import reached
from fabric.dataplane.state.params import EngineParams
from fabric.dataplane.state.timing import serialisation_row
from fabric.topology.model import Fabric
from fabric.topology.paths import DELIVER, EcmpTable, equal_cost_ports
from fabric.units import PS_PER_S

Ints = NDArray[np.int64]
_FAR: Final = 2**62


@dataclass(frozen=True)
class Paths:
    """The fastest shortest path of each queue pair, hop by hop; columns past the end of a path are -1."""

    port: Ints
    """(n, max hops) port that sends; the first is the host's own."""
    hops: Ints
    """(n,) links on the path."""


@dataclass(frozen=True)
class NicShare:
    """The NIC ports by which each queue pair's packets leave in turn."""

    ports: Ints
    """(n,) how many."""
    line_bps: Ints
    """(n,) the sum of their rates."""


def nic_share(fabric: Fabric, params: EngineParams, routes: EcmpTable) -> NicShare:
    """What each queue pair has of its NIC: one port, or all that reach its receiver (host/nic_ports)."""
    pairs = params.queue_pairs
    rate = np.array([fabric.links[port.link].rate_bps for port in fabric.ports], np.int64)
    if params.source_routes is None or params.source_routes.choice is not RouteChoice.PACKET:
        return NicShare(np.ones(len(pairs.src), np.int64), rate[pairs.port])
    reach = reached(fabric, routes, pairs)[: len(pairs.src)]
    first = np.array([host.first_port for host in fabric.hosts], np.int64)[pairs.src]
    port = np.where(reach, first[:, None] + np.arange(reach.shape[1]), first[:, None])
    return NicShare(reach.sum(axis=1), np.where(reach, rate[port], 0).sum(axis=1))


def ideal_fct_ps(fabric: Fabric, params: EngineParams, routes: EcmpTable | None = None) -> Ints:
    """Ideal completion time of every message of `params`.

    Parameters
    ----------
    fabric, params      those of the engine
    routes              equal-cost paths of the fabric; computed where absent

    Returns: (n_messages,) picoseconds. Raises: nothing; pairs without a path get -1.
    Source: last-passage time of a tandem of deterministic queues; with at most three frame sizes (first, middle, last)
    the maximum over all paths through (frames x hops) has the closed form used here.
    """
    messages = params.messages
    return _ideal_ps(fabric, params, routes, messages.qp, messages.size_bytes)


def ideal_transfers_ps(fabric: Fabric, params: EngineParams, routes: EcmpTable | None = None) -> Ints:
    """(n_transfers, 2) the same of a transfer's short and long messages; -1 of computations and where it has none."""
    rows, qp = params.transfers.rows, params.transfers.qp
    found = np.full((len(qp), 2), -1, np.int64)
    for column, size in enumerate((rows.small_bytes, rows.small_bytes + rows.unit_bytes)):
        sent = np.flatnonzero((qp >= 0) & (size > 0))
        kinds, of = np.unique(np.stack([qp[sent], size[sent]]), axis=1, return_inverse=True)
        found[sent, column] = _ideal_ps(fabric, params, routes, kinds[0], kinds[1])[of.reshape(-1)]
    return found


def _ideal_ps(fabric: Fabric, params: EngineParams, routes: EcmpTable | None, qp: Ints, size_bytes: Ints) -> Ints:
    if not len(qp):
        return np.empty(0, np.int64)
    routes, pairs = routes if routes is not None else equal_cost_ports(fabric), params.queue_pairs
    forward = _paths(fabric, params, routes, pairs.dst, pairs.port)
    back_port = _arrival_port(fabric, forward, pairs.dst)
    backward = _paths(fabric, params, routes, pairs.src, back_port)
    share = nic_share(fabric, params, routes)
    return _complete(fabric, params, forward, backward, share, qp, size_bytes)


def base_rtt_ps(fabric: Fabric, params: EngineParams, routes: EcmpTable) -> Ints:
    """(n_qps,) picoseconds from posting one full packet to its ACK on an idle fabric."""
    pairs = params.queue_pairs
    forward = _paths(fabric, params, routes, pairs.dst, pairs.port)
    backward = _paths(fabric, params, routes, pairs.src, _arrival_port(fabric, forward, pairs.dst))
    every = np.arange(len(pairs.src))
    share = nic_share(fabric, params, routes)
    return _complete(fabric, params, forward, backward, share, every, params.payload_of_qps())


@dataclass(frozen=True)
class Course:
    """What the fastest shortest path of each queue pair consists of; columns past the end of a path have port -1."""

    port: Ints
    """(n, max hops) port that sends."""
    rate_bps: Ints
    """(n, max hops) of its link."""
    overhead_bytes: Ints
    """(n, max hops) what a frame costs there beyond its size."""
    last: Ints
    """(n,) port of the receiving host."""

    @property
    def first(self) -> Ints:
        """(n,) port of the sending host."""
        return self.port[:, 0]


def courses(fabric: Fabric, params: EngineParams, routes: EcmpTable | None = None) -> Course:
    """The paths that ideal_arrival_ps() assumes, of all queue pairs."""
    pairs = params.queue_pairs
    paths = _paths(fabric, params, routes if routes is not None else equal_cost_ports(fabric), pairs.dst, pairs.port)
    rate, _, _ = _link_columns(fabric, params)
    return Course(
        paths.port, rate[paths.port], _overheads(fabric, params)[paths.port], _arrival_port(fabric, paths, pairs.dst)
    )


def _link_columns(fabric: Fabric, params: EngineParams) -> tuple[Ints, Ints, Ints]:
    """Per port: rate, delay including the receiving device's latency, peer node."""
    rate = np.array([fabric.links[port.link].rate_bps for port in fabric.ports], np.int64)
    peer = np.array([fabric.ports[port.peer].node for port in fabric.ports], np.int64)
    latency = np.array(
        [params.reception_ps(port.peer, int(node)) for port, node in zip(fabric.ports, peer, strict=True)]
    )
    delay = np.array([fabric.links[port.link].delay_ps for port in fabric.ports], np.int64) + latency
    return rate, delay, peer


def _overheads(fabric: Fabric, params: EngineParams) -> Ints:
    """Per port: bytes that count beyond a frame's size."""
    return np.array([params.overhead_of(port.id) for port in fabric.ports], np.int64)


def _tx_ps(params: EngineParams, size_bytes: Ints | int, rate_bps: Ints) -> Ints:
    if params.semantics is Semantics.NS3_RDMA:
        return _ns3_rdma_tx_ps(np.asarray(size_bytes, np.int64), rate_bps)
    # Exact below 2**63: a frame of 16 KiB is 131,072 bits x 10**12. At least a byte: state/timing.py.
    ticks: Ints = -(-(np.maximum(np.asarray(size_bytes, np.int64), 1) * 8 * PS_PER_S) // rate_bps)
    return ticks


def _ns3_rdma_tx_ps(size_bytes: Ints, rate_bps: Ints) -> Ints:
    sizes, rates = np.broadcast_arrays(size_bytes, rate_bps)
    ticks = np.zeros(sizes.shape, np.int64)
    for rate in np.unique(rates).tolist():
        ticks = np.where(rates == rate, serialisation_row(rate, 0, Semantics.NS3_RDMA)[sizes], ticks)
    return ticks


def _paths(fabric: Fabric, params: EngineParams, routes: EcmpTable, dst: Ints, first: Ints) -> Paths:
    """Walk all pairs at once: at every switch the member of the group with the least remaining time for a full
    frame.
    """
    rate, delay, peer = _link_columns(fabric, params)
    frame = params.frames.data_header_bytes + params.frames.payload_bytes + _overheads(fabric, params)
    cost = _tx_ps(params, frame, rate) + delay
    best = _best_ports(fabric, routes, cost, peer)
    last = {key: min(ports, key=lambda port: int(cost[port])) for key, ports in routes.delivery.items()}
    n_nodes = len(fabric.nodes)
    last_keys = np.array(sorted(switch * n_nodes + host for switch, host in last), np.int64)
    last_ports = np.array([last[key] for key in sorted(last, key=lambda key: key[0] * n_nodes + key[1])], np.int64)
    class_ = routes.class_of_host[dst].astype(np.int64)
    columns = [np.asarray(first, np.int64)]
    here = peer[columns[0]]
    while np.any(moving := here != dst):
        group = routes.group_of[here, class_]
        deliver = moving & (group == DELIVER)
        place = np.minimum(np.searchsorted(last_keys, here * n_nodes + dst), max(len(last_keys) - 1, 0))
        step = np.where(deliver, last_ports[place], np.where(moving & (group >= 0), best[here, class_], -1))
        columns.append(step)
        here = np.where(step >= 0, peer[step], dst)
    port = np.stack(columns, axis=1)
    reached = peer[port[np.arange(len(port)), (port >= 0).sum(axis=1) - 1]] == dst
    return Paths(port, np.where(reached, (port >= 0).sum(axis=1), 0))


def _best_ports(fabric: Fabric, routes: EcmpTable, cost: Ints, peer: Ints) -> Ints:
    """(n_nodes, n_classes) port of the fastest shortest path, computed by distance outwards from each class."""
    n_nodes, n_classes = routes.group_of.shape
    to_go = np.full((n_nodes, n_classes), _FAR, np.int64)
    best = np.full((n_nodes, n_classes), -1, np.int64)
    to_go[routes.distance == 0] = 0
    switches = [node.id for node in fabric.switches]
    for distance in range(1, int(routes.distance.max(initial=0)) + 1):
        for node in switches:
            groups = routes.group_of[node]
            at = np.flatnonzero((routes.distance[node] == distance) & (groups >= 0))
            for group in np.unique(groups[at]):
                classes = at[groups[at] == group]
                ports = np.array(routes.groups[group], np.int64)
                times = to_go[peer[ports]][:, classes] + cost[ports][:, None]
                pick = times.argmin(axis=0)
                to_go[node, classes] = times[pick, np.arange(len(classes))]
                best[node, classes] = ports[pick]
    return best


def _arrival_port(fabric: Fabric, forward: Paths, dst: Ints) -> Ints:
    """Port by which an acknowledgement leaves: the one its data arrived at."""
    last = forward.port[np.arange(len(dst)), np.maximum(forward.hops - 1, 0)]
    peer = np.array([port.peer for port in fabric.ports], np.int64)
    first = np.array([host.first_port for host in fabric.hosts], np.int64)
    return np.where(forward.hops > 0, peer[last], first[dst])


def _overlay(params: EngineParams, paths: Paths) -> NDArray[np.bool_]:
    """(n, hops) hops on which frames have an outer header: between the first and the last switch."""
    if params.vxlan is None:
        return np.zeros(paths.port.shape, np.bool_)
    place = np.arange(paths.port.shape[1])[None, :]
    return (place > 0) & (place < paths.hops[:, None] - 1)


def _complete(
    fabric: Fabric, params: EngineParams, forward: Paths, backward: Paths, share: NicShare, qp: Ints, size_bytes: Ints
) -> Ints:
    frames, every = params.frames, params.transport.ack_every_packets
    payload = params.payload_of_qps()[qp]
    packets = np.maximum(-(-size_bytes // payload), 1)
    rest = size_bytes - (packets - 1) * payload
    arrive_last = _data_ps(fabric, params, forward, share, qp, packets, rest)
    # The ACK before the last one may still be on a link when the last one needs it (tiny last packets).
    before = packets - 1
    has_before = (before > 0) & (before % every == 0) & (share.ports[qp] == 1)
    arrive_before = np.where(
        has_before, _data_ps(fabric, params, forward, share, qp, np.maximum(before, 1), payload), -_FAR // 2
    )
    rate, delay, _ = _link_columns(fabric, params)
    valid = backward.port >= 0
    overlay = _overlay(params, backward)
    wire = frames.ack_bytes + _overheads(fabric, params)[backward.port] + np.where(overlay, frames.vxlan_bytes, 0)
    tx = np.where(valid, _tx_ps(params, wire, rate[backward.port]), 0)
    fixed = np.where(valid, delay[backward.port], 0).sum(axis=1)
    total, slowest = tx.sum(axis=1), tx.max(axis=1)
    done = np.maximum(arrive_last + total[qp], arrive_before + total[qp] + slowest[qp]) + fixed[qp]
    return np.where((forward.hops[qp] > 0) & (backward.hops[qp] > 0), done, -1)


def _data_ps(
    fabric: Fabric, params: EngineParams, paths: Paths, share: NicShare, qp: Ints, packets: Ints, last_payload: Ints
) -> Ints:
    """Arrival of all of `packets` frames of which the first has a RETH and the last carries `last_payload`."""
    begins = np.ones(len(qp), np.bool_)
    whole = _one_path_ps(fabric, params, paths, qp, packets, last_payload, begins)
    several = share.ports[qp] > 1
    if not several.any():
        return whole
    spread = _in_turn_ps(fabric, params, paths, share, qp, packets, last_payload)
    return np.where(several, spread, whole)


def _in_turn_ps(
    fabric: Fabric, params: EngineParams, paths: Paths, share: NicShare, qp: Ints, packets: Ints, last_payload: Ints
) -> Ints:
    """The same over all ports of the NIC in turn: the later of the last frame and the one before, each behind the other
    frames of its port.
    """
    full, n_ports = params.payload_of_qps()[qp], share.ports[qp]
    head = params.frames.data_header_bytes + _overheads(fabric, params)[paths.port[qp, 0]]
    gap, first_gap = (_tx_ps(params, head + more + full, share.line_bps[qp]) for more in (0, params.frames.reth_bytes))
    found = np.zeros(len(qp), np.int64)
    for frame, carried in ((np.maximum(packets - 2, 0), full), (packets - 1, last_payload)):
        # The first frame of this one's port, and how many frames leave by that port until this one.
        first, behind = frame % n_ports, frame // n_ports + 1
        begun = np.where(first > 0, first_gap + (first - 1) * gap, 0)
        size = np.where(packets == 1, last_payload, carried)
        found = np.maximum(found, begun + _one_path_ps(fabric, params, paths, qp, behind, size, first == 0))
    return found


def _one_path_ps(
    fabric: Fabric,
    params: EngineParams,
    paths: Paths,
    qp: Ints,
    packets: Ints,
    last_payload: Ints,
    begins: NDArray[np.bool_],
) -> Ints:
    """Arrival of the last of `packets` frames, all of them on one path; begins: the first one has a RETH."""
    rate, delay, _ = _link_columns(fabric, params)
    frames = params.frames
    valid = paths.port >= 0
    payload = params.payload_of_qps()[:, None]
    head = frames.data_header_bytes + _overheads(fabric, params)[paths.port]
    extra = np.where(_overlay(params, paths), frames.vxlan_bytes, 0)
    rates = rate[paths.port]
    # Full-size frames depend on the path only; the last frame depends on the message.
    first = np.where(valid, _tx_ps(params, head + frames.reth_bytes + payload + extra, rates), 0)
    middle = np.where(valid, _tx_ps(params, head + payload + extra, rates), 0)
    fixed = np.where(valid, delay[paths.port], 0).sum(axis=1)[qp]
    reth = np.where((packets == 1) & begins, frames.reth_bytes, 0)
    last = np.where(valid[qp], _tx_ps(params, head[qp] + (reth + last_payload)[:, None] + extra[qp], rates[qp]), 0)
    n_hops = paths.port.shape[1]
    # Suffix sums of the last frame's times, prefix sums of the first one's: a path through the grid goes right along
    # the first frame to hop p, down through the middle frames between p and q, and right along the last frame from q.
    suffix = np.cumsum(last[:, ::-1], axis=1)[:, ::-1]
    prefix = np.cumsum(first, axis=1)[qp]
    if not begins.all():
        prefix = np.where(begins[:, None], prefix, np.cumsum(middle, axis=1)[qp])
    middles = np.maximum(packets - 2, 0)
    best = np.where(packets == 1, suffix[:, 0], 0)
    some, many = packets >= 2, packets >= 3
    sums = np.cumsum(np.c_[np.zeros(len(middle), np.int64), middle], axis=1)
    for p in range(n_hops):
        inside = valid[qp, p]
        best = np.where(some & ~many & inside, np.maximum(best, prefix[:, p] + suffix[:, p]), best)
        peak = np.zeros(len(middle), np.int64)
        for q in range(p, n_hops):
            peak = np.maximum(peak, middle[:, q])
            through = (sums[:, q + 1] - sums[:, p])[qp] + (middles - 1) * peak[qp]
            best = np.where(many & valid[qp, q], np.maximum(best, prefix[:, p] + through + suffix[:, q]), best)
    arrival: Ints = best + fixed
    return arrival


def ideal_arrival_ps(fabric: Fabric, params: EngineParams, routes: EcmpTable | None = None) -> Ints:
    """(n_messages,) picoseconds from posting to the arrival of the last byte, alone on an idle fabric.

    Parameters and source as ideal_fct_ps(); pairs without a path get -1.
    """
    routes = routes if routes is not None else equal_cost_ports(fabric)
    messages, pairs = params.messages, params.queue_pairs
    if not len(messages.src):
        return np.empty(0, np.int64)
    forward = _paths(fabric, params, routes, pairs.dst, pairs.port)
    payload = params.payload_of_qps()[messages.qp]
    packets = np.maximum(-(-messages.size_bytes // payload), 1)
    rest = messages.size_bytes - (packets - 1) * payload
    arrival = _data_ps(fabric, params, forward, nic_share(fabric, params, routes), messages.qp, packets, rest)
    return np.where(forward.hops[messages.qp] > 0, arrival, -1)

"""What each transfer of a collective costs on the idle fabric of a run, from the run's own figures.

A byte costs its share of headers and gaps on the slowest link of its path and, where ranks send and receive at the same
time, of the acknowledgements that leave by the same ports. Both follow from the packets of its message: 391 B have a
whole header. Alpha is what remains of the arrival of a message that is alone: propagation, latency of switches,
store and forward. GPUs of a server reach each other over scale-up links, others over a NIC, so a rank may have several
ports and messages of one schedule may cost differently.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fabric.collectives.longest_path import Link, Links
from fabric.collectives.transfers import Transfers
from fabric.dataplane.state.params import EngineParams, Messages
from fabric.dataplane.state.schedule import longer_messages
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.topology.model import Fabric
from fabric.topology.paths import equal_cost_ports
from fabric.workload.ideal import Course, NicShare, courses, ideal_arrival_ps, nic_share

Ints = NDArray[np.int64]
MOST_PIECES = 500_000
"""Pieces of messages that take turns on the longest path: some seconds."""
_ALIKE = 0.02
"""Relative difference of alphas that counts as none: pieces of a buffer differ by an element."""


@dataclass(frozen=True)
class RunLinks:
    """Costs of one operation's messages."""

    links: Links
    """Of each transfer of the schedule, without acknowledgements."""
    ack_share: NDArray[np.float64]
    """(n,) bytes of acknowledgements for a byte of data, both as they are on the wire."""
    near: Link | None
    """Mean of messages over scale-up links; None: there is none."""
    far: Link | None
    """Mean of messages over NICs; None: there is none."""
    inside: NDArray[np.bool_]
    """(n,) transfers over scale-up links."""

    def alike(self, node_size: int, schedule: Transfers) -> bool:
        """Whether one cost holds for all messages between nodes and one for all inside nodes of so many ranks: closed
        forms have no others.
        """
        sent = schedule.src != schedule.dst
        if self.near is not None and self.far is not None:
            same_node = schedule.src // node_size == schedule.dst // node_size
            if (same_node[sent] != self.inside[sent]).any():
                return False
        kinds = [self.links.alpha_ps[sent & kind] for kind in (self.inside, ~self.inside)]
        return all(int(np.ptp(alpha)) <= _ALIKE * int(alpha.max()) for alpha in kinds if len(alpha))

    def several_queues(self) -> bool:
        """Whether any port serves more than one queue pair."""
        used = self.links.send_port >= 0
        pairs = np.unique(np.stack([self.links.send_port[used], self.links.queue[used]], axis=1), axis=0)
        return len(pairs) > len(np.unique(pairs[:, 0]))

    @property
    def main(self) -> Link:
        """Of the slower kind: the one that a table names."""
        found = self.far or self.near
        return Link(0, 0) if found is None else found


def links_of(compiled: CompiledScenario, n_transfers: int, pieces: int) -> RunLinks:
    """Costs of the first `n_transfers` transfers of a run, which are those of its first operation.

    Parameters
    ----------
    pieces : int    messages that a rank sends back to back: together they are long enough for acknowledgements to share
        a port with them, or not, because the first acknowledgement follows the first arrival
    """
    fabric, params = compiled.fabric, compiled.params
    messages, transfer, number = messages_of(params, n_transfers)
    routes = equal_cost_ports(fabric)
    course, share = courses(fabric, params, routes), nic_share(fabric, params, routes)
    beta = _fs_per_byte(params, course, share, messages)
    extra_ps = ideal_arrival_ps(fabric, replace(params, messages=messages), routes) - messages.size_bytes * (
        beta.plain / 1000
    )
    first, last = _end_ports(fabric, params, course, share)
    both = np.intersect1d(first, last).size > 0
    longest_ps = np.zeros(len(course.first))
    np.maximum.at(longest_ps, messages.qp, messages.size_bytes * (pieces * beta.plain / 1000))
    alone = np.zeros(len(course.first))
    np.maximum.at(alone, messages.qp, extra_ps)
    shared = both & (longest_ps > alone)
    sent = np.bincount(transfer, number, n_transfers)
    alpha = np.bincount(transfer, extra_ps * number, n_transfers) / np.maximum(sent, 1)
    moved = np.bincount(transfer, messages.size_bytes * number, n_transfers)

    def per_byte_of(values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n,) mean over the bytes of each transfer."""
        weighted = np.bincount(transfer, values * messages.size_bytes * number, n_transfers)
        return np.asarray(weighted / np.maximum(moved, 1), np.float64)

    per_byte, acks = per_byte_of(beta.plain), per_byte_of(beta.acks)
    qp = params.transfers.qp[:n_transfers]
    known = qp >= 0
    port = np.where(known, first[qp], -1), np.where(known, last[qp], -1)
    held_up = np.where(known & shared[qp], acks, 0.0)
    total = float((messages.size_bytes * number).sum())
    quantum = max(params.frames.payload_bytes, math.ceil(total / MOST_PIECES))
    whole = np.round(np.maximum(alpha, 0)).astype(np.int64), np.round(per_byte).astype(np.int64)
    links = Links(whole[0], whole[1], port[0], port[1], qp, quantum)
    inside = np.zeros(n_transfers, np.bool_)
    inside[known] = np.array([fabric.is_scale_up(int(p)) for p in port[0][known]], np.bool_)
    # Alpha of closed forms: what a message costs beyond its bytes, of which acknowledgements take a share from the
    # first arrival on.
    mean = replace(
        links,
        alpha_ps=np.round(np.maximum(alpha * (1 - held_up), 0)).astype(np.int64),
        fs_per_byte=np.round(per_byte * (1 + held_up)).astype(np.int64),
    )
    near, far = (_mean(mean, sent * kind, moved * kind) for kind in (inside, known & ~inside))
    return RunLinks(links, acks, near, far, inside)


@dataclass(frozen=True)
class _Beta:
    """Of each message."""

    plain: NDArray[np.float64]
    """Femtoseconds of a byte on the slowest link of its path, or of its paths together."""
    acks: NDArray[np.float64]
    """Acknowledgements for as many bytes, as a share of it."""


def _end_ports(fabric: Fabric, params: EngineParams, course: Course, share: NicShare) -> tuple[Ints, Ints]:
    """(n,) port of each queue pair's sender and (n,) of its receiver. The first port of a NIC stands for all of them
    where packets take them in turn: its queue pairs share what the ports carry together.
    """
    pairs, several = params.queue_pairs, share.ports > 1
    nic = np.array([host.first_port for host in fabric.hosts], np.int64)
    return np.where(several, nic[pairs.src], course.first), np.where(several, nic[pairs.dst], course.last)


def _fs_per_byte(params: EngineParams, course: Course, share: NicShare, messages: Messages) -> _Beta:
    """Costs of the messages' own packets. A long message has full ones; the last one may be short.

    Packets that take several NIC ports in turn have as many paths at once, taken to be alike (workload/ideal).
    """
    frames, payload = params.frames, params.payload_of_qps()[:, None]
    header = frames.data_header_bytes + course.overhead_bytes
    rate_bps = course.rate_bps * share.ports[:, None]
    rate_bps[:, 0] = share.line_bps
    cost = np.where(course.port >= 0, (payload + header) * 8e15 / rate_bps, 0.0)
    slowest = cost.argmax(axis=1)
    row = np.arange(len(cost))
    qp, size = messages.qp, messages.size_bytes
    packets = -(-size // payload[qp, 0])
    wire = size + frames.reth_bytes + packets * header[row, slowest][qp]  # the first packet has the RETH
    each_ack = np.maximum(frames.ack_bytes + course.overhead_bytes[row, slowest], 1)[qp]
    acks = each_ack * np.maximum(packets / params.transport.ack_every_packets, 1)  # the last packet asks for one
    return _Beta(wire * 8e15 / rate_bps[row, slowest][qp] / size, acks / wire)


def _mean(links: Links, messages: Ints, moved: Ints) -> Link | None:
    """Alpha per message and time per byte, so that the sum over all messages is kept."""
    if not messages.any():
        return None
    return Link(
        round(float(np.average(links.alpha_ps, weights=messages))),
        round(float(np.average(links.fs_per_byte, weights=moved))),
    )


def messages_of(params: EngineParams, n_transfers: int) -> tuple[Messages, Ints, Ints]:
    """Messages of the sizes that each transfer sends, (n,) the transfer of each, and (n,) how many there are."""
    given = params.transfers
    rows, longer = given.rows, longer_messages(given.rows)
    row = np.tile(np.arange(n_transfers), 2)
    size = np.concatenate([(rows.small_bytes + rows.unit_bytes)[:n_transfers], rows.small_bytes[:n_transfers]])
    number = np.concatenate([longer[:n_transfers], (rows.count - longer)[:n_transfers]])
    sent = (size > 0) & (number > 0) & (rows.src[row] != rows.dst[row])
    row = row[sent]
    zero = np.zeros(len(row), np.int64)
    found = Messages(rows.src[row], rows.dst[row], size[sent], zero, zero, given.qp[row], zero)
    return found, row, number[sent]

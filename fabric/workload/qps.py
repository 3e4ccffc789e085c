"""Queue pairs for messages: sharing, UDP source ports, and the port of a multi-homed host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state.params import QueuePairs
from fabric.topology.model import Fabric
from fabric.workload.streams import stream

Ints = NDArray[np.int64]

ROCE_UDP_PORT: Final = 4791
"""IANA; RoCEv2 destination port (IB specification vol. 1, annex A17)."""
SOURCE_PORT_MIN: Final = 0xC000
"""IB_ROCE_UDP_ENCAP_VALID_PORT_MIN: source ports keep the top two bits set (Linux include/rdma/ib_verbs.h)."""
_FIRST_QPN: Final = 0x40
"""QP numbers 0 and 1 are reserved, and drivers begin above them; the first number is assumed."""


@dataclass(frozen=True, slots=True)
class QpRules:
    """How messages become queue pairs."""

    per: Literal["message", "pair"] = "message"
    count: int = 1
    source_port: Literal["hashed", "linux", "pair"] = "hashed"
    nic_port: Literal["rail", "hash"] = "rail"


def assign(
    fabric: Fabric, seed: int, src: Ints, dst: Ints, dscp: Ints, rules: QpRules, law: Ints | None = None
) -> tuple[Ints, QueuePairs]:
    """(queue pair of each message, queue pairs).

    With per: pair the messages of one (src, dst, dscp) take its `count` queue pairs in turn, in their own order.
    Messages of different congestion controls (`law`; None: all alike) share none. Queue pairs are numbered by first
    use.
    """
    n = len(src)
    nodes = len(fabric.nodes)
    pair = (src * nodes + dst) * 64 + dscp
    if law is not None:
        pair = pair * (int(law.max(initial=0)) + 1) + law
    turn = rank_within(pair)
    if rules.per == "message":
        qp = np.arange(n, dtype=np.int64)
        first = qp
        ordinal = turn
    else:
        ordinal_of_message = turn % rules.count
        _, first_sorted, inverse = np.unique(
            pair * rules.count + ordinal_of_message, return_index=True, return_inverse=True
        )
        order = np.argsort(first_sorted, kind="stable")
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        qp, first = rank[inverse], first_sorted[order].astype(np.int64)
        ordinal = ordinal_of_message[first]
    q_src, q_dst = src[first], dst[first]
    if rules.source_port == "hashed":
        port = SOURCE_PORT_MIN | stream(seed, "transport.source_port").integers(0, 0x4000, len(first), dtype=np.int64)
    elif rules.source_port == "pair":
        _, number = np.unique(q_src * nodes + q_dst, return_inverse=True)
        drawn = stream(seed, "transport.source_port").integers(0, 0x4000, int(number.max(initial=-1)) + 1)
        port = SOURCE_PORT_MIN | drawn[number].astype(np.int64)
    else:
        port = linux_source_port(_FIRST_QPN + rank_within(q_src), _FIRST_QPN + rank_within(q_dst))
    return qp, QueuePairs(
        src=q_src,
        dst=q_dst,
        dscp=dscp[first],
        src_udp_port=port,
        dst_udp_port=np.full(len(first), ROCE_UDP_PORT, np.int64),
        port=_port(fabric, q_src, q_dst, ordinal if rules.nic_port == "rail" else port),
        law=None if law is None else law[first],
    )


def rank_within(key: Ints) -> Ints:
    """For each element, the number of equal elements before it."""
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    begins = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(key) else np.empty(0, np.int64)
    lengths = np.diff(np.r_[begins, len(key)])
    rank = np.empty(len(key), np.int64)
    rank[order] = np.arange(len(key)) - np.repeat(begins, lengths)
    return rank


def linux_source_port(local_qpn: Ints, remote_qpn: Ints) -> Ints:
    """rdma_calc_flow_label and rdma_flow_label_to_udp_sport of Linux include/rdma/ib_verbs.h."""
    product = local_qpn.astype(np.uint64) * remote_qpn.astype(np.uint64)
    product ^= product >> np.uint64(20)
    product ^= product >> np.uint64(40)
    label = (product & np.uint64(0xFFFFF)).astype(np.int64)
    return SOURCE_PORT_MIN | ((label & 0x3FFF) ^ (label >> 14))


def _port(fabric: Fabric, src: Ints, dst: Ints, key: Ints) -> Ints:
    """Inside a server the scale-up link, else a NIC port in turn, of those to a network that both ends are on."""
    first = np.array([host.first_port for host in fabric.hosts], np.int64)
    count = np.array([len(fabric.network_ports(host.id)) for host in fabric.hosts], np.int64)
    inside, domain = np.array(fabric.scale_up_ports, np.int64), np.array(fabric.scale_up_domains, np.int64)
    same = (inside[src] >= 0) & (domain[src] == domain[dst])
    begin, usable = first[src], count[src]
    if len(fabric.networks) > 1:
        _, example, pair = np.unique(src * len(fabric.nodes) + dst, return_index=True, return_inverse=True)
        ports = [fabric.ports_towards(int(src[row]), int(dst[row])) for row in example]
        begin = np.array([each.start for each in ports], np.int64)[pair]
        usable = np.array([len(each) for each in ports], np.int64)[pair]
    return np.where(same, inside[src], begin + key % np.maximum(usable, 1))


def find_cycle(n: int, after: Sequence[tuple[int, int]]) -> list[int]:
    """A cycle of dependencies, as message numbers in order; [] where there is none (Kahn's algorithm)."""
    waits = [0] * n
    followers: dict[int, list[int]] = {}
    for earlier, later in after:
        waits[later] += 1
        followers.setdefault(earlier, []).append(later)
    ready = [message for message in range(n) if not waits[message]]
    for message in ready:
        for later in followers.get(message, ()):
            waits[later] -= 1
            if not waits[later]:
                ready.append(later)
    left = {message for message in range(n) if waits[message]}
    if not left:
        return []
    before = {later: earlier for earlier, later in after if earlier in left and later in left}
    walk, seen = min(before), dict[int, int]()
    while walk not in seen:
        seen[walk] = len(seen)
        walk = before[walk]
    cycle = [message for message, place in seen.items() if place >= seen[walk]]
    return cycle[::-1]

"""Queue pairs for messages: who shares one, which UDP source port it wears, which port of a multi-homed host it
uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from fabric.state.params import QueuePairs
from fabric.topology.model import Fabric
from fabric.workload.streams import stream

Ints = NDArray[np.int64]

ROCE_UDP_PORT: Final = 4791
"""IANA; RoCEv2 destination port (IB specification vol. 1, annex A17)."""
SOURCE_PORT_MIN: Final = 0xC000
"""IB_ROCE_UDP_ENCAP_VALID_PORT_MIN: source ports keep the top two bits set (Linux include/rdma/ib_verbs.h)."""
_FIRST_QPN: Final = 0x40
"""QP numbers 0 and 1 are special and drivers begin somewhat later; assumed."""


@dataclass(frozen=True, slots=True)
class QpRules:
    """How messages become queue pairs."""

    per: Literal["message", "pair"] = "message"
    count: int = 1
    source_port: Literal["hashed", "linux"] = "hashed"
    nic_port: Literal["rail", "hash"] = "rail"


def assign(fabric: Fabric, seed: int, src: Ints, dst: Ints, dscp: Ints, rules: QpRules) -> tuple[Ints, QueuePairs]:
    """(queue pair of each message, queue pairs).

    With per: pair the messages of one (src, dst, dscp) take its `count` queue pairs in turn, in their own order.
    Queue pairs are numbered by first use.
    """
    n = len(src)
    nodes = len(fabric.nodes)
    pair = (src * nodes + dst) * 64 + dscp
    turn = rank_within(pair)
    if rules.per == "message":
        qp = np.arange(n, dtype=np.int64)
        first = qp
        ordinal = turn
    else:
        ordinal_of_message = turn % rules.count
        _, first_sorted, inverse = np.unique(pair * rules.count + ordinal_of_message, return_index=True,
                                             return_inverse=True)
        order = np.argsort(first_sorted, kind="stable")
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        qp, first = rank[inverse], first_sorted[order].astype(np.int64)
        ordinal = ordinal_of_message[first]
    q_src, q_dst = src[first], dst[first]
    if rules.source_port == "hashed":
        port = SOURCE_PORT_MIN | stream(seed, "transport.source_port").integers(0, 0x4000, len(first), dtype=np.int64)
    else:
        port = linux_source_port(_FIRST_QPN + rank_within(q_src), _FIRST_QPN + rank_within(q_dst))
    return qp, QueuePairs(src=q_src, dst=q_dst, dscp=dscp[first], src_udp_port=port,
                          dst_udp_port=np.full(len(first), ROCE_UDP_PORT, np.int64),
                          port=_nic_port(fabric, q_src, ordinal if rules.nic_port == "rail" else port))


def rank_within(key: Ints) -> Ints:
    """For each element, how many equal ones came before it."""
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


def _nic_port(fabric: Fabric, src: Ints, key: Ints) -> Ints:
    first = np.array([host.first_port for host in fabric.hosts], np.int64)
    count = np.array([host.n_ports for host in fabric.hosts], np.int64)
    return first[src] + key % count[src]


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

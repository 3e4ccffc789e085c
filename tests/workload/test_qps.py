"""Queue pairs: sharing, UDP source ports, ports of multi-homed hosts, dependency cycles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.topology.registry import build_topology, parse_topology
from fabric.workload.qps import QpRules, assign, find_cycle, linux_source_port, rank_within
from fabric.workload.streams import stream, stream_word

FABRIC = build_topology(
    parse_topology(
        {"kind": "dual-tor", "racks": 2, "hosts_per_rack": 4, "spines": 2, "host_rate": "100G", "fabric_rate": "100G"}
    )
)
GOLDEN_WORD = 16882290354328152871
GOLDEN_DRAWS = [2686802452, 1537927737, 453728961]
hosts = st.integers(0, 7)
pairs = st.lists(st.tuples(hosts, hosts).filter(lambda pair: pair[0] != pair[1]), min_size=1, max_size=60)


@given(pairs=pairs, per=st.sampled_from(["message", "pair"]), count=st.integers(1, 4))
def test_messages_of_one_queue_pair_share_ends_and_pairs_share_as_few_as_asked(
    pairs: list[tuple[int, int]], per: str, count: int
) -> None:
    src, dst = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    dscp = np.full(len(src), 26, np.int64)
    qp, table = assign(FABRIC, 1, src, dst, dscp, QpRules(per=per, count=count))  # type: ignore[arg-type]
    assert np.array_equal(table.src[qp], src)
    assert np.array_equal(table.dst[qp], dst)
    assert sorted(set(qp.tolist())) == list(range(len(table.src)))
    assert list(dict.fromkeys(qp.tolist())) == list(range(len(table.src)))  # numbered by first use
    uses = np.bincount(qp)
    assert uses.max() == 1 if per == "message" else True
    if per == "pair":
        for pair in set(pairs):
            sent = pairs.count(pair)
            numbers = {number for number, other in zip(qp.tolist(), pairs, strict=True) if other == pair}
            assert len(numbers) == min(sent, count)
    for number, port in enumerate(table.port.tolist()):
        assert FABRIC.node_of(port).id == table.src[number]
    assert ((table.src_udp_port >= 0xC000) & (table.src_udp_port <= 0xFFFF)).all()


def test_rails_are_taken_in_turn_per_pair_of_hosts() -> None:
    src, dst = np.zeros(4, np.int64), np.full(4, 5, np.int64)
    _, table = assign(FABRIC, 1, src, dst, np.full(4, 26, np.int64), QpRules(nic_port="rail"))
    first = FABRIC.hosts[0].first_port
    assert table.port.tolist() == [first, first + 1, first, first + 1]


def test_the_linux_source_port_is_that_of_ib_verbs_h() -> None:
    # v = lqpn * rqpn; v ^= v >> 20; v ^= v >> 40; label = v & 0xfffff; port = ((label & 0x3fff) ^ (label >> 14)) |
    # 0xc000
    local, remote = 0x1234, 0xABCD
    v = local * remote
    v ^= v >> 20
    v ^= v >> 40
    label = v & 0xFFFFF
    expected = ((label & 0x3FFF) ^ (label >> 14)) | 0xC000
    assert linux_source_port(np.array([local]), np.array([remote])).tolist() == [expected]


@given(st.lists(st.integers(0, 5), max_size=40))
def test_rank_within_counts_equals_before(keys: list[int]) -> None:
    assert rank_within(np.array(keys, np.int64)).tolist() == [keys[:place].count(key) for place, key in enumerate(keys)]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=20))
def test_a_cycle_is_found_exactly_where_one_is(after: list[tuple[int, int]]) -> None:
    import networkx as nx

    graph = nx.DiGraph(after)
    cycle = find_cycle(10, after)
    assert bool(cycle) == (not nx.is_directed_acyclic_graph(graph))
    assert all((earlier, later) in set(after) for earlier, later in zip(cycle, [*cycle[1:], *cycle[:1]], strict=True))


def test_streams_with_other_names_or_seeds_differ_and_the_same_repeat() -> None:
    def draw(seed: int, name: str) -> list[int]:
        return stream(seed, name).integers(0, 2**32, 3).tolist()

    assert draw(7, "a") == draw(7, "a")
    assert len({tuple(draw(seed, name)) for seed in (7, 8) for name in ("a", "b")}) == 4


def test_streams_are_the_same_on_every_platform() -> None:
    assert stream_word(1, "switch.leaf1.hash") == GOLDEN_WORD
    assert stream(1, "workload.incast.jitter").integers(0, 2**32, 3).tolist() == GOLDEN_DRAWS


@pytest.mark.parametrize("source_port", ["hashed", "linux"])
def test_many_queue_pairs_of_one_pair_of_hosts_get_many_source_ports(source_port: str) -> None:
    n = 64
    _, table = assign(
        FABRIC,
        1,
        np.zeros(n, np.int64),
        np.full(n, 5, np.int64),
        np.full(n, 26, np.int64),
        QpRules(source_port=source_port),
    )  # type: ignore[arg-type]
    assert len(set(table.src_udp_port.tolist())) > n // 2

"""Pause trees built from hand-written event logs on a two-leaf, two-spine fabric."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.dataplane.state.codes import EventKind
from fabric.explain import pause_tree
from fabric.explain.pause_tree import Cause, Depths, Origin
from fabric.ids import PortId
from fabric.topology.builders.assemble import assemble
from fabric.topology.feeds import feeds
from fabric.topology.model import Fabric, LinkSpec, NodeSpec, Role
from fabric.topology.paths import equal_cost_ports

US = 1_000_000
G100 = 100_000_000_000


@pytest.fixture(scope="module")
def fabric() -> Fabric:
    hosts = [NodeSpec(f"host{i}", Role.HOST, 0) for i in range(4)]
    leaves = [NodeSpec(f"leaf{i}", Role.LEAF, 1) for i in range(2)]
    spines = [NodeSpec("spine0", Role.SPINE, 2)]
    links = [LinkSpec(f"host{i}", f"leaf{i // 2}", G100, 15_000) for i in range(4)]
    links += [LinkSpec(f"leaf{i}", "spine0", G100, 150_000) for i in range(2)]
    return assemble("two-leaf", [*hosts, *leaves, *spines], links)


def port(fabric: Fabric, a: str, b: str) -> PortId:
    """The port of `a` that faces `b`."""
    return next(port.id for port, node in fabric.neighbours(fabric.by_name[a].id) if node.name == b)


def log(*rows: tuple[int, EventKind, int, int, int, int]) -> dict[str, np.ndarray]:
    columns = {name: [] for name in ("time_ps", "kind", "port", "prio", "a", "b", "c")}
    for time_ps, kind, port_id, a, b, c in rows:
        for name, value in zip(columns, (time_ps, int(kind), port_id, 3, a, b, c), strict=True):
            columns[name].append(value)
    return {name: np.array(values, dtype=np.int64) for name, values in columns.items()}


def trace(
    fabric: Fabric, events: dict[str, np.ndarray], depths: Depths | None = None, slow: tuple[int, ...] = ()
) -> list[pause_tree.PauseSpan]:
    reach = feeds(fabric, equal_cost_ports(fabric), [host.id for host in fabric.hosts])
    empty = np.array([], dtype=np.int64)
    return pause_tree.trace_pauses(fabric, events, reach, depths or Depths(empty, empty, empty, empty), 1000 * US, slow)


def storm(fabric: Fabric) -> dict[str, np.ndarray]:
    """host0 pauses leaf0, leaf0 pauses spine0, spine0 pauses leaf1, leaf1 pauses host2 and host3."""
    sent, stopped = EventKind.PAUSE_SENT, EventKind.PAUSED
    return log(
        (11 * US, stopped, port(fabric, "leaf0", "host0"), 0, 5000, 0),
        (20 * US, sent, port(fabric, "leaf0", "spine0"), 900, 800, 0),
        (21 * US, stopped, port(fabric, "spine0", "leaf0"), 0, 4000, 0),
        (30 * US, sent, port(fabric, "spine0", "leaf1"), 900, 800, 0),
        (31 * US, stopped, port(fabric, "leaf1", "spine0"), 0, 4000, 0),
        (40 * US, sent, port(fabric, "leaf1", "host2"), 900, 800, 10),
        (41 * US, stopped, port(fabric, "host2", "leaf1"), 0, 4000, 0),
        (42 * US, sent, port(fabric, "leaf1", "host3"), 900, 800, 20),
        (43 * US, stopped, port(fabric, "host3", "leaf1"), 0, 4000, 0),
    )


def test_a_storm_is_traced_through_every_hop_to_the_broken_nic(fabric: Fabric) -> None:
    (episode,) = pause_tree.episodes(trace(fabric, storm(fabric)))
    assert episode.origin == Origin(Cause.BROKEN_NIC, port(fabric, "host0", "leaf0"), 3)
    assert [fabric.port_name(node.port).split(":")[0] for node in episode.nodes] == [
        "host0",
        "leaf0",
        "spine0",
        "leaf1",
        "leaf1",
    ]
    assert [node.depth for node in episode.nodes] == [0, 1, 2, 3, 3]
    assert [node.parent for node in episode.nodes] == [-1, 0, 1, 2, 2]
    assert [node.hop_ps for node in episode.nodes] == [0, 9 * US, 9 * US, 9 * US, 11 * US]


def test_blast_counts_messages_by_paused_ports_and_separates_victims_from_the_congested(fabric: Fabric) -> None:
    (episode,) = pause_tree.episodes(trace(fabric, storm(fabric)))
    host = {node.name: node.id for node in fabric.hosts}
    ends = [
        ("host2", "host0"),
        ("host2", "host3"),
        ("host3", "host1"),
        ("host1", "host0"),
        ("host2", "host1"),
        ("host2", "host1"),
        ("host1", "host0"),
    ]
    messages = {
        "dst": np.array([host[dst] for _, dst in ends]),
        "prio": np.array([3, 3, 3, 3, 0, 3, 3]),
        "start_ps": np.array([0, 0, 50 * US, 0, 0, 0, -1]),
        "end_ps": np.array([-1, 60 * US, -1, -1, -1, 5 * US, -1]),
    }
    routes = equal_cost_ports(fabric)
    leave_by: dict[int, list[int]] = {}
    for row, (src, dst) in enumerate(ends):
        node = host[src]
        while node != host[dst]:
            (egress,) = routes.ports_to(node, host[dst])
            leave_by.setdefault(egress, []).append(row)
            node = fabric.peer_of(egress).id
    rows = {egress: np.array(found) for egress, found in leave_by.items()}
    blast = pause_tree.blast(fabric, episode, messages, rows, 1000 * US)
    assert [fabric.nodes[node].name for node in blast.hosts] == ["host2", "host3"]
    assert [fabric.nodes[node].name for node in blast.switches] == ["leaf0", "leaf1", "spine0"]
    # Towards host0: host2's and host1's. Victims: host2 to host3, host3 to host1. Class 0 was never paused, the sixth
    # was done before anything was, the seventh never posted.
    assert (blast.messages, blast.victims) == (4, 2)


def test_a_host_that_pauses_is_a_broken_nic_unless_it_held_bytes_back(fabric: Fabric) -> None:
    events = log((5 * US, EventKind.PAUSED, port(fabric, "leaf0", "host0"), 65535, 100, 0))
    (span,) = trace(fabric, events)
    assert span.origin == Origin(Cause.BROKEN_NIC, port(fabric, "host0", "leaf0"), 3)
    assert span.paused_ps == 995 * US
    (span,) = trace(fabric, events, slow=(fabric.by_name["host0"].id,))
    assert span.origin.cause is Cause.SLOW_RECEIVER


def test_without_a_paused_exit_the_deepest_queue_is_the_origin(fabric: Fabric) -> None:
    to_host0, to_host1 = port(fabric, "leaf0", "host0"), port(fabric, "leaf0", "host1")
    depths = Depths(np.array([to_host0, to_host1]), np.array([3, 3]), np.array([0, 0]), np.array([1000, 90_000]))
    spans = trace(fabric, log((5 * US, EventKind.PAUSE_SENT, port(fabric, "leaf0", "spine0"), 900, 800, 0)), depths)
    assert spans[0].origin == Origin(Cause.CONGESTION, to_host1, 3)


def test_a_pause_that_ended_is_still_the_cause_while_its_backlog_drains(fabric: Fabric) -> None:
    leaf_port, uplink = port(fabric, "leaf0", "host0"), port(fabric, "leaf0", "spine0")
    events = (
        (11 * US, EventKind.PAUSED, leaf_port, 0, 0, 0),
        (21 * US, EventKind.RESUMED, leaf_port, 10 * US, 125_000, 0),
    )
    within = trace(fabric, log(*events, (30 * US, EventKind.PAUSE_SENT, uplink, 900, 800, 0)))
    assert within[1].parent == 0  # 125 000 bytes at 100 Gb/s are 10 us
    after = trace(fabric, log(*events, (32 * US, EventKind.PAUSE_SENT, uplink, 900, 800, 0)))
    assert (after[1].parent, after[1].origin.cause) == (-1, Cause.CONGESTION)


def test_a_pause_towards_one_leaf_is_not_blamed_for_traffic_that_cannot_go_there(fabric: Fabric) -> None:
    up, down = port(fabric, "leaf1", "spine0"), port(fabric, "leaf1", "host3")
    spans = trace(
        fabric, log((1 * US, EventKind.PAUSED, up, 65535, 9_000, 0), (2 * US, EventKind.PAUSE_SENT, up, 900, 800, 0))
    )
    assert spans[1].origin.port != up  # packets from the spine never go back up
    assert spans[1].origin.port in {down, port(fabric, "leaf1", "host2")}


def test_refreshes_are_one_pause_and_quiet_gaps_part_episodes(fabric: Fabric) -> None:
    sender, stopped = port(fabric, "leaf0", "host1"), port(fabric, "host1", "leaf0")
    rows = []
    for start in (0, 500 * US):
        rows += [
            (start, EventKind.PAUSE_SENT, sender, 0, 0, 0),
            (start + US, EventKind.PAUSED, stopped, 0, 0, 0),
            (start + 2 * US, EventKind.PAUSE_SENT, sender, 0, 0, 0),
            (start + 9 * US, EventKind.RESUME_SENT, sender, 0, 0, 0),
            (start + 10 * US, EventKind.RESUMED, stopped, 9 * US, 0, 0),
        ]
    trees = pause_tree.episodes(trace(fabric, log(*rows)))
    assert [(tree.nodes[0].pauses, tree.paused_ps) for tree in trees] == [(1, 9 * US), (1, 9 * US)]


_KINDS = (EventKind.PAUSE_SENT, EventKind.RESUME_SENT, EventKind.PAUSED, EventKind.RESUMED)


@given(st.lists(st.tuples(st.integers(0, 900), st.sampled_from(_KINDS), st.integers(0, 11), st.integers(0, 10_000))))
def test_any_log_gives_trees_whose_parents_are_older_and_whose_time_is_all_accounted(
    fabric: Fabric, rows: list[tuple[int, EventKind, int, int]]
) -> None:
    rows.sort(key=lambda row: row[0])
    events = log(*((time * US, kind, at, size, size, 0) for time, kind, at, size in rows))
    spans = trace(fabric, events)
    assert all(span.parent < row for row, span in enumerate(spans))
    trees = pause_tree.episodes(spans)
    assert sum(node.pauses for tree in trees for node in tree.nodes) == len(spans)
    assert sum(tree.paused_ps for tree in trees) == sum(span.paused_ps for span in spans)
    for tree in trees:
        assert all(node.parent < row for row, node in enumerate(tree.nodes))

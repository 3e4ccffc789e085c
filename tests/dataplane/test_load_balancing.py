"""Choices among equal-cost ports: which member carries what, and whose path a walk without a run predicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import BY_FLOW, BY_SENDER, PER_PACKET, LoadBalance, Stop
from fabric.forwarding.walk import Flows, Tables, Walks, walk
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario

MS = 10**9
CLOS2: Final = {
    "kind": "leaf-spine",
    "leaves": 2,
    "spines": 4,
    "hosts_per_leaf": 4,
    "host_rate": "100G",
    "fabric_rate": "100G",
}


def test_every_load_balancing_is_by_flow_by_flowlet_by_packet_or_by_sender() -> None:
    """Reports, the default of transport.recovery and walks without a run ask these sets."""
    assert sorted([*BY_FLOW, LoadBalance.FLOWLET, *PER_PACKET, *BY_SENDER]) == sorted(LoadBalance)


def compiled(
    switches: dict[str, Any],
    transport: dict[str, Any] | None = None,
    overrides: list[dict[str, Any]] | None = None,
    workload: dict[str, Any] | None = None,
) -> CompiledScenario:
    """Two leaves, four spines, four hosts a leaf; the hosts of one leaf send to the other."""
    return compile_scenario(
        build_scenario(
            {
                "name": "balance",
                "topology": {**CLOS2, "link_overrides": overrides or []},
                "switches": switches,
                "transport": {"cc": "none", **(transport or {})},
                "workload": [workload or {"kind": "permutation", "size": "200KB", "shift": 4}],
                "run": {"duration": "5ms"},
            },
            Path("balance.yml"),
        )
    )


def ended(it: CompiledScenario, threads: int = 1) -> Emulator:
    """The run at its end."""
    engine = Emulator(it.fabric, it.params, it.edits, threads=threads)
    while engine.advance(5 * MS) == Stop.BUDGET:
        pass
    return engine


def uplinks(it: CompiledScenario, engine: Emulator, leaf: str = "leaf1") -> list[int]:
    """Data bytes on each uplink of a leaf, in the order of spines."""
    fabric = it.fabric
    ports = [port for port in fabric.by_name[leaf].ports if not fabric.peer_of(port).is_host]
    sent = engine.state.members
    return [int(sent["bytes"][sent["port"] == port].sum()) for port in ports]


def walked(it: CompiledScenario) -> Walks:
    """The path of every queue pair."""
    pairs = it.params.queue_pairs
    words = pairs.src_udp_port | pairs.dst_udp_port << 16
    tables = Tables.of(Emulator(it.fabric, it.params, it.edits).state)
    return walk(tables, Flows(pairs.src, pairs.dst, words, pairs.port, np.arange(len(words))))


def spines(it: CompiledScenario) -> list[set[int]]:
    """First uplink of every queue pair, by source host."""
    steps, src = walked(it), it.params.queue_pairs.src
    return [set(steps.egress[src == host.id, 1].tolist()) for host in it.fabric.hosts]


FIELDS = ["source-ip", "destination-ip", "source-port", "destination-port"]
SHARED = {"source_port": "pair", "qp": {"per": "pair", "count": 16}}
MANY = {"kind": "permutation", "size": "20KB", "shift": 4, "repeat": 16, "interval": "1us"}


def test_queue_pairs_with_one_source_port_share_a_path_until_the_destination_qp_is_hashed() -> None:
    plain = compiled({}, SHARED, workload=MANY)
    scaled = compiled({"hash": {"fields": [*FIELDS, "destination-qp"]}}, SHARED, workload=MANY)
    assert max(map(len, spines(plain))) == 1
    assert min(map(len, spines(scaled))) >= 3


@pytest.mark.parametrize("fields", [["source-ip"], ["destination-ip"], ["source-ip", "destination-ip"]])
def test_a_field_that_is_not_hashed_decides_nothing(fields: list[str]) -> None:
    assert max(map(len, spines(compiled({"hash": {"fields": fields}}, workload=MANY)))) == 1


@pytest.mark.parametrize(
    "switches",
    [{"hash": {"fields": [*FIELDS, "destination-qp"]}}, {"load_balancing": "weighted"}],
    ids=["queue pairs", "weighted"],
)
def test_packets_take_the_path_that_the_walk_predicts(switches: dict[str, Any]) -> None:
    slow = [{"a": "*", "b": "spine1", "rate": "25G"}]
    it = compiled(switches, SHARED, slow, MANY)
    engine, steps = ended(it), walked(it)
    leaf = it.fabric.by_name["leaf1"]
    ports = [port for port in leaf.ports if not it.fabric.peer_of(port).is_host]
    acknowledged = engine.state.qps["sent_pkts"]
    for port in ports:
        mine = steps.egress[:, 1] == port
        # Acknowledgements of the other leaf's data leave by hashes of their own; data alone is the larger part.
        assert uplinks(it, engine)[ports.index(port)] >= int(acknowledged[mine].sum()) * 900


def test_adaptive_routing_keeps_packets_off_a_slow_uplink_and_the_others_even() -> None:
    slow = [{"a": "leaf1", "b": "spine1", "rate": "25G"}, {"a": "leaf2", "b": "spine1", "rate": "25G"}]
    it = compiled({"load_balancing": "adaptive"}, {}, slow)
    sent = uplinks(it, ended(it))
    assert sent[0] < 0.6 * sent[1]
    assert max(sent[1:]) < 1.15 * min(sent[1:])
    sprayed = compiled({"load_balancing": "spray"}, {}, slow)
    even = uplinks(sprayed, ended(sprayed))
    assert min(even) > 0.75 * max(even)


def test_weighted_hashes_fall_on_links_as_their_rates() -> None:
    slow = [{"a": "*", "b": "spine1", "rate": "25G"}]
    many = {**MANY, "repeat": 600, "size": "1KB"}
    it = compiled({"load_balancing": "weighted"}, {"qp": {"per": "message"}}, slow, many)
    steps = walked(it)
    leaf = it.fabric.by_name["leaf1"]
    found = [int((steps.egress[:, 1] == port).sum()) for port in leaf.ports if not it.fabric.peer_of(port).is_host]
    shares = np.array(found) / sum(found)
    assert np.abs(shares - np.array([25, 100, 100, 100]) / 325).max() < 0.03


@pytest.mark.parametrize("balance", ["adaptive", "weighted"])
def test_runs_are_the_same_for_any_threads(balance: str) -> None:
    it = compiled({"load_balancing": balance})
    assert len({ended(it, threads).digest() for threads in (1, 2, 5)}) == 1

"""Ideal completion times against two oracles: a frame-by-frame walk written here, and the engine itself."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario
from tests.forked import UNCOMPILED, printed

ROOT = Path(__file__).parents[2]
LEAF_SPINE = {
    "kind": "leaf-spine",
    "leaves": 2,
    "spines": 1,
    "hosts_per_leaf": 2,
    "host_rates": ["25G", "100G"],
    "fabric_rate": "40G",
}
CLOS = {
    "kind": "clos3",
    "pods": 2,
    "leaves_per_pod": 2,
    "spines_per_pod": 1,
    "super_spines": 1,
    "hosts_per_leaf": 2,
    "host_rate": "100G",
    "fabric_rate": "400G",
    "core_rate": "200G",
    "core_cable": "500m",
}
DUAL = {
    "kind": "dual-tor",
    "racks": 2,
    "hosts_per_rack": 2,
    "spines": 2,
    "planes": 2,
    "host_rate": "100G",
    "fabric_rate": "50G",
}


def compiled(
    topology: dict[str, Any], sizes: list[int], src: str, dst: str, transport: dict[str, Any], **more: object
) -> CompiledScenario:
    messages = [
        {"src": src, "dst": dst, "size": f"{size}B", "start": f"{number * 10}ms"} for number, size in enumerate(sizes)
    ]
    raw = {
        "name": "ideal",
        "topology": topology,
        "transport": {"cc": "none", **transport},
        **more,
        "workload": [{"kind": "messages", "messages": messages}],
        "run": {"duration": f"{len(sizes) * 10 + 10}ms"},
    }
    return compile_scenario(build_scenario(raw, Path("ideal.yml")))


def way(result: CompiledScenario, src: str, dst: str) -> list[tuple[int, int, bool]]:
    """(rate, delay with latency, between switches) of each hop; these fabrics have one path only."""
    import networkx as nx

    fabric, params = result.fabric, result.params
    names = nx.shortest_path(fabric.graph(), src, dst)
    hops = []
    for here, there in pairwise(names):
        port = next(port for port, peer in fabric.neighbours(fabric.by_name[here].id) if peer.name == there)
        peer, link = fabric.by_name[there], fabric.links[port.link]
        latency = params.hosts[peer.id].latency_ps if peer.is_host else params.switches[peer.id].latency_ps
        hops.append((link.rate_bps, link.delay_ps + latency, not peer.is_host and not fabric.by_name[here].is_host))
    return hops


def walk(frames: list[tuple[int, int]], hops: list[tuple[int, int, bool]], outer: int) -> list[int]:
    """Arrival of each (time ready, wire bytes) frame after store and forward over the hops, first come first served."""
    times = [ready for ready, _ in frames]
    for rate, delay, between_switches in hops:
        free = 0
        for number, (_, size) in enumerate(frames):
            wire = size + (outer if between_switches else 0)
            free = max(free, times[number]) + -(-wire * 8 * 10**12 // rate)
            times[number] = free + delay
    return times


def by_hand(result: CompiledScenario, size: int, src: str, dst: str) -> int:
    frame, every = result.params.frames, result.params.transport.ack_every_packets
    outer = frame.vxlan_bytes if result.params.vxlan else 0
    count = max(-(-size // frame.payload_bytes), 1)
    payloads = [frame.payload_bytes] * (count - 1) + [size - (count - 1) * frame.payload_bytes]
    data = [
        (0, frame.data_header_bytes + payload + 20 + (frame.reth_bytes if not number else 0))
        for number, payload in enumerate(payloads)
    ]
    hops = way(result, src, dst)
    arrivals = walk(data, hops, outer)
    acks = [
        (arrival, frame.ack_bytes + 20)
        for number, arrival in enumerate(arrivals)
        if (number + 1) % every == 0 or number == count - 1
    ]
    return walk(acks, way(result, dst, src), outer)[-1]


@settings(max_examples=40, deadline=None)
@given(
    topology=st.sampled_from([LEAF_SPINE, CLOS]),
    size=st.integers(1, 300_000),
    mtu=st.sampled_from(["256B", "1024B", "4096B"]),
    every=st.sampled_from([1, 4, 16]),
    vxlan=st.booleans(),
    dst=st.sampled_from(["host2", "host3", "host4"]),
)
def test_the_closed_form_is_the_walk_of_every_frame(
    topology: dict[str, Any], size: int, mtu: str, every: int, vxlan: bool, dst: str
) -> None:
    more = {"vxlan": {}} if vxlan and dst != "host2" else {}  # host1 and host2 share a leaf
    result = compiled(topology, [size], "host1", dst, {"mtu": mtu, "ack_every": every}, **more)
    assert result.ideal_ps.tolist() == [by_hand(result, size, "host1", dst)]


def test_planes_are_kept_and_both_directions_counted() -> None:
    result = compiled(DUAL, [1, 5000], "host1", "host3", {"qp": {"per": "pair", "count": 2}})
    hops = 4
    assert (result.ideal_ps > 0).all()
    fixed = 2 * sum(delay for _, delay, _ in way(result, "host1", "host3"))
    assert len(way(result, "host1", "host3")) == hops
    assert result.ideal_ps[0] > fixed
    assert np.all(np.diff(result.ideal_ps) > 0)


SIMULATE = """
import json, sys
sys.path.insert(0, {tests!r})
from test_ideal import compiled, CLOS, LEAF_SPINE, DUAL
from fabric.dataplane.engine.driver import Emulator
found = []
for topology, dst, more in ((LEAF_SPINE, "host2", {{}}), (LEAF_SPINE, "host4", {{"ack_every": 3}}), (CLOS, "host8",
{{"mtu": "1024B"}}),
                            (CLOS, "host3", {{"vxlan": 1}}), (DUAL, "host4", {{}})):
    overlay = {{"vxlan": {{}}}} if more.pop("vxlan", 0) else {{}}
    result = compiled(topology, [1, 4096, 4097, 8193, 30_000], "host1", dst, more, **overlay)
    engine = Emulator(result.fabric, result.params)
    engine.advance(result.duration_ps)
    rows = engine.snapshot().messages
    found.append([(rows["end_ps"] - rows["start_ps"]).tolist(), result.ideal_ps.tolist()])
print(json.dumps(found))
"""


def test_a_lone_message_takes_exactly_its_ideal_time_in_the_engine() -> None:
    # Kernels run as plain Python in a separate process: five small fabrics are not worth a compilation.
    text = printed(SIMULATE.format(tests=str(Path(__file__).parent)), env=UNCOMPILED)
    for simulated, ideal in json.loads(text):
        assert simulated == ideal


@pytest.mark.parametrize("kind", ["rail", "custom"])
def test_a_pair_without_a_switch_in_common_is_refused_before_it_needs_an_ideal(kind: str) -> None:
    from fabric.errors import InputErrors

    nodes = [
        {"name": name, "role": "leaf" if name.startswith("leaf") else "host"}
        for name in ("host1", "host2", "leaf1", "leaf2")
    ]
    links = [
        {"a": "host1", "b": "leaf1", "rate": "100G", "cable": "3m"},
        {"a": "host2", "b": "leaf2", "rate": "100G", "cable": "3m"},
    ]
    split = {"kind": "custom", "nodes": nodes, "links": links}
    with pytest.raises(InputErrors):
        compiled(
            split
            if kind == "custom"
            else {
                "kind": "rail",
                "nodes_per_pod": 2,
                "rails": 2,
                "spines": 0,
                "host_rate": "100G",
                "fabric_rate": "100G",
            },
            [1],
            "host1",
            "host2",
            {},
        )

"""Packets between subnets are followed as the engine sends them: by its tables, and by those made from dated edits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.engine.edits import TenantRoutes
from fabric.dataplane.engine.follow import End
from fabric.forwarding.flowpath import LinkRates, all_paths, many_flows
from fabric.forwarding.message_ports import message_paths
from fabric.forwarding.tables import Cause, changes, forwarding_at
from fabric.forwarding.walk import Tables, walk
from fabric.ids import NodeId
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario

TENANTS = [
    {
        "name": "one",
        "l3_vni": 50_010,
        "routed": ["host7", "host8"],
        "segments": [
            {"name": "gpu", "vni": 10_010, "hosts": ["host1", "host3", "host5"]},
            {"name": "head", "vni": 10_020, "hosts": ["host2", "host4", "host6"]},
        ],
    }
]
PAIRS = [(1, 4), (7, 1), (3, 8), (1, 2), (5, 1), (6, 3), (8, 5)]
LEAF1, LEAF2, LEAF4 = NodeId(8), NodeId(9), NodeId(11)


def compiled(*, bgp: bool) -> CompiledScenario:
    raw: dict[str, Any] = {
        "name": "walk",
        "topology": {
            "kind": "leaf-spine",
            "leaves": 4,
            "spines": 4,
            "hosts_per_leaf": 2,
            "host_rate": "100G",
            "fabric_rate": "100G",
        },
        "vxlan": {"tenants": TENANTS},
        "transport": {"cc": "none"},
        "workload": [
            {
                "kind": "messages",
                "messages": [{"src": f"host{src}", "dst": f"host{dst}", "size": "2MB"} for src, dst in PAIRS],
            }
        ],
        "run": {"duration": "5ms"},
    }
    return compile_scenario(build_scenario(raw | ({"routing": "bgp"} if bgp else {}), Path("walk.yml")))


def simulated(result: CompiledScenario) -> Emulator:
    engine = Emulator(result.fabric, result.params, result.edits, reroute_delay_ps=result.reroute_delay_ps)
    engine.advance(result.duration_ps)
    assert engine.finished
    return engine


def same_by_edits(result: CompiledScenario, engine: Emulator) -> None:
    """Tables made from edits give every queue pair the path that those of the engine give."""
    timeline = changes(result.edits, result.fabric, result.params, None)
    at = forwarding_at(result.fabric, result.params, timeline, result.duration_ps, Cause.CONTROL_PLANE)
    mine, its = walk(at.tables, at.queue_pairs()), walk(Tables.of(engine.state), at.queue_pairs())
    assert mine.egress.tolist() == its.egress.tolist()
    assert mine.end.tolist() == its.end.tolist()


@pytest.mark.parametrize("bgp", [True, False])
def test_every_message_took_the_ports_that_are_named(bgp: bool) -> None:
    result = compiled(bgp=bgp)
    engine = simulated(result)
    paths = message_paths(engine).to_pylist()
    assert None not in paths
    assert [path[0].partition(":")[0] for path in paths] == [f"host{src}" for src, _ in PAIRS]
    wanted = np.zeros(len(engine.fabric.ports), np.int64)
    number = {engine.fabric.port_name(port.id): port.id for port in engine.fabric.ports}
    for path in paths:
        wanted[[number[name] for name in path]] += 2_000_000
    # Payload and headers of these messages, and of ACKs at most one for each of all packets.
    packets = len(PAIRS) * -(-2_000_000 // result.params.frames.payload_bytes)
    sent = engine.state.ports["tx_bytes"]
    assert (sent >= wanted).all()
    assert (sent <= wanted * 1.04 + packets * 130).all()
    same_by_edits(result, engine)


def test_a_packet_that_is_routed_three_times_is_followed_through_all_of_them() -> None:
    result = compiled(bgp=True)
    # host7 at leaf4 to host1 at leaf1, through leaf2, which has the host route.
    result = replace(result, edits=(*result.edits, TenantRoutes(1, ((LEAF4, NodeId(0), (LEAF2,)),))))
    engine = simulated(result)
    path = message_paths(engine).to_pylist()[1]
    devices = [name.partition(":")[0] for name in path]
    assert [name for name in devices if name.startswith("leaf")] == ["leaf4", "leaf2", "leaf1"]
    same_by_edits(result, engine)


def test_flows_to_two_vteps_go_where_the_engine_sends_them() -> None:
    result = compiled(bgp=True)
    result = replace(result, edits=(*result.edits, TenantRoutes(1, ((LEAF4, NodeId(0), (LEAF1, LEAF2)),))))
    engine = simulated(result)
    same_by_edits(result, engine)
    path = message_paths(engine).to_pylist()[1]
    assert [name.partition(":")[0] for name in path if name.startswith("leaf")] in (
        ["leaf4", "leaf1"],
        ["leaf4", "leaf2", "leaf1"],
    )


def test_a_flow_without_a_route_ends_at_the_leaf_that_routes() -> None:
    result = compiled(bgp=True)
    at = forwarding_at(
        result.fabric,
        result.params,
        changes((*result.edits, TenantRoutes(1, ((LEAF4, NodeId(0), ()),))), result.fabric, result.params, None),
        2,
        Cause.CONTROL_PLANE,
    )
    found = walk(at.tables, at.queue_pairs())
    assert found.end.tolist() == [End.ARRIVED, End.NO_ROUTE, *[End.ARRIVED] * 5]
    assert int((found.egress[1] >= 0).sum()) == 1


@pytest.mark.parametrize(
    ("leaf4", "leaf2"), [((LEAF2,), (LEAF1,)), ((LEAF1, LEAF2), (LEAF1,)), ((LEAF2,), ()), ((LEAF1, LEAF2), (LEAF4,))]
)
def test_every_flow_takes_one_of_the_paths_that_are_listed(
    leaf4: tuple[NodeId, ...], leaf2: tuple[NodeId, ...]
) -> None:
    result = compiled(bgp=True)
    changed = TenantRoutes(1, ((LEAF4, NodeId(0), leaf4), (LEAF2, NodeId(0), leaf2)))
    at = forwarding_at(
        result.fabric,
        result.params,
        changes((*result.edits, changed), result.fabric, result.params, None),
        2,
        Cause.CONTROL_PLANE,
    )
    src, dst = result.fabric.by_name["host7"], result.fabric.by_name["host1"]
    paths, whole = all_paths(at, LinkRates(at, result.edits), src, dst)
    assert whole
    found = walk(at.tables, many_flows(at, src, dst, range(50_000, 52_000), 4791, src.first_port))
    taken = {
        (tuple(port for port in row if port >= 0), end)
        for row, end in zip(found.egress.tolist(), found.end.tolist(), strict=True)
    }
    # A loop of leaves is walked to the last hop, and listed to the switch that closes it.
    listed = {(path.ports, path.end) for path in paths}
    assert {it for it in taken if it[1] != End.LOOP} == {it for it in listed if it[1] != End.LOOP}
    for ports, end in taken:
        assert any(ports[: len(path)] == path for path, how in listed if how == end)

"""Routing between a tenant's subnets in the data plane: symmetric IRB, its counters, its losses (RFC 9135)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.engine.edits import TenantRoutes, VtepRoutes
from fabric.dataplane.state.codes import DropReason
from fabric.ids import NodeId
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario
from fabric.verify import conservation
from tests.forked import UNCOMPILED, printed

GPU, HEAD, OTHER, L3 = range(4)
"""Columns of State.segments: two segments of tenant one, tenant two, and the L3 VNI."""
TENANTS = [
    {
        "name": "one",
        "l3_vni": 50_010,
        "routed": ["host10", "host11"],
        "segments": [
            {"name": "gpu", "vni": 10_010, "hosts": ["host1", "host4", "host7"]},
            {"name": "head", "vni": 10_020, "hosts": ["host2", "host5"]},
        ],
    },
    {"name": "two", "vni": 10_030, "hosts": ["host3", "host6", "host8", "host9", "host12"]},
]
"""Three hosts a leaf on four leaves; leaf3 has no host of 'head', leaf4 only routed hosts of tenant one."""
FAST = {
    "update_delay": "100us",
    "fib_delay": "50us",
    "carrier_delay": "50us",
    "prune_delay": "20us",
    "learn_delay": "50us",
}
MS = 10**9


def raw(*work: dict[str, Any], bgp: bool = True, **more: object) -> dict[str, Any]:
    found = {
        "name": "irb",
        "topology": {
            "kind": "leaf-spine",
            "leaves": 4,
            "spines": 2,
            "hosts_per_leaf": 3,
            "host_rate": "100G",
            "fabric_rate": "100G",
        },
        "vxlan": {"tenants": TENANTS},
        "workload": list(work),
        "run": {"duration": "5ms", "stop": "duration"},
        **more,
    }
    return {**found, "routing": "bgp", "bgp": FAST} if bgp else found


def sends(*pairs: tuple[int, int], size: str = "400KB") -> dict[str, Any]:
    return {
        "kind": "messages",
        "messages": [{"src": f"host{src}", "dst": f"host{dst}", "size": size} for src, dst in pairs],
    }


def compiled(*work: dict[str, Any], **more: Any) -> CompiledScenario:  # noqa: ANN401  scenario keys
    return compile_scenario(build_scenario(raw(*work, **more), Path("irb.yml")))


def engine_of(result: CompiledScenario, **options: Any) -> Emulator:  # noqa: ANN401  the emulator's own
    return Emulator(result.fabric, result.params, result.edits, reroute_delay_ps=result.reroute_delay_ps, **options)


def simulated(result: CompiledScenario, **options: Any) -> Emulator:  # noqa: ANN401
    engine = engine_of(result, **options)
    for share in range(1, 11):
        engine.advance(share * result.duration_ps // 10)
        assert conservation.check(engine.state, engine.fabric, engine.now_ps) == []
    return engine


def tunnels(engine: Emulator, field: str, column: int) -> list[int]:
    """Of leaf1 to leaf4."""
    return [int(count) for count in engine.snapshot().segments[field][:4, column]]


def lost(engine: Emulator, reason: DropReason) -> int:
    return int(engine.snapshot().drops["pkts"][:, :, reason].sum())


@pytest.mark.parametrize("bgp", [True, False])
def test_packets_between_subnets_cross_the_fabric_in_the_l3_vni_and_in_no_other(bgp: bool) -> None:
    engine = simulated(compiled(sends((1, 5), (10, 1), (4, 11)), bgp=bgp))
    assert engine.finished
    assert lost(engine, DropReason.NO_ROUTE) == 0
    for column in (GPU, HEAD, OTHER):
        assert tunnels(engine, "encap_pkts", column) == tunnels(engine, "decap_pkts", column) == [0] * 4
    out, back = tunnels(engine, "encap_pkts", L3), tunnels(engine, "decap_pkts", L3)
    assert out == back == [196, 196, 0, 196]  # each leaf: a message of 98 packets, and 98 ACKs of another


@pytest.mark.parametrize("bgp", [True, False])
def test_two_subnets_of_one_leaf_need_no_tunnel(bgp: bool) -> None:
    engine = simulated(compiled(sends((1, 2), (10, 11), (4, 1)), bgp=bgp))
    assert engine.finished
    assert sum(tunnels(engine, "encap_pkts", L3)) == 0
    assert tunnels(engine, "encap_pkts", GPU)[1] > 0  # host4 to host1: bridged, as before


def test_with_and_without_a_control_plane_packets_take_the_same_time() -> None:
    times = [
        simulated(compiled(sends((1, 5), (10, 1), (7, 2)), bgp=bgp)).state.messages["end_ps"].tolist()
        for bgp in (True, False)
    ]
    assert times[0] == times[1]


def test_every_switch_counts_down_the_one_time_to_live() -> None:
    engine = simulated(compiled(sends((1, 5), (1, 4), (1, 2)), bgp=True))
    assert engine.state.rmessages["hops"][1:].tolist() == [3, 3, 1]


def test_without_an_l3_vni_another_subnet_is_another_tenants() -> None:
    result = compiled(sends((1, 5), (1, 2)), bgp=False)
    assert result.params.vxlan is not None
    apart = replace(
        result,
        params=replace(
            result.params,
            vxlan=replace(
                result.params.vxlan,
                tenants=(),
                segments=(
                    *result.params.vxlan.segments,
                    replace(result.params.vxlan.segments[0], vni=9, hosts=(9, 10)),
                ),
            ),
        ),
    )
    engine = engine_of(apart)
    engine.advance(apart.duration_ps)
    assert lost(engine, DropReason.NO_ROUTE) > 0
    assert engine.state.hosts["goodput_bytes"].sum() == 0


def test_tenants_stay_apart_although_one_of_them_routes() -> None:
    result = compiled(sends((3, 6), (1, 5)), bgp=True)
    pairs = result.params.queue_pairs
    wrong = replace(
        result.params,
        queue_pairs=replace(pairs, dst=np.array([3, 4])),  # host3 of two to host4 of one
        messages=replace(result.params.messages, dst=np.array([3, 4])),
    )
    engine = engine_of(replace(result, params=wrong))
    engine.advance(result.duration_ps)
    assert lost(engine, DropReason.NO_ROUTE) > 0
    assert engine.state.hosts["goodput_bytes"].tolist()[3] == 0
    assert engine.state.hosts["goodput_bytes"].tolist()[4] == 400_000


def test_a_withdrawn_route_loses_packets_at_the_leaf_that_routes_and_another_route_ends_that() -> None:
    result = compiled(
        sends((10, 1), size="8MB"),
        run={"duration": "20ms", "stop": "duration"},
        transport={"retransmit_timeout": "500us"},
    )
    leaf4, leaf1 = NodeId(12 + 3), NodeId(12)
    gone = TenantRoutes(100_000_000, ((leaf4, NodeId(0), ()),))
    back = TenantRoutes(300_000_000, ((leaf4, NodeId(0), (leaf1,)),))
    engine = simulated(replace(result, edits=(*result.edits, gone, back)))
    assert engine.finished
    dropped = engine.snapshot().drops["pkts"][:, :, DropReason.NO_ROUTE].sum(axis=1)
    assert [engine.fabric.port_name(port) for port in np.flatnonzero(dropped)] == ["leaf4:Ethernet0"]
    assert engine.state.messages["retransmitted_pkts"][1] > 0


def test_a_vtep_that_knows_better_routes_on_and_one_that_knows_nothing_drops() -> None:
    """RFC 9135 section 5.2: the egress VTEP looks up the inner destination again."""
    result = compiled(sends((10, 1)))
    leaf1, leaf2, leaf4 = NodeId(12), NodeId(13), NodeId(15)
    wrong = TenantRoutes(1, ((leaf4, NodeId(0), (leaf2,)),))
    engine = simulated(replace(result, edits=(*result.edits, wrong)))
    assert engine.finished  # leaf2 has the host route, and forwards it to leaf1 in the same VNI
    assert tunnels(engine, "decap_pkts", L3)[1] > 0
    assert tunnels(engine, "decap_pkts", L3)[0] == tunnels(engine, "decap_pkts", L3)[1]
    ignorant = TenantRoutes(1, ((leaf4, NodeId(0), (leaf2,)), (leaf2, NodeId(0), ())))
    lossy = simulated(replace(result, edits=(*result.edits, ignorant)))
    assert lost(lossy, DropReason.NO_ROUTE) > 0
    assert tunnels(lossy, "decap_pkts", L3)[0] == 0
    no_tunnel = VtepRoutes(1, ((leaf4, leaf1, ()),))
    cut = simulated(replace(result, edits=(*result.edits, no_tunnel)))
    assert lost(cut, DropReason.NO_ROUTE) > 0
    assert sum(tunnels(cut, "encap_pkts", L3)) == 0


def test_two_leaves_that_send_a_packet_to_each_other_end_with_its_time_to_live() -> None:
    result = compiled(sends((10, 1), size="4KB"))
    leaf1, leaf2, leaf4 = NodeId(12), NodeId(13), NodeId(15)
    cycle = TenantRoutes(1, ((leaf4, NodeId(0), (leaf2,)), (leaf2, NodeId(0), (leaf4,))))
    engine = simulated(replace(result, edits=(*result.edits, cycle)))
    assert lost(engine, DropReason.TTL) > 0
    assert leaf1 not in {
        engine.fabric.ports[port].node for port in np.flatnonzero(engine.snapshot().drops["pkts"].sum(axis=(1, 2)))
    }


def test_flows_to_a_prefix_of_two_leaves_are_divided() -> None:
    result = compiled(sends(*[(10, 1)] * 40, size="4KB"), transport={"qp": {"per": "message"}})
    leaf1, leaf2, leaf4 = NodeId(12), NodeId(13), NodeId(15)
    both = TenantRoutes(1, ((leaf4, NodeId(0), (leaf1, leaf2)),))
    engine = simulated(replace(result, edits=(*result.edits, both)))
    assert engine.finished
    arrived = tunnels(engine, "decap_pkts", L3)
    assert arrived[1] > 5  # leaf2 has forwarded these to leaf1
    assert arrived[0] == 40


@pytest.mark.parametrize("bgp", [True, False])
def test_the_leaf_answers_for_the_gateway_without_flooding(bgp: bool) -> None:
    ask = {"kind": "arp", "interval": "20us", "stop": "200us"}
    result = compiled(
        {**ask, "name": "off", "hosts": ["host1"], "targets": ["host5", "host10"]},
        {**ask, "name": "on", "hosts": ["host2"], "targets": ["host5"]},
        {**ask, "name": "port", "hosts": ["host10"], "targets": ["host11", "host1"]},
        {**ask, "name": "none", "hosts": ["host11"], "targets": "nobody"},
        {**ask, "name": "else", "hosts": ["host4"], "targets": "nobody"},
        bgp=bgp,
    )
    engine = simulated(result)
    rows = engine.snapshot().segments
    assert rows["arp_requests"][:4, [GPU, HEAD, L3]].tolist() == [[10, 10, 0], [10, 0, 0], [0, 0, 0], [0, 0, 20]]
    assert rows["arp_suppressed"][:4, [GPU, HEAD, L3]].tolist() == [[10, 10, 0], [0, 0, 0], [0, 0, 0], [0, 0, 10]]
    assert rows["arp_flooded"][:4, [GPU, HEAD, L3]].tolist() == [[0, 0, 0], [10, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert engine.state.hosts["arp_replies_received"].tolist() == [10, 10, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0]
    # host4 requests an address without a host: flooded in its own segment, which has a host at leaf1 and one at leaf3.
    assert engine.state.hosts["arp_requests_received"].tolist() == [10, 0, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0]


def _mixed() -> CompiledScenario:
    return compiled(
        sends((1, 5), (10, 1), (4, 11), (1, 7), (3, 6)),
        {
            "kind": "arp",
            "hosts": ["host1", "host10"],
            "targets": ["host5", "host11"],
            "interval": "20us",
            "stop": "200us",
        },
        faults=[
            {"kind": "mac-move", "host": "host5", "to": "leaf1", "at": "30us", "arps": 1},
            {"kind": "host-leave", "hosts": ["host4"], "at": "20us", "until": "1ms"},
        ],
    )


@pytest.mark.parametrize("options", [{"threads": 2}, {"scheduler": "sequential"}])
def test_the_final_state_does_not_depend_on_the_scheduler_and_threads(options: dict[str, Any]) -> None:
    result = _mixed()
    assert simulated(result, **options).digest() == simulated(result).digest()


def test_the_same_state_after_a_checkpoint(tmp_path: Path) -> None:
    result = _mixed()
    broken = engine_of(result)
    broken.advance(MS // 4)
    broken.save(tmp_path / "state")
    resumed = Emulator.restore(
        result.fabric, result.params, result.edits, tmp_path / "state", reroute_delay_ps=result.reroute_delay_ps
    )
    resumed.advance(result.duration_ps)
    assert resumed.digest() == simulated(result).digest()


def test_the_same_state_compiled_and_not() -> None:
    program = "import tests.dataplane.test_tenant_routing as t; print(t.simulated(t._mixed()).digest())"
    assert printed(program, env=UNCOMPILED).strip() == simulated(_mixed()).digest()


def test_a_down_routed_port_loses_packets_at_the_leaf_that_routes_first_once_its_subnet_is_withdrawn() -> None:
    """host10 and host11 are the subnet of leaf4 that tenant one has; with one of them the prefix would stay."""
    down = [
        {"kind": "link-down", "link": f"{host}:eth0", "at": "100us", "until": "2ms"} for host in ("host10", "host11")
    ]
    result = compiled(
        sends((1, 10), size="20MB"),
        run={"duration": "20ms", "stop": "duration"},
        faults=down,
        transport={"retransmit_timeout": "500us"},
    )
    engine = engine_of(result)
    seen = {}
    for until_us in (100, 1_000, 1_900, 20_000):
        engine.advance(until_us * 10**6)
        drops = engine.snapshot().drops["pkts"].sum(axis=1)
        seen[until_us] = {
            (engine.fabric.port_name(port), DropReason(reason).name): int(drops[port, reason])
            for port, reason in np.argwhere(drops).tolist()
        }
        assert conservation.check(engine.state, engine.fabric, engine.now_ps) == []
    leaf4 = {place: count for place, count in seen[1_000].items() if place[0].startswith("leaf4")}
    assert ("leaf1:Ethernet0", "NO_ROUTE") in seen[1_000]
    # Until the prefix is withdrawn leaf4 drops them itself; later no packet gets there, retransmitted or not.
    assert {place: count for place, count in seen[1_900].items() if place[0].startswith("leaf4")} == leaf4
    assert any(reason == "NO_ROUTE" for _, reason in leaf4)
    assert seen[1_900]["leaf1:Ethernet0", "NO_ROUTE"] > seen[1_000]["leaf1:Ethernet0", "NO_ROUTE"]
    assert engine.finished  # the prefix is back, and lost packets were sent again
    event, back = result.control.convergence if result.control is not None else ()
    assert event.updates > 0 < back.updates
    assert event.convergence_ns is not None
    assert event.convergence_ns < 900_000


def test_one_down_routed_port_of_two_loses_its_packets_at_its_leaf_without_a_route() -> None:
    result = compiled(
        sends((1, 10), (1, 11)),
        run={"duration": "20ms", "stop": "duration"},
        faults=[{"kind": "link-down", "link": "host10:eth0", "at": "1us"}],
    )
    engine = engine_of(result)
    engine.advance(50_000_000)
    before = lost(engine, DropReason.LINK_DOWN)  # until the leaf has taken the port out of its tables
    engine.advance(result.duration_ps)
    dropped = engine.snapshot().drops["pkts"][:, :, DropReason.NO_ROUTE].sum(axis=1)
    assert {engine.fabric.nodes[engine.fabric.ports[port].node].name for port in np.flatnonzero(dropped)} == {"leaf4"}
    assert lost(engine, DropReason.LINK_DOWN) == before
    assert engine.state.hosts["goodput_bytes"].tolist()[9:11] == [0, 400_000]


@pytest.mark.parametrize("bgp", [True, False])
def test_a_flood_reaches_a_leaf_whose_first_host_is_in_none_of_the_senders_segments(bgp: bool) -> None:
    """Copies for a leaf are addressed to its first host, which at leaf4 is on a routed port."""
    ask = {"kind": "arp", "interval": "20us", "stop": "200us", "targets": "nobody"}
    engine = simulated(compiled({**ask, "hosts": ["host3"]}, sends((1, 5)), bgp=bgp))
    assert lost(engine, DropReason.NO_ROUTE) == 0
    assert engine.state.hosts["arp_requests_received"].tolist() == [0, 0, 0, 0, 0, 10, 0, 10, 10, 0, 0, 10]

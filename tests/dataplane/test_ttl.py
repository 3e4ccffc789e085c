"""Time to live: which switch decrements which header, and where packets are dropped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import DropReason
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario
from fabric.verify.conservation import check

MS = 10**9


def compiled(messages: list[tuple[str, str]], **sections: Any) -> CompiledScenario:  # noqa: ANN401  of a scenario
    raw: dict[str, Any] = {
        "name": "ttl",
        "topology": {
            "kind": "leaf-spine",
            "leaves": 2,
            "spines": 1,
            "hosts_per_leaf": 2,
            "host_rate": "100G",
            "fabric_rate": "100G",
        },
        "workload": [
            {"kind": "messages", "messages": [{"src": src, "dst": dst, "size": "4KB"} for src, dst in messages]}
        ],
        "run": {"duration": "3ms"},
        **sections,
    }
    transport = {"cc": "none", "retransmit_timeout": "off", **raw.get("transport", {})}
    return compile_scenario(build_scenario({**raw, "transport": transport}, Path("ttl.yml")))


def simulated(result: CompiledScenario, **options: Any) -> Emulator:  # noqa: ANN401  as Emulator takes them
    engine = Emulator(result.fabric, result.params, result.edits, reroute_delay_ps=result.reroute_delay_ps, **options)
    engine.advance(result.duration_ps)
    assert not check(engine.state, engine.fabric, engine.now_ps)
    return engine


def expired(engine: Emulator) -> dict[str, int]:
    """Packets whose TTL ran out, by switch."""
    drops = engine.snapshot().drops["pkts"][:, :, int(DropReason.TTL)].sum(axis=1)
    found: dict[str, int] = {}
    for port in engine.fabric.ports:
        if drops[port.id]:
            name = engine.fabric.node_of(port.id).name
            found[name] = found.get(name, 0) + int(drops[port.id])
    return found


def arrived(engine: Emulator) -> list[int]:
    """Switches that each message crossed; 0: it never arrived."""
    return [
        int(hops) if when >= 0 else 0
        for hops, when in zip(engine.state.rmessages["hops"][1:], engine.state.rmessages["arrived_ps"][1:], strict=True)
    ]


ACROSS, UNDER_ONE_LEAF = ("host1", "host3"), ("host1", "host2")
VXLAN: dict[str, Any] = {"vxlan": {}}
ROUTED: dict[str, Any] = {
    "vxlan": {
        "tenants": [
            {
                "name": "blue",
                "l3_vni": 900,
                "segments": [
                    {"name": "a", "vni": 10, "hosts": ["host1", "host4"]},
                    {"name": "b", "vni": 11, "hosts": ["host2", "host3"]},
                ],
            }
        ]
    }
}


@pytest.mark.parametrize(("ttl", "dies_at"), [(1, "leaf1"), (2, "spine1"), (3, "leaf2"), (4, None)])
def test_each_of_three_routers_takes_one_and_drops_what_arrives_with_one_rfc1812_5_3_1(
    ttl: int, dies_at: str | None
) -> None:
    engine = simulated(compiled([ACROSS], transport={"ttl": ttl}))
    assert expired(engine) == ({} if dies_at is None else {dies_at: 1})
    assert arrived(engine) == [3 if dies_at is None else 0]


def test_a_leaf_bridges_between_hosts_of_its_own_subnet_and_takes_nothing() -> None:
    engine = simulated(compiled([UNDER_ONE_LEAF], transport={"ttl": 1}))
    assert not expired(engine)
    assert arrived(engine) == [1]


@pytest.mark.parametrize("ttl", [1, 64])
def test_leaves_of_a_vxlan_segment_leave_the_inner_ttl_alone(ttl: int) -> None:
    engine = simulated(compiled([ACROSS, UNDER_ONE_LEAF], transport={"ttl": ttl}, **VXLAN))
    assert not expired(engine)
    assert arrived(engine) == [3, 1]


@pytest.mark.parametrize(("ttl", "dies_at"), [(1, "spine1"), (2, None)])
def test_only_switches_between_vteps_take_from_the_outer_ttl(ttl: int, dies_at: str | None) -> None:
    engine = simulated(compiled([ACROSS, UNDER_ONE_LEAF], vxlan={"ttl": ttl}))
    assert expired(engine) == ({} if dies_at is None else {dies_at: 1})
    assert arrived(engine) == [3 if dies_at is None else 0, 1]


@pytest.mark.parametrize("routing", ["shortest-path", "bgp"])
@pytest.mark.parametrize(
    ("ttl", "across", "under_one_leaf"), [(1, "leaf1", "leaf1"), (2, "leaf2", None), (3, None, None)]
)
def test_leaves_that_route_between_subnets_take_one_each_rfc9135_5(
    routing: str, ttl: int, across: str | None, under_one_leaf: str | None
) -> None:
    engine = simulated(compiled([ACROSS, UNDER_ONE_LEAF], transport={"ttl": ttl}, routing=routing, **ROUTED))
    died = [it for it in (across, under_one_leaf) if it]
    assert expired(engine) == {name: died.count(name) for name in died}
    assert arrived(engine) == [0 if across else 3, 0 if under_one_leaf else 1]


@pytest.mark.parametrize("routing", ["shortest-path", "bgp"])
def test_the_outer_header_of_an_l3_vni_has_its_own_ttl(routing: str) -> None:
    vxlan = {**ROUTED["vxlan"], "ttl": 1}
    engine = simulated(compiled([ACROSS], routing=routing, vxlan=vxlan))
    assert expired(engine) == {"spine1": 1}


@pytest.mark.parametrize("ttl", [4, 16, 64, 255])
def test_in_a_loop_a_packet_crosses_ttl_less_one_switches(ttl: int) -> None:
    loop = [
        {"kind": "route", "switches": ["leaf1"], "hosts": ["host3"], "via": ["spine1"], "at": "0s"},
        {"kind": "route", "switches": ["spine1"], "hosts": ["host3"], "via": ["leaf1"], "at": "0s"},
    ]
    engine = simulated(compiled([ACROSS], transport={"ttl": ttl}, faults=loop))
    crossed = engine.packet_hops - 1  # the cable from the host to the first switch
    assert crossed == ttl - 1
    assert sum(expired(engine).values()) == 1


def test_a_loop_between_vteps_ends_by_the_outer_ttl() -> None:
    loop = [
        {"kind": "route", "switches": ["leaf2"], "hosts": ["host3"], "via": ["spine1"], "at": "0s"},
        {"kind": "route", "switches": ["spine1"], "hosts": ["host3"], "via": ["leaf2"], "at": "0s"},
    ]
    engine = simulated(compiled([ACROSS], transport={"ttl": 3}, vxlan={"ttl": 20}, faults=loop))
    assert sum(expired(engine).values()) == 1
    assert engine.packet_hops == 2 + 19  # to leaf1, to spine1, and one cable for each decrement by spine1 and leaf2


@pytest.mark.parametrize("sections", [{}, VXLAN, ROUTED, {**ROUTED, "routing": "bgp"}])
def test_it_is_the_same_in_windows_one_event_at_a_time_and_with_threads(sections: dict[str, Any]) -> None:
    result = compiled([ACROSS, UNDER_ONE_LEAF, ("host4", "host1")], **sections)
    assert (
        simulated(result).digest()
        == simulated(result, scheduler="sequential").digest()
        == simulated(result, threads=2).digest()
    )


@pytest.mark.parametrize(("section", "value"), [("transport", 0), ("transport", 256), ("vxlan", 0), ("vxlan", 256)])
def test_a_ttl_that_no_header_can_hold_is_refused(section: str, value: int) -> None:
    with pytest.raises(Exception, match=rf"{section}.ttl: {value} is out of range"):
        compiled([ACROSS], **{section: {"ttl": value}})


def test_the_model_of_the_simulator_has_no_ttl_to_set() -> None:
    with pytest.raises(Exception, match=r"transport\.ttl"):
        compile_scenario(
            build_scenario(
                {
                    "name": "x",
                    "model": "hpcc-ns3",
                    "topology": {
                        "kind": "leaf-spine",
                        "leaves": 2,
                        "spines": 1,
                        "hosts_per_leaf": 2,
                        "host_rate": "100G",
                        "fabric_rate": "100G",
                    },
                    "transport": {"ttl": 64},
                    "workload": [{"kind": "permutation", "size": "4KB"}],
                    "run": {"duration": "1ms"},
                },
                Path("x.yml"),
            )
        )

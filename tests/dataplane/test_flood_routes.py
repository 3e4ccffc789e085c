"""Copies of broadcasts with a control plane: they follow the routes to the VTEP's address, independent of its hosts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.engine.edits import VtepRoutes
from fabric.dataplane.state.codes import DropReason
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario
from fabric.verify import conservation
from tests.forked import UNCOMPILED, printed

FAST = {
    "update_delay": "20us",
    "fib_delay": "10us",
    "carrier_delay": "10us",
    "prune_delay": "5us",
    "learn_delay": "10us",
}
RED = {"name": "red", "vni": 100, "hosts": ["host1", "host4", "host6"]}
"""On every leaf; host3, the first of leaf2, and host5, the first of leaf3, are blue; leaf1 has no blue host."""
BLUE = {"name": "blue", "vni": 200, "hosts": ["host3", "host5"]}
GREEN = {"name": "green", "vni": 300, "hosts": ["host2"]}
ASK = {"kind": "arp", "hosts": ["host1"], "targets": "nobody", "interval": "20us", "stop": "200us"}
DATA = {"kind": "messages", "messages": [{"src": "host3", "dst": "host5", "size": "40KB"}]}


def compiled(*work: dict[str, Any], bgp: bool = True, **more: Any) -> CompiledScenario:  # noqa: ANN401  scenario keys
    raw = {
        "name": "flood",
        "topology": {
            "kind": "leaf-spine",
            "leaves": 3,
            "spines": 2,
            "hosts_per_leaf": 2,
            "host_rate": "100G",
            "fabric_rate": "100G",
        },
        "vxlan": {"tenants": [RED, BLUE, GREEN]},
        "workload": [DATA, *work],
        "run": {"duration": "1ms", "stop": "duration"},
        **more,
    }
    if bgp:
        raw |= {"routing": "bgp", "bgp": FAST}
    return compile_scenario(build_scenario(raw, Path("flood.yml")))


def simulated(result: CompiledScenario, **options: Any) -> Emulator:  # noqa: ANN401  the emulator's own
    engine = Emulator(result.fabric, result.params, result.edits, reroute_delay_ps=result.reroute_delay_ps, **options)
    for share in range(1, 11):
        engine.advance(share * result.duration_ps // 10)
        assert conservation.check(engine.state, engine.fabric, engine.now_ps) == []
    return engine


def received(engine: Emulator) -> list[int]:
    return engine.state.hosts["arp_requests_received"].tolist()


def lost(engine: Emulator, reason: DropReason = DropReason.NO_ROUTE) -> dict[str, int]:
    """Ports at which packets were lost."""
    drops = engine.snapshot().drops["pkts"][:, :, reason].sum(axis=1)
    return {engine.fabric.port_name(port): int(count) for port, count in enumerate(drops) if count}


@pytest.mark.parametrize("bgp", [True, False])
def test_a_leaf_is_reached_although_its_first_host_is_of_a_tenant_that_the_sender_has_nothing_of(bgp: bool) -> None:
    engine = simulated(compiled(ASK, bgp=bgp))
    assert lost(engine) == {}
    assert received(engine) == [0, 0, 0, 10, 0, 10]


@pytest.mark.parametrize("switch", ["leaf1", "spine1", "spine2"])
def test_a_route_fault_for_one_host_takes_no_broadcast_from_the_others_of_its_leaf(switch: str) -> None:
    """host4 is the only red one of leaf2, so a black hole for any host there must not affect packets for its VTEP."""
    blind = [{"kind": "route", "switches": [switch], "hosts": ["host3", "host4"], "via": [], "at": "1us"}]
    engine = simulated(compiled(ASK, faults=blind))
    assert received(engine) == [0, 0, 0, 10, 0, 10]


def test_a_down_port_of_the_first_host_takes_no_broadcast_from_the_others_of_its_leaf() -> None:
    engine = simulated(compiled(ASK, faults=[{"kind": "link-down", "link": "host3:eth0", "at": "50us"}]))
    assert received(engine) == [0, 0, 0, 10, 0, 10]
    assert lost(engine, DropReason.LINK_DOWN).keys() <= {"host3:eth0", "leaf2:Ethernet0"}  # its own data


@pytest.mark.parametrize("bgp", [True, False])
def test_copies_avoid_a_down_cable_as_soon_as_the_routes_do(bgp: bool) -> None:
    """leaf2 keeps one uplink; until leaf1 learns it, copies by the other one are lost at the down port or before it."""
    down = [{"kind": "link-down", "link": "leaf2:Ethernet12", "at": "95us"}]
    result = compiled(
        ASK,
        bgp=bgp,
        faults=down,
        run={"duration": "1ms", "stop": "duration", **({} if bgp else {"reroute_delay": "60us"})},
    )
    engine = simulated(result)
    late = lost(engine, DropReason.LINK_DOWN) | lost(engine)
    assert late.keys() <= {"spine2:Ethernet0", "spine2:Ethernet4"}
    assert received(engine)[3] + sum(late.values()) == 10 == received(engine)[5]
    assert 7 <= received(engine)[3] < 10  # some before the routes have changed, none after


def test_packets_for_a_leaf_without_uplinks_are_lost_at_the_sender_without_a_route() -> None:
    down = [{"kind": "link-down", "link": f"leaf2:{port}", "at": "1us"} for port in ("Ethernet8", "Ethernet12")]
    stale = simulated(compiled(ASK, faults=down))
    # The Type-3 route of leaf2 is withdrawn with it, so its place in the flood list goes as well.
    assert received(stale) == [0, 0, 0, 0, 0, 10]


@pytest.mark.parametrize("options", [{"threads": 2}, {"scheduler": "sequential"}])
def test_the_final_state_does_not_depend_on_the_scheduler_and_threads(options: dict[str, Any]) -> None:
    assert simulated(_busy(), **options).digest() == simulated(_busy()).digest()


def test_the_same_state_compiled_and_not() -> None:
    program = "import tests.dataplane.test_flood_routes as t; print(t.simulated(t._busy()).digest())"
    assert printed(program, env=UNCOMPILED).strip() == simulated(_busy()).digest()


def test_the_same_state_after_a_checkpoint(tmp_path: Path) -> None:
    result = _busy()
    broken = Emulator(result.fabric, result.params, result.edits, reroute_delay_ps=result.reroute_delay_ps)
    broken.advance(result.duration_ps // 10)
    broken.save(tmp_path / "state")
    resumed = Emulator.restore(
        result.fabric, result.params, result.edits, tmp_path / "state", reroute_delay_ps=result.reroute_delay_ps
    )
    resumed.advance(result.duration_ps)
    assert resumed.digest() == simulated(result).digest()


def _busy() -> CompiledScenario:
    asks = [{**ASK, "name": f"a{host}", "hosts": [f"host{host}"]} for host in (1, 3, 4, 6)]
    return compiled(*asks, faults=[{"kind": "link-down", "link": "leaf2:Ethernet8", "at": "95us"}])


def test_a_run_without_broadcasts_has_no_routes_to_vteps_to_keep() -> None:
    quiet, loud = compiled(), compiled(ASK)
    assert [len(simulated(it).state.vtep_fib) for it in (quiet, loud)] == [1, 25]
    assert not any(isinstance(edit, VtepRoutes) for edit in quiet.edits)
    assert any(isinstance(edit, VtepRoutes) for edit in loud.edits)

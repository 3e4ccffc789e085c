"""Copies of broadcasts with a control plane: they follow the routes to the VTEP's address, whoever is behind it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fabric.engine.driver import Emulator
from fabric.engine.edits import VtepRoutes
from fabric.scenario.compile import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario
from fabric.state.codes import DropReason
from fabric.validate import conservation

FAST = {"update_delay": "20us", "fib_delay": "10us", "carrier_delay": "10us", "prune_delay": "5us",
        "learn_delay": "10us"}
RED = {"name": "red", "vni": 100, "hosts": ["host1", "host4", "host6"]}
"""On every leaf; host3, the first of leaf2, and host5, the first of leaf3, are blue, which leaf1 has nothing of."""
BLUE = {"name": "blue", "vni": 200, "hosts": ["host3", "host5"]}
GREEN = {"name": "green", "vni": 300, "hosts": ["host2"]}
ASK = {"kind": "arp", "hosts": ["host1"], "targets": "nobody", "interval": "20us", "stop": "200us"}
DATA = {"kind": "messages", "messages": [{"src": "host3", "dst": "host5", "size": "40KB"}]}


def compiled(*work: dict[str, Any], bgp: bool = True, **more: Any) -> CompiledScenario:  # noqa: ANN401  scenario keys
    raw = {"name": "flood", "topology": {"kind": "leaf-spine", "leaves": 3, "spines": 2, "hosts_per_leaf": 2,
                                         "host_rate": "100G", "fabric_rate": "100G"},
           "vxlan": {"tenants": [RED, BLUE, GREEN]}, "workload": [DATA, *work],
           "run": {"duration": "1ms", "stop": "duration"}, **more}
    if bgp:
        raw |= {"routing": "bgp", "bgp": FAST}
    return compile_scenario(build_scenario(raw, Path("flood.yml")))


def played(result: CompiledScenario, **options: Any) -> Emulator:  # noqa: ANN401  the emulator's own
    engine = Emulator(result.fabric, result.params, result.edits, reroute_delay_ps=result.reroute_delay_ps, **options)
    for share in range(1, 11):
        engine.advance(share * result.duration_ps // 10)
        assert conservation.check(engine.state, engine.fabric, engine.now_ps) == []
    return engine


def heard(engine: Emulator) -> list[int]:
    return engine.state.hosts["arp_requests_received"].tolist()


def lost(engine: Emulator, reason: DropReason = DropReason.NO_ROUTE) -> dict[str, int]:
    """Ports at which packets were lost."""
    drops = engine.snapshot().drops["pkts"][:, :, reason].sum(axis=1)
    return {engine.fabric.port_name(port): int(count) for port, count in enumerate(drops) if count}


@pytest.mark.parametrize("bgp", [True, False])
def test_a_leaf_is_reached_although_its_first_host_is_of_a_tenant_that_the_sender_has_nothing_of(bgp: bool) -> None:
    engine = played(compiled(ASK, bgp=bgp))
    assert lost(engine) == {}
    assert heard(engine) == [0, 0, 0, 10, 0, 10]


@pytest.mark.parametrize("switch", ["leaf1", "spine1", "spine2"])
def test_a_route_fault_for_one_host_takes_no_broadcast_from_the_others_of_its_leaf(switch: str) -> None:
    """host4 is the only red one of leaf2, so a black hole for any host there must not touch what is for its VTEP."""
    blind = [{"kind": "route", "switches": [switch], "hosts": ["host3", "host4"], "via": [], "at": "1us"}]
    engine = played(compiled(ASK, faults=blind))
    assert heard(engine) == [0, 0, 0, 10, 0, 10]


def test_a_dark_port_of_the_first_host_takes_no_broadcast_from_the_others_of_its_leaf() -> None:
    engine = played(compiled(ASK, faults=[{"kind": "link-down", "link": "host3:eth0", "at": "50us"}]))
    assert heard(engine) == [0, 0, 0, 10, 0, 10]
    assert lost(engine, DropReason.LINK_DOWN).keys() <= {"host3:eth0", "leaf2:Ethernet0"}     # its own data


@pytest.mark.parametrize("bgp", [True, False])
def test_copies_avoid_a_dark_cable_as_soon_as_the_routes_do(bgp: bool) -> None:
    """leaf2 keeps one uplink; until leaf1 knows, copies by the other one are lost at the dark port or before it."""
    down = [{"kind": "link-down", "link": "leaf2:Ethernet12", "at": "95us"}]
    result = compiled(ASK, bgp=bgp, faults=down, run={"duration": "1ms", "stop": "duration", **(
        {} if bgp else {"reroute_delay": "60us"})})
    engine = played(result)
    late = lost(engine, DropReason.LINK_DOWN) | lost(engine)
    assert late.keys() <= {"spine2:Ethernet0", "spine2:Ethernet4"}
    assert heard(engine)[3] + sum(late.values()) == 10 == heard(engine)[5]
    assert 7 <= heard(engine)[3] < 10           # some in time of need, none after the routes have changed


def test_a_leaf_without_uplinks_loses_what_is_for_it_at_the_sender_for_want_of_a_route() -> None:
    down = [{"kind": "link-down", "link": f"leaf2:{port}", "at": "1us"} for port in ("Ethernet8", "Ethernet12")]
    stale = played(compiled(ASK, faults=down))
    # The Type-3 route of leaf2 is withdrawn with it, so its place in the flood list goes as well.
    assert heard(stale) == [0, 0, 0, 0, 0, 10]


@pytest.mark.parametrize("options", [{"threads": 2}, {"scheduler": "sequential"}])
def test_the_same_state_whoever_plays_it(options: dict[str, Any]) -> None:
    assert played(_busy(), **options).digest() == played(_busy()).digest()


def test_the_same_state_compiled_and_not() -> None:
    program = ("import sys; sys.path.insert(0, 'tests/engine'); import test_flood_routes as t; "
               "print(t.played(t._busy()).digest())")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300,
                          cwd=Path(__file__).parents[2], env=os.environ | {"NUMBA_DISABLE_JIT": "1"})
    assert done.stdout.strip() == played(_busy()).digest()


def test_the_same_state_after_a_checkpoint(tmp_path: Path) -> None:
    result = _busy()
    broken = Emulator(result.fabric, result.params, result.edits, reroute_delay_ps=result.reroute_delay_ps)
    broken.advance(result.duration_ps // 10)
    broken.save(tmp_path / "state")
    resumed = Emulator.restore(result.fabric, result.params, result.edits, tmp_path / "state",
                               reroute_delay_ps=result.reroute_delay_ps)
    resumed.advance(result.duration_ps)
    assert resumed.digest() == played(result).digest()


def _busy() -> CompiledScenario:
    asks = [{**ASK, "name": f"a{host}", "hosts": [f"host{host}"]} for host in (1, 3, 4, 6)]
    return compiled(*asks, faults=[{"kind": "link-down", "link": "leaf2:Ethernet8", "at": "95us"}])


def test_a_run_without_broadcasts_has_no_routes_to_vteps_to_keep() -> None:
    quiet, loud = compiled(), compiled(ASK)
    assert [len(played(it).state.vtep_fib) for it in (quiet, loud)] == [1, 25]
    assert not any(isinstance(edit, VtepRoutes) for edit in quiet.edits)
    assert any(isinstance(edit, VtepRoutes) for edit in loud.edits)

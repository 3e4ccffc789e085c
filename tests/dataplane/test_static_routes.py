"""Explicit routes against computed ones: a static route is installed, withdrawn with its ports, and ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabric.dataplane.engine.driver import Emulator
from fabric.forwarding.tables import Cause, changes, forwarding_at
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario

US = 10**6
DELAY_US = 5


def compiled(*faults: dict[str, Any], **changes_: object) -> CompiledScenario:
    raw = {
        "name": "static",
        "topology": {
            "kind": "leaf-spine",
            "leaves": 3,
            "spines": 3,
            "hosts_per_leaf": 2,
            "host_rate": "100G",
            "fabric_rate": "100G",
            "links_per_pair": 2,
        },
        "workload": [{"kind": "permutation", "size": "4KB"}],
        "faults": list(faults),
        "run": {"duration": "1ms", "stop": "duration", "reroute_delay": f"{DELAY_US}us"},
        **changes_,
    }
    return compile_scenario(build_scenario(raw, Path("static.yml")))


def cut(link: str, at_us: int, until_us: int | None = None) -> dict[str, Any]:
    return {
        "kind": "link-down",
        "link": link,
        "at": f"{at_us}us",
        **({} if until_us is None else {"until": f"{until_us}us"}),
    }


def static(via: list[str], at_us: int, until_us: int | None = None, switch: str = "leaf1") -> dict[str, Any]:
    return {
        "kind": "route",
        "switches": [switch],
        "hosts": ["host3"],
        "via": via,
        "at": f"{at_us}us",
        **({} if until_us is None else {"until": f"{until_us}us"}),
    }


def emulator(result: CompiledScenario) -> Emulator:
    return Emulator(result.fabric, result.params, result.edits, reroute_delay_ps=result.reroute_delay_ps)


def installed(engine: Emulator, switch: str, host: str) -> str:
    """'spine1 spine1 spine2' of the engine's route; '' without one."""
    state, fabric = engine.state, engine.fabric
    row, column, n_hosts = fabric.by_name[switch].id, fabric.by_name[host].id, len(fabric.hosts)
    group = int(state.fib[(row - n_hosts) * n_hosts + column])
    if group == 0:
        return ""
    first, count = int(state.groups[group - 1]["first"]), int(state.groups[group - 1]["count"])
    return " ".join(fabric.peer_of(port).name for port in state.members["port"][first : first + count].tolist())


def used(result: CompiledScenario, *at_us: int) -> list[str]:
    """Next hops of leaf1 towards host3 at these times; the tables computed without an engine agree."""
    fabric, engine, found = result.fabric, emulator(result), []
    timeline = changes(result.edits, fabric, result.params, result.reroute_delay_ps)
    for moment in at_us:
        engine.advance(moment * US + 1)
        found.append(installed(engine, "leaf1", "host3"))
        at = forwarding_at(fabric, result.params, timeline, moment * US)
        ports = at.next_ports(fabric.by_name["leaf1"].id, fabric.by_name["host3"].id)
        assert " ".join(fabric.peer_of(port).name for port in ports) == found[-1]
    return found


ALL = "spine1 spine1 spine2 spine2 spine3 spine3"


def test_it_survives_the_recomputation_after_a_failure_and_after_a_repair_elsewhere() -> None:
    result = compiled(static(["spine2"], 10, 90), cut("leaf3--spine1", 20, 40))
    assert used(result, 9, 10, 20, 25, 40, 45, 89, 90) == [ALL, *["spine2 spine2"] * 6, ALL]


def test_the_computed_route_is_used_again_as_it_is_by_then() -> None:
    result = compiled(static(["spine2"], 10, 90), cut("leaf2--spine3", 20))
    assert used(result, 25, 89, 90) == ["spine2 spine2", "spine2 spine2", "spine1 spine1 spine2 spine2"]


def test_a_discard_route_survives_too() -> None:
    result = compiled(static([], 10, 90), cut("leaf1--*", 20, 40))
    assert used(result, 15, 25, 45, 90) == ["", "", "", ALL]


def test_it_loses_a_dead_next_hop_and_is_withdrawn_with_the_last_one() -> None:
    one = compiled(static(["spine1"], 10), cut("leaf1--spine1#0", 20, 40))
    assert used(one, 20, 24, 25, 45) == ["spine1 spine1", "spine1 spine1", "spine1", "spine1 spine1"]
    both = compiled(static(["spine1"], 10, 90), cut("leaf1--spine1", 20, 40))
    assert used(both, 20, 25, 44, 45, 90) == [
        "spine1 spine1",
        "spine2 spine2 spine3 spine3",
        "spine2 spine2 spine3 spine3",
        "spine1 spine1",
        ALL,
    ]


def test_it_is_not_used_where_its_port_is_dead_when_it_is_put() -> None:
    result = compiled(cut("leaf1--spine1", 10, 40), static(["spine1"], 20))
    assert used(result, 20, 45) == ["spine2 spine2 spine3 spine3", "spine1 spine1"]


def test_of_several_the_last_one_with_a_live_port_is_used() -> None:
    result = compiled(static(["spine1"], 10), static(["spine2"], 20, 60), cut("leaf1--spine2", 30, 50))
    assert used(result, 15, 20, 35, 55, 60) == [
        "spine1 spine1",
        "spine2 spine2",
        "spine1 spine1",
        "spine2 spine2",
        "spine1 spine1",
    ]


def test_where_it_forwards_into_a_failure_further_on_packets_are_lost() -> None:
    """A static route depends on its own port only, which is its danger."""
    result = compiled(static(["spine2"], 10), cut("leaf2--spine2", 20))
    assert used(result, 30) == ["spine2 spine2"]


def test_tables_name_the_writer_of_the_row_with_a_static_route_and_while_it_is_withdrawn() -> None:
    result = compiled(static(["spine1"], 10, 90), cut("leaf1--spine1", 20, 40))
    timeline = changes(result.edits, result.fabric, result.params, result.reroute_delay_ps)

    def written(at_us: int) -> tuple[Cause, int]:
        at = forwarding_at(result.fabric, result.params, timeline, at_us * US)
        cause, since_ps = at.written(result.fabric.by_name["leaf1"].id, result.fabric.by_name["host3"].id)
        return cause, since_ps // US

    assert [written(at_us) for at_us in (5, 10, 30, 50, 95)] == [
        (Cause.SHORTEST_PATH, 0),
        (Cause.EDIT, 10),
        (Cause.SHORTEST_PATH, 25),
        (Cause.EDIT, 45),
        (Cause.SHORTEST_PATH, 90),
    ]


def test_packets_follow_the_static_route_after_a_failure() -> None:
    messages = [{"src": "host1", "dst": "host3", "size": "200KB", "start": "50us"}]
    result = compiled(
        static(["spine2"], 10), cut("leaf3--spine1", 20), workload=[{"kind": "messages", "messages": messages}]
    )
    engine = emulator(result)
    engine.advance(900 * US)
    sent = {
        engine.fabric.peer_of(port).name
        for port in engine.fabric.by_name["leaf1"].ports
        if int(engine.state.ports["tx_bytes"][port]) > 100_000
    }
    assert sent == {"spine2"}


@pytest.mark.parametrize("stop_us", [15, 22, 27, 35, 42, 47, 70])
def test_a_restored_run_has_its_static_routes_and_the_computed_ones_below(tmp_path: Path, stop_us: int) -> None:
    result = compiled(
        static(["spine1"], 10, 60),
        static(["spine2"], 12, 50),
        cut("leaf1--spine2", 20, 40),
        cut("leaf2--spine3", 30),
        static([], 15, 80, switch="leaf3"),
    )
    stopped = emulator(result)
    stopped.advance(stop_us * US)
    stopped.save(tmp_path / "state")
    again = Emulator.restore(
        result.fabric, result.params, result.edits, tmp_path / "state", reroute_delay_ps=result.reroute_delay_ps
    )
    whole = emulator(result)
    for moment in (stop_us, *range(stop_us + 1, 100, 7)):
        whole.advance(moment * US + 1)
        again.advance(moment * US + 1)
        for switch in ("leaf1", "leaf3"):
            assert installed(again, switch, "host3") == installed(whole, switch, "host3")
    assert again.digest() == whole.digest()

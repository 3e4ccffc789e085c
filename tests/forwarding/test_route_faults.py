"""Black holes, dead next hops, loops, valleys and cyclic buffer dependencies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fabric.forwarding.route_faults import BadPath, RouteFindings, check_routes
from fabric.forwarding.tables import changes, forwarding_at
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario
from fabric.topology.model import Fabric

US = 10**6


def walked(at_us: int, *faults: dict[str, Any]) -> tuple[Fabric, RouteFindings]:
    """Findings at a moment in a fabric of 3 leaves, 2 spines and 2 hosts a leaf; reroute delay 5 us."""
    run = {"duration": "1ms", "stop": "duration"}
    if any(fault["kind"] == "link-down" for fault in faults):
        run["reroute_delay"] = "5us"
    case = compile_scenario(
        build_scenario(
            {
                "name": "w",
                "run": run,
                "faults": list(faults),
                "workload": [{"kind": "permutation", "size": "4KB"}],
                "topology": {
                    "kind": "leaf-spine",
                    "leaves": 3,
                    "spines": 2,
                    "hosts_per_leaf": 2,
                    "host_rate": "100G",
                    "fabric_rate": "100G",
                },
            },
            Path("w.yml"),
        )
    )
    timeline = changes(case.edits, case.fabric, case.params, case.reroute_delay_ps)
    at = forwarding_at(case.fabric, case.params, timeline, at_us * US)
    classes = [[host.id for host in hosts] for hosts in at.classes().values()]
    return case.fabric, check_routes(case.fabric, at.next_ports, classes, at.down)


def names(fabric: Fabric, path: BadPath) -> list[str]:
    return [fabric.nodes[switch].name for switch in path.switches]


def route(switch: str, host: str, *via: str) -> dict[str, Any]:
    return {"kind": "route", "switches": [switch], "hosts": [host], "via": list(via), "at": "1us"}


def down(a: str, b: str) -> dict[str, Any]:
    return {"kind": "link-down", "link": f"{a}--{b}", "at": "1us"}


def test_shortest_paths_of_a_whole_fabric_are_clean() -> None:
    assert walked(0)[1].clean


def test_a_missing_route_is_a_black_hole_at_its_switch_for_its_hosts_only() -> None:
    fabric, found = walked(2, route("spine1", "host1"))
    [hole] = found.no_route
    assert names(fabric, hole)[-1] == "spine1"
    assert (fabric.nodes[hole.host].name, hole.n_hosts) == ("host1", 1)
    assert not any((found.loops, found.valleys, found.dead_link, found.buffer_cycles))


def test_a_cable_that_is_down_is_a_dead_next_hop_until_routes_follow() -> None:
    fabric, found = walked(2, down("leaf1", "spine1"))
    assert {tuple(names(fabric, path))[-2:] for path in found.dead_link} == {("leaf1", "spine1"), ("spine1", "leaf1")}
    assert not walked(7, down("leaf1", "spine1"))[1].dead_link


def test_two_switches_that_point_at_each_other_are_a_loop_and_a_cyclic_buffer_dependency() -> None:
    fabric, found = walked(2, route("spine1", "host1", "leaf2"), route("leaf2", "host1", "spine1"))
    [loop] = found.loops
    assert sorted(set(names(fabric, loop)[-3:])) == ["leaf2", "spine1"]
    assert names(fabric, loop)[-1] == names(fabric, loop)[-3]
    [cycle] = found.buffer_cycles
    assert {fabric.node_of(port).name for port in cycle} == {"leaf2", "spine1"}


def test_a_path_that_climbs_through_a_leaf_is_a_valley_with_the_leaf_at_its_bottom() -> None:
    fabric, found = walked(2, route("spine1", "host1", "leaf3"))
    assert {names(fabric, path)[-2] for path in found.valleys} == {"leaf3"}
    assert all(names(fabric, path)[-1] in {"spine1", "spine2"} for path in found.valleys)


def test_bounces_off_two_leaves_close_a_buffer_cycle_that_names_its_ports() -> None:
    """Two spines have each lost a leaf: packets that come down to the wrong leaf go up again."""
    fabric, found = walked(9, down("leaf1", "spine2"), down("leaf2", "spine1"))
    assert found.valleys
    assert {names(fabric, path)[-2] for path in found.valleys} == {"leaf3"}
    assert not found.loops
    fabric, found = walked(
        2,
        route("spine1", "host3", "leaf3"),
        route("leaf3", "host3", "spine2"),
        route("spine2", "host5", "leaf1"),
        route("leaf1", "host5", "spine1"),
        route("leaf1", "host3", "spine1"),
        route("leaf2", "host5", "spine2"),
        route("leaf2", "host1", "spine2"),
    )
    [cycle] = found.buffer_cycles
    ports = [fabric.port_name(port) for port in cycle]
    assert cycle[0] == min(cycle)
    assert {name.partition(":")[0] for name in ports} == {"leaf1", "leaf3", "spine1", "spine2"}

"""`routing: given`: the network of a run has exactly the routes of the scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import DropReason
from fabric.errors import InputErrors
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario
from fabric.topology.paths import equal_cost_ports

FABRIC = {
    "kind": "leaf-spine",
    "leaves": 2,
    "spines": 2,
    "hosts_per_leaf": 2,
    "host_rate": "100G",
    "fabric_rate": "100G",
}
BOTH = {
    "leaf1": {"0.0.0.0/0": ["spine1", "spine2"]},
    "leaf2": {"0.0.0.0/0": ["spine1", "spine2"]},
    "spine1": {"host1": ["leaf1"], "host2": ["leaf1"], "host3": ["leaf2"], "host4": ["leaf2"]},
    "spine2": {"host1": ["leaf1"], "host2": ["leaf1"], "host3": ["leaf2"], "host4": ["leaf2"]},
}


def compiled(routes: dict[str, Any] | None, **more: Any) -> CompiledScenario:  # noqa: ANN401  sections
    entry = {"kind": "datagrams", "senders": ["host1"], "receivers": ["host3"], "load": 0.5, "frame": "500B"}
    raw = {
        "name": "given",
        "topology": FABRIC,
        "routing": "given",
        "routes": routes,
        "workload": [{**entry, "count": 50}],
        "run": {"duration": "1ms"},
        **more,
    }
    if routes is None:
        del raw["routes"]
    return compile_scenario(build_scenario(raw, Path("given.yml")))


def simulated(routes: dict[str, Any], **more: Any) -> Emulator:  # noqa: ANN401  sections
    made = compiled(routes, **more)
    engine = Emulator(made.fabric, made.params, made.edits, reroute_delay_ps=made.reroute_delay_ps)
    engine.advance(10**9)
    return engine


def refusal(routes: dict[str, Any] | None, **more: Any) -> str:  # noqa: ANN401  sections
    with pytest.raises(InputErrors) as caught:
        compiled(routes, **more)
    return str(caught.value)


def used(engine: Emulator, switch: str) -> set[str]:
    """Neighbours to which a switch sent datagrams."""
    fabric, ports = engine.fabric, engine.state.ports
    return {peer.name for port, peer in fabric.neighbours(fabric.by_name[switch].id) if ports[port.id]["tx_pkts"]}


def lost(engine: Emulator, reason: DropReason) -> int:
    return int(engine.snapshot().datagram_drops["pkts"][:, :, reason].sum())


def test_shortest_paths_written_out_change_nothing() -> None:
    made = compiled(BOTH)
    assert made.edits == ()
    assert made.reroute_delay_ps > 10**18


def test_packets_take_the_given_next_hop_and_the_longest_prefix_decides() -> None:
    made = compiled(BOTH)
    address = made.params.host_ip[made.fabric.by_name["host3"].id]
    wide, narrow = "0.0.0.0/0", f"{address >> 24}.0.0.0/8"
    for via, leaf in (
        ("spine1", {wide: ["spine2"], "host3": ["spine1"]}),
        ("spine2", {narrow: ["spine1"], "host3": ["spine2"]}),
        ("spine2", {narrow: ["spine2"]}),
    ):
        engine = simulated({**BOTH, "leaf1": leaf})
        assert used(engine, "leaf1") & {"spine1", "spine2"} == {via}
        assert engine.snapshot().rstreams["received_pkts"].tolist() == [50]


def test_a_port_is_one_cable_and_a_neighbour_all_of_them() -> None:
    parallel = {"topology": {**FABRIC, "links_per_pair": 2}}
    made = compiled(BOTH, **parallel)
    leaf = made.fabric.by_name["leaf1"]
    cables = [port for port, peer in made.fabric.neighbours(leaf.id) if peer.name == "spine1"]
    for via, count in ((["spine1"], 2), ([cables[1].name], 1), ([cables[0].name, "spine2"], 3)):
        table = compiled({**BOTH, "leaf1": {"0.0.0.0/0": via}}, **parallel)
        assert {len(edit.ports) for edit in table.edits} == {count}


def test_a_switch_without_an_entry_and_an_empty_one_have_no_route() -> None:
    without = {name: routes for name, routes in BOTH.items() if not name.startswith("spine")}
    empty = {**BOTH, "leaf1": {"0.0.0.0/0": ["spine1"], "host3": []}}
    for routes in (without, empty):
        engine = simulated(routes)
        assert lost(engine, DropReason.NO_ROUTE) == 50


def test_a_loop_ends_by_ttl() -> None:
    loop = {**BOTH, "spine1": {"host3": ["leaf1"]}, "leaf1": {"host3": ["spine1"]}}
    assert lost(simulated(loop), DropReason.TTL) == 50


def test_a_failed_cable_does_not_change_given_routes() -> None:
    fault = {"kind": "link-down", "link": "leaf1--spine1", "at": "0s"}
    engine = simulated({**BOTH, "leaf1": {"0.0.0.0/0": ["spine1"]}}, faults=[fault])
    assert lost(engine, DropReason.LINK_DOWN) == 50


def test_hosts_at_own_ports_are_connected() -> None:
    entry = {
        "kind": "datagrams",
        "senders": ["host1"],
        "receivers": ["host2"],
        "load": 0.5,
        "frame": "500B",
        "count": 9,
    }
    engine = simulated({"leaf1": {"0.0.0.0/0": ["spine1"]}}, workload=[entry])
    assert engine.snapshot().rstreams["received_pkts"].tolist() == [9]


def test_the_whole_table_is_that_of_the_section() -> None:
    made = compiled({"leaf1": {"host4": ["spine2"]}})
    built = equal_cost_ports(made.fabric)
    rows = {(edit.switch, edit.host): edit.ports for edit in made.edits}
    for switch in made.fabric.switches:
        for host in made.fabric.hosts:
            ports = rows.get((switch.id, host.id), built.ports_to(switch.id, host.id))
            names = [made.fabric.peer_of(port).name for port in ports]
            connected = made.fabric.peer_of(host.first_port).id == switch.id
            wanted = ["spine2"] if (switch.name, host.name) == ("leaf1", "host4") else []
            assert names == ([host.name] if connected else wanted)


@pytest.mark.parametrize(
    ("routes", "words"),
    [
        ({"laef1": {}}, "did you mean 'leaf1'?"),
        ({"leaf1": {"hots3": ["spine1"]}}, "did you mean 'host3'?"),
        ({"leaf1": {"10.0.0.1/8": ["spine1"]}}, "is no IPv4 prefix"),
        ({"leaf1": {"host3": ["spine3"]}}, "leaf1 has no port or neighbour 'spine3'"),
        ({"leaf1": {"host3": ["host2"]}}, "'host2' leads to a host, which does not forward"),
        ({"leaf1": {"host3": ["spine1", "spine1"]}}, "is named before"),
        ({"leaf1": {"192.0.2.0/24": ["spine1"]}}, "no host has an address in it"),
        ({"leaf1": {"host1": ["spine1"]}}, "longer prefixes and connected hosts take all of it (host1)"),
        (None, "routes: is missing"),
    ],
)
def test_a_wrong_entry_is_refused_with_its_place(routes: dict[str, Any] | None, words: str) -> None:
    assert words in refusal(routes)


def test_one_destination_written_twice_is_refused() -> None:
    address = int(compiled(BOTH).params.host_ip[compiled(BOTH).fabric.by_name["host3"].id])
    text = ".".join(str(address >> shift & 255) for shift in (24, 16, 8, 0))
    assert "are one destination" in refusal({"leaf1": {"host3": ["spine1"], f"{text}/32": ["spine1"]}})


def test_what_needs_another_routing_is_refused() -> None:
    assert "routes: has no effect with routing: shortest-path" in refusal(BOTH, routing="shortest-path")
    assert "run.reroute_delay" in refusal(BOTH, run={"duration": "1ms", "reroute_delay": "2us"})
    assert "bgp: has no effect with routing: given" in refusal(BOTH, bgp={})
    crash = {"kind": "bgp-crash", "switch": "spine1", "at": "1us"}
    assert "bgp-crash has no effect with routing: given" in refusal(BOTH, faults=[crash])

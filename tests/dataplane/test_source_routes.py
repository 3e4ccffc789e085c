"""Source routes: who takes which, what they cost on the wire, what is lost until NICs withdraw them, and refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from test_load_balancing import CLOS2, MS

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import DropReason, Stop
from fabric.errors import InputErrors
from fabric.explain.variations import _sprayed
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario
from fabric.scenario.yaml_input import read_yaml
from fabric.topology.paths import equal_cost_ports
from fabric.topology.source_routes import MOST, SourceRoutes
from fabric.verify.conservation import check

US: Final = 10**6
PLANES: Final = {
    "kind": "clos3",
    "pods": 2,
    "leaves_per_pod": 2,
    "spines_per_pod": 2,
    "super_spines": 4,
    "core": "planes",
    "hosts_per_leaf": 2,
    "host_rate": "100G",
    "fabric_rate": "100G",
}
FRAME: Final = 14 + 40 + 20 + 8 + 12 + 4096 + 4 + 4
"""Bytes of a full data frame: Ethernet, outer IPv6, IPv4, UDP, BTH, payload, ICRC, FCS."""
DOWN: Final = {"kind": "link-down", "link": "leaf1--spine2", "at": "20us"}


def compiled(
    topology: dict[str, Any] | None = None,
    workload: list[dict[str, Any]] | None = None,
    transport: dict[str, Any] | None = None,
    **sections: object,
) -> CompiledScenario:
    tree: dict[str, Any] = {
        "name": "routes",
        "topology": topology or CLOS2,
        "switches": {"load_balancing": "source-routed"},
        "transport": {"cc": "none", **(transport or {})},
        "workload": workload or [{"kind": "permutation", "size": "400KB", "shift": 4}],
        "run": {"duration": "5ms"},
    }
    return compile_scenario(build_scenario(tree | sections, Path("routes.yml")))


def ended(it: CompiledScenario, threads: int = 1, until_ps: int = 5 * MS) -> Emulator:
    engine = Emulator(it.fabric, it.params, it.edits, threads=threads, reroute_delay_ps=it.reroute_delay_ps)
    while engine.advance(until_ps) == Stop.BUDGET:
        pass
    return engine


def sent(it: CompiledScenario, engine: Emulator, node: str, peers: str) -> list[int]:
    """Frames of a node on each of its links to switches whose name begins so."""
    ports = [port for port in it.fabric.by_name[node].ports if it.fabric.peer_of(port).name.startswith(peers)]
    return [int(engine.state.ports[port]["tx_pkts"]) for port in ports]


def one_flow(size: str, dst: str = "host5") -> list[dict[str, Any]]:
    return [{"kind": "messages", "messages": [{"src": "host1", "dst": dst, "size": size}]}]


def test_the_packets_of_a_queue_pair_take_all_routes_in_turn() -> None:
    it = compiled(workload=one_flow(f"{4096 * 98}B"))
    engine = ended(it)
    assert sorted(sent(it, engine, "leaf1", "spine")) == [24, 24, 25, 25]
    assert engine.finished
    assert int(engine.state.hosts["retransmitted_pkts"].sum()) == 0
    assert check(engine.state, it.fabric, engine.now_ps) == []


def test_planes_and_the_cores_of_each_plane_get_equal_shares() -> None:
    it = compiled(PLANES, one_flow(f"{4096 * 80}B", "host8"))
    engine = ended(it)
    assert sent(it, engine, "p1-leaf1", "p1-spine") == [40, 40]
    cores = [port for name in ("p1-spine1", "p1-spine2") for port in sent(it, engine, name, "super")]
    assert cores == [20, 20, 20, 20]


def test_a_queue_pair_keeps_its_route_and_those_of_a_host_take_routes_in_turn() -> None:
    flows = [{"src": "host1", "dst": f"host{5 + number % 4}", "size": f"{4096 * 10}B"} for number in range(8)]
    it = compiled(
        workload=[{"kind": "messages", "messages": flows}], transport={"source_routes": {"choice": "queue-pair"}}
    )
    engine = ended(it)
    assert sent(it, engine, "leaf1", "spine") == [20, 20, 20, 20]
    assert int(engine.state.hosts["out_of_sequence"].sum()) == 0


def test_each_packet_has_40_bytes_more_than_without_routes() -> None:
    routed, hashed = (ended(compiled(switches={"load_balancing": how})) for how in ("source-routed", "spray"))
    hosts = slice(0, 8)
    for engine in (routed, hashed):
        assert engine.finished
    packets, size = (routed.state.ports[name][hosts] for name in ("tx_pkts", "tx_bytes"))
    data = 8 * (98 * FRAME + 16) - 98 * 8 * 4096 + 8 * 400_000
    answers = int(packets.sum()) - 8 * 98
    assert int(size.sum()) == data + answers * (14 + 40 + 20 + 8 + 12 + 4 + 8 + 4 + 4)
    assert routed.state.hosts["source_routed_pkts"].sum() == packets.sum()
    assert hashed.state.hosts["source_routed_pkts"].sum() == 0


def test_a_lone_message_takes_its_ideal_time() -> None:
    it = compiled(workload=one_flow("400KB"))
    message = ended(it).state.messages[1]
    assert int(message["end_ps"] - message["start_ps"]) == int(it.ideal_ps[0])


def test_what_is_lost_is_the_rate_times_the_delay_times_the_share_of_dead_routes() -> None:
    """A NIC at line rate, one of four routes dead for 100 us: a quarter of 100 us of frames, lost at the leaf."""
    it = compiled(workload=one_flow("4MB"), transport={"source_routes": {"withdrawal": "100us"}}, faults=[DOWN])
    # A packet that was on its way at the withdrawal is at the leaf within 2 us.
    before, after = (ended(it, until_ps=moment * US) for moment in (122, 250))
    port = next(port for port in it.fabric.by_name["leaf1"].ports if it.fabric.peer_of(port).name == "spine2")
    reasons = [engine.state.drops.reshape(-1, 8, 16)["pkts"][port].sum(axis=0) for engine in (before, after)]
    frames = 100e-6 * 100e9 / (8 * (FRAME + 20)) / 4
    lost = int(reasons[0][DropReason.LINK_DOWN])
    assert abs(lost - frames) <= 2
    assert int(reasons[0].sum()) == lost
    assert reasons[1].tolist() == reasons[0].tolist()  # from the withdrawal on, nothing
    assert int(after.state.hosts["routes_withdrawn"][0]) == 1
    assert sum(after.state.route_sets["live"][1:].tolist()) == 3 + 3


def test_each_cable_is_left_after_its_own_delay() -> None:
    """The notice of the first cable, at 120 us, is none of the second one, which failed 10 us before it."""
    second = {"kind": "link-down", "link": "leaf1--spine3", "at": "110us"}
    it = compiled(workload=one_flow("4MB"), transport={"source_routes": {"withdrawal": "100us"}}, faults=[DOWN, second])
    counts = [int(ended(it, until_ps=at * US).state.hosts["routes_withdrawn"][0]) for at in (119, 121, 209, 211)]
    assert counts == [0, 1, 1, 2]


def test_a_flap_that_is_over_before_it_is_noticed_withdraws_nothing() -> None:
    """The notices of the other cable, at 55 us and 60 us, are none of it."""
    flap = {**DOWN, "until": "60us"}
    other = {"kind": "link-down", "link": "leaf1--spine3", "at": "5us", "until": "10us"}
    it = compiled(workload=one_flow("4MB"), transport={"source_routes": {"withdrawal": "50us"}}, faults=[flap, other])
    for at in (56, 61, 71, 111):
        assert not ended(it, until_ps=at * US).state.hosts["routes_withdrawn"].any()


def test_routes_are_taken_again_after_the_cable_is_back() -> None:
    back = {**DOWN, "until": "200us"}
    it = compiled(workload=one_flow("8MB"), transport={"source_routes": {"withdrawal": "50us"}}, faults=[back])
    counts = [sent(it, ended(it, until_ps=moment * US), "leaf1", "spine")[1] for moment in (75, 249, 251, 400)]
    assert counts[0] == counts[1] == counts[2] < counts[3]
    engine = ended(it)
    assert engine.finished
    assert not engine.state.hosts["routes_withdrawn"].any()


def test_a_queue_pair_leaves_a_dead_route_alone_and_others_keep_theirs() -> None:
    flows = [{"src": "host1", "dst": f"host{5 + number}", "size": "2MB"} for number in range(4)]
    it = compiled(
        workload=[{"kind": "messages", "messages": flows}],
        transport={"source_routes": {"choice": "queue-pair", "withdrawal": "10us"}, "retransmit_timeout": "200us"},
        faults=[DOWN],
    )
    state = ended(it).state
    assert (state.messages["end_ps"][1:] > 0).all()
    # Before and after the fault the others have one route: only the queue pair that moved was retransmitted.
    assert np.count_nonzero(state.qps["retransmitted_pkts"]) == 1


def test_a_nic_without_another_route_goes_on_with_the_dead_ones() -> None:
    cut = {"kind": "link-down", "link": "host5--leaf2", "at": "20us", "until": "300us"}
    it = compiled(workload=one_flow("4MB"), transport={"source_routes": {"withdrawal": "10us"}}, faults=[cut])
    state = ended(it, until_ps=200 * US).state
    assert state.route_sets["live"].tolist() == state.route_sets["count"].tolist()
    assert int(state.hosts["routes_withdrawn"][0]) == 4
    assert ended(it).finished


@pytest.mark.parametrize("choice", ["packet", "queue-pair"])
def test_runs_with_cnps_losses_and_a_dead_link_are_the_same_for_any_threads(choice: str) -> None:
    incast = {"kind": "incast", "receiver": "host1", "senders": ["host*"], "size": "300KB"}
    it = compiled(
        PLANES,
        [incast, {"kind": "permutation", "size": "200KB", "shift": 3}],
        {"cc": "dcqcn", "source_routes": {"choice": choice, "withdrawal": "30us"}, "retransmit_timeout": "300us"},
        faults=[{"kind": "link-down", "link": "p1-leaf1--p1-spine2", "at": "20us", "until": "100us"}],
        switches={"load_balancing": "source-routed", "ecn": {"kmin": "10KB", "kmax": "40KB", "pmax": 0.5}},
    )
    engines = [ended(it, threads) for threads in (1, 3)]
    assert engines[0].digest() == engines[1].digest()
    assert engines[0].finished
    assert int(engines[0].state.hosts["cnp_handled"].sum()) > 0
    assert check(engines[0].state, it.fabric, engines[0].now_ps) == []


@pytest.mark.parametrize("at", [40, 90, 130])
def test_a_run_goes_on_from_a_checkpoint_to_the_same_digest(tmp_path: Path, at: int) -> None:
    faults = [DOWN, {"kind": "link-down", "link": "leaf1--spine3", "at": "60us", "until": "150us"}]
    it = compiled(workload=one_flow("4MB"), transport={"source_routes": {"withdrawal": "50us"}}, faults=faults)
    engine = ended(it, until_ps=at * US)
    engine.save(tmp_path / "at")
    again = Emulator.restore(it.fabric, it.params, it.edits, path=tmp_path / "at", reroute_delay_ps=it.reroute_delay_ps)
    for one in (engine, again):
        one.advance(5 * MS)
    assert again.digest() == engine.digest()


def test_datagrams_have_no_route_and_are_hashed_beside_those_that_have_one() -> None:
    ends = {"senders": ["host2"], "receivers": ["host6"]}
    stream = {"kind": "datagrams", **ends, "rate": "10G", "frame": "1000B", "stop": "100us"}
    it = compiled(workload=[*one_flow("400KB"), stream])
    engine = ended(it)
    assert int(engine.state.hosts["datagrams_received"].sum()) > 50
    assert int(engine.state.hosts["source_routed_pkts"][1]) == 0
    assert np.count_nonzero(engine.state.members["pkts"][engine.state.members["pkts"] > 50]) >= 1


def test_each_shortest_path_is_a_route_once_and_the_first_hop_changes_fastest() -> None:
    fabric = compiled(PLANES, one_flow("1KB", "host8")).fabric
    routes = SourceRoutes(fabric, equal_cost_ports(fabric)).between(fabric.by_name["p1-leaf1"].id, 7)
    names = [[fabric.peer_of(port).name for port in row] for row in routes.tolist()]
    assert len({tuple(row) for row in names}) == len(names) == 4
    assert [row[0] for row in names] == ["p1-spine1", "p1-spine2", "p1-spine1", "p1-spine2"]
    assert all(row[-1] == "host8" for row in names)


def test_of_more_paths_than_a_nic_keeps_all_pairs_together_use_all() -> None:
    wide = {**CLOS2, "leaves": 4, "spines": 300, "hosts_per_leaf": 1, "host_rate": "400G"}
    fabric = compiled(wide, one_flow("1KB", "host2")).fabric
    routes = SourceRoutes(fabric, equal_cost_ports(fabric))
    pairs = [(leaf, host) for leaf in range(4) for host in range(4) if leaf != host]
    found = [routes.between(fabric.by_name[f"leaf{leaf + 1}"].id, host) for leaf, host in pairs]
    assert {len(it) for it in found} == {MOST}
    assert len({fabric.peer_of(port).name for it in found for port in it[:, 0].tolist()}) == 300


REFUSED: Final[list[tuple[dict[str, Any], str]]] = [
    ({"vxlan": {}}, "vxlan does not work"),
    ({"routing": "bgp"}, "routing bgp does not work"),
    ({"switches": {"load_balancing": "ecmp"}, "transport": {"source_routes": {"choice": "queue-pair"}}}, "no effect"),
    ({"transport": {"source_routes": {"withdrawal": "2ms"}}}, "no fault takes a cable down"),
    ({"transport": {"source_routes": {}}}, "changes nothing"),
    ({"run": {"duration": "5ms", "reroute_delay": "1us"}, "faults": [DOWN]}, "run.reroute_delay"),
    ({"switches": {"load_balancing": "source-routed", "hash": {"algorithm": "crc32"}}}, "switches.hash"),
    (
        {"faults": [{"kind": "route", "switches": ["leaf1"], "hosts": ["host5"], "via": ["spine1"], "at": "1us"}]},
        "a route of a switch has no effect",
    ),
    (
        {"switches": {"load_balancing": "source-routed", "overrides": [{"role": "spine", "load_balancing": "ecmp"}]}},
        "spine1 has ecmp",
    ),
    ({"hosts": {"mtu": "4190B"}}, "raise hosts.mtu"),
    ({"topology": {**CLOS2, "hosts_per_leaf": 8, "scale_up": {"profile": "h100-hgx"}}}, "scale-up links"),
    ({"model": "hpcc-ns3"}, "load_balancing"),
]


@pytest.mark.parametrize(("sections", "text"), REFUSED, ids=[text for _, text in REFUSED])
def test_what_is_not_modelled_or_has_no_effect_is_refused(sections: dict[str, Any], text: str) -> None:
    with pytest.raises(InputErrors) as caught:
        compiled(**sections)
    assert any(text in f"{it.path} {it.text}; {it.hint}" for it in caught.value.problems)


def test_the_variation_without_collisions_has_no_source_routes() -> None:
    """`fabric explain` simulates the scenario again with switches that spray."""
    raw = read_yaml(Path(__file__).parents[2] / "scenarios" / "source-routes.yml")
    _sprayed(raw)
    assert compile_scenario(build_scenario(raw, Path("sprayed.yml"))).params.source_routes is None


def test_a_written_default_is_accepted_anywhere() -> None:
    """The resolved scenario of any run has the defaults of source routes, and can be run again."""
    written = {"source_routes": {"choice": "packet", "withdrawal": "1ms"}}
    assert compiled(switches={"load_balancing": "ecmp"}, transport=written).params.source_routes is None

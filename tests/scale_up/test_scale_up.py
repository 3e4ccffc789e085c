"""Scale-up domains: what they carry, how fast, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scale_up_rings import compiled, last_arrival_ps, ring_rows

from fabric.dataplane.engine.driver import Emulator
from fabric.errors import InputErrors
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.estimate.estimator import estimate
from fabric.scenario.load import build_scenario
from fabric.scenario.resolved import resolved
from fabric.topology.model import Role

GIB, MIB = 2**30, 2**20
GPUS = [f"gpu{number}" for number in range(1, 9)]
RAIL = {
    "kind": "rail",
    "nodes_per_pod": 2,
    "rails": 4,
    "spines": 2,
    "host_rate": "400G",
    "fabric_rate": "400G",
    "scale_up": {},
}


SIX = {"kind": "leaf-spine", "leaves": 1, "spines": 1, "hosts_per_leaf": 6, "host_rate": "100G", "fabric_rate": "100G"}


def raw_of(topology: dict[str, Any], workload: dict[str, Any], **changes: object) -> dict[str, Any]:
    return {
        "name": "servers",
        "topology": topology,
        "transport": {"cc": "none"},
        "workload": [workload],
        "run": {"duration": "1s"},
        **changes,
    }


def one_server(folder: Path, rows: list[str], scale_up: dict[str, Any], **changes: object) -> CompiledScenario:
    (folder / "messages.csv").write_text("\n".join(rows) + "\n")
    topology = {"kind": "server", "gpus": 8, "scale_up": scale_up}
    return compiled(raw_of(topology, {"kind": "messages", "file": "messages.csv"}, **changes), folder)


def made(topology: dict[str, Any], workload: dict[str, Any], **changes: object) -> CompiledScenario:
    return compile_scenario(build_scenario(raw_of(topology, workload, **changes), Path("servers.yml")))


def finished(found: CompiledScenario) -> Emulator:
    emulator = Emulator(found.fabric, found.params)
    emulator.advance(found.duration_ps)
    assert emulator.finished
    return emulator


# ===== how fast =====

PUBLISHED = {16: 141.84, 32: 153.68, 64: 160.60, 128: 163.85, 256: 165.72, 512: 166.68}
"""MiB -> GiB/s: bus bandwidth of an all-reduce of 8 ranks of one server in SimAI (Wang et al., NSDI 2025)."""


@pytest.mark.parametrize("mib", PUBLISHED)
def test_eight_rings_in_phase_are_as_fast_as_published_for_simai(mib: int, tmp_path: Path) -> None:
    """GPUs of 180 GB/s, 8 rings in one direction, 14 steps with 2 us before each, 67 ns beside serialisation.

    A step begins when those of all rings have arrived: the published times have every step's latency in full.
    """
    rows = ring_rows(GPUS, mib * MIB, channels=8, delay_ns=2_000, in_phase=True)
    found = one_server(tmp_path, rows, {"rate": "1440G", "latency": "67ns", "unit": "9000B"})
    bus = 2 * 7 / 8 * mib * MIB / (last_arrival_ps(found) / 1e12) / GIB
    assert bus == pytest.approx(PUBLISHED[mib], rel=0.01)


def test_rings_out_of_phase_hide_each_other_s_latency(tmp_path: Path) -> None:
    """Free rings drift apart: never slower than in phase, never faster than without latency."""
    scale_up = {"rate": "1440G", "latency": "67ns", "unit": "9000B"}
    times = {
        phase: last_arrival_ps(
            one_server(tmp_path, ring_rows(GPUS, 32 * MIB, channels=8, delay_ns=2_000, in_phase=phase), scale_up)
        )
        for phase in (True, False)
    }
    bare_ps = 14 * 32 * MIB / 8 / 180e9 * 1e12
    assert bare_ps < times[False] < 0.95 * times[True]


@pytest.mark.parametrize(("profile", "gb_s"), [("h100-hgx", 370.8), ("b200-hgx", 721.8), ("a100-hgx", 240.0)])
def test_a_ring_over_a_server_has_the_bus_bandwidth_of_the_closed_form(
    profile: str, gb_s: float, tmp_path: Path
) -> None:
    size = 256 * MIB
    rows = ring_rows(GPUS, size, channels=1, delay_ns=0, in_phase=False)
    time_s = last_arrival_ps(one_server(tmp_path, rows, {"profile": profile})) / 1e12
    closed_s = 14 * (936e-9 + size / (8 * gb_s * 1e9))
    assert time_s == pytest.approx(closed_s, rel=0.01)
    assert 1.75 * size / time_s / 1e9 == pytest.approx(1.75 * size / closed_s / 1e9, rel=0.01)


@pytest.mark.parametrize("size_bytes", [1, 5_000, 16_000, 16_001, 1_000_000])
@pytest.mark.parametrize("pair", [("node1-gpu1", "node1-gpu3"), ("node1-gpu1", "node2-gpu2")])
def test_a_message_alone_takes_its_ideal_time(pair: tuple[str, str], size_bytes: int) -> None:
    item = {"src": pair[0], "dst": pair[1], "size": f"{size_bytes}B", "start": "0s"}
    found = made(RAIL, {"kind": "messages", "messages": [item]})
    emulator = finished(found)
    assert int(emulator.state.messages["end_ps"][1]) == int(found.ideal_ps[0])


def test_a_unit_inside_a_server_takes_its_payload_time_twice_and_the_latency() -> None:
    item = {"src": "gpu1", "dst": "gpu2", "size": "16000B", "start": "0s"}
    topology = {"kind": "server", "scale_up": {"rate": "1280G", "latency": "1us"}}
    emulator = finished(made(topology, {"kind": "messages", "messages": [item]}))
    reth_ps = 16 * 8 * 1_000_000 // 1_280_000  # a message's first packet has a longer header
    assert int(emulator.state.rmessages["arrived_ps"][1]) == 2 * (100_000 + reth_ps) + 1_000_000


# ===== which links =====


def test_traffic_inside_a_server_takes_scale_up_links_and_other_traffic_the_network() -> None:
    found = made(RAIL, {"kind": "all-to-all", "size": "100KB"})
    emulator, fabric = finished(found), found.fabric
    sent = emulator.state.ports["tx_bytes"]
    n, payload = 4, 100_000
    for host in fabric.hosts:
        inside = fabric.scale_up_ports[host.id]
        (nic,) = fabric.network_ports(host.id)
        assert fabric.ports[inside].name == "scaleup0"
        assert fabric.ports[nic].name == "eth0"
        # To 3 GPUs of the server and 4 of the other one, besides headers and ACKs.
        assert 3 * payload < sent[inside] < 3 * payload * 1.01
        assert n * payload < sent[nic] < n * payload * 1.06
    goodput = emulator.state.hosts["goodput_bytes"]
    assert (goodput == 7 * payload).all()
    assert emulator.state.ports["dropped_pkts"].sum() == 0


def test_a_switch_of_a_server_has_no_route_to_another_server() -> None:
    found = made(RAIL, {"kind": "all-to-all", "size": "1KB"})
    emulator, fabric = finished(found), found.fabric
    n_hosts = len(fabric.hosts)
    fib = emulator.state.fib.reshape(len(fabric.switches), n_hosts)
    for switch in fabric.switches:
        if switch.role is Role.SCALE_UP:
            own = {peer.id for _, peer in fabric.neighbours(switch.id)}
            routed = set(np.flatnonzero(fib[switch.id - n_hosts] != fib.min()).tolist())
            assert routed == own


def test_a_server_loses_nothing_and_marks_nothing_in_an_incast_without_pfc() -> None:
    workload = {"kind": "incast", "receiver": "gpu1", "senders": ["*"], "size": "50MB"}
    found = made({"kind": "server"}, workload, pfc="off", transport={"cc": "dcqcn"})
    emulator = finished(found)
    assert emulator.state.ports["dropped_pkts"].sum() == 0
    assert emulator.state.queues["marked_pkts"].sum() == 0
    assert emulator.state.ports["tx_pause_pkts"].sum() == 0
    shortest_ps = 7 * 50_000_000 / 370.8e9 * 1e12
    assert int(emulator.state.rmessages["arrived_ps"][1:].max()) == pytest.approx(shortest_ps, rel=0.01)


def test_a_full_receiver_stops_its_senders_and_so_delays_what_they_send_to_others() -> None:
    """Link flow control is by class, not by destination, as with credits (decision 0058)."""
    incast = [{"src": f"gpu{k}", "dst": "gpu1", "size": "4MB", "start": "0s"} for k in range(2, 9)]
    other = [{"src": f"gpu{k}", "dst": f"gpu{k % 7 + 2}", "size": "4MB", "start": "0s"} for k in range(2, 9)]
    arrived = {}
    for room in ("little", "ample"):
        ample = {"overrides": [{"role": "scale-up", "buffer": {"dynamic_th": 7}}]}
        found = made(
            {"kind": "server"},
            {"kind": "messages", "messages": [*incast, *other]},
            switches=ample if room == "ample" else {},
        )
        emulator = finished(found)
        arrived[room] = emulator.state.rmessages["arrived_ps"][1:]
        assert bool(emulator.state.ports["tx_pause_pkts"].sum()) == (room == "little")
        assert emulator.state.ports["dropped_pkts"].sum() == 0
        shortest_ps = 7 * 4_000_000 / 370.8e9 * 1e12
        assert int(arrived[room][:7].max()) == pytest.approx(shortest_ps, rel=0.03)
    assert (arrived["little"][7:] > 1.5 * arrived["ample"][7:]).all()


def test_a_slow_nic_does_not_slow_scale_up_links() -> None:
    senders = ("node2-gpu1", "node1-gpu2")
    items = [{"src": src, "dst": "node1-gpu1", "size": "4MB", "start": "0s"} for src in senders]
    times = {}
    for drain in ("off", "50G"):
        found = made(RAIL, {"kind": "messages", "messages": items}, hosts={"drain": drain})
        times[drain] = finished(found).state.rmessages["arrived_ps"][1:].tolist()
    assert times["50G"][0] > 5 * times["off"][0]
    assert times["50G"][1] == times["off"][1]


def test_settings_of_ethernet_switches_do_not_reach_those_of_servers() -> None:
    section = {
        "latency": "2us",
        "memory": "64MB",
        "ecn": {"kmin": "1KB", "kmax": "2KB", "pmax": 1.0},
        "lossless": [3, 4],
    }
    found = made(RAIL, {"kind": "all-to-all", "size": "1KB"}, switches=section)
    switches = {node.name: found.params.switches[node.id] for node in found.fabric.switches}
    assert switches["p1-rail1"].latency_ps == 2_000_000
    assert switches["node1-nvswitch"].latency_ps == 0
    port = found.fabric.by_name["node1-nvswitch"].first_port
    assert found.params.ports[port].queues[3].ecn is None
    assert found.params.ports[port].pgs[4].lossless
    marking = {"overrides": [{"role": "scale-up", "ecn": {"kmin": "1KB", "kmax": "2KB", "pmax": 1.0}}]}
    chosen = made(RAIL, {"kind": "all-to-all", "size": "1KB"}, switches=marking)
    assert chosen.params.ports[port].queues[3].ecn is not None
    assert chosen.params.ports[chosen.fabric.by_name["p1-rail1"].first_port].queues[3].ecn != (
        chosen.params.ports[port].queues[3].ecn
    )


def test_a_pcie_slot_bounds_its_nics_and_carries_one_of_400g_only() -> None:
    def nic_gbps(rate: str, **slot: object) -> float:
        topology = {**RAIL, "host_rate": rate, "scale_up": {"profile": "h100-hgx", **slot}}
        fabric = made(topology, {"kind": "all-to-all", "size": "1KB"}).fabric
        return fabric.links[fabric.ports[fabric.hosts[0].first_port].link].rate_bps / 1e9

    assert nic_gbps("800G") == 800
    assert nic_gbps("400G", pcie="gen5") == 400
    assert 450 < nic_gbps("800G", pcie="gen5") < 460
    assert nic_gbps("800G", pcie="gen6") == 800
    assert nic_gbps("400G", pcie="gen5", nics_per_slot=2) == pytest.approx(nic_gbps("800G", pcie="gen5") / 2)


# ===== leaf-spine, resolved scenarios, estimates =====


def test_hosts_of_a_leaf_form_servers_in_order() -> None:
    topology = {
        "kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 8, "host_rate": "400G",
        "fabric_rate": "400G", "gpus_per_server": 4, "scale_up": {},
    }  # fmt: skip
    fabric = made(topology, {"kind": "all-to-all", "size": "1KB"}).fabric
    domains = [fabric.nodes[domain].name for domain in fabric.scale_up_domains]
    assert domains == [f"server{1 + index // 4}-nvswitch" for index in range(16)]


@pytest.mark.parametrize("topology", [RAIL, {"kind": "server", "scale_up": {"profile": "gb200-nvl72"}}])
def test_a_resolved_scenario_compiles_to_the_same_fabric(topology: dict[str, Any]) -> None:
    scenario = build_scenario(raw_of(topology, {"kind": "all-to-all", "size": "1KB"}), Path("servers.yml"))
    first = compile_scenario(scenario)
    again = compile_scenario(build_scenario(resolved(scenario, first.fabric), Path("servers.yml")))
    assert first.fabric == again.fabric
    assert len(first.fabric.hosts) == (72 if topology["kind"] == "server" else 8)


def test_an_estimate_counts_the_packets_and_links_of_both_networks() -> None:
    scenario = build_scenario(raw_of(RAIL, {"kind": "all-to-all", "size": "160KB"}), Path("servers.yml"))
    found = compile_scenario(scenario)
    figures = estimate(scenario, found.fabric, None).figures
    emulator = finished(found)
    hops = int(emulator.state.ports["tx_pkts"].sum())
    assert figures["packet-hops"].likely == pytest.approx(hops, rel=0.02)


# ===== refused =====


@pytest.mark.parametrize(
    ("changes", "place", "text"),
    [
        ({"routing": "bgp"}, "routing", "bgp"),
        ({"vxlan": {}}, "vxlan", "overlay"),
        ({"model": "hpcc-ns3", "transport": {}}, "model", "hpcc-ns3"),
    ],
)
def test_sections_that_servers_cannot_be_combined_with_are_refused(
    changes: dict[str, Any], place: str, text: str
) -> None:
    with pytest.raises(InputErrors) as caught:
        made(RAIL, {"kind": "all-to-all", "size": "1KB"}, **changes)
    assert any(place in it.path and text in it.text for it in caught.value.problems)


@pytest.mark.parametrize(
    ("topology", "text"),
    [
        ({**RAIL, "endpoints": "node"}, "joins hosts that are GPUs"),
        ({**RAIL, "rails": 1}, "one GPU a node"),
        ({**RAIL, "scale_up": {"nics_per_slot": 2}}, "no effect without pcie"),
        ({**RAIL, "scale_up": {"unit": "64KiB"}}, "16000"),
        ({**RAIL, "scale_up": {"unit": "100B"}}, "256"),
        ({**RAIL, "scale_up": {"profile": "h200"}}, "h100-hgx"),
        ({"kind": "server", "scale_up": {"pcie": "gen5"}}, "have no NIC"),
        ({"kind": "server", "gpus": 1}, "2"),
        ({**SIX, "scale_up": {}}, "multiple"),
        ({**SIX, "gpus_per_server": 2}, "without scale_up"),
    ],
)  # fmt: skip
def test_topologies_that_cannot_be_are_refused(topology: dict[str, Any], text: str) -> None:
    with pytest.raises(InputErrors) as caught:
        made(topology, {"kind": "all-to-all", "size": "1KB"})
    assert any(text in f"{it.text}; {it.hint}" for it in caught.value.problems), caught.value.problems


def test_a_switch_setting_without_any_ethernet_switch_is_refused() -> None:
    with pytest.raises(InputErrors) as caught:
        made({"kind": "server"}, {"kind": "all-to-all", "size": "1KB"}, switches={"latency": "1us"})
    assert "switches.latency" in caught.value.problems[0].path
